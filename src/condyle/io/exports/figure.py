"""Figure: a skeleton and its motion as bones that other programs understand. docs/figures.md tells the conventions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from ...errors import UsageError
from ...findings import Finding, many
from ...maths import rotation
from ...maths.arrays import Bools, Floats, Ints, concatenate, freeze, select
from ...maths.series import even_places, find_held_frames, follow_turns, mean_step, segment_slices, usual_step
from ...model.take import UP_AXES, Take
from ...model.values import dataclass
from .bones import BoneKind


@dataclass(frozen=True, eq=False)
class Figure:
    """Bones, parents first, and how they move. A bone's origin is its joint to the parent, and y points along it.

    names               b, unique: letters, digits and _ . - only, and : in those of Mixamo
    bodies              b names of the skeleton's bodies, one per bone
    joints              b names of the joints to the parents
    parent              (b,)               index of the parent, -1 for free bones
    kind                b of "free", "ball", "hinge", "rigid"; an undetermined joint is a ball. Of a machine also
                        "universal" and "slider"
    R_body_bone         (b, 3, 3)     [-]  the bone in its sensor's frame
    p_body_bone         (b, 3)        [m]
    p_parent_bone       (b, 3)        [m]  the joint in the parent bone; a free bone's place at rest in the world
    R_parent_bone_rest  (b, 3, 3)     [-]  the rest pose; in the world for free bones. A hinge's is on its hinge
    tip                 (b, 3)        [m]  end of the bone in its own frame
    axis                (b, 3)        [-]  of a hinge or slider, in the bone's frame, and the second of a universal
                                           joint; NaN for others
    up                                     axis of the world that points up
    human                                  a trunk was recognised by its name
    time                (n,)          [s]  increasing within a segment
    R_parent_bone       (n, b, 3, 3)  [-]  in the world for free bones; NaN where not known
    p_world_free        (n, k, 3)     [m]  origins of the k free bones; NaN where not known
    segment             (n,)               number of the recording a frame belongs to
    parts                                  b names of human segments, "thigh", or "" where there is none
    sides                                  b of "l", "r", "" of those
    fit_id                                 of the fit it came from, which stands in the files where there is a place
    first_axis          (b, 3)        [-]  first axis of a universal joint, in the bone's frame at rest
    pitch               (b,)      [m/rad]  by which a screw goes along its axis; zero for others
    travel              (n, b)        [m]  of sliders and screws along their axes from p_parent_bone
    """

    names: tuple[str, ...]
    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    parent: Annotated[Ints, "b"]
    kind: tuple[BoneKind, ...]
    R_body_bone: Annotated[Floats, "b 3 3"]
    p_body_bone: Annotated[Floats, "b 3"]
    p_parent_bone: Annotated[Floats, "b 3"]
    R_parent_bone_rest: Annotated[Floats, "b 3 3"]
    tip: Annotated[Floats, "b 3"]
    axis: Annotated[Floats, "b 3"]
    up: str
    human: bool
    time: Annotated[Floats, "n"]
    R_parent_bone: Annotated[Floats, "n b 3 3"]
    p_world_free: Annotated[Floats, "n k 3"]
    segment: Annotated[Ints, "n"] = field(default=None)  # type: ignore[arg-type]
    timed: bool = True
    sources: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    parts: tuple[str, ...] = ()
    fit_id: str | None = None
    sides: tuple[str, ...] = ()
    first_axis: Annotated[Floats, "b 3"] = field(default=None)  # type: ignore[arg-type]
    pitch: Annotated[Floats, "b"] = field(default=None)  # type: ignore[arg-type]
    travel: Annotated[Floats, "n b"] = field(default=None)  # type: ignore[arg-type]

    def __post_init__(self) -> None:
        freeze(self, n=len(self.time), b=len(self.names), k=int((np.asarray(self.parent) < 0).sum()))
        for name in ("parts", "sides"):
            object.__setattr__(self, name, tuple(getattr(self, name)) or ("",) * len(self.names))

    @property
    def frames(self) -> int:
        return len(self.time)

    @cached_property
    def rate(self) -> float:
        """Frames per second, by the usual step of time; NaN where no two frames follow each other."""
        return 1 / usual_step(np.diff(self.time)[np.diff(self.segment) == 0])

    @cached_property
    def free(self) -> Ints:
        """(k,) the bones that hang on no other."""
        return np.flatnonzero(self.parent < 0)

    def children(self, bone: int) -> list[int]:
        return np.flatnonzero(self.parent == bone).tolist()

    @cached_property
    def depth_first(self) -> list[int]:
        """The bones, each followed by all below it."""
        order, front = [], self.free.tolist()
        while front:
            order.append(front.pop(0))
            front = self.children(order[-1]) + front
        return order

    @cached_property
    def known(self) -> Bools:
        """(n, b) True where a bone's rotation in its parent, or a free bone's pose, is known."""
        there: Bools = np.asarray(np.isfinite(self.R_parent_bone).all(axis=(-2, -1)))
        there[:, self.free] &= np.isfinite(self.p_world_free).all(axis=-1)
        there &= np.isfinite(self.travel)
        return there

    @cached_property
    def world(self) -> tuple[Floats, Floats]:
        """R_world_bone (n, b, 3, 3) and p_world_bone (n, b, 3) [m]; NaN from what is not known onwards."""
        return _forward(self.parent, self.R_parent_bone, self.offsets)

    @cached_property
    def offsets(self) -> Floats:
        """(n, b, 3) [m] place of each bone in its parent's axes, or of a free one in the world, with what it slid."""
        found = np.broadcast_to(self.p_parent_bone, (self.frames, *self.p_parent_bone.shape)).copy()
        found[:, self.free] = self.p_world_free
        for k in np.flatnonzero((self.travel != 0).any(axis=0)).tolist():
            found[:, k] += np.outer(self.travel[:, k], self.R_parent_bone_rest[k] @ self.axis[k])
        return found

    @cached_property
    def rest(self) -> tuple[Floats, Floats]:
        """R_world_bone (b, 3, 3) and p_world_bone (b, 3) [m] of the rest pose."""
        R, p = _forward(self.parent, self.R_parent_bone_rest[None], self.p_parent_bone[None])
        return R[0], p[0]

    @cached_property
    def R_bone_body(self) -> Floats:
        """(b, 3, 3) the sensors' axes in their bones."""
        return np.swapaxes(self.R_body_bone, -1, -2)

    @cached_property
    def p_bone_body(self) -> Floats:
        """(b, 3) [m] the sensors' origins in their bones."""
        return -(self.R_bone_body @ self.p_body_bone[..., None])[..., 0]

    @cached_property
    def turns(self) -> Floats:
        """(n, b, 3, 3) rotation since the rest pose: R_parent_bone = R_parent_bone_rest @ turns."""
        return np.asarray(np.swapaxes(self.R_parent_bone_rest, -1, -2) @ self.R_parent_bone)

    @cached_property
    def angles(self) -> Floats:
        """(n, b) [rad] of hinges about their axis since the rest pose, without jumps; NaN for others and where not
        known. How far a screw is along its thread tells its whole turns, also beyond a gap."""
        found = np.full((self.frames, len(self.names)), np.nan)
        for k, kind in enumerate(self.kind):
            if kind == "hinge":
                angle = rotation.find_turn(self.axis[k], self.turns[:, k])
                there = np.isfinite(angle)
                if self.pitch[k] and (there & np.isfinite(self.travel[:, k])).any():
                    whole = follow_turns(angle, self.travel[:, k] / self.pitch[k], self.segment)
                    thread_zero = np.angle(np.exp(1j * (whole - angle)[there]).mean())
                    found[there, k] = (whole - thread_zero)[there]
                else:
                    found[there, k] = np.unwrap(angle[there])
        return found

    @cached_property
    def thread_start(self) -> Floats:
        """(b,) [m] of screws: their travel at the angle zero; zero for others, and where nothing is known."""
        start = self.travel - self.pitch * self.angles
        known = np.isfinite(start) & (self.pitch != 0)
        return np.asarray(np.where(known, start, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1))

    @cached_property
    def limits(self) -> Floats:
        """(b, 2) [rad] least and largest of `angles`; NaN for other joints than hinges."""
        return _extremes(self.angles)

    @cached_property
    def reach(self) -> Floats:
        """(b,) [rad] largest angle of rotation since the rest pose; NaN where nothing is known."""
        return _extremes(rotation.angle(self.turns))[..., 1]

    @cached_property
    def root(self) -> Ints:
        """(b,) the free bone that each hangs on, directly or not."""
        root = np.arange(len(self.names))
        for k, up in enumerate(self.parent.tolist()):
            root[k] = root[up] if up >= 0 else k
        return root

    @cached_property
    def people(self) -> list[list[int]]:
        """The bones of each person."""
        return [np.flatnonzero(self.root == k).tolist() for k in self.free.tolist() if self.parts[k]]

    def at(self, rows: Ints | Bools | slice) -> Figure:
        """These frames, in increasing order."""
        return select(self, "n", rows)

    def clips(self) -> tuple[Figure, ...]:
        """One figure per segment, in order."""
        parts = segment_slices(self.segment)
        return (self,) if len(parts) == 1 else tuple(self.at(part) for part in parts)

    def trees(self) -> tuple[Figure, ...]:
        """One figure per free bone."""
        if len(self.free) == 1:
            return (self,)
        return tuple(self._only(np.flatnonzero(self.root == root)) for root in self.free.tolist())

    def _only(self, rows: Ints) -> Figure:
        words = ("names", "bodies", "joints", "kind", "parts", "sides")
        own: dict[str, Any] = {name: tuple(getattr(self, name)[k] for k in rows) for name in words}
        parent = np.array([np.searchsorted(rows, up) if up >= 0 else -1 for up in self.parent[rows]], np.int64)
        return select(
            self, "b", rows, parent=parent, p_world_free=self.p_world_free[:, np.isin(self.free, rows)], **own
        )

    def turn_up(self, up: str) -> Figure:
        """The same in a world with another axis up, turned about the third: z to y by -90 degrees about x."""
        W = find_world_turn(self.up, up)
        R, rest, p = self.R_parent_bone.copy(), self.R_parent_bone_rest.copy(), self.p_parent_bone.copy()
        R[:, self.free], rest[self.free] = W @ R[:, self.free], W @ rest[self.free]
        p[self.free] = p[self.free] @ W.T
        return replace(
            self, up=up, R_parent_bone=R, R_parent_bone_rest=rest, p_parent_bone=p, p_world_free=self.p_world_free @ W.T
        )

    def fill_gaps(self) -> Figure:
        """Without NaN: the last known pose of the segment is held, before it the first; never known: the rest pose."""
        if self.known.all():
            return self
        R, p, travel = self.R_parent_bone.copy(), self.p_world_free.copy(), self.travel.copy()
        place = {int(bone): k for k, bone in enumerate(self.free)}
        for k in np.flatnonzero(~self.known.all(axis=0)).tolist():
            source = find_held_frames(self.known[:, k], self.segment)
            never = source < 0
            R[:, k] = np.where(never[:, None, None], self.R_parent_bone_rest[k], self.R_parent_bone[source, k])
            travel[:, k] = np.where(never, 0.0, self.travel[source, k])
            if k in place:
                here = self.p_world_free[source, place[k]]
                p[:, place[k]] = np.where(never[:, None], self.p_parent_bone[k], here)
        lost = (~self.known).sum(axis=0)
        worst = int(np.argmax(lost))
        first = int(np.argmin(self.known[:, worst]))
        done = "the last known pose is held" if self.known[:, worst].any() else "it stays as it is at rest"
        text = (
            f"{many((lost > 0).sum(), 'bone')} not known throughout, most of all {self.names[worst]} in "
            f"{many(lost[worst], 'frame')} from frame {first} on; there {done}"
        )
        bodies = tuple(self.bodies[k] for k in np.flatnonzero(lost))
        told = Finding("pose-held", "warning", text, bodies, frame=first, count=int(lost[worst]))
        return replace(self, R_parent_bone=R, p_world_free=p, travel=travel, findings=(*self.findings, told))

    def resample(self, rate: float | None = None) -> Figure:
        """On an even clock within each segment: as it is where that is even already, else interpolated.

        Rotations go along the shortest arc, positions along the line, between the frames around; `rate` [Hz] asks for
        another rate than the recording's. A frame between known and unknown is not known.
        """
        clips = self.clips()
        parts = [_even(clip, None if rate is None else 1 / rate) for clip in clips]
        if all(part is clip for part, clip in zip(parts, clips, strict=True)):
            return self
        found = 1 / mean_step(parts[0].time)
        text = f"the frames are not evenly spaced in time; poses were interpolated onto {found:.6g} Hz"
        told = () if rate is not None else (Finding("resampled", "info", text, value=found, unit="Hz"),)
        return replace(self, **concatenate(parts, "n"), findings=(*self.findings, *told))  # type: ignore[arg-type]

    def rename(self, allowed: str, first: str | None = None, form: str = "this format") -> Figure:
        """Names and joints made of characters that match `allowed` (a class such as "[A-Za-z0-9_]"), beginning with
        `first`; others become "_"."""
        names, joints = legalise(self.names, allowed, first), legalise(self.joints, allowed, first)
        changed = [(old, new) for old, new in zip(self.names, names, strict=True) if old != new]
        told: tuple[Finding, ...] = ()
        if changed:
            pairs = ", ".join(f"{old} to {new}" for old, new in changed[:5]) + ("..." if len(changed) > 5 else "")
            text = f"{form} does not allow {many(len(changed), 'name')}, which changed: {pairs}"
            told = (Finding("renamed-bones", "info", text, tuple(old for old, _ in changed), count=len(changed)),)
        return replace(self, names=names, joints=joints, findings=(*self.findings, *told))

    def take(self, *, sensors: bool = False) -> Take:
        """Poses of the bones in the world, or of the bodies' sensors on them."""
        R, p = self.world
        if sensors:
            p = p + (R @ self.p_bone_body[..., None])[..., 0]
            R = R @ self.R_bone_body
        names = self.bodies if sensors else self.names
        return Take(names, self.time, R, p, self.segment, self.timed, self.sources, up=self.up)

    def __str__(self) -> str:
        kind = "a person" if self.human else many(len(self.free), "figure")
        return f"{kind}: {many(len(self.names), 'bone')}, {many(self.frames, 'frame')}"


def find_world_turn(old: str, new: str) -> Floats:
    """(3, 3) that turns the axis `old` to where `new` is; opposite ones by half a turn about x, or y for x itself."""
    for axis in (old, new):
        if axis not in UP_AXES:
            raise UsageError(f"up is one of {', '.join(UP_AXES)}, not '{axis}'", code="bad-option")
    a, b = find_axis(old), find_axis(new)
    if (a == b).all():
        return np.eye(3)
    normal = np.cross(a, b)
    if not normal.any():
        normal = np.array([0.0, 1.0, 0.0]) if a[0] else np.array([1.0, 0.0, 0.0])
        return np.round(rotation.from_vector(np.pi * normal))
    return np.round(rotation.from_vector(np.pi / 2 * normal))  # exact: its entries are 0, 1 and -1


def find_axis(axis: str) -> Floats:
    """Unit vector (3,) of "z" or "-y"."""
    return np.eye(3)["xyz".index(axis[-1]), :] * (-1.0 if axis.startswith("-") else 1.0)


def legalise(names: Sequence[str], allowed: str, first: str | None = None) -> tuple[str, ...]:
    """The names with every other character than `allowed` as "_", beginning with `first`, and unique."""
    taken: set[str] = set()
    found = []
    for name in names:
        new = "".join(letter if re.fullmatch(allowed, letter) else "_" for letter in name) or "_"
        if first is not None and not re.fullmatch(first, new[0]):
            new = ("b" if new[0] != "_" else "bone") + new
        stem, number = new, 2
        while new in taken:
            new, number = f"{stem}_{number}", number + 1
        taken.add(new)
        found.append(new)
    return tuple(found)


def _forward(parent: Ints, R_parent_bone: Floats, p_parent_bone: Floats) -> tuple[Floats, Floats]:
    """Poses in the world (n, b, 3, 3), (n, b, 3) from those in the parents."""
    n, b = R_parent_bone.shape[:2]
    R, p = np.empty((b, n, 3, 3)), np.empty((b, n, 3))
    for k, up in enumerate(parent.tolist()):
        if up < 0:
            R[k], p[k] = R_parent_bone[:, k], p_parent_bone[:, k]
        else:
            R[k] = R[up] @ R_parent_bone[:, k]
            p[k] = p[up] + (R[up] @ p_parent_bone[:, k, :, None])[..., 0]
    return np.moveaxis(R, 0, 1), np.moveaxis(p, 0, 1)


def _extremes(values: Floats) -> Floats:
    """(..., 2) least and largest over the first axis, NaN left out; NaN where all are."""
    known = np.isfinite(values)
    some: Bools = np.asarray(known.any(axis=0))
    low = np.where(known, values, np.inf).min(axis=0, initial=np.inf)
    high = np.where(known, values, -np.inf).max(axis=0, initial=-np.inf)
    return np.where(some[..., None], np.stack([low, high], axis=-1), np.nan)


def _even(clip: Figure, step: float | None) -> Figure:
    places = even_places(clip.time, step)
    if places is None:
        return clip
    clock, before, share = places
    a, b = clip.R_parent_bone[before], clip.R_parent_bone[before + 1]
    turn = rotation.from_vector(share[:, None, None] * rotation.between(a, b))
    pa, pb, after = clip.p_world_free[before], clip.p_world_free[before + 1], clip.travel[before + 1]
    at, way = (share == 0) | (share == 1), share[:, None, None]
    exact = clip.at(np.where(share == 1, before + 1, before))  # a frame itself is known whatever its neighbours are
    return replace(
        exact,
        time=clock,
        R_parent_bone=np.where(at[:, None, None, None], exact.R_parent_bone, a @ turn),
        p_world_free=np.where(at[:, None, None], exact.p_world_free, (1 - way) * pa + way * pb),
        travel=np.where(at[:, None], exact.travel, (1 - way[..., 0]) * clip.travel[before] + way[..., 0] * after),
    )
