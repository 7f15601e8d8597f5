"""Kind and point of a joint: two separate answers, both against the sensors' noise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.errors import UsageError
from condyle.estimate.kinds import PairMotion, classify, hinge_axes, measure_motion, measure_world_motion, play
from condyle.maths import rotation
from condyle.model.take import Take
from condyle.pairs.fits import fit_pairs
from condyle.pairs.noise import Noise, estimate_noise
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, SimulatedFigure, chain, simulate
from tests.oracle.worlds import ball, carried, hinge, joined, noisy, resting, rigid, sliding, take_of, wander

NOISES = {  # m and rad per axis, white
    "exact": (0.0, 0.0),
    "optical": (0.0005, 0.0005),
    "usual": (0.002, 0.004),
    "magnetic": (0.003, 0.009),
    "loud": (0.004, 0.0175),
}
WITHIN = 0.1  # relative error of a rotation that is told
AXIS_DEG = 1.0
REPEATS = 6  # seeded pairs per kind and noise
CHILD_PARENT = np.array([[0, 1]])


def judged(take: Take, pairs=CHILD_PARENT) -> tuple[list, list, np.ndarray, PairMotion]:
    noise, sums = estimate_noise(take), sum_pairs(take)
    fits = fit_pairs(sums, pairs)
    motion = measure_motion(take, sums, fits, noise)
    kinds, points, held = classify(fits, motion, noise, measure_world_motion(take, noise)[0])
    return kinds, points, held, motion


@pytest.fixture(params=list(NOISES))
def shake(request: pytest.FixtureRequest, rng: np.random.Generator):
    return lambda take: noisy(take, rng, *NOISES[request.param])


@pytest.mark.parametrize("turn", [0.15, 0.5], ids=["stiff", "free"])
def test_a_ball_joint_is_a_ball_and_its_point_determined(rng, shake, turn) -> None:
    for _ in range(REPEATS):
        kinds, points, held, _ = judged(shake(ball(rng, turn=turn).take))
        assert kinds == ["ball"]
        assert points == ["determined"]
        assert not held.any()


def test_a_hinge_that_hardly_turns_on_a_body_that_turns_a_lot_is_no_rigid_pair() -> None:
    noise = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.5))
    world = simulate(chain(["hinge"] * 4), "walk", seed=70001, disturbances=noise, range=0.2)
    pairs = np.array([(k, p) for k, p in enumerate(world.truth.parent) if p >= 0])
    kinds, _, _, motion = judged(world.take, pairs)
    assert kinds == ["hinge"] * 4
    assert np.degrees(motion.main).max() < 5


@pytest.mark.parametrize("turn", [0.3, 0.7], ids=["narrow", "wide"])
def test_a_hinge_is_a_hinge_and_its_point_arbitrary(rng, shake, turn) -> None:
    for _ in range(REPEATS):
        kinds, points, held, _ = judged(shake(hinge(rng, turn=turn).take))
        assert kinds == ["hinge"]
        assert points == ["arbitrary"]
        assert held[0].tolist() == [True, False, False]


def test_a_hinge_with_a_little_play_has_no_point_however_good_the_sensors(rng) -> None:
    for name in ("optical", "magnetic"):
        kinds, points, held, _ = judged(noisy(hinge(rng, play=0.02).take, rng, *NOISES[name]))
        assert (kinds, points) == (["hinge"], ["arbitrary"])
        assert held[0].tolist() == [True, False, False]


@pytest.mark.parametrize(("along", "kind"), [(0.2, "ball"), (0.0, "hinge")])
def test_what_a_ball_explains_and_a_hinge_does_not_is_no_play(rng, along, kind) -> None:
    n = 400
    R_parent, p_parent = carried(rng, n)
    R_child = R_parent @ rotation.from_vector([1.1, 0.08, 0.08] * wander(rng, n, 3))  # a hip that was mostly bent
    p_child = p_parent + R_parent @ [along, 0.1, 0.0] - R_child @ [0.0, -0.1, 0.0]
    exact = take_of(("child", "parent"), (R_child, R_parent), (p_child, p_parent))
    for name in ("exact", "optical", "usual"):
        kinds, _, held, motion = judged(noisy(exact, rng, *NOISES[name]))
        assert not motion.open.any()
        assert (kinds, held.any()) == ([kind], kind == "hinge")


def test_a_joint_of_two_axes_is_a_ball(rng, shake) -> None:
    n = 400
    first, second = np.zeros((2, n, 3))
    first[:, 1], second[:, 0] = 0.6 * wander(rng, n), 0.4 * wander(rng, n)
    pair = joined(rng, rotation.from_vector(first) @ rotation.from_vector(second))
    assert judged(shake(pair.take))[0] == ["ball"]


def test_two_sensors_on_one_body_that_is_carried_about_are_rigid(rng, shake) -> None:
    for _ in range(REPEATS):
        kinds, points, held, motion = judged(shake(rigid(rng).take))
        assert kinds == ["rigid"]
        assert points == ["arbitrary"]
        assert held.all()
        assert not motion.turns[0]


def test_two_sensors_on_a_body_that_gives_a_little_are_rigid(rng) -> None:
    for _ in range(REPEATS):
        assert judged(noisy(ball(rng, turn=0.01).take, rng, *NOISES["optical"]))[0] == ["rigid"]


def test_nothing_is_rigid_that_turns_well_above_its_noise(rng) -> None:
    """However far both are turned together."""
    for _ in range(REPEATS):
        assert judged(noisy(ball(rng, turn=0.02).take, rng, *NOISES["optical"]))[0] != ["rigid"]


@pytest.mark.parametrize("noise", [name for name in NOISES if name != "exact"])
def test_two_bodies_at_rest_are_undetermined_and_never_a_joint(rng, noise) -> None:
    for _ in range(REPEATS):
        kinds, points, held, _ = judged(noisy(resting(rng), rng, *NOISES[noise]))
        assert kinds == ["undetermined"]
        assert points == ["arbitrary"]
        assert held.all()


def test_two_bodies_exactly_at_rest_are_undetermined_too(rng) -> None:
    assert all(judged(resting(rng))[0] == ["undetermined"] for _ in range(30))


def test_a_pair_that_slides_without_turning_is_no_ball_and_no_hinge(rng, shake) -> None:
    for _ in range(REPEATS):
        kinds, points, _, motion = judged(shake(sliding(rng)))
        assert kinds[0] not in ("ball", "hinge")
        assert points == ["arbitrary"]
        assert motion.lever[0] < 1


def test_a_pair_that_slides_without_turning_is_not_rigid(rng) -> None:
    assert judged(noisy(sliding(rng), rng, *NOISES["usual"]))[0] != ["rigid"]


def test_hinges_are_always_and_balls_never_flagged_in_whole_figures() -> None:
    kinds = ("ball", "hinge", "ball", "hinge", "hinge")
    pairs = np.array([[k + 1, k] for k in range(5)])
    for seed in range(8):
        noise = Disturbances(position_noise=0.003, orientation_noise=np.radians((0.15, 0.3, 0.5, 1)[seed % 4]))
        take = simulate(chain(kinds), "walk", seconds=15, seed=seed, disturbances=noise).take
        assert tuple(judged(take, pairs)[0]) == kinds


def test_rotation_is_told_with_the_noise_taken_off(rng) -> None:
    turn = 0.1
    quiet, loud = (judged(noisy(ball(rng, 3000, turn).take, rng, 0.003, noise))[3] for noise in (0.0, 0.03))
    for motion in (quiet, loud):
        # Of three equal rotations each axis is moved by the two others.
        np.testing.assert_allclose(np.sqrt(motion.spread[0].mean()), turn, rtol=WITHIN)


def test_a_hinge_turns_about_its_main_axis_only(rng) -> None:
    motion = judged(noisy(hinge(rng, 3000, turn=0.2).take, rng, 0.003, 0.005))[3]
    assert motion.main[0] == pytest.approx(0.2, rel=2 * WITHIN)
    assert np.sqrt(motion.spread[0, 0]) < 0.1 * motion.main[0]


def test_play_is_the_angle_by_which_the_axis_turns(rng) -> None:
    take = noisy(hinge(rng, 3000, turn=0.6, play=0.03).take, rng, 0.001, 0.003)
    noise, sums = estimate_noise(take), sum_pairs(take)
    fits = fit_pairs(sums, CHILD_PARENT)
    # The play is wandering of rms 0.03 about each of three axes, less its part along the hinge.
    assert play(measure_motion(take, sums, fits, noise))[0] == pytest.approx(0.03 * np.sqrt(2), rel=0.3)


def test_hinge_axes_are_right_in_both_bodies_and_do_not_depend_on_the_order(rng) -> None:
    pair = hinge(rng)
    take = noisy(pair.take, rng, 0.003, 0.009)
    swapped = take.select(["parent", "child"])
    child, parent = hinge_axes(fit_pairs(sum_pairs(take), CHILD_PARENT), take)
    for found, true in ((child[0], pair.axis_child), (parent[0], pair.axis_parent)):
        assert np.degrees(np.arcsin(np.linalg.norm(np.cross(found, true)))) < AXIS_DEG
    assert (child[0] @ pair.axis_child) * (parent[0] @ pair.axis_parent) > 0
    again = hinge_axes(fit_pairs(sum_pairs(swapped), np.array([[1, 0]])), swapped)
    np.testing.assert_allclose(again[0], child, atol=1e-9)
    np.testing.assert_allclose(again[1], parent, atol=1e-9)


def test_a_body_at_rest_neither_turns_nor_drifts_in_the_room(rng) -> None:
    R, p = carried(rng, 600)
    still = np.broadcast_to(np.eye(3), R.shape)
    take = take_of(("walks", "rests", "swings"), (R, still, R), (p, 0 * p + 1.0, np.ones(3) - R @ [0.3, 0, 0]))
    take = noisy(take, rng, 0.002, 0.004)
    turn, drift = measure_world_motion(take, estimate_noise(take))
    assert turn[0] > 0.5
    assert turn[1] < 0.01
    assert drift[0] > 0.3
    assert drift[1] < 0.005
    assert turn[2] > 0.5  # it turns, but about a point of the room
    assert drift[2] < 0.01


def test_one_frame_tells_no_kind(rng) -> None:
    kinds, points, held, _ = judged(ball(rng).take.slice(0, 1))
    assert kinds == ["undetermined"]
    assert points == ["arbitrary"]
    assert held.all()


def test_no_pairs_have_no_kinds(rng) -> None:
    kinds, points, held, _ = judged(ball(rng).take, np.empty((0, 2), np.int64))
    assert (kinds, points, held.shape) == ([], [], (0, 3))


def test_a_pair_never_seen_together_has_no_kind(rng) -> None:
    take = ball(rng).take
    assert judged(take.mask(np.ones((take.frames, 2), bool)))[0] == ["undetermined"]


def test_a_centre_in_white_noise_is_known_as_well_as_all_its_frames_tell(rng) -> None:
    pair = ball(rng, turn=0.2)
    take = noisy(pair.take, rng, 0.02, 0.0)
    sums = sum_pairs(take)
    fits = fit_pairs(sums, CHILD_PARENT)
    motion = measure_motion(take, sums, fits, Noise(np.full(2, 0.02), np.zeros(2)))
    slow = measure_motion(take, sums, fits, Noise.none(2))  # the same gap, were it none of the sensors' noise
    assert not motion.open.any()
    assert slow.open.any()
    assert np.linalg.norm(fits.p_child_joint[0] - pair.p_child_joint) < 3 * motion.error[0].max()


def test_a_kind_that_is_known_is_kept() -> None:
    plain = chain()
    axis = np.full(plain.axis.shape, np.nan)
    axis[2] = [1.0, 0.0, 0.0]
    figure = SimulatedFigure(plain.names, plain.parent, plain.p_parent_joint, ("ball", "ball", "hinge", "ball"), axis)
    world = simulate(figure, seconds=20, seed=4, disturbances=Disturbances(position_noise=0.001))
    free = condyle.fit(world.take).skeleton
    balls = [joint for joint in free.joints if joint.kind == "ball"]
    hinges = [joint for joint in free.joints if joint.kind == "hinge"]
    assert balls
    assert hinges
    kinds = [(balls[0].child, balls[0].parent, "hinge"), (hinges[0].parent, hinges[0].child, "ball")]
    held = condyle.fit(world.take, kinds=kinds).skeleton
    one, other = held.joint(balls[0].child), held.joint(hinges[0].child)
    assert one.kind == "hinge"
    assert one.axis_child is not None
    assert one.line_95 is not None
    assert (other.kind, other.line_95, other.play) == ("ball", None, None)
    if other.point == "arbitrary":
        np.testing.assert_allclose(other.axis_child, hinges[0].axis_child, atol=1e-9)
    with pytest.raises(UsageError, match="where ball or hinge is expected"):
        condyle.fit(world.take, kinds=[("a", "b", "saddle")])


def made_up(off_axis: float, error: tuple[float, float, float], main: float = 0.5) -> tuple[list, list]:
    """Kind and point of a pair half a metre apart that turns by `main` about one axis, and `off_axis` times as much
    about the others; error [m] of its centre along each axis.
    """
    take = ball(np.random.default_rng(3)).take
    fits = fit_pairs(sum_pairs(take), CHILD_PARENT)
    spread = np.array([[off_axis**2, 1.0, 1.0]]) * main**2 / 2
    half, long = np.full(1, 0.5), np.full(1, 30.0)
    turns = np.ones(1, dtype=bool)
    motion = PairMotion(half, half, long, spread, np.full(1, main), np.full(1, 50.0), np.array([error]), turns)
    return classify(fits, motion, Noise(np.full(2, 1e-4), np.full(2, 1e-4)), np.full(2, 1.0))[:2]


def test_a_hinge_turns_off_its_axis_by_an_eighth_at_most_or_a_quarter_where_its_point_is_open() -> None:
    closed, open_ = (0.001, 0.001, 0.001), (0.2, 0.001, 0.001)
    assert made_up(0.1, closed) == (["hinge"], ["arbitrary"])
    assert made_up(0.15, closed) == (["ball"], ["determined"])
    assert made_up(0.2, open_) == (["hinge"], ["arbitrary"])
    assert made_up(0.3, open_) == (["undetermined"], ["arbitrary"])


def test_a_point_is_open_where_its_error_is_a_tenth_of_the_sensors_distance() -> None:
    assert made_up(0.8, (0.04, 0.001, 0.001)) == (["ball"], ["determined"])
    assert made_up(0.8, (0.06, 0.001, 0.001)) == (["undetermined"], ["arbitrary"])


def test_a_pair_turns_from_a_quarter_of_the_noises_own_rotation_on() -> None:
    take = ball(np.random.default_rng(3)).take
    sums = sum_pairs(take)
    fits = fit_pairs(sums, CHILD_PARENT)
    noise = Noise(np.full(2, 1e-3), np.full(2, 0.1))
    for share, turns in ((0.2, False), (0.3, True)):
        spread = np.array([[0.0, 1 + share, 1 + share]]) * 2 * 0.1**2  # that of the noise of both, and a share more
        motion = measure_motion(take, sum_pairs(take), replace(fits, spread=spread), noise)
        assert motion.turns.tolist() == [turns]
        assert (motion.lever > 0).tolist() == [turns]
        np.testing.assert_allclose(motion.spread[0, 1:], share * 2 * 0.1**2)


def test_a_pair_that_does_not_turn_is_rigid_while_its_gap_is_twice_the_noise_of_both_at_most() -> None:
    take = ball(np.random.default_rng(3)).take
    fits = fit_pairs(sum_pairs(take), CHILD_PARENT)
    half, none = np.full(1, 0.5), np.zeros(1)
    motion = PairMotion(half, half, 60 * half, np.zeros((1, 3)), none, none, np.full((1, 3), np.inf), none > 0)
    noise = Noise(np.full(2, 0.01), np.full(2, 1e-4))
    blur = np.sqrt(3 * 2 * 0.01**2 + 2 * (np.hypot(1e-4, 1e-4) * 0.5) ** 2)
    for times, kind in ((1.9, "rigid"), (2.1, "undetermined")):
        found = classify(replace(fits, residual=np.full(1, times * blur)), motion, noise, np.full(2, 1.0))
        assert found[0] == [kind]
