"""Random jointed figures with every kind of joint, several roots and loose bodies, and random motion of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from condyle import Joint, Motion, Skeleton, Take, forward
from condyle.maths import rotation

KINDS = ("ball", "hinge", "rigid", "undetermined")


def joint(rng: np.random.Generator, child: str, parent: str, kind: str) -> Joint:
    """A joint at random places, a hinge about a random axis."""
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    hinge = kind == "hinge"
    return Joint(
        child,
        parent,
        kind,  # type: ignore[arg-type]
        "determined",
        rng.uniform(-0.3, 0.3, 3),
        rng.uniform(-0.3, 0.3, 3),
        axis if hinge else None,
        rotation.random(rng) @ axis if hinge else None,
        0.0 if hinge else None,
        0.0,
        10,
        np.ones(6),
        None,
        None,
        None,
        np.ones(3),
    )


def figure(
    rng: np.random.Generator, bodies: int = 8, roots: int = 1, loose: int = 0, kinds: Sequence[str] = ("ball",)
) -> Skeleton:
    """A forest whose bodies are named in shuffled order; kinds are taken in turn."""
    names = [f"b{k}" for k in rng.permutation(bodies + loose)]
    joints = []
    for k in range(roots, bodies):
        tree = [i for i in range(k) if i % roots == k % roots]
        joints.append(joint(rng, names[k], names[int(rng.choice(tree))], kinds[k % len(kinds)]))
    parents = {one.parent for one in joints}
    heads = [name for name in names[:roots] if name in parents]
    alone = [name for name in names[:roots] if name not in parents] + names[bodies:]
    order = tuple(sorted(names))
    return Skeleton(order, tuple(heads), tuple(alone), tuple(joints))


def motion(rng: np.random.Generator, skeleton: Skeleton, frames: int = 20, range_: float = 1.0) -> Motion:
    """Every joint turned at random as its kind allows, from a random reference, by about `range_` rad."""
    n, m = frames, len(skeleton.bodies)
    free = (*skeleton.roots, *skeleton.loose)
    R = rotation.random(rng, (m,)) @ rotation.from_vector(range_ * rng.uniform(-1, 1, (n, m, 3)))
    for one in skeleton.joints:
        k = skeleton.bodies.index(one.child)
        if one.kind == "hinge":
            assert one.axis_child is not None
            assert one.axis_parent is not None
            onto = _onto(one.axis_child, one.axis_parent)
            R[:, k] = onto @ rotation.from_vector(range_ * rng.uniform(-1, 1, n)[:, None] * one.axis_child)
        elif one.kind == "rigid":
            R[:, k] = R[0, k]
    return Motion(skeleton.bodies, free, np.arange(n) / 100, R, rng.uniform(-1, 1, (n, len(free), 3)))


def noisy(rng: np.random.Generator, skeleton: Skeleton, moved: Motion, position: float, turn: float) -> Take:
    """The poses of a motion as sensors with white noise [m], [rad] report them."""
    poses = forward(skeleton, moved)
    R = poses.R_world_body @ rotation.from_vector(turn * rng.standard_normal((poses.frames, poses.bodies, 3)))
    return Take(poses.names, poses.time, R, poses.p_world_body + position * rng.standard_normal(R.shape[:-1]))


def gaps(skeleton: Skeleton, poses: Take, joints: Sequence[Joint] | None = None) -> np.ndarray:
    """(n, J) [m] by how much each joint is open."""
    found = []
    for one in skeleton.joints if joints is None else joints:
        c, p = poses.index(one.child), poses.index(one.parent)
        a = poses.R_world_body[:, c] @ one.p_child_joint + poses.p_world_body[:, c]
        b = poses.R_world_body[:, p] @ one.p_parent_joint + poses.p_world_body[:, p]
        found.append(np.linalg.norm(a - b, axis=-1))
    return np.stack(found, axis=1) if found else np.zeros((poses.frames, 0))


def _onto(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Some rotation that carries unit vector a onto b."""

    def frame(v: np.ndarray) -> np.ndarray:
        x = np.cross(v, np.eye(3)[np.argmin(np.abs(v))])
        x /= np.linalg.norm(x)
        return np.stack([v, x, np.cross(v, x)], axis=1)

    return frame(b) @ frame(a).T


def replace_places(one: Joint, p_child_joint: np.ndarray, p_parent_joint: np.ndarray) -> Joint:
    """The joint elsewhere; a hinge with the same axis in both bodies."""
    return replace(one, p_child_joint=p_child_joint, p_parent_joint=p_parent_joint, axis_parent=one.axis_child)
