from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from condyle.estimate import handicaps
from condyle.estimate.handicaps import find_resting
from condyle.pairs.fits import PairFits
from tests.make.pairs import made_up


def test_a_body_rests_that_drifts_and_turns_by_little_of_what_is_usual() -> None:
    def rests(turn_deg: float, drift_m: float, usual_deg: float = 10.0) -> bool:
        turn, drift = np.radians([*[usual_deg] * 4, turn_deg]), np.array([*[1.0] * 4, drift_m])
        found = find_resting(turn, drift)
        assert not found[:4].any()
        return bool(found[4])

    assert rests(2.4, 0.14)
    assert not rests(2.6, 0.14)
    assert not rests(2.4, 0.16)
    assert rests(0.45, 0.14, usual_deg=1.0)  # twice what a sensor resolves
    assert not rests(0.55, 0.14, usual_deg=1.0)


def test_names_that_motion_contradicts_twice_where_they_agree_four_times_say_nothing() -> None:
    assert not handicaps.contradict_motion(np.array([0, 0, 0, 0, 1, np.nan, np.inf]))
    assert handicaps.contradict_motion(np.array([0, 0, 0, 0, 1, 2.0]))


def named_pairs(pairs: list[tuple[int, int]], residual: Sequence[float] | None = None) -> PairFits:
    half = np.zeros((len(pairs), 3))
    size = np.full(len(pairs), 0.01) if residual is None else np.array(residual)
    return PairFits(np.array(pairs), half, half, size, np.full(len(pairs), 100.0), half, half, half)


def score(names: tuple[str, ...], fits: PairFits) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return handicaps.score_names(names, fits, np.zeros(len(fits.pairs)), ())


def test_names_are_contradicted_by_what_motion_has_in_spite_of_their_handicap() -> None:
    names, pairs = ("pelvis", "l_thigh", "r_thigh"), [(0, 1), (0, 2), (1, 2)]
    soft = score(names, named_pairs(pairs, [0.02, 0.015, 0.012]))  # the thighs fit each other best, by less than twice
    assert soft[0].tolist() == [0, 0, 1]
    assert np.isnan(score(names, named_pairs(pairs, [0.02, 0.015, 0.006]))[0]).all()


def test_a_residual_counts_twice_for_each_worn_segment_between_up_to_three() -> None:
    names = ("pelvis", "l_thigh", "l_shank", "l_foot", "chest", "head")
    pairs = [(0, 1), (1, 2), (2, 3), (0, 4), (4, 5), (0, 2), (0, 3), (3, 4), (3, 5)]
    between, _, handicap = (part[[0, 5, 6, 7, 8]] for part in score(names, named_pairs(pairs)))
    assert between.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(handicap, np.log([1, 2, 4, 8, 8]))
    names, pairs = ("pelvis", "l_thigh", "thing", "other"), [(0, 1), (0, 2), (2, 3)]
    handicap = score(names, named_pairs(pairs))[2]
    np.testing.assert_allclose(handicap, np.log([1, 8, 8]))  # a thing is not between those who are neighbours by name
    handicap = score(("a", "b", "thing", "other"), named_pairs(pairs))[2]
    np.testing.assert_allclose(handicap, 0.0)


def test_what_the_room_explains_counts_as_usual_residuals_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    def larger(residual: float, room: float, lever: float = 9.0, rests: bool = False) -> float:
        """Usual residuals by which the first pair counts as larger, where both bodies drift so that the room tells."""
        motion, fits = made_up([5.0] * 3, [lever, 9.0, 9.0])
        fits = replace(fits, residual=np.array([residual, 0.01, 0.01]))
        drift = np.array([room, room, 10.0, 10.0]) / np.sqrt(2)
        monkeypatch.setattr(handicaps, "find_resting", lambda *_: np.array([rests, rests, False, False]))
        monkeypatch.setattr(handicaps, "_farther_rest", lambda *_: np.zeros(3, dtype=bool))
        handicap = handicaps.score_resting(fits, motion, np.ones(4), drift, np.arange(3), None)
        assert not handicap[1:].any()
        return float(residual * np.sqrt(np.expm1(2 * handicap[0])) / 0.01)

    for case, least, most in [
        ((0.01, 0.0075), 0, 0),
        ((0.01, 0.005), 3, 5),  # however much it turns
        ((0.01, 0.02, 2.0), 0, 0),
        ((0.01, 0.0105, 2.0), 1.5, 2.5),  # it may repeat the room
        ((0.01, 0.0105, 5.0), 0, 0),
        ((0.01, 0.03, 9.0, True), 0, 0),
        ((0.01, 0.015, 9.0, True), 3, 5),  # feet that rock together
    ]:
        assert least <= larger(*case) <= most, case
