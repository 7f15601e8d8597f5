"""A rig by its content, and map.toml: which bone of a rig moves as which body.

[bones]
"mixamorig:Hips" = "pelvis"
"""

from __future__ import annotations

import os
from pathlib import Path

from ...errors import CondyleError, name_file
from ..atomic import read_small
from ..formats import bvh, gltf
from ..toml_file import read_toml
from .bvh_rig import read_bvh_rig
from .glb_rig import read_glb_rig
from .rig_file import RigFile

RIG_HEAD_BYTES = 4096  # of a file, by which its format is known
MAP_EXAMPLE = '[bones] and below it lines like "mixamorig:Hips" = "pelvis": a bone of the rig, a body of the fit'


def read_rig(path: str | os.PathLike[str]) -> RigFile:
    """The rig of a BVH or GLB file, which needs no motion of its own."""
    file = Path(path)
    head = read_small(file, RIG_HEAD_BYTES)
    with name_file(file):
        if gltf.looks_like(head):
            return read_glb_rig(file)
        if bvh.looks_like(head):
            return read_bvh_rig(file)
    raise CondyleError("is neither BVH nor GLB; export the rig as one of them", code="unknown-format", path=file)


def read_bone_map(path: str | os.PathLike[str]) -> dict[str, str]:
    """{bone of the rig: body of the fit, "" where it stays at rest} of a map.toml."""
    file = Path(path)
    content, _ = read_toml(file, "a map of bones", "bad-map", f"; expected {MAP_EXAMPLE}")
    table = content.get("bones")
    if not isinstance(table, dict) or not table:
        raise CondyleError(f"names no bone; expected {MAP_EXAMPLE}", code="bad-map", path=file)
    others = [name for name in content if name != "bones"]
    if others:
        raise CondyleError(f"'{others[0]}' is not in the table [bones]", code="bad-map", path=file)
    for bone, body in table.items():
        if not isinstance(body, str):
            fault = f"'{bone}' takes the name of a body, or \"\" to stay at rest; names with dots stand in quotes"
            raise CondyleError(fault, code="bad-map", path=file)
    return dict(table)
