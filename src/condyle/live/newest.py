"""The newest pose of every body that streams, in metres and one world, for whoever looks on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats
from ..model.recording import Bodies, Convention, Recording, to_take, width_of
from ..model.skeleton import Slip
from .clock import STALE_AFTER_S, Stamp
from .source import Packet


@dataclass(frozen=True, eq=False)
class Poses:
    """Poses of m bodies at a moment [s]: p (m, 3) [m] and R (m, 3, 3), NaN where a body is not seen."""

    time: float
    names: tuple[str, ...]
    p: Floats
    R: Floats


@dataclass(eq=False)
class NewestPoses:
    """Remembers the newest packet of every source. `listen` is called by the threads of the sources.

    conventions  by the words of sources: how their numbers are read, where the motion has told it
    slips        sensors that are moved back to where they were before
    """

    conventions: dict[str, Convention] = field(default_factory=dict)
    slips: Sequence[Slip] = ()
    _packets: dict[str, tuple[Packet, Stamp]] = field(default_factory=dict)

    def listen(self, packet: Packet, stamp: Stamp) -> None:
        if stamp.kind != "late":
            self._packets[packet.layout.source] = packet, stamp

    def poses(self, now: float) -> Poses | None:
        """Where every body is; None where no body ever was. One whose source has gone silent is not seen."""
        newest = [one for _, one in sorted(self._packets.copy().items()) if one[0].layout.bodies]
        if not newest:
            return None
        parts = [self._read(packet, now - packet.arrival_time <= STALE_AFTER_S) for packet, _ in newest]
        counts = Counter(name for packet, _ in newest for name in packet.layout.bodies)
        names = tuple(
            f"{packet.layout.source}/{name}" if counts[name] > 1 else name
            for packet, _ in newest
            for name in packet.layout.bodies
        )
        p, R = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        for slip in self.slips:
            if slip.body in names:
                k = names.index(slip.body)
                R[k] = R[k] @ rotation.from_vector(slip.turn).T
                p[k] -= R[k] @ slip.shift
        return Poses(max(stamp.time for _, stamp in newest), names, p, R)

    def _read(self, packet: Packet, fresh: bool) -> tuple[Floats, Floats]:
        layout = packet.layout
        m = len(layout.bodies)
        convention = self.conventions.get(layout.source, layout.convention)
        turn = width_of(layout.convention.rotation)
        p, q = packet.values[: 3 * m].reshape(1, m, 3), packet.values[3 * m : (3 + turn) * m].reshape(1, m, turn)
        if not fresh:
            return np.full((m, 3), np.nan), np.full((m, 3, 3), np.nan)
        take = to_take(Recording(bodies=Bodies(layout.bodies, p, q), rate=1.0, convention=convention))
        return take.p_world_body[0].copy(), take.R_world_body[0].copy()
