"""From a take to a calibrated figure: the one module that knows the whole chain."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .estimate.doubts import judge_joints, judge_structure, judge_take
from .estimate.fitting import asked_root, fit_tree, uncertainty_of
from .estimate.kinds import classify, describe_motion
from .estimate.locate import assemble_joints, gap_residual, settle_points
from .estimate.refusals import check_forest, check_seen_together, check_take
from .estimate.solve import Solution
from .estimate.structure import Structure
from .faults.field import judge_correction
from .faults.loops import loop_joints, touching_joints, usual_gap
from .faults.part_time import hidden as apart
from .faults.part_time import judge_part_time
from .findings import Finding, sort_findings
from .io.scale_file import factor_of
from .maths.arrays import Floats, Ints
from .mending import straightened, while_held, with_poses, without_slips, without_swaps
from .model.field import FieldModel, Rod
from .model.options import Method, Options, TreeScore, check_options, named_pairs
from .model.scale import Scale, scaled
from .model.skeleton import Joint, SensorNoise, Skeleton
from .model.take import Take, with_world
from .pairs.fits import gaps
from .prepare.dropouts import prepare as prepare_take
from .prepare.dropouts import put_on_one_clock
from .result.assemble import assemble_limbs, assemble_placements
from .result.symmetry import mirror_lengths

if TYPE_CHECKING:  # long recordings are few, and what reads them is imported where there is one
    from .source.long_file import LongFile, Progress
    from .source.sweeps import Refined

PLAY = 1.2  # growth of the residual up to which an open hinge is moved along its axis to a known joint
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
    long: Sequence[LongFile] = (),
    progress: Progress | None = None,
) -> Calibration:
    """The articulated figure inside a take. See `Options`; `tree` is (parent, child) edges or {child: parent}; `scale`
    a factor on recorded lengths, or what `condyle scale` wrote. `long` are files of which the take has a sample: the
    joints are fitted to all their frames, and `progress` is told how far that is.
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
    return run(take, options, long, progress)


def run(take: Take, options: Options, long: Sequence[LongFile] = (), progress: Progress | None = None) -> Calibration:
    """`calibrate` with its options as one value."""
    check_options(options)
    read = take
    take = scaled(take, factor_of(options.scale))
    if options.prepare:
        take = prepare_take(take, fix_latency=False)
    ready = without_swaps(take, options)  # before latency, which a sensor on another's body would be taken for
    swaps, delay, take = ready is not take, None, ready
    if options.prepare and options.fix_latency and options.method != "least-squares":
        take, delay = put_on_one_clock(take)
    del ready  # a sample of a long recording is large
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
    recorded = take
    take, fitted, part_time = while_held(take, fit_tree(take, fixed, options), fixed, options)
    take, fitted, findings, slips = without_slips(take, fitted, fixed, options)
    take, fitted, bend, told = straightened(take, fitted, fixed, options)
    findings += told
    structure, roots, parent, pairs, solution, fits, sums = fitted
    findings += judge_take(take) + judge_structure(take, structure, roots, asked_root(take, options), options.tree)
    if not len(pairs):
        touching, told = touching_joints(take, structure, options, named_loops, 0.0)
        return _empty(take, options, structure, findings + told, touching)
    motion = describe_motion(take, sums, fits, structure.noise, np.sqrt(np.diagonal(solution.residual_cov)))
    kinds, points, _ = classify(fits, motion, structure.noise, structure.turn)
    sure = uncertainty_of(take, solution, fits, structure, options)
    if sure is not None and bend is not None:
        sure = replace(sure, covariance=sure.covariance + bend.left_open(solution))
    whole = None
    if long:
        from .source.blocks import AllFrames, Treatment
        from .source.sweeps import refine_joints

        edges = tuple((take.names[j], take.names[i]) for i, j in pairs)
        bent = None if bend is None else bend.model
        asked = replace(options, tree=edges)
        treatment = Treatment(asked, read, take, swaps, delay, given, part_time, slips, bent)
        whole = refine_joints(AllFrames(long, treatment), take, fitted, options.method, progress)
        solution, fits, findings = whole.solution, whole.fits, [*findings, *whole.findings]
        take = take.telling(whole.told(take.findings))
    gap = gaps(take, pairs, solution.p_child_joint, solution.p_parent_joint)
    located = assemble_joints(take, structure, solution, gap, fits, motion, kinds, points, sure)
    if whole is not None:
        located = [replace(one, residual=float(x)) for one, x in zip(located, whole.residual(located), strict=True)]
    joints = settle_points(located)
    if joints != located:
        residual = _residual(take, joints, pairs, solution, whole)
        joints = [_settled(*one) for one in zip(joints, located, residual, strict=True)]
        gap = gaps(take, pairs, *_halves(joints))
    if options.symmetric is not None:
        mirrored = mirror_lengths(joints, sure, options.symmetric)
        sure, findings = mirrored.sure, findings + mirrored.findings
        gap = gaps(take, pairs, *_halves(mirrored.joints))
        residual = _residual(take, mirrored.joints, pairs, solution, whole)
        joints = [replace(joint, residual=float(size)) for joint, size in zip(mirrored.joints, residual, strict=True)]
    loops = loop_joints(take, structure, options, named_loops)
    moved = {joint.child for joint, before in zip(joints, located, strict=True) if joint is not before}
    findings += judge_joints(take, joints, solution, structure, motion, sure, moved)
    if part_time:
        held = {frozenset((one.child, one.parent)): one.longest for one in part_time}
        joints = [replace(joint, time=held.get(frozenset((joint.child, joint.parent)))) for joint in joints]
        take, findings = with_poses(take, recorded, apart(take, part_time)), findings + judge_part_time(part_time)
        gap = gaps(take, pairs, *_halves(joints))
    touching, told = touching_joints(take, structure, options, named_loops, usual_gap(solution))
    loops, findings = loops + touching, findings + told
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


def _settled(joint: Joint, before: Joint, residual: float) -> Joint:
    """A hinge moved along its axis, unless its play makes it come apart there."""
    if joint is before:
        return joint
    rounding = 1e-9 * float(np.linalg.norm(joint.p_child_joint) + np.linalg.norm(joint.p_parent_joint))
    return replace(joint, residual=float(residual)) if residual <= PLAY * before.residual + rounding else before


def _residual(take: Take, joints: Sequence[Joint], pairs: Ints, solution: Solution, whole: Refined | None) -> Floats:
    """(J,) [m] root mean square gap over frames with weight: those of the take, or of the files it is a sample of."""
    if whole is not None:
        return whole.residual(joints)
    return gap_residual(gaps(take, pairs, *_halves(joints)), solution.weight)


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


def _empty(
    take: Take, options: Options, structure: Structure, findings: list[Finding], loops: list[Joint]
) -> Calibration:
    skeleton = Skeleton(
        bodies=take.names,
        roots=(),
        loose=take.names,
        joints=(),
        loops=tuple(loops),
        findings=sort_findings([*take.findings, *findings]),
        **_provenance(take, options, structure),
    )
    return Calibration(skeleton, take, np.zeros((take.frames, 0, 3)), np.zeros((take.frames, 0)))
