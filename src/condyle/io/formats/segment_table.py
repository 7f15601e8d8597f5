"""Tables of points and quaternions of segments whose names do not say which belong together: `PELV_1 ... qRPV_4`.

Two points of one segment keep their place in it: the motion tells which quaternion turns which points, and in which
order its four numbers stand.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths import rotation
from ...maths.arrays import Bools, Floats, evenly
from ...maths.spool import over_frames, seal
from ...model.recording import QUATERNIONS, Bodies, Convention, Recording
from ...model.take import FARTHEST
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.guess import are_unit
from ..tables.rows import describe_truncation, take_columns
from ..tables.table import Table, find_table, find_titled
from ..tables.text import first_block, read_text
from ..tables.vocabulary import TIME_UNITS, read_column_names

FEWEST_SEGMENTS = 2
SAMPLED_ROWS = 20  # that tell whether four numbers are of unit length
PAIRED_ROWS = 300  # rows that tell which point is on which segment
UNIT_MIN_SHARE = 0.9  # share of rows in which four numbers are of unit length
STRAY_MAX_SHARE = 0.1  # of two points' distance, that their place in a segment may vary by: up to 0.05 in a walk's feet
ALIKE_MAX_SHARE = 0.03  # ... below which points are on the segment anyway,
ALIKE_MAX_TIMES = 1.5  # and else so many times the best two: 2.3 to 9 times with a point of the next segment
READING_MIN_TIMES = 3.0  # that another order of the quaternion's numbers must be worse by: 50 times in a walk
_NUMBERED = re.compile(r"(?P<owner>.*\D)(?P<part>[1-4])")


@dataclass(frozen=True)
class _Columns:
    """First columns of the points and of the quaternions, with their names."""

    points: tuple[int, ...]
    quaternions: tuple[int, ...]
    names: tuple[str, ...]
    turns: tuple[str, ...]


def looks_like(head: bytes) -> bool:
    """Below comments a row of names that count 1 to 3 for points and 1 to 4 for quaternions, then such numbers."""
    table = find_titled(head)
    columns = None if table is None else _find_columns(table)
    if table is None or columns is None:
        return False
    try:
        rows = b"\n".join(first_block(table.rows).split(b"\n", SAMPLED_ROWS)[:SAMPLED_ROWS]) + b"\n"
        values, _ = replace(table, rows=rows).numbers()
    except CondyleError:
        return False
    return all(are_unit(values[:, k : k + 4]).mean() > UNIT_MIN_SHARE for k in columns.quaternions)


def read(path: Path, options: ReadOptions) -> Recording:
    """The segments: a point each with the quaternion that turns it, found from the motion; bodies are called as points.

    Raises where the motion does not tell which point is on which segment.
    """
    table = find_table(read_text(path))
    columns = None if table is None or not table.titled else _find_columns(table)
    if table is None or columns is None:
        text = (
            "no columns such as PELV_1 to PELV_3 and qPELV_1 to qPELV_4; write a column map and give it with --columns"
        )
        raise CondyleError(text, code="missing-column")
    values, cut = table.numbers()
    points = take_columns(values, [range(k, k + 3) for k in columns.points])
    turns = take_columns(values, [range(k, k + 4) for k in columns.quaternions])
    order, transposed, on = _find_reading(points, turns)
    own = None if on is None else _assign(on)
    if own is None:
        text = (
            f"the motion does not tell which of the points {columns.names[0]} ... belongs to which of the quaternions "
            f"{columns.turns[0]} ...; write a column map and give it with --columns"
        )
        raise CondyleError(text, code="missing-column", line=table.names_line)
    found = read_column_names(table.names)
    unit, rate = table.unit, table.rate
    names = tuple(columns.names[k] for k in own)
    pairs = ", ".join(f"{name} with {turn}" for name, turn in zip(names, columns.turns, strict=True))
    text = f"points and quaternions were paired by the motion: {pairs}; if that is wrong, write a column map"
    return Recording(
        bodies=Bodies(names, seal(over_frames(lambda part: part[:, own], points)), turns),
        time=None if found.time is None else values[:, found.time] * TIME_UNITS[found.time_unit or "s"],
        rate=None if found.time is not None else rate,
        convention=Convention(
            order,
            transposed=transposed,
            unit=unit,
            stated=frozenset({"unit"} if unit else ()),
            guessed=frozenset({"rotation"}),
        ),
        facts={
            "length": unit or "not stated",
            "points": str(len(columns.points)),
            "quaternions": str(len(columns.turns)),
        },
        findings=(*describe_truncation(len(values), None, cut), Finding("columns-paired", "info", text, names)),
    )


def _find_columns(table: Table) -> _Columns | None:
    """None where a column is neither of a point, of a quaternion, nor a time or count, or where they are too few."""
    meaning = read_column_names(table.names)
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(table.names):
        found = _NUMBERED.fullmatch(name)
        group = groups.setdefault(found["owner"].rstrip("_. ") if found else "", [])
        if k in (meaning.time, meaning.frame):
            continue
        if found is None or int(found["part"]) != len(group) + 1 or (group and group[-1] != k - 1):
            return None
        group.append(k)
    points = {name: group[0] for name, group in groups.items() if len(group) == 3}
    turns = {name: group[0] for name, group in groups.items() if len(group) == 4}
    if (
        len(turns) < FEWEST_SEGMENTS
        or len(points) < len(turns)
        or any(len(g) not in (0, 3, 4) for g in groups.values())
    ):
        return None
    return _Columns(tuple(points.values()), tuple(turns.values()), tuple(points), tuple(turns))


def _find_reading(points: Floats, turns: Floats) -> tuple[str, bool, Bools | None]:
    """Order of the quaternions' numbers, whether they are transposed, and (S, P) which points are on each segment.

    None in place of these where no reading stands out, or a segment has no two points.
    """
    rows = evenly(len(points), PAIRED_ROWS)
    points, turns = points[rows], turns[rows]
    pairs = np.array(list(combinations(range(points.shape[1]), 2)))
    apart = points[:, pairs[:, 0]] - points[:, pairs[:, 1]]
    readings = []
    for order, transposed in product(QUATERNIONS, (False, True)):
        R = rotation.from_quaternion(turns, last=order == "xyzw")
        stray = _measure_stray(apart, R if transposed else np.swapaxes(R, -1, -2))
        readings.append((float(np.log(np.maximum(stray.min(axis=1), 1e-9)).mean()), order, transposed, stray))
    (first, order, transposed, stray), (second, *_) = sorted(readings, key=lambda one: one[0])[:2]
    best: Floats = stray.min(axis=1, keepdims=True)
    if second - first < np.log(READING_MIN_TIMES) or float(best.max()) >= STRAY_MAX_SHARE:
        return order, transposed, None
    on = np.zeros((turns.shape[1], points.shape[1]), dtype=bool)
    alike = np.asarray(stray <= np.maximum(ALIKE_MAX_TIMES * best, ALIKE_MAX_SHARE))
    for segment, pair in np.argwhere(alike):
        on[segment, pairs[pair]] = True
    return order, transposed, on


def _measure_stray(apart: Floats, R_segment_world: Floats) -> Floats:
    """(S, pairs) rms departure of two points' difference, seen from a segment, over their distance; inf: they rest."""
    seen: Bools = np.asarray(np.isfinite(apart).all(axis=-1))
    seen &= (np.abs(apart) < FARTHEST).all(axis=-1)
    apart = np.where(seen[..., None], apart, 0.0)
    count = np.maximum(seen.sum(axis=0), 1)
    square = (apart**2).sum(axis=(0, 2)) / count
    mean = apart.sum(axis=0) / count[:, None]
    still = square - (mean**2).sum(axis=-1)
    out = np.empty((R_segment_world.shape[1], apart.shape[1]))
    for k in range(len(out)):
        R = np.nan_to_num(R_segment_world[:, k])
        held = np.einsum("nij,npj->pi", R, apart) / count[:, None]
        out[k] = np.sqrt(np.maximum(square - (held**2).sum(axis=-1), 0.0) / np.maximum(square, 1e-300))
    return np.asarray(np.where(still > 4 * STRAY_MAX_SHARE**2 * square, out, np.inf))


def _assign(on: Bools) -> list[int] | None:
    """A point for each segment, those that lie alone on theirs first; None where there are not enough."""
    company = (on.sum(axis=1, keepdims=True) * on).sum(axis=0)
    kept = list(range(on.shape[1]))
    own = _match(on, kept)
    for point in np.argsort(-company, kind="stable").tolist():
        without = [k for k in kept if k != point]
        if len(kept) > len(on) and (other := _match(on, without)) is not None:
            kept, own = without, other
    return own


def _match(on: Bools, points: list[int]) -> list[int] | None:
    """A different one of these points for every segment, or None."""
    owner: dict[int, int] = {}

    def place(segment: int, tried: set[int]) -> bool:
        for point in points:
            if on[segment, point] and point not in tried:
                tried.add(point)
                if point not in owner or place(owner[point], tried):
                    owner[point] = segment
                    return True
        return False

    if not all(place(segment, set()) for segment in range(len(on))):
        return None
    return [point for _, point in sorted((segment, point) for point, segment in owner.items())]


FORMAT = Format("segment-table", "table of points and quaternions", looks_like, read, certain=False)
