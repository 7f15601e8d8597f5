"""Whether recordings belong together: the same sensors in the same places on the same person.

Every recording tells where its joints are in the frames of their sensors, with a covariance that has the skin in it.
Two recordings of one mounting tell the same places. A sensor that sits elsewhere has its joints elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..errors import CondyleError
from ..estimate.apart import MOVED_TURN_RAD
from ..estimate.checks import check_take
from ..estimate.fitting import ROBUST, fit_tree, uncertainty_of
from ..estimate.locate import locate_joints
from ..findings import Finding, mm
from ..maths.arrays import Floats
from ..model.options import FitOptions
from ..model.profile import Edge, name_edge
from ..model.skeleton import Joint
from ..model.take import Take
from ..model.values import dataclass

MOVED_MIN_CHI2 = 30.0  # squared standard errors (3 numbers) by which a joint's place on a sensor differs from another's
PARTED_MIN_JOINT_CHI2 = 100.0  # squared standard errors (6 numbers) of both places of a joint: one of them moved alone
# At most 66 between takes of one mounting of 9 recorded people and 2 linkages, 150 and more where a simulated one moved
PARTED_MIN_CHI2 = 15.0  # the same (3 numbers) of the place of the one that moved; at most 12 between the same takes
MOVED_MIN_M = 0.01  # m: skin alone changes a joint's place by as much from one activity to another


@dataclass(frozen=True, eq=False)
class MovedSensor:
    """A sensor that sits elsewhere than it did.

    joint     bodies of the joint on it whose place tells it best
    distance  [m] between the places of that joint in the sensor's frame
    chi2      [-] the same squared, in standard errors
    """

    body: str
    joint: Edge
    distance: float
    chi2: float


def locate_places(take: Take, edges: Iterable[tuple[str, str]]) -> list[Joint]:
    """The joints of edges (parent, child) as this take alone tells them; none where it tells nothing.

    Bodies that are not in the take, or hardly, are left out, and so are joints that hardly turned, and those that the
    motion adds where the edges leave several parts.
    """
    edges = [pair for pair in edges if set(pair) <= set(take.names)]
    seen = {name: take.seen[:, k] for k, name in enumerate(take.names)}
    edges = [(a, b) for a, b in edges if (seen[a] & seen[b]).sum() >= max(take.rate if take.timed else 0, 3)]
    bodies = [name for name in take.names if any(name in pair for pair in edges)]
    if not edges or not take.timed:
        return []
    part, options = take.select(bodies), FitOptions(tree=tuple(edges))
    try:
        check_take(part, options)
    except CondyleError:
        return []
    estimate = fit_tree(part, [(part.index(a), part.index(b)) for a, b in edges], options, ROBUST)
    sure = uncertainty_of(part, estimate.solution, estimate.fits, estimate.structure, ROBUST.lag)
    solved = (estimate.solution, estimate.fits, estimate.sums)
    if sure is None:
        return []
    joints = locate_joints(part, estimate.structure, solved, sure).joints  # type: ignore[arg-type]
    asked = {name_edge(*edge) for edge in edges}
    turned = [joint for joint in joints if joint.rotation[0] >= MOVED_TURN_RAD]
    return [joint for joint in turned if name_edge(joint.child, joint.parent) in asked]


def find_moved(before: Sequence[Joint], after: Sequence[Joint]) -> list[MovedSensor]:
    """The sensors that sit elsewhere after than before, by the joints that both tell; the worst first."""
    found: dict[str, MovedSensor] = {}
    parted = _find_parted(before, after)
    for edge, body, distance, chi2 in differ_places(before, after):
        least = PARTED_MIN_CHI2 if parted.get(edge) == body else MOVED_MIN_CHI2
        if chi2 > least and distance > MOVED_MIN_M and chi2 > getattr(found.get(body), "chi2", 0.0):
            found[body] = MovedSensor(body, edge, distance, chi2)
    return sorted(found.values(), key=lambda one: -one.chi2)


def differ_places(before: Sequence[Joint], after: Sequence[Joint]) -> list[tuple[Edge, str, float, float]]:
    """(joint, body, how far apart [m], the same squared in standard errors) of joints on their bodies' sensors."""
    return [
        (name_edge(joint.child, joint.parent), body, *_differ(was, joint, half))
        for was, joint in _pair_joints(before, after)
        for half, body in enumerate((joint.child, joint.parent))
    ]


def _pair_joints(before: Sequence[Joint], after: Sequence[Joint]) -> list[tuple[Joint, Joint]]:
    """The joints whose place both tell, with the same child."""
    known = {(one.child, one.parent): one for joint in before for one in (joint, turn_round(joint))}
    pairs = [(known.get((joint.child, joint.parent)), joint) for joint in after if joint.covariance is not None]
    return [(was, joint) for was, joint in pairs if was is not None and was.covariance is not None]


def _find_parted(before: Sequence[Joint], after: Sequence[Joint]) -> dict[Edge, str]:
    """{joint: the body on whose sensor it differs more} of joints whose two places part.

    What a joint's centre is off by, both its places have alike. A sensor that moved has its place for itself, which
    tells it where the centre is known poorly.
    """
    found = {}
    for was, joint in _pair_joints(before, after):
        assert was.covariance is not None
        assert joint.covariance is not None
        if "arbitrary" in (was.point, joint.point):
            continue
        apart = np.concatenate([joint.p_child_joint - was.p_child_joint, joint.p_parent_joint - was.p_parent_joint])
        V = was.covariance + joint.covariance
        if float(apart @ np.linalg.lstsq(V, apart, rcond=None)[0]) > PARTED_MIN_JOINT_CHI2:
            sizes = [_differ(was, joint, half)[1] for half in (0, 1)]
            found[name_edge(joint.child, joint.parent)] = (joint.child, joint.parent)[int(np.argmax(sizes))]
    return found


def describe_moved(moved: Iterable[MovedSensor]) -> list[Finding]:
    """What to say of sensors that moved since the calibration."""
    return [
        Finding(
            "sensor-moved",
            "warning",
            f"{one.body} sits {mm(one.distance)} mm from where it was at the calibration, as its joint "
            f"{' - '.join(one.joint)} tells; the pose of its body is off by as much: calibrate anew",
            (one.body,),
            value=one.distance,
            unit="m",
        )
        for one in moved
    ]


def turn_round(joint: Joint) -> Joint:
    """The same joint with parent and child exchanged, as a tree with another root has it."""
    order = [3, 4, 5, 0, 1, 2]
    return replace(
        joint,
        child=joint.parent,
        parent=joint.child,
        p_child_joint=joint.p_parent_joint,
        p_parent_joint=joint.p_child_joint,
        axis_child=joint.axis_parent,
        axis_parent=joint.axis_child,
        covariance=None if joint.covariance is None else joint.covariance[np.ix_(order, order)],
    )


def _differ(a: Joint, b: Joint, half: int) -> tuple[float, float]:
    """How far [m] the places of a joint on one of its sensors are apart, and squared in standard errors.

    What is open along an axis in either is left out.
    """
    own = slice(3 * half, 3 * half + 3)
    places = [(one.p_child_joint, one.p_parent_joint)[half] for one in (a, b)]
    apart, V = places[1] - places[0], np.zeros((3, 3))
    basis = np.eye(3)
    for one in (a, b):
        assert one.covariance is not None
        V += one.covariance[own, own]
        axis = (one.axis_child, one.axis_parent)[half]
        if one.point == "arbitrary" and axis is not None:
            basis = _clear(basis, axis)
    if not basis.shape[1]:
        return 0.0, 0.0
    inside = basis.T @ apart
    spread = basis.T @ V @ basis
    return float(np.linalg.norm(inside)), float(inside @ np.linalg.lstsq(spread, inside, rcond=None)[0])


def _clear(basis: Floats, axis: Floats) -> Floats:
    """(3, k) orthonormal directions of a basis that are across an axis."""
    across = basis - np.outer(axis, axis @ basis)
    u, size, _ = np.linalg.svd(across, full_matrices=False)
    return np.asarray(u[:, size > 0.5])
