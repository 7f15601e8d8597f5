"""What a person should know about a calibration: findings, each with what to do."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from ..findings import Finding, mm
from ..maths.graph import components
from ..maths.robust import Z95, median
from ..model.skeleton import Joint
from ..model.take import WORLD, Take
from ..pairs.outliers import blame_partners, find_inliers
from ..pairs.rigid_pair import judge_loose_pairs, rigid_sentence
from .intervals import Uncertainty, expected_gap_variance
from .kinds import Motion
from .solve import Solution
from .structure import RARE, Structure, loose_bodies

GAPPY = 0.2  # share of missing poses from which a body's gaps are a warning
SPIKY = 0.005  # share of outliers from which they are a warning
DOUBTFUL = 1.25  # margin below which an edge is reported
LOUD = 3.0  # residual over what the noise explains
LARGE, HUGE = 0.03, 0.1  # residual over the sensors' distance
WIDE = 0.1  # half-width of a centre's interval over the sensors' distance
FOLLOWS = 0.15  # gap that follows the angle, over what the noise explains, from which on it is told
SLIGHT = 0.002  # of the sensors' distance: less is not worth a word
SMALLEST, LARGEST = 0.005, 3.0  # m between joined sensors, beyond which a unit is doubted
MISFIT = 1.5  # a given edge that fits so many times worse than another


def judge_take(take: Take) -> list[Finding]:
    """Missing poses, body by body."""
    found = []
    missing = ~take.seen
    for k, name in enumerate(take.names):
        count = int(missing[:, k].sum())
        if count:
            share = count / take.frames
            what = "check the sensor" if share > GAPPY else "they are left out for this sensor only"
            found.append(
                Finding(
                    "missing-samples",
                    "warning" if share > GAPPY else "info",
                    f"{name}: {count} of {take.frames} poses are missing ({share:.1%}); {what}",
                    (name,),
                    value=share,
                    unit="1",
                    frame=int(np.argmax(missing[:, k])),
                    count=count,
                )
            )
    return found


def judge_structure(
    take: Take,
    structure: Structure,
    roots: Sequence[int],
    asked_root: int | None,
    given_tree: Sequence[tuple[str, str]],
) -> list[Finding]:
    """The tree: whether there is one, what is loose, which edges are doubtful, which pairs close loops."""
    found = [] if structure.determined else [_undetermined()]
    if not structure.determined and not len(structure.tree.edges):
        return found + judge_loose_pairs(take, take.names)
    pairs, names = structure.fits.pairs, take.names
    groups = components(take.bodies, pairs[structure.tree.edges])
    trees = [group for group in groups if len(group) > 1]
    alone = loose_bodies(take.bodies, pairs[structure.tree.edges])
    if len(alone) > 2 and 2 * len(alone) > take.bodies:
        text = (
            f"{len(alone)} of {take.bodies} bodies are joined to nothing; are the rotations transposed, the "
            "quaternions in another order, the angles in degrees, or the positions in another unit?"
        )
        found.append(Finding("loose-body", "error", text, tuple(names[k] for k in alone), value=len(alone), unit="1"))
    else:
        found += [_loose(take, structure, body) for body in alone]
        found += judge_loose_pairs(take, [names[k] for k in alone])
    found += _size(structure)
    heads = [names[root] for root in roots if any(root in group for group in trees)]
    if len(trees) > 1:
        sizes = " and ".join(str(len(group)) for group in trees)
        text = f"the bodies form {len(trees)} figures of {sizes} bodies (roots {', '.join(heads)}); they share no joint"
        found.append(Finding("several-figures", "info", text, value=len(trees), unit="1"))
    chosen = [head for head in heads if asked_root is None or head != names[asked_root]]
    if chosen:
        text = (
            f"root {', '.join(chosen)}: the centre of the tree, the calmest body among equals; "
            "choose another with --root"
        )
        found.append(Finding("root-chosen", "info", text, tuple(chosen)))
    known = {frozenset(pair) for pair in given_tree}
    tied = {edge for edge, _ in structure.tied}
    for edge, margin, runner in zip(structure.tree.edges, structure.tree.margin, structure.tree.runner_up, strict=True):
        ends = tuple(names[k] for k in pairs[edge])
        if runner < 0:
            continue
        other = " - ".join(names[k] for k in pairs[runner])
        if frozenset(ends) in known:
            if margin < 1 / MISFIT:
                text = (
                    f"{ends[0]} - {ends[1]} was given, but {other} fits {1 / margin:.1f} times better; check the tree"
                )
                found.append(Finding("given-edge-misfit", "warning", text, ends, value=1 / margin, unit="1"))
        elif margin < DOUBTFUL:
            found.append(_doubt(ends, other, float(margin), edge in tied))
    for k in structure.loops:
        ends = tuple(names[x] for x in pairs[k])
        size = float(structure.fits.residual[k])
        text = f"{ends[0]} - {ends[1]} fit like a joint ({mm(size)} mm) though the tree does not need it: a loop"
        found.append(Finding("loop-joint", "info", text, ends, value=size, unit="m"))
    return found


def _undetermined() -> Finding:
    text = (
        "nothing moved enough to tell which bodies are connected; move every joint through its range, or give the tree"
    )
    return Finding("tree-not-determined", "error", text)


def _size(structure: Structure) -> list[Finding]:
    """Whether joined sensors are as far apart as on people and machines; a wrong unit shows nowhere else."""
    if not len(structure.tree.edges):
        return []
    usual = float(median(structure.motion.size[structure.tree.edges]))
    if SMALLEST <= usual <= LARGEST:
        return []
    text = f"joined sensors are {usual:.3g} m apart; is that the unit? give it with --unit"
    return [Finding("implausible-size", "warning", text, value=usual, unit="m")]


def _loose(take: Take, structure: Structure, body: int) -> Finding:
    name = take.names[body]
    if name == WORLD:
        return Finding("loose-body", "info", "no body turns about a point of the room throughout", (name,))
    seen = int(take.seen[:, body].sum())
    if seen < RARE * take.frames:
        text = f"{name}: seen in {seen} of {take.frames} frames, too few to place it; check the sensor"
        return Finding("few-frames", "warning", text, (name,), count=seen)
    nearest = [k for k in structure.apart if body in structure.fits.pairs[k]]
    if nearest:
        k = min(nearest, key=lambda pair: float(structure.fits.residual[pair]))
        other = take.names[next(int(x) for x in structure.fits.pairs[k] if x != body)]
        size = float(structure.fits.residual[k])
        if structure.motion.lever[k] < 1:
            text = f"{name}: moves against {other} without a common centre ({mm(size)} mm); it is not joined"
            return Finding("not-rotary", "warning", text, (name, other), value=size, unit="m")
        text = f"{name}: joined to nothing; the nearest is {other}, {mm(size)} mm off; is it a loose thing?"
        return Finding("loose-body", "warning", text, (name,), value=size, unit="m")
    return Finding("loose-body", "warning", f"{name}: joined to nothing", (name,))


def _doubt(ends: tuple[str, ...], other: str, margin: float, tied: bool) -> Finding:
    worse = f"only {(margin - 1) * 100:.0f} % larger" if margin > 1 else "no larger"
    if tied:
        text = (
            f"{ends[0]} - {ends[1]} and {other} share one point, so the motion hardly tells them apart "
            f"(the gap is {worse}); if the tree matters there, give it with --tree"
        )
        return Finding("tied-edges", "warning", text, ends, value=margin, unit="1")
    text = (
        f"{ends[0]} - {ends[1]} is doubtful: with {other} instead the gap is {worse}; "
        "move these joints more, or give the edge with --tree"
    )
    return Finding("thin-margin", "warning", text, ends, value=margin, unit="1")


def judge_joints(
    take: Take,
    joints: Sequence[Joint],
    solution: Solution,
    structure: Structure,
    motion: Motion,
    sure: Uncertainty | None,
    moved: Collection[str] = (),
) -> list[Finding]:
    """Kinds, open directions, large gaps, wide intervals, outliers; `moved` hinges stand beside a neighbour's joint."""
    found = []
    expected = expected_gap_variance(solution, structure.noise)
    for a, joint in enumerate(joints):
        found += _kind(take, joint, motion, a, joint.child in moved)
        noise = float(np.sqrt(3 * expected[a]))
        large = LARGE if noise > 0 else HUGE  # where the noise is not known, only what no noise could be
        if joint.residual > LOUD * noise and joint.residual > large * motion.size[a]:
            text = (
                f"{joint.child}: its joint with {joint.parent} comes apart by {mm(joint.residual)} mm rms, "
                f"the noise explains {mm(noise)} mm; soft mounting, several joints in one, or not a joint"
            )
            found.append(
                Finding("large-residual", "warning", text, (joint.child, joint.parent), value=joint.residual, unit="m")
            )
        if sure is not None and joint.covariance is not None and joint.point == "determined":
            width = Z95 * float(np.sqrt(np.linalg.eigvalsh(joint.covariance)[-1] / 2))
            if width > WIDE * motion.size[a]:
                text = (
                    f"{joint.child}: its centre is known to {mm(width)} mm only, the joint turned "
                    f"{np.degrees(joint.rotation[0]):.2g} and {np.degrees(joint.rotation[1]):.2g} deg rms; move it more"
                )
                found.append(Finding("wide-interval", "warning", text, (joint.child,), value=width, unit="m"))
        follows = 0.0 if sure is None else min(float(sure.effect[a, 0]), joint.residual)
        if sure is not None and follows > max(FOLLOWS * noise, SLIGHT * motion.size[a], float(sure.effect[a, 1])):
            text = (
                f"{joint.child}: the gap to {joint.parent} follows the joint's own angle, by {mm(follows)} mm rms: "
                "skin that moves, or a joint that does not turn about one point; its intervals allow for it"
            )
            ends = (joint.child, joint.parent)
            found.append(Finding("follows-angle", "info", text, ends, value=follows, unit="m"))
    return found + _outliers(take, structure, solution)


def _kind(take: Take, joint: Joint, motion: Motion, a: int, moved: bool) -> list[Finding]:
    ends = (joint.child, joint.parent)
    main = float(np.degrees(joint.rotation[0]))
    if joint.kind == "hinge" and joint.point == "determined":
        wander = float(np.degrees(joint.play or 0.0))
        text = (
            f"{joint.child}: a hinge against {joint.parent}, {main:.3g} deg rms about one axis, {wander:.2g} deg play"
        )
        return [Finding("hinge", "info", text, ends, value=joint.play, unit="rad")]
    if joint.kind == "hinge":
        place = "beside the neighbouring joint" if moved else "nearest to the sensors"
        text = (
            f"{joint.child}: only one axis exercised against {joint.parent}; where along it is not determined, "
            f"the point {place} is given; if it can turn otherwise, twist it"
        )
        return [Finding("one-axis-only", "info", text, ends)]
    if joint.kind == "rigid":
        text, distance = rigid_sentence(take, *ends)
        return [Finding("rigid-pair", "info", text, ends, value=distance, unit="" if distance is None else "m")]
    if joint.kind == "undetermined":
        least = float(np.degrees(np.sqrt(max(motion.spread[a, 0], 0.0))))
        text = (
            f"{joint.child}: connected to {joint.parent}, but where is not determined ({main:.2g} deg about the main "
            f"axis, {least:.2g} deg about the others); move this joint about more axes, and for longer"
        )
        return [Finding("undetermined-joint", "warning", text, ends, value=np.radians(main), unit="rad")]
    return []


def _outliers(take: Take, structure: Structure, solution: Solution) -> list[Finding]:
    found: list[Finding] = []
    lost = take.seen & ~structure.good
    if solution.robust.any():
        lost |= take.seen & ~find_inliers(take, solution.pairs, solution.weight)
    lost &= ~blame_partners(solution.pairs, lost)
    for k, name in enumerate(take.names):
        count = int(lost[:, k].sum())
        if count:
            share = count / take.frames
            text = f"{name}: {count} poses ({share:.1%}) disagree with every joint of the sensor and were weighted out"
            severity = "warning" if share > SPIKY else "info"
            frame = int(np.argmax(lost[:, k]))
            found.append(
                Finding("outliers", severity, text, (name,), value=share, unit="1", frame=frame, count=count)  # type: ignore[arg-type]
            )
    return found
