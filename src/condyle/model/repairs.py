"""What a fit may repair in a recording, by name. The command line lists these without importing numpy."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import UsageError, check_several

# Repairs by name: whether each is done unless it is switched off.
REPAIRS: dict[str, bool] = {
    "dropouts": True,  # zeros or one constant pose, written where a sensor saw nothing, are masked
    "flips": True,  # positions mirrored to the other side of a magnetic transmitter are put right
    "repeats": True,  # samples of a frozen sensor are masked, rows that repeat whole are dropped
    "latency": True,  # sensors that report late are moved to when they measured
    "detached": True,  # poses of a sensor are left out while it lies still, off its body
    "slips": True,  # sensors that slipped on their limb are moved back
    "part-time": True,  # poses of a sensor are left out while its only joint does not hold
    "swaps": False,  # sensors, and markers, that were exchanged are exchanged back; else both are left out there
}


def check_repairs(names: Iterable[str]) -> tuple[str, ...]:
    """Names of repairs, each once; raises with the choices."""
    found = tuple(dict.fromkeys(check_several(names, "repairs")))
    for name in found:
        if name not in REPAIRS:
            raise UsageError(f"no repair named '{name}'; choose from {', '.join(REPAIRS)}", code="bad-option")
    return found
