"""Markers to bodies: every group of markers becomes one rigid body with a pose in every frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from ..errors import CondyleError, name_file
from ..findings import Finding, Severity, list_some
from ..io.bodies_file import check_groups
from ..maths.arrays import Bools, Floats, Ints, evenly
from ..maths.robust import robust_sd
from ..maths.spool import join_arrays, over_frames, seal, side_by_side
from ..model.recording import MATRIX, Bodies, PlacedMarker, Recording, axes_matrix, length_of, mirror_of
from ..model.take import CENTRE
from ..model.units import metres_per
from ..model.values import dataclass
from .marker_names import without_subject
from .marker_swaps import (
    MarkerCluster,
    MarkerSwap,
    describe_marker_swaps,
    exchange_back,
    find_marker_swaps,
    find_wrong_part,
    leave_out,
)
from .shapes import Shape, count_free, count_seen, extent, find_seen, fit_error, fit_poses, fit_shape, sum_squares

MISFIT_MIN_SD = 5.0  # robust standard deviations above the usual fit error at which a frame is doubted
MISFIT_MIN_TIMES = 4.0  # times the usual fit error at which a frame is doubted
MISFIT_MIN_SHARE = 0.05  # of the cluster's size at which it is doubted: skin moves as much, ghosts and swaps more
# Skin comes and goes within several frames, as at heel strikes and as feet roll over their toes, ghosts at once:
SUDDEN_MIN_SHARE = 0.5  # of the limit of doubt: a fit error that changes by less from a frame to the next may be skin
SKIN_MAX_TIMES = 2.0  # times the limit of doubt up to which such a fit error is skin
# Of 411 stretches of 77 recorded files 111 are so, for 0.24 s at most; the next lasts 0.55.
SKIN_MAX_S = 0.4  # s for which skin is beyond the limit of doubt
# A marker that is away for longer has come loose. Where all markers of a cluster move against each other, the skin
# under them is bent for as long as a joint is, and to leave that out would leave out the motion:
SOFT_MAX_STEP = 1.0  # of that limit, from a frame to the next as a stretch begins and ends: labels change by several
SOFT_MAX_SHARE = 0.6  # fit error over the cluster's size beyond which a pose says nothing of its bone
LOOSE_MIN_FITS_SHARE = 0.5  # of the frames fit without the same markers: recorded loose ones 0.96, simulated skin 0.3
LOOSE_MOST = 3  # markers of a cluster that may have come loose together
LOOSE_FRAMES = 60  # of a stretch that are looked at
# Left of how a body turns against another one without its soft frames: 0.01 to 0.27 where it moved in them alone (10 mm
# of marker skin, 2 seeds), 0.95 and more where it moved throughout (4 seeds; kept all the same, lengths were 13 % off).
SOFT_MAX_LEFT_SHARE = 0.5
SOFT_FRAMES = 20_000  # of a recording that are looked at for it
LOOSE_MIN_SHARE = 0.1  # usual fit error over the cluster's size above which the markers are no rigid cluster
NARROW_MAX_RATIO = 0.1  # width over length of a cluster below which its turn about the line is poorly known
MANY_MISFITS_SHARE = 0.005  # share of frames above which misfits are a warning


@dataclass(frozen=True, eq=False)
class _MarkerWorld:
    """A recording's markers in the world that its take will have, so that one shape serves all of them.

    position  (n, k, 3) right-handed, axes as the convention has them, in a unit common to all recordings
    factor    of that unit in the recording's own
    """

    recording: Recording
    position: Floats
    factor: float

    def bodies(self, names: tuple[str, ...], R: Floats, p: Floats) -> Bodies:
        """Poses (n, m, ...) of this world as the recording's convention writes them."""
        convention = self.recording.convention
        if convention.handed == "left":
            sign = mirror_of(convention)
            p, R = _over(p, np.multiply, sign), _over(R, np.multiply, np.outer(sign, sign))
        if self.factor != 1.0:
            p = _over(p, np.divide, self.factor)
        if convention.axes != ("x", "y", "z"):
            p = _over(p, np.matmul, axes_matrix(convention.axes))
        return Bodies(names, seal(p), seal(R.reshape(*R.shape[:2], 9)))


@dataclass(frozen=True, eq=False)
class _PosedCluster:
    """Poses of one body over all recordings' frames (N), with what was wrong in them.

    error     (N,)  root mean square distance of the seen markers from the shape; NaN without a pose
    misfit    (N,)  fit error of the frames that did not fit as they were; 0 elsewhere
    rescued   (N,)  those that did after markers were left out; the other misfits have no pose
    soft      (N,)  fit error of the frames in which all markers move against each other; 0 elsewhere
    """

    shape: Shape
    R: Floats
    p: Floats
    error: Floats
    misfit: Floats
    rescued: Bools
    soft: Floats


class _Look(NamedTuple):
    """Poses from all seen markers (N, k), their fit error (N,), and the one up to which a frame is not doubted."""

    use: Bools
    R: Floats
    p: Floats
    error: Floats
    limit: float

    @classmethod
    def at(cls, cloud: Floats, shape: Shape) -> _Look:
        use = find_seen(cloud) & shape.placed
        R, p = fit_poses(cloud, shape, use)
        error = fit_error(cloud, shape, R, p, use)
        usual, sd = (float(value) for value in robust_sd(error))
        limit = max(usual + MISFIT_MIN_SD * sd, MISFIT_MIN_TIMES * usual, MISFIT_MIN_SHARE * shape.size)
        return cls(use, R, p, error, limit)


def form_bodies(
    recordings: Sequence[Recording], groups: Mapping[str, Sequence[str]], *, fix_swaps: bool = False
) -> list[Recording]:
    """The same recordings with a body for each group of markers, {"pelvis": ["LASI", "RASI", "SACR"]}.

    A body has one shape and one set of axes in all recordings: its origin in the mean of its markers, x from its first
    marker towards its second, y towards the next that is off that line. Bodies that a file brought along are replaced.
    Markers that bear each other's labels for a stretch are told and left out there, or with `fix_swaps` exchanged back.
    """
    bodies = check_groups(groups)
    if not recordings:
        return []
    columns = [_columns(recording, bodies) for recording in recordings]
    for body, markers in bodies.items():
        for marker in markers:
            if not any(marker in found for found in columns):
                raise _unknown(recordings[0], marker, body)
    worlds = _worlds(recordings)
    told: list[list[Finding]] = [_absent(found, bodies) for found in columns]
    told[0] += _describe_shared(bodies)
    ends = np.cumsum([recording.frames for recording in recordings])
    clouds: dict[str, Floats] = {}
    shapes: dict[str, Shape] = {}
    for body, markers in bodies.items():
        there = zip(worlds, columns, strict=True)
        parts = [_pick(world.position, [found.get(name) for name in markers]) for world, found in there]
        cloud = parts[0] if len(parts) == 1 else join_arrays(parts)
        with name_file(", ".join(recording.source for recording in recordings)):
            shape, notes = _shape_of(body, markers, cloud)
        told[0] += notes
        clouds[body], shapes[body] = cloud, shape
    looks = {body: _Look.at(clouds[body], shapes[body]) for body in bodies}
    labelled = [
        MarkerCluster(body, tuple(markers), clouds[body], shapes[body], looks[body].error, looks[body].limit)
        for body, markers in bodies.items()
    ]
    recording = np.repeat(np.arange(len(recordings)), [one.frames for one in recordings])
    time = np.concatenate([np.full(one.frames, np.nan) if (t := _clock(one)) is None else t for one in recordings])
    found = find_marker_swaps(labelled)
    swaps = [find_wrong_part(swap, labelled, recording) for swap in found]
    if fix_swaps:
        shapes |= {one.bodies[0]: _relabel(shapes[one.bodies[0]], one) for one in swaps if not one.fewer}
    if swaps:
        clouds = exchange_back(clouds, swaps) if fix_swaps else leave_out(clouds, found)
        looks = {body: _Look.at(clouds[body], shapes[body]) for body in bodies}
    clusters = _pose_bodies(clouds, shapes, looks, recording, time)
    formed = []
    for k, (world, stop) in enumerate(zip(worlds, ends, strict=True)):
        rows = slice(int(stop) - world.recording.frames, int(stop))
        mine = [_part(cluster, rows) for cluster in clusters.values()]
        made = _with_bodies(world, bodies, mine)
        metres = length_of(made)[0] / world.factor
        told[k] += describe_marker_swaps(swaps, rows, _clock(made), fix_swaps)
        for body, part in zip(bodies, mine, strict=True):
            told[k] += _describe_fit_errors(body, part, metres, _clock(made))
        facts = {f"cluster {body}": _fact(part, metres) for body, part in zip(bodies, mine, strict=True)}
        formed.append(replace(made, facts={**made.facts, **facts}, findings=(*made.findings, *told[k])))
    return formed


def _with_bodies(
    world: _MarkerWorld, bodies: Mapping[str, Sequence[str]], formed: Sequence[_PosedCluster]
) -> Recording:
    """A recording with the bodies that were formed of its markers."""
    convention = world.recording.convention
    poses = side_by_side([one.R for one in formed]), side_by_side([one.p for one in formed])
    placed = tuple(
        PlacedMarker(body, marker, place / world.factor)
        for (body, markers), one in zip(bodies.items(), formed, strict=True)
        for marker, place in zip(markers, one.shape.points, strict=True)
        if np.isfinite(place).all()
    )
    # Axes are stated too: the rotations come from these very positions.
    stated = convention.stated | {"rotation", "transposed", "axes"}
    return replace(
        world.recording,
        bodies=world.bodies(tuple(bodies), *poses),
        convention=convention.but(rotation=MATRIX, transposed=False, stated=stated),
        solved_by=None,
        placed=placed,
    )


def _clock(recording: Recording) -> Floats | None:
    """(n,) [s] when the frames were recorded, by the file's time or by its rate."""
    if recording.time is None and recording.rate:
        return np.asarray(np.arange(recording.frames) / recording.rate)
    return recording.time


def match_marker(name: str, labels: Sequence[str]) -> int | None:
    """Column of a marker: its exact label, else the part after a subject's colon, else the same in any case.

    None where there is none; raises where two labels match equally well.
    """
    for same in (str, without_subject, lambda text: without_subject(text).casefold()):
        found = [k for k, label in enumerate(labels) if same(label.strip()) == same(name.strip())]
        if len(found) > 1:
            which = " and ".join(f"'{labels[k]}'" for k in found[:2])
            raise CondyleError(
                f"marker '{name}' may be {which}; name it with its subject as in the file", code="ambiguous-marker"
            )
        if found:
            return found[0]
    return None


def _columns(recording: Recording, bodies: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Column of every marker that the recording has."""
    if recording.markers is None:
        raise CondyleError(
            "has no markers to form bodies of; leave --bodies out", code="no-markers", path=recording.source
        )
    with name_file(recording.source):
        found = {name: match_marker(name, recording.markers.names) for markers in bodies.values() for name in markers}
    return {name: column for name, column in found.items() if column is not None}


def _unknown(recording: Recording, marker: str, body: str) -> CondyleError:
    import difflib

    assert recording.markers is not None
    labels = {without_subject(label).casefold(): label for label in recording.markers.names}
    near = difflib.get_close_matches(without_subject(marker).casefold(), list(labels), 3, 0.6)
    there = f"there are {list_some(recording.markers.names, 12)}"
    hint = f"near it are {', '.join(labels[name] for name in near)}" if near else there
    text = f"no marker '{marker}' for {body}; {hint}"
    if marker.endswith(CENTRE):
        text = (
            f"'{marker}' is no marker but a joint centre, and the names of the markers do not tell it; `condyle info` "
            f"lists those that they tell; give {body} three markers"
        )
    return CondyleError(text, code="unknown-marker", path=recording.source, body=body)


def _worlds(recordings: Sequence[Recording]) -> list[_MarkerWorld]:
    units = {recording.convention.unit for recording in recordings}
    worlds = []
    for recording in recordings:
        assert recording.markers is not None
        convention, factor = recording.convention, 1.0
        if len(units) > 1:
            factor = metres_per(convention.unit) if convention.unit is not None else length_of(recording)[0]
        position = recording.markers.position
        if convention.axes != ("x", "y", "z"):
            position = _over(position, np.matmul, axes_matrix(convention.axes).T)
        if convention.handed == "left":
            position = _over(position, np.multiply, mirror_of(convention))
        worlds.append(
            _MarkerWorld(recording, position if factor == 1.0 else _over(position, np.multiply, factor), factor)
        )
    return worlds


def _over(position: Floats, change: Callable[..., Floats], by: Floats | float) -> Floats:
    return over_frames(lambda part: change(part, by), position)


def _pick(position: Floats, columns: Sequence[int | None]) -> Floats:
    """(n, k, 3) of these columns; NaN for None."""
    known = [-1 if column is None else column for column in columns]
    cloud = over_frames(lambda part: np.take(part, known, axis=1), position)
    cloud[:, [column is None for column in columns]] = np.nan
    return cloud


def _shape_of(body: str, markers: Sequence[str], cloud: Floats) -> tuple[Shape, list[Finding]]:
    """The body's shape in its own axes, and what is to be said of it; raises where it has none."""
    shape, notes = fit_shape(cloud), []
    ever: Bools = np.asarray(find_seen(cloud).any(axis=0))
    lost = [name for name, placed in zip(markers, shape.placed, strict=True) if not placed]
    if shape.placed.sum() < 3:
        have = [name for name, seen in zip(markers, ever, strict=True) if seen]
        together = "" if len(have) < 3 else ", but never three of them together"
        raise CondyleError(
            f"needs three markers; of {', '.join(markers)} {len(have)} {'is' if len(have) == 1 else 'are'} "
            f"ever seen{together}; add markers of the same segment or leave the body out",
            code="few-markers",
            body=body,
        )
    if lost:
        verb = "is" if len(lost) == 1 else "are"
        text = f"{body}: {', '.join(lost)} {verb} never seen with enough others and {verb} left out of the body"
        notes.append(Finding("marker-missing", "warning", text, (body,), count=len(lost)))
    length, width = extent(shape.points[shape.placed])
    if not shape.is_observed(shape.placed) and shape.noise > LOOSE_MIN_SHARE * shape.size:
        raise CondyleError(
            f"its markers do not move as one rigid body (usual fit error {shape.noise / shape.size:.0%} of its size); "
            "check that they belong together",
            code="cluster-misfit",
            body=body,
        )
    if not shape.is_observed(shape.placed):
        raise CondyleError(
            f"its markers lie on a line ({width / max(length, 1e-300):.3f} as wide as long), and the turn about it "
            "cannot be seen; add a marker off the line or leave the body out",
            code="cluster-collinear",
            body=body,
        )
    if width < NARROW_MAX_RATIO * length:
        text = f"{body}: its markers lie nearly on a line, so the turn about it is poorly known; add one off the line"
        notes.append(Finding("cluster-collinear", "warning", text, (body,), value=width / length, unit="1"))
    return shape.turn(_axes(shape.points[shape.placed])), notes


def _relabel(shape: Shape, swap: MarkerSwap) -> Shape:
    """The shape with two of its markers under each other's labels."""
    points = shape.points.copy()
    points[list(swap.places)] = points[list(swap.places)[::-1]]
    return Shape(points, shape.noise).turn(_axes(points[shape.placed]))


def _axes(points: Floats) -> Floats:
    """Axes as columns: x from the first point to the first far from it, y towards the first far from that line."""
    away = points - points[0]
    far = np.linalg.norm(away, axis=1)
    x = away[int(np.argmax(far >= 0.5 * far.max()))]
    x = x / np.linalg.norm(x)
    aside = away - np.outer(away @ x, x)
    far = np.linalg.norm(aside, axis=1)
    y = aside[int(np.argmax(far >= 0.5 * far.max()))]
    y = y / np.linalg.norm(y)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _pose_bodies(
    clouds: Mapping[str, Floats], shapes: Mapping[str, Shape], looks: Mapping[str, _Look], recording: Ints, time: Floats
) -> dict[str, _PosedCluster]:
    """Poses of all bodies; frames in which all markers of one move are kept where they hold its motion."""
    off = {body: _find_outliers(clouds[body], shapes[body], look, recording, time) for body, look in looks.items()}
    posed = {body: _pose(clouds[body], shapes[body], look, *off[body]) for body, look in looks.items()}
    for body, (misfit, soft) in off.items():
        if soft.any() and not _hold_motion(posed[body], [one for name, one in posed.items() if name != body]):
            posed[body] = _pose(clouds[body], shapes[body], looks[body], misfit | soft, np.zeros_like(soft))
    return posed


def _pose(cloud: Floats, shape: Shape, look: _Look, off: Bools, bent: Bools) -> _PosedCluster:
    """Poses; where frames are off (n,), without the markers that spoil them, or none; bent ones (n,) stay."""
    use, R, p, error, limit = look
    misfit, soft = np.where(off, error, 0.0), np.where(bent, error, 0.0)
    rescued = np.zeros(len(cloud), dtype=bool)
    rows = np.flatnonzero(misfit)
    use = use.copy() if len(rows) else use
    for _ in range(cloud.shape[1] - 3):
        rows = rows[use[rows].sum(axis=1) > 3]
        if not len(rows):
            break
        worst = _worst(cloud[rows], shape, use[rows])
        use[rows, worst] = False
        R[rows], p[rows] = fit_poses(cloud[rows], shape, use[rows])
        fits = fit_error(cloud[rows], shape, R[rows], p[rows], use[rows]) <= limit
        rescued[rows[fits]] = True
        rows = rows[~fits]
    lost = (misfit > 0) & ~rescued
    R[lost], p[lost] = np.nan, np.nan
    seen = np.maximum(count_seen(use), 1)
    left = error * np.sqrt(count_free(use) / seen)
    again = np.flatnonzero(misfit)  # fitted to fewer markers, or to none
    left[again] = np.sqrt(sum_squares(cloud[again], shape, R[again], p[again], use[again]) / seen[again])
    return _PosedCluster(shape, R, p, np.where(np.isnan(p[:, 0]), np.nan, left), misfit, rescued, soft)


def _find_outliers(cloud: Floats, shape: Shape, look: _Look, recording: Ints, time: Floats) -> tuple[Bools, Bools]:
    """(n,) the frames whose fit error is above the limit, but for skin: it moves away and back little by little, with
    the same markers seen, never far and not for long. A marker that stays away has come loose; where all of them
    move against each other for longer, the frames (n,) are soft and keep their poses.

    recording, time   (n,), (n,) [s] of the frames; NaN where there is no time
    """
    use, error, limit = look.use, look.error, look.limit
    misfit = np.asarray(error > limit)
    soft = np.zeros(len(misfit), dtype=bool)
    changed = np.flatnonzero(misfit[1:] != misfit[:-1]) + 1
    for first, stop in pairwise(changed.tolist()):
        rows, ends = slice(first, stop), (first, stop)
        within = recording[first - 1] == recording[stop] and all((use[k] == use[k - 1]).all() for k in ends)
        if not misfit[first] or not within:
            continue
        step = max(abs(error[k] - error[k - 1]) for k in ends) / limit
        away, most = time[stop] - time[first - 1], error[rows].max()
        if away <= SKIN_MAX_S:
            misfit[rows] = not (step < SUDDEN_MIN_SHARE and most <= SKIN_MAX_TIMES * limit)
        elif away > SKIN_MAX_S and step < SOFT_MAX_STEP and most <= SOFT_MAX_SHARE * shape.size:
            soft[rows] = not _are_loose(cloud[rows], shape, use[rows], limit)
    return misfit & ~soft, soft


def _are_loose(cloud: Floats, shape: Shape, use: Bools, limit: float) -> bool:
    """Whether many frames of a stretch fit without the same few markers, or too few are seen to tell."""
    spare = int(use.sum(axis=1).min()) - 3
    rows = evenly(len(cloud), LOOSE_FRAMES)
    cloud, use = cloud[rows], use[rows]
    for count in range(1, min(spare, LOOSE_MOST) + 1):
        for out in combinations(range(use.shape[1]), count):
            without = use.copy()
            without[:, out] = False
            error = fit_error(cloud, shape, *fit_poses(cloud, shape, without), without)
            if (error <= limit).mean() >= LOOSE_MIN_FITS_SHARE:
                return True
    return spare < 1


def _hold_motion(cluster: _PosedCluster, others: Sequence[_PosedCluster]) -> bool:
    """Whether the soft frames of a cluster hold most of how it turned against any of the others."""
    rows = evenly(len(cluster.R), SOFT_FRAMES)
    R, plain = cluster.R[rows], cluster.soft[rows] == 0
    for other in others:
        both = np.isfinite(cluster.error[rows]) & np.isfinite(other.error[rows]) & (other.soft[rows] == 0)
        if not (both & plain).any() or not (both & ~plain).any():
            continue
        turn = np.swapaxes(R, 1, 2) @ other.R[rows]
        left, whole = (3 - float(np.square(turn[here].mean(axis=0)).sum()) for here in (both & plain, both))
        if left < SOFT_MAX_LEFT_SHARE * whole:
            return True
    return False


def _worst(cloud: Floats, shape: Shape, use: Bools) -> Ints:
    """(n,) the marker without which each frame fits best."""
    errors = np.full(use.shape, np.inf)
    for k in range(use.shape[1]):
        without = use.copy()
        without[:, k] = False
        error = fit_error(cloud, shape, *fit_poses(cloud, shape, without), without)
        errors[:, k] = np.where(use[:, k] & np.isfinite(error), error, np.inf)
    return np.asarray(np.argmin(errors, axis=1), dtype=np.int64)


def _part(cluster: _PosedCluster, rows: slice) -> _PosedCluster:
    return _PosedCluster(
        cluster.shape,
        cluster.R[rows],
        cluster.p[rows],
        cluster.error[rows],
        cluster.misfit[rows],
        cluster.rescued[rows],
        cluster.soft[rows],
    )


def _fact(part: _PosedCluster, metres: float) -> str:
    known = part.error[np.isfinite(part.error)]
    if not len(known):
        return f"{part.shape.placed.sum()} markers, no pose"
    size = 1000 * metres * float(np.sqrt((known**2).mean()))
    return f"{part.shape.placed.sum()} markers, fit {'below 0.001' if size < 0.001 else f'{size:.2g}'} mm rms"


def _describe_fit_errors(body: str, part: _PosedCluster, metres: float, time: Floats | None) -> list[Finding]:
    """Of a cluster whose markers do not move as one, or do not in some frames."""
    found = []
    if part.shape.noise > LOOSE_MIN_SHARE * part.shape.size:
        size = metres * part.shape.noise
        text = (
            f"{body}: its markers do not move as one rigid body (usual fit error {1000 * size:.0f} mm); "
            "check that they belong together"
        )
        found.append(Finding("cluster-misfit", "warning", text, (body,), value=size, unit="m"))
    rows = np.flatnonzero(part.soft)
    if len(rows):
        worst = metres * float(part.soft.max())
        text = (
            f"{body}: in {len(rows)} of {len(part.soft)} frames all its markers move against each other, by up to "
            f"{1000 * worst:.0f} mm (soft skin or straps); its poses are poor there, and kept"
        )
        found.append(_make_finding(body, text, rows, worst, time, len(part.soft)))
    rows = np.flatnonzero(part.misfit)
    if len(rows):
        worst, saved = metres * float(part.misfit.max()), int(part.rescued.sum())
        lost = len(rows) - saved
        done = [f"{saved} fit without the worst markers"] if saved else []
        done += [f"{lost} left out"] if lost else []
        text = (
            f"{body}: in {len(rows)} of {len(part.misfit)} frames its markers are off their cluster's shape by up to "
            f"{1000 * worst:.0f} mm (swapped, ghost or touched markers); {', '.join(done)}"
        )
        found.append(_make_finding(body, text, rows, worst, time, len(part.misfit)))
    return found


def _make_finding(body: str, text: str, rows: Ints, worst: float, time: Floats | None, frames: int) -> Finding:
    severity: Severity = "warning" if len(rows) > MANY_MISFITS_SHARE * frames else "info"
    span = None
    if time is not None and np.isfinite(time[rows[[0, -1]]]).all():
        span = (float(time[rows[0]]), float(time[rows[-1]]))
    return Finding("cluster-misfit", severity, text, (body,), span, worst, "m", int(rows[0]), len(rows))


def _absent(found: Mapping[str, int], bodies: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Markers that this recording lacks altogether, though another has them."""
    notes = []
    for body, markers in bodies.items():
        lost = [name for name in markers if name not in found]
        if lost:
            text = f"{body}: this file has no marker {', '.join(lost)}; its poses come from the others"
            notes.append(Finding("marker-missing", "warning", text, (body,), count=len(lost)))
    return notes


def _describe_shared(bodies: Mapping[str, Sequence[str]]) -> list[Finding]:
    """Markers that stand in two bodies."""
    owners: dict[str, list[str]] = {}
    for body, markers in bodies.items():
        for marker in markers:
            owners.setdefault(marker, []).append(body)
    notes = []
    for marker, names in owners.items():
        if len(names) > 1:
            text = (
                f"marker {marker} is in {' and '.join(names)}: their errors are then alike, "
                "and a joint between them is drawn towards it; give it to one of them"
            )
            notes.append(Finding("shared-marker", "warning", text, tuple(names)))
    return notes
