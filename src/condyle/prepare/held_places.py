"""Places that a device holds while it does not see a sensor: its gyroscope goes on to tell the orientation alone."""

from __future__ import annotations

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median
from ..maths.spool import empty, is_any_finite, over_frames, seal, take_rows
from ..model.take import Take
from .repeats import POLLED_MOST_SAMPLES, REST_MAX_LEAST_STEPS, REST_MAX_STEPS, Runs, find_repeats, find_runs

JUMP_MIN_TIMES = 3.0  # the longest of the steps around, from which a step makes up for those that were not told
JUMP_REACH_RUNS = 3  # steps around that it is held against
LEVER_MIN_M = 0.03  # m from a sensor to the point about which its bone turns: nobody wears one nearer to a joint


def find_held_places(take: Take, poses: Bools, places: Bools) -> tuple[Bools, Bools]:
    """(n, m) repeats of a sensor's place while it turned and went on, and those of a sensor whose places are read more
    often than they are measured; the first of each run is fresh and is marked in neither.

    poses, places  (n, m) what repeats the frame before, see `find_repeats`

    A sensor that rests has its place again where it has few decimals, and one that turns about itself. A place that was
    held shows when it is left: in one step the sensor goes all the way that was not told, and on in small ones, alone.
    Or it was left unseen, and the sensor stopped at once, to the last bit, but turned by what would have moved it.
    Where most runs of a sensor are such, all are, and so are those of others that begin and end with one.
    """
    held, polled = np.zeros((2, take.frames, take.bodies), dtype=bool)
    spans, others = set[tuple[int, int]](), list[tuple[int, int, int]]()
    turned = places & ~poses
    if not turned.any():
        return held, polled
    formed = {marker.body for marker in take.markers}  # place and orientation are of the same markers
    inside = (np.diff(take.segment) == 0)[:, None]
    moves = (inside & take.seen[1:] & take.seen[:-1] & ~poses[1:]).any(axis=0)  # else it is fixed to the room
    rests = np.asarray((poses & moves).any(axis=1))
    for body in np.flatnonzero(turned.any(axis=0)):
        again = places[:, body] & (take.p_world_body[:, body] != 0).any(axis=1)  # zeros are a dropout
        runs = find_runs(take, int(body), again)
        step = np.abs(np.diff(take.p_world_body[runs.rows[runs.first], body], axis=0))
        if take.names[body] in formed or not step.any():
            continue
        turns = np.add.reduceat(turned[runs.rows, body] & again[runs.rows], runs.first) > 0
        rounding = REST_MAX_LEAST_STEPS * float(step[step > 0].min())
        small = max(REST_MAX_STEPS * float(median(np.linalg.norm(step, axis=1))), rounding)
        short = turns & (runs.length <= runs.measure_polled())
        if _is_polled(runs, short, rounding):
            polled[runs.rows, body] = again[runs.rows] & short[runs.label]
            turns &= ~short
        marked = turns & _jumps_on(take, int(body), runs, small)
        marked |= turns & _stops_short(take, int(body), runs, small, rests)
        marked = turns if 2 * marked.sum() >= turns.sum() else marked
        held[runs.rows, body] = again[runs.rows] & marked[runs.label]
        for k in np.flatnonzero(turns & (runs.length > POLLED_MOST_SAMPLES)):
            first, last = (int(runs.rows[runs.first[k] + step]) for step in (0, runs.length[k] - 1))
            if marked[k]:
                spans.add((first, last))
            else:
                others.append((int(body), first, last))
    for other, first, last in others:
        if (first, last) in spans:  # out of sight together
            held[first + 1 : last + 1, other] = places[first + 1 : last + 1, other]
    return held, polled


def add_held_turns(take: Take, turns: Floats | None) -> Floats | None:
    """(n, m, 3, 3) rotations of sensors without a position, and of those whose place was held or not measured anew; NaN
    elsewhere.
    """
    held, polled = find_held_places(take, *find_repeats(take))
    held |= polled
    if not held.any():
        return turns

    def join(held: Bools, R: Floats, *own: Floats) -> Floats:
        R = np.asarray(np.where(held[..., None, None], R, np.nan))
        return np.asarray(np.where(np.isfinite(own[0]), own[0], R)) if own else R

    return seal(over_frames(join, held, take.R_world_body, *([] if turns is None else [turns])))


def find_held_turns(given: Take, ready: Take) -> Floats | None:
    """(n, m, 3, 3) what `add_held_turns` has of a given take, in the frames and columns that it has when it is `ready`;
    None where there is none. Only of sensors whose other rotations are still as they were given.
    """
    turns = add_held_turns(given, None)
    if turns is None:
        return None
    before, after = (one.segment + 1j * one.time for one in (given, ready))
    rows = np.flatnonzero(np.isin(before, after))
    if len(rows) != ready.frames or not np.array_equal(before[rows], after):
        return None
    out = empty(ready.R_world_body.shape)
    out[:] = np.nan
    for k, name in enumerate(ready.names):
        if name in given.names:
            own = given.index(name)
            seen = ready.seen[:, k]
            if np.array_equal(take_rows(given.R_world_body[:, own], rows)[seen], ready.R_world_body[seen, k]):
                out[:, k] = take_rows(turns[:, own], rows)
                out[seen, k] = np.nan
    return seal(out) if is_any_finite(out) else None


def _is_polled(runs: Runs, short: Bools, rounding: float) -> bool:
    """Whether short runs (K,) are most of what a sensor tells, left as a rule by more than steps of `rounding` [m]."""
    leave = runs.after(np.where(runs.near, runs.shift, np.nan))
    with np.errstate(invalid="ignore"):
        goes = short & (leave > rounding)
    return bool(2 * short.sum() > len(short) and 2 * goes.sum() > short.sum())


def _jumps_on(take: Take, body: int, runs: Runs, small: float) -> Bools:
    """(K,) runs that a sensor leaves by a step that is far longer than those after it, and than any `small` one [m]."""
    step = np.where(runs.near, runs.shift, np.nan)
    leave = runs.after(step)
    later = np.full(len(step), -np.inf)
    for ahead in range(2, 2 + JUMP_REACH_RUNS):
        later[:-ahead] = np.fmax(later[:-ahead], step[ahead:])
    with np.errstate(invalid="ignore"):
        jumps = (leave > small) & (leave > JUMP_MIN_TIMES * later)
    for k in np.flatnonzero(jumps):
        jumps[k] = _is_alone(take, body, int(runs.rows[runs.first[k + 1]]))
    return np.asarray(jumps)


def _is_alone(take: Take, body: int, frame: int) -> bool:
    """Whether most other sensors go on into a frame as they do after it: the room was not moved."""
    part = take.p_world_body[frame - 1 : frame + 2 + JUMP_REACH_RUNS]
    step = np.linalg.norm(np.diff(np.delete(part, body, axis=1), axis=0), axis=2)
    with np.errstate(invalid="ignore"):
        jumped = step[0] > JUMP_MIN_TIMES * np.fmax.reduce(step[1:], axis=0, initial=0.0)
    return bool(2 * jumped.sum() <= np.isfinite(step[0]).sum())


def _stops_short(take: Take, body: int, runs: Runs, small: float, rests: Bools) -> Bools:
    """(K,) runs into which a sensor comes by more than a `small` step [m], or that last for a whole recording, and in
    which it turns by what would have moved it as far. Not where others rest (n,) to the last bit: exact machines do,
    axis by axis.
    """
    found = np.zeros(len(runs.first), dtype=bool)
    whole = np.isnan(runs.shift) & np.isnan(runs.after(runs.shift)) & (runs.length > POLLED_MOST_SAMPLES)
    with np.errstate(invalid="ignore"):
        stops = whole | ((runs.length > 1) & runs.near & (runs.shift > small))
        stops |= runs.find_cut_off()
    for k in np.flatnonzero(stops):
        rows: Ints = runs.rows[runs.first[k] : runs.first[k] + runs.length[k]]
        turn: Floats = np.linalg.norm(take.R_world_body[rows, body] - take.R_world_body[rows[0], body], axis=(1, 2))
        found[k] = LEVER_MIN_M * turn.max() / np.sqrt(2) > small and 2 * rests[rows].sum() < len(rows)
    return found
