"""Rotations as three angles about a body's own axes, from frame to frame without a jump."""

from __future__ import annotations

import numpy as np

from .arrays import Bools, Floats, Ints
from .robust import median
from .series import segment_slices

GIMBAL_LOCK_MAX_SINE = (
    1e-14  # distance to gimbal lock, as a sine, below which the first angle is held: rounding alone would tell it
)


def find_angles(R: Floats, order: str, segment: Ints | None = None) -> Floats:
    """(n, 3) [rad] with R = R_first @ R_second @ R_third about the axes in `order`, "ZXY" or "YXY", for R (n, 3, 3).

    Two triples give one rotation: (a, b, c) and (a + pi, pi - b, c + pi), or (a + pi, -b, c + pi) where the last axis
    is the first again. A segment (n,) begins with |b| <= pi / 2, or b <= 0; then from frame to frame the nearer triple
    is taken, whole turns are taken out, and the median of each angle lies in (-pi, pi]. NaN where R is; frames on both
    sides of a gap are neighbours. The product is R to rounding, in gimbal lock too, where only the sum or the
    difference of the first and the third angle is known and the first is held.
    """
    angles = np.full((len(R), 3), np.nan)
    known = np.isfinite(np.einsum("nij->n", R))
    parts = [slice(0, len(R))] if segment is None else segment_slices(segment)
    for part in parts:
        there = np.flatnonzero(known[part]) + part.start
        if len(there):
            angles[there] = _find_steady(R[there], order)
    return angles


def find_principal_angles(R: Floats, order: str) -> Floats:
    """(n, 3) [rad] the same of every frame for itself, |b| <= pi / 2 or b <= 0, for R (n, 3, 3) that are all known."""
    if order[0] != order[2]:
        return _find_cardan(R, order)
    return np.asarray(_find_proper(R, order) * [1, -1, 1] + (np.pi, 0.0, np.pi))


def measure_lock(angles: Floats, order: str) -> Floats:
    """(n,) distance to gimbal lock as a sine: noise of the first and third angle grows by one over it."""
    middle = angles[..., 1]
    return np.asarray(np.abs(np.sin(middle) if order[0] == order[2] else np.cos(middle)))


def _find_steady(R: Floats, order: str) -> Floats:
    """`find_angles` of frames that are all known, in one segment."""
    angles = find_principal_angles(R, order)
    other = angles * [1, -1, 1] + (np.pi, 0.0 if order[0] == order[2] else np.pi, np.pi)
    # Whether a step crosses over does not depend on the side it starts from, so the sides are a running count.
    cross = _measure_apart(other[1:], angles[:-1]) < _measure_apart(angles[1:], angles[:-1])
    side = np.concatenate([[0], np.cumsum(cross)]) % 2
    steady = np.unwrap(np.where(side[:, None] == 1, other, angles), axis=0)
    return np.asarray(steady - 2 * np.pi * np.ceil(median(steady) / (2 * np.pi) - 0.5))


def _find_cardan(R: Floats, order: str) -> Floats:
    """About three different axes, the cosine of the middle angle not negative."""
    i, j, k = ("XYZ".index(letter) for letter in order)
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    a = np.arctan2(-sign * R[:, j, k], R[:, k, k])
    a = _hold(a, np.hypot(R[:, j, k], R[:, k, k]) > GIMBAL_LOCK_MAX_SINE)
    row_j, row_k = _turn_rows(R, j, k, sign, a)  # of R_second @ R_third
    b = np.arctan2(sign * R[:, i, k], row_k[:, k])
    c = np.arctan2(sign * row_j[:, i], row_j[:, j])
    return np.stack([a, b, c], axis=1)


def _find_proper(R: Floats, order: str) -> Floats:
    """About an axis, another and the first again, the sine of the middle angle not negative."""
    i, j = "XYZ".index(order[0]), "XYZ".index(order[1])
    k = 3 - i - j
    sign = 1.0 if (j - i) % 3 == 1 else -1.0
    a = np.arctan2(R[:, j, i], -sign * R[:, k, i])
    a = _hold(a, np.hypot(R[:, j, i], R[:, k, i]) > GIMBAL_LOCK_MAX_SINE)
    row_j, row_k = _turn_rows(R, j, k, sign, a)
    b = np.arctan2(-sign * row_k[:, i], R[:, i, i])
    c = np.arctan2(-sign * row_j[:, k], row_j[:, j])
    return np.stack([a, b, c], axis=1)


def _turn_rows(R: Floats, j: int, k: int, sign: float, a: Floats) -> tuple[Floats, Floats]:
    """Rows j and k of R turned back by `a` about the third axis."""
    sine, cosine = (sign * np.sin(a))[:, None], np.cos(a)[:, None]
    return cosine * R[:, j] + sine * R[:, k], cosine * R[:, k] - sine * R[:, j]


def _hold(a: Floats, told: Bools) -> Floats:
    """The last value that is told stands for those after it that are not; zero before the first."""
    last = np.maximum.accumulate(np.where(told, np.arange(len(a)), -1))
    return np.where(last >= 0, a[last], 0.0)


def _measure_apart(a: Floats, b: Floats) -> Floats:
    """Squared distance of angles, whole turns apart."""
    d = (a - b + np.pi) % (2 * np.pi) - np.pi
    return np.asarray((d * d).sum(axis=1))
