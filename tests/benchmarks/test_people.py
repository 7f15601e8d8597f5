"""Trees of recorded people, in short: one or two takes of each kind, held to what is claimed of all of them."""

from __future__ import annotations

import pytest
from benchmarks.people import WAYS, calibrate, count, entries, list_wrong, measure, table_by

from condyle.model.skeleton import SURE_SUPPORT
from tests.make import recordings
from tests.make.size import pick

pytestmark = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)

SURE_SHARE = 0.85  # of the right edges of these takes; 0.98 of those of data/more
SMALL = (
    "more/bmc/walk1.trc",
    "more/deadlift/athlete_0_sumo_dl_0_markers_experimental.trc",
    "more/exo/apo01.trc",
    "more/osimmodels/static_walk_1.trc",
    "more/pycgm/Movement_trial.c3d",
    "more/zoo/HC033A10.c3d",
    "hard/squat/b_squats.trc",
    "hard/wheelchair/sprint.c3d",
)  # walking, planted feet, a short take, a still one, segments that were not worn, squats, a person in a thing


@pytest.fixture(scope="module")
def measured():
    known = entries()
    return [measure(name, known[name]) for name in SMALL[:: pick(3, 1, 1)]]


@pytest.mark.costly
def test_trees_are_right_and_still_takes_are_refused(measured) -> None:
    wrong = {row[0] for row in list_wrong(measured).rows if row[1] == "default"}
    assert wrong == {"hard/wheelchair/sprint.c3d"}  # the trunk turns about the hips, which the chair carries


@pytest.mark.costly
@pytest.mark.parametrize("way", WAYS[1:])
def test_no_wrong_edge_is_sure(measured, way: str) -> None:
    for one in measured:
        assert all(support < SURE_SUPPORT for _, support in one.found[way].wrong), one.name


def test_most_right_edges_are_sure_though_these_takes_are_hard(measured) -> None:
    right = [support for one in measured if not one.still for support in one.found["default"].right]
    assert sum(support >= SURE_SUPPORT for support in right) >= SURE_SHARE * len(right)


def test_tables_count_what_was_found(measured) -> None:
    table = table_by(measured, "source", lambda one: one.source)
    assert [row[0] for row in table.rows] == [*sorted({one.source for one in measured}), "all"]
    assert list(table.rows[-1][1:]) == count(measured)
    assert table.rows[-1][1] == str(sum(not one.still for one in measured))
    assert len(calibrate(measured).rows) == 6
