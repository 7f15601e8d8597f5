"""Short version of benchmarks/gait_events.py: made steps are found in noise, and who makes none has none."""

from __future__ import annotations

import pytest
from benchmarks.gait_events import CASES, NEAR_S, Score, measure

FOUND_MIN_SHARE = 0.93  # of the steps, in 6 mm of noise; the first and the last are often cut
LATE_MAX_S = 0.04
BY_NAME = {case.name: case for case in CASES}


@pytest.mark.parametrize(
    "name",
    ["walk, exact", "walk, 6 mm and 1 deg", "walk at 30 Hz, 6 mm and 1 deg", "run (3.4 m/s), 3 mm and 0.5 deg"],
)
def test_made_steps_are_found_when_they_are(name) -> None:
    score = measure(BY_NAME[name], range(60_000, 60_003))
    late = [abs(one) for times in score.late.values() for one in times]
    assert len(late) >= FOUND_MIN_SHARE * score.asked
    assert sum(one < LATE_MAX_S for one in late) >= 0.9 * len(late)
    assert score.false == 0


def test_noise_is_taken_off_for_the_frames_that_were_used() -> None:
    """At 30 Hz a speed comes from 0.067 s, not from 0.04 s, with whose noise four of five of these steps are found."""
    score = measure(BY_NAME["shuffle of 0.3 m at 30 Hz, 6 mm and 1 deg"], range(60_000, 60_003))
    assert sum(map(len, score.late.values())) >= FOUND_MIN_SHARE * score.asked


@pytest.mark.parametrize("name", ["standing still, 6 mm and 1 deg", "walk on a belt, 3 mm and 0.5 deg"])
def test_who_makes_no_step_has_no_event(name) -> None:
    assert measure(BY_NAME[name], range(60_000, 60_003)).false == 0


def test_an_event_counts_once_and_only_when_it_is_near() -> None:
    score = Score()
    told = [("l", "strike", 1.0), ("l", "strike", 1.0 + NEAR_S), ("r", "off", 3.0)]
    score.add([("l", "strike", 1.02), ("r", "off", 2.5)], told, 5.0)
    assert (score.asked, len(score.late["strike"]), len(score.late["off"]), score.false) == (2, 1, 0, 2)
