"""Reading options of a source, as of a file: how its numbers are read, and which of its bodies, by which names.

It goes into the layout of the packets before they are recorded, so that whoever reads the log need not be told again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import UsageError
from ..io.format import ReadOptions, apply_options
from ..io.log_records import Layout
from ..maths.arrays import Ints
from ..model.recording import Bodies, Markers, Recording
from ..prepare.cutting import find_missing, pick_bodies
from .source import Packet, Source

FILE_OPTIONS = ("rate", "columns", "format", "start", "stop", "bodies")  # which say nothing of a stream of bodies
FIT_OPTIONS = ("bodies", "doctor")  # which are told to the fit, not to the source
CHOOSING = ("only", "drop", "rename")  # which are told to the source, or to the fit where that forms bodies


class LayoutWithOptions(NamedTuple):
    """A layout under the options; where its numbers stand in a packet, None: as they come."""

    layout: Layout
    columns: Ints | None = None


class SourceWithOptions:
    """A source whose packets are read as the reading options say.

    sent_names  of its bodies before that; None before the first packet
    together    the sources of the session, itself among them: a body that is named may be at any
    """

    def __init__(self, source: Source, reading: ReadOptions) -> None:
        self._source, self._reading = source, reading
        self.sent_names: tuple[str, ...] | None = None
        self.together: Sequence[Source] = (self,)
        # by the identity of layouts, which are kept for that
        self._known: dict[int, tuple[Layout, LayoutWithOptions]] = {}

    @property
    def word(self) -> str:
        return self._source.word

    @property
    def ended(self) -> bool:
        return self._source.ended

    @property
    def bad_packets(self) -> int:
        return self._source.bad_packets

    @property
    def fault(self) -> str:
        return self._source.fault or self._describe_missing()

    def read(self, timeout: float) -> list[Packet]:
        return [self._apply(packet) for packet in self._source.read(timeout)]

    def close(self) -> None:
        self._source.close()

    def _apply(self, packet: Packet) -> Packet:
        known = self._known.get(id(packet.layout))
        if known is None:
            known = self._known[id(packet.layout)] = packet.layout, apply_to_layout(packet.layout, self._reading)
        layout, columns = known[1]
        self.sent_names = packet.layout.bodies
        return packet._replace(layout=layout, values=packet.values if columns is None else packet.values[columns])

    def _describe_missing(self) -> str:
        names = list_sent_names(self.together)
        missing = [] if names is None else find_missing(self._reading, names)
        where = "" if len(self.together) == 1 else " at any source"
        return f"no body named '{missing[0]}'{where}; it sends {', '.join(self.sent_names or ())}" if missing else ""


def apply_to_layout(layout: Layout, reading: ReadOptions) -> LayoutWithOptions:
    """The layout under the reading options. A body that is named and not there may still come."""
    place, turned, points = layout.split(np.zeros((1, layout.width)))
    bodies, markers = Bodies(layout.bodies, place, turned), Markers(layout.markers, points)
    recording = Recording(bodies=bodies, markers=markers, convention=layout.convention)
    layout = replace(layout, convention=apply_options(recording, reading, "stream").convention)
    if not (reading.only or reading.drop or reading.rename):
        return LayoutWithOptions(layout)
    kept, names = pick_bodies(reading, layout.bodies)
    place, turned, points = layout.split(np.arange(layout.width))
    columns = np.concatenate([part.ravel() for part in (place[kept], turned[kept], points)])
    return LayoutWithOptions(replace(layout, bodies=names), columns)


def leave_missing(reading: ReadOptions, names: Sequence[str]) -> ReadOptions:
    """The options without bodies that this source has not, where another may have them; raises where none is left."""
    missing = find_missing(reading, names)
    only = tuple(one for one in reading.only if one not in missing)
    if reading.only and not only:
        raise UsageError(f"has none of the bodies {', '.join(reading.only)}; leave it out", code="unknown-body")
    drop = tuple(one for one in reading.drop if one not in missing)
    rename = {old: new for old, new in (reading.rename or {}).items() if old not in missing}
    return replace(reading, only=only, drop=drop, rename=rename or None)


def list_sent_names(sources: Sequence[Source]) -> list[str] | None:
    """The names of the bodies that sources send; None as long as one of them has not told."""
    told = [getattr(source, "sent_names", None) for source in sources]
    return None if None in told else [name for names in told for name in names or ()]


def share_names(sources: Sequence[Source], reading: ReadOptions) -> None:
    """Lets bodies that are named be at any source of a session; raises where all are known and one is at none."""
    names = list_sent_names(sources)
    missing = [] if names is None else find_missing(reading, names)
    if missing:
        raise UsageError(f"no body named '{missing[0]}' at any source", code="unknown-body")
    for source in sources:
        if isinstance(source, SourceWithOptions):
            source.together = sources


def changes_packets(reading: ReadOptions) -> bool:
    """Whether an option is given that changes how packets are read."""
    return bool(set(reading.given) - {*FIT_OPTIONS, "fix"})


def check_streamed(word: str, reading: ReadOptions) -> None:
    """Raises where an option is given for a stream that is for files only."""
    wrong = [name for name in reading.given if name in FILE_OPTIONS]
    if wrong:
        raise UsageError(f"the option '{wrong[0]}' is for files, and {word} is none", code="option-not-used")


def keep_for_fit(reading: ReadOptions, sources: Sequence[Source]) -> ReadOptions:
    """What is left to be told to the fit of a log: where bodies are formed from markers, they are chosen then."""
    formed = reading.bodies is not None or any(getattr(source, "has_markers_only", False) for source in sources)
    kept = (*FIT_OPTIONS, *CHOOSING, "fix") if formed else (*FIT_OPTIONS, "fix")
    return ReadOptions(**{name: getattr(reading, name) for name in reading.given if name in kept})
