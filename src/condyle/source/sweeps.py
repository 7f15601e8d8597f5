"""The joints of a figure fitted to all frames of long files, in sweeps over their spools and in flat memory.

The figure was found in a sample of the frames, which gives the start: tree, kinds, noise, the size of a usual gap. One
sweep sums, over all frames at the joints so far, what the estimator of the sample needs, and is solved for better ones.
Where outliers have weights the sweep is repeated, since the weights depend on the joints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..estimate.fitting import Estimate, gap_precision
from ..estimate.solve import Solution
from ..findings import Finding, many
from ..maths.arrays import Bools, Floats, Ints
from ..model.options import FitOptions, Method
from ..model.skeleton import Joint
from ..model.stage import Change
from ..model.take import Take
from ..pairs.fits import PairFits, fit_pairs
from ..pairs.noise import Noise, PlaceNoise, fit_place_noise
from ..pairs.normal import Rows, Sweep, System, gap_products
from ..pairs.outliers import (
    LIVELY_S,
    MEDIAN_FRAMES,
    count_frames,
    count_outliers,
    drop_gross,
    estimate_scales,
    limit_outliers,
    measure_gaps,
    weigh_gaps,
)
from ..pairs.sums import PairSums
from .blocks import AllFrames, Block, Places, Treatment
from .long_file import LongFile, Progress

ADDITIVE: tuple[Method, ...] = ("default", "least-squares")  # methods whose joints follow from sums over frames
MOST = 8  # sweeps
STEP = 1e-5  # m: joints that move by less from one sweep to the next have arrived
INNER = 5  # times that one sweep is solved, with the covariance of the gaps that the last time left
PARTS = 64  # of a file whose gaps are kept apart, to tell where it differs from its sample
DIFFERS = 1.5  # gap of all frames over that of the sample, from which the sample does not speak for the file
ROUNDING = 1e-6  # of the distance between two sensors: gaps below it are rounding


@dataclass(frozen=True, eq=False)
class Refined:
    """Joints of all frames.

    solution  that of the sample with these joints; its weights are still those of the sample's frames
    fits      (J pairs) frames that counted, spread and axes, over all frames; its joints are plain least squares
    words     what was done, as it is told
    last      the last sweep over the frames, at the joints of `solution`
    findings  joints for which the sample does not speak
    """

    solution: Solution
    fits: PairFits
    words: str
    last: Sweep
    findings: tuple[Finding, ...]

    def residual(self, joints: Sequence[Joint]) -> Floats:
        """(J,) [m] root mean square gap over all frames with weight, if the joints were these."""
        u = np.concatenate([[joint.p_child_joint, joint.p_parent_joint] for joint in joints], axis=None)
        return self.last.move_to(self.solution.unknowns, u).residual()

    def told(self, findings: Sequence[Finding]) -> list[Finding]:
        """The same findings; those of long recordings say as well what the joints come from."""
        return [
            replace(one, text=f"{one.text}; {self.words}") if one.code == "long-recording" else one for one in findings
        ]


@dataclass(eq=False)
class _Seen:
    """What one pass over all frames finds, block by block.

    sums      the normal equations
    frames    (J,) frames with weight
    known     (J,) frames in which both bodies are seen; beyond: (J,) of them with an outlier
    gross     (J,) whether a body has poses far off at all its joints
    parts     (files, PARTS, J, 2) sum of squared gaps [m^2] and frames, without weights
    times     (files, PARTS, 2) [s] first and last time
    """

    sums: Sweep | None
    frames: Ints
    known: Ints
    beyond: Ints
    gross: Bools
    parts: Floats
    times: Floats


@dataclass(frozen=True, eq=False)
class _Gaps:
    """How the gaps of J joints are looked at.

    pairs  (J, 2)
    part   frames of the sample, spread over it
    noise  of the sensors, and how it grows with place, if it does
    usual  (J,) [1/m^2]  mean precision of the gaps in the sample
    """

    pairs: Ints
    part: Take
    noise: Noise
    place: PlaceNoise | None
    usual: Floats

    @classmethod
    def of(cls, sample: Take, fitted: Estimate) -> _Gaps:
        noise, pairs = fitted.structure.noise, fitted.pairs
        place = fit_place_noise(sample, fitted.structure.good) if fitted.solution.together else None
        part = sample.slice(step=max(1, sample.frames // MEDIAN_FRAMES))
        usual = np.ones(len(pairs))
        if place is not None:
            usual = gap_precision(noise, pairs, place.variance(part)).mean(axis=0)
        return cls(pairs, part, noise, place, usual)

    def scale(self, u: Floats) -> Floats:
        """(J,) [m] usual size of a gap of joints at `u` (6J,)."""
        rows = Rows.of(self.part, self.pairs)
        return estimate_scales(measure_gaps(rows.gap(u), self.base(self.part)), rows.seen)

    def base(self, take: Take) -> Floats | None:
        """(n, J) precision of the gaps over the usual one, where it depends on place."""
        if self.place is None:
            return None
        return np.asarray(gap_precision(self.noise, self.pairs, self.place.variance(take)) / self.usual)


def refine_over_files(
    long: Sequence[LongFile],
    recorded: Take,
    estimate: Estimate,
    options: FitOptions,
    changes: Sequence[Change],
    progress: Progress | None = None,
) -> Refined:
    """The joints of an estimate fitted to all frames of the files of which its take is a sample."""
    take = estimate.take
    asked = replace(options, tree=tuple((take.names[j], take.names[i]) for i, j in estimate.pairs))
    frames = AllFrames(long, Treatment.of(asked, recorded, take, changes))
    return refine_joints(frames, take, estimate, options.method, progress)


def refine_joints(
    frames: AllFrames, sample: Take, fitted: Estimate, method: Method, progress: Progress | None = None
) -> Refined:
    """The joints of `fitted`, which were found in `sample`, fitted to all frames by the same estimator.

    Methods that are no sum over frames keep their joints: one sweep finds out what all frames say of them.
    """
    solution, pairs = fitted.solution, fitted.pairs
    factor = np.ones(6 * len(pairs)) if solution.factor is None else solution.factor
    system = System(pairs, solution.basis, factor)
    u, fires = solution.unknowns, solution.robust
    gaps = _Gaps.of(sample, fitted)
    scale = gaps.scale(u)  # and no other later: only then do weights and joints settle
    for count in range(1, MOST + 1):
        seen = _pass(frames, gaps, u, fires, scale, _Named(progress, count, frames.bytes))
        assert seen.sums is not None
        at, sums = u, seen.sums
        told = _differences(frames, sample, pairs, at, seen)
        if _alone(method, solution, told):
            break
        if not solution.together:
            fits = fit_pairs(_edge_sums(sums, u), pairs)
            u = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1).ravel()
            break
        now = seen.gross | (seen.beyond > limit_outliers(seen.known))
        now = now if count == 1 else now | fires  # the first sweep tells, not the sample
        if (now != fires).any() and count < MOST:
            fires = now  # a step with outliers at full weight would lead away
            continue
        for _ in range(INNER):
            u = system.solve(sums.move_to(at, u))
        if not fires.any() or np.abs(u - at).max(initial=0.0) < STEP:
            break
    fits = fit_pairs(_edge_sums(sums, at), pairs)
    halves = u.reshape(-1, 2, 3)
    moved = replace(solution, p_child_joint=halves[:, 0], p_parent_joint=halves[:, 1], robust=fires)
    words = f"the joints were then fitted to all frames, in {many(count, 'sweep')}"
    if reason := _alone(method, solution, told):
        words = f"the joints come from these alone, since {reason}"
    known = replace(fits, frames=seen.frames.astype(np.float64))
    return Refined(moved, known, words, sums.move_to(at, u), tuple(told))


def _alone(method: Method, solution: Solution, told: Sequence[Finding]) -> str:
    """Why the joints of the sample are kept, if they are."""
    if method not in ADDITIVE:
        return f"the method {method} is no sum over frames"
    if method == "default" and not solution.together and told:
        return "they are exact there, and not in all frames"
    return ""


class _Named:
    """Progress of one sweep; done: bytes that lie behind."""

    def __init__(self, progress: Progress | None, count: int, total: int) -> None:
        self.progress, self.count, self.total, self.done = progress, count, total, 0

    def __call__(self, block: Block) -> None:
        self.done += block.bytes
        if self.progress is not None:
            self.progress(f"sweep {self.count} over all frames", self.done, self.total)


def _pass(frames: AllFrames, gaps: _Gaps, u: Floats, fires: Bools, scale: Floats, told: _Named) -> _Seen:
    """One pass over all frames at `u` (6J,); the joints in `fires` (J,) have weights by the size `scale` (J,) [m]."""
    J, files = len(gaps.pairs), len(frames.files)
    zero = np.zeros(J, np.int64)
    parts, times = np.zeros((files, PARTS, J, 2)), np.full((files, PARTS, 2), np.nan)
    seen = _Seen(None, zero.copy(), zero.copy(), zero.copy(), np.zeros(J, dtype=bool), parts, times)
    for block in frames:
        if block.take.frames:
            _add(seen, block, frames.files, gaps, u, fires, scale)
        told(block)
    return seen


def _add(
    seen: _Seen, block: Block, files: Sequence[LongFile], gaps: _Gaps, u: Floats, fires: Bools, scale: Floats
) -> None:
    """One block's share in a pass."""
    take = block.take
    rows = Rows.of(take, gaps.pairs)
    gap = rows.gap(u)
    base = gaps.base(take)
    length = measure_gaps(gap, base)
    window = count_frames(take, LIVELY_S)
    weight = weigh_gaps(length, rows.seen, scale, window, fires)
    weight = weight if base is None else weight * base
    sums = Sweep(*rows.sums(weight), *gap_products(gap, weight))
    seen.sums = sums if seen.sums is None else seen.sums + sums
    seen.frames += (weight > 0).sum(axis=0)
    seen.known += rows.seen.sum(axis=0)
    seen.beyond += count_outliers(length, rows.seen, scale, window)
    seen.gross |= _grossly_off(take, gaps.pairs, length, rows.seen, scale)
    if block.file is not None:
        at = files.index(block.file)
        part = min(int(block.number[0]) * PARTS // block.file.frames, PARTS - 1)
        seen.parts[at, part, :, 0] += np.square(gap).sum(axis=(0, 1))
        seen.parts[at, part, :, 1] += rows.seen.sum(axis=0)
        seen.times[at, part] = np.fmin(seen.times[at, part, 0], take.time[0]), take.time[-1]


def _grossly_off(take: Take, pairs: Ints, length: Floats, seen: Bools, scale: Floats) -> Bools:
    """(J,) joints of bodies that have poses far off at all their joints: lesser outliers are then to be expected."""
    lost = take.seen & ~drop_gross(take, pairs, length, seen, scale)
    return np.asarray(np.asarray(lost.any(axis=0))[pairs].any(axis=1))


def _edge_sums(sums: Sweep, u: Floats) -> PairSums:
    """The sums of a tree's J pairs, as far as the frames have weight."""
    k = np.arange(len(sums.count))
    own = sums.G.reshape(len(k), 6, len(k), 6)[k, :, k]  # (J, 6, 6)
    aim = sums.H.reshape(len(k), 6, len(k))[k, :, k]
    x = u.reshape(-1, 6)
    square = np.diagonal(sums.square) - np.einsum("jx,jxy,jy->j", x, own, x) + 2 * np.einsum("jx,jx->j", x, aim)
    return PairSums(np.diagonal(sums.count), -own[:, :3, 3:], aim[:, :3], aim[:, 3:], np.maximum(square, 0.0))


def _differences(frames: AllFrames, sample: Take, pairs: Ints, u: Floats, seen: _Seen) -> list[Finding]:
    """Joints that come apart more over all frames of a file than in its sample, and where.

    Compared is the plain root mean square, outliers and all, of the same joints on either side.
    """
    told = []
    halves = u.reshape(-1, 2, 3)
    reach = np.linalg.norm(halves, axis=2).sum(axis=1)
    for k, (file, place) in enumerate(zip(frames.files, frames.places, strict=True)):
        usual = _rms(*_plain_squares(sample, place, frames.step, pairs, u))
        square, count = np.moveaxis(seen.parts[k], 2, 0)  # (PARTS, J) each
        rms = _rms(square.sum(axis=0), count.sum(axis=0))
        excess = square - count * usual**2
        for a in np.flatnonzero((rms > DIFFERS * usual) & (rms > ROUNDING * reach)).tolist():
            worst = int(np.argmax(excess[:, a]))
            time = (float(seen.times[k, worst, 0]), float(seen.times[k, worst, 1])) if sample.timed else None
            ends = (sample.names[pairs[a, 0]], sample.names[pairs[a, 1]])
            told.append(_finding(file, ends, float(rms[a]), float(usual[a]), time))
    return told


def _plain_squares(sample: Take, place: Places, step: int, pairs: Ints, u: Floats) -> tuple[Floats, Ints]:
    """(J,) sum of squared gaps [m^2], and frames, of the sample of one file; in steps, since a sample is large."""
    square, count = np.zeros(len(pairs)), np.zeros(len(pairs), np.int64)
    for start in range(place.first, place.stop, step):
        rows = Rows.of(sample.slice(start, min(start + step, place.stop)), pairs)
        square += np.square(rows.gap(u)).sum(axis=(0, 1))
        count += rows.seen.sum(axis=0)
    return square, count


def _rms(square: Floats, count: Ints) -> Floats:
    return np.asarray(np.sqrt(square / np.maximum(count, 1)))


def _finding(
    file: LongFile, ends: tuple[str, str], rms: float, usual: float, time: tuple[float, float] | None
) -> Finding:
    where = "" if time is None else f", most of it between {time[0]:.6g} s and {time[1]:.6g} s"
    text = (
        f"{ends[0]}: over all {file.frames} frames of {file.source} its joint comes apart by {1e3 * rms:.3g} mm, in "
        f"those that the figure was found in by {1e3 * usual:.3g} mm{where}; "
        "look there for spikes or a sensor that was touched, or fit that stretch for itself"
    )
    return Finding("sample-differs", "warning", text, ends, time, rms / max(usual, 1e-300), "1")
