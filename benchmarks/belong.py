"""Do files belong together: sets of two or three files of one mounting, with one sensor or all of them put on anew, of
another person, or with left and right exchanged in the names of one. What is told of each set, and is it right?

Nothing is told to the program, the tree included. A set of one mounting is refused if a file or a sensor is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from condyle.faults.belonging import check_belonging
from condyle.model.options import FitOptions
from condyle.model.take import Take, join
from condyle.simulate import MALE_LENGTHS, Mounts, SimulatedFigure, human, random_mounts, simulate
from condyle.simulate.seeds import stream

from .bound import noise
from .coverage import FIELD, SOFT
from .harness import Case, Table, arguments, measured, percent, progress, publish

SECONDS = 30.0
RATES_HZ = (30.0, 120.0)  # of every other set: a row of the first is a frame, of the second the mean of four
PERSON_SD = 0.05  # by which the limbs of another person differ as a whole, and by which each differs besides: half
WORLDS = (
    noise(0.3, 0.5),
    noise(0.15, 0.15, **SOFT),
    noise(0.15, 0.15, **FIELD),
    noise(0.15, 0.3, **SOFT, missing=0.05),
)
MOTIONS = (("exercise", "exercise"), ("exercise", "walk"), ("walk", "exercise"), ("exercise", "walk", "exercise"))
TOLD = {
    "same": "",
    "one sensor put on anew": "sensor-moved-between-files",
    "all sensors put on anew": "remounted",
    "another person": "another-person",
    "left and right exchanged": "mirrored-names",
}


@dataclass(frozen=True)
class FileSet(Case):
    """Sets of files of one kind."""


CASES = tuple(FileSet(name, noise(0.3, 0.5)) for name in TOLD)


def record(case: FileSet, seed: int) -> tuple[Take, str]:
    """The files of a set as one take, and the sensor that moved, if it is one."""
    rng = stream(seed, f"set {case.name}")
    person = human()
    mounts = random_mounts(person.parent, person.p_parent_joint, rng)
    anew = random_mounts(person.parent, person.p_parent_joint, rng)
    motions = MOTIONS[int(rng.integers(len(MOTIONS)))]
    world, odd, body = WORLDS[int(rng.integers(len(WORLDS)))], int(rng.integers(len(motions))), ""
    parts = []
    for k, motion in enumerate(motions):
        figure, worn = person, mounts
        if k == odd and case.name.startswith("one"):
            one = int(rng.integers(len(person.names)))
            body, R, p = person.names[one], mounts.R_bone_body.copy(), mounts.p_bone_body.copy()
            R[one], p[one] = anew.R_bone_body[one], anew.p_bone_body[one]
            worn = Mounts(R, p)
        elif k == odd and case.name.startswith("all"):
            worn = anew
        elif k == odd and case.name.startswith("another"):
            size = 1 + np.sign(rng.normal()) * rng.uniform(PERSON_SD, 2 * PERSON_SD)
            own = {name: length * size * (1 + PERSON_SD / 2 * rng.normal()) for name, length in MALE_LENGTHS.items()}
            figure = enlarge_trunk(human(own), size)
            worn = random_mounts(figure.parent, figure.p_parent_joint, rng)
        take = simulate(
            figure,
            motion,
            seconds=SECONDS,
            rate=RATES_HZ[seed % len(RATES_HZ)],
            seed=seed + 7 * k,
            disturbances=world,
            mounts=worn,  # type: ignore[arg-type]
        ).take
        if k == odd and case.name.startswith("left"):
            twins = {"l_": "r_", "r_": "l_"}
            take = replace(take, names=tuple(twins.get(name[:2], name[:2]) + name[2:] for name in take.names))
        parts.append(replace(take, sources=(f"file {k + 1}",)))
    return join(parts), body


def enlarge_trunk(figure: SimulatedFigure, size: float) -> SimulatedFigure:
    """The figure with its joints on pelvis and chest so many times farther apart, as its limbs are."""
    on_trunk = np.isin(np.array(figure.names, dtype=object)[figure.parent], ("pelvis", "chest"))
    places = np.where(on_trunk[:, None], size * figure.p_parent_joint, figure.p_parent_joint)
    return replace(figure, p_parent_joint=places)


def measure(case: FileSet, seeds: Sequence[int]) -> list[tuple[str, bool]]:
    """What is told of every set, and whether it is right."""
    found = []
    for seed in seeds:
        take, body = record(case, seed)
        told = [one for one in check_belonging(take, FitOptions()).findings if one.severity != "info"]
        codes = sorted({one.code for one in told})
        right = codes == ([TOLD[case.name]] if TOLD[case.name] else [])
        right &= not body or {name for one in told for name in one.bodies} == {body}
        found.append((", ".join(codes) or "nothing", right))
        if not right:
            progress(f"{case.name}, seed {seed}, {body}: {'; '.join(one.text for one in told) or 'nothing'}")
    return found


def main() -> None:
    given = arguments(__doc__ or "", 40)
    rows, data = [], {}
    for case, found in measured(CASES, measure, given):
        right = sum(one for _, one in found)
        told = ", ".join(f"{name} {count}" for name, count in Counter(name for name, _ in found).most_common())
        rows.append((case.name, str(len(found)), percent(right / len(found)), told))
        data[case.name] = {"sets": len(found), "right": right, "told": told}
        progress(f"{case.name}: {right} of {len(found)}")
    how = (
        "Two or three files of 30 s each at 30 or 120 Hz, exercise and walks, in worlds with noise, skin, a bent field "
        "and gaps."
    )
    publish(
        "belong",
        "Do files belong together",
        how,
        {"Verdicts": Table(("files", "sets", "right", "told"), rows)},
        data,
        given,
    )


if __name__ == "__main__":
    main()
