"""What figures can be exported as. Nothing is imported here: the command line tells the names in its help."""

from __future__ import annotations

from typing import Literal

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
    "c3d": "c3d",
    "csv": "tables",
    "npz": "figure_npz",
    "json": "figure_json",
    "proportions": "proportions",
}

# what bones are called: as human segments, as the bodies, or as a rig of rigs.py has it
Names = Literal["anatomy", "bodies", "mixamo", "humanik", "vrm", "unreal", "unity", "smpl", "cmu", "slimevr"]
