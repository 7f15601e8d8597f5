"""Joints that slide: trees that stay on the rails of others, and threads that are taken out before a motion is solved.

A motion has rotations at joints. What slides is a tree of its own, whose root is placed; the way of a screw along its
axis follows from its turn, when the motion is played.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats
from ..model.motion import Motion, find_reference, forward, order_joints
from ..model.skeleton import Joint, Skeleton
from ..model.take import Take


def keep_on_rails(skeleton: Skeleton, motion: Motion) -> Motion:
    """The motion with every slider's smaller tree moved onto the rail of the larger, turned as it is on the mean."""
    top = {body: body for body in motion.free}
    for _, _, joint in order_joints(skeleton):
        top[joint.child] = top[joint.parent]
    size = {root: sum(one == root for one in top.values()) for root in motion.free}
    for joint in skeleton.loops:
        if joint.kind != "slider" or top[joint.child] == top[joint.parent]:
            continue
        outer, inner = sorted((joint.child, joint.parent), key=lambda body: (size[top[body]], body != joint.child))
        motion = _move_onto(skeleton, motion, joint, outer, inner, top[outer])
    return motion


def _move_onto(skeleton: Skeleton, motion: Motion, joint: Joint, outer: str, inner: str, root: str) -> Motion:
    """The tree of `outer`, which stands on `root`, moved so that a slider is on its rail on `inner`."""
    poses = forward(skeleton, motion)
    (R_in, p_in), (R_out, p_out) = (
        (poses.R_world_body[:, k], poses.p_world_body[:, k]) for k in map(poses.index, (inner, outer))
    )
    usual = rotation.mean(np.swapaxes(R_in, -1, -2) @ R_out)
    child = outer == joint.child
    own, held = (joint.p_child_joint, joint.p_parent_joint) if child else (joint.p_parent_joint, joint.p_child_joint)
    axis = joint.axis_parent if child else joint.axis_child
    if axis is None or not np.isfinite(usual).all():
        return motion
    R_new = R_in @ usual
    rail = p_in + R_in @ held
    along = np.einsum("ni,ni->n", p_out + R_out @ own - rail, R_in @ axis)
    p_new = rail + along[:, None] * (R_in @ axis) - R_new @ own
    turn = R_new @ np.swapaxes(R_out, -1, -2)
    known = np.isfinite(turn).all(axis=(1, 2)) & np.isfinite(p_new).all(axis=1)
    R, p = np.array(motion.R_parent_body), np.array(motion.p_world_free)
    body, place = motion.bodies.index(root), motion.free.index(root)
    at = p[:, place]
    p[known, place] = (p_new + (turn @ (at - p_out)[..., None])[..., 0])[known]
    R[known, body] = (turn @ R[:, body])[known]
    return replace(motion, R_parent_body=R, p_world_free=p)


def remove_threads(skeleton: Skeleton, take: Take) -> Take:
    """The take with all that hangs on a screw moved back along its axis to where it is at the screw's mean angle."""
    screws = [joint for joint in skeleton.joints if joint.kind == "screw" and joint.pitch]
    if not screws:
        return take
    p = np.array(take.p_world_body)
    below = {joint.child: {joint.child} for joint in skeleton.joints}
    for _, _, joint in reversed(order_joints(skeleton)):
        if joint.parent in below:
            below[joint.parent] |= below[joint.child]
    for joint in screws:
        way = _measure_thread(skeleton, take, joint)
        rows = [take.index(body) for body in below[joint.child]]
        p[:, rows] -= way[:, None]
    return replace(take, p_world_body=p)


def _measure_thread(skeleton: Skeleton, take: Take, joint: Joint) -> Floats:
    """(n, 3) [m] in the world by which a screw is away from where it is at its mean angle; zero where not seen.

    The angle tells the way to a fraction of a turn, the places of the sensors tell the whole turns.
    """
    child, parent = take.index(joint.child), take.index(joint.parent)
    assert joint.axis_child is not None
    assert joint.axis_parent is not None
    R = take.R_world_body
    turn = np.swapaxes(R[:, parent], -1, -2) @ R[:, child]
    relative = np.full(R.shape, np.nan)
    relative[:, skeleton.bodies.index(joint.child)] = turn
    usual = find_reference(skeleton, relative)[skeleton.bodies.index(joint.child)]
    angle = rotation.find_turn(joint.axis_child, usual.T @ turn)
    ends = take.p_world_body[:, child] + R[:, child] @ joint.p_child_joint
    apart = ends - take.p_world_body[:, parent] - R[:, parent] @ joint.p_parent_joint
    along = np.einsum("ni,ni->n", apart, R[:, parent] @ joint.axis_parent)
    step = float(joint.pitch or 0.0) / (2 * np.pi)
    known = np.isfinite(along)
    mean = float(np.median(angle[known] - along[known] / step)) if known.any() else 0.0
    whole = np.round((along / step + mean - angle) / (2 * np.pi))
    angle = angle + 2 * np.pi * whole
    angle = angle - (float(angle[known].mean()) if known.any() else 0.0)
    return np.where(known[:, None], (step * angle)[:, None] * (R[:, parent] @ joint.axis_parent), 0.0)
