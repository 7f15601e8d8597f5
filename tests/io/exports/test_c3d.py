from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.exports import c3d
from condyle.io.exports.build_figure import build_figure
from condyle.io.exports.c3d import count_most_frames, to_c3d, write_c3d
from condyle.io.exports.scene import Scene
from condyle.io.formats import read_recording
from condyle.model.motion import Motion
from condyle.motion.play import play
from condyle.prepare.read import read
from condyle.simulate import human, prop, simulate, together
from tests.make import moving

PLACES = 1e-7  # m: millimetres in single precision, up to 2 m from the origin
TURNS = 6e-8  # of matrix entries, in single precision
MM = 0.001

EZC3D = """
import sys, ezc3d, numpy as np
file = ezc3d.c3d(sys.argv[1])
values = {f"{g}:{n}": p["value"] for g, group in file["parameters"].items() for n, p in group.items() if n[:2] != "__"}
data = file["data"]
np.savez(
    sys.argv[2], points=data["points"].transpose(2, 1, 0), rotations=data["rotations"].transpose(3, 2, 0, 1),
    residual=data["meta_points"]["residuals"][0].T, rate=file["header"]["points"]["frame_rate"],
    **{name: np.array(value) for name, value in values.items()},
)
"""


def _ezc3d(path: Path) -> dict[str, Any]:
    """What ezc3d finds: points (n, J, 4), rotations (n, b, 4, 4), residual (n, J), rate, and every parameter."""
    out = path.with_suffix(".npz")
    subprocess.run([sys.executable, "-c", EZC3D, str(path), str(out)], check=True)
    with np.load(out) as arrays:
        return dict(arrays)


def _scene(one: moving.Moving, **options: Any) -> Scene:
    return Scene(one.skeleton, one.motion, one.take, **options)


def _repeated(motion: Motion, frames: int) -> Motion:
    """The same motion over and over on an even clock of 30 Hz."""
    rows = np.arange(frames) % motion.frames
    return replace(
        motion,
        time=np.arange(frames) / 30,
        segment=np.zeros(frames, np.int64),
        R_parent_body=motion.R_parent_body[rows],
        p_world_free=motion.p_world_free[rows],
    )


@pytest.mark.parametrize("one", [moving.person(), moving.links(("ball", "hinge", "rigid"))], ids=["person", "chain"])
def test_reading_a_file_back_gives_the_same_poses_and_joint_centres(one: moving.Moving, tmp_path: Path) -> None:
    scene = _scene(one)
    figure = scene.figure
    assert write_c3d(scene, tmp_path / "walk.c3d").files == (tmp_path / "walk.c3d",)
    back, expected = read(tmp_path / "walk.c3d"), figure.take()
    assert back.names == figure.names
    assert back.up == figure.up
    np.testing.assert_allclose(back.p_world_body, expected.p_world_body, atol=PLACES)
    np.testing.assert_allclose(back.R_world_body, expected.R_world_body, atol=TURNS)
    np.testing.assert_allclose(back.time, one.take.time, atol=1e-6)
    markers = read_recording(tmp_path / "walk.c3d").markers
    assert markers is not None
    inside = figure.parent >= 0
    assert markers.names == tuple(np.array(figure.joints)[inside])
    np.testing.assert_allclose(markers.position * MM, figure.world[1][:, inside], atol=PLACES)


def test_ezc3d_finds_the_same_points_rotations_names_rate_unit_and_axes(tmp_path: Path) -> None:
    scene = _scene(moving.person())
    write_c3d(scene, tmp_path / "walk.c3d")
    found, (R, p) = _ezc3d(tmp_path / "walk.c3d"), scene.figure.world
    inside = scene.figure.parent >= 0
    np.testing.assert_allclose(found["points"][..., :3] * MM, p[:, inside], atol=PLACES)
    np.testing.assert_allclose(found["rotations"][..., :3, :3], R, atol=TURNS)
    np.testing.assert_allclose(found["rotations"][..., :3, 3] * MM, p, atol=PLACES)
    np.testing.assert_array_equal(found["rotations"][..., 3, :], np.broadcast_to([0, 0, 0, 1], (*p.shape[:2], 4)))
    assert (found["residual"] == 0).all()
    assert found["rate"] == 30
    assert found["POINT:LABELS"].tolist() == [scene.figure.joints[k] for k in np.flatnonzero(inside)]
    assert found["ROTATION:LABELS"].tolist() == [f"{name}_4X4" for name in scene.figure.names]
    told = {name: found[f"POINT:{name}"].tolist() for name in ("UNITS", "X_SCREEN", "Y_SCREEN", "RATE")}
    assert told == {"UNITS": ["mm"], "X_SCREEN": ["+X"], "Y_SCREEN": ["+Z"], "RATE": [30]}
    assert "knee_l" in found["POINT:LABELS"]
    assert found["POINT:DESCRIPTIONS"][found["POINT:LABELS"] == "knee_l"].tolist() == ["joint of l_thigh and l_shank"]


def test_what_is_not_known_is_not_seen_in_any_reader(tmp_path: Path) -> None:
    one = moving.person(seconds=3)
    hidden = np.zeros((90, 15), bool)
    hidden[20:60, one.take.names.index("l_shank")] = True
    motion = play(one.skeleton, one.take.mask(hidden))
    figure = build_figure(one.skeleton, motion)
    write_c3d(Scene(one.skeleton, motion), tmp_path / "gap.c3d")
    found, back = _ezc3d(tmp_path / "gap.c3d"), read(tmp_path / "gap.c3d")
    lost = ~figure.take().seen
    assert lost[20:60].any()
    assert not lost[:20].any()
    np.testing.assert_array_equal(~back.seen, lost)
    inside = figure.parent >= 0
    gone = np.isnan(figure.world[1]).any(axis=-1)[:, inside]
    np.testing.assert_array_equal(found["residual"] == -1, gone)
    np.testing.assert_array_equal(np.isnan(found["points"][..., :3]).all(axis=-1), gone)
    np.testing.assert_array_equal(np.isnan(found["rotations"][..., :3, :]).all(axis=(-2, -1)), lost)


@pytest.mark.parametrize("up", ["x", "y", "z", "-x", "-y", "-z"])
def test_the_axis_that_points_up_is_told_and_the_world_stays_as_it_is(up: str, tmp_path: Path) -> None:
    one = moving.links(("ball",))
    scene = _scene(one, up=up)
    write_c3d(scene, tmp_path / "up.c3d")
    back = read(tmp_path / "up.c3d")
    assert back.up == up
    np.testing.assert_allclose(back.p_world_body, scene.figure.take().p_world_body, atol=PLACES)


def test_segments_are_files_by_number_and_all_trees_are_in_each(tmp_path: Path) -> None:
    worlds = [simulate(human(), "walk", seconds=2, rate=30), prop(seconds=2, rate=30)]
    one = moving.moving(together(worlds, ["", ""]))
    cut = replace(one.motion, segment=np.arange(60) // 40)
    written = write_c3d(Scene(one.skeleton, cut), tmp_path / "clip.c3d")
    assert [file.name for file in written.files] == ["clip.c3d", "clip-2.c3d"]
    takes = [read(file) for file in written.files]
    assert [take.frames for take in takes] == [40, 20]
    assert "prop" in takes[1].names
    assert len(takes[1].names) == len(one.skeleton.bodies)
    expected = build_figure(one.skeleton, cut).take().slice(40, 60)
    np.testing.assert_allclose(takes[1].p_world_body, expected.p_world_body, atol=PLACES)


@pytest.mark.costly
def test_a_motion_that_is_too_long_is_in_several_files_which_ezc3d_reads_to_the_last_frame(tmp_path: Path) -> None:
    one = moving.links(("ball",))
    motion = _repeated(one.motion, 70_001)
    written = write_c3d(Scene(one.skeleton, motion), tmp_path / "long.c3d")
    assert [file.name for file in written.files] == ["long.c3d", "long-2.c3d"]
    assert "split-file" in {finding.code for finding in written.findings}
    p = build_figure(one.skeleton, motion).world[1]
    first = 0
    for file, frames in zip(written.files, (65_535, 4_466), strict=True):
        found, back = _ezc3d(file), read(file)
        assert len(found["rotations"]) == len(found["points"]) == back.frames == frames
        np.testing.assert_allclose(found["rotations"][:, :, :3, 3] * MM, p[first : first + frames], atol=PLACES)
        np.testing.assert_allclose(back.p_world_body, p[first : first + frames], atol=PLACES)
        low, high = found["TRIAL:ACTUAL_START_FIELD"].ravel() & 0xFFFF
        assert low + (high << 16) == first + 1
        first += frames
        low, high = found["TRIAL:ACTUAL_END_FIELD"].ravel() & 0xFFFF
        assert low + (high << 16) == first


def test_a_file_of_many_joints_is_cut_where_its_rotations_would_begin_too_far_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = moving.links(("ball",) * 40, seconds=1)
    assert c3d.ROTATION_START_MAX_BLOCK < 2**15, "ezc3d reads the place with a sign"
    assert count_most_frames(build_figure(one.skeleton, one.motion)) < 65_535
    monkeypatch.setattr(c3d, "ROTATION_START_MAX_BLOCK", 1000)
    motion = _repeated(one.motion, 700)
    written = write_c3d(Scene(one.skeleton, motion), tmp_path / "wide.c3d")
    assert len(written.files) == 2
    found = [_ezc3d(file) for file in written.files]
    assert 700 < found[0]["ROTATION:DATA_START"] <= 1000
    places = np.concatenate([part["rotations"][..., :3, 3] for part in found]) * MM
    expected = build_figure(one.skeleton, motion).world[1]
    np.testing.assert_allclose(places, expected, atol=10 * PLACES)  # up to 12 m away


def test_more_than_255_names_go_on_in_a_second_list(tmp_path: Path) -> None:
    one = moving.links(("ball",) * 299, seconds=0.1)
    scene = _scene(one)
    write_c3d(scene, tmp_path / "many.c3d")
    back = read_recording(tmp_path / "many.c3d")
    assert back.bodies is not None
    assert back.markers is not None
    assert back.bodies.names == scene.figure.names
    assert len(set(back.markers.names)) == 299
    found = _ezc3d(tmp_path / "many.c3d")
    assert found["ROTATION:LABELS2"][-1] == f"{scene.figure.names[-1]}_4X4"
    np.testing.assert_allclose(found["rotations"][..., :3, :3], scene.figure.world[0], atol=TURNS)


@pytest.mark.parametrize("bodies", [1, 2])
def test_bodies_without_any_joint_are_rotations_alone(bodies: int, tmp_path: Path) -> None:
    worlds = [prop(seconds=1, rate=30, seed=k) for k in range(bodies)]
    one = moving.moving(together(worlds, ["a_", "b_"][:bodies]))
    write_c3d(_scene(one), tmp_path / "loose.c3d")
    np.testing.assert_allclose(read(tmp_path / "loose.c3d").p_world_body, one.take.p_world_body, atol=PLACES)
    assert _ezc3d(tmp_path / "loose.c3d")["rotations"].shape == (30, bodies, 4, 4)


def test_a_clock_with_lost_frames_is_made_even_and_one_frame_is_a_file(tmp_path: Path) -> None:
    one = moving.person(seconds=2)
    motion = one.motion.at(np.delete(np.arange(60), [10, 11]))
    written = write_c3d(Scene(one.skeleton, motion), tmp_path / "even.c3d")
    assert "resampled" in {finding.code for finding in written.findings}
    assert read(tmp_path / "even.c3d").frames == 60
    write_c3d(Scene(one.skeleton, one.motion.at(slice(3, 4))), tmp_path / "one.c3d")
    assert read(tmp_path / "one.c3d").frames == 1


def test_names_are_plain_letters_and_one_that_is_too_long_is_refused_with_a_sentence(tmp_path: Path) -> None:
    world = simulate(human(), "walk", seconds=1, rate=30)
    one = moving.moving(world, {"head": "头 {", "pelvis": "=pelvis"})
    written = write_c3d(_scene(one, names="bodies"), tmp_path / "names.c3d")
    assert "renamed-bones" in {finding.code for finding in written.findings}
    assert set(read(tmp_path / "names.c3d").names) >= {"___", "_pelvis"}
    long = moving.moving(world, {"head": "h" * 300})
    with pytest.raises(CondyleError, match=r"'h{40}\.\.\.' is longer than the 255 letters that C3D holds") as error:
        write_c3d(_scene(long, names="bodies"), tmp_path / "long.c3d")
    assert error.value.code == "bad-name"


def test_more_names_than_the_parameters_hold_are_refused_with_a_sentence() -> None:
    one = moving.links(("ball",) * 3, seconds=0.1)
    figure = build_figure(one.skeleton, one.motion)
    b = 1200
    chain = replace(
        figure,
        names=tuple(f"{'n' * 100}{k}" for k in range(b)),
        bodies=tuple(map(str, range(b))),
        joints=tuple(f"{'j' * 100}{k}" for k in range(b)),
        parts=(),
        kind=("free", *["ball"] * (b - 1)),
        parent=np.arange(b) - 1,
        **{name: np.repeat(getattr(figure, name)[:1], b, axis=0) for name in ("R_body_bone", "p_body_bone", "tip")},
        **{name: np.repeat(getattr(figure, name)[:1], b, axis=0) for name in ("p_parent_bone", "axis")},
        R_parent_bone_rest=np.repeat(figure.R_parent_bone_rest[:1], b, axis=0),
        R_parent_bone=np.repeat(figure.R_parent_bone[:, :1], b, axis=1),
        **dict.fromkeys(("first_axis", "pitch", "travel")),
    )
    with pytest.raises(CondyleError, match="export fewer bodies"):
        to_c3d(chain)


def test_the_reader_tells_that_condyle_solved_these_poses(tmp_path: Path) -> None:
    write_c3d(_scene(moving.person(seconds=1)), tmp_path / "walk.c3d")
    recording = read_recording(tmp_path / "walk.c3d")
    assert recording.solved_by == "condyle"
    assert recording.facts["program"].startswith("condyle ")
