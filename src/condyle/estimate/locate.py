"""Joints as values, from the arrays of a solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..maths.arrays import Floats
from ..model.skeleton import Joint, Kind, Point
from ..model.take import Take
from ..pairs.fits import PairFits
from .intervals import Uncertainty
from .kinds import OPEN, Motion, hinge_axes, play
from .solve import Solution
from .structure import Structure


def assemble_joints(
    take: Take,
    structure: Structure,
    solution: Solution,
    gap: Floats,
    fits: PairFits,
    motion: Motion,
    kinds: Sequence[Kind],
    points: Sequence[Point],
    sure: Uncertainty | None,
) -> list[Joint]:
    """One Joint per pair of the solution, in its order; `gap` (n, J, 3) [m] is what the solution leaves."""
    residual = gap_residual(gap, solution.weight)
    child_axes, parent_axes = hinge_axes(fits, take)
    values = fits.singular_values
    spread = motion.spread
    turned = np.sqrt(np.maximum(spread.sum(axis=1, keepdims=True) - 2 * spread, 0.0))
    wander = play(motion)
    margins = _margins(take, structure)
    joints = []
    for a, (i, j) in enumerate(solution.pairs):
        hinge = kinds[a] == "hinge"
        margin, runner = margins.get(frozenset((int(i), int(j))), (None, None))
        covariance = None
        if sure is not None and kinds[a] in ("ball", "hinge"):
            covariance = sure.covariance[6 * a : 6 * a + 6, 6 * a : 6 * a + 6]
            covariance = 0.5 * (covariance + covariance.T)
        point = points[a]
        if hinge and covariance is not None:
            along = np.concatenate([child_axes[a], parent_axes[a]]) / 2
            if along @ covariance @ along > (OPEN * motion.size[a]) ** 2:
                point = "arbitrary"  # determined by the fit, but not by any honest measure
        joints.append(
            Joint(
                child=take.names[i],
                parent=take.names[j],
                kind=kinds[a],
                point=point,
                p_child_joint=solution.p_child_joint[a],
                p_parent_joint=solution.p_parent_joint[a],
                axis_child=child_axes[a] if hinge else None,
                axis_parent=parent_axes[a] if hinge else None,
                play=float(wander[a]) if hinge else None,
                residual=float(residual[a]),
                frames=int(fits.frames[a]),
                singular_values=values[a],
                covariance=covariance,
                margin=margin,
                runner_up=runner,
                rotation=np.sort(turned[a])[::-1],
                passing=None if covariance is None else _passing(sure, 6 * a),
            )
        )
    return joints


def gap_residual(gap: Floats, weight: Floats) -> Floats:
    """(J,) [m] root mean square length of gaps (n, J, 3) over frames with weight (n, J)."""
    square = np.where(weight > 0, np.einsum("nji,nji->nj", gap, gap), 0.0) * weight
    return np.asarray(np.sqrt(square.sum(axis=0) / np.maximum(weight.sum(axis=0), 1e-300)))


def _margins(take: Take, structure: Structure) -> dict[frozenset[int], tuple[float | None, tuple[str, str] | None]]:
    out: dict[frozenset[int], tuple[float | None, tuple[str, str] | None]] = {}
    tree = structure.tree
    for edge, margin, runner in zip(tree.edges, tree.margin, tree.runner_up, strict=True):
        pair = frozenset(int(x) for x in structure.fits.pairs[edge])
        if runner < 0:
            out[pair] = (None, None)
        else:
            i, j = structure.fits.pairs[runner]
            out[pair] = (float(margin), (take.names[i], take.names[j]))
    return out


def settle_points(joints: Sequence[Joint]) -> list[Joint]:
    """Hinges whose point is arbitrary, moved along their axis to the foot of the nearest joint that is known.

    The parent's own joint decides first, then another joint of the parent, then one of the child.
    """
    known = {joint.child: joint for joint in joints if joint.point == "determined"}
    out = []
    for joint in joints:
        if joint.kind == "hinge" and joint.point == "arbitrary" and joint.axis_parent is not None:
            place = _neighbour(joint, joints, known)
            if place is not None:
                on_parent, target = place
                own = joint.p_parent_joint if on_parent else joint.p_child_joint
                axis = joint.axis_parent if on_parent else joint.axis_child
                assert axis is not None
                assert joint.axis_child is not None
                step = float((target - own) @ axis)
                joint = replace(
                    joint,
                    p_child_joint=joint.p_child_joint + step * joint.axis_child,
                    p_parent_joint=joint.p_parent_joint + step * joint.axis_parent,
                )
        out.append(joint)
    return out


def _neighbour(joint: Joint, joints: Sequence[Joint], known: dict[str, Joint]) -> tuple[bool, Floats] | None:
    """Whether a known joint sits on the parent, and where on that body."""
    if joint.parent in known:
        return True, known[joint.parent].p_child_joint
    for other in joints:
        if other.parent == joint.parent and other.child != joint.child and other.point == "determined":
            return True, other.p_parent_joint
    for other in joints:
        if other.parent == joint.child and other.point == "determined":
            return False, other.p_parent_joint
    return None


def _passing(sure: Uncertainty | None, first: int) -> float | None:
    """Share of a joint's covariance, which begins at row `first`, that shrinks with more of the same motion."""
    if sure is None:
        return None
    own = slice(first, first + 6)
    whole = float(np.trace(sure.covariance[own, own]))
    return float(np.trace(sure.passing[own, own])) / whole if whole > 0 else None
