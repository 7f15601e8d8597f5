"""A condyle CSV that is too long to hold: one pass keeps stretches of it as a sample, and all its numbers in a spool.

The figure is found in the sample, in which neighbouring frames stay neighbours, so that noise, latency and intervals
are estimated as ever. Its joints are then fitted to all frames, which come block by block out of the spool.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ..errors import CondyleError, UsageError
from ..findings import Finding
from ..io.format import apply_options
from ..io.formats import ReadOptions, identify
from ..io.formats.csv import FORMAT, TakeTable, check_frames, make_recording, read_head
from ..io.tables.rows import parse_rows
from ..io.tables.text import unify_line_ends
from ..maths.arrays import Floats, Ints
from ..maths.robust import median
from ..model.recording import Bodies, Recording, to_take
from ..model.take import UNTIMED_RATE, Take
from ..prepare.odd_sensors import OddSensor, apply_odd
from .block_checks import Rejected, RunningClock
from .spool import Spool

LONG_BYTES = 2**30  # of a file, from which it is read in blocks
BLOCK = 2**24  # bytes read at once
HEAD = 2**20  # bytes that hold the head of any file
MOST_FRAMES = 100_000  # in the samples of all long files together
MOST_BYTES = 300_000_000  # ... and the memory that they and their poses take
POSE_BYTES = 8 * (3 + 4) + 8 * (3 + 9)  # of one pose, as written and as a matrix
STRETCH = 2.0  # s of motion that stay together
FEWEST_STRETCHES = 100  # into which a sample is cut, however fast the clock
SHORTEST = 16  # frames in a stretch, however slow

Progress = Callable[[str, int, int], None]  # what is done, bytes so far, bytes in all


@dataclass(frozen=True, eq=False)
class LongTake:
    """What one pass over a long file leaves.

    recording  the sample: stretches of frames, each a segment of its own, under the convention of the file
    place      (s,) number of each of its frames among all that the file has
    frames     how many those are
    spool      all of them: time, segment, positions, orientations; None where that was not asked for, or where the
               sample has them all
    """

    recording: Recording
    place: Ints
    frames: int
    spool: Spool | None = None

    def under(self, recording: Recording, odd: Sequence[OddSensor], names: tuple[str, ...], first: int) -> LongFile:
        """All frames as a take has them whose row `first` is the first of this sample; see `LongFile`."""
        assert recording.bodies is not None
        assert self.spool is not None
        m = len(recording.bodies.names)
        none = Bodies(recording.bodies.names, np.empty((0, m, 3)), np.empty((0, m, 4)))
        time = None if recording.time is None else np.empty(0)
        pattern = replace(recording, bodies=none, time=time, segment=np.empty(0, np.int64), findings=(), own=None)
        return LongFile(pattern, tuple(odd), names, self.spool, first, self.place)


@dataclass(frozen=True, eq=False)
class LongFile:
    """All frames of a long file under the convention in use.

    pattern  its recording without a frame
    odd      sensors that are read in a way of their own
    names    bodies of the take that its sample is a part of
    first    row of that take at which the sample begins
    place    (s,) number of each frame of the sample among all frames
    """

    pattern: Recording
    odd: tuple[OddSensor, ...]
    names: tuple[str, ...]
    spool: Spool
    first: int
    place: Ints

    @property
    def source(self) -> str:
        return self.pattern.source

    @property
    def frames(self) -> int:
        return self.spool.rows

    def take(self, start: int, stop: int) -> Take:
        """The poses from frame `start` to before `stop`, as read: nothing is prepared."""
        assert self.pattern.bodies is not None
        table = self.spool.read(start, stop)
        m = len(self.pattern.bodies.names)
        position, orientation = table[:, 2 : 2 + 3 * m], table[:, 2 + 3 * m :]
        bodies = Bodies(self.pattern.bodies.names, position.reshape(-1, m, 3), orientation.reshape(-1, m, 4))
        time = None if self.pattern.time is None else table[:, 0]
        take = to_take(replace(self.pattern, bodies=bodies, time=time, segment=table[:, 1].astype(np.int64)))
        for one in self.odd:
            take = apply_odd(take, one)
        return take if take.names == self.names else take.select(self.names)


def is_long(path: str | os.PathLike[str], options: ReadOptions) -> bool:
    """Whether a file is a condyle CSV that is read in blocks. A file that is not there is not long."""
    try:
        if os.path.getsize(path) <= LONG_BYTES or options.columns is not None:
            return False
    except (OSError, ValueError):
        return False
    return identify(path, options.format) is FORMAT


def read_files(
    paths: Sequence[str | os.PathLike[str]],
    options: ReadOptions,
    progress: Progress | None = None,
    *,
    spool: bool = False,
) -> dict[int, LongTake]:
    """{place in `paths`: what is kept of it} of the long files; each has its share of one sample."""
    size = {k: os.path.getsize(path) for k, path in enumerate(paths) if is_long(path, options)}
    kept: dict[int, LongTake] = {}
    with closed_on_error(kept):
        for k in size:
            share, alone = size[k] / sum(size.values()), len(paths) == 1
            kept[k] = read_long(paths[k], options, progress, share=share, alone=alone, spool=spool)
    return kept


@contextmanager
def closed_on_error(files: Mapping[int, LongTake]) -> Iterator[None]:
    """Whatever ends the block early, an interrupt as well, the spools of these files are gone then."""
    try:
        yield
    except BaseException:
        for one in files.values():
            if one.spool is not None:
                one.spool.close()
        raise


def read_long(
    path: str | os.PathLike[str],
    options: ReadOptions,
    progress: Progress | None = None,
    *,
    share: float = 1.0,
    alone: bool = True,
    spool: bool = False,
) -> LongTake:
    """One pass over a condyle CSV in memory that does not grow with it.

    share  of the largest sample that this file may take
    alone  no other file is read with it; several files of one body each would have to be held to be put side by side
    spool  keep all frames in a temporary file; who asks for it closes it
    """
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            return _Pass(file, options, size, share, alone, spool).over(stream, progress)
    except CondyleError as error:
        raise error.at(file) from None
    except OSError as error:
        raise CondyleError(f"cannot be read: {error.strerror}", code="unreadable-file", path=file) from None


class _Pass:
    """What is known of a file while its blocks go by."""

    def __init__(self, file: Path, options: ReadOptions, size: int, share: float, alone: bool, spooled: bool) -> None:
        self.file, self.options, self.size, self.share, self.alone = file, options, size, share, alone
        self.spooled = spooled
        self.rows = 0  # read so far
        self.frames = 0  # ... without those that repeat a time stamp
        self.clock = RunningClock()
        self.rejected: Rejected | None = None
        self.spread: _Spread | None = None
        self.sample: _Sample | None = None
        self.spool: Spool | None = None

    def over(self, stream: BinaryIO, progress: Progress | None) -> LongTake:
        try:
            return self._over(stream, progress)
        except BaseException:  # an interrupt as well: what was copied is of no use to anyone
            if self.spool is not None:
                self.spool.close()
            raise

    def _over(self, stream: BinaryIO, progress: Progress | None) -> LongTake:
        first = _chunk(stream, max(BLOCK, HEAD))
        if b"\x00" in first[:64]:
            raise CondyleError(
                "is in UTF-16, which is read in files up to 1 GiB only; convert it to UTF-8 first",
                code="file-too-large",
            )
        head = read_head(first)
        if self.options.bodies is not None:
            raise UsageError("the option 'bodies' is for markers, but this file has none", code="option-not-used")
        if len(head.names) == 1 and not self.alone:
            raise CondyleError(
                "a long file of one body is not put side by side with others; join the files first, or fit it alone",
                code="file-too-large",
            )
        begin = stream.tell() - len(head.rows)
        cut = False
        for block, end, last in _blocks(stream, head):
            values, cut = _numbers(block, last)
            if len(values):
                self._take_up(replace(block, rows=b"", frame=self.rows), values, begin, end)
            self.rows += len(values)
            begin = end
            if progress is not None:
                progress(f"reading {self.file}", min(end, self.size), self.size)
        findings = check_frames(head.facts, self.rows, cut)
        if not self.rows:
            raise CondyleError("a header without a single whole row of numbers", code="no-data", line=head.line)
        return self._finished(findings)

    def _take_up(self, table: TakeTable, values: Floats, begin: int, end: int) -> None:
        """One block, which lies at the bytes from `begin` to `end`."""
        whole = apply_options(make_recording(self.file, table, values, self.options), self.options, FORMAT.title)
        rows, segment = self.clock.kept(whole, self.rows)
        if self.spread is None:
            self.spread = _Spread.of(whole, begin, self.size, self.share)
        if whole.time is None and whole.rate is not None:
            whole = replace(whole, time=(self.rows + np.arange(len(values))) / whole.rate, rate=None)
        if self.rejected is None or self.sample is None:
            self.rejected = Rejected(whole.bodies.names if whole.bodies else ())
            self.sample = _Sample(whole, self.spread.stretches * self.spread.length)
        block = self.rejected.masked(whole.at(rows), self.rows + rows)
        chosen = self.spread.chosen(begin + (end - begin) * rows / len(values))
        self.sample.add(block, chosen, np.stack([self.frames + chosen, segment[chosen]], axis=1))
        if self.spooled:
            self._copy(block, segment, expected=round(len(values) * (self.size - begin) / max(end - begin, 1)))
        self.frames += len(rows)

    def _copy(self, block: Recording, segment: Ints, expected: int) -> None:
        """All frames of a block into the spool; the first block tells how many there will be."""
        assert block.bodies is not None
        if self.spool is None:
            self.spool = Spool(2 + 7 * len(block.bodies.names), expected)
        time = np.zeros(block.frames) if block.time is None else block.time
        self.spool.append(time, segment, block.bodies.position, block.bodies.orientation)

    def _finished(self, findings: list[Finding]) -> LongTake:
        assert self.rejected is not None
        assert self.sample is not None
        told = [*findings, *self.clock.findings(), *self.rejected.findings(self.frames)]
        recording, place, stretches = self.sample.finished()
        used = recording.frames
        if used < self.frames:
            text = (
                f"{self.frames} frames, {self.size / 1e9:.3g} GB, are not held at once: {used} of them, in {stretches} "
                "stretches spread evenly over the file, stand for all"
            )
            told.append(Finding("long-recording", "info", text, value=used, unit="frames", count=self.frames))
        elif self.spool is not None:
            self.spool.close()
            self.spool = None
        return LongTake(replace(recording, findings=tuple(told)), place, self.frames, self.spool)


class _Spread:
    """Where the stretches of a sample lie: the first rows after places evenly spread over a file."""

    def __init__(self, begin: int, size: int, stretches: int, length: int) -> None:
        self.begin, self.span = begin, max(size - begin, 1)
        self.stretches, self.length = stretches, length
        self.stretch, self.taken = -1, 0  # the last one begun, and its rows so far

    @classmethod
    def of(cls, block: Recording, begin: int, size: int, share: float) -> _Spread:
        """By the bodies and the rate of the first block."""
        assert block.bodies is not None
        bytes_each = POSE_BYTES * len(block.bodies.names)
        budget = max(SHORTEST, int(share * min(MOST_FRAMES, MOST_BYTES // bytes_each)))
        step = np.empty(0) if block.time is None else np.diff(block.time)
        step = step[step > 0]
        rate = block.rate or (1 / float(median(step)) if len(step) else UNTIMED_RATE)
        length = int(min(max(STRETCH * rate, SHORTEST), max(budget // FEWEST_STRETCHES, SHORTEST)))
        return cls(begin, size, max(1, budget // length), length)

    def chosen(self, byte: Floats) -> Ints:
        """Which of a block's rows, at these places (n,) in the file, belong to the sample."""
        if not len(byte):
            return np.empty(0, np.int64)
        stretch = np.minimum((byte - self.begin) / self.span * self.stretches, self.stretches - 1).astype(np.int64)
        first = np.searchsorted(stretch, stretch)
        rank = np.arange(len(byte)) - first
        rank[stretch == self.stretch] += self.taken
        self.taken = int(rank[-1]) + 1
        self.stretch = int(stretch[-1])
        return np.flatnonzero(rank < self.length)


class _Sample:
    """Frames as written, in memory that is asked for once: many small pieces would leave holes behind."""

    def __init__(self, block: Recording, most: int) -> None:
        assert block.bodies is not None
        self.pattern = replace(block.at(slice(0, 0)), segment=None)
        m = len(block.bodies.names)
        self.position, self.orientation = np.empty((most, m, 3)), np.empty((most, m, 4))
        self.time = np.empty(most)
        self.place = np.empty((most, 2), np.int64)  # number of each frame, and of the segment it is in
        self.filled = 0

    def add(self, block: Recording, chosen: Ints, place: Ints) -> None:
        assert block.bodies is not None
        rows = slice(self.filled, self.filled + len(chosen))
        self.position[rows] = block.bodies.position[chosen]
        self.orientation[rows] = block.bodies.orientation[chosen]
        if block.time is not None:
            self.time[rows] = block.time[chosen]
        self.place[rows] = place
        self.filled += len(chosen)

    def finished(self) -> tuple[Recording, Ints, int]:
        """The frames, those that follow on each other in one segment; their numbers; and how many segments that is."""
        assert self.pattern.bodies is not None
        for array in (self.position, self.orientation):
            array.resize((self.filled, *array.shape[1:]), refcheck=False)
            array.flags.writeable = False  # so that it is taken as it is, and not copied
        step = np.diff(self.place[: self.filled], axis=0)
        segment = np.concatenate([[0], np.cumsum((step != (1, 0)).any(axis=1))])
        bodies = Bodies(self.pattern.bodies.names, self.position, self.orientation)
        time = None if self.pattern.time is None else self.time[: self.filled]
        place = self.place[: self.filled, 0].copy()
        return replace(self.pattern, bodies=bodies, time=time, segment=segment), place, int(segment[-1]) + 1


def _chunk(stream: BinaryIO, size: int) -> bytes:
    """The next bytes of a file, with no pair of CR and LF torn apart."""
    data = stream.read(size)
    while data.endswith(b"\r") and (one := stream.read(1)):
        data += one
    return data


def _blocks(stream: BinaryIO, head: TakeTable) -> Iterator[tuple[TakeTable, int, bool]]:
    """The rows below a head as whole lines, some at a time; where each block ends in the file; whether it is the last.

    A block is handed out when a row is known to follow: only the last row of all may be cut.
    """
    text, line, blank = head.rows, head.line, 0
    while chunk := unify_line_ends(_chunk(stream, BLOCK)):
        if not chunk.strip():  # blank lines are counted, and not kept
            lines = chunk.count(b"\n")
            text += b"\n" * min(lines, 1)
            blank += max(lines - 1, 0)
            continue
        end = text.rfind(b"\n") + 1
        if end == 0 and len(text) > max(BLOCK, HEAD):
            raise CondyleError(f"a line of more than {len(text)} bytes", code="ragged-row", line=line)
        if end:
            yield replace(head, rows=text[:end], line=line), stream.tell() - len(chunk) - len(text) + end, False
            line += text.count(b"\n", 0, end) + blank
            blank = 0
        text = text[end:] + chunk
    yield replace(head, rows=text, line=line), stream.tell(), True


def _numbers(block: TakeTable, last: bool) -> tuple[Floats, bool]:
    """Numbers (rows, columns) of a block; and whether a cut row at the end of the file was left out."""
    values, cut = parse_rows(block.rows, block.columns, line=block.line, separator=block.separator, line_ends=True)
    if cut and not last:  # a broken row in the middle of the file: before a good one, it raises with its place
        good = b",".join([b"0"] * len(block.columns)) + b"\n"
        parse_rows(block.rows + good, block.columns, line=block.line, separator=block.separator, line_ends=True)
    return values, bool(cut) and last
