"""A skeleton from the estimate of a take: joints, limbs, placements, loops and findings put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from ..estimate.describe import describe_joints, describe_own_tree, describe_structure, describe_take
from ..estimate.edge_blocks import forget_blocks
from ..estimate.fitting import Estimate, Estimator, Solved, find_asked_root, uncertainty_of
from ..estimate.intervals import Uncertainty
from ..estimate.locate import Located, gap_residual, locate_joints
from ..estimate.machines import SCREW_PLAIN_SHARE, is_quiet, take_out_threads
from ..estimate.solve import Solution
from ..estimate.structure import Structure
from ..estimate.support import EdgeSupport, measure_support
from ..faults.field import FieldRepair
from ..faults.loops import find_touching_joints, loop_joints, slider_joints, usual_gap
from ..faults.part_time import PartTime, PartTimeRepair, find_hidden
from ..faults.slips import SlipRepair
from ..findings import Finding, sort_findings
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, evenly
from ..maths.robust import Z95
from ..maths.spool import over_frames, seal
from ..model.field import FieldModel
from ..model.limbs import is_link, limb_geometry, measure_link, measure_offset
from ..model.options import FitOptions
from ..model.progress import begin_step
from ..model.skeleton import ONE_AXIS, Joint, Limb, Placement, SensorNoise, Skeleton, Slip
from ..model.stage import Change
from ..model.take import Take
from ..model.values import dataclass
from ..pairs.fits import JointGaps, gaps
from ..pairs.rows import FrameWeights
from .plausible import find_exchanged_names, find_mirrored, find_odd_limbs
from .symmetry import mirror_lengths
from .verdict import add_verdict

DRAWN_SD_M = 0.03  # of a joint below a completed segment; ten recorded knees are 38 to 56 mm from Plug-in Gait's
CARRIED_FRAMES = 500  # of a take, that tell how two bodies are turned against each other on the average
SKELETON_CONVENTIONS = {
    "length": "m",
    "angle": "rad",
    "time": "s",
    "handedness": "right",
    "rotation": "R_world_body, active, column vectors",
}


@dataclass(frozen=True, eq=False)
class Calibration:
    """A skeleton with the take it came from and what is left over frame by frame.

    gaps, weights  as `gap` and `weight`, which are made of them when they are asked for
    field   the bend of the room that was taken away from `take`, where that was asked for
    changes the repairs that were made, in their order
    refused those that were tried on the figure and not kept
    """

    skeleton: Skeleton
    take: Take
    gaps: Floats | JointGaps
    weights: Floats | FrameWeights
    field: FieldModel | None = None
    changes: tuple[Change, ...] = ()
    refused: tuple[Change, ...] = ()

    @cached_property
    def gap(self) -> Floats:
        """(n, J, 3) [m] world vector from the parent's to the child's side of each joint; NaN where not seen."""
        return np.asarray(self.gaps)

    @cached_property
    def weight(self) -> Floats:
        """(n, J) [-] how much each gap counted; 0: not seen or weighted out."""
        return np.asarray(self.weights)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.skeleton.findings

    def __str__(self) -> str:
        return str(self.skeleton)


def assemble_figure(
    estimate: Estimate,
    estimator: Estimator,
    options: FitOptions,
    findings: Sequence[Finding],
    changes: Sequence[Change],
    ready: Take,
    *,
    connections: bool,
) -> Calibration:
    """The skeleton of an estimate, with what was found on the way.

    ready        the take before repairs: poses that were left out of the fit are shown from it
    connections  whether joints that hold for a part of the take are looked for beside the tree
    """
    take, structure, pairs = estimate.take, estimate.structure, estimate.pairs
    support = measure_support(take, structure, estimate.solution)
    own_tree = () if take.own is None else take.own.edges(take.names)
    findings = [*findings, *_describe_tree(estimate, support, options, own_tree, findings)]
    named = [(take.index(a), take.index(b)) for a, b in options.loops]
    joints, loops, sure = list[Joint](), list[Joint](), None
    solution = estimate.solution
    gap: Floats | JointGaps = np.zeros((take.frames, 0, 3))
    if len(pairs):
        joints, sure, gap, solution, found = _locate(estimate, estimator, support, options, changes)
        forget_blocks(estimate.solution)
        findings += found
        loops = [*loop_joints(take, structure, options, estimator, named), *slider_joints(take, structure)]
        part_time = [one.joint for one in changes if isinstance(one, PartTimeRepair)]
        if part_time:
            joints = _add_times(joints, part_time)
            take = show_poses(take, ready, find_hidden(take, part_time))
            gap = JointGaps(take, pairs, *_halves(joints))
    if connections:
        begin_step("looking for connections")
        usual = usual_gap(solution) if len(pairs) else 0.0
        touching, found = find_touching_joints(take, structure, options, estimator, named, usual)
        loops, findings = loops + touching, findings + found
    limbs = assemble_limbs(joints, sure)
    findings += _describe_limbs(take, joints, limbs, findings)
    has_child = np.isin(np.arange(take.bodies), estimate.parent)
    skeleton = Skeleton(
        bodies=take.names,
        roots=tuple(take.names[k] for k in estimate.roots if has_child[k]),
        loose=tuple(take.names[k] for k in range(take.bodies) if estimate.parent[k] < 0 and not has_child[k]),
        joints=tuple(joints),
        limbs=(*limbs, *_loop_limbs(joints, loops, take)),
        loops=tuple(loops),
        sensors=tuple(assemble_placements(joints, sure)),
        own_tree=own_tree,
        slips=_list_slips(changes),
        findings=sort_findings([*take.findings, *findings]),
        **_provenance(take, options, structure),
    )
    if estimator.doubled:
        skeleton = _share_doubled(skeleton, take, intervals=options.intervals)
    field = _find_field(options, changes)
    if field is not None:
        skeleton = replace(skeleton, scale=skeleton.scale * field.scale)
    return Calibration(add_verdict(skeleton), take, gap, solution.frame_weight, field, tuple(changes))


def _describe_limbs(
    take: Take, joints: Sequence[Joint], limbs: Sequence[Limb], before: Sequence[Finding]
) -> list[Finding]:
    """Odd lengths, unless `before` says that all of them are, and sides or names that are exchanged."""
    sized = any(finding.code == "implausible-size" for finding in before)
    solved = any(finding.code == "solved-poses" for finding in take.findings)
    odd = [] if sized else find_odd_limbs(take.names, joints, limbs, solved=solved)
    return [*odd, *find_mirrored(take, joints), *find_exchanged_names(take.names, joints)]


def _describe_tree(
    estimate: Estimate,
    support: Mapping[int, EdgeSupport],
    options: FitOptions,
    own_tree: Sequence[tuple[str, str]],
    before: Sequence[Finding],
) -> list[Finding]:
    """What is to be said of the take and its tree. Of a body that `before` puts into another world it is not said that
    it is loose, of one that it has off not that poses are missing.
    """
    take = estimate.take
    asked = find_asked_root(take, options)
    elsewhere = {body for one in before if one.code == "two-worlds" for body in one.bodies}
    detached = {(one.bodies, one.count) for one in before if one.code == "detached-sensor"}
    found = describe_structure(take, estimate.structure, support, estimate.roots, asked, options.tree)
    return [
        *(one for one in describe_take(take) if (one.bodies, one.count) not in detached),
        *describe_own_tree(own_tree, estimate.pairs, take.names),
        *(one for one in found if one.code != "loose-body" or not elsewhere.issuperset(one.bodies)),
    ]


def _share_doubled(skeleton: Skeleton, take: Take, *, intervals: bool) -> Skeleton:
    """The skeleton whose segments with two sensors have their joints from both."""
    if not any(joint.kind == "rigid" for joint in skeleton.joints):
        return skeleton
    from .doubled import share_doubled

    return share_doubled(skeleton, take, intervals=intervals)


def _add_times(joints: Sequence[Joint], part_time: Sequence[PartTime]) -> list[Joint]:
    """The joints with the longest stretch in which those hold that do so for a part of the take."""
    held = {frozenset((one.child, one.parent)): one.longest for one in part_time}
    return [replace(joint, time=held.get(frozenset((joint.child, joint.parent)))) for joint in joints]


def _list_slips(changes: Sequence[Change]) -> tuple[Slip, ...]:
    """The slips that were moved back, in the order of time."""
    found = [slip for one in changes if isinstance(one, SlipRepair) for slip in one.slips]
    return tuple(sorted(found, key=lambda slip: slip.frame))


def _find_field(options: FitOptions, changes: Sequence[Change]) -> FieldModel | None:
    """The bend that was taken away: found, or known before."""
    found = [one.fit.model for one in changes if isinstance(one, FieldRepair)]
    return found[0] if found else options.field if isinstance(options.field, FieldModel) else None


def estimate_uncertainty(
    estimate: Estimate, estimator: Estimator, options: FitOptions, changes: Sequence[Change]
) -> Uncertainty | None:
    """How far the joints may be off, with what a field that was taken away leaves open; None where nobody asked."""
    if not options.intervals:
        return None
    begin_step("estimating the intervals")
    sure = uncertainty_of(estimate.take, estimate.solution, estimate.fits, estimate.structure, estimator.lag)
    for one in changes:
        if sure is not None and isinstance(one, FieldRepair):
            sure = replace(sure, covariance=sure.covariance + one.fit.reorder_covariance(estimate.solution))
    if sure is not None and any(one.carried is not None for one in estimate.take.markers):
        sure = replace(sure, covariance=sure.covariance + _carry_centres(estimate.take, estimate.pairs))
    return sure


def _carry_centres(take: Take, pairs: Ints) -> Floats:
    """(6J, 6J) [m^2] by what joints are off beside segments that the centre of a joint completed.

    At that joint it is the centre, which does not come apart. At others such a segment is turned wrong about its line,
    by skin under its one marker off it, and that draws a joint to the line.
    """
    added = np.zeros((6 * len(pairs), 6 * len(pairs)))
    ends = [{take.names[k] for k in pair} for pair in pairs.tolist()]
    centres = {frozenset((one.body, one.carried.body)): one for one in take.markers if one.carried is not None}
    completed = {one.body for one in centres.values()}
    for k, pair in enumerate(ends):
        marker = centres.get(frozenset(pair))
        if marker is None and not pair & completed:
            continue
        child, parent = (take.names[end] for end in pairs[k].tolist())
        own = None if marker is None else marker.carried
        covariance = DRAWN_SD_M**2 * np.eye(3) if own is None else own.covariance
        above, below = (parent, child) if own is None or own.body == parent else (child, parent)
        both = np.flatnonzero(take.seen[:, [take.index(above), take.index(below)]].all(axis=1))
        rows = both[evenly(len(both), CARRIED_FRAMES)]
        R_above, R_below = (take.R_world_body[rows, take.index(name)] for name in (above, below))
        turn = rotation.mean(np.swapaxes(R_below, 1, 2) @ R_above)
        slope = np.concatenate([turn, np.eye(3)] if below == child else [np.eye(3), turn])
        added[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = slope @ covariance @ slope.T
    return added


def _locate(
    estimate: Estimate,
    estimator: Estimator,
    support: Mapping[int, EdgeSupport],
    options: FitOptions,
    changes: Sequence[Change],
) -> tuple[list[Joint], Uncertainty | None, JointGaps, Solution, list[Finding]]:
    """The joints, how sure they are, their gaps, the solution that they came from, and findings."""
    structure = estimate.structure

    def locate(own: Estimate) -> Located:
        sure = estimate_uncertainty(own, estimator, options, changes)
        solved = Solved(own.solution, own.fits, own.sums)
        return locate_joints(own.take, structure, solved, sure, support, options.kinds)

    located = locate(estimate)
    threads = _find_threads(estimate, located)
    if threads.any():
        plain = _take_out_threads(estimate, estimator, located, threads)
        again = locate(plain)
        was = list(zip(located.joints, threads.tolist(), strict=True))
        if [joint.kind for joint in again.joints] == ["hinge" if screw else joint.kind for joint, screw in was]:
            both = zip(again.joints, was, strict=True)
            joints = [replace(one, kind="screw", pitch=joint.pitch) if screw else one for one, (joint, screw) in both]
            estimate, located = plain, again._replace(joints=joints)
    joints, solution, sure, motion, gap = located
    given = {frozenset(pair) for pair in options.tree}
    joints = [replace(one, support=1.0, rivals=()) if {one.child, one.parent} in given else one for one in joints]
    findings: list[Finding] = []
    if options.symmetric is not None:
        mirrored = mirror_lengths(joints, sure, options.symmetric)
        sure, findings = mirrored.sure, mirrored.findings
        gap = JointGaps(estimate.take, estimate.pairs, *_halves(mirrored.joints))
        sizes = gap_residual(gap, solution.frame_weight)
        joints = [replace(joint, residual=float(size)) for joint, size in zip(mirrored.joints, sizes, strict=True)]
    findings += describe_joints(estimate.take, joints, solution, structure, motion, sure)
    return joints, sure, gap, estimate.solution, findings


def _find_threads(estimate: Estimate, located: Located) -> Bools:
    """(J,) screws that leave noise alone: what looks like a thread beside other errors may be one of them."""
    structure, screw = estimate.structure, np.array([joint.kind == "screw" for joint in located.joints])
    if not screw.any():
        return screw
    explained = np.sqrt(3 * structure.noise.gap_variance(*located.solution.joints))
    residual = np.array([joint.residual for joint in located.joints])
    return screw & is_quiet(residual, explained, structure.motion.size, np.sqrt(SCREW_PLAIN_SHARE))


def _take_out_threads(estimate: Estimate, estimator: Estimator, located: Located, threads: Bools) -> Estimate:
    """The estimate of the take in which these screws are hinges: their threads are no error, and none follows them."""
    take, pairs = estimate.take, estimate.pairs
    thread = np.nan_to_num(gaps(take, pairs, *_halves(located.joints)) - np.asarray(located.gap)) * threads[:, None]
    plain = take_out_threads(take, pairs, thread)
    solved = estimator.solve(plain, estimate.structure, pairs)
    return replace(estimate, take=plain, solution=solved.solution, fits=solved.fits, sums=solved.sums)


def show_poses(take: Take, other: Take, where: Bools) -> Take:
    """The take with poses (n, m) of another one."""

    def show(mine: Floats, others: Floats) -> Floats:
        wide = (..., *(None,) * (mine.ndim - 2))

        def choose(shown: Bools, a: Floats, b: Floats) -> Floats:
            return np.where(shown[wide], b, a)

        return seal(over_frames(choose, where, mine, others))

    p, R = show(take.p_world_body, other.p_world_body), show(take.R_world_body, other.R_world_body)
    return replace(take, R_world_body=R, p_world_body=p)


def _halves(joints: Sequence[Joint]) -> tuple[Floats, Floats]:
    return np.stack([j.p_child_joint for j in joints]), np.stack([j.p_parent_joint for j in joints])


def _provenance(take: Take, options: FitOptions, structure: Structure) -> dict[str, Any]:
    masked = (~structure.good).sum(axis=0)
    asked = {key: value for key, value in options.to_plain().items() if key not in ("method", "scale")}
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
        "conventions": {**SKELETON_CONVENTIONS, "up": take.up, "read_as": take.read_as or None},
        "markers": take.markers,
    }


def assemble_limbs(joints: Sequence[Joint], sure: Uncertainty | None) -> list[Limb]:
    """The distance between every two joints of a body, with its interval."""
    on: dict[str, list[int]] = {}
    for k, joint in enumerate(joints):
        on.setdefault(joint.parent, []).append(k)
        on.setdefault(joint.child, []).insert(0, k)  # a body's own joint comes first
    limbs = []
    for body, mine in on.items():
        for a, b in combinations(mine, 2):
            limbs.append(_limb(joints, a, b, body, sure))
    return limbs


def _loop_limbs(joints: Sequence[Joint], loops: Sequence[Joint], take: Take) -> list[Limb]:
    """Links of a machine that end at a joint which closes a loop throughout."""
    whole = (float(take.time[0]), float(take.time[-1]))
    closing = [loop for loop in loops if loop.time == whole and loop.kind in ONE_AXIS]
    found = []
    for loop in closing:
        for body in (loop.child, loop.parent):
            mine = [joint for joint in joints if body in (joint.child, joint.parent) and is_link(joint, loop)]
            name = f"{loop.child}-{loop.parent}"  # a loop's child has a joint of its own in the tree
            found += [replace(_link([*joints, loop], joint, loop, body), to_joint=name) for joint in mine]
    return found


def _limb(joints: Sequence[Joint], a: int, b: int, body: str, sure: Uncertainty | None) -> Limb:
    first, second = joints[a], joints[b]
    shape = limb_geometry(first, second, body)
    if shape is None:
        return Limb(body, first.child, second.child, None, None, None)
    length, direction, between = shape
    if sure is None:
        return Limb(body, first.child, second.child, length, None, None, between)
    if is_link(first, second):
        return _link(joints, first, second, body)
    ends = np.concatenate([6 * k + (0 if joints[k].child == body else 3) + np.arange(3) for k in (a, b)])
    slope, own = np.concatenate([direction, -direction]), np.ix_(ends, ends)
    variance = max(float(slope @ sure.covariance[own] @ slope), 0.0)
    half_width = Z95 * float(np.sqrt(variance))
    passing = float(slope @ sure.passing[own] @ slope) / variance if variance > 0 else None
    low, high = max(length - half_width, 0.0), length + half_width
    return Limb(body, first.child, second.child, length, low, high, between, passing)


def _link(joints: Sequence[Joint], first: Joint, second: Joint, body: str) -> Limb:
    """A link of a machine: how far apart its axes are, and its offset along the first."""
    distance, along = measure_link(first, second, body).distance, measure_offset(joints, body, first, second)
    width = distance.half_width or 0.0
    low, high = max(distance.value - width, 0.0), distance.value + width
    offset = (None, None) if along is None else (abs(along.value), along.half_width)
    return Limb(body, first.child, second.child, distance.value, low, high, "axes", None, *offset)


def assemble_placements(joints: Sequence[Joint], sure: Uncertainty | None) -> list[Placement]:
    """Every joint as seen from each of its two sensors."""
    out = []
    for k, joint in enumerate(joints):
        for half, (body, place) in enumerate(
            ((joint.child, joint.p_child_joint), (joint.parent, joint.p_parent_joint))
        ):
            distance = float(np.linalg.norm(place))
            low = high = None
            if sure is not None and joint.covariance is not None and joint.point == "determined" and distance > 0:
                block = sure.covariance[
                    6 * k + 3 * half : 6 * k + 3 * half + 3, 6 * k + 3 * half : 6 * k + 3 * half + 3
                ]
                width = Z95 * float(np.sqrt(max(float(place @ block @ place), 0.0))) / distance
                low, high = max(distance - width, 0.0), distance + width
            out.append(Placement(body, joint.child, place, distance, low, high))
    return out
