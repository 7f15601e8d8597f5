"""Later takes on a known figure, against the truth of simulated ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.faults.files import turn_round
from condyle.maths import rotation
from condyle.model.take import BodyMarker, Take, join
from condyle.motion.angles import find_joint_angles
from condyle.motion.known import (
    Matched,
    _free_joints,
    describe_apart,
    falls_apart,
    join_matched,
    match_sensors,
    measure_gaps,
    place_turned,
    play_known,
)
from condyle.simulate import Disturbances, SimulatedFigure, World, chain, human, simulate
from tests.make import machines
from tests.make.performers import mount_chain

NOISE = Disturbances(position_noise=0.003, orientation_noise=0.009)
NEAR_M = 0.006  # m, of a body whose sensor has 3 mm of noise


@pytest.fixture(scope="module")
def performer() -> tuple[condyle.Fit, World]:
    """A calibration, and a later walk with the sensors where they were."""
    first = simulate(human(), "exercise", seconds=20, seed=1, disturbances=NOISE)
    later = simulate(human(), "walk", seconds=4, seed=2, disturbances=NOISE, mounts=first.truth.mounts)
    return condyle.fit(first.take, intervals=False), later


def _distance(fit: condyle.Fit, take: Take, world: World) -> np.ndarray:
    """(n, m) [m] of the played bodies from the truth."""
    reference = condyle.reference_rotations(fit.skeleton, fit.motion)
    played = play_known(fit.skeleton, match_sensors(fit.skeleton, take).take, reference=reference)
    poses = condyle.forward(played.skeleton, played.motion)
    assert poses.names == world.truth.names
    return np.asarray(np.linalg.norm(poses.p_world_body - world.truth.p_world_body, axis=-1))


def test_a_later_take_is_near_the_truth(performer: tuple[condyle.Fit, World]) -> None:
    fit, later = performer
    assert np.sqrt((_distance(fit, later.take, later) ** 2).mean()) < NEAR_M


@pytest.mark.parametrize("gone", ["l_thigh", "pelvis", "chest"])
def test_a_body_without_a_sensor_is_where_its_neighbours_tell(performer: tuple[condyle.Fit, World], gone: str) -> None:
    fit, later = performer
    kept = [name for name in later.take.names if name != gone]
    distance = _distance(fit, later.take.select(kept), later)
    assert np.sqrt((distance**2).mean()) < NEAR_M
    assert np.sqrt((distance[:, later.take.index(gone)] ** 2).mean()) < 5 * NEAR_M  # its sensor may turn about a line


@pytest.mark.costly
def test_noise_of_a_sensor_beside_which_none_is_worn_is_no_outlier(performer: tuple[condyle.Fit, World]) -> None:
    fit, first = performer
    mounts = first.truth.mounts
    later = simulate(human(), "walk", seconds=30, rate=60, seed=5, disturbances=NOISE, mounts=mounts)
    take = later.take.select([name for name in later.take.names if name != "l_shank"])
    assert "outliers" not in {one.code for one in condyle.solve(take, fit).findings}
    distance = _distance(fit, take, later)
    assert distance[:, later.take.index("l_foot")].max() < 5 * NEAR_M


@pytest.mark.parametrize(
    ("gone", "apart"), [((), False), (("l_thigh",), True), (("l_foot",), False), (("l_shank", "l_foot"), False)]
)
def test_a_figure_falls_apart_without_a_body_between_two_others(
    performer: tuple[condyle.Fit, World], gone: tuple[str, ...], apart: bool
) -> None:
    skeleton, later = performer[0].skeleton, performer[1].take
    take = match_sensors(skeleton, later.select([name for name in later.names if name not in gone])).take
    assert falls_apart(skeleton, take.seen) is apart


def _stiffen(plain: SimulatedFigure) -> SimulatedFigure:
    """The chain with a hinge between its second body and its third."""
    axis = np.full(plain.axis.shape, np.nan)
    axis[2] = [1.0, 0.0, 0.0]
    return SimulatedFigure(plain.names, plain.parent, plain.p_parent_joint, ("ball", "ball", "hinge", "ball"), axis)


@pytest.mark.parametrize("hidden", [1, 2])
def test_a_joint_of_a_body_without_a_sensor_is_freed_where_the_others_disagree_with_its_axis(hidden: int) -> None:
    plain = chain()
    stiff, gone = _stiffen(plain), plain.names[hidden]
    first = simulate(stiff, seconds=20, seed=4, disturbances=NOISE)
    fit = condyle.fit(first.take)
    again = simulate(stiff, seconds=10, seed=5, disturbances=NOISE, mounts=first.truth.mounts).take
    kept = [name for name in again.names if name != gone]
    assert "kind-differs" not in {one.code for one in condyle.solve(again.select(kept), fit).findings}
    later = simulate(plain, seconds=10, seed=5, disturbances=NOISE, mounts=first.truth.mounts).take
    solved = condyle.solve(later.select(kept), fit)
    (told,) = [one for one in solved.findings if one.code == "kind-differs"]
    assert set(told.bodies) == set(plain.names[1:3])
    poses = condyle.forward(solved.skeleton, solved.motion)
    worn = [later.index(name) for name in kept]
    away = np.linalg.norm(poses.p_world_body[:, worn] - later.p_world_body[:, worn], axis=-1)
    assert np.sqrt((away**2).mean()) < 2 * NEAR_M


@pytest.mark.costly
def test_orientations_around_a_body_without_a_sensor_free_its_joints_too() -> None:
    plain, stiff = chain(), chain(("ball", "hinge", "hinge"))
    first = simulate(stiff, seconds=20, seed=4, disturbances=NOISE)
    fit = condyle.fit(first.take)
    assert [joint.kind for joint in fit.skeleton.joints].count("hinge") == 2
    for figure, freed in ((stiff, False), (plain, True)):
        later = simulate(figure, seconds=10, seed=5, disturbances=NOISE, mounts=first.truth.mounts).take
        take = later.select([name for name in later.names if name != "link2"])
        alone = np.tile([name != "link0" for name in take.names], (take.frames, 1))
        matched = match_sensors(fit.skeleton, take, np.where(alone[..., None, None], take.R_world_body, np.nan))
        played = play_known(fit.skeleton, matched.take, turns=matched.turns)
        assert ("kind-differs" in {one.code for one in played.skeleton.findings}) is freed


def test_a_joint_that_the_take_orients_the_other_way_is_compared_too() -> None:
    stiff, plain = (simulate(figure, seconds=20, seed=4, disturbances=NOISE) for figure in (_stiffen(chain()), chain()))
    edge = set(plain.take.names[1:3])
    joints = [condyle.fit(world.take, intervals=False).skeleton.joints for world in (stiff, plain)]
    before, now = (next(one for one in found if {one.child, one.parent} == edge) for found in joints)
    assert [before.kind, now.kind] == ["hinge", "ball"]
    for one in (now, turn_round(now)):
        assert _free_joints([before], [one], np.zeros((1, 1)))[0][0].kind == "ball"


def test_a_joint_that_turned_about_one_axis_at_the_calibration_is_freed_where_it_does_not() -> None:
    plain = chain()
    stiff = _stiffen(plain)
    first = simulate(stiff, seconds=20, seed=4, disturbances=NOISE)
    fit = condyle.fit(first.take)
    edge = {plain.names[1], plain.names[2]}
    assert [joint.kind for joint in fit.skeleton.joints if {joint.child, joint.parent} == edge] == ["hinge"]
    again = simulate(stiff, seconds=10, seed=5, disturbances=NOISE, mounts=first.truth.mounts)
    assert "kind-differs" not in {one.code for one in condyle.solve(again.take, fit).findings}
    later = simulate(plain, seconds=10, seed=5, disturbances=NOISE, mounts=first.truth.mounts)
    solved = condyle.solve(later.take, fit)
    (told,) = [one for one in solved.findings if one.code == "kind-differs"]
    assert set(told.bodies) == edge
    poses = condyle.forward(solved.skeleton, solved.motion)
    turned = rotation.angle(np.swapaxes(poses.R_world_body, -1, -2) @ later.truth.R_world_body)
    assert np.degrees(np.sqrt((turned**2).mean())) < 2.0


def test_the_end_of_a_limb_without_sensors_has_no_pose(performer: tuple[condyle.Fit, World]) -> None:
    fit, later = performer
    gone = ["l_forearm", "l_hand"]
    take = match_sensors(fit.skeleton, later.take.select([n for n in later.take.names if n not in gone])).take
    played = play_known(fit.skeleton, take)
    poses = condyle.forward(played.skeleton, played.motion)
    assert [name for k, name in enumerate(poses.names) if not poses.seen[:, k].any()] == gone
    told = [finding for finding in played.skeleton.findings if finding.code == "sensor-absent"]
    assert {finding.bodies[0] for finding in told} == set(gone)
    assert not [one for one in played.skeleton.findings if one.code == "gap-left"]


def test_one_position_is_enough_for_sensors_that_report_orientation_only(
    performer: tuple[condyle.Fit, World],
) -> None:
    fit, later = performer
    alone = np.tile([name != "pelvis" for name in later.take.names], (later.take.frames, 1))
    turns = np.where(alone[..., None, None], later.take.R_world_body, np.nan)
    matched = match_sensors(fit.skeleton, later.take, turns)
    played = play_known(fit.skeleton, matched.take, turns=matched.turns)
    away = condyle.forward(played.skeleton, played.motion).p_world_body - later.truth.p_world_body
    assert np.sqrt((away**2).sum(axis=-1).mean()) < 0.02
    assert "orientation-only" in {finding.code for finding in played.skeleton.findings}


def test_a_joint_is_freed_by_orientations_alone_where_they_part_its_axis() -> None:
    plain = chain()
    stiff = _stiffen(plain)
    first = simulate(stiff, seconds=20, seed=4, disturbances=NOISE)
    fit = condyle.fit(first.take)
    for figure, count in ((stiff, 0), (plain, 1)):
        later = simulate(figure, seconds=10, seed=5, disturbances=NOISE, mounts=first.truth.mounts)
        alone = np.tile([k > 0 for k in range(later.take.bodies)], (later.take.frames, 1))
        matched = match_sensors(
            fit.skeleton, later.take, np.where(alone[..., None, None], later.take.R_world_body, np.nan)
        )
        played = play_known(fit.skeleton, matched.take, turns=matched.turns)
        told = [set(one.bodies) for one in played.skeleton.findings if one.code == "kind-differs"]
        assert told == [set(plain.names[1:3])] * count
        poses = condyle.forward(played.skeleton, played.motion)
        turned = rotation.angle(np.swapaxes(poses.R_world_body, -1, -2) @ later.truth.R_world_body)
        assert np.degrees(np.sqrt((turned**2).mean())) < 2.0


def test_frames_without_any_position_have_no_pose(performer: tuple[condyle.Fit, World]) -> None:
    fit, later = performer
    hidden = np.zeros((later.take.frames, later.take.bodies), bool)
    hidden[40:60] = True
    turns = np.where(hidden[..., None, None], later.take.R_world_body, np.nan)
    matched = match_sensors(fit.skeleton, later.take, turns)
    played = play_known(fit.skeleton, matched.take, turns=matched.turns)
    assert not condyle.forward(played.skeleton, played.motion).seen[40:60].any()
    assert condyle.forward(played.skeleton, played.motion).seen[:40].all()
    with pytest.raises(CondyleError, match="one at least must report where it is"):
        play_known(fit.skeleton, matched.take.slice(40, 60))


def test_a_recording_of_other_sensors_is_refused_and_more_sensors_are_left_out(
    performer: tuple[condyle.Fit, World],
) -> None:
    fit, later = performer
    other = simulate(chain(), seconds=2, seed=1).take
    with pytest.raises(CondyleError, match="none of the figure's sensors") as caught:
        match_sensors(fit.skeleton, other)
    assert caught.value.code == "bodies-differ"
    few = fit.skeleton.bodies[:3]
    small = replace(fit.skeleton, bodies=few, joints=fit.skeleton.joints[:0], roots=(), loose=few)
    matched = match_sensors(small, later.take)
    assert matched.take.names == few
    assert matched.take.findings[-1].code == "extra-sensors"


def test_takes_with_different_sensors_are_joined(performer: tuple[condyle.Fit, World]) -> None:
    fit, later = performer
    parts = [match_sensors(fit.skeleton, later.take.select(later.take.names[k:])) for k in (0, 2)]
    turned = Matched(parts[1].take, np.array(later.take.R_world_body))
    joined = join_matched([parts[0], turned])
    assert joined.take.frames == 2 * later.take.frames
    assert joined.turns is not None
    assert np.isnan(joined.turns[: later.take.frames]).all()
    assert join_matched(parts).turns is None


def test_bodies_of_markers_get_the_axes_of_the_calibration(rng: np.random.Generator) -> None:
    take = simulate(chain(), seconds=2, seed=1).take
    fit = condyle.fit(take, intervals=False)
    points = rng.normal(size=(4, 3)) * 0.05
    R, p = rotation.random(rng, ()), np.array([0.01, -0.02, 0.03])  # of the old axes in the new ones
    body = take.names[1]
    before = tuple(BodyMarker(body, f"m{k}", point) for k, point in enumerate(points))
    now = tuple(BodyMarker(body, f"m{k}", R @ point + p) for k, point in enumerate(points))
    turned, placed = take.R_world_body.copy(), take.p_world_body.copy()
    turned[:, 1] = take.R_world_body[:, 1] @ R.T
    placed[:, 1] = take.p_world_body[:, 1] - np.einsum("nij,j->ni", turned[:, 1], p)
    later = replace(take, R_world_body=turned, p_world_body=placed, markers=now)
    back = match_sensors(replace(fit.skeleton, markers=before), later).take
    np.testing.assert_allclose(back.p_world_body, take.select(fit.skeleton.bodies).p_world_body, atol=1e-12)
    np.testing.assert_allclose(back.R_world_body, take.select(fit.skeleton.bodies).R_world_body, atol=1e-12)


@pytest.mark.costly
def test_names_that_are_exchanged_after_the_calibration_are_told() -> None:
    noise = Disturbances(position_noise=0.001, orientation_noise=0.005)
    figure = condyle.fit(simulate(human(), seconds=20, seed=1, disturbances=noise).take)
    later = simulate(human(), seconds=6, seed=1, disturbances=noise).take
    crossed = {"l_foot": "r_foot", "r_foot": "l_foot"}
    names = tuple(crossed.get(name, name) for name in later.names)
    right, wrong = (condyle.solve(take, figure) for take in (later, replace(later, names=names)))
    assert not {"large-residual", "sensors-exchanged"} & {one.code for one in right.findings}
    (told,) = [one for one in wrong.findings if one.code in ("large-residual", "sensors-exchanged", "sensor-moved")]
    assert (told.code, told.bodies) == ("sensors-exchanged", ("l_foot", "r_foot"))
    assert "--rename l_foot=r_foot,r_foot=l_foot" in told.text


def test_every_file_is_compared_with_the_calibration_by_itself() -> None:
    figure = condyle.fit(mount_chain(1).take)
    files = {"right.npz": mount_chain(1, 1).take, "anew.npz": mount_chain(2, 1).take}
    parts = [replace(take, sources=(f"/day/{name}",)) for name, take in files.items()]
    solved = condyle.solve(join(parts), figure)
    told = [one for one in solved.findings if one.severity != "info"]
    assert [(one.code, one.text.split(":")[0]) for one in told] == [("remounted", "anew.npz")]
    alone = condyle.solve(parts[0], figure)
    played = solved.take.in_source(0)
    np.testing.assert_allclose(solved.motion.p_world_free[played], alone.motion.p_world_free, atol=1e-9)


def test_angles_of_orientations_alone_are_those_that_were_played(performer: tuple[condyle.Fit, World]) -> None:
    fit, later = performer
    alone = np.tile([name != "pelvis" for name in later.take.names], (later.take.frames, 1))
    turns = np.where(alone[..., None, None], later.take.R_world_body, np.nan)
    matched = match_sensors(fit.skeleton, later.take, turns)
    played = play_known(fit.skeleton, matched.take, turns=matched.turns)
    placed = place_turned(played.skeleton, played.take, played.motion)
    assert placed.seen.all()
    whole, turned = (find_joint_angles(fit.skeleton, take).values for take in (later.take, placed))
    assert np.isfinite(turned).any(axis=0).all()
    assert np.degrees(np.nanmedian(np.abs(whole - turned))) < 2


def test_the_thread_of_a_screw_is_no_gap_of_its_joint() -> None:
    fit = machines.fitted("lead-screw")
    gap, _, joints = measure_gaps(fit.skeleton, fit.take)
    for before, now, own in zip(fit.skeleton.joints, joints, np.moveaxis(gap, 1, 0), strict=True):
        assert now.residual == pytest.approx(before.residual, rel=0.05)
        assert np.linalg.norm(own, axis=1).max() < 0.006
    assert not describe_apart(fit.skeleton.joints, joints)
