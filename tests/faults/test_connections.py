"""Connections that hold for a while: named, timed and placed, and none told where nothing touches."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle import Finding
from condyle.faults import connections
from condyle.faults.connections import (
    MOST_CONNECTED_BODIES,
    Contact,
    Stretch,
    _free,
    describe_connections,
    ends_of,
    find_connections,
    find_lasting,
)
from condyle.model.take import Take
from condyle.simulate import Disturbances, Truth, disturb, human, linkage, prop, simulate, together
from condyle.simulate.contacts import clasp_hands, join_hands, pick_up, plant_feet
from tests.make.disturbed import recentre

TIME = 0.2  # s: error of start and end
PLACE = 0.006  # m: error of the point
NOISY = {"position_noise": 0.003, "orientation_noise": 0.005}
SOFT = {"soft_tissue": 0.005, "position_noise": 0.0015, "orientation_noise": 0.0026}
FIELD = {"field_warp": 0.0125, "field_length": 0.9, "position_noise": 0.0015, "orientation_noise": 0.0026}
USUAL = 0.007  # m: gap of the joints of these worlds
SPAN = (8.0, 12.0)  # s


def walker(motion: str = "walk", seed: int = 4) -> Truth:
    return simulate(human(), motion, seconds=20, seed=seed).truth  # type: ignore[arg-type]


def two(seed: int = 4) -> Truth:
    both = together([simulate(human(), "walk", seconds=20, seed=k) for k in (seed, seed + 50)]).truth
    p = both.p_world_body.copy()
    p[:, 15:, 0] += 1.0
    return replace(both, p_world_body=p)


def with_prop(seed: int = 4) -> Truth:
    worlds = [simulate(human(), "walk", seconds=20, seed=seed), prop(seconds=20, seed=seed + 1)]
    return together(worlds, ["", ""]).truth


def edges(truth: Truth) -> np.ndarray:
    return np.array([(k, up) for k, up in enumerate(truth.parent) if up >= 0])


def recorded(truth: Truth, disturbances: dict[str, float] | None = None, seed: int = 0) -> Take:
    return disturb(truth, Disturbances(**(NOISY if disturbances is None else disturbances)), seed)[0]  # type: ignore[arg-type]


def found(truth: Truth, disturbances: dict[str, float] | None = None, **how: object) -> list[Contact]:
    return find_connections(recorded(truth, disturbances), edges(truth), USUAL, **how)  # type: ignore[arg-type]


def told(calibration: condyle.Fit, *codes: str) -> list[Finding]:
    return [finding for finding in calibration.findings if finding.code in codes]


@pytest.mark.parametrize("disturbances", [NOISY, SOFT, FIELD], ids=["white", "skin", "field"])
def test_two_who_hold_hands_are_told_with_time_and_place(disturbances: dict[str, float]) -> None:
    points = np.array([[0.05, 0.04, -0.03], [-0.02, 0.06, 0.05]])
    [contact] = found(join_hands(two(), ("a_r_hand", "b_l_hand"), points, *SPAN), disturbances)
    assert contact.bodies == ("a_r_hand", "b_l_hand")
    np.testing.assert_allclose((contact.start, contact.end), SPAN, atol=TIME)
    np.testing.assert_allclose(contact.points, points, atol=2 * PLACE)
    assert contact.free > 3 * contact.gap


@pytest.mark.parametrize("motion", ["walk", "exercise"])
def test_ones_own_clasped_hands_are_told_not_the_forearms(motion: str, rng: np.random.Generator) -> None:
    [contact] = found(clasp_hands(walker(motion), *SPAN, rng))
    assert set(contact.bodies) == {"l_hand", "r_hand"}
    np.testing.assert_allclose((contact.start, contact.end), SPAN, atol=TIME)


def test_a_prop_is_told_while_it_is_carried_and_not_while_it_lies() -> None:
    [contact] = found(pick_up(with_prop(), "r_hand", "prop", *SPAN))
    assert set(contact.bodies) == {"r_hand", "prop"}
    np.testing.assert_allclose((contact.start, contact.end), SPAN, atol=TIME)


def test_a_prop_that_is_handed_over_is_two_connections() -> None:
    truth = with_prop()
    first = pick_up(truth, "r_hand", "prop", 3.0, 8.0)
    second = pick_up(truth, "l_hand", "prop", 11.0, 17.0)
    k, later = truth.names.index("prop"), truth.time > 9.5
    R, p = first.R_world_body.copy(), first.p_world_body.copy()
    R[later, k], p[later, k] = second.R_world_body[later, k], second.p_world_body[later, k]
    contacts = found(replace(first, R_world_body=R, p_world_body=p))
    assert [set(contact.bodies) - {"prop"} for contact in contacts] == [{"r_hand"}, {"l_hand"}]


@pytest.mark.parametrize("rate", [240, 480])
@pytest.mark.parametrize(("every", "first"), [(2, 1), (4, 1), (8, 3)])
def test_sensors_of_a_fraction_of_the_rate_are_connected_whatever_frame_their_first_sample_is_in(
    rate: int, every: int, first: int, rng: np.random.Generator
) -> None:
    """They were in none of the frames that were looked at."""
    truth = clasp_hands(simulate(human(), "walk", seconds=20, rate=rate, seed=4).truth, *SPAN, rng)
    slow = np.isin(truth.names, ["l_hand", "r_hand", "l_forearm", "r_forearm"])
    take = recorded(truth)
    take = take.mask(slow & (np.arange(take.frames)[:, None] % every != first))
    [contact] = find_connections(take, edges(truth), USUAL)
    assert set(contact.bodies) == {"l_hand", "r_hand"}
    np.testing.assert_allclose((contact.start, contact.end), SPAN, atol=TIME)


def test_a_room_that_is_moved_at_once_connects_nothing_and_ends_no_contact(rng: np.random.Generator) -> None:
    """Windows in which the room jumped had no other explanation than a contact."""
    moves = {int(30 * s): (a, (0.3, -0.4, 0.0)) for s, a in ((4.1, 0.5), (10.3, -0.7), (15.2, 0.3))}
    for seed in (2, 3, 4):
        alone = recorded(walker(seed=seed)).select(["head", "l_hand", "r_hand", "pelvis", "r_foot"])
        assert not find_connections(recentre(alone, moves), np.empty((0, 2)))
    truth = clasp_hands(walker(), *SPAN, rng)
    [contact] = find_connections(recentre(recorded(truth), moves), edges(truth), USUAL)
    assert set(contact.bodies) == {"l_hand", "r_hand"}
    np.testing.assert_allclose((contact.start, contact.end), SPAN, atol=TIME)


@pytest.mark.parametrize("motion", ["walk", "exercise"])
@pytest.mark.parametrize("disturbances", [NOISY, SOFT, FIELD, {}], ids=["white", "skin", "field", "exact"])
def test_nothing_is_told_of_one_figure_that_touches_nothing(motion: str, disturbances: dict[str, float]) -> None:
    for seed in (11, 12):
        assert not found(walker(motion, seed), disturbances)
    one = simulate(linkage(), motion, seconds=20, seed=7).truth  # type: ignore[arg-type]
    assert not found(one, disturbances)


def test_nothing_is_told_of_two_figures_or_a_prop_apart() -> None:
    assert not found(two(seed=20))
    assert not found(with_prop(seed=21))


def test_a_stiff_joint_makes_no_connection_of_its_neighbours() -> None:
    truth = walker("exercise")
    R, p = truth.R_world_body.copy(), truth.p_world_body.copy()
    fore, hand = truth.names.index("l_forearm"), truth.names.index("l_hand")
    R[:, hand] = R[:, fore] @ (R[0, fore].T @ R[0, hand])  # a wrist in plaster
    p[:, hand] = p[:, fore] + R[:, fore] @ (R[0, fore].T @ (p[0, hand] - p[0, fore]))
    assert not found(replace(truth, R_world_body=R, p_world_body=p))


def test_hands_on_one_fixed_rail_are_not_told_as_connected_to_each_other(rng: np.random.Generator) -> None:
    held = clasp_hands(walker(), 3.0, 17.0, rng)
    rail = plant_feet(held, ("r_hand",), stance=100.0, point=(0.0, 0.0, -0.08))
    assert {frozenset(contact.bodies) for contact in found(held)} == {frozenset(("l_hand", "r_hand"))}
    assert not found(rail)


def test_nor_are_they_where_wrists_are_stiff_and_hands_fit_as_forearms_do() -> None:
    for seed in (801, 803, 807):
        held = clasp_hands(walker("exercise", seed), 3.0, 17.0, np.random.default_rng(seed))
        assert {frozenset(contact.bodies) for contact in found(held)} == {frozenset(("l_hand", "r_hand"))}
        assert not found(plant_feet(held, ("r_hand",), stance=100.0, point=(0.0, 0.0, -0.08)))


def test_a_body_that_is_hardly_seen_is_no_evidence() -> None:
    for seed in (3, 4):
        assert not found(walker("exercise", seed), {**NOISY, "missing": 0.45, "missing_run": 2.0})


def test_a_connection_does_not_depend_on_where_the_room_begins_or_who_comes_first(rng: np.random.Generator) -> None:
    truth = clasp_hands(walker(), *SPAN, rng)
    take = recorded(truth)
    [here] = find_connections(take, edges(truth), USUAL)
    moved = Take(take.names, take.time, take.R_world_body, take.p_world_body + [800.0, -300.0, 50.0])
    [there] = find_connections(moved, edges(truth), USUAL)
    assert (there.first, there.stop, there.bodies) == (here.first, here.stop, here.bodies)
    order = rng.permutation(take.bodies)
    place = np.argsort(order)
    shuffled = take.select([take.names[k] for k in order])
    [again] = find_connections(shuffled, place[edges(truth)], USUAL)
    assert set(again.bodies) == set(here.bodies)
    assert (again.first, again.stop) == (here.first, here.stop)


def test_gaps_and_high_rates_do_not_hide_a_connection(rng: np.random.Generator) -> None:
    truth = clasp_hands(walker(), *SPAN, rng)
    [contact] = found(truth, {**NOISY, "missing": 0.1})
    np.testing.assert_allclose((contact.start, contact.end), SPAN, atol=2 * TIME)
    fast = clasp_hands(simulate(human(), "walk", seconds=20, rate=120, seed=4).truth, *SPAN, rng)
    [contact] = find_connections(recorded(fast), edges(fast), USUAL)
    np.testing.assert_allclose((contact.start, contact.end), SPAN, atol=TIME)


def test_takes_without_time_short_ones_and_very_many_bodies_are_not_judged() -> None:
    truth = walker()
    take = recorded(truth)
    untimed = Take.from_poses(take.p_world_body, R_world_body=take.R_world_body, names=take.names)
    assert not find_connections(untimed, edges(truth), USUAL)
    assert not find_connections(take.slice(0, 10), edges(truth), USUAL)
    assert not find_connections(take.slice(0, 1), edges(truth), USUAL)
    many = MOST_CONNECTED_BODIES + 1
    crowd = Take(
        [f"b{k}" for k in range(many)],
        take.time[:60],
        np.tile(np.eye(3), (60, many, 1, 1)),
        np.zeros((60, many, 3)) + np.arange(many)[:, None],
    )
    assert not find_connections(crowd, np.empty((0, 2), int), USUAL)
    gone = take.mask(np.ones(take.seen.shape, dtype=bool))
    assert not find_connections(gone, edges(truth), USUAL)


def test_known_pairs_are_not_told_again(rng: np.random.Generator) -> None:
    truth = clasp_hands(walker(), *SPAN, rng)
    hands = frozenset(truth.names.index(name) for name in ("l_hand", "r_hand"))
    assert all(set(contact.bodies) != {"l_hand", "r_hand"} for contact in found(truth, known={hands}))


def test_only_short_runs_of_outliers_are_left_out() -> None:
    take = recorded(walker())
    good = take.seen.copy()
    good[100:103, 2] = False  # a spike
    good[200:260, 2] = False  # a prop that lies on a table
    kept = find_lasting(take, good)
    assert not kept[100:103, 2].any()
    assert kept[200:260, 2].all()


def test_fit_locates_a_connection_and_tells_it(rng: np.random.Generator) -> None:
    points = np.array([[0.05, 0.04, -0.03], [-0.02, 0.06, 0.05]])
    truth = join_hands(two(), ("a_r_hand", "b_l_hand"), points, *SPAN)
    fitted = condyle.fit(recorded(truth))
    [loop] = fitted.skeleton.loops
    [finding] = told(fitted, "connection")
    assert {loop.child, loop.parent} == set(finding.bodies) == {"a_r_hand", "b_l_hand"}
    assert loop.time == finding.time
    assert loop.kind == "ball"
    assert loop.covariance is not None
    want = points if loop.child == "a_r_hand" else points[::-1]
    np.testing.assert_allclose(np.stack([loop.p_child_joint, loop.p_parent_joint]), want, atol=PLACE)
    assert finding.severity == "info"
    assert not told(fitted, "part-time-joint")
    assert len(fitted.skeleton.roots) == 2


def test_fit_tells_a_carried_prop_as_rigid_and_leaves_it_loose() -> None:
    fitted = condyle.fit(recorded(pick_up(with_prop(), "r_hand", "prop", *SPAN)), intervals=False)
    [loop] = fitted.skeleton.loops
    assert (loop.child, loop.parent, loop.kind, loop.point) == ("prop", "r_hand", "rigid", "arbitrary")
    assert fitted.skeleton.loose == ("prop",)
    again = condyle.fit(fitted.take, plan="least-squares")
    assert not again.skeleton.loops


def test_a_skeleton_with_connections_survives_its_file(tmp_path, rng: np.random.Generator) -> None:
    fitted = condyle.fit(recorded(clasp_hands(walker(), *SPAN, rng)), intervals=False)
    condyle.write_skeleton(tmp_path / "skeleton.json", fitted.skeleton)
    [loop] = condyle.read_skeleton(tmp_path).loops
    assert loop.time == fitted.skeleton.loops[0].time


def test_the_sentence_names_both_the_time_and_the_place() -> None:
    points = np.array([[0.0, 0.06, 0.0], [0.0, 0.0, 0.08]])
    contact = Contact(("l_hand", "r_hand"), 240, 361, 8.0, 12.0, points, 0.007, 0.13, 12.0)
    [finding] = describe_connections([contact])
    assert finding.text == (
        "l_hand and r_hand: connected from 8.0 to 12.0 s, 60 mm and 80 mm from their sensors; they come apart by 7 mm "
        "there, where 130 mm were to be expected of two that are not"
    )
    assert (finding.time, finding.value, finding.frame, finding.count) == ((8.0, 12.0), 0.007, 240, 121)


def test_a_contact_ends_where_its_segment_does() -> None:
    n, border = 240, 150
    still = Take(
        ("a", "b"),
        np.arange(n) / 60,
        np.tile(np.eye(3), (n, 2, 1, 1)),
        np.tile([[0.0, 0, 0], [0.3, 0, 0]], (n, 1, 1)),
        np.repeat([0, 1], [border, n - border]),
    )
    points = np.array([[0.3, 0, 0], [0.0, 0, 0]])
    assert ends_of(still, None, Stretch(0, (0, 1), 60, 120, points, 0.001, 0.1, 1.0)) == (0, border)
    first, stop = ends_of(still, None, Stretch(0, (0, 1), 180, 220, points, 0.001, 0.1, 1.0))
    assert (first - border in (0, 1), stop) == (True, n)


def test_a_contact_is_followed_to_its_ends_however_far_they_are_from_where_it_was_seen() -> None:
    n, first, stop = 4000, 500, 3700
    p = np.tile([[0.0, 0, 0], [0.3, 0, 0]], (n, 1, 1))
    p[:first, 1, 1] = p[stop:, 1, 1] = 1.0
    apart = Take(("a", "b"), np.arange(n) / 60, np.tile(np.eye(3), (n, 2, 1, 1)), p)
    points = np.array([[0.3, 0, 0], [0.0, 0, 0]])
    found = ends_of(apart, None, Stretch(0, (0, 1), 2000, 2060, points, 0.001, 0.1, 1.0))
    assert found == pytest.approx((first, stop), abs=0.25 * 60)  # s over which gaps are smoothed, times the rate
    assert found == ends_of(apart, None, Stretch(0, (0, 1), 600, 3600, points, 0.001, 0.1, 1.0))


def test_two_whose_gaps_to_a_third_are_known_are_expected_as_far_apart_as_chance_has_them() -> None:
    three, four = np.array([3.0]), np.array([4.0])
    assert _free(three, four, np.zeros(1)) == pytest.approx(5)
    assert _free(three, four, np.full(1, 2.0)) == pytest.approx(np.sqrt(17))
    assert _free(three, four, np.full(1, 9.0)) == 0


class GivenGaps:
    """Windows in which pairs come apart as they are told to.

    own  [m] gap of the pair that is asked about, at a point so far from both sensors that moves by `moves` [m]
    apart, in_room  [m] gap of others that no joint links, and how far the point moves as the room sees it
    """

    first = np.zeros(1, dtype=np.int64)

    def __init__(self, own: float, reach: float, moves: float, apart: float, in_room: float) -> None:
        self.own, self.reach, self.moves, self.apart, self.in_room = own, reach, moves, apart, in_room

    def fit(self, i: np.ndarray, j: np.ndarray) -> tuple[np.ndarray, ...]:
        pairs = [(int(a), int(b)) for a, b in zip(i, j, strict=True)]
        gap = [self.own if pair == (0, 1) else 1e-4 if {pair, pair[::-1]} & JOINED else self.apart for pair in pairs]
        point = np.tile([self.reach, 0.0, 0.0], (1, len(pairs), 1))
        return np.array([gap]), point, point

    def spread(self, window: np.ndarray, body: np.ndarray, point: np.ndarray, by: np.ndarray) -> np.ndarray:
        return np.where(by == 4, self.in_room, self.moves) * np.ones(len(window))


JOINED = {(0, 2), (2, 3), (3, 1)}  # of the ends and those between, in this order
CHAIN = np.array([[0, 1], [1, 2], [2, 3]])  # 0.4 m from one to the next
BESIDE = np.array([[0, 1], [1, 2]])  # and one that stands beside it


def scored(
    monkeypatch: pytest.MonkeyPatch,
    tree: np.ndarray,
    *,
    own: float = 0.006,
    reach: float = 0.1,
    moves: float = 0.05,
    apart: float = 0.1,
    usual: float = 0.0,
    in_room: float = 0.05,
    telling: tuple[float, float] = (0.0, np.inf),
) -> Stretch | None:
    """The score of the first and the last of four bodies over ten seconds; others come apart by `apart` in windows of
    lengths that are telling [s].
    """
    p = np.tile(np.outer(np.arange(4), [0.4, 0, 0]), (600, 1, 1))
    take = Take(list("abcd"), np.arange(600) / 60, np.tile(np.eye(3), (600, 4, 1, 1)), p)

    def cut(*given: object) -> GivenGaps:
        length = float(given[3])  # type: ignore[arg-type]
        return GivenGaps(own, reach, moves, apart if telling[0] < length < telling[1] else 0.0, in_room)

    monkeypatch.setattr(connections, "cut_windows", cut)
    pairs = connections._Pairs(take, tree, usual, (), None)
    one = Stretch(int(pairs.row[0, 3]), (0, 3), 0, 600, np.zeros((2, 3)), own, 0.0, 0.0)
    return pairs.score(take, None, one, 0, 600)


def test_a_contact_is_near_both_holds_together_and_is_no_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    for tree, case, found in [
        (BESIDE, {"own": 0.06, "moves": 1.0, "apart": 1.0}, True),  # two people who link arms
        (BESIDE, {"own": 0.2, "moves": 1.0, "apart": 1.0}, False),  # and who walk side by side
        (CHAIN, {"own": 0.008}, True),
        (CHAIN, {"own": 0.025}, False),  # limbs of one figure that keep step
        (CHAIN, {"own": 0.02, "usual": 0.02, "apart": 0.2}, True),  # as far apart as its joints are
        (CHAIN, {"own": 0.06, "usual": 0.02, "apart": 0.4, "moves": 1.0}, False),
        (CHAIN, {"reach": 0.35}, True),
        (CHAIN, {"reach": 0.8}, False),  # a point in mid-air
        (CHAIN, {"moves": 0.012}, True),
        (CHAIN, {"moves": 0.006}, False),  # it rests in what lies between
        (CHAIN, {"in_room": 0.006}, False),  # or in the room
        (CHAIN, {"apart": 0.03}, True),
        (CHAIN, {"apart": 0.012}, False),  # no less than those between them
    ]:
        assert (scored(monkeypatch, tree, **case) is not None) == found, case  # type: ignore[arg-type]


def test_windows_of_half_a_second_to_four_tell_a_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    for length in (0.5, 1.0, 2.0, 4.0):
        assert scored(monkeypatch, CHAIN, telling=(0.7 * length, 1.4 * length)) is not None
    assert scored(monkeypatch, CHAIN, telling=(6.0, np.inf)) is None


def test_gaps_of_less_than_the_noise_of_any_sensor_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = scored(monkeypatch, CHAIN, own=1e-9)
    assert exact is not None
    assert 5e-4 < exact.gap < 3e-3  # m


def test_a_contact_that_another_one_explains_is_not_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    take = recorded(walker()).select(["head", "chest", "pelvis"])
    pairs = connections._Pairs(take, np.array([[0, 1]]), 0.0, (), None)
    known = Stretch(0, (0, 2), 0, 100, np.zeros((2, 3)), 0.01, 0.1, 9.0)
    one = replace(known, bodies=(1, 2))
    for motion, explained in ((0.02, True), (0.05, False)):  # m, of the point in the body between
        monkeypatch.setattr(connections, "least_motion", lambda *_, motion=motion: motion)
        assert pairs.is_explained(take, None, one, [known]) == explained


def apart(*excursions: tuple[int, int, float]) -> Take:
    """Two bodies 0.3 m apart for 600 frames at 60 Hz, and farther by `far` [m] in frames first <= k < stop."""
    p = np.tile([[0.0, 0, 0], [0.301, 0, 0]], (600, 1, 1))
    for first, stop, far in excursions:
        p[first:stop, 1, 0] = 0.3 + far
    return Take(("a", "b"), np.arange(600) / 60, np.tile(np.eye(3), (600, 2, 1, 1)), p)


HELD = Stretch(0, (0, 1), 250, 350, np.array([[0.3, 0, 0], [0.0, 0, 0]]), 0.001, 0.1, 1.0)  # at 1 mm


def test_a_contact_ends_where_it_comes_apart_for_longer_than_a_spike() -> None:
    for excursions, ends in [
        ([(400, 600, 0.002)], 600),
        ([(400, 600, 0.005)], 400),
        ([(400, 401, 0.007)], 600),  # one frame
        ([(400, 409, 0.005)], 400),
    ]:
        stop = ends_of(apart(*excursions), None, HELD)[1]  # type: ignore[arg-type]
        assert stop == pytest.approx(ends, abs=10), excursions


def test_what_touches_for_half_a_second_is_no_contact() -> None:
    pairs = SimpleNamespace(score=lambda take, good, now, first, stop, moving: replace(now, first=first, stop=stop))
    for frames, found in ((36, False), (72, True)):
        take = apart((0, 300 - frames // 2, 0.1), (300 + frames // 2, 600, 0.1))
        seed = replace(HELD, first=290, stop=310)
        assert (connections._grow(take, None, pairs, seed) is not None) == found  # type: ignore[arg-type]


def test_poses_that_fit_nothing_for_a_third_of_a_second_are_spikes() -> None:
    take = recorded(walker())
    for seconds, trusted in ((0.33, False), (0.8, True)):
        good = take.seen.copy()
        rows = slice(200, 200 + round(seconds * take.rate))
        good[rows, 2] = False
        assert find_lasting(take, good)[rows, 2].all() == trusted


def test_a_contact_that_chance_may_make_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "sum_windows", lambda *_: [None])
    held = replace(HELD, first=125, stop=175)  # in the half of the frames that are looked at
    monkeypatch.setattr(connections._Pairs, "seeds", lambda *_: [held])
    for score, found in ((2.4, 0), (5.0, 1)):
        monkeypatch.setattr(connections, "_grow", lambda *_, score=score, **__: replace(held, score=score))
        monkeypatch.setattr(connections._Pairs, "nearest", lambda *given: given[-1])
        assert len(find_connections(apart(), np.empty((0, 2), int))) == found


def test_a_contact_that_farther_sensors_leave_in_doubt_is_told_by_those_nearest_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = replace(HELD, first=125, stop=175)  # of every second frame
    near = replace(held, gap=0.002)
    monkeypatch.setattr(connections, "sum_windows", lambda *_: [None])
    monkeypatch.setattr(connections, "cut_windows", lambda *_: None)
    monkeypatch.setattr(connections._Pairs, "seeds", lambda *_: [held])
    monkeypatch.setattr(connections._Pairs, "nearest", lambda *_: near)
    for score, motion, found in ((2.4, 0.1, 0), (5.0, 0.1, 1), (5.0, 0.004, 1), (5.0, 0.002, 0)):  # m: on a rail
        grow = lambda *given, moving=True, score=score: replace(given[3], score=2.4 if moving else score)  # noqa: E731
        monkeypatch.setattr(connections, "_grow", grow)
        monkeypatch.setattr(connections, "least_motion", lambda *_, motion=motion: motion)
        assert len(find_connections(apart(), np.empty((0, 2), int))) == found, (score, motion)


def test_a_crowd_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    monkeypatch.setattr(connections, "_search", lambda take, *_: searched.append(take.bodies) or [])
    for count in (50, 100):
        names = [f"b{k}" for k in range(count)]
        p = np.random.default_rng(1).standard_normal((20, count, 3))
        find_connections(
            Take(names, np.arange(20) / 30, np.tile(np.eye(3), (20, count, 1, 1)), p), np.empty((0, 2), int)
        )
    assert searched == [50]


def test_the_room_is_connected_to_nothing_and_what_is_joined_is_not_asked_for() -> None:
    take = recorded(walker()).select(["head", "chest", "pelvis", "l_thigh"])
    pairs = connections._Pairs(take, np.array([[0, 1]]), 0.0, {frozenset((1, 2))}, still=3)
    asked = {(int(i), int(j)) for i, j in zip(pairs.i[pairs.open], pairs.j[pairs.open], strict=True)}
    assert asked == {(0, 2)}
    free = connections._Pairs(take, np.array([[0, 1]]), 0.0, (), None)
    assert free.open.sum() == 5


def test_seeds_and_rounds_of_a_search_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = [replace(HELD, first=3 * k, stop=3 * k + 2, score=float(-k)) for k in range(150)]
    grown = list[Stretch]()
    monkeypatch.setattr(connections, "sum_windows", lambda *_: [None])
    monkeypatch.setattr(connections._Pairs, "seeds", lambda *_: seeds)
    with monkeypatch.context() as patched:
        patched.setattr(connections, "_grow", lambda take, good, pairs, seed: grown.append(seed))
        assert not find_connections(apart(), np.empty((0, 2), int))
    assert 20 <= len(grown) <= 80
    assert grown == seeds[: len(grown)]  # the clearest first
    rounds = list[int]()
    monkeypatch.setattr(connections, "ends_of", lambda *_: (100, 300 + len(rounds)))  # never the same twice
    score = lambda take, good, now, first, stop, moving: rounds.append(stop) or replace(now, first=first, stop=stop)  # noqa: E731
    connections._grow(apart(), None, SimpleNamespace(score=score), HELD)  # type: ignore[arg-type]
    assert 4 <= len(rounds) <= 16
