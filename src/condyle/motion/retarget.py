"""The motion on a figure of other size: the same rotations, other limb lengths, the feet still on the floor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..errors import UsageError, check_number, suggest
from ..findings import Finding, sort_findings
from ..io.exports.build_figure import build_figure
from ..io.exports.figure import find_axis
from ..maths.arrays import Floats
from ..maths.threads import keep_arithmetic
from ..model.motion import Motion, check_motion, forward, free_bodies, order_joints
from ..model.skeleton import Joint, Limb, Placement, Skeleton
from ..model.take import Take

BELOW_FLOOR_SHARE = 0.01  # share of the frames whose lowest point may be below the floor: a stray sample is no floor

FACTORS = (1e-3, 1e3)  # of lengths, least and largest: a mouse, a mountain

Lengths = float | Mapping[str, float] | Skeleton  # one factor, {body: factor}, or whose limb lengths are taken


@keep_arithmetic()
def retarget_motion(skeleton: Skeleton, motion: Motion, factors: Lengths) -> tuple[Skeleton, Motion]:
    """The skeleton with other limb lengths, and the motion on it.

    factors: one for all, {body: factor} (others 1), or a skeleton with bodies of the same names, of which only the limb
    lengths are used. Every body grows about its joint to its parent, the place of its sensor with it; rotations stay.
    Where the world's up is known, or a person's trunk tells it, each figure's path is scaled by the length of its legs,
    about where it starts and the floor, and its lowest point stays on the floor. Else its root goes where it went, with
    a finding. Loose bodies stay.
    """
    check_motion(skeleton, motion)
    table = _list_factors(skeleton, factors)
    grown = _grow(skeleton, table)
    up, told = _up(skeleton, motion)
    path = motion.p_world_free if up is None else _path(skeleton, grown, motion, find_axis(up))
    grown = replace(grown, findings=sort_findings([*grown.findings, *told]))
    return grown, replace(motion, p_world_free=path, findings=(*motion.findings, *told))


def _list_factors(skeleton: Skeleton, factors: Lengths) -> dict[str, float]:
    """{body: factor} for every body."""
    if isinstance(factors, Skeleton):
        return _match_lengths(skeleton, factors)
    if isinstance(factors, Mapping):
        for name in factors:
            if name not in skeleton.bodies:
                raise UsageError(f"no body named '{name}'; {suggest(name, skeleton.bodies)}", code="unknown-body")
        table = {body: check_number(factors.get(body, 1.0), f"the factor of '{body}'") for body in skeleton.bodies}
    else:
        table = dict.fromkeys(skeleton.bodies, check_number(factors, "a factor"))
    for name, factor in table.items():
        if not factor > 0:
            raise UsageError(f"the factor {factor:g} of '{name}' is not above zero", code="bad-call")
        if not FACTORS[0] <= factor <= FACTORS[1]:
            text = f"the factor {factor:g} of '{name}' is not between {FACTORS[0]:g} and {FACTORS[1]:g}"
            raise UsageError(text, code="bad-call")
    return table


def _match_lengths(skeleton: Skeleton, other: Skeleton) -> dict[str, float]:
    """Factors that give each body the limb lengths of another skeleton; a body without any takes its parent's."""
    missing = [body for body in skeleton.bodies if body not in other.bodies]
    if missing:
        raise UsageError(
            f"the other skeleton has no body named '{missing[0]}'; {suggest(missing[0], other.bodies)}",
            code="bodies-differ",
        )
    theirs = {_key(limb): limb.length for limb in other.limbs if limb.length}
    sums: dict[str, list[float]] = {}
    for limb in skeleton.limbs:
        length = theirs.get(_key(limb))
        if limb.length and length:
            pair = sums.setdefault(limb.body, [0.0, 0.0])
            pair[0] += limb.length * length
            pair[1] += limb.length**2
    if not sums:
        raise UsageError("the two skeletons have no limb in common; fit both on the same tree", code="bodies-differ")
    table = {body: top / bottom for body, (top, bottom) in sums.items()}
    usual = float(np.median(list(table.values())))
    for body in free_bodies(skeleton):
        table.setdefault(body, usual if body in skeleton.roots else 1.0)
    for _, _, joint in order_joints(skeleton):
        table.setdefault(joint.child, table[joint.parent])
    return table


def _key(limb: Limb) -> tuple[str, frozenset[str]]:
    return limb.body, frozenset((limb.from_joint, limb.to_joint))


def _grow(skeleton: Skeleton, table: Mapping[str, float]) -> Skeleton:
    """Every length of a body times its factor. Loops close only where all grow alike; else they are left out."""

    def limb(one: Limb) -> Limb:
        f = table[one.body]
        length, low, high = (None if value is None else f * value for value in (one.length, one.low, one.high))
        return replace(one, length=length, low=low, high=high)

    def placement(one: Placement) -> Placement:
        f = table[one.body]
        low, high = (None if value is None else f * value for value in (one.low, one.high))
        return Placement(one.body, one.joint, f * one.p_body_joint, f * one.distance, low, high)

    alike = len(set(table.values())) == 1
    earlier: Mapping[str, float] = skeleton.options.get("retarget", {})
    return replace(
        skeleton,
        joints=tuple(_grow_joint(joint, table) for joint in skeleton.joints),
        limbs=tuple(limb(one) for one in skeleton.limbs),
        loops=tuple(_grow_joint(joint, table) for joint in skeleton.loops) if alike else (),
        sensors=tuple(placement(one) for one in skeleton.sensors),
        slips=(),
        options={**skeleton.options, "retarget": {body: f * earlier.get(body, 1.0) for body, f in table.items()}},
    )


def _grow_joint(joint: Joint, table: Mapping[str, float]) -> Joint:
    child, parent = table[joint.child], table[joint.parent]
    both = np.repeat([child, parent], 3)
    grown = replace(joint, p_child_joint=child * joint.p_child_joint, p_parent_joint=parent * joint.p_parent_joint)
    covariance = None if joint.covariance is None else joint.covariance * np.outer(both, both)
    return grown.with_covariance(covariance)


def _up(skeleton: Skeleton, motion: Motion) -> tuple[str | None, tuple[Finding, ...]]:
    """The world's axis that points up, as the recording says or as a person's trunk tells; else a finding."""
    if motion.up is not None or not skeleton.roots:
        return motion.up, ()
    figure = build_figure(skeleton, motion)
    assumed = tuple(finding for finding in figure.findings if finding.code == "up-assumed")
    if all(finding.severity == "info" for finding in assumed):  # a trunk told
        return figure.up, assumed
    text = "nothing tells which way is up, so the roots go where they went and feet may float; give --up to fit"
    return None, (Finding("path-not-scaled", "warning", text, skeleton.roots),)


def _path(skeleton: Skeleton, grown: Skeleton, motion: Motion, axis: Floats) -> Floats:
    """(n, k, 3) [m] where the free bodies of the grown figure go."""
    path, parent = motion.p_world_free.copy(), skeleton.parent
    top: dict[str, str] = {name: name for name in free_bodies(skeleton)}
    for _, _, joint in order_joints(skeleton):
        top[joint.child] = top[joint.parent]
    before = forward(skeleton, motion)
    for k, root in enumerate(motion.free):
        own = [body for body in skeleton.bodies if top[body] == root]
        known = np.isfinite(path[:, k]).all(axis=-1)
        if len(own) == 1 or not known.any():
            continue
        floor, lowest = _floor(skeleton, before, own, axis)
        ratio = _reach(grown, parent, root, lowest) / _reach(skeleton, parent, root, lowest)
        start = path[known, k][0]
        start = start + (floor - start @ axis) * axis  # where it begins, on the floor
        path[:, k] = start + ratio * (path[:, k] - start)
        after = forward(grown, replace(motion, p_world_free=path))
        path[:, k] += (floor - _floor(grown, after, own, axis)[0]) * axis
    return path


def _floor(skeleton: Skeleton, poses: Take, own: list[str], axis: Floats) -> tuple[float, str]:
    """Height [m] of the floor under a figure, by its lowest point frame by frame, and the body that is lowest most."""
    heights = np.stack([poses.p_world_body[:, poses.index(body)] @ axis for body in own])
    for _, _, joint in order_joints(skeleton):
        if joint.child in own:  # a joint may be lower than the sensors around it
            k = poses.index(joint.child)
            place = poses.p_world_body[:, k] + poses.R_world_body[:, k] @ joint.p_child_joint
            row = own.index(joint.child)
            heights[row] = np.fmin(heights[row], place @ axis)
    seen = np.isfinite(heights).any(axis=0)
    filled = np.where(np.isfinite(heights[:, seen]), heights[:, seen], np.inf)
    lowest = np.sort(filled.min(axis=0))
    body = int(np.bincount(filled.argmin(axis=0), minlength=len(own)).argmax())
    return float(lowest[int(BELOW_FLOOR_SHARE * len(lowest))]), own[body]


def _reach(skeleton: Skeleton, parent: Mapping[str, str | None], root: str, body: str) -> float:
    """Length [m] along the joints from a root's origin to the origin of a body."""
    joints = {joint.child: joint for joint in skeleton.joints}
    if body == root:  # the figure kneels, lies or flies: its size on the whole
        return sum(float(np.linalg.norm(joint.p_parent_joint)) for joint in skeleton.joints)
    length, at, here = 0.0, np.zeros(3), body
    while here != root:
        joint = joints[here]
        length += float(np.linalg.norm(joint.p_child_joint - at))
        at, here = joint.p_parent_joint, str(parent[here])
    return length + float(np.linalg.norm(at))
