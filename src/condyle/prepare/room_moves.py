"""The room that all sensors are told in may be moved in the midst of a take, at once: a headset is recentred."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median
from ..maths.spool import empty, over_frames, seal
from ..model.take import Take

# Chosen together: 48 of 48 moves of the room at 20, 30 and 90 Hz are found, 39 at 10 Hz, and in 113 recordings as
# they are one, which is so.
ROOM_JUMP_MIN_USUAL = 8.0  # times what a sensor usually leaves its path from frame to frame, from which it jumps
ROOM_JUMP_MIN_TIMES = 3.0  # what it leaves its path by in frames around, that a jump is larger by
ROOM_JUMP_REACH = 3  # frames before and after that it is held against
ROOM_RIGID_MAX_SHARE = 0.3  # of the jump, up to which sensors leave the one move of the room that tells it best
# Shorter ones, up to 0.026 m, are rows that were held or lost; of 113 recordings one has a longer one, and it is so.
ROOM_JUMP_MIN_M = 0.05  # m that most sensors jump where it is the room that is moved


def undo_room_moves(take: Take) -> Take:
    """The take as it were in the room of the first frame throughout, or the take itself where no room was moved."""
    moves = find_room_moves(take)
    if not moves:
        return take
    R_old_new, p_old_new = np.eye(3), np.zeros(3)
    turns, shifts = np.tile(R_old_new, (len(moves) + 1, 1, 1)), np.zeros((len(moves) + 1, 3))
    for k, (turn, shift) in enumerate(moves.values()):
        p_old_new = p_old_new - R_old_new @ turn.T @ shift
        R_old_new = R_old_new @ turn.T
        turns[k + 1], shifts[k + 1] = R_old_new, p_old_new
    which: Ints = np.searchsorted(list(moves), np.arange(take.frames), side="right")
    p = over_frames(
        lambda part, k: np.einsum("nij,nmj->nmi", turns[k], part) + shifts[k][:, None], take.p_world_body, which
    )
    R = over_frames(lambda part, k: np.asarray(turns[k][:, None] @ part), take.R_world_body, which)
    return replace(take, p_world_body=seal(p), R_world_body=seal(R))


def find_room_moves(take: Take) -> dict[int, tuple[Floats, Floats]]:
    """{frame: (turn (3, 3), shift (3,) [m])} of moves of the room, which take places before it to those from it on.

    Most sensors, and two at least, leave their paths in this frame, far more than in those around it, and all alike.
    """
    if take.bodies < 2 or take.frames < 2 * ROOM_JUMP_REACH + 2:
        return {}
    off = _measure_jumps(take)
    bar = ROOM_JUMP_MIN_USUAL * median(off)

    def jump_most(part: Floats) -> Bools:
        with np.errstate(invalid="ignore"):
            return np.asarray(2 * (part > bar).sum(axis=1) > np.isfinite(part).sum(axis=1))

    likely, found = over_frames(jump_most, off), {}
    for frame in np.flatnonzero(likely).tolist():
        if _is_sudden(off, frame) and (move := _fit_move(take, frame)) is not None:
            found[frame] = move
    return found


def _measure_jumps(take: Take) -> Floats:
    """(n, m) [m] how far a sensor lies from where the steps before and after put it; NaN where that is not known."""

    def measure(a: Floats, b: Floats, c: Floats, d: Floats) -> Floats:
        return np.asarray(np.linalg.norm(c - b - 0.5 * ((b - a) + (d - c)), axis=2))

    p, n = take.p_world_body, take.frames
    off = empty((n, take.bodies))
    off[:2] = off[-1:] = np.nan
    off[2:-1] = over_frames(measure, *(p[k : n - 3 + k] for k in range(4)))
    off[2:-1][take.segment[3:] != take.segment[:-3]] = np.nan
    return off


def _is_sudden(off: Floats, frame: int) -> bool:
    """Whether most sensors are off (n, m) in a frame, and not in those around; the next see half of a jump."""
    around = [frame + k for k in range(-ROOM_JUMP_REACH, ROOM_JUMP_REACH + 1) if abs(k) > 1]
    there = [k for k in around if 0 <= k < len(off)]
    with np.errstate(invalid="ignore"):
        least = ROOM_JUMP_MIN_TIMES * np.fmax.reduce(off[there], axis=0, initial=0.0)
        least = np.fmax(least, np.fmax(off[frame - 1], off[min(frame + 1, len(off) - 1)]))
        jumps: Bools = off[frame] > least
        return bool(2 * jumps.sum() > np.isfinite(off[frame]).sum() and jumps.sum() > 1)


def _fit_move(take: Take, frame: int) -> tuple[Floats, Floats] | None:
    """The move of the room into a frame; None where sensors do not jump as one rigid thing."""
    both = take.seen[frame - 2 : frame + 2].all(axis=0)
    R, p = (values[frame - 2 : frame + 2, both] for values in (take.R_world_body, take.p_world_body))
    # Half a frame on from before and back from after: sensors move meanwhile.
    p_before, p_after = 1.5 * p[1] - 0.5 * p[0], 1.5 * p[2] - 0.5 * p[3]
    R_before = R[1] @ rotation.from_vector(0.5 * rotation.between(R[0], R[1]))
    R_after = R[2] @ rotation.from_vector(-0.5 * rotation.between(R[2], R[3]))
    turn = rotation.project((R_after @ np.swapaxes(R_before, -1, -2)).sum(axis=0))
    apart = p_after - p_before @ turn.T
    shift = np.median(apart, axis=0)
    left = np.linalg.norm(apart - shift, axis=1)
    way = np.linalg.norm(p_after - p_before, axis=1)
    alike = (left < ROOM_RIGID_MAX_SHARE * way) & (way > ROOM_JUMP_MIN_M)
    return (turn, shift) if 2 * alike.sum() > both.sum() else None
