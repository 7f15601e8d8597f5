"""The digest of a take: rows, the mean pose [R | p] of every body about every 1/30 s, made in one pass over its frames.

A gap R_i c + p_i - R_j l - p_j is linear in the poses, so the gap of the mean poses is the mean gap, exactly: rows are
rows of the same regression, with as many times less white noise as a row has frames, whatever the frame rate. Mean
rotations are no rotations (R'R < I), so what needs R'R = I reads `sum_rows`, which puts back what the means lost.

Digests add: those of pieces that were cut at rows' borders, one after the other, have the rows of the whole.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, dot_rows, find_marked
from ..maths.robust import median
from ..maths.series import average_runs, count_frames
from ..maths.spool import (
    BLOCK_BYTES,
    POSE_BYTES,
    blocks,
    blocks_of,
    copy_array,
    empty,
    hide,
    over_frames,
    seal,
    take_rows,
    zeros,
)
from ..model.values import dataclass
from .fits import PairFits, fit_pairs
from .noise import DIFFERENCE_ORDER, NOISE_MAX_WINDOWS, Noise, PlaceNoise, fit_place_noise, sixth_differences
from .sums import RowSums, sum_rows

if TYPE_CHECKING:
    from ..model.take import Take

ROW_RATE_HZ = 30.0  # rows of a take in a second; people move below 10 Hz. Below 45 frames a second a row is a frame
ROW_MIN_COUNT = 500  # rows of a take at least, if it has the frames: covariances of many joints need as many
ROW_MIN_SOUND_SHARE = 0.5  # of a row's frames, from which on the others are bridged
SLOW_MIN_FRAMES = 100  # frames of a sensor that is slower than the others; fewer are strays
SLOW_MIN_SHARE = (
    0.8  # of its steps that are as long as usual, or longer or shorter by a frame, and of the take they fill
)
DIFFERENCES_RATE_HZ = 12.0  # sixth differences a second that tell the noise
JUMP_MIN_STEPS = 4.0  # usual steps from which on a track does not go on
SPIKE_MAX_SHARE = 0.4  # of the way there: what a spike leaves between the frame before and the one after
STEP_FRAMES = 500  # spread over the take, whose median step is the usual one


@dataclass(frozen=True, eq=False)
class Digest:
    """N rows of m bodies.

    every    frames in a row; the last row before a break has half of it to one and a half, or all there is
    frames   frames that were read, and rate [Hz] of them; NaN where there are fewer than two
    first    (N,)               first frame of each row, and count (N,) its frames
    span     (N, 2)       [s]   time of its first and of its last frame
    segment  (N,)               recording that it belongs to; nothing is averaged across two of them
    pose     (3, N, m, 4) [-, m]  mean of [R | p - origin], world axis first; 0 where not seen
    seen     (N, m)             whether the body's frames are seen and sound, all of them or enough to bridge the rest
    origin   (3,)         [m]
    d6       (S, m, 2)    [m^2, rad^2]  squares of sixth differences of place and turn, in windows of seven frames
    place    (S, m, 3)    [m]   in the middle of each window; NaN, as d6, where a frame of it is not seen
    spike    (L, 2)             frame and body where a track leaves and comes back at once: not sound
    jump     (K, 2)             frame and body where it does not go on
    """

    every: int
    frames: int
    rate: float
    first: Ints
    count: Ints
    span: Floats
    segment: Ints
    pose: Floats
    seen: Bools
    origin: Floats
    d6: Floats
    place: Floats
    spike: Ints
    jump: Ints

    @property
    def rows(self) -> int:
        return len(self.first)

    @cached_property
    def time(self) -> Floats:
        """(N,) [s] the middle of each row."""
        return np.asarray(self.span.mean(axis=1))

    @cached_property
    def run(self) -> Ints:
        """(N,) rows with the same number follow each other without a break."""
        hole = self.span[1:, 0] - self.span[:-1, 1] > _longest_step(self.every, self.rate)
        broken = hole | (np.diff(self.segment) != 0)
        return np.concatenate([[0], np.cumsum(broken)])[: self.rows]

    @cached_property
    def noise(self) -> Noise:
        """White noise of the sensors in a frame."""
        return Noise.from_differences(self.d6)

    @cached_property
    def place_noise(self) -> PlaceNoise | None:
        """How that grows with place; None where it does not."""
        return fit_place_noise(self.d6[..., 0], self.place)

    @cached_property
    def stack(self) -> Floats:
        """(3 N, 4 m) the rows as `stack_poses` has frames."""
        return self.pose.reshape(3 * self.rows, -1)

    @cached_property
    def gram(self) -> Floats:
        """(4 m, 4 m) products of its columns."""
        return np.asarray(self.stack.T @ self.stack)

    @cached_property
    def sums(self) -> RowSums:
        """Of all pairs of bodies: whatever asks for the joints of unknown pairs reads the same."""
        return sum_rows(self.pose, self.seen, self.gram)

    @cached_property
    def fits(self) -> PairFits:
        """Closed-form joints of all pairs of bodies."""
        return fit_pairs(self.sums)

    def add(self, later: Digest) -> Digest:
        """The digest of both, where the frames of the later one follow. Windows, spikes and jumps that the cut divides
        are those of neither.
        """
        if (self.every, self.seen.shape[1]) != (later.every, later.seen.shape[1]):
            raise ValueError("digests add where they have the same bodies and as many frames in a row")
        pose = later.pose.copy()
        pose[..., 3] += np.where(later.seen, (later.origin - self.origin)[:, None, None], 0.0)
        beyond = np.array([self.frames, 0])

        def join(name: str) -> Any:
            return np.concatenate([getattr(self, name), getattr(later, name)])

        return replace(
            self,
            frames=self.frames + later.frames,
            rate=self.rate if np.isfinite(self.rate) else later.rate,
            first=np.concatenate([self.first, later.first + self.frames]),
            count=join("count"),
            span=join("span"),
            segment=join("segment"),
            pose=np.concatenate([self.pose, pose], axis=1),
            seen=join("seen"),
            d6=join("d6"),
            place=join("place"),
            spike=np.concatenate([self.spike, later.spike + beyond]),
            jump=np.concatenate([self.jump, later.jump + beyond]),
        )

    def as_take(self, take: Take) -> Take:
        """The rows in the place of the frames of their take, for what is linear in the poses; NaN where not seen."""
        made = _row_takes.get(self)
        if made is not None and made[0]() is take:
            return made[1]
        p = over_frames(lambda part: np.ascontiguousarray(part + self.origin), self.pose[..., 3].transpose(1, 2, 0))
        R = self.pose[..., :3].transpose(1, 2, 0, 3)  # no copy of many: they are the largest that a fit holds
        if R.nbytes <= BLOCK_BYTES:
            R = np.ascontiguousarray(R)
        if not self.seen.all():
            p, R = hide(p, ~self.seen), hide(R, ~self.seen)
        rows = take.with_poses(self.time, self.segment, R, p, self.seen)
        _row_takes[self] = ref(take), rows
        return rows


@dataclass(frozen=True, eq=False)
class _Read:
    """What a digest has of the frames themselves, whichever of them are trusted: spikes and jumps, the speed [m/s] of
    each body from frame to frame (m,), the first frames of windows, their squares of sixth differences and places.
    """

    spike: Ints
    jump: Ints
    speed: Floats
    starts: Ints
    d6: Floats
    place: Floats

    @classmethod
    def of(cls, take: Take) -> _Read:
        starts = _window_starts(take)
        place = take_rows(take.p_world_body, starts + DIFFERENCE_ORDER // 2)
        return cls(*_find_marks(take), starts, sixth_differences(take, starts), place)


_row_takes: WeakKeyDictionary[Digest, tuple[ref[Take], Take]] = WeakKeyDictionary()
_reads: WeakKeyDictionary[Take, _Read] = WeakKeyDictionary()
_made: WeakKeyDictionary[Take, list[tuple[Bools | None, Digest]]] = WeakKeyDictionary()


def forget_digests() -> None:
    """Drops the kept digests; for measurements that must not find them made."""
    _made.clear()
    _reads.clear()
    _row_takes.clear()


def measure_speeds(take: Take) -> Floats:
    """(m,) [m/s] mean speed of each body from frame to frame, noise and all."""
    return _read(take).speed


def _read(take: Take) -> _Read:
    return _reads.get(take) or _reads.setdefault(take, _Read.of(take))


def count_row_frames(take: Take) -> int:
    """Frames in a row of a take: as many as a 1/30 s has, fewer where that leaves too few rows, and one where half of
    the poses of a sensor, which is slower than the others or often lost, would be in rows that hold too few for a mean.
    """
    every = max(1, count_frames(take.rate / ROW_RATE_HZ, take.frames // ROW_MIN_COUNT)) if take.timed else 1
    if every == 1 or take.seen.all():
        return every
    count, row = take.seen.sum(axis=0), np.arange(0, take.frames, every)
    for body in np.flatnonzero((count < take.frames) & (count >= SLOW_MIN_FRAMES)):
        known = np.add.reduceat(take.seen[:, body], row, dtype=np.int64)
        used = known[known >= max(2.0, ROW_MIN_SOUND_SHARE * every)].sum()
        if used <= ROW_MIN_SOUND_SHARE * count[body]:
            return 1
    return every


def measure_cadence(seen: Bools) -> Ints:
    """(m,) frames from one pose of each body to its next where it is slower than the recording throughout, as a sensor
    of half the rate; else 1.
    """
    step = np.ones(seen.shape[1], np.int64)
    if seen.all():
        return step
    count = seen.sum(axis=0)
    for body in np.flatnonzero((count >= SLOW_MIN_FRAMES) & (2 * count <= len(seen) + 1)).tolist():
        apart = np.diff(np.flatnonzero(seen[:, body]))
        usual = int(median(apart))
        near = np.abs(apart - usual) <= (usual > 2)
        if usual > 1 and near.mean() >= SLOW_MIN_SHARE and count[body] * usual >= SLOW_MIN_SHARE * len(seen):
            step[body] = usual
    return step


def digest_take(take: Take, good: Bools | None = None, every: int | None = None) -> Digest:
    """The digest of a take, made once and kept beside it: that of all its poses, and that of those trusted last.

    good    (n, m) poses to trust; all that are seen by default
    every   frames in a row, of a piece of a recording; as `count_row_frames` tells by default
    """
    every = count_row_frames(take) if every is None else every
    if good is not None and is_all_trusted(take, good):
        good = None
    for trusted, made in _made.get(take, ()):
        if made.every != every:
            continue
        if trusted is good or (trusted is not None and good is not None and np.array_equal(trusted, good)):
            return made
    first, count = _cut_rows(take, every)
    read = _read(take)
    sound = take.seen if good is None else over_frames(np.logical_and, take.seen, good)
    if len(read.spike):
        sound = copy_array(sound)
        sound[tuple(read.spike.T)] = False
    k = int(np.argmax(sound)) if sound.any() else None
    origin = np.zeros(3) if k is None else take.p_world_body[divmod(k, take.bodies)]
    pose, seen = _average(take, first, count, sound, origin)
    span = np.stack([take.time[first], take.time[first + count - 1]], axis=1) if len(first) else np.empty((0, 2))
    lost = np.zeros(read.d6.shape[:2], dtype=bool)
    for k in range(DIFFERENCE_ORDER + 1):
        lost |= ~sound[read.starts + k]
    d6, place = (hide(part, lost) for part in (read.d6, read.place)) if lost.any() else (read.d6, read.place)
    facts = (first, count, span, take.segment[first], seal(pose), seal(seen), origin, d6, place)
    made = Digest(every, take.frames, take.rate, *facts, read.spike, read.jump)
    _made[take] = [*[one for one in _made.get(take, ()) if one[0] is None], (good, made)]
    return made


def is_all_trusted(take: Take, good: Bools) -> bool:
    """Whether all poses that are seen are among those to trust (n, m)."""
    return all(bool((good[rows] | ~take.seen[rows]).all()) for rows in blocks(good))


def _longest_step(every: int, rate: float) -> float:
    """[s] between two frames of one run: less than a row is missing."""
    return (every + 0.5) / rate if np.isfinite(rate) else np.inf


def _cut_rows(take: Take, every: int) -> tuple[Ints, Ints]:
    """First frame and number of frames of each row: none across a break, none much shorter than the others."""
    if not take.frames:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    broken = np.diff(take.segment) != 0
    if every > 1:
        broken |= np.diff(take.time) > _longest_step(every, take.rate)
    begin = np.concatenate([[0], np.flatnonzero(broken) + 1])
    length = np.diff(np.append(begin, take.frames))
    rows = np.maximum((2 * length + every) // (2 * every), 1)
    before = np.concatenate([[0], np.cumsum(rows)[:-1]])
    first = np.repeat(begin, rows) + every * (np.arange(rows.sum()) - np.repeat(before, rows))
    return first, np.diff(np.append(first, take.frames))


def _average(take: Take, first: Ints, count: Ints, sound: Bools, origin: Floats) -> tuple[Floats, Bools]:
    """Mean poses (3, N, m, 4) of rows, and (N, m) where they count."""
    m, longest = take.bodies, int(count.max(initial=1))
    pose, seen = empty((3, len(first), m, 4)), np.empty((len(first), m), dtype=bool)
    for rows in blocks_of(len(first), longest * m * POSE_BYTES):
        here, own = first[rows], count[rows]
        frames = slice(int(here[0]), int(here[-1] + own[-1]))
        R = take.R_world_body[frames].reshape(-1, 9 * m)
        p = take.p_world_body[frames].reshape(-1, 3 * m)
        good = sound[frames]
        start = here - frames.start
        mean_R, mean_p = average_runs(R, start, own), average_runs(p, start, own)
        pose[:, rows, :, :3] = mean_R.reshape(-1, m, 3, 3).transpose(2, 0, 1, 3)
        pose[:, rows, :, 3] = (mean_p.reshape(-1, m, 3) - origin).transpose(2, 0, 1)
        seen[rows] = True
        if not good.all():
            _bridge(pose[:, rows], seen[rows], R, p, good, start, own, origin)
    return pose, seen


def _bridge(
    pose: Floats, seen: Bools, R: Floats, p: Floats, good: Bools, start: Ints, count: Ints, origin: Floats
) -> None:
    """Fills in the rows that lack frames: the line through those that are sound, in the middle of all; 0 where they are
    too few.
    """
    known = np.add.reduceat(good, start, axis=0, dtype=np.int64)
    row, body = np.nonzero(known < count[:, None])
    sound = known[row, body]
    lost = (sound < 2) | (sound < ROW_MIN_SOUND_SHARE * count[row])
    seen[row[lost], body[lost]] = False
    pose[:, row[lost], body[lost]] = 0.0
    row, body, sound = row[~lost], body[~lost], sound[~lost]
    if not len(row):
        return
    step = np.arange(int(count[row].max()))
    inside = step < count[row][:, None]
    frame = np.where(inside, start[row][:, None] + step, start[row][:, None])
    use = inside & good[frame, body[:, None]]
    middle, own = 0.5 * (count[row] - 1), (use * step).sum(axis=1) / sound
    off = (step - own[:, None]) * use
    weight = use / sound[:, None] + ((middle - own) / np.square(off).sum(axis=1))[:, None] * off
    there, m = (frame, body[:, None]), good.shape[1]
    turns = np.where(use[..., None, None], R.reshape(-1, m, 3, 3)[there], 0.0)
    places = np.where(use[..., None], p.reshape(-1, m, 3)[there] - origin, 0.0)
    pose[:, row, body, :3] = np.einsum("qk,qkxy->xqy", weight, turns)
    pose[:, row, body, 3] = np.einsum("qk,qkx->xq", weight, places)


def _window_starts(take: Take) -> Ints:
    """First frames of windows of seven frames that no break divides, evenly spread; close together in a short take."""
    if not take.timed or take.frames <= DIFFERENCE_ORDER:
        return np.empty(0, np.int64)
    apart = count_frames(take.rate / DIFFERENCES_RATE_HZ, take.frames // NOISE_MAX_WINDOWS)
    starts = np.arange(0, take.frames - DIFFERENCE_ORDER, max(1, apart))
    step = np.diff(take.time)
    broken = (np.diff(take.segment) != 0) | (step > (1.5 / take.rate if np.isfinite(take.rate) else np.inf))
    before = np.concatenate([[0], np.cumsum(broken)])
    return np.asarray(starts[before[starts] == before[starts + DIFFERENCE_ORDER]])


def _find_marks(take: Take) -> tuple[Ints, Ints, Floats]:
    """(L, 2) spikes and (K, 2) jumps of tracks: frame and body, where a step is many times the usual one; and their
    mean speed (m,) [m/s].
    """
    n, m = take.frames, take.bodies
    none = np.empty((0, 2), np.int64)
    if n < 2:
        return none, none, np.zeros(m)
    p, square, (way, spent) = take.p_world_body, empty((n, m)), np.zeros((2, m))
    square[0] = np.nan
    for rows in blocks_of(n - 1, 48 * m):
        move = p[rows.start + 1 : rows.stop + 1] - p[rows]
        part, around = square[rows.start + 1 : rows.stop + 1], slice(rows.start, rows.stop + 1)
        part[...] = dot_rows(move, move)
        if take.segment[0] != take.segment[-1]:
            part[np.diff(take.segment[around]) != 0] = np.nan
        known = np.isfinite(part)
        way += np.sqrt(part if known.all() else np.where(known, part, 0.0)).sum(axis=0)
        spent += np.diff(take.time[around]) @ known
    speed = way / np.maximum(spent, 1e-12)
    if n < 3:
        return none, none, speed
    usual = median(square[1 :: max(1, n // STEP_FRAMES)])
    marks = []
    for rows in blocks(square):
        with np.errstate(invalid="ignore"):
            far = square[rows] > JUMP_MIN_STEPS**2 * usual
        marks.append(np.stack(find_marked(far & (usual > 0))) + [[rows.start], [0]])
    frame, body = np.concatenate(marks, axis=1)
    inner = np.flatnonzero(frame < n - 1)
    f, k = frame[inner], body[inner]
    across = np.square(p[f + 1, k] - p[f - 1, k]).sum(axis=1)
    with np.errstate(invalid="ignore"):
        back = across < SPIKE_MAX_SHARE**2 * np.minimum(square[f, k], square[f + 1, k])
    spike = np.stack([f[back], k[back]], axis=1)
    part = zeros((n, m), np.bool_)  # steps to a spike and from it
    part[tuple(spike.T)] = part[tuple((spike + [1, 0]).T)] = True
    jump = np.stack([frame, body], axis=1)[~part[frame, body]]
    return spike, jump, speed
