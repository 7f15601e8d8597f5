from __future__ import annotations

from pathlib import Path

import numpy as np

from condyle import forward
from condyle.io.exports.figure_npz import FORMAT
from condyle.io.exports.scene import Scene
from condyle.prepare.read import read
from tests.make import moving


def test_the_played_poses_come_back_bit_for_bit(tmp_path: Path) -> None:
    one = moving.links(seconds=1)
    (file,) = FORMAT.write(Scene(one.skeleton, one.motion), tmp_path / "figure.npz").files
    poses, back = forward(one.skeleton, one.motion), read(file, doctor=False)
    assert back.names == poses.names
    np.testing.assert_array_equal(back.p_world_body, poses.p_world_body)
    np.testing.assert_array_equal(back.R_world_body, poses.R_world_body)
