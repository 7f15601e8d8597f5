"""Rigs of other proportions than the people who move them, and people whose feet stand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

import condyle
from condyle.io.exports.export import write_figure
from condyle.simulate import Disturbances, Truth, disturb, human, simulate
from condyle.simulate.contacts import TOE_M, plant_feet

# name: parent, offset from it [cm], y up, facing z: arms hang 45 degrees down, thighs are short and shanks long
BONES: dict[str, tuple[str, tuple[float, float, float]]] = {
    "Hips": ("", (0, 0, 0)),
    "Spine": ("Hips", (0, 12, 0)),
    "Spine1": ("Spine", (0, 14, -1)),
    "Spine2": ("Spine1", (0, 16, 1)),
    "Neck": ("Spine2", (0, 18, 0)),
    "Head": ("Neck", (0, 9, 1)),
    **{
        f"{side}{name}": (f"{side}{up}" if up not in ("Hips", "Spine2") else up, (sign * x, y, z))
        for side, sign in (("Left", 1), ("Right", -1))
        for name, up, x, y, z in (
            ("Shoulder", "Spine2", 6, 14, 0),
            ("Arm", "Shoulder", 11, 0, 0),
            ("ForeArm", "Arm", 17, -17, 0),
            ("Hand", "ForeArm", 15, -15, 2),
            ("UpLeg", "Hips", 12, -5, 0),
            ("Leg", "UpLeg", 1, -31, 1),
            ("Foot", "Leg", 0, -44, -2),
            ("ToeBase", "Foot", 1, -7, 14),
        )
    },
}
ENDS = {"Head": (0, 15, 0), "LeftHand": (8, -8, 0), "RightHand": (-8, -8, 0)}
TOES = (0.0, 0.0, 6.0)
STANCE_S = 0.6


def write_bvh_rig(path: Path, *, prefix: str = "mixamorig:", order: str = "ZXY", up: str = "y") -> Path:
    """A BVH without a frame: `prefix` before the names, or "" and numbers for names that tell nothing."""
    children: dict[str, list[str]] = {}
    for name, (above, _) in BONES.items():
        children.setdefault(above, []).append(name)
    label = {name: f"{prefix}{name}" if prefix else f"bone{k}" for k, name in enumerate(BONES)}

    def offset(v: tuple[float, float, float]) -> str:
        x, y, z = v
        return " ".join(map(str, (x, y, z) if up == "y" else (x, -z, y)))

    def lines(name: str, depth: int) -> list[str]:
        pad = "\t" * depth
        turns = " ".join(f"{axis}rotation" for axis in order)
        channels = f"3 {turns}" if depth else f"6 Xposition Yposition Zposition {turns}"
        out = [f"{pad}{'JOINT' if depth else 'ROOT'} {label[name]}", f"{pad}{{"]
        out += [f"{pad}\tOFFSET {offset(BONES[name][1])}", f"{pad}\tCHANNELS {channels}"]
        for child in children.get(name, ()):
            out += lines(child, depth + 1)
        if name not in children:
            end = ENDS.get(name, TOES)
            out += [f"{pad}\tEnd Site", f"{pad}\t{{", f"{pad}\t\tOFFSET {offset(end)}", f"{pad}\t}}"]
        return [*out, f"{pad}}}"]

    head = ["HIERARCHY", *lines("Hips", 0), "MOTION", "Frames: 0", "Frame Time: 0.01"]
    path.write_text("\n".join(head) + "\n")
    return path


def write_glb_rig(path: Path) -> Path:
    """A GLB with a skin and an animation of its own, of a simulated person with other lengths."""
    fit = standing_person().retarget({"l_thigh": 0.8, "r_thigh": 0.8, "l_shank": 1.1, "r_shank": 1.1})
    written = write_figure(fit.scene(names="mixamo"), "glb", path.parent, path.stem)
    return written.files[0]


@cache
def standing_person() -> condyle.Fit:
    """The fit of a person who walks with one foot after the other at rest on the floor."""
    truth = put_on_floor(plant_feet(simulate(human(), "walk", seconds=6, rate=60, seed=4).truth, stance=STANCE_S))
    take, _ = disturb(truth, Disturbances(), 4)
    names, parent = truth.names, truth.parent
    edges = [(names[up], names[k]) for k, up in enumerate(parent) if up >= 0]
    return condyle.fit(take, tree=edges, intervals=False)


def put_on_floor(truth: Truth) -> Truth:
    """Raised and lowered so that the toes that stand are at height zero; the weight goes over from foot to foot."""
    mounts = truth.mounts
    R = truth.R_world_body @ np.swapaxes(mounts.R_bone_body, -1, -2)
    heights = []
    for foot in ("l_foot", "r_foot"):
        k = truth.names.index(foot)
        point = np.array(TOE_M) - mounts.p_bone_body[k]
        heights.append((truth.p_world_body[:, k] + R[:, k] @ point)[:, 2])
    phase = np.abs((truth.time / STANCE_S + 0.5) % 2 - 1)  # 0 in the middle of the left foot's stance, 1 of the right's
    left = np.clip((0.5 - phase) * STANCE_S / 0.1 + 0.5, 0.0, 1.0)
    p = truth.p_world_body.copy()
    p[..., 2] -= (left * heights[0] + (1 - left) * heights[1])[:, None]
    return replace(truth, p_world_body=p)
