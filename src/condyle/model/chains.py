"""Chains of axes in a skeleton: which joints follow each other from a base to a tool, and their tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..errors import CondyleError, UsageError, check_number, suggest
from ..maths import rotation
from ..maths.arrays import Floats
from ..maths.series import follow_turns
from .axes import Axis, AxisChain, AxisKind, Recorded, invert, tabulate
from .limbs import find_covariance, find_sides
from .motion import match_bodies
from .skeleton import ONE_AXIS, TURNING, Joint, Skeleton
from .take import Take

CHAIN_MAX_FRAMES = 20_000  # frames at most that tables are made from
STILL_SHARE = 0.02  # rms motion of a base over that of its tool, below which it stands still


def find_chains(
    skeleton: Skeleton,
    take: Take,
    *,
    base: str | None = None,
    tool: str | None = None,
    zero: float | None = None,
    flip: Collection[str] = (),
) -> tuple[AxisChain, ...]:
    """The chains of axes of a skeleton, the longest first; one for every end of a mechanism, from its base on.

    base   body to begin with; by default the end that moves least in the room
    tool   body to end with; by default every other end
    zero   [s] time of the frame in which every joint is at its zero; by default the frame nearest to the mean pose
    flip   joints whose axis is to point the other way; by default the first turn of the recording is positive
    """
    _check_names(skeleton, base, tool, flip)
    take, _ = match_bodies(skeleton, take).thin(CHAIN_MAX_FRAMES)
    near = _find_neighbours(skeleton)
    paths: list[tuple[str, list[Joint]]] = []
    for group in _find_groups(near):
        ends = [name for name in group if len(near[name]) == 1]
        start = base if base in group else min(ends, key=lambda name: _measure_travel(take, name))
        stops = [tool] if tool in group else [name for name in ends if name != start]
        if (base is not None and base not in group) or (tool is not None and tool not in group):
            continue
        paths += [(start, path) for stop in stops if stop is not None and (path := _find_path(near, start, stop))]
    paths = [(start, path) for start, path in paths if any(joint.kind in TURNING for joint in path)]
    if not paths:
        raise _describe_none(skeleton, base, tool)
    noise = {one.body: one.orientation for one in skeleton.noise}
    chains = [_make_chain(take, path, start, zero, flip, noise) for start, path in paths]
    return tuple(sorted(chains, key=lambda chain: -len(chain.rows)))


def has_chains(skeleton: Skeleton) -> bool:
    """Whether two axes of a skeleton follow each other."""
    joints = [joint for joint in skeleton.joints if joint.kind in TURNING]
    ends = [name for joint in joints for name in (joint.child, joint.parent)]
    return len(ends) > len(set(ends))


def _check_names(skeleton: Skeleton, base: str | None, tool: str | None, flip: Collection[str]) -> None:
    for what, name in (("base", base), ("tool", tool)):
        if name is not None and name not in skeleton.bodies:
            near = suggest(name, skeleton.bodies)
            raise UsageError(f"no body named '{name}' for the {what}; {near}", code="unknown-body")
    if base is not None and base == tool:
        raise UsageError(f"base and tool are both '{base}'; name two bodies", code="bad-option")
    for name in flip:
        joint = skeleton.joint(name)
        if joint.kind not in TURNING:
            raise UsageError(f"joint '{name}' is a {joint.kind} joint and has no axis to flip", code="bad-option")


def _describe_none(skeleton: Skeleton, base: str | None, tool: str | None) -> CondyleError:
    kinds = [joint.kind for joint in skeleton.joints]
    if any(kind in TURNING for kind in kinds):
        ends = " and ".join(name for name in (base, tool) if name is not None)
        turning = ", ".join(joint.child for joint in skeleton.joints if joint.kind in TURNING)
        return UsageError(f"no axis lies on a chain of hinges with {ends}; the hinges are {turning}", code="bad-option")
    found = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)) or "none"
    return CondyleError(
        f"no joint turns about one axis (joints: {found}), so that there is no table of axes", code="no-axes"
    )


def _find_neighbours(skeleton: Skeleton) -> dict[str, list[tuple[str, Joint]]]:
    """{body: (body, joint)} along joints with axes and rigid ones, and sliders beside the tree that close no loop."""
    near: dict[str, list[tuple[str, Joint]]] = {}
    for joint in (*skeleton.joints, *(joint for joint in skeleton.loops if joint.kind == "slider")):
        joined = joint.child in near and joint.parent in near and _find_path(near, joint.child, joint.parent)
        if joint.kind in (*TURNING, "rigid") and not joined:
            near.setdefault(joint.child, []).append((joint.parent, joint))
            near.setdefault(joint.parent, []).append((joint.child, joint))
    return near


def _find_groups(near: dict[str, list[tuple[str, Joint]]]) -> list[list[str]]:
    left, groups = dict.fromkeys(near), []
    while left:
        group = [next(iter(left))]
        for name in group:
            left.pop(name, None)
            group += [other for other, _ in near[name] if other in left and other not in group]
        groups.append(group)
    return groups


def _find_path(near: dict[str, list[tuple[str, Joint]]], start: str, stop: str) -> list[Joint]:
    """The joints from one body to another."""
    front: list[tuple[str, list[Joint]]] = [(start, [])]
    for name, path in front:
        if name == stop:
            return path
        front += [(other, [*path, joint]) for other, joint in near[name] if not path or joint is not path[-1]]
    return []


def _measure_travel(take: Take, name: str) -> float:
    """[m] rms distance of a body from its mean place."""
    p = take.p_world_body[:, take.index(name)]
    p = p[np.isfinite(p).all(axis=1)]
    return float(np.sqrt(np.square(p - p.mean(axis=0)).sum(axis=1).mean())) if len(p) else np.inf


def _make_chain(
    take: Take, path: Sequence[Joint], first: str, zero: float | None, flip: Collection[str], noise: dict[str, float]
) -> AxisChain:
    """The tables along a path of joints from its first body on."""
    bodies = [first]
    for joint in path:
        bodies.append(joint.child if joint.parent == bodies[-1] else joint.parent)
    turns = [_relative(take, a, b) for a, b in pairwise(bodies)]
    mean = [_find_mean(turn, joint, outer) for turn, joint, outer in zip(turns, path, bodies[1:], strict=True)]
    row = _find_zero(take, turns, mean, zero)
    axes: list[Axis] = []
    angles: list[Floats] = []
    T_held, link = np.eye(4), first  # the body before an axis in the last one that turns: rigid joints lie between
    for turn, joint, outer, usual in zip(turns, path, bodies[1:], mean, strict=True):
        if joint.kind == "rigid":
            p_in, p_out = find_sides(joint, outer, "p_{}_joint")
            T_held = T_held @ _pose(usual, p_in - usual @ p_out)
            continue
        sd = float(np.hypot(noise.get(joint.child, 0.0), noise.get(joint.parent, 0.0)))
        flipped = -1.0 if joint.child in flip else 1.0
        for axis, coordinate in _split_joint(take, joint, link, outer, turn, usual, row):
            sign = _find_sign(coordinate) * flipped
            axes.append(_orient(replace(axis, zero_sd=sd), T_held, sign))
            angles.append(sign * coordinate)
            T_held, link = np.eye(4), outer
    poses = [_poses(take, name) for name in (first, bodies[-1])]
    still = _measure_travel(take, first) <= STILL_SHARE * _measure_travel(take, bodies[-1])
    return tabulate(
        axes,
        Recorded(
            bodies[-1],
            take.time,
            np.stack(angles, axis=1),
            row,
            invert(poses[0]) @ poses[1],
            T_held,
            _mean_pose(poses[0]) if still else None,
        ),
    )


def _split_joint(
    take: Take, joint: Joint, inner: str, outer: str, turn: Floats, usual: Floats, row: int
) -> list[tuple[Axis, Floats]]:
    """The axes of a joint, one or two, with their coordinates (n,) [rad, m] from the zero, frame `row`."""
    (p_in, p_out), (z_in, z_out) = find_sides(joint, outer, "p_{}_joint"), find_sides(joint, outer, "axis_{}")
    if joint.kind == "universal":
        return _split_universal(take, joint, inner, outer, turn, row)
    covariance = find_covariance(joint, outer)
    if joint.kind == "slider":
        place = [_poses(take, name) for name in (joint.parent, joint.child)]
        apart = (invert(place[0]) @ place[1])[:, :3, 3] - joint.p_parent_joint
        along = apart @ np.asarray(joint.axis_parent)
        p_in = p_in + z_in * (along[row] if joint.child == outer else -along[row])
        along = (along - along[row]) * (1.0 if joint.child == outer else -1.0)
        return [(Axis(joint.child, inner, outer, p_in, z_in, p_out, z_out, usual, covariance, kind="slider"), along)]
    angle = rotation.find_turn(z_out, usual.T @ turn)
    start = usual @ rotation.from_vector(angle[row] * z_out)
    whole, pitch = _unwrap(take, angle - angle[row]), joint.pitch or 0.0
    kind: AxisKind = "screw" if joint.kind == "screw" else "hinge"
    if pitch:
        apart = (invert(_poses(take, inner)) @ _poses(take, outer) @ np.append(p_out, 1.0))[:, :3] - p_in
        along = apart @ z_in
        whole = np.where(np.isfinite(angle), follow_turns(angle, along * 2 * np.pi / pitch, take.segment), np.nan)
        p_in = p_in + z_in * pitch / (2 * np.pi) * whole[row]
        whole = whole - whole[row]
    one = Axis(joint.child, inner, outer, p_in, z_in, p_out, z_out, start, covariance, kind=kind, pitch=pitch)
    return [(one, whole)]


def _split_universal(
    take: Take, joint: Joint, inner: str, outer: str, turn: Floats, row: int
) -> list[tuple[Axis, Floats]]:
    """A universal joint as two hinges that meet; the body between them has the frame of the inner one at the zero."""
    (p_in, p_out), (z_in, z_out) = find_sides(joint, outer, "p_{}_joint"), find_sides(joint, outer, "axis_{}")
    across = turn @ z_out
    start = _set_angle(turn[row], z_in, z_out, float(np.nanmean(across @ z_in)))
    across = across - (across @ z_in)[:, None] * z_in
    first = np.arctan2(np.cross(across[row], across) @ z_in, across @ across[row])
    back = np.swapaxes(rotation.from_vector(first[:, None] * z_in), -1, -2)
    second = rotation.find_turn(z_out, start.T @ back @ turn)
    cross, covariance = f"{joint.child} cross", find_covariance(joint, outer)
    sure: list[Floats | None] = [None, None]
    if covariance is not None:  # the cross has the point and the first axis of the inner body: they are known there
        sure = [np.zeros((12, 12)), np.zeros((12, 12))]
        sure[0][:6, :6], sure[1][6:, 6:] = covariance[:6, :6], covariance[6:, 6:]  # type: ignore[index]
    axes = (
        Axis(joint.child, inner, cross, p_in, z_in, p_in, z_in, np.eye(3), sure[0]),
        Axis(joint.child, cross, outer, p_in, start @ z_out, p_out, z_out, start, sure[1]),
    )
    return [(axis, _unwrap(take, angle - angle[row])) for axis, angle in zip(axes, (first, second), strict=True)]


def _set_angle(R: Floats, z_in: Floats, z_out: Floats, cosine: float) -> Floats:
    """(3, 3) nearest to R with this cosine between z_in and R z_out, which a single frame tells with its noise."""
    now = R @ z_out
    normal = np.cross(z_in, now)
    size = float(np.linalg.norm(normal))
    step = float(np.arccos(np.clip(cosine, -1, 1)) - np.arctan2(size, z_in @ now))
    return np.asarray(rotation.from_vector(normal / size * step) @ R)


def _orient(axis: Axis, T_held: Floats, sign: float) -> Axis:
    """The axis with its inner side seen from the body before a rigid joint, pointing as the sign says."""
    G = T_held[:3, :3]
    return replace(
        axis,
        p_inner=G @ axis.p_inner + T_held[:3, 3],
        z_inner=sign * (G @ axis.z_inner),
        z_outer=sign * axis.z_outer,
        R_inner_outer=G @ axis.R_inner_outer,
        covariance=_turn(axis.covariance, G),
    )


def _turn(covariance: Floats | None, G: Floats) -> Floats | None:
    """That of an axis with its inner half turned by G."""
    turn = np.eye(12)
    turn[:3, :3] = turn[3:6, 3:6] = G
    return None if covariance is None else turn @ covariance @ turn.T


def _relative(take: Take, inner: str, outer: str) -> Floats:
    R = take.R_world_body
    return np.asarray(np.swapaxes(R[:, take.index(inner)], -1, -2) @ R[:, take.index(outer)])


def _find_mean(turn: Floats, joint: Joint, outer: str) -> Floats:
    """(3, 3) the rotation nearest to all of a joint; a hinge's carries its axis outside onto that inside."""
    total = np.nansum(turn, axis=0)
    if joint.kind not in ONE_AXIS:
        return rotation.project(total)
    z_in, z_out = find_sides(joint, outer, "axis_{}")
    onto = rotation.find_shortest_arc(z_out, z_in)
    return onto @ rotation.from_vector(rotation.find_turn(z_out, onto.T @ total) * z_out)


def _find_zero(take: Take, turns: Sequence[Floats], mean: Sequence[Floats], zero: float | None) -> int:
    """The frame in which all joints are at zero; raises where no frame has all bodies."""
    known = np.isfinite(np.stack([turn.sum(axis=(1, 2)) for turn in turns])).all(axis=0)
    if not known.any():
        raise CondyleError("no frame has all bodies of the chain", code="no-data")
    if zero is None:
        off = sum(np.square(turn - usual).sum(axis=(1, 2)) for turn, usual in zip(turns, mean, strict=True))
        return int(np.nanargmin(np.where(known, off, np.nan)))
    first, last = float(take.time[0]), float(take.time[-1])
    if not first <= check_number(zero, "the zero") <= last:
        raise UsageError(f"no frame at {zero:g} s; the take is from {first:g} to {last:g} s", code="bad-option")
    return int(np.argmin(np.where(known, np.abs(take.time - zero), np.inf)))


def _unwrap(take: Take, angle: Floats) -> Floats:
    """Angles that go on where they pass half a turn, within each segment."""
    out = np.array(angle)
    for number in np.unique(take.segment):
        rows = np.flatnonzero((take.segment == number) & np.isfinite(angle))
        if len(rows):
            whole = np.unwrap(angle[rows])
            middle = whole[np.argmin(np.abs(angle[rows]))] - angle[rows][np.argmin(np.abs(angle[rows]))]
            out[rows] = whole - middle
    return out


def _find_sign(angle: Floats) -> float:
    """1 where the first turn of some size is positive."""
    known = angle[np.isfinite(angle)]
    away = known - known[0]
    large = np.flatnonzero(np.abs(away) > 0.5 * np.abs(away).max())
    return -1.0 if len(large) and away[large[0]] < 0 else 1.0


def _poses(take: Take, name: str) -> Floats:
    k = take.index(name)
    T = np.zeros((take.frames, 4, 4))
    T[:, :3, :3], T[:, :3, 3], T[:, 3, 3] = take.R_world_body[:, k], take.p_world_body[:, k], 1.0
    return T


def _mean_pose(T: Floats) -> Floats:
    known = T[np.isfinite(T).all(axis=(1, 2))]
    return _pose(rotation.project(known[:, :3, :3].sum(axis=0)), known[:, :3, 3].mean(axis=0))


def _pose(R: Floats, p: Floats) -> Floats:
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T
