"""All frames of long files, block by block, each treated as the sample was that the figure was found in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..faults.field import FieldRepair
from ..faults.part_time import PartTime, PartTimeRepair
from ..faults.part_time import hidden as apart
from ..faults.slips import Slip, SlipRepair, moved_back
from ..io.scale_file import factor_of
from ..maths.arrays import Bools, Floats, Ints
from ..model.field import FieldModel
from ..model.options import FitOptions
from ..model.scale import scaled
from ..model.stage import Change, apply_changes
from ..model.take import WORLD, Take, with_world
from ..pairs.outliers import count_frames
from ..pairs.sums import STACK_KEPT_BYTES
from ..prepare.dropouts import prepare
from ..prepare.latency import LatencyRepair, without_latency
from ..prepare.swaps import SwapRepair, repair_swaps
from .long_file import LongFile

FEWEST = 2048  # frames in a block, however many bodies there are
MARGIN = 1.0  # s before and after a block that are treated with it and then left: what looks at neighbours needs them
LEAST_MARGIN = 16  # frames, however slow the clock


@dataclass(frozen=True, eq=False)
class Treatment:
    """What a sample went through on its way to a fit.

    options    as asked for; swaps: whether exchanged sensors were found
    recorded   the sample as it was read
    fitted     the sample as it was fitted
    delay      (m,) [s] by which sensors reported late, taken away; None: none did
    field      bend of the room that was known beforehand, taken away
    part_time  joints that hold for a part of the time, and slips that were moved back: frames count in `fitted`
    bend       bend of the room that was fitted, taken away last
    """

    options: FitOptions
    recorded: Take
    fitted: Take
    swaps: bool = False
    delay: Floats | None = None
    field: FieldModel | None = None
    part_time: Sequence[PartTime] = ()
    slips: Sequence[Slip] = ()
    bend: FieldModel | None = None

    @classmethod
    def of(cls, options: FitOptions, recorded: Take, fitted: Take, changes: Sequence[Change]) -> Treatment:
        """The treatment that these changes were."""
        delays = [one.delay for one in changes if isinstance(one, LatencyRepair)]
        bends = [one.fit.model for one in changes if isinstance(one, FieldRepair)]
        return cls(
            options,
            recorded,
            fitted,
            any(isinstance(one, SwapRepair) for one in changes),
            delays[0] if delays else None,
            options.field if isinstance(options.field, FieldModel) else None,
            [one.joint for one in changes if isinstance(one, PartTimeRepair)],
            [one.slip for one in changes if isinstance(one, SlipRepair)],
            bends[0] if bends else None,
        )

    def among_neighbours(self, take: Take) -> Take:
        """What looks at more than one frame: these come with a margin."""
        take = scaled(take, factor_of(self.options.scale))
        if self.options.prepare:
            take = prepare(take)
        if self.swaps:
            take = apply_changes(take, repair_swaps(take, self.options).changes)
        return take if self.delay is None else without_latency(take, self.delay)

    def frame_by_frame(self, take: Take, number: Ints, place: Places) -> Take:
        """The rest; `number` (n,) of each frame in its file."""
        if self.field is not None:
            take = self.field.corrected(take)
        if self.options.world:
            take = with_world(take)
        if self.part_time:
            joints = [replace(one, holds=place.holds(one.holds, number)) for one in self.part_time]
            take = take.mask(apart(take, joints))
        if self.slips:
            take = _moved_back(take, self.slips, number, place)
        if self.bend is not None:
            take = self.bend.corrected(take, take.names.index(WORLD) if self.options.world else None)
        return take


@dataclass(frozen=True, eq=False)
class Places:
    """Where the sample of one file lies: rows `first` to before `stop` of the fitted take, and the number of each in
    the file.
    """

    first: int
    stop: int
    number: Ints
    frames: int

    def begins(self, row: int) -> tuple[int, int]:
        """What begins with a row of the take: frames of the file that may already belong to it, and those that do."""
        if row < self.first or row > self.stop:
            return (0, 0) if row < self.first else (self.frames, self.frames)
        maybe = 0 if row == self.first else int(self.number[row - self.first - 1]) + 1
        return maybe, self.frames if row == self.stop else int(self.number[row - self.first])

    def holds(self, holds: Bools, number: Ints) -> Bools:
        """(n,) for frames of the file: whether what holds in the rows (s,) of the take does before and after them."""
        own = holds[self.first : self.stop]
        if not len(own):
            return np.zeros(len(number), dtype=bool)
        after = np.minimum(np.searchsorted(self.number, number), len(own) - 1)
        before = np.maximum(np.searchsorted(self.number, number, side="right") - 1, 0)
        return np.asarray(own[before] & own[after])


def _moved_back(take: Take, slips: Sequence[Slip], number: Ints, place: Places) -> Take:
    """The frames with sensors that slipped moved back, and left out between the two samples it happened between."""
    lost = np.zeros((take.frames, take.bodies), dtype=bool)
    here = []
    for slip in slips:
        maybe, surely = place.begins(slip.frame)
        lost[(number >= maybe) & (number < surely), take.index(slip.body)] = True
        frame = int(np.searchsorted(number, surely))
        if frame < take.frames:
            here.append(replace(slip, frame=frame))
    take = moved_back(take, here)
    return take.mask(lost) if lost.any() else take


@dataclass(frozen=True, eq=False)
class Block:
    """Some frames of a recording, treated; `file` and `number` (n,) tell which, and are None and empty where the sample
    itself has the whole file; `bytes` of a spool that they were.
    """

    take: Take
    file: LongFile | None
    number: Ints
    bytes: int


class AllFrames:
    """Every frame of the files of a take: those of long files from their spools, those of others from the take."""

    def __init__(self, files: Sequence[LongFile], treatment: Treatment) -> None:
        self.files, self.treatment = files, treatment
        fitted, recorded = treatment.fitted, treatment.recorded
        rows = rows_in(fitted, recorded)
        self.short = np.ones(fitted.frames, dtype=bool)
        self.places = []
        for file in files:
            first, stop = np.searchsorted(rows, [file.first, file.first + len(file.place)]).tolist()
            self.short[first:stop] = False
            self.places.append(Places(first, stop, file.place[rows[first:stop] - file.first], file.frames))
        self.margin = max(LEAST_MARGIN, count_frames(fitted, MARGIN))
        self.step = max(FEWEST, STACK_KEPT_BYTES // (96 * fitted.bodies))

    @property
    def bytes(self) -> int:
        """That come from spools in one pass."""
        return sum(file.spool.bytes for file in self.files)

    def __iter__(self) -> Iterator[Block]:
        rows = np.flatnonzero(self.short)
        for start in range(0, len(rows), self.step):
            yield Block(self.treatment.fitted.at(rows[start : start + self.step]), None, np.empty(0, np.int64), 0)
        for file, place in zip(self.files, self.places, strict=True):
            for start in range(0, file.frames, self.step):
                yield self._block(file, place, start, min(start + self.step, file.frames))

    def _block(self, file: LongFile, place: Places, start: int, stop: int) -> Block:
        begin = max(start - self.margin, 0)
        read = file.take(begin, stop + self.margin)
        take = self.treatment.among_neighbours(read)
        number = begin + rows_in(take, read)
        inside = slice(*np.searchsorted(number, [start, stop]).tolist())
        number = number[inside]
        treated = self.treatment.frame_by_frame(take.at(inside), number, place)
        return Block(treated, file, number, 8 * file.spool.width * (stop - start))


def rows_in(part: Take, whole: Take) -> Ints:
    """(n,) rows of a take that the frames of a part of it are."""
    if part.frames == whole.frames:
        return np.arange(whole.frames)
    # Complex numbers are sorted by segment first and by time then.
    return np.searchsorted(whole.segment + 1j * whole.time, part.segment + 1j * part.time)
