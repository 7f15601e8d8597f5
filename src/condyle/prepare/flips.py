"""Magnetic trackers cannot tell a place from its mirror image through the transmitter; they are told which is right."""

from __future__ import annotations

import numpy as np

from ..findings import Finding, many
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, dot_rows
from ..maths.robust import median
from ..maths.series import count_frames, segment_slices
from ..maths.spool import blocks, hide, over_frames, take_rows
from ..model.take import Take

FLIP_MIN_STEPS = 8.0  # usual steps from which a sample does not continue the path
MIRROR_MAX_SHARE = 0.25  # how near -p must come to the path, over how far p jumps
MEDIAN_SAMPLES = 4  # samples on each side whose median is the path
MOST_BETWEEN_SAMPLES = 8  # samples on the way from one side to the other: 5 in a Polhemus log, whose filter was on
BETWEEN_MAX_SHARE = 0.8  # of the distance from the transmitter, up to which a sample is on that way
# Of a step, up to which the one before may differ where the sensor merely goes on. Feet of a recorded walk (06_13.bvh)
# that swing past the origin at a sixth of its rate were on the other side in up to 139 frames without it, now in none.
# [by recordings]
GOES_ON_MAX_SHARE = 0.5
# A sensor that changes sides goes on as it did, mirrored, so back against that step; hands and feet that swing past the
# origin gather pace before it and lose it after. Of 60 simulated hands that reach past it in 0.25 to 0.9 s 45 were on
# the other side at 10 samples a second, 12 at 30, now 1 and none; flips are found as before.
GATHERS_MIN_SHARE = 0.04  # of a step, by which those before and after lead the same way where the sensor goes there
LEADS_MIN_SHARE = 0.1  # of the first step on that way, by which the one before leads there as well where a limb swings
WAY_MAX_S = 0.08  # s on the way to the other side: 0.01 s in that log, while what a person swings takes 0.1 s and more
CLOCK_ROUNDING_SAMPLES = 1e-3  # by which a count is off for the rounding of a clock's numbers; at 1e5 s by 1e-8
FLIP_MAX_TURN_RAD = 0.2  # rad that an orientation may jump where only the position changed sides
BOTH_SIDES_MIN_SHARE = 0.4  # of the rarer side, above which nearness to the other sensors decides which one is right


def find_flips(take: Take) -> tuple[Bools, Bools] | None:
    """Samples (n, m) whose position is -p of what it should be, and those of them that cannot be put right.

    The transmitter is the origin of the world. A stretch is on the wrong side where -p continues the path and p does
    not; of the two sides the rarer is wrong, or the one farther from the other sensors where both are frequent. Where
    the orientation jumps as well it is not known what the device did: those samples are to be masked, and so are those
    that a device's filter puts between the two sides. No path goes on from one file to the next, nor where the room was
    moved. None: nothing, as in what cameras saw: people who walk past the origin, out of sight, are on its other side.
    """
    if take.markers:
        return None
    suspect = find_opposite(take.p_world_body)
    # A side that changes while the sensor is not seen shows only between seen samples.
    gappy = ~take.seen.all(axis=0) & take.seen.any(axis=0)
    turned, unclear = np.zeros((2, take.frames, take.bodies), dtype=bool)
    file = np.array(take.of_source)[take.segment] if take.of_source else np.zeros(take.frames, dtype=np.int64)
    room = file + np.cumsum(_moves_of_the_room(take)) if suspect.any() and take.bodies > 2 else file
    for body in np.flatnonzero(suspect | gappy):
        for part in segment_slices(room):
            rows = part.start + np.flatnonzero(take.seen[part, body])
            p = take_rows(take.p_world_body[:, body], rows)
            if not find_opposite(p[:, None]).any():
                continue
            fresh = np.append(True, (np.diff(p, axis=0) != 0).any(axis=1))  # a sample may stand in many rows
            sample = np.cumsum(fresh) - 1
            side, clear = (one[sample] for one in _sides(take, int(body), rows[fresh]))
            wrong = side < 0
            turned[rows[wrong & clear], body] = True
            unclear[rows[wrong & ~clear], body] = True
    return (turned, unclear) if turned.any() or unclear.any() else None


def _moves_of_the_room(take: Take) -> Bools:
    """(n,) frames into which most sensors jump as one rigid thing, as where a headset is recentred."""
    step = over_frames(lambda p, q: np.linalg.norm(q - p, axis=2), take.p_world_body[:-1], take.p_world_body[1:])
    usual = median(hide(step, step == 0))  # a sample may stand in many rows
    with np.errstate(invalid="ignore"):
        far = FLIP_MIN_STEPS * usual
        jumps = 2 * (step > far).sum(axis=1) > np.isfinite(step).sum(axis=1)
    found = np.zeros(take.frames, dtype=bool)
    for frame in (np.flatnonzero(jumps) + 1).tolist():
        both = take.seen[frame - 1] & take.seen[frame]
        if both.sum() < 2:  # one alone is no room
            continue
        R, p = (values[frame - 1 : frame + 1, both] for values in (take.R_world_body, take.p_world_body))
        turn = rotation.project((R[1] @ np.swapaxes(R[0], -1, -2)).sum(axis=0))
        before, after = p - np.median(p, axis=1, keepdims=True)
        off = after - before @ turn.T
        found[frame] = 2 * (np.linalg.norm(off - np.median(off, axis=0), axis=1) < far[both]).sum() > both.sum()
    return found


def find_opposite(p: Floats) -> Bools:
    """(m,) bodies of which two positions (n, m, 3) in a row lie on opposite sides of the origin."""
    found = np.zeros(p.shape[1], dtype=bool)
    for rows in blocks(p[1:]):
        with np.errstate(all="ignore"):  # opposite places have a negative product
            found |= (dot_rows(p[rows.start + 1 : rows.stop + 1], p[rows]) < 0).any(axis=0)
    return found


def _sides(take: Take, body: int, rows: Ints) -> tuple[Floats, Bools]:
    """(N,) +1 or -1 of a body's seen samples, -1 on the wrong side, and whether only the position changed."""
    p = take.p_world_body[rows, body]
    side, clear = np.ones(len(rows)), np.ones(len(rows), dtype=bool)
    if len(rows) < 4 * MEDIAN_SAMPLES:
        return side, clear
    step = np.linalg.norm(np.diff(p, axis=0), axis=1)
    usual = float(median(step[step > 0])) if (step > 0).any() else 0.0
    candidates = _changes_side(p, usual)
    if not candidates.any() and not (step > FLIP_MIN_STEPS * usual).any():
        return side, clear
    path = p.copy()
    for k in np.flatnonzero(candidates).tolist():  # stretches of a few samples, against the median around
        for at in range(k + 1, min(k + 2 + 2 * MEDIAN_SAMPLES, len(p))):
            around = np.r_[max(0, at - 2 * MEDIAN_SAMPLES) : at, at + 1 : min(at + 1 + 2 * MEDIAN_SAMPLES, len(p))]
            centre = np.median(path[around], axis=0)
            if not _mirrors(centre, path[at], usual):
                break
            path[at], side[at] = -path[at], -1.0
    change = np.zeros(len(p), dtype=bool)
    for k in np.flatnonzero(_changes_side(path, usual)).tolist():  # and long ones, median against median
        before, after = path[max(0, k + 1 - MEDIAN_SAMPLES) : k + 1], path[k + 1 : k + 1 + MEDIAN_SAMPLES]
        change[k + 1] = _mirrors(np.median(before, axis=0), np.median(after, axis=0), usual)
    most = _count_between(take.time[rows]) if take.timed else MOST_BETWEEN_SAMPLES
    between = _ways_across(path, usual, change, most)
    long = np.where(np.cumsum(change) % 2 == 1, -1.0, 1.0)
    side = side * _right_side(take, body, rows, long, path * long[:, None])
    edges = np.flatnonzero(np.diff(side) != 0) + 1
    R = take_rows(take.R_world_body[:, body], rows)
    apart = np.linalg.norm(R[edges] - R[edges - 1], axis=(1, 2)) / np.sqrt(2)
    turn = over_frames(lambda a, b: np.linalg.norm(b - a, axis=(1, 2)) / np.sqrt(2), R[:-1], R[1:])
    jumps = edges[apart > FLIP_MAX_TURN_RAD + FLIP_MIN_STEPS * float(median(turn))]
    stretch = np.concatenate([[0], np.cumsum(np.diff(side) != 0)])
    clear = ~(np.isin(stretch, stretch[jumps]) | np.isin(stretch, stretch[jumps - 1]) | between)
    return np.where(between, -1.0, side), clear


def _count_between(time: Floats) -> int:
    """Samples at most that a way to the other side has, of a sensor sampled at these times (N,) [s]."""
    step = np.diff(time)
    period = float(median(step[step > 0], empty=np.inf))
    return count_frames(WAY_MAX_S / period - CLOCK_ROUNDING_SAMPLES, MOST_BETWEEN_SAMPLES, whole=True)


def _ways_across(path: Floats, usual: float, change: Bools, most: int = MOST_BETWEEN_SAMPLES) -> Bools:
    """(N,) samples on the way straight through the transmitter to the other side; `change` is set behind each way."""
    between = np.zeros(len(path), dtype=bool)
    jumps = np.flatnonzero((np.linalg.norm(np.diff(path, axis=0), axis=1) > FLIP_MIN_STEPS * usual) & ~_goes_on(path))
    for k in jumps.tolist():
        if between[k] or _leads_into(path, k):
            continue
        here = np.median(path[max(0, k + 1 - MEDIAN_SAMPLES) : k + 1], axis=0)
        on = path[k + 1 : k + 1 + most]
        along = on @ here / max(float(here @ here), 1e-300)
        aside = np.linalg.norm(on - along[:, None] * here, axis=1)
        is_between = (np.abs(along) < BETWEEN_MAX_SHARE) & (aside < MIRROR_MAX_SHARE * np.linalg.norm(here))
        count = int(np.argmin(np.append(is_between, False)))
        after = path[k + 1 + count : k + 1 + count + MEDIAN_SAMPLES]
        # Where the way takes longer the first sample behind it is still between the two: a limb swings.
        if count and len(after) and _mirrors(here, np.stack([after[0], np.median(after, axis=0)]), usual).all():
            between[k + 1 : k + 1 + count] = True
            change[k + 1 + count] = True
    return between


def _changes_side(path: Floats, usual: float) -> Bools:
    """(N - 1,) steps of a path (N, 3) that lead to the other side and do not merely go on."""
    return _mirrors(path[:-1], path[1:], usual) & ~_goes_on(path) & ~_gathers_pace(path)


def _goes_on(path: Floats) -> Bools:
    """(N - 1,) steps of a path (N, 3) that are about the step before: a foot that swings past the origin."""
    step = np.diff(path, axis=0)
    off = np.linalg.norm(np.diff(step, axis=0), axis=1)
    return np.append(False, off < GOES_ON_MAX_SHARE * np.linalg.norm(step[1:], axis=1))[: len(step)]


def _gathers_pace(path: Floats) -> Bools:
    """(N - 1,) steps of a path (N, 3) before and after which it leads the same way."""
    step = np.diff(path, axis=0)
    along = np.zeros((len(step), 2))
    along[1:, 0] = along[:-1, 1] = dot_rows(step[1:], step[:-1])
    return np.asarray(along.min(axis=1) > GATHERS_MIN_SHARE * dot_rows(step, step))


def _leads_into(path: Floats, k: int) -> bool:
    """Whether the step before that from sample k of a path (N, 3) led the same way: a filter begins at once."""
    before, step = path[k] - path[max(k - 1, 0)], path[k + 1] - path[k]
    return bool(before @ step > LEADS_MIN_SHARE * (step @ step))


def _mirrors(a: Floats, b: Floats, usual: float) -> Bools:
    """Whether places b (..., 3) stand opposite to a, and farther away than steps of the `usual` length lead."""
    step = np.linalg.norm(b - a, axis=-1)
    return np.asarray((np.linalg.norm(b + a, axis=-1) < MIRROR_MAX_SHARE * step) & (step > FLIP_MIN_STEPS * usual))


def _right_side(take: Take, body: int, rows: Ints, side: Floats, path: Floats) -> Floats:
    """The sides with +1 for the right one; `path` (N, 3) is on the side that counts as +1 so far."""
    share = float(np.mean(side < 0))
    if min(share, 1 - share) < BOTH_SIDES_MIN_SHARE or take.bodies == 1:
        return side if share <= 0.5 else -side
    others = np.delete(take.p_world_body[rows], body, axis=1)
    seen = np.isfinite(others[..., 0])
    count = seen.sum(axis=1)
    centre = np.where(seen[..., None], others, 0.0).sum(axis=1)[count > 0] / count[count > 0, None]
    here = median(np.linalg.norm(path[count > 0] - centre, axis=1))
    there = median(np.linalg.norm(path[count > 0] + centre, axis=1))
    return side if here <= there else -side


def describe_left_flips(take: Take) -> list[Finding]:
    """What to say of positions on the wrong side of a transmitter in a take that was not to be prepared.

    A sensor that is mirrored for a while steps as if it had slipped, by metres, and looks like another: nothing is to
    be repaired from that.
    """
    flips = find_flips(take)
    if flips is None:
        return []
    wrong = flips[0] | flips[1]
    names = tuple(take.names[k] for k in np.flatnonzero(wrong.any(axis=0)))
    text = (
        f"{', '.join(names)}: {many(int(wrong.sum()), 'position')} mirrored to the other side of the transmitter, and "
        "left as recorded; slips and exchanges were not looked for; fit without --as-recorded or --no-fix flips to put "
        "them right"
    )
    return [Finding("hemisphere-flip", "warning", text, names, value=float(wrong.sum() / take.seen.sum()))]
