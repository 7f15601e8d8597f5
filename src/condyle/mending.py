"""What a fit does about a take in which something went wrong: masked, moved back, straightened, and told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .estimate.fitting import Fitted, fit_tree
from .faults.connections import lasting
from .faults.field import find_bend, judge_bend, judge_correction
from .faults.field_fit import FieldFit, fit_field
from .faults.part_time import PartTime, find_part_time
from .faults.part_time import hidden as apart
from .faults.slips import ROUNDS, Slip, find_slips, judge_slips, moved_back, refine_slips
from .findings import Finding, many
from .io.scale_file import factor_of
from .maths.arrays import Bools
from .model.field import FieldModel, Rod
from .model.options import Options
from .model.scale import scaled
from .model.take import WORLD, Take
from .pairs.fits import gaps
from .prepare.dropouts import prepare as prepare_take
from .prepare.flips import find_flips
from .prepare.swaps import exchanged, find_swaps, hidden, judge_swaps


def without_swaps(take: Take, options: Options) -> Take:
    """The take with sensors that were exchanged for a stretch left out there or exchanged back, and findings of it."""
    if options.method == "least-squares" or _left_mirrored(take, options):
        return take
    known = [(take.index(a), take.index(b)) for a, b in options.tree if WORLD not in (a, b)]
    swaps = find_swaps(take, known)
    if not swaps:
        return take
    told = (*take.findings, *judge_swaps(swaps, options.fix_swaps))
    put_right = exchanged(take, swaps) if options.fix_swaps else take.mask(hidden(take, swaps))
    return put_right.telling(told)


def while_held(
    take: Take, fitted: Fitted, fixed: Sequence[tuple[int, int]], options: Options
) -> tuple[Take, Fitted, list[PartTime]]:
    """The take without the poses of sensors while their only joint does not hold, its fit, and those joints."""
    if options.method == "least-squares" or not len(fitted.pairs):
        return take, fitted, []
    solution = fitted.solution
    gap = gaps(take, fitted.pairs, solution.p_child_joint, solution.p_parent_joint)
    found = find_part_time(take, solution, gap, lasting(take, fitted.structure.good))
    left_out = apart(take, found)
    if not left_out.any():
        return take, fitted, found
    part = take.mask(left_out)
    return part, fit_tree(part, [*fixed, *_indices(take, found)], options), found


def _indices(take: Take, joints: Sequence[PartTime]) -> list[tuple[int, int]]:
    return [(take.index(one.parent), take.index(one.child)) for one in joints]


def with_poses(take: Take, other: Take, where: Bools) -> Take:
    """The take with poses (n, m) of another one."""
    R = np.where(where[..., None, None], other.R_world_body, take.R_world_body)
    return replace(take, R_world_body=R, p_world_body=np.where(where[..., None], other.p_world_body, take.p_world_body))


def without_slips(
    take: Take, fitted: Fitted, fixed: Sequence[tuple[int, int]], options: Options
) -> tuple[Take, Fitted, list[Finding], list[Slip]]:
    """The take with sensors that slipped moved back, its fit, what was found, and the slips that were moved back."""
    if options.method == "least-squares":
        return take, fitted, [], []
    mirrored = _left_mirrored(take, options)
    if mirrored:
        return take, fitted, mirrored, []
    slips = find_slips(take, fitted.solution, take.names.index(WORLD) if options.world else None)
    if not (slips and options.fix_slips):
        return take, fitted, judge_slips(slips, repaired=False), []
    for _ in range(ROUNDS):
        back = moved_back(take, slips)
        fitted = fit_tree(back, fixed, options)
        slips = refine_slips(back, fitted.solution, slips)
    back = moved_back(take, slips)
    return back, fit_tree(back, fixed, options), judge_slips(slips, repaired=True), slips


def _left_mirrored(take: Take, options: Options) -> list[Finding]:
    """What to say of positions on the wrong side of a transmitter in a take that was not to be prepared.

    A sensor that is mirrored for a while steps as if it had slipped, by metres, and looks like another: nothing is to
    be mended from that.
    """
    flips = None if options.prepare else find_flips(take)
    if flips is None:
        return []
    wrong = flips[0] | flips[1]
    names = tuple(take.names[k] for k in np.flatnonzero(wrong.any(axis=0)))
    text = (
        f"{', '.join(names)}: {many(int(wrong.sum()), 'position')} mirrored to the other side of the transmitter, and "
        "left as recorded; slips and exchanges were not looked for; fit without --as-recorded to put them right"
    )
    return [Finding("hemisphere-flip", "warning", text, names, value=float(wrong.sum() / take.seen.sum()))]


def straightened(
    take: Take, fitted: Fitted, fixed: Sequence[tuple[int, int]], options: Options
) -> tuple[Take, Fitted, FieldFit | None, list[Finding]]:
    """The take with the bend of the room taken away if that was asked for, its fit, and what was found."""
    still = take.names.index(WORLD) if options.world else None
    solution = fitted.solution
    if not options.field or isinstance(options.field, FieldModel) or not len(fitted.pairs):
        quiet = options.method == "least-squares" or not len(fitted.pairs)
        found = None if quiet else find_bend(take, solution, fitted.structure.noise, still)
        return take, fitted, None, judge_bend(found)
    rod = options.field if isinstance(options.field, Rod) else None
    if rod is not None and rod.take is not None:
        rod_take = scaled(rod.take, factor_of(options.scale))
        rod = replace(rod, take=prepare_take(rod_take) if options.prepare else rod_take)
    fit = fit_field(take, solution, rod, still)
    straight = fit.model.corrected(take, still)
    again = fit_tree(straight, fixed, options)
    return straight, again, fit, judge_correction(take, fit.model, solution, again.solution)
