"""Motion: a skeleton's joints over time; `forward` gives the poses back."""

from __future__ import annotations

import builtins
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np

from ..errors import CondyleError, UsageError
from ..findings import Finding, many
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, freeze, select
from ..maths.spool import blocks, copy_array, empty, over_frames, seal
from .skeleton import ONE_AXIS, Joint, Skeleton
from .take import WORLD, Take, with_world
from .values import dataclass

# Frames turned at once, whose numbers stay in the processor's cache. No power of two: columns that lie one apart get
# into each other's way there, and writing them took four times as long.
TURN_CHUNK_FRAMES = 1000


@dataclass(frozen=True, eq=False)
class Motion:
    """How a skeleton moves: where its roots are, and the rotation at every joint.

    bodies         m names, the skeleton's
    free           k names of the bodies whose place is given: roots, then loose bodies
    time           (n,)          [s]  increasing within a segment
    R_parent_body  (n, m, 3, 3)  [-]  a body's (sensor's) axes in its parent's, a free body's in the world; NaN: unknown
    p_world_free   (n, k, 3)     [m]  origin of the free bodies in the world; NaN: unknown
    segment        (n,)               number of the recording a frame belongs to
    timed          False when time was made up from a count of frames
    up             axis of the world that points up, "z" or "-y"; None: not known
    slide          (n, m)        [m]  how far the sides of a body's screw are apart along axis_parent, zero for other
                                      joints; None: screws only turn, as in a motion that is made by hand
    """

    bodies: tuple[str, ...]
    free: tuple[str, ...]
    time: Annotated[Floats, "n"]
    R_parent_body: Annotated[Floats, "n m 3 3"]
    p_world_free: Annotated[Floats, "n k 3"]
    segment: Annotated[Ints, "n"] = field(default=None)  # type: ignore[arg-type]
    timed: bool = True
    up: str | None = None
    sources: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    slide: Annotated[Floats, "n m"] | None = None

    def __post_init__(self) -> None:
        for name in ("bodies", "free"):
            object.__setattr__(self, name, tuple(map(str, getattr(self, name))))
        freeze(self, n=len(self.time), m=len(self.bodies), k=len(self.free))

    @property
    def frames(self) -> int:
        return len(self.time)

    @cached_property
    def known(self) -> Bools:
        """(n, m) True where a joint's rotation, or a free body's pose, is known."""
        there: Bools = over_frames(lambda R: np.isfinite(R).all(axis=(-2, -1)), self.R_parent_body)
        columns = [self.bodies.index(name) for name in self.free]
        there[:, columns] &= np.isfinite(self.p_world_free).all(axis=-1)
        return there

    def at(self, rows: Ints | Bools | builtins.slice) -> Motion:
        """These frames, in increasing order."""
        return select(self, "n", rows)

    def __str__(self) -> str:
        joints = len(self.bodies) - len(self.free)
        lost = 1 - float(self.known.mean()) if self.known.size else 0.0
        tail = f", {lost:.1%} not known" if lost else ""
        return f"{many(joints, 'joint')}, {many(self.frames, 'frame')}{tail}"


def free_bodies(skeleton: Skeleton) -> tuple[str, ...]:
    """The bodies that hang on no other: roots, then loose bodies."""
    return (*skeleton.roots, *skeleton.loose)


def order_joints(skeleton: Skeleton) -> list[tuple[int, int, Joint]]:
    """(child, parent, joint) by the bodies' numbers, parents before children whatever order the skeleton has.

    Raises where the joints and the free bodies make no forest.
    """
    number = {name: k for k, name in enumerate(skeleton.bodies)}
    waiting: dict[str, list[Joint]] = {}
    for joint in skeleton.joints:
        waiting.setdefault(joint.parent, []).append(joint)
    ordered: list[tuple[int, int, Joint]] = []
    front = list(free_bodies(skeleton))
    while front:
        parent = front.pop(0)
        for joint in waiting.get(parent, ()):
            ordered.append((number[joint.child], number[parent], joint))
            front.append(joint.child)
    reached = [*free_bodies(skeleton), *(joint.child for _, _, joint in ordered)]
    if sorted(reached) != sorted(skeleton.bodies) or len(ordered) != len(skeleton.joints):
        raise CondyleError("its joints and roots do not reach every body exactly once", code="bad-skeleton")
    return ordered


class Screw(NamedTuple):
    """A screw by its bodies' numbers, with its unit axes in them; step: how far along as it turns [m/rad]."""

    child: int
    parent: int
    joint: Joint
    axis_child: Floats
    axis_parent: Floats
    step: float


def list_screws(skeleton: Skeleton) -> list[Screw]:
    """Those that have a pitch, parents before children."""
    return [
        Screw(child, parent, joint, joint.axis_child, joint.axis_parent, joint.pitch / (2 * np.pi))
        for child, parent, joint in order_joints(skeleton)
        if joint.kind == "screw" and joint.pitch and joint.axis_child is not None and joint.axis_parent is not None
    ]


def measure_slide(skeleton: Skeleton, poses: Take) -> Floats | None:
    """(n, m) [m] by which the two sides of every screw are apart along its axis in poses of the skeleton's bodies: zero
    for other joints, NaN where not seen. None: there is no screw.
    """
    screws = list_screws(skeleton)
    slide = np.zeros((poses.frames, poses.bodies))
    for child, parent, joint, _, axis, _ in screws:
        R, p = poses.R_world_body, poses.p_world_body
        apart = p[:, child] + R[:, child] @ joint.p_child_joint - p[:, parent] - R[:, parent] @ joint.p_parent_joint
        slide[:, child] = np.einsum("ni,ni->n", apart, R[:, parent] @ axis)
    return slide if screws else None


def forward(skeleton: Skeleton, motion: Motion) -> Take:
    """The pose of every body. NaN from an unknown joint or root onwards.

    The two sides of a joint meet to rounding; those of a screw are apart along its axis by the `slide` of the motion.
    """
    check_motion(skeleton, motion)
    slide = motion.slide
    axes = {} if slide is None else {screw.child: screw.axis_parent for screw in list_screws(skeleton)}
    n, m = motion.frames, len(motion.bodies)
    R, p = empty((n, m, 3, 3)), empty((n, m, 3))
    order, free = order_joints(skeleton), [motion.bodies.index(name) for name in motion.free]
    p_body_inboard = np.zeros((m, 3))
    for child, _, joint in order:
        p_body_inboard[child] = joint.p_child_joint
    for rows in _cut_frames(n):
        # Frames last: one product runs over all of them, several times faster than frame by frame.
        turn = np.array(np.moveaxis(motion.R_parent_body[rows], 0, -1), order="C")
        place = np.empty((m, 3, turn.shape[-1]))  # of the joint to the parent, then of the origin
        place[free] = np.moveaxis(motion.p_world_free[rows], 0, -1)
        for child, parent, joint in order:
            turn[child] = np.einsum("ijn,jkn->ikn", turn[parent], turn[child])
            reach = (joint.p_parent_joint - p_body_inboard[parent]) @ turn[parent]
            np.add(place[parent], reach, out=place[child])
            if slide is not None and child in axes:
                place[child] += slide[rows, child] * (axes[child] @ turn[parent])
        place -= np.matmul(p_body_inboard[:, None, None], turn)[:, :, 0]
        R[rows], p[rows] = np.moveaxis(turn, -1, 0), np.moveaxis(place, -1, 0)
    R, p = seal(R), seal(p)
    return Take(
        motion.bodies, motion.time, R, p, motion.segment, motion.timed, motion.sources, motion.findings, motion.up
    )


def check_motion(skeleton: Skeleton, motion: Motion) -> None:
    """Raises where a motion belongs to another skeleton."""
    if motion.bodies != skeleton.bodies or motion.free != free_bodies(skeleton):
        raise UsageError(
            f"the motion has the bodies {', '.join(motion.bodies)} on {', '.join(motion.free)}, the skeleton "
            f"{', '.join(skeleton.bodies)} on {', '.join(free_bodies(skeleton))}; play the recording on this skeleton",
            code="bodies-differ",
        )


def match_bodies(skeleton: Skeleton, take: Take) -> Take:
    """The take with the skeleton's bodies in the skeleton's order; the room, if the skeleton has it, stands still."""
    if WORLD in skeleton.bodies and WORLD not in take.names and skeleton.options.get("world"):
        take = with_world(take)
    return take if take.names == skeleton.bodies else take.select(skeleton.bodies)


def derive_motion(skeleton: Skeleton, poses: Take) -> Motion:
    """The motion of poses that have no gap at any joint, as `forward` gives them: relative rotations follow at once.

    A rotation relative to a parent that is not known is not known either.
    """
    poses = match_bodies(skeleton, poses)
    columns = [poses.index(name) for name in free_bodies(skeleton)]
    R = relate_rotations(skeleton, poses.R_world_body)
    p = over_frames(lambda part: part[:, columns], poses.p_world_body)
    return replace(time_motion(skeleton, poses, seal(R), seal(p)), slide=measure_slide(skeleton, poses))


def relate_rotations(skeleton: Skeleton, R_world_body: Floats) -> Floats:
    """R_parent_body (n, m, 3, 3) of the bodies' axes in the world (n, m, 3, 3), as `Motion` has it."""
    order, R = order_joints(skeleton), empty(R_world_body.shape)
    free = [skeleton.bodies.index(name) for name in free_bodies(skeleton)]
    for rows in _cut_frames(len(R)):
        world = np.array(np.moveaxis(R_world_body[rows], 0, -1), order="C")
        turn = np.empty_like(world)
        turn[free] = world[free]
        for child, parent, _ in order:
            np.einsum("jin,jkn->ikn", world[parent], world[child], out=turn[child])
        R[rows] = np.moveaxis(turn, -1, 0)
    return R


def _cut_frames(frames: int) -> list[builtins.slice]:
    return [slice(first, first + TURN_CHUNK_FRAMES) for first in range(0, frames, TURN_CHUNK_FRAMES)]


def time_motion(skeleton: Skeleton, take: Take, R: Floats, p: Floats, findings: tuple[Finding, ...] = ()) -> Motion:
    """A motion with the clock of a take: R_parent_body (n, m, 3, 3), p_world_free (n, k, 3) [m]."""
    return Motion(
        skeleton.bodies,
        free_bodies(skeleton),
        take.time,
        R,
        p,
        take.segment,
        take.timed,
        take.up or skeleton.up,
        take.sources,
        findings,
    )


def reference_rotations(skeleton: Skeleton, motion: Motion) -> Floats:
    """(m, 3, 3) R_parent_body of each joint's reference: the mean over the motion, identity for free bodies.

    A hinge's is the nearest to all rotations among those that carry its axis in the child onto its axis in the parent,
    so that R_parent_body = reference @ turn about axis_child. Where nothing is known it is any such rotation.
    """
    check_motion(skeleton, motion)
    return find_reference(skeleton, motion.R_parent_body)


def find_reference(skeleton: Skeleton, R_parent_body: Floats) -> Floats:
    """`reference_rotations` of joint rotations (n, m, 3, 3)."""
    reference = np.tile(np.eye(3), (len(skeleton.bodies), 1, 1))
    for child, _, joint in order_joints(skeleton):
        R = R_parent_body[:, child]
        known = np.isfinite(np.einsum("nij->n", R))
        total = np.zeros((3, 3))
        for rows in blocks(R):
            part = R[rows]
            total += part.sum(axis=0) if known[rows].all() else part[known[rows]].sum(axis=0)
        if joint.kind in ONE_AXIS and joint.axis_child is not None and joint.axis_parent is not None:
            onto = rotation.find_shortest_arc(joint.axis_child, joint.axis_parent)
            angle = rotation.find_turn(joint.axis_child, onto.T @ total)
            reference[child] = onto @ rotation.from_vector(angle * joint.axis_child)
        elif known.any():
            reference[child] = rotation.project(total)
    return reference


def on_axes(skeleton: Skeleton, motion: Motion) -> Motion:
    """The motion with every hinge turned about its axis alone, every universal joint about its two, and every rigid
    joint kept at its reference rotation.

    Each joint goes to the nearest rotation it may have, for itself; what was not known stays NaN.
    """
    reference = reference_rotations(skeleton, motion)
    R = copy_array(motion.R_parent_body)
    for child, _, joint in order_joints(skeleton):
        if joint.kind in ONE_AXIS and joint.axis_child is not None:
            angle = rotation.find_turn(joint.axis_child, reference[child].T @ R[:, child])
            R[:, child] = reference[child] @ rotation.from_vector(angle[:, None] * joint.axis_child)
        elif joint.kind == "universal" and joint.axis_child is not None and joint.axis_parent is not None:
            R[:, child] = _keep_angle(R[:, child], joint.axis_parent, joint.axis_child)
        elif joint.kind == "rigid":
            R[:, child] = np.where(np.isfinite(R[:, child]), reference[child], np.nan)
    return replace(motion, R_parent_body=R)


def _keep_angle(R: Floats, first: Floats, second: Floats) -> Floats:
    """R (n, 3, 3) turned the shortest way to have the same angle between `first` and R `second` in all frames."""
    now = R @ second
    cosine = now @ first
    usual = float(np.nanmean(cosine)) if np.isfinite(cosine).any() else 0.0
    normal = np.cross(first, now)
    size = np.linalg.norm(normal, axis=1)
    step = np.arccos(np.clip(usual, -1, 1)) - np.arctan2(size, cosine)
    return np.asarray(rotation.from_vector((step / np.maximum(size, 1e-12))[:, None] * normal) @ R)
