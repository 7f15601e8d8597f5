"""The newest pose of every body and place of every marker, in metres and one world, for whoever looks on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats
from ..model.recording import Bodies, Convention, Recording, to_take
from ..model.skeleton import Slip
from ..model.take import BodyMarker
from .clock import STALE_AFTER_S, Stamp
from .source import Packet


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of m bodies at a moment [s]: p (m, 3) [m] and R (m, 3, 3), NaN where a body is not seen; places (k, 3) [m]
    of single markers.
    """

    time: float
    names: tuple[str, ...]
    p: Floats
    R: Floats
    markers: Floats = field(default_factory=lambda: np.empty((0, 3)))


@dataclass(eq=False)
class NewestPoses:
    """Remembers the newest packet of every source. `listen` is called by the threads of the sources.

    conventions  by the words of sources: how their numbers are read, where the motion has told it
    slips        sensors that are moved back to where they were before
    shapes       where markers are on the bodies that are formed from them
    """

    conventions: dict[str, Convention] = field(default_factory=dict)
    slips: Sequence[Slip] = ()
    shapes: Sequence[BodyMarker] = ()
    _packets: dict[str, tuple[Packet, Stamp]] = field(default_factory=dict)

    def listen(self, packet: Packet, stamp: Stamp) -> None:
        if stamp.kind != "late":
            self._packets[packet.layout.source] = packet, stamp

    def poses(self, now: float) -> Poses | None:
        """Where every body and marker is; None where none ever was. One whose source has gone silent is not seen."""
        newest = [one for _, one in sorted(self._packets.copy().items()) if one[0].layout.width]
        if not newest:
            return None
        parts = [self._read(packet, now - packet.arrival_time <= STALE_AFTER_S) for packet, _ in newest]
        layouts = [packet.layout for packet, _ in newest]
        names = _tell_apart([(layout.source, layout.bodies) for layout in layouts])
        p, R, markers = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        if self.shapes:
            labels = _tell_apart([(layout.source, layout.markers) for layout in layouts])
            names, p, R = self._add_formed(names, p, R, markers, labels)
        for slip in self.slips:
            if slip.body in names:
                k = names.index(slip.body)
                R[k] = R[k] @ rotation.from_vector(slip.turn).T
                p[k] -= R[k] @ slip.shift
        return Poses(max(stamp.time for _, stamp in newest), names, p, R, markers)

    def _add_formed(
        self, names: tuple[str, ...], p: Floats, R: Floats, markers: Floats, labels: Sequence[str]
    ) -> tuple[tuple[str, ...], Floats, Floats]:
        """With the bodies whose markers these are, in the place of what was sent for them; labels: of the markers."""
        from .marker_bodies import pose_bodies

        formed = tuple(dict.fromkeys(one.body for one in self.shapes))
        found = pose_bodies(self.shapes, labels, markers)
        nowhere = np.full((3, 3), np.nan), np.full(3, np.nan)
        kept = [k for k, name in enumerate(names) if name not in formed]
        turns = np.stack([found.get(name, nowhere)[0] for name in formed])
        places = np.stack([found.get(name, nowhere)[1] for name in formed])
        names = (*(names[k] for k in kept), *formed)
        return names, np.concatenate([p[kept], places]), np.concatenate([R[kept], turns])

    def _read(self, packet: Packet, fresh: bool) -> tuple[Floats, Floats, Floats]:
        """p (m, 3), R (m, 3, 3) of the bodies of a packet, and places (k, 3) of its markers."""
        layout = packet.layout
        m, k = len(layout.bodies), len(layout.markers)
        convention = self.conventions.get(layout.source, layout.convention)
        if not fresh:
            return np.full((m, 3), np.nan), np.full((m, 3, 3), np.nan), np.full((k, 3), np.nan)
        p, turned, markers = layout.split(packet.values)
        if k:
            from .marker_bodies import place_markers

            markers = place_markers(layout.markers, markers, convention)
        if not m:
            return np.empty((0, 3)), np.empty((0, 3, 3)), markers
        take = to_take(Recording(bodies=Bodies(layout.bodies, p[None], turned[None]), rate=1.0, convention=convention))
        return take.p_world_body[0].copy(), take.R_world_body[0].copy(), markers


def _tell_apart(sources: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """The names of all sources; those that two of them have bear the source in front, as in a recording of them."""
    counts = Counter(name for _, names in sources for name in names)
    return tuple(f"{source}/{name}" if counts[name] > 1 else name for source, names in sources for name in names)
