"""What the body does between bone and sensor: joints whose centres move, skin that slides, packs that wobble, slips.

Everything here acts on exact sensor poses; flexion is a bone's turn about y against its parent, zero when their
frames are parallel as they are in the rest pose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import UsageError, suggest
from ..maths import rotation
from ..maths.arrays import Floats
from .mounting import SensorSlip, Truth

# Peak movement [m] of a knee's centre forward, sideways and along the limb over 90 deg of flexion.
_KNEE_SHIFT_M = np.array([0.0143, 0.0056, 0.0070])
_FULL_FLEXION_RAD = np.radians(90.0)
_NON_ROTARY = ("shank", "upper_arm")
_RINGING_SHARE = 0.5  # share of the skin's rms that is the 2 to 5 Hz ringing
_SKIN_TURN_RAD_M = np.radians(2.0) / 0.01  # rad of skin rotation per metre of skin movement
_CURVED_SHARE = 0.6  # quadratic against linear part of skin movement, per rad


def joint_angles(truth: Truth) -> Floats:
    """Rotation vectors (n, m, 3) [rad] of each bone against its parent's, in the parent's axes; zero at roots."""
    return np.where((truth.parent < 0)[:, None], 0.0, rotation.to_vector(_joint_rotations(truth)))


def move_sensors(R: Floats, p: Floats, shift_body: Floats, turn_body: Floats) -> tuple[Floats, Floats]:
    """Poses after a displacement (n, m, 3) [m] and rotation vector (n, m, 3) [rad] in each sensor's own frame."""
    return R @ rotation.from_vector(turn_body), p + np.einsum("...ij,...j->...i", R, shift_body)


def shift_joints(truth: Truth, size: float, rng: np.random.Generator) -> Floats:
    """Positions (n, m, 3) [m] of sensors whose knees and shoulders are not quite rotary.

    The centre moves with flexion by `size` times the paper's figures for the knee, carrying all that hangs on it.
    """
    angles, up = joint_angles(truth), truth.parent
    R_world_bone = _bones(truth)
    signs = rng.choice([-1.0, 1.0], (len(up), 3))
    shift = np.zeros_like(truth.p_world_body)
    for k, name in enumerate(truth.names):
        if up[k] < 0:
            continue
        shift[:, k] = shift[:, up[k]]
        if name.endswith(_NON_ROTARY):
            flexion = angles[:, k, 1] / _FULL_FLEXION_RAD
            roll = np.stack([flexion, np.abs(flexion), flexion**2], axis=-1)
            shift[:, k] += np.einsum("nij,nj->ni", R_world_bone[:, up[k]], size * signs[k] * _KNEE_SHIFT_M * roll)
    return truth.p_world_body + shift


def slide_skin(truth: Truth, rms: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Displacement and rotation vector (n, m, 3) of sensors on soft tissue, of mean zero.

    Linear and quadratic in the angles of the joints next to the bone, plus a ringing of 2 to 5 Hz while it moves;
    `rms` (m,) [m] of the displacement's length, and 2 deg per cm.
    """
    R_parent_bone, m = _joint_rotations(truth), len(truth.names)
    R_mean_parent = np.swapaxes(rotation.mean(R_parent_bone), -1, -2)  # any skeleton's rest pose will do
    angles = rotation.to_vector(R_mean_parent @ R_parent_bone)
    pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    bent = np.concatenate([angles, *(_CURVED_SHARE * angles[..., [i]] * angles[..., [j]] for i, j in pairs)], axis=-1)
    weights = rng.standard_normal((2, m, 2, bent.shape[-1], 3))  # shift and turn; own joint and the joints beyond
    frequency, phase = rng.uniform(2, 5, (2, m, 3, 4)), rng.uniform(0, 2 * np.pi, (2, m, 3, 4))
    parts = np.zeros((2, *truth.p_world_body.shape))
    for k in range(m):
        near = [(k, 0)] * int(truth.parent[k] >= 0) + [(int(c), 1) for c in np.flatnonzero(truth.parent == k)]
        for part in range(2):
            slide = sum((bent[:, j] @ weights[part, k, beyond] for j, beyond in near), np.zeros((len(bent), 3)))
            effort = np.linalg.norm(np.gradient(bent[:, [j for j, _ in near], :3], axis=0), axis=(1, 2))
            turn = 2 * np.pi * frequency[part, k] * truth.time[:, None, None] + phase[part, k]
            ring = np.sin(turn).sum(axis=-1) * effort[:, None]
            parts[part, :, k] = np.sqrt(1 - _RINGING_SHARE**2) * _unit(slide) + _RINGING_SHARE * _unit(ring)
    parts *= rms[:, None]
    return parts[0], _SKIN_TURN_RAD_M * parts[1]


def wobble_sensor(truth: Truth, peak: float, body: str, rng: np.random.Generator) -> Floats:
    """Displacement (n, m, 3) [m] of one sensor that is pushed about by the thighs (or by all joints beyond it).

    It follows their flexion and never exceeds `peak`.
    """
    k = index(truth.names, body)
    beyond = np.flatnonzero(truth.parent == k)
    thighs = [j for j in beyond if truth.names[j].endswith("thigh")] or list(beyond)
    flexion = joint_angles(truth)[:, thighs, 1]
    flexion = flexion - flexion.mean(axis=0)
    push = rng.standard_normal((len(thighs), 3))
    path = flexion @ (push / np.linalg.norm(push, axis=-1, keepdims=True))
    size = np.linalg.norm(path, axis=-1).max(initial=0.0)
    shift = np.zeros_like(truth.p_world_body)
    if size > 0:
        shift[:, k] = peak / size * path @ truth.mounts.R_bone_body[k]
    return shift


def list_slips(truth: Truth, slips: Sequence[SensorSlip]) -> list[tuple[Floats, Floats]]:
    """One displacement and rotation vector (n, m, 3) per slip, in the order of time."""
    steps = []
    for slip in sorted(slips, key=lambda s: s.time):
        after = np.zeros(truth.p_world_body.shape[:2])
        after[truth.time >= slip.time, index(truth.names, slip.body)] = 1
        steps.append((after[..., None] * slip.displacement, after[..., None] * slip.rotation))
    return steps


def index(names: Sequence[str], body: str) -> int:
    if body not in names:
        raise UsageError(f"no body named '{body}'; {suggest(body, names)}", code="unknown-body", body=body)
    return list(names).index(body)


def _joint_rotations(truth: Truth) -> Floats:
    """Rotations (n, m, 3, 3) of each bone against its parent's; rows of roots mean nothing."""
    R_world_bone = _bones(truth)
    return np.asarray(np.swapaxes(R_world_bone[:, truth.parent], -1, -2) @ R_world_bone)


def _bones(truth: Truth) -> Floats:
    """R_world_bone (n, m, 3, 3)."""
    return np.asarray(truth.R_world_body @ np.swapaxes(truth.mounts.R_bone_body, -1, -2))


def _unit(path: Floats) -> Floats:
    """The path (n, 3) with its mean removed and scaled to a length of rms 1; what does not move stays zero."""
    path = path - path.mean(axis=0)
    size = np.sqrt(np.mean(np.sum(path**2, axis=-1)))
    return path / size if size > 1e-9 else np.zeros_like(path)
