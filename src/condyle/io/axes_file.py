"""Tables of a machine's axes to files: JSON with all of it, CSV with a row a joint."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..model.axes import AxisChain, AxisRow, Measured
from .exports.take_csv import escape_name

AXES_FORMATS = ("json", "csv")
AXES_NOTE = (
    "T_base_tool = T_base_frame0 * row 1 * ... * row n * T_frame_tool; a row of modified DH is Rx(alpha) Dx(a) "
    "Rz(theta) Dz(d), one of standard DH Rz(theta) Dz(d) Dx(a) Rx(alpha); theta = theta0 + the joint's angle from its "
    "zero. Screws are (z, p x z) in the frame of the base's sensor at the zero: exp(S1 q1) ... exp(Sn qn) * home. "
    "Motion tells no sign of an axis: the first turn of the recording is positive, unless it was flipped."
)
CSV_COLUMNS = (
    *("chain", "row", "joint", "kind", "inner", "outer", "lie"),
    *("distance_mm", "distance_95_mm", "distance_free_mm", "angle_deg", "angle_95_deg", "angle_free_deg"),
    *("offset_mm", "offset_95_mm", "theta0_deg", "theta0_95_deg", "low", "high", "pitch_mm"),
    *("mdh_alpha_deg", "mdh_a_mm", "mdh_d_mm", "mdh_theta0_deg", "dh_theta0_deg", "dh_d_mm", "dh_a_mm", "dh_alpha_deg"),
    *("screw_wx", "screw_wy", "screw_wz", "screw_vx_m", "screw_vy_m", "screw_vz_m"),
)


def to_facts(chains: Sequence[AxisChain], fit_id: str | None) -> dict[str, Any]:
    """All tables as plain values: metres and radians; what is not known is null."""
    return {
        "format": "condyle.axes",
        "version": 1,
        "condyle": __version__,
        "fit_id": fit_id,
        "units": {"length": "m", "angle": "rad", "time": "s"},
        "note": AXES_NOTE,
        "chains": [_describe_chain(chain) for chain in chains],
    }


def to_json(chains: Sequence[AxisChain], fit_id: str | None) -> bytes:
    """The JSON file."""
    return (json.dumps(to_facts(chains, fit_id), indent=1, allow_nan=False) + "\n").encode()


def to_csv(chains: Sequence[AxisChain], fit_id: str | None) -> bytes:
    """A table with a row for every axis of every chain, in mm and degrees; empty cells where nothing is known.

    low, high: of the coordinate from the zero, in degrees, of a slider in mm.
    """
    text = io.StringIO()
    text.write(f"# condyle {__version__} axes{f' of fit {fit_id}' if fit_id else ''}\n")
    for number, chain in enumerate(chains, start=1):
        names = "".join(one if one.isprintable() else " " for one in f"{chain.base} to {chain.tool}")
        text.write(f"# chain {number}: {names}, zero at {chain.zero_time:.6g} s\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for number, chain in enumerate(chains, start=1):
        tables = zip(chain.rows, chain.modified, chain.standard, chain.screws, strict=True)
        for k, (row, modified, standard, screw) in enumerate(tables, start=1):
            alpha, a, d, theta = modified.tolist()
            theta_s, d_s, a_s, alpha_s = standard.tolist()
            writer.writerow(
                [
                    *(number, k, escape_name(row.joint), row.kind),
                    *(escape_name(row.inner), escape_name(row.outer), row.lie or ""),
                    *_format(row.distance, 1000.0),
                    *_format(row.angle, _DEGREES),
                    *_format(row.offset, 1000.0)[:2],
                    *_format(row.theta, _DEGREES)[:2],
                    *map(_round, _scale_range(row)),
                    "" if row.kind != "screw" else _round(1000 * row.pitch),
                    *map(_round, (_DEGREES * alpha, 1000 * a, 1000 * d, _DEGREES * theta)),
                    *map(_round, (_DEGREES * theta_s, 1000 * d_s, 1000 * a_s, _DEGREES * alpha_s)),
                    *map(_round, screw.tolist()),
                ]
            )
    return text.getvalue().encode()


_DEGREES = float(np.degrees(1.0))


def _scale_range(row: AxisRow) -> tuple[float, float]:
    """What the joint did from its zero: degrees; mm of a slider."""
    scale = 1000.0 if row.kind == "slider" else _DEGREES
    return scale * row.low, scale * row.high


def _format(one: Measured | None, scale: float) -> list[str]:
    numbers = (None, None, None) if one is None else (one.value, one.half_width, one.free)
    return ["" if number is None else _round(scale * number) for number in numbers]


def _round(value: float) -> str:
    """To 10 decimals: far below what any sensor tells."""
    return repr(round(value, 10) + 0.0)


def _describe_chain(chain: AxisChain) -> dict[str, Any]:
    return {
        "base": chain.base,
        "tool": chain.tool,
        "zero_time": chain.zero_time,
        "played_m": chain.played_m,
        "played_rad": chain.played_rad,
        "axes": [_describe_row(row) for row in chain.rows],
        "modified_dh": _list_rows(chain, chain.modified, ("alpha", "a", "d", "theta0")),
        "standard_dh": _list_rows(chain, chain.standard, ("theta0", "d", "a", "alpha")),
        "product_of_exponentials": {"screws": chain.screws.tolist(), "home": chain.T_base_tool.tolist()},
        "T_base_frame0": chain.T_base_frame0.tolist(),
        "T_frame_tool": chain.T_frame_tool.tolist(),
        "T_world_base": None if chain.T_world_base is None else chain.T_world_base.tolist(),
    }


def _describe_row(row: AxisRow) -> dict[str, Any]:
    return {
        "joint": row.joint,
        "kind": row.kind,
        "pitch": row.pitch if row.kind == "screw" else None,
        "inner": row.inner,
        "outer": row.outer,
        "lie": row.lie,
        "distance": _describe(row.distance),
        "angle": _describe(row.angle),
        "offset": _describe(row.offset),
        "theta0": _describe(row.theta),
        "range": [row.low, row.high],
    }


def _describe(one: Measured | None) -> dict[str, float | None] | None:
    if one is None:
        return None
    middle = one.value if one.free is None else one.free
    ends = (None, None) if one.half_width is None else (middle - one.half_width, middle + one.half_width)
    return {"value": one.value, "low": ends[0], "high": ends[1], "free": one.free}


def _list_rows(chain: AxisChain, table: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"joint": row.joint, **dict(zip(names, values.tolist(), strict=True))}
        for row, values in zip(chain.rows, table, strict=True)
    ]


def write_axes(
    folder: Path, stem: str, chains: Sequence[AxisChain], formats: Sequence[str], fit_id: str | None
) -> list[Path]:
    """The tables in these formats, as files called `stem`."""
    files = []
    for name, make in (("json", to_json), ("csv", to_csv)):
        if name in formats:
            files.append(folder / f"{stem}.{name}")
            files[-1].write_bytes(make(chains, fit_id))
    return files
