"""Bones of a skeleton: where each begins and ends, which way its axes point, and the pose they rest in.

A body's frame is its sensor's, mounted anyhow. A bone's frame has its origin at the joint towards the root and y along
the bone; docs/figures.md tells the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ...maths import rotation
from ...maths.arrays import Floats
from ...maths.robust import median
from ...model.anatomy import MAIN_CHILD, PAIRS, TYPICAL, Part, Segment, find_finger, rest_direction
from ...model.values import dataclass

BoneKind = Literal["free", "ball", "hinge", "rigid", "universal", "slider"]
LIMBS: tuple[Part, ...] = ("thigh", "shank", "upper_arm", "forearm")
DIRECTION_MIN_M = 1e-3  # m: two points nearer than this tell no direction
TIPLESS_BONE_M = 0.05  # m: length of a bone of which nothing tells any
ROLL_MAX_COSINE = np.cos(np.radians(30))  # a hinge's axis nearer than 30 deg to the bone tells no roll


@dataclass(frozen=True, eq=False)
class Link:
    """A body and the joint it hangs on. A free body has no parent, and its joint's points are not used.

    parent            position of the parent among the links, -1 for a free body; parents come first
    p_child, p_parent (3,) [m]  the joint in the frames of the two bodies
    axis              (3,)      of a hinge or slider, and the second of a universal joint, in the body's own frame
    first             (3,)      first axis of a universal joint, in the parent's frame
    pitch             [m/rad]   along its axis of a hinge that is a screw
    R_mean            (3, 3)    rotation of the body in its parent's frame: usual, and on the hinge of a hinge joint;
                                in the world for a free body
    R_near            (3, 3)    the same in the frame of the take that is nearest to all means
    """

    body: str
    parent: int
    kind: BoneKind
    p_child: Floats
    p_parent: Floats
    axis: Floats | None
    R_mean: Floats
    R_near: Floats
    segment: Segment | None = None
    first: Floats | None = None
    pitch: float = 0.0


@dataclass(frozen=True, eq=False)
class Room:
    """Directions of the room that the rest pose stands in, unit vectors (3,)."""

    up: Floats
    forward: Floats

    @property
    def left(self) -> Floats:
        return rotation.cross(self.up, self.forward)

    def direction(self, word: str) -> Floats:
        return {"up": self.up, "down": -self.up, "forward": self.forward, "left": self.left, "right": -self.left}[word]


@dataclass(frozen=True, eq=False)
class RestBone:
    """One bone in its body's frame and in the rest pose.

    R_body_bone (3, 3), p_body_bone (3,) [m]  its frame
    tip         (3,) [m]    its end, in its own frame
    R_world_rest (3, 3)     its axes in the rest pose
    axis        (3,)        of the link, in its own frame, or None
    """

    R_body_bone: Floats
    p_body_bone: Floats
    tip: Floats
    R_world_rest: Floats
    axis: Floats | None


def build_bones(links: Sequence[Link], world: Room, human: Sequence[bool]) -> list[RestBone]:
    """A bone for every link; `human` tells of each whether it belongs to a tree with a trunk that names tell."""
    children: list[list[int]] = [[] for _ in links]
    for k, link in enumerate(links):
        if link.parent >= 0:
            children[link.parent].append(k)
    usual = _scale(links, children)
    bones: list[RestBone] = []
    R_world_body: list[Floats] = []
    for k, link in enumerate(links):
        below = [links[c] for c in children[k]]
        known = link.segment if human[k] else None
        origin = _origin(link, below)
        R = link.R_near if link.parent < 0 else R_world_body[link.parent] @ _rest_start(link, known)
        tip = _tip(below, origin, known)
        wanted = _find_finger_rest(links, k, human, world)
        if known is not None:
            wanted = world.direction(rest_direction(known))
        if tip is None and known is not None and wanted is not None:
            along = R.T @ wanted if link.parent >= 0 else _upwards(k, links, children)
            tip = origin + (TYPICAL[known.part] * usual) * along
        elif tip is None:
            tip = origin + _through_sensor(origin)
        toward = _unit(tip - origin)
        if wanted is not None:
            R = _turn_to_rest(R, link, below, toward, wanted, world)
        R_world_body.append(R)
        bones.append(_frame_bone(link, R, origin, tip, world))
    return bones


def _find_finger_rest(links: Sequence[Link], k: int, human: Sequence[bool], world: Room) -> Floats | None:
    """Where a finger points at rest: on from the hand, a thumb halfway forward; None: no finger of a hand."""
    finger, up = find_finger(links[k].body), links[k].parent
    while up >= 0 and links[up].segment is None:
        up = links[up].parent
    hand = links[up].segment if up >= 0 else None
    if finger is None or hand is None or hand.part != "hand" or not human[k]:
        return None
    out = world.direction(rest_direction(hand))
    return _unit(out + world.forward) if finger == 0 else out


def _rest_start(link: Link, known: Segment | None) -> Floats:
    """The rotation in the parent that the rest pose is turned from: bones without a direction keep that of the take."""
    if link.kind in ("rigid", "slider") or known is not None:
        return link.R_mean
    if link.kind == "hinge" and link.axis is not None:  # near, and exactly on the hinge
        return link.R_mean @ rotation.from_vector(
            rotation.find_turn(link.axis, link.R_mean.T @ link.R_near) * link.axis
        )
    return link.R_near


def _origin(link: Link, below: Sequence[Link]) -> Floats:
    """(3,) [m] in the body's frame: the joint to the parent; of a free body the middle of its joints, for a trunk
    between hips or shoulders; with one joint or none the sensor's origin."""
    if link.parent >= 0:
        return link.p_child
    pair = _pair(link, below)
    if pair is not None:
        return (pair[0].p_parent + pair[1].p_parent) / 2
    if len(below) < 2:
        return np.zeros(3)
    return np.asarray(np.mean([child.p_parent for child in below], axis=0))


def _pair(link: Link, below: Sequence[Link]) -> tuple[Link, Link] | None:
    """Left and right child of a trunk, or None."""
    if link.segment is None:
        return None
    for part in PAIRS.get(link.segment.part, ()):
        sides = {child.segment.side: child for child in below if child.segment and child.segment.part == part}
        if "l" in sides and "r" in sides:
            return sides["l"], sides["r"]
    return None


def _tip(below: Sequence[Link], origin: Floats, known: Segment | None) -> Floats | None:
    """The bone's end (3,) [m] in the body's frame, where joints tell one or the sensor of a limb does; else None."""
    if known is not None:
        for part in MAIN_CHILD[known.part]:
            for child in below:
                if child.segment and child.segment.part == part and _far(child.p_parent - origin):
                    return child.p_parent
        if known.part in LIMBS and not below and _far(origin):
            return np.zeros(3)
        return None
    if below:
        end = np.asarray(np.mean([child.p_parent for child in below], axis=0))
        return end if _far(end - origin) else None
    return np.zeros(3) if _far(origin) else None


def _upwards(k: int, links: Sequence[Link], children: Sequence[Sequence[int]]) -> Floats:
    """Unit (3,) in a free trunk's frame: away from where its limbs usually point; the sensor's z where it has none."""
    down = np.zeros(3)
    for c in children[k]:
        limb = links[c]
        if limb.segment is not None and limb.segment.part in ("thigh", "upper_arm"):
            ends = [links[below].p_parent for below in children[c]] or [np.zeros(3)]
            down = down + limb.R_mean @ _unit(ends[0] - limb.p_child)
    return -_unit(down) if _far(down) else np.array([0.0, 0.0, 1.0])


def _through_sensor(origin: Floats) -> Floats:
    """(3,) [m] of a bone that ends in no joint: from its origin to the sensor, or along the sensor's z."""
    return -origin if _far(origin) else np.array([0.0, 0.0, TIPLESS_BONE_M])


def _turn_to_rest(R: Floats, link: Link, below: Sequence[Link], toward: Floats, wanted: Floats, world: Room) -> Floats:
    """The body's axes in the room (3, 3), turned so that its direction `toward` is `wanted` as far as its joint can."""
    if link.kind == "rigid":
        return R
    if link.kind == "hinge" and link.axis is not None:
        return R @ rotation.from_vector(_aim(toward, R.T @ wanted, link.axis) * link.axis)
    pair = _pair(link, below)
    if pair is not None:
        left = pair[0].p_parent - pair[1].p_parent
        if _far(rotation.cross(left, toward)):
            return _axes(wanted, world.left) @ _axes(toward, left).T
    R = rotation.find_shortest_arc(R @ toward, wanted, world.forward) @ R
    return rotation.from_vector(_hinge_roll(R, below, wanted, world) * wanted) @ R


def _hinge_roll(R: Floats, below: Sequence[Link], along: Floats, world: Room) -> float:
    """Angle [rad] about a limb that brings the hinge at its end where knees (across) and elbows (upright) have it."""
    for child in below:
        if child.kind == "hinge" and child.axis is not None and child.segment is not None:
            target = {"shank": world.left, "forearm": world.up}.get(child.segment.part)
            if target is None:
                continue
            axis = R @ child.R_mean @ child.axis
            axis = axis if axis @ target >= 0 else -axis
            return _aim(axis, target, along)
    return 0.0


def _frame_bone(link: Link, R: Floats, origin: Floats, tip: Floats, world: Room) -> RestBone:
    """The bone's own axes: y to the tip, x along a hinge's axis as far as that is across, else z forward or up."""
    y = R @ _unit(tip - origin)
    axis = None
    if link.kind == "hinge" and link.axis is not None and abs(y @ (R @ link.axis)) < ROLL_MAX_COSINE:
        x = _unit(R @ link.axis - y * (y @ (R @ link.axis)))
        z = rotation.cross(x, y)
        side = z @ world.forward if abs(y @ world.forward) < ROLL_MAX_COSINE else z @ world.up
        x, z = (x, z) if side >= 0 else (-x, -z)
    else:
        front = world.forward if abs(y @ world.forward) < np.cos(np.pi / 4) else world.up
        z = _unit(front - y * (y @ front))
        x = rotation.cross(y, z)
    R_world_rest = np.stack([x, y, z], axis=1)
    R_body_bone = R.T @ R_world_rest
    if link.kind == "hinge" and link.axis is not None:
        axis = R_body_bone.T @ link.axis
        axis = axis if axis[0] >= 0 else -axis
    elif link.axis is not None:
        axis = R_body_bone.T @ link.axis
    return RestBone(R_body_bone, origin, R_body_bone.T @ (tip - origin), R_world_rest, axis)


def _scale(links: Sequence[Link], children: Sequence[Sequence[int]]) -> float:
    """How many times larger than a typical adult's the measured limbs are; 1 where none is measured."""
    ratios = []
    for k, link in enumerate(links):
        part = "" if link.segment is None or link.parent < 0 else link.segment.part
        if part in LIMBS:
            lengths = [float(np.linalg.norm(links[c].p_parent - link.p_child)) for c in children[k]]
            ratios += [length / TYPICAL[part] for length in lengths]
    ratios = [ratio for ratio in ratios if ratio > 0.01]
    return float(median(np.array(ratios))) if ratios else 1.0


def reorder_links(links: Sequence[Link], roots: Sequence[int], order: Sequence[str]) -> list[Link]:
    """The links with these as free bodies, one per tree, parents first; a joint may then be seen from its other side.

    Children of one body come in the `order` of the bodies. R_mean and R_near of a new free body are left as they are:
    the caller knows its pose in the world.
    """
    near: dict[int, list[int]] = {k: [] for k in range(len(links))}
    for k, link in enumerate(links):
        if link.parent >= 0:
            near[k].append(link.parent)
            near[link.parent].append(k)
    rank = {body: k for k, body in enumerate(order)}
    for others in near.values():
        others.sort(key=lambda k: rank[links[k].body])
    result: list[Link] = []
    place: dict[int, int] = {}
    front = [(root, -1) for root in roots]
    while front:
        k, parent = front.pop(0)
        place[k] = len(result)
        if parent < 0:
            result.append(replace(links[k], parent=-1, kind="free", axis=None, first=None, pitch=0.0))
        elif links[k].parent == parent:
            result.append(replace(links[k], parent=place[parent]))
        else:
            result.append(_reverse(links[parent], links[k], place[parent]))
        front = [(other, k) for other in near[k] if other not in place] + front  # depth first: a limb stays together
    return result


def _reverse(joint: Link, body: Link, parent: int) -> Link:
    """What was `joint`'s parent as the child of that joint."""
    axis, first = None if joint.axis is None else joint.R_mean @ joint.axis, None
    if joint.kind == "universal":
        axis, first = joint.first, joint.axis
    elif joint.kind == "slider" and axis is not None:
        axis = -axis
    return Link(
        body.body,
        parent,
        joint.kind,
        joint.p_parent,
        joint.p_child,
        axis,
        joint.R_mean.T,
        joint.R_near.T,
        body.segment,
        first,
        joint.pitch,
    )


def _aim(v: Floats, u: Floats, axis: Floats) -> float:
    """Angle [rad] about a unit axis that brings v as near to u as it can."""
    return float(np.arctan2(u @ rotation.cross(axis, v), u @ v - (axis @ u) * (axis @ v)))


def _axes(first: Floats, second: Floats) -> Floats:
    """(3, 3) right-handed axes: the first direction, the second made perpendicular to it, and their normal."""
    a = _unit(first)
    b = _unit(second - a * (a @ second))
    return np.stack([a, b, rotation.cross(a, b)], axis=1)


def _unit(v: Floats) -> Floats:
    return v / max(float(np.linalg.norm(v)), 1e-300)


def _far(v: Floats) -> bool:
    return float(np.linalg.norm(v)) > DIRECTION_MIN_M
