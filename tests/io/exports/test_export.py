from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.findings import Finding
from condyle.io.exports.export import find_format, parse_formats, write_figure
from condyle.io.exports.registry import FORMATS
from condyle.io.exports.scene import FigureFormat, Scene, Written
from condyle.maths import rotation
from condyle.motion.play import play
from tests.make import moving


@pytest.fixture(scope="module")
def scene() -> Scene:
    one = moving.person(seconds=1)
    return Scene(one.skeleton, one.motion, one.take)


def _format(name: str, write, check=None) -> FigureFormat:  # type: ignore[no-untyped-def]
    return FigureFormat(name, name, f".{name}", write, check)


def _plain(scene: Scene, path: Path) -> Written:
    path.write_text("whole")
    return Written((path,), (Finding("resampled", "info", "told"),))


def _fails(scene: Scene, path: Path) -> Written:
    path.write_text("half")
    raise CondyleError("cannot", code="bad-call")


def test_every_format_is_there_by_its_name() -> None:
    for name in FORMATS:
        found = find_format(name)
        assert found.name == name
        assert found.suffix.startswith(".")
        assert found.title


def test_a_list_of_formats_is_read_and_others_are_refused_with_the_choices() -> None:
    assert [form.name for form in parse_formats(" BVH, .glb,bvh")] == ["bvh", "glb"]
    with pytest.raises(UsageError, match="no export format 'fbx'; choose from bvh, glb"):
        parse_formats("bvh,fbx")
    with pytest.raises(UsageError, match="no export format is named"):
        parse_formats(" , ")


def test_formats_may_be_a_list_of_names_or_of_formats(scene: Scene, tmp_path: Path) -> None:
    several = write_figure(scene, ["csv", find_format("bvh")], tmp_path / "out").files
    assert [file.name for file in several] == ["figure.csv", "figure-joints.csv", "figure-limbs.csv", "figure.bvh"]
    for wrong in (None, 5, ["bvh", 5], {"bvh"}, (form for form in ["bvh"])):
        with pytest.raises(UsageError, match=r"formats are named in a list such as 'bvh|no export format is named"):
            write_figure(scene, wrong, tmp_path / "none")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no export format is named"):
        write_figure(scene, [], tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_files_appear_in_a_folder_that_is_made_and_nothing_else_does(scene: Scene, tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    written = write_figure(scene, "bvh,glb", out, "clip")
    assert written.files == (out / "clip.bvh", out / "clip.glb")
    assert sorted(os.listdir(out)) == ["clip.bvh", "clip.glb"]
    assert [finding.code for finding in written.findings].count("up-assumed") == 1, "what formats share is told once"


def test_a_format_that_fails_leaves_nothing_of_any(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "figure.one").write_text("old")
    with pytest.raises(CondyleError, match="cannot"):
        write_figure(scene, [_format("one", _plain), _format("two", _fails)], tmp_path)
    assert os.listdir(tmp_path) == ["figure.one"]
    assert (tmp_path / "figure.one").read_text() == "old"
    with pytest.raises(CondyleError, match="cannot"):
        write_figure(scene, [_format("two", _fails)], tmp_path / "new" / "er")
    assert not (tmp_path / "new").exists()


def test_a_scene_that_a_format_cannot_hold_is_refused_before_anything_is_made(scene: Scene, tmp_path: Path) -> None:
    def check(scene: Scene) -> None:
        raise CondyleError("no forest", code="bad-call")

    with pytest.raises(CondyleError, match="no forest"):
        write_figure(scene, [_format("one", _plain, check)], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_the_fit_wrote_is_not_replaced(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "motion.npz").write_text("old")
    with pytest.raises(UsageError, match=r"would replace 'motion.npz' of the fit"):
        write_figure(scene, [_format("npz", _plain)], tmp_path, "motion")
    assert (tmp_path / "motion.npz").read_text() == "old"
    assert os.listdir(tmp_path) == ["motion.npz"]


def test_two_formats_of_one_file_are_refused(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"two formats write 'figure.one'"):
        write_figure(scene, [_format("one", _plain), _format("one", _plain)], tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_a_file_and_a_file_that_is_a_folder_are_told(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CondyleError, match="is a file; give the name of a folder"):
        write_figure(scene, [_format("one", _plain)], tmp_path / "file")
    with pytest.raises(CondyleError, match="cannot be made") as error:
        write_figure(scene, [_format("one", _plain)], tmp_path / "file" / "below")
    assert error.value.code == "unwritable"
    (tmp_path / "figure.one").mkdir()
    with pytest.raises(CondyleError, match="is a folder; choose another name"):
        write_figure(scene, [_format("one", _plain)], tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["figure.one", "file"]


def test_a_folder_that_cannot_be_written_is_told(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> str:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("condyle.io.folder.open_locked", refuse)
    with pytest.raises(CondyleError, match="cannot be written: Permission denied") as error:
        write_figure(scene, [_format("one", _plain)], tmp_path)
    assert error.value.code == "unwritable"


@pytest.mark.parametrize("stem", ["", "a/b", "..", ".hidden"])
def test_a_name_that_is_no_file_is_refused(stem: str, scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a file"):
        write_figure(scene, [_format("one", _plain)], tmp_path, stem)


def test_a_motion_without_frames_is_refused(tmp_path: Path) -> None:
    one = moving.links()
    with pytest.raises(CondyleError, match="has no frame"):
        write_figure(Scene(one.skeleton, one.motion.at(slice(0, 0))), parse_formats("bvh"), tmp_path)


def test_a_scene_keeps_hinges_to_their_axes_where_a_format_asks_for_it() -> None:
    one = moving.links(("hinge",))
    shaken = one.take.R_world_body.copy()
    rng = np.random.default_rng(1)
    shaken[:, 1] = shaken[:, 1] @ rotation.from_vector(0.05 * rng.normal(size=(len(shaken), 3)))
    scene = Scene(one.skeleton, play(one.skeleton, replace(one.take, R_world_body=shaken)))
    off = [np.abs(f.turns[:, 1] @ f.axis[1] - f.axis[1]).max() for f in (scene.figure, scene.figure_on_axes)]
    assert off[0] > 0.01
    assert off[1] < 1e-12


def test_all_formats_may_be_asked_for_at_once(scene: Scene, tmp_path: Path) -> None:
    """So that a list of them never fails when the fit is done."""
    written = write_figure(scene, ",".join(name for name in FORMATS if name != "usd"), tmp_path)
    names = [file.name for file in written.files]
    assert len(names) == len(set(names))
    assert {"figure-joints.csv", "figure-joint-states.csv", "figure-qpos.csv"} <= set(names)
