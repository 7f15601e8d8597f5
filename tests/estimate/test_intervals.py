"""Intervals: narrow when the gap is white noise, wide when the error follows the motion."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle.estimate import intervals
from condyle.estimate.edge_blocks import Blocks, EffectShapes
from condyle.estimate.intervals import Uncertainty, _bound_by_parts, estimate_uncertainty
from condyle.estimate.solve import Solution, solve_together
from condyle.maths import spool
from condyle.model.take import join
from condyle.pairs.fits import fit_pairs, refine_pairs
from condyle.pairs.noise import estimate_noise
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, World, chain, human, linkage, simulate
from tests.make import machines

PASSES = 0.8  # of the variance
PART_SHARE = 1e-7  # of a covariance: what sums in another order change it by
LITTLE_MORE = 1.1  # the parts are weighed as the whole is
SIZE = 0.25  # of the size of gaps that are a third of the noise
MOVED = 0.002  # m, of a centre that moves by a centimetre and a half
ALONG_MIN_GROWTH = 1.15  # of a variance
CHI3_95 = 7.81  # 95 % of the squared standardised distances of a point in space
WHITE = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3))


def solved(world: World) -> tuple[Solution, Uncertainty | None]:
    truth = world.truth
    pairs = np.array([(k, p) for k, p in enumerate(truth.parent) if p >= 0])
    fits = refine_pairs(world.take, fit_pairs(sum_pairs(world.take), pairs))
    noise = estimate_noise(world.take)
    solution = solve_together(world.take, fits, noise)
    return solution, estimate_uncertainty(world.take, solution, noise)


def test_white_noise_is_recognised_and_gives_the_narrow_covariance() -> None:
    solution, sure = solved(simulate(linkage(), seconds=30, seed=4, disturbances=WHITE))
    assert sure is not None
    assert sure.white.all()
    ratio = np.sqrt(np.diagonal(sure.covariance) / np.diagonal(solution.covariance()))
    assert np.median(ratio) == pytest.approx(1.0, abs=0.25)
    assert ratio.max() < 2  # of a joint whose noise goes with its angle by chance


@pytest.mark.parametrize("what", [{"field_warp": 0.0125}, {"soft_tissue": 0.005}])
def test_errors_that_follow_the_motion_are_recognised_and_widen_the_intervals(what: dict) -> None:
    world = simulate(linkage(), seconds=30, seed=4, disturbances=Disturbances(0.0015, np.radians(0.2), **what))
    solution, sure = solved(world)
    assert sure is not None
    assert not sure.white.any()
    narrow = np.sqrt(np.diagonal(solution.covariance()))
    wide = np.sqrt(np.diagonal(sure.covariance))
    assert np.median(wide / narrow) > 3
    assert (sure.effect.max(axis=1) > 0.0005).all()


def test_joints_that_move_with_their_angle_are_told_from_white_noise_with_their_size() -> None:
    moving = replace(WHITE, non_rotary=0.6)
    exact = simulate(human(), "walk", seconds=30, seed=8, disturbances=Disturbances(non_rotary=0.6))
    true = np.sqrt(3 * np.diagonal(solved(exact)[0].residual_cov))
    solution, sure = solved(simulate(human(), "walk", seconds=30, seed=8, disturbances=moving))
    assert sure is not None
    names = exact.truth.names
    moves = np.array([names[child].endswith(("shank", "upper_arm")) for child, _ in solution.pairs])
    assert (sure.white == ~moves).all()
    told, there = (np.sqrt(np.mean(np.square(size[moves]))) for size in (sure.effect[:, 0], true))
    assert told == pytest.approx(there, rel=SIZE)


def test_intervals_of_a_joint_that_moves_do_not_collapse_where_noise_nearly_hides_it() -> None:
    held = []
    for seed in (900, 901):
        world = simulate(human(), seconds=12, seed=seed, disturbances=replace(WHITE, non_rotary=1.0))
        true = world.truth.limbs
        limbs = [limb for limb in condyle.fit(world.take, root="pelvis").skeleton.limbs if limb.body.endswith("thigh")]
        held += [limb.low <= true[limb.body, limb.from_joint, limb.to_joint] <= limb.high for limb in limbs]
    assert held == [True] * 4


def test_a_joint_that_turns_little_is_less_sure_along_its_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    still = replace(WHITE, soft_tissue=0.005)
    for range_, wider in ((0.1, True), (1.0, False)):
        world = simulate(linkage(), "walk", seconds=20, seed=2, range=range_, disturbances=still)
        along, across = [], []
        for ratio in (0.35, 0.0):
            monkeypatch.setattr(intervals, "ALONG_EFFECT_RATIO", ratio)
            solution, sure = solved(world)
            assert sure is not None
            own = [sure.covariance[6 * a : 6 * a + 3, 6 * a : 6 * a + 3] for a in range(len(solution.pairs))]
            arm = solution.p_child_joint / np.linalg.norm(solution.p_child_joint, axis=1, keepdims=True)
            along.append(np.array([n @ V @ n for n, V in zip(arm, own, strict=True)]))
            across.append(np.array([np.trace(V) for V in own]) - along[-1])
        grown = np.median(along[0] / along[1])
        assert (grown > ALONG_MIN_GROWTH) == wider
        assert np.median(across[0] / across[1]) < grown


@pytest.mark.costly
def test_where_all_else_is_exact_a_joint_that_moves_is_known_as_little_as_it_moves() -> None:
    """Most of how a centre moves with its angle looks like another centre, and no noise hides what is left."""
    far = []
    for seed in range(3):
        world = simulate(human(), seconds=20, seed=seed, disturbances=Disturbances(1e-6, 1e-6, non_rotary=1.0))
        solution, sure = solved(world)
        assert sure is not None
        covariance = sure.covariance.reshape(len(solution.pairs), 6, -1, 6)
        for a, (child, _) in enumerate(solution.pairs):
            if world.truth.names[child].endswith(("shank", "upper_arm")):
                off = solution.p_child_joint[a] - world.truth.p_child_joint[child]
                assert np.linalg.norm(off) > MOVED
                far.append(float(off @ np.linalg.solve(covariance[a, :3, a, :3], off)))
    assert max(far) < CHI3_95


def passing(seconds: float, disturbances: Disturbances) -> float:
    """The share of the usual joint's variance that more of the same motion would shrink."""
    _, sure = solved(simulate(linkage(), "walk", seconds=seconds, seed=4, disturbances=disturbances))
    assert sure is not None
    assert not sure.white.any()
    return float(np.median(np.diagonal(sure.passing) / np.diagonal(sure.covariance)))


def test_noise_that_is_correlated_passes_with_time_and_errors_that_repeat_do_not() -> None:
    slow = Disturbances(0.003, np.radians(0.3), correlation_time=0.5)
    assert passing(15, slow) > PASSES
    for what in ({"field_warp": 0.0125}, {"soft_tissue": 0.005}):
        assert passing(15, Disturbances(0.0015, np.radians(0.15), **what)) < 1 - PASSES


def test_a_take_of_a_moment_claims_nothing() -> None:
    world = simulate(linkage(), seconds=0.3, rate=30, seed=1, disturbances=WHITE)
    assert solved(world)[1] is None


def test_the_covariance_is_symmetric_and_positive() -> None:
    _, sure = solved(
        simulate(linkage(), seconds=10, seed=9, disturbances=Disturbances(0.002, 0.004, soft_tissue=0.004))
    )
    assert sure is not None
    assert np.abs(sure.covariance - sure.covariance.T).max() < 1e-12
    assert np.linalg.eigvalsh(sure.covariance)[0] > -1e-12


def test_expected_gap_is_position_noise_and_levers_of_orientation_noise() -> None:
    world = simulate(linkage(), seconds=30, seed=4, disturbances=WHITE)
    solution, _ = solved(world)
    expected = estimate_noise(world.take).gap_variance(*solution.joints)
    assert np.diagonal(solution.residual_cov) / expected == pytest.approx(np.ones(5), abs=0.2)


@pytest.mark.parametrize("what", [{"soft_tissue": 0.005}, {"missing": 0.02, "spikes": 0.002}])
def test_a_long_take_is_walked_in_parts_with_the_same_covariance(what: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    world = simulate(linkage(), seconds=30, seed=4, disturbances=Disturbances(0.0015, np.radians(0.2), **what))
    solution, whole = solved(world)
    assert whole is not None
    monkeypatch.setattr(spool, "BLOCK_BYTES", 20_000)
    parts = estimate_uncertainty(world.take, replace(solution), estimate_noise(world.take))
    assert parts is not None
    shapes = EffectShapes(Blocks(world.take, solution), np.arange(1))
    assert len(shapes.rows) > 1
    size = np.abs(whole.covariance).max()
    for name in ("covariance", "passing"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=0, atol=PART_SHARE * size)
    np.testing.assert_array_equal(parts.white, whole.white)
    np.testing.assert_allclose(parts.effect, whole.effect, rtol=PART_SHARE)


@pytest.mark.costly
def test_takes_together_are_no_less_sure_than_one_by_one_even_where_they_contradict_each_other() -> None:
    world = simulate(human(), "walk", seconds=24, seed=5, disturbances=Disturbances(0.001, 0.002, soft_tissue=0.005))
    halves = [world.take.slice(0, world.take.frames // 2), world.take.slice(world.take.frames // 2, None)]
    k = world.take.names.index("l_shank")
    p = halves[1].p_world_body.copy()
    p[:, k] += halves[1].R_world_body[:, k] @ np.array([0.02, 0.0, 0.0])  # its sensor was put on again elsewhere
    takes = [halves[0], replace(halves[1], p_world_body=p)]
    widths = []
    for take in (*takes, join(takes)):
        sure = solved(replace(world, take=take))[1]
        assert sure is not None
        blocks = np.diagonal(sure.covariance).reshape(-1, 6).sum(axis=1)
        widths.append(np.sqrt(blocks))
    assert (widths[2] <= LITTLE_MORE * np.maximum(widths[0], widths[1])).all()


def test_a_centre_from_two_takes_is_known_at_least_as_the_mean_of_theirs() -> None:
    solution = SimpleNamespace(pairs=np.array([[1, 0]]), basis=np.eye(6))
    wide = Uncertainty(4 * np.eye(6), np.eye(6), np.ones(1, dtype=bool), np.zeros((1, 2)))
    parts = [(np.eye(6)[None], np.eye(6))] * 2  # each knows the centre to a variance of 1
    bounded = _bound_by_parts(wide, solution, parts)  # type: ignore[arg-type]
    np.testing.assert_allclose(bounded.covariance, np.eye(6))
    np.testing.assert_allclose(bounded.passing, np.eye(6) / 4)
    narrow = replace(wide, covariance=0.5 * np.eye(6))
    np.testing.assert_allclose(_bound_by_parts(narrow, solution, parts).covariance, narrow.covariance)  # type: ignore[arg-type]


def test_a_hinge_in_loud_noise_does_not_follow_its_angle_by_the_noise_of_its_orientations() -> None:
    noise = Disturbances(position_noise=0.003, orientation_noise=np.radians(2))
    world = simulate(chain(("ball", "hinge", "hinge")), seconds=30, seed=61002, disturbances=noise)
    joints = condyle.fit(world.take, tree=world.truth.edges).skeleton.joints
    lines = [joint.line_95 for joint in joints if joint.kind == "hinge"]
    assert len(lines) == 2
    assert max(lines) < 0.005  # m; errors are 0.6 mm rms, intervals were 53 mm wide


@pytest.mark.parametrize("seed", [0, 1])
def test_turns_by_noise_about_axes_that_a_hinge_does_not_have_are_no_motion(seed: int) -> None:
    """They are in its gap as well, by the levers of its sensors: intervals of 1 mm were 36 and 57 mm wide for that."""
    limbs = condyle.fit(machines.made("four-bar", noise=5.0, seed=seed).take).skeleton.limbs
    assert len(limbs) == 4
    for limb in limbs:
        assert limb.low is not None
        assert limb.high is not None
        assert 0.5 * (limb.high - limb.low) < 0.005
