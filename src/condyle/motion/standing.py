"""Feet of a rig that stand where they stood: they roll over their soles and do not slide, and the legs follow.

While a foot stands, its rotations alone tell its path: the lowest point of the sole is at rest, be it the heel or the
ball. That path is put where the foot would be on the mean; between two stands the difference goes over smoothly. Toes
that nothing moves stay on the floor while the heel rises. Each leg then bends at the knee in its own plane and turns at
the hip until the ankle is there; where a leg is too short the hips come nearer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats, Ints
from ..maths.robust import median
from ..maths.series import count_frames, mean_step, segment_slices
from ..model.values import dataclass

LEG_MAX_SHARE = 0.999  # of its length to which a leg may stretch: a straight knee has no plane
HIPS_ROUNDS = 12  # of bringing the hips within reach of all feet that stand
FLAT_MAX_TURN_RAD_S = 0.5  # rad/s below which a standing foot is flat
FLAT_MAX_TILT_RAD = np.radians(30)  # rad: a foot that is then tilted by more stands on its toes
STEP_MIN_LEGS = 0.06  # of a leg's length: stands that differ by less in height are on one floor
LIFTED_MIN_LEGS = 0.06  # of a leg's length: a sole that is higher than usual in its stand has left the floor
RAISED_MIN_S = 0.4  # s for which a foot stands on something above the floor: at the top of a jump feet rest for less
RELEASE_S = 0.3  # s in which a foot that stands no more in its recording is back where its rotations bring it
TOES_RAMP_S = 0.1  # s in which toes turn to the floor and from it
STRAIGHT_SINE = 0.05  # of the knee's angle, below which its plane is taken from the other frames


@dataclass(frozen=True, eq=False)
class Foot:
    """A foot of the rig and its leg, by bones.

    toes    -1 where there are none, or a body moves them
    sole    (k, 3)  points that can touch the floor, in the foot's frame, in the rig's unit
    stands  stretches (first, stop) of frames in which it stands
    """

    thigh: int
    shank: int
    foot: int
    toes: int
    sole: Floats
    stands: tuple[tuple[int, int], ...]


@dataclass(frozen=True, eq=False)
class BonePoses:
    """Poses of a rig's bones in its world: R (n, b, 3, 3), p (n, b, 3); time (n,) [s], segment (n,), up (3,)."""

    R: Floats
    p: Floats
    time: Floats
    segment: Ints
    up: Floats


def find_sole(
    parent: Ints, R_rest: Floats, p_rest: Floats, tip: Floats, foot: int, up: Floats, floor: float
) -> tuple[Floats, int]:
    """(k, 3) the points of a foot below its ankle and its ball, on the floor at rest, in its frame; and its toes, -1
    without. The ball is where the toes begin, or the end of a foot without toes.
    """
    toes = [k for k in range(len(parent)) if parent[k] == foot]
    ends = [p_rest[k] for k in toes] + ([tip[foot]] if np.isfinite(tip[foot]).all() else [])
    points, ball = [p_rest[foot]], -1
    if ends:
        across = [float(np.linalg.norm(end - p_rest[foot] - up * (up @ (end - p_rest[foot])))) for end in ends]
        farthest = int(np.argmax(across))
        points.append(ends[farthest])
        ball = toes[farthest] if farthest < len(toes) else -1
    flat = np.array(points)
    flat = flat - np.outer(flat @ up - floor, up)
    return np.asarray((flat - p_rest[foot]) @ R_rest[foot]), ball


def level_foot(R: Floats, R_rest: Floats, foot: Foot, time: Floats, up: Floats) -> Floats:
    """R (n, 3, 3) of a foot turned in its own frame, so that its sole is level when the foot stands flat."""
    flat = np.concatenate([np.arange(first, stop - 1) for first, stop in foot.stands] or [np.arange(0)])
    if not len(flat):
        return R
    speed = rotation.angle(np.swapaxes(R[flat], -1, -2) @ R[flat + 1]) / np.maximum(time[flat + 1] - time[flat], 1e-9)
    quiet = flat[speed < FLAT_MAX_TURN_RAD_S]
    if not len(quiet):
        return R
    usual = median(np.swapaxes(R[quiet], -1, -2) @ up)
    usual = usual / np.linalg.norm(usual)
    turn = rotation.find_shortest_arc(R_rest.T @ up, usual)
    return np.asarray(R @ turn) if rotation.angle(turn) < FLAT_MAX_TILT_RAD else R


def find_level(poses: BonePoses, feet: Sequence[Foot]) -> float | None:
    """Height of the soles' lowest points while they stand, as a rule; None where no foot stands."""
    heights = [
        _measure_sole(poses, foot)[first:stop].min(axis=1) + (poses.p[first:stop, foot.foot] @ poses.up)
        for foot in feet
        for first, stop in foot.stands
    ]
    return float(median(np.concatenate(heights))) if heights else None


def trim_stands(poses: BonePoses, feet: Sequence[Foot], leg: float) -> list[Foot]:
    """The feet without the beginnings and ends of stands in which the sole is above the floor, at height 0, already,
    and without stands in the air: those above the floor that are short, or while the other foot stands lower.
    """
    heights = [_measure_sole(poses, foot).min(axis=1) + poses.p[:, foot.foot] @ poses.up for foot in feet]
    usual = [np.full(len(poses.time), np.inf) for _ in feet]
    for foot, height, level in zip(feet, heights, usual, strict=True):
        for first, stop in foot.stands:
            level[first:stop] = median(height[first:stop])
    found = []
    for k, (foot, height) in enumerate(zip(feet, heights, strict=True)):
        kept = []
        for first, stop in foot.stands:
            own = usual[k][first]
            there = first + np.flatnonzero(height[first:stop] < own + LIFTED_MIN_LEGS * leg)
            rows = slice(int(there[0]), int(there[-1]) + 1)
            if own > STEP_MIN_LEGS * leg:
                lower = [(other[rows] < own - STEP_MIN_LEGS * leg).mean() for other in usual]
                if max(lower) > 0.5 or poses.time[rows.stop - 1] - poses.time[rows.start] < RAISED_MIN_S:
                    continue
            kept.append((rows.start, rows.stop))
        found.append(replace(foot, stands=tuple(kept)))
    return found


def bend_toes(poses: BonePoses, foot: Foot, R_rest: Floats) -> Floats:
    """(n, 3, 3) rotations of the toes: on the floor while the foot stands and its heel is up, else as the foot is."""
    R = poses.R[:, foot.foot]
    sole = R @ (R_rest[foot.foot].T @ poses.up)
    heights = _measure_sole(poses, foot)
    down = np.zeros(len(R))
    for first, stop in foot.stands:
        down[first:stop] = heights[first:stop, 0] > heights[first:stop, -1]
    for part in segment_slices(poses.segment):
        width = max(1, count_frames(TOES_RAMP_S / mean_step(poses.time[part]), part.stop - part.start))
        ramp = np.convolve(np.pad(down[part], width, mode="edge"), np.ones(width) / width, mode="same")
        down[part] = ramp[width:-width]
    flat = rotation.from_vector(
        down[:, None] * rotation.to_vector(_find_arcs(sole, np.broadcast_to(poses.up, sole.shape)))
    )
    return np.asarray(flat @ R @ R_rest[foot.foot].T @ R_rest[foot.toes])


def find_ankles(poses: BonePoses, foot: Foot, leg: float) -> Floats:
    """(n, 3) where the ankle is to be: on a path that rolls over the sole in every stand, between them as it was.

    A sole that is near the floor, at height 0, stands on it.
    """
    away = np.full(poses.p[:, foot.foot].shape, np.nan)
    reach = _measure_sole(poses, foot)
    origin = poses.p[:, foot.foot]
    across = np.eye(3) - np.outer(poses.up, poses.up)
    for first, stop in foot.stands:
        rows = np.arange(first, stop)
        lowest = reach[rows].argmin(axis=1)
        R, point = poses.R[rows, foot.foot], foot.sole[lowest]
        steps = (R[:-1] @ point[:-1, :, None] - R[1:] @ point[:-1, :, None])[..., 0] @ across
        path = np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])
        here = origin[rows] @ across
        path = path + (here - path).mean(axis=0)
        height = float(median(origin[rows] @ poses.up + reach[rows].min(axis=1)))
        height = 0.0 if abs(height) < STEP_MIN_LEGS * leg else height
        path = path + np.outer(height - reach[rows].min(axis=1), poses.up)
        away[rows] = path - origin[rows]
    for part in segment_slices(poses.segment):
        away[part] = _blend(away[part], poses.time[part])
    return np.asarray(origin + away)


def _measure_sole(poses: BonePoses, foot: Foot) -> Floats:
    """(n, k) heights of the sole's points over the ankle."""
    return np.asarray(np.einsum("nij,kj,i->nk", poses.R[:, foot.foot], foot.sole, poses.up))


def _blend(away: Floats, time: Floats) -> Floats:
    """What is not known goes over from one known stretch to the next, and to none at the ends, smoothly."""
    known = np.isfinite(away[:, 0])
    if not known.any():
        return np.zeros(away.shape)
    there = np.flatnonzero(known)
    first, last = int(there[0]), int(there[-1])
    after = there[np.minimum(np.searchsorted(there, np.arange(len(away))), len(there) - 1)]
    before = there[np.maximum(np.searchsorted(there, np.arange(len(away)), side="right") - 1, 0)]
    span = time[after] - time[before]
    share = np.clip((time - time[before]) / np.where(span > 0, span, 1.0), 0.0, 1.0)
    share = (share * share * (3 - 2 * share))[:, None]
    found = np.asarray((1 - share) * away[before] + share * away[after])
    released = np.clip(np.maximum(time[first] - time, time - time[last]) / RELEASE_S, 0.0, 1.0)
    return np.asarray(found * (1 - released * released * (3 - 2 * released))[:, None])


def move_hips(poses: BonePoses, feet: Sequence[Foot], ankles: Sequence[Floats]) -> Floats:
    """(n, 3) by which the whole figure moves so that every leg reaches its ankle."""
    shift = np.zeros((len(poses.time), 3))
    for _ in range(HIPS_ROUNDS):
        step = np.zeros_like(shift)
        for foot, ankle in zip(feet, ankles, strict=True):
            hip, knee, old = (poses.p[:, k] for k in (foot.thigh, foot.shank, foot.foot))
            longest = LEG_MAX_SHARE * (_norm(knee - hip) + _norm(old - knee))
            way = ankle - hip - shift
            far = _norm(way)
            step += (np.maximum(far - longest, 0.0) / np.maximum(far, 1e-12))[:, None] * way
        shift += step
    return shift


def bend_leg(poses: BonePoses, foot: Foot, ankle: Floats) -> tuple[Floats, Floats]:
    """Rotations of thigh and shank (n, 3, 3) with which the ankle (n, 3) is reached."""
    hip, knee, old = (poses.p[:, k] for k in (foot.thigh, foot.shank, foot.foot))
    upper, lower = hip - knee, old - knee
    a, b = _norm(upper), _norm(lower)
    c = np.clip(_norm(ankle - hip), np.abs(a - b) + 1e-9, a + b)
    area = np.maximum(a * b, np.finfo(float).tiny)  # a rig may have its knee where its hip or its ankle is
    wanted = np.arccos(np.clip((a * a + b * b - c * c) / (2 * area), -1.0, 1.0))
    n = _find_knee_axis(poses.R[:, foot.thigh], np.cross(upper, lower) / area[:, None])
    now = np.arctan2((n * np.cross(upper, lower)).sum(axis=1), (upper * lower).sum(axis=1)) % (2 * np.pi)
    bend = rotation.from_vector((wanted - now)[:, None] * n)
    reached = knee + (bend @ lower[..., None])[..., 0]
    swing = _find_arcs(reached - hip, ankle - hip)
    return swing @ poses.R[:, foot.thigh], swing @ bend @ poses.R[:, foot.shank]


def _find_knee_axis(R_thigh: Floats, normal: Floats) -> Floats:
    """(n, 3) unit axis of the knee: across the plane of the leg, as in the other frames where the leg is straight."""
    usual = (np.swapaxes(R_thigh, -1, -2) @ normal[..., None])[..., 0].sum(axis=0)
    size = float(np.linalg.norm(usual))
    usual = usual / size if size > 0 else np.array([1.0, 0.0, 0.0])
    across = R_thigh @ usual
    sine = _norm(normal)
    plain = (sine > STRAIGHT_SINE) & ((normal * across).sum(axis=1) > 0)
    return np.where(plain[:, None], normal / np.maximum(sine, 1e-12)[:, None], across)


def measure_slide(poses: BonePoses, feet: Sequence[Foot]) -> float | None:
    """Usual speed along the floor, root mean square, of the lowest points of soles while they stand, in the rig's unit
    per second; None where none stands."""
    squares = []
    across = np.eye(3) - np.outer(poses.up, poses.up)
    for foot in feet:
        lowest = _measure_sole(poses, foot).argmin(axis=1)
        for first, stop in foot.stands:
            rows = np.arange(first, stop - 1)
            point = foot.sole[lowest[rows], :, None]
            before, after = ((poses.R[k, foot.foot] @ point)[..., 0] + poses.p[k, foot.foot] for k in (rows, rows + 1))
            speed = ((after - before) @ across) / (poses.time[rows + 1] - poses.time[rows])[:, None]
            squares.append((speed**2).sum(axis=1))
    return float(np.sqrt(np.concatenate(squares).mean())) if squares else None


def _find_arcs(a: Floats, b: Floats) -> Floats:
    """(n, 3, 3) the smallest rotations from the directions of a (n, 3) to those of b."""
    normal = np.cross(a, b)
    sine, cosine = _norm(normal), (a * b).sum(axis=1)
    angle = np.arctan2(sine, cosine)
    return rotation.from_vector(normal * (angle / np.maximum(sine, 1e-300))[:, None])


def _norm(v: Floats) -> Floats:
    return np.asarray(np.linalg.norm(v, axis=-1))
