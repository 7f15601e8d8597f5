"""Joints as values, from the arrays of a solution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..maths.arrays import hardly_seen
from ..maths.least_squares import invert_normal
from ..maths.spool import blocks, blocks_of
from ..model.skeleton import ONE_AXIS, Joint, Kind, Point
from ..pairs.fits import JointGaps, PairFits, gaps
from .axes import estimate_axes
from .kinds import PairMotion, classify, hinge_axes, measure_motion, play
from .machines import MACHINE_OFF_RATIO, find_thread, fit_universal, is_quiet, is_universal, off_limit
from .solve import Solution, free_basis

if TYPE_CHECKING:
    from ..maths.arrays import Bools, Floats
    from ..model.take import Take
    from ..pairs.rows import FrameWeights
    from .fitting import Solved
    from .intervals import Uncertainty
    from .structure import Structure
    from .support import EdgeSupport

# Spread over a take, at least, by which the residual of a joint is told: to 0.6 % in white noise.
RESIDUAL_LEAST_FRAMES = 4000


class Located(NamedTuple):
    """Joints of a solution as values, with the directions held that their intervals leave open.

    gap     (n, J, 3) [m]  what the solution leaves, and the thread of a screw
    """

    joints: list[Joint]
    solution: Solution
    sure: Uncertainty | None
    motion: PairMotion
    gap: JointGaps


def locate_joints(
    take: Take,
    structure: Structure,
    solved: Solved,
    sure: Uncertainty | None,
    support: Mapping[int, EdgeSupport] | None = None,
    kinds: Sequence[tuple[str, str, str]] = (),
) -> Located:
    """One Joint per pair of the solution, in its order: kind, point and held directions by one standard error.

    kinds  (body, body, kind) of joints whose kind is known from elsewhere
    """
    solution, fits, sums = solved
    rows, read = solution.by_rows(take)
    noise = structure.noise.of_rows(solution.every)
    motion = measure_motion(rows, sums, fits, noise, np.sqrt(np.diagonal(read.residual_cov)))
    if sure is not None:
        motion = replace(motion, error=centre_errors(sure.covariance, solution, fits))
    known = {frozenset((take.index(a), take.index(b))): kind for a, b, kind in kinds}
    told, points, held = classify(fits, motion, noise, structure.turn, known)
    solution, sure = hold_directions(solution, sure, fits, held)
    joints = _assemble_joints(take, structure, solution, fits, motion, told, points, held, sure, support)
    joints, threads = _name_machine_joints(take, structure, joints, solution)
    hinges = np.array([a for a, joint in enumerate(joints) if joint.kind in ONE_AXIS])
    if sure is not None and len(hinges):
        axes = (np.stack([getattr(joints[a], half) for a in hinges]) for half in ("axis_child", "axis_parent"))
        for a, covariance in zip(hinges, estimate_axes(take, solution, sure, noise, hinges, *axes), strict=True):
            joints[a] = replace(joints[a], axis_covariance=covariance).with_covariance(joints[a].covariance)
    return Located(joints, solution, sure, motion, JointGaps(take, *solution.joints, threads))


def _name_machine_joints(
    take: Take, structure: Structure, joints: list[Joint], solution: Solution
) -> tuple[list[Joint], dict[int, tuple[Floats, Floats]]]:
    """The joints with those told as universal or screw that leave nothing beyond the noise, and the threads of screws:
    see `JointGaps`.
    """
    explained = np.sqrt(3 * structure.noise.gap_variance(*solution.joints))
    size = structure.motion.size
    found = list(joints)
    quiet = is_quiet(np.array([joint.residual for joint in joints]), explained, size)
    balls = [a for a, joint in enumerate(joints) if joint.kind == "ball" and quiet[a]]
    if balls:
        i, j = solution.pairs[balls].T
        loud = np.hypot(structure.noise.orientation[i], structure.noise.orientation[j])
        second = np.array([joints[a].rotation[1] for a in balls])
        two = fit_universal(take, solution.pairs[balls], off_limit(second, loud))
        for k in np.flatnonzero(is_universal(two, second, loud)):
            found[balls[k]] = replace(
                joints[balls[k]],
                kind="universal",
                axis_child=two.axis_child[k],
                axis_parent=two.axis_parent[k],
                axis_covariance=two.covariance[k] if joints[balls[k]].covariance is not None else None,
            )
    hinges = [a for a, joint in enumerate(joints) if joint.kind == "hinge" and _is_plain(joint)]
    threads = dict[int, tuple["Floats", "Floats"]]()
    for part in blocks_of(len(hinges), 24 * take.frames):
        pairs, own = solution.pairs[hinges[part]], hinges[part]
        gap = gaps(take, pairs, solution.p_child_joint[own], solution.p_parent_joint[own])
        for row, a in enumerate(own):
            joint, (child, parent) = joints[a], pairs[row].tolist()
            axes = np.asarray(joint.axis_child), np.asarray(joint.axis_parent)
            thread = find_thread(take, (child, parent), axes, gap[:, row], float(explained[a]))
            if thread is not None:
                threads[a] = thread.along, axes[1]
                found[a] = replace(joint, kind="screw", pitch=thread.pitch, residual=thread.residual)
    return found, threads


def _is_plain(hinge: Joint) -> bool:
    """Whether a hinge turns about its axis alone, as those of machines do."""
    told = hinge.axis_child is not None and hinge.axis_parent is not None
    return told and (hinge.play or 0.0) < MACHINE_OFF_RATIO * float(hinge.rotation[0])


def centre_errors(covariance: Floats, solution: Solution, fits: PairFits) -> Floats:
    """(J, 3) [m] standard error of each centre along the axes of its fit, both halves together; inf where held."""
    J = len(fits.pairs)
    along = np.concatenate([fits.axis_child, fits.axis_parent], axis=1) / 2  # (J, 6, 3)
    k = np.arange(J)
    own = covariance.reshape(J, 6, J, 6)[k, :, k]
    square = np.einsum("jxk,jxy,jyk->jk", along, own, along)
    return np.where(_find_held(solution, fits), np.inf, np.sqrt(np.maximum(square, 0.0)))


def _find_held(solution: Solution, fits: PairFits) -> Bools:
    """(J, 3) axes of the fits along which the solution was held."""
    along = np.concatenate([fits.axis_child, fits.axis_parent], axis=1) / np.sqrt(2)  # (J, 6, 3)
    free = np.einsum("jxk,jxf->jkf", along, solution.basis.reshape(*along.shape[:2], -1))
    return np.asarray(np.square(free).sum(axis=2) < 0.5)


def hold_directions(
    solution: Solution, sure: Uncertainty | None, fits: PairFits, held: Bools
) -> tuple[Solution, Uncertainty | None]:
    """The solution with further axes (J, 3) of the fits held at minimum norm, nearest to the sensors."""
    before = _find_held(solution, fits)
    if not (held & ~before).any():
        return solution, sure
    basis = free_basis(fits, held | before)
    onto = invert_normal(solution.information, basis) @ solution.information
    halves = (onto @ solution.unknowns).reshape(-1, 2, 3)
    solution = replace(solution, p_child_joint=halves[:, 0], p_parent_joint=halves[:, 1], basis=basis)
    if sure is not None:
        parts = (onto @ part @ onto.T for part in (sure.covariance, sure.passing))
        covariance, passing = (0.5 * (part + part.T) for part in parts)
        sure = replace(sure, covariance=covariance, passing=passing)
    return solution, sure


def _assemble_joints(
    take: Take,
    structure: Structure,
    solution: Solution,
    fits: PairFits,
    motion: PairMotion,
    kinds: Sequence[Kind],
    points: Sequence[Point],
    held: Bools,
    sure: Uncertainty | None,
    support: Mapping[int, EdgeSupport] | None = None,
) -> list[Joint]:
    residual = _measure_residual(take, solution)
    child_axes, parent_axes = hinge_axes(fits, take)
    values = np.sqrt(solution.every) * fits.singular_values
    parts = ((structure.good[rows] & take.seen[rows])[:, solution.pairs] for rows in blocks(take.seen))
    frames = sum(
        (np.count_nonzero(part.all(axis=2), axis=0) for part in parts), np.zeros(len(solution.pairs), np.int64)
    )
    spread = motion.spread
    turned = np.sqrt(np.maximum(spread.sum(axis=1, keepdims=True) - 2 * spread, 0.0))
    wander = play(motion)
    evidence = _evidence(take, structure, support or {})
    expected = structure.noise.gap_variance(*solution.joints)
    joints = []
    for a, (i, j) in enumerate(solution.pairs):
        hinge = kinds[a] == "hinge"
        # Open along one axis, known across it.
        line = hinge or (kinds[a] != "rigid" and points[a] == "arbitrary" and not held[a, 1:].any())
        follows = 0.0 if sure is None else min(float(sure.effect[a, 0]), float(residual[a]))
        covariance, passing = _find_covariance(sure, a) if kinds[a] in ("ball", "hinge") else (None, None)
        joints.append(
            Joint(
                child=take.names[i],
                parent=take.names[j],
                kind=kinds[a],
                point=points[a],
                p_child_joint=solution.p_child_joint[a],
                p_parent_joint=solution.p_parent_joint[a],
                axis_child=child_axes[a] if line else None,
                axis_parent=parent_axes[a] if line else None,
                play=float(wander[a]) if hinge else None,
                residual=float(residual[a]),
                frames=int(frames[a]),
                singular_values=values[a],
                covariance=covariance,
                rotation=np.sort(turned[a])[::-1],
                passing=passing,
                explained=float(np.sqrt(3 * expected[a] + follows**2)),
                main_child=child_axes[a] if motion.turns[a] else None,
                main_parent=parent_axes[a] if motion.turns[a] else None,
                main_share=_main_share(turned[a]) if motion.turns[a] else None,
                **evidence.get(frozenset((int(i), int(j))), {"margin": None, "runner_up": None}),
            )
        )
    return joints


def _find_covariance(sure: Uncertainty | None, a: int) -> tuple[Floats | None, float | None]:
    """(6, 6) [m^2] of the two halves of a joint, and the share of it that more of the same motion would shrink."""
    if sure is None:
        return None, None
    covariance, shrinks = (part[6 * a : 6 * a + 6, 6 * a : 6 * a + 6] for part in (sure.covariance, sure.passing))
    whole = float(np.trace(covariance))
    return 0.5 * (covariance + covariance.T), min(float(np.trace(shrinks)) / whole, 1.0) if whole > 0 else None


def _main_share(turned: Floats) -> float | None:
    """Share of the mean square turn that is about the axis turned about most."""
    square = np.square(turned)
    return float(square.max() / square.sum()) if square.sum() > 0 else None


def _measure_residual(take: Take, solution: Solution) -> Floats:
    """(J,) [m] root mean square gap of a solution's joints in frames; where rows told it, from some of them."""
    weight = solution.frame_weight
    every = 1 if isinstance(weight, np.ndarray) else max(1, take.frames // RESIDUAL_LEAST_FRAMES)
    if every > 1 and hardly_seen(take.seen, slice(None, None, every)):
        every = 1
    return gap_residual(JointGaps(take if every == 1 else take.slice(step=every), *solution.joints), weight, every)


def gap_residual(gap: Floats | JointGaps, weight: Floats | FrameWeights, every: int = 1) -> Floats:
    """(J,) [m] root mean square length of gaps (n, J, 3) over frames with weight (n, J).

    every   the gaps are those of every so-manieth frame that has a weight
    """
    square, total = np.zeros((2, weight.shape[1]))
    for rows, one in (
        gap.blocks() if isinstance(gap, JointGaps) else ((k, gap[k].transpose(2, 0, 1)) for k in blocks(gap))
    ):
        w = weight[every * rows.start : every * rows.stop : every]
        square += (np.where(w > 0, np.einsum("xnj,xnj->nj", one, one), 0.0) * w).sum(axis=0)
        total += w.sum(axis=0)
    return np.asarray(np.sqrt(square / np.maximum(total, 1e-300)))


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
