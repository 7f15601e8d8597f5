"""A motion on rigs of other proportions: read back from the files, feet stand, limbs point as the person's do."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError, UsageError
from condyle.model.take import Take
from condyle.motion.retarget_rig import RigMotion
from tests.make import recordings
from tests.make.rigs import BONES, standing_person, write_bvh_rig, write_glb_rig

SLIDE_MAX_M_S = 0.002  # of a sole that stands, in metres of the recording per second
SLIDE_BEFORE_M_S = 0.05  # at least, with the rotations alone: else the test shows nothing
SOLE_M = np.array([[0.0, -0.07, 0.0], [0.01, -0.07, 0.14]])  # heel and ball of the rig, left
FLOOR_M = 0.002  # m up to which a point is on the floor


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> RigMotion:
    return standing_person().retarget_to_rig(write_bvh_rig(tmp_path_factory.mktemp("rig") / "rig.bvh"))


def written(motion: RigMotion, folder: Path, unit: str = "cm") -> Take:
    (file,) = motion.write(folder)
    return condyle.read(file, unit=unit)


def slide(take: Take, foot: str, stands: list[tuple[int, int]]) -> tuple[float, float]:
    """[m/s] root mean square speed along the floor of the lower of heel and ball, in a file that was read, in frames
    of stands in which it is on the floor; and the share of such frames."""
    k, sole = take.index(foot), SOLE_M * ([1, 1, 1] if "Left" in foot else [-1, 1, 1])
    points = take.p_world_body[:, k, None] + (take.R_world_body[:, k] @ sole.T).swapaxes(-1, -2)
    lower = points[..., 1].argmin(axis=1)
    rows = np.concatenate([np.arange(first, stop - 1) for first, stop in stands])
    down = rows[points[rows, lower[rows], 1] < FLOOR_M]
    step = (points[down + 1, lower[down]] - points[down, lower[down]]) * take.rate
    return float(np.sqrt((step[:, [0, 2]] ** 2).sum(axis=1).mean())), len(down) / len(rows)


def test_feet_that_stand_do_not_slide(moved: RigMotion) -> None:
    assert moved.slide_before is not None
    assert moved.slide_after is not None
    assert moved.slide_before > SLIDE_BEFORE_M_S
    assert moved.slide_after < SLIDE_MAX_M_S
    assert any(finding.code == "feet-held" and finding.count for finding in moved.findings)


def test_the_ball_of_a_standing_foot_is_at_rest_in_the_file_that_was_written(moved: RigMotion, tmp_path: Path) -> None:
    take = written(moved, tmp_path)
    assert set(moved.stands) == {"mixamorig:LeftFoot", "mixamorig:RightFoot"}
    for foot, stands in moved.stands.items():
        assert len(stands) >= 4
        speed, share = slide(take, foot, list(stands))
        assert speed < SLIDE_MAX_M_S
        assert share > 0.9


def test_the_rig_keeps_its_proportions(moved: RigMotion) -> None:
    clip, rig = moved.clips[0], moved.rig
    for k, up in enumerate(rig.parent.tolist()):
        if up >= 0:
            apart = np.linalg.norm(clip.p_world[:, k] - clip.p_world[:, up], axis=-1)
            np.testing.assert_allclose(apart, np.linalg.norm(rig.p_rest[k] - rig.p_rest[up]), atol=1e-9)


def test_arms_point_where_the_persons_do_though_the_rig_rests_with_them_down(moved: RigMotion) -> None:
    figure = standing_person().scene().figure.turn_up("y")
    place, clip = figure.world[1], moved.clips[0]
    for side, word in (("l", "Left"), ("r", "Right")):
        for body, tip, bone, end in (
            ("upper_arm", "forearm", "Arm", "ForeArm"),
            ("forearm", "hand", "ForeArm", "Hand"),
        ):
            own = place[:, figure.bodies.index(f"{side}_{tip}")] - place[:, figure.bodies.index(f"{side}_{body}")]
            names = [moved.rig.names.index(f"mixamorig:{word}{one}") for one in (bone, end)]
            theirs = clip.p_world[:, names[1]] - clip.p_world[:, names[0]]
            cosine = (own * theirs).sum(axis=1) / np.linalg.norm(own, axis=1) / np.linalg.norm(theirs, axis=1)
            assert cosine.min() > 1 - 1e-9


def test_bones_between_pelvis_and_chest_share_the_turn(moved: RigMotion) -> None:
    clip, names = moved.clips[0], moved.rig.names
    R = {name: clip.R_world[:, names.index(f"mixamorig:{name}")] for name in ("Hips", "Spine", "Spine1", "Spine2")}
    whole = condyle.rotation.angle(np.swapaxes(R["Hips"], -1, -2) @ R["Spine2"])
    for k, name in enumerate(("Spine", "Spine1"), start=1):
        part = condyle.rotation.angle(np.swapaxes(R["Hips"], -1, -2) @ R[name])
        np.testing.assert_allclose(part, k / 3 * whole, atol=1e-9)


def test_the_path_is_scaled_by_the_legs(moved: RigMotion) -> None:
    figure = standing_person().scene().figure.turn_up("y")
    knee, ankle = (figure.bodies.index(f"l_{name}") for name in ("shank", "foot"))
    own = np.linalg.norm(figure.p_parent_bone[knee]) + np.linalg.norm(figure.p_parent_bone[ankle])
    assert moved.scale == pytest.approx((np.hypot(31, 2**0.5) + np.hypot(44, 2)) / own, rel=0.02)  # cm over m


@pytest.mark.parametrize("order", ["ZXY", "XYZ", "YZX"])
def test_what_is_written_is_what_was_solved(order: str, tmp_path: Path) -> None:
    moved = standing_person().retarget_to_rig(write_bvh_rig(tmp_path / "rig.bvh", order=order))
    take = written(moved, tmp_path / "out")
    rows = [take.index(name) for name in moved.rig.names]
    np.testing.assert_allclose(100 * take.p_world_body[:, rows], moved.clips[0].p_world, atol=1e-3)


def test_a_rig_with_z_up_gets_a_motion_with_z_up(moved: RigMotion, tmp_path: Path) -> None:
    other = standing_person().retarget_to_rig(write_bvh_rig(tmp_path / "rig.bvh", up="z"))
    y_up, z_up = moved.clips[0].p_world, other.clips[0].p_world
    np.testing.assert_allclose(z_up, np.stack([y_up[..., 0], -y_up[..., 2], y_up[..., 1]], axis=-1), atol=1e-6)


def test_a_character_in_glb_keeps_its_mesh_and_moves(tmp_path: Path) -> None:
    rig = write_glb_rig(tmp_path / "rig.glb")
    moved = standing_person().retarget_to_rig(rig)
    (file,) = moved.write(tmp_path / "out")
    take = condyle.read(file)
    assert moved.slide_after is not None
    assert moved.slide_after < SLIDE_MAX_M_S
    rows = [take.index(name) for name in moved.rig.names]
    np.testing.assert_allclose(take.p_world_body[:, rows], moved.clips[0].p_world, atol=1e-5)
    assert b"figure_shapes" in file.read_bytes()


def test_a_map_says_what_names_do_not(tmp_path: Path) -> None:
    rig = write_bvh_rig(tmp_path / "rig.bvh", prefix="")
    with pytest.raises(UsageError, match="say so in a file for --map"):
        standing_person().retarget_to_rig(rig)
    of = {name: f"bone{k}" for k, name in enumerate(BONES)}
    told = {of["Hips"]: "pelvis", of["Spine2"]: "chest", of["Head"]: "head"}
    for side, word in (("l", "Left"), ("r", "Right")):
        told |= {
            of[f"{word}UpLeg"]: f"{side}_thigh",
            of[f"{word}Leg"]: f"{side}_shank",
            of[f"{word}Foot"]: f"{side}_foot",
        }
    lines = ["[bones]", *(f'"{bone}" = "{body}"' for bone, body in told.items())]
    (tmp_path / "map.toml").write_text("\n".join(lines))
    moved = standing_person().retarget_to_rig(rig, tmp_path / "map.toml")
    assert dict(moved.bones) == told
    assert (moved.slide_after or 0.0) < SLIDE_MAX_M_S


def test_joints_on_one_line_tell_no_facing(tmp_path: Path) -> None:
    rig = write_bvh_rig(tmp_path / "rig.bvh", prefix="")
    with pytest.raises(CondyleError, match="map more bones"):
        standing_person().retarget_to_rig(rig, {"bone0": "pelvis", "bone3": "chest"})


def test_a_rig_that_cannot_go_anywhere_or_has_no_size_is_one_sentence(tmp_path: Path) -> None:
    rig = write_bvh_rig(tmp_path / "rig.bvh")
    text = rig.read_text()
    rig.write_text(re.sub(r"CHANNELS 6 (\w+position ){3}", "CHANNELS 3 ", text))
    with pytest.raises(CondyleError, match=r"rig.bvh: its root '.*Hips' has no channels Xposition"):
        standing_person().retarget_to_rig(rig)
    rig.write_text(re.sub(r"OFFSET .*", "OFFSET 0 0 0", text))
    with pytest.raises(CondyleError, match=r"rig.bvh: the joints that are mapped are in one place at rest"):
        standing_person().retarget_to_rig(rig)


def test_sides_that_are_exchanged_are_told(tmp_path: Path) -> None:
    rig = write_bvh_rig(tmp_path / "rig.bvh")
    plain = standing_person().retarget_to_rig(rig)
    assert not [told for told in plain.findings if told.code == "rig-sides-crossed"]
    other = {"l_": "r_", "r_": "l_"}
    crossed = {bone: other[body[:2]] + body[2:] for bone, body in plain.bones.items() if body[:2] in other}
    (told,) = (
        told for told in standing_person().retarget_to_rig(rig, crossed).findings if told.code == "rig-sides-crossed"
    )
    assert told.severity == "warning"
    assert len(told.bodies) == len(crossed)


def test_nothing_replaces_the_rig(moved: RigMotion) -> None:
    with pytest.raises(UsageError, match="would replace the rig itself"):
        moved.write(moved.rig.path.parent)
    with pytest.raises(UsageError, match="cannot be the name of a file"):
        moved.write(moved.rig.path.parent, "../x")


@pytest.mark.costly
@pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)
@pytest.mark.parametrize("name", ["more/lasem/FAILT01_Walk01.c3d", "cmu_bvh/49_02.bvh"])
def test_feet_of_recorded_people_stand_on_another_rig(name: str, tmp_path: Path) -> None:
    fit = condyle.fit(str(recordings.DATA / name), intervals=False)
    moved = fit.retarget_to_rig(write_bvh_rig(tmp_path / "rig.bvh"))
    assert moved.slide_before is not None
    assert moved.slide_after is not None
    assert moved.slide_before > SLIDE_BEFORE_M_S
    assert moved.slide_after < SLIDE_MAX_M_S
