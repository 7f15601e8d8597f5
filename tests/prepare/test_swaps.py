"""Sensors that are exchanged for a stretch: found, named, timed, left out or exchanged back."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle import Take, join
from condyle.maths.series import find_runs
from condyle.pairs.exchange import Exchange
from condyle.pairs.sums import sum_pairs
from condyle.prepare import swaps
from condyle.prepare.swaps import (
    Swap,
    _best_joints,
    _cuts,
    _suspect_pairs,
    describe_swaps,
    exchange_back,
    find_hidden,
    find_swaps,
)
from condyle.prepare.tracks import find_crossings, find_moves
from condyle.simulate import Disturbances, World, human, linkage, simulate
from tests.make.looked_at import is_about, record_thinned

FRAMES = 5  # within which an end that is covered by missing samples is found
COVERED = 9  # frames: one that a burst of wrong samples covers
SAME = 1e-9  # m: limb lengths of a take exchanged back, and of one that never was
CLOSE = 3e-3  # m: limb lengths with the stretch left out
SPOILT = 2e-2  # m: what an exchange does to a length at least
NOISY = {"position_noise": 0.003, "orientation_noise": np.radians(0.3)}
SOFT = {"soft_tissue": 0.005, "position_noise": 0.0015, "orientation_noise": np.radians(0.15)}
FIELD = {"field_warp": 0.0125, "field_length": 0.9}
SPIKY = {**NOISY, "spikes": 0.02, "bursts": 0.05}
WORLDS = {"exact": {}, "white": NOISY, "soft": SOFT, "soft and field": {**SOFT, **FIELD}, "spikes": SPIKY}


@cache
def world(name: str = "white", figure: str = "linkage", motion: str = "exercise", seed: int = 3) -> World:
    made = {"linkage": linkage, "human": human}[figure]()
    d = Disturbances(**WORLDS[name])  # type: ignore[arg-type]
    return simulate(made, motion, seconds=30, rate=30, seed=seed, disturbances=d)  # type: ignore[arg-type]


def swapped(take: Take, a: str, b: str, first: int, stop: int) -> Take:
    return exchange_back(take, [Swap((a, b), first, stop, 0.0, 0.0, 0.0, 0.0)])


def ends(swaps: list[Swap]) -> list[tuple[set[str], int, int]]:
    return [(set(swap.bodies), swap.first, swap.stop) for swap in swaps]


def lengths(calibration: condyle.Fit) -> np.ndarray:
    limbs = sorted(calibration.skeleton.limbs, key=lambda limb: (limb.body, sorted((limb.from_joint, limb.to_joint))))
    return np.array([limb.length for limb in limbs], dtype=np.float64)


def fit(take: Take, **options: object) -> condyle.Fit:
    return condyle.fit(take, intervals=False, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("pair", [("l_upper_arm", "r_upper_arm"), ("l_upper_arm", "l_forearm"), ("head", "r_forearm")])
@pytest.mark.parametrize(("first", "stop"), [(400, 430), (200, 500), (0, 300), (600, 900)])
def test_an_exchange_is_told_with_both_sensors_and_to_the_frame(
    name: str, pair: tuple[str, str], first: int, stop: int
) -> None:
    time = world(name).take.time
    [swap] = find_swaps(swapped(world(name).take, *pair, first, stop))
    assert set(swap.bodies) == set(pair)
    most = COVERED if name == "spikes" else 0
    assert abs(swap.first - first) <= most
    assert abs(swap.stop - stop) <= most
    assert (swap.start, swap.end) == (time[swap.first], time[swap.stop - 1])
    assert swap.sure
    assert swap.gap > 4 * swap.left


@pytest.mark.parametrize("motion", ["exercise", "walk"])
@pytest.mark.parametrize("pair", [("l_thigh", "r_thigh"), ("l_hand", "r_hand"), ("pelvis", "chest")])
def test_left_and_right_of_a_person_in_soft_tissue_are_told_apart(motion: str, pair: tuple[str, str]) -> None:
    take = world("soft and field", "human", motion).take
    assert ends(find_swaps(swapped(take, *pair, 300, 390))) == [(set(pair), 300, 390)]


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("figure", ["linkage", "human"])
@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_nothing_is_told_where_nothing_was_exchanged(name: str, figure: str, motion: str) -> None:
    assert find_swaps(world(name, figure, motion).take) == []


def test_exchanges_that_are_refused_are_not_searched_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    take = swapped(swapped(world().take, "l_upper_arm", "r_upper_arm", 200, 500), "head", "l_forearm", 600, 700)
    searches: list[Exchange] = []
    search = Exchange.search
    monkeypatch.setattr(swaps, "_verify", lambda *_: [])
    monkeypatch.setattr(Exchange, "search", lambda self, worth: (searches.append(self), search(self, worth))[1])
    ranked = swaps._rank_exchanges(take, find_crossings(find_moves(take)), set(), None)
    assert [one.fall for one in ranked] == sorted((one.fall for one in ranked), reverse=True)
    once = len(searches)
    assert len(ranked) > 1
    assert find_swaps(take) == []
    assert len(searches) == 2 * once


def test_several_exchanges_of_one_take_are_told_each() -> None:
    take = world("white", "human", "walk").take
    take = swapped(take, "l_thigh", "r_thigh", 100, 250)
    take = swapped(take, "l_hand", "r_foot", 200, 400)
    take = swapped(take, "l_thigh", "r_thigh", 500, 600)
    found = ends(find_swaps(take))
    assert found == [
        ({"l_thigh", "r_thigh"}, 100, 250),
        ({"l_hand", "r_foot"}, 200, 400),
        ({"l_thigh", "r_thigh"}, 500, 600),
    ]


@pytest.mark.parametrize("stop", [360, 600])
def test_an_exchange_whose_ends_nobody_saw_is_found_from_the_joints(stop: int) -> None:
    take = swapped(world().take, "l_forearm", "r_forearm", 300, stop)
    lost = np.zeros(take.seen.shape, dtype=bool)
    for end in (300, stop):
        lost[end - 12 : end + 12, [take.index("l_forearm"), take.index("r_forearm")]] = True
    [(bodies, first, last)] = ends(find_swaps(take.mask(lost)))
    assert bodies == {"l_forearm", "r_forearm"}
    assert abs(first - 312) <= FRAMES
    assert abs(last - (stop - 12)) <= FRAMES


def test_cables_exchanged_between_two_recordings_are_told() -> None:
    take = world("soft").take
    later = swapped(take.slice(560, 900), "l_upper_arm", "r_upper_arm", 0, 340)
    both = join([take.slice(0, 560), later])
    assert ends(find_swaps(both)) == [({"l_upper_arm", "r_upper_arm"}, 560, 900)]


def test_where_both_parts_are_as_long_it_is_said_that_either_may_be_right() -> None:
    take = swapped(world().take, "l_upper_arm", "r_upper_arm", 440, 900)
    [swap] = find_swaps(take)
    assert (swap.first, swap.stop) == (0, 440)  # the shorter part
    assert not swap.sure
    assert "check which part is right" in describe_swaps([swap], repaired=False)[0].text


def test_a_known_tree_tells_which_part_is_right() -> None:
    take = swapped(world().take, "l_upper_arm", "r_upper_arm", 300, 900)
    assert ends(find_swaps(take)) == [({"l_upper_arm", "r_upper_arm"}, 0, 300)]
    known = [(take.index(child), take.index(parent)) for child, parent in world().truth.edges]
    [swap] = find_swaps(take, known)
    assert (swap.first, swap.stop) == (300, 900)


def test_the_stretch_is_left_out_unless_it_is_to_be_exchanged_back() -> None:
    still = world(motion="walk")
    take = swapped(still.take, "l_upper_arm", "r_upper_arm", 200, 600)
    left, back = fit(take), fit(take, fix="swaps")
    for calibration, words in ((left, "are left out"), (back, "were exchanged")):
        [finding] = [one for one in calibration.findings if one.code == "swap"]
        assert finding.severity == "warning"
        assert set(finding.bodies) == {"l_upper_arm", "r_upper_arm"}
        assert finding.time == (take.time[200], take.time[599])
        assert (finding.frame, finding.count) == (200, 400)
        assert words in finding.text
    gone = ~left.take.seen
    assert gone.sum() == 2 * 400
    assert gone[200:600, [take.index("l_upper_arm"), take.index("r_upper_arm")]].all()
    np.testing.assert_array_equal(back.take.p_world_body, still.take.p_world_body)
    clean = lengths(fit(still.take))
    np.testing.assert_allclose(lengths(back), clean, atol=SAME)
    np.testing.assert_allclose(lengths(left), clean, atol=CLOSE)


def test_an_exchange_that_nobody_looks_for_spoils_the_lengths() -> None:
    """Otherwise the test above would pass without the check."""
    still = world()
    take = swapped(still.take, "l_upper_arm", "r_upper_arm", 200, 600)
    edges = [(parent, child) for child, parent in still.truth.edges]
    plain = [lengths(fit(one, plan="least-squares", tree=edges)) for one in (still.take, take)]
    assert np.nanmax(np.abs(plain[1] - plain[0])) > SPOILT


def test_an_exchange_is_not_taken_for_latency_or_a_slip() -> None:
    take = swapped(world("white", "human", "walk").take, "l_thigh", "r_thigh", 200, 500)
    codes = {finding.code for finding in fit(take).findings}
    assert "swap" in codes
    assert not codes & {"latency", "slip"}


def test_least_squares_does_not_look_and_neither_is_asked_of_takes_without_time() -> None:
    take = swapped(world().take, "l_upper_arm", "r_upper_arm", 200, 300)
    assert "swap" not in {finding.code for finding in fit(take, plan="least-squares").findings}
    assert find_swaps(replace(take, timed=False)) == []


@pytest.mark.parametrize("frames", [0, 1, 3, 19])
def test_takes_too_short_to_tell_are_left_alone(frames: int) -> None:
    assert find_swaps(world().take.slice(0, frames)) == []


def test_bodies_that_are_never_seen_and_a_lone_body_do_no_harm() -> None:
    take = world().take
    lost = np.zeros(take.seen.shape, dtype=bool)
    lost[:, 2] = True
    assert find_swaps(take.mask(lost)) == []
    assert find_swaps(take.mask(np.ones_like(lost))) == []
    assert find_swaps(take.select(["head"])) == []


def test_two_bodies_alone_are_enough() -> None:
    take = world("white", motion="walk").take.select(["l_upper_arm", "l_forearm"])
    found = find_swaps(swapped(take, "l_upper_arm", "l_forearm", 300, 420))
    assert ends(found) == [({"l_upper_arm", "l_forearm"}, 300, 420)]


def test_exchanging_twice_changes_nothing_and_hiding_hides_both() -> None:
    take = world().take
    swap = Swap(("head", "chest"), 10, 20, 0.0, 0.0, 0.0, 0.0)
    again = exchange_back(exchange_back(take, [swap]), [swap])
    np.testing.assert_array_equal(again.p_world_body, take.p_world_body)
    np.testing.assert_array_equal(again.R_world_body, take.R_world_body)
    gone = find_hidden(take, [swap])
    assert gone.sum() == 20
    assert gone[10:20, [take.index("head"), take.index("chest")]].all()


def test_the_sentence_names_sensors_stretch_evidence_and_what_was_done() -> None:
    swap = Swap(("l_thigh", "r_thigh"), 300, 390, 10.0, 12.97, 0.24, 0.006)
    [finding] = describe_swaps([swap], repaired=False)
    assert finding.text == (
        "l_thigh and r_thigh: exchanged from 10.00 to 12.97 s (there their joints come apart by 240 mm as recorded, by "
        "6 mm when exchanged); there they are left out; --fix swaps exchanges them; check cables and labels"
    )


@pytest.mark.parametrize("name", ["exact", "white", "soft", "soft and field"])
@pytest.mark.parametrize(("first", "stop"), [(400, 430), (200, 500), (600, 900)])
def test_three_sensors_that_went_round_are_told_and_exchanged_back(name: str, first: int, stop: int) -> None:
    take = world(name).take
    ring = ("head", "l_forearm", "r_upper_arm")
    spoilt = exchange_back(take, [Swap(ring, first, stop, 0.0, 0.0, 0.0, 0.0)])
    [swap] = find_swaps(spoilt)
    assert (set(swap.bodies), swap.first, swap.stop) == (set(ring), first, stop)
    np.testing.assert_array_equal(exchange_back(spoilt, [swap]).p_world_body, take.p_world_body)
    assert "exchanged in a circle from" in describe_swaps([swap], repaired=False)[0].text


@pytest.mark.parametrize("options", [{}, {"fix": "swaps"}])
def test_a_fit_tells_a_circle_and_finds_the_lengths(options: dict[str, str]) -> None:
    take = world("white").take
    spoilt = exchange_back(take, [Swap(("head", "l_forearm", "r_upper_arm"), 400, 500, 0.0, 0.0, 0.0, 0.0)])
    fitted = fit(spoilt, **options)
    [finding] = [finding for finding in fitted.findings if finding.code == "swap"]
    assert set(finding.bodies) == {"head", "l_forearm", "r_upper_arm"}
    np.testing.assert_allclose(lengths(fitted), lengths(fit(take)), atol=SAME if options else CLOSE)


def test_suspects_come_apart_by_a_tenth_of_their_distance_in_one_stretch_and_are_the_six_worst() -> None:
    share = np.full((20, 10), 0.05)
    share[3, [1, 4]] = 0.11, 0.2
    share[9, 6] = 0.3  # in another stretch
    share[12, [7, 8]] = 0.5, 0.09
    assert _suspect_pairs(share) == {(1, 4)}
    share[:] = np.linspace(0.2, 0.29, 10)
    assert _suspect_pairs(share) == {(a, b) for b in range(4, 10) for a in range(4, b)}


def test_bodies_that_are_off_in_a_quarter_of_the_stretches_may_be_exchanged_though_never_off_at_once() -> None:
    for stretches, found in ((4, set()), (6, {(0, 1)})):
        share = np.zeros((20, 3))
        share[:stretches, 0] = share[-stretches:, 1] = 0.2
        assert _suspect_pairs(share) == found


def test_labels_may_change_where_40_crossings_and_36_of_the_longest_holes_of_either_are() -> None:
    take = world().take
    pair, n = (0, 1), take.frames
    gone = np.zeros(take.seen.shape, dtype=bool)
    begins = np.arange(10, 10 + 40 * 12, 12)
    for k, first in enumerate(begins):  # the last four are the longest
        gone[first : first + (4 if k < 36 else 6), k % 2] = True
    crossings = np.arange(100, 150)
    cuts, sure = _cuts(take.mask(gone), pair, crossings, guess=True)
    assert set(cuts[sure]) == {0, n, *range(100, 140)}
    holes = {int(first) + 4 for first in begins[:32]} | {int(first) + 6 for first in begins[36:]}
    assert holes <= set(cuts.tolist())
    assert not {int(first) + 4 for first in begins[32:36]} & set(cuts.tolist())


def test_the_usual_gap_of_a_best_joint_is_looked_at_in_stretches_of_three_quarters_of_a_second() -> None:
    take = world().take
    residual, share = _best_joints(take, sum_pairs(take))
    assert residual.shape == (take.bodies, take.bodies)
    assert len(share) == pytest.approx(take.seconds / 0.75, abs=1.5)


def verified(
    monkeypatch: pytest.MonkeyPatch, left: list[float], gap: list[float], frames: int = 40, usual: float = 0.01
) -> list[Swap]:
    """What is told of two sensors in so many of 100 frames, by gaps [m] of their joints exchanged and as recorded."""
    take = world().take.slice(0, 100)
    swapped = np.arange(100) < frames
    right = np.where(swapped[:, None], left, usual) * np.ones((100, 1))
    wrong = np.where(swapped[:, None], gap, 1.0) * np.ones((100, 1))
    monkeypatch.setattr(swaps, "_gap_sizes", lambda *_: (right, wrong))
    monkeypatch.setattr(swaps, "measure_nearness", lambda _: 1.0)
    return swaps._verify(take, (0, 1), swapped)


def test_an_exchange_makes_every_joint_fit_that_came_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    for left, gap, told in [
        ([0.01, 0.01], [0.03, 0.03], False),
        ([0.01, 0.01], [0.06, 0.06], True),
        ([0.01, 0.01], [0.014, 0.2], False),  # one of the joints hardly
        ([0.01, 0.01], [0.03, 0.2], True),
        ([0.12, 0.12], [2.0, 2.0], False),  # and still comes apart far more than elsewhere
        ([0.05, 0.05], [2.0, 2.0], True),
    ]:
        assert bool(verified(monkeypatch, left, gap)) == told, (left, gap)


def test_gaps_of_a_ten_thousandth_of_the_distance_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    for gap, told in ((2.5e-4, False), (8e-4, True)):  # m, of sensors a metre apart
        assert bool(verified(monkeypatch, [0.0, 0.0], [gap, gap], usual=0.0)) == told


def test_a_few_frames_are_no_stretch_and_of_parts_about_as_long_either_may_be_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for frames, told in ((3, []), (9, [True]), (30, [True]), (48, [False])):
        assert [one.sure for one in verified(monkeypatch, [0.01] * 2, [0.2] * 2, frames)] == told, frames


def test_a_known_edge_tells_which_part_is_right_where_it_fits_clearly_better(monkeypatch: pytest.MonkeyPatch) -> None:
    take = world().take.slice(0, 100)
    most = np.arange(100) < 60
    for times, known in ((1.25, False), (2.0, True)):
        sizes = iter((0.01, times * 0.01))
        fit_to = lambda *_, sizes=sizes: SimpleNamespace(residual=np.array([next(sizes)]))  # noqa: E731
        monkeypatch.setattr(swaps, "fit_pairs", fit_to)
        assert (swaps._orient(take, (0, 1), most, [(1, 2)]) == most).all() == known


def test_what_was_seen_to_change_places_needs_less_to_be_looked_at_than_what_was_guessed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = world().take
    residual, calm = np.ones((take.bodies, take.bodies)), np.zeros((20, take.bodies))
    off = calm.copy()
    off[3, :2] = 0.5
    monkeypatch.setattr(swaps, "sum_stretches", lambda *_: np.zeros((1, 2)))
    for share, crossings, fall, looked in [
        (calm, {(0, 1): np.array([400])}, 0.012, False),
        (calm, {(0, 1): np.array([400])}, 0.04, True),
        (off, {}, 0.1, False),
        (off, {}, 0.4, True),
    ]:
        trial = SimpleNamespace(search=lambda _, fall=fall: (np.array([True]), fall))
        monkeypatch.setattr(swaps, "Exchange", lambda *_, trial=trial: trial)
        assert bool(swaps._rank_exchanges(take, crossings, set(), (residual, share))) == looked, fall


def test_labels_may_change_while_a_few_samples_are_missing() -> None:
    take = world().take
    for missing, cut in ((1, False), (4, True)):
        gone = np.zeros(take.seen.shape, dtype=bool)
        gone[401 : 401 + missing, 0] = True
        assert (401 + missing in _cuts(take.mask(gone), (0, 1), np.empty(0, np.int64), True)[0]) == cut


def test_the_best_run_is_the_one_with_the_largest_sum(rng: np.random.Generator) -> None:
    for length in (1, 2, 7, 12):
        for _ in range(20):
            values = rng.standard_normal(length)
            sums = {(a, b): values[a:b].sum() for a in range(length) for b in range(a + 1, length + 1)}
            first, stop = swaps._best_run(values)
            assert values[first:stop].sum() == pytest.approx(max(0.0, *sums.values()))


def test_a_frame_is_better_exchanged_by_gaps_of_up_to_a_few_times_the_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    usual, far = np.full((10, 1), 0.01), np.full((10, 1), 1.0)
    monkeypatch.setattr(swaps, "_gap_sizes", lambda *_: (usual, far))
    marked = np.arange(10) < 4
    better = swaps._gain(None, (0, 1), marked)  # type: ignore[arg-type]
    np.testing.assert_allclose(better, np.where(marked, 1 - 1 / 9, 1 / 9 - 1))
    monkeypatch.setattr(swaps, "_gap_sizes", lambda *_: (usual, 2 * usual))
    np.testing.assert_allclose(swaps._gain(None, (0, 1), marked)[0], 4 / 9 - 1 / 9)  # type: ignore[arg-type]


def test_joints_of_a_long_take_are_summed_over_some_thousand_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    thinned = record_thinned(monkeypatch)
    take = world().take
    swaps._joints_of(take, (0, 1), np.zeros(take.frames, dtype=bool))
    assert is_about(thinned[0], 2000)


def test_pairs_that_are_exchanged_are_bounded_and_each_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    take = swapped(world().take, "head", "l_forearm", 400, 500)
    done = list[tuple[int, int]]()
    names = take.names

    def rank(take: Take, crossings: object, known: set[tuple[int, int]], joints: object) -> list[SimpleNamespace]:
        done.append(tuple(sorted(known)))  # type: ignore[arg-type]
        return [SimpleNamespace(pair=(len(done), 99), swapped=np.zeros(1, bool), cuts=np.array([0, take.frames]))]

    monkeypatch.setattr(swaps, "_rank_exchanges", rank)
    monkeypatch.setattr(swaps, "_orient", lambda take, pair, marks, known: marks)
    monkeypatch.setattr(swaps, "_refine", lambda take, best, marks: marks)
    found = Swap((names[0], names[1]), 10, 20, 0.0, 0.0, 0.0, 0.0)
    monkeypatch.setattr(swaps, "_verify", lambda *_: [found])
    find_swaps(take)
    assert 8 <= len(done) <= 32
    assert [len(known) for known in done] == list(range(len(done)))


def test_the_end_of_an_exchange_is_moved_half_way_to_the_next_one_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = np.zeros(1000, dtype=bool)
    marked[100:150] = marked[170:220] = True
    better = np.where(marked, 1.0, -1.0)
    better[170:220] = 5.0
    monkeypatch.setattr(swaps, "_gain", lambda *_: better)
    best = SimpleNamespace(pair=(0, 1), cuts=np.array([0, 1000]), seen=np.zeros(2, dtype=bool))
    found = swaps._refine(SimpleNamespace(frames=1000), best, marked)  # type: ignore[arg-type]
    assert find_runs(found) == [(100, 150), (170, 220)]


def test_an_end_that_was_seen_to_the_frame_is_not_moved(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = np.arange(1000) // 100 == 3
    better = np.where(marked, 1.0, -1.0)
    better[394:400] = -1.0  # a burst of wrong samples, far from either place
    better[290:300] = 1.0
    monkeypatch.setattr(swaps, "_gain", lambda *_: better)
    best = SimpleNamespace(pair=(0, 1), cuts=np.array([0, 300, 400, 1000]), seen=np.array([True, False, True, True]))
    found = swaps._refine(SimpleNamespace(frames=1000), best, marked)  # type: ignore[arg-type]
    assert find_runs(found) == [(290, 400)]


def test_a_gap_that_fits_speaks_for_its_reading_where_the_other_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of two sensors is not seen: what the other shows tells which reading is right."""
    right, wrong = np.array([[0.01, 0.02], [1.0, 1.0]]).repeat(5, axis=0), np.full((10, 2), np.nan)
    monkeypatch.setattr(swaps, "_gap_sizes", lambda *_: (right, wrong))
    monkeypatch.setattr(swaps, "median", lambda _: np.array([0.015, 0.015]))
    better = swaps._gain(None, (0, 1), np.zeros(10, dtype=bool))  # type: ignore[arg-type]
    assert (better[:5] < 0).all()
    assert (better[5:] > 0).all()


def test_a_gap_that_is_not_seen_speaks_for_neither_side(monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = np.full((10, 2), 0.01), np.full((10, 2), 1.0)
    none = np.zeros(10, dtype=bool)
    monkeypatch.setattr(swaps, "_gap_sizes", lambda *_: (right, wrong))
    seen = swaps._gain(None, (0, 1), none)  # type: ignore[arg-type]
    wrong[3] = [1.0, np.nan]
    wrong[4] = right[4] = np.nan
    better = swaps._gain(None, (0, 1), none)  # type: ignore[arg-type]
    assert seen[3] < better[3] < 0  # what is seen alone says that it is right
    assert better[4] == 0
