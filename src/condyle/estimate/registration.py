"""Two tracking systems in one world: rotation, translation, scale and delay of the second, from a joint between them.

Where body i of the first system and body j of the second share a point, R_i c + p_i = Q (R_j l + s p_j) + t in every
frame, with Q, s, t the second world in the first. For a given Q that is linear in c, l, s, t; Q and the delay follow by
Gauss and Newton. Sensors that sit on one body share all its points, so that the same holds of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import numpy as np

from ..io.resample import BodySamples, interpolate
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, evenly, freeze
from ..maths.series import count_frames, even_step
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.digest import measure_cadence

REGISTER_ROWS = 240  # frames that candidates are compared by, spread over the take
REGISTER_FINE_ROWS = 1500  # frames that the registration is fitted to
REGISTER_ROUNDS = 25  # of Gauss and Newton
REGISTER_BLOCKS = 8  # stretches of time, each of which is left out once to tell how sure it is
T95_BLOCKS = 2.365  # two-sided 95 % quantile of Student's t with REGISTER_BLOCKS - 1 degrees of freedom
DELAY_MOST_S = 2.0  # s that clocks may differ by
DELAY_STEP_S = 0.1  # s that a delay moves by at most before poses are taken at other times
DELAY_ROUNDS = 12  # times that they are
CLOCK_MIN_DELAY_S = 1e-3  # s below which clocks are one
SCALE_MOST_RATIO = 1.5  # of lengths of two systems: more is another unit, or no registration
SMOOTHING = np.array([-2.0, 3.0, 6.0, 7.0, 6.0, 3.0, -2.0]) / 21  # Savitzky and Golay: a cubic through seven frames
SCALE_MIN_SHARE = 0.005  # of lengths: less is one scale
SCREEN_ROUNDS = 8  # of Gauss and Newton, by which candidates are compared
QUICK_MAX_RESIDUAL_M = 0.06  # m at a first look, beyond which two figures share no joint
MOST_LAGS = 4  # delays that are tried
REGISTER_MIN_ROWS = 8  # frames with both figures, at least
DELAY_SETTLED_S = 1e-5  # s of change that ends the search
RIDGE_SHARE = 1e-9  # of the largest, added to the normal equations: what is open stays where it is
FARTHEST_JOINT_M = 1.0  # m from its sensor: a joint farther away is none


@dataclass(frozen=True, eq=False)
class Registration:
    """The second system in the world of the first: p_first = scale * R @ p_second + translation.

    pair         the two bodies that tell it, by their names, that of the first system first
    R            (3, 3)
    translation  (3,) [m]
    scale        [-];  delay [s] by which the second clock is late: its sample at t was taken at t - delay
    residual     [m]  rms gap of the joint;  before: the same with both systems in one world as recorded
    rotation_95, translation_95, scale_95, delay_95  half-widths of 95 % intervals [rad, m, -, s]; None: it was held
    """

    pair: tuple[str, str]
    R: Annotated[Floats, "3 3"]
    translation: Annotated[Floats, "3"]
    scale: float
    delay: float
    residual: float
    before: float
    rotation_95: float = np.inf
    translation_95: float = np.inf
    scale_95: float | None = None
    delay_95: float | None = None

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def angle(self) -> float:
        """[rad] between the two worlds."""
        return float(np.linalg.norm(rotation.to_vector(self.R)))

    def apply(self, take: Take, bodies: Sequence[int]) -> Take:
        """The take with these bodies brought into the first world and onto its clock."""
        R, p = take.R_world_body.copy(), take.p_world_body.copy()
        own = list(bodies)
        R[:, own], p[:, own] = shift_clock(take, own, self.delay)
        R[:, own] = self.R @ R[:, own]
        p[:, own] = self.scale * p[:, own] @ self.R.T + self.translation
        return replace(take, R_world_body=R, p_world_body=p)


def shift_clock(take: Take, bodies: Sequence[int], delay: float) -> tuple[Floats, Floats]:
    """Poses (n, k, ...) of bodies whose clock is late by `delay` [s], at the times of the take; NaN where none is."""
    R, p = take.R_world_body[:, list(bodies)].copy(), take.p_world_body[:, list(bodies)].copy()
    if delay == 0:
        return R, p
    for part in np.unique(take.segment):
        rows = np.flatnonzero(take.segment == part)
        for k, body in enumerate(bodies):
            known = rows[take.seen[rows, body]]
            stream = BodySamples("", take.time[known], p[known, k], rotation.to_quaternion(R[known, k]))
            place, turn = interpolate(stream, take.time[rows] + delay)
            there = np.isfinite(place).all(axis=1)
            p[rows, k] = place
            R[rows, k] = np.nan
            R[rows[there], k] = rotation.from_quaternion(turn[there] / np.linalg.norm(turn[there], axis=1)[:, None])
    return R, p


def find_registration(
    take: Take, first: Sequence[int], second: Sequence[int], *, quick: bool = False
) -> Registration | None:
    """The registration of two systems by the pair of bodies that fits best; None where no pair can be compared.

    Lengths and clocks of the second system are taken as those of the first where they differ by no more than chance.

    quick   by fewer frames, ended where nothing fits
    """
    tracks = _Tracks.of(take)
    coarse = _screen(tracks, first, second, quick=quick)
    if coarse is None or (quick and coarse.residual > QUICK_MAX_RESIDUAL_M):
        return None
    found = _refine(tracks, coarse, scale=False, clocked=tracks.clocked)
    if found.delay_95 is not None and abs(found.delay) < max(found.delay_95, CLOCK_MIN_DELAY_S):
        found = _refine(tracks, replace(coarse, delay=0.0), scale=False, clocked=False)
    start = replace(coarse, Q=found.R, delay=found.delay)
    other = _refine(tracks, start, scale=True, clocked=found.delay_95 is not None)
    differs = other.scale_95 is not None and abs(other.scale - 1) > max(1.5 * other.scale_95, SCALE_MIN_SHARE)
    return other if differs and other.residual < found.residual else found


@dataclass(frozen=True, eq=False)
class _Tracks:
    """Poses of a take by frame, smoothed, and how they change [1/s]; zero where the take has no clock.

    Between frames noise is less than on them, which would draw a delay to half a frame: smoothed, it is alike.
    """

    take: Take
    R: Floats
    p: Floats
    dR: Floats
    dp: Floats
    clocked: bool

    @classmethod
    def of(cls, take: Take) -> _Tracks:
        clocked = bool(take.timed and take.seconds > 2 * DELAY_MOST_S and take.segment[0] == take.segment[-1])
        R, p = take.R_world_body, take.p_world_body
        if not clocked:
            return cls(take, R, p, np.zeros_like(R), np.zeros_like(p), False)
        R, p = (_smooth(values) for values in _fill_slower(take))
        return cls(take, R, p, np.gradient(R, take.time, axis=0), np.gradient(p, take.time, axis=0), True)

    def at(self, bodies: Ints, rows: Ints, delay: float) -> tuple[Floats, Floats, Floats, Floats]:
        """R, p and their changes (n, k, ...) of bodies whose clock is late by `delay`; NaN beyond the ends."""
        time = self.take.time
        values = (self.R, self.p, self.dR, self.dp)
        if delay == 0:
            values = (self.take.R_world_body, self.take.p_world_body, self.dR, self.dp)
            return tuple(value[rows][:, bodies] for value in values)  # type: ignore[return-value]
        asked = time[rows] + delay
        left = np.clip(np.searchsorted(time, asked, "right") - 1, 0, len(time) - 2)
        u = (asked - time[left]) / (time[left + 1] - time[left])
        u = np.where((u >= 0) & (u <= 1), u, np.nan)
        found = []
        for value in values:
            wide = u.reshape(-1, *(1 for _ in value.shape[1:]))
            a, b = value[left][:, bodies], value[left + 1][:, bodies]
            found.append((1 - wide) * a + wide * b)
        return tuple(found)  # type: ignore[return-value]


def _fill_slower(take: Take) -> tuple[Floats, Floats]:
    """Rotations and positions of a take, those of sensors of a fraction of its rate in all frames by cubics."""
    R, p = take.R_world_body, take.p_world_body
    slower = np.flatnonzero(measure_cadence(take.seen) > 1)
    if not len(slower):
        return R, p
    R, p = R.copy(), p.copy()
    for body in slower.tolist():
        own, at = take.seen[:, body], (slice(None), body)
        stream = BodySamples(take.names[body], take.time[own], p[own, body], rotation.to_quaternion(R[own, body]))
        p[at], q = interpolate(stream, take.time)
        R[at] = rotation.from_quaternion(q)
    return R, p


def _smooth(values: Floats) -> Floats:
    """The least-squares cubic through SMOOTHING around each frame; ends stay as they are."""
    out = values.copy()
    if len(values) > len(SMOOTHING):
        half, n = len(SMOOTHING) // 2, len(values)
        parts = (weight * values[k : n - 2 * half + k] for k, weight in enumerate(SMOOTHING))
        out[half : n - half] = sum(parts)
    return out


@dataclass(frozen=True, eq=False)
class _Coarse:
    """A pair of bodies with the rotation and the delay [s] to begin with."""

    i: int
    j: int
    Q: Floats
    delay: float
    residual: float


@dataclass(frozen=True, eq=False)
class _State:
    """P candidates: unknowns c, l (P, 3), t (P, 3), s (P,), Q (P, 3, 3), delay (P,) and their residual (P,) [m]."""

    c: Floats
    l: Floats
    t: Floats
    s: Floats
    Q: Floats
    delay: Floats
    residual: Floats


@dataclass(frozen=True, eq=False)
class _Poses:
    """Poses of P pairs over n frames: R_i, R_j (P, n, 3, 3), p_i, p_j (P, n, 3), and how the second's change [1/s]."""

    R_i: Floats
    p_i: Floats
    R_j: Floats
    p_j: Floats
    dR_j: Floats
    dp_j: Floats


def _gather(tracks: _Tracks, pairs: Ints, rows: Ints, delay: float) -> _Poses | None:
    """The poses of pairs in frames in which all of them are seen, the second's clock put right by `delay`."""
    first, second = np.unique(pairs[:, 0]), np.unique(pairs[:, 1])
    R, p, dR, dp = tracks.at(second, rows, delay)
    known: Bools = np.asarray(np.isfinite(p).all(axis=(1, 2)) & np.isfinite(dp).all(axis=(1, 2)))
    known &= tracks.take.seen[rows][:, first].all(axis=1)
    if known.sum() < REGISTER_MIN_ROWS:
        return None
    own, place = rows[known], np.searchsorted(second, pairs[:, 1])

    def pick(values: Floats, which: Ints) -> Floats:
        return np.ascontiguousarray(np.swapaxes(values[:, which], 0, 1))

    R_i, p_i = (pick(value[own], pairs[:, 0]) for value in (tracks.take.R_world_body, tracks.take.p_world_body))
    return _Poses(R_i, p_i, *(pick(value[known], place) for value in (R, p, dR, dp)))


def _find_lags(tracks: _Tracks, pairs: Ints) -> list[float]:
    """[s] delays by which two bodies of a pair, as fast as each other, keep step best; 0 is always among them."""
    if not tracks.clocked:
        return [0.0]
    take, step = tracks.take, take_step(tracks.take)
    grid = np.arange(take.time[0], take.time[-1], step)
    speeds = []
    for change, axes in ((tracks.dp, (2,)), (tracks.dR, (2, 3))):
        size = np.sqrt(np.square(change).sum(axis=axes))
        size = np.stack([_fill(grid, take.time, one) for one in size.T])
        size = size - size.mean(axis=1, keepdims=True)
        speeds.append(size / np.maximum(np.sqrt(np.square(size).sum(axis=1, keepdims=True)), 1e-12))
    n = 2 * len(grid)
    spectra = [np.fft.rfft(size, n, axis=1) for size in speeds]
    most = count_frames(DELAY_MOST_S / step, len(grid) - 1)
    together = sum(np.fft.irfft(np.conj(own[pairs[:, 0]]) * own[pairs[:, 1]], n, axis=1) for own in spectra)
    near = np.concatenate([np.asarray(together)[:, -most:], np.asarray(together)[:, : most + 1]], axis=1)
    best = np.argsort(-near.max(axis=1))[:MOST_LAGS]
    lags = [float((int(np.argmax(near[k])) - most) * step) for k in best]
    return list(dict.fromkeys([0.0, *lags]))


def take_step(take: Take) -> float:
    """[s] usual time from frame to frame, at least a hundredth, nor so short that it would make many frames of each."""
    return max(even_step(take.time), 0.01)


def _fill(grid: Floats, time: Floats, values: Floats) -> Floats:
    known = np.isfinite(values)
    return np.interp(grid, time[known], values[known]) if known.any() else np.zeros_like(grid)


def _start_rotations(poses: _Poses) -> list[Floats]:
    """(P, 3, 3) guesses of Q: by how the bodies travel, by how they turn, and the worlds as they are."""
    guesses = []
    turned = [rotation.to_vector(R[:, 1:] @ np.swapaxes(R[:, :-1], -1, -2)) for R in (poses.R_i, poses.R_j)]
    travelled = [p - p.mean(axis=1, keepdims=True) for p in (poses.p_i, poses.p_j)]
    for a, b in (turned, travelled):
        guesses.append(rotation.project(np.einsum("pnx,pny->pxy", a, b)))
    return [*guesses, np.broadcast_to(np.eye(3), guesses[0].shape)]


def _solve(poses: _Poses, Q: Floats, *, scale: bool, clocked: bool, rounds: int = REGISTER_ROUNDS) -> _State:
    """All unknowns of P pairs from guesses of Q."""
    P, n = poses.p_i.shape[:2]
    s, delay = np.ones(P), np.zeros(P)
    middle_i, middle_j = poses.p_i.mean(axis=1), poses.p_j.mean(axis=1)
    p_i, p_j = poses.p_i - middle_i[:, None], poses.p_j - middle_j[:, None]
    c = l = t = np.zeros((P, 3))
    columns = 14
    held = np.zeros(columns, bool)
    held[9], held[13] = not scale, not clocked
    free = np.flatnonzero(~held)
    for _ in range(rounds):
        R_j, at_j = poses.R_j + delay[:, None, None, None] * poses.dR_j, p_j + delay[:, None, None] * poses.dp_j
        QR = Q[:, None] @ R_j
        arm = np.einsum("pnxy,py->pnx", QR, l)
        moved = np.einsum("pxy,pny->pnx", Q, at_j)
        J = np.zeros((P, n, 3, columns))
        J[..., :3], J[..., 3:6], J[..., 6:9] = poses.R_i, -QR, -np.eye(3)
        J[..., 9] = -moved
        J[..., 10:13] = rotation.skew(arm + s[:, None, None] * moved)
        speed = np.einsum("pnxy,py->pnx", poses.dR_j, l) + s[:, None, None] * poses.dp_j
        J[..., 13] = -np.einsum("pxy,pny->pnx", Q, speed)
        gap = np.einsum("pnxy,py->pnx", poses.R_i, c) + p_i - arm - s[:, None, None] * moved - t[:, None]
        flat = J[..., free].reshape(P, 3 * n, -1)
        gram = np.swapaxes(flat, 1, 2) @ flat
        size = np.sqrt(np.maximum(np.einsum("pkk->pk", gram), 1e-300))
        gram = gram / (size[:, :, None] * size[:, None, :]) + RIDGE_SHARE * np.eye(len(free))
        right = np.einsum("pmk,pm->pk", flat, gap.reshape(P, -1)) / size
        step = np.zeros((P, columns))
        step[:, free] = -np.linalg.solve(gram, right[..., None])[..., 0] / size
        turn = step[:, 10:13]
        turn = turn * np.minimum(1.0, 0.5 / np.maximum(np.linalg.norm(turn, axis=1), 1e-12))[:, None]
        c, l, t = c + step[:, :3], l + step[:, 3:6], t + step[:, 6:9]
        s, delay = s + step[:, 9], np.clip(delay + step[:, 13], -DELAY_STEP_S, DELAY_STEP_S)
        Q = rotation.from_vector(turn) @ Q
    QR = Q[:, None] @ (poses.R_j + delay[:, None, None, None] * poses.dR_j)
    place = p_j + delay[:, None, None] * poses.dp_j
    gap = np.einsum("pnxy,py->pnx", poses.R_i, c) + p_i - np.einsum("pnxy,py->pnx", QR, l)
    gap -= s[:, None, None] * np.einsum("pxy,pny->pnx", Q, place) + t[:, None]
    residual = np.sqrt(np.square(gap).sum(axis=2).mean(axis=1))
    whole = t + middle_i - s[:, None] * np.einsum("pxy,py->px", Q, middle_j)
    return _State(c, l, whole, s, Q, delay, residual)


def _screen(tracks: _Tracks, first: Sequence[int], second: Sequence[int], *, quick: bool = False) -> _Coarse | None:
    """The pair of bodies that fits best, with a rotation and a delay to begin with."""
    pairs = np.array([(i, j) for i in first for j in second])
    rows = evenly(tracks.take.frames, REGISTER_ROWS // 2 if quick else REGISTER_ROWS)
    best, chosen = np.inf, None
    for delay in _find_lags(tracks, pairs)[: 2 if quick else None]:
        poses = _gather(tracks, pairs, rows, delay)
        for Q in [] if poses is None else _start_rotations(poses):
            assert poses is not None
            found = _solve(poses, Q, scale=True, clocked=tracks.clocked, rounds=SCREEN_ROUNDS)
            far = np.maximum(np.linalg.norm(found.c, axis=1), np.linalg.norm(found.l, axis=1)) > FARTHEST_JOINT_M
            far |= np.abs(np.log(np.maximum(found.s, 1e-9))) > np.log(SCALE_MOST_RATIO)
            score = np.where(far | ~np.isfinite(found.residual), np.inf, found.residual)
            k = int(np.argmin(score))
            if score[k] < best:
                best, late = float(score[k]), delay + float(found.delay[k])
                chosen = _Coarse(int(pairs[k, 0]), int(pairs[k, 1]), found.Q[k], late if tracks.clocked else 0.0, best)
    return chosen


def _refine(tracks: _Tracks, coarse: _Coarse, *, scale: bool, clocked: bool) -> Registration:
    """The registration by one pair, with its intervals by leaving out one stretch of time after the other."""
    take = tracks.take
    pairs, rows = np.array([(coarse.i, coarse.j)]), evenly(take.frames, REGISTER_FINE_ROWS)
    Q, delay = coarse.Q, coarse.delay
    best: tuple[_State, _Poses, float] | None = None
    for _ in range(DELAY_ROUNDS):
        poses = _gather(tracks, pairs, rows, delay)
        if poses is None:
            break
        state = _solve(poses, Q[None], scale=scale, clocked=clocked)
        if best is None or state.residual[0] < best[0].residual[0]:
            best = state, poses, delay
        Q = state.Q[0]
        if abs(state.delay[0]) < DELAY_SETTLED_S:
            break
        delay = float(np.clip(delay + state.delay[0], -DELAY_MOST_S, DELAY_MOST_S))
    names = (take.names[coarse.i], take.names[coarse.j])
    if best is None:
        return Registration(names, Q, np.zeros(3), 1.0, delay, np.inf, np.inf)
    state, poses, delay = best
    Q = state.Q[0]
    parts = _leave_out(poses, Q, scale=scale, clocked=clocked)
    turn = np.stack([rotation.to_vector(part.Q[0] @ Q.T) for part in parts])
    # The place of the second system is told where its sensor was: elsewhere the rotation adds to it.
    middle = poses.p_j[0].mean(axis=0)
    place = np.stack([part.t[0] + part.s[0] * part.Q[0] @ middle for part in parts])
    one = _gather(tracks, pairs, rows, 0.0)
    return Registration(
        names,
        Q,
        state.t[0],
        float(state.s[0]),
        delay + float(state.delay[0]),
        float(state.residual[0]),
        np.inf if one is None else _residual_in_one_world(one),
        _jackknife(turn),
        _jackknife(place),
        _jackknife(np.array([[part.s[0]] for part in parts])) if scale else None,
        _jackknife(np.array([[part.delay[0]] for part in parts])) if clocked else None,
    )


def _leave_out(poses: _Poses, Q: Floats, *, scale: bool, clocked: bool) -> list[_State]:
    n = poses.p_i.shape[1]
    cuts = np.linspace(0, n, REGISTER_BLOCKS + 1).astype(int)
    states = []
    for first, last in pairwise(cuts.tolist()):
        kept = np.r_[0:first, last:n]
        part = _Poses(*(getattr(poses, name)[:, kept] for name in _Poses.__dataclass_fields__))
        states.append(_solve(part, Q[None], scale=scale, clocked=clocked, rounds=8))
    return states


def _jackknife(values: Floats) -> float:
    """Half-width of the 95 % interval of a vector, where it is widest, from values (b, k) each without one stretch."""
    off = values - values.mean(axis=0)
    blocks = len(values)
    covariance = (blocks - 1) / blocks * off.T @ off
    return float(T95_BLOCKS * np.sqrt(np.linalg.eigvalsh(covariance)[-1]))


def _residual_in_one_world(poses: _Poses) -> float:
    """[m] rms gap of the pair's joint as recorded."""
    rows = np.concatenate([poses.R_i[0], -poses.R_j[0]], axis=2).reshape(-1, 6)
    apart = (poses.p_j[0] - poses.p_i[0]).ravel()
    u = np.linalg.lstsq(rows, apart, rcond=1e-9)[0]
    return float(np.sqrt(np.square((rows @ u - apart).reshape(-1, 3)).sum(axis=1).mean()))
