"""Which columns of a table without names hold time, positions and orientations, by their numbers alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...findings import list_some, many
from ...maths.arrays import Bools, Floats
from ...model.values import dataclass
from .vocabulary import TIME_UNITS, Thing

FEWEST_GUESSED_ROWS = 10
MOST_GUESSED_COLUMNS = 4000
UNIT_TOLERANCE = 0.02  # departure of a quaternion's length, or of a matrix from orthonormal
RULE_MIN_SHARE = 0.9  # share of the known rows that a rule must hold for
LIKELY_RATES_HZ = (5.0, 2000.0)  # Hz that a log of poses has
EPOCH_S = (5e8, 5e9)  # s since 1970 in the years 1985 to 2128: stamps between are dates in seconds
MOST_STEP_SHARE = 0.1  # a step against the range: positions move on, they do not jump


@dataclass(frozen=True)
class Guess:
    """poses: without names; kind: "quaternion", "matrix", "angles" or "" for markers; reasons: one sentence each."""

    poses: tuple[Thing, ...]
    kind: str
    time: int | None
    reasons: tuple[str, ...]


def guess(values: Floats, time: int | None = None) -> Guess | str:
    """What the columns of numbers (n, k) could be, or one sentence why nothing is proposed."""
    n, k = values.shape
    if n < FEWEST_GUESSED_ROWS:
        return f"only {many(n, 'row')}: too few to tell from numbers what the columns are"
    if k > MOST_GUESSED_COLUMNS:
        return f"{k} columns: too many to tell from numbers what they are"
    reasons: list[str] = []
    clock = find_clock(values) if time is None else time
    counter = _find_counter(values)
    free = [j for j in range(k) if j not in (clock, counter) and np.isfinite(values[:, j]).any()]
    if clock is not None and time is None:
        reasons.append(f"column {clock + 1} increases steadily: time")
    for kind, width in (("matrix", 16), ("matrix", 12), ("matrix", 9), ("quaternion", 4)):
        groups = _find_runs(values, free, kind, width)
        if not groups:
            continue
        what = {16: "4 x 4 matrices", 12: "3 x 4 matrices", 9: "orthonormal matrices", 4: "unit quaternions"}[width]
        reasons.append(f"columns {_describe_spans(groups)} hold {what}")
        if width > 9:
            poses = [
                Thing("", tuple(g[3:12:4]), tuple(g[4 * i + j] for i in range(3) for j in range(3))) for g in groups
            ]
            return Guess(tuple(poses), kind, clock, tuple(reasons))
        positions = _find_beside(free, groups)
        if positions is None:
            spans = _describe_spans(groups)
            return f"columns {spans} look like {what}, but no three columns beside each could be its position"
        reasons.append(f"columns {_describe_spans(positions)} stand beside them: positions")
        poses = [Thing("", tuple(p), tuple(g)) for p, g in zip(positions, groups, strict=True)]
        return Guess(tuple(poses), kind, clock, tuple(reasons))
    return (
        _guess_angles(values, clock, counter, reasons)
        or _guess_markers(values, free, clock, reasons)
        or _describe_nothing(free)
    )


def find_quaternions(values: Floats, columns: Sequence[int]) -> list[list[int]]:
    """Runs of four neighbouring ones of these columns that have the length of a quaternion in nearly every row."""
    return _find_runs(values, columns, "quaternion", 4)


def find_clock(values: Floats) -> int | None:
    """The first column that increases in steady steps and does not count rows."""
    for j in range(values.shape[1]):
        series = values[:, j]
        if not np.isfinite(series).all():
            continue
        step = np.diff(series)
        if (step < 0).any() or not (step > 0).mean() > 0.5 or _does_count(series):
            continue
        usual = np.median(step[step > 0])
        if np.mean(np.abs(step - usual) < usual) > RULE_MIN_SHARE:
            return j
    return None


def are_unit(quaternions: Floats) -> Bools:
    """(n,) whether four numbers (n, 4) have the length of a quaternion, but for few decimals."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.abs(np.linalg.norm(quaternions, axis=1) - 1) < UNIT_TOLERANCE)


def are_rotations(matrices: Floats) -> Bools:
    """(n,) whether matrices (n, 3, 3) are orthonormal, but for few decimals."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(
            (np.abs(matrices @ np.swapaxes(matrices, 1, 2) - np.eye(3)) < UNIT_TOLERANCE).all(axis=(1, 2))
        )


def find_time_unit(time: Floats) -> str | None:
    """s, ms, us or ns: the one under which the steps of these stamps give 5 to 2000 frames per second; s where they are
    dates of our time, however coarse.
    """
    steps = np.diff(np.unique(time))
    if not len(steps):
        return None
    if EPOCH_S[0] < time.min() and time.max() < EPOCH_S[1]:
        return "s"
    step = float(np.median(steps))
    periods = {unit: step * s for unit, s in TIME_UNITS.items()}  # s; of the least that is a number, some are zero
    likely = [unit for unit, s in periods.items() if s and LIKELY_RATES_HZ[0] <= 1 / s <= LIKELY_RATES_HZ[1]]
    return likely[0] if likely else None


def _does_count(series: Floats) -> bool:
    return bool((series == np.trunc(series)).all() and (np.diff(series) == 1).mean() > RULE_MIN_SHARE)


def _find_counter(values: Floats) -> int | None:
    whole = [j for j in range(values.shape[1]) if np.isfinite(values[:, j]).all() and _does_count(values[:, j])]
    return whole[0] if whole else None


def _find_runs(values: Floats, free: Sequence[int], kind: str, width: int) -> list[list[int]]:
    """Runs of `width` neighbouring free columns that pass as such rotations, from the left."""
    groups, j = [], 0
    while j + width <= len(free):
        run = list(free[j : j + width])
        if run[-1] - run[0] == width - 1 and _passes(values[:, run], kind, width):
            groups.append(run)
            j += width
        else:
            j += 1
    return groups


def _passes(values: Floats, kind: str, width: int) -> bool:
    known = values[np.isfinite(values).all(axis=1) & (values != 0).any(axis=1)]
    if len(known) < FEWEST_GUESSED_ROWS:
        return False
    if kind == "quaternion":
        return bool(are_unit(known).mean() > RULE_MIN_SHARE and np.ptp(known, axis=0).max() > 0)
    R = known.reshape(-1, width // 3, 3) if width == 9 else known.reshape(-1, width // 4, 4)[:, :3, :3]
    good = are_rotations(R)
    if width == 16:
        good &= (np.abs(known[:, 12:] - (0, 0, 0, 1)) < 1e-6).all(axis=1)
    return bool(good.mean() > RULE_MIN_SHARE)


def _find_beside(free: Sequence[int], groups: Sequence[Sequence[int]]) -> list[list[int]] | None:
    """Three columns for each group of rotations: before each, after each, or all together before or after them all."""
    used = {j for group in groups for j in group}
    rest = [j for j in free if j not in used]

    def run(start: int, count: int) -> list[int] | None:
        columns = list(range(start, start + count))
        return columns if all(j in rest for j in columns) else None

    for side in ([run(g[0] - 3, 3) for g in groups], [run(g[-1] + 1, 3) for g in groups]):
        found = [columns for columns in side if columns is not None]
        if len(found) == len(groups):
            return found
    count = 3 * len(groups)
    if len(rest) != count:  # which of them belong to rotations cannot be told
        return None
    block = run(groups[0][0] - count, count) or run(groups[-1][-1] + 1, count)
    return None if block is None else [block[k : k + 3] for k in range(0, count, 3)]


def _guess_angles(values: Floats, clock: int | None, counter: int | None, reasons: Sequence[str]) -> Guess | None:
    """Groups of the same width, each three places and three angles: x y z a b c and perhaps more, a clock say."""
    first = 0
    while first in (clock, counter):
        first += 1
    for width in (6, 7, 8, 9, 10):
        count, left = divmod(values.shape[1] - first, width)
        if count == 0 or left > 2:
            continue
        starts = [first + k * width for k in range(count)]
        poses = [Thing("", (s, s + 1, s + 2), (s + 3, s + 4, s + 5)) for s in starts]
        turns = values[:, [j for pose in poses for j in pose.rotation]]
        places = values[:, [j for pose in poses for j in pose.position]]
        if _is_angle_like(turns) and _is_smooth(places) and not _do_turn_over(places).any():
            told = f"groups of {width} columns: three smooth ones, then three within +-360 that turn over"
            return Guess(tuple(poses), "angles", clock, (*reasons, told))
    return None


def _is_angle_like(values: Floats) -> bool:
    """Within +-360, and some column turns over."""
    known = values[np.isfinite(values).all(axis=1)]
    return len(known) >= FEWEST_GUESSED_ROWS and bool(np.abs(known).max() < 360.5 and _do_turn_over(known).any())


def _do_turn_over(values: Floats) -> Bools:
    """Per column, whether it jumps by nearly a whole turn from one row to the next: what no length does."""
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.nanmax(np.abs(values), axis=0, initial=0.0)
        turn = np.where(largest > 7, 360.0, 2 * np.pi)
        jumps = np.abs(np.abs(np.diff(values, axis=0)) - turn) < turn / 12
    return np.asarray(jumps.any(axis=0) & (largest < 360.5) & (largest > 2.5))


def _is_smooth(values: Floats) -> bool:
    """Every column moves, and by small steps."""
    known = values[np.isfinite(values).all(axis=1)]
    if len(known) < FEWEST_GUESSED_ROWS:
        return False
    reach = np.ptp(known, axis=0)
    with np.errstate(over="ignore"):
        step = np.median(np.abs(np.diff(known, axis=0)), axis=0)
    return bool((reach > 0).all() and (step < MOST_STEP_SHARE * reach).all())


def _guess_markers(values: Floats, free: Sequence[int], clock: int | None, reasons: Sequence[str]) -> Guess | None:
    """Three or more triples of smooth columns, and nothing else."""
    moving = values[:, list(free)]
    if len(free) < 9 or len(free) % 3 or not _is_smooth(moving) or _do_turn_over(moving).any():
        return None
    poses = tuple(Thing("", tuple(free[k : k + 3]), ()) for k in range(0, len(free), 3))
    told = f"{len(free)} columns that move smoothly, in threes: positions without orientations"
    return Guess(poses, "", clock, (*reasons, told))


def _describe_nothing(free: Sequence[int]) -> str:
    return (
        f"{len(free)} columns of numbers among which no quaternion, matrix or triples of positions can be told; "
        "joint angles need a kinematic model"
    )


def _describe_spans(groups: Sequence[Sequence[int]]) -> str:
    return list_some([f"{group[0] + 1}-{group[-1] + 1}" for group in groups], 6, " ...")
