"""Sensors of one table that are written in rows of their own, each when it reports, put on one clock."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, evenly
from ..maths.robust import median
from ..maths.series import segment_slices
from ..maths.spool import over_frames, take_rows
from ..model.clock import sort_late
from ..model.recording import QUATERNIONS, Bodies, Recording
from ..model.take import Take

SEEN_MAX_SHARE = 0.75  # of a glance at the rows, from which on a sensor is in all but some of them
GLANCE_ROWS = 200  # rows that are glanced at first
OWN_MIN_ROWS = 20  # rows of a sensor, of which fewer tell nothing
SHARED_MAX_SHARE = 0.1  # of the rows of the rarer of two sensors that both are in; sensors of one device share all


def share_rows(recording: Recording) -> Recording:
    """The recording with all sensors in every row, where two of them are hardly ever in one: interpolated onto the
    clock of the fastest, as files of one sensor each are. As it is where sensors share rows, or no clock tells where
    their poses belong.
    """
    bodies, time = recording.bodies, recording.time
    if bodies is None or time is None or recording.markers is not None or recording.segment is not None:
        return recording
    if recording.convention.rotation not in QUATERNIONS or len(bodies.names) < 2 or not len(time):
        return recording
    if _find_seen(bodies, evenly(len(time), GLANCE_ROWS)).mean(axis=0).min() > SEEN_MAX_SHARE:
        return recording
    seen = _find_seen(bodies, slice(None))
    if not _have_rows_of_their_own(seen):
        return recording
    from ..io.resample import BodySamples, number_takes, resample_rows

    rows = [np.flatnonzero(one) for one in seen.T]
    take = number_takes(time, rows)
    if not all(_runs_on(time[own], take[own]) for own in rows):
        return recording
    clock, position, orientation, told = resample_rows(
        time,
        rows,
        lambda k, own: BodySamples(bodies.names[k], time[own], bodies.position[own, k], bodies.orientation[own, k]),
    )
    return replace(
        recording,
        bodies=Bodies(bodies.names, position, orientation),
        time=np.asarray(clock),
        findings=(*recording.findings, *told),
    )


def share_frames(take: Take) -> Take:
    """The same of a take whose poses are given."""
    if not take.timed or take.markers or take.bodies < 2 or not take.frames:
        return take
    if take.seen[evenly(take.frames, GLANCE_ROWS)].mean(axis=0).min() > SEEN_MAX_SHARE:
        return take
    if not _have_rows_of_their_own(take.seen):
        return take
    from ..io.resample import BodySamples, resample_streams
    from ..maths.rotation import from_quaternion, to_quaternion

    def cut(k: int, part: slice) -> BodySamples:
        own = part.start + np.flatnonzero(take.seen[part, k])
        R, p = take_rows(take.R_world_body[:, k], own), take_rows(take.p_world_body[:, k], own)
        return BodySamples(take.names[k], take.time[own], p, to_quaternion(R))

    found, number = [], []
    for part in segment_slices(take.segment):
        if take.seen[part].any():
            found.append(resample_streams([cut(k, part) for k in range(take.bodies)]))
            number.append(np.full(len(found[-1][0]), take.segment[part.start]))
    time, p, q = (np.concatenate([one[k] for one in found]) for k in range(3))
    told = next((told for *_, told in found if told), [])
    shared = take.with_poses(time, np.concatenate(number), from_quaternion(q), p, np.isfinite(p).all(axis=2))
    return shared.with_findings((*take.findings, *told))


def _find_seen(bodies: Bodies, rows: slice | np.ndarray) -> Bools:
    return over_frames(
        lambda p, q: np.isfinite(p).all(axis=2) & np.isfinite(q).all(axis=2),
        *(bodies.position[rows], bodies.orientation[rows]),
    )


def _runs_on(time: Floats, take: Ints) -> bool:
    """Whether stamps of one sensor (k,) [s] tell when its poses were: within a take they do not go back, and most of
    them differ.
    """
    if not np.isfinite(time).all():
        return False
    late, _ = sort_late(time, take)
    step = np.diff(time if late is None else time[late])[np.diff(take) == 0]
    return bool((step >= 0).all() and 2 * (step > 0).sum() >= len(step))


def _have_rows_of_their_own(seen: Bools) -> bool:
    """Whether two sensors alternate through the rows (n, m): one that is lost for a while shares the others'."""
    count = seen.sum(axis=0)
    sparse = [
        k for k in np.flatnonzero(count >= OWN_MIN_ROWS).tolist() if median(np.diff(np.flatnonzero(seen[:, k]))) > 1
    ]
    for a, one in enumerate(sparse):
        together = (seen[:, [one]] & seen[:, sparse[a + 1 :]]).sum(axis=0)
        if (together < SHARED_MAX_SHARE * np.minimum(count[one], count[sparse[a + 1 :]])).any():
            return True
    return False
