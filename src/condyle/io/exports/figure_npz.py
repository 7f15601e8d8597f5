"""The played poses of every body as condyle's NPZ, which `condyle.read` takes."""

from __future__ import annotations

from pathlib import Path

from ...model.motion import forward
from .scene import FigureFormat, Scene, Written
from .take_npz import write_take_npz


def write_npz(scene: Scene, path: Path) -> Written:
    """Poses in which the joints stay together, bit for bit; NaN where they are not known."""
    poses = forward(scene.skeleton, scene.motion)
    write_take_npz(path, poses, scene.skeleton.fit_id)
    return Written((path,), poses.findings)


FORMAT = FigureFormat("npz", "NPZ, played poses of the bodies", ".npz", write_npz)
