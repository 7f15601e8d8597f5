"""What is checked over the whole of a long file while its blocks go by: its clock, and rotations that are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..errors import CondyleError
from ..findings import Finding
from ..maths.arrays import Ints
from ..model.clock import in_order
from ..model.recording import Bodies, Recording


class RunningClock:
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


class Rejected:
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
