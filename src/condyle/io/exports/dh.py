"""Denavit-Hartenberg tables of a machine as JSON and CSV. docs/robots.md describes what is in them."""

from __future__ import annotations

from pathlib import Path

from ...errors import UsageError
from ...model.chains import TURNING, find_chains
from ...model.motion import forward
from ..axes_file import AXES_FORMATS, write_axes
from .scene import FigureFormat, Scene, Written


def write_dh(scene: Scene, path: Path) -> Written:
    """<stem>-dh.json with all tables, and <stem>-dh.csv with a row a joint."""
    take = scene.take if scene.take is not None else forward(scene.skeleton, scene.motion)
    chains = find_chains(scene.skeleton, take)
    stem = path.name.removesuffix(FORMAT.suffix)
    return Written(tuple(write_axes(path.parent, f"{stem}-dh", chains, AXES_FORMATS, scene.skeleton.fit_id)))


def check_dh(scene: Scene) -> None:
    """Raises where no joint turns about one axis."""
    if not any(joint.kind in TURNING for joint in scene.skeleton.joints):
        raise UsageError(
            "no joint turns about one axis, so that there is no table of axes; leave dh out", code="no-axes"
        )


FORMAT = FigureFormat("dh", "Denavit-Hartenberg tables, product of exponentials", "-dh.json", write_dh, check_dh)
