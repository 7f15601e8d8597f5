"""The one clock of a page: it increases over several recordings, whatever their own clocks say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..maths.arrays import Floats, Ints
from ..maths.robust import median


@dataclass(frozen=True, eq=False)
class PageClock:
    """Time of a take as its page tells it. A recording keeps its own times where they come after those before it;
    otherwise it begins one frame after the end of the one before.

    first   (s,) frame at which each recording begins
    begin   (s,) [s] its own time there, and end (s,) at its last frame
    offset  (s,) [s] to be added to its own times
    step    [s] between frames, median
    """

    first: Ints
    begin: Floats
    end: Floats
    offset: Floats
    step: float

    @classmethod
    def of(cls, time: Floats, segment: Ints) -> PageClock:
        """The clock of frames with their own times [s] and the recordings they belong to."""
        turns = np.flatnonzero(np.diff(segment)) + 1
        first = np.concatenate([np.zeros(min(len(time), 1), np.int64), turns])
        last = np.concatenate([turns, [len(time)] * min(len(time), 1)]).astype(np.int64) - 1
        steps = np.diff(time)[np.diff(segment) == 0]
        step = float(median(steps)) if len(steps) else 0.0
        begin, end = time[first], time[last]
        offset = np.zeros(len(first))
        now = -np.inf
        for k in range(len(first)):
            if begin[k] <= now:
                offset[k] = now + step - begin[k]
            now = end[k] + offset[k]
        return cls(first, begin, end, offset, step)

    def times(self, time: Floats, rows: Ints) -> Floats:
        """(n,) [s] page time of frames, given their own times and their numbers."""
        return np.asarray(time + self.offset[self.recording(rows)])

    def recording(self, rows: Ints) -> Ints:
        """Number of the recording that frames belong to."""
        return np.searchsorted(self.first, rows, side="right") - 1

    def moment(self, time: float, frame: int | None = None) -> float:
        """[s] page time of a moment told in a recording's own time: that of a frame, else the first that holds it."""
        if not len(self.first):
            return time
        if frame is not None:
            k = max(int(np.searchsorted(self.first, frame, side="right")) - 1, 0)
        else:
            inside = (self.begin <= time) & (time <= self.end)
            k = int(inside.argmax()) if inside.any() else int(np.abs(self.begin - time).argmin())
        return float(time + self.offset[k])
