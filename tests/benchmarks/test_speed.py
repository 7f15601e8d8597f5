"""What the measurements of speed compare is the same, and memory and precision are as claimed."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from benchmarks import speed
from condyle.pairs.fits import all_pairs
from condyle.pairs.sums import sum_pairs
from tests.make.size import pick

SEED = 30_000
SUMS_BYTES = 16e6
AGREE = 1e-9  # m, residuals from sums against residuals from rows


@pytest.fixture(scope="module")
def world():
    return speed.recording(16, 10, 120.0, SEED)


def test_both_ways_find_the_same_tree(world):
    take, pairs = world.take, all_pairs(16)
    residual = np.array([residual for _, residual in speed.lstsq_all(take, pairs)])
    tree = speed.scipy_tree(16, pairs, residual).tocoo()
    found = speed.least_squares(take)
    assert {tuple(sorted(pair)) for pair in zip(*tree.coords, strict=True)} == {
        tuple(sorted(pair)) for pair in found.pairs.tolist()
    }
    rows = [np.flatnonzero((pairs == sorted(pair)).all(axis=1))[0] for pair in found.pairs]
    np.testing.assert_allclose(found.residual, residual[rows], atol=AGREE)


def test_sums_need_little_memory_however_long_the_take(world):
    sum_pairs(world.take)
    tracemalloc.start()
    sum_pairs(world.take)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= SUMS_BYTES


def test_centres_are_no_worse_than_lstsq_near_and_far(world):
    for row in speed.exactness(SEED, seconds=5.0):
        ours, theirs = (float(text.split()[0]) for text in row[1:3])
        assert ours <= theirs, row[0]


@pytest.mark.costly
@pytest.mark.parametrize("take", speed.WHOLE_FITS, ids=lambda take: take[-1])
def test_the_whole_fit_is_not_a_third_slower_against_lstsq_than_it_was(take):
    """CPU time in turn with the rival, least of some rounds: what else the machine does counts little. Of two rounds
    the ratio is 30 % off at times, and the best of three would let a fit of twice the time pass.
    """
    least = 2 / 3 * speed.recorded_ratio(*take)
    assert any(speed.whole_fit(*take, SEED, rounds=6)[0] > least for _ in range(2))


def test_the_program_does_not_start_a_third_slower_against_numpy_than_it_did(tmp_path):
    most = 1.5 * speed.recorded_start(speed.STARTED_HZ[0], speed.QUICK)
    assert any(mine < most * bare for bare, mine, _ in _start_rounds(tmp_path))


def _start_rounds(folder):
    return (speed.start_times(folder, speed.STARTED_HZ[0], speed.QUICK, SEED, rounds=pick(1, 2, 2)) for _ in range(3))
