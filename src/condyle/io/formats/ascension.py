"""Logs of Ascension trackers (trakSTAR, Flock of Birds, MotionStar); docs/formats/ascension.md.

Either the columns are named, or a row has eight numbers per sensor: x y z, azimuth elevation roll [deg], quality, time.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding, Severity
from ...maths.arrays import Bools, Floats
from ...model.recording import Recording
from ...model.units import metres_per
from ..format import Format, ReadOptions
from ..tables.sensors import (
    EULER,
    POLHEMUS,
    SensorColumns,
    assemble_log,
    find_log,
    find_log_head,
    find_sensors,
    sample_rows,
)
from ..tables.table import Table
from ..tables.text import read_text

ASCENSION_WORDS = re.compile(
    r"trakstar|ascension|flock of birds|motionstar|drivebay|medsafe|3d guidance|atc3dg", re.IGNORECASE
)
AZIMUTH_NAME = re.compile(r"(?:^|[\d_\s.])(?:az|azi|azimuth|a)(?:$|[\d_\s.\[(])", re.IGNORECASE)
NUMBERS_PER_SENSOR = 8  # x y z azimuth elevation roll quality time
RANGE_IN = 36.0  # inches: ranges are this or a multiple, as 16-bit numbers; positions come in inches or millimetres
LONGEST_RANGE_IN = 144.0  # inches: the longest range there is
MM_PER_INCH = 25.4  # in an inch


def looks_like(head: bytes) -> bool:
    """Columns named azimuth, elevation and roll, or blocks of eight numbers per sensor with a common clock."""
    try:
        table = find_log_head(head)
        above = "\n".join(table.above)
        if POLHEMUS.search(above):
            return False
        columns = find_sensors(table)
        if columns is not None:
            spoken = columns.rotation == EULER and any(AZIMUTH_NAME.search(name) for name in table.names)
            return spoken or ASCENSION_WORDS.search(above) is not None
        return _find_blocks(table) is not None
    except CondyleError:
        return False


def read(path: Path, options: ReadOptions) -> Recording:
    """The numbers; the clock of a row is that of its first sensor, and one that is far from it is told."""
    table = find_log(read_text(path))
    named = find_sensors(table)
    columns = named or _find_blocks(table)
    if columns is None:
        text = (
            "the columns have no names like x y z azimuth elevation roll, "
            f"and its rows of {len(table.names)} numbers are not {NUMBERS_PER_SENSOR} per sensor; "
            "name the columns in a first line"
        )
        raise CondyleError(text, code="bad-header", line=table.line)
    return _add_unit(assemble_log(table, columns, () if named else _make_labels(len(table.names))))


def _add_unit(recording: Recording) -> Recording:
    """The recording with the unit that its numbers betray, where the file states none: with a finding that says so."""
    if recording.convention.unit is not None or recording.bodies is None:
        return recording
    position = recording.bodies.position
    known = position[np.isfinite(position) & (position != 0)]
    step = RANGE_IN / 2**15
    step_mm = step * MM_PER_INCH
    severity: Severity
    if not len(known):
        return recording
    if _are_multiples(known, step_mm):  # asked first: it is the coarser one
        unit, severity, why = (
            "mm",
            "info",
            f"positions are multiples of {step * MM_PER_INCH:.5f}, the tracker's step in mm",
        )
    elif _are_multiples(known, step):
        unit, severity, why = "in", "info", f"positions are multiples of {step:.6f}, the tracker's step in inches"
    elif np.abs(known).max() > LONGEST_RANGE_IN:
        unit, severity, why = (
            "mm",
            "warning",
            f"positions beyond {LONGEST_RANGE_IN:g} cannot be the tracker's inches; give --unit",
        )
    else:
        return recording
    text = f"the file does not say its unit of length; {unit} is taken, because {why}"
    finding = Finding("unit-assumed", severity, text, value=metres_per(unit), unit="m")
    return replace(
        recording,
        convention=recording.convention.but(unit=unit),
        facts={**recording.facts, "length": f"{unit}, by its numbers"},
        findings=(*recording.findings, finding),
    )


def _are_multiples(values: Floats, step: float) -> bool:
    """All are whole multiples of a step to a thousandth of it, which few decimals would not show, and many differ."""
    with np.errstate(over="ignore", invalid="ignore"):
        count = values / step
        return bool((np.abs(count - np.round(count)) < 1e-3).all() and len(np.unique(values)) > 5)


def _find_blocks(table: Table) -> SensorColumns | None:
    """Eight numbers per sensor, and perhaps one more per row: the number or the time of an event."""
    sensors, rest = divmod(len(table.names), NUMBERS_PER_SENSOR)
    values = sample_rows(table)
    if not sensors or rest > 1 or not len(values):
        return None
    block = values[:, : NUMBERS_PER_SENSOR * sensors].reshape(len(values), sensors, NUMBERS_PER_SENSOR)
    known: Bools = np.isfinite(block.sum(axis=2))
    angles, quality, time = block[..., 3:6][known], block[..., 6][known], block[..., 7]
    if not known.any() or not known[:, 0].any():
        return None
    steps = np.diff(time[known[:, 0], 0])
    likely = (
        (np.abs(angles) <= (180.0, 90.0, 180.0)).all()
        and (np.abs(angles) > 4.0).any()  # radians and quaternions are smaller
        and (quality == np.trunc(quality)).all()
        and (quality >= 0).all()
        and (steps < 0).sum() <= 0.1 * len(steps)  # a clock that starts over is a new recording in the same file
        and steps.any() == (len(steps) > 0)
        and (np.abs(time - time[:, :1])[known] < 1.0).all()  # one clock, and no sensor a second late
    )
    if not likely:
        return None
    starts = range(0, NUMBERS_PER_SENSOR * sensors, NUMBERS_PER_SENSOR)
    return SensorColumns(
        tuple((k + 1, (c, c + 1, c + 2), (c + 3, c + 4, c + 5), c + 7) for k, c in enumerate(starts)), EULER, time=7
    )


def _make_labels(width: int) -> list[str]:
    """Names of the columns for messages."""
    parts = ("x", "y", "z", "azimuth", "elevation", "roll", "quality", "time")
    labels = [f"{part} of s{k + 1}" for k in range(width // NUMBERS_PER_SENSOR) for part in parts]
    return labels + ["event"] * (width % NUMBERS_PER_SENSOR)


FORMAT = Format("ascension", "Ascension tracker log", looks_like, read)
