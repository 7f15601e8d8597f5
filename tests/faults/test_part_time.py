"""Joints of the tree that hold for a part of a take: told with their time, and fitted where they hold."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle import Finding
from condyle.estimate.solve import solution_of
from condyle.faults import part_time
from condyle.faults.part_time import PartTime, _runs, _sensors_off, describe_part_time, find_part_time
from condyle.maths import rotation
from condyle.pairs.fits import fit_pairs, gaps, refine_pairs
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, SensorSlip, Truth, disturb, human, linkage, prop, simulate, together
from condyle.simulate.contacts import pick_up

TIME = 0.3  # s
GAP = 0.010  # m: of the joint where it holds
SIZE = 2e-3  # m: limb lengths with and without the prop put down
NOISY = {"position_noise": 0.003, "orientation_noise": 0.005}


def carried(start: float, end: float) -> tuple[Truth, list[tuple[str, str]]]:
    """A prop in the right hand, and the tree that joins them."""
    worlds = [simulate(human(), "walk", seconds=30, seed=3), prop(seconds=30, seed=4)]
    tree = [(parent, child) for child, parent in worlds[0].truth.edges]
    return pick_up(together(worlds, ["", ""]).truth, "r_hand", "prop", start, end), [*tree, ("r_hand", "prop")]


def fit(truth: Truth, **how: object) -> condyle.Fit:
    take, _ = disturb(truth, Disturbances(**NOISY), 1)  # type: ignore[arg-type]
    return condyle.fit(take, intervals=False, **how)  # type: ignore[arg-type]


def told(calibration: condyle.Fit) -> list[Finding]:
    return [finding for finding in calibration.findings if finding.code == "part-time-joint"]


@pytest.mark.parametrize("span", [(0.0, 27.0), (5.0, 22.0), (8.0, 15.0)])
def test_a_joint_that_was_given_and_holds_for_a_part_is_fitted_there(span: tuple[float, float]) -> None:
    truth, tree = carried(*span)
    fitted = fit(truth, tree=tree)
    [finding] = told(fitted)
    joint = fitted.skeleton.joint("prop")
    assert set(finding.bodies) == {"prop", "r_hand"}
    assert finding.time == joint.time
    assert joint.time is not None
    np.testing.assert_allclose(joint.time, span, atol=TIME)
    assert joint.kind == "rigid"
    assert joint.residual < GAP
    assert all(other.time is None for other in fitted.skeleton.joints if other.child != "prop")


def test_the_rest_of_the_figure_and_the_recorded_poses_stay_as_they_are() -> None:
    held, tree = carried(0.0, 30.0)
    put_down, _ = carried(0.0, 18.0)
    before, after = fit(held, tree=tree), fit(put_down, tree=tree)
    lengths = [
        {(limb.body, limb.from_joint, limb.to_joint): limb.length for limb in one.skeleton.limbs if limb.length}
        for one in (before, after)
    ]
    for limb in lengths[0].keys() & lengths[1].keys():
        assert lengths[1][limb] == pytest.approx(lengths[0][limb], abs=SIZE)
    assert not told(before)
    assert after.take.seen.all()  # left out of the fit, not of the take
    column = [joint.child for joint in after.skeleton.joints].index("prop")
    later = after.take.time > 19
    assert (after.weight[later, column] == 0).all()
    assert np.linalg.norm(after.gap[later, column], axis=1).max() > 0.1


@pytest.mark.parametrize("motion", ["walk", "exercise"])
@pytest.mark.parametrize(
    "disturbances",
    [NOISY, {"soft_tissue": 0.01, **NOISY}, {"spikes": 0.02, "bursts": 0.05, **NOISY}, {}],
    ids=["white", "skin", "spikes", "exact"],
)
def test_nothing_is_told_where_all_joints_hold(motion: str, disturbances: dict[str, float]) -> None:
    d = Disturbances(**disturbances)  # type: ignore[arg-type]
    world = simulate(linkage(), motion, seconds=20, seed=5, disturbances=d)  # type: ignore[arg-type]
    assert not told(condyle.fit(world.take, intervals=False))


@pytest.mark.costly
def test_skin_that_moves_far_while_its_joint_turns_is_no_joint_that_comes_apart() -> None:
    d = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15), soft_tissue=0.03)
    take = simulate(human(), "exercise", seed=60001, disturbances=d).take
    assert not told(condyle.fit(take, intervals=False))
    # nor where the sensor is worn so that half a turn lies between it and the other one
    hand, arm = take.index("r_hand"), take.index("r_forearm")
    R = take.R_world_body.copy()
    apart = rotation.mean(np.swapaxes(R[:, hand], 1, 2) @ R[:, arm])
    R[:, hand] = R[:, hand] @ apart @ np.diag([-1.0, -1.0, 1.0])
    assert not told(condyle.fit(replace(take, R_world_body=R), intervals=False))


def test_a_slip_is_no_joint_that_comes_apart() -> None:
    slip = SensorSlip("l_forearm", 22.0, (0.12, 0.08, 0.07))
    d = Disturbances(slips=(slip,), **NOISY)  # type: ignore[arg-type]
    world = simulate(linkage(), "walk", seconds=30, seed=5, disturbances=d)
    fitted = condyle.fit(world.take, intervals=False)
    assert not told(fitted)
    assert [finding.bodies for finding in fitted.findings if finding.code == "slip"] == [("l_forearm",)]


@pytest.mark.parametrize("put_down", [False, True])
def test_a_joint_that_goes_on_at_another_place_is_left_to_slips(put_down: bool) -> None:
    d = Disturbances(**NOISY)  # type: ignore[arg-type]
    take = simulate(linkage(), "walk", seconds=20, seed=5, disturbances=d).take
    fits = refine_pairs(
        take, fit_pairs(sum_pairs(take), np.array([[take.index("l_forearm"), take.index("l_upper_arm")]]))
    )
    solution = solution_of(take, fits)
    k, later = take.index("l_forearm"), take.time > 14
    p = take.p_world_body.copy()
    p[later, k] = p[later][0, k] if put_down else p[later, k] + take.R_world_body[later, k] @ [0.2, 0.1, 0.1]
    moved = replace(take, p_world_body=p)
    gap = gaps(moved, solution.pairs, solution.p_child_joint, solution.p_parent_joint)
    assert len(find_part_time(moved, solution, gap, moved.seen)) == put_down


def test_least_squares_does_not_look() -> None:
    truth, tree = carried(0.0, 18.0)
    assert not told(fit(truth, tree=tree, plan="least-squares"))


def test_the_sentence_says_when_it_holds() -> None:
    one = PartTime("prop", "r_hand", np.ones(3, bool), ((0.0, 5.0), (8.0, 20.0)), 0.41, 0.0074, "prop")
    assert one.longest == (8.0, 20.0)
    assert describe_part_time([one])[0].text == (
        "prop: its joint with r_hand holds from 0.0 to 5.0 s and from 8.0 to 20.0 s only, and was fitted there; else "
        "they are apart, by 410 mm where 7.4 mm are usual: put down, let go, or a sensor that came off?"
    )


def test_a_sensor_is_off_where_all_its_joints_are_apart_as_far_as_they_are_known() -> None:
    pairs = np.array([[1, 0], [2, 0], [3, 0], [4, 3]])
    apart = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)
    known = np.ones_like(apart)
    known[2:, 2] = False
    known[3, 1] = False
    off = _sensors_off(apart, known, pairs)
    assert off.tolist() == [[False] * 4, [True, True, True, False], [True, True, True, False], [False] * 4]


def part_time_of(
    monkeypatch: pytest.MonkeyPatch, size: np.ndarray, weight: np.ndarray | float = 1.0, rate: float = 60.0
) -> list[PartTime]:
    """What is told of a joint of two sensors a metre apart by the size (n,) [m] of its gap."""
    n = len(size)
    p = np.tile([[0.0, 0, 0], [1.0, 0, 0]], (n, 1, 1))
    take = condyle.Take(("a", "b"), np.arange(n) / rate, np.tile(np.eye(3), (n, 2, 1, 1)), p)
    solution = SimpleNamespace(pairs=np.array([[0, 1]]), frame_weight=np.broadcast_to(weight, n)[:, None] * 1.0)
    monkeypatch.setattr(part_time, "_comes_apart", lambda *_: True)
    monkeypatch.setattr(part_time, "_part_time", lambda *given: SimpleNamespace(holds=given[5]))
    gap = size[:, None, None] * np.array([1.0, 0, 0])
    return find_part_time(take, solution, gap, take.seen)  # type: ignore[arg-type]


def gaps_of(usual: float, far: float, seconds: float = 2.0) -> np.ndarray:
    """(1200,) of twenty seconds, farther from the twelfth on."""
    size = np.full(1200, usual)
    size[720 : 720 + round(60 * seconds)] = far
    return size


def test_a_joint_is_apart_by_many_times_its_usual_gap_and_a_good_share_of_its_sensors_distance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for usual, far, seconds, told in [
        (0.01, 0.2, 2.0, False),
        (0.01, 0.45, 2.0, True),
        (0.1, 0.45, 2.0, False),
        (0.1, 0.9, 2.0, True),
        (0.01, 0.45, 0.5, False),  # an outlier
    ]:
        assert bool(part_time_of(monkeypatch, gaps_of(usual, far, seconds))) == told, (usual, far, seconds)


def test_what_the_fit_does_not_trust_is_not_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    size, weight = gaps_of(0.01, 0.45), np.full(1200, 0.5)
    size[:700], weight[:700] = 0.1, 0.2
    assert part_time_of(monkeypatch, size, weight)


def test_a_gap_that_comes_and_goes_within_half_a_second_is_its_median(monkeypatch: pytest.MonkeyPatch) -> None:
    size = gaps_of(0.01, 0.45, 4.0)
    size[720:960][np.arange(240) % 30 >= 18] = 0.01
    assert part_time_of(monkeypatch, size)
    size[720:960][np.arange(240) % 30 >= 12] = 0.01
    assert not part_time_of(monkeypatch, size)


def test_a_joint_that_fits_by_itself_is_elsewhere_and_not_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    take = simulate(linkage(), "exercise", seconds=5, seed=1).take
    for residual, apart in ((0.02, False), (0.04, True)):  # m, where 0.01 are usual
        monkeypatch.setattr(part_time, "sum_pairs", lambda _: None)
        found = SimpleNamespace(residual=np.array([residual]))
        monkeypatch.setattr(part_time, "fit_pairs", lambda _, found=found: found)
        size = np.full(take.frames, 1.0)
        assert part_time._comes_apart(take, np.array([0, 1]), (60, 120), size, 0.01, 0.3) == apart


def test_runs_end_where_their_segment_does() -> None:
    flags = np.array([0, 1, 1, 1, 1, 1, 1, 0, 1], dtype=bool)
    assert _runs(flags, np.zeros(9, dtype=np.int64)) == [(1, 7), (8, 9)]
    assert _runs(flags, np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])) == [(1, 3), (3, 5), (5, 7), (8, 9)]


def test_skin_moves_as_its_joint_turns_and_never_farther_than_the_sensors_are_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = simulate(linkage(), "exercise", seconds=5, seed=1).take
    monkeypatch.setattr(part_time, "sum_pairs", lambda _: None)
    monkeypatch.setattr(part_time, "fit_pairs", lambda _: SimpleNamespace(residual=np.array([0.04])))
    for far, outside, inside, apart in [
        (0.2, 0.2, 0.3, False),  # m, of a distance of 0.3; turn [rad] in the rest and there
        (0.5, 0.2, 0.3, True),  # farther than any skin
        (0.2, 0.2, 0.15, True),  # four times as far by less of a turn
        (0.2, 0.01, 0.3, True),  # a grip has none
        (0.2, 0.06, 0.3, False),
    ]:
        turns = iter((outside, inside))
        monkeypatch.setattr(part_time, "_measure_spread", lambda _, turns=turns: next(turns))
        size = np.full(take.frames, far)
        found = part_time._comes_apart(take, np.array([0, 1]), (60, 120), size, 0.01, 0.3)
        assert found == apart, (far, outside, inside)
