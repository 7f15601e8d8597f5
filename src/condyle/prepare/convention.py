"""Which convention do these numbers use? A wrong one makes the joints come apart many times more than the right one.

Each way to understand the numbers is scored by how far the joints of its own best tree come apart. What moves every
pair alike cannot be seen so: a mirrored scene, one scale for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from ..errors import CondyleError
from ..findings import Finding, mm
from ..maths import rotation
from ..maths.arrays import Floats, Ints, evenly
from ..maths.graph import spanning_tree
from ..maths.robust import median
from ..maths.spool import hide, over_frames
from ..model.recording import (
    EULER_ORDERS,
    EXTRINSIC,
    MATRIX,
    QUATERNIONS,
    VECTOR,
    Convention,
    Recording,
    length_of,
    to_take,
    width_of,
)
from ..model.take import Take, join
from ..model.values import dataclass
from ..pairs.fits import PairFits, fit_pairs
from ..pairs.forest import RESOLVABLE_TURN_RAD, measure_forest, scene_size
from ..pairs.sums import sum_pairs
from .flips import find_flips, find_opposite
from .odd_sensors import OddSensor, axis_orders, find_odd_sensors

TRIED_POSES = 2400  # that a convention is tried on, but
TRIED_FRAMES = (100, 300)  # frames at least and at most
CONVENTION_MIN_FRAMES = 30  # frames below which it is not tried: anything fits
OVERRULE_MIN_TIMES = 2.0  # times better, from which the motion overrules what a file says or is used to say
AHEAD_MIN_TIMES = 1.5  # times better than every other reading of the rotations: then no other axes are tried
HOPELESS_MIN_TIMES = 10.0  # times worse at first sight, from which another reading is not looked at twice
READINGS_ALIKE_MAX_TIMES = 1.3  # times better, below which two readings do alike
# Right readings of 91 recordings of data, data/more and data/hard have 0.06 and less; of six recordings of hands with
# nothing worn between them, five have 0.26 and more in any reading.
UNJOINED_MIN_SHARE = 0.2  # of the scene's size by which joints come apart, from which on there are none
SAME_FIGURE_SHARE = 0.02  # of the scene's size: joints moved by less are the same figure
ONE_AXIS_MAX_SHARE = 0.1  # of the turn about the main axis, below which there is no other: 1 of 32 deg in a hinge
MOST_SHORTLISTED = 4  # ways to read the rotations that are tried with every order of the axes
Takes = dict[tuple[object, ...], Take | None]  # what the numbers are under each convention that was tried
KEPT = ("confirmed", "untested", "unjoined")  # verdicts with which the numbers are read as they were
UNSEEN_NOTE = "not to be seen in residuals: a scene that is mirrored as a whole, and one scale for all positions"


@dataclass(frozen=True)
class Candidate:
    """One way to understand the numbers; gap [m]: how far the joints of its tree come apart, robust."""

    convention: Convention
    gap: float

    def __str__(self) -> str:
        return str(self.convention)


@dataclass(frozen=True)
class Diagnosis:
    """What the motion says about a convention.

    ranking   candidates, best first; the one in use is among them
    used      the convention as the file or the user has it
    verdict   "confirmed": the one in use fits best; "other": another one is clearly better; "ambiguous": the `rival`
              does about as well; "untested": too little motion, or nothing fits any better than anything else;
              "unjoined": no reading fits, in each of them the bodies turn about no points that they share
    odd       sensors that need a reading of their own
    """

    ranking: tuple[Candidate, ...]
    used: Candidate
    verdict: str
    rival: Candidate | None = None
    odd: tuple[OddSensor, ...] = ()

    @property
    def best(self) -> Candidate:
        return self.ranking[0]


def diagnose(recordings: Sequence[Recording], *, thorough: bool = False) -> Diagnosis | None:
    """Compares the convention in use with others; None where there are fewer than two bodies or thirty frames, where
    nothing turns, or where the numbers are no rotations in any.

    The search widens until one is clearly best: the rotations first, then every order of the positions' axes with the
    best of them, unless the order is said and every body turns about one axis, which tells no axes. `thorough` tries
    all of it in any case, for a full ranking.
    """
    thin = _thin(recordings)
    if thin is None:
        return None
    base, metres = thin[0].convention, length_of(recordings[0])[0]
    takes = {_key(base): _take(thin, base, metres)}
    first = takes[_key(base)]
    if first is None:  # no rotations in any reading: that is for the conversion to say
        return None
    turns = _turn_in_room(first)
    # Small turns are so in any reading, but radians that are taken for degrees look smaller than they are.
    still = RESOLVABLE_TURN_RAD
    if width_of(base.rotation) == 3 and base.degrees and False in _angles(thin):
        still = np.radians(still)
    if np.square(turns).sum(axis=2).mean(axis=0).max() < still**2:
        return None
    size = scene_size(first)
    misfit = measure_forest(first, size=size)
    hopeless = np.inf if thorough else HOPELESS_MIN_TIMES * misfit.plain
    used = Candidate(base, misfit.gap)
    found = [used]

    def widen(options: Iterator[Convention]) -> None:
        for convention in options:
            if _key(convention) not in takes:
                takes[_key(convention)] = take = _take(thin, convention, metres)
                gap = np.inf if take is None else measure_forest(take, size=size, hopeless=hopeless).gap
                found.append(Candidate(convention, gap))

    widen(_rotations(base, thin, all_orders=False))
    if thorough or not _stands_out(used, found, OVERRULE_MIN_TIMES):
        widen(_rotations(base, thin, all_orders=True))
    untold = "rotation" in base.stated | base.given and _is_about_one_axis(turns.reshape(-1, 3))
    if not untold and (thorough or not _stands_out(used, found, AHEAD_MIN_TIMES)):
        best = sorted(found, key=_by_gap)[:MOST_SHORTLISTED]
        for candidate in [*best, *(() if used in best else (used,))]:
            widen(_axes(candidate.convention))
    ranking = _without_twins(sorted(found, key=_by_gap), used)
    verdict, rival = _verdict(ranking, used, takes, size)
    chosen = used if verdict in KEPT else ranking[0]
    take = takes[_key(chosen.convention)]
    return Diagnosis(tuple(ranking), used, verdict, rival, find_odd_sensors(take) if take is not None else ())


def _by_gap(candidate: Candidate) -> float:
    return candidate.gap if np.isfinite(candidate.gap) else np.inf


def _key(convention: Convention) -> tuple[object, ...]:
    return convention.rotation, convention.degrees, convention.transposed, convention.axes


def _stands_out(used: Candidate, found: Sequence[Candidate], times: float) -> bool:
    """Whether the convention in use is so many times better than every other so far."""
    return all(one is used or one.gap >= times * used.gap for one in found)


def _without_twins(ranking: Sequence[Candidate], used: Candidate) -> list[Candidate]:
    """Of readings that differ by the axes of the room or of the bodies only, the one that changes least.

    Those have the same gaps to rounding: xyzw transposed, with axes z,-y,x, is wxyz in another room.
    """
    kept: list[Candidate] = []
    for one in sorted(ranking, key=lambda candidate: (*_changes(candidate, used), _by_gap(candidate))):
        if not any(abs(one.gap - other.gap) <= 1e-6 * other.gap for other in kept if np.isfinite(other.gap)):
            kept.append(one)
    return sorted(kept, key=_by_gap)


def _changes(one: Candidate, used: Candidate) -> tuple[int, bool]:
    """How many fields differ, and whether the positions' axes do: of equals, the room stays as the file has it."""
    count = sum(a != b for a, b in zip(_key(one.convention), _key(used.convention), strict=True))
    return count, one.convention.axes != used.convention.axes


def _verdict(ranking: Sequence[Candidate], used: Candidate, takes: Takes, size: float) -> tuple[str, Candidate | None]:
    """The verdict of a diagnosis and the rival, in a scene of this size [m]."""
    known = np.array([one.gap for one in ranking if np.isfinite(one.gap)])
    best = ranking[0]
    if len(known) < 2 or not np.isfinite(best.gap) or float(median(known[1:])) < READINGS_ALIKE_MAX_TIMES * best.gap:
        return "untested", None
    if best.gap > UNJOINED_MIN_SHARE * size:
        return "unjoined", None
    rivals = [
        one
        for one in ranking
        if one is not best and one.gap < READINGS_ALIKE_MAX_TIMES * best.gap and _differ(takes, one, best)
    ]
    if best is used or not _differ(takes, used, best):
        return ("ambiguous", rivals[0]) if rivals else ("confirmed", None)
    if used.gap < OVERRULE_MIN_TIMES * best.gap:
        return "ambiguous", used
    return ("ambiguous", rivals[0]) if rivals else ("other", None)


def apply_diagnosis(
    recordings: Sequence[Recording], diagnosis: Diagnosis | None
) -> tuple[list[Recording], list[Finding]]:
    """The recordings under the convention that the motion tells, and what was changed or doubted.

    What the user gave is never changed. A file that states nothing, and whose numbers fit two ways, is an error.
    """
    if diagnosis is None or diagnosis.verdict in KEPT:
        return list(recordings), []
    used, best = diagnosis.used, diagnosis.best
    fields = find_changed_fields(used.convention, best.convention)
    if diagnosis.verdict == "ambiguous":
        return _leave_undecided(recordings, diagnosis)
    if fields & used.convention.given:
        return list(recordings), [_doubt(used, best)]
    times = used.gap / best.gap
    option = option_of(best.convention, fields)
    said = "the file says" if fields & used.convention.stated else "such files usually mean"
    text = (
        f"read as {best}, not as {used} as {said}: the joints come apart {times:.0f} times less; "
        f"say {option} if that is right, or {option_of(used.convention, fields)} if not"
    )
    finding = Finding("convention-repaired", "warning", text, value=times, unit="1")
    return [one.under(best.convention) for one in recordings], [finding]


def _doubt(used: Candidate, best: Candidate) -> Finding:
    times = used.gap / best.gap
    option = option_of(best.convention, find_changed_fields(used.convention, best.convention))
    text = f"as {used}, as was said, the joints come apart {times:.0f} times more than as {best}; check {option}"
    return Finding("convention-doubt", "warning", text, value=times, unit="1")


def _leave_undecided(recordings: Sequence[Recording], diagnosis: Diagnosis) -> tuple[list[Recording], list[Finding]]:
    """Two readings fit about alike: what was said holds, custom holds where it fits best, and a guess stops."""
    used, best, rival = diagnosis.used, diagnosis.best, diagnosis.rival
    if rival is not None and used is not best and used is not rival:  # two that are clearly better than the one in use
        if find_changed_fields(used.convention, best.convention) & used.convention.given:
            return list(recordings), [_doubt(used, best)]
        differs = find_changed_fields(best.convention, rival.convention)
        raise CondyleError(
            f"the numbers fit as {best} (joints come apart by {mm(best.gap)} mm) and as {rival} ({mm(rival.gap)} mm), "
            f"both better than as {used} ({mm(used.gap)} mm); "
            f"say which it is: {option_of(best.convention, differs)} or {option_of(rival.convention, differs)}",
            code="ambiguous-convention",
        )
    other = best if rival is None or rival is used else rival
    differs = find_changed_fields(used.convention, other.convention)
    if differs <= used.convention.given | used.convention.stated:
        return list(recordings), []
    if used is diagnosis.best and not differs & used.convention.guessed:
        text = (
            f"read as {used}, as such files usually mean, but {other} fits nearly as well "
            f"({other.gap / used.gap:.2f} times); move more, or say {option_of(used.convention, differs)}"
        )
        return list(recordings), [Finding("convention-unclear", "warning", text, value=other.gap / used.gap, unit="1")]
    raise CondyleError(
        f"the numbers fit as {used} (joints come apart by {mm(used.gap)} mm) and as {other} ({mm(other.gap)} mm); "
        f"say which it is: {option_of(used.convention, differs)} or {option_of(other.convention, differs)}",
        code="ambiguous-convention",
    )


def find_changed_fields(one: Convention, other: Convention) -> set[str]:
    """Names of the fields in which two conventions read numbers differently."""
    names = ("rotation", "degrees", "transposed", "axes")
    return {name for name in names if getattr(one, name) != getattr(other, name)}


def option_of(convention: Convention, fields: set[str]) -> str:
    """What the user writes to say these fields of a convention."""
    words = []
    if "rotation" in fields:
        kind = "quaternion" if convention.rotation in QUATERNIONS else "euler"
        words.append(f"--{kind} {convention.rotation}")
    if "degrees" in fields:
        words.append("--degrees" if convention.degrees else "--radians")
    if "transposed" in fields:
        words.append("--transposed" if convention.transposed else "--not-transposed")
    if "axes" in fields:
        words.append(f"--axes={','.join(convention.axes)}")
    return " ".join(words)


def _differ(takes: Takes, one: Candidate, other: Candidate) -> bool:
    """Whether two readings of the same numbers give different figures.

    Readings that differ by turned axes of the room or of a body, or by a mirror, put every joint at the same distance
    from both sensors: xyzw transposed, with axes z,-y,x, is wxyz in another room.
    """
    a, b = takes[_key(one.convention)], takes[_key(other.convention)]
    if a is None or b is None:
        return True
    first, second = fit_pairs(sum_pairs(a)), fit_pairs(sum_pairs(b))
    edges = spanning_tree(a.bodies, first.pairs, first.residual, a.names)
    reach = np.stack([_reach(fits, edges) for fits in (first, second)])
    return bool((np.abs(reach[0] - reach[1]) > SAME_FIGURE_SHARE * scene_size(a)).any())


def _reach(fits: PairFits, edges: Ints) -> Floats:
    """(J, 2) distances of each joint from its two sensors [m]."""
    sides = (fits.p_child_joint[edges], fits.p_parent_joint[edges])
    return np.stack([np.linalg.norm(side, axis=1) for side in sides], axis=1)


def _turn_in_room(take: Take) -> Floats:
    """(n, m, 3) [rad] turns of all bodies in the room from their mean poses; 0 where they are not seen."""
    return np.nan_to_num(rotation.to_vector(take.R_world_body @ rotation.mean(take.R_world_body).swapaxes(-1, -2)))


def _is_about_one_axis(turns: Floats) -> bool:
    """Whether turns (q, 3) are about one axis of the room: then axes of positions cannot be told from each other."""
    spread = np.sqrt(np.maximum(np.linalg.eigvalsh(turns.T @ turns), 0.0))
    return bool(spread[1] < ONE_AXIS_MAX_SHARE * spread[2])


def _put_flips_right(recording: Recording) -> Recording:
    """The recording with positions on the wrong side of a transmitter put right, whatever the rotations mean."""
    assert recording.bodies is not None
    p = recording.bodies.position
    if not find_opposite(p).any():
        return recording
    try:
        take = to_take(
            replace(recording.under(replace(recording.convention, unit="m")), time=None, segment=None, rate=None)
        )
    except CondyleError:
        return recording
    flips = find_flips(take)
    if flips is None:
        return recording
    turned, unclear = flips
    position = over_frames(lambda back, part: np.where(back[..., None], -part, part), turned, p)
    return replace(recording, bodies=replace(recording.bodies, position=hide(position, unclear)))


def _thin(recordings: Sequence[Recording]) -> list[Recording] | None:
    if any(one.bodies is None or len(one.bodies.names) < 2 for one in recordings):
        return None
    frames = sum(one.frames for one in recordings)
    bodies = max(len(one.bodies.names) for one in recordings if one.bodies is not None)
    most = min(max(TRIED_POSES // bodies, TRIED_FRAMES[0]), TRIED_FRAMES[1])
    thin = []
    for one in map(_put_flips_right, recordings) if frames >= CONVENTION_MIN_FRAMES else ():
        rows = evenly(one.frames, max(1, most * one.frames // max(frames, 1)))
        thin.append(replace(one.at(rows), time=None, rate=1.0, segment=None, findings=(), own=None))
    return thin if frames >= CONVENTION_MIN_FRAMES else None


def _take(thin: Sequence[Recording], convention: Convention, metres: float) -> Take | None:
    known = convention if convention.unit is not None else replace(convention, unit=repr(metres))
    try:
        takes = [to_take(one.under(known)) for one in thin]
        return takes[0] if len(takes) == 1 else join(takes)
    except CondyleError:
        return None


def _rotations(base: Convention, thin: Sequence[Recording], *, all_orders: bool) -> Iterator[Convention]:
    """Other ways to read the rotations: quaternion order, transpose, Euler order and frame, degrees."""
    if base.rotation in QUATERNIONS:
        for order, transposed in product(QUATERNIONS, (False, True)):
            yield base.but(rotation=order, transposed=transposed)
    elif base.rotation == MATRIX:
        for transposed in (False, True):
            yield base.but(transposed=transposed)
    else:
        orders = EULER_ORDERS if all_orders else EULER_ORDERS[:6]
        kinds = [order + frame for order in orders for frame in ("", EXTRINSIC)] + [VECTOR]
        for kind, degrees, transposed in product(kinds, _angles(thin), (False, True) if all_orders else (False,)):
            yield base.but(rotation=kind, degrees=degrees, transposed=transposed)


def _angles(thin: Sequence[Recording]) -> tuple[bool, ...]:
    """Whether angles can be degrees, radians or both: beyond two turns they are no radians."""
    most = max(float(np.nanmax(np.abs(one.bodies.orientation), initial=0.0)) for one in thin if one.bodies is not None)
    return (True,) if most > 4 * np.pi else (True, False)


def _axes(base: Convention) -> Iterator[Convention]:
    for axes in axis_orders():
        yield base.but(axes=axes)
