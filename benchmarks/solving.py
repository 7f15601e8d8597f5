"""Later takes on a known figure: how far are the poses from the truth, with all sensors, with some of them missing, and
with orientations and one position alone? And do lengths of one body agree from take to take?

Simulated: performers of different stature, calibrated by an exercise of 30 s and solved on its next 10 s and on a walk
with the sensors where they were; the truth is where joints are and how bones are turned. Recorded: subjects with
several takes of one mounting, one of which calibrates; sensors are hidden, and what was recorded of them is the truth.
A recorded sensor with an orientation alone counts as one without, whose place follows from the figure: determined where
the interval that is told is within 50 mm, open where it is wider.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from condyle.errors import CondyleError
from condyle.maths import rotation
from condyle.maths.arrays import Floats
from condyle.maths.robust import Z95
from condyle.model.motion import forward, reference_rotations
from condyle.model.take import Take
from condyle.motion.known import match_sensors
from condyle.motion.unplaced import choose_turns, measure_parting, measure_place_errors
from condyle.result.compare import compare_figures
from condyle.simulate import Mounts, simulate
from condyle.simulate.seeds import stream

from .bound import noise
from .coverage import SOFT
from .harness import Case, Table, arguments, measured, percent, progress, publish
from .mountings import draw_person

CALIBRATION_S, LATER_S, RATE = 30.0, 10.0, 30.0
MISSING = (1, 3, 5)  # sensors
DRAWS = 2  # sets of hidden sensors for each recorded take
RECORDED_HZ = 50.0  # to which recordings are thinned
SEEN_MIN_SHARE = 0.3  # of the calibration's frames, from which a body counts
PLACED = "pelvis"  # the sensor that has a position where the others have none
CASES = (Case("noise", noise(0.15, 0.15)), Case("skin", noise(0.15, 0.15, **SOFT)))
# Takes of one mounting: the first calibrates. Of walks and runs most have one activity, of the others several.
SUBJECTS: dict[str, tuple[str, ...]] = {
    "drop jumps, then walks": tuple(
        f"more/lasem/FAILT01_{name}.c3d" for name in ("SLDJ01", "SLDJ04", "Walk01", "Walk02")
    ),
    "walks, then a drop jump": tuple(f"more/lasem/FAILT01_{name}.c3d" for name in ("Walk01", "Walk03", "SLDJ02")),
    "deadlifts": tuple(
        f"more/deadlift/athlete_0_{name}_markers_experimental.trc" for name in ("conv_dl_0", "sumo_dl_0", "sumo_dl_1")
    ),
    "walks with and without a device": ("more/exo/NE21.trc", "more/exo/ET21.trc"),
    "walks (gait2392)": tuple(f"more/osimcore/walk_free_0{k}.trc" for k in (1, 2, 3)),
    "walk and turn (HC002D)": ("more/zoo/HC002D06.c3d", "more/zoo/HC002D25.c3d"),
    "walk and turn (HC033A)": ("more/zoo/HC033A10.c3d", "more/zoo/HC033A22.c3d"),
    "walk and turn (HC039A)": ("more/zoo/HC039A17.c3d", "more/zoo/HC039A31.c3d"),
    "squats, then a walk": ("hard/squat/b_squats.trc", "hard/squat/b_walk.trc"),
    "linkage as an arm": tuple(
        f"diodem/arm/exp01/{name}"
        for name in ("motion05_fast", "motion03_slow1", "motion09_fast_slow", "motion12_shaking")
    ),
    "linkage as a leg": tuple(f"diodem/gait/exp06/{name}" for name in ("motion09_fast_slow", "motion11_slow2")),
}
# Experiments on one linkage on two days, with the markers where they were glued on.
SESSIONS = {"linkage, two experiments": ("diodem/arm/exp01/motion05_fast", "hard/linkage/arm_small_moves")}


@dataclass
class Errors:
    """Over frames, bodies and takes: distances [m] and angles [rad] from the truth, of bodies with a sensor, of those
    without that are said to be determined, and of those of which a turn, or the place, is said to be open; and how many
    of all without are determined, and have no pose.
    """

    place: list[Floats] = field(default_factory=list)
    turn: list[Floats] = field(default_factory=list)
    told_place: list[Floats] = field(default_factory=list)
    told_turn: list[Floats] = field(default_factory=list)
    open_place: list[Floats] = field(default_factory=list)
    open_turn: list[Floats] = field(default_factory=list)
    hidden: int = 0
    told: int = 0
    without: int = 0

    def add(self, place: Floats, turn: Floats, hidden: Sequence[int], is_open: Sequence[int]) -> None:
        """(n, m) errors of all bodies, NaN where there is no pose; numbers of the hidden ones, and of those said to be
        open.
        """
        shown = [k for k in range(place.shape[1]) if k not in hidden]
        for into, values in ((self.place, place[:, shown]), (self.turn, turn[:, shown])):
            into.append(values[np.isfinite(values)])
        for k in hidden:
            self.hidden += 1
            if np.isfinite(place[:, k]).mean() < 0.5:
                self.without += 1
                continue
            self.told += k not in is_open
            into = (self.open_place, self.open_turn) if k in is_open else (self.told_place, self.told_turn)
            for one, values in zip(into, (place, turn), strict=True):
                one.append(values[:, k][np.isfinite(values[:, k])])

    def row(self, name: str) -> list[str]:
        def both(place: list[Floats], turn: list[Floats]) -> list[str]:
            if not place:
                return ["-", "-"]
            size = np.concatenate(place)
            far = f"{1000 * np.sqrt(np.mean(size**2)):.1f} ({1000 * np.percentile(size, 95):.0f})"
            return [far, f"{np.degrees(np.sqrt(np.mean(np.concatenate(turn) ** 2))):.1f}"]

        told, without = (f"{n} of {self.hidden}" if self.hidden else "-" for n in (self.told, self.without))
        parts = ((self.told_place, self.told_turn), (self.open_place, self.open_turn))
        told_errors, open_errors = (both(*part) for part in parts)
        return [name, *both(self.place, self.turn), told, *told_errors, *open_errors, without]


HEADS = (
    "sensors",
    "with a sensor: place, mm, rms (95th percentile)",
    "turn, deg",
    "without, said to be determined",
    "place, mm",
    "turn, deg",
    "without, said to be open: place, mm",
    "turn, deg",
    "without a pose",
)


def hide(take: Take, gone: Sequence[str]) -> Take:
    return take.select([name for name in take.names if name not in gone])


def draw_hidden(names: Sequence[str], count: int, rng: np.random.Generator) -> list[str]:
    return [str(name) for name in rng.choice(list(names), count, replace=False)]


def solve_turned(take: Take, calibration: condyle.Fit, placed: str, place: Path) -> condyle.Fit:
    """The take by its orientations and the position of one sensor: a file with zeros in the place of the others."""
    p = np.where(np.array([name == placed for name in take.names])[None, :, None], take.p_world_body, 0.0)
    file = place / "turned.npz"
    condyle.write_take(file, Take(take.names, take.time, take.R_world_body, p))
    return condyle.solve(file, calibration, doctor=False)


def measure_simulated(case: Case, seeds: Sequence[int]) -> dict[str, Errors]:
    found: dict[str, Errors] = {}
    for seed in seeds:
        figure, rng = draw_person(seed), stream(seed, "hidden")
        seconds = CALIBRATION_S + LATER_S
        world = simulate(figure, seconds=seconds, rate=RATE, seed=seed, disturbances=case.disturbances)
        tree = [(parent, child) for child, parent in world.truth.edges]
        cut = int(CALIBRATION_S * RATE)
        calibration = condyle.fit(world.take.slice(None, cut), tree=tree)
        mounts: Mounts = world.truth.mounts
        walk = simulate(
            figure, "walk", seconds=LATER_S, rate=RATE, seed=seed + 1, disturbances=case.disturbances, mounts=mounts
        )
        for motion, take, truth, rows in (
            ("exercise", world.take.slice(cut, None), world.truth, slice(cut, None)),
            ("walk", walk.take, walk.truth, slice(None)),
        ):
            for count in (0, *MISSING):
                gone = draw_hidden(take.names, count, rng)
                solved = condyle.solve(hide(take, gone), calibration)
                name = f"{motion}, {count} missing" if count else f"{motion}, all"
                _add_true(found.setdefault(name, Errors()), solved, truth, rows, gone)
            with tempfile.TemporaryDirectory() as place:
                solved = solve_turned(take, calibration, PLACED, Path(place))
            _add_true(found.setdefault(f"{motion}, orientations and {PLACED}", Errors()), solved, truth, rows, ())
        progress(f"{case.name} {seed}")
    return found


def _add_true(into: Errors, solved: condyle.Fit, truth: Any, rows: slice, gone: Sequence[str]) -> None:
    """Errors of joints, each on its own body (a root at its sensor), and of orientations."""
    played = forward(solved.skeleton, solved.motion)
    own = {joint.child: joint.p_child_joint for joint in solved.skeleton.joints}
    place, turn = [], []
    for k, name in enumerate(truth.names):
        b, R, p = played.index(name), truth.R_world_body[rows, k], truth.p_world_body[rows, k]
        at = truth.p_child_joint[k] if name in own and np.isfinite(truth.p_child_joint[k]).all() else np.zeros(3)
        told = own[name] if at.any() else np.zeros(3)
        apart = played.R_world_body[:, b] @ told + played.p_world_body[:, b] - R @ at - p
        place.append(np.linalg.norm(apart, axis=-1))
        turn.append(rotation.angle(np.swapaxes(R, -1, -2) @ played.R_world_body[:, b]))
    _add_errors(into, truth.names, place, turn, solved, gone)


def _add_errors(
    into: Errors,
    names: Sequence[str],
    place: list[Floats],
    turn: list[Floats],
    solved: condyle.Fit,
    gone: Sequence[str],
) -> None:
    is_open = {one.bodies[0] for one in solved.findings if one.code == "sensor-absent" and one.value}
    unplaced = [one for one in solved.findings if one.code == "orientation-only" and one.severity == "warning"]
    is_open.update(name for one in unplaced for name in one.bodies)
    hidden, undetermined = ([names.index(name) for name in part] for part in (gone, is_open & set(names)))
    into.add(np.stack(place, axis=1), np.stack(turn, axis=1), hidden, undetermined)


def read_subject(names: Sequence[str]) -> tuple[list[Take], list[tuple[str, str]]]:
    """The takes of a subject with the same axes in all of them, and the true tree."""
    from tests.make.recordings import DATA, all_truth

    key = names[0] if names[0] in all_truth() else names[0].rpartition("/")[0]
    truth = all_truth()[key]
    files = [sorted((DATA / name).rglob("*.csv")) if (DATA / name).is_dir() else [DATA / name] for name in names]
    takes = condyle.read([file for group in files for file in group], bodies=truth["bodies_from_markers"])
    numbers = np.cumsum([0, *(len(group) for group in files)])
    parts = []
    for first, last in pairwise(numbers):
        rows = np.flatnonzero(np.any([takes.in_source(k) for k in range(first, last)], axis=0))
        part = replace(takes.at(rows), sources=(), of_source=())
        parts.append(part.slice(None, None, max(1, round(part.rate / RECORDED_HZ))))
    worn = [name for k, name in enumerate(takes.names) if all(one.seen[:, k].mean() > SEEN_MIN_SHARE for one in parts)]
    tree = [(parent, child) for parent, child, *_ in truth["joints"] if {parent, child} <= set(worn)]
    joined = [name for name in worn if any(name in edge for edge in tree)]
    return [part.select(joined) for part in parts], tree


def measure_recorded(only: str) -> Iterator[tuple[str, dict[str, Errors], list[Floats], int]]:
    for subject, names in SUBJECTS.items():
        if only not in subject:
            continue
        parts, tree = read_subject(names)
        calibration = condyle.fit(parts[0], tree=tree)
        found: dict[str, Errors] = {}
        places = list[Floats]()
        for k, take in enumerate(parts[1:]):
            rng = stream(k, subject)
            _add_recorded(found, "all", take, condyle.solve(take, calibration), ())
            for count in MISSING:
                for _ in range(DRAWS if count <= take.bodies - 2 else 0):
                    gone = draw_hidden(take.names, count, rng)
                    solved = condyle.solve(hide(take, gone), calibration)
                    _add_recorded(found, f"{count} missing", take, solved, gone)
            placed = next(iter(name for name in (PLACED, *take.names) if name in take.names))
            with tempfile.TemporaryDirectory() as place:
                aligned = replace(take.mask(~take.seen.all(axis=1)[:, None] & np.ones_like(take.seen)), markers=())
                whole = aligned.at(np.flatnonzero(aligned.seen.all(axis=1)))
                solved = solve_turned(whole, calibration, placed, Path(place))
            gone = [name for name in whole.names if name != placed]
            _add_recorded(found, "orientations and one position", whole, solved, gone)
            places += compare_places(whole, calibration, solved, placed)
        progress(f"{subject}: {len(parts)} takes")
        yield subject, found, places, len(parts) - 1


def compare_places(take: Take, calibration: condyle.Fit, solved: condyle.Fit, placed: str) -> list[Floats]:
    """Of every body that has an orientation alone: distances from what was recorded over the interval of its place."""
    known = calibration.skeleton
    kinds = {joint.child: joint.kind for joint in solved.skeleton.joints}
    figure = replace(known, joints=tuple(replace(joint, kind=kinds[joint.child]) for joint in known.joints))
    R = choose_turns(match_sensors(known, take).take, None)
    parted = measure_parting(known, R, reference_rotations(known, calibration.motion))
    is_placed = np.array([name == placed for name in known.bodies])
    width = Z95 * measure_place_errors(figure, R, parted, is_placed)
    played = forward(solved.skeleton, solved.motion)
    there = np.isin(take.time, played.time)
    found = []
    for name in take.names:
        b, k = played.index(name), known.bodies.index(name)
        apart = np.linalg.norm(played.p_world_body[:, b] - take.p_world_body[there, take.index(name)], axis=-1)
        if name != placed and np.isfinite(apart).any():
            found.append(apart[np.isfinite(apart)] / width[k])
    return found


def _add_recorded(found: dict[str, Errors], name: str, take: Take, solved: condyle.Fit, gone: Sequence[str]) -> None:
    """Played poses of the sensors' frames against what was recorded of them."""
    played = forward(solved.skeleton, solved.motion)
    place, turn = [], []
    for k, body in enumerate(take.names):
        b = played.index(body)
        there = np.isin(take.time, played.time)  # rows that repeat whole are dropped
        R, p = take.R_world_body[there, k], take.p_world_body[there, k]
        place.append(np.linalg.norm(played.p_world_body[:, b] - p, axis=-1))
        turn.append(rotation.angle(np.swapaxes(R, -1, -2) @ played.R_world_body[:, b]))
    _add_errors(found.setdefault(name, Errors()), take.names, place, turn, solved, gone)


def compare_takes(only: str) -> list[list[str]]:
    """Every take of a subject fitted on its own: do the lengths agree within their intervals?"""
    rows, all_apart = [], list[float]()
    for subject, names in {**SUBJECTS, **SESSIONS}.items():
        if only not in subject:
            continue
        parts, tree = read_subject(names)
        skeletons = []
        for part in parts:
            try:
                skeletons.append(condyle.fit(part, tree=tree).skeleton)
            except CondyleError as error:
                progress(f"{subject}: {error}")
        apart = [
            row.apart
            for k, one in enumerate(skeletons)
            for other in skeletons[:k]
            for row in compare_figures([one, other], ["a", "b"]).lengths
            if row.apart is not None
        ]
        if apart:
            all_apart += apart
            rows.append([subject, str(len(skeletons)), *_share(apart)])
    return [*rows, ["all", "-", *_share(all_apart)]] if all_apart else rows


def _share(apart: Sequence[float] | Floats) -> list[str]:
    return [
        str(len(apart)),
        percent(float(np.mean(np.asarray(apart) <= 1))),
        f"{np.median(apart):.2f}",
        f"{np.max(apart):.2f}",
    ]


def main() -> None:
    given = arguments(__doc__ or "", 10)
    tables, data = {}, dict[str, Any]()
    for case, found in measured(CASES, measure_simulated, given):
        tables[f"Simulated, {case.name}"] = Table(HEADS, [one.row(name) for name, one in found.items()])
    from tests.make.recordings import DATA

    if DATA.is_dir() and not any(given.only == case.name for case in CASES):
        whole: dict[str, Errors] = {}
        rows, count, places, place_rows = [], 0, list[Floats](), []
        for subject, found, own, takes in measure_recorded(given.only):
            count += takes
            places += own
            place_rows.append([subject, str(len(own)), *_share(np.concatenate(own))[1:]])
            for name, one in found.items():
                into = whole.setdefault(name, Errors())
                for part in fields(one):
                    setattr(into, part.name, getattr(into, part.name) + getattr(one, part.name))
                rows.append(one.row(f"{subject}: {name}"))
        tables[f"Recorded, {count} later takes"] = Table(HEADS, [one.row(name) for name, one in whole.items()])
        tables["Recorded, subject by subject"] = Table(HEADS, rows)
        place_rows.append(["all", str(len(places)), *_share(np.concatenate(places))[1:]])
        heads = ("subject", "bodies in takes", "within their intervals", "median", "largest")
        tables["Recorded, places by orientations and one position, off over the interval"] = Table(heads, place_rows)
        heads = ("subject", "takes", "differences of lengths", "within their intervals", "median", "largest")
        tables["Recorded, lengths of takes fitted one by one, apart over the interval"] = Table(
            heads, compare_takes(given.only)
        )
    data = {name: [list(row) for row in table.rows] for name, table in tables.items()}
    publish("solving", "Later takes on a known figure", " ".join((__doc__ or "").split()), tables, data, given)


if __name__ == "__main__":
    main()
