"""Between skeleton and solver: a Skeleton as a KinematicRig, frames as a State to start from, a State as a motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats, Ints
from ..maths.elimination import Group, KinematicRig, product
from ..maths.spool import copy_array, over_frames
from ..model.motion import order_joints
from ..model.skeleton import ONE_AXIS, Skeleton
from .bridging import find_nearest_known
from .pose_solver import Problem, State, settle


def build_rig(skeleton: Skeleton, reference: Floats, *, keep_axes: bool = True) -> KinematicRig:
    """The skeleton as tables; without `keep_axes` every joint is a ball, as is one that is not determined.

    reference (m, 3, 3): R_parent_body of rigid joints, and of hinges at angle zero
    """
    m = len(skeleton.bodies)
    depth, parent, freedom = np.zeros(m, np.int64), np.full(m, -1), np.full(m, "free ")
    p_body_inboard, p_parent_joint, axis = np.zeros((3, m, 3))
    for child, above, joint in order_joints(skeleton):
        depth[child], parent[child] = depth[above] + 1, above
        kind = "hinge" if joint.kind in ONE_AXIS else joint.kind
        freedom[child] = kind if keep_axes and kind in ("hinge", "rigid") else "ball"
        p_body_inboard[child], p_parent_joint[child] = joint.p_child_joint, joint.p_parent_joint
        if joint.axis_child is not None:
            axis[child] = joint.axis_child
    bodies = np.lexsort((parent, freedom, depth))  # by depth, then by freedom
    row = np.argsort(bodies)
    parent = np.where(parent[bodies] < 0, -1, row[parent[bodies]])
    starts = [k for k in range(m) if k == 0 or _differs(depth, freedom, bodies[k - 1], bodies[k])]
    groups = tuple(
        Group(slice(first, end), str(freedom[bodies[first]]).strip(), parent[first:end])  # type: ignore[arg-type]
        for first, end in zip(starts, [*starts[1:], m], strict=True)
    )
    tables = (p_body_inboard[bodies], p_parent_joint[bodies], axis[bodies], reference[bodies])
    return KinematicRig(bodies, parent, groups, *tables, tuple(skeleton.bodies[k] for k in bodies))


def _differs(depth: Ints, freedom: Any, a: int, b: int) -> bool:
    return bool(depth[a] != depth[b] or freedom[a] != freedom[b])


def hold_unknown(R: Floats, segment: Ints, usual: Floats) -> Floats:
    """R (n, m, 3, 3) with what is unknown as in the nearest known frame of its segment, else of any; else `usual`
    (m, 3, 3).
    """
    unknown = over_frames(lambda part: ~np.isfinite(np.einsum("nmij->nm", part)), R)
    if not unknown.any():
        return R
    R = copy_array(R)
    for body in np.flatnonzero(unknown.any(axis=0)):
        gone = unknown[:, body]
        if gone.all():
            R[:, body] = usual[body]
            continue
        R[gone, body] = R[find_nearest_known(~gone, segment)[gone], body]
    return R


def build_state(rig: KinematicRig, R_world: Floats, p_world: Floats, R_last: Floats | None = None) -> State:
    """A state of the figure with given rotations (c, m, 3, 3), as far as its hinges and rigid joints allow, and with
    the origins of its free bodies from p_world (c, m, 3) [m]. R_last: the rotations by `to_rows`, if at hand.
    """
    hinges = [group for group in rig.groups if group.freedom == "hinge"]
    if R_last is None:
        R = to_rows(rig, R_world)
    else:
        R = R_last.copy() if any(group.freedom in ("hinge", "rigid") for group in rig.groups) else R_last
    p = to_rows(rig, p_world)
    angle = np.zeros((len(rig.bodies), R.shape[-1])) if hinges else None
    for group in hinges:
        for row in range(group.own.start, group.own.stop):
            child, parent = R_world[:, rig.bodies[row]], R_world[:, rig.bodies[rig.parent[row]]]
            relative = rig.R_reference[row].T @ np.swapaxes(parent, -1, -2) @ child
            angle[row] = rotation.find_turn(rig.axis[row], relative)  # type: ignore[index]
    return settle(rig, State(R, p, np.empty_like(p), angle))


def restore_state(rig: KinematicRig, R_parent_body: Floats, p_world: Floats) -> State:
    """The state that `store` wrote: joint rotations (c, m, 3, 3), origins of the free bodies from (c, m, 3) [m]."""
    R, p = to_rows(rig, R_parent_body), to_rows(rig, p_world)
    hinges = any(group.freedom == "hinge" for group in rig.groups)
    angle = np.zeros((len(rig.bodies), R.shape[-1])) if hinges else None
    for group in rig.groups:
        if group.freedom == "hinge" and angle is not None:
            for row in range(group.own.start, group.own.stop):
                turn = rig.R_reference[row].T @ R_parent_body[:, rig.bodies[row]]
                angle[row] = rotation.find_turn(rig.axis[row], turn)
        if group.freedom != "free":
            R[group.own] = product(R[group.parent], R[group.own])
    return settle(rig, State(R, p, np.empty_like(p), angle))


def centre(rig: KinematicRig, state: State, aims: Problem) -> State:
    """The state with every figure moved, unturned, to where its aims want it on the whole."""
    top = np.arange(len(rig.bodies))
    for row, parent in enumerate(rig.parent):
        if parent >= 0:
            top[row] = top[parent]
    roots = np.flatnonzero(rig.parent < 0)
    for root in roots:
        own = slice(None) if len(roots) == 1 else top == root
        w = aims.w_position[own]
        total = w.sum(axis=0)
        away = np.einsum("mn,mkn->kn", w, aims.p[own] - state.origin[own]) / np.where(total > 0, total, 1.0)
        state.origin[own] += away
        state.inboard[own] += away
    return state


def store(rig: KinematicRig, state: State) -> tuple[Floats, Floats]:
    """A state's joint rotations (c, m, 3, 3), a free body's in the world, and its origins (c, m, 3) [m]."""
    relative = product(np.swapaxes(state.R[np.maximum(rig.parent, 0)], 1, 2), state.R)
    free = rig.parent < 0
    relative[free] = state.R[free]
    row = np.argsort(rig.bodies)
    return np.moveaxis(relative[row], -1, 0), np.moveaxis(state.origin[row], -1, 0)


def to_bodies(rig: KinematicRig, values: Floats) -> Floats:
    """(m, ...) of the rig's rows in the order of the skeleton's bodies."""
    return np.asarray(values[np.argsort(rig.bodies)])


def to_rows(rig: KinematicRig, values: Floats) -> Floats:
    """(c, m, ...) of the skeleton's bodies with the rig's rows first and the frames last."""
    out = np.empty((values.shape[1], *values.shape[2:], values.shape[0]))
    last = (*range(1, values.ndim - 1), 0)  # np.moveaxis takes as long to say so
    for row, body in enumerate(rig.bodies):
        out[row] = values[:, body].transpose(last)
    return out
