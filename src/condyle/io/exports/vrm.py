"""VRM 1.0: a GLB that says which node is which bone of a person. docs/exports/vrm.md describes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CondyleError
from .figure import Figure
from .gltf import to_glb
from .rigs import RIGS, find_rig_names
from .scene import FigureFormat, Scene, Written

VRM_LICENCE = "https://vrm.dev/licenses/1.0/"  # the one document that VRM 1.0 allows; what it leaves open is forbidden
VRM_AUTHOR = "not stated"  # a recording does not name its performer, and VRM requires an author


def write_vrm(scene: Scene, path: Path) -> Written:
    """One file: the person in VRM's names and rest pose, and what else the take has, with an animation per segment."""
    figure = replace(scene, names="vrm").figure.turn_up("y").fill_gaps()
    path.write_bytes(to_glb(figure, {"VRMC_vrm": describe_avatar(figure, path.stem)}))
    return Written((path,), figure.findings)


def describe_avatar(figure: Figure, name: str) -> dict[str, Any]:
    """VRMC_vrm of a figure with one person; node k is bone k. Raises where a bone is missing that VRM requires."""
    people = [k for k in figure.free.tolist() if figure.parts[k]]
    if len(people) != 1:
        who = f"{len(people)} people" if people else "none whom names such as pelvis and thigh tell"
        raise CondyleError(f"a VRM is of one person, and the figure has {who}; glb holds any", code="bad-tree")
    bones = find_rig_names(figure, np.flatnonzero(figure.root == people[0]).tolist(), RIGS["vrm"])
    missing = sorted(RIGS["vrm"].needed - set(bones.values()))
    if missing:
        raise CondyleError(
            f"VRM requires bones that no sensor was worn on: {', '.join(missing)}; glb holds figures without them",
            code="bad-tree",
        )
    return {
        "specVersion": "1.0",
        "meta": {"name": name, "authors": [VRM_AUTHOR], "licenseUrl": VRM_LICENCE},
        "humanoid": {"humanBones": {bone: {"node": k} for k, bone in bones.items()}},
    }


def check_vrm(scene: Scene) -> None:
    """Raises where the figure is not one person with the bones that VRM requires."""
    describe_avatar(scene.figure, "")


FORMAT = FigureFormat("vrm", "VRM 1.0, an avatar", ".vrm", write_vrm, check_vrm)
