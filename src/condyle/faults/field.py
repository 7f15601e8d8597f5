"""Where the field of a tracker is bent: gaps that depend on the place in the room (metal, walls, the edge of range).

Skin makes a joint come apart by its angles, a bent field by where it is. What follows the angles of a joint and of its
neighbours is cleared away first; if one smooth field, the same for all sensors, explains much of the rest, it is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..estimate.edge_blocks import Blocks
from ..findings import Finding
from ..io.scale_file import factor_of
from ..maths.arrays import Bools, Floats, Ints, evenly, freeze_array
from ..model.field import FieldModel, Rod
from ..model.scale import scale_take
from ..model.stage import Change, Decision, Effect
from ..model.take import WORLD, Take
from ..model.values import dataclass
from ..prepare.dropouts import prepare

if TYPE_CHECKING:
    from ..estimate.fitting import Estimate
    from ..estimate.solve import Solution
    from ..model.options import FitOptions
    from ..pairs.noise import Noise
    from .field_fit import Bend, FieldFit

LOUD_MIN_GAPS = 1.3  # gaps over what the sensors' noise explains, from which a bend is looked for
BEND_MIN_LOG_RATIO = 100.0  # log likelihood, over that of a straight field, from which a bend is told
SHARED_MIN_SHARE = 0.2  # of a joint's gaps beyond what follows angles, that the field of the other joints must explain
MOST_CELLS = 6  # along the widest side of the space that was visited
SUMMED_UP_FRAMES = 2000  # frames over which the correction is summed up
SHOWN_MIN_BLOCKS = 5  # blocks in a cell, below which it is not shown


@dataclass(frozen=True, eq=False)
class GapMap:
    """How far joints come apart by place: one row for every cell of the room in which some joint was long enough.

    place  (C, 3) [m]  middle of the cell
    size   (C,)   [m]  rms length of the gaps in it, beyond what the sensors' noise explains; 0 where noise does
    count  (C,)   [-]  averages of a sixth of a second in it
    edge          [m]  side of a cell
    """

    place: Floats
    size: Floats
    count: Ints
    edge: float

    def __post_init__(self) -> None:
        cells = len(self.count)
        object.__setattr__(self, "place", freeze_array(self.place, (cells, 3), "place"))
        object.__setattr__(self, "size", freeze_array(self.size, (cells,), "size"))
        object.__setattr__(self, "count", freeze_array(self.count, (cells,), "count", np.int64))

    @property
    def worst(self) -> int | None:
        """Row of the cell with the largest gaps; None of an empty map."""
        return int(np.argmax(self.size)) if len(self.size) else None


@dataclass(frozen=True)
class BentField:
    """A bend that is worth telling: how clear and how large it is, where [m] gaps are largest, and how large [m] there.

    See `field_fit.Bend`.
    """

    bend: Bend
    place: tuple[float, float, float]
    excess: float


def map_gaps(take: Take, solution: Solution, noise: Noise) -> GapMap:
    """The gaps of all joints over the room, in cubes of which MOST_CELLS span the widest side of what was visited."""
    blocks = Blocks(*solution.by_rows(take))
    used = blocks.weight > 0
    joint = np.einsum("bjxy,jy->bjx", blocks.R_child, solution.p_child_joint)
    apart = blocks.arm - blocks.gap.transpose(0, 2, 1)
    place = (blocks.place - 0.5 * apart + joint)[used]
    if not len(place):
        return GapMap(np.zeros((0, 3)), np.zeros(0), np.zeros(0, np.int64), 1.0)
    noise = noise.of_rows(solution.every)
    explained = 3 * noise.gap_variance(*solution.joints) / np.where(used, blocks.weight, 1.0)
    square = ((blocks.gap**2).sum(axis=1) - explained)[used]
    low = place.min(axis=0)
    edge = max(float((place.max(axis=0) - low).max()) / MOST_CELLS, 1e-9)
    index = np.minimum(((place - low) / edge).astype(np.int64), MOST_CELLS - 1)
    cell, which, count = np.unique(index, axis=0, return_inverse=True, return_counts=True)
    total = np.bincount(which.ravel(), square, len(cell))
    shown = count >= SHOWN_MIN_BLOCKS
    size = np.sqrt(np.maximum(total / count, 0.0))
    return GapMap((low + (cell + 0.5) * edge)[shown], size[shown], count[shown], edge)


def find_bend(take: Take, solution: Solution, noise: Noise, still: int | None = None) -> BentField | None:
    """The bend of the field that a take's joints tell of, if they do. `still` is a body that no sensor reports."""
    own: Bools = np.ones(len(solution.pairs), dtype=bool)
    if still is not None:
        own = ~(solution.pairs == still).any(axis=1)
    explained = float(noise.gap_variance(*solution.joints)[own].sum())
    gaps = float(np.diagonal(solution.residual_cov)[own].sum())
    if not take.timed or explained <= 0 or gaps < LOUD_MIN_GAPS**2 * explained:
        return None
    from .field_fit import measure_bend

    bend = measure_bend(take, solution, still, BEND_MIN_LOG_RATIO)
    if bend.gain < BEND_MIN_LOG_RATIO or bend.shared < SHARED_MIN_SHARE:
        return None
    cells = map_gaps(take, solution, noise)
    if cells.worst is None:
        return None
    x, y, z = cells.place[cells.worst].tolist()
    return BentField(bend, (x, y, z), float(cells.size[cells.worst]))


def describe_bend(found: BentField | None) -> list[Finding]:
    """What to say of it."""
    if found is None:
        return []
    x, y, z = found.place
    text = (
        f"joints come apart by where they are in the room, most around ({x:z.1f}, {y:z.1f}, {z:z.1f}) m by "
        f"{1000 * found.excess:.0f} mm: the field is bent; move metal away, or fit with --field, best with a --rod "
        "carried through the same space"
    )
    return [Finding("bent-field", "warning", text, value=found.excess, unit="m")]


def describe_correction(
    before: Take, model: FieldModel, first: Solution | None = None, second: Solution | None = None
) -> list[Finding]:
    """How much taking the field away changed.

    before         the take as it was
    first, second  its joints, and those of the corrected take; none for a field that was given
    """
    fitted = first is not None and second is not None
    rod = "" if model.scale == 1 else f"; all lengths were then multiplied by {model.scale:.4f}, as the rod tells"
    if not len(model.centres):
        text = f"no bend of the field is seen that would be worth taking away{rod}"
        return [Finding("field-corrected", "info", text, value=0.0, unit="m")]
    rows = evenly(before.frames, SUMMED_UP_FRAMES)
    moved = np.linalg.norm(model.displacement(before.p_world_body[rows][before.seen[rows]]), axis=1)
    rms, most = float(np.sqrt((moved**2).mean())) if len(moved) else 0.0, float(moved.max(initial=0.0))
    parts = [f"a bent field was taken away: positions moved by {_mm(rms)} mm rms, {_mm(most)} mm at most{rod}"]
    if first is not None and second is not None:
        lengths = limb_lengths(first), limb_lengths(second)
        change = [abs(lengths[1][limb] - lengths[0][limb]) for limb in lengths[0] if limb in lengths[1]]
        if change:
            parts.append(f"limbs changed by up to {_mm(max(change))} mm")
        gap = [float(np.sqrt(3 * np.diagonal(one.residual_cov).mean())) for one in (first, second)]
        parts.append(f"joints come apart by {_mm(gap[1])} mm rms instead of {_mm(gap[0])}")
    if fitted and model.scale == 1:
        parts.append("without a rod all lengths may be wrong by one common factor")
    return [Finding("field-corrected", "info", "; ".join(parts), value=rms, unit="m")]


def _mm(size: float) -> str:
    return f"{1000 * size:.1f}"


def limb_lengths(solution: Solution) -> dict[tuple[int, frozenset[int]], float]:
    """{(body, the two bodies joined to it): distance [m] of the two joints}, where the motion determines both."""
    open_ends = np.abs(np.diagonal(solution.basis @ solution.basis.T) - 1).reshape(-1, 6).max(axis=1) > 1e-9
    known = np.tile(~open_ends, 2)
    sides = np.concatenate([solution.p_child_joint, solution.p_parent_joint])
    owner, other = np.concatenate([solution.pairs, solution.pairs[:, ::-1]]).T
    found = {}
    for a in range(len(owner)):
        for b in np.flatnonzero((owner[:a] == owner[a]) & known[:a]) if known[a] else ():
            length = float(np.linalg.norm(sides[a] - sides[b]))
            found[int(owner[a]), frozenset((int(other[a]), int(other[b])))] = length
    return found


@dataclass(frozen=True, eq=False)
class FieldRepair:
    """The bend of the room taken away from every pose."""

    fit: FieldFit
    straight: Take
    findings: tuple[Finding, ...]
    repair: str = "field"
    effect: Effect = "reading"
    first: int = 0
    size: float | None = None
    hold: tuple[tuple[str, str], ...] = ()
    at_border: bool = False
    suspicion: str = "the room may be bent"

    @property
    def bodies(self) -> tuple[str, ...]:
        return tuple(name for name in self.straight.names if name != WORLD)

    def apply(self, take: Take) -> Take:
        return self.straight

    def describe(self) -> list[Finding]:
        return list(self.findings)


def correct_known_field(take: Take, options: FitOptions) -> Decision:
    """The stage of a field that was given: taken away before there is a figure."""
    if not isinstance(options.field, FieldModel):
        return Decision()
    return Decision(describe_correction(take, options.field), options.field.correct(take))


def correct_field(estimate: Estimate, options: FitOptions, refused: Sequence[Change] = ()) -> Decision:
    """The stage of a field that is to be found in this take, with a rod or without."""
    if refused or not options.field or isinstance(options.field, FieldModel) or not len(estimate.pairs):
        return Decision()
    from .field_fit import fit_field

    take, still = estimate.take, estimate.take.names.index(WORLD) if options.world else None
    rod = options.field if isinstance(options.field, Rod) else None
    if rod is not None and rod.take is not None:
        rod_take = scale_take(rod.take, factor_of(options.scale))
        rod = replace(rod, take=prepare(rod_take) if options.prepare else rod_take)
    fit = fit_field(take, estimate.solution, rod, still)
    straight = fit.model.correct(take, still)
    after = estimate.refit(straight)
    if not len(after.pairs):
        text = "the bend of the field that fits best would leave no joint at all, and is not taken away"
        if rod is not None:
            text += "; nor is the scale of the rod applied: give --scale"
        return Decision([Finding("bent-field", "warning", text)])
    found = describe_correction(take, fit.model, estimate.solution, after.solution)
    return Decision(changes=[FieldRepair(fit, straight, tuple(found))])


def look_for_bend(estimate: Estimate, options: FitOptions, refused: Sequence[Change] = ()) -> Decision:
    """The stage that tells of a bent field where nobody asked for its correction."""
    if (options.field and not isinstance(options.field, FieldModel)) or not len(estimate.pairs):
        return Decision()
    still = estimate.take.names.index(WORLD) if options.world else None
    return Decision(describe_bend(find_bend(estimate.take, estimate.solution, estimate.structure.noise, still)))
