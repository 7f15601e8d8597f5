"""Feet on the floor are connections with the room, asked for with world=True."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.faults import planted
from condyle.faults.connections import Contact, Stretch
from condyle.faults.planted import _is_explained, _without_noise, describe_planted, find_planted
from condyle.maths import rotation
from condyle.model.take import Take, with_world
from condyle.pairs.noise import Noise
from condyle.simulate import Disturbances, Truth, disturb, human, simulate
from condyle.simulate.contacts import plant_feet

TIME = 0.25  # s
STANCE = 1.0  # s
FOUND = 0.9  # of the stances
PLACE = 0.02  # m: usual error of where on the foot
NOISY = {"position_noise": 0.003, "orientation_noise": 0.005}


def walker(seed: int = 2) -> Truth:
    return simulate(human(), "walk", seconds=12, seed=seed, range=0.6).truth


def recorded(truth: Truth) -> Take:
    return with_world(disturb(truth, Disturbances(**NOISY), 1)[0])  # type: ignore[arg-type]


def noise() -> Noise:
    return Noise(np.full(16, NOISY["position_noise"]), np.full(16, NOISY["orientation_noise"]))


def edges(truth: Truth) -> np.ndarray:
    return np.array([(k, up) for k, up in enumerate(truth.parent) if up >= 0])


@pytest.fixture(scope="module")
def stances() -> list[Contact]:
    truth = plant_feet(walker(), stance=STANCE)
    return find_planted(recorded(truth), edges(truth), 0.007, 15, noise())


def test_every_stance_is_told_with_its_foot_and_its_time(stances: list[Contact]) -> None:
    hits = 0
    for k in range(12):
        foot = ("l_foot", "r_foot")[k % 2]
        want = (k * STANCE, (k + 1) * STANCE)
        own = [one for one in stances if one.bodies == (foot, "world") and abs(one.start - want[0]) < TIME]
        hits += any(abs(one.end - want[1]) < TIME for one in own)
    assert hits >= FOUND * 12
    assert len(stances) <= 12


def test_a_stance_has_its_place_on_the_foot_and_on_the_floor(stances: list[Contact]) -> None:
    truth = plant_feet(walker(), stance=STANCE)
    k = truth.names.index("l_foot")
    toe = truth.mounts.R_bone_body[k].T @ (np.array([0.10, 0.0, -0.06]) - truth.mounts.p_bone_body[k])
    own = [one for one in stances if one.bodies[0] == "l_foot"]
    assert np.median([np.linalg.norm(one.points[0] - toe) for one in own]) < PLACE
    for one in own:
        middle = (one.first + one.stop) // 2
        place = truth.p_world_body[middle, k] + truth.R_world_body[middle, k] @ toe
        assert np.linalg.norm(one.points[1] - place) < 4 * PLACE


def test_who_rests_while_nothing_else_moves_stands_on_nothing() -> None:
    still = simulate(human(), "still", seconds=6, seed=1).truth
    assert not find_planted(recorded(still), edges(still), 0.007, 15, noise())


def test_fit_lists_the_stances_as_loops_with_the_room() -> None:
    take, _ = disturb(plant_feet(walker(), stance=STANCE), Disturbances(**NOISY), 1)  # type: ignore[arg-type]
    fitted = condyle.fit(take, world=True, intervals=False)
    loops = [loop for loop in fitted.skeleton.loops if loop.parent == "world"]
    assert {loop.child for loop in loops} == {"l_foot", "r_foot"}
    told = [finding for finding in fitted.findings if finding.code == "connection"]
    assert {finding.bodies for finding in told} == {("l_foot", "world"), ("r_foot", "world")}
    assert not condyle.fit(take, intervals=False).skeleton.loops


def test_the_sentence_counts_the_stances() -> None:
    points = np.zeros((2, 3))
    two = [Contact(("l_foot", "world"), k, k + 30, t, t + 1, points, 0.004, 0.2, 0.0) for k, t in ((0, 0.0), (60, 2.0))]
    [finding] = describe_planted(two)
    assert finding.text == (
        "l_foot: keeps a point in place in the room 2 times, 2.0 s in all, first from 0.00 to 1.00 s, within 4 mm, "
        "while the rest moves on"
    )
    assert (finding.time, finding.count) == ((0.0, 3.0), 60)


def test_a_limb_that_turns_about_a_point_in_the_air_stands_on_nothing(rng: np.random.Generator) -> None:
    """A thigh about the knee of a leg that stands: the point keeps its place to a millimetre, the thigh does not."""
    time = np.arange(900) / 60
    sway = 0.05 * np.sin(1.3 * time)
    turn = np.stack([sway, 0.03 * np.cos(0.9 * time), 0 * time], axis=1)
    R = rotation.from_vector(np.stack([0 * turn, turn, 3 * turn, 0 * turn], axis=1))
    knee = np.array([0.1, 0.0, 0.5]) + 0.001 * rng.standard_normal((900, 3))
    p = np.zeros((900, 4, 3))
    p[:, 1] = knee + R[:, 1] @ [0, 0, 0.15]
    p[:, 2] = knee + R[:, 1] @ [0, 0, 0.4] + R[:, 2] @ [0, 0.1, 0.1]
    p[:, 3] = p[:, 2] + [0.1, 0.2, -0.1] + 0.1 * np.sin(time)[:, None]
    take = Take(("world", "thigh", "pelvis", "other"), time, R, p)
    assert not find_planted(take, np.array([(1, 2), (2, 3)]), 0.003, 0, Noise.none(4))


def test_a_foot_that_stands_clearly_once_stands_again_on_that_point_however_it_rolls_under_skin() -> None:
    truth = plant_feet(simulate(human(), "walk", seconds=20, seed=60003, range=0.6).truth, stance=STANCE)
    take = with_world(disturb(truth, Disturbances(**NOISY, soft_tissue=0.005), 3)[0])  # type: ignore[arg-type]
    stances = find_planted(take, edges(truth), 0.007, 15, noise())
    spans = [(k * STANCE, ("l_foot", "r_foot")[k % 2]) for k in range(20)]
    own = [
        [one for one in stances if one.bodies[0] == foot and start - 0.1 < one.start and one.end < start + STANCE + 0.1]
        for start, foot in spans
    ]
    assert np.mean([bool(told) for told in own]) >= FOUND
    assert sum(map(len, own)) == len(stances)


def nodding(chest_turns: float) -> Take:
    """A head that turns about a neck in place for a second, the arms passing by; the chest turns by so much [rad] about
    the waist.
    """
    time = np.arange(120) / 60
    nod = 0.6 * np.sin(2 * time)
    turn = np.zeros((120, 5, 3))
    turn[:, 1, 1], turn[:, 2, 1] = chest_turns * np.sin(2 * time), nod
    R = rotation.from_vector(turn)
    p = np.zeros((120, 5, 3))
    neck = np.array([0.0, 0.0, 1.5])
    p[:, 1] = np.array([0.0, 0.0, 1.2])
    p[:, 2] = neck + R[:, 2] @ [0.0, 0.0, 0.1]
    p[:, 3:] = neck + 0.4 * np.stack([time, 0 * time, 0 * time], axis=1)[:, None]
    return Take(("world", "chest", "head", "l_hand", "r_hand"), time, R, p)


def test_what_turns_about_a_point_that_its_neighbour_keeps_turns_about_their_joint() -> None:
    chain = np.array([(2, 1), (3, 1), (4, 1)])
    neck = np.array([[0.0, 0.0, -0.1], [0.0, 0.0, 1.5]])
    for chest_turns, gap, joint in (
        (0.0, 0.001, True),
        (0.1, 0.001, False),  # the neck moves by 20 mm in the chest: it stands against it
        (0.1, 0.0095, True),  # two gaps
        (0.1, 0.0045, False),  # four
    ):
        take = nodding(chest_turns)
        search = planted._Search(take, None, chain, Noise.none(5), 0, 0.3, 0.01)
        head = Stretch(-1, (2, 0), 0, 120, neck, gap, 0.2, 0.0)
        assert search._is_joint(head) == joint, (chest_turns, gap)
        assert not search._is_joint(replace(head, free=2.0))  # hardly turns beside what passes


def test_a_hand_that_turns_back_in_the_air_stands_on_nothing() -> None:
    truth = simulate(human(), "exercise", seconds=30, seed=90014).truth
    still = Disturbances(position_noise=0.0015, orientation_noise=0.0026, soft_tissue=0.005)
    quiet = Noise(np.full(16, 0.0015), np.full(16, 0.0026))
    assert not find_planted(with_world(disturb(truth, still, 90014)[0]), edges(truth), 0.007, 15, quiet)


def test_what_the_noise_of_a_sensor_explains_is_no_motion_of_its_point() -> None:
    sensor = Noise(np.array([0.003]), np.array([0.02]))
    point = np.array([0.0, 0.1, 0.0])  # orientation noise moves it across, in two directions of three
    left = _without_noise(0.01, sensor, 0, point)
    assert left == pytest.approx(np.sqrt(0.01**2 - 3 * 0.003**2 - 2 * (0.02 * 0.1) ** 2))
    assert _without_noise(0.003, sensor, 0, point) == pytest.approx(0.2 * 0.003)


def test_a_point_is_explained_only_by_another_body_that_is_planted_at_the_same_time() -> None:
    still = Take.from_poses(np.zeros((100, 2, 3)), R_world_body=np.broadcast_to(np.eye(3), (100, 2, 3, 3)), rate=30)

    def stance(body: int, first: int, stop: int) -> Stretch:
        return Stretch(-1, (body, 2), first, stop, np.zeros((2, 3)), 0.01, 1.0, 0.0)

    ankle = stance(0, 10, 50)
    assert _is_explained(still, None, ankle, [stance(1, 10, 50)])
    assert not _is_explained(still, None, ankle, [stance(1, 60, 100)])
    assert not _is_explained(still, None, ankle, [stance(0, 10, 50)])


class GivenWindows:
    """One window of a second in which a body keeps a point `reach` [m] from its sensor to within `gap` [m]."""

    first, stop, bodies = np.array([100]), np.array([160]), 5

    def __init__(self, gap: float, reach: float, there: float) -> None:
        self.gap, self.reach, self.there = gap, reach, there

    def fit(self, *_: object) -> tuple[np.ndarray, ...]:
        point = np.array([[[self.reach, 0.0, 0.0]]])
        return np.array([[self.gap]]), point, point

    def spread(self, *_: object) -> np.ndarray:
        """How far a point on which the body stands at another time moves [m]."""
        return np.array([self.there])


def planted_of(
    monkeypatch: pytest.MonkeyPatch,
    *,
    gap: float = 0.002,
    reach: float = 0.1,
    passed: float = 0.5,
    moves: float = 0.0,
    most: float = 0.01,
    seconds: float = 1.0,
    there: float | None = None,
) -> tuple[bool, bool]:
    """Whether a window is looked at, and its stretch told, where the usual other body moves by `passed` [m] and the
    body itself by `moves`; sensors are 0.5 m apart, and noise leaves all of the gap. `there` [m]: how far a point moves
    on which the body is known to stand.
    """
    frames = round(60 * seconds)
    still = Take.from_poses(np.zeros((300, 4, 3)), R_world_body=np.tile(np.eye(3), (300, 4, 1, 1)), rate=60)
    windows = GivenWindows(gap, reach, there or 0.0)
    monkeypatch.setattr(planted, "_measure_passing", lambda *_: np.array([passed]))
    monkeypatch.setattr(planted, "_measure_moves", lambda *_: np.array([[moves]]))
    monkeypatch.setattr(planted, "ends_of", lambda *_: (100, 100 + frames))
    monkeypatch.setattr(planted, "cut_windows", lambda *_: windows)
    quiet, places = Noise.none(4), [] if there is None else [np.array([reach, 0.0, 0.0])]
    seeds = planted._seeds(still, windows, 1, 0, most, 0.5, quiet)  # type: ignore[arg-type]
    seed = Stretch(-1, (1, 0), 100, 160, np.zeros((2, 3)), gap, passed, 0.0)
    return bool(seeds), planted._grow(still, None, seed, most, 0.5, quiet, places) is not None


def test_what_stands_keeps_a_point_near_its_sensor_while_the_rest_moves_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for case, looked, told in [
        ({}, True, True),
        ({"reach": 0.2}, True, True),
        ({"reach": 0.5}, False, False),
        ({"gap": 0.008}, True, True),
        ({"gap": 0.02, "passed": 5.0}, False, False),
        ({"gap": 1e-5, "passed": 0.012}, True, True),
        ({"gap": 1e-5, "passed": 0.005}, False, False),  # nothing moves
        ({"passed": 0.06}, True, False),  # looked at, and then too little
        ({"passed": 0.03}, False, False),
        ({"passed": 0.12}, True, True),
        ({"passed": 0.12, "moves": 0.006}, True, True),
        ({"passed": 0.12, "moves": 0.012}, True, False),  # a thigh turns about a point in the air
        ({"passed": 0.3, "moves": 0.1}, True, True),
        ({"passed": 0.12, "moves": 0.012, "there": 0.003}, True, True),  # but stands on that point at another time
        ({"passed": 0.12, "moves": 0.012, "there": 0.005}, True, False),
        ({"passed": 0.5, "there": 0.02}, True, False),
        ({"passed": 5.0, "there": 0.02}, True, False),
        ({"seconds": 0.25}, True, False),
        ({"seconds": 0.5}, True, True),
    ]:
        assert planted_of(monkeypatch, **case) == (looked, told), case  # type: ignore[arg-type]


def test_a_stance_is_as_steady_as_the_joints_and_longer_in_the_middle_of_a_limb(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    p = np.tile(np.outer(np.arange(5), [0.5, 0, 0]), (600, 1, 1)) + 1e-3 * rng.standard_normal((600, 5, 3))
    take = Take("wabcd", np.arange(600) / 60, np.tile(np.eye(3), (600, 5, 1, 1)), p)  # type: ignore[arg-type]
    chain = np.array([(1, 2), (2, 3), (3, 4)])
    allowed = list[float]()
    monkeypatch.setattr(planted, "_seeds", lambda *given: allowed.append(given[4]) or [])
    for usual, least, most in ((0.0, 0.005, 0.02), (0.02, 0.02, 0.06)):  # m, of sensors half a metre apart
        find_planted(take, chain, usual, 0, Noise.none(5))
        assert least < allowed[-1] < most
    seed = Stretch(-1, (1, 0), 100, 160, np.zeros((2, 3)), 0.002, 0.5, 0.0)
    monkeypatch.setattr(planted, "_is_explained", lambda *_: False)
    for body, seconds, found in ((1, 0.5, True), (2, 0.5, False), (2, 2.0, True)):
        grown = replace(seed, bodies=(body, 0), stop=100 + round(60 * seconds))
        monkeypatch.setattr(planted, "_seeds", lambda *given, own=body: [seed] if given[2] == own else [])
        monkeypatch.setattr(planted, "_grow", lambda *_, grown=grown: grown)
        assert bool(find_planted(take, chain, 0.0, 0, Noise.none(5))) == found, (body, seconds)


def test_two_bodies_and_the_room_do_not_tell_that_the_rest_moves_on(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = list[int]()
    monkeypatch.setattr(planted, "_seeds", lambda take, *_: looked.append(take.bodies) or [])
    truth = walker()
    for count in (3, 5):
        take = recorded(truth).select(["world", *truth.names[: count - 1]])
        find_planted(take, np.array([(1, 2)]), 0.0, 0, Noise.none(count))
    assert set(looked) == {5}
