"""Whether the frames that a fit used speak for all frames of a long file."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import Calibration, Take, calibrate
from condyle.file_sums import FileSums, Part, find_differences, gap_squares
from condyle.joints import all_pairs, gaps
from condyle.simulate import Disturbances, linkage, simulate
from condyle.sums import sum_pairs

SAME = 1e-9  # relative
NOISE = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.1))
PARTS = 4


@pytest.fixture(scope="module")
def take() -> Take:
    return simulate(linkage(), seconds=40, rate=30, seed=2, disturbances=NOISE).take


@pytest.fixture(scope="module")
def calibration(take: Take) -> Calibration:
    return calibrate(take.at(sampled(take)), intervals=False)


def sampled(take: Take) -> np.ndarray:
    """Every other second."""
    return np.flatnonzero(np.arange(take.frames) // 30 % 2 == 0)


def in_parts(take: Take) -> FileSums:
    parts = []
    for rows in np.array_split(np.arange(take.frames), PARTS):
        chosen = rows[np.isin(rows, sampled(take))]
        span = (float(take.time[rows[0]]), float(take.time[rows[-1]]))
        parts.append(Part(sum_pairs(take.at(rows)), sum_pairs(take.at(chosen)), span))
    return FileSums("long.csv", take.names, take.frames, tuple(parts))


def moved(take: Take, body: str, rows: np.ndarray, by: float) -> Take:
    p = take.p_world_body.copy()
    p[rows, take.index(body)] += by
    return Take(take.names, take.time, take.R_world_body, p)


def test_squares_from_sums_are_those_of_the_gaps(take: Take, rng: np.random.Generator) -> None:
    hidden = take.mask(rng.random((take.frames, take.bodies)) < 0.1)
    pairs = all_pairs(take.bodies)
    c, l = rng.normal(0, 0.2, (2, len(pairs), 3))
    wanted = np.nansum(np.square(gaps(hidden, pairs, c, l)), axis=(0, 2))
    np.testing.assert_allclose(gap_squares(sum_pairs(hidden), pairs, c, l), wanted, rtol=SAME)


def test_a_sample_that_speaks_for_its_file_is_not_mentioned(take: Take, calibration: Calibration) -> None:
    assert find_differences(calibration.skeleton, in_parts(take)) == []


def test_exact_data_differ_by_rounding_only() -> None:
    exact = simulate(linkage(), seconds=40, rate=30, seed=2).take
    figure = calibrate(exact.at(sampled(exact)), intervals=False).skeleton
    assert find_differences(figure, in_parts(exact)) == []


def test_frames_outside_the_sample_that_come_apart_are_told_with_joint_and_time(
    take: Take, calibration: Calibration
) -> None:
    rows = np.setdiff1d(np.arange(630, 690), sampled(take))  # in the third of the four parts
    (told,) = find_differences(calibration.skeleton, in_parts(moved(take, "l_forearm", rows, 0.1)))
    assert (told.code, told.severity) == ("sample-differs", "warning")
    assert "l_forearm" in told.bodies
    assert told.time is not None
    assert told.time[0] <= take.time[rows[0]] <= take.time[rows[-1]] <= told.time[1]
    assert told.value is not None
    assert told.value > 1.5


def test_what_the_sample_has_as_well_is_no_difference(take: Take, calibration: Calibration) -> None:
    rows = np.arange(600, 720)
    assert find_differences(calibration.skeleton, in_parts(moved(take, "l_forearm", rows, 0.1))) == []


def test_a_joint_with_the_room_is_passed_over(take: Take) -> None:
    with_room = calibrate(take.at(sampled(take)), intervals=False, world=True)
    assert find_differences(with_room.skeleton, in_parts(take)) == []
