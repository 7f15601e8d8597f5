"""Samples of a sensor that repeat the one before to the last bit: whole poses, or places alone."""

from __future__ import annotations

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, distinct, find_marked
from ..maths.robust import median
from ..maths.spool import POSE_BYTES, blocks_of
from ..model.take import Take
from ..model.values import dataclass

REST_MAX_STEPS = 0.3  # of the usual step: a body that comes to rest by itself does so in steps below this
REST_MAX_LEAST_STEPS = 6.0  # smallest steps that a sensor with few decimals makes at rest
# Of 288 simulated takes whose sensor is held to the end from where it is slow 103 were not told, now 4.
SLOWER_MIN_STEPS = 10  # lengths of steps, shorter than the last, after which a sensor went on: it did not come to rest
STEP_DECIMALS = 9  # of the length of a step in m, or of a turn: beyond, two differ by rounding
# What brakes evenly goes a third at most of the step before in its last one, wherever between two samples it stops.
BRAKED_MAX_SHARE = 1 / 3  # of the step before, up to which the last one is that of what comes to rest by itself
LONGER_MIN_TIMES = 5.0  # the longest other run, that one with which a recording ends is longer by where it is held
POLLED_MOST_SAMPLES = 4  # in a run of a sensor that is merely read more often than it measures
# Chosen on simulated sensors that are read four to eight times for each measurement, with a clock that trembles.
POLLED_ALIKE_SHARE = 0.8  # of its runs that are about as long as usual, where that may be longer
POLLED_MAX_OFF = 0.5  # of the usual length, by which such runs are longer or shorter


@dataclass(frozen=True, eq=False)
class Runs:
    """Stretches of one sensor's seen samples that are alike, in order.

    rows     (N,)  frame of each sample
    label    (N,)  run that each sample belongs to
    first    (K,)  sample with which each run begins
    length   (K,)  samples in it
    shift    (K,)  [m] step from the sample before; NaN at the beginning of a segment
    turn     (K,)  [-] the same of the rotation matrix (Frobenius)
    near     (K,)  whether the sample before is the frame before
    """

    rows: Ints
    label: Ints
    first: Ints
    length: Ints
    shift: Floats
    turn: Floats
    near: Bools

    def after(self, values: Floats) -> Floats:
        """(K,) of the step out of each run; NaN at the last."""
        return np.append(values[1:], np.nan)

    def find_cut_off(self) -> Bools:
        """(K,) runs with which a recording ends, of a sensor that went or turned slower often and went on.

        What comes to rest does so in its smallest steps or brakes, as machines do that are known without noise, and
        what rests by itself has rested before as long.
        """
        ends = np.isnan(self.after(np.where(self.near, self.shift, np.nan))) & (self.length > POLLED_MOST_SAMPLES)
        found = np.zeros(len(ends), dtype=bool)
        if not ends.any():
            return found
        ends &= self.length > LONGER_MIN_TIMES * self.length[~ends].max(initial=1)
        for step in (self.shift, self.turn):
            live = np.round(step[(self.length == 1) & np.isfinite(step)], STEP_DECIMALS)
            slower = np.searchsorted(distinct(live), np.where(self.near, step, 0.0))  # few decimals make few lengths
            found |= ends & (slower >= SLOWER_MIN_STEPS) & np.isfinite(step) & ~_brakes(step)
        return found

    def measure_polled(self) -> float:
        """Samples up to which runs are those of a sensor that is merely read more often than it measures."""
        usual = float(median(self.length.astype(np.float64)))
        near = np.abs(self.length - usual) <= POLLED_MAX_OFF * usual
        longest = (1 + POLLED_MAX_OFF) * usual if near.mean() >= POLLED_ALIKE_SHARE else 0.0
        return max(longest, POLLED_MOST_SAMPLES)


def _brakes(step: Floats) -> Bools:
    """(K,) steps of what brakes: those before became shorter one after the other, and this is far shorter still."""
    last, earlier, first = (np.append(np.full(k, np.nan), step)[: len(step)] for k in (1, 2, 3))
    with np.errstate(invalid="ignore"):
        return np.asarray((step <= BRAKED_MAX_SHARE * last) & (last < earlier) & (earlier < first))


def find_runs(take: Take, body: int, alike: Bools) -> Runs:
    """Runs of a body's seen samples where `alike` (n,) says that a frame is like the seen one before."""
    rows = np.flatnonzero(take.seen[:, body])
    new = ~alike[rows]
    new[:1] = True
    begins = np.concatenate([[True], np.diff(take.segment[rows]) != 0])[: len(rows)]
    first = np.flatnonzero(new | begins)
    before = np.maximum(first - 1, 0)
    shift, turn = np.empty(len(first)), np.empty(len(first))
    for part in blocks_of(len(first), 2 * POSE_BYTES):
        here, there = (rows[first[part]], body), (rows[before[part]], body)
        shift[part] = np.linalg.norm(take.p_world_body[here] - take.p_world_body[there], axis=1)
        turn[part] = np.linalg.norm(take.R_world_body[here] - take.R_world_body[there], axis=(1, 2))
    shift[begins[first]] = turn[begins[first]] = np.nan
    return Runs(
        rows,
        np.cumsum(new | begins) - 1,
        first,
        np.diff(np.append(first, len(rows))),
        shift,
        turn,
        (rows[first] - rows[before] == 1) & ~begins[first],
    )


def find_repeats(take: Take) -> tuple[Bools, Bools]:
    """(n, m) poses, and places, that repeat those of the frame before to the last bit, in the same segment."""
    poses, places = np.zeros((2, take.frames, take.bodies), dtype=bool)
    R = take.R_world_body.reshape(*take.seen.shape, 9)
    for rows in blocks_of(take.frames - 1, POSE_BYTES * take.bodies):
        part = slice(rows.start, rows.stop + 1)  # with the first frame of the next block
        inside = (np.diff(take.segment[part]) == 0)[:, None]
        same = inside & (take.p_world_body[part][1:, :, 0] == take.p_world_body[part][:-1, :, 0])
        for values, out in ((take.p_world_body[part], places), (R[part], poses)):
            frame, body = find_marked(same)  # in files with few decimals some numbers are alike by chance
            same[frame, body] = (values[frame + 1, body] == values[frame, body]).all(axis=1)
            out[part][1:] = same
    return poses, places
