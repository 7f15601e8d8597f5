"""Packed motion comes back within its stated precision, whatever is missing from it."""

from __future__ import annotations

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condyle.io.motion_file import Frames
from condyle.maths import rotation
from condyle.report.pack import LARGEST_NUMBER, Packing, join_frames, pack, unpack

STEP, TURN, CLOCK, GAP = 2e-4, np.radians(0.02), 1e-4, 1e-5  # m, rad, s, m: what 1 stands for
ROUNDING = 1e-9  # m and rad, beside half a step
WEIGHT = 0.5 / 15 + 1e-12


def packing(bodies: int, parents: list[int], origin: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Packing:
    """Bodies on a chain of parents, -1 where free, with joints 0.2 m from each sensor."""
    half = np.array([0.2, 0.05, -0.1])
    links = tuple((k, parent, half, -half) for k, parent in enumerate(parents) if parent >= 0)
    free = tuple(k for k, parent in enumerate(parents) if parent < 0)
    return Packing(bodies, links, free, np.array(origin), STEP, TURN, CLOCK, np.full(len(links), GAP))


def motion(rng: np.random.Generator, n: int, how: Packing, noise: float = 0.01) -> Frames:
    """A motion that follows the joints, measured with noise [m, rad]."""
    m = how.bodies
    vector = np.cumsum(rng.normal(0, 0.05, (n, m, 3)), axis=0) + rng.normal(0, 2, (m, 3))
    R, p = rotation.from_vector(vector), np.cumsum(rng.normal(0, 0.005, (n, m, 3)), axis=0)
    for child, parent, p_child_joint, p_parent_joint in how.links:
        p[:, child] = p[:, parent] + R[:, parent] @ p_parent_joint - R[:, child] @ p_child_joint
    p = p + how.origin
    measured = R @ rotation.from_vector(rng.normal(0, noise, (n, m, 3)))
    gap = np.abs(rng.normal(0, noise, (n, len(how.links))))
    return Frames(np.arange(n) / 120, measured, p + rng.normal(0, noise, p.shape), R, p, gap, rng.random(gap.shape))


def hide(frames: Frames, seen: np.ndarray, known: np.ndarray) -> Frames:
    """The same with measured and played poses taken out where not seen (n, m) and not known (n, m)."""
    out = [np.array(getattr(frames, name)) for name in Frames.__dataclass_fields__]
    _, R, p, R_played, p_played, _, _ = out
    R[~seen], p[~seen] = np.nan, np.nan
    R_played[~known], p_played[~known] = np.nan, np.nan
    return Frames(*out)


def assert_same(found: Frames, wanted: Frames) -> None:
    np.testing.assert_allclose(found.time, wanted.time, atol=CLOCK / 2 + ROUNDING)
    np.testing.assert_allclose(found.p, wanted.p, atol=STEP / 2 + ROUNDING, equal_nan=True)
    assert np.array_equal(np.isnan(found.R), np.isnan(wanted.R))
    assert np.array_equal(np.isnan(found.R_played), np.isnan(wanted.R_played))
    assert np.array_equal(np.isnan(found.p_played), np.isnan(wanted.p_played))
    # Rotation vectors: half a step along each of three axes. Quaternions: twice that, where all four numbers are equal.
    assert largest_angle(found.R, wanted.R) <= np.sqrt(3) / 2 * TURN + ROUNDING
    assert largest_angle(found.R_played, wanted.R_played) <= np.sqrt(3) * TURN + ROUNDING
    np.testing.assert_allclose(found.gap, wanted.gap, atol=GAP / 2 + ROUNDING, equal_nan=True)
    np.testing.assert_allclose(found.weight, wanted.weight, atol=WEIGHT)


def largest_angle(a: np.ndarray, b: np.ndarray) -> float:
    both = np.isfinite(a).all(axis=(-2, -1)) & np.isfinite(b).all(axis=(-2, -1))
    return float(rotation.angle(np.swapaxes(a[both], -1, -2) @ b[both]).max(initial=0.0))


@pytest.mark.parametrize("n", [1, 2, 3, 1024])
@pytest.mark.parametrize("parents", [[-1], [-1, 0, 1, 1], [-1, 0, -1]])
def test_what_was_packed_comes_back_within_half_a_step(rng: np.random.Generator, n: int, parents: list[int]) -> None:
    how = packing(len(parents), parents, (10.0, -3.0, 0.5))
    frames = motion(rng, n, how)
    assert_same(unpack(pack(frames, how), n, how), frames)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32), n=st.integers(1, 40), holes=st.sampled_from([0.1, 0.5, 1.0]))
def test_gaps_come_back_as_gaps(seed: int, n: int, holes: float) -> None:
    rng = np.random.default_rng(seed)
    how = packing(4, [-1, 0, 1, -1])
    frames = motion(rng, n, how)
    seen, known = rng.random((2, n, 4)) >= holes
    known[:, 1] &= known[:, 0]
    known[:, 2] &= known[:, 1]
    hidden = hide(frames, seen, known)
    gap = np.where(rng.random(frames.gap.shape) < holes, np.nan, frames.gap)
    weight = np.where(np.isfinite(gap), frames.weight, 0.0)
    hidden = Frames(*(getattr(hidden, name) for name in list(Frames.__dataclass_fields__)[:5]), gap, weight)
    assert_same(unpack(pack(hidden, how), n, how), hidden)


def test_a_body_whose_parent_is_not_known_is_not_known(rng: np.random.Generator) -> None:
    how = packing(2, [-1, 0])
    frames = motion(rng, 5, how)
    known = np.array([[True, True], [False, True], [True, True], [True, False], [False, False]])
    found = unpack(pack(hide(frames, np.ones((5, 2), bool), known), how), 5, how)
    assert np.isfinite(found.p_played[..., 0]).tolist() == [[1, 1], [0, 0], [1, 1], [1, 0], [0, 0]]
    np.testing.assert_allclose(found.p, frames.p, atol=STEP / 2 + ROUNDING)


def test_errors_of_the_played_motion_do_not_reach_the_measured_one(rng: np.random.Generator) -> None:
    """At the end of a long chain the played place is off by more than a step, the measured one is not."""
    how = packing(20, list(range(-1, 19)))
    frames = motion(rng, 200, how)
    found = unpack(pack(frames, how), 200, how)
    assert np.abs(found.p_played[:, -1] - frames.p_played[:, -1]).max() > STEP / 2
    assert_same(found, frames)


def test_numbers_beyond_all_bounds_stay_at_the_bound_and_harm_no_other(rng: np.random.Generator) -> None:
    how = packing(2, [-1, -1])
    frames = motion(rng, 8, how)
    p = frames.p.copy()
    p[3, 1, 0] = 1e11
    found = unpack(pack(Frames(frames.time, frames.R, p, *list(vars(frames).values())[3:]), how), 8, how)
    assert found.p[3, 1, 0] == pytest.approx(LARGEST_NUMBER * STEP + frames.p_played[3, 1, 0], rel=1e-6)
    p[3, 1, 0] = found.p[3, 1, 0]
    np.testing.assert_allclose(found.p, p, atol=STEP / 2 + ROUNDING)


def test_a_jump_over_the_whole_range_is_packed(rng: np.random.Generator) -> None:
    how = packing(1, [-1])
    frames = motion(rng, 6, how)
    p = frames.p_played.copy()
    p[::2] = LARGEST_NUMBER * STEP
    p[1::2] = -LARGEST_NUMBER * STEP
    jumping = Frames(frames.time, frames.R, p, frames.R_played, p, frames.gap, frames.weight)
    np.testing.assert_allclose(unpack(pack(jumping, how), 6, how).p_played, p, rtol=1e-9)


def test_a_still_body_costs_next_to_nothing(rng: np.random.Generator) -> None:
    how = packing(16, [-1] * 16)
    one = motion(rng, 1, how)
    still = join_frames([one] * 1024)
    still = Frames(np.arange(1024) / 120, *list(vars(still).values())[1:])
    moving = motion(rng, 1024, how)
    assert len(pack(still, how)) < 4000 < len(pack(moving, how)) / 20


def test_poses_that_come_and_go_cost_little_more_than_their_flags(rng: np.random.Generator) -> None:
    how = packing(2, [-1, -1])
    frames = motion(rng, 1024, packing(2, [-1, -1], (30.0, 30.0, 30.0)), noise=0.0)  # far from where unknown ones are
    flicker = np.arange(1024)[:, None] % 2 == [0, 1]
    hidden = hide(frames, flicker, flicker)
    assert len(pack(hidden, how)) < 0.8 * len(pack(frames, how))


def test_a_piece_that_was_cut_is_told(rng: np.random.Generator) -> None:
    how = packing(2, [-1, 0])
    data = pack(motion(rng, 10, how), how)
    with pytest.raises(zlib.error):
        unpack(data[:-5], 10, how)
    with pytest.raises(ValueError, match="bytes, expected"):
        unpack(data, 9, how)
