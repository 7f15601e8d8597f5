"""Sensors that came off, or were not put on yet: at an end of a recording they lie still while the others move, far
from where the joint would be that they have else.

Looked for in means of half a second. A foot that stands lies as still, but its joint holds meanwhile. In a later take
on a known figure its joints tell it, of a sensor that lies throughout as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..findings import Finding
from ..maths.arrays import Bools, Floats, Ints, evenly
from ..maths.graph import components
from ..maths.robust import median
from ..maths.series import block_starts, segment_slices
from ..maths.spool import blocks_of, empty
from ..model.options import FitOptions
from ..model.skeleton import Joint, Kind
from ..model.stage import Change, Decision, Effect
from ..model.take import Take, name_source
from ..model.values import dataclass
from ..pairs.digest import Digest, digest_take
from ..pairs.fits import fit_pairs, gaps, measure_distances
from ..pairs.sums import sum_row_pairs

if TYPE_CHECKING:
    from ..estimate.fitting import Estimate

LYING_BLOCK_S = 0.5  # s over which a pose is averaged, so that noise does not move what lies
LYING_MIN_S = 3.0  # s for which it lies at least
LYING_KNOWN_MIN_S = 1.5  # s of the same, where its joints are known from a calibration and need not be found as well
# m and rad by which it moves meanwhile, at most: of means, slow noise of 3 mm and 0.3 deg stays below.
LYING_MAX_M, LYING_MAX_RAD = 0.01, np.radians(2.0)
MOVING_MIN_M, MOVING_MIN_RAD = 0.1, np.radians(15.0)  # by which it moves else, and half of the others meanwhile
MOVING_ROWS = 500  # of a stretch, by which it is told whether the others move
# What follows was chosen by what it means, and tried with 18 simulated falls, 24 of recorded people (data/more) and the
# takes of tests/goldens, none of which has one.
FALL_MAX_S = 3.0  # s that it takes to fall, or to be put on
DETACHED_MIN_GAPS = 6.0  # gaps of its joint elsewhere, from which it is off
DETACHED_MIN_SHARE = 0.5  # of the distance of the joined sensors elsewhere, from which it is off
# Half the mean square turn about each axis of a joint whose place is told: 2 deg. Two feet that stand, links of a robot
# that is moved axis by axis, and what slides have less.
JOINT_MIN_SPREAD = np.radians(2.0) ** 2 / 2
NEAR_MAX_RATIO = 3.0  # of the least residual, up to which a body may be the one that it was on
HOLDING: tuple[Kind, ...] = ("ball", "hinge", "universal", "rigid")  # kinds whose bodies have a point in common


@dataclass(frozen=True, eq=False)
class LyingStretch:
    """Blocks [first, stop) of one segment, from its start or to its end, in which a body lies still."""

    body: int
    first: int
    stop: int
    at_start: bool
    at_end: bool

    def overlaps(self, other: LyingStretch) -> bool:
        return self.first < other.stop and other.first < self.stop


@dataclass(frozen=True, eq=False)
class JudgingJoints:
    """Joints by which it is judged whether a sensor is off.

    pairs     (k, 2)      its bodies;  p_child_joint, p_parent_joint  (k, 3) [m]
    gap       (k,) [m]    by which they come apart as a rule;  distance: of their sensors
    """

    pairs: Ints
    p_child_joint: Floats
    p_parent_joint: Floats
    gap: Floats
    distance: Floats

    @classmethod
    def of_figure(cls, known: Sequence[Joint], take: Take) -> JudgingJoints | None:
        """Those of a calibration that a take can be judged by."""
        known = [one for one in known if one.kind in HOLDING and one.time is None]
        known = [one for one in known if {one.child, one.parent} <= set(take.names)]
        if not known:
            return None
        pairs = np.array([[take.index(one.child), take.index(one.parent)] for one in known])
        child, parent = (np.stack([getattr(one, f"p_{half}_joint") for one in known]) for half in ("child", "parent"))
        gap = np.array([max(one.residual, one.explained or 0.0) for one in known])
        return cls(pairs, child, parent, gap, np.linalg.norm(child, axis=1) + np.linalg.norm(parent, axis=1))

    @property
    def limit(self) -> Floats:
        """(k,) [m] from which on they are apart."""
        return np.maximum(DETACHED_MIN_GAPS * self.gap, DETACHED_MIN_SHARE * self.distance)

    def measure(self, take: Take) -> Floats:
        """(n, k) [m] how far they are apart."""
        return np.asarray(np.linalg.norm(gaps(take, self.pairs, self.p_child_joint, self.p_parent_joint), axis=2))

    def select(self, chosen: Bools) -> JudgingJoints:
        places = self.p_child_joint[chosen], self.p_parent_joint[chosen]
        return JudgingJoints(self.pairs[chosen], *places, self.gap[chosen], self.distance[chosen])


@dataclass(frozen=True, eq=False)
class PoseBlocks:
    """Mean poses of half a second, none across segments.

    start  (b,)           first rows of the digest
    time   (b,) [s]       of their first frames
    pose   (b, m, 3, 4)   [R | p], p in metres; NaN where not seen
    """

    start: Ints
    stop: Ints
    time: Floats
    segment: Ints
    pose: Floats
    digest: Digest

    @classmethod
    def of(cls, take: Take, digest: Digest) -> PoseBlocks:
        start = block_starts(digest.segment, max(1, take.count_frames(LYING_BLOCK_S, digest.every)))
        seen = np.add.reduceat(digest.seen.astype(np.float64), start, axis=0)
        stop, pose = np.append(start[1:], digest.rows), empty((*seen.shape, 3, 4))
        for some in blocks_of(len(start), int((stop - start).max(initial=1)) * pose[:1].nbytes):
            first = int(start[some.start])
            rows = digest.pose[:, first : int(stop[some.stop - 1])]
            total = np.add.reduceat(rows, start[some] - first, axis=1).transpose(1, 2, 0, 3)  # 0 where not seen
            np.divide(total, np.where(seen[some] > 0, seen[some], np.nan)[..., None, None], out=pose[some])
        return cls(start, stop, digest.time[start], digest.segment[start], pose, digest)

    @cached_property
    def seen(self) -> Bools:
        return np.isfinite(self.pose[..., 0, 0])

    def rows_of(self, blocks: slice, bodies: Ints) -> Floats:
        """(r, k, 3, 4) poses of some rows of these blocks: in means of half a second a runner's legs hardly move."""
        first, stop = int(self.start[blocks.start]), int(self.stop[blocks.stop - 1])
        rows = first + np.arange(stop - first)[evenly(stop - first, MOVING_ROWS)]
        pose = self.digest.pose[:, rows][:, :, bodies].transpose(1, 2, 0, 3)
        return np.where(self.digest.seen[rows][:, bodies, None, None], pose, np.nan)


def leave_out_detached(estimate: Estimate, options: FitOptions, refused: Sequence[Change] = ()) -> Decision:
    """The stage of it."""
    no = {(one.bodies, one.first) for one in refused}
    found = [one for one in find_detached(estimate.take) if (one.bodies, one.first) not in no]
    if options.fixes("detached"):
        return Decision(changes=found)
    return Decision([finding for one in found for finding in one.describe(repaired=False)])


def find_detached(take: Take, known: Sequence[Joint] = ()) -> list[DetachedRepair]:
    """Sensors that lie apart at an end of a recording; those that do so at one time are one repair, since each would be
    judged by the other.

    known  joints of a calibration, by which the sensors that have some are judged, those as well that lie throughout
    """
    if not take.timed or not np.isfinite(take.rate) or take.bodies < 3 or not take.seen.any():
        return []
    digest = digest_take(take)
    blocks = PoseBlocks.of(take, digest)
    figure = JudgingJoints.of_figure(known, take)
    lying = list(_find_lying(blocks, () if figure is None else set(figure.pairs.ravel().tolist())))
    seen = [(one, _prove_detached(take, digest, blocks, one, lying, figure)) for one in lying]
    proved = [(one, found) for one, found in seen if found is not None]
    edges = [(a, b) for a, (one, _) in enumerate(proved) for b in range(a) if one.overlaps(proved[b][0])]
    groups = components(len(proved), np.array(edges, dtype=np.int64).reshape(-1, 2))
    return [DetachedRepair(tuple(proved[k][1] for k in group)) for group in groups]


def _find_lying(blocks: PoseBlocks, known: Collection[int] = ()) -> Iterator[LyingStretch]:
    """Stretches at an end of a segment in which a body lies and half of the others move, and that moves elsewhere.

    known  bodies that need not, since their joints are known
    """
    if not known and not moves(blocks.pose).any():
        return
    for part in segment_slices(blocks.segment):
        pose = blocks.pose[part]
        counts = zip(_count_lying(pose).tolist(), _count_lying(pose[::-1]).tolist(), strict=True)
        for body, (before, after) in enumerate(counts):
            ends = [slice(part.stop - after, part.stop)]
            if after < len(pose):  # else it lies throughout
                ends.append(slice(part.start, part.start + before))
            for rows in ends:
                if _lies_apart(blocks, body, rows, moves_elsewhere=body not in known):
                    yield LyingStretch(body, rows.start, rows.stop, rows.start == part.start, rows.stop == part.stop)


def _count_lying(pose: Floats) -> Ints:
    """(m,) how many mean poses (b, m, 3, 4) of each body, from the first on, are where the first one seen is; those
    unseen do not count against it.
    """
    count = np.zeros(pose.shape[1], dtype=np.int64)
    for some in blocks_of(len(count), pose[:, :1].nbytes):
        part = pose[:, some]
        known = np.isfinite(part[..., 0, 0])
        off = part - part[known.argmax(axis=0), np.arange(part.shape[1])]
        turn = np.sqrt(np.square(off[..., :3]).sum(axis=(2, 3)) / 2)  # of a small angle, that
        with np.errstate(invalid="ignore"):
            away = (np.linalg.norm(off[..., 3], axis=2) > LYING_MAX_M) | (turn > LYING_MAX_RAD)
        first = np.where(away.any(axis=0), away.argmax(axis=0), len(pose))
        count[some] = np.where(known.any(axis=0), first, 0)
    return count


def moves(pose: Floats) -> Bools:
    """(m,) whether mean poses (b, m, 3, 4) differ by enough along some axis."""
    if not len(pose):
        return np.zeros(pose.shape[1], dtype=bool)
    spread = np.nan_to_num(np.fmax.reduce(pose, axis=0) - np.fmin.reduce(pose, axis=0))
    return np.asarray((spread[..., 3].max(axis=1) > MOVING_MIN_M) | (spread[..., :3].max(axis=(1, 2)) > MOVING_MIN_RAD))


def _lies_apart(blocks: PoseBlocks, body: int, rows: slice, *, moves_elsewhere: bool) -> bool:
    """Whether half of the others move in the blocks in which a body lies, and it moves in the others, for as long."""
    least = LYING_MIN_S if moves_elsewhere else LYING_KNOWN_MIN_S
    if rows.start == rows.stop or blocks.time[rows.stop - 1] - blocks.time[rows.start] < least:
        return False
    seen = blocks.seen[:, body].copy()
    seen[rows] = False
    counts = [blocks.seen[rows, body].sum(), *([seen.sum()] if moves_elsewhere else [])]
    if min(counts) * LYING_BLOCK_S < least:
        return False
    other = np.delete(np.arange(blocks.pose.shape[1]), body)
    if 2 * moves(blocks.rows_of(rows, other)).sum() < blocks.seen[rows, other].any(axis=0).sum():
        return False
    return not moves_elsewhere or bool(moves(blocks.pose[seen, body][:, None])[0])


def _prove_detached(
    take: Take,
    digest: Digest,
    blocks: PoseBlocks,
    one: LyingStretch,
    lying: Sequence[LyingStretch],
    figure: JudgingJoints | None,
) -> Detached | None:
    """What is told of it, if every joint that the body may have comes apart by much in this stretch. Nothing can be
    told by bodies that lie as well.
    """
    rows = slice(int(blocks.start[one.first]), int(blocks.stop[one.stop - 1]))
    part = digest.as_take(take)
    down = {another.body for another in lying if another.overlaps(one)}
    joints = None if figure is None else choose_known(figure, figure.measure(part)[rows], one.body, down)
    if joints is None:
        seen = digest.seen.copy()
        for another in lying:
            if another.body == one.body:
                seen[_find_around(take, digest, blocks, another), one.body] = False
        joints = _fit_elsewhere(part, digest, seen, one.body, down)
    if joints is None or not len(joints.pairs):
        return None
    size = joints.measure(part)
    apart = median(size[rows], np.nan)
    if not (apart > joints.limit).all():
        return None
    best = int(np.argmin(joints.gap))
    hidden = find_frames(take, digest, rows, size[:, best] > joints.limit[best], one)
    times = find_times(take, hidden, one)
    other = next(int(body) for body in joints.pairs[best] if body != one.body)
    names = take.names[one.body], take.names[other]
    return Detached(*names, hidden, *times, float(apart[best]), name_file(take, hidden, one))


def choose_known(figure: JudgingJoints, size: Floats, body: int, down: set[int]) -> JudgingJoints | None:
    """The known joints by which a body is judged in rows with gaps `size` (n, J) [m]: those with bodies of which
    another joint holds; None where it has none with a body that does not lie.
    """
    apart, pairs = median(size, np.nan), figure.pairs
    seen, holds = np.isfinite(apart), apart <= figure.limit
    own = (pairs == body).any(axis=1)
    other = pairs.sum(axis=1) - body
    up = own & seen & ~np.isin(other, sorted(down))
    chosen = up.copy()
    for k in np.flatnonzero(up):
        rest = (pairs == other[k]).any(axis=1) & ~own & seen
        chosen[k] = not rest.any() or bool(holds[rest].any())
    return figure.select(chosen) if up.any() else None


def _fit_elsewhere(part: Take, digest: Digest, seen: Bools, body: int, down: set[int]) -> JudgingJoints | None:
    """The joints that a body may have, fitted to the rows (n, m) in which it does not lie; None where the place of one
    of them is not determined there.
    """
    other = np.array([k for k in range(part.bodies) if k not in down], dtype=np.int64)
    pairs = np.stack([np.full_like(other, body), other], axis=1)
    fits = fit_pairs(sum_row_pairs(digest.pose, seen, pairs), pairs)
    if not np.isfinite(fits.residual).any():
        return None
    near = fits.residual <= NEAR_MAX_RATIO * np.nanmin(fits.residual)
    if not (fits.spread[near].min(axis=1) > JOINT_MIN_SPREAD).all():
        return None
    distance = measure_distances(part.mask(digest.seen & ~seen), fits.pairs[near])
    joints = fits.pairs[near], fits.p_child_joint[near], fits.p_parent_joint[near]
    return JudgingJoints(*joints, fits.residual[near], distance)


def _find_around(take: Take, digest: Digest, blocks: PoseBlocks, one: LyingStretch) -> Ints:
    """Rows of a stretch and those next to it in its segment, in which it may fall or be put on."""
    reach = take.count_frames(FALL_MAX_S, digest.every)
    first, stop = int(blocks.start[one.first]), int(blocks.stop[one.stop - 1])
    around = np.arange(max(first - reach, 0), min(stop + reach, digest.rows))
    return np.asarray(around[digest.segment[around] == digest.segment[first]])


def find_frames(take: Take, digest: Digest, rows: slice, off: Bools, one: LyingStretch) -> Bools:
    """(n,) frames to leave out: those in which it lies and those next to them in which its joint is as far apart, when
    it falls or is put on.
    """
    first, stop = rows.start, rows.stop
    inside = digest.segment == digest.segment[first]
    while not one.at_start and first > 0 and inside[first - 1] and off[first - 1]:
        first -= 1
    while not one.at_end and stop < len(off) and inside[stop] and off[stop]:
        stop += 1
    hidden = np.zeros(take.frames, dtype=bool)
    hidden[digest.first[first] : digest.first[stop - 1] + digest.count[stop - 1]] = True
    return hidden


def find_times(take: Take, hidden: Bools, one: LyingStretch) -> tuple[float | None, float | None]:
    """[s] since and until when it lies; None where the recording begins or ends so."""
    rows = np.flatnonzero(hidden)
    since = None if one.at_start else float(take.time[rows[0]])
    return since, None if one.at_end else float(take.time[rows[-1]])


def name_file(take: Take, hidden: Bools, one: LyingStretch) -> str:
    """Which of several files the time is of that is told."""
    if len(set(take.of_source)) < 2:
        return ""
    rows = np.flatnonzero(hidden)
    told = rows[-1] if one.at_start and not one.at_end else rows[0]
    return f" of {name_source(take, take.of_source[int(take.segment[told])])}"


@dataclass(frozen=True, eq=False)
class Detached:
    """A sensor that is not on its body for a while.

    hidden        (n,) frames in which it is not
    since, until  [s]  None: from the start, to the end
    gap           [m]  from where the joint with `other` would be
    file               " of NAME" where there are several
    lies               whether it lies still; else it moves, with no other body
    """

    name: str
    other: str
    hidden: Bools
    since: float | None
    until: float | None
    gap: float
    file: str = ""
    lies: bool = True

    @property
    def when(self) -> str:
        ends = [f"from {self.since:.1f} s on"] if self.since is not None else []
        ends += [f"until {self.until:.1f} s"] if self.until is not None else []
        return (" ".join(ends) or "throughout the recording") + self.file

    def describe(self, *, repaired: bool) -> Finding:
        far = f"{1000 * self.gap:.0f} mm from where its joint with {self.other} would be"
        text = f"{self.name}: moves with no other body {self.when}, {far}: its sensor came off, or was not put on yet"
        if self.lies:
            why = "its sensor came off, was put down or not put on yet"
            text = f"{self.name}: lies still {self.when} while the others move, {far}: {why}"
        text += (", and is left out there" if repaired else "") + "; fasten the sensor"
        first, count = int(np.argmax(self.hidden)), int(self.hidden.sum())
        return Finding(
            "detached-sensor", "warning", text, (self.name,), value=self.gap, unit="m", frame=first, count=count
        )


@dataclass(frozen=True, eq=False)
class DetachedRepair:
    """Sensors left out while they are not on their bodies, at one time."""

    sensors: tuple[Detached, ...]
    repair: str = "detached"
    effect: Effect = "leaves out"
    size: float | None = None
    hold: tuple[tuple[str, str], ...] = ()
    at_border: bool = True

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.sensors)

    @property
    def first(self) -> int:
        return min(int(np.argmax(one.hidden)) for one in self.sensors)

    @property
    def suspicion(self) -> str:
        lie = " and ".join(f"{one.name} {one.when}" for one in self.sensors)
        return f"sensors that may be off the body: {lie}"

    def apply(self, take: Take) -> Take:
        hidden = np.zeros((take.frames, take.bodies), dtype=bool)
        for one in self.sensors:
            hidden[one.hidden, take.index(one.name)] = True
        return take.mask(hidden)

    def describe(self, *, repaired: bool = True) -> list[Finding]:
        return [one.describe(repaired=repaired) for one in self.sensors]
