from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.estimate import apart
from condyle.estimate.apart import above_noise
from condyle.estimate.tree import Tree
from condyle.model.take import BodyMarker, Take
from condyle.pairs.noise import Noise
from tests.make.pairs import made_up


def test_a_third_of_the_edges_turns_by_a_degree_and_one_by_four_or_a_third_is_sharp() -> None:
    def enough(main_deg: list[float], lever: list[float], error_deg: float = 0.0) -> bool:
        motion, fits = made_up(main_deg, lever)
        J = len(main_deg)
        tree = Tree(np.arange(J), np.full(J, 2.0), np.full(J, -1))
        return apart.moves_enough(motion, tree, fits, np.zeros(J + 1), np.radians(np.full(J + 1, error_deg)))

    assert enough([4.5, 0.5, 0.5], [1, 1, 1])
    assert not enough([3.5, 3.0, 3.0], [1, 1, 1])
    assert not enough([4.5, 0.5, 0.5, 0.5], [1, 1, 1, 1])
    assert enough([4.5, 1.1, 0.5, 0.5], [1, 1, 1, 1])
    assert not enough([4.5, 0.9, 0.5, 0.5], [1, 1, 1, 1])
    assert enough([0.5, 0.5, 0.5], [55, 1, 1])
    assert not enough([0.5, 0.5, 0.5], [45, 1, 1])
    assert enough([4.5, 1.5, 1.5], [1, 1, 1], error_deg=1.0)  # of each body: 1.4 deg of two
    assert not enough([4.5, 1.3, 1.3, 1.3], [1, 1, 1, 1], error_deg=1.0)
    assert not enough([0.5, 0.5, 0.5], [55, 1, 1], error_deg=1.0)


def test_half_a_millimetre_of_a_marker_turns_a_body_the_more_the_nearer_its_markers_are_to_a_line() -> None:
    places = {"flat": [[0.1, 0, 0], [-0.1, 0, 0], [0, 0.03, 0]], "narrow": [[0.1, 0, 0], [-0.1, 0, 0], [0, 0.003, 0]]}
    markers = [BodyMarker(body, str(k), np.array(p)) for body, own in places.items() for k, p in enumerate(own)]
    p = np.zeros((2, 3, 3))
    take = Take.from_poses(p, R_world_body=np.tile(np.eye(3), (2, 3, 1, 1)), names=["flat", "narrow", "sensor"])
    flat, narrow, sensor = apart.measure_error_turn(replace(take, markers=tuple(markers)))
    assert np.isclose(flat, 0.0005 / (0.03 * np.sqrt(2 / 3)))
    assert np.isclose(narrow, 10 * flat)
    assert sensor == 0


def test_half_of_the_edges_beat_their_rivals_or_stand_by_a_lever_of_five() -> None:
    def determined(margin: float, main_deg: float, lever: float, error: float = 0.0, edges: int = 2) -> bool:
        motion, fits = made_up([main_deg] + [0.0] * (edges - 1), [lever] + [0.1] * (edges - 1), error)
        tree = Tree(np.arange(edges), np.full(edges, margin), np.full(edges, -1))
        return apart.is_determined(motion, tree, fits, np.zeros(edges + 1))

    assert determined(1.15, 0.3, 1.1)
    assert not determined(1.15, 0.3, 1.1, edges=3)
    assert not determined(1.15, 0.2, 1.1)
    assert not determined(1.15, 0.3, 0.9)
    assert not determined(1.05, 0.3, 4.5)
    assert determined(1.05, 0.3, 5.5)
    assert not determined(1.05, 0.3, 5.5, error=0.06)  # of half a metre: not one joint is located even to a line
    assert determined(1.05, 0.3, 5.5, error=0.04)


def test_a_gap_is_no_noise_from_four_times_what_the_sensors_explain() -> None:
    _, fits = made_up([5.0, 5.0], [9.0, 9.0])
    noise = Noise(np.full(3, 0.001), np.full(3, 0.002))
    reach = 2 * np.linalg.norm([0.1, 0.1, 0.1])
    loud = np.sqrt(3 * 2 * 0.001**2 + 2 * (0.002 * reach) ** 2)
    fits = replace(fits, residual=np.array([3.9, 4.1]) * loud)
    assert above_noise(fits, np.arange(2), noise).tolist() == [False, True]


def apart_of(
    monkeypatch: pytest.MonkeyPatch,
    residual: float,
    left: float,
    *,
    usual: float = 0.01,
    lever: float = 9.0,
    between: float = 0.0,
    size: float = 0.5,
) -> str | None:
    """Why the first of five edges is no joint, by its residual [m] and what it leaves of all it has to explain."""
    motion, fits = made_up([5.0] * 5, [lever] * 5)
    first = np.arange(5) == 0
    fits = replace(fits, residual=np.where(first, residual, usual))
    motion = replace(motion, size=np.where(first, size, 0.5))
    tree = Tree(np.arange(5), np.full(5, 2.0), np.full(5, -1))
    no = np.zeros(5, dtype=bool)
    monkeypatch.setattr(apart, "measure_unexplained_share", lambda *_: np.where(first, left, 0.01))
    found = apart.find_apart(None, fits, motion, tree, Noise.none(6), no, np.where(first, between, 0.0), no)  # type: ignore[arg-type]
    assert set(found) <= {0}
    return found.get(0)


def test_an_edge_is_no_joint_that_is_far_apart_only_slides_or_leads_over_what_nobody_wears(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for residual, left, more, reason in [
        (0.07, 0.3, {}, None),  # m, of sensors half a metre apart
        (0.14, 0.3, {}, "loose"),  # many times the usual and a good share of the distance
        (0.14, 0.3, {"usual": 0.025}, None),
        (0.14, 0.3, {"usual": 0.012}, "loose"),
        (0.13, 0.5, {"usual": 0.05}, None),
        (0.2, 0.5, {"usual": 0.05}, "loose"),  # however few bodies there are
        (0.2, 0.3, {"usual": 0.05}, None),
        (0.05, 0.5, {"lever": 0.3, "size": 0.3}, None),
        (0.05, 0.8, {"lever": 0.3, "size": 0.3}, "not-rotary"),
        (0.05, 0.8, {"lever": 0.8, "size": 0.3}, None),
        (0.05, 0.8, {"lever": 0.3, "size": 1.6}, None),
        (0.02, 0.8, {"lever": 0.3, "size": 0.25}, "not-rotary"),
        (0.01, 0.02, {"between": np.inf}, None),
        (0.01, 0.06, {"between": np.inf}, "not-worn"),
    ]:
        assert apart_of(monkeypatch, residual, left, **more) == reason, (residual, left, more)  # type: ignore[arg-type]


def test_a_joint_with_the_room_comes_apart_as_others_do_and_a_body_at_rest_is_turned_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(apart, "_spread", lambda *_: np.full(3, 0.02))
    monkeypatch.setattr(apart, "above_noise", lambda *_: np.ones(3, dtype=bool))

    def on_room(
        residual: float, *, room: int | None, lever: float = 20.0, drift: float = 1.0, turn: float = 5.0
    ) -> bool:
        """drift [m] and turn [deg] of the first body; the others drift by a metre."""
        motion, fits = made_up([5.0] * 3, [lever, 20.0, 20.0])
        fits = replace(fits, residual=np.array([residual, 0.01, 0.01]))
        turns, drifts = np.radians([turn, 5.0, 5.0, 5.0]), np.array([drift, 0.005, 1.0, 1.0])
        free = apart.find_on_room(None, fits, motion, np.arange(3), None, turns, drifts, room)  # type: ignore[arg-type]
        return bool(free[0])

    assert not on_room(0.02, room=0)
    assert on_room(0.05, room=0)  # a thigh over a treadmill
    for lever, free in ((7.0, True), (20.0, False)):
        assert on_room(0.01, room=None, lever=lever, drift=1e-4, turn=0.5) == free
    assert not on_room(0.01, room=None, lever=7.0, drift=1e-4, turn=2.0)
