"""Joints that slide: trees that stay on the rails of others, and threads that are taken out before a motion is solved.

A motion has rotations at joints. What slides is a tree of its own, whose root is placed; the way of a screw along its
axis follows from its turn, and from the places how many whole turns it has made.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats, Ints
from ..maths.series import follow_turns
from ..model.motion import Motion, Screw, forward, list_screws, order_joints
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


def follow_threads(skeleton: Skeleton, slide: Floats | None, R_parent_body: Floats, segment: Ints) -> Floats | None:
    """(n, m) [m] how far every screw is along its axis by its angle, as `Motion` has it. None: there is no screw.

    slide  (n, m) as the places show it, see `measure_slide`: NaN where not seen

    The angle tells the way but for whole turns, and these the places tell, by the frames around each in its run of
    frames that were seen: no single bad pose counts. Between runs a screw is within half a turn of even motion, which
    nothing can tell better; in a segment where it was not seen, of where its sides meet. One that was never seen only
    turns.
    """
    if slide is None:
        return None
    found = np.zeros(slide.shape)
    for screw in list_screws(skeleton):
        found[:, screw.child] = follow_thread(screw, slide[:, screw.child], R_parent_body[:, screw.child], segment)
    return found


def follow_thread(screw: Screw, slide: Floats, R: Floats, segment: Ints) -> Floats:
    """(n,) [m] `follow_threads` of one screw: slide (n,) [m], R_parent_body (n, 3, 3)."""
    onto = rotation.find_shortest_arc(screw.axis_child, screw.axis_parent)
    angle = rotation.find_turn(screw.axis_child, onto.T @ R)
    return np.asarray(screw.step * follow_turns(angle, slide / screw.step, segment))


def turn_threads(skeleton: Skeleton, slide: Floats, R_before: Floats, R_after: Floats) -> Floats:
    """(n, m) [m] how far screws are along their axes after turning on by less than half a turn: joint rotations
    (n, m, 3, 3) before, where they are `slide`, and after.
    """
    found = np.array(slide)
    for screw in list_screws(skeleton):
        turn = np.swapaxes(R_before[:, screw.child], -1, -2) @ R_after[:, screw.child]
        found[:, screw.child] += screw.step * rotation.find_turn(screw.axis_child, turn)
    return found


def remove_threads(skeleton: Skeleton, take: Take, slide: Floats | None, R_parent_body: Floats | None = None) -> Take:
    """The take with all that hangs on a screw moved back along its axis to where the two sides meet.

    slide          (n, m) [m] see `measure_slide`. Where neither side of the screw is seen, nothing is moved
    R_parent_body  (n, m, 3, 3) how joints are turned where that is not seen; None: as in even motion
    """
    if slide is None:
        return take
    R, p = take.R_world_body, np.array(take.p_world_body)
    relative, order, screws = np.full(R.shape, np.nan), order_joints(skeleton), list_screws(skeleton)
    for child, parent, *_ in screws:
        turn = np.swapaxes(R[:, parent], -1, -2) @ R[:, child]
        relative[:, child] = (
            turn if R_parent_body is None else np.where(np.isfinite(turn), turn, R_parent_body[:, child])
        )
    slide = follow_threads(skeleton, slide, relative, take.segment)
    assert slide is not None
    below = {child: {child} for child, _, _ in order}
    for child, parent, _ in reversed(order):
        if parent in below:
            below[parent] |= below[child]
    for child, parent, _, axis_child, axis_parent, _ in screws:
        axis = R[:, parent] @ axis_parent
        axis = np.nan_to_num(np.where(np.isfinite(axis), axis, R[:, child] @ axis_child))  # the same in both
        p[:, sorted(below[child])] -= (slide[:, child, None] * axis)[:, None]
    return replace(take, p_world_body=p)
