"""Was there enough motion: are the verdicts right, and are the seconds kept that `condyle coverage` asks for?

Nothing is told to the program but the tree, which these short recordings are not about. A promise is tried out: the
same person goes on with the same motion, or with the one that was asked for, and the longer recording is fitted anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import condyle
from condyle import Limb, Skeleton, Take
from condyle.maths import rotation
from condyle.result.coverage import TURNED_MIN_RAD, find_coverage
from condyle.simulate import BoneMotion, SimulatedFigure, Truth, chain, disturb, exercise, mount, walk
from condyle.simulate.motions import clock, drift_about, forward
from condyle.simulate.seeds import stream

from .bound import CM, noise
from .coverage import FIELD, SOFT
from .harness import Case, Table, arguments, known_tree, measured, percent, progress, publish

RATE = 30.0
SHORT = 15.0  # s
TIMES = (1, 2, 3, 4, 6, 8)  # as long as that
WANTED = (0.7, 0.5)  # of the width that there is
NEAR = 0.1  # of the wanted width: the promise is kept
WIDTH = 1 * CM
WHITE, WARPED, SKIN = noise(0.3, 0.3), noise(0.15, 0.15, **FIELD), noise(0.15, 0.15, **SOFT)

MORE = (
    Case("white, exercise", WHITE),
    Case("white, walk", WHITE, "walk"),
    Case("1 deg of orientation noise, walk", noise(0.3, 1.0), "walk"),
    Case("correlated over 0.5 s, exercise", noise(0.3, 0.3, correlation_time=0.5)),
    Case("correlated over 0.5 s, walk", noise(0.3, 0.3, correlation_time=0.5), "walk"),
    Case("warped field, exercise", WARPED),
    Case("warped field, the same exercise again", WARPED, "again"),
    Case("warped field, walk", WARPED, "walk"),
    Case("soft tissue, exercise", SKIN),
    Case("soft tissue, the same exercise again", SKIN, "again"),
    Case("soft tissue, walk", SKIN, "walk"),
)


@dataclass(frozen=True)
class Turning(Case):
    """The middle joint of a chain turns by so much [deg] about three axes drawn at random, its neighbours freely."""

    angles: tuple[float, float, float] = (40.0, 40.0, 40.0)
    twist: bool = False  # the first axis is within 30 deg of the limb
    figure: SimulatedFigure = field(default_factory=chain)


FREE = (40.0, 40.0, 40.0)
MIDDLE = "link2"
HALVES = (slice(0, 3), slice(3, 6))
ANGLES = ((40, 40, 40), (40, 40, 0), (40, 14, 0), (40, 4, 0), (40, 0, 0), (14, 14, 14), (4, 4, 4), (0, 0, 0))
VERDICTS = tuple(
    Turning(f"{world}: {', '.join(map(str, angles))} deg", disturbances, angles=angles)
    for world, disturbances in (("white", WHITE), ("warped field", WARPED), ("soft tissue", SKIN))
    for angles in ANGLES
)
AXES = tuple(
    Turning(f"{world}: {', '.join(map(str, angles))} deg", disturbances, angles=angles, twist=True)
    for world, disturbances in (
        ("white", WHITE),
        ("1 deg of orientation noise", noise(0.3, 1.0)),
        ("soft tissue", SKIN),
    )
    for angles in ((40, 10, 0), (40, 10, 10), (25, 6, 3))
)


def fit(take: Take, truth: Truth) -> Skeleton:
    root = truth.names[int(np.flatnonzero(truth.parent < 0)[0])]
    return condyle.fit(take, tree=known_tree(truth), root=root, no_fix=("latency", "slips")).skeleton


def widths(skeleton: Skeleton) -> dict[tuple[str, str, str], float]:
    """[m] of every interval that is told."""
    limbs = [limb for limb in skeleton.limbs if limb.low is not None and limb.high is not None]
    return {key(limb): limb.high - limb.low for limb in limbs}  # type: ignore[operator]


def key(limb: Limb) -> tuple[str, str, str]:
    return limb.body, limb.from_joint, limb.to_joint


def again_and_again(case: Case, seed: int) -> tuple[Take, Truth]:
    """A recording of SHORT seconds, followed by more of the same: a walk goes on, exercises are done anew.

    "again" repeats every movement and every place of the exercises.
    """
    seconds = TIMES[-1] * SHORT
    if case.motion == "walk":
        bones = walk(case.figure, seconds, RATE, stream(seed, "motion"))
    else:
        parts = [
            exercise(case.figure, SHORT, RATE, stream(seed, f"motion {k * (case.motion != 'again')}"))
            for k in range(TIMES[-1])
        ]
        bones = BoneMotion(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    return recorded(case, bones, clock(seconds, RATE), seed)


def recorded(case: Case, bones: BoneMotion, time: np.ndarray, seed: int) -> tuple[Take, Truth]:
    figure = case.figure
    rng = stream(seed, "mounts")
    truth = mount(figure.names, figure.parent, *bones, figure.p_parent_joint, rng, time, kind=figure.kind)
    return disturb(truth, case.disturbances, seed)


@dataclass
class Kept:
    """Over limbs and wanted widths: reached over wanted where seconds were asked for, and the other answers."""

    ratio: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    beyond: int = 0  # more seconds than were recorded
    never: list[bool] = field(default_factory=list)  # told that no time would do: whether the longest did not either
    shrunk: list[float] = field(default_factory=list)  # width after the longest over that of the short

    def row(self) -> list[str]:
        ratio = np.array(self.ratio)
        told = len(ratio) + self.beyond + len(self.never)
        cells = [f"{np.median(self.shrunk):.2f}" if self.shrunk else "-"]
        cells += [percent((len(ratio) + self.beyond) / max(told, 1)), str(len(ratio))]
        if len(ratio):
            cells += [f"{np.median(self.seconds):.0f}", f"{np.median(ratio):.2f}"]
            cells += [percent(np.mean(one)) for one in (abs(ratio - 1) <= NEAR, ratio > 1 + NEAR, ratio < 1 - NEAR)]
        else:
            cells += ["-"] * 5
        return [*cells, f"{sum(self.never)} of {len(self.never)}" if self.never else "-"]


def measure_more(case: Case, seeds: Sequence[int]) -> dict[float, Kept]:
    found = {wanted: Kept() for wanted in WANTED}
    for seed in seeds:
        take, truth = again_and_again(case, seed)
        counts = [round(times * SHORT * RATE) for times in TIMES]
        fits = [fit(take.slice(0, count), truth) for count in counts]
        reached = [widths(skeleton) for skeleton in fits]
        for limb in reached[0]:
            curve = np.log([one.get(limb, np.inf) for one in reached])
            if not np.isfinite(curve).all():
                continue
            for share, kept in found.items():
                wanted = share * reached[0][limb]
                count_promise(kept, fits[0], limb, wanted, curve)
    return found


def count_promise(kept: Kept, skeleton: Skeleton, limb: tuple[str, str, str], wanted: float, curve: np.ndarray) -> None:
    """curve: log of the width after TIMES as long a recording"""
    [told] = [one for one in find_coverage(skeleton, wanted).limbs if (one.body, one.from_joint, one.to_joint) == limb]
    kept.shrunk.append(float(np.exp(curve[-1] - curve[0])))
    if told.seconds is None:
        kept.never.append(bool(curve[-1] > np.log(wanted)))
    elif told.seconds > (TIMES[-1] - 1) * SHORT:
        kept.beyond += 1
    else:
        width = np.interp(np.log(1 + told.seconds / SHORT), np.log(TIMES), curve)
        kept.ratio.append(float(np.exp(width) / wanted))
        kept.seconds.append(told.seconds)


def turning(
    case: Turning, seed: int, seconds: float, more: float = 0.0, also: str = ""
) -> tuple[Take, Truth, np.ndarray, np.ndarray]:
    """A chain that turns about; for `more` seconds after that the joint `also` turns about its second axis as far as
    about its first. And of the middle joint the axes (3, 3), in columns, in its bone, and its rms turns (3,) [rad].
    """
    figure, time = case.figure, clock(seconds + more, RATE)
    rng, sway = stream(seed, "axes"), stream(seed, "motion")
    size = np.radians([case.angles if name == MIDDLE else FREE for name in figure.names])
    size = np.repeat(size[None], len(time), axis=0)
    if also:
        k = figure.names.index(also)
        rise = 0.5 - 0.5 * np.cos(np.pi * np.clip((time - seconds) / 0.6, 0, 1))
        size[:, k, 1] += rise * (size[:, k, 0] - size[:, k, 1])
    frequency, phase = sway.uniform(0.2, 0.8, (2, *size.shape[1:])), sway.uniform(0, 2 * np.pi, (2, *size.shape[1:]))
    turn = 2 * np.pi * frequency[:, None] * time[:, None, None] + phase[:, None]
    angles = size * (0.65 * np.sin(turn[0]) + 0.35 * np.sin(turn[1]))
    axes = rotation.random(rng, (len(figure.names),))
    if case.twist:
        tilt, way = np.radians(30.0) * rng.uniform(), rng.uniform(0, 2 * np.pi)
        about = rotation.from_vector([0, 0, way]) @ rotation.from_vector([tilt, 0, 0])
        axes = np.where(np.array(figure.names)[:, None, None] == MIDDLE, about @ np.eye(3)[:, [2, 0, 1]], axes)
    R = rotation.from_vector(np.einsum("mrs,nms->nmr", axes, angles))
    root = drift_about(seconds + more, RATE, stream(seed, "root"))
    m = len(figure.names)
    bones = forward(figure, R, np.repeat(root.R_world_bone, m, axis=1), np.repeat(root.p_world_bone, m, axis=1))
    own = figure.names.index(MIDDLE)
    return (
        *recorded(case, bones, time, seed),
        axes[own],
        np.sqrt(np.maximum(np.linalg.eigvalsh(np.cov(angles[:, own].T)), 0.0)),
    )


@dataclass
class Verdicts:
    """Of the middle joint: what was told, and what is true."""

    told: list[str] = field(default_factory=list)
    error: list[float] = field(default_factory=list)  # m, the larger of its two halves
    held: list[bool] = field(default_factory=list)  # whether that is within what is told
    axes: list[bool] = field(default_factory=list)  # number of exercised axes right
    off: list[float] = field(default_factory=list)  # rad between the axis that was named and the one it turned about

    def row(self) -> list[str]:
        counts = [sum(verdict == one for verdict in self.told) for one in ("enough", "weak", "not determined")]
        small = [
            np.mean([e <= WIDTH / 2 for e, t in zip(self.error, self.told, strict=True) if t == one] or [np.nan])
            for one in ("enough", "weak")
        ]
        cells = [f"{count}" for count in counts]
        cells += ["-" if np.isnan(share) else percent(share) for share in small]
        cells += [f"{np.median(self.error) / CM:.2f}", percent(np.mean(self.held)) if self.held else "-"]
        cells += [percent(np.mean(self.axes))]
        return [*cells, f"{np.degrees(np.median(self.off)):.0f} ({len(self.off)})" if self.off else "-"]


def measure_verdicts(case: Turning, seeds: Sequence[int]) -> Verdicts:
    found = Verdicts()
    for seed in seeds:
        take, truth, axes, turned = turning(case, seed, SHORT)
        skeleton = fit(take, truth)
        [told] = [one for one in find_coverage(skeleton, WIDTH).joints if one.joint == MIDDLE]
        joint, k = skeleton.joint(MIDDLE), truth.names.index(MIDDLE)
        error = [joint.p_child_joint - truth.p_child_joint[k], joint.p_parent_joint - truth.p_parent_joint[k]]
        found.told.append(told.verdict)
        found.error.append(max(float(np.linalg.norm(one)) for one in error))
        if told.half is not None:
            found.held.append(
                all(abs(worst(joint.covariance[h, h]) @ e) <= told.half for h, e in zip(HALVES, error, strict=True))
            )
        found.axes.append(told.axes == int((turned >= TURNED_MIN_RAD).sum()))
        if told.poor is not None:
            true = truth.mounts.R_bone_body[k].T @ axes[:, 0]
            found.off.append(float(np.arccos(min(abs(told.poor @ true), 1.0))))
    return found


def worst(covariance: np.ndarray) -> np.ndarray:
    """The direction (3,) that is known least."""
    return np.linalg.eigh(covariance)[1][:, -1]


def measure_axes(case: Turning, seeds: Sequence[int]) -> dict[float, Kept]:
    found = {wanted: Kept() for wanted in WANTED}
    for seed in seeds:
        take, truth, *_ = turning(case, seed, SHORT)
        skeleton = fit(take, truth)
        for limb, width in widths(skeleton).items():
            for share, kept in found.items():
                [told] = [
                    one
                    for one in find_coverage(skeleton, share * width).limbs
                    if (one.body, one.from_joint, one.to_joint) == limb
                ]
                if told.wider is None or told.of is None or told.wider > 10 * SHORT:
                    continue
                longer, truth, *_ = turning(case, seed, SHORT, told.wider, told.of)
                reached = widths(fit(longer, truth)).get(limb)
                if reached is not None:
                    kept.ratio.append(reached / (share * width))
                    kept.seconds.append(told.wider)
                    kept.shrunk.append(reached / width)
    return found


def main() -> None:
    given = arguments(__doc__ or "", 12)
    rows: dict[str, list[list[str]]] = {"verdict": [], "more": [], "axes": []}
    data: dict[str, object] = {}
    for case, found in measured(VERDICTS, measure_verdicts, given):
        rows["verdict"].append([case.name, *found.row()])
        data[case.name] = vars(found)
        progress(" | ".join(rows["verdict"][-1]))
    for name, cases, measure in (("more", MORE, measure_more), ("axes", AXES, measure_axes)):
        for case, found in measured(cases, measure, given):
            for wanted, kept in found.items():
                rows[name].append([case.name, f"{wanted:g}", *kept.row()[: None if name == "more" else -1]])
                progress(" | ".join(rows[name][-1]))
            data[f"{name}: {case.name}"] = {f"{wanted:g}": vars(kept) for wanted, kept in found.items()}
    verdict = ["world: amplitude about three axes", "enough", "weak", "not determined"]
    verdict += ["error at most half the width: of enough", "of weak", "median error, cm", "within what is told"]
    verdict += ["axes counted right", "named axis off by, deg (named)"]
    kept = ["world", "wanted over now", f"after {TIMES[-1]} times as long", "time is asked for", "tried"]
    kept += ["median, s", "reached over wanted", f"within {percent(NEAR)}", "wider", "narrower"]
    other = ["world: amplitude about three axes", "wanted over now", "reached over now", *kept[3:]]
    tables = {
        "Verdicts on one joint": Table(verdict, rows["verdict"]),
        "More of the same motion": Table([*kept, "no time would do, and none did"], rows["more"]),
        "A second axis": Table(other, rows["axes"]),
    }
    how = (
        f"Recordings of {SHORT:g} s at {RATE:g} Hz, tree given. Verdicts: the middle joint of a chain of four bodies "
        f"turns about three axes drawn at random, the others freely; wanted are intervals of {WIDTH / CM:g} cm. More "
        "of the same: a human goes on walking, or does the exercises anew (other movements of the same kind), or again "
        "(the same movements at the same places); widths between recordings that were tried are interpolated. A second "
        "axis: the middle joint of the chain was twisted, and for the seconds asked for it turns about its second axis "
        "as far as about its first. White noise of 0.3 cm and 0.3 deg where only noise is named, else 0.15 cm and "
        "0.15 deg with a field of 1.25 cm or skin of 0.5 cm."
    )
    publish("promise", "Was there enough motion, and are the seconds kept?", how, tables, data, given)


if __name__ == "__main__":
    main()
