"""A take made ready for a fit: what a device wrote in place of a measurement is masked or put right, and said.

Every step is a function Take -> marks, and every mark is a finding with its sensor, its first frame and its count.
Lone spikes are left: the fit weighs them out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ..findings import Finding, Severity, many
from ..maths.arrays import Bools, Floats, Ints
from ..maths.robust import median
from ..maths.series import find_packets, spread_packets
from ..maths.spool import POSE_BYTES, blocks_of, hide, over_frames, take_rows
from ..model.options import FitOptions
from ..model.stage import Decision
from ..model.take import Take
from .flips import find_flips
from .held_places import find_held_places
from .repeats import POLLED_MOST_SAMPLES, REST_MAX_LEAST_STEPS, REST_MAX_STEPS, Runs, find_repeats, find_runs

PATH_JUMP_MIN_STEPS = 8.0  # usual steps from which a sample does not continue the path
ROUNDED_STEP_M = 0.002  # m by which markers in whole millimetres, and the body that is formed from them, step at rest
ALONE_MAX_FRAMES = 2  # frames of a pose of rest at an end of a recording
RESTING_MAX_STEPS = 4.0  # extent over the rms step of a sensor that stays where it is
MEETING_MIN_SHARE = 0.25  # of its fresh samples that a sensor must share with each other one
FEW_REPEATS_SHARE = 0.005  # share of repeats up to which they are not worth a warning
FAR_MIN_M = 1e4  # m from the origin of the room within which no place is doubted for itself
FAR_MIN_EXTENTS = 1e6  # usual distances of bodies from their middle, beyond which a number is no place: a walk has 1e2
HOLE_MIN_STEPS = 1.5  # usual steps of time from which frames are missing


def prepare(take: Take, skip: Collection[str] = ()) -> Take:
    """The take as a fit should see it, with what was done in its findings; the same object where nothing was.

    Dropouts written as numbers and repeats of a frozen sensor are masked, rows that repeat whole are dropped, and
    positions on the wrong side of a magnetic transmitter are put right. Frame numbers in the findings count the frames
    of the given take.

    skip  what is left as recorded: "dropouts", "flips", "repeats"
    """
    findings = find_holes(take)
    same, places = find_repeats(take)
    ready = take
    if "dropouts" not in skip:
        ready, told = _mask_dropouts(ready, same)
        findings += told
    if "flips" not in skip:
        ready, told = _turn_back(ready)
        findings += told
    if "repeats" not in skip:
        held, polled = find_held_places(ready, same & ready.seen, places & ready.seen)
        ready, told = _mask_held_places(ready, held)
        findings += [*_never_seen(ready, places, same), *told]
        ready, told = _without_repeats(ready, same & ready.seen, polled)
        findings += told
    if findings:
        ready = ready.with_findings((*take.findings, *findings))
    return ready


def find_holes(take: Take) -> list[Finding]:
    """Frames that are missing in the middle of a segment; nothing is interpolated there."""
    if not take.timed or take.frames < 3:
        return []
    within = np.diff(take.segment) == 0
    packets = find_packets(np.diff(take.time)[within])
    time = take.time if packets is None else spread_packets(take.time, take.segment, packets)
    step = np.where(within, np.diff(time), np.nan)
    inside = np.sort(step[within])
    if not len(inside):
        return []
    usual = inside[int(0.9 * (len(inside) - 1))]  # a clock that trembles has no holes
    with np.errstate(invalid="ignore"):
        hole = step > HOLE_MIN_STEPS * usual
    if not hole.any():
        return []
    longest = int(np.nanargmax(step))
    text = (
        f"frames are missing in {many(int(hole.sum()), 'place')}, the longest gap lasts {step[longest]:.3g} s from "
        f"{take.time[longest]:.4g} s on; nothing is interpolated, so there is nothing to do"
    )
    return [
        Finding(
            "time-gaps",
            "info",
            text,
            time=(float(take.time[longest]), float(take.time[longest + 1])),
            value=float(step[longest]),
            unit="s",
            frame=int(np.argmax(hole)) + 1,
            count=int(hole.sum()),
        )
    ]


def find_dropouts(take: Take, same: Bools) -> Bools:
    """(n, m) samples that a device wrote where it saw nothing: zeros, or the same place and turn again and again.

    A pose is such a stand-in when it is at the very origin, does not turn (R = I) for a while, or comes back to the
    last bit in separate stretches, and the path jumps into it and out of it.
    """
    out = np.zeros((take.frames, take.bodies), dtype=bool)
    if take.frames < 3:
        return out
    # Where none lies at the origin and none follows itself, none stands in for a lost one.
    again = same | ((take.p_world_body[..., 0] == 0) & (take.p_world_body[..., 1] == 0))
    for body in np.flatnonzero(again.any(axis=0)) if again.any() else ():
        R, p = take.R_world_body[:, body], take.p_world_body[:, body]
        key = p @ [1.0, np.sqrt(2), np.sqrt(3)] + R.reshape(-1, 9) @ np.sqrt([5.0, 6, 7, 8, 10, 11, 13, 14, 15])
        zero = (p == 0).all(axis=1)
        plain = (R == np.eye(3)).all(axis=(1, 2))
        out[:, body] = _stand_ins(take, int(body), np.where(zero, 0.0, key), zero | plain)
    return out & ~_poses_of_rest(take, out)[:, None] if out.any() else out


def find_far(take: Take) -> Bools:
    """(n, m) samples at places where no body can be while it is elsewhere in most frames: numbers that mean "lost"."""
    out = np.zeros((take.frames, take.bodies), dtype=bool)
    for rows in blocks_of(take.frames, POSE_BYTES * take.bodies):
        far = np.abs(take.p_world_body[rows]) > FAR_MIN_M
        if far.any():
            out[rows] = take.seen[rows] & far.any(axis=2)
    if not out.any():
        return out
    middle = median(take.p_world_body)
    off = over_frames(lambda p: np.abs(p - middle).max(axis=2), take.p_world_body)
    each = median(off)
    usual = float(median(each[each > 0]))  # of bodies that are seen and move
    return np.asarray(out & (off > FAR_MIN_EXTENTS * usual) & (usual > 0))


def _poses_of_rest(take: Take, lost: Bools) -> Bools:
    """(n,) frames of stretches in which most bodies are marked, but not at one place: a figure in its pose of rest."""
    most = 2 * lost.sum(axis=1) > np.maximum(take.seen.sum(axis=1), 1)
    for frame in np.flatnonzero(most):
        places = take.p_world_body[frame, lost[frame]]
        most[frame] = bool((places != places[0]).any())
    marked = lost.any(axis=1)
    stretch = np.cumsum(np.diff(marked, prepend=False))
    return np.asarray(marked & np.isin(stretch, stretch[most]))


def _stand_ins(take: Take, body: int, key: Floats, told: Bools) -> Bools:
    """(n,) samples of a body in runs of one key that are `told` or come back, and stand off the path."""
    seen = np.flatnonzero(take.seen[:, body])
    alike = np.zeros(take.frames, dtype=bool)
    alike[seen[1:]] = key[seen[1:]] == key[seen[:-1]]
    runs = find_runs(take, body, alike)
    out = np.zeros(take.frames, dtype=bool)
    value = key[runs.rows[runs.first]]
    _, group, count = np.unique(value, return_inverse=True, return_counts=True)
    # At the ends of a recording one pose of rest may stand alone: the first frame of many clips does.
    inner = np.isfinite(runs.shift) & np.isfinite(runs.after(runs.shift))
    back = (told[runs.rows[runs.first]] & (inner | (runs.length > ALONE_MAX_FRAMES))) | (count[group] > 1)
    far = np.zeros(len(back), dtype=bool)
    for step in (runs.shift, runs.turn):
        leave = runs.after(step)
        ends = np.isfinite(step) | np.isfinite(leave)
        # The usual step is that among samples which are no candidates: a device may lose most of them.
        usual = float(median(step[np.isfinite(step) & (step > 0) & ~back & ~np.append(False, back[:-1])]))
        with np.errstate(invalid="ignore"):
            far |= ends & ~(step <= PATH_JUMP_MIN_STEPS * usual) & ~(leave <= PATH_JUMP_MIN_STEPS * usual) & (usual > 0)
    out[runs.rows] = (back & far)[runs.label]
    return out


def find_frozen(take: Take, same: Bools, rounded: Collection[str] = ()) -> Bools:
    """(n, m) repeats of a sensor's sample while the body went on; the first of each run is fresh and stays.

    Bodies can be still to the last bit: the room, a robot's base, the legs of a synthetic clip. What tells them from a
    frozen sensor is that they come to rest and leave it in small steps, or stay where they are throughout. A sensor
    most of whose runs begin or end with a usual step is frozen in all of them: it is read faster than it measures.

    rounded  bodies that repeat themselves where they are slow, as those formed from rounded markers do, and whose steps
             are those of the rounding
    """
    out = np.zeros((take.frames, take.bodies), dtype=bool)
    for body in np.flatnonzero(same.any(axis=0)):
        runs = find_runs(take, int(body), same[:, body])
        if len(runs.first) < 2 or _stays(take, int(body), runs):
            continue
        coarse = take.names[body] in rounded
        known = np.zeros(len(runs.first), dtype=bool)
        moved = known.copy() if coarse else runs.find_cut_off()
        for step in (runs.shift,) if coarse else (runs.shift, runs.turn):
            enter = np.where(runs.near, step, np.nan)
            leave = runs.after(enter)
            usual = step[np.isfinite(step) & (step > 0)]
            if not len(usual):
                continue
            small = max(REST_MAX_STEPS * float(median(usual)), REST_MAX_LEAST_STEPS * float(usual.min()))
            small = max(small, ROUNDED_STEP_M) if coarse else small
            with np.errstate(invalid="ignore"):
                moved |= (enter > small) | (leave > small)
            known |= np.isfinite(enter) | np.isfinite(leave)
        held = runs.length > 1
        if 2 * (held & moved).sum() >= (held & known).sum():
            moved[:] = True
        out[runs.rows, body] = same[runs.rows, body] & (held & moved)[runs.label]
    return out


def _stays(take: Take, body: int, runs: Runs) -> bool:
    """Whether a sensor stays in one place throughout, but for its noise."""
    p, R = (take_rows(values[:, body], runs.rows) for values in (take.p_world_body, take.R_world_body))
    for values, step in ((p, runs.shift), (R.reshape(-1, 9), runs.turn)):
        usual = step[np.isfinite(step)]
        extent = float(np.ptp(values, axis=0).max())
        if extent > RESTING_MAX_STEPS * float(np.sqrt(np.mean(usual**2))) if len(usual) else extent > 0:
            return False
    return True


def _mask_dropouts(take: Take, same: Bools) -> tuple[Take, list[Finding]]:
    lost = find_dropouts(take, same)
    found = []
    for k in np.flatnonzero(lost.any(axis=0)):
        text = (
            f"{take.names[k]}: {many(int(lost[:, k].sum()), 'pose')} written as zeros or as one constant pose where "
            "the sample was lost; "
            "masked; if they are many, check the sensor, its cable and its range"
        )
        found.append(_describe_marked("dropout", "warning", text, take, int(k), lost))
    far = find_far(take)
    for k in np.flatnonzero(far.any(axis=0)):
        away = np.abs(take.p_world_body[far[:, k], k]).max()
        text = (
            f"{take.names[k]}: {many(int(far[:, k].sum()), 'pose')} at places where nothing is, {away:.1g} m away; "
            "masked; check what the device writes where it sees nothing"
        )
        found.append(_describe_marked("dropout", "warning", text, take, int(k), far))
    return (take.mask(lost | far) if found else take), found


def _mask_held_places(take: Take, held: Bools) -> tuple[Take, list[Finding]]:
    """The take without poses whose place was held: `held_places.add_held_turns` has what is left of them."""
    found = []
    for k in np.flatnonzero(held.any(axis=0)):
        longest, count = int(_run_lengths(held[:, [k]]).max()), int(held[:, k].sum())
        many_held = count > FEW_REPEATS_SHARE * take.frames
        text = (
            f"{take.names[k]}: {many(count, 'place')} {_verb(count)} the one before while it turned, "
            f"at most {longest} in a row; masked; "
        )
        text += "keep it in sight of the cameras or base stations" if many_held else "so few do no harm"
        found.append(_describe_marked("frozen-samples", "warning" if many_held else "info", text, take, int(k), held))
    return (take.mask(held) if found else take), found


def _never_seen(take: Take, places: Bools, poses: Bools) -> list[Finding]:
    """Sensors with one place throughout, which turn: links of a machine do about their own origin."""
    if not places.any():
        return []
    still, fixed = (one.sum(axis=0) == take.frames - 1 for one in (places, poses))
    names = [take.names[k] for k in np.flatnonzero(still & ~fixed)] if not still.all() else []
    ending = "one place throughout while it turns and others move; if it does not turn about itself, it was never in "
    ending += "sight, and is better left out"
    return [
        Finding("frozen-samples", "info", f"{name}: {ending}", (name,), frame=0, count=take.frames) for name in names
    ]


def _without_repeats(take: Take, same: Bools, polled: Bools) -> tuple[Take, list[Finding]]:
    """polled  (n, m) places that repeat because they are read more often than they are measured."""
    if not (same.any() or polled.any()):
        return take, []
    frozen = find_frozen(take, same) | polled
    whole = np.asarray(frozen.any(axis=1) & (same | polled | ~take.seen).all(axis=1))
    if take.markers and frozen.any():  # rounding makes one body repeat itself, hardly all of them at once
        frozen = whole[:, None] | find_frozen(take, same, {marker.body for marker in take.markers}) | polled
    frozen = _with_partners(take, frozen)
    found = [_never_changes(take, int(k)) for k in np.flatnonzero(same.sum(axis=0) == take.frames - 1)]
    found = [] if len(found) == take.bodies else found
    if whole.any():
        count = int(whole.sum())
        what = "the places of the row" if (polled & ~same)[whole].any() else "the row"
        text = (
            f"{many(count, 'row')} {_verb(count)} {what} before in every sensor; the first of each is kept; "
            "record at the rate at which the device measures"
        )
        found.append(Finding("repeated-rows", "warning", text, frame=int(np.argmax(whole)), count=count))
    alone = np.asarray(frozen & ~whole[:, None])
    for k in np.flatnonzero(alone.any(axis=0)):
        longest = int(_run_lengths(alone[:, [k]]).max())
        count, name = int(alone[:, k].sum()), take.names[k]
        is_polled = longest < find_runs(take, int(k), same[:, k] | polled[:, k]).measure_polled()
        severity: Severity = "info" if is_polled or count <= FEW_REPEATS_SHARE * take.frames else "warning"
        what = "place" if (polled & ~same)[alone[:, k], k].any() else "pose"
        text = f"{name}: {many(count, what)} {_verb(count)} the one before while others move, at most {longest} "
        text += "in a row; "
        if severity == "warning":
            text += "masked; check the sensor's connection"
        elif is_polled:
            text += "masked; it is read faster than it measures, there is nothing to do"
        else:
            text += "masked; so few do no harm"
        found.append(_describe_marked("frozen-samples", severity, text, take, int(k), alone))
    if alone.any():
        take = take.mask(alone)
    return (take.at(np.flatnonzero(~whole)) if whole.any() else take), found


def _with_partners(take: Take, frozen: Bools) -> Bools:
    """The same marks, but none in short runs where sensors that are read in turn would no longer meet in a frame."""
    short = np.zeros_like(frozen)
    for k in np.flatnonzero(frozen.any(axis=0)):
        short[:, k] = frozen[:, k] & (_run_lengths(frozen[:, [k]])[:, 0] < max(POLLED_MOST_SAMPLES, take.bodies + 1))
    fresh = take.seen & ~frozen
    count = fresh.sum(axis=0)
    together = _count_together(fresh)
    apart = together < MEETING_MIN_SHARE * np.minimum(count[:, None], count)
    polled = np.asarray(short.any(axis=0))
    apart &= (_count_together(take.seen) > 0) & (polled[:, None] | polled)
    return np.asarray(frozen & ~(short & apart.any(axis=0)))


def _count_together(marks: Bools) -> Floats:
    """(m, m) frames in which two are marked (n, m)."""
    total = np.zeros((marks.shape[1],) * 2)
    for rows in blocks_of(len(marks), 8 * marks.shape[1]):
        part = marks[rows].astype(np.float64)
        total += part.T @ part
    return total


def _run_lengths(marks: Bools) -> Ints:
    """(n, m) how many marked frames in a row each marked one belongs to; 0 elsewhere."""
    n = len(marks)
    row = np.arange(n)[:, None]
    begin = np.maximum.accumulate(np.where(marks, -1, row), axis=0)  # the last frame before that is not marked
    end = n - 1 - np.maximum.accumulate(np.where(marks[::-1], -1, row), axis=0)[::-1]
    return np.where(marks, np.minimum(end, n) - begin - 1, 0)


def _verb(count: int) -> str:
    return "repeats" if count == 1 else "repeat"


def _never_changes(take: Take, body: int) -> Finding:
    name = take.names[body]
    text = f"{name}: one pose throughout while others move; if it is not fixed to the room, its sensor is dead"
    return Finding("frozen-samples", "info", text, (name,), frame=0, count=take.frames)


def _turn_back(take: Take) -> tuple[Take, list[Finding]]:
    flips = find_flips(take)
    if flips is None:
        return take, []
    turned, unclear = flips
    found = []
    for k in np.flatnonzero((turned | unclear).any(axis=0)):
        put_right, masked = int(turned[:, k].sum()), int(unclear[:, k].sum())
        done = [f"{put_right} put right"] * (put_right > 0) + [f"{masked} masked"] * (masked > 0)
        text = (
            f"{take.names[k]}: {many(put_right + masked, 'position')} mirrored to the other side of the transmitter; "
            f"{' and '.join(done)}; keep the sensor on one side, or set the device's hemisphere"
        )
        found.append(_describe_marked("hemisphere-flip", "warning", text, take, int(k), turned | unclear))
    p = over_frames(lambda back, part: np.where(back[..., None], -part, part), turned, take.p_world_body)
    return replace(take, p_world_body=hide(p, unclear)), found


def _describe_marked(code: str, severity: Severity, text: str, take: Take, body: int, marks: Bools) -> Finding:
    """A finding about the marked samples (n, m) of one body."""
    rows = np.flatnonzero(marks[:, body])
    return Finding(
        code,
        severity,
        text,
        (take.names[body],),
        time=(float(take.time[rows[0]]), float(take.time[rows[-1]])) if take.timed else None,
        value=len(rows) / take.frames,
        unit="1",
        frame=int(rows[0]),
        count=len(rows),
    )


def mask_unmeasured(take: Take, options: FitOptions) -> Decision:
    """The stage of it: what no sensor measured is masked or put right."""
    if not options.prepare:
        return Decision()
    return Decision(take=prepare(take, [name for name in ("dropouts", "flips", "repeats") if not options.fixes(name)]))
