"""How late each sensor reports against the others, from joints that come apart in the direction they move.

Where sensor i of a joint is late by tau_i, the two sides of the joint differ by e = -(tau_i - tau_j) v, with v the
velocity of the joint: no rotation centre looks like that, so the delay and the centre are told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..findings import Finding
from ..maths.arrays import Bools, Floats, Ints, dot_rows, evenly, norm_rows
from ..maths.graph import components, spanning_tree
from ..maths.robust import CHI3_MEDIAN, median, tukey_weight
from ..maths.spool import blocks, copy_array, empty, over_frames, seal
from ..model.options import FitOptions
from ..model.stage import Decision, Effect
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.digest import digest_take
from ..pairs.fits import PairFits, fit_pairs
from ..pairs.noise import Noise, estimate_noise
from ..pairs.outliers import ROUNDING_M
from ..pairs.sums import PairSums, sum_pairs
from .samples import Neighbours

FIRST_LOOK_FRAMES = 1000  # rows of the first look, spread over the take; half as many where they are of several frames
SECOND_LOOK_FRAMES = 2500  # frames looked at where that shows something; more hardly sharpen a delay that matters
MOST_SHIFT_ROUNDS = 10  # times that poses are shifted and what is left is estimated again, at most
SETTLED_DELAY_S = 1e-3  # s of change from one round to the next below which all those frames are worth it
SEEN_OFTEN_SHARE = (
    0.7  # share of a delay that noisy velocities leave to be seen, above which its rounds end where they should
)
SEEN_MIN_SHARE = 0.2  # share of a delay that noisy velocities are taken to leave to be seen, at least
OUTLIER_ROUNDS = 3  # times that outliers are weighed, where there are any
DELAY_TUKEY_SD = 8.0  # robust standard deviations at which a gap stops counting
SPIKE_MIN_BENDS = 5.0  # times that a path must bend more than around to be one
FIRST_LOOK_MIN_SE = 3.5  # standard errors at the first look from which there is a second
LATENCY_MIN_SE = 6.0  # standard errors from which a take has latency at all
FURTHER_DELAY_MIN_SE = 3.0  # standard errors from which, in such a take, one more sensor is late
FREE_DELAY_MIN_SE = 1.0  # standard errors from which one more is late where most differ, and none is presumed to agree
DELAY_MIN_S = 1e-4  # s of delay below which nothing is done
SLIGHT_DELAY_S = 3e-5  # s below which a sensor is left alone where others are late
LATENCY_MIN_TAKE_S = 2.0  # s of a take, below which latency is not asked for
LATENCY_MIN_BODIES = 3  # of two bodies nothing tells which one is late
LATENCY_MOST_BODIES = 128  # beyond which nothing is asked: the forest of so many is not sure enough
MOST_LOOKED_AT_POSES = 60_000  # frames times bodies looked at, at most
DELAY_BLOCKS = 8  # stretches of equal information whose disagreement tells how well a delay is known
FOLLOWS_MAX_SHARE = 0.1  # share of a gap that is no noise by which it may follow the velocity without any delay
# Skin answers the motion of its joints, alike within a band of frequencies and by chance from band to band, so that a
# walk of few harmonics looks late more easily than exercises do. Of 12 simulated walks under 5 mm of skin one had 6.6
# standard errors without bands, and none above 3.5 with them; feet late by 10 ms had 7.9 and more.
SKIN_BAND_HZ = 0.5  # Hz of a band's width, at most
SKIN_MIN_BANDS = 16  # bands below half the rate of what is looked at
UNKNOWN_DELAY_SE_S = 10.0  # s: standard error of a delay that nothing tells


@dataclass(frozen=True, eq=False)
class Latency:
    """Delays of the sensors of a take.

    delay   (m,) [s]  how late each reports against the largest group that agrees
    error   (m,) [s]  its standard error; UNKNOWN_DELAY_SE_S or more where the motion does not tell
    late    (m,)      whether the delay is told and matters
    """

    delay: Floats
    error: Floats
    late: Bools


def find_latency(take: Take, only_late: bool = False) -> Latency | None:
    """The delays, or None where they cannot be told: no time, too short, too few bodies that are seen together.

    A first look at few frames ends it for most takes: no two joined sensors differ by more than chance.

    only_late  None as well where that is so: how well the delays are known is not worked out then
    """
    if (
        not take.timed
        or not LATENCY_MIN_BODIES <= take.bodies <= LATENCY_MOST_BODIES
        or take.seconds < LATENCY_MIN_TAKE_S
    ):
        return None
    near = Neighbours.of(take)
    told = _look_at_rows(take) if near.even else _look_at(take, near, FIRST_LOOK_FRAMES)
    if told is None or not _any_late(told, FIRST_LOOK_MIN_SE):
        return None if told is None or only_late else _none_late(told, take.bodies)
    take = take.mask(spikes) if (spikes := _spikes(take)).any() else take
    few, many = (_spread(near, take.bodies, most) for most in (FIRST_LOOK_FRAMES, SECOND_LOOK_FRAMES))
    rows, shift, noise = few, np.zeros(take.bodies), estimate_noise(take)
    for _ in range(MOST_SHIFT_ROUNDS):
        again = _round(take, near, rows, shift, noise)
        if again is None:
            return None
        told, found = again, _settle(again, take.bodies)
        moved, shift = float(np.ptp(found.delay - shift)), found.delay  # which group stands for 0 means nothing
        if moved < DELAY_MIN_S and rows is many:
            break
        rows = many if moved < SETTLED_DELAY_S else rows
    farther = _bracket(take, near, rows, shift, noise)
    again = None if farther is None else _round(take, near, rows, _settle(farther, take.bodies).delay, noise)
    if again is not None:
        told, found = again, _settle(again, take.bodies)
    # Only now is it asked whether anything is sure: while a sensor is late by much, what its delay does not explain
    # of the gap makes it look less sure than it is.
    return found if _is_sure(told) else _none_late(told, take.bodies)


def _look_at_rows(take: Take) -> _Delays | None:
    """What the joints tell of the delays in mean poses of an even clock.

    The gap of mean poses is the mean gap, and their velocity the mean velocity: a delay shows in them as in the frames,
    with less noise.
    """
    digest = digest_take(take)
    rows = digest.as_take(take)
    most = max(FIRST_LOOK_FRAMES // digest.every, FIRST_LOOK_FRAMES // 2)
    edges = _edges(rows.bodies, digest.sums, digest.fits, rows.names)
    return _look_at(rows, Neighbours.of(rows), most, digest.noise.of_rows(digest.every), edges)


def _look_at(
    take: Take, near: Neighbours, most: int, noise: Noise | None = None, edges: PairFits | None = None
) -> _Delays | None:
    """What the joints tell of the delays as recorded; None where too few samples follow each other."""
    few = _spread(near, take.bodies, most)
    if len(few) < 10 * DELAY_BLOCKS:
        return None
    take = take.mask(spikes) if (spikes := _spikes(take)).any() else take
    return _round(take, near, few, np.zeros(take.bodies), noise, edges)


def _spread(near: Neighbours, bodies: int, most: int) -> Ints:
    """Samples whose neighbours are all there, so many at most, spread over the take."""
    every = np.flatnonzero(near.whole)
    return every[evenly(len(every), min(most, MOST_LOOKED_AT_POSES // bodies))]


def _spikes(take: Take) -> Bools:
    """(n, m) samples at which a path bends far more than around: they would spoil the velocity of their neighbours."""
    out = np.zeros((take.frames, take.bodies), dtype=bool)
    p = take.p_world_body
    bend = empty(out.shape)
    bend[:1] = bend[-1:] = 0.0
    for rows in blocks(p[2:]):
        a, b, c = (p[rows.start + k : rows.stop + k] for k in range(3))
        bend[rows.start + 1 : rows.stop + 1] = norm_rows(a - 2 * b + c)
    frame, body = np.nonzero(bend > SPIKE_MIN_BENDS * median(bend))
    around = np.clip(frame[:, None] + np.r_[-6:-1, 2:7], 1, take.frames - 2)
    local = median(bend[around, body[:, None]].T) if len(frame) else np.zeros(0)
    own = np.maximum(bend[frame - 1, body], bend[(frame + 1) % take.frames, body])
    worst = (bend[frame, body] > SPIKE_MIN_BENDS * local) & ~(bend[frame, body] < own)
    out[frame[worst], body[worst]] = True
    return out


@dataclass(frozen=True, eq=False)
class _Delays:
    """Edges (J, 2) of a forest with the delay of the first body over the second (J,) [s], its standard error, and what
    skin may add to that by chance, where the delay would be looked at again.
    """

    pairs: Ints
    difference: Floats
    error: Floats
    chance: Floats


def _any_late(told: _Delays, errors: float) -> bool:
    size = np.abs(told.difference)
    return bool(((size > errors * told.error) & (size > DELAY_MIN_S)).any())


def _is_sure(told: _Delays) -> bool:
    """Whether a sensor differs from one that it is joined to, or from all of them together, by more than skin does."""
    ends = told.pairs.ravel()
    variance = np.square(np.maximum(np.hypot(told.error, told.chance), 1e-9))
    own = (told.pairs[:, :1] == ends) * 1.0 - (told.pairs[:, 1:] == ends)
    own = np.concatenate([np.eye(len(told.pairs)), own], axis=1) / variance[:, None]
    precision = np.abs(own).sum(axis=0)
    size = np.abs(told.difference @ own) / precision
    return bool(((size * np.sqrt(precision) > LATENCY_MIN_SE) & (size > DELAY_MIN_S)).any())


def _round(
    take: Take, near: Neighbours, rows: Ints, shift: Floats, noise: Noise | None, fits: PairFits | None = None
) -> _Delays | None:
    """What the joints tell of the delays when each sensor is read `shift` (m,) [s] later; fits: the joints of a forest
    where they are known.
    """
    at = near.nearest(rows, shift)
    velocity = near.velocity(take, at)
    rest = shift - (near.time[at] - near.time[rows, None])
    part = _report(take, rows, at, rest[..., None] * velocity)
    if fits is None:
        sums = sum_pairs(part)
        fits = _edges(part.bodies, sums, fit_pairs(sums), part.names)
    if len(fits.pairs) < LATENCY_MIN_BODIES - 1:
        return None
    i, j = fits.pairs.T
    white = np.full(len(i), np.inf) if noise is None else noise.gap_variance(*fits.joints)
    return _Delays(fits.pairs, *_differences(part, fits, velocity, white, shift[i] - shift[j]))


def _bracket(take: Take, near: Neighbours, rows: Ints, shift: Floats, noise: Noise) -> _Delays | None:
    """What the joints tell when every late sensor is read at the sample before its delay, and at the one after it.

    Velocities are noisy, so that a delay is seen too small, by a share that is the same on both sides. Where what is
    left changes sign between the two is the delay. None where that share is about 1, as it mostly is: then nothing
    is gained. None where the two give different trees.
    """
    step = 1 / take.rate
    moves = np.abs(shift) > SLIGHT_DELAY_S
    if not moves.any():
        return None
    before = np.where(moves, np.floor(shift / step), 0.0)
    low = _round(take, near, rows, before * step, noise)
    high = _round(take, near, rows, (before + moves) * step, noise)
    if low is None or high is None:
        return None
    order = {frozenset(pair): k for k, pair in enumerate(high.pairs.tolist())}
    at = [order.get(frozenset(pair), -1) for pair in low.pairs.tolist()]
    if min(at) < 0:
        return None
    i, j = low.pairs.T
    other = high.difference[at] * np.where(high.pairs[at, 0] == i, 1.0, -1.0)
    apart = step * (1.0 * moves[i] - moves[j])
    first = step * (before[i] - before[j])
    share = np.ones(len(i))
    differ = apart != 0
    share[differ] = np.clip(1 - (other - low.difference)[differ] / apart[differ], SEEN_MIN_SHARE, 1.0)
    if share.min(initial=1.0) > SEEN_OFTEN_SHARE:
        return None
    return _Delays(low.pairs, first + (low.difference - first) / share, low.error / share, low.chance / share)


def without_latency(take: Take, delay: Floats) -> Take:
    """The take with every sensor `delay` (m,) [s] earlier: at each frame, the pose it reported that much later.

    The nearest sample is carried the rest of the way by its smoothed velocity and acceleration. Interpolation would
    lower and colour its noise, and what later corrects for that noise would correct too little. Poses that would come
    from beyond a recording's ends, or from a hole in it, are not seen.
    """
    R, p = copy_array(take.R_world_body), copy_array(take.p_world_body)
    near = Neighbours.of(take)
    for body in np.flatnonzero(delay):
        moved = near.carry(take, int(body), float(delay[body]))
        R[:, body] = over_frames(lambda part: _orthonormal(part[:, :9].reshape(-1, 3, 3)), moved)
        p[:, body] = moved[:, 9:]
    return replace(take, R_world_body=seal(R), p_world_body=seal(p))


def _report(take: Take, rows: Ints, at: Ints, further: Floats) -> Take:
    """The frames `rows`, each sensor with the sample `at` (k, m) of its own, carried on by `further` (k, m, 12)."""
    body = np.arange(take.bodies)
    R, p = take.R_world_body[at, body], take.p_world_body[at, body]
    if (at < 0).any():
        R, p = np.where((at < 0)[..., None, None], np.nan, R), np.where((at < 0)[..., None], np.nan, p)
    if further.any():
        R, p = R + further[..., :9].reshape(R.shape), p + further[..., 9:]
    return Take(take.names, take.time[rows], R, p, take.segment[rows])


def _edges(bodies: int, sums: PairSums, fits: PairFits, names: Sequence[str]) -> PairFits:
    """The joints of the lightest spanning forest of bodies, from the sums and the joints of all pairs."""
    residual = np.where(fits.frames < 0.2 * median(fits.frames), np.nan, fits.residual)
    return fit_pairs(sums, fits.pairs[spanning_tree(bodies, fits.pairs, residual, names)])


def _differences(
    part: Take, fits: PairFits, velocity: Floats, white: Floats, shifted: Floats
) -> tuple[Floats, Floats, Floats]:
    """(J,) [s] delay of the child over that of the parent, its standard error, and what skin may add to that by chance.

    Delay and centre are fitted together to the gaps of each joint; `velocity` (k, m, 12) is that of each pose, `white`
    (J,) [m^2] the part of the gaps that is noise, `shifted` (J,) [s] the part of the delay that poses were moved by.
    """
    i, j = fits.pairs.T
    n, J = part.frames, len(i)
    R, p, turning = part.R_world_body, part.p_world_body, velocity[..., :9].reshape(n, -1, 3, 3)
    Z, V = np.empty((J, n, 3, 7)), np.empty((J, n, 3, 6))
    Z[..., :3], Z[..., 3:6] = R[:, i].transpose(1, 0, 2, 3), -R[:, j].transpose(1, 0, 2, 3)
    V[..., :3], V[..., 3:] = turning[:, i].transpose(1, 0, 2, 3), turning[:, j].transpose(1, 0, 2, 3)
    centre = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1)[..., None]
    e = (Z.reshape(J, 3 * n, 7)[..., :6] @ centre).reshape(J, n, 3) + (p[:, i] - p[:, j]).transpose(1, 0, 2)
    moving = (velocity[:, i, 9:] + velocity[:, j, 9:]).transpose(1, 0, 2)
    Z[..., 6] = 0.5 * ((V.reshape(J, 3 * n, 6) @ centre).reshape(J, n, 3) + moving)
    known = np.asarray(np.isfinite(e).all(axis=2))  # a pose that has no velocity is not seen here
    if not known.all():
        Z[~known], e = 0.0, np.where(known[..., None], e, 0.0)
    weight: Floats = known.astype(np.float64)
    X, y = Z.reshape(J, 3 * n, 7), e.reshape(J, 3 * n, 1)
    for number in range(OUTLIER_ROUNDS + 1):
        WX = np.swapaxes(X if number == 0 else X * np.repeat(weight, 3, axis=1)[..., None], 1, 2)
        gram = WX @ X
        u = -np.linalg.pinv(gram, rcond=1e-12, hermitian=True) @ (WX @ y)
        rest = (y + X @ u).reshape(J, n, 3)
        length = norm_rows(rest)
        scale = np.maximum(median(np.where(known, length, np.nan).T) / CHI3_MEDIAN, ROUNDING_M)
        x = length / (DELAY_TUKEY_SD * scale[:, None])
        if number == OUTLIER_ROUNDS or not (x > 1).any():
            break
        weight = known * tukey_weight(x)
    delay, step = u[:, 6, 0] + shifted, float(median(np.diff(part.time)))
    return delay, *_errors(Z, rest, weight, gram, white, delay, step)


def _errors(
    Z: Floats, rest: Floats, weight: Floats, gram: Floats, white: Floats, delay: Floats, step: float
) -> tuple[Floats, Floats]:
    """(J,) [s] standard error of a delay: what white noise leaves, or what stretches disagree by, if more; and what
    skin may add, as much as motions are alike by chance, where any `delay` (J,) [s] would be looked at again.

    Skin and field follow the motion: a share of the gap beyond the noise may look like a delay throughout.
    step  [s] from row to row
    """
    J, n = weight.shape
    centre = np.linalg.pinv(gram[:, :6, :6], rcond=1e-12, hermitian=True) @ gram[:, :6, 6:]
    own = Z[..., 6] - (Z[..., :6].reshape(J, 3 * n, 6) @ centre).reshape(J, n, 3)
    worth, score = weight * dot_rows(own, own), weight * dot_rows(own, rest)
    total = worth.sum(axis=1)
    variance = (weight * dot_rows(rest, rest)).sum(axis=1) / np.maximum(3 * weight.sum(axis=1) - 7, 1)
    out = np.full(J, UNKNOWN_DELAY_SE_S)
    for a in np.flatnonzero(total > 1e-12 * gram[:, 6, 6]):
        block = np.minimum((np.cumsum(worth[a]) / total[a] * DELAY_BLOCKS).astype(np.int64), DELAY_BLOCKS - 1)
        between = np.square(np.bincount(block, score[a], DELAY_BLOCKS)).sum() * DELAY_BLOCKS / (DELAY_BLOCKS - 1)
        follows = FOLLOWS_MAX_SHARE * np.sqrt(max(variance[a] - white[a], 0.0) * 3 * weight[a].sum() / total[a])
        out[a] = np.hypot(max(np.sqrt(variance[a] / total[a]), np.sqrt(between) / total[a]), follows)
    chance = np.zeros(J)
    if (np.abs(delay) > FIRST_LOOK_MIN_SE * out).any():
        half = np.sqrt(weight)[..., None, None] * np.swapaxes(Z[..., 3:6], 2, 3)  # to the parent's axes, as the skin is
        products = _multiply_bands((half @ own[..., None])[..., 0], (half @ rest[..., None])[..., 0], step)
        beyond = np.maximum(variance - white, 0.0) / np.maximum(variance, 1e-300)
        chance = np.sqrt(beyond * products) / np.maximum(total, 1e-300)
    return np.asarray(np.minimum(out, UNKNOWN_DELAY_SE_S)), np.minimum(chance, UNKNOWN_DELAY_SE_S)


def _multiply_bands(one: Floats, other: Floats, step: float) -> Floats:
    """(J,) variance of the sums of products of two courses (J, n, 3), rows every `step` [s], were their phases
    apart by chance in every band.
    """
    n = one.shape[1]
    frequency = np.abs(np.fft.fftfreq(n, step))
    band = (frequency / min(SKIN_BAND_HZ, 0.5 / step / SKIN_MIN_BANDS)).astype(np.int64)
    order = np.argsort(band, kind="stable")
    starts = np.flatnonzero(np.diff(band[order], prepend=-1))
    power = (np.add.reduceat(np.square(np.abs(np.fft.fft(x, axis=1)))[:, order], starts, axis=1) for x in (one, other))
    return np.asarray(np.prod(list(power), axis=0).sum(axis=(1, 2)) / (2 * n**2))


def _none_late(edges: _Delays, bodies: int) -> Latency:
    return replace(_settle(edges, bodies), delay=np.zeros(bodies), late=np.zeros(bodies, dtype=bool))


def _settle(edges: _Delays, bodies: int) -> Latency:
    """Delays of the bodies from those over the edges; differences that are not told count as none.

    Among sensors that are linked the largest group that agrees stands for 0, or the middle one. An edge that could
    hide a delay as large as the largest told one links nothing: else a chest that is late against head and arms, with
    little to tell it from the pelvis, would have head and arms moved in its place.
    """
    size, J = np.abs(edges.difference), len(edges.pairs)
    told = (size > FURTHER_DELAY_MIN_SE * edges.error) & (size > SLIGHT_DELAY_S)
    errors = FREE_DELAY_MIN_SE if 2 * told.sum() >= J else FURTHER_DELAY_MIN_SE
    told = (size > errors * edges.error) & (size > SLIGHT_DELAY_S)
    incidence = np.zeros((J, bodies))
    incidence[np.arange(J), edges.pairs[:, 0]] = 1
    incidence[np.arange(J), edges.pairs[:, 1]] = -1
    back = np.linalg.pinv(incidence)
    delay = np.asarray(back @ np.where(told, edges.difference, 0.0), dtype=np.float64)
    error = np.zeros(bodies)
    links = FURTHER_DELAY_MIN_SE * edges.error < max(float(size[told].max(initial=0.0)), SLIGHT_DELAY_S)
    for group in components(bodies, edges.pairs[links]):
        own = delay[group]
        company = (np.abs(own[:, None] - own) < SLIGHT_DELAY_S).sum(axis=1)
        middle = np.abs(own - float(median(own))) / max(float(np.ptp(own)), 1e-12)
        delay[group] = own - own[int(np.argmax(company - 1e-3 * middle))]
        agree = [body for body in group if abs(delay[body]) < SLIGHT_DELAY_S]
        between = back * edges.error  # of the difference of two bodies, the edges between them are left
        square = np.square(between).sum(axis=1)
        apart = square[group, None] + square[agree] - 2 * between[group] @ between[agree].T
        error[group] = np.sqrt(np.maximum(apart, 0.0)).min(axis=1)
    if errors == FURTHER_DELAY_MIN_SE:
        # Few are late. Those that are not agree, so every edge of a late one tells its delay.
        late = np.abs(delay) > np.maximum(FURTHER_DELAY_MIN_SE * error, SLIGHT_DELAY_S)
        weight = 1 / np.maximum(edges.error, 1e-9)
        told_by_all, *_ = np.linalg.lstsq(incidence[:, late] * weight[:, None], edges.difference * weight, rcond=1e-9)
        delay[:] = 0.0
        delay[late] = told_by_all
    return Latency(delay, error, np.abs(delay) > SLIGHT_DELAY_S)


def _orthonormal(R: Floats) -> Floats:
    """Rotations next to matrices (n, 3, 3) that are nearly so; NaN stays."""
    for _ in range(3):
        R = R @ (1.5 * np.eye(3) - 0.5 * np.swapaxes(R, 1, 2) @ R)
    return np.asarray(R)


@dataclass(frozen=True, eq=False)
class LatencyRepair:
    """Sensors that report late moved to the time they measured: delay (m,) [s], 0 where none."""

    delay: Floats
    names: tuple[str, ...]
    repair: str = "latency"
    effect: Effect = "moves"
    first: int = 0
    size: float | None = None
    hold: tuple[tuple[str, str], ...] = ()
    at_border: bool = False

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(name for name, delay in zip(self.names, self.delay, strict=True) if delay)

    @property
    def late(self) -> Floats:
        """[s] of the bodies."""
        return np.asarray(self.delay[self.delay != 0])

    @property
    def delays(self) -> str:
        named = zip(self.bodies, self.late, strict=True)
        return ", ".join(f"{name} {float(f'{1000 * delay:.2g}'):+g} ms" for name, delay in named)  # no 1e+02

    @property
    def suspicion(self) -> str:
        return f"sensors that may report late against the others: {self.delays}"

    def apply(self, take: Take) -> Take:
        return without_latency(take, self.delay)

    def describe(self) -> list[Finding]:
        text = (
            f"sensors report late against the others: {self.delays}; their poses were moved to the time they were "
            "measured; synchronise the sensors if the device can"
        )
        late = self.late
        largest = float(late[np.argmax(np.abs(late))])
        return [Finding("latency", "warning", text, self.bodies, value=largest, unit="s")]


def repair_latency(take: Take, options: FitOptions) -> Decision:
    """The stage of it. Bodies that were formed from markers were seen by one system of cameras, at one moment."""
    asked = options.prepare and options.fixes("latency") and not take.markers
    latency = find_latency(take, only_late=True) if asked else None
    if latency is None or not latency.late.any():
        return Decision()
    return Decision(changes=[LatencyRepair(np.where(latency.late, latency.delay, 0.0), take.names)])
