"""A condyle CSV that is too long to hold: one pass keeps the sums of all its frames, and stretches of it as a sample.

Joints come from the sample, in which neighbouring frames stay neighbours, so that noise, latency and intervals are
estimated as ever. The sums of all frames then tell whether the sample speaks for the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ._median import median
from ._shapes import Floats, Ints
from .clock import in_order
from .errors import CondyleError, UsageError
from .file_sums import FileSums, Part
from .findings import Finding
from .readers import Options, identify
from .readers._format import applied
from .readers._table import parse_rows
from .readers._text import line_feeds
from .readers.csv import FORMAT, Table, check_frames, read_head, recording_of
from .recording import Bodies, Recording, to_take
from .sums import sum_pairs
from .take import UNTIMED_RATE, Take

LONG_BYTES = 2**30  # of a file, from which it is read in blocks
BLOCK = 2**24  # bytes read at once
HEAD = 2**20  # bytes that hold the head of any file
MOST_FRAMES = 100_000  # in the samples of all long files together
MOST_BYTES = 300_000_000  # ... and the memory that they and their poses take
POSE_BYTES = 8 * (3 + 4) + 8 * (3 + 9)  # of one pose, as written and as a matrix
STRETCH = 2.0  # s of motion that stay together
FEWEST_STRETCHES = 100  # into which a sample is cut, however fast the clock
SHORTEST = 16  # frames in a stretch, however slow
PARTS = 64  # of a file whose sums are kept apart, to tell where it differs from its sample
PARTS_BYTES = 50_000_000  # of memory for them

Progress = Callable[[str, int, int], None]  # file, bytes read so far, bytes in all


@dataclass(frozen=True, eq=False)
class LongTake:
    """What one pass over a long file leaves.

    recording  the sample: stretches of frames, each a segment of its own, under the convention of the file
    sums       of all frames, under the same convention
    """

    recording: Recording
    sums: FileSums


def is_long(path: str | os.PathLike[str], options: Options) -> bool:
    """Whether a file is a condyle CSV that is read in blocks. A file that is not there is not long."""
    try:
        if os.path.getsize(path) <= LONG_BYTES or options.columns is not None:
            return False
    except (OSError, ValueError):
        return False
    return identify(path, options.format) is FORMAT


def read_files(
    paths: Sequence[str | os.PathLike[str]], options: Options, progress: Progress | None = None
) -> dict[int, LongTake]:
    """{place in `paths`: what is kept of it} of the long files; each has its share of one sample."""
    size = {k: os.path.getsize(path) for k, path in enumerate(paths) if is_long(path, options)}
    alone = len(paths) == 1
    return {k: read_long(paths[k], options, progress, share=size[k] / sum(size.values()), alone=alone) for k in size}


def read_long(
    path: str | os.PathLike[str],
    options: Options,
    progress: Progress | None = None,
    *,
    share: float = 1.0,
    alone: bool = True,
) -> LongTake:
    """One pass over a condyle CSV in memory that does not grow with it.

    share  of the largest sample that this file may take
    alone  no other file is read with it; several files of one body each would have to be held to be put side by side
    """
    file = Path(path)
    try:
        with open(file, "rb") as stream:
            return _Pass(file, options, os.fstat(stream.fileno()).st_size, share, alone).over(stream, progress)
    except CondyleError as error:
        raise error.at(file) from None
    except OSError as error:
        raise CondyleError(f"cannot be read: {error.strerror}", code="unreadable-file", path=file) from None


class _Pass:
    """What is known of a file while its blocks go by."""

    def __init__(self, file: Path, options: Options, size: int, share: float, alone: bool) -> None:
        self.file, self.options, self.size, self.share, self.alone = file, options, size, share, alone
        self.rows = 0  # read so far
        self.frames = 0  # ... without those that repeat a time stamp
        self.clock = _Clock()
        self.rejected: _Rejected | None = None
        self.spread: _Spread | None = None
        self.parts: dict[int, Part] = {}
        self.sample: _Sample | None = None

    def over(self, stream: BinaryIO, progress: Progress | None) -> LongTake:
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
                progress(str(self.file), min(end, self.size), self.size)
        findings = check_frames(head.facts, self.rows, cut)
        if not self.rows:
            raise CondyleError("a header without a single whole row of numbers", code="no-data", line=head.line)
        return self._finished(findings)

    def _take_up(self, table: Table, values: Floats, begin: int, end: int) -> None:
        """One block, which lies at the bytes from `begin` to `end`."""
        whole = applied(recording_of(self.file, table, values, self.options), self.options, FORMAT.title)
        rows, segment = self.clock.kept(whole, self.rows)
        if self.spread is None:
            self.spread = _Spread.of(whole, begin, self.size, self.share)
        if whole.time is None and whole.rate is not None:
            whole = replace(whole, time=(self.rows + np.arange(len(values))) / whole.rate, rate=None)
        if self.rejected is None or self.sample is None:
            self.rejected = _Rejected(whole.bodies.names if whole.bodies else ())
            self.sample = _Sample(whole, self.spread.stretches * self.spread.length)
        block = self.rejected.masked(whole.at(rows), self.rows + rows)
        take = to_take(replace(block, time=None, segment=None))  # what needs time was settled by the clock
        chosen = self.spread.chosen(begin + (end - begin) * rows / len(values))
        time = None if block.time is None or not len(rows) else (float(block.time[0]), float(block.time[-1]))
        part = Part(sum_pairs(take), sum_pairs(take.at(chosen)), time)
        number = self.spread.part(begin, take)
        self.parts[number] = self.parts[number] + part if number in self.parts else part
        self.sample.add(block, chosen, np.stack([self.frames + chosen, segment[chosen]], axis=1))
        self.frames += len(rows)

    def _finished(self, findings: list[Finding]) -> LongTake:
        assert self.rejected is not None
        assert self.sample is not None
        told = [*findings, *self.clock.findings(), *self.rejected.findings(self.frames)]
        recording, stretches = self.sample.finished()
        used = recording.frames
        if used < self.frames:
            text = (
                f"{self.frames} frames, {self.size / 1e9:.3g} GB, are not held at once: "
                f"the joints come from {used} of them, in {stretches} stretches spread evenly over the file"
            )
            told.append(Finding("long-recording", "info", text, value=used, unit="frames", count=self.frames))
        recording = replace(recording, findings=tuple(told))
        parts = tuple(self.parts[k] for k in sorted(self.parts))
        return LongTake(recording, FileSums(str(self.file), self.rejected.names, self.frames, parts))


class _Clock:
    """Time over the whole of a file, block by block: the same rules as `clock.in_order` has for a short one."""

    def __init__(self) -> None:
        self.last: Recording | None = None  # the last row so far
        self.run = 0  # the segment it is in, counted over the file
        self.found: dict[str, Finding] = {}

    def kept(self, block: Recording, before: int) -> tuple[Ints, Ints]:
        """Rows of a block that do not repeat a time stamp, and the segment of each; `before`: rows read before."""
        parts = [block] if self.last is None else [self.last, block]  # the row before tells how this block begins
        lead = len(parts) - 1
        n = block.frames + lead
        own = [np.zeros(one.frames, np.int64) if one.segment is None else one.segment for one in parts]
        times = [one.time for one in parts if one.time is not None]
        try:
            rows, label, _, found = in_order(np.concatenate(times) if times else None, np.concatenate(own), n)
        except CondyleError as error:
            frame = None if error.frame is None else error.frame + before - lead
            raise CondyleError(error.text, code=error.code, frame=frame) from None
        for one in found:
            self._add(one, before - lead)
        assert label is not None
        run = self.run + np.concatenate([[0], np.cumsum(np.diff(label) != 0)])
        self.last, self.run = block.at(slice(-1, None)), int(run[-1])
        return np.arange(n)[rows][lead:] - lead, run[lead:]

    def _add(self, one: Finding, before: int) -> None:
        one = replace(one, frame=None if one.frame is None else one.frame + before)
        old = self.found.get(one.code)
        if old is not None:
            one = replace(
                old,
                count=(old.count or 0) + (one.count or 0),
                value=None if old.value is None or one.value is None else max(old.value, one.value),
            )
        self.found[one.code] = one

    def findings(self) -> list[Finding]:
        said = {
            "repeated-time": "{} rows repeat the time of the row before, first frame {}; the first of each is kept",
            "time-backwards": "time runs backwards in {} places, first at frame {}; "
            "a new segment begins at each, and the joints do not depend on it",
            "time-jumps": "time jumps forward in {} places, first at frame {}; "
            "a new segment begins at each; if the recording was not paused, check its clock",
        }
        return [replace(one, text=said[code].format(one.count, one.frame)) for code, one in self.found.items()]


class _Rejected:
    """Quaternions of length zero or far from one: few are left out, most are an error, and only the end tells which."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.zero, self.bad, self.known = np.zeros((3, len(names)), np.int64)
        self.first = np.full(len(names), -1)

    def masked(self, block: Recording, frame: Ints) -> Recording:
        """The block without them; `frame` (n,) in the file."""
        assert block.bodies is not None
        with np.errstate(invalid="ignore", over="ignore"):
            q = block.bodies.orientation
            length = np.linalg.norm(np.where(np.isfinite(q), q, np.nan), axis=-1)
            zero, bad = length < 1e-9, np.abs(length - 1) > 0.5
        self.known += (~np.isnan(length)).sum(axis=0)
        if not bad.any():
            return block
        for k in np.flatnonzero(bad.any(axis=0) & (self.first < 0)):
            self.first[k] = frame[int(np.argmax(bad[:, k]))]
        self.zero += zero.sum(axis=0)
        self.bad += bad.sum(axis=0)
        left = np.where(bad[..., None], np.nan, q)
        return replace(block, bodies=Bodies(block.bodies.names, block.bodies.position, left))

    def findings(self, frames: int) -> list[Finding]:
        told = []
        for k in np.flatnonzero(self.bad).tolist():
            name, bad, zero, known = self.names[k], int(self.bad[k]), int(self.zero[k]), int(self.known[k])
            if 2 * (bad - zero) > known - zero:
                raise CondyleError(
                    f"{bad - zero} of {known - zero} quaternions are far from unit length; "
                    "check which columns hold them",
                    code="not-rotations",
                    frame=int(self.first[k]),
                    body=name,
                )
            text = f"{name}: {bad} of {frames} quaternions of length zero or far from one; those poses are left out"
            told.append(Finding("rotation-rejected", "warning", text, (name,), frame=int(self.first[k]), count=bad))
        return told


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

    def part(self, byte: int, take: Take) -> int:
        """Number of the part of the file that a block belongs to."""
        most = max(1, min(PARTS, PARTS_BYTES // (2 * 14 * 8 * take.bodies**2)))
        return min(int((byte - self.begin) / self.span * most), most - 1)


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

    def finished(self) -> tuple[Recording, int]:
        """The frames, those that follow on each other in one segment, and how many segments that makes."""
        assert self.pattern.bodies is not None
        for array in (self.position, self.orientation):
            array.resize((self.filled, *array.shape[1:]), refcheck=False)
            array.flags.writeable = False  # so that it is taken as it is, and not copied
        step = np.diff(self.place[: self.filled], axis=0)
        segment = np.concatenate([[0], np.cumsum((step != (1, 0)).any(axis=1))])
        bodies = Bodies(self.pattern.bodies.names, self.position, self.orientation)
        time = None if self.pattern.time is None else self.time[: self.filled]
        return replace(self.pattern, bodies=bodies, time=time, segment=segment), int(segment[-1]) + 1


def _chunk(stream: BinaryIO, size: int) -> bytes:
    """The next bytes of a file, with no pair of CR and LF torn apart."""
    data = stream.read(size)
    while data.endswith(b"\r") and (one := stream.read(1)):
        data += one
    return data


def _blocks(stream: BinaryIO, head: Table) -> Iterator[tuple[Table, int, bool]]:
    """The rows below a head as whole lines, some at a time; where each block ends in the file; whether it is the last.

    A block is handed out when a row is known to follow: only the last row of all may be cut.
    """
    text, line, blank = head.rows, head.line, 0
    while chunk := line_feeds(_chunk(stream, BLOCK)):
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


def _numbers(block: Table, last: bool) -> tuple[Floats, bool]:
    """Numbers (rows, columns) of a block; and whether a cut row at the end of the file was left out."""
    values, cut = parse_rows(block.rows, block.columns, line=block.line, separator=block.separator, line_ends=True)
    if cut and not last:  # a broken row in the middle of the file: before a good one, it raises with its place
        good = b",".join([b"0"] * len(block.columns)) + b"\n"
        parse_rows(block.rows + good, block.columns, line=block.line, separator=block.separator, line_ends=True)
    return values, bool(cut) and last
