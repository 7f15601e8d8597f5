"""Joints outside the tree: loops of the whole take, and connections that hold for a part of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..estimate.fitting import Estimator, uncertainty_of
from ..estimate.handicaps import find_resting
from ..estimate.kinds import measure_world_motion
from ..estimate.locate import locate_joints
from ..estimate.structure import Structure
from ..maths.robust import median
from ..model.skeleton import Joint
from ..model.take import WORLD, Take
from ..pairs.sums import sum_pairs
from .connections import describe_connections, find_connections, find_lasting
from .planted import describe_planted, find_planted

if TYPE_CHECKING:
    from ..estimate.solve import Solution
    from ..findings import Finding
    from ..model.options import FitOptions

SOFT_MIN_GAPS = 3.0  # gap of a connection over the usual one of joints, from which its place is not held to


def loop_joints(
    take: Take, structure: Structure, options: FitOptions, estimator: Estimator, named: list[tuple[int, int]]
) -> list[Joint]:
    """Loop joints found and named, each located for itself by the chosen method."""
    found = [(int(i), int(j)) for i, j in structure.fits.pairs[structure.loops]]
    used = {frozenset(pair) for pair in structure.edges.tolist()}
    pairs = [pair for pair in named + found if frozenset(pair) not in used]
    pairs = list({frozenset(pair): pair for pair in reversed(pairs)}.values())[::-1]
    span = (float(take.time[0]), float(take.time[-1]))
    joints = [replace(_locate(take, structure, options, estimator, pair), time=span) for pair in pairs]
    return joints


def slider_joints(take: Take, structure: Structure) -> list[Joint]:
    """The sliders of a take as joints; a slider is given in the middle of its travel, at the child's sensor."""
    span, joints = (float(take.time[0]), float(take.time[-1])), []
    for edge, slide in structure.sliders.items():
        child, parent = structure.fits.pairs[edge]
        both = structure.good[:, [child, parent]].all(axis=1)
        joints.append(
            Joint(
                take.names[child],
                take.names[parent],
                "slider",
                "arbitrary",
                np.zeros(3),
                slide.p_parent_middle,
                slide.axis_child,
                slide.axis_parent,
                None,
                slide.across,
                int(both.sum()),
                np.zeros(6),
                slide.place_variance * np.eye(6),
                None,
                None,
                np.zeros(3),
                time=span,
                axis_covariance=slide.axis_covariance,
                travel=slide.travel,
            )
        )
    return joints


def _locate(
    take: Take, structure: Structure, options: FitOptions, estimator: Estimator, pair: tuple[int, int]
) -> Joint:
    """The joint of one pair (child, parent) by itself."""
    row = np.array([pair])
    solved = estimator.solve(take, structure, row)
    sure = None
    if options.intervals:
        sure = uncertainty_of(take, solved.solution, solved.fits, structure, estimator.lag)
    made = locate_joints(take, structure, solved, sure).joints
    return replace(made[0], margin=None, runner_up=None)


def usual_gap(solution: Solution) -> float:
    """[m] root mean square length of the usual joint's gap."""
    return float(np.sqrt(3 * median(np.diagonal(solution.residual_cov))))


def find_touching_joints(
    take: Take,
    structure: Structure,
    options: FitOptions,
    estimator: Estimator,
    named: list[tuple[int, int]],
    usual: float,
) -> tuple[list[Joint], list[Finding]]:
    """Connections that hold for a part of the take, each located in its frames; `usual` [m]: gap of the joints."""
    if not structure.determined:
        return [], []
    pairs, edges = structure.fits.pairs, structure.edges
    known = {frozenset(pair) for pair in [*pairs[structure.loops].tolist(), *named]}
    known |= {frozenset(pairs[other].tolist()) for _, other in structure.tied}
    # Feet that stay on the floor are joined by it alone, and what was not worn joins bodies that are told as apart.
    resting = find_resting(structure.turn, structure.drift)[pairs].all(axis=1)
    known |= {frozenset(pair) for pair in pairs[resting].tolist()}
    held = ("not-worn", "slider")
    known |= {frozenset(pairs[edge].tolist()) for edge, reason in structure.apart.items() if reason in held}
    on_rails = {body for edge in structure.sliders for body in pairs[edge].tolist()}
    if on_rails:
        known |= {frozenset(pair) for pair in pairs.tolist() if on_rails & set(pair)}
    still = take.names.index(WORLD) if options.world else None
    good = find_lasting(take, structure.good)
    contacts = find_connections(take, edges, usual, known, good, still)
    planted = [] if still is None else find_planted(take, edges, usual, still, structure.noise, good)
    joints = []
    for contact in [*contacts, *planted]:
        part = take.slice(contact.first, contact.stop)
        local = replace(
            structure, sums=sum_pairs(part), good=part.seen, turn=measure_world_motion(part, structure.noise)[0]
        )
        a, b = (take.index(name) for name in contact.bodies)
        turned = b not in edges and b != still  # what is loose hangs on what is not
        joint = _locate(part, local, options, estimator, (b, a) if turned else (a, b))
        soft = (
            bool(edges.size) and joint.residual > SOFT_MIN_GAPS * usual
        )  # so loose that its place should bind nothing
        if soft:
            joint = replace(joint, kind="undetermined", axis_child=None, axis_parent=None, play=None)
            joint = replace(joint, point="arbitrary", covariance=None)
        if joint.point == "arbitrary":  # then the point nearest to the sensors serves best
            c, l = contact.points[::-1] if turned else contact.points
            joint = replace(joint, p_child_joint=c, p_parent_joint=l, residual=contact.gap)
        joints.append(replace(joint, time=(contact.start, contact.end)))
    return joints, describe_connections(contacts) + describe_planted(planted)
