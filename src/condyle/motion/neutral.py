"""The pose that frames are aligned in, and the direction that a person heads for."""

from __future__ import annotations

import re

import numpy as np

from ..errors import UsageError
from ..io.exports.figure import find_axis
from ..maths import rotation
from ..maths.arrays import Floats, Ints
from ..maths.series import count_frames, mean_step, segment_slices
from ..model.take import UP_AXES
from ..model.values import dataclass
from .person import Body

QUIET_S = 0.5  # s for which nobody moves in a pose that is taken as neutral; found in a functional trial of a hip
QUIET_MAX_RAD_S = np.radians(10.0)  # rad/s below which every body turns in it
UPRIGHT_MIN_COSINE = np.cos(np.radians(30.0))  # of the trunk to up in it
TRAVEL_MIN_M = 1.0  # m that a person goes where the way is the heading
FACING_MIN_RESULTANT = 0.9  # length of the mean direction in which a person faces, below which she turned about
HEADING_NOT_KNOWN = "not known"  # in the place of a heading
FACING_WINDOW_S = 2.0  # s over which the facing is then taken: about two strides
TRAVEL_MAX_BEND_RAD = np.radians(20.0)  # rad between the first and the second half of such a way


@dataclass(frozen=True, eq=False)
class Neutral:
    """Frames of the neutral pose, None: there is none and the mean of the take stands for it; and this in words."""

    rows: Ints | None
    text: str


def find_neutral(choice: str | float | tuple[float, float], bodies: tuple[Body, ...], up: Floats) -> Neutral:
    """auto: a quiet stand where there is one; quiet: the same, or an error; none; seconds, or "from:to" in seconds."""
    time = bodies[0].figure.time if bodies else np.zeros(0)
    if isinstance(choice, str) and choice in ("auto", "quiet", "none"):
        rows = None if choice == "none" else find_quiet(bodies, up)
        if rows is not None:
            return Neutral(rows, f"quiet stand at {time[rows[0]]:.2f} to {time[rows[-1]]:.2f} s")
        if choice == "quiet":
            raise UsageError(
                f"nobody stands still and upright for {QUIET_S} s; name the time of a neutral pose: --neutral 12:13",
                code="no-neutral",
            )
        return Neutral(None, "none; frames that a pose defines have the mean of the take")
    start, end = _parse_span(choice)
    rows = np.flatnonzero((time >= start) & (time <= end)) if end > start else _find_nearest(time, start)
    if not len(rows):
        last = f"{time.min():g} to {time.max():g} s" if len(time) else "no frame"
        raise UsageError(
            f"no frame at the neutral pose, {start:g} to {end:g} s; the take has {last}", code="no-neutral"
        )
    return Neutral(rows, f"{start:g} s" if end == start else f"mean of {start:g} to {end:g} s")


def _find_nearest(time: Floats, moment: float) -> Ints:
    if not len(time) or not time.min() <= moment <= time.max():
        return np.zeros(0, np.int64)
    return np.array([int(np.argmin(np.abs(time - moment)))])


def _parse_span(choice: str | float | tuple[float, float]) -> tuple[float, float]:
    if isinstance(choice, tuple):
        return float(choice[0]), float(choice[1])
    number = r"[-+]?\d+(?:\.\d*)?"
    match = re.fullmatch(rf"({number})(?::({number}))?", str(choice).strip())
    if match is None or float(match[2] or match[1]) < float(match[1]):
        raise UsageError(
            f"the neutral pose is auto, quiet, none, a time such as 12.5, or a span such as 12:13 [s], not '{choice}'",
            code="bad-option",
        )
    return float(match[1]), float(match[2] or match[1])


def find_quiet(bodies: tuple[Body, ...], up: Floats) -> Ints | None:
    """Frames of the first half second in which no body of a person turns and the trunk is upright; None: nowhere.

    Turns are taken over half and the whole of that time: over single frames they would be noise.
    """
    people = [body for body in bodies if body.human]
    if not people:
        return None
    figure = people[0].figure
    for part in segment_slices(figure.segment):
        frames = part.stop - part.start
        width = count_frames(QUIET_S / mean_step(figure.time[part]), frames) if frames > 1 else 0
        if width < 2 or frames <= width:
            continue
        starts = np.arange(part.start, part.stop - width, max(width // 4, 1))
        calm = np.ones(len(starts), bool)
        for body in people:
            lags = (0, width // 2, width)
            world = body.worlds(np.concatenate([starts + lag for lag in lags]))
            trunk = world[body.root][: len(starts)] @ figure.R_body_bone[body.root][:, 1]
            with np.errstate(invalid="ignore"):
                calm &= trunk @ up > UPRIGHT_MIN_COSINE
            for R in world.values():
                now, *later = np.split(R, len(lags))
                for lag, then in zip(lags[1:], later, strict=True):
                    turned = np.linalg.norm(rotation.between(now, then), axis=-1)
                    calm &= turned < QUIET_MAX_RAD_S * QUIET_S * lag / width
        if calm.any():
            first = int(starts[np.argmax(calm)])
            return np.arange(first, first + width + 1)
    return None


@dataclass(frozen=True, eq=False)
class Heading:
    """X of the room (n, 3), one direction a recording, and in words what it is."""

    X: Floats
    text: str


def find_heading(choice: str, facing: Floats, p: Floats, time: Floats, segment: Ints, up: Floats) -> Heading:
    """auto: travel where a person goes straight, else facing; travel, facing; or an axis of the world such as -y.

    Who turns about has no one facing: with auto it is then the mean over two seconds. Where nothing tells it, auto
    leaves it open (NaN).

    facing  (n, 3)      forward direction of the pelvis, or of what the person stands on
    p       (n, 3) [m]  its place
    """
    if choice not in ("auto", "travel", "facing", *UP_AXES):
        raise UsageError(
            f"the heading is auto, travel, facing, or an axis such as x or -y, not '{choice}'", code="bad-option"
        )
    X, used = np.empty((len(segment), 3)), []
    for rows in segment_slices(segment):
        mean = _level(np.nanmean(facing[rows], axis=0) if np.isfinite(facing[rows]).any() else np.zeros(3), up)
        way = _find_way(p[rows], up)
        one: Floats | None
        if choice in UP_AXES:
            one, word = _level(find_axis(choice), up), f"world {choice}"
        elif choice == "auto" and way is None and _turns_about(facing[rows], up):
            X[rows] = _follow_facing(facing[rows], time[rows], up)
            used.append(f"facing over {FACING_WINDOW_S:g} s")
            continue
        elif choice == "facing" or (choice == "auto" and way is None):
            one, word = mean, "facing"
        elif way is None:
            raise UsageError(
                f"nobody walks {TRAVEL_MIN_M:g} m straight on; choose --heading facing, or an axis", code="bad-option"
            )
        else:
            one, word = way if mean is None or way @ mean >= 0 else -way, "travel"
        if one is None and choice == "auto":  # the root was not worn, or lies: angles to the room are not known
            one, word = np.full(3, np.nan), HEADING_NOT_KNOWN
        if one is None:
            raise UsageError(
                "the heading is the axis that points up, or is not known; choose another", code="bad-option"
            )
        X[rows] = one
        used.append(word)
    return Heading(X, " and ".join(dict.fromkeys(used)))


def _turns_about(facing: Floats, up: Floats) -> bool:
    flat = facing[np.isfinite(facing).all(axis=1)]
    flat = flat - np.outer(flat @ up, up)
    length = np.linalg.norm(flat, axis=1, keepdims=True)
    flat = flat / np.maximum(length, 1e-12)
    return bool(len(flat)) and float(np.linalg.norm(flat.mean(axis=0))) < FACING_MIN_RESULTANT


def _follow_facing(facing: Floats, time: Floats, up: Floats) -> Floats:
    """(n, 3) unit, level: the mean of a window around each frame."""
    known = np.isfinite(facing).all(axis=1, keepdims=True)
    flat = np.where(known, facing - np.outer(np.nan_to_num(facing) @ up, up), 0.0)
    total = np.concatenate([np.zeros((1, 3)), np.cumsum(flat, axis=0)])
    place = np.arange(len(time))
    reach = max(count_frames(FACING_WINDOW_S / 2 / mean_step(time), len(time)), 1)
    half = np.minimum(reach, np.minimum(place, place[::-1]))
    mean = total[place + half + 1] - total[place - half]
    length = np.linalg.norm(mean, axis=1, keepdims=True)
    return np.where(length > 1e-9, mean / np.maximum(length, 1e-9), np.nan)


def _find_way(p: Floats, up: Floats) -> Floats | None:
    """Unit (3,) where a path leads, levelled, if it is long and straight enough."""
    p = p[np.isfinite(p).all(axis=1)]
    if len(p) < 3:
        return None
    middle = p[len(p) // 2]
    way, first, second = (one - up * (up @ one) for one in (p[-1] - p[0], middle - p[0], p[-1] - middle))
    if float(np.linalg.norm(way)) < TRAVEL_MIN_M:
        return None
    bend = np.arccos(np.clip(first @ second / max(float(np.linalg.norm(first) * np.linalg.norm(second)), 1e-12), -1, 1))
    return np.asarray(way / np.linalg.norm(way)) if bend < TRAVEL_MAX_BEND_RAD else None


def _level(v: Floats, up: Floats) -> Floats | None:
    flat = v - up * (up @ v)
    length = float(np.linalg.norm(flat))
    return np.asarray(flat / length) if length > 1e-3 else None
