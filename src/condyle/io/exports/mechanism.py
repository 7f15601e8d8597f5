"""What the formats of simulation programs share: joints with kinds and ranges, XML and tables of numbers."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...findings import Finding
from ...maths.arrays import Floats
from ...maths.series import segment_slices
from ...model.take import WORLD
from .bones import shortest_arc
from .figure import Figure, legal
from .scene import Scene, number_file

NARROW = 1e-3  # rad or m: the least width of a range, since programs refuse a range without any


def mechanism(scene: Scene, up: str, allowed: str, first: str, reserved: Sequence[str], form: str) -> Figure:
    """The figure on its hinges, this axis up, with legal names, every pose known, and the room itself standing still.

    A body that is the room (`--world`) is a free bone of kind "rigid", fixed where it stands.
    """
    figure = scene.figure_on_axes.turned(up).renamed(allowed, first, form).whole()
    return _anchored(_apart_from(figure, reserved, form))


def _apart_from(figure: Figure, reserved: Sequence[str], form: str) -> Figure:
    """No bone is called as the format calls something of its own."""
    names = legal((*reserved, *figure.names), ".")[len(reserved) :]
    changed = [(old, new) for old, new in zip(figure.names, names, strict=True) if old != new]
    if not changed:
        return figure
    pairs = ", ".join(f"{old} to {new}" for old, new in changed)
    text = f"{form} means something of its own by a name, which changed: {pairs}"
    told = Finding("renamed-bones", "info", text, tuple(old for old, _ in changed), count=len(changed))
    return replace(figure, names=names, findings=(*figure.findings, told))


def _anchored(figure: Figure) -> Figure:
    kind, rest, place = list(figure.kind), figure.R_parent_bone_rest.copy(), figure.p_parent_bone.copy()
    for column, k in enumerate(figure.free.tolist()):
        R, p = figure.R_parent_bone[:, k], figure.p_world_free[:, column]
        if figure.bodies[k] == WORLD and (R == R[0]).all() and (p == p[0]).all():
            kind[k], rest[k], place[k] = "rigid", R[0], p[0]
    return replace(figure, kind=tuple(kind), R_parent_bone_rest=rest, p_parent_bone=place)


def widened(low: float, high: float) -> tuple[float, float]:
    """An observed range, at least NARROW wide."""
    more = max(NARROW - (high - low), 0.0) / 2
    return low - more, high + more


def along(direction: Floats, axis: int) -> Floats:
    """(3, 3) whose column `axis` points along a direction."""
    return shortest_arc(np.eye(3)[axis], direction, np.eye(3)[(axis + 1) % 3])


def words(values: Floats | Sequence[float] | float) -> str:
    """Lengths [m], directions and angles [rad] as XML has them, blanks between, to the 15th decimal."""
    return " ".join(map(repr, (np.round(np.asarray(values, np.float64).ravel(), 15) + 0.0).tolist()))


def weights(values: Floats | Sequence[float] | float) -> str:
    """Masses and inertias, of any size, to 9 digits."""
    return " ".join(f"{value:.9g}" for value in np.asarray(values, np.float64).ravel().tolist())


def add(parent: ET.Element, tag: str, text: str | None = None, /, **attributes: str | None) -> ET.Element:
    """A new element under `parent`; attributes that are None are left out, and `class_` is class."""
    given = {name.rstrip("_"): value for name, value in attributes.items() if value is not None}
    element = ET.SubElement(parent, tag, given)
    element.text = text
    return element


def to_xml(root: ET.Element, fit_id: str | None) -> bytes:
    """The document, with the fit that it came from as its first comment."""
    if fit_id is not None:
        root.insert(0, ET.Comment(f" condyle fit {fit_id} "))
    ET.indent(root)
    text: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def title_of(path: Path) -> str:
    """The file's stem with nothing in it that XML or a program might refuse."""
    return legal((path.stem,), r"[A-Za-z0-9_.-]")[0]


def write_tables(path: Path, figure: Figure, columns: Sequence[str], values: Floats) -> list[Path]:
    """A CSV per segment: time [s] and these columns (n, c), each number exactly."""
    files = []
    for number, rows in enumerate(segment_slices(figure.segment), start=1):
        table = np.concatenate([figure.time[rows, None], values[rows] + 0.0], axis=1).tolist()
        lines = [",".join(("time", *columns)), *(",".join(map(repr, row)) for row in table)]
        files.append(number_file(path, number))
        files[-1].write_bytes(("\n".join(lines) + "\n").encode("utf-8"))
    return files
