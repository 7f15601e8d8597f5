from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condyle import Skeleton, Take, Target, UsageError, fit_motion, forward, play, reach_targets
from condyle.maths import rotation
from condyle.model.skeleton import SensorNoise
from condyle.motion.ik import choose_sigmas
from tests.make import jointed, machines

POSITION, TURN = 0.003, 0.01  # m, rad: noise of the sensors
MEET = 1e-12  # m, the two sides of a joint
EXACT = 1e-9  # m and entries of matrices, where the data is exact
LOOP = 1e-7  # m, gap of a loop
seeds = st.integers(0, 2**32 - 1)


def fitted(skeleton: Skeleton, take: Take, **how: object):
    return fit_motion(skeleton, take, sigma_position=POSITION, sigma_rotation=TURN, **how)  # type: ignore[arg-type]


def off(poses: Take, truth: Take) -> np.ndarray:
    """(n, m) [m]"""
    return np.linalg.norm(poses.p_world_body - truth.p_world_body, axis=-1)


@settings(max_examples=15, deadline=None)
@given(seeds, st.integers(1, 2), st.integers(0, 2))
def test_exact_poses_come_back(seed: int, roots: int, loose: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 9, roots, loose, jointed.KINDS)
    truth = forward(skeleton, jointed.motion(rng, skeleton))
    fit = fitted(skeleton, truth)
    poses = forward(skeleton, fit.motion)
    np.testing.assert_allclose(poses.p_world_body, truth.p_world_body, atol=EXACT)
    np.testing.assert_allclose(poses.R_world_body, truth.R_world_body, atol=EXACT)
    assert fit.settled.all()
    assert (fit.weight == 1).all()


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_joints_meet_hinges_keep_their_axes_and_rigid_joints_their_rotation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 9, 1, 1, jointed.KINDS)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 40), POSITION, TURN)
    motion = fitted(skeleton, take).motion
    assert jointed.gaps(skeleton, forward(skeleton, motion)).max() <= MEET
    for one in skeleton.joints:
        R = motion.R_parent_body[:, skeleton.bodies.index(one.child)]
        if one.kind == "hinge":
            assert one.axis_child is not None
            np.testing.assert_allclose(R @ one.axis_child, np.tile(one.axis_parent, (40, 1)), atol=1e-12)
        elif one.kind == "rigid":
            assert np.ptp(R, axis=0).max() <= 1e-12


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_no_small_turn_of_any_joint_lowers_the_cost(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 6, 1, 1, jointed.KINDS)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 10), 0.02, 0.05)
    fit = fit_motion(skeleton, take, sigma_position=0.02, sigma_rotation=0.05, robust=False)

    def cost(motion) -> np.ndarray:
        poses = forward(skeleton, motion)
        turn = rotation.angle(np.swapaxes(take.R_world_body, -1, -2) @ poses.R_world_body)
        return 0.5 * ((off(poses, take) / 0.02) ** 2 + (turn / 0.05) ** 2).sum(axis=1)

    np.testing.assert_allclose(cost(fit.motion), fit.cost, rtol=1e-9)
    for one in skeleton.joints:
        if one.kind == "rigid":
            continue
        for axis in [one.axis_child] if one.kind == "hinge" else np.eye(3):
            for size in (-1e-4, 1e-4):
                R = fit.motion.R_parent_body.copy()
                R[:, skeleton.bodies.index(one.child)] @= rotation.from_vector(size * np.asarray(axis))
                assert (cost(replace(fit.motion, R_parent_body=R)) >= fit.cost * (1 - 1e-7)).all()
    for shift in (*np.eye(3), *-np.eye(3)):
        moved = replace(fit.motion, p_world_free=fit.motion.p_world_free + 1e-5 * shift)
        assert (cost(moved) >= fit.cost * (1 - 1e-7)).all()


def test_the_cost_under_the_right_noise_is_half_the_numbers_that_are_left_over(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 12)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 400), POSITION, TURN)
    left = 6 * 12 - (3 * 12 + 3)  # measured numbers less those of the pose
    assert fitted(skeleton, take, robust=False).cost.mean() == pytest.approx(left / 2, rel=0.03)


def test_poses_come_nearer_to_the_truth_than_by_playing_and_than_measured(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 12)
    moved = jointed.motion(rng, skeleton, 300)
    truth, take = forward(skeleton, moved), jointed.noisy(rng, skeleton, moved, POSITION, TURN)
    errors = [
        np.sqrt((off(poses, truth) ** 2).mean())
        for poses in (forward(skeleton, fitted(skeleton, take).motion), take, forward(skeleton, play(skeleton, take)))
    ]
    assert errors[0] < 0.8 * errors[1] < errors[2]


def test_frames_do_not_see_each_other(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 7)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 30), POSITION, TURN)
    whole, part = fitted(skeleton, take, robust=False), fitted(skeleton, take.slice(7, 9), robust=False)
    np.testing.assert_allclose(part.motion.R_parent_body, whole.motion.R_parent_body[7:9], atol=1e-6)


def test_spikes_of_a_sensor_are_left_out_and_told(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 8)
    time = np.arange(300) / 100
    moved = jointed.motion(rng, skeleton, 300, 0.0)
    sway = rotation.from_vector(np.sin(time)[:, None, None] * rng.uniform(-1, 1, (8, 3)))
    moved = replace(moved, R_parent_body=moved.R_parent_body @ sway, p_world_free=np.zeros((300, 1, 3)))
    truth, take = forward(skeleton, moved), jointed.noisy(rng, skeleton, moved, POSITION, TURN)
    leaf = take.index(skeleton.joints[-1].child)
    p, R = take.p_world_body.copy(), take.R_world_body.copy()
    p[50:250:20, leaf] += 0.5
    R[60:250:20, leaf] @= rotation.from_vector([0.0, 1.0, 0.0])
    spoilt = replace(take, p_world_body=p, R_world_body=R)
    fit = fitted(skeleton, spoilt)
    assert off(forward(skeleton, fit.motion), truth).max() <= 10 * POSITION
    assert off(forward(skeleton, fitted(skeleton, spoilt, robust=False).motion), truth).max() > 10 * POSITION
    assert (fit.weight[50:250:10, leaf] == 0).all()
    finding = next(f for f in fit.motion.findings if f.code == "outliers" and f.bodies == (take.names[leaf],))
    assert finding.frame == 50
    assert finding.count is not None
    assert finding.count >= 20


def test_a_sensor_that_is_off_for_long_keeps_some_weight(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 8)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 400), POSITION, TURN)
    body = take.index(skeleton.joints[-1].child)
    p = take.p_world_body.copy()
    p[100:130, body] += 0.3
    weight = fitted(skeleton, replace(take, p_world_body=p)).weight[100:130, body]
    assert (weight > 0).all()
    assert np.median(weight) < 0.1


def test_a_sensor_that_is_lost_in_more_than_a_tenth_of_the_take_does_not_carry_the_figure_off(
    rng: np.random.Generator,
) -> None:
    skeleton = jointed.figure(rng, 8)
    moved = jointed.motion(rng, skeleton, 300)
    take = jointed.noisy(rng, skeleton, moved, POSITION, TURN)
    body = take.index(skeleton.joints[-1].child)
    p = take.p_world_body.copy()
    p[::6, body] += 1000.0
    fit = fitted(skeleton, replace(take, p_world_body=p))
    others = [k for k in range(take.bodies) if k != body]
    assert off(forward(skeleton, fit.motion), forward(skeleton, moved))[:, others].max() < 0.2


def test_a_pose_is_not_left_out_where_no_neighbour_tells_where_its_body_is(rng: np.random.Generator) -> None:
    joints = tuple(jointed.joint(rng, child, parent, "ball") for child, parent in ("ba", "cb"))
    skeleton = Skeleton(("a", "b", "c"), ("a",), (), joints)
    moved = jointed.motion(rng, skeleton, 300, 0.0)
    sway = rotation.from_vector(np.sin(np.arange(300) / 30)[:, None, None] * rng.uniform(-0.5, 0.5, (3, 3)))
    moved = replace(moved, R_parent_body=moved.R_parent_body @ sway, p_world_free=np.ones((300, 1, 3)))
    take = jointed.noisy(rng, skeleton, moved, POSITION, TURN)
    p = take.p_world_body.copy()
    p[50:250:20, 2] += 0.05
    hidden = np.zeros((300, 3), bool)
    hidden[:, 1] = True
    spoilt = replace(take, p_world_body=p).mask(hidden)
    fit = fitted(skeleton, spoilt)
    assert (fit.weight[:, [0, 2]] > 0).all()
    assert off(forward(skeleton, fit.motion), take)[:, [0, 2]].max() < 0.1


def test_a_left_out_turn_beside_a_parent_without_a_sensor_is_bridged_in_the_world(rng: np.random.Generator) -> None:
    joints = tuple(jointed.joint(rng, child, parent, "ball") for child, parent in ("ba", "cb", "dc"))
    skeleton = Skeleton(("a", "b", "c", "d"), ("a",), (), joints)
    moved = jointed.motion(rng, skeleton, 100, 0.0)
    sway = rotation.from_vector(np.sin(np.arange(100) / 30)[:, None, None] * rng.uniform(-0.5, 0.5, (4, 3)))
    truth = forward(skeleton, replace(moved, R_parent_body=moved.R_parent_body @ sway))
    hidden = np.zeros((100, 4), bool)
    hidden[:, :2] = True
    hidden[40:45, 2] = True
    poses = forward(skeleton, fitted(skeleton, truth.mask(hidden)).motion)
    turned = np.swapaxes(truth.R_world_body, -1, -2) @ poses.R_world_body
    assert rotation.angle(turned[40:45, 2]).max() < np.radians(5.0)


def test_an_inner_body_that_is_not_seen_is_told_by_those_beyond_it(rng: np.random.Generator) -> None:
    joints = tuple(jointed.joint(rng, child, parent, "ball") for child, parent in ("ba", "cb", "dc"))
    skeleton = Skeleton(("a", "b", "c", "d"), ("a",), (), joints)
    moved = jointed.motion(rng, skeleton, 100, 0.0)
    sway = rotation.from_vector(np.sin(np.arange(100) / 30)[:, None, None] * rng.uniform(-0.5, 0.5, (4, 3)))
    moved = replace(moved, R_parent_body=moved.R_parent_body @ sway)
    truth = forward(skeleton, moved)
    hidden = np.zeros((100, 4), bool)
    hidden[20:80, 1] = True
    fit = fitted(skeleton, truth.mask(hidden))
    poses = forward(skeleton, fit.motion)
    assert poses.seen.all()
    assert off(poses, truth)[:, [0, 2, 3]].max() <= POSITION
    assert [finding.code for finding in fit.motion.findings] == ["gap-inferred"]
    assert (fit.weight[20:80, 1] == 0).all()


def test_a_leaf_that_is_not_seen_is_bridged_over_short_gaps_and_left_over_long_ones(rng: np.random.Generator) -> None:
    skeleton = Skeleton(("a", "b"), ("a",), (), (jointed.joint(rng, "b", "a", "ball"),))
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 100, 0.1), POSITION, TURN)
    hidden = np.zeros((100, 2), bool)
    hidden[10:20, 1] = hidden[50:90, 1] = True
    motion = fitted(skeleton, take.mask(hidden)).motion
    assert motion.known[10:20].all()
    assert motion.known[50:90].tolist() == [[True, False]] * 40
    assert [finding.code for finding in motion.findings] == ["gap-bridged", "gap-left"]
    assert not forward(skeleton, motion).seen[50:90, 1].any()


def test_a_lone_body_that_is_not_seen_for_a_short_time_goes_straight_on_and_is_told_once(
    rng: np.random.Generator,
) -> None:
    skeleton = Skeleton(("a", "b", "c"), ("a", "c"), (), (jointed.joint(rng, "b", "a", "ball"),))
    truth = jointed.motion(rng, skeleton, 100, 0.1)
    take = jointed.noisy(rng, skeleton, truth, POSITION, TURN)
    hidden = np.zeros((100, 3), bool)
    hidden[10:14, 2] = hidden[50:90, 2] = hidden[98:, 2] = True
    motion = fitted(skeleton, take.mask(hidden)).motion
    assert np.flatnonzero(~motion.known[:, 2]).tolist() == [*range(50, 90), 98, 99]
    line = np.linspace(motion.p_world_free[9, 1], motion.p_world_free[14, 1], 6)[1:-1]
    np.testing.assert_allclose(motion.p_world_free[10:14, 1], line, atol=1e-12)
    told = [(finding.code, finding.bodies, finding.count) for finding in motion.findings]
    assert told == [("gap-bridged", ("c",), 4), ("gap-left", ("c",), 42)]


def test_frames_in_which_nothing_is_seen_stay_unknown(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 4)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 60), POSITION, TURN)
    hidden = np.zeros((60, 4), bool)
    hidden[:10] = True
    assert not fitted(skeleton, take.mask(hidden)).motion.known[:10].any()
    assert not fitted(skeleton, take.mask(np.ones((60, 4), bool))).motion.known.any()


def test_a_loop_stays_closed(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 7)
    moved = jointed.motion(rng, skeleton, 60, 0.3)
    still = forward(skeleton, moved).slice(0, 1)
    a, b = skeleton.joints[-1].child, skeleton.joints[-2].child
    ka, kb = still.index(a), still.index(b)
    middle = (still.p_world_body[0, ka] + still.p_world_body[0, kb]) / 2
    loop = replace(
        jointed.joint(rng, a, b, "ball"),
        p_child_joint=still.R_world_body[0, ka].T @ (middle - still.p_world_body[0, ka]),
        p_parent_joint=still.R_world_body[0, kb].T @ (middle - still.p_world_body[0, kb]),
    )
    looped = replace(skeleton, loops=(loop,))
    standing = replace(moved.at(np.zeros(60, int)), time=moved.time)
    take = jointed.noisy(rng, skeleton, standing, POSITION, TURN)
    fit = fitted(looped, take, loops=True)
    assert fit.settled.all()
    assert jointed.gaps(looped, forward(looped, fit.motion), [loop]).max() <= LOOP
    assert jointed.gaps(looped, forward(looped, fitted(looped, take, loops=False).motion), [loop]).max() > POSITION / 3
    for_a_while = replace(skeleton, loops=(replace(loop, time=(0.2, 0.4)),))
    named = replace(looped, options={"loops": [[b, a]]})
    assert jointed.gaps(looped, forward(looped, fitted(named, take).motion), [loop]).max() <= LOOP
    assert jointed.gaps(looped, forward(looped, fitted(looped, take).motion), [loop]).max() > POSITION / 3
    gap = jointed.gaps(looped, forward(looped, fitted(for_a_while, take, loops=True).motion), [loop])[:, 0]
    assert gap[20:41].max() <= LOOP
    assert gap[:20].max() > POSITION / 3


def test_a_body_that_is_let_go_does_not_pull_at_the_figure(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 6)
    take = forward(skeleton, jointed.motion(rng, skeleton, 60, 0.3))
    last = skeleton.joints[-1].child
    k = take.index(last)
    p = take.p_world_body.copy()
    p[30:, k] += 2.0
    parts = (*skeleton.joints[:-1], replace(skeleton.joints[-1], time=(take.time[0], take.time[29])))
    played = forward(skeleton, fitted(replace(skeleton, joints=parts), replace(take, p_world_body=p)).motion)
    others = [j for j in range(take.bodies) if j != k]
    assert np.abs(played.p_world_body[:, others] - take.p_world_body[:, others]).max() < EXACT
    assert np.abs(played.p_world_body[:30] - take.p_world_body[:30]).max() < EXACT
    assert not played.seen[30:, k].any()


def test_smooth_motion_comes_nearer_to_the_truth_and_shakes_less(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 6, 1, 0, ("ball", "hinge"))
    time = np.arange(200) / 100
    moved = jointed.motion(rng, skeleton, 200, 0.0)
    sway = np.sin(2 * time)[:, None]
    R = moved.R_parent_body.copy()
    for k, name in enumerate(skeleton.bodies):
        hinge = next((one for one in skeleton.joints if one.child == name and one.kind == "hinge"), None)
        R[:, k] @= rotation.from_vector(sway * (rng.uniform(-1, 1, 3) if hinge is None else hinge.axis_child))
    moved = replace(moved, R_parent_body=R, p_world_free=sway[:, None] * np.ones(3))
    truth, take = forward(skeleton, moved), jointed.noisy(rng, skeleton, moved, POSITION, TURN)
    plain, smooth = fitted(skeleton, take), fitted(skeleton, take, smooth=(8.0, 8.0))
    assert smooth.settled.all()
    errors = [np.sqrt((off(forward(skeleton, fit.motion), truth) ** 2).mean()) for fit in (plain, smooth)]
    assert errors[1] < 0.7 * errors[0]
    shakes = [np.abs(np.diff(forward(skeleton, fit.motion).p_world_body, 2, axis=0)).mean() for fit in (plain, smooth)]
    assert shakes[1] < 0.2 * shakes[0]
    loosest = fitted(skeleton, take, smooth=(1e6, 1e6), robust=False)
    np.testing.assert_allclose(
        loosest.motion.R_parent_body, fitted(skeleton, take, robust=False).motion.R_parent_body, atol=1e-5
    )


def test_smoothness_does_not_cross_segments(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 3)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 40, 0.2), POSITION, TURN)
    both = replace(take, segment=(np.arange(40) >= 20).astype(int))
    whole = fitted(skeleton, both, smooth=(10.0, 10.0), robust=False).motion
    half = fitted(skeleton, take.slice(0, 20), smooth=(10.0, 10.0), robust=False).motion
    np.testing.assert_allclose(whole.R_parent_body[:20], half.R_parent_body, atol=1e-5)


def test_noise_is_the_skeletons_unless_it_is_given(rng: np.random.Generator) -> None:
    skeleton = replace(jointed.figure(rng, 2), noise=(SensorNoise("b0", 0.004, 0.02), SensorNoise("b1", 0.0, 0.0)))
    position, turn = choose_sigmas(skeleton)
    assert position.tolist() == [0.004, 1e-4]
    assert turn.tolist() == [0.02, 1e-3]
    assert choose_sigmas(skeleton, 0.5, [1.0, 2.0])[1].tolist() == [1.0, 2.0]
    for bad in (0.0, -1.0, [1.0, 2.0, 3.0], np.nan):
        with pytest.raises(UsageError, match="one standard deviation above zero, or 2"):
            choose_sigmas(skeleton, bad)


def test_smoothness_without_time_or_size_is_refused(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 3)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 5), POSITION, TURN)
    for one, size in ((replace(take, timed=False), (1.0, 1.0)), (take, (0.0, 1.0))):
        with pytest.raises(UsageError, match="recorded time and two standard deviations"):
            fitted(skeleton, one, smooth=size)


def test_no_frame_and_one_body_are_fitted_too() -> None:
    alone = Skeleton(("a",), (), ("a",), ())
    take = Take(("a",), [0.0], np.eye(3)[None, None], np.ones((1, 1, 3)))
    assert fitted(alone, take.slice(0, 0)).motion.frames == 0
    np.testing.assert_allclose(forward(alone, fitted(alone, take).motion).p_world_body, take.p_world_body, atol=EXACT)


@pytest.mark.parametrize("away", [0.0, 0.05])
def test_targets_beyond_a_screw_are_reached_along_its_thread(away: float) -> None:
    fit = machines.fitted("screw", 0.0)
    poses = forward(fit.skeleton, fit.motion)
    (screw,) = (joint for joint in fit.skeleton.joints if joint.kind == "screw")
    last = poses.index("link3")
    aim = poses.p_world_body[:, last] + away * np.array([0.6, 0.0, 0.8])
    reached = reach_targets(fit.skeleton, fit.motion, [Target("link3", aim)])
    found = forward(fit.skeleton, reached.motion)
    assert reached.settled.all()
    assert np.linalg.norm(found.p_world_body[:, last] - aim, axis=1).max() < 1e-5
    child, before, after = found.index(screw.child), fit.motion, reached.motion
    assert before.slide is not None
    assert after.slide is not None
    assert screw.axis_child is not None
    turn = np.swapaxes(before.R_parent_body[:, child], -1, -2) @ after.R_parent_body[:, child]
    angle = rotation.find_turn(screw.axis_child, turn)
    assert (np.abs(angle).max() > 0.01) == (away > 0)
    way = (screw.pitch or 0) / (2 * np.pi) * angle
    np.testing.assert_allclose(after.slide[:, child] - before.slide[:, child], way, atol=1e-12)


def test_a_screw_in_a_start_made_by_hand_only_turns() -> None:
    fit = machines.fitted("screw", 0.0)
    start = replace(fit.motion.at(slice(0, 5)), slide=None)
    aim = forward(fit.skeleton, start).p_world_body[:, fit.take.index("link3")] + [0.02, 0.0, 0.0]
    reached = reach_targets(fit.skeleton, start, [Target("link3", aim)])
    assert reached.motion.slide is None
    found = forward(fit.skeleton, reached.motion).p_world_body[:, fit.take.index("link3")]
    assert np.linalg.norm(found - aim, axis=1).max() < 1e-5


@pytest.mark.parametrize("hidden", ["link1", "link2"])
def test_a_side_of_a_screw_that_is_not_seen_is_found_along_the_thread_from_the_bodies_around(hidden: str) -> None:
    fit = machines.fitted("screw", 0.0)
    gone = np.zeros(fit.take.seen.shape, bool)
    gone[200:300, fit.take.index(hidden)] = True
    poses = forward(fit.skeleton, fit_motion(fit.skeleton, fit.take.mask(gone)).motion)
    assert off(poses, fit.take).max() < 1e-5
