"""Anatomical frames from palpated points or markers, where the user names them: ISB's definitions.

pelvis            ras, las, rps, lps: iliac spines, front and back
thigh, upper_arm  lateral, medial: epicondyles
shank, forearm    lateral, medial: malleoli; styloids (ulnar is medial)
foot              heel, toe: calcaneus and the second metatarsal's head
thorax            c7, ij, t8, px
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import UsageError
from ..maths.arrays import Floats
from ..model.anatomy import Part
from ..model.angles import Landmarks, SegmentFrame
from .person import Body

LANDMARKS: dict[Part, tuple[str, ...]] = {
    "pelvis": ("ras", "las", "rps", "lps"),
    "chest": ("c7", "ij", "t8", "px"),
    "thigh": ("lateral", "medial"),
    "shank": ("lateral", "medial"),
    "upper_arm": ("lateral", "medial"),
    "forearm": ("lateral", "medial"),
    "foot": ("heel", "toe"),
}
LANDMARK_MAX_M = 2.0  # m from the sensor of its body: a person's whole height
DIRECTION_MIN_M, DIRECTION_MIN_SINE = 1e-3, 1e-2  # between landmarks, and between two directions of a frame


def check_landmarks(bodies: Sequence[Body], landmarks: Mapping[str, Landmarks]) -> None:
    """Raises where a segment is not there, or its landmarks are not those of its kind."""
    parts = {body.name(k): body.part(k) for body in bodies for k in body.bones if body.part(k) in LANDMARKS}
    for segment, points in landmarks.items():
        part = parts.get(segment)
        if part is None:
            choices = ", ".join(parts) or "none"
            raise UsageError(f"no segment '{segment}' that takes landmarks; there are {choices}", code="bad-landmarks")
        wanted = LANDMARKS[part]
        if set(points) != set(wanted):
            raise UsageError(
                f"'{segment}' needs the landmarks {', '.join(wanted)}, not {', '.join(points) or 'none'}",
                code="bad-landmarks",
            )


def frame_from_landmarks(body: Body, k: int, points: Landmarks, fallback: SegmentFrame) -> SegmentFrame:
    """The frame of a segment by its landmarks; joint centres of the figure where a definition needs one."""
    part, side, segment = body.segments[k].part, body.segments[k].side, body.name(k)
    at = {name: _find_point(body, k, name, place) for name, place in points.items()}
    if part == "pelvis":
        Z = at["ras"] - at["las"]
        A = _axes(segment, z=Z, x=(at["ras"] + at["las"]) / 2 - (at["rps"] + at["lps"]) / 2)
    elif part == "chest":
        top, bottom = (at["c7"] + at["ij"]) / 2, (at["t8"] + at["px"]) / 2
        A = _axes(segment, y=top - bottom, x=(at["ij"] + at["px"]) / 2 - (at["c7"] + at["t8"]) / 2)
    elif part == "foot":
        A = _axes(segment, x=at["toe"] - at["heel"], z=fallback.R_body_anat[:, 2])
    else:
        across = (at["lateral"] - at["medial"]) * (-1 if side == "l" else 1)
        middle = (at["lateral"] + at["medial"]) / 2
        A = _axes(segment, y=body.end(k, k).p - middle, z=across)
    words = ", ".join(f"{name} {place if isinstance(place, str) else 'palpated'}" for name, place in points.items())
    return replace(fallback, R_body_anat=A, sd=np.full(3, np.nan), source="landmarks", made=f"landmarks: {words}")


def _find_point(body: Body, k: int, name: str, place: str | Sequence[float]) -> Floats:
    """(3,) [m] in the body's frame."""
    if not isinstance(place, str):
        try:
            point = np.asarray(place, np.float64)
        except (OverflowError, TypeError, ValueError):  # an integer of hundreds of digits, a list in a list
            point = np.empty(0)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise UsageError(
                f"landmark '{name}' of '{body.name(k)}' is a marker's name or three numbers [m]", code="bad-landmarks"
            )
        if (away := np.abs(point).max()) > LANDMARK_MAX_M:
            text = f"landmark '{name}' of '{body.name(k)}' is {away:.3g} m from its sensor; write it in metres"
            raise UsageError(text, code="bad-landmarks")
        return point
    own = {one.name: one.p_body_marker for one in body.skeleton.markers if one.body == body.body(k)}
    if place not in own:
        raise UsageError(
            f"no marker '{place}' on '{body.body(k)}' for the landmark '{name}' of '{body.name(k)}'; it has "
            f"{', '.join(own) or 'none'}",
            code="bad-landmarks",
        )
    return own[place]


def _axes(segment: str, /, **directions: Floats) -> Floats:
    """(3, 3): the first direction [m] exactly, the second as near as that leaves it; raises where it leaves none."""
    if min(float(np.linalg.norm(value)) for value in directions.values()) < DIRECTION_MIN_M:
        raise UsageError(f"two landmarks of '{segment}' are at one place; check them", code="bad-landmarks")
    (first, a), (second, b) = ((name, value / np.linalg.norm(value)) for name, value in directions.items())
    i, j = "xyz".index(first), "xyz".index(second)
    b = b - a * (a @ b)
    if np.linalg.norm(b) < DIRECTION_MIN_SINE:
        raise UsageError(f"the landmarks of '{segment}' are in one line; check them", code="bad-landmarks")
    found = np.empty((3, 3))
    found[:, i], found[:, j] = a, b / np.linalg.norm(b)
    found[:, 3 - i - j] = np.cross(found[:, i], found[:, j]) * (1 if (j - i) % 3 == 1 else -1)
    return found
