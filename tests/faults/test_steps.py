"""Steps in gaps: which body, from which block on, how far, and what is left once one is allowed for."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from condyle.estimate.checks import check_asked
from condyle.estimate.edge_blocks import Blocks
from condyle.estimate.fitting import ROBUST, fit_tree
from condyle.faults import steps
from condyle.faults.slips import find_slips
from condyle.faults.steps import GapSeries, GapStep, find_step, likelihood_ratio, measure_rigid_steps, measure_step
from condyle.maths import rotation
from condyle.maths.least_squares import span_columns
from condyle.model.options import FitOptions
from condyle.simulate import Disturbances, SensorSlip, World, human, linkage, simulate

SHIFT = (0.012, -0.006, 0.008)  # m
SIZE = 2e-3  # m: error of a step under 3 mm of noise
EDGE = 9  # blocks
ENOUGH = 150.0  # likelihood ratio


@pytest.fixture(scope="module")
def slipped() -> World:
    d = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3), slips=(SensorSlip("chest", 14.0, SHIFT),))
    return simulate(linkage(), "exercise", seconds=30, rate=30, seed=5, disturbances=d)


@pytest.fixture(scope="module")
def joints(slipped: World) -> list[GapSeries]:
    solution = fit_tree(slipped.take, [], FitOptions(), ROBUST).solution
    blocks = Blocks(slipped.take, replace(solution, weight=np.ones_like(solution.weight)))
    return GapSeries.of_joints(blocks, range(len(solution.pairs)))


@pytest.fixture(scope="module")
def step(slipped: World, joints: list[GapSeries]) -> GapStep:
    found = find_step(joints, range(slipped.take.bodies), EDGE, ENOUGH)
    assert found is not None
    return found


def test_the_clearest_step_is_that_of_the_body_at_its_moment(
    slipped: World, joints: list[GapSeries], step: GapStep
) -> None:
    assert slipped.take.names[step.body] == "chest"
    first = joints[0].blocks.first[[step.block - 1, step.block + 1]]
    assert slipped.take.time[first[0]] <= 14.0 <= slipped.take.time[first[1]]
    np.testing.assert_allclose(measure_step(joints, step), SHIFT, atol=SIZE)


def test_a_body_that_is_not_asked_for_is_not_found(slipped: World, joints: list[GapSeries]) -> None:
    others = [body for body in range(slipped.take.bodies) if "chest" != slipped.take.names[body]]
    found = find_step(joints, others, EDGE, 10 * ENOUGH)
    assert found is None
    assert find_step([], [], EDGE, ENOUGH) is None


def test_shapes_are_left_out_only_where_the_gaps_do_not_have_them(joints: list[GapSeries], step: GapStep) -> None:
    own = [joint for joint in joints if step.body in joint.bodies]
    plain = [joint.without_shapes(step) for joint in own]
    assert all(one is not None and one.base.shape[1] <= 6 for one in plain)
    joint = own[0]
    shape = joint.base[:, -1].reshape(-1, 3)  # what skin may do, at ten times the size of the noise
    skin = replace(joint, gap=joint.gap + 10 * np.sqrt(joint.variance * 3 * len(joint.gap)) * shape, known={})
    assert skin.without_shapes(step) is None


def test_nothing_is_left_of_a_step_that_is_allowed_for(slipped: World, joints: list[GapSeries], step: GapStep) -> None:
    again = find_step([joint.with_step(step) for joint in joints], range(slipped.take.bodies), EDGE, ENOUGH / 3)
    assert again is None


@pytest.mark.parametrize("block", [9, 60])
def test_the_score_of_a_step_is_that_of_its_columns_beside_all_that_is_allowed_for(
    joints: list[GapSeries], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    joint = joints[1]
    again = replace(joint, known={})
    monkeypatch.setattr(steps, "PART_BYTES", 40 * joint.base[:3].nbytes)  # summed piece by piece from the end
    for body in joint.bodies:
        column = np.zeros((len(joint.left), 3, 3))
        column[block:] = joint.side(body)[block:]
        flat = column.reshape(-1, 3)
        onto = joint.base.T @ flat
        for gradient, information in (joint.scores(body), again.scores(body)):
            np.testing.assert_allclose(gradient[block], flat.T @ joint.left.ravel() / joint.variance, rtol=1e-9)
            np.testing.assert_allclose(information[block], (flat.T @ flat - onto.T @ onto) / joint.variance, rtol=1e-9)


def test_a_rotation_is_not_told_where_there_was_none(slipped: World, joints: list[GapSeries], step: GapStep) -> None:
    solution = fit_tree(slipped.take, [], FitOptions(), ROBUST).solution
    [(shift, turn)] = measure_rigid_steps(dict(enumerate(joints)), [step], solution)
    np.testing.assert_allclose(shift, SHIFT, atol=SIZE)
    np.testing.assert_array_equal(turn, 0.0)


def test_the_likelihood_ratio_is_that_of_the_step_which_suits_best(rng: np.random.Generator) -> None:
    half = rng.standard_normal((7, 3, 3))
    information, gradient = half @ np.swapaxes(half, 1, 2), rng.standard_normal((7, 3))
    expected = [g @ np.linalg.solve(i, g) for g, i in zip(gradient, information, strict=True)]
    np.testing.assert_allclose(likelihood_ratio(gradient, information), expected, rtol=1e-2)
    assert likelihood_ratio(np.zeros(3), np.zeros((3, 3))) == 0.0


def test_a_rotation_is_told_where_two_joints_ask_for_it_clearly(
    slipped: World, joints: list[GapSeries], step: GapStep, monkeypatch: pytest.MonkeyPatch
) -> None:
    solution = fit_tree(slipped.take, [], FitOptions(), ROBUST).solution
    turned = dict[int, GapSeries]()
    for a, joint in enumerate(joints):
        gap = joint.gap.copy()
        if step.body in joint.bodies:
            c = (solution.p_child_joint if step.body == joint.bodies[0] else solution.p_parent_joint)[a]
            gap[step.block :] += joint.side(step.body)[step.block :] @ np.cross([0.0, 0.0, 0.3], c)
        turned[a] = replace(joint, gap=gap, known={})
    gains = list[float]()
    gain = steps._gain
    monkeypatch.setattr(steps, "_gain", lambda *given: gains.append(gain(*given)) or gains[-1])
    measure_rigid_steps(turned, [step], solution)
    whole = gains[0] - gains[1]  # by which a rotation makes it likelier
    for ratio, told in ((40.0, False), (90.0, True)):
        noisier = {a: replace(one, variance=one.variance * whole / ratio) for a, one in turned.items()}
        [(_, turn)] = measure_rigid_steps(noisier, [step], solution)
        assert bool(turn.any()) == told


def test_noise_is_that_of_the_seconds_around_and_a_quiet_stretch_counts_a_few_times_at_most(
    joints: list[GapSeries], monkeypatch: pytest.MonkeyPatch
) -> None:
    left = np.ones((200, 3))
    left[80:120] = 0.0
    size = steps._local_size(left, 5)
    assert 0.3 < size[100] < 0.8 < size[10]
    reaches = list[int]()
    local = steps._local_size
    monkeypatch.setattr(steps, "_local_size", lambda left, reach: reaches.append(reach) or local(left, reach))
    blocks = joints[0].blocks
    GapSeries.of_joints(blocks, [0])
    assert 1.0 < reaches[0] * blocks.step < 4.0  # s


def test_a_second_step_is_looked_for_beside_the_few_that_are_on_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for ratio, tried in ((30.0, 0), (50.0, 3)):  # of the 150 that a step needs
        found = [GapStep(body, 20, ratio) for body in range(8)]
        looked = list[GapStep]()
        joint = SimpleNamespace(with_step=lambda step, looked=looked: looked.append(step))
        monkeypatch.setattr(steps, "_clearest_steps", lambda _, bodies, edge, found=found: found[: len(bodies)])
        monkeypatch.setattr(steps, "_ratio_after", lambda *_: 10.0)
        monkeypatch.setattr(steps, "_without_shapes", lambda *_: [])
        assert find_step([joint], range(8), EDGE, ENOUGH) is None  # type: ignore[list-item]
        assert len({step.body for step in looked}) == tried


def test_a_gap_has_the_shapes_of_skin_where_chance_does_not_give_them_to_it(
    joints: list[GapSeries], step: GapStep
) -> None:
    joint = next(joint for joint in joints if step.body in joint.bodies)

    def spoil(size: float) -> GapSeries:
        return replace(joint, gap=joint.gap + size * joint.base[:, -1].reshape(-1, 3), known={})

    def count_errors(size: float) -> float:
        """Standard errors by which the shapes explain more than chance."""
        one = spoil(size)
        own, every = one._on(one.own).with_step(step), one.with_step(step)
        columns = every.base.shape[1] - own.base.shape[1]
        gain = (np.square(own.left).sum() - np.square(every.left).sum()) / every.variance
        return float((gain - columns) / np.sqrt(2 * columns))

    for errors, shaped in ((2.0, False), (6.0, True)):
        low, high = 0.0, 1e3 * float(np.sqrt(joint.variance))
        while high - low > 1e-9 * high:
            low, high = (low, (low + high) / 2) if count_errors((low + high) / 2) > errors else ((low + high) / 2, high)
        assert (spoil(high).without_shapes(step) is None) == shaped


def test_blocks_that_are_not_seen_are_no_proof_that_there_is_little_noise() -> None:
    """With half of a short take unseen, steps of kilometres were clear: what a joint was cleared of left no rows."""
    noise = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15), missing=0.4, missing_run=2.0)
    world = simulate(human(), "walk", seconds=16, rate=30, seed=4, disturbances=noise)
    names = world.truth.names
    tree = tuple((names[k], one) for k, one in zip(world.truth.parent, names, strict=True) if k >= 0)
    asked = FitOptions(tree=tree)
    solution = fit_tree(world.take, check_asked(world.take, asked), asked, ROBUST).solution
    assert not find_slips(world.take, solution)


def whiten(values: np.ndarray, correlation: float, follows: np.ndarray) -> np.ndarray:
    """Values (b, 3, k) of which each is the one before times a correlation and white noise, as that noise alone."""
    out = values * np.sqrt(1 - correlation**2)
    out[follows] = (values - correlation * np.roll(values, 1, axis=0))[follows]
    return out


def test_a_step_in_noise_that_wanders_is_scored_as_by_the_noise_alone(
    joints: list[GapSeries], step: GapStep, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    monkeypatch.setattr(steps, "WANDER_CORRELATIONS", (0.9,))
    joint = next(joint for joint in joints if step.body in joint.bodies)
    gap = rng.standard_normal(joint.gap.shape).cumsum(axis=0)
    gap[[20, 50, 51]] = 0  # not seen
    seen = gap.any(axis=1)
    follows = np.append(False, seen[1:] & seen[:-1])
    one = replace(joint, gap=gap, base=joint.base * np.repeat(seen, 3)[:, None])
    side = joint.side(step.body).copy()
    side[: step.block] = 0
    columns = np.concatenate([one.base.reshape(len(gap), 3, -1), side, gap[..., None]], axis=2)
    flat = whiten(columns, 0.9, follows)[seen].reshape(3 * seen.sum(), -1)
    base, moved, values = flat[:, :-4], flat[:, -4:-1], flat[:, -1]
    moved, values = (part - base @ np.linalg.lstsq(base, part, rcond=1e-5)[0] for part in (moved, values))
    left = values - moved @ np.linalg.lstsq(moved, values)[0]
    variance = left @ left / (len(flat) - flat.shape[1] + 1)
    gradient, information = one.score_in_wander(step)
    np.testing.assert_allclose(gradient, moved.T @ values / variance, rtol=1e-6)
    np.testing.assert_allclose(information, moved.T @ moved / variance, rtol=1e-6)


def test_a_joint_that_is_first_seen_where_a_step_is_tells_nothing_of_it(rng: np.random.Generator) -> None:
    count = 2000
    seen = np.arange(count) >= count // 2
    t = np.arange(count)[:, None] / 6
    turns = (np.sin(t * speeds + phase) for speeds, phase in (([0.3, 0.21, 0.39], 0.0), ([0.12, 0.27, 0.09], 1.0)))
    child, parent = (rotation.from_vector(1e-3 * turn) * seen[:, None, None] for turn in turns)
    pulls = [parent * wave[..., None] for wave in (np.sin(0.3 * t), np.sin(0.3 * t) ** 2)]
    base = span_columns(np.concatenate([child, parent, *pulls], axis=2).reshape(3 * count, -1))
    gap = 0.003 * rng.standard_normal((count, 3)) * seen[:, None]
    run = SimpleNamespace(run=np.zeros(count, dtype=int))
    joint = GapSeries((0, 1), child, parent, gap, base[:, :6], base, gap, 1e-5, 1e-12, run)  # type: ignore[arg-type]
    for body in (0, 1):
        gradient, information = joint.score_in_wander(GapStep(body, count // 2, 0.0))
        assert np.trace(information) < 1e-3 / SIZE**2
        assert likelihood_ratio(gradient, information) < 1


def test_the_correlation_of_the_noise_is_the_likeliest_although_most_of_what_wanders_is_cleared_away(
    joints: list[GapSeries], step: GapStep, rng: np.random.Generator
) -> None:
    joint = next(joint for joint in joints if step.body in joint.bodies)
    white = rng.standard_normal(joint.gap.shape)
    own = GapStep(step.body, len(white) // 2, 0.0)
    wander = np.zeros_like(white)
    for k in range(1, len(white)):
        wander[k] = 0.97 * wander[k - 1] + white[k]

    def measure(gap: np.ndarray, size: float) -> float:
        """Likelihood ratio of a step of a size."""
        moved = gap.copy()
        moved[own.block :] += joint.side(own.body)[own.block :] @ np.full(3, size / np.linalg.norm(joint.child[0]))
        return float(likelihood_ratio(*replace(joint, gap=moved).score_in_wander(own)))

    assert measure(white, 0.0) < 20 < 80 < measure(white, 3.0)
    assert measure(wander, 0.0) < 20
    assert measure(wander, 8.0) < measure(white, 8.0) / 4
