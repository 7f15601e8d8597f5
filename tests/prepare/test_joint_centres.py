"""Segments of two markers: completed by the centre of the joint above, never surer than what the motion tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import ArrayLike

import condyle
from condyle import CondyleError, rotation
from condyle.io.format import ReadOptions
from condyle.io.formats import read_recording
from condyle.io.skeleton_file import read_skeleton
from condyle.maths.robust import Z95
from condyle.model.recording import Markers, Recording, to_take
from condyle.model.take import Take
from condyle.prepare.joint_centres import (
    ALONE_SD_M,
    AT_MARKER_SD_M,
    NEAR_SPINES_SD_M,
    NEAR_WAIST_SD_M,
    SKIN_SD_M,
    SKIN_TO_CENTRE_M,
    SKIN_TO_CENTRE_SD_M,
    JointCentre,
    Near,
    UncertainPoint,
    _find_inner,
    _find_way,
    _shift_inwards,
    find_centre,
    fit_sphere,
)
from condyle.prepare.read import bodies_in
from condyle.prepare.recognise_bodies import describe_recognition, recognise_bodies
from condyle.result.assemble import DRAWN_SD_M

from ..make.walkers import LEG_JOINTS, plug_in_gait, true_angles, walker

EXACT_M = 1e-4  # m: of a centre that markers without noise circle
D2_MAX_99 = 11.34  # squared standardised distance in three dimensions, which 1 % exceed
FLEXION_MAX_SD_DEG = 3.0  # of flexion against the truth, with 3 mm of skin on two markers
PELVIS = ("LASI", "RASI", "LPSI", "RPSI")
SPINES = np.array([[0.0, 0.12, 0], [0.0, -0.12, 0], [-0.15, 0.04, 0], [-0.15, -0.04, 0]])


def turned(vectors: ArrayLike, points: ArrayLike, centre: ArrayLike) -> np.ndarray:
    """(n, k, 3) points about a centre, turned by rotation vectors (n, 3)."""
    return np.asarray(centre) + np.einsum("nij,kj->nki", rotation.from_vector(np.asarray(vectors)), np.asarray(points))


def test_a_centre_is_where_markers_keep_their_distances(rng: np.random.Generator) -> None:
    centre = np.array([0.02, 0.1, -0.08])
    points = turned(0.4 * rng.standard_normal((400, 3)), [[0.02, 0.08, -0.2], [0, 0.05, -0.4]], centre)
    found = fit_sphere(points, UncertainPoint(np.zeros(3), 0.15**2 * np.eye(3), ""), count=1e9)
    assert found.p == pytest.approx(centre, abs=EXACT_M)


def test_along_an_axis_that_it_only_turned_about_a_centre_is_no_better_known_than_before(
    rng: np.random.Generator,
) -> None:
    points = turned(np.outer(rng.uniform(0, 1, 400), [0, 1, 0]), [[0, 0.05, -0.2], [0, 0.03, -0.4]], np.zeros(3))
    sd = np.sqrt(np.diag(fit_sphere(points, UncertainPoint(np.zeros(3), 0.05**2 * np.eye(3), ""), 200.0).covariance))
    assert sd[1] == pytest.approx(np.hypot(0.05, SKIN_SD_M), rel=0.01)
    assert max(sd[0], sd[2]) < sd[1] / 3


@pytest.mark.parametrize(("side", "sign"), [("l", 1), ("r", -1)])
@pytest.mark.parametrize(
    ("names", "mirrored", "sd"),
    [
        (PELVIS, False, NEAR_SPINES_SD_M),
        (PELVIS, True, NEAR_SPINES_SD_M),
        (("L_IAS", "R_IAS", "L_IPS", "R_IPS"), False, NEAR_SPINES_SD_M),
        (("Tom:LFWT", "Tom:RFWT", "Tom:LBWT", "Tom:RBWT"), False, NEAR_WAIST_SD_M),
        (("Q_WaistLFront", "Q_WaistRFront", "Q_WaistL", "Q_WaistBack"), False, NEAR_WAIST_SD_M),
    ],
)
def test_without_motion_a_hip_is_where_the_widths_of_the_pelvis_put_it(
    side: str, sign: int, names: tuple[str, ...], mirrored: bool, sd: float, rng: np.random.Generator
) -> None:
    flip = np.array([1, -1, 1]) if mirrored else np.ones(3)
    still = np.broadcast_to([[0.0, sign * 0.15, -0.2], [0.0, sign * 0.13, -0.4]], (50, 2, 3))
    noise = 1e-5 * rng.standard_normal((50, 6, 3))
    near = Near(
        names,
        (SPINES + noise[:, :4]) * flip,
        (still + noise[:, 4:]) * flip,
        np.zeros((50, 0, 3)),
        np.zeros((50, 0, 3)),
    )
    centre = find_centre("hip", side, near, ("hip_centre", "thigh", "pelvis"), 10.0, mirrored)  # type: ignore[arg-type]
    assert centre is not None
    there = [-0.24 * 0.15 - 0.0099, sign * (0.33 * 0.24 + 0.0073), -0.30 * 0.24 - 0.0109]  # Harrington 2007
    far = 0.012 if "Q_WaistBack" in names else 1e-3  # of one marker at the back, on the left here
    assert centre.carry(near.above)[0] == pytest.approx(np.array(there) * flip, abs=far)
    assert centre.sd == pytest.approx(np.hypot(sd, SKIN_SD_M), rel=0.02)
    assert "motion" not in centre.made


def test_a_hip_by_the_motion_alone_is_known_less_than_with_landmarks(rng: np.random.Generator) -> None:
    centre = np.array([-0.05, 0.09, -0.08])
    below = turned(0.4 * rng.standard_normal((400, 3)), [[0.02, 0.08, -0.2], [0, 0.05, -0.4]], centre)
    above = SPINES + 1e-4 * rng.standard_normal((400, 4, 3))
    near = Near(("Hip1", "Hip2", "Hip3", "Hip4"), above, below, below[:, :0], below[:, :0])
    found = find_centre("hip", "l", near, ("l_hip_centre", "l_thigh", "pelvis"), 20.0)
    assert found is not None
    assert found.carry(above)[0] == pytest.approx(centre, abs=1e-3)
    assert found.sd > ALONE_SD_M


def test_a_knee_lies_half_its_width_inwards_of_its_marker_in_the_plane_of_the_thigh(rng: np.random.Generator) -> None:
    thigh = np.array([[0.0, 0.0, 0.0], [0.0, 0.09, -0.2], [0.0, 0.055, -0.42]])  # hip centre, THI, KNE
    noise = 1e-5 * rng.standard_normal((50, 5, 3))
    below = np.broadcast_to([[0.0, 0.05, -0.6], [0.0, 0.04, -0.82]], (50, 2, 3)) + noise[:, 3:]
    above = thigh + noise[:, :3]
    near = Near(("l_hip_centre", "LTHI", "LKNE"), above, below, above[:, 2:], np.zeros((50, 0, 3)))
    centre = find_centre("knee", "l", near, ("l_knee_centre", "l_shank", "l_thigh"), 1.0)
    assert centre is not None
    found = centre.carry(near.above)[0]
    assert np.linalg.norm(found - thigh[2]) == pytest.approx(SKIN_TO_CENTRE_M["knee"], abs=1e-3)
    assert found[:2] == pytest.approx([0, 0], abs=0.003)  # the hip's side of the marker, and straight below it
    alone = Near(("a", "b", "c"), above, below, above[:, 2:], np.zeros((50, 0, 3)))
    unsure = find_centre("knee", "l", alone, ("l_knee_centre", "l_shank", "l_thigh"), 1.0)
    assert unsure is not None
    assert unsure.sd == pytest.approx(AT_MARKER_SD_M)  # nothing tells which side is the inner one


def test_a_neighbour_that_is_hardly_seen_completes_nothing() -> None:
    unseen = np.full((50, 4, 3), np.nan)
    near = Near(PELVIS, unseen, unseen[:, :2], unseen[:, :0], unseen[:, :0])
    assert find_centre("hip", "l", near, ("c", "thigh", "pelvis"), 1.0) is None


def take_of(recording: Recording, known: condyle.Skeleton | None = None) -> Take:
    (formed,) = bodies_in([recording], ReadOptions(), known.markers if known else ())
    return to_take(formed)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_legs_of_plug_in_gait_are_one_figure_whose_intervals_hold_the_truth(seed: int) -> None:
    recording, centres = plug_in_gait(seed)
    take = take_of(recording)
    fit = condyle.fit(take)
    edges = {(joint.parent, joint.child): joint for joint in fit.skeleton.joints}
    above = {"thigh": "pelvis", "shank": "thigh", "foot": "shank"}
    for side in "lr":
        for name, part in LEG_JOINTS.items():
            parent = above[part] if part == "thigh" else f"{side}_{above[part]}"
            joint, k = edges[parent, f"{side}_{part}"], take.index(parent)
            there = np.einsum(
                "nji,nj->ni", take.R_world_body[:, k], centres[f"{side}_{name}"] - take.p_world_body[:, k]
            )
            off = joint.p_parent_joint - there.mean(axis=0)
            assert joint.covariance is not None
            assert off @ np.linalg.solve(joint.covariance[3:, 3:], off) < D2_MAX_99, joint.child
    angles = fit.angles()
    for name in ("hip", "knee"):
        for side in "lr":
            true = true_angles(walker(seed, "walk", 10.0), f"{name}_{side}")[:, 0]
            assert np.std(angles[f"{name}_flexion_{side}"] - true) < FLEXION_MAX_SD_DEG


@pytest.mark.costly
def test_a_joint_below_a_completed_segment_is_known_less_than_the_motion_says(tmp_path: Path) -> None:
    """Skin under the one marker off the line of a thigh draws the knee to that line."""
    fit = condyle.fit(take_of(plug_in_gait(1, shanks=True)[0]))
    assert {one.body for one in fit.skeleton.markers if one.carried} == {"l_thigh", "r_thigh"}
    fit.export("csv", tmp_path)
    rows = [line.split(",") for line in (tmp_path / "figure-markers.csv").read_text().splitlines()]
    assert {row[0] for row in rows if row[2] == "centre"} == {"l_thigh", "r_thigh"}
    width = {joint.child: joint.half_width for joint in fit.skeleton.joints}
    assert width["l_shank"] is not None
    assert width["l_shank"] > Z95 * DRAWN_SD_M


def test_what_completed_a_segment_is_told_with_how_far_it_may_be_off() -> None:
    found = recognise_bodies([plug_in_gait(1, 3.0)[0]])
    assert [one.name for one in found.centres[:2]] == ["l_hip_centre", "r_hip_centre"]
    assert found.bodies["l_shank"].markers == ("LANK", "LTIB", "l_knee_centre")
    assert not found.few
    (told,) = [one for one in describe_recognition(found) if one.code == "segment-completed"]
    assert told.severity == "warning"
    assert "l_knee_centre (half the usual width of a person's knee inwards of its marker: ± 20 mm" in told.text


def test_a_segment_of_one_marker_or_below_nothing_is_left_out() -> None:
    recording, _ = plug_in_gait(1, 3.0)
    assert recording.markers is not None
    names = recording.markers.names
    kept = [k for k, name in enumerate(names) if name not in ("LTHI", "RTIB")]
    less = Markers(tuple(names[k] for k in kept), np.asarray(recording.markers.position)[:, kept])
    found = recognise_bodies([replace(recording, markers=less)])
    assert set(found.bodies) == {"pelvis", "r_thigh"}
    assert {"l_thigh", "l_shank", "l_foot", "r_shank", "r_foot"} == set(found.few)


def mirror(recording: Recording) -> Recording:
    """The same in a left-handed world."""
    assert recording.markers is not None
    points = np.asarray(recording.markers.position) * [1, -1, 1]
    return replace(
        recording, markers=Markers(recording.markers.names, points), convention=recording.convention.but(handed="left")
    )


@pytest.mark.parametrize("made", [lambda one: one, mirror], ids=["right-handed", "left-handed"])
def test_a_later_take_keeps_the_centres_of_its_calibration(
    made: Callable[[Recording], Recording], tmp_path: pytest.TempPathFactory
) -> None:
    fit = condyle.fit(take_of(made(plug_in_gait(1)[0])))
    fit.save(tmp_path)  # type: ignore[arg-type]
    known = read_skeleton(tmp_path / "skeleton.json")  # type: ignore[operator]
    of = {one.name: one.carried for one in known.markers if one.carried}
    assert set(of) == {f"{side}_{name}_centre" for side in "lr" for name in LEG_JOINTS}
    later = made(plug_in_gait(1, 2.0)[0])
    again = {one.name: one.carried for one in take_of(later, known).markers if one.carried}
    anew = {one.name: one.carried for one in take_of(later).markers if one.carried}
    (told,) = [one.text for one in take_of(later, known).findings if one.code == "segment-completed"]
    assert "l_knee_centre (calibration: ± 20 mm)" in told
    assert "nan" not in told
    hips = ("l_hip_centre", "r_hip_centre")  # which the motion tells, too
    kept = [np.linalg.norm(of[name].p_body_centre - again[name].p_body_centre) for name in hips]  # type: ignore[union-attr]
    moved = [np.linalg.norm(of[name].p_body_centre - anew[name].p_body_centre) for name in hips]  # type: ignore[union-attr]
    assert max(kept) < 0.3 * max(moved)


RECORDED_PIG = "more/zoo/stick_ti003.c3d"  # which brings the segments that Plug-in Gait computed with calipers
RECORDED_MAX_M = 0.04  # of a completed knee or ankle from those


def test_knees_and_ankles_of_a_recorded_take_are_near_those_of_plug_in_gait(shared_data: Path) -> None:
    file = shared_data / RECORDED_PIG
    fit = condyle.fit(str(file))
    points = read_recording(file, ReadOptions()).markers
    assert points is not None
    computed = {name.rpartition(":")[2]: points.position[:, k] / 1000 for k, name in enumerate(points.names)}
    take, joints = fit.take, {joint.child: joint for joint in fit.skeleton.joints}
    for side in "lr":
        for child, name in ((f"{side}_shank", "FEO"), (f"{side}_foot", "TIO")):
            joint = joints[child]
            k = take.index(joint.parent)
            here = take.R_world_body[:, k] @ joint.p_parent_joint + take.p_world_body[:, k]
            off = np.nanmedian(np.linalg.norm(here - computed[side.upper() + name][: len(here)], axis=1))
            assert off < RECORDED_MAX_M
            assert joint.half_width is not None
            assert off < joint.half_width


def test_bodies_of_a_list_that_names_centres_are_those_by_name() -> None:
    recording = plug_in_gait(1, 5.0)[0]
    by_name = take_of(recording)
    listed = {one.body: [m.name for m in by_name.markers if m.body == one.body] for one in by_name.markers}
    listed = {name.replace("pelvis", "Becken"): [label.lower() for label in own] for name, own in listed.items()}
    (formed,) = bodies_in([recording], ReadOptions(bodies=listed))
    take = to_take(formed)
    np.testing.assert_allclose(take.p_world_body[:, take.index("Becken")], by_name.p_world_body[:, 0], atol=1e-12)
    own, other = ({one.name: one.carried for one in one_take.markers if one.carried} for one_take in (take, by_name))
    assert own.keys() == other.keys()
    for name, carried in own.items():
        assert carried.body == other[name].body.replace("pelvis", "Becken")  # type: ignore[union-attr]
        np.testing.assert_allclose(carried.covariance, other[name].covariance, atol=1e-12)  # type: ignore[union-attr]
    assert "segment-completed" in {one.code for one in formed.findings}


def test_a_centre_in_a_list_needs_the_body_that_carries_it() -> None:
    recording = plug_in_gait(1, 3.0)[0]
    thigh = {"l_thigh": ("LTHI", "LKNE", "l_hip_centre")}
    with pytest.raises(CondyleError, match="is a point of pelvis; list a body with three of LASI") as error:
        bodies_in([recording], ReadOptions(bodies=thigh))
    assert (error.value.code, error.value.body) == ("unknown-marker", "l_thigh")
    with pytest.raises(CondyleError, match="the names of the markers do not tell it"):
        bodies_in([recording], ReadOptions(bodies={"l_thigh": ("LTHI", "LKNE", "l_toe_centre")}))


def test_a_knee_that_bends_another_way_than_its_markers_put_inwards_is_known_less() -> None:
    """The thigh's marker stands off the side of the leg by an angle [deg] about its long axis."""
    for wand, wider in [(0.0, False), (6.0, False), (35.0, True)]:
        off = rotation.from_vector([0.0, 0.0, np.radians(wand)]) @ [0.0, 0.1, 0.2]  # z up, y outwards
        thigh = np.array([[0.0, 0.0, 0.4], [0.0, 0.055, 0.0], off])  # hip, marker at the knee, marker on the thigh
        bend = np.linspace(0, 1, 60)[:, None] * [0.0, 1.0, 0.0]
        shank = turned(bend, [[0.0, 0.05, -0.2], [0.0, 0.04, -0.4]], np.zeros(3))
        above = np.broadcast_to(thigh, (60, 3, 3))
        near = Near(("l_hip_centre", "LKNE", "LTHI"), above, shank, above[:, 1:2], above[:, :0])
        found = find_centre("knee", "l", near, ("l_knee_centre", "l_shank", "l_thigh"), 10.0)
        assert found is not None
        assert (found.sd > 1.5 * SKIN_TO_CENTRE_SD_M) == wider
        assert ("deg off" in found.made) == wider


def test_a_centre_is_half_an_adults_width_inwards_across_the_limb() -> None:
    marker, up, inner = np.zeros(3), np.array([0.0, 0.0, 0.4]), np.array([0.09, 0.0, 0.1])
    for joint, width in (("knee", 0.055), ("ankle", 0.042), ("elbow", 0.042), ("wrist", 0.03), ("toe", 0.0)):
        found = _shift_inwards(marker, up, inner, joint, None)
        np.testing.assert_allclose(found.p, [width, 0.0, 0.0], atol=1e-12)


NOTHING = np.zeros((400, 0, 3))


def hip_of(names: tuple[str, ...], seconds: float = 20.0, turn: float = 0.4, frames: int = 400) -> JointCentre | None:
    """That of a pelvis of so many markers, from a thigh that turns by so much [rad]."""
    rng = np.random.default_rng(5)
    centre = np.array([-0.046, 0.0865, -0.083])  # where the widths of this pelvis put it
    below = turned(turn * rng.standard_normal((400, 3)), [[0.02, 0.08, -0.2], [0, 0.05, -0.4]], centre)
    above = SPINES + 1e-4 * rng.standard_normal((400, 4, 3))
    below[frames:] = np.nan
    near = Near(names, above, below, NOTHING, NOTHING)
    return find_centre("hip", "l", near, ("l_hip_centre", "l_thigh", "pelvis"), seconds)


def test_a_hip_is_known_as_well_as_images_and_walks_have_shown() -> None:
    for names, turn, least, most in [
        (PELVIS, 1e-6, 0.013, 0.03),  # by landmarks alone: 5 to 10 mm in images, and skin
        (("LFWT", "RFWT", "LBWT", "RBWT"), 1e-6, 0.018, 0.045),
        (PELVIS, 0.4, 0.0115, 0.018),  # a motion tells it better, but for the skin
        (("a", "b", "c", "d"), 0.4, 0.025, 0.065),
    ]:
        found = hip_of(names, turn=turn)
        assert found is not None
        assert least < found.sd < most  # m


def test_a_hip_of_which_neither_landmarks_nor_motion_tell_is_left_out() -> None:
    assert hip_of(("a", "b", "c", "d"), turn=1e-6) is None


def test_a_moment_of_motion_is_no_joint() -> None:
    for frames, found in [(7, False), (20, True)]:
        assert (hip_of(PELVIS, frames=frames) is not None) == found


def test_strides_that_repeat_make_a_hip_no_surer_than_the_first_few_seconds() -> None:
    short, enough, long = (hip_of(PELVIS, seconds) for seconds in (1.0, 3.3, 60.0))
    assert short is not None
    assert enough is not None
    assert long is not None
    assert short.sd > 1.01 * enough.sd
    assert long.sd == pytest.approx(enough.sd)


def test_a_marker_on_a_thigh_is_never_believed_to_a_millimetre(rng: np.random.Generator) -> None:
    points = turned(0.4 * rng.standard_normal((400, 3)), [[0.02, 0.08, -0.2], [0, 0.05, -0.4]], np.zeros(3))
    anywhere = UncertainPoint(np.zeros(3), np.eye(3), "")
    exact = fit_sphere(points, anywhere, count=10.0, moves_sd=0.0)
    assert 0.006 < np.sqrt(np.linalg.eigvalsh(exact.covariance)[-1]) < 0.025
    skin = fit_sphere(points, anywhere, count=1e9)  # however often it was seen
    assert 0.005 < np.sqrt(np.linalg.eigvalsh(skin.covariance)[-1]) < 0.02


def test_motion_is_named_where_it_tells_something_beside_what_was_known() -> None:
    for share, told in [(0.06, False), (0.2, True)]:
        rng = np.random.default_rng(6)
        points = turned(0.4 * rng.standard_normal((400, 3)), [[0.02, 0.08, -0.2], [0, 0.05, -0.4]], np.zeros(3))
        before = UncertainPoint(np.zeros(3), 0.02**2 * np.eye(3), "widths")
        once = np.linalg.inv(fit_sphere(points, before, count=1.0, moves_sd=0.0).covariance) - np.eye(3) / 0.02**2
        count = share / (np.linalg.eigvalsh(once)[-1] * 0.02**2)
        assert fit_sphere(points, before, count).made == ("widths, and motion" if told else "widths")


def test_markers_at_a_joint_tell_it_to_within_what_they_may_be_off() -> None:
    for joint, markers, least, most in [
        ("shoulder", 1, 0.031, 0.07),  # goes up and forward by 60 to 80 mm with the arm
        ("knee", 2, 0.008, 0.03),  # on both sides of it
        ("knee", 1, 0.035, 0.1),  # on a side that nothing tells
    ]:
        rng = np.random.default_rng(7)
        below = turned(0.4 * rng.standard_normal((400, 3)), [[0.02, 0.0, -0.2], [0, 0.02, -0.4]], np.zeros(3))
        above = SPINES + 1e-4 * rng.standard_normal((400, 4, 3))
        at = np.tile([[0.0, 0.05, 0.0], [0.0, -0.05, 0.0]], (400, 1, 1))[:, :markers]
        found = find_centre(joint, "l", Near(("a", "b", "c", "d"), above, below, at, NOTHING), ("c", "s", "b"), 10.0)
        assert found is not None
        assert least < found.sd < most


def test_a_point_near_the_line_of_a_limb_tells_no_side() -> None:
    for off, told in [(0.012, False), (0.035, True)]:
        found = _shift_inwards(np.zeros(3), np.array([0, 0, 0.4]), np.array([off, 0, 0.1]), "knee", None)
        assert bool(found.p.any()) == told


def test_a_limb_bends_one_way_where_it_goes_far_enough_and_hardly_to_the_side() -> None:
    for across, aside, told in [(0.05, 0.01, True), (0.02, 0.004, False), (0.05, 0.017, True), (0.05, 0.04, False)]:
        turn = np.linspace(0, 2 * np.pi, 200, endpoint=False)
        points = np.sqrt(2) * np.stack([across * np.cos(turn), aside * np.sin(turn), np.zeros(200)], axis=1)[:, None]
        way = _find_way(points, np.array([0.0, 0.0, 0.4]))
        assert (way is not None) == told
        assert way is None or abs(way[0]) == pytest.approx(1.0)


def test_the_counterparts_of_a_marker_are_on_its_inner_side() -> None:
    shape = SimpleNamespace(points=np.array([[0.0, 0.0, 0.4], [0.1, 0.0, 0.4], [0.05, 0.0, 0.1]]))
    other = np.array([[0.3, 0.0, 0.0], [0.3, 0.02, 0.06], [0.3, 0.04, 0.0]])
    up, inner = _find_inner(shape, ("LTHI", "LTH2", "LKNE"), np.zeros(3), other)  # type: ignore[arg-type]
    np.testing.assert_allclose(up, [0.05, 0.0, 0.3])
    np.testing.assert_allclose(inner, [0.3, 0.02, 0.02])
