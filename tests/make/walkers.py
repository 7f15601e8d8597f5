"""Simulated people whose true anatomical angles are known, and fits of them with the tree given."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

import condyle
from condyle.model.angle_conventions import CONVENTIONS
from condyle.model.recording import Convention, Markers, Recording
from condyle.simulate import Disturbances, World, human, simulate

AXES = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # ISB's in a simulated bone: forward, up, right
MIRROR = np.diag([1.0, 1.0, -1.0])
NOISE = {"position_noise": 0.003, "orientation_noise": np.radians(0.5)}  # of a magnetic tracker
RATE = 60.0  # Hz


@cache
def walker(seed: int = 1, motion: str = "walk", seconds: float = 20.0, noise: bool = False, skin: float = 0.0) -> World:
    """A person with sensors mounted anyhow."""
    disturbances = Disturbances(**(NOISE if noise else {}), soft_tissue=skin)
    return simulate(human(), motion, seconds=seconds, rate=RATE, seed=seed, disturbances=disturbances)  # type: ignore[arg-type]


@cache
def fitted(*words: object) -> condyle.Fit:
    """The fit of `walker` with its tree."""
    world = walker(*words)  # type: ignore[arg-type]
    names, parent = world.truth.names, world.truth.parent
    return condyle.fit(world.take, tree=[(names[up], names[k]) for k, up in enumerate(parent) if up >= 0])


def true_rotations(world: World) -> dict[str, np.ndarray]:
    """{joint and side of ISB's table: (n, 3, 3) distal in proximal axes, mirrored on the left}."""
    truth = world.truth
    R = truth.R_world_body @ np.swapaxes(truth.mounts.R_bone_body, -1, -2) @ AXES
    found = {}
    for row in CONVENTIONS["isb"].joints:
        for side in ("l", "r", ""):
            before = f"{side}_" if side else ""
            above = next((name for name in (f"{before}{row.proximal}", row.proximal) if name in truth.names), None)
            if above is None or f"{before}{row.distal}" not in truth.names:
                continue
            turn = np.swapaxes(R[:, truth.names.index(above)], -1, -2) @ R[:, truth.names.index(before + row.distal)]
            found[f"{row.joint}_{side}" if side else row.joint] = MIRROR @ turn @ MIRROR if side == "l" else turn
    return found


def true_angles(world: World, joint: str) -> np.ndarray:
    """(n, 3) [deg] of one joint ("knee_l") as ISB counts it, by another program, unwrapped."""
    row = next(row for row in CONVENTIONS["isb"].joints if row.joint == joint.partition("_")[0])
    angles = Rotation.from_matrix(true_rotations(world)[joint]).as_euler(row.order)
    return np.degrees(np.unwrap(angles, axis=0)) * row.signs


PELVIS_WIDTH, PELVIS_DEPTH = 0.24, 0.15  # m between the iliac spines, and from them to the sacrum
PLUG_IN_GAIT = {  # place of a marker [m] in its bone: forward, outwards, up from its upper joint; shares of its length
    "thigh": {"THI": (0.02, 0.08, -0.55), "KNE": (0.0, 0.055, -1.0)},
    "shank": {"TIB": (0.01, 0.055, -0.45), "ANK": (0.0, 0.042, -1.0)},
    "foot": {"HEE": (-0.06, 0.0, -0.06), "TOE": (0.15, 0.01, -0.06)},
}
SHANK_MORE = {"TIB2": (0.05, 0.02, -0.3), "TIB3": (0.04, 0.03, -0.6)}


def plug_in_gait(
    seed: int, seconds: float = 10.0, skin: float = 0.003, shanks: bool = False
) -> tuple[Recording, dict[str, np.ndarray]]:
    """A walk of a person with Plug-in Gait's legs, and the true centres {l_hip: (n, 3) [m]} of the joints.

    Spines, widths of knees and places of markers differ from the usual by 5 mm, and skin moves with the walk.
    shanks  bear two markers more
    """
    world, rng = walker(seed, "walk", seconds), np.random.default_rng(seed)
    truth = world.truth
    R = truth.R_world_body @ np.swapaxes(truth.mounts.R_bone_body, -1, -2)
    joint = truth.p_world_body + np.einsum("nmij,mj->nmi", truth.R_world_body, np.nan_to_num(truth.p_child_joint))
    at = {name: (R[:, k], joint[:, k]) for k, name in enumerate(truth.names)}
    hips = {side: at[f"{side}_thigh"][1] for side in "lr"}
    turn, middle = at["pelvis"][0], (hips["l"] + hips["r"]) / 2
    front, up = 0.24 * PELVIS_DEPTH + 0.0099, 0.30 * PELVIS_WIDTH + 0.0109
    bones = {"pelvis": (turn, middle)} | {name: at[name] for side in "lr" for name in (f"{side}_thigh",)}
    bones |= {f"{side}_{part}": at[f"{side}_{part}"] for side in "lr" for part in ("shank", "foot")}
    places = {
        "LASI": ("pelvis", (front, PELVIS_WIDTH / 2, up)),
        "RASI": ("pelvis", (front, -PELVIS_WIDTH / 2, up)),
        "LPSI": ("pelvis", (front - PELVIS_DEPTH, 0.04, up)),
        "RPSI": ("pelvis", (front - PELVIS_DEPTH, -0.04, up)),
    }
    lengths = {body: length for (body, *_), length in truth.limbs.items()}
    for side, y in (("l", 1), ("r", -1)):
        for part, own in PLUG_IN_GAIT.items():
            markers = own | SHANK_MORE if shanks and part == "shank" else own
            long = lengths[f"{side}_{part}"] if part != "foot" else 1.0
            for name, (x, out, z) in markers.items():
                places[side.upper() + name] = (f"{side}_{part}", (x, y * out, z * long))
    phase = np.linspace(0, seconds, truth.time.size) * 2 * np.pi  # about one step a second
    points = []
    for body, place in places.values():
        turn, origin = bones[body]
        worn = np.array(place) + 0.005 * rng.standard_normal(3)
        slides = skin * np.sin(phase[:, None] + rng.uniform(0, 6, 3)) * rng.standard_normal(3)
        points.append(origin + np.einsum("nij,nj->ni", turn, worn + slides))
    markers = Markers(
        tuple(places), np.stack(points, axis=1) + 0.0005 * rng.standard_normal((len(phase), len(places), 3))
    )
    centres = {f"{s}_{name}": at[f"{s}_{part}"][1] for s in "lr" for name, part in LEG_JOINTS.items()}
    recording = Recording("walk.c3d", "made", markers=markers, rate=RATE, convention=Convention(unit="m", up="z"))
    return recording, centres


LEG_JOINTS = {"hip": "thigh", "knee": "shank", "ankle": "foot"}
