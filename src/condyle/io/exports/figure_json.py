"""The skeleton as its own file, skeleton.json, under another name."""

from __future__ import annotations

from pathlib import Path

from ..skeleton_file import write_skeleton
from .scene import FigureFormat, Scene, Written


def write_json(scene: Scene, path: Path) -> Written:
    """What skeleton.json holds, bit for bit; it has no motion."""
    write_skeleton(path, scene.skeleton)
    return Written((path,))


FORMAT = FigureFormat("json", "JSON, the skeleton without motion", ".json", write_json)
