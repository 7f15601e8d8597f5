"""Centres of joints as third points of segments that bear two markers of their own.

Two markers leave the turn about their line open. As gait laboratories do, the centre of the joint above, a point of the
neighbour, makes them a body: the thigh of Plug-in Gait is hip centre, THI, KNE. Hips and shoulders are where the two
markers keep their distances (a sphere each), held by what is known beforehand: widths of the pelvis, the marker at the
shoulder. Other joints lie half their width inwards of the marker at them. Such a joint does not come apart by
construction, so its residual tells nothing; what it may be off by is carried on as a covariance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..errors import CondyleError
from ..maths.arrays import Floats
from ..maths.robust import median
from ..maths.spool import over_frames, seal
from ..model.anatomy import Side
from ..model.recording import Markers, PlacedMarker, Recording, length_of
from ..model.take import CENTRE, BodyMarker, CarriedCentre
from ..model.values import dataclass
from .clusters import match_marker
from .marker_names import find_shared_prefix, spell, without_subject
from .shapes import Shape, fit_poses, fit_shape

ABOVE = {
    "thigh": ("pelvis", "hip"),
    "shank": ("thigh", "knee"),
    "foot": ("shank", "ankle"),
    "upper_arm": ("thorax", "shoulder"),
    "forearm": ("upper_arm", "elbow"),
    "hand": ("forearm", "wrist"),
}  # {segment: the one that carries the joint above it, and the joint}
SKIN_TO_CENTRE_M = {"knee": 0.055, "ankle": 0.042, "elbow": 0.042, "wrist": 0.03}  # half an adult's width and a marker
SKIN_TO_CENTRE_SD_M = 0.02  # of that: knees are 75 mm wide in children to 125, and its direction is 20 deg off
INWARDS_MAX_OFF_RAD = np.radians(20.0)  # that this allows for: what the axis of the joint is off beyond it is added
BENDING = ("knee", "elbow")  # joints that a limb goes across: a foot goes along the shank, and tells no direction
BENT_MIN_M = 0.03  # m rms that the markers below a joint go across the limb, from which on they tell which way it bends
BENT_MAX_SHARE = 0.5  # of what those markers go across the limb, to the side at most
AT_MARKER_SD_M = 0.06  # of a centre that is only known to lie near a marker at the joint
BETWEEN_MARKERS_SD_M = 0.015  # of one half-way between markers on both sides of the joint
NEAR_SPINES_SD_M = 0.015  # of a hip by Harrington's regression: 5 to 10 mm in images, and markers on skin
NEAR_WAIST_SD_M = 0.025  # of the same with markers at the waist in place of the iliac spines
NEAR_BODY_SD_M = 0.15  # of a joint beside a body of which nothing more is known
RADIUS_MIN_SD_M = 0.008  # of a marker on a thigh from the hip: skin slides by 5 to 20 mm, however smooth that looks
SKIN_SD_M = 0.01  # per axis: what skin that follows the joint's angle shifts a functional centre by
ALONE_SD_M = 0.04  # per axis, of a hip by the motion alone: a walk hardly tells it across, and skin tells it wrong
SHOULDER_SD_M = 0.03  # per axis, of a shoulder in the thorax: it goes up and forward by 60 to 80 mm with the arm
CORRELATED_S = 0.3  # s: over which skin keeps its shift
COUNTED_MOST = 10.0  # moments that count: the shift of skin repeats with every stride
ROLL_MAX_SD_RAD = 0.5  # of a completed segment's turn about its long axis, above which it is left out
CENTRE_MAX_SD_M = 0.07  # of a centre in its worst direction, above which the segment is left out; a shoulder has 0.067
ACROSS_MIN_M = 0.02  # m: of a point off the line of a limb, from which it tells a direction
FRAMES_MIN = 10  # frames in which the neighbour and both markers are seen
INFORMATION_MIN_SHARE = 0.1  # of what was known of a centre: what the motion tells of it, from which on it is mentioned
SWEEPS = 30  # of a fit to a sphere, at most; ten are usual
FRONT, BACK = ("asi", "asis", "ias"), ("psi", "psis", "ips", "sacr", "sacrum", "sacral", "vsacral", "sac", "s1", "s2")
WAIST_FRONT, WAIST_BACK = ("fwt", "waistfront"), ("bwt", "mwt", "waistback", "waistcback")


class UncertainPoint(NamedTuple):
    """A point (3,) [m] and its covariance (3, 3) [m^2]; `made` says what it rests on."""

    p: Floats
    covariance: Floats
    made: str


@dataclass(frozen=True, eq=False)
class JointCentre:
    """The centre of a joint as a point of the body above it.

    name        as a marker's: l_knee_centre
    body        the segment that it completes; parent: the body that carries it
    markers     of the parent, with their places (k, 3) [m] in axes of their own
    p           (3,) [m] the centre in these axes, and its covariance (3, 3) [m^2]
    made        what it rests on, for people
    lever  [m]  distance of the segment's marker that tells its turn from the line of the two other points
    """

    name: str
    body: str
    parent: str
    markers: tuple[str, ...]
    places: Floats
    p: Floats
    covariance: Floats
    made: str
    lever: float = np.nan

    @property
    def roll_sd(self) -> float:
        """[rad] of the segment's turn about its long axis, from moment to moment."""
        return SKIN_SD_M / max(self.lever, SKIN_SD_M)

    @property
    def sd(self) -> float:
        """[m] in its worst direction."""
        return float(np.sqrt(np.linalg.eigvalsh(self.covariance)[-1]))

    def carry(self, cloud: Floats) -> Floats:
        """(n, 3) the centre in the world, from the parent's markers (n, k, 3) [m]; NaN where it has no pose."""
        R, p = fit_poses(cloud, Shape(self.places))
        return np.asarray(p + R @ self.p)


@dataclass(frozen=True, eq=False)
class Near:
    """What is seen of a joint, n frames, in metres; NaN where a marker is not seen.

    above   (n, k, 3)  markers of the body above it, called `markers`
    below   (n, 2, 3)  markers of the segment below it
    at      (n, j, 3)  markers at the joint, and other (n, j, 3) those at its counterpart on the other side; both of a
                       joint that has no markers are empty
    """

    markers: tuple[str, ...]
    above: Floats
    below: Floats
    at: Floats
    other: Floats


def add_centres(recording: Recording, centres: Sequence[JointCentre]) -> Recording:
    """The recording with the centres among its markers."""
    assert recording.markers is not None
    metres = length_of(recording)[0]
    names, position = list(recording.markers.names), recording.markers.position
    for one in centres:
        found = [match_marker(label, names) for label in one.markers]
        there = [(k, column) for k, column in enumerate(found) if column is not None]
        places = Shape(one.places[[k for k, _ in there]])
        columns = [column for _, column in there]

        def extend(part: Floats, columns: list[int] = columns, shape: Shape = places, p: Floats = one.p) -> Floats:
            R, origin = fit_poses(part[:, columns] * metres, shape)
            return np.concatenate([part, ((origin + R @ p) / metres)[:, None]], axis=1)

        names, position = [*names, one.name], over_frames(extend, position)
    return replace(recording, markers=Markers(tuple(names), seal(position)))


def choose_centres(
    found: Sequence[JointCentre], groups: Mapping[str, Sequence[str]], recordings: Sequence[Recording]
) -> tuple[list[JointCentre], dict[str, tuple[str, ...]]]:
    """Those centres that bodies of a list name as points of theirs, each carried by the body of the list that has its
    markers; and the list with the labels of the recordings. A point that the recordings have is no such centre.
    """
    labels = tuple(dict.fromkeys(name for one in recordings if one.markers is not None for name in one.markers.names))

    def spell_as_there(name: str) -> str:
        column = match_marker(name, labels)
        return name if column is None else labels[column]

    own = {body: tuple(map(spell_as_there, markers)) for body, markers in groups.items()}
    chosen = []
    for centre in found:
        body = next((body for body, markers in own.items() if centre.name in markers and centre.name not in labels), "")
        if not body:
            continue
        shared = {other: len(set(centre.markers) & set(markers)) for other, markers in own.items() if other != body}
        parent = max(shared, key=lambda other: shared[other], default="")
        if shared.get(parent, 0) < 3:
            raise CondyleError(
                f"'{centre.name}' is a point of {centre.parent}; list a body with three of "
                f"{', '.join(centre.markers)}, or give {body} three markers",
                code="unknown-marker",
                path=recordings[0].source,
                body=body,
            )
        chosen.append(replace(centre, body=body, parent=parent))
    return chosen, own


def mark_centres(recording: Recording, centres: Sequence[JointCentre]) -> Recording:
    """The recording, whose bodies were formed with the centres, with what they are points of."""
    metres = length_of(recording)[0]
    mirror = _find_mirror(recording.convention.handed == "left")
    known = {(one.body, one.name): one for one in centres}
    at = {(one.body, one.marker): one.place * metres for one in recording.placed}

    def mark(one: PlacedMarker) -> PlacedMarker:
        centre = known.get((one.body, one.marker))
        if centre is None:
            return one
        both = [
            (at[centre.parent, label], place)
            for label, place in zip(centre.markers, centre.places, strict=True)
            if (centre.parent, label) in at
        ]
        if len(both) < 3:
            return one
        now, was = (np.stack(points) for points in zip(*both, strict=True))
        R, p = fit_poses(now[None], Shape(was * mirror))
        turned = R[0] * mirror
        carried = CarriedCentre(centre.parent, p[0] + turned @ centre.p, turned @ centre.covariance @ turned.T)
        return one._replace(carried=carried)

    return replace(recording, placed=tuple(map(mark, recording.placed)))


def recall_centres(known: Sequence[BodyMarker], mirrored: bool) -> list[JointCentre]:
    """The centres of a figure that is known, as it was calibrated, parents first, for a world that may be mirrored."""
    mirror = _find_mirror(mirrored)
    found = []
    for marker in known:
        own = marker.carried
        if own is not None:
            above = [one for one in known if one.body == own.body]
            if len(above) < 3:  # left out where the figure was calibrated
                continue
            places = np.stack([one.p_body_marker for one in above]) * mirror
            labels = tuple(one.name for one in above)
            place = own.p_body_centre * mirror, own.covariance * np.outer(mirror, mirror)
            found.append(JointCentre(marker.name, marker.body, own.body, labels, places, *place, "calibration"))
    return found


def _find_mirror(mirrored: bool) -> Floats:
    """Signs (3,) that make a shape of a left-handed world one of a right-handed one, up to a rotation, and back."""
    return np.array([-1.0 if mirrored else 1.0, 1.0, 1.0])


def find_centre(
    joint: str, side: Side, near: Near, names: tuple[str, str, str], seconds: float, mirrored: bool = False
) -> JointCentre | None:
    """The centre of the joint between a body and the two markers of the segment below it; None where nothing tells it.

    names     of the centre, of the segment it completes, and of the body above
    mirrored  the file's world is left-handed
    """
    shape = fit_shape(near.above)
    R, p = fit_poses(near.above, shape)
    seen = np.isfinite(p[:, 0]) & np.isfinite(near.below).all(axis=(1, 2))
    if seen.sum() < FRAMES_MIN:
        return None

    def see(points: Floats) -> Floats:
        return np.asarray((points[seen] - p[seen, None]) @ R[seen])

    at, other = (median(see(points), np.nan) for points in (near.at, near.other))
    at, other = (points[np.isfinite(points).all(axis=1)] for points in (at, other))
    count = min(max(seconds * float(seen.mean()) / CORRELATED_S, 1.0), COUNTED_MOST)
    if joint == "hip":
        before = _expect_hip(shape, near.markers, side, mirrored)
        alone = before.covariance[0, 0] >= NEAR_BODY_SD_M**2
        found = fit_sphere(see(near.below), before, count, ALONE_SD_M if alone else SKIN_SD_M)
    elif not len(at):
        return None
    elif joint == "shoulder":
        before = _near(at.mean(axis=0), AT_MARKER_SD_M, "marker at the shoulder")
        found = fit_sphere(see(near.below), before, count, SHOULDER_SD_M)
    elif len(at) > 1:
        found = _near(at.mean(axis=0), BETWEEN_MARKERS_SD_M, f"middle of the markers at the {joint}")
    else:
        up, inner = _find_inner(shape, near.markers, at[0], other)
        way = _find_way(see(near.below), up - at[0]) if joint in BENDING else None
        found = _shift_inwards(at[0], up, inner, joint, way)
    if not np.isfinite(found.covariance).all() or not np.isfinite(found.p).all():
        return None
    centre = JointCentre(*names, near.markers, shape.points, found.p, found.covariance, found.made)
    return centre if centre.sd <= CENTRE_MAX_SD_M else None


def fit_sphere(points: Floats, before: UncertainPoint, count: float, moves_sd: float = SKIN_SD_M) -> UncertainPoint:
    """The point from which each of the moving points (n, k, 3) [m] keeps its distance, held by what was known before.

    count     how many independent moments the frames are worth
    moves_sd  [m] per axis by which such a point moves with the angle, which no number of frames takes away
    """
    c, P = before.p, np.linalg.inv(before.covariance)
    N = np.zeros((3, 3))
    for _ in range(SWEEPS):
        away = points - c
        distance = np.linalg.norm(away, axis=2)
        off = distance - median(distance)
        sd = np.maximum(1.4826 * median(np.abs(off)), RADIUS_MIN_SD_M)  # of each point, in the middle of its errors
        weight = np.where(np.abs(off) < 4 * sd, count / len(points) / sd**2, 0.0)
        slope = away / np.maximum(distance, 1e-9)[..., None]
        slope = slope - slope.mean(axis=0)
        N = np.einsum("nk,nki,nkj->ij", weight, slope, slope)
        step = np.linalg.solve(N + P, np.einsum("nk,nki,nk->i", weight, slope, off) + P @ (before.p - c))
        c = c + step
        if float(np.linalg.norm(step)) < 1e-6:
            break
    tells = np.linalg.eigvalsh(N)[-1] > INFORMATION_MIN_SHARE * np.linalg.eigvalsh(P)[0]
    made = f"{before.made}, and motion" if tells else before.made
    return UncertainPoint(c, np.linalg.inv(N + P) + moves_sd**2 * np.eye(3), made)


def _near(p: Floats, sd: float, made: str) -> UncertainPoint:
    return UncertainPoint(p, sd**2 * np.eye(3), made)


def _find_inner(shape: Shape, markers: Sequence[str], marker: Floats, other: Floats) -> tuple[Floats, Floats]:
    """A point up the limb and one on the inner side of a marker at a joint, (3,) each in the body above.

    A body that was completed itself has a marker on the outer side, off the line from its own centre: Plug-in Gait's
    plane. Of others the counterpart on the other leg or arm is on the inner side.
    """
    centre = [k for k, label in enumerate(markers) if label.endswith(CENTRE)]
    if not centre:
        return np.nanmean(shape.points, axis=0), other.mean(axis=0) if len(other) else marker
    up = shape.points[centre[0]]
    far = np.linalg.norm(shape.points - marker, axis=1)
    far[centre] = 0.0
    outer = shape.points[int(np.nanargmax(far))]
    return up, 2 * marker - outer


def _find_way(points: Floats, along: Floats) -> Floats | None:
    """(3,) across a limb `along` (3,), where moving points (n, k, 3) [m] go most; None where they do not go one way."""
    off = (points - points.mean(axis=0)).reshape(-1, 3)
    off = off - np.outer(off @ along, along) / (along @ along)
    _, size, axes = np.linalg.svd(off / np.sqrt(len(points)), full_matrices=False)
    return np.asarray(axes[0]) if size[0] > BENT_MIN_M and size[1] < BENT_MAX_SHARE * size[0] else None


def _shift_inwards(marker: Floats, up: Floats, inner: Floats, joint: str, way: Floats | None) -> UncertainPoint:
    """From a marker on the outer side by half a joint's width inwards, across the limb.

    Motion tells less: these joints bend about one axis, and along it skin moves more than the centre would. But where
    the limb below goes another way (3,) than across the joint as the markers have it, one of the two is wrong.
    """
    inwards, along = inner - marker, up - marker
    inwards = inwards - along * (along @ inwards) / max(float(along @ along), 1e-12)
    width, far = SKIN_TO_CENTRE_M.get(joint), float(np.linalg.norm(inwards))
    if width is None or not far > ACROSS_MIN_M:
        return _near(marker, AT_MARKER_SD_M, f"marker at the {joint}")
    inwards, made = inwards / far, f"half the usual width of a person's {joint} inwards of its marker"
    found = _near(marker + width * inwards, SKIN_TO_CENTRE_SD_M, made)
    if way is None:
        return found
    across = np.cross(along / np.linalg.norm(along), inwards)
    off = float(np.arctan2(abs(way @ inwards), abs(way @ across)))
    if off <= INWARDS_MAX_OFF_RAD:
        return found
    covariance = found.covariance + (width * np.sin(off)) ** 2 * np.outer(across, across)
    told = f"{made}, of which the bending of the {joint} is {np.degrees(off):.0f} deg off"
    return UncertainPoint(found.p, covariance, told)


def _expect_hip(shape: Shape, markers: Sequence[str], side: Side, mirrored: bool) -> UncertainPoint:
    """Harrington 2007: in the pelvis from the distances of its iliac spines; else anywhere near the pelvis."""
    at: dict[tuple[str, str], list[Floats]] = {}
    waist, prefix = False, find_shared_prefix(markers)
    for label, point in zip(markers, shape.points, strict=True):
        for own, key in spell(without_subject(label).removeprefix(prefix)):
            where = "front" if key in (*FRONT, *WAIST_FRONT) else "back" if key in (*BACK, *WAIST_BACK) else ""
            if where and np.isfinite(point).all():
                waist |= key in (*WAIST_FRONT, *WAIST_BACK)
                at.setdefault((where, own if where == "front" else ""), []).append(point)
                break
    left, right, back = (at.get(key) for key in (("front", "l"), ("front", "r"), ("back", "")))
    if not (left and right and back):
        middle = np.nanmean(shape.points, axis=0)
        return _near(middle, NEAR_BODY_SD_M, "anywhere near the pelvis")
    width, front = right[0] - left[0], (right[0] + left[0]) / 2
    depth = front - np.mean(back, axis=0)
    Z = width / np.linalg.norm(width)
    X = depth - Z * (Z @ depth)
    X = X / np.linalg.norm(X)
    Y = np.cross(Z, X) * (-1 if mirrored else 1)
    PW, PD = float(np.linalg.norm(width)), float(np.linalg.norm(depth))
    aside = (0.33 * PW + 0.0073) * (-1 if side == "l" else 1)
    p = front + X * (-0.24 * PD - 0.0099) + Y * (-0.30 * PW - 0.0109) + Z * aside
    what = "waist markers" if waist else "iliac spines"
    return _near(p, NEAR_WAIST_SD_M if waist else NEAR_SPINES_SD_M, f"Harrington's regression from {what}")
