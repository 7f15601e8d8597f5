"""Nothing behind the readers does anything but its work or refuse it: takes, folders, options that nobody should have.

`python -m tests.fuzz.behind CLASS WORD NUMBER` does one run again; `python -m benchmarks.adversity` does thousands.
"""

from __future__ import annotations

import numpy as np
import pytest

from condyle import CondyleError
from condyle.api import fit_with
from condyle.model.options import FitOptions, Method
from tests.make.size import ADVERSE_RUNS

from .adversity import KINDS, spoil
from .behind import CLASSES, SLOW_S, run
from .test_readers import report
from .worker import MEMORY

RUNS = {name: ADVERSE_RUNS // (1 if name == "poses" else 4) for name in CLASSES}
PARTS = 8  # processes, so that they may go side by side; the light size does one of every class
# Runs that once failed, as (class, word, numbers).
FOUND = [
    ("poses", "a", (7, 21, 22, 27)),
    ("poses", "b", (22, 29, 36, 55, 175, 216, 258, 265, 271, 301)),
    ("poses", "c", (0, 111, 285, 358, 443, 534)),
    ("folders", "b", (38, 75, 199)),
    ("folders", "benchmark", (1110, 3631)),
    ("folders", "november", (271,)),
    ("folders", "autumn", (6113,)),
    ("folders", "winter", (6164, 6737)),
    ("folders", "summer", (41664, 138916, 202918, 206159)),
    ("options", "november", (1044,)),
    ("poses", "unbreakable", (1983,)),
    ("poses", "final", (311, 857)),
    ("poses", "last", (959,)),
    ("poses", "closing", (1606,)),
    ("poses", "spring", (7910, 15609)),
    ("profiles", "spring", (15756,)),
    ("poses", "autumn", (960, 4256, 4671, 10126, 12023, 12912, 13523, 16115)),
    ("verbs", "first", (135,)),
    ("verbs", "unbreakable", (55, 110, 391, 782, 848, 1234, 1729)),
    ("verbs", "eighteenth", (101, 1330, 1693, 1812)),
    ("verbs", "final", (828,)),
    ("verbs", "mended", (838,)),
    ("verbs", "tests", (248,)),
    ("folders", "tests", (63,)),
    ("profiles", "mended", (2491,)),
    ("verbs", "summer", (186,)),
    ("poses", "october", (4488,)),
    ("logs", "try", (32, 33, 137, 210, 224)),
    ("logs", "october", (4166,)),
    ("logs", "december", (872,)),
    ("logs", "harvest", (2328, 6328)),
    ("logs", "november", (7576, 33930, 40203)),
    ("verbs", "november", (9598, 11375, 12191)),
    ("poses", "harvest", (29207,)),
    ("poses", "frost", (31238, 60767)),
    ("studies", "november", (24199,)),
    ("stages", "summer", (2799,)),
    ("stages", "autumn", (3005,)),
    ("stages", "harvest", (43398, 56416, 71474)),
]
REFUSED: dict[str, tuple[str, ...]] = {  # what is no fit at all, and by which code
    "few_frames": ("few-frames",),
    "infinite_numbers": ("not-rotations", "nothing-seen"),
    "left_handed": ("not-rotations",),
    "no_places": ("no-positions",),
    "one_body": ("one-sensor",),
    "rounded": ("not-rotations",),
    "sheared": ("not-rotations",),
    "time_late": ("few-frames",),
    "time_scaled": ("bad-time",),
    "twins": ("identical-sensors",),
}
ENOUGH_RUNS = 50  # of which at least one is worked through; options and profiles are refused in nine of ten


@pytest.mark.sized
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("name", CLASSES)
def test_adversity_is_worked_through_or_refused_in_time_and_memory(name: str, part: int) -> None:
    count = RUNS[name] // PARTS
    outcome = run(name, "tests", range(part * count, (part + 1) * count))
    assert not outcome.failures, report(outcome.failures)
    assert outcome.executions == count
    assert outcome.slowest < SLOW_S
    assert outcome.memory < MEMORY
    assert outcome.read or count < ENOUGH_RUNS, "nothing was worked through: the adversity is too coarse"
    assert outcome.codes or count < ENOUGH_RUNS, "nothing was refused"


@pytest.mark.parametrize(("name", "word", "numbers"), FOUND)
def test_what_once_failed_does_not(name: str, word: str, numbers: tuple[int, ...]) -> None:
    outcome = run(name, word, numbers)
    assert not outcome.failures, report(outcome.failures)
    assert outcome.executions == len(numbers)


@pytest.mark.parametrize("method", ["default", "least-squares", "drift"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_adversity_alone_is_fitted_or_refused(kind: str, method: Method, rng: np.random.Generator) -> None:
    _, poses = spoil(rng, (kind,))
    refused = ""
    try:
        fit = fit_with(poses.take(), FitOptions(method=method))
    except CondyleError as error:
        refused = error.code
    if refused:
        assert refused in REFUSED.get(kind, ())
    else:
        assert fit.motion.frames == fit.take.frames


def test_there_are_as_many_kinds_of_adversity_as_are_told() -> None:
    assert len(KINDS) >= 28
