"""White noise of every sensor, read off high differences of its own signal, where motion no longer shows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import rotation
from ._shapes import Bools, Floats
from .take import Take

ORDER = 6
_GAIN = 924.0  # C(12, 6): variance of a sixth difference of white noise, in units of its variance
_MAD = 1.482602218505602  # median absolute deviation to standard deviation
ENOUGH = 20  # windows below which a sensor's noise is not told
SAMPLE = 4000  # frames looked at; more would not change the median


@dataclass(frozen=True, eq=False)
class Noise:
    """Standard deviation per axis of each sensor's white noise; 0 where too few frames tell.

    position     (m,)  [m]
    orientation  (m,)  [rad]
    """

    position: Floats
    orientation: Floats

    @classmethod
    def none(cls, bodies: int) -> Noise:
        return cls(np.zeros(bodies), np.zeros(bodies))


def windows(take: Take, good: Bools | None = None, length: int = ORDER + 1) -> tuple[Floats, Bools]:
    """First frames of runs of `length` frames inside one segment, and (runs, m) whether a body is good in all of them."""
    seen = take.seen if good is None else take.seen & good
    n = take.frames
    if n < length:
        return np.empty(0, np.int64), np.empty((0, take.bodies), bool)
    starts = np.arange(n - length + 1)
    inside = take.segment[starts] == take.segment[starts + length - 1]
    # A jump in time is no neighbour either.
    step = np.diff(take.time, prepend=take.time[:1])
    usual = 1.5 / take.rate if np.isfinite(take.rate) else np.inf
    jump = np.concatenate([[0], np.cumsum(step[1:] > usual)])
    inside &= jump[starts] == jump[starts + length - 1]
    count = np.concatenate([np.zeros((1, take.bodies), np.int64), np.cumsum(seen, axis=0)])
    whole = count[starts + length] - count[starts] == length
    return starts[inside], whole[inside]


def estimate_noise(take: Take, good: Bools | None = None) -> Noise:
    """Noise from sixth differences of position and fifth differences of the step rotation (log R_k' R_k+1).

    good   (n, m) poses to trust; windows that touch another are left out
    """
    if not take.timed or take.frames <= ORDER:
        return Noise.none(take.bodies)
    block = take.slice(*_middle(take.frames))
    starts, whole = windows(block, None if good is None else good[slice(*_middle(take.frames))])
    if len(starts) < ENOUGH:
        return Noise.none(take.bodies)
    with np.errstate(invalid="ignore"):
        dp = np.diff(block.p_world_body, n=ORDER, axis=0)[starts]
        step = rotation.to_vector(np.swapaxes(block.R_world_body[:-1], -1, -2) @ block.R_world_body[1:])
        dr = np.diff(step, n=ORDER - 1, axis=0)[starts]
    return Noise(_spread(dp, whole), _spread(dr, whole))


def _middle(n: int) -> tuple[int, int]:
    start = max(0, (n - SAMPLE) // 2)
    return start, min(n, start + SAMPLE)


def _spread(differences: Floats, whole: Bools) -> Floats:
    values = np.abs(np.where(whole[..., None], differences, np.nan))
    out = np.zeros(whole.shape[1])
    told = whole.sum(axis=0) >= ENOUGH
    if told.any():
        out[told] = np.nanmedian(values[:, told], axis=(0, 2)) * _MAD / np.sqrt(_GAIN)
    return out
