"""Short version of benchmarks/walks.py: ranges of flexion are those that the markers tell by other formulas."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.walks import ALIKE, OURS, WITHIN, Walk, judge_range, judge_sides, measure, unwrap

from tests.make import recordings

NEAR_DEG = 5.0  # between two ways to count a range


@pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)
@pytest.mark.parametrize("name", ["more/bmc/walk2.trc"])
def test_ranges_of_flexion_are_those_of_lines_and_of_whole_turns(name) -> None:
    walk = measure(recordings.DATA / name, recordings.truth(name), {})
    assert walk is not None
    for joint in ("hip", "knee"):
        for side, value in walk.ours[joint].items():
            assert abs(value - walk.turned[joint][side]) < NEAR_DEG, (joint, side)
    assert abs(walk.ours["knee"]["l"] - walk.lines["knee"]["l"]) < NEAR_DEG


def test_what_another_way_tells_too_is_not_condyles() -> None:
    own = {"knee": {"l": 80.0, "r": 60.0}}
    alone = Walk(own, {"knee": {"l": 62.0, "r": 61.0}}, {}, {}, {}, 2)
    both = Walk(own, {"knee": {"l": 78.0, "r": 60.0}}, {}, {}, {}, 2)
    assert (judge_range(alone, "knee", "l"), judge_sides(alone, "knee")) == (OURS, OURS)
    assert (judge_range(both, "knee", "l"), judge_sides(both, "knee")) == (ALIKE, ALIKE)
    assert judge_range(both, "knee", "r") == WITHIN
    far = Walk({"knee": {"l": 110.0}}, {"knee": {"l": 67.0}}, {}, {}, {}, 2)  # both are outside, and not alike
    assert judge_range(far, "knee", "l") == OURS


def test_a_line_that_turns_over_has_no_jump() -> None:
    curve = np.array([170.0, 179.0, -179.0, -170.0, np.nan])
    assert np.nanmax(np.diff(unwrap(curve))) < 20
