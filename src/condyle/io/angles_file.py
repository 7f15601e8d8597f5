"""Joint angles to files: CSV, OpenSim's .mot, Parquet, and beside them angles.json with how they were counted."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from .._version import __version__
from ..errors import CondyleError, import_extra
from ..findings import Finding, many
from ..maths.arrays import Bools, Ints
from ..maths.series import find_runs, segment_slices
from ..model.angles import CAVEAT, Angles
from ..model.gait_events import GaitEvent
from .exports.osim import to_sto
from .exports.registry import choose_formats
from .exports.scene import number_file
from .exports.take_csv import escape_name
from .formats.parquet import PARQUET_NEED

AngleUnit = Literal["deg", "rad"]
ANGLE_FORMATS = ("csv", "mot", "sto", "parquet")
ANGLE_DECIMALS = {"deg": 6, "rad": 8}  # behind the point of a table's numbers


def parse_angle_formats(words: str) -> tuple[str, ...]:
    """The formats in a list such as "csv,mot"; raises with the choices."""
    names = choose_formats(words, ANGLE_FORMATS, "angles")
    if "parquet" in names:
        import_extra("pyarrow.parquet", "parquet", PARQUET_NEED)
    return names


def write_angles_csv(path: Path, angles: Angles, unit: AngleUnit = "deg") -> None:
    """A table with `#` lines before it that say how the angles were counted; what is not known is an empty cell."""
    values = np.degrees(angles.values) if unit == "deg" else np.asarray(angles.values)
    rows = np.round(values, ANGLE_DECIMALS[unit]) + 0.0
    head = [*(f"# {line}" for line in describe_counting(angles, unit)), ",".join(("time", "segment", *angles.names))]
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.write("\n".join(head) + "\n")
        for time, segment, row in zip(angles.time.tolist(), angles.segment.tolist(), rows.tolist(), strict=True):
            cells = ",".join("" if value != value else repr(value) for value in row)
            stream.write(f"{time!r},{segment},{cells}\n")


def write_events_csv(path: Path, events: Sequence[GaitEvent]) -> None:
    """Gait events: time [s] and segment as in the table of angles, side, event, and the body of the foot."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(("time", "segment", "side", "event", "body"))
        for event in events:
            table.writerow((event.time, event.segment, event.side, event.kind, escape_name(event.body)))


def describe_counting(angles: Angles, unit: AngleUnit) -> list[str]:
    """How the angles were counted, line by line."""
    lines = [
        f"condyle {__version__} joint angles{f' of fit {angles.fit_id}' if angles.fit_id else ''}",
        f"unit: {unit}; time: s",
        f"convention: {angles.convention} ({angles.title})",
        f"neutral pose: {angles.neutral}",
    ]
    lines += [f"heading: {angles.heading}"] * bool(angles.heading)
    lines += [f"frame of {frame.segment} on {frame.body} ({frame.source}): {frame.made}" for frame in angles.frames]
    return [_join_words(line) for line in (*lines, CAVEAT)]


def _join_words(line: str) -> str:
    """Without what ends a line: names come from files."""
    return "".join(letter if letter.isprintable() else " " for letter in line)


def write_angles_parquet(path: Path, angles: Angles, unit: AngleUnit = "deg") -> None:
    """The same table; nulls where nothing is known, and the words as metadata."""
    pa, pq = (import_extra(name, "parquet", PARQUET_NEED) for name in ("pyarrow", "pyarrow.parquet"))
    values = np.degrees(angles.values) if unit == "deg" else np.asarray(angles.values)
    columns = {"time": angles.time, "segment": angles.segment}
    columns |= {name: values[:, k] for k, name in enumerate(angles.names)}
    table = pa.table({name: pa.array(column, from_pandas=True) for name, column in columns.items()})
    facts = {"condyle.angles": json.dumps(to_facts(angles), allow_nan=False), "unit": unit}
    pq.write_table(table.replace_schema_metadata(facts), path)


def write_mot(path: Path, angles: Angles) -> tuple[list[Path], list[Finding]]:
    """OpenSim's coordinates over time, in degrees and metres: one file per stretch without a gap.

    The angles are those of a convention of OpenSim; the pelvis moves in a room whose Y points up.
    """
    known = np.isfinite(angles.values)
    kept: Bools = np.asarray(known.any(axis=0))
    place = np.isfinite(angles.p_room_root)
    moves = place.any() and "pelvis_tilt" in angles.names
    whole: Bools = np.asarray(known[:, kept].all(axis=1)) & kept.any()
    if moves:
        whole &= place.all(axis=1)
    columns = [(name, np.degrees(angles.values[:, k])) for k, name in enumerate(angles.names) if kept[k]]
    if moves:
        columns += [(f"pelvis_t{'xyz'[i]}", angles.p_room_root[:, i]) for i in range(3)]
    files: list[Path] = []
    for rows in _find_stretches(whole, angles.segment):
        files.append(number_file(path, len(files) + 1))
        own = [(name, values[rows]) for name, values in columns]
        files[-1].write_bytes(to_sto(angles.time[rows], own, angles.fit_id, degrees=True))
    if not files:
        raise CondyleError(
            "no two frames in a row have every angle, which a .mot needs; write CSV instead", code="no-data"
        )
    lost = int((~whole).sum())
    text = f"a .mot has no gaps: {many(lost, 'frame')} without every angle left out, {many(len(files), 'stretch')}"
    text = text.replace("stretchs", "stretches")
    return files, [Finding("split-file", "info", text, count=len(files), value=lost)] if lost else []


def _find_stretches(whole: Bools, segment: Ints) -> Iterator[slice]:
    """Runs of two frames or more in which all is known, none across recordings."""
    for part in segment_slices(segment):
        for first, stop in find_runs(whole[part]):
            if stop - first > 1:
                yield slice(part.start + first, part.start + stop)


def to_facts(angles: Angles) -> dict[str, Any]:
    """Everything but the numbers over time, as plain values; angles in degrees, null: open or not known."""
    frames = [
        {
            "segment": frame.segment,
            "body": frame.body,
            "source": frame.source,
            "made": frame.made,
            "R_body_anat": frame.R_body_anat.tolist(),
            "sd_deg": [_plain(value) for value in np.degrees(frame.sd).tolist()],
        }
        for frame in angles.frames
    ]
    columns = [
        {**vars(column), **{name: value for name, value in vars(row).items() if name != "name"}}
        for column, row in zip(angles.columns, angles.ranges, strict=True)
    ]
    return {
        "format": "condyle.angles",
        "version": 1,
        "condyle": __version__,
        "fit_id": angles.fit_id,
        "convention": angles.convention,
        "title": angles.title,
        "neutral": angles.neutral,
        "heading": angles.heading,
        "note": CAVEAT,
        "frames": frames,
        "columns": columns,
        "findings": [{"code": one.code, "severity": one.severity, "text": one.text} for one in angles.findings],
    }


def write_facts(path: Path, angles: Angles) -> None:
    """angles.json."""
    path.write_bytes(json.dumps(to_facts(angles), indent=2, allow_nan=False).encode() + b"\n")


def write_tables(folder: Path, stem: str, angles: Angles, formats: Sequence[str], unit: AngleUnit) -> list[Path]:
    """The angles in these formats but .mot, and their angles.json."""
    files = [folder / f"{stem}.json"]
    write_facts(files[0], angles)
    for name, write in (("csv", write_angles_csv), ("parquet", write_angles_parquet)):
        if name in formats:
            files.append(folder / f"{stem}.{name}")
            write(files[-1], angles, unit)
    return files


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None
