"""Denavit-Hartenberg tables of a machine as JSON and CSV. docs/robots.md describes what is in them."""

from __future__ import annotations

from pathlib import Path

from ...errors import CondyleError
from ...findings import Finding
from ...model.chains import find_chains
from ...model.motion import forward
from ...model.skeleton import TURNING
from ..axes_file import AXES_FORMATS, write_axes
from .scene import FigureFormat, Scene, Written


def write_dh(scene: Scene, path: Path) -> Written:
    """<stem>.dh.json with all tables, and <stem>.dh.csv with a row a joint; of a figure without axes both are empty."""
    take = scene.take if scene.take is not None else forward(scene.skeleton, scene.motion)
    told: list[Finding] = []
    try:
        chains = find_chains(scene.skeleton, take)
    except CondyleError as error:
        chains, told = (), [Finding("no-axes", "warning", f"{error}; the table is empty")]
    stem = path.name.removesuffix(".json")
    files = write_axes(path.parent, stem, chains, AXES_FORMATS, scene.skeleton.fit_id)
    return Written(tuple(files), tuple(told))


def has_axes(scene: Scene) -> bool:
    """Whether a joint has an axis."""
    return any(joint.kind in TURNING for joint in (*scene.skeleton.joints, *scene.skeleton.loops))


FORMAT = FigureFormat("dh", "Denavit-Hartenberg tables, product of exponentials", ".dh.json", write_dh, suits=has_axes)
