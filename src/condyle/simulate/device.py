"""What the tracker does to poses: latency, a warped field, noise, and samples that are wrong, held or lost."""

from __future__ import annotations

import numpy as np

from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints
from .motions import SPACE_MIDDLE_M

_FIELD_WAVES = 256  # random Fourier features of the field
_STENCIL_SAMPLES = 8  # samples under one interpolating polynomial


def delay(time: Floats, R: Floats, p: Floats, latency: Floats) -> tuple[Floats, Floats]:
    """Poses (n, m, ...) as they were `latency` (m,) [s] ago: a polynomial through the neighbouring exact frames.

    The first and last frames are carried on for two frames at most, then held.
    """
    R, p = R.copy(), p.copy()
    n, width = len(time), min(_STENCIL_SAMPLES, len(time))
    if n < 2:
        return R, p
    step = (time[-1] - time[0]) / (n - 1)
    for k in np.flatnonzero(latency):
        asked = np.clip(time - latency[k], time[0] - 2 * step, time[-1] + 2 * step)
        first = np.clip(np.searchsorted(time, asked) - width // 2, 0, n - width)
        rows = first[:, None] + np.arange(width)
        nodes = time[rows]
        weight = np.ones((n, width))
        for i in range(width):
            for j in range(width):
                if i != j:
                    weight[:, i] *= (asked - nodes[:, j]) / (nodes[:, i] - nodes[:, j])
        p[:, k] = np.einsum("nw,nwi->ni", weight, p[rows, k])
        R[:, k] = rotation.project(np.einsum("nw,nwij->nij", weight, R[rows, k]))
    return R, p


def warp(R: Floats, p: Floats, warp: float, length: float, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Poses in a smooth Gaussian random field: `warp` [m] rms per axis, `length` [m], warp/length rad of turn per axis.

    One field for all sensors: a displacement and a rotation that depend on place only.
    """
    wave = rng.standard_normal((3, _FIELD_WAVES)) / length
    phase = rng.uniform(0, 2 * np.pi, _FIELD_WAVES)
    size = rng.standard_normal((_FIELD_WAVES, 6)) * warp * np.sqrt(2 / _FIELD_WAVES)
    field = np.cos(p @ wave + phase) @ size
    return rotation.from_vector(field[..., 3:] / length) @ R, p + field[..., :3]


def pull_to_metal(
    R: Floats, p: Floats, spots: int, size: float, radius: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Poses near lumps of metal in the floor: a pull that is `size` [m] at `radius` [m] and falls as 1/r^3."""
    where = rng.uniform([-1.2, -1.2, -0.3], [1.2, 1.2, 0.3], (spots, 3)) + [*SPACE_MIDDLE_M, 0.0]
    pull, turn = rng.standard_normal((2, spots, 3)) * size
    for place, push, twist in zip(where, pull, turn / radius, strict=True):
        r = np.linalg.norm(p - place, axis=-1, keepdims=True)
        fall = 2 / (1 + (r / radius) ** 3)
        R, p = rotation.from_vector(fall * twist) @ R, p + fall * push
    return R, p


def colour_noise(white: Floats, time: Floats, correlation_time: float) -> Floats:
    """Noise (n, ...) of the same size as `white`, correlated over `correlation_time` [s] (first order Gauss-Markov)."""
    if correlation_time <= 0:
        return white
    noise = white.copy()
    keep = np.exp(-np.diff(time) / correlation_time)
    for k, a in enumerate(keep, start=1):
        noise[k] = a * noise[k - 1] + np.sqrt(1 - a * a) * white[k]
    return noise


def draw_runs(rng: np.random.Generator, shape: tuple[int, int], fraction: Floats, length: int) -> Bools:
    """Mask (n, m) of runs of `length` frames or more that cover about `fraction` (m,) of each sensor's samples."""
    begin = rng.random(shape) < 1 - (1 - np.minimum(fraction, 0.999)) ** (1 / length)
    started = np.cumsum(begin, axis=0)
    before = np.zeros_like(started)
    before[length:] = started[:-length] if length < len(started) else 0
    return np.asarray(started > before)


def find_held_rows(stale: Bools) -> Ints:
    """Row (n, m) each sample is taken from when stale ones repeat the last that was not; the first is never stale."""
    row = np.arange(len(stale))[:, None]
    return np.asarray(np.maximum.accumulate(np.where(stale, 0, row), axis=0))


def find_run_starts(mask: Bools) -> Ints:
    """Row (n, m) at which the run of each sample began."""
    row = np.arange(len(mask))[:, None]
    begins = mask & ~np.concatenate([np.zeros_like(mask[:1]), mask[:-1]])
    return np.asarray(np.maximum.accumulate(np.where(begins, row, 0), axis=0))
