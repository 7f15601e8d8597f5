"""The motion of a figure on a rig that is given: its bones turn as the figure's, its proportions stay its own.

A bone of the rig turns in the world as the bone of the figure that it is mapped to, counted from one pose: the figure's
rest pose, into which arms and legs of the rig are turned first. The path is scaled by the length of the legs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..errors import CondyleError, UsageError
from ..findings import Finding, list_some, many
from ..io.exports.figure import Figure, find_axis
from ..io.folder import check_name, stage_files
from ..io.rigs.rig_file import RigClip, RigFile
from ..maths import rotation
from ..maths.arrays import Floats
from ..maths.series import segment_slices
from ..model.take import UP_AXES
from ..model.values import dataclass
from .gait_events import find_standing
from .rig_map import find_crossed, map_bones
from .standing import (
    BonePoses,
    Foot,
    bend_leg,
    bend_toes,
    find_ankles,
    find_level,
    find_sole,
    level_foot,
    measure_slide,
    move_hips,
    trim_stands,
)

ALIGNED = ("upper_arm", "forearm", "thigh", "shank", "")  # parts whose rest direction in the rig may differ
ENDS = ("hand", "foot", "toe")  # parts that are turned with the limb they end
SHARED = ("spine", "chest", "neck", "head")  # parts towards which bones in between take their share of the turn
MAIN_CHILD_MAX_M = 0.05  # m from a bone's tip to the joint that it points at
SOLE_MAX_LEGS = 0.15  # of a leg's length that the soles of a mesh may be below the rig's lowest joint
SLIDING_MIN_M_S = 0.05  # m/s of standing soles, from which feet are not held; recorded walks have 0.0002 at most
ALL_IN_ONE_PLACE = "are in one place at rest: its bones have no offsets; export the rig in its rest pose"
FLOATING_SHARE = 0.01  # share of the frames whose lowest joint may be below the floor where no foot stands


@dataclass(frozen=True, eq=False)
class RigMotion:
    """A motion on a given rig.

    bones   {bone of the rig: body of the fit that moves it}
    scale   units of the rig's file per metre of the recording
    stands  {foot of the rig: stretches (first, stop) of frames in which it stands}
    slide_before, slide_after  [m/s] root mean square speed along the floor of the soles' lowest points while they
            stand, in metres of the recording: with the rotations alone, and as it is; None where no foot stands
    """

    rig: RigFile
    bones: Mapping[str, str]
    clips: tuple[RigClip, ...]
    scale: float
    stands: Mapping[str, tuple[tuple[int, int], ...]]
    slide_before: float | None
    slide_after: float | None
    findings: tuple[Finding, ...]
    fit_id: str | None = None

    def write(self, folder: str | Path, name: str | None = None) -> tuple[Path, ...]:
        """The rig's file with the motion in it, in a folder that is made if it is missing; all files appear or none."""
        stem, suffix = check_name(self.rig.path.stem if name is None else name), self.rig.path.suffix
        contents = self.rig.render(self.clips)
        names = [f"{stem}{suffix}" if k == 1 else f"{stem}-{k}{suffix}" for k in range(1, len(contents) + 1)]
        if any((Path(folder) / one).resolve() == self.rig.path.resolve() for one in names):
            raise UsageError(
                "would replace the rig itself; choose another folder or name", code="bad-call", path=folder
            )
        with stage_files(folder, self.fit_id) as stage:
            for one, content in zip(names, contents, strict=True):
                (stage.path / one).write_bytes(content)
        return tuple(Path(folder) / one for one in names)


def retarget_to_rig(figure: Figure, rig: RigFile, told: Mapping[str, str] | None = None) -> RigMotion:
    """The figure's motion on a rig; `told`: {bone of the rig: body of the fit} over what names tell."""
    bones = map_bones(figure, rig, told)
    if len({int(figure.root[k]) for k in bones.values()}) > 1:
        raise UsageError("the bodies that move the rig are of two figures; one rig takes one", code="bad-call")
    figure = figure.turn_up(_find_up(figure.turn_up("y"), rig, bones)).resample().fill_gaps()
    carrier = _Carrier(figure, rig, bones)
    poses = carrier.carry()
    feet = carrier.find_feet()
    findings = [*figure.findings, *_describe_bones(figure, rig, bones)]
    poses = carrier.put_on_floor(poses, feet)
    feet = trim_stands(poses, feet, carrier.leg)
    before = measure_slide(poses, feet)
    poses = carrier.stand(poses, feet)
    after = measure_slide(poses, feet)
    findings.append(_describe_feet(before, after, carrier.scale, feet))
    clips = tuple(
        RigClip(carrier.placed, poses.time[part], poses.R[part], poses.p[part])
        for part in segment_slices(poses.segment)
    )
    return RigMotion(
        rig,
        {rig.names[b]: figure.bodies[k] for b, k in bones.items()},
        clips,
        carrier.scale,
        {rig.names[foot.foot]: foot.stands for foot in feet},
        None if before is None else before / carrier.scale,
        None if after is None else after / carrier.scale,
        tuple(findings),
        figure.fit_id,
    )


def _find_up(figure: Figure, rig: RigFile, bones: Mapping[int, int]) -> str:
    """The axis of the rig's world that points up, with the figure's y up."""
    up = _turn_rest(figure, rig, bones).T @ find_axis("y")
    return max(UP_AXES, key=lambda axis: float(find_axis(axis) @ up))


def _turn_rest(figure: Figure, rig: RigFile, bones: Mapping[int, int]) -> Floats:
    """(3, 3) that turns the rig at rest as the figure stands at rest: the best for all joints that are mapped."""
    rows, columns = list(bones), list(bones.values())
    theirs = rig.p_rest[rows] - rig.p_rest[rows].mean(axis=0)
    own = figure.rest[1][columns] - figure.rest[1][columns].mean(axis=0)
    spread = np.linalg.svd(own.T @ theirs, compute_uv=False)
    if not spread[1] > 1e-6 * spread[0]:
        line = spread[0] > 0
        fault = "lie on one line at rest, which tells no facing; map more bones" if line else ALL_IN_ONE_PLACE
        raise CondyleError(f"the joints that are mapped {fault}", code="bad-map", path=rig.path)
    return rotation.project(own.T @ theirs)


class _Carrier:
    """What carries a figure's motion over to a rig.

    placed  the bone of the rig whose place is written: the uppermost that is mapped, or the root above it
    T       (b, 3, 3) turns in the world that bring each bone of the rig from its rest to the figure's
    toes    {bone: (n, 3, 3)} of toes that stay on the floor
    """

    def __init__(self, figure: Figure, rig: RigFile, bones: Mapping[int, int]) -> None:
        self.figure, self.rig, self.bones = figure, rig, dict(bones)
        self.up = find_axis(figure.up)
        self.parent = rig.parent.tolist()
        self.top = min(self.bones, key=lambda b: (len(self._list_above(b)), b))
        plain = figure.parts[self.bones[self.top]] in ("pelvis", "") and rig.placeable[self.top]
        self.placed = self.top if plain else self._list_above(self.top)[-1]
        if not rig.placeable[self.placed]:
            raise CondyleError(
                f"its root '{rig.names[self.placed]}' has no channels Xposition, Yposition and Zposition, so that it "
                "stays in one place; give it these, or export the rig again with them",
                code="bad-header",
                path=rig.path,
            )
        self.above = {b: self._find_mapped_above(b) for b in range(len(self.parent))}
        self.moving = [b for b in range(len(self.parent)) if self.placed in self._list_above(b)]
        self.T = self._align()
        self.scale = self._find_scale()
        self.toes: dict[int, Floats] = {}

    def _list_above(self, bone: int) -> list[int]:
        """A bone and all that it hangs on, up to its root."""
        found = [bone]
        while self.parent[found[-1]] >= 0:
            found.append(self.parent[found[-1]])
        return found

    def _find_mapped_above(self, bone: int) -> int:
        """The nearest mapped bone that a bone hangs on, -1 without one."""
        return next((b for b in self._list_above(bone)[1:] if b in self.bones), -1)

    def _align(self) -> Floats:
        whole = _turn_rest(self.figure, self.rig, self.bones)
        T = np.tile(whole, (len(self.parent), 1, 1))
        R_own, p_own = self.figure.rest
        for b, k in self.bones.items():
            up, part = self.above[b], self.figure.parts[k]
            if up >= 0 and part in (*ALIGNED, *ENDS):
                T[b] = T[up]
            if part not in ALIGNED:
                continue
            tip = p_own[k] + R_own[k] @ self.figure.tip[k]
            below = [c for c in self.bones if self.above[c] == b]
            near = min(below, key=lambda c: float(np.linalg.norm(p_own[self.bones[c]] - tip)), default=None)
            if near is None or np.linalg.norm(p_own[self.bones[near]] - tip) > MAIN_CHILD_MAX_M:
                continue
            theirs, wanted = self.rig.p_rest[near] - self.rig.p_rest[b], p_own[self.bones[near]] - p_own[k]
            if np.linalg.norm(theirs) > 0 and np.linalg.norm(wanted) > 0:
                turned = T[b] @ theirs / np.linalg.norm(theirs)
                T[b] = rotation.find_shortest_arc(turned, wanted / np.linalg.norm(wanted), T[b] @ self.up) @ T[b]
        return T

    def _find_scale(self) -> float:
        """Units of the rig per metre: by the legs, else by all that is mapped."""
        theirs, own = 0.0, 0.0
        legs = [b for b, k in self.bones.items() if self.figure.parts[k] in ("shank", "foot") and self.above[b] >= 0]
        for b in legs or [b for b in self.bones if self.above[b] >= 0]:
            theirs += float(np.linalg.norm(self.rig.p_rest[b] - self.rig.p_rest[self.above[b]]))
            k, up = self.bones[b], self.bones[self.above[b]]
            own += float(np.linalg.norm(self.figure.rest[1][k] - self.figure.rest[1][up]))
        if not (theirs > 0 and own > 0):
            raise CondyleError("the mapped bones of the rig have no length", code="bad-map", path=self.rig.path)
        return theirs / own

    def carry(self) -> BonePoses:
        """The rig with the figure's rotations, its hips where the figure's are."""
        R_world, p_world = self.figure.world
        R_rest = self.figure.rest[0]
        R = np.tile(self.rig.R_rest, (self.figure.frames, 1, 1, 1))
        for b, k in self.bones.items():
            R[:, b] = R_world[:, k] @ R_rest[k].T @ self.T[b] @ self.rig.R_rest[b]
        thighs = [b for b, k in self.bones.items() if self.figure.parts[k] == "thigh"]
        centre = thighs if len(thighs) == 2 else [self.top]
        aim = self.scale * p_world[:, [self.bones[b] for b in centre]].mean(axis=1)
        p = self.place(self.complete(R), np.zeros_like(aim))
        return self._poses(R, aim - p[:, centre].mean(axis=1))

    def _poses(self, R: Floats, place: Floats) -> BonePoses:
        figure = self.figure
        R = self.complete(R)
        return BonePoses(R, self.place(R, place), figure.time, figure.segment, self.up)

    def complete(self, R: Floats) -> Floats:
        """R (n, b, 3, 3) of all bones, from those of the mapped ones: others follow their parents, in the trunk with
        their share of the turn towards the next one that is mapped; what hangs elsewhere stays at rest.
        """
        R = R.copy()
        rest = self.rig.R_rest
        way = self._list_above(self.top)
        for b in self.moving:
            if b in self.bones:
                continue
            if b in way:  # between the bone that is placed and the uppermost that is mapped
                R[:, b] = self._find_turn(R, self.top) @ self.T[self.top] @ rest[b]
                continue
            if b in self.toes:
                R[:, b] = self.toes[b]
                continue
            share, end = self._find_share(b)
            if end < 0:
                up = self.parent[b]
                R[:, b] = R[:, up] @ rest[up].T @ rest[b]
                continue
            first, last = self._find_turn(R, self.above[b]), self._find_turn(R, end)
            part = rotation.from_vector(share * rotation.to_vector(np.swapaxes(first, -1, -2) @ last))
            R[:, b] = first @ part @ self.T[self.above[b]] @ rest[b]
        return R

    def _find_turn(self, R: Floats, bone: int) -> Floats:
        """(n, 3, 3) turn in the world of a mapped bone since the figure's rest pose."""
        return np.asarray(R[:, bone] @ (self.T[bone] @ self.rig.R_rest[bone]).T)

    def _find_share(self, bone: int) -> tuple[float, int]:
        """Which part of the turn to the next mapped bone of the trunk a bone takes, and that bone; -1: none is near."""
        for end, k in self.bones.items():
            if self.above[end] == self.above[bone] >= 0 and self.figure.parts[k] in SHARED:
                way = self._list_above(end)
                if bone in way:
                    steps = way.index(self.above[end])
                    return (steps - way.index(bone)) / steps, end
        return 0.0, -1

    def place(self, R: Floats, place: Floats) -> Floats:
        """(n, b, 3) places of all bones with that of the placed one (n, 3)."""
        rig = self.rig
        p = np.tile(rig.p_rest, (len(R), 1, 1))
        for b in self.moving:
            if b == self.placed:
                p[:, b] = place
            else:
                up = self.parent[b]
                p[:, b] = p[:, up] + R[:, up] @ (rig.R_rest[up].T @ (rig.p_rest[b] - rig.p_rest[up]))
        return p

    def find_feet(self) -> list[Foot]:
        """The feet whose legs are mapped as a whole, with their stands."""
        take = self.figure.take(sensors=True)
        legs = {
            side: {self.figure.parts[k]: b for b, k in self.bones.items() if self.figure.sides[k] == side}
            for side in "lr"
        }
        found = []
        for side, leg in legs.items():
            if not {"thigh", "shank", "foot"} <= leg.keys():
                continue
            root = self.figure.root[self.bones[leg["foot"]]]
            bodies = [
                self.figure.bodies[k]
                for k in np.flatnonzero(self.figure.root == root).tolist()
                if self.figure.parts[k] in ("foot", "toe") and self.figure.sides[k] == side
            ]
            rig = self.rig
            sole, toes = find_sole(rig.parent, rig.R_rest, rig.p_rest, rig.tip, leg["foot"], self.up, self.find_floor())
            stands = tuple(find_standing(take, bodies)) if self.figure.timed else ()
            toes = -1 if toes in self.bones else toes
            found.append(Foot(leg["thigh"], leg["shank"], leg["foot"], toes, sole, stands))
        return found

    def find_floor(self) -> float:
        """Height of the floor under the rig at rest: zero where its feet are just above, as those of meshes are, else
        that of its lowest joint.
        """
        ends = np.concatenate([self.rig.p_rest, self.rig.tip[np.isfinite(self.rig.tip).all(axis=1)]])
        lowest = float((ends @ self.up).min())
        return 0.0 if 0 <= lowest < SOLE_MAX_LEGS * self.leg else lowest

    @property
    def leg(self) -> float:
        """Length of a leg, or of the size of the figure without one, in the rig's unit."""
        legs = [b for b, k in self.bones.items() if self.figure.parts[k] in ("shank", "foot") and self.above[b] >= 0]
        lengths = [float(np.linalg.norm(self.rig.p_rest[b] - self.rig.p_rest[self.above[b]])) for b in legs]
        return sum(lengths) / 2 if lengths else float(np.ptp(self.rig.p_rest @ self.up))

    def put_on_floor(self, poses: BonePoses, feet: list[Foot]) -> BonePoses:
        """The poses with feet that are level when they stand, on the floor at height zero."""
        R = poses.R.copy()
        for foot in feet:
            R[:, foot.foot] = level_foot(R[:, foot.foot], self.rig.R_rest[foot.foot], foot, poses.time, self.up)
        poses = self._poses(R, poses.p[:, self.placed])
        level = find_level(poses, feet)
        if level is None:
            lowest = np.sort((poses.p[:, self.moving] @ self.up).min(axis=1))
            level = float(lowest[int(FLOATING_SHARE * len(lowest))])
        return self._poses(R, poses.p[:, self.placed] - level * self.up)

    def stand(self, poses: BonePoses, feet: list[Foot]) -> BonePoses:
        """The poses with feet that do not slide while they stand."""
        feet = [foot for foot in feet if foot.stands]
        if not feet:
            return poses
        ankles = [find_ankles(poses, foot, self.leg) for foot in feet]
        shift = move_hips(poses, feet, ankles)
        R = poses.R.copy()
        moved = BonePoses(R, poses.p + shift[:, None], poses.time, poses.segment, poses.up)
        for foot, ankle in zip(feet, ankles, strict=True):
            thigh, shank = bend_leg(moved, foot, ankle)
            R[:, foot.thigh], R[:, foot.shank] = thigh, shank
        self.toes = {foot.toes: bend_toes(moved, foot, self.rig.R_rest) for foot in feet if foot.toes >= 0}
        return self._poses(R, moved.p[:, self.placed])


def _describe_bones(figure: Figure, rig: RigFile, bones: Mapping[int, int]) -> list[Finding]:
    """Which bodies move nothing, and which bones nothing moves."""
    root = {int(figure.root[k]) for k in bones.values()}
    left = [figure.bodies[k] for k in range(len(figure.names)) if k not in bones.values()]
    still = [name for b, name in enumerate(rig.names) if b not in bones]
    found = []
    if left:
        more = "" if len(root) == len(figure.free) else "; a rig takes one figure"
        verb = "body moves" if len(left) == 1 else "bodies move"
        text = f"{len(left)} {verb} no bone of the rig: {', '.join(left)}{more}"
        found.append(Finding("rig-bodies-left", "info", text, tuple(left), count=len(left)))
    if still:
        shown = list_some(still, 8, ", ...")
        follow = "bone of the rig follows its parent" if len(still) == 1 else "bones of the rig follow their parents"
        text = f"{len(still)} {follow}, moved by no body: {shown}"
        found.append(Finding("rig-bones-follow", "info", text, count=len(still)))
    crossed = find_crossed(figure, rig, bones)
    if crossed:
        bone, k = crossed[0]
        text = (
            f"{many(len(crossed), 'bone')} of the rig and what moves them are on different sides by their names, "
            f"'{rig.names[bone]}' as {figure.bodies[k]}: the character faces backwards, unless its left is named as "
            "seen from the front; else exchange the sides in the map"
        )
        found.append(Finding("rig-sides-crossed", "warning", text, tuple(figure.bodies[k] for _, k in crossed)))
    return found


def _describe_feet(before: float | None, after: float | None, scale: float, feet: list[Foot]) -> Finding:
    if before is None or after is None:
        why = "no foot stands in this motion" if feet else "the map has no leg down to a foot"
        return Finding("feet-not-held", "info", f"feet go where the rotations bring them, and may slide: {why}")
    stands = sum(len(foot.stands) for foot in feet)
    text = (
        f"feet stand {many(stands, 'time')}; while they do, soles slide {1000 * after / scale:.1f} mm/s along the "
        f"floor, {1000 * before / scale:.1f} with the rotations alone"
    )
    if after / scale > SLIDING_MIN_M_S:
        text += "; look at the map, and whether the rig's legs can reach the floor"
        return Finding("feet-not-held", "warning", text, value=after / scale, unit="m/s", count=stands)
    return Finding("feet-held", "info", text, value=after / scale, unit="m/s", count=stands)
