"""Bones from bodies: a bone a body, from its own joint to those beyond it; and how each turns on its parent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .folder import FitFolder

SHORTEST_M = 0.02  # m of a bone that ends where it begins


@dataclass(frozen=True)
class Bones:
    """Bones in the pose of one frame.

    names    bodies with a bone, parents before children; parent: place of each one's parent, -1 for roots
    head, tail  (b, 3) [m]
    body     (b, 4, 4) poses of the bodies in that frame
    """

    names: tuple[str, ...]
    parent: tuple[int, ...]
    head: np.ndarray
    tail: np.ndarray
    body: np.ndarray


def find_rest(fit: FitFolder) -> int:
    """The frame in which most bodies have a played pose, the first of these."""
    return int(np.isfinite(fit.played[:, :, 0, 0]).sum(axis=1).argmax())


def lay_out_bones(fit: FitFolder) -> Bones:
    """The bones in the frame of rest. Bodies that are joined to nothing, or not known there, have none."""
    known = dict(zip(fit.bodies, fit.played[find_rest(fit)], strict=True))
    known = {name: pose for name, pose in known.items() if np.isfinite(pose).all()}
    joints = [one for one in fit.joints if one.child in known and one.parent in known]
    parent = {one.child: one.parent for one in joints}
    joined = {name for one in joints for name in (one.child, one.parent)}
    names: list[str] = [name for name in fit.bodies if name in joined and name not in parent]
    waiting = [one.child for one in joints]
    while waiting:  # parents first
        ready = [name for name in waiting if parent[name] in names]
        if not ready:
            break
        names += ready
        waiting = [name for name in waiting if name not in ready]
    heads, tails = [], []
    for name in names:
        own = [_at(known[name], one.p_child) for one in joints if one.child == name]
        beyond = [_at(known[name], one.p_parent) for one in joints if one.parent == name]
        sensor = known[name][:3, 3]
        head = own[0] if own else np.mean(beyond, axis=0)
        tail = np.mean(beyond, axis=0) if own and beyond else sensor
        if np.linalg.norm(tail - head) < SHORTEST_M:
            tail = head + np.array([0.0, 0.0, SHORTEST_M])
        heads.append(head)
        tails.append(tail)
    places = tuple(names.index(parent[name]) if name in parent else -1 for name in names)
    body = np.array([known[name] for name in names]).reshape(-1, 4, 4)
    return Bones(tuple(names), places, np.array(heads).reshape(-1, 3), np.array(tails).reshape(-1, 3), body)


def find_basis(bones: Bones, rest: np.ndarray, poses: np.ndarray) -> np.ndarray:
    """(n, b, 4, 4) each bone against its parent from its rest, as Blender keeps poses.

    rest   (b, 4, 4) of the bones;  poses (n, b, 4, 4) of their bodies
    """
    posed = poses @ np.linalg.inv(bones.body) @ rest
    basis = np.empty_like(posed)
    for k, up in enumerate(bones.parent):
        carried = rest[k] if up < 0 else posed[:, up] @ np.linalg.inv(rest[up]) @ rest[k]
        basis[:, k] = np.linalg.inv(carried) @ posed[:, k]
    return basis


def to_quaternions(R: np.ndarray) -> np.ndarray:
    """(n, 4) w x y z of rotations (n, 3, 3), each on the side of the one before."""
    trace = np.trace(R, axis1=1, axis2=2)
    parts = np.stack([trace, *(2 * R[:, x, x] - trace for x in range(3))], axis=1)
    most = parts.argmax(axis=1)
    q = np.empty((len(R), 4))
    q[:, 0] = np.where(most == 0, 1 + trace, 0)
    differs = np.stack([R[:, 2, 1] - R[:, 1, 2], R[:, 0, 2] - R[:, 2, 0], R[:, 1, 0] - R[:, 0, 1]], axis=1)
    for n in range(len(R)):
        if most[n] == 0:
            q[n, 1:] = differs[n]
            continue
        x = most[n] - 1
        y, z = (x + 1) % 3, (x + 2) % 3
        q[n, 0] = differs[n, x]
        q[n, 1 + x] = 1 + R[n, x, x] - R[n, y, y] - R[n, z, z]
        q[n, 1 + y], q[n, 1 + z] = R[n, x, y] + R[n, y, x], R[n, x, z] + R[n, z, x]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    turned = np.sign((q[1:] * q[:-1]).sum(axis=1))
    q[1:] *= np.cumprod(np.where(turned < 0, -1.0, 1.0))[:, None]
    return q


def _at(pose: np.ndarray, p: np.ndarray) -> np.ndarray:
    return pose[:3, :3] @ p + pose[:3, 3]
