"""VRM 1.0: a GLB that says which node is which bone of a person. docs/exports/vrm.md describes it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import CondyleError
from .figure import Figure
from .gltf import to_glb
from .rigs import RIGS, find_one_person, find_rig_names
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
    bones = find_rig_names(figure, find_one_person(figure, "a VRM is", "; glb holds any", code="bad-tree"), RIGS["vrm"])
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
