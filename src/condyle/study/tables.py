"""takes.csv, joints.csv and limbs.csv: one row a take, a joint and a length of all takes; as Parquet with the extra.

Lengths are metres, angles radians, as everywhere. Rows stand in the order of the study's list, so that the same study
gives the same files, whoever did the takes and in which order.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import UsageError
from ..io.atomic import open_atomic
from ..io.exports.take_csv import escape_name
from .ledger import LedgerRecord
from .plan import TAKES, TakeStep

Row = dict[str, Any]
Rows = Iterator[tuple[TakeStep, LedgerRecord | None]]  # every take of a study with what is known of it
NAMES = ("takes", "joints", "limbs")
ROWS_AT_ONCE = 10_000  # of a Parquet file

_TEXT, _WHOLE, _NUMBER = "string", "int64", "double"
_LABELS = {"take": _TEXT, "performer": _TEXT, "session": _TEXT, "mounting": _TEXT, "role": _TEXT}
_COLUMNS: dict[str, dict[str, str]] = {
    "takes": {
        **_LABELS,
        **dict.fromkeys(("files", "state", "verdict", "text", "fault"), _TEXT),
        **dict.fromkeys(("bodies", "frames"), _WHOLE),
        "seconds": _NUMBER,
        **dict.fromkeys(("joints", "joints_sure"), _WHOLE),
        "length_95": _NUMBER,
        "to_look_at": _WHOLE,
        **dict.fromkeys(("worst", "worst_text", "calibration", "fit_id", "folder"), _TEXT),
    },
    "joints": {
        **_LABELS,
        **dict.fromkeys(("joint", "parent", "kind", "point"), _TEXT),
        **dict.fromkeys(("residual_m", "explained_m", "half_width_m", "support"), _NUMBER),
        "frames": _WHOLE,
        **{f"turned_{axis}_rad": _NUMBER for axis in (1, 2, 3)},
        **{f"{side}_{axis}_m": _NUMBER for side in ("child", "parent") for axis in "xyz"},
    },
    "limbs": {
        **_LABELS,
        **dict.fromkeys(("body", "from", "to", "between", "axes"), _TEXT),
        **dict.fromkeys(("length_m", "low_m", "high_m"), _NUMBER),
    },
}


def write_tables(folder: Path, rows: Callable[[], Rows], *, parquet: bool = False) -> list[Path]:
    """Writes the three tables, each whole or not at all; `rows` gives the takes, once for each table."""
    written = []
    for name in NAMES:
        make = _MAKERS[name]
        written.append(folder / f"{name}.csv")
        with open_atomic(written[-1]) as stream:
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
            table = csv.DictWriter(text, list(_COLUMNS[name]), restval="", lineterminator="\n")
            table.writeheader()
            for step, record in rows():
                table.writerows(map(_escape, make(step, record)))
            text.detach()
        if parquet:
            written.append(folder / f"{name}.parquet")
            _write_parquet(written[-1], name, (row for step, record in rows() for row in make(step, record)))
    return written


def _escape(row: Row) -> Row:
    """The row with texts that a spreadsheet shows and does not run."""
    return {name: escape_name(cell) if isinstance(cell, str) else cell for name, cell in row.items()}


def check_parquet() -> None:
    """Raises where Parquet cannot be written."""
    try:
        import pyarrow.parquet  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise UsageError(
            'Parquet is written with pyarrow: pip install "condyle[parquet]"', code="missing-extra"
        ) from None


def _write_parquet(path: Path, name: str, rows: Iterator[Row]) -> None:
    import pyarrow
    import pyarrow.parquet

    schema = pyarrow.schema(list(_COLUMNS[name].items()))
    with open_atomic(path) as stream, pyarrow.parquet.ParquetWriter(stream, schema) as writer:
        held: list[Row] = []
        for row in rows:
            held.append(row)
            if len(held) == ROWS_AT_ONCE:
                writer.write_table(pyarrow.Table.from_pylist(held, schema))
                held = []
        writer.write_table(pyarrow.Table.from_pylist(held, schema))


def _label(step: TakeStep) -> Row:
    entry = step.entry
    labels = (entry.performer, entry.session, entry.mounting, entry.role)
    return dict(zip(_LABELS, (entry.name, *labels), strict=True))


def _describe_take(step: TakeStep, record: LedgerRecord | None) -> Sequence[Row]:
    row = {**_label(step), "files": ";".join(step.entry.files), "state": record.state if record else "waiting"}
    if record is not None and record.fault is not None:
        row |= {"text": record.fault.text, "fault": record.fault.code}
    if record is not None and record.facts is not None:
        facts = record.facts
        row |= {
            "verdict": facts.tone,
            "text": facts.text,
            "bodies": facts.bodies,
            "frames": facts.frames,
            "seconds": facts.seconds,
            "joints": facts.count,
            "joints_sure": facts.sure,
            "length_95": facts.length_95,
            "to_look_at": facts.looks,
            "worst": facts.worst.code if facts.worst else None,
            "worst_text": facts.worst.text if facts.worst else None,
            "calibration": step.needs,
            "fit_id": facts.fit_id,
            "folder": f"{TAKES}/{step.name}",
        }
    return [row]


def _describe_joints(step: TakeStep, record: LedgerRecord | None) -> Sequence[Row]:
    if record is None or record.facts is None:
        return []
    return [
        {
            **_label(step),
            "joint": joint.child,
            "parent": joint.parent,
            "kind": joint.kind,
            "point": joint.point,
            "residual_m": joint.residual,
            "explained_m": joint.explained,
            "half_width_m": joint.half_width,
            "support": joint.support,
            "frames": joint.frames,
            **{f"turned_{axis}_rad": angle for axis, angle in enumerate(joint.turned, 1)},
            **{f"child_{axis}_m": value for axis, value in zip("xyz", joint.p_child_joint, strict=True)},
            **{f"parent_{axis}_m": value for axis, value in zip("xyz", joint.p_parent_joint, strict=True)},
        }
        for joint in record.facts.joints
    ]


def _describe_limbs(step: TakeStep, record: LedgerRecord | None) -> Sequence[Row]:
    if record is None or record.facts is None:
        return []
    return [
        {
            **_label(step),
            "body": limb.body,
            "from": limb.from_body,
            "to": limb.to_body,
            "between": limb.between,
            "axes": ", ".join(limb.axes),
            "length_m": limb.length,
            "low_m": limb.low,
            "high_m": limb.high,
        }
        for limb in record.facts.limbs
    ]


_MAKERS: dict[str, Callable[[TakeStep, LedgerRecord | None], Sequence[Row]]] = {
    "takes": _describe_take,
    "joints": _describe_joints,
    "limbs": _describe_limbs,
}
