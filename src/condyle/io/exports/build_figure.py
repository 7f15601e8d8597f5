"""From a skeleton and its motion to a Figure: names, roots, up axis, bones, rest pose."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import get_args

import numpy as np

from ...errors import UsageError, suggest
from ...findings import Finding
from ...maths import rotation
from ...maths.arrays import Floats, Ints
from ...maths.spool import over_frames
from ...model.anatomy import BONE_NAMES, JOINT_NAMES, Segment, find_segments, trunk_of
from ...model.motion import Motion, forward, list_screws, order_joints, reference_rotations
from ...model.skeleton import ONE_AXIS, Joint, Skeleton
from ...model.take import Take
from .bones import BoneKind, Link, RestBone, Room, build_bones, reorder_links
from .figure import Figure, find_axis, find_world_turn, legalise
from .registry import Names
from .rigs import RIGS, name_rig

NAME_LETTERS = r"[\w.-]"  # characters of a bone's name; letters of any script
PERSON_MIN_SEGMENTS = 3  # segments that make a tree a person
UP_MIN_COSINE = 0.6  # cosine of a trunk's mean direction to an axis from which on that axis is up


def build_figure(
    skeleton: Skeleton, motion: Motion, names: Names = "anatomy", up: str | None = None, *, machines: bool = False
) -> Figure:
    """The figure of a skeleton in motion. `up` overrules the take's; `names` "bodies" keeps the bodies' names, and that
    of a rig gives people its names.

    machines  universal joints, sliders and screws are what they are; else a slider is a free bone, a screw a hinge and
              a universal joint a ball. The motion must be on its axes
    """
    if names not in get_args(Names):
        raise UsageError(f"no names '{names}'; {suggest(names, get_args(Names))}", code="bad-call")
    poses = forward(skeleton, motion) if machines and any(joint.kind == "slider" for joint in skeleton.loops) else None
    frame = _nearest_frame(motion)
    chain, people = _chain_links(skeleton, motion, frame, poses, machines=machines)
    R_parent, R_free, p_free = _motion(skeleton, motion, chain)
    chain = _with_places(chain, R_free, frame)
    human = _whose(chain, people)
    up, findings = _up(chain, human, R_free, up or motion.up)
    world = Room(find_axis(up), find_world_turn("z", up) @ find_axis("-y"))
    bones = build_bones(chain, world, human)
    parent = np.array([link.parent for link in chain], np.int64)
    free = np.flatnonzero(parent < 0)
    R_body_bone = np.array([bone.R_body_bone for bone in bones]).reshape(-1, 3, 3)
    p_body_bone = np.array([bone.p_body_bone for bone in bones]).reshape(-1, 3)
    R = _turn_bones(R_parent, R_body_bone, parent)
    p_world = over_frames(lambda p, turned: p + np.einsum("nkij,kj->nki", turned, p_body_bone[free]), p_free, R_free)
    labels, joints = _names(chain, human, names)
    known = [link.segment if of_person else None for link, of_person in zip(chain, human, strict=True)]
    axis = [np.full(3, np.nan) if bone.axis is None else bone.axis for bone in bones]
    offsets = _offsets(chain, bones, p_world[frame] if motion.frames else np.zeros((len(free), 3)), world, human)
    figure = Figure(
        names=labels,
        bodies=tuple(link.body for link in chain),
        joints=joints,
        parent=parent,
        kind=tuple(link.kind for link in chain),
        R_body_bone=R_body_bone,
        p_body_bone=p_body_bone,
        p_parent_bone=offsets,
        R_parent_bone_rest=_rest(chain, bones),
        tip=np.array([bone.tip for bone in bones]).reshape(-1, 3),
        axis=np.array(axis).reshape(-1, 3),
        up=up,
        human=any(human),
        time=motion.time,
        R_parent_bone=R,
        p_world_free=p_world,
        segment=motion.segment,
        timed=motion.timed,
        sources=motion.sources,
        findings=(*motion.findings, *findings),
        parts=tuple(one.part if one else "" for one in known),
        fit_id=skeleton.fit_id,
        sides=tuple(one.side if one else "" for one in known),
        first_axis=np.array([_find_first(link, bone) for link, bone in zip(chain, bones, strict=True)]).reshape(-1, 3),
        pitch=np.array([link.pitch for link in chain]),
    )
    if poses is not None or (motion.slide is not None and figure.pitch.any()):
        figure = replace(figure, travel=_measure_travel(figure, poses) + _follow_threads(figure, skeleton, motion))
    return name_rig(figure, RIGS[names]) if names in RIGS else figure


def _chain_links(
    skeleton: Skeleton, motion: Motion, frame: int, poses: Take | None, *, machines: bool
) -> tuple[list[Link], set[str]]:
    """The links with parents first, and the roots of people; with `poses` sliders that close a loop join them."""
    segments = find_segments(skeleton.bodies, skeleton.edges)
    links = _links(skeleton, motion, frame, segments, machines=machines)
    if poses is not None:
        links = _join_sliders(links, skeleton, poses)
    roots, people = _roots(links, segments)
    return reorder_links(links, roots, skeleton.bodies), people


def _turn_bones(R_parent: Floats, R_body_bone: Floats, parent: Ints) -> Floats:
    """(n, k, 3, 3) rotations of bones against their parent's bone, or the world, from those of bodies."""
    inside = parent >= 0
    back = np.swapaxes(R_body_bone[parent[inside]], -1, -2)

    def turn(part: Floats) -> Floats:
        R = part @ R_body_bone
        R[:, inside] = back @ R[:, inside]
        return np.asarray(R)

    return over_frames(turn, R_parent)


def _find_first(link: Link, bone: RestBone) -> Floats:
    """(3,) first axis of a universal joint in its bone at rest; NaN for others."""
    return np.full(3, np.nan) if link.first is None else bone.R_body_bone.T @ link.R_near.T @ link.first


def _join_sliders(raw: Sequence[Link], skeleton: Skeleton, poses: Take) -> list[Link]:
    """The links with every tree that slides on a larger one as a part of it.

    A slider that closes a loop takes the place of a joint of that loop, see `mechanism.list_loops`.
    """
    for joint in skeleton.loops:
        if joint.kind != "slider" or joint.axis_child is None or joint.axis_parent is None:
            continue
        if not poses.seen[:, [poses.index(joint.child), poses.index(joint.parent)]].all(axis=1).any():
            continue  # nothing tells how one stands on the other
        raw = _open_loop(raw, joint, skeleton.bodies)
        top = _find_tops(raw)
        number = {link.body: k for k, link in enumerate(raw)}
        tops = {body: top[number[body]] for body in (joint.child, joint.parent)}
        if tops[joint.child] == tops[joint.parent]:  # parts that are rigid to each other slide on one rail
            continue
        outer, inner = sorted(tops, key=lambda body: (top.count(tops[body]), body != joint.child))
        roots = [number[outer] if k == tops[outer] else k for k, link in enumerate(raw) if link.parent < 0]
        raw = reorder_links(raw, roots, skeleton.bodies)
        number = {link.body: k for k, link in enumerate(raw)}
        R = poses.R_world_body
        usual = rotation.mean(np.swapaxes(R[:, poses.index(inner)], -1, -2) @ R[:, poses.index(outer)])
        ends = (joint.p_child_joint, joint.p_parent_joint, joint.axis_child)
        if outer == joint.parent:
            ends = (joint.p_parent_joint, joint.p_child_joint, -joint.axis_parent)
        slider = Link(outer, number[inner], "slider", *ends, usual, usual, raw[number[outer]].segment)
        raw = [slider if link.body == outer else link for link in raw]
        raw = reorder_links(raw, [k for k, link in enumerate(raw) if link.parent < 0], skeleton.bodies)
    return list(raw)


def _open_loop(raw: Sequence[Link], joint: Joint, order: Sequence[str]) -> list[Link]:
    """The links without one that turns between the two bodies of a joint, so that they are in two trees."""
    number = {link.body: k for k, link in enumerate(raw)}
    ways = []
    for body in (joint.child, joint.parent):
        ways.append({number[body]})
        while (up := raw[min(ways[-1])].parent) >= 0:  # parents come first
            ways[-1].add(up)
    turning = [k for k in ways[0] ^ ways[1] if raw[k].parent >= 0 and raw[k].kind not in ("rigid", "slider")]
    if not turning or _find_tops(raw)[number[joint.child]] != _find_tops(raw)[number[joint.parent]]:
        return list(raw)
    cut = max(turning)
    parted = [replace(link, parent=-1, kind="free", axis=None) if k == cut else link for k, link in enumerate(raw)]
    return reorder_links(parted, [k for k, link in enumerate(parted) if link.parent < 0], order)


def _find_tops(links: Sequence[Link]) -> list[int]:
    """The free body that each link hangs on."""
    top = list(range(len(links)))
    for k, link in enumerate(links):
        top[k] = k if link.parent < 0 else top[link.parent]
    return top


def _follow_threads(figure: Figure, skeleton: Skeleton, motion: Motion) -> Floats:
    """(n, b) [m] of screws along their axes, as the bones have these; zero for others."""
    travel = np.zeros((figure.frames, len(figure.names)))
    above = {k: figure.bodies[up] for k, up in enumerate(figure.parent.tolist()) if up >= 0}
    if motion.slide is None:
        return travel
    for screw in list_screws(skeleton):
        ends = (screw.joint.child, screw.joint.parent)
        k = next(k for k, body in above.items() if {body, figure.bodies[k]} == set(ends))
        # Seen from its other side a screw goes the other way along the same axis.
        own = screw.axis_child if figure.bodies[k] == ends[0] else -screw.axis_parent
        travel[:, k] = motion.slide[:, screw.child] * np.sign(figure.R_body_bone[k] @ figure.axis[k] @ own)
    return travel


def _measure_travel(figure: Figure, poses: Take | None) -> Floats:
    """(n, b) [m] of sliders along their axes; NaN where a body is not seen."""
    travel = np.zeros((figure.frames, len(figure.names)))
    if poses is None:
        return travel

    def place(k: int) -> tuple[Floats, Floats]:
        body = poses.index(figure.bodies[k])
        R = poses.R_world_body[:, body]
        return R @ figure.R_body_bone[k], poses.p_world_body[:, body] + R @ figure.p_body_bone[k]

    for k, kind in enumerate(figure.kind):
        if kind == "slider":
            (R, p), (_, own) = place(int(figure.parent[k])), place(k)
            apart = (np.swapaxes(R, -1, -2) @ (own - p)[..., None])[..., 0] - figure.p_parent_bone[k]
            travel[:, k] = apart @ (figure.R_parent_bone_rest[k] @ figure.axis[k])
    return travel


def _links(
    skeleton: Skeleton, motion: Motion, frame: int, segments: Mapping[str, Segment], *, machines: bool
) -> list[Link]:
    """Every body as the skeleton has it: free bodies first, then parents before children.

    frame  that of the motion which is nearest to all means
    """
    mean = reference_rotations(skeleton, motion)
    place = {name: k for k, name in enumerate(motion.free)}
    eye, zero = np.eye(3), np.zeros(3)
    found = [Link(name, -1, "free", zero, zero, None, eye, eye, segments.get(name)) for name in motion.free]
    for child, parent, joint in order_joints(skeleton):
        kind: BoneKind = "hinge" if joint.kind in ONE_AXIS else "rigid" if joint.kind == "rigid" else "ball"
        if kind == "hinge" and joint.axis_child is None:
            kind = "ball"
        if machines and joint.kind == "universal" and joint.child not in segments:
            kind = "universal"
        near = motion.R_parent_body[frame, child] if motion.frames else mean[child]
        place[joint.child] = len(found)
        found.append(
            Link(
                joint.child,
                place[skeleton.bodies[parent]],
                kind,
                joint.p_child_joint,
                joint.p_parent_joint,
                joint.axis_child if kind in ("hinge", "universal") else None,
                mean[child],
                near if np.isfinite(near).all() else mean[child],
                segments.get(joint.child),
                joint.axis_parent if kind == "universal" else None,
                (joint.pitch or 0.0) / (2 * np.pi) if machines and kind == "hinge" else 0.0,
            )
        )
    return found


def _nearest_frame(motion: Motion) -> int:
    """The frame nearest to the mean of every joint's rotation, among those in which most is known."""
    if not motion.frames:
        return 0
    count = motion.known.sum(axis=1)
    inside = [k for k, name in enumerate(motion.bodies) if name not in motion.free]
    R = over_frames(lambda part: part[:, inside], motion.R_parent_body)
    mean = rotation.mean(R)
    off = over_frames(lambda part: np.nansum((part - mean) ** 2, axis=(1, 2, 3)), R)
    return int(np.argmin(np.where(count == count.max(), off, np.inf)))


def _roots(raw: Sequence[Link], segments: Mapping[str, Segment]) -> tuple[list[int], set[str]]:
    """The free body of every tree, a person's being the pelvis or the chest; and the roots of people."""
    near: dict[str, list[str]] = {link.body: [] for link in raw}
    top = _find_tops(raw)
    for link in raw:
        if link.parent >= 0:
            near[link.body].append(raw[link.parent].body)
            near[raw[link.parent].body].append(link.body)
    number = {link.body: k for k, link in enumerate(raw)}
    roots, people = [], set()
    for root in [k for k, link in enumerate(raw) if link.parent < 0]:
        tree = [raw[k].body for k in range(len(raw)) if top[k] == root]
        trunk = trunk_of(tree, segments, near)
        if trunk is not None and sum(body in segments for body in tree) >= PERSON_MIN_SEGMENTS:
            people.add(trunk)
            roots.append(number[trunk])
        else:
            roots.append(root)
    return roots, people


def _motion(skeleton: Skeleton, motion: Motion, chain: Sequence[Link]) -> tuple[Floats, Floats, Floats]:
    """R of every link's body in its new parent (n, b, 3, 3), and pose (n, k, 3, 3), (n, k, 3) of the free bodies."""
    column = {name: k for k, name in enumerate(motion.bodies)}
    old = skeleton.parent
    free = [link.body for link in chain if link.parent < 0]
    if set(free) == set(motion.free):
        rows = [motion.free.index(name) for name in free]
        R_free, p_free = motion.R_parent_body[:, [column[name] for name in free]], motion.p_world_free[:, rows]
    else:
        poses = forward(skeleton, motion).select(free)
        R_free, p_free = poses.R_world_body, poses.p_world_body
    R = np.empty((motion.frames, len(chain), 3, 3))
    R[:, [k for k, link in enumerate(chain) if link.parent < 0]] = R_free
    for k, link in enumerate(chain):
        if link.parent >= 0:
            up = chain[link.parent].body
            if link.kind == "slider":
                R[:, k] = link.R_mean
            elif old[link.body] == up:
                R[:, k] = motion.R_parent_body[:, column[link.body]]
            else:
                R[:, k] = np.swapaxes(motion.R_parent_body[:, column[up]], -1, -2)
    return R, R_free, p_free


def _with_places(chain: Sequence[Link], R_free: Floats, frame: int) -> list[Link]:
    """The links with the free bodies' axes in the room, as the frame has them, or usually, or anyhow."""
    places = iter(np.moveaxis(R_free, 1, 0))
    result = []
    for link in chain:
        if link.parent < 0:
            R = next(places)
            near = R[frame] if len(R) else np.eye(3)
            if not np.isfinite(near).all():
                near = rotation.mean(R)
            near = near if np.isfinite(near).all() else np.eye(3)
            link = replace(link, R_near=near, R_mean=near)
        result.append(link)
    return result


def _whose(chain: Sequence[Link], people: set[str]) -> list[bool]:
    """Whether each link is part of a person."""
    human: list[bool] = []
    for link in chain:
        human.append(link.body in people if link.parent < 0 else human[link.parent])
    return human


def _up(chain: Sequence[Link], human: Sequence[bool], R_free: Floats, given: str | None) -> tuple[str, list[Finding]]:
    """The axis that points up: as given, as the trunk of a person points on average, else z."""
    if given is not None:
        find_world_turn(given, given)  # raises with the choices
        return given, []
    free = [k for k, link in enumerate(chain) if link.parent < 0]
    for column, k in enumerate(free):
        if human[k]:
            world = Room(find_axis("z"), find_axis("-y"))
            bone = build_bones(chain, world, human)[k]
            R = R_free[:, column]
            R = R[np.isfinite(R).all(axis=(-2, -1))]
            mean = (R @ bone.R_body_bone[:, 1]).mean(axis=0) if len(R) else np.zeros(3)
            axis = "xyz"[int(np.argmax(np.abs(mean)))]
            cosine = float(np.abs(mean).max() / max(float(np.linalg.norm(mean)), 1e-12))
            if cosine > UP_MIN_COSINE and float(np.linalg.norm(mean)) > 0.5:
                axis = axis if mean["xyz".index(axis)] > 0 else f"-{axis}"
                text = f"the recording does not say which axis points up; the figure's trunk points along {axis}"
                return axis, [Finding("up-assumed", "info", text)]
    text = "the recording does not say which axis points up, and the figure does not tell; z was taken: give --up"
    return "z", [Finding("up-assumed", "warning", text)]


def _names(chain: Sequence[Link], human: Sequence[bool], names: Names) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Unique names of bones and of joints."""
    bones, joints = [], []
    person = 0
    for k, link in enumerate(chain):
        if link.parent < 0 and human[k]:
            person += 1
        before = f"p{person}_" if person > 1 and human[k] else ""
        plain = re.sub(r"\s+", "_", link.body.strip())
        segment = link.segment if names != "bodies" and human[k] else None
        if segment is None:
            bones.append(plain if names == "bodies" else before + plain)
            joints.append(f"{bones[-1]}_joint")
            continue
        side = f"_{segment.side}" if segment.side else ""
        bones.append(before + BONE_NAMES.get(segment.part, segment.part) + side)
        joints.append(before + JOINT_NAMES.get(segment.part, segment.part) + side)
    labels = legalise(bones, NAME_LETTERS)
    joints = [
        f"{label}_free" if link.parent < 0 else joint for label, joint, link in zip(labels, joints, chain, strict=True)
    ]
    return labels, legalise(joints, NAME_LETTERS)


def _rest(chain: Sequence[Link], bones: Sequence[RestBone]) -> Floats:
    rest = [
        bone.R_world_rest if link.parent < 0 else bones[link.parent].R_world_rest.T @ bone.R_world_rest
        for link, bone in zip(chain, bones, strict=True)
    ]
    return np.array(rest).reshape(-1, 3, 3)


def _offsets(
    chain: Sequence[Link], bones: Sequence[RestBone], places: Floats, world: Room, human: Sequence[bool]
) -> Floats:
    """(b, 3) [m] of joints in the parents' bones; of free bones their place in the rest pose.

    People with legs stand on the floor, height zero; others are as high as in the frame that the rest pose is from.
    Together the free bones are over the origin, as far apart as in that frame.
    """
    offsets = np.zeros((len(chain), 3))
    for k, link in enumerate(chain):
        if link.parent >= 0:
            up = bones[link.parent]
            offsets[k] = up.R_body_bone.T @ (link.p_parent - up.p_body_bone)
    middle = np.nanmean(places, axis=0) if np.isfinite(places).any(axis=0).all() else np.zeros(3)
    middle = middle - world.up * (world.up @ middle)
    free = [k for k, link in enumerate(chain) if link.parent < 0]
    lowest, standing = dict.fromkeys(free, 0.0), dict.fromkeys(free, False)
    top = _find_tops(chain)
    at: dict[int, Floats] = {}
    for k, link in enumerate(chain):
        at[k] = offsets[k] if link.parent < 0 else at[link.parent] + bones[link.parent].R_world_rest @ offsets[k]
        ends = (at[k], at[k] + bones[k].R_world_rest @ bones[k].tip)
        standing[top[k]] |= human[k] and link.segment is not None and link.segment.part == "shank"
        lowest[top[k]] = min(lowest[top[k]], *(float(world.up @ end) for end in ends))
    for k, place in zip(free, places, strict=True):
        stand = place - middle if np.isfinite(place).all() else np.zeros(3)
        if standing[k]:
            stand = stand - world.up * (world.up @ stand + lowest[k])
        offsets[k] = stand
    return offsets
