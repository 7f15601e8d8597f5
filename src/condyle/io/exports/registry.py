"""What figures can be exported as, and lists of formats. Nothing heavy is imported: help of verbs tells the names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ...errors import UsageError

# name of the format: its module beside this one, which has a FORMAT and is imported when it is asked for
FORMATS: dict[str, str] = {
    "bvh": "bvh",
    "glb": "gltf",
    "vrm": "vrm",
    "fbx-script": "fbx_script",
    "usd": "usd",
    "mjcf": "mjcf",
    "urdf": "urdf",
    "osim": "osim",
    "dh": "dh",
    "mcap": "mcap",
    "c3d": "c3d",
    "csv": "tables",
    "npz": "figure_npz",
    "json": "figure_json",
    "proportions": "proportions",
}

# what bones are called: as human segments, as the bodies, or as a rig of rigs.py has it
Names = Literal["anatomy", "bodies", "mixamo", "humanik", "vrm", "unreal", "unity", "smpl", "cmu", "slimevr"]


def split_formats(words: str) -> list[str]:
    """The names in a list such as "bvh, .GLB,bvh", each once."""
    return list(dict.fromkeys(word.strip().lower().removeprefix(".") for word in words.split(",") if word.strip()))


def choose_formats(words: str, choices: Sequence[str], subject: str) -> tuple[str, ...]:
    """The formats of `subject` in a list such as "csv,json"; raises with the choices."""
    names = split_formats(words)
    wrong = [name for name in names if name not in choices]
    if wrong or not names:
        said = f"no format '{wrong[0]}' for {subject}" if wrong else "no format is named"
        raise UsageError(f"{said}; choose from {', '.join(choices)}", code="bad-option")
    return tuple(names)
