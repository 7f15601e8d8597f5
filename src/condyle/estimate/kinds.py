"""What kind of joint a pair is, and whether its point is determined: two separate answers, both against the noise.

A relative rotation with variances v_1 >= v_2 >= v_3 about its own axes leaves 1 - s_k = (sum of v - v_k) / 2 in the
singular values s_k of the mean relative rotation; orientation noise of the two sensors adds s_i^2 + s_j^2 to each.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, evenly_seen
from ..maths.robust import median
from ..model.skeleton import Kind, Point
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.fits import PairFits, fit_pairs
from ..pairs.noise import Noise
from ..pairs.sums import PairSums

HINGE_RATIO = 0.12  # off-axis over main-axis rotation; built hinges have 0.01 to 0.07, two-axis joints over 0.5
OPEN_HINGE_RATIO = 0.25  # the same, where the motion leaves the point along the axis open anyway
OPEN_ERROR_SHARE = (
    0.1  # standard error along a direction, as a share of the sensors' distance, above which the point is open there
)
# Residual over drift in the room: a pair that fits no better than two bodies at rest. [by trees, people]
REST_RESIDUAL_RATIO = 0.9
LEVER_MIN_RATIO = (
    3.0  # lever motion (rotation times sensors' distance) over residual below which a low residual proves nothing
)
RIGID_RATIO = 0.05  # relative rotation over rotation in the world, below which two moving bodies are one
RIGID_NOISE_RATIO = 3.0  # times the noise of both sensors, above which rotation about one axis is a joint's
RIGID_GIVE_RAD = np.radians(
    1.5
)  # rotation that mounts give and bent fields feign, above which it is a joint's; none of people is known below 2 deg
TURN_NOISE_SHARE = 0.25  # share of the noise's own rotation that must be exceeded before a pair turns at all
INDEPENDENT_SAMPLES_HZ = 2.0  # independent samples per second of motion
WORLD_RANK_RATIO = 1.6e-5  # of singular values: a body that turns less in the room has no point that moves least
ELSEWHERE_MIN_SE = 3.0  # standard errors by which a point is elsewhere; chosen: none of tests/goldens depends on it
LARGE_RESIDUAL_NOISE_RATIO = 3.0  # residual over what the noise explains, from which on it is large
LARGE_RESIDUAL_SHARE = 0.03  # residual over the sensors' distance, from which on it is large
GLANCE_FRAMES = 1000  # frames that tell how a body turns in the room


@dataclass(frozen=True, eq=False)
class PairMotion:
    """How P pairs of bodies turn against each other, with the noise taken off.

    apart     (P,)    [m]    rms distance between the two sensors
    size      (P,)    [m]    the same, or the way from one to the other by the joint where that is longer
    seconds   (P,)    [s]    time for which both are seen; inf where frames have no time
    spread    (P, 3)  [-]    half mean square rotation that moves each axis, noise removed, ascending
    main      (P,)    [rad]  rms rotation about the axis turned about most
    lever     (P,)    [-]    main rotation times size, over the residual
    error     (P, 3)  [m]    standard error of the centre along each axis of the fit; inf where nothing is known. White
                             noise alone gives it before the joints are solved, the intervals give it after
    turns     (P,)           whether the pair turns above its noise
    """

    apart: Floats
    size: Floats
    seconds: Floats
    spread: Floats
    main: Floats
    lever: Floats
    error: Floats
    turns: Bools

    @cached_property
    def open(self) -> Bools:
        """(P, 3) directions of the fit's axes along which the motion does not place the centre."""
        return np.asarray(self.error > OPEN_ERROR_SHARE * self.size[:, None])


def measure_motion(take: Take, sums: PairSums, fits: PairFits, noise: Noise, scale: Floats | None = None) -> PairMotion:
    """How each fitted pair turns; `scale` (P,) [m] is the per-axis size of its gaps, from the residual by default.

    sums   of all pairs of bodies, or those of the P pairs themselves
    """
    i, j = fits.pairs.T
    floor = (noise.orientation[i] ** 2 + noise.orientation[j] ** 2)[:, None]
    spread = np.maximum(fits.spread - floor, 0.0)
    square = sums.dd if sums.dd.ndim == 1 else sums.dd[i, j]
    apart = np.sqrt(square / np.maximum(fits.frames, 1))
    size = np.maximum(apart, fits.reach)
    if len(size):  # sensors that sit on one point still belong to a figure of some size
        size = np.maximum(size, 0.3 * median(size))
    seconds = take.seconds * fits.frames / max(take.frames, 1) if take.timed else np.full(len(size), np.inf)
    samples = np.minimum(np.maximum(fits.frames, 1), np.maximum(INDEPENDENT_SAMPLES_HZ * seconds, 1.0))
    main = np.sqrt(np.maximum(spread[:, 1] + spread[:, 2] - spread[:, 0], 0.0))
    per_axis = fits.residual / np.sqrt(3) if scale is None else scale
    # White noise is new in every frame; what a gap has beyond it comes and goes with the motion.
    white = np.minimum(noise.gap_variance(*fits.joints), per_axis**2)
    mean_square = white / np.maximum(fits.frames, 1) + (per_axis**2 - white) / samples
    known = fits.determined
    # Spread that the noise explains is no knowledge, but data without noise are known by rank alone.
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(mean_square[:, None] / spread)
        error = np.where(known & (spread > 0), np.nan_to_num(error, nan=0.0), np.inf)
        lever = np.where(fits.residual > 0, main * size / fits.residual, np.inf)
    turns = known[:, 1] & (spread[:, 1] > TURN_NOISE_SHARE * floor[:, 0])
    return PairMotion(apart, size, seconds, spread, main, np.where(turns, lever, 0.0), error, turns)


def measure_world_motion(take: Take, noise: Noise, good: Bools | None = None) -> tuple[Floats, Floats]:
    """Rotation (m,) [rad] of each body in the world with the noise taken off, and the rms distance (m,) [m] by which
    its best fixed point moves: what a body at rest, or turning about a point of the room, has little of.

    good   (n, m) poses to trust; all that are seen by default
    """
    rows = evenly_seen(take.seen, GLANCE_FRAMES)
    trusted = (take.seen if good is None else good & take.seen)[rows]
    seen = trusted[..., None].astype(np.float64)
    count = np.maximum(seen.sum(axis=0), 1.0)  # (m, 1)
    R, p = take.R_world_body[rows], take.p_world_body[rows]
    if not trusted.all():
        R, p = np.where(trusted[..., None, None], R, 0.0), np.where(trusted[..., None], p, 0.0)
    p = (p - p.sum(axis=0) / count) * seen
    # The room is a body at rest, in the middle of where this one was.
    b_child = -(p.transpose(1, 0, 2).reshape(take.bodies, 1, -1) @ R.transpose(1, 0, 2, 3).reshape(take.bodies, -1, 3))
    b_child, dd = b_child[:, 0], np.square(p).sum(axis=(0, 2))
    sums = PairSums(count[:, 0], np.swapaxes(R.sum(axis=0), 1, 2), b_child, np.zeros_like(b_child), dd)
    fits = fit_pairs(sums, np.stack([np.arange(take.bodies), np.full(take.bodies, -1)], axis=1), WORLD_RANK_RATIO)
    turn = np.sqrt(np.maximum(fits.spread.sum(axis=1) - 3 * noise.orientation**2, 0.0))
    few = count[:, 0] < 3
    turn = np.where(turn > 1e-6, turn, 0.0)  # rad; less is rounding
    return np.where(few, 0.0, turn), np.where(few, 0.0, fits.residual)


def find_rigid(fits: PairFits, motion: PairMotion, noise: Noise, world_turn: Floats) -> Bools:
    """(P,) pairs on one body: both turn in the room, by world_turn (m,) [rad], and not against each other."""
    i, j = fits.pairs.T
    total = np.sqrt(motion.spread.sum(axis=1))
    least = np.minimum(world_turn[i], world_turn[j])
    loud = np.hypot(noise.orientation[i], noise.orientation[j])
    well_above = RIGID_NOISE_RATIO * loud
    one_axis = motion.turns & (motion.main > well_above) & (_off_axis_ratio(motion) < HINGE_RATIO) & ~motion.open[:, 1]
    give = np.minimum(RIGID_RATIO * least, np.maximum(RIGID_GIVE_RAD, well_above))
    still = ((total <= give) & ~one_axis) | ~motion.turns
    blur = 3 * (noise.position[i] ** 2 + noise.position[j] ** 2) + 2 * (loud * motion.size) ** 2
    still &= fits.residual <= np.maximum(
        RIGID_RATIO * motion.size, 2 * np.sqrt(blur)
    )  # a pair that slides is not rigid
    return np.asarray(still & (least > 2 * loud) & (least > 0))


def _off_axis_ratio(motion: PairMotion) -> Floats:
    """(P,) [-] rotation off the main axis over that about it."""
    return np.asarray(np.sqrt(motion.spread[:, 0] / np.maximum(motion.spread[:, 1], 1e-300)))


def _comes_apart_as_hinge(fits: PairFits, motion: PairMotion, noise: Noise) -> Bools:
    """(P,) pairs that keep together about one point, as far as the noise tells, but come apart by much about that point
    of their axis which is nearest to the sensors: what they turn off the axis is no play.
    """
    explained = np.sqrt(3 * noise.gap_variance(*fits.joints))
    together = (fits.residual < LARGE_RESIDUAL_NOISE_RATIO * explained) | (fits.residual < 1e-6 * motion.size)
    halves = (fits.axis_child, fits.p_child_joint), (fits.axis_parent, fits.p_parent_joint)
    away = 0.5 * np.abs(sum(np.sum(axes[:, :, 0] * p, axis=1) for axes, p in halves))
    large = away * play(motion) > LARGE_RESIDUAL_SHARE * motion.size
    return np.asarray(together & large & (away > ELSEWHERE_MIN_SE * motion.error[:, 0]))


def classify(
    fits: PairFits,
    motion: PairMotion,
    noise: Noise,
    world_turn: Floats,
    known: Mapping[frozenset[int], str] | None = None,
) -> tuple[list[Kind], list[Point], Bools]:
    """Kind and point of each pair, and (P, 3) the directions to hold at minimum norm.

    known  {numbers of two bodies: kind} that is known from elsewhere, "ball" or "hinge"
    """
    ratio, apart = _off_axis_ratio(motion), _comes_apart_as_hinge(fits, motion, noise)
    rigid = find_rigid(fits, motion, noise, world_turn)
    kinds: list[Kind] = []
    points: list[Point] = []
    held = motion.open.copy()
    for k in range(len(fits.pairs)):
        if rigid[k]:
            kind: Kind = "rigid"
        elif not motion.turns[k] or motion.open[k, 1]:
            kind = "undetermined"
        elif ratio[k] < (OPEN_HINGE_RATIO if motion.open[k, 0] else HINGE_RATIO) and not apart[k]:
            kind = "hinge"
        else:
            kind = "undetermined" if motion.open[k].any() else "ball"
        given = (known or {}).get(frozenset(fits.pairs[k].tolist()))
        if given == "hinge" and motion.turns[k] and not motion.open[k, 1]:  # what it turned otherwise is play
            kind = "hinge"
        elif given == "ball" and kind == "hinge":  # that this motion was about one axis does not make it one
            kind = "ball"
        if kind in ("rigid", "undetermined") and not motion.turns[k]:
            held[k] = True
        # What little a hinge turns off its axis is error as likely as play: it has a line, not a point.
        held[k, 0] |= kind == "hinge"
        kinds.append(kind)
        points.append("arbitrary" if kind == "rigid" or held[k].any() else "determined")
    return kinds, points, held


def hinge_axes(fits: PairFits, take: Take) -> tuple[Floats, Floats]:
    """Axis of each pair in child and parent (P, 3): the first axis of the fit, its sign chosen by a fixed rule."""
    child, parent = fits.axis_child[:, :, 0], fits.axis_parent[:, :, 0]
    sign = choose_signs(take, fits.pairs[:, 0], child)[:, None]
    return child * sign, parent * sign


def choose_signs(take: Take, bodies: Ints, axis: Floats) -> Floats:
    """(P,) 1 or -1 for axes (P, 3) of these bodies (P,): along the world's mean direction with the largest component
    positive, so that neither the order of the bodies and of the pair nor rounding matters.
    """
    R = _fill(take.R_world_body[evenly_seen(take.seen, GLANCE_FRAMES)])
    world = np.einsum("pxy,py->px", R.sum(axis=0)[bodies], axis)
    largest = np.take_along_axis(world, np.abs(world).argmax(axis=1)[:, None], axis=1)
    return np.asarray(np.where(largest[:, 0] < 0, -1.0, 1.0))


def _fill(values: Floats) -> Floats:
    """The same with 0 where a body is not seen."""
    unknown = np.isnan(values)
    return np.where(unknown, 0.0, values) if unknown.any() else values


def play(motion: PairMotion) -> Floats:
    """(P,) [rad] rms angle by which the hinge's axis itself turns, noise removed."""
    return np.sqrt(2 * motion.spread[:, 0])
