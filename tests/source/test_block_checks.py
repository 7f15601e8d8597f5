"""Clock and rotations of a file that goes by in blocks: the same as of the file at once, wherever it is cut."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.model.clock import in_order
from condyle.model.recording import Bodies, Recording
from condyle.source.block_checks import Rejected, RunningClock

TIMES = np.array([0, 0.1, 0.2, 0.2, 0.3, 0.1, 0.2, 9.0, 9.1, 9.1, 9.2, 9.3])


def recording(time: np.ndarray, q: np.ndarray | None = None) -> Recording:
    n = len(time)
    q = np.tile([1.0, 0, 0, 0], (n, 1, 1)) if q is None else q
    return Recording("a.csv", "csv", bodies=Bodies(("hip",), np.zeros((n, 1, 3)), q), time=time)


@pytest.mark.parametrize("cut", range(1, len(TIMES)))
def test_a_clock_is_read_alike_wherever_the_file_is_cut(cut: int) -> None:
    rows, segment, _, told = in_order(TIMES, None, len(TIMES))
    clock = RunningClock()
    first, run = clock.kept(recording(TIMES[:cut]), 0)
    second, later = clock.kept(recording(TIMES[cut:]), cut)
    np.testing.assert_array_equal(np.concatenate([first, second + cut]), np.arange(len(TIMES))[rows])
    assert segment is not None
    np.testing.assert_array_equal(np.diff(np.concatenate([run, later])) != 0, np.diff(segment) != 0)
    wanted = {(one.code, one.count, one.frame) for one in told}
    assert {(one.code, one.count, one.frame) for one in clock.findings()} == wanted


@pytest.mark.parametrize("cut", [1, 5, 9])
def test_few_bad_quaternions_are_left_out_and_most_are_an_error(cut: int) -> None:
    q = np.tile([1.0, 0, 0, 0], (10, 1, 1))
    q[4:7] *= 5
    rejected = Rejected(("hip",))
    parts = [rejected.masked(recording(np.arange(10.0), q).at(rows), rows) for rows in np.split(np.arange(10), [cut])]
    left = np.concatenate([part.bodies.orientation for part in parts if part.bodies is not None])
    np.testing.assert_array_equal(np.isnan(left).any(axis=(1, 2)), (np.arange(10) >= 4) & (np.arange(10) < 7))
    (told,) = rejected.findings(10)
    assert (told.code, told.frame, told.count) == ("rotation-rejected", 4, 3)
    rejected.masked(recording(np.arange(5.0), 5 * q[:5]), np.arange(10, 15))
    with pytest.raises(CondyleError, match="8 of 15 quaternions are far from unit length"):
        rejected.findings(15)
