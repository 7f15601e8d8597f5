"""From a take to a calibrated figure: the one module that knows the whole chain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ._shapes import Floats, Ints
from .assemble import assemble_joints, assemble_limbs, assemble_placements, gap_residual, settle_points
from .check.field import find_bend, judge_bend, judge_correction
from .check.slip import ROUNDS, find_slips, judge_slips, moved_back, refine_slips
from .check.swap import exchanged, find_swaps, hidden, judge_swaps
from .drift import solve_differences
from .field_fit import FieldFit, fit_field
from .field_model import FieldModel
from .field_rows import Rod
from .findings import Finding, sort_findings
from .intervals import Uncertainty, estimate_uncertainty
from .joints import PairFits, fit_pairs, gaps, orientation_bias, refine_pairs
from .judge import judge_joints, judge_structure, judge_take
from .kinds import classify, describe_motion
from .likelihood import fit_likelihood
from .noise import place_precision
from .options import (
    Method,
    Options,
    TreeScore,
    check_forest,
    check_options,
    check_seen_together,
    check_take,
    check_twins,
    named_pairs,
    with_world,
)
from .prepare import prepare as prepare_take
from .prepare import put_on_one_clock
from .scale_file import Scale, factor_of, scaled
from .skeleton import Joint, SensorNoise, Skeleton
from .solve import EXACT, Solution, gap_scale, inliers, solution_of, solve_together
from .structure import Structure, infer_structure
from .sums import PairSums, sum_pairs
from .symmetry import mirror_lengths
from .take import WORLD, Take
from .tree import choose_root, components, orient

PLAY = 1.2  # growth of the residual up to which an open hinge is moved along its axis to a known joint
NOISE_DOUBT = 0.05  # relative error of a sensor's noise variance in a long take
CONVENTIONS = {
    "length": "m",
    "angle": "rad",
    "time": "s",
    "handedness": "right",
    "rotation": "R_world_body, active, column vectors",
}


@dataclass(frozen=True, eq=False)
class Calibration:
    """A skeleton with the take it came from and what is left over frame by frame.

    gap     (n, J, 3) [m]  world vector from the parent's to the child's side of each joint; NaN where not seen
    weight  (n, J)    [-]  how much each gap counted; 0: not seen or weighted out
    field   the bend of the room that was taken away from `take`, where that was asked for
    """

    skeleton: Skeleton
    take: Take
    gap: Floats
    weight: Floats
    field: FieldModel | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.skeleton.findings

    def telling(self, findings: Sequence[Finding]) -> Calibration:
        """The same with more findings."""
        told = sort_findings([*self.findings, *findings])
        return replace(self, skeleton=replace(self.skeleton, findings=told)) if findings else self

    def __str__(self) -> str:
        return str(self.skeleton)


def calibrate(
    take: Take,
    *,
    method: Method = "default",
    tree: Iterable[tuple[str, str]] | Mapping[str, str | None] = (),
    root: str | None = None,
    loops: Iterable[tuple[str, str]] = (),
    world: bool = False,
    tree_score: TreeScore | None = None,
    intervals: bool = True,
    prepare: bool = True,
    fix_latency: bool = True,
    fix_slips: bool = True,
    symmetric: float | None = None,
    fix_swaps: bool = False,
    scale: float | str | os.PathLike[str] | Scale = 1.0,
    field: bool | FieldModel | Rod = False,
) -> Calibration:
    """The articulated figure inside a take. See `Options`; `tree` is (parent, child) edges or {child: parent}; `scale`
    a factor on recorded lengths, or what `condyle scale` wrote.
    """
    edges = [(p, c) for c, p in tree.items() if p is not None] if isinstance(tree, Mapping) else tree
    options = Options(
        method,
        tree_score,
        named_pairs(edges, "tree"),
        root,
        named_pairs(loops, "loops"),
        world,
        intervals,
        prepare,
        fix_latency,
        fix_slips,
        symmetric,
        fix_swaps,
        factor_of(scale),
        field,
    )
    return run(take, options)


def run(take: Take, options: Options) -> Calibration:
    """`calibrate` with its options as one value."""
    check_options(options)
    take = scaled(take, factor_of(options.scale))
    if options.prepare:
        take = prepare_take(take, fix_latency=False)
    take = _without_swaps(take, options)  # before latency, which a sensor on another's body would be taken for
    if options.prepare and options.fix_latency and options.method != "least-squares":
        take = put_on_one_clock(take)
    given = options.field if isinstance(options.field, FieldModel) else None
    if given is not None:
        told = judge_correction(take, given, None, None)
        take = given.corrected(take.telling((*take.findings, *told)))
    if options.world:
        take = with_world(take)
    check_take(take, options)
    fixed = [(take.index(parent), take.index(child)) for parent, child in options.tree]
    named_loops = [(take.index(a), take.index(b)) for a, b in options.loops]
    check_forest(take, fixed)
    check_seen_together(take, [*fixed, *named_loops])
    take, fitted, findings = _without_slips(take, _fitted(take, fixed, options), fixed, options)
    take, fitted, bend, told = _straightened(take, fitted, fixed, options)
    findings += told
    structure, roots, parent, pairs, solution, fits, sums = fitted
    findings += judge_take(take) + judge_structure(take, structure, roots, _asked_root(take, options), options.tree)
    if not len(pairs):
        return _empty(take, options, structure, findings)
    motion = describe_motion(take, sums, fits, structure.noise, np.sqrt(np.diagonal(solution.residual_cov)))
    kinds, points, _ = classify(fits, motion, structure.noise, structure.turn)
    sure = _uncertainty(take, solution, fits, structure, options)
    if sure is not None and bend is not None:
        sure = replace(sure, covariance=sure.covariance + bend.left_open(solution))
    gap = gaps(take, pairs, solution.p_child_joint, solution.p_parent_joint)
    located = assemble_joints(take, structure, solution, gap, fits, motion, kinds, points, sure)
    joints = settle_points(located)
    if joints != located:
        residual = gap_residual(gaps(take, pairs, *_halves(joints)), solution.weight)
        joints = [_settled(*one) for one in zip(joints, located, residual, strict=True)]
        gap = gaps(take, pairs, *_halves(joints))
    if options.symmetric is not None:
        mirrored = mirror_lengths(joints, sure, options.symmetric)
        sure, findings = mirrored.sure, findings + mirrored.findings
        gap = gaps(take, pairs, *_halves(mirrored.joints))
        residual = gap_residual(gap, solution.weight)
        joints = [replace(joint, residual=float(size)) for joint, size in zip(mirrored.joints, residual, strict=True)]
    loops = _loop_joints(take, structure, options, named_loops)
    moved = {joint.child for joint, before in zip(joints, located, strict=True) if joint is not before}
    findings += judge_joints(take, joints, solution, structure, motion, sure, moved)
    limbs = assemble_limbs(joints, sure)
    skeleton = Skeleton(
        bodies=take.names,
        roots=tuple(take.names[k] for k in roots if (parent == k).any()),
        loose=tuple(take.names[k] for k in range(take.bodies) if parent[k] < 0 and not (parent == k).any()),
        joints=tuple(joints),
        limbs=tuple(limbs),
        loops=tuple(loops),
        sensors=tuple(assemble_placements(joints, sure)),
        findings=sort_findings([*take.findings, *findings]),
        **_provenance(take, options, structure),
    )
    field = given if bend is None else bend.model
    if field is not None:
        skeleton = replace(skeleton, scale=skeleton.scale * field.scale)
    return Calibration(skeleton, take, gap, solution.weight, field)


class _Fitted(NamedTuple):
    """A tree and its joints: what is known before kinds, intervals and findings."""

    structure: Structure
    roots: list[int]
    parent: Ints
    pairs: Ints
    solution: Solution
    fits: PairFits
    sums: PairSums


def _fitted(take: Take, fixed: Sequence[tuple[int, int]], options: Options) -> _Fitted:
    paper = (options.tree_score or ("residual" if options.method == "least-squares" else "likelihood")) == "residual"
    room = take.names.index(WORLD) if options.world else None
    structure = infer_structure(take, fixed=fixed, paper=paper, still_world=room)
    check_twins(take, structure)
    roots, parent = _roots(take, structure, options)
    pairs = _ordered(parent, roots)
    method = options.method if len(pairs) else "least-squares"  # of nothing
    return _Fitted(structure, roots, parent, pairs, *solve(take, structure, pairs, method))


def _without_swaps(take: Take, options: Options) -> Take:
    """The take with sensors that were exchanged for a stretch left out there or exchanged back, and findings of it."""
    if options.method == "least-squares":
        return take
    known = [(take.index(a), take.index(b)) for a, b in options.tree if WORLD not in (a, b)]
    swaps = find_swaps(take, known)
    if not swaps:
        return take
    told = (*take.findings, *judge_swaps(swaps, options.fix_swaps))
    put_right = exchanged(take, swaps) if options.fix_swaps else take.mask(hidden(take, swaps))
    return put_right.telling(told)


def _without_slips(
    take: Take, fitted: _Fitted, fixed: Sequence[tuple[int, int]], options: Options
) -> tuple[Take, _Fitted, list[Finding]]:
    """The take with sensors that slipped moved back, its fit, and what was found."""
    if options.method == "least-squares":
        return take, fitted, []
    slips = find_slips(take, fitted.solution, take.names.index(WORLD) if options.world else None)
    if not (slips and options.fix_slips):
        return take, fitted, judge_slips(slips, repaired=False)
    for _ in range(ROUNDS):
        back = moved_back(take, slips)
        fitted = _fitted(back, fixed, options)
        slips = refine_slips(back, fitted.solution, slips)
    back = moved_back(take, slips)
    return back, _fitted(back, fixed, options), judge_slips(slips, repaired=True)


def _straightened(
    take: Take, fitted: _Fitted, fixed: Sequence[tuple[int, int]], options: Options
) -> tuple[Take, _Fitted, FieldFit | None, list[Finding]]:
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
    again = _fitted(straight, fixed, options)
    return straight, again, fit, judge_correction(take, fit.model, solution, again.solution)


def solve(take: Take, structure: Structure, pairs: Ints, method: Method) -> tuple[Solution, PairFits, PairSums]:
    """The joints of the given edges by the chosen method, and the plain fits with their sums: rank and axes."""
    sums = structure.sums
    if method == "least-squares":
        if not (structure.good == take.seen).all():
            sums = sum_pairs(take)
        fits = refine_pairs(take, fit_pairs(sums, pairs))
        return solution_of(take, fits), fits, sums
    trusted = take if (structure.good == take.seen).all() else take.mask(~structure.good)
    fits = refine_pairs(trusted, fit_pairs(sums, pairs))
    scale = np.minimum(gap_scale(trusted, fits), fits.residual / np.sqrt(3))
    motion = describe_motion(take, sums, fits, structure.noise, scale)
    if (fits.residual <= EXACT * motion.size).all():
        return solution_of(take, fits), fits, sums
    held = classify(fits, motion, structure.noise, structure.turn)[2] | ~fits.determined
    relative = place_precision(take, structure.good)
    base = _place_weights(structure, pairs, relative)
    # Where gross outliers were taken out, lesser ones are left: a few of them do not show in the count, but do harm.
    lost = np.asarray((take.seen & ~structure.good).any(axis=0))
    suspect = np.asarray(lost[pairs].any(axis=1))
    solution = solve_together(trusted, fits, structure.noise, held, base, suspect=suspect)
    if solution.robust.any():  # ranks, axes and kinds are read off the poses that the weights kept
        kept = inliers(take, pairs, solution.weight) & structure.good
        best = take.mask(~kept)
        sums = sum_pairs(best)
        fits = refine_pairs(best, fit_pairs(sums, pairs))
        motion = describe_motion(take, sums, fits, structure.noise, np.sqrt(np.diagonal(solution.residual_cov)))
        again = classify(fits, motion, structure.noise, structure.turn)[2] | ~fits.determined
        if (again != held).any():
            solution = solve_together(trusted, fits, structure.noise, again, base, suspect=suspect)
    if method == "drift":
        solution = solve_differences(trusted, fits, solution, structure.noise, held)
    if method == "accurate" and (structure.noise.position > 0).any():
        solution = fit_likelihood(trusted, solution, structure.noise, relative)
    return solution, fits, sums


def _place_weights(structure: Structure, pairs: Ints, relative: Floats | None) -> Floats | None:
    """(n, J) relative precision of the gaps where the noise depends on place, 1 on average; else None."""
    if relative is None:
        return None
    variance = relative * np.maximum(structure.noise.position, 1e-12) ** 2
    weight = 1 / (variance[:, pairs[:, 0]] + variance[:, pairs[:, 1]])
    return np.asarray(weight / weight.mean(axis=0))


def _uncertainty(
    take: Take, solution: Solution, fits: PairFits, structure: Structure, options: Options
) -> Uncertainty | None:
    if not options.intervals:
        return None
    if not take.timed:  # without time nothing tells noise from errors that repeat with the motion
        return None
    sure = estimate_uncertainty(take, solution, structure.noise)
    if sure is None:
        return None
    if solution.together:
        # The pull of orientation noise was taken away as far as the noise is known.
        doubt = min(0.5, max(NOISE_DOUBT, 2.5 / np.sqrt(take.frames)))
        alone = np.diag(structure.noise.orientation)
        pulls = np.stack([doubt * orientation_bias(fits, one).ravel() for one in alone])
        pulls = pulls @ solution.basis @ solution.basis.T
    else:
        # Plain least squares is pulled towards the sensors by their orientation noise; its interval must reach back.
        pulls = orientation_bias(fits, structure.noise.orientation).reshape(1, -1)
    return replace(sure, covariance=sure.covariance + pulls.T @ pulls)


def _loop_joints(take: Take, structure: Structure, options: Options, named: list[tuple[int, int]]) -> list[Joint]:
    """Loop joints found and named, each located for itself by the chosen method."""
    found = [(int(i), int(j)) for i, j in structure.fits.pairs[structure.loops]]
    used = {frozenset(pair) for pair in structure.fits.pairs[structure.tree.edges].tolist()}
    pairs = [pair for pair in named + found if frozenset(pair) not in used]
    pairs = list({frozenset(pair): pair for pair in reversed(pairs)}.values())[::-1]
    joints = []
    for pair in pairs:
        row = np.array([pair])
        solution, fits, sums = solve(take, structure, row, options.method)
        motion = describe_motion(take, sums, fits, structure.noise)
        kinds, points, _ = classify(fits, motion, structure.noise, structure.turn)
        sure = _uncertainty(take, solution, fits, structure, options)
        gap = gaps(take, row, solution.p_child_joint, solution.p_parent_joint)
        made = assemble_joints(take, structure, solution, gap, fits, motion, kinds, points, sure)
        span = (float(take.time[0]), float(take.time[-1]))
        joints.append(replace(made[0], time=span, margin=None, runner_up=None))
    return joints


def _roots(take: Take, structure: Structure, options: Options) -> tuple[list[int], Ints]:
    """One root per tree of the forest, and the parent of every body."""
    edges = structure.fits.pairs[structure.tree.edges]
    speed = _mean_speed(take)
    given = _asked_root(take, options)
    groups = components(take.bodies, edges)
    roots = [
        given if given is not None and given in group else choose_root(group, edges, speed, take.names)
        for group in groups
    ]
    return roots, orient(take.bodies, edges, roots)


def _asked_root(take: Take, options: Options) -> int | None:
    """The root that was asked for, by name, by the room, or by a whole hierarchy."""
    if options.root is not None:
        return take.index(options.root)
    if options.world:
        return take.names.index(WORLD)
    return next(iter(_given_heads(take, options)), None)


def _given_heads(take: Take, options: Options) -> list[int]:
    """Root implied by a hierarchy that was given whole: the one parent that is nobody's child."""
    if len(options.tree) != take.bodies - 1:
        return []
    children = {child for _, child in options.tree}
    return [take.index(name) for name in take.names if name not in children][:1]


def _mean_speed(take: Take) -> Floats:
    step = np.diff(take.time)[:, None]
    inside = (np.diff(take.segment) == 0)[:, None]
    move = np.diff(take.p_world_body, axis=0)
    length = np.sqrt(np.einsum("nmi,nmi->nm", move, move))
    ok = inside & np.isfinite(length)
    total = np.where(ok, length, 0.0).sum(axis=0)
    return np.asarray(total / np.maximum((ok * step).sum(axis=0), 1e-12))


def _ordered(parent: Ints, roots: Sequence[int]) -> Ints:
    """(J, 2) child, parent with parents before children."""
    order = []
    for root in roots:
        front = [root]
        while front:
            body = front.pop(0)
            children = np.flatnonzero(parent == body).tolist()
            order += [(child, body) for child in children]
            front += children
    return np.array(order, dtype=np.int64).reshape(-1, 2)


def _settled(joint: Joint, before: Joint, residual: float) -> Joint:
    """A hinge moved along its axis, unless its play makes it come apart there."""
    if joint is before:
        return joint
    rounding = 1e-9 * float(np.linalg.norm(joint.p_child_joint) + np.linalg.norm(joint.p_parent_joint))
    return replace(joint, residual=float(residual)) if residual <= PLAY * before.residual + rounding else before


def _halves(joints: Sequence[Joint]) -> tuple[Floats, Floats]:
    return np.stack([j.p_child_joint for j in joints]), np.stack([j.p_parent_joint for j in joints])


def _provenance(take: Take, options: Options, structure: Structure) -> dict[str, Any]:
    masked = (~structure.good).sum(axis=0)
    asked = {key: value for key, value in options.plain().items() if key not in ("method", "scale")}
    return {
        "noise": tuple(
            SensorNoise(name, float(p), float(r))
            for name, p, r in zip(take.names, structure.noise.position, structure.noise.orientation, strict=True)
        ),
        "take": {
            "frames": take.frames,
            "seconds": take.seconds,
            "sources": list(take.sources),
            "masked": {name: int(count) for name, count in zip(take.names, masked, strict=True)},
        },
        "method": options.method,
        "scale": float(options.scale),
        "options": asked,
        "conventions": {**CONVENTIONS, "up": take.up, "read_as": take.read_as or None},
        "markers": take.markers,
    }


def _empty(take: Take, options: Options, structure: Structure, findings: list[Finding]) -> Calibration:
    skeleton = Skeleton(
        bodies=take.names,
        roots=(),
        loose=take.names,
        joints=(),
        findings=sort_findings([*take.findings, *findings]),
        **_provenance(take, options, structure),
    )
    return Calibration(skeleton, take, np.zeros((take.frames, 0, 3)), np.zeros((take.frames, 0)))
