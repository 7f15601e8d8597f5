"""A repair is kept only where the joints it touched come apart less."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from condyle.estimate.fitting import ROBUST, Estimate, fit_tree
from condyle.estimate.proof import (
    _block_squares,
    _find_long_rest,
    _mean,
    _no_gain,
    _not_apart,
    _worse_joint,
    lies_at_border,
    mean_and_error,
    prove,
)
from condyle.faults.slips import Slip, SlipRepair
from condyle.maths import rotation
from condyle.model.options import FitOptions
from condyle.model.stage import Effect, Proof
from condyle.model.take import Take, join
from condyle.simulate import Disturbances, linkage, simulate

NOISE = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.3))
SHIFT = np.array([0.03, 0.0, 0.0])  # m


def take_of(seed: int = 1) -> Take:
    return simulate(linkage(), seconds=20, rate=60, seed=seed, disturbances=NOISE).take


def slip_of(take: Take, frame: int, shift: np.ndarray = SHIFT) -> SlipRepair:
    return SlipRepair((Slip(take.names[1], frame, float(take.time[frame]), shift, np.zeros(3), 200.0),))


def slipped(take: Take, repair: SlipRepair) -> Take:
    """The take with the sensor moved so that the repair moves it back."""
    opposite = replace(repair.slips[0], shift=-repair.slips[0].shift)
    return SlipRepair((opposite,)).apply(take)


def estimate_of(take: Take) -> Estimate:
    return fit_tree(take, [], FitOptions(), ROBUST)


def proof_of(before: Take, repair: SlipRepair) -> Proof:
    return prove(estimate_of(before), estimate_of(repair.apply(before)), repair)


def test_a_true_slip_moved_back_proves_itself() -> None:
    take = take_of()
    repair = slip_of(take, 600)
    proof = proof_of(slipped(take, repair), repair)
    assert proof.kept
    assert proof.after < 0.6 * proof.before


@pytest.mark.parametrize("second", [2, 18])
def test_a_small_slip_shows_in_the_short_stretch_on_either_side_of_it(second: int) -> None:
    for seed in range(3):
        take = take_of(seed)
        repair = slip_of(take, 60 * second, 0.25 * SHIFT)
        assert proof_of(slipped(take, repair), repair).kept


def test_the_seconds_of_a_long_rest_count_once_where_skin_moves_in_motion(rng) -> None:
    n, still = 1200, 900
    angle = np.radians(20) * np.sin(np.arange(n) / 10) * (np.arange(n) >= still)
    R = np.stack(
        [rotation.from_vector(angle[:, None] * [1.0, 0.5, 0.0]), np.broadcast_to(np.eye(3), (n, 3, 3))], axis=1
    )
    take = Take(("a", "b"), np.arange(n) / 60, R, np.zeros((n, 2, 3)))
    gap = rng.standard_normal((n, 1, 3))
    pairs = np.array([[0, 1]])
    assert not _find_long_rest(take, pairs, gap, 0).any()  # noise is as large at rest
    gap[still:] *= 5
    long = _find_long_rest(take, pairs, gap, 0)
    assert not long[:60].any()
    assert long[60:still].all()
    assert not long[still:].any()
    begun = _find_long_rest(take, pairs, gap, 500)  # what a change did in the midst of a rest is seen there
    assert not begun[500:560].any()
    assert begun[560:still].all()
    for other in (replace(take, timed=False), replace(take, time=3.0 * np.arange(n))):  # a second has no frame
        assert not _find_long_rest(other, pairs, gap, 0).any()


def test_moving_a_sensor_that_did_not_slip_does_not() -> None:
    take = take_of()
    proof = proof_of(take, slip_of(take, 600))
    assert not proof.kept
    assert proof.against == "its joints would come apart as much as before"
    assert proof.after > 2 * proof.before


def test_a_move_that_changes_nothing_is_no_gain() -> None:
    take = take_of()
    proof = proof_of(take, slip_of(take, 600, np.array([1e-7, 0.0, 0.0])))
    assert proof.against == "its joints would come apart as much as before"


def test_a_true_slip_at_the_border_of_two_recordings_is_not_moved_back() -> None:
    take = take_of()
    half = take.frames // 2
    cut = join([take.slice(0, half), take.slice(half, None)])
    repair = slip_of(cut, half + 10)
    assert proof_of(slipped(cut, repair), repair).against == "it lies at the border of two recordings"
    inside = slip_of(cut, half + 120)
    assert proof_of(slipped(cut, inside), inside).kept


def test_one_joint_that_gets_worse_speaks_against_what_makes_another_better() -> None:
    """The chest's sensor is moved so that its joint with the head is mended and its others are spoilt."""
    take = take_of()
    repair = slip_of(take, 600)
    spoilt = slipped(take, replace(repair, slips=(replace(repair.slips[0], body="head"),)))
    chest = replace(repair, slips=(replace(repair.slips[0], body="chest"),))
    proof = proof_of(spoilt, chest)
    assert not proof.kept


def test_a_slip_larger_than_the_figure_is_refused() -> None:
    take = take_of()
    repair = slip_of(take, 600, np.array([30.0, 0.0, 0.0]))
    assert "more than the largest distance between joined sensors" in proof_of(slipped(take, repair), repair).against


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The second body left out in some frames."""

    bodies: tuple[str, ...]
    first: int
    stop: int
    repair: str = "part-time"
    effect: Effect = "leaves out"
    size: float | None = None
    hold: tuple[tuple[str, str], ...] = ()
    at_border: bool = False

    def apply(self, take: Take) -> Take:
        mask = np.zeros(take.seen.shape, dtype=bool)
        mask[self.first : self.stop, take.index(self.bodies[0])] = True
        return take.mask(mask)

    def describe(self, proof: Proof | None) -> list:
        return []


@pytest.mark.parametrize("off", [0.0, 0.5])
def test_poses_may_be_left_out_only_where_they_are_apart(off: float) -> None:
    take = take_of()
    p = take.p_world_body.copy()
    p[300:500, 1] += off
    take = replace(take, p_world_body=p)
    change = LeftOut((take.names[1],), 300, 500)
    proof = prove(estimate_of(take), estimate_of(change.apply(take)), change)
    assert proof.kept == (off > 0)
    if not off:
        assert "times as far as elsewhere" in proof.against


def test_a_change_says_whether_it_may_begin_at_a_border() -> None:
    take = take_of()
    take = join([take.slice(0, 300), take.slice(300, None)])
    p = take.p_world_body.copy()
    p[300:500, 1] += 0.5
    take = replace(take, p_world_body=p)
    may, may_not = (LeftOut((take.names[1],), 300, 500, at_border=one) for one in (True, False))
    after = estimate_of(may.apply(take))
    assert prove(estimate_of(take), after, may).kept
    assert prove(estimate_of(take), after, may_not).against == "it lies at the border of two recordings"


def test_the_worst_tenth_of_a_sound_body_may_not_be_left_out() -> None:
    """Its rest comes apart less by construction, which proves nothing."""
    take = take_of()
    estimate = estimate_of(take)
    joint = int(np.flatnonzero((estimate.pairs == 1).any(axis=1))[0])
    worst = np.argsort(-np.linalg.norm(estimate.gap[:, joint], axis=1))[: take.frames // 10]

    @dataclass(frozen=True, eq=False)
    class Worst(LeftOut):
        def apply(self, take: Take) -> Take:
            mask = np.zeros(take.seen.shape, dtype=bool)
            mask[worst, 1] = True
            return take.mask(mask)

    change = Worst((take.names[1],), 1, 2)
    assert not prove(estimate, estimate_of(change.apply(take)), change).kept


def test_the_error_of_a_mean_counts_what_neighbours_share(rng: np.random.Generator) -> None:
    values = rng.normal(size=400)
    white = mean_and_error(values)[1]
    slow = mean_and_error(np.repeat(values[:100], 4))[1]
    assert white == pytest.approx(1 / 20, rel=0.2)
    assert slow > 1.3 * white
    assert mean_and_error(np.array([1.0, np.nan])) == (1.0, np.inf)
    assert mean_and_error(np.empty(0)) == (0.0, np.inf)


def test_a_sensor_that_only_turned_about_one_of_its_axes_is_turned_back() -> None:
    take = take_of()
    turned = Slip("chest", 600, float(take.time[600]), np.zeros(3), np.array([0.0, 0.0, 0.4]), 200.0)
    spoilt = SlipRepair((replace(turned, turn=-turned.turn),)).apply(take)
    proof = proof_of(spoilt, SlipRepair((turned,)))
    assert proof.kept
    assert proof.after < 0.6 * proof.before


def test_a_change_that_costs_a_joint_is_refused_and_names_it() -> None:
    take = take_of()

    @dataclass(frozen=True, eq=False)
    class HidesHead(LeftOut):
        def apply(self, take: Take) -> Take:
            mask = np.zeros(take.seen.shape, dtype=bool)
            mask[:, take.index("head")] = True
            return take.mask(mask)

    change = HidesHead(("chest",), 1, 2)
    against = prove(estimate_of(take), estimate_of(change.apply(take)), change).against
    assert against in ("the joint of head and chest would be lost", "the joint of chest and head would be lost")


def test_nearly_all_poses_of_a_body_may_not_be_left_out() -> None:
    take = take_of()
    for first, kept in ((30, False), (150, True)):  # of 1200 frames: 97 %, and 87 %
        p = take.p_world_body.copy()
        p[first:, 1] += 0.5 * np.sin(np.arange(take.frames - first))[:, None]
        spoilt = replace(take, p_world_body=p)
        change = LeftOut((take.names[1],), first, take.frames)
        tree = [(0, 1), (1, 2)]
        before, after = (fit_tree(one, tree, FitOptions(), ROBUST) for one in (spoilt, change.apply(spoilt)))
        proof = prove(before, after, change)
        assert ("of its poses would be left out" in proof.against) == (not kept), proof


def test_gaps_are_summed_up_by_seconds_and_by_tenths_of_what_is_known_where_that_is_less() -> None:
    take, gap = take_of(), np.ones((1200, 1, 3))
    assert _block_squares(take, gap).shape == (20, 1)
    gap[:500] = gap[600:] = np.nan
    squares = _block_squares(take, gap)
    assert np.isfinite(squares).sum() == 10
    np.testing.assert_allclose(squares[np.isfinite(squares)], 3.0)


def test_one_joint_that_is_far_apart_is_enough_to_leave_poses_out() -> None:
    take = take_of()
    p = take.p_world_body.copy()
    p[300:500, take.index("head")] += 0.5
    take = replace(take, p_world_body=p)
    change = LeftOut(("chest",), 300, 500)  # whose joints with the arms hold
    assert prove(estimate_of(take), estimate_of(change.apply(take)), change).kept


def test_the_border_of_two_recordings_is_near_even_after_the_very_first_frame() -> None:
    take = take_of()
    for alone in (1, 100):
        cut = replace(take, segment=(np.arange(take.frames) >= alone).astype(np.int64))
        assert lies_at_border(cut, 10) == (alone == 1)
    assert not lies_at_border(take, 10)


def test_a_mean_is_of_what_is_known_and_nothing_is_zero() -> None:
    values = np.array([[1.0, np.nan], [3.0, 5.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(_mean(values, axis=1), [1.0, 4.0, 0.0])
    assert _mean(values) == 3.0


def test_frames_in_which_a_sensor_is_not_seen_are_none_that_a_repair_moved() -> None:
    take = take_of()
    hidden = np.zeros(take.seen.shape, dtype=bool)
    hidden[: round(0.6 * take.frames), 1] = True
    seen = take.mask(hidden)
    repair = slip_of(seen, round(0.94 * take.frames))
    spoilt = slipped(seen, repair)
    assert prove(estimate_of(spoilt), estimate_of(repair.apply(spoilt)), repair).kept


@pytest.mark.parametrize(("seconds", "near"), [(0.4, True), (-0.4, True), (0.8, False), (-0.8, False)])
def test_a_repair_is_at_a_border_within_half_a_second_of_it(seconds: float, near: bool) -> None:
    take = take_of()
    cut = replace(take, segment=(np.arange(take.frames) >= 600).astype(np.int64))
    assert lies_at_border(cut, 600 + round(60 * seconds)) == near


def two_bodies(p: np.ndarray) -> Take:
    """Two sensors a metre apart whose joint half-way between them comes apart by p (n, 3) [m]."""
    place = np.zeros((len(p), 2, 3))
    place[:, 0, 0], place[:, 1, 0] = 0.5, -0.5
    place[:, 0] += p
    return Take.from_poses(place, R_world_body=np.tile(np.eye(3), (len(p), 2, 1, 1)), rate=10.0)


def no_gain(old: np.ndarray, new: np.ndarray, moved: np.ndarray) -> str:
    """`_no_gain` of gaps whose squares are old and new (n,), by a repair that moved some poses."""
    before, pairs = two_bodies(np.zeros((len(old), 3))), np.array([[0, 1]])
    after = two_bodies(np.outer(moved, [1e-3, 0, 0]))
    old_gap, new_gap = (np.sqrt(square)[:, None, None] * np.array([1.0, 0, 0]) for square in (old, new))
    squares = _block_squares(after, old_gap), _block_squares(after, new_gap)
    estimates = (SimpleNamespace(take=take) for take in (before, after))
    return _no_gain(*estimates, pairs, (old_gap, new_gap), squares)  # type: ignore[arg-type]


@pytest.mark.parametrize(("errors", "proved"), [(0.7, False), (1.3, True)])
def test_a_gain_is_none_unless_it_is_beyond_its_standard_error(errors: float, proved: bool) -> None:
    noise = np.repeat(0.03 * np.random.default_rng(3).standard_normal(60), 10)  # one a second
    error = mean_and_error(noise[::10])[1]
    old, new = np.ones(600), 1 + noise - noise.mean() - errors * error
    assert (no_gain(old, new, np.ones(600)) == "") == proved


def test_a_gain_of_a_few_seconds_is_chance_where_the_others_do_not_gain() -> None:
    """Bursts carry the mean of the squares: it falls by 1.6 of its standard errors, the ratio by 0.8."""
    few = np.arange(60) % 12 == 5
    noise = 0.4 * np.random.default_rng(3).standard_normal(60)
    old, new = np.where(few, 10.0, 1.0), np.exp(noise - noise.mean() + 0.12)
    assert no_gain(np.repeat(old, 10), np.repeat(new, 10), np.ones(600))
    assert no_gain(np.repeat(old, 10), np.repeat(0.8 * new, 10), np.ones(600)) == ""


def test_quiet_seconds_that_grow_quieter_are_no_gain_where_the_mean_grows() -> None:
    """Skin that is elsewhere in two postures: what makes the gap less in both makes it more in between."""
    few = np.repeat(np.arange(60) % 12 == 5, 10)
    old = np.where(few, 10.0, 1.0)
    assert no_gain(old, np.where(few, 11.5, 0.8), np.ones(600)) == ""
    assert no_gain(old, np.where(few, 12.5, 0.8), np.ones(600))


def test_a_gain_counts_where_poses_were_moved_or_in_the_rest_where_that_is_shorter() -> None:
    noise = np.repeat(0.03 * np.random.default_rng(3).standard_normal(60), 10)
    first = np.arange(600) < 120
    better = np.where(first, 0.5, 1.0)
    for moved in (first, ~first):
        assert no_gain(np.ones(600), better + 0.1 * noise * first, moved) == ""
        assert no_gain(np.ones(600), 0.7 + 0.5 * first + noise, moved)  # less on the whole, and more there


def left_out(rest: float, there: float) -> str:
    """`_not_apart` of a fifth of the poses, by gaps [m] of them and of the rest."""
    out = np.arange(200) >= 160
    take = two_bodies(np.outer(np.where(out, there, rest), [1.0, 0, 0]))
    kept = take.mask(np.stack([out, np.zeros(200, dtype=bool)], axis=1))
    gap = np.where(out[:, None, None], np.nan, 1e-3 * np.ones((200, 1, 3)))
    solution = SimpleNamespace(p_child_joint=np.array([[-0.5, 0, 0]]), p_parent_joint=np.array([[0.5, 0, 0]]))
    after = SimpleNamespace(take=kept, pairs=np.array([[0, 1]]), solution=solution, gap=gap)
    change = LeftOut((take.names[0],), 160, 200)
    return _not_apart(SimpleNamespace(take=take), after, change, np.array([0]))  # type: ignore[arg-type]


def test_poses_are_left_out_where_they_are_apart_three_times_as_far_as_the_rest() -> None:
    assert left_out(2e-3, 8e-3) == ""
    assert left_out(2e-3, 4e-3) == "its joints are apart there only 2.0 times as far as elsewhere"


def test_gaps_of_micrometres_between_sensors_a_metre_apart_are_rounding() -> None:
    assert left_out(0.0, 4.5e-6) == ""
    assert left_out(0.0, 2e-6) == "its joints are apart there only 2.0 times as far as elsewhere"


def test_a_change_of_bodies_without_a_joint_is_told_nothing_by() -> None:
    nothing = SimpleNamespace(take=two_bodies(np.zeros((10, 3))), pairs=np.empty((0, 2), np.int64))
    for effect, against in (("leaves out", ""), ("moves", "none of its bodies has a joint to tell by")):
        change = replace(LeftOut(("body1",), 1, 2), effect=effect)
        assert prove(nothing, nothing, change) == Proof(0.0, 0.0, against)  # type: ignore[arg-type]


def test_a_joint_is_worse_where_it_comes_apart_by_more_than_its_error_and_rounding() -> None:
    estimate = SimpleNamespace(take=two_bodies(np.zeros((600, 3))))
    pairs, even = np.array([[0, 1]]), np.ones((60, 1))
    for was, now, worse in ((1e-4, 5e-4, True), (1e-4, 1e-4, False), (0.0, 5e-7, False), (0.0, 5e-6, True)):  # m
        against = _worse_joint(estimate, pairs, even * was**2, even * now**2)  # type: ignore[arg-type]
        assert bool(against) == worse, (was, now)
    against = _worse_joint(estimate, pairs, even * 0.001**2, even * 0.002**2)  # type: ignore[arg-type]
    assert against == "body1 and body2 would come apart by 2 mm instead of 1 mm"


def test_of_bodies_that_are_left_out_the_one_that_loses_most_counts() -> None:
    out = np.zeros((200, 2), dtype=bool)
    out[2:, 0] = out[190:, 1] = True
    take = two_bodies(np.outer(np.where(out[:, 0], 0.1, 1e-3), [1.0, 0, 0]))
    solution = SimpleNamespace(p_child_joint=np.array([[-0.5, 0, 0]]), p_parent_joint=np.array([[0.5, 0, 0]]))
    gap = np.full((200, 1, 3), 1e-3)
    after = SimpleNamespace(take=take.mask(out), pairs=np.array([[0, 1]]), solution=solution, gap=gap)
    gap[2:] = np.nan
    change = LeftOut(take.names, 2, 200)
    against = _not_apart(SimpleNamespace(take=take), after, change, np.array([0]))  # type: ignore[arg-type]
    assert against == "99% of its poses would be left out"
