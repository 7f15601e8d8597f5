"""Two sensors on one rod: how near the scale comes, whether its interval holds, whether the noise is told right, what
the scale is worth to a later fit, and whether the pair is found without being told.

The paper's own rod, with figure 4, is in paper/rigid_pair.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import condyle
from condyle import CondyleError, Take
from condyle.maths import rotation
from condyle.model.scale import Scale
from condyle.pairs.rigid_pair import describe_pair, find_oddity, find_rigid_pairs, measure_pair, scale_of
from condyle.prepare.dropouts import prepare
from condyle.simulate import Disturbances, World, device, linkage, rod, simulate, together
from condyle.simulate.seeds import stream

from .bound import CM, noise
from .coverage import FIELD, SOFT
from .harness import Case, Table, arguments, length_errors, measured, percent, progress, publish, rms

ROD = 56.5 * CM
SCALE = 0.94  # true over recorded length, as in the paper's room
PAIR = ("rod_a", "rod_b")
SHAKE = 1.5  # Hz: how fast a rod that has play shakes
DROPPED, RUN = 0.05, 9  # share of a sensor's samples that are zeros, and frames in a row
CLEAN = 5  # recordings without a rod for each with one
INCH, FOOT = 0.0254, 0.3048  # m


def as_it_is(take: Take, seed: int) -> Take:
    return take


def with_play(size: float) -> Callable[[Take, int], Take]:
    """One sensor shakes on the rod by `size` [m] rms, and turns by as much as its own mount of 5 cm would."""

    def shaken(take: Take, seed: int) -> Take:
        rng = stream(seed, "play")
        rate, phase = SHAKE * rng.uniform(0.5, 1.5, (2, 3)), 2 * np.pi * rng.random((2, 3))
        path = size * np.sqrt(2 / 3) * np.sin(2 * np.pi * rate[0] * take.time[:, None] + phase[0])
        turn = size / (5 * CM) * np.sqrt(2 / 3) * np.sin(2 * np.pi * rate[1] * take.time[:, None] + phase[1])
        R, p = take.R_world_body.copy(), take.p_world_body.copy()
        p[:, 1] += np.einsum("nij,nj->ni", R[:, 0], path)
        R[:, 1] = R[:, 1] @ rotation.from_vector(turn)
        return replace(take, R_world_body=R, p_world_body=p)

    return shaken


def dropped(take: Take, seed: int) -> Take:
    """Zeros and no rotation stand for lost samples, as many trackers write them."""
    lost = device.draw_runs(stream(seed, "dropped"), take.seen.shape, np.full(take.bodies, DROPPED), RUN)
    R = np.where(lost[..., None, None], np.eye(3), take.R_world_body)
    return replace(take, R_world_body=R, p_world_body=np.where(lost[..., None], 0.0, take.p_world_body))


@dataclass(frozen=True)
class Carried(Case):
    """A rod in a world; `unit` metres are written as one."""

    unit: float = 1.0
    spoil: Callable[[Take, int], Take] = as_it_is


CASES = (
    Carried("white 0.3 cm", noise(0.3, 0.3)),
    Carried("white 1 cm, 1 deg", noise(1, 1)),
    Carried("correlated over 0.5 s", noise(0.3, 0.3, correlation_time=0.5)),
    Carried("drifting over 5 s", noise(0.3, 0.3, correlation_time=5.0)),
    Carried("field bent over 0.9 m", noise(0.15, 0.15, **FIELD)),
    Carried("field bent over 2 m", noise(0.15, 0.15, field_warp=1.25 * CM, field_length=2.0)),
    Carried("field bent over 0.45 m", noise(0.15, 0.15, field_warp=1.25 * CM, field_length=0.45)),
    Carried("metal spots", noise(0.15, 0.15, metal_spots=3)),
    Carried("spikes and bursts", noise(0.3, 0.3, spikes=0.02, bursts=0.05)),
    Carried("5 % zeros", noise(0.3, 0.3), spoil=dropped),
    Carried("10 % missing", noise(0.3, 0.3, missing=0.1)),
    Carried("steps of 4 mm", noise(0.1, 0.1, quantisation=0.4 * CM)),
    Carried("play of 1 mm", noise(0.15, 0.15), spoil=with_play(0.1 * CM)),
    Carried("play of 2 mm", noise(0.15, 0.15), spoil=with_play(0.2 * CM)),
    Carried("play of 5 mm", noise(0.15, 0.15), spoil=with_play(0.5 * CM)),
    Carried("scale 0.94", noise(0.3, 0.3), unit=SCALE),
    Carried("centimetres", noise(0.3, 0.3), unit=CM),
    Carried("inches", noise(0.3, 0.3), unit=INCH),
    Carried("feet", noise(0.3, 0.3), unit=FOOT),
)
LATER = (
    Case("linkage, white, exercise", noise(0.3, 0.3), figure=linkage()),
    Case("linkage, field bent over 0.9 m, exercise", noise(0.15, 0.15, **FIELD), figure=linkage()),
    Case("person, white, exercise", noise(0.3, 0.3)),
    Case("person, field bent over 0.9 m, walk", noise(0.15, 0.15, **FIELD), "walk"),
    Case("person, soft tissue, walk", noise(0.15, 0.15, **SOFT), "walk"),
)


@dataclass(frozen=True)
class Beside(Case):
    play: float = 0.0  # m


FOUND = (
    Beside("white 0.1 cm, exercise", noise(0.1, 0.1)),
    Beside("white 0.3 cm, exercise", noise(0.3, 0.3)),
    Beside("white 0.3 cm, walk", noise(0.3, 0.3), "walk"),
    Beside("white 1 cm, 1 deg, walk", noise(1, 1), "walk"),
    Beside("field bent over 0.9 m, exercise", noise(0.15, 0.15, **FIELD)),
    Beside("field bent over 0.9 m, walk", noise(0.15, 0.15, **FIELD), "walk"),
    Beside("soft tissue, exercise", noise(0.15, 0.15, **SOFT)),
    Beside("white 0.15 cm, play of 1 mm, walk", noise(0.15, 0.15), "walk", play=0.1 * CM),
    Beside("white 0.15 cm, play of 5 mm, walk", noise(0.15, 0.15), "walk", play=0.5 * CM),
)


@dataclass
class Scales:
    """Over rods: told over true scale less one, half-width of the interval, white noise over true, spread [m]."""

    error: list[float] = field(default_factory=list)
    half: list[float] = field(default_factory=list)
    noise: list[float] = field(default_factory=list)
    spread: list[float] = field(default_factory=list)
    refused: int = 0
    bent: int = 0
    odd: int = 0


@dataclass
class Lengths:
    """Length errors [m] of later fits: as recorded, with the scale that was told, with the true one."""

    errors: dict[str, list[float]] = field(default_factory=lambda: {"recorded": [], "calibrated": [], "true": []})


@dataclass
class Pairs:
    """Over recordings with a rod and without: whether `condyle scale` and a fit name the rod, alone; false ones."""

    scale: list[bool] = field(default_factory=list)
    fit: list[bool] = field(default_factory=list)
    clean: int = 0
    false_scale: int = 0
    false_fit: int = 0


def told_scale(take: Take) -> Scale:
    """As `condyle scale` makes it of a file of the rod."""
    return scale_of(measure_pair(prepare(take), *PAIR), ROD)


def measure(case: Carried, seeds: Sequence[int]) -> Scales:
    result = Scales()
    for seed in seeds:
        take = case.spoil(rod(ROD, seed=seed, disturbances=case.disturbances).take, seed)
        take = replace(take, p_world_body=take.p_world_body / case.unit)
        pair = measure_pair(prepare(take), *PAIR)
        result.bent += any(finding.code == "bent-field" for finding in describe_pair(pair))
        result.spread.append(pair.sd * case.unit)
        true = float(case.disturbances.position_noise)  # type: ignore[arg-type]
        true = float(np.hypot(true, case.disturbances.quantisation / np.sqrt(12)))
        result.noise += [one.position * case.unit / true for one in pair.noise]
        try:
            scale = scale_of(pair, ROD)
        except CondyleError:
            result.refused += 1
            continue
        assert scale.low is not None
        assert scale.high is not None
        result.odd += bool(find_oddity(scale))
        result.error.append(scale.scale / case.unit - 1)
        result.half.append((scale.high - scale.low) / 2 / case.unit)
    return result


def measure_later(case: Case, seeds: Sequence[int]) -> Lengths:
    result = Lengths()
    unit = replace(case.disturbances, scale=1 / SCALE)
    for seed in seeds:
        told = told_scale(rod(ROD, seed=seed, disturbances=replace(unit, soft_tissue=0.0)).take)
        world = _world(case, seed, unit)
        for name, scale in (("recorded", 1.0), ("calibrated", told), ("true", SCALE)):
            fitted = condyle.fit(world.take, intervals=False, scale=scale)  # type: ignore[arg-type]
            result.errors[name] += length_errors(fitted.skeleton, world.truth).values()
    return result


def measure_found(case: Beside, seeds: Sequence[int]) -> Pairs:
    result = Pairs()
    for seed in seeds:
        for k in range(CLEAN):
            take = _world(case, seed + 1000 * k, case.disturbances).take
            result.clean += 1
            result.false_scale += bool(find_rigid_pairs(prepare(take)))
            result.false_fit += bool(_told(take))
        stick = rod(ROD, seed=seed, disturbances=replace(case.disturbances, soft_tissue=0.0))
        if case.play:
            stick = replace(stick, take=with_play(case.play)(stick.take, seed))
        take = together([_world(case, seed, case.disturbances), stick], ["", ""]).take
        result.scale.append(find_rigid_pairs(prepare(take)) == [PAIR])
        result.fit.append(_told(take) == [set(PAIR)])
    return result


def _world(case: Case, seed: int, disturbances: Disturbances) -> World:
    return simulate(case.figure, case.motion, seed=seed, disturbances=disturbances)  # type: ignore[arg-type]


def _told(take: Take) -> list[set[str]]:
    """The rigid pairs in a fit's findings."""
    fitted = condyle.fit(take, intervals=False)
    return [set(finding.bodies) for finding in fitted.findings if finding.code == "rigid-pair"]


def scale_row(case: Carried, found: Scales) -> list[str]:
    count, error = len(found.spread), np.array(found.error)
    told = len(error) > 0
    return [
        case.name,
        f"{100 * error.mean():+.3f}, {100 * rms(error):.3f}" if told else "-",
        f"{100 * np.median(found.half):.3f}" if told else "-",
        percent(float(np.mean(np.abs(error) <= found.half))) if told else "-",
        f"{1000 * np.mean(found.spread):.2f}",
        f"{np.mean(found.noise):.2f} ± {np.std(found.noise):.2f}",
        f"{found.bent} of {count}",
        f"{found.refused} of {count}",
        f"{found.odd} of {count}",
    ]


def main() -> None:
    given = arguments(__doc__ or "", 40)
    scales, lengths, pairs, data = [], [], [], {}
    for case, found in measured(CASES, measure, given):
        scales.append(scale_row(case, found))
        data[f"scale: {case.name}"] = vars(found)
        progress(" | ".join(scales[-1]))
    given.trials //= 5
    for case, later in measured(LATER, measure_later, given):
        lengths.append([case.name, *(f"{rms(errors) / CM:.3f}" for errors in later.errors.values())])
        data[f"later: {case.name}"] = {name: rms(errors) for name, errors in later.errors.items()}
        progress(" | ".join(lengths[-1]))
    for case, seen in measured(FOUND, measure_found, given):
        alarms = f"{seen.false_scale} of {seen.clean}", f"{seen.false_fit} of {seen.clean}"
        pairs.append([case.name, percent(np.mean(seen.scale)), percent(np.mean(seen.fit)), *alarms])
        data[f"found: {case.name}"] = vars(seen)
        progress(" | ".join(pairs[-1]))
    given.trials *= 5
    tables = {
        "The scale": Table(
            [
                "world",
                "scale error, mean and rms, %",
                "half of the 95 % interval, %",
                "holds",
                "spread of the distance, mm",
                "white noise told over true",
                "field said to be bent",
                "refused as not rigid",
                "unit doubted",
            ],
            scales,
        ),
        "A later fit in the same room, whose unit is 1 / 0.94 m": Table(
            ["world", "length error as recorded, cm", "with the rod's scale", "with the true scale"], lengths
        ),
        "Found without being told": Table(
            [
                "world",
                "`condyle scale` takes the rod",
                "a fit names the rod alone",
                "`condyle scale` finds a pair where none is",
                "a fit names one where none is",
            ],
            pairs,
        ),
    }
    how = (
        f"A rod of {ROD / CM:g} cm is carried through the room for 45 s at 30 Hz; a later fit in the same room has the "
        f"same field. Errors are relative to the true scale. The rod beside a person is looked for in "
        f"{given.trials // 5} recordings per world and false ones in {CLEAN} times as many without a rod."
    )
    publish("rigid_pair", "Two sensors on one rod", how, tables, data, given)


if __name__ == "__main__":
    main()
