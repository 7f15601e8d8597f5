"""Anatomical frames of a person's segments without landmarks: joint centres, functional axes, up, a pose.

ISB axes on both sides: X forward, Y up, Z to the right. docs/angles.md tells what every frame is, and what it is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats
from ..model.anatomy import PAIRS, Part
from ..model.angles import Landmarks, SegmentFrame
from .landmarks import frame_from_landmarks
from .neutral import Neutral
from .person import Body, JointEnd

AXIS_MIN_TURN_RAD = np.radians(8.0)  # rms turn about a joint's first axis; a leg at rest has 1.8, knees that bent 18 on
AXIS_MAX_SECOND_SHARE = 1 / 3  # rms turn about the second over the first: knees of recorded people have 0.11 to 0.17
UP_MIN_RESULTANT = 0.9  # length of the mean up in a pelvis, below which the person did not stay upright
BENT_MIN_SINE = np.sin(np.radians(10.0))  # mean sine of an elbow's bend from which it tells the sign of the axis
OPEN_MIN_COSINE = 0.3  # of a direction to one that is left open, from which it is open as well
JACKKNIFE_BLOCKS = 12  # of time, left out in turn for the error of a functional axis

BEND_PARTS: dict[Part, int] = {"shank": -1, "forearm": 1}  # joints with a medio-lateral axis; sign of their flexion
NO_SD = np.full(3, np.nan)  # rad: errors of a frame that is a definition


class FunctionalAxis(NamedTuple):
    """A joint's axis, to the right in both bodies: unit vectors (3,), and standard errors [rad] of their direction."""

    in_parent: Floats
    in_child: Floats
    sd_parent: float
    sd_child: float


def build_frames(
    body: Body, neutral: Neutral, up: Floats, landmarks: Mapping[str, Landmarks]
) -> dict[int, SegmentFrame]:
    """{bone: its frame} of a person, parents first; a bone that nothing tells the axes of, and all beyond, has none."""
    builder = FrameBuilder(body, neutral, up, landmarks)
    for k in body.bones:
        builder.add(k)
    return builder.frames


def carry_frames(body: Body, neutral: Neutral) -> dict[int, SegmentFrame]:
    """{bone: its frame} of any figure: the root's bone, carried on to all others in the neutral or the mean pose."""
    frames: dict[int, SegmentFrame] = {}
    for k in body.bones:
        up = body.parent(k)
        A = body.figure.R_body_bone[k] if up < 0 else find_pose(body, neutral, k).T @ frames[up].R_body_anat
        made = "bone of the figure" if up < 0 else "as its parent in the neutral pose"
        frames[k] = SegmentFrame(body.name(k), body.body(k), A, NO_SD, "pose", made)
    return frames


def zero_frames(body: Body, neutral: Neutral, frames: Mapping[int, SegmentFrame]) -> dict[int, SegmentFrame]:
    """The frames turned so that every joint reads zero in the neutral pose."""
    found: dict[int, SegmentFrame] = {}
    for k, frame in frames.items():
        up = body.parent(k)
        if up in found:
            A = find_pose(body, neutral, k).T @ found[up].R_body_anat
            frame = SegmentFrame(frame.segment, frame.body, A, NO_SD, "pose", f"{frame.made}; zero in the neutral pose")
        found[k] = frame
    return found


def find_pose(body: Body, neutral: Neutral, k: int) -> Floats:
    """(3, 3) R_parent_body in the neutral pose; the mean of the take where there is none."""
    if neutral.rows is not None:
        mean = rotation.mean(body.turn(k, neutral.rows))
        if np.isfinite(mean).all():
            return mean
    return body.mean_turn(k)


class FrameBuilder:
    """Frames of one person, added parents first."""

    def __init__(self, body: Body, neutral: Neutral, up: Floats, landmarks: Mapping[str, Landmarks]) -> None:
        self.body, self.neutral, self.up, self.landmarks = body, neutral, up, landmarks
        self.frames: dict[int, SegmentFrame] = {}
        self.axes: dict[int, FunctionalAxis | None] = {}

    def add(self, k: int) -> None:
        body, part = self.body, self.body.part(k)
        made = {"pelvis": self._pelvis, "chest": self._thorax, "foot": self._foot}
        if part == "chest" and k != body.place.get(body.segments[k]):
            part = None  # one of several: it follows the one that carries the arms
        built = (
            made[part](k)
            if part in made
            else self._limb(k)
            if part in ("thigh", "shank", "upper_arm", "forearm")
            else None
        )
        frame = built or self._pose(k)
        told = self.landmarks.get(body.name(k))
        if told is not None and frame is not None:
            frame = frame_from_landmarks(body, k, told, frame)
        if frame is not None:
            self.frames[k] = frame

    def _pelvis(self, k: int) -> SegmentFrame | None:
        body = self.body
        pair = body.pair(k, PAIRS["pelvis"])
        Y, made_up = self._find_up(k)
        if Y is None:
            return None
        if pair is None:
            Z = self._find_one_legs_right(k)
            if Z is None:
                return None
            return self._frame(k, _axes_on_z(Z, Y), NO_SD, "pose", f"Z: axis of the one knee; Y: {made_up}")
        left, right = (body.end(c, k) for c in pair)
        L = float(np.linalg.norm(right.p - left.p))
        if L == 0:  # a damaged figure: no direction
            return None
        A = _axes_on_z(right.p - left.p, Y)
        sd = np.array([_sd_along(A[:, 1], left, right) / L, _sd_along(A[:, 0], left, right) / L, np.nan])
        return self._frame(k, A, sd, "functional", f"Z: left to right hip; Y: {made_up}")

    def _find_up(self, k: int) -> tuple[Floats | None, str]:
        """Unit (3,) up in a trunk's body, and what it is; None where nothing tells it."""
        body, rows = self.body, self.neutral.rows
        if rows is not None:
            R = body.world(k, rows)
            R = R[np.isfinite(np.einsum("nij->n", R))]
            if len(R):
                up = (np.swapaxes(R, -1, -2) @ self.up).mean(axis=0)
                return up / np.linalg.norm(up), "up in the neutral pose"
        R = body.world(k)
        R = R[np.isfinite(np.einsum("nij->n", R))]
        up = np.einsum("nji,j->i", R, self.up) / max(len(R), 1)
        if float(np.linalg.norm(up)) > UP_MIN_RESULTANT:
            return up / np.linalg.norm(up), "mean up of the take"
        top, pair = body.main_child(k), body.pair(k, PAIRS["pelvis"])
        if top is not None and pair is not None:
            hips = (body.end(pair[0], k).p + body.end(pair[1], k).p) / 2
            return _unit(body.end(top, k).p - hips), "middle of the hips to the waist"
        return None, ""

    def _find_one_legs_right(self, k: int) -> Floats | None:
        """Unit (3,) to the right in a pelvis with one hip, by the knee: it bends backwards."""
        body = self.body
        for thigh in [c for c in body.children(k) if body.part(c) == "thigh"]:
            shank = body.main_child(thigh)
            axis = None if shank is None else _find_unsigned_axis(body, shank)
            if shank is None or axis is None:
                continue
            sine = self._mean_bend(shank, axis.in_parent)
            if abs(sine) > BENT_MIN_SINE:
                return np.asarray(find_pose(body, self.neutral, thigh) @ axis.in_parent * -np.sign(sine))
        return None

    def _thorax(self, k: int) -> SegmentFrame | None:
        body = self.body
        pair = body.pair(k, PAIRS["chest"])
        if pair is None:
            return None
        left, right = (body.end(c, k) for c in pair)
        across = right.p - left.p
        L = float(np.linalg.norm(across))
        if L == 0:
            return None
        if body.parent(k) < 0:
            Y, made = self._find_up(k)
            if Y is None:
                return None
            A = _axes_on_z(across, Y)
            sd = np.array([_sd_along(A[:, 1], left, right) / L, _sd_along(A[:, 0], left, right) / L, np.nan])
            return self._frame(k, A, sd, "functional", f"Z: left to right shoulder; Y: {made}")
        waist = body.end(k, k)
        long = (left.p + right.p) / 2 - waist.p
        H = float(np.linalg.norm(long))
        if H == 0:
            return None
        A = _axes_on_y(long, across)
        ends = [_half(left), _half(right), waist]
        sd = np.array(
            [_sd_along(A[:, 2], *ends) / H, _sd_along(A[:, 0], left, right) / L, _sd_along(A[:, 0], *ends) / H]
        )
        return self._frame(k, A, sd, "functional", "Y: waist to the middle of the shoulders; Z: left to right shoulder")

    def _limb(self, k: int) -> SegmentFrame | None:
        body = self.body
        posed = self._pose(k)
        if posed is None:
            return None
        below = body.main_child(k)
        own = body.end(k, k)
        bend = k if body.part(k) in BEND_PARTS else below
        axis = None if bend is None else self._axis(bend)
        Y, made, ends, L = posed.R_body_anat[:, 1], "", [], np.nan
        far = None if below is None else body.end(below, k)
        if far is not None and (own.p != far.p).any():
            Y, L = _unit(own.p - far.p), float(np.linalg.norm(own.p - far.p))
            made, ends = "Y: joint to joint; ", [own, far]
        elif self.neutral.rows is None and float(np.linalg.norm(own.p)) > 1e-3:
            Y, made = _unit(own.p), "Y: sensor to joint, since no joint is worn below; "
        if axis is None:
            A = _axes_on_y(Y, posed.R_body_anat[:, 2])
            sd = np.array([_sd_along(A[:, 2], *ends) / L, np.nan, _sd_along(A[:, 0], *ends) / L]) if ends else NO_SD
            return self._frame(k, A, sd, "pose", f"{made}Z: {posed.made}, since the joint's motion shows no axis")
        Z, error = (axis.in_child, axis.sd_child) if bend == k else (axis.in_parent, axis.sd_parent)
        A = _axes_on_y(Y, Z)
        roll = error / max(float(np.linalg.norm(rotation.cross(Y, Z))), 1e-3)
        across, along = (_sd_along(A[:, i], *ends) / L if ends else np.nan for i in (2, 0))
        sd = np.array([across, roll, along])
        joint = {"shank": "knee", "forearm": "elbow"}[body.part(bend) or ""]  # type: ignore[arg-type]
        return self._frame(k, A, sd, "functional", f"{made}Z: functional axis of the {joint}")

    def _foot(self, k: int) -> SegmentFrame | None:
        """X from the ankle to the toes where they are worn, level in the pose."""
        body, posed, toe = self.body, self._pose(k), self.body.main_child(k)
        if posed is None or toe is None:
            return None
        Y, X = posed.R_body_anat[:, 1], body.end(toe, k).p - body.end(k, k).p
        if float(np.linalg.norm(rotation.cross(Y, X))) < 1e-3:
            return None
        return self._frame(k, _axes_on_y(Y, rotation.cross(X, Y)), NO_SD, "pose", f"X: ankle to toes; Y: {posed.made}")

    def _pose(self, k: int) -> SegmentFrame | None:
        """As the room in the neutral pose, else as its parent in the mean pose."""
        body, up = self.body, self.body.parent(k)
        if up not in self.frames:
            return None
        if self.neutral.rows is None:
            A = body.mean_turn(k).T @ self.frames[up].R_body_anat
            return self._frame(k, A, NO_SD, "pose", f"as the {body.name(up)} in the mean pose")
        room = self._neutral_room()
        R = rotation.mean(body.world(k, self.neutral.rows))
        if room is None or not np.isfinite(R).all():
            A = body.mean_turn(k).T @ self.frames[up].R_body_anat
            return self._frame(k, A, NO_SD, "pose", f"as the {body.name(up)} in the mean pose")
        return self._frame(k, R.T @ room, NO_SD, "pose", "level and straight ahead in the neutral pose")

    def _neutral_room(self) -> Floats | None:
        """(3, 3) axes of the room in the neutral pose: X where the trunk faces, level, Y up."""
        root = self.body.root
        R = rotation.mean(self.body.world(root, self.neutral.rows)) if self.neutral.rows is not None else np.eye(3)
        right = R @ self.frames[root].R_body_anat[:, 2]
        return _axes_on_y(self.up, right) if np.isfinite(right).all() else None

    def _axis(self, k: int) -> FunctionalAxis | None:
        if k not in self.axes:
            self.axes[k] = self._find_signed_axis(k)
        return self.axes[k]

    def _find_signed_axis(self, k: int) -> FunctionalAxis | None:
        """The axis of a knee or an elbow, to the right; None where its motion shows none."""
        body, up = self.body, self.body.parent(k)
        found = _find_unsigned_axis(body, k)
        if found is None or (up not in self.frames and body.parent(up) not in self.frames):
            return None
        sine = self._mean_bend(k, found.in_parent) * BEND_PARTS[body.part(k) or "shank"]
        if body.part(k) == "forearm" and abs(sine) > BENT_MIN_SINE:
            sign = np.sign(sine)
        else:  # by the segment above the limb: a thigh never turns half round in a pelvis
            carried = body.mean_turn(up).T @ self.frames[body.parent(up)].R_body_anat[:, 2]
            sign = np.sign(found.in_parent @ carried) or 1.0
        return FunctionalAxis(sign * found.in_parent, sign * found.in_child, found.sd_parent, found.sd_child)

    def _mean_bend(self, k: int, axis: Floats) -> float:
        """Mean sine of the turn about `axis` that leads from the upper to the lower bone of a limb."""
        body, up = self.body, self.body.parent(k)
        below = body.main_child(k)
        far = body.end(below, k).p if below is not None else np.zeros(3)
        upper, lower = _unit(body.end(k, up).p - body.end(up, up).p), _unit(far - body.end(k, k).p)
        sine = np.cross(upper, body.turn(k) @ lower) @ axis
        known = np.isfinite(sine)
        return float(sine[known].mean()) if known.any() else 0.0

    def _frame(self, k: int, A: Floats, sd: Floats, source: str, made: str) -> SegmentFrame:
        return SegmentFrame(self.body.name(k), self.body.body(k), A, sd, source, made)  # type: ignore[arg-type]


def _find_unsigned_axis(body: Body, k: int) -> FunctionalAxis | None:
    """The axis about which a joint turned, whatever its kind; None where it did not turn about one alone."""
    joint, up = body.joint(k), body.parent(k)
    first, second = float(joint.rotation[0]), float(joint.rotation[1])
    if not (first > AXIS_MIN_TURN_RAD and second < AXIS_MAX_SECOND_SHARE * first):
        return None
    own, other = body.end(k, k), body.end(k, up)
    if own.axis is not None and other.axis is not None:
        sds = [
            np.nan if C is None else float(np.sqrt(np.trace(C) / 2))
            for C in (other.axis_covariance, own.axis_covariance)
        ]
        return FunctionalAxis(other.axis, own.axis, sds[0], sds[1])
    R = body.turn(k)
    R = R[np.isfinite(np.einsum("nij->n", R))]
    if len(R) < JACKKNIFE_BLOCKS:
        return None
    u, v = _first_axis(R.sum(axis=0))
    sums = [R[rows].sum(axis=0) for rows in np.array_split(np.arange(len(R)), JACKKNIFE_BLOCKS)]
    without = [_first_axis(sum(sums) - one) for one in sums]
    share = (JACKKNIFE_BLOCKS - 1) / JACKKNIFE_BLOCKS
    sd = [
        float(np.sqrt(share * sum(_square_apart(one[side], axis) for one in without) / 2))
        for side, axis in ((0, u), (1, v))
    ]
    return FunctionalAxis(u, v, sd[0], sd[1])


def _first_axis(total: Floats) -> tuple[Floats, Floats]:
    """Unit vectors (3,) in parent and child that stay together over a sum of rotations."""
    U, _, Vt = np.linalg.svd(total)
    return U[:, 0], Vt[0]


def _square_apart(a: Floats, b: Floats) -> float:
    return float(np.square(rotation.cross(a, b)).sum())


def _half(end: JointEnd) -> JointEnd:
    """One of two joints in whose middle a point lies."""
    return end._replace(covariance=None if end.covariance is None else end.covariance / 4)


def _sd_along(direction: Floats, *ends: JointEnd) -> float:
    """[m] standard error of the distance of two joints along a direction; NaN where it is open or not estimated."""
    if any(end.open is not None and abs(float(end.open @ direction)) > OPEN_MIN_COSINE for end in ends):
        return float("nan")
    covariances = [end.covariance for end in ends]
    if any(C is None for C in covariances):
        return float("nan")
    return float(np.sqrt(max(sum(float(direction @ C @ direction) for C in covariances if C is not None), 0.0)))


def _axes_on_y(Y: Floats, Z: Floats) -> Floats:
    """(3, 3) axes with exactly this Y, and Z as near as that leaves it."""
    y = _unit(Y)
    x = _unit(rotation.cross(y, Z))
    return np.stack([x, y, rotation.cross(x, y)], axis=1)


def _axes_on_z(Z: Floats, Y: Floats) -> Floats:
    """(3, 3) axes with exactly this Z, and Y as near as that leaves it."""
    z = _unit(Z)
    x = _unit(rotation.cross(Y, z))
    return np.stack([x, rotation.cross(z, x), z], axis=1)


def _unit(v: Floats) -> Floats:
    return np.asarray(v / max(float(np.linalg.norm(v)), 1e-300))
