from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.estimate import candidates
from condyle.estimate.structure import infer_structure
from condyle.maths import spool
from condyle.model.take import Take
from condyle.pairs.rows import read_rows
from condyle.simulate import Disturbances, human, linkage, simulate

NOISE = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3))


def test_spikes_are_found_where_rows_have_many_frames_and_few_rows_are_looked_at(monkeypatch) -> None:
    looked, find_far = [], candidates._find_far

    def count(take, digest, joints, near, bar):
        looked.append(near.mean())
        return find_far(take, digest, joints, near, bar)

    monkeypatch.setattr(candidates, "_find_far", count)
    for spikes in (0.0, 0.002):
        world = simulate(human(), "walk", seconds=10, rate=480.0, seed=5, disturbances=replace(NOISE, spikes=spikes))
        good = infer_structure(world.take).good
        assert good[world.truth.spiked].sum() <= 0.05 * world.truth.spiked.sum()
        assert good[~world.truth.spiked].mean() > 0.99
    assert max(looked) < 0.3
    assert looked[0] < 0.1


def test_rows_are_whole_where_six_times_the_joints_dimensions_are() -> None:
    take = simulate(linkage(), seconds=2, rate=30, seed=1).take
    take = take.select(take.names[:3])
    for whole in (35, 36):  # of two joints
        gone = np.zeros(take.seen.shape, dtype=bool)
        gone[whole:, 1] = True
        assert candidates.whole_rows(take.mask(gone)).frames == (take.frames if whole < 36 else 36)


def test_a_pair_seen_together_in_less_than_a_fifth_of_the_usual_frames_is_no_candidate() -> None:
    take = simulate(linkage(), seconds=4, rate=50, seed=1).take
    for share in (0.19, 0.21):
        gone = np.zeros(take.seen.shape, dtype=bool)
        gone[: -round(share * take.frames), 3] = True
        fits = candidates.find_candidates(read_rows(take.mask(gone)))
        rare = np.isnan(fits.residual)
        assert rare.tolist() == [share < 0.2 and 3 in pair for pair in fits.pairs.tolist()]


def test_a_sensor_worked_out_from_another_says_nothing_of_its_noise() -> None:
    take = simulate(human(), "exercise", seconds=10, rate=60, seed=1, disturbances=Disturbances(0.002, 0.009)).take
    tip = take.p_world_body[:, :1] + take.R_world_body[:, :1] @ np.array([0.1, 0.0, 0.2])
    R = np.concatenate([take.R_world_body, take.R_world_body[:, :1]], axis=1)
    both = Take((*take.names, "tip"), take.time, R, np.concatenate([take.p_world_body, tip], axis=1))
    assert infer_structure(both).noise.orientation.min() > 0.003


def test_a_gap_stands_alone_by_its_distance_from_those_around_it(rng, monkeypatch: pytest.MonkeyPatch) -> None:
    gap = rng.standard_normal((40, 2, 3))
    gap[[5, 6, 30], 1] = np.nan
    expected = np.linalg.norm(gap, axis=2)  # at either end, and beside what is not seen
    around = np.linalg.norm(gap[1:-1] - 0.5 * (gap[2:] + gap[:-2]), axis=2)
    expected[1:-1] = np.where(np.isfinite(around), around, expected[1:-1])
    for rows in (1, 2, 13, 40):
        monkeypatch.setattr(spool, "BLOCK_BYTES", rows * 3 * gap[:1].nbytes)
        np.testing.assert_allclose(candidates._measure_alone(gap), np.nan_to_num(expected), rtol=1e-12)
    assert candidates._measure_alone(gap[:1])[0] == pytest.approx(expected[0])
