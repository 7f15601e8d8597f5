"""Joints as values, from the arrays of a solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..maths.spool import blocks
from ..model.skeleton import Joint, Kind, Point
from .kinds import OPEN_ERROR_SHARE, PairMotion, hinge_axes, play

if TYPE_CHECKING:
    from ..maths.arrays import Floats
    from ..model.take import Take
    from ..pairs.fits import PairFits
    from .intervals import Uncertainty
    from .solve import Solution
    from .structure import Structure
    from .support import EdgeSupport


def assemble_joints(
    take: Take,
    structure: Structure,
    solution: Solution,
    gap: Floats,
    fits: PairFits,
    motion: PairMotion,
    kinds: Sequence[Kind],
    points: Sequence[Point],
    sure: Uncertainty | None,
    support: Mapping[int, EdgeSupport] | None = None,
) -> list[Joint]:
    """One Joint per pair of the solution, in its order; `gap` (n, J, 3) [m] is what the solution leaves."""
    residual = gap_residual(gap, solution.weight)
    child_axes, parent_axes = hinge_axes(fits, take)
    values = fits.singular_values
    spread = motion.spread
    turned = np.sqrt(np.maximum(spread.sum(axis=1, keepdims=True) - 2 * spread, 0.0))
    wander = play(motion)
    evidence = _evidence(take, structure, support or {})
    expected = structure.noise.gap_variance(*solution.joints)
    joints = []
    for a, (i, j) in enumerate(solution.pairs):
        hinge = kinds[a] == "hinge"
        follows = 0.0 if sure is None else min(float(sure.effect[a, 0]), float(residual[a]))
        covariance = passing = None
        if sure is not None and kinds[a] in ("ball", "hinge"):
            covariance, shrinks = (
                part[6 * a : 6 * a + 6, 6 * a : 6 * a + 6] for part in (sure.covariance, sure.passing)
            )
            whole = float(np.trace(covariance))
            passing = float(np.trace(shrinks)) / whole if whole > 0 else None
            covariance = 0.5 * (covariance + covariance.T)
        point = points[a]
        if hinge and covariance is not None:
            along = np.concatenate([child_axes[a], parent_axes[a]]) / 2
            if along @ covariance @ along > (OPEN_ERROR_SHARE * motion.size[a]) ** 2:
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
                rotation=np.sort(turned[a])[::-1],
                passing=passing,
                explained=float(np.sqrt(3 * expected[a] + follows**2)),
                **evidence.get(frozenset((int(i), int(j))), {"margin": None, "runner_up": None}),
            )
        )
    return joints


def gap_residual(gap: Floats, weight: Floats) -> Floats:
    """(J,) [m] root mean square length of gaps (n, J, 3) over frames with weight (n, J)."""
    square = np.zeros(weight.shape[1])
    for rows in blocks(gap, weight):
        one, w = gap[rows], weight[rows]
        square += (np.where(w > 0, np.einsum("nji,nji->nj", one, one), 0.0) * w).sum(axis=0)
    return np.asarray(np.sqrt(square / np.maximum(weight.sum(axis=0), 1e-300)))


def _evidence(take: Take, structure: Structure, support: Mapping[int, EdgeSupport]) -> dict[frozenset[int], Any]:
    """By the bodies of an edge: what a joint has of margin, runner-up, support and rivals."""
    tree, pairs, names = structure.tree, structure.fits.pairs, np.array(take.names, dtype=object)
    found = {}
    for edge, margin, runner in zip(tree.edges.tolist(), tree.margin, tree.runner_up, strict=True):
        known = {} if runner < 0 else {"margin": float(margin), "runner_up": tuple(names[pairs[runner]])}
        own: dict[str, Any] = {"margin": None, "runner_up": None, **known}
        if edge in support:
            own |= {
                "support": support[edge].support,
                "rivals": tuple(tuple(names[pairs[k]]) for k in support[edge].rivals),
            }
        found[frozenset(pairs[edge].tolist())] = own
    return found


def settle_points(joints: Sequence[Joint]) -> list[Joint]:
    """Hinges whose point is arbitrary, moved along their axis to the foot of the nearest joint that is known.

    The parent's own joint decides first, then another joint of the parent, then one of the child.
    """
    known = {joint.child: joint for joint in joints if joint.point == "determined"}
    out = []
    for joint in joints:
        if joint.kind == "hinge" and joint.point == "arbitrary" and joint.axis_parent is not None:
            assert joint.axis_child is not None
            place = _neighbour(joint, joints, known)
            if place is not None:
                on_parent, target = place
                own, axis = joint.p_child_joint, joint.axis_child
                if on_parent:
                    own, axis = joint.p_parent_joint, joint.axis_parent
                step = float((target - own) @ axis)
                c, l = joint.p_child_joint + step * joint.axis_child, joint.p_parent_joint + step * joint.axis_parent
                joint = replace(joint, p_child_joint=c, p_parent_joint=l)
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
