"""Joints that machines have and people do not: two axes that cross (universal), a thread (screw), a rail (slider).

Each is told only where it leaves nothing that the noise of the sensors does not explain. Skin leaves many times that,
so that a joint of a person is none of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, evenly_seen
from ..maths.graph import sides
from ..maths.robust import median
from ..maths.spool import copy_array, over_frames, seal
from ..model.take import Take
from ..pairs.fits import PairFits
from ..pairs.noise import Noise
from .edge_blocks import long_run
from .kinds import INDEPENDENT_SAMPLES_HZ, choose_signs

MACHINE_ROWS = 2000  # frames that tell a kind, spread over the take
MACHINE_OFF_RATIO = 0.03  # what a kind does not allow over what it does; hinges of people have 0.06 and more
UNIVERSAL_MIN_TURN_RAD = np.radians(3.0)  # rms about the second axis, from which on there are two
UNIVERSAL_MAX_COSINE = 0.7  # of the angle between the two axes: nearer ones are one
# Rounds of finding one axis after the other, at most. Nothing tells before which start will get below the limit: of 40
# simulated universal joints in noise 2 are balls, and 13 where starts that fall slowly are given up.
UNIVERSAL_ROUNDS = 40
UNIVERSAL_SETTLED_SHARE = 1e-12  # of what is left, by which a round must lower it for another
SCREW_MIN_SHARE = 0.9  # of a hinge's square gap beyond the noise that a thread must explain
SCREW_NOISE_SHARE = 1.2  # times its square that the noise counts as there: it is known to some per cent
SCREW_MIN_T = 8.0  # slope of the thread over its standard error; hinges of built linkages have 3 at most
# Real screws in noise have 0.95 to 1.05 as a rule, hinges under 3 mm of skin that look like threads 1.13 and more.
SCREW_PLAIN_SHARE = 1.08  # of the square gap that noise explains, up to which nothing but noise is left
SCREW_CLEAR_RATIO = 0.5  # rms travel over the noise along the axis, from which on white noise counts frame by frame
SCREW_NOISE_RATIO = 4.0  # gap that is left over what noise explains, at most
SCREW_MIN_TURN_RAD = np.radians(20.0)  # whole turn, from which on a thread is told from an axis that is a little off
THREAD_GAP_MAX_FRAMES = 10  # not seen, over which a screw is taken to turn on by less than half a turn
THREAD_MIN_FRAMES = 30  # of a run without a longer gap that tells a thread
SLIDER_MIN_M = 0.005  # m rms that a slider moves along its rail
SLIDER_NOISE_RATIO = 4.0  # turn, and motion across a rail, over the noise of both sensors, at most
SLIDER_MAX_ACROSS_SHARE = 0.2  # of the motion along a rail: what is across it, however loud the sensors are
SLIDER_MAX_TURN_RAD = np.radians(0.5)  # rms relative turn of what slides
SLIDER_MIN_CARRIED_RAD = np.radians(3.0)  # rms turn of both bodies in the room: else that they keep step is no evidence


class Universal(NamedTuple):
    """Axes (P, 3) of two-axis joints, the first fixed in the parent, the second in the child.

    off         (P,)       [rad]    rms turn that they do not explain; the noise is in it
    cosine      (P,)       [-]      of the angle between them
    covariance  (P, 6, 6)  [rad^2]  of [axis_child, axis_parent], each across itself, as white noise makes it
    """

    axis_parent: Floats
    axis_child: Floats
    off: Floats
    cosine: Floats
    covariance: Floats


def fit_universal(take: Take, pairs: Ints, most: Floats | None = None) -> Universal:
    """The two axes whose angle to each other changes least, for each of P pairs (child, parent).

    most   (P,) [rad] turn that the axes may leave to be of interest: those of pairs that leave more have no covariance
    """
    rows = evenly_seen(take.seen, MACHINE_ROWS)
    C, mean = np.empty((len(pairs), 3, 3, 3, 3)), np.empty((len(pairs), 3, 3))
    R = np.ascontiguousarray(take.R_world_body[rows].transpose(1, 2, 3, 0))  # (m, 3, 3, n)
    for k, (child, parent) in enumerate(pairs):
        both = take.seen[rows, child] & take.seen[rows, parent]
        turn = sum(R[parent, x][:, None] * R[child, x] for x in range(3))  # (3, 3, n)
        turn = turn if both.all() else turn[..., both]
        mean[k] = turn.sum(axis=2) / max(turn.shape[2], 1)
        off = (turn - mean[k][..., None]).reshape(9, -1)
        C[k] = (off @ off.T / max(off.shape[1], 1)).reshape(3, 3, 3, 3)
    limit = np.full(len(pairs), np.inf) if most is None else np.square(most)
    left, u, v = _alternate(C, limit)
    # Each by itself: the angle between them is a right one as a rule, and rounding tells on which side of it.
    u, v = (axis * choose_signs(take, pairs[:, side], axis)[:, None] for side, axis in ((1, u), (0, v)))
    cosine = np.einsum("pa,pab,pb->p", u, mean, v)
    covariance = np.full((len(pairs), 6, 6), np.nan)
    for k in np.flatnonzero(left <= limit).tolist():
        covariance[k] = _spread_axes(C[k], u[k], v[k], left[k]) / max(len(rows), 1)
    sine = np.sqrt(np.maximum(1 - cosine**2, 1e-12))
    return Universal(u, v, np.sqrt(np.maximum(left, 0.0)) / sine, np.abs(cosine), covariance)


def _alternate(C: Floats, limit: Floats) -> tuple[Floats, Floats, Floats]:
    """(P,) the least variance of u R v, for R with covariances C, that is found from four starts, and its u and v
    (P, 3): one after the other in turn, until they stay. Where it cannot be below the limit (P,), a bound is told, and
    no axes are sought.

    The first start is next to the entries of R that vary least together, which of a universal joint are u v' alone.
    """
    P = len(C)
    value, entries = np.linalg.eigh(C.reshape(P, 9, 9))
    _, like, nearest = np.linalg.svd(entries[:, :, 0].reshape(P, 3, 3))
    share, nearest = like[:, 0] ** 2, nearest[:, 0]  # most that any u v' has of those entries; the rest varies more
    bound, pair = share * value[:, 0] + (1 - share) * value[:, 1], np.tile(np.arange(P), 4)
    still = np.flatnonzero((bound <= limit)[pair])
    u, v, left = (
        np.zeros((4 * P, 3)),
        np.concatenate([nearest, np.repeat(np.eye(3), P, axis=0)]),
        np.full(4 * P, np.inf),
    )
    own = C[pair[still]].transpose(0, 1, 3, 2, 4).reshape(-1, 9, 9)  # products of two entries of u, and of two of v

    def least(products: Floats, axis: Floats) -> tuple[Floats, Floats]:
        """(p,) the least variance beside one axis (p, 3), and the other axis that has it."""
        both = (axis[:, :, None] * axis[:, None]).reshape(-1, 9, 1)
        value, vector = np.linalg.eigh((products @ both).reshape(-1, 3, 3))
        return value[:, 0], vector[:, :, 0]

    for _ in range(UNIVERSAL_ROUNDS if len(still) else 0):
        before = left[still]
        _, u[still] = least(own, v[still])
        left[still], v[still] = least(np.swapaxes(own, 1, 2), u[still])
        settled = left[still] >= (1 - UNIVERSAL_SETTLED_SHARE) * before
        still, own = still[~settled], own[~settled]
        if not len(still):
            break
    best = np.argmin(left.reshape(4, P), axis=0) * P + np.arange(P)
    return np.where(bound <= limit, left[best], bound), u[best], v[best]


def _spread_axes(C: Floats, u: Floats, v: Floats, left: float) -> Floats:
    """(6, 6) covariance of [v, u] from one frame whose error of u R v has the variance `left`."""
    free = np.zeros((6, 4))
    free[:3, :2], free[3:, 2:] = (np.linalg.svd(axis[None])[2][1:].T for axis in (v, u))
    gram = np.zeros((6, 6))
    gram[:3, :3], gram[3:, 3:] = np.einsum("abcd,a,c->bd", C, u, u), np.einsum("abcd,b,d->ac", C, v, v)
    gram[:3, 3:] = np.einsum("abcd,a,d->bc", C, u, v)
    gram[3:, :3] = gram[:3, 3:].T
    return np.asarray(max(left, 0.0) * free @ np.linalg.pinv(free.T @ gram @ free, hermitian=True) @ free.T)


def is_universal(found: Universal, second: Floats, loud: Floats) -> Bools:
    """(P,) whether pairs that turn by `second` (P,) [rad] rms about their second axis turn about two axes alone.

    loud   (P,) [rad] orientation noise of both sensors
    """
    plain = (found.off < off_limit(second, loud)) & (found.cosine < UNIVERSAL_MAX_COSINE)
    return np.asarray(plain & (second > np.maximum(UNIVERSAL_MIN_TURN_RAD, SLIDER_NOISE_RATIO * loud)))


def off_limit(second: Floats, loud: Floats) -> Floats:
    """(P,) [rad] turn that two axes may leave, noise and all."""
    return np.hypot(MACHINE_OFF_RATIO * second, loud)


class Thread(NamedTuple):
    """A screw's thread: pitch [m] along its axis in a whole turn, the rms gap [m] that it leaves of the joint, and the
    gap (n,) [m] along the axis that it makes; zero where that is not known.
    """

    pitch: float
    residual: float
    along: Floats


def find_thread(
    take: Take, pair: tuple[int, int], axes: tuple[Floats, Floats], gap: Floats, explained: float
) -> Thread | None:
    """The thread of a hinge that moves along its axis as it turns, however often it turns; None where it is no screw.

    axes       of the hinge in child and parent (3,)
    gap        (n, 3) [m] of the hinge in the world, from its parent's side to its child's
    explained  [m] rms gap that the noise explains
    """
    axis_child, axis_parent = axes
    onto = rotation.find_shortest_arc(axis_child, axis_parent)

    def measure(R_child: Floats, R_parent: Floats, apart: Floats) -> Floats:
        """(n, 3) [rad, m, m^2] angle about the axis up to whole turns, gap along the axis, its square across it."""
        turn = onto.T @ np.swapaxes(R_parent, 1, 2) @ R_child
        axis = R_parent @ axis_parent
        along = np.einsum("nx,nx->n", apart, axis)
        across = np.square(apart - along[:, None] * axis).sum(axis=1)
        return np.stack([rotation.find_turn(axis_child, turn), along, across], axis=1)

    R = take.R_world_body
    found = over_frames(measure, R[:, pair[0]], R[:, pair[1]], gap)
    rows = np.flatnonzero(np.isfinite(found).all(axis=1))
    cut = (np.diff(rows) > THREAD_GAP_MAX_FRAMES) | (np.diff(take.segment[rows]) != 0)
    runs = [run for run in np.split(rows, np.flatnonzero(cut) + 1) if len(run) >= THREAD_MIN_FRAMES]
    if not runs:
        return None
    # How many turns pass in a gap is not known: each run has a zero of its own.
    turned = [np.unwrap(found[run, 0]) for run in runs]
    angle = np.concatenate([one - one.mean() for one in turned])
    along = np.concatenate([found[run, 1] - found[run, 1].mean() for run in runs])
    across = float(found[np.concatenate(runs), 2].mean())
    slope = float(angle @ along) / max(float(angle @ angle), 1e-300)
    rest = along - slope * angle
    before, after = (across + float(np.square(part).mean()) for part in (along, rest))
    seconds = take.seconds * len(along) / max(take.frames, 1) if take.timed else np.inf
    samples = min(float(len(along)), max(INDEPENDENT_SAMPLES_HZ * seconds, 1.0))
    clear = before - after > SCREW_CLEAR_RATIO**2 * (after - across)
    if clear and after < SCREW_PLAIN_SHARE * explained**2:  # nothing but noise, which tells how long it lasts
        number = np.repeat(np.arange(len(runs)), [len(run) for run in runs])
        samples = max(samples, len(along) / long_run(rest[:, None], seconds / len(along), number))
    told = (before - after) * samples > SCREW_MIN_T**2 * (after - across)
    told &= before - after > SCREW_MIN_SHARE * (before - SCREW_NOISE_SHARE * explained**2)
    quiet = np.sqrt(after) < max(SCREW_NOISE_RATIO * explained, 1e-3 * np.sqrt(before))
    if not (told and quiet and np.ptp(angle) > SCREW_MIN_TURN_RAD):
        return None
    made = np.zeros(take.frames)
    for run, one in zip(runs, turned, strict=True):
        made[run] = slope * (one - one.mean()) + found[run, 1].mean()
    return Thread(2 * np.pi * slope, float(np.sqrt(after)), made)


def take_out_threads(take: Take, pairs: Ints, thread: Floats) -> Take:
    """The take with all that hangs on a screw moved back along its thread, so that the screw is a plain hinge.

    pairs   (J, 2) child, parent of a tree's joints
    thread  (n, J, 3) [m] in the world, by which each joint's child goes along; of a screw zero where that is not known,
            and its child is hidden there, and zero throughout for other joints
    """
    p, hidden = copy_array(take.p_world_body), np.zeros(take.seen.shape, dtype=np.bool_)
    side = sides(take.bodies, pairs)
    for a in np.flatnonzero(thread.any(axis=(0, 2))).tolist():
        below = np.flatnonzero(side[a] == side[a, pairs[a, 0]])
        p[:, below] -= thread[:, a, None]
        hidden[:, pairs[a, 0]] |= ~thread[:, a].any(axis=1)
    return replace(take, p_world_body=seal(p)).mask(hidden)


class Slide(NamedTuple):
    """A pair whose bodies slide along one line: its direction in child and parent (3,), the middle of it in the
    parent's frame (3,) [m], rms and whole travel [m], rms [m] across it, and frames that told it.
    """

    axis_child: Floats
    axis_parent: Floats
    p_parent_middle: Floats
    rms: float
    travel: float
    across: float
    frames: int

    @property
    def place_variance(self) -> float:
        """[m^2] of the line across itself, as white noise makes it."""
        return self.across**2 / 2 / max(self.frames, 1)

    @property
    def axis_covariance(self) -> Floats:
        """(6, 6) [rad^2] of the direction in child and parent, likewise."""
        out = np.zeros((6, 6))
        for k, axis in enumerate((self.axis_child, self.axis_parent)):
            out[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = np.eye(3) - np.outer(axis, axis)
        return out * self.place_variance / max(self.rms**2, 1e-300)


def measure_slide(take: Take, child: int, parent: int) -> Slide | None:
    """How the child's sensor moves as seen from the parent's; None where they are not seen together."""
    part, _ = take.thin(MACHINE_ROWS)
    both = part.seen[:, child] & part.seen[:, parent]
    if both.sum() < 3:
        return None
    R_parent = part.R_world_body[both, parent]
    seen = np.einsum("nyx,ny->nx", R_parent, part.p_world_body[both, child] - part.p_world_body[both, parent])
    middle = seen.mean(axis=0)
    _, s, Vt = np.linalg.svd((seen - middle) / np.sqrt(len(seen)), full_matrices=False)
    axis = Vt[0] * (1.0 if Vt[0, np.argmax(np.abs(Vt[0]))] > 0 else -1.0)
    turn = rotation.project((np.swapaxes(R_parent, 1, 2) @ part.R_world_body[both, child]).sum(axis=0))
    travel = float(np.ptp((seen - middle) @ axis))
    return Slide(turn.T @ axis, axis, middle, float(s[0]), travel, float(np.sqrt((s[1:] ** 2).sum())), len(seen))


def find_sliders(take: Take, fits: PairFits, spread: Floats, noise: Noise, turn: Floats) -> dict[int, Slide]:
    """{pair: its slide} of pairs that keep their direction and move along one line.

    spread  (P, 3) half mean square rotation, noise removed; turn (m,) [rad] of each body in the room
    """
    i, j = fits.pairs.T
    loud = np.hypot(noise.orientation[i], noise.orientation[j])
    turned = np.sqrt(spread.sum(axis=1))
    stiff = turned < np.minimum(np.maximum(SLIDER_NOISE_RATIO * loud, 1e-6), SLIDER_MAX_TURN_RAD)
    stiff &= np.minimum(turn[i], turn[j]) > SLIDER_MIN_CARRIED_RAD
    stiff &= fits.residual > SLIDER_MIN_M
    found = {}
    for k in np.flatnonzero(stiff):
        slide = measure_slide(take, int(i[k]), int(j[k]))
        if slide is None or slide.rms < SLIDER_MIN_M:
            continue
        distance = float(np.linalg.norm(slide.p_parent_middle))
        blur = np.hypot(np.hypot(noise.position[i[k]], noise.position[j[k]]), noise.orientation[j[k]] * distance)
        most = max(MACHINE_OFF_RATIO * slide.rms, SLIDER_NOISE_RATIO * float(blur))
        if slide.across < min(most, SLIDER_MAX_ACROSS_SHARE * slide.rms):
            found[int(k)] = slide
    return found


def is_quiet(residual: Floats, explained: Floats, size: Floats, ratio: float = SCREW_NOISE_RATIO) -> Bools:
    """(J,) whether joints leave [m] less than `ratio` times what noise explains, or rounding of distances `size`."""
    return np.asarray((residual < ratio * explained) | (residual < 1e-6 * median(size)))
