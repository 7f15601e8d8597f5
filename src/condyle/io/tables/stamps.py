"""Times that are written as dates and hours, in place of seconds: 2026-11-18T10:00:00.123Z, 10:00:00.123."""

from __future__ import annotations

import re
from datetime import date
from functools import cache, partial

import numpy as np

from ...maths.arrays import Floats
from .text import Text, as_bytes, change_lines, first_block

STAMP = (
    rb"(?:(\d{4})-(\d\d)-(\d\d)[T ])?([01]\d|2[0-3]):([0-5]\d):([0-5]\d|60)"
    rb"(?:[%b](\d{1,12}))?[ ]?([Zz]|[+-]\d\d(?::?\d\d)?)?"
)
LOOKED_AT_BYTES = 2**16  # in which the first row of a table is found
UNIX_DAY = date(1970, 1, 1).toordinal()
PICOSECONDS = 10**12
DAY_S = 86_400.0
LIKE_A_TIME = re.compile(rb"\d:\d\d|\d[/.-]\d{1,2}[/.-]\d")  # which of several it is nobody can tell


def read_stamps(rows: Text, separator: bytes | None) -> tuple[Text, tuple[int, ...]]:
    """The rows with stamps as seconds: those with a date from 1970 on, in UTC where they have no offset, others from
    midnight on. And the columns of the latter, of the first row.

    Rows whose first one has no stamp are given back as they are. A stamp that is none, as the 30th of February, stays.
    """
    first = next((line for line in first_block(rows, LOOKED_AT_BYTES).split(b"\n") if line.strip()), b"")
    if separator is None or b":" not in first:
        return rows, ()
    pattern = _make_pattern(separator)
    if not any(pattern.fullmatch(cell) for cell in first.split(separator)):
        return rows, ()
    of_day = [k for k, cell in enumerate(first.split(separator)) if (hit := pattern.fullmatch(cell)) and not hit[1]]
    return change_lines(rows, partial(_change_block, separator=separator)), tuple(of_day)


@cache
def _make_pattern(separator: bytes) -> re.Pattern[bytes]:
    """A cell that is a stamp; a comma before parts of a second is one where it separates no cells."""
    return re.compile(rb"[ ]*\"?[ ]*" + STAMP % (b"." if separator == b"," else b".,") + rb"[ ]*\"?[ \r]*")


def _change_block(block: bytes, separator: bytes) -> bytes:
    pattern = _make_pattern(separator)
    return b"\n".join(
        separator.join(_change_cell(cell, pattern) if b":" in cell else cell for cell in line.split(separator))
        for line in as_bytes(block).split(b"\n")
    )


def _change_cell(cell: bytes, pattern: re.Pattern[bytes]) -> bytes:
    """The seconds of a stamp, without a point, which would tell of the decimal mark of other numbers."""
    hit = pattern.fullmatch(cell)
    if hit is None:
        return cell
    year, month, day, hours, minutes, seconds, parts, zone = hit.groups()
    try:
        days = 0 if year is None else date(int(year), int(month), int(day)).toordinal() - UNIX_DAY
    except ValueError:
        return cell
    whole = ((24 * days + int(hours)) * 60 + int(minutes)) * 60 + int(seconds) - _read_offset(zone)
    return b"%de-12" % (whole * PICOSECONDS + int((parts or b"").ljust(12, b"0")))


def _read_offset(zone: bytes | None) -> int:
    """[s] by which the clocks of a zone are ahead of UTC."""
    if zone in (None, b"Z", b"z"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(b":") or b"0")
    return (-1 if zone[:1] == b"-" else 1) * 60 * (60 * hours + minutes)


def count_from_first(time: Floats) -> None:
    """Makes times of day (n,) [s] those since the first one, in place; midnight may lie between."""
    nights = np.cumsum(np.diff(time, prepend=time[:1]) < -DAY_S / 2)
    time += DAY_S * nights - (time[0] if len(time) else 0.0)
