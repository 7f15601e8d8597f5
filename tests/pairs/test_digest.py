"""The digest: rows are mean poses, whatever is lost, wherever a recording is cut, and however long it is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.maths import rotation, spool
from condyle.model.take import Take, join
from condyle.pairs.digest import (
    ROW_MIN_COUNT,
    Digest,
    count_row_frames,
    forget_digests,
    measure_cadence,
    measure_speeds,
)
from condyle.pairs.digest import digest_take as digest_all
from condyle.pairs.fits import all_pairs, fit_pairs, gap_columns, gaps
from condyle.pairs.noise import DIFFERENCE_ORDER, estimate_noise
from condyle.simulate import Disturbances, human, linkage, simulate

ROUNDING_M = 1e-14  # m, of means of places a few metres away
POSITION_M, ORIENTATION_RAD = 0.003, np.radians(0.5)
NOISE = Disturbances(position_noise=POSITION_M, orientation_noise=ORIENTATION_RAD)
WITHIN = 0.05  # relative difference of two medians over some hundred windows of the same noise
FEW_FRAMES = 4


def person(rate: float = 120.0, seconds: float = 4.0, seed: int = 3, **spoilt: float) -> Take:
    disturbances = replace(NOISE, **spoilt)
    return simulate(human(), "exercise", seconds=seconds, rate=rate, seed=seed, disturbances=disturbances).take


def digest_take(take: Take, good: np.ndarray | None = None, every: int | None = None) -> Digest:
    """With rows of 1/30 s however short the take is."""
    return digest_all(take, good, every or max(1, round(take.rate / 30)))


def assert_same_rows(one: Digest, two: Digest) -> None:
    for name in ("first", "count", "segment", "run", "seen"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)
    np.testing.assert_allclose(one.time, two.time, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.pose, two.pose, rtol=0, atol=ROUNDING_M)


@pytest.mark.parametrize("rate", [60.0, 100.0, 240.0])
def test_the_gap_of_mean_poses_is_the_mean_gap(rng, rate) -> None:
    take = person(rate)
    digest = digest_take(take)
    pairs, c, l = np.array([[1, 0], [2, 0], [5, 4]]), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    X = digest.pose.reshape(3 * digest.rows, -1)
    gap = (X @ gap_columns(take.bodies, pairs, c, l)).reshape(3, digest.rows, 3).transpose(1, 2, 0)
    each = gaps(take, pairs, c, l)
    mean = np.stack([each[a : a + k].mean(axis=0) for a, k in zip(digest.first, digest.count, strict=True)])
    np.testing.assert_allclose(gap, mean, rtol=0, atol=10 * ROUNDING_M)
    rows = digest.as_take(take)
    np.testing.assert_allclose(gaps(rows, pairs, c, l), mean, rtol=0, atol=10 * ROUNDING_M)


@pytest.mark.parametrize(("rate", "every"), [(25, 1), (44, 1), (46, 2), (60, 2), (100, 3), (120, 4), (480, 16)])
def test_there_are_about_thirty_rows_a_second_and_below_45_hertz_a_row_is_a_frame(rate, every) -> None:
    take = person(rate, seconds=2)
    digest = digest_take(take)
    assert digest.every == every
    assert (digest.count[:-1] == every).all()
    if every == 1:
        np.testing.assert_allclose(digest.as_take(take).p_world_body, take.p_world_body, rtol=0, atol=ROUNDING_M)


@pytest.mark.parametrize(("seconds", "every"), [(1, 1), (10, 2), (17, 4), (30, 4)])
def test_a_short_take_has_rows_of_fewer_frames(seconds, every) -> None:
    take = person(120, seconds=seconds)
    assert count_row_frames(take) == digest_all(take).every == every
    assert digest_all(take).rows >= min(ROW_MIN_COUNT, take.frames)


@pytest.mark.parametrize(
    ("step", "every"), [(1, 4), (2, 4), (3, 1), (4, 1), (8, 1)], ids=["each", "second", "third", "fourth", "eighth"]
)
def test_rows_are_frames_where_a_slower_sensor_has_too_few_of_them_in_a_row(step, every) -> None:
    take = person(seconds=20)
    lost = np.zeros((take.frames, take.bodies), dtype=bool)
    lost[:, 4] = np.arange(take.frames) % step != 0
    slow = take.mask(lost)
    assert measure_cadence(slow.seen).tolist() == [step if body == 4 else 1 for body in range(take.bodies)]
    assert count_row_frames(slow) == every
    assert digest_all(slow).seen[:, 4].sum() >= ROW_MIN_COUNT / 2


def test_rows_are_frames_where_a_sensor_that_is_often_lost_has_too_few_of_them_in_a_row(rng) -> None:
    take = person(60.0, seconds=20)
    gaps = np.cumsum(rng.integers(1, 4, take.frames))  # every second frame by a clock that trembles
    lost = np.zeros(take.seen.shape, dtype=bool)
    lost[:, 4] = ~np.isin(np.arange(take.frames), gaps)
    assert count_row_frames(take) == 2
    assert count_row_frames(take.mask(lost)) == 1
    lost[:, 4] = np.arange(take.frames) // 300 % 2 == 1  # for a while
    assert count_row_frames(take.mask(lost)) == 2


def test_a_sensor_that_is_lost_at_random_or_seen_in_strays_is_no_slower_one(rng) -> None:
    seen = np.ones((4000, 4), dtype=bool)
    seen[:, 1] = rng.random(4000) < 0.3
    seen[:, 2] = np.arange(4000) % 100 == 0
    seen[:, 3] = (np.arange(4000) % 4 == 0) & (np.arange(4000) < 1000)
    assert measure_cadence(seen).tolist() == [1, 1, 1, 1]
    assert measure_cadence(seen[:0]).tolist() == [1, 1, 1, 1]


def test_every_frame_is_in_one_row_and_no_row_reaches_across_a_break() -> None:
    one, two = person(seconds=1.02), person(seconds=0.51, seed=4)
    late = replace(one, time=np.where(np.arange(one.frames) < 50, one.time, one.time + 1.0))
    take = join([late, two, two.slice(0, 1)])
    digest = digest_take(take)
    assert digest.count.sum() == take.frames
    assert (digest.first[1:] == digest.first[:-1] + digest.count[:-1]).all()
    borders = {0, 50, one.frames, one.frames + two.frames}
    assert borders <= set(digest.first.tolist())
    starts = digest.first[np.flatnonzero(np.diff(digest.run, prepend=-1))]
    assert set(starts.tolist()) == borders
    assert ((digest.count >= digest.every / 2) | (digest.first == take.frames - 1)).all()
    assert (digest.count < 1.5 * digest.every).all()


@pytest.mark.parametrize("spoilt", [{}, {"missing": 0.05, "missing_run": 0.01}], ids=["whole", "with dropouts"])
def test_digests_of_pieces_that_are_cut_at_rows_add_to_that_of_the_whole(rng, spoilt) -> None:
    take = join([person(seconds=3.3, **spoilt), person(seconds=2.1, seed=4, **spoilt)])
    whole = digest_take(take)
    cuts = np.sort(rng.choice(whole.first[1:], 12, replace=False))
    pieces = [digest_take(take.slice(int(a), int(b))) for a, b in zip([0, *cuts], [*cuts, take.frames], strict=True)]
    total = pieces[0]
    for piece in pieces[1:]:
        total = total.add(piece)
    assert total.frames == take.frames
    assert_same_rows(total, whole)
    assert len(total.d6) >= len(whole.d6) - DIFFERENCE_ORDER * len(pieces)


def test_digests_of_other_bodies_do_not_add() -> None:
    take = person(seconds=1)
    with pytest.raises(ValueError, match="same bodies"):
        digest_take(take).add(digest_take(take.select(take.names[:3])))


def test_lone_dropouts_cost_no_rows_and_are_bridged_within_the_noise() -> None:
    take = person(seconds=20)
    lost = np.random.default_rng(0).random((take.frames, take.bodies)) < 0.02
    whole, spoilt = digest_take(take), digest_take(take.mask(lost))
    assert spoilt.seen.mean() > 0.997
    touched = np.add.reduceat(lost, spoilt.first, axis=0) > 0
    off = (spoilt.pose - whole.pose)[..., 3]
    np.testing.assert_array_equal(off[:, ~touched], 0)
    apart = np.sqrt(np.square(off[:, touched & spoilt.seen]).mean())
    assert apart < 0.7 * POSITION_M  # a frame in four is missing: what it added, and what the line adds
    assert not spoilt.pose[:, ~spoilt.seen].any()


def test_a_body_that_is_lost_for_long_has_no_rows_there_and_others_are_as_before() -> None:
    take = person()
    lost = np.zeros((take.frames, take.bodies), dtype=bool)
    lost[100:203, 2] = True
    digest, whole = digest_take(take.mask(lost)), digest_take(take)
    assert not digest.seen[25:50, 2].any()
    np.testing.assert_array_equal(digest.seen[:25], True)
    np.testing.assert_array_equal(digest.seen[51:], True)
    others = np.arange(take.bodies) != 2
    np.testing.assert_array_equal(digest.pose[:, :, others], whole.pose[:, :, others])
    assert np.isnan(digest.as_take(take).p_world_body[30, 2]).all()


def test_a_spike_is_marked_and_bridged_and_a_jump_is_marked_and_stays() -> None:
    take = person()
    p = take.p_world_body.copy()
    p[201, 3] += 0.4
    p[300:, 5] += 0.4
    spoilt = replace(take, p_world_body=p)
    digest, whole = digest_take(spoilt), digest_take(take)
    assert [201, 3] in digest.spike.tolist()
    assert [300, 5] in digest.jump.tolist()
    assert [201, 3] not in digest.jump.tolist() + whole.spike.tolist()
    row = 201 // 4
    assert digest.seen[row, 3]
    assert np.abs(digest.pose[:, row, 3, 3] - whole.pose[:, row, 3, 3]).max() < 3 * POSITION_M
    np.testing.assert_allclose(digest.pose[:, 80, 5, 3], whole.pose[:, 80, 5, 3] + 0.4, rtol=0, atol=ROUNDING_M)


def test_poses_that_are_not_trusted_are_left_out_and_the_digest_is_made_again() -> None:
    take = person()
    p = take.p_world_body.copy()
    p[200:240, 3] += 0.2
    spoilt = replace(take, p_world_body=p)
    before = digest_take(spoilt)
    good = np.ones(spoilt.seen.shape, dtype=bool)
    good[200:240, 3] = False
    after = digest_take(spoilt, good)
    assert before.seen[50:60, 3].all()
    assert not after.seen[50:60, 3].any()
    assert after.seen.sum() == before.seen.sum() - 10
    assert digest_take(spoilt) is before
    assert np.isnan(after.d6[:, 3]).sum() > np.isnan(before.d6[:, 3]).sum()


@pytest.mark.parametrize("rate", [30.0, 120.0])
def test_its_sixth_differences_tell_the_noise_as_the_frames_do(rate) -> None:
    take = simulate(linkage(), "exercise", seconds=45, rate=rate, seed=5, disturbances=NOISE).take
    digest, noise = digest_take(take), estimate_noise(take)
    size = np.sqrt(np.median(digest.d6, axis=0) / 924) / 1.5381722544550522
    np.testing.assert_allclose(size[:, 0], noise.position, rtol=2 * WITHIN)
    np.testing.assert_allclose(size[:, 1], noise.orientation, rtol=2 * WITHIN)
    middle = digest.place[10]
    assert np.abs(take.p_world_body - middle).max(axis=(1, 2)).min() == 0


def test_a_take_on_disk_is_walked_in_blocks_to_the_same_rows(monkeypatch) -> None:
    take = person(missing=0.05, missing_run=0.01)
    whole = digest_take(take)
    forget_digests()
    monkeypatch.setattr(spool, "BLOCK_BYTES", 200_000)
    monkeypatch.setenv(spool.ARRAY_BYTES, "50000")
    assert_same_rows(digest_take(take), whole)
    assert spool.is_spooled(digest_take(take).pose)


def test_many_rows_as_a_take_are_no_copy_of_the_digest(monkeypatch) -> None:
    take = person()
    few = digest_take(take).as_take(take)
    forget_digests()
    monkeypatch.setattr("condyle.pairs.digest.BLOCK_BYTES", 0)
    digest = digest_take(take)
    many = digest.as_take(take)
    assert np.shares_memory(many.R_world_body, digest.pose)
    np.testing.assert_array_equal(many.R_world_body, few.R_world_body)
    with pytest.raises(ValueError, match="read-only"):
        many.R_world_body[0] = 0.0


@pytest.mark.parametrize("frames", range(FEW_FRAMES))
def test_a_few_frames_one_body_and_none_that_is_seen_have_a_digest(frames) -> None:
    R = np.broadcast_to(np.eye(3), (frames, 1, 3, 3))
    take = Take(("one",), np.arange(frames) / 120, R, np.zeros((frames, 1, 3)))
    digest = digest_all(take)
    assert digest.count.sum() == frames == digest.frames
    assert digest.seen.all()
    unseen = digest_all(take.mask(np.ones((frames, 1), dtype=bool)))
    assert not unseen.seen.any()
    assert not unseen.pose.any()
    assert digest.as_take(take).frames == digest.rows


def test_a_take_without_time_has_its_frames_for_rows(rng) -> None:
    R, p = rotation.random(rng, (40, 3)), rng.normal(size=(40, 3, 3))
    take = Take(("a", "b", "c"), np.arange(40) / 100, R, p, timed=False)
    digest = digest_all(take)
    assert digest.every == 1
    assert not len(digest.d6)
    np.testing.assert_allclose(digest.as_take(take).R_world_body, R, rtol=0, atol=0)


def test_speeds_are_those_from_frame_to_frame_where_both_are_seen(rng) -> None:
    take = person(seconds=1.0)
    take = replace(take, segment=np.where(np.arange(take.frames) < 50, 0, 1)).mask(rng.random(take.seen.shape) < 0.1)
    step = np.where(
        np.diff(take.segment)[:, None] == 0, np.linalg.norm(np.diff(take.p_world_body, axis=0), axis=2), np.nan
    )
    spent = np.where(np.isfinite(step), np.diff(take.time)[:, None], 0.0).sum(axis=0)
    np.testing.assert_allclose(measure_speeds(take), np.nansum(step, axis=0) / spent, rtol=1e-12)
    assert measure_speeds(take.at(np.arange(1))).tolist() == [0.0] * take.bodies


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_joints_of_all_pairs_are_those_of_each_pair_alone(missing) -> None:
    digest = digest_take(person(missing=missing))
    assert digest.fits is digest.fits, "made once"
    for row, pair in list(enumerate(all_pairs(digest.seen.shape[1])))[::17]:
        alone = fit_pairs(digest.sums, pair)
        np.testing.assert_allclose(digest.fits.p_child_joint[row], alone.p_child_joint[0], atol=1e-12)
        np.testing.assert_allclose(digest.fits.residual[row], alone.residual[0], atol=1e-12)
