"""All joints solved together: exact on exact data, better than least squares on noise, deaf to outliers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.api import fit
from condyle.estimate.solve import Solution, find_shared, guard_noise, solution_of, solve_together
from condyle.maths import rotation
from condyle.model.take import BodyMarker, Take
from condyle.pairs.fits import PairFits, fit_pairs, refine_pairs
from condyle.pairs.noise import Noise, estimate_noise
from condyle.pairs.normal import estimate_covariance, gap_products
from condyle.pairs.outliers import find_inliers
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, World, chain, human, linkage, simulate
from condyle.simulate.figures import lengths_between_joints
from tests.oracle.worlds import hinge, moved, noisy

EXACT_M = 1e-9  # m, on exact data
SAME_M = 1e-9  # m, the same answer by another way
ORDER_M = 1e-14  # m, the same numbers in another order
DEGREE = np.pi / 180
NOISE = Disturbances(position_noise=0.003, orientation_noise=0.3 * DEGREE)
CLEARLY = 0.85  # of the error of least squares
OUTLIERS_M = 0.0016  # joint error with outliers; without any it is 0.0011 m
STALE_M = 0.0030  # the same with a fifth of the samples in long bad runs
CHILD_PARENT = np.array([[0, 1]])


def covariance_of(gap: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """(J, J) [m^2] per axis covariance of gaps (3, n, J)."""
    return estimate_covariance(*gap_products(gap, weight))


def tree_of(world: World) -> np.ndarray:
    return np.array([(k, int(up)) for k, up in enumerate(world.truth.parent) if up >= 0])


def least_squares(world: World) -> PairFits:
    return fit_pairs(sum_pairs(world.take), tree_of(world))


def solved(world: World, **options) -> Solution:
    return solve_together(world.take, least_squares(world), estimate_noise(world.take), **options)


def joint_error(world: World, found: PairFits | Solution) -> float:
    """Root mean square distance [m] of the joints from the true ones, in child and parent."""
    k = found.pairs[:, 0]
    off = [found.p_child_joint - world.truth.p_child_joint[k], found.p_parent_joint - world.truth.p_parent_joint[k]]
    return float(np.sqrt(np.mean(np.sum(np.concatenate(off) ** 2, axis=1))))


def root_mean_square(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.parametrize("far", [False, True], ids=["near", "a kilometre away"])
@pytest.mark.parametrize("figure", [human(), linkage()], ids=["human", "linkage"])
def test_exact_data_give_the_exact_answer(figure, far) -> None:
    world = simulate(figure, "exercise", seconds=10, seed=2)
    if far:
        away = moved(world.take, rotation.from_vector([0.3, 0.2, 1]), np.array([900.0, -400, 200]))
        world = replace(world, take=away)
    fits = least_squares(world)
    answer = solve_together(world.take, fits, Noise.none(world.take.bodies))
    assert joint_error(world, answer) < EXACT_M
    assert not answer.robust.any() or (answer.weight > 0.5).mean() > 0.9


def test_white_noise_costs_clearly_less_than_with_least_squares() -> None:
    quiet = Disturbances(position_noise=0.003, orientation_noise=0.15 * DEGREE)
    worlds = [simulate(human(), "exercise", seconds=20, seed=seed, disturbances=quiet) for seed in range(4)]
    plain = root_mean_square([joint_error(world, least_squares(world)) for world in worlds])
    together = root_mean_square([joint_error(world, solved(world)) for world in worlds])
    assert together < CLEARLY * plain


def limb_errors(world: World, found: PairFits | Solution) -> list[float]:
    """Signed errors [m] of the distances between joints of one body."""
    halves = np.full((2, world.take.bodies, 3), np.nan)
    halves[:, found.pairs[:, 0]] = found.p_child_joint, found.p_parent_joint
    limbs = lengths_between_joints(world.truth.names, world.truth.parent, *halves)
    return [limbs[key] - length for key, length in world.truth.limbs.items()]


@pytest.mark.costly
def test_the_bias_of_orientation_noise_is_removed() -> None:
    loud = Disturbances(position_noise=0.002, orientation_noise=1 * DEGREE)
    errors, limbs = {"plain": [], "corrected": []}, {"plain": [], "corrected": [], "uncorrected": []}
    for seed in range(4):
        world = simulate(human(), "exercise", seconds=30, rate=60, seed=seed, disturbances=loud)
        fits, noise = least_squares(world), estimate_noise(world.take)
        answers = {
            "plain": fits,
            "corrected": solve_together(world.take, fits, noise),
            "uncorrected": solve_together(world.take, fits, noise, correct=False),
        }
        for name, answer in answers.items():
            limbs[name] += limb_errors(world, answer)
        for name in errors:
            errors[name].append(joint_error(world, answers[name]))
    assert root_mean_square(errors["corrected"]) < 0.6 * root_mean_square(errors["plain"])
    # Orientation noise pulls joints towards their sensors: limbs come out short.
    assert np.mean(limbs["plain"]) < -0.0010
    assert np.mean(limbs["uncorrected"]) < -0.0005
    assert abs(np.mean(limbs["corrected"])) < 0.0002


def solved_twice(world: World) -> Solution:
    """The second time with the noise of the poses that the first time left."""
    first = solved(world)
    good = find_inliers(world.take.seen, first.pairs, first.weight)
    return solve_together(world.take, least_squares(world), estimate_noise(world.take, good))


@pytest.mark.parametrize(
    ("outliers", "bar"),
    [
        pytest.param({"spikes": 0.02, "bursts": 0.05}, OUTLIERS_M, id="spikes and bursts"),
        pytest.param({"spikes": 0.10}, OUTLIERS_M, id="many spikes"),
        pytest.param({"stale": 0.05}, OUTLIERS_M, id="stale"),
    ],
)
def test_outliers_are_weighed_out(outliers, bar) -> None:
    world = simulate(human(), "exercise", seed=1, disturbances=replace(NOISE, **outliers))
    answer = solved_twice(world)
    assert joint_error(world, least_squares(world)) > 10 * joint_error(world, answer)
    assert joint_error(world, answer) < bar
    assert answer.robust.all()


def test_a_spike_is_blamed_on_the_sensor_that_had_it() -> None:
    world = simulate(human(), "walk", seconds=20, seed=3, disturbances=replace(NOISE, spikes={"l_thigh": 0.05}))
    answer = solved(world)
    good = find_inliers(world.take.seen, answer.pairs, answer.weight)
    assert good[world.truth.spiked].mean() < 0.1
    assert good[~world.truth.spiked].mean() > 0.99


def test_clean_data_are_not_weighed() -> None:
    world = simulate(linkage(), "walk", seconds=20, seed=3, disturbances=NOISE)
    answer = solved(world)
    assert not answer.robust.any()
    assert (answer.weight == 1).all()


def test_least_squares_as_a_solution_has_the_centres_and_the_covariance_of_least_squares() -> None:
    world = simulate(linkage(), "walk", seconds=10, seed=5, disturbances=Disturbances(position_noise=0.004))
    fits = refine_pairs(world.take, least_squares(world))
    answer = solution_of(world.take, fits)
    np.testing.assert_array_equal(answer.p_child_joint, fits.p_child_joint)
    assert answer.unknowns.shape == (30,)
    covariance = answer.covariance()
    for a, (i, j) in enumerate(fits.pairs):
        Q = np.concatenate([world.take.R_world_body[:, i], -world.take.R_world_body[:, j]], axis=2).reshape(-1, 6)
        want = np.linalg.inv(Q.T @ Q) * fits.residual[a] ** 2 / 3
        np.testing.assert_allclose(covariance[6 * a : 6 * a + 6, 6 * a : 6 * a + 6], want, rtol=0.05, atol=1e-12)


def test_one_joint_alone_is_least_squares_when_nothing_is_corrected(rng) -> None:
    world = simulate(chain(("ball",)), "walk", seconds=10, seed=1, disturbances=NOISE)
    fits = refine_pairs(world.take, least_squares(world))
    answer = solved(world, robust=False, correct=False)
    np.testing.assert_allclose(answer.p_child_joint, fits.p_child_joint, atol=SAME_M)
    np.testing.assert_allclose(answer.p_parent_joint, fits.p_parent_joint, atol=SAME_M)


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0], ids=["exact", "usual", "loud"])
def test_held_directions_stay_at_minimum_norm(rng, noise) -> None:
    world = simulate(chain(("ball", "hinge", "ball")), "walk", seconds=15, seed=4)
    take = noisy(world.take, rng, noise * 0.005, noise * DEGREE)
    fits = fit_pairs(sum_pairs(take), tree_of(world))
    held = np.zeros((3, 3), bool)
    held[1, 0] = True
    answer = solve_together(take, fits, estimate_noise(take), held=held)
    along = fits.axis_child[1, :, 0] @ answer.p_child_joint[1] + fits.axis_parent[1, :, 0] @ answer.p_parent_joint[1]
    assert abs(along) < EXACT_M
    assert answer.basis.shape == (18, 17)
    direction = np.zeros(18)
    direction[6:9], direction[9:12] = fits.axis_child[1, :, 0], fits.axis_parent[1, :, 0]
    assert np.abs(answer.covariance() @ direction).max() < 1e-15
    # Off the axis the hinge is where it is.
    k = int(fits.pairs[1, 0])
    off = np.cross(world.truth.axis_child[k], answer.p_child_joint[1] - world.truth.p_child_joint[k])
    assert np.linalg.norm(off) < (0.004 if noise else EXACT_M)


def test_a_true_hinge_does_not_explode_under_the_noise_correction(rng) -> None:
    """All rotation across a hinge is noise: taken off fully, the point along the axis would be divided by zero."""
    for _ in range(12):
        pair = hinge(rng)
        take = noisy(pair.take, rng, 0.003, 0.6 * DEGREE)
        fits = fit_pairs(sum_pairs(take), CHILD_PARENT)
        answer = solve_together(take, fits, Noise(np.full(2, 0.003), np.full(2, 0.6 * DEGREE)))
        assert np.linalg.norm(answer.p_child_joint) < 0.4  # the sensors sit 0.2 m from the joint
        assert np.linalg.norm(np.cross(pair.axis_child, answer.p_child_joint[0] - pair.p_child_joint)) < 0.005


def test_missing_samples_are_left_out_for_their_own_sensor_only() -> None:
    gaps = replace(NOISE, missing=0.2, missing_run=0.3)
    ratio = []
    for seed in range(3):
        whole = simulate(human(), "walk", seconds=20, seed=seed, disturbances=NOISE)
        holes = simulate(human(), "walk", seconds=20, seed=seed, disturbances=gaps)
        answer = solved(holes)
        assert np.isfinite(answer.unknowns).all()
        missing = holes.truth.missing
        hidden = missing[:, answer.pairs[:, 0]] | missing[:, answer.pairs[:, 1]]
        assert (answer.weight[hidden] == 0).all()
        assert (answer.weight[~hidden] == 0).mean() < 1e-3  # chance makes an outlier now and then
        ratio.append(joint_error(holes, answer) / joint_error(whole, solved(whole)))
        assert joint_error(holes, answer) < joint_error(holes, least_squares(holes))
    assert np.mean(ratio) < 1.6


def test_missing_samples_of_exact_data_change_nothing() -> None:
    world = simulate(human(), "walk", seconds=10, seed=1, disturbances=Disturbances(missing=0.2))
    answer = solve_together(world.take, least_squares(world), Noise.none(15))
    assert joint_error(world, answer) < EXACT_M


def spoilt_at_places(rng: np.random.Generator, skin: float) -> tuple[World, Noise, np.ndarray]:
    """A linkage whose sensors are thirty times noisier in every other frame, with skin [m]; (n, m) noise variance."""
    done = Disturbances(position_noise=0.001, soft_tissue=skin)
    world = simulate(linkage(), "walk", seconds=20, seed=6, disturbances=done)
    bad = np.arange(world.take.frames) % 2 == 0
    p = world.take.p_world_body + 0.03 * bad[:, None, None] * rng.standard_normal(world.take.p_world_body.shape)
    take = Take(world.take.names, world.take.time, world.take.R_world_body, p)
    return (
        replace(world, take=take),
        Noise(np.full(6, 0.001), np.zeros(6)),
        np.where(bad[:, None], 900.0, 1.0) * np.ones(6),
    )


def test_weights_by_place_count(rng) -> None:
    spoilt, noise, relative = spoilt_at_places(rng, 0.0)
    with_weights = solve_together(spoilt.take, least_squares(spoilt), noise, relative=relative, robust=False)
    without = solve_together(spoilt.take, least_squares(spoilt), noise, robust=False)
    assert joint_error(spoilt, with_weights) < 0.3 * joint_error(spoilt, without)


def test_weights_by_place_are_even_where_skin_is_larger_than_the_noise(rng) -> None:
    world, noise, relative = spoilt_at_places(rng, 0.03)
    quiet = Noise(noise.position / 100, noise.orientation)
    answer = solve_together(world.take, least_squares(world), quiet, relative=relative, robust=False)
    np.testing.assert_allclose(answer.weight, 1.0, atol=0.05)


def test_places_where_gaps_are_no_larger_do_not_weigh() -> None:
    """Fast motion in few frames a second looks like noise; to weigh it out is to lose the frames that tell most."""
    world = simulate(linkage(), "walk", seconds=20, seed=6, disturbances=Disturbances(position_noise=0.001))
    noise = Noise(np.full(6, 0.001), np.zeros(6))
    fast = np.where(np.arange(world.take.frames)[:, None] % 2 == 0, 4.0, 1.0) * np.ones(6)
    answer = solve_together(world.take, least_squares(world), noise, relative=fast, robust=False)
    np.testing.assert_array_equal(answer.weight, 1.0)


CHAIN = np.array([[1, 0], [2, 1], [3, 2], [4, 2]])  # 4 and 3 are both children of 2


def test_what_a_sensor_spoils_is_shared_by_its_joints_and_what_a_room_bends_by_all() -> None:
    ends = np.array([[-1, 1, 0, 0, 0], [0, -1, 1, 0, 0], [0, 0, -1, 1, 0], [0, 0, -1, 0, 1]])
    sensors, least = (ends @ ends.T).astype(float), np.full((4, 4), 0.5)
    assert (find_shared(sensors, least, CHAIN) == ((sensors != 0) & ~np.eye(4, dtype=bool))).all()
    assert find_shared(np.ones((4, 4)), least, CHAIN).sum() == 12
    skin = sensors.copy()
    skin[0, 1] = skin[1, 0] = 1.0  # a sign that no sensor gives
    assert not find_shared(skin, least, CHAIN).any()
    assert not find_shared(0.4 * sensors, least, CHAIN).any()
    assert not find_shared(np.ones((1, 1)), least[:1, :1], CHAIN[:1]).any()


@pytest.mark.parametrize("origin", ["markers", "trackers"])
def test_what_marker_clusters_share_beyond_noise_does_not_move_their_joints(origin: str) -> None:
    done = Disturbances(position_noise=1e-4, orientation_noise=1e-4, field_warp=0.01)
    world = simulate(human(), "walk", seconds=20, seed=3, disturbances=done)
    clusters = tuple(BodyMarker(name, "a", np.zeros(3)) for name in world.take.names)
    take = replace(world.take, markers=clusters) if origin == "markers" else world.take
    fits = refine_pairs(take, least_squares(world))
    answer = solve_together(take, fits, estimate_noise(take), robust=False, correct=False)
    moved = np.linalg.norm(answer.p_child_joint - fits.p_child_joint, axis=1).max()
    assert moved < 1e-4 if origin == "markers" else moved > 1e-3


def test_a_move_of_the_world_changes_nothing(rng) -> None:
    world = simulate(linkage(), "walk", seconds=10, seed=7, disturbances=replace(NOISE, spikes=0.02))
    away = replace(world, take=moved(world.take, rotation.random(rng), np.array([3.0, -4.0, 5.0])))
    np.testing.assert_allclose(solved(away).unknowns, solved(world).unknowns, atol=SAME_M)


def test_the_order_of_the_bodies_is_not_seen_in_the_joints() -> None:
    """The weakest direction is known 50 times worse than the best, which multiplied rounding to 3e-13 m."""
    rough = Disturbances(position_noise=0.003, orientation_noise=0.01, missing=0.03)
    take = simulate(human(), seconds=8, rate=60, seed=2, disturbances=rough).take
    one, two = (fit(each).skeleton for each in (take, take.select(take.names[::-1])))
    for joint in one.joints:
        (other,) = (each for each in two.joints if each.child == joint.child)
        np.testing.assert_allclose(other.p_child_joint, joint.p_child_joint, rtol=0, atol=ORDER_M)
        np.testing.assert_allclose(other.p_parent_joint, joint.p_parent_joint, rtol=0, atol=ORDER_M)


def test_no_joints_have_no_unknowns() -> None:
    take = simulate(linkage(), seconds=2, seed=1).take
    fits = fit_pairs(sum_pairs(take), np.empty((0, 2), np.int64))
    answer = solve_together(take, fits, Noise.none(6))
    assert answer.unknowns.shape == (0,)
    assert answer.covariance().shape == (0, 0)


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_few_frames_give_a_finite_answer(frames) -> None:
    world = simulate(linkage(), "walk", seconds=2, seed=1)
    take = world.take.slice(0, frames)
    fits = fit_pairs(sum_pairs(take), tree_of(world))
    answer = solve_together(take, fits, estimate_noise(take), held=~fits.determined)
    assert np.isfinite(answer.unknowns).all()


@pytest.mark.parametrize("case", ["no frames", "nothing seen"])
def test_joints_without_frames_stay_at_zero(case) -> None:
    world = simulate(linkage(), "walk", seconds=2, seed=1)
    take = world.take.slice(0, 0) if case == "no frames" else world.take.mask(np.ones((60, 6), bool))
    fits = fit_pairs(sum_pairs(take), tree_of(world))
    answer = solve_together(take, fits, Noise.none(6), held=~fits.determined)
    assert not answer.unknowns.any()


def test_rounding_does_not_tell_how_joints_of_exact_data_correlate(rng) -> None:
    gap = 1e-16 * rng.standard_normal((3, 200, 1)) * np.ones(4)  # four joints with the very same rounding
    C = covariance_of(gap, np.ones((200, 4)))
    assert np.linalg.cond(C) < 2


def test_the_correction_for_noise_takes_half_of_the_weakest_rotations_signal_at_most() -> None:
    take = simulate(linkage(), seconds=2, seed=1).take
    fits = replace(fit_pairs(sum_pairs(take), np.array([[1, 0]])), spread=np.array([[0.01, 0.2, 0.3]]))
    for loud, left in ((0.04, 0.04), (0.1, 0.05)):  # 2 * 0.05^2 is half of 0.01
        noise = Noise(np.zeros(2), np.full(2, loud))
        np.testing.assert_allclose(guard_noise(fits, noise, None), left)
    held = np.array([[True, False, False]])
    np.testing.assert_allclose(guard_noise(fits, Noise(np.zeros(2), np.full(2, 0.1)), held), 0.1)
