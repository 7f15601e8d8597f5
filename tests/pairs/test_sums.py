"""Sums over frames: they add, they leave out what is not seen, and they need no more memory for more frames."""

from __future__ import annotations

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.maths.arrays import centre_positions
from condyle.model.take import Take, join
from condyle.pairs import sums
from condyle.pairs.sums import PairSums, stack_poses, sum_pairs, sum_products
from tests.oracle.worlds import carried, take_of

ROUNDING = 1e-13  # relative to the number of frames: the sums are of terms of size one
SQUARE_M2 = 1e-13  # m^2 per frame, of sums of products of metres
BEYOND_THE_TAKE_BYTES = 16_000_000
SCENE_M = 4.0  # m, more than the largest distance between two bodies of a random take
FAR_M = np.array([1000.0, -700.0, 400.0])


def random_take(rng: np.random.Generator, n: int = 300, m: int = 4, missing: float = 0.0) -> Take:
    R, p = rotation.random(rng, (n, m)), rng.uniform(-1, 1, (n, m, 3))
    take = Take(tuple(f"b{k}" for k in range(m)), np.arange(n) / 50, R, p)
    return take.mask(rng.random((n, m)) < missing) if missing else take


def direct(take: Take) -> PairSums:
    """Every pair by itself, frame by frame."""
    m = take.bodies
    out = PairSums(*(np.zeros((m, m, *of)) for of in ((), (3, 3), (3,), (3,), ())))
    for i in range(m):
        for j in range(m):
            both = take.seen[:, i] & take.seen[:, j]
            R_i, R_j = take.R_world_body[both, i], take.R_world_body[both, j]
            d = take.p_world_body[both, j] - take.p_world_body[both, i]
            out.frames[i, j] = both.sum()
            out.M[i, j] = np.einsum("nki,nkj->ij", R_i, R_j)
            out.b_child[i, j] = np.einsum("nki,nk->i", R_i, d)
            out.b_parent[i, j] = np.einsum("nki,nk->i", R_j, -d)
            out.dd[i, j] = np.sum(d**2)
    return out


def assert_same(a: PairSums, b: PairSums, scale: float = 1.0) -> None:
    """Equal to rounding; lengths are `scale` [m] across."""
    n = max(float(b.frames.max(initial=0)), 1.0)
    np.testing.assert_array_equal(a.frames, b.frames)
    np.testing.assert_allclose(a.M, b.M, rtol=0, atol=ROUNDING * n)
    np.testing.assert_allclose(a.b_child, b.b_child, rtol=0, atol=ROUNDING * n * scale)
    np.testing.assert_allclose(a.b_parent, b.b_parent, rtol=0, atol=ROUNDING * n * scale)
    np.testing.assert_allclose(a.dd, b.dd, rtol=0, atol=SQUARE_M2 * n * scale**2)


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["whole", "with gaps"])
@pytest.mark.parametrize("offset", [0.0, 1.0], ids=["near", "a kilometre away"])
def test_the_sums_are_those_of_every_pair_taken_by_itself(rng, offset, missing) -> None:
    take = random_take(rng, missing=missing)
    far = Take(take.names, take.time, take.R_world_body, take.p_world_body + offset * FAR_M)
    assert_same(sum_pairs(far), direct(far))


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["whole", "with gaps"])
def test_a_kilometre_of_offset_does_not_cost_the_millimetres(rng, missing) -> None:
    take = random_take(rng, missing=missing)
    far = Take(take.names, take.time, take.R_world_body, take.p_world_body + FAR_M)
    near, away = sum_pairs(take), sum_pairs(far)
    # Positions themselves are rounded to 1e-13 m out there; products of kilometres would leave 1e-10 m^2.
    np.testing.assert_allclose(away.dd, near.dd, rtol=0, atol=1e-12 * take.frames)
    np.testing.assert_allclose(away.b_child, near.b_child, rtol=0, atol=1e-12 * take.frames)


def test_the_two_orders_of_a_pair_hold_the_same_sums(rng) -> None:
    total = sum_pairs(random_take(rng, missing=0.2))
    np.testing.assert_allclose(total.M, total.M.transpose(1, 0, 3, 2), atol=ROUNDING * 300)
    np.testing.assert_array_equal(total.frames, total.frames.T)
    np.testing.assert_allclose(total.dd, total.dd.T, atol=SQUARE_M2 * 300)


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["whole", "with gaps"])
def test_the_sums_of_the_parts_add_to_the_sums_of_the_whole(rng, missing) -> None:
    take = random_take(rng, missing=missing)
    cuts = [0, 1, 40, 41, 200, 300]
    parts = [take.slice(a, b) for a, b in pairwise(cuts)]
    total = sum_pairs(parts[0])
    for part in parts[1:]:
        total = total + sum_pairs(part)
    assert_same(total, sum_pairs(take))


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["whole", "with gaps"])
def test_the_size_of_the_chunks_does_not_matter(rng, monkeypatch, missing) -> None:
    take = random_take(rng, missing=missing)
    whole = sum_pairs(take)
    for name, value in (("STACK_CHUNK_BYTES", 1), ("STACK_CHUNK_MIN_FRAMES", 70), ("STACK_KEPT_BYTES", 0)):
        monkeypatch.setattr(sums, name, value)
    assert_same(sum_pairs(take), whole)


def test_the_order_of_the_frames_does_not_matter(rng) -> None:
    take = random_take(rng, missing=0.1)
    mixed = rng.permutation(take.frames)
    shuffled = Take(take.names, take.time, take.R_world_body[mixed], take.p_world_body[mixed])
    assert_same(sum_pairs(shuffled), sum_pairs(take))


def test_joined_takes_have_the_sums_of_the_takes(rng) -> None:
    a, b = random_take(rng, 120), random_take(rng, 80, missing=0.2)
    assert_same(sum_pairs(join([a, b])), sum_pairs(a) + sum_pairs(b))


def test_a_pose_that_is_not_seen_counts_like_a_row_deleted(rng) -> None:
    take = random_take(rng, m=2)
    hidden = np.zeros((take.frames, 2), bool)
    hidden[rng.random(take.frames) < 0.4, rng.integers(2)] = True
    left = ~hidden.any(axis=1)
    rest = Take(take.names, take.time[left], take.R_world_body[left], take.p_world_body[left])
    masked, deleted = sum_pairs(take.mask(hidden)), sum_pairs(rest)
    assert masked.frames[0, 1] == left.sum()
    np.testing.assert_allclose(masked.M[0, 1], deleted.M[0, 1], atol=ROUNDING * 300)
    np.testing.assert_allclose(masked.b_child[0, 1], deleted.b_child[0, 1], atol=ROUNDING * 300)
    np.testing.assert_allclose(masked.dd[0, 1], deleted.dd[0, 1], atol=SQUARE_M2 * 300)


def test_a_hidden_body_leaves_the_sums_of_the_others_alone(rng) -> None:
    take = random_take(rng)
    hidden = np.zeros((take.frames, 4), bool)
    hidden[::2, 0] = True
    a, b = sum_pairs(take), sum_pairs(take.mask(hidden))
    np.testing.assert_allclose(b.M[1:, 1:], a.M[1:, 1:], atol=ROUNDING * 300)
    np.testing.assert_allclose(b.b_child[1:, 1:], a.b_child[1:, 1:], atol=ROUNDING * 300)
    np.testing.assert_allclose(b.dd[1:, 1:], a.dd[1:, 1:], atol=SQUARE_M2 * 300)
    assert b.frames[0, 1] == take.frames / 2


def test_distances_never_come_out_negative(rng) -> None:
    R, p = carried(rng, 50)
    together = take_of("ab", (R, R), (p, p + 1e-9))
    assert (sum_pairs(together).dd >= 0).all()


@pytest.mark.parametrize("missing", [0.0, 0.02], ids=["whole", "with gaps"])
def test_memory_beyond_the_take_stays_small_however_long_it_is(rng, missing) -> None:
    peaks = []
    for n in (1500, 4500):
        R = np.broadcast_to(rotation.random(rng, (64,)), (n, 64, 3, 3))
        take = Take(tuple(f"b{k}" for k in range(64)), np.arange(n) / 240, R, rng.standard_normal((n, 64, 3)))
        take = take.mask(rng.random((n, 64)) < missing) if missing else take
        tracemalloc.start()
        sum_pairs(take)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert max(peaks) <= BEYOND_THE_TAKE_BYTES
    assert peaks[1] <= 1.05 * peaks[0]


def test_centred_positions_keep_the_differences_and_lose_the_place(rng) -> None:
    p = rng.uniform(-1, 1, (50, 5, 3)) + FAR_M
    seen = rng.random((50, 5)) < 0.7
    seen[0] = False
    free = centre_positions(p, seen)
    for a in range(5):
        both = seen[:, 0] & seen[:, a]
        np.testing.assert_allclose((free[:, a] - free[:, 0])[both], (p[:, a] - p[:, 0])[both], atol=1e-12)
    assert (free[~seen] == 0).all()
    assert np.abs(free).max() < SCENE_M


def test_a_take_without_frames_has_empty_sums() -> None:
    total = sum_pairs(Take(("a", "b"), np.empty(0), np.empty((0, 2, 3, 3)), np.empty((0, 2, 3))))
    assert total.frames.shape == (2, 2)
    assert not total.frames.any()
    assert not total.M.any()
    assert not total.dd.any()


def test_one_frame_counts_once(rng) -> None:
    take = random_take(rng, 1)
    assert_same(sum_pairs(take), direct(take))
    assert (sum_pairs(take).frames == 1).all()


def test_one_body_has_only_itself(rng) -> None:
    total = sum_pairs(random_take(rng, m=1))
    assert total.frames.shape == (1, 1)
    np.testing.assert_allclose(total.M[0, 0], 300 * np.eye(3), atol=ROUNDING * 300)
    assert total.dd[0, 0] == 0


def test_a_take_in_which_nothing_is_seen_has_sums_of_zero(rng) -> None:
    take = random_take(rng)
    total = sum_pairs(take.mask(np.ones((take.frames, 4), bool)))
    for part in (total.frames, total.M, total.b_child, total.b_parent, total.dd):
        assert not part.any()


def stacked(take: Take) -> np.ndarray:
    return stack_poses(take.R_world_body, take.p_world_body, take.seen)


@pytest.mark.parametrize("missing", [0.0, 0.2], ids=["whole", "with gaps"])
def test_windows_side_by_side_are_summed_as_each_by_itself(rng, missing) -> None:
    parts = [random_take(rng, 40, missing=missing) for _ in range(6)]
    seen = np.stack([part.seen for part in parts]).reshape(2, 3, 40, 4)
    X = np.stack([stacked(part) for part in parts]).reshape(2, 3, 120, 16)
    sums = sum_products(X, seen)
    for k, part in enumerate(parts):
        assert_same(sums[k // 3, k % 3], direct(part))


@pytest.mark.parametrize("missing", [0.0, 0.2], ids=["whole", "with gaps"])
def test_children_by_themselves_have_the_sums_of_all_pairs(rng, missing) -> None:
    take = random_take(rng, missing=missing)
    some = np.array([3, 1])
    assert_same(sum_products(stacked(take), take.seen, some), sum_pairs(take)[some])


def test_sums_are_taken_from_each_other_as_they_are_added(rng) -> None:
    a, b = random_take(rng, 120, missing=0.1), random_take(rng, 80)
    assert_same(sum_pairs(a) + sum_pairs(b) - sum_pairs(b), sum_pairs(a), SCENE_M)


def test_sums_of_no_pairs_are_none(rng: np.random.Generator) -> None:
    seen = np.ones((5, 2), dtype=bool)
    none = sums.sum_row_pairs(rng.normal(size=(3, 5, 2, 4)), seen, np.empty((0, 2), np.int64))
    assert len(none.frames) == 0


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_sums_of_rows_are_the_same_block_by_block(
    missing: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = rng.random((200, 4)) >= missing
    pose, pairs = rng.normal(size=(3, 200, 4, 4)) * seen[..., None], np.array([[0, 1], [3, 1]])
    whole = [sums.sum_rows(pose, seen), sums.sum_row_pairs(pose, seen, pairs)]
    monkeypatch.setattr("condyle.maths.spool.BLOCK_BYTES", 7 * 4 * 96)  # 7 rows
    for one, other in zip(whole, [sums.sum_rows(pose, seen), sums.sum_row_pairs(pose, seen, pairs)], strict=True):
        for name, value in vars(one).items():
            np.testing.assert_allclose(getattr(other, name), value, rtol=0, atol=200 * ROUNDING, err_msg=name)
