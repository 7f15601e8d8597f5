"""What a person should know about a calibration: findings, each with what to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..findings import Finding, Severity, list_some, many, mm
from ..maths.robust import median
from ..model.anatomy import is_bending_joint
from ..model.skeleton import SURE_SUPPORT
from ..model.take import WORLD, Take
from ..pairs.digest import measure_cadence
from ..pairs.fits import gaps
from ..pairs.outliers import blame_partners, find_inliers
from ..pairs.rigid_pair import describe_loose_pairs, rigid_sentence
from .apart import MOVED_TURN_RAD, Reason, above_noise
from .candidates import RARE_PAIR_SHARE
from .kinds import LARGE_RESIDUAL_NOISE_RATIO, LARGE_RESIDUAL_SHARE
from .machines import measure_slide
from .structure import Structure

if TYPE_CHECKING:
    from ..maths.arrays import Floats, Ints
    from ..model.skeleton import Joint
    from .intervals import Uncertainty
    from .kinds import PairMotion
    from .solve import Solution
    from .support import EdgeSupport

MISSING_WARNING_SHARE = 0.2  # share of missing poses from which a body's gaps are a warning
OUTLIER_WARNING_SHARE = 0.005  # share of outliers from which they are a warning
SLOW_NOISE_MIN_JOINTS = 3  # joints that tell noise, which is alike at all of them, from one that is loose
HUGE_RESIDUAL_SHARE = 0.1  # residual over the sensors' distance that no noise could be
WIDE_INTERVAL_SHARE = 0.1  # half-width of a centre's interval over the sensors' distance
FOLLOWING_NOISE_SHARE = 0.15  # gap that follows the angle, over what the noise explains, from which on it is told
SLIGHT_GAP_SHARE = 0.002  # of the sensors' distance: less is not worth a word
SLIGHT_NOISE_M = 1e-5  # m: less is told as less than 0.01 mm
SMALLEST_JOINED_M, LARGEST_JOINED_M = 0.005, 3.0  # m between joined sensors, beyond which a unit is doubted
OWN_EDGES_SHOWN = 3  # edges of a file's own hierarchy that are named where they were not found
GIVEN_EDGE_MAX_RATIO = 1.5  # a given edge that fits so many times worse than another


def describe_take(take: Take) -> list[Finding]:
    """Missing poses, body by body."""
    found = []
    for name, missing, step in zip(take.names, ~take.seen.T, measure_cadence(take.seen).tolist(), strict=True):
        if count := int(missing.sum()):
            share = count / take.frames
            often = share > MISSING_WARNING_SHARE and step == 1
            what = "check the sensor" if often else "they are left out for this sensor only"
            what = what if step == 1 else f"it has one in about {step} frames throughout: there is nothing to do"
            text = f"{name}: {count} of {take.frames} poses are missing ({share:.1%}); {what}"
            frame = int(np.argmax(missing))
            level: Severity = "warning" if often else "info"
            found.append(Finding("missing-samples", level, text, (name,), None, share, "1", frame, count))
    return found


def describe_structure(
    take: Take,
    structure: Structure,
    support: Mapping[int, EdgeSupport],
    roots: Sequence[int],
    asked_root: int | None,
    given_tree: Sequence[tuple[str, str]],
) -> list[Finding]:
    """The tree: whether there is one, what is loose, which edges are doubtful, which pairs close loops."""
    found = [] if structure.determined else [Finding("tree-not-determined", "error", _explain_undetermined(structure))]
    if not structure.determined and not len(structure.edges):
        return found + describe_loose_pairs(take, take.names)
    pairs, names, tree = structure.fits.pairs, take.names, structure.tree
    alone = structure.loose
    if len(alone) > 2 and 2 * len(alone) > take.bodies and not take.markers:  # whose rotations nobody wrote
        text = f"{len(alone)} of {take.bodies} bodies are joined to nothing; " + _explain_loose(structure)
        found.append(Finding("loose-body", "error", text, tuple(names[k] for k in alone), value=len(alone), unit="1"))
    else:
        told = {int(k) for edge, why in structure.apart.items() if why != "loose" for k in pairs[edge]}
        found += [_loose(take, structure, body) for body in alone if body not in told]
        found += describe_loose_pairs(take, [names[k] for k in alone])
    found += _size(take, structure)
    heads = [names[root] for root in roots if root not in alone]
    if len(heads) > 1:
        sizes = " and ".join(str(len(group)) for group in structure.figures if len(group) > 1)
        text = f"the bodies form {len(heads)} figures of {sizes} bodies (roots {', '.join(heads)}); they share no joint"
        found.append(Finding("several-figures", "info", text, value=len(heads), unit="1"))
    if chosen := [head for head in heads if asked_root is None or head != names[asked_root]]:
        text = (
            f"root {', '.join(chosen)}: the centre of the tree, the calmest body among equals; "
            "choose another with --root"
        )
        found.append(Finding("root-chosen", "info", text, tuple(chosen)))
    known = {frozenset(pair) for pair in given_tree}
    for edge, margin, runner in zip(tree.edges.tolist(), tree.margin, tree.runner_up, strict=True):
        ends = tuple(names[k] for k in pairs[edge])
        if frozenset(ends) not in known:
            found += _doubt(take, structure, edge, support[edge]) if support[edge].support < SURE_SUPPORT else []
        elif runner >= 0 and margin < 1 / GIVEN_EDGE_MAX_RATIO:
            other = _name_pair(take, pairs[runner])
            text = f"{_name_pair(take, ends)} was given, but {other} fits {1 / margin:.1f} times better; check the tree"
            found.append(Finding("given-edge-misfit", "warning", text, ends, value=1 / margin, unit="1"))
    found += [
        _not_joined(take, structure, edge, reason)
        for edge, reason in structure.apart.items()
        if reason not in ("loose", "slider")
    ]
    found += [_describe_slider(take, structure, edge) for edge in structure.sliders]
    for k in structure.loops:
        ends = tuple(names[x] for x in pairs[k])
        size = float(structure.fits.residual[k])
        text = f"{ends[0]} - {ends[1]} fit like a joint ({mm(size)} mm) though the tree does not need it: a loop"
        found.append(Finding("loop-joint", "info", text, ends, value=size, unit="m"))
    return found


def describe_own_tree(own: Sequence[tuple[str, str]], pairs: Ints, names: Sequence[str]) -> list[Finding]:
    """How the hierarchy that a recording brought along, edges (parent, child), differs from the tree that was found."""
    found = {frozenset((names[i], names[j])) for i, j in pairs}
    others = [edge for edge in own if frozenset(edge) not in found]
    if not others or not found:
        return []
    shown = list_some([" - ".join(edge) for edge in others], OWN_EDGES_SHOWN)
    text = (
        f"{len(others)} of the {len(own)} edges of the recording's own hierarchy "
        f"{'was' if len(others) == 1 else 'were'} not found: {shown}; take it with --tree file"
    )
    bodies = tuple(dict.fromkeys(child for _, child in others))
    return [Finding("own-tree", "info", text, bodies, value=len(others), unit="1")]


def _size(take: Take, structure: Structure) -> list[Finding]:
    """Whether joined sensors are as far apart as on people and machines; a wrong unit shows nowhere else."""
    usual = float(median(structure.motion.size[structure.tree.edges]))
    if not len(structure.edges) or SMALLEST_JOINED_M <= usual <= LARGEST_JOINED_M:
        return []
    if any(finding.code == "implausible-size" for finding in take.findings):  # told when it was read
        return []
    text = f"joined sensors are {usual:.3g} m apart; is that the unit? give it with --unit"
    return [Finding("implausible-size", "warning", text, value=usual, unit="m")]


def _loose(take: Take, structure: Structure, body: int) -> Finding:
    name = take.names[body]
    if name == WORLD:
        return Finding("loose-body", "info", "no body turns about a point of the room throughout", (name,))
    seen = int(take.seen[:, body].sum())
    if seen * measure_cadence(take.seen[:, [body]])[0] < RARE_PAIR_SHARE * take.frames:
        text = f"{name}: seen in {seen} of {take.frames} frames, too few to place it; check the sensor"
        return Finding("few-frames", "warning", text, (name,), count=seen)
    nearest = [k for k in structure.apart if body in structure.fits.pairs[k]]
    if nearest:
        k = min(nearest, key=lambda pair: float(structure.fits.residual[pair]))
        other = take.names[next(int(x) for x in structure.fits.pairs[k] if x != body)]
        size = float(structure.fits.residual[k])
        text = (
            f"{name}: joined to nothing; the nearest is {other}, {mm(size)} mm off; is it a loose thing, or is a limb "
            "between that wore no sensor?"
        )
        return Finding("loose-body", "warning", text, (name,), value=size, unit="m")
    text = f"{name}: joined to nothing; it was hardly seen in motion: keep its sensor on, or give the edge with --tree"
    return Finding("loose-body", "warning", text, (name,))


def _name_pair(take: Take, pair: Iterable[int | str]) -> str:
    return " - ".join(name if isinstance(name, str) else take.names[name] for name in pair)


def _doubt(take: Take, structure: Structure, edge: int, found: EdgeSupport) -> list[Finding]:
    pairs = structure.fits.pairs
    ends = tuple(take.names[k] for k in pairs[edge])
    others = " or ".join(_name_pair(take, pairs[k]) for k in found.rivals) or "not joined"
    text = f"{_name_pair(take, ends)} or {others}: "
    own = take.find_own_edges(pairs)
    theirs = [k for k in found.rivals if own[k]]
    if theirs and not own[edge]:
        text += (
            f"the recording's own hierarchy has {_name_pair(take, pairs[theirs[0]])}, which --tree file takes, and the "
            f"motion speaks for the other (support {found.support:.2f})"
        )
        return [Finding("rivals", "warning", text, ends, value=found.support, unit="1")]
    if found.by_motion is not None:
        text += (
            f"their names speak for the first, the motion for {_name_pair(take, pairs[found.by_motion])}; look whether "
            "sensors or names are exchanged"
        )
    elif any((edge, k) in structure.tied for k in found.rivals):
        text += "as far as the motion tells, they share one point"
    elif structure.between[edge] > 0:
        text += "their names say that they are no neighbours; look whether sensors or names are exchanged"
    elif found.rivals:
        text += "the motion does not tell which; move these joints more"
    elif not above_noise(structure.fits, np.array([edge]), structure.noise.of_rows(structure.rows.every))[0]:
        text += "noise hides how far they come apart, since they turned little; move them more"
    else:
        text += "they come apart like two bodies with something between them that was not worn; move them more"
    text += f" (support {found.support:.2f}); give the edge with --tree if you know it"
    return [Finding("rivals", "warning", text, ends, value=found.support, unit="1")]


def _explain_undetermined(structure: Structure) -> str:
    """Why there is no tree: too little motion, or much of it about no point that two bodies share."""
    fits, bodies = structure.fits, structure.good.shape[1]
    of_pairs = np.full((bodies, bodies), np.inf)
    turn = np.zeros((bodies, bodies))
    for table, values in ((of_pairs, np.nan_to_num(fits.residual, nan=np.inf)), (turn, structure.motion.main)):
        table[tuple(fits.pairs.T)] = table[tuple(fits.pairs[:, ::-1].T)] = values
    nearest = turn[np.arange(bodies), of_pairs.argmin(axis=1)]
    if not median(nearest, empty=0.0) > MOVED_TURN_RAD:
        if median(structure.turn, empty=0.0) > MOVED_TURN_RAD:
            return (
                "the bodies turn in the room, but hardly against one another, so that nothing tells which are "
                "connected; bend every joint through its range, or give the tree"
            )
        return (
            "nothing moved enough to tell which bodies are connected; move every joint through its range, or give the "
            "tree"
        )
    return (
        "the bodies turn, but too few of them about a point that they share with another: limbs between them wore no "
        "sensor, or rotations or units are read wrongly; put a sensor on every limb between two others, ask condyle "
        "doctor, or give the tree"
    )


def _explain_loose(structure: Structure) -> str:
    """What may be the matter where most bodies are joined to nothing."""
    pairs = structure.fits.pairs
    if set(structure.loose) <= {
        int(k) for edge, why in structure.apart.items() if why == "not-worn" for k in pairs[edge]
    }:
        return "by their names limbs between them wore no sensor; put one on every limb between two others"
    return (
        "are the rotations transposed, the quaternions in another order, the angles in degrees, or the positions in "
        "another unit?"
    )


def _not_joined(take: Take, structure: Structure, edge: int, reason: Reason) -> Finding:
    ends = tuple(take.names[k] for k in structure.fits.pairs[edge])
    size = float(structure.fits.residual[edge])
    both = " and ".join(ends)
    if reason == "not-rotary":
        moved = measure_slide(take, *(int(k) for k in structure.fits.pairs[edge]))
        along = "" if moved is None else f", mostly along ({_format_direction(moved.axis_parent)}) of {ends[1]}"
        text = f"{both} move against each other without a common centre ({mm(size)} mm{along}); they are not joined"
        return Finding("not-rotary", "warning", text, ends, value=size, unit="m")
    why = "something between them was not worn" if reason == "not-worn" else "they are on two persons"
    return Finding("not-joined", "info", f"{both} are not joined: by their names {why}", ends, value=size, unit="m")


def _describe_slider(take: Take, structure: Structure, edge: int) -> Finding:
    ends, slide = tuple(take.names[k] for k in structure.fits.pairs[edge]), structure.sliders[edge]
    text = (
        f"{ends[0]} slides on {ends[1]} along ({_format_direction(slide.axis_parent)}) of {ends[1]}, over "
        f"{mm(slide.travel)} mm: a slider; it stands beside the tree, and mjcf, urdf and osim have it as a joint"
    )
    if edge not in structure.apart:
        text += "; it closes a loop, so that another joint of the loop closes it there"
    return Finding("slider", "info", text, ends, value=slide.travel, unit="m")


def _format_direction(axis: Floats) -> str:
    return " ".join(f"{value:z.2f}" for value in axis)


def _measure_slow_noise(joints: Sequence[Joint], sure: Uncertainty | None) -> float:
    """[m] what noise that is correlated in time makes the usual joint come apart by; 0 where it does not explain it.

    Skin and bent fields follow angles and places at most joints, noise at none.
    """
    if sure is None or len(joints) < SLOW_NOISE_MIN_JOINTS or 2 * (sure.effect > 0).any(axis=1).sum() > len(joints):
        return 0.0
    return float(median(np.array([joint.residual for joint in joints])))


def describe_joints(
    take: Take,
    joints: Sequence[Joint],
    solution: Solution,
    structure: Structure,
    motion: PairMotion,
    sure: Uncertainty | None,
) -> list[Finding]:
    """Kinds, open directions, large gaps, wide intervals, outliers."""
    found = []
    expected = structure.noise.gap_variance(*solution.joints)
    slow = _measure_slow_noise(joints, sure)
    for a, joint in enumerate(joints):
        ends = (joint.child, joint.parent)
        found += _kind(take, joint, motion, a)
        noise = max(float(np.sqrt(3 * expected[a])), slow)
        large = (
            LARGE_RESIDUAL_SHARE if noise > 0 else HUGE_RESIDUAL_SHARE
        )  # where the noise is not known, only what no noise could be
        if joint.residual > LARGE_RESIDUAL_NOISE_RATIO * noise and joint.residual > large * motion.size[a]:
            explains = f"the noise explains {mm(noise) if noise >= SLIGHT_NOISE_M else 'less than 0.01'} mm"
            told = explains if noise > 0 else "the noise is not known"
            text = (
                f"{joint.child}: its joint with {joint.parent} comes apart by {mm(joint.residual)} mm rms, "
                f"{told}; soft mounting, several joints in one, or not a joint"
            )
            found.append(Finding("large-residual", "warning", text, ends, value=joint.residual, unit="m"))
        if joint.point == "determined" and joint.half_width is not None:
            width = joint.half_width
            if width > WIDE_INTERVAL_SHARE * motion.size[a]:
                text = (
                    f"{joint.child}: its centre is known to {mm(width)} mm only, the joint turned "
                    f"{np.degrees(joint.rotation[0]):.2g} and {np.degrees(joint.rotation[1]):.2g} deg rms; move it more"
                )
                found.append(Finding("wide-interval", "warning", text, (joint.child,), value=width, unit="m"))
        follows = 0.0 if sure is None else min(float(sure.effect[a, 0]), joint.residual)
        if sure is not None and follows > max(
            FOLLOWING_NOISE_SHARE * noise, SLIGHT_GAP_SHARE * motion.size[a], float(sure.effect[a, 1])
        ):
            text = (
                f"{joint.child}: the gap to {joint.parent} follows the joint's own angle, by {mm(follows)} mm rms: "
                "skin that moves, or a joint that does not turn about one point; its intervals allow for it"
            )
            found.append(Finding("follows-angle", "info", text, ends, value=follows, unit="m"))
    return found + _outliers(take, structure, solution, motion)


def _kind(take: Take, joint: Joint, motion: PairMotion, a: int) -> list[Finding]:
    ends = (joint.child, joint.parent)
    main = float(np.degrees(joint.rotation[0]))
    if joint.kind == "universal":
        assert joint.axis_parent is not None
        assert joint.axis_child is not None
        text = (
            f"{joint.child}: turns about two axes on {joint.parent}, ({_format_direction(joint.axis_parent)}) of "
            f"{joint.parent} and ({_format_direction(joint.axis_child)}) of {joint.child}: a universal joint"
        )
        return [Finding("universal-joint", "info", text, ends)]
    if joint.kind == "screw":
        text = (
            f"{joint.child}: moves {mm(joint.pitch or 0.0)} mm along its axis on {joint.parent} in a whole turn: a "
            "screw; mjcf, urdf and osim have its thread, formats of bones turn it about the axis only"
        )
        return [Finding("screw-joint", "info", text, ends, value=joint.pitch, unit="m")]
    if joint.kind == "hinge":
        sure = ""
        if joint.axis_95 is not None and joint.line_95 is not None:
            sure = f" (the axis is known to {np.degrees(joint.axis_95):.2g} deg and {mm(joint.line_95)} mm)"
        text = (
            f"{joint.child}: only one axis exercised against {joint.parent}, {main:.3g} deg rms with "
            f"{np.degrees(joint.play or 0.0):.2g} deg play{sure}; where along it is not determined, the point nearest "
            "to the sensors is given; if it can turn otherwise, twist it"
        )
        return [Finding("one-axis-only", "info", text, ends, value=joint.play, unit="rad")]
    if joint.kind == "rigid":
        bends = is_bending_joint(*ends)
        text, distance = rigid_sentence(take, *ends, bends=bends)
        unit = "" if distance is None else "m"
        return [Finding("rigid-pair", "warning" if bends else "info", text, ends, value=distance, unit=unit)]
    if joint.kind == "undetermined":
        least = float(np.degrees(np.sqrt(max(motion.spread[a, 0], 0.0))))
        where = "where" if joint.axis_child is None else "where along the main axis"
        text = (
            f"{joint.child}: connected to {joint.parent}, but {where} is not determined ({main:.2g} deg about the main "
            f"axis, {least:.2g} deg about the others); move this joint about more axes, and for longer"
        )
        return [Finding("undetermined-joint", "warning", text, ends, value=np.radians(main), unit="rad")]
    return []


def _outliers(take: Take, structure: Structure, solution: Solution, motion: PairMotion) -> list[Finding]:
    found: list[Finding] = []
    lost = take.seen & ~structure.good
    if solution.robust.any():
        lost |= take.seen & ~find_inliers(take.seen, solution.pairs, solution.frame_weight)
    if not lost.any():
        return found
    lost &= ~blame_partners(solution.pairs, lost)
    rows = np.flatnonzero(lost.any(axis=1))
    apart = np.linalg.norm(gaps(take.at(rows), *solution.joints), axis=2) if len(rows) else np.zeros((0, 0))
    for body, name in enumerate(take.names):
        own = lost[:, body]
        near = (solution.pairs == body).any(axis=1)
        size = apart[own[rows]][:, near] if len(rows) else apart
        if not own.any() or (near.any() and not (size > SLIGHT_GAP_SHARE * motion.size[near]).any()):
            continue  # in exact numbers the last digits are alike as well
        count, share = int(own.sum()), float(own.mean())
        text = (
            f"{name}: {many(count, 'pose')} ({share:.1%}) {'disagrees' if count == 1 else 'disagree'} with every "
            f"joint of the sensor and {'was' if count == 1 else 'were'} weighted out"
        )
        level: Severity = "warning" if share > OUTLIER_WARNING_SHARE else "info"
        found.append(Finding("outliers", level, text, (name,), None, share, "1", int(np.argmax(own)), count))
    return found
