"""Sensors that report orientation only: whether joints turn as they are held, and how well a figure tells places."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..findings import Finding, Severity, mm
from ..maths import rotation
from ..maths.arrays import Bools, Floats, evenly_seen, measure_rms
from ..maths.robust import Z95
from ..maths.spool import over_frames
from ..model.skeleton import Joint, Skeleton
from ..model.take import Take
from .tasks import GUESS_SIGMA_RAD

HELD = ("hinge", "rigid")  # kinds that hold a joint to what it did at the calibration
# Of the distance of two sensors: standard deviation of a centre along an axis that leaves it open; chosen with the
# recordings of benchmarks/solving.py in view.
ALONG_SHARE = 0.5
ASKED_FRAMES = 1000  # of a take, whose rotations are looked at
PLACE_WIDE_M = 0.05  # m, from which on the interval of a place is a warning: skin alone leaves 10 to 30 mm


def choose_turns(take: Take, turns: Floats | None) -> Floats:
    """(f, m, 3, 3) rotations of bodies with a position or without, in some frames of a take."""
    known = take.seen if turns is None else over_frames(_find_turning, take.seen, turns)
    rows = evenly_seen(known, ASKED_FRAMES)
    R = take.R_world_body[rows]
    return R if turns is None else np.where(take.seen[rows][..., None, None], R, turns[rows])


def _find_turning(seen: Bools, turns: Floats) -> Bools:
    """(n, m) bodies with a rotation."""
    return seen | np.isfinite(turns[..., 0, 0])


def measure_parting(skeleton: Skeleton, R: Floats, reference: Floats | None = None) -> Floats:
    """(J, f) [rad] by how much rotations (f, m, 3, 3) part what a joint had in common for its two bodies at the
    calibration: its axis, or without one its rotation. 0 for joints that are known to turn freely; NaN: not told.
    """
    parted = np.zeros((len(skeleton.joints), len(R)))
    for k, joint in enumerate(skeleton.joints):
        child, parent = skeleton.columns(joint)
        if joint.axis_child is not None and joint.axis_parent is not None:
            cosine = np.sum((R[:, child] @ joint.axis_child) * (R[:, parent] @ joint.axis_parent), axis=-1)
            parted[k] = np.arccos(np.clip(cosine, -1.0, 1.0))
        elif joint.kind in ("rigid", "undetermined"):
            usual = np.full((3, 3), np.nan) if reference is None else reference[child]
            parted[k] = rotation.angle(np.swapaxes(R[:, parent] @ usual, -1, -2) @ R[:, child])
        if joint.kind == "universal":  # its axes are two
            parted[k] = 0.0
    return parted


def measure_place_errors(figure: Skeleton, R: Floats, parted: Floats, placed: Bools) -> Floats:
    """(m,) [m] standard deviation of each body's distance from where the figure puts it by rotations and the nearest of
    the bodies `placed` (m,); inf where none hangs together with it.

    At every joint between them adds up what it came apart by at the calibration and what its centre is known to. Bodies
    that a joint holds to its axis are turned by what `measure_parting` tells, those without a sensor stand as they did
    as a rule; where a joint is free to part, the place along its axis was never told.
    """
    apart = np.nan_to_num(measure_rms(parted.T)).tolist()
    turn = np.where(np.isfinite(R).any(axis=(0, 2, 3)), 0.0, GUESS_SIGMA_RAD)
    for joint, angle in zip(figure.joints, apart, strict=True):
        if joint.kind in HELD:
            both = list(figure.columns(joint))
            turn[both] = np.maximum(turn[both], angle)
    found = np.where(placed, 0.0, np.inf)
    steps = [
        (*figure.columns(joint), _measure_step(figure, joint, R, turn, angle))
        for joint, angle in zip(figure.joints, apart, strict=True)
    ]
    for _ in steps:  # as far as the longest chain
        for child, parent, square in steps:
            found[child] = min(found[child], found[parent] + square)
            found[parent] = min(found[parent], found[child] + square)
    return np.asarray(np.sqrt(found))


def _measure_step(figure: Skeleton, joint: Joint, R: Floats, turn: Floats, apart: float) -> float:
    """[m^2] mean square error of a body's place from its neighbour's, over one joint."""
    levers = np.array([np.linalg.norm(half) for half in (joint.p_child_joint, joint.p_parent_joint)])
    along = 0.0 if joint.kind in HELD else ALONG_SHARE * float(levers.sum()) * apart
    turned = levers * turn[list(figure.columns(joint))]
    centre = _measure_centre(figure, joint, R)
    return joint.residual**2 + (joint.travel or 0.0) ** 2 + centre + along**2 + float(turned @ turned)


def describe_unplaced(names: Sequence[str], errors: Floats, turned: Bools, placed: Bools) -> list[Finding]:
    """What to say of sensors that never have a position, those whose place is known well and the others; (m,) of each
    body. Of figures without any position their missing poses say enough.
    """
    wide = Z95 * errors
    findings = []
    for far in (True, False):
        those = np.flatnonzero(turned & ~placed & np.isfinite(wide) & ((wide > PLACE_WIDE_M) == far))
        if not len(those):
            continue
        bodies = tuple(names[int(k)] for k in those)
        first, last = (int(those[choose(wide[those])]) for choose in (np.argmin, np.argmax))
        within = f"{mm(wide[last])} mm"
        if first != last:
            within = f"{mm(wide[first])} mm ({names[first]}) to {within} ({names[last]})"
        text = (
            f"{', '.join(bodies)} report{'s' if len(those) == 1 else ''} orientation only; the figure and the other "
            f"sensors tell where, within {within} (95 %)"
        )
        if far:
            text += ": wear every sensor on the way, and move every joint there about all its axes at the calibration"
        severity: Severity = "warning" if far else "info"
        findings.append(Finding("orientation-only", severity, text, bodies, None, float(wide[last]), "m"))
    return findings


def _measure_centre(skeleton: Skeleton, joint: Joint, R: Floats) -> float:
    """[m^2] mean square distance between the two bodies' places of a centre, by its covariance, at these rotations."""
    if joint.covariance is None:
        return 0.0
    child, parent = skeleton.columns(joint)
    turn = np.swapaxes(R[:, parent], -1, -2) @ R[:, child]
    turn = turn[np.isfinite(turn).all(axis=(-2, -1))]
    mean = turn.mean(axis=0) if len(turn) else np.eye(3)
    V = joint.covariance
    return max(float(np.trace(V) - 2 * np.trace(mean @ V[:3, 3:])), 0.0)
