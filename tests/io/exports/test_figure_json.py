from __future__ import annotations

from pathlib import Path

from condyle.io.exports.figure_json import FORMAT
from condyle.io.exports.scene import Scene
from condyle.io.skeleton_file import from_json, to_json
from tests.make import moving


def test_the_file_is_the_skeleton_bit_for_bit(tmp_path: Path) -> None:
    one = moving.links(seconds=1)
    written = FORMAT.write(Scene(one.skeleton, one.motion), tmp_path / "figure.json")
    assert written.files == (tmp_path / "figure.json",)
    data = written.files[0].read_bytes()
    assert data == to_json(one.skeleton)
    assert from_json(data).bodies == one.skeleton.bodies
