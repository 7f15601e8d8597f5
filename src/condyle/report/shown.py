"""The motion of a page: which frames are shown, how finely, and the pieces they are packed in."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..io.motion_file import Frames, MotionFile
from ..maths.arrays import Bools, Floats, Ints, evenly
from ..maths.robust import median, quantile
from ..maths.rotation import carry
from ..maths.series import find_runs
from ..model.clock import Clock
from ..model.motion import order_joints
from ..model.skeleton import Joint, Skeleton
from ..model.take import WORLD
from ..model.values import dataclass
from .pack import LARGEST_NUMBER, Packing, join_frames, pack
from .page_data import PageMotion, Piece, to_triple

Singles = NDArray[np.float32]
PIECE_FRAMES = 1024  # frames
POSITION_STEP_SHARE, TURN_STEP_RAD = (
    1 / 2000,
    math.radians(0.02),
)  # what 1 stands for: of the size of a limb, and of a turn [rad] ...
STEP_NOISE_SHARE = 1 / 10  # ... or of a sensor's noise, where that is more
POSITION_STEP_MAX_SHARE, TURN_STEP_MAX_RAD = 1 / 100, math.radians(0.2)  # however noisy
GAP_STEP_SHARE, GAP_STEP_MIN_M = 1 / 20, 1e-20  # of a joint's residual; m, where that is zero
TIME_STEP_S = 1e-4  # s
MOTION_MAX_BYTES = 11_000_000  # of packed motion in one file, as text; beyond, fewer frames are shown
PIECES_TRIED = 4  # pieces from which the size of all is told
BOX_PERCENTILES = (0.5, 99.5)  # percentiles of a body's places; spikes lie outside
BOX_FRAMES = 1000  # frames, for the box and for what points up
HELD_MAX_POSES = 130_000  # poses (25 MB) up to which frames are held between the look at them and their packing
STRETCHES_MAX = 2000
STRETCH_GAP_SHARE = 1 / 1000  # of the take: stretches that are nearer to each other are told as one


@dataclass(frozen=True, eq=False)
class MotionPieces:
    """A motion ready to be packed, piece by piece.

    every     frames of the take from one shown to the next
    few       some frames, evenly spread
    low, high (3,) [m] the box of the measured places, without their spikes
    gaps      (J, 3) [m] median, 95th percentile and largest length of each joint's, then each loop's gap
    masked    (body, first frame, last frame) of stretches that did not count
    held      the frames of every piece, where they are few and all are shown
    """

    source: MotionFile
    clock: Clock
    packing: Packing
    every: int
    few: Frames
    low: Floats
    high: Floats
    gaps: Floats
    masked: tuple[tuple[int, int, int], ...]
    held: tuple[Frames, ...] = ()

    @property
    def rows(self) -> Ints:
        """Numbers of the frames that are shown."""
        return np.arange(0, self.source.frames, self.every)

    @property
    def count(self) -> int:
        """Number of pieces."""
        return -(-len(self.rows) // PIECE_FRAMES)

    def frames(self, number: int) -> Frames:
        """What piece `number` holds, before packing."""
        rows = self.rows[number * PIECE_FRAMES : (number + 1) * PIECE_FRAMES]
        here = self.held[number] if self.held and self.every == 1 else None
        held = here or self.source.rows(slice(int(rows[0]), int(rows[-1]) + 1, self.every))
        since = held.time - self.source.time[self._first_rows()[self.clock.number_recordings(rows)]]
        return replace(held, time=since)

    def pack(self, number: int) -> bytes:
        return pack(self.frames(number), self.packing)

    def page(self, pieces: tuple[Piece, ...], up: str | None) -> PageMotion:
        """The motion on the page, with these pieces."""
        rows = self.rows
        breaks = np.flatnonzero(np.diff(self.clock.number_recordings(rows))) + 1
        begins = rows[np.concatenate([np.zeros(min(len(rows), 1), np.int64), breaks])]
        starts = self.clock.times(self.source.time[begins], begins)
        return PageMotion(
            frames=len(rows),
            every=self.every,
            rate=1 / (self.clock.step * self.every) if self.clock.step > 0 else 0.0,
            timed=self.source.timed,
            position_step=self.packing.position,
            orientation_step=self.packing.orientation,
            time_step=self.packing.time,
            origin=to_triple(self.packing.origin),
            up=up,
            low=to_triple(self.low),
            high=to_triple(self.high),
            free=self.packing.free,
            breaks=tuple(breaks.tolist()),
            starts=tuple(starts.tolist()),
            pieces=pieces,
        )

    def _first_rows(self) -> Ints:
        """(s,) the first shown frame of every recording; one that is not shown has that of the next."""
        at = np.minimum(-(-self.clock.first // self.every) * self.every, self.rows[-1])
        return np.asarray(at, np.int64)


def choose_packing(source: MotionFile) -> MotionPieces:
    """A motion with its steps chosen by the size of the figure and the noise of its sensors."""
    clock = Clock.of(source.time, source.segment)
    looked = _look(source)
    low, high = _box(looked.few.p)
    size = _size(source.skeleton, low, high)
    noise = [one for one in source.skeleton.noise if one.body != WORLD]
    joints = (*source.skeleton.joints, *source.skeleton.loops)
    gaps = np.array([_levels(looked.gap[looked.weight[:, k] > 0, k]) for k in range(len(joints))]).reshape(-1, 3)
    most = np.where(np.isfinite(looked.gap), looked.gap, 0.0).max(axis=0, initial=0.0)
    packing = Packing(
        len(source.bodies),
        tuple(
            (child, parent, joint.p_child_joint, joint.p_parent_joint)
            for child, parent, joint in order_joints(source.skeleton)
            if not looked.loose[child]
        ),
        tuple(np.flatnonzero(looked.loose).tolist()),
        np.round(0.5 * (low + high), 3),
        _coarser(POSITION_STEP_SHARE * size, [one.position for one in noise], POSITION_STEP_MAX_SHARE * size),
        _coarser(TURN_STEP_RAD, [one.orientation for one in noise], TURN_STEP_MAX_RAD),
        _clock_step(clock),
        np.array([_gap_step(*one) for one in zip(joints, gaps[:, 0].tolist(), most.tolist(), strict=True)]),
    )
    masked = _stretches(looked.masked, clock, source.time)
    return MotionPieces(source, clock, packing, 1, looked.few, low, high, gaps, masked, looked.held)


def pack_pieces(shown: MotionPieces, most: int = MOTION_MAX_BYTES) -> tuple[MotionPieces, tuple[Piece, ...]]:
    """All pieces as text, of every k-th frame where all frames would take more than `most` bytes."""
    while True:
        tried = evenly(shown.count, PIECES_TRIED)
        sizes = [4 * len(shown.pack(int(k))) / 3 for k in tried] if shown.count > 2 * PIECES_TRIED else [0.0]
        likely = sum(sizes) / len(sizes) * shown.count
        if likely > most:
            shown = replace(shown, every=shown.every * math.ceil(likely / most))
            continue
        pieces = tuple(_pieces(shown))
        size = sum(len(piece.data) for piece in pieces)
        if size <= 1.02 * most:
            return shown, pieces
        shown = replace(shown, every=shown.every + 1)


def _pieces(shown: MotionPieces) -> Iterator[Piece]:
    for number in range(shown.count):
        frames = min(PIECE_FRAMES, len(shown.rows) - number * PIECE_FRAMES)
        yield Piece(number * PIECE_FRAMES, frames, base64.b64encode(shown.pack(number)).decode("ascii"), "")


def link_pieces(shown: MotionPieces) -> tuple[Piece, ...]:
    """The pieces by the addresses from which they are fetched."""
    total = len(shown.rows)
    return tuple(
        Piece(k * PIECE_FRAMES, min(PIECE_FRAMES, total - k * PIECE_FRAMES), "", f"pieces/{k}.bin")
        for k in range(shown.count)
    )


def _box(p: Floats) -> tuple[Floats, Floats]:
    """The box of places (n, m, 3) without their spikes."""
    seen = [place[np.isfinite(place).all(axis=1)] for place in np.moveaxis(p, 1, 0)]
    ranges = [[quantile(place, one / 100) for one in BOX_PERCENTILES] for place in seen if len(place)]
    if not ranges:
        return np.zeros(3), np.zeros(3)
    return np.min(ranges, axis=(0, 1)), np.max(ranges, axis=(0, 1))


def _size(skeleton: Skeleton, low: Floats, high: Floats) -> float:
    """[m] the usual distance of two joined sensors by way of their joint, or a quarter of the room they were in."""
    ways = [np.linalg.norm(joint.p_child_joint) + np.linalg.norm(joint.p_parent_joint) for joint in skeleton.joints]
    size = float(median(np.array(ways))) if ways else float(np.linalg.norm(high - low)) / 4
    return size if 0 < size < math.inf else 1.0


def _coarser(fine: float, noise: list[float], coarsest: float) -> float:
    """The step with two figures: `fine`, or a part of the usual noise where that is more."""
    usual = float(median(np.array(noise))) if np.isfinite(noise).all() else math.inf
    step = min(max(fine, STEP_NOISE_SHARE * usual), coarsest) if math.isfinite(usual) else fine
    return float(f"{step:.1e}")


def _clock_step(clock: Clock) -> float:
    """[s] fine against the frames, and coarse enough for the longest recording."""
    longest = float((clock.end - clock.begin).max(initial=0.0))
    fine = TIME_STEP_S if clock.step > 10 * TIME_STEP_S or clock.step <= 0 else clock.step / 10
    return max(fine, longest / LARGEST_NUMBER)


def _gap_step(joint: Joint, usual: float, most: float) -> float:
    """[m] so that both the usual gap and the largest one can be written."""
    residual = joint.residual if math.isfinite(joint.residual) else usual
    return max(GAP_STEP_SHARE * residual, most / (LARGEST_NUMBER - 2), GAP_STEP_MIN_M)


def _levels(gap: Singles) -> Floats:
    gap = gap[np.isfinite(gap)]
    return np.array([quantile(gap, 0.5), quantile(gap, 0.95), gap.max()]) if len(gap) else np.zeros(3)


class _Looked(NamedTuple):
    """What one look at all frames tells.

    gap, weight  (n, J) [m], [-]
    loose        (m,) bodies whose played place does not follow from their joint everywhere: roots and loose ones, too
    masked       (n, m) poses that did not count
    few          some frames, evenly spread
    held         all frames, piece by piece, where they are few
    """

    gap: Singles
    weight: Singles
    loose: Bools
    masked: Bools
    few: Frames
    held: tuple[Frames, ...]


def _look(source: MotionFile) -> _Looked:
    n, m = source.frames, len(source.bodies)
    skeleton = source.skeleton
    count = len(skeleton.joints) + len(skeleton.loops)
    gap, weight = (np.empty((n, count), np.float32) for _ in range(2))
    masked, loose = np.empty((n, m), bool), np.ones(m, bool)
    order = order_joints(skeleton)
    tolerance = POSITION_STEP_SHARE * _size(skeleton, np.zeros(3), np.zeros(3))
    loose[[child for child, _, _ in order]] = False
    joints = [skeleton.columns(joint) for joint in skeleton.joints]
    few, pieces, chosen = list[Frames](), list[Frames](), evenly(n, BOX_FRAMES)
    for first in range(0, n, PIECE_FRAMES):
        rows = slice(first, min(first + PIECE_FRAMES, n))
        held = source.rows(rows)
        gap[rows], weight[rows] = held.gap, held.weight
        for child, parent, joint in order:
            apart = held.p_played[:, parent] + carry(held.R_played[:, parent], joint.p_parent_joint)
            apart -= held.p_played[:, child] + carry(held.R_played[:, child], joint.p_child_joint)
            known = np.isfinite(apart[:, 0])
            loose[child] |= bool((np.abs(apart[known]) > tolerance).any())
        masked[rows] = _not_counted(np.isfinite(held.p[..., 0]), held.weight, joints)  # a pose that is none is NaN
        few.append(held.at(chosen[(chosen >= rows.start) & (chosen < rows.stop)] - first))
        pieces += [held] if n * m <= HELD_MAX_POSES else []
    return _Looked(gap, weight, loose, masked, join_frames(few), tuple(pieces))


def _not_counted(seen: Bools, weight: Floats, joints: list[tuple[int, int]]) -> Bools:
    """(n, m) poses that were not seen, or that no joint of their body counted.

    At a body with one joint that does not count, it is the pose of the body at the other end if that has more joints
    and none of them counts.
    """
    m = seen.shape[1]
    masked = ~seen
    of = [[k for k, pair in enumerate(joints) if body in pair] for body in range(m)]
    for body in sorted(range(m), key=lambda body: -len(of[body])):
        if of[body]:
            out = (weight[:, of[body]] <= 0).all(axis=1)
            if len(of[body]) == 1:
                (other,) = set(joints[of[body][0]]) - {body}
                out &= ~masked[:, other]
            masked[:, body] |= out
    return masked


def _stretches(masked: Bools, clock: Clock, time: Floats) -> tuple[tuple[int, int, int], ...]:
    """(body, first frame, last frame) of the runs in (n, m), near ones as one; the longest where there are too many."""
    found: list[tuple[int, int, int]] = []
    blink = STRETCH_GAP_SHARE * float((clock.end - clock.begin).sum()) if len(clock.first) else 0.0
    for body in np.flatnonzero(masked.any(axis=0)).tolist():
        begins, ends = np.array(find_runs(masked[:, body])).T - [[0], [1]]
        between = time[begins[1:]] - time[ends[:-1]] - clock.step
        apart = (clock.number_recordings(begins[1:]) != clock.number_recordings(ends[:-1])) | (between > blink)
        begins, ends = begins[np.concatenate([[True], apart])], ends[np.concatenate([apart, [True]])]
        found += [(body, *pair) for pair in zip(begins.tolist(), ends.tolist(), strict=True)]
    longest = sorted(found, key=lambda one: one[1] - one[2])[:STRETCHES_MAX]
    return tuple(sorted(longest))
