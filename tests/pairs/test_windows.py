"""Sums of all pairs over windows: they are the sums of their frames, and they tell gaps and motions."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.model.take import Take
from condyle.pairs import windows as windows_module
from condyle.pairs.fits import fit_pairs
from condyle.pairs.sums import sum_pairs
from condyle.pairs.windows import cut_windows, pick_frames, sum_windows
from condyle.simulate import Disturbances, human, linkage, simulate

EXACT = 1e-9  # m
DRAWN = 2e-3  # m that drawing points towards the sensors may cost a gap
NOISE = Disturbances(position_noise=0.003, orientation_noise=0.005)


def linkage_take(seconds: float = 20.0, rate: float = 30.0, **disturbances: float) -> Take:
    d = Disturbances(position_noise=0.003, orientation_noise=0.005, **disturbances)  # type: ignore[arg-type]
    return simulate(linkage(), "walk", seconds=seconds, rate=rate, seed=3, disturbances=d).take


@pytest.mark.parametrize("part_bytes", [1, 100_000, windows_module.PART_BYTES])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_every_window_has_the_sums_of_its_frames(
    missing: float, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(windows_module, "PART_BYTES", part_bytes)
    take = linkage_take(missing=missing)
    m = take.bodies
    for windows in sum_windows(take):
        for w in (0, len(windows.first) // 2, len(windows.first) - 1):
            sums = sum_pairs(take.slice(int(windows.first[w]), int(windows.stop[w])))
            i, j = (one.ravel() for one in np.nonzero(~np.eye(m, dtype=bool)))
            own, whole = windows._read((np.full(len(i), w),), i, j), sums[i, j]
            np.testing.assert_allclose(own.frames, whole.frames, atol=EXACT)
            np.testing.assert_allclose(np.moveaxis(own.M, -1, 0), whole.M, atol=EXACT)
            np.testing.assert_allclose(own.b_child.T, whole.b_child, atol=EXACT)
            np.testing.assert_allclose(own.b_parent.T, whole.b_parent, atol=EXACT)
            np.testing.assert_allclose(own.dd, whole.dd, atol=1e-7)


def test_windows_last_one_two_four_and_eight_seconds() -> None:
    take = linkage_take()
    lengths = [float(np.unique(windows.stop - windows.first)[0]) / take.rate for windows in sum_windows(take)]
    np.testing.assert_allclose(lengths, [1, 2, 4, 8], rtol=1e-6)
    assert [len(list(sum_windows(linkage_take(seconds)))) for seconds in (0.4, 1.2, 2.5)] == [0, 1, 2]


def test_a_joint_of_a_window_is_that_of_its_frames() -> None:
    take = linkage_take()
    windows = next(iter(sum_windows(take)))
    i, j = np.triu_indices(take.bodies, 1)
    gap, c, _ = windows.fit(i, j)
    fits = fit_pairs(sum_pairs(take.slice(int(windows.first[5]), int(windows.stop[5]))))
    assert (gap[5] >= fits.residual - EXACT).all()  # no other joint has a smaller gap
    np.testing.assert_allclose(gap[5], fits.residual, atol=DRAWN)
    assert np.isfinite(c).all()


def test_a_point_moves_as_another_body_or_the_room_sees_it(rng: np.random.Generator) -> None:
    take = linkage_take()
    windows = list(sum_windows(take))[1]
    point = rng.standard_normal(3) * 0.1
    part = take.slice(int(windows.first[3]), int(windows.stop[3]))
    place = part.p_world_body[:, 2] + part.R_world_body[:, 2] @ point
    for by in (0, 4, take.bodies):
        seen = place
        if by < take.bodies:
            seen = np.einsum("nyx,ny->nx", part.R_world_body[:, by], place - part.p_world_body[:, by])
        found = windows.spread(np.array([3]), np.array([2]), point[None], np.array([by]))
        np.testing.assert_allclose(found, np.sqrt(seen.var(axis=0).sum()), rtol=1e-6)


def test_far_from_the_origin_nothing_is_lost() -> None:
    take = linkage_take()
    far = Take(take.names, take.time, take.R_world_body, take.p_world_body + [1000.0, -2000.0, 500.0])
    i, j = np.triu_indices(take.bodies + 1, 1)
    for near, away in zip(sum_windows(take), sum_windows(far), strict=True):
        np.testing.assert_allclose(away.fit(i, j)[0], near.fit(i, j)[0], atol=1e-7)


def test_no_window_reaches_over_a_break() -> None:
    take = linkage_take()
    two = Take(take.names, take.time, take.R_world_body, take.p_world_body, segment=(take.time > 7.3).astype(int))
    gone = np.delete(np.arange(take.frames), np.arange(200, 260))
    for cut in (two, take.at(gone)):
        for windows in sum_windows(cut):
            inside = [cut.time[b - 1] - cut.time[a] for a, b in zip(windows.first, windows.stop, strict=True)]
            assert np.ptp(inside) < 2 / take.rate
            assert (cut.segment[windows.first] == cut.segment[windows.stop - 1]).all()


def test_a_high_rate_is_thinned_and_a_long_take_is_summed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    take = linkage_take(rate=120.0)
    windows = next(iter(sum_windows(take)))
    assert windows.sums.frames[0, 0] == pytest.approx(30)
    whole = {int((one.stop - one.first)[0]): set(one.first.tolist()) for one in sum_windows(linkage_take(60.0))}
    monkeypatch.setattr("condyle.pairs.windows.WINDOW_CHUNK_BYTES", 35 * 112 * 7**2)  # 35 blocks, which no part has
    parts: dict[int, set[int]] = {}
    found = list(sum_windows(linkage_take(60.0)))
    for one in found:
        parts.setdefault(int((one.stop - one.first)[0]), set()).update(one.first.tolist())
    assert len(found) > len(whole)
    assert parts == whole


def test_a_stretch_is_cut_into_windows_side_by_side_of_the_bodies_that_are_asked_for() -> None:
    take = simulate(human(), "walk", seconds=10, seed=1, disturbances=NOISE).take
    windows = cut_windows(take, 30, 180, 1.0, bodies=np.array([3, 5]))
    assert windows.sums.frames.shape == (5, 3)
    assert windows.first.tolist() == [30, 60, 90, 120, 150]
    whole = cut_windows(take, 30, 180, np.inf)
    assert whole.sums.frames.shape == (1, 120)
    one = whole._read((slice(None),), np.array([3]), np.array([5]))
    np.testing.assert_allclose(one.M[..., 0, 0], windows.sums.M[..., 0].sum(axis=2), atol=EXACT)


def test_a_clock_in_another_unit_cuts_no_more_windows_than_frames() -> None:
    take = linkage_take(seconds=2.0)
    slow = Take(take.names, 1000 * take.time, take.R_world_body, take.p_world_body)
    assert len(cut_windows(slow, 0, slow.frames, 0.5).first) == slow.frames


def test_of_every_few_frames_that_is_looked_at_in_which_most_bodies_are_seen() -> None:
    seen = np.ones((10, 3), dtype=bool)
    assert pick_frames(seen, 4).tolist() == [0, 4, 8]
    seen[np.arange(10) % 4 != 3, 1] = False
    seen[7] = False
    assert pick_frames(seen, 4).tolist() == [3, 4, 8]
    assert pick_frames(seen[:0], 4).tolist() == []


@pytest.mark.parametrize("every", [2, 4, 8])
def test_windows_of_sensors_of_a_fraction_of_the_rate_are_those_of_their_frames(every: int) -> None:
    take = linkage_take(rate=240.0, seconds=8.0)
    slow = np.arange(take.frames)[:, None] % every != every - 1
    windows = cut_windows(take.mask(slow & (np.arange(take.bodies) == 1)), 0, take.frames, 2.0)
    assert np.isfinite(windows.fit(np.array([0]), np.array([1]))[0]).all()
