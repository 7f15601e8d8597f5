"""Later takes on a known figure: sensors are matched, what is absent or moved is said, and the motion is solved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..errors import CondyleError
from ..estimate.describe import HUGE_RESIDUAL_SHARE
from ..estimate.kinds import LARGE_RESIDUAL_NOISE_RATIO
from ..estimate.locate import gap_residual
from ..faults.belonging import compare_take, describe_later_take
from ..faults.files import MOVED_MIN_M, locate_places, turn_round
from ..findings import Finding, mm, sort_findings
from ..maths import rotation
from ..maths.arrays import Bools, Floats, evenly
from ..maths.graph import components
from ..maths.robust import quantile
from ..maths.spool import over_frames, seal
from ..model.motion import Motion, forward, list_screws, order_joints
from ..model.skeleton import Joint, Skeleton, Slip
from ..model.take import WORLD, BodyMarker, Take, join, name_source, with_world
from ..model.values import dataclass
from ..pairs.fits import gaps
from ..prepare.shapes import Shape, fit_poses
from ..result.verdict import add_verdict
from .freedom import Absent, describe_absent, find_absent
from .ik import choose_sigmas, fit_motion
from .rails import follow_thread
from .unplaced import HELD, choose_turns, describe_unplaced, measure_parting, measure_place_errors

COMPARED_FRAMES = 200  # of a take, in which a figure with such joints held is compared with one with them free
HELD_MIN_RATIO = 2.0  # of the misfits of these two, from which on it is the held joints that do not fit
OTHER_AXIS_RAD = np.radians(10.0)  # by which the axis of a hinge differs from that of the calibration, to be another
PARTED_SHARE = 0.95  # of the frames: a joint that is far from its axis for longer is not held to it
PARTED_MIN_PLAYS = 3.5  # of the rms play at the calibration: twice what its own frames reach in that share


@dataclass(frozen=True, eq=False)
class Played:
    """A take played on a known figure.

    skeleton  the figure, with the findings and the joints' residuals of this take
    take      the measured poses of the figure's bodies; NaN where there was no sensor
    gap, weight  as of `Calibration`
    """

    skeleton: Skeleton
    take: Take
    motion: Motion
    gap: Floats
    weight: Floats


@dataclass(frozen=True, eq=False)
class Matched:
    """A take with the bodies of a figure in the figure's order.

    take   NaN where a body has no sensor, or one without a position
    turns  (n, m, 3, 3) rotations of sensors that report no position, NaN elsewhere; None: there are none
    """

    take: Take
    turns: Floats | None


def match_sensors(skeleton: Skeleton, take: Take, turns: Floats | None = None) -> Matched:
    """The take with the figure's bodies; sensors that the figure does not have are left out. Bodies formed from markers
    get the axes that they have in the skeleton.

    turns  (n, m, 3, 3) rotations of the take's sensors that report no position
    """
    if skeleton.options.get("world") and WORLD in skeleton.bodies and WORLD not in take.names:
        take = with_world(take)
        turns = None if turns is None else _spread(turns, [*range(turns.shape[1]), -1])
    known = [name for name in skeleton.bodies if name in take.names]
    if not any(name != WORLD for name in known):
        raise CondyleError(
            f"has none of the figure's sensors: the figure has {', '.join(skeleton.bodies)}, "
            f"the recording {', '.join(take.names)}; rename them, or take the skeleton of this set-up",
            code="bodies-differ",
            path=", ".join(take.sources) or None,
        )
    columns = [take.names.index(name) if name in take.names else -1 for name in skeleton.bodies]
    if turns is not None:
        take = take.mask(np.isfinite(turns).all(axis=(-2, -1)))
        turns = _spread(turns, columns)
    take = _align_markers(leave_others(take, known).select(known), skeleton.markers)
    if len(known) < len(skeleton.bodies):
        columns = [known.index(name) if name in known else -1 for name in skeleton.bodies]
        R, p = (_spread(values, columns) for values in (take.R_world_body, take.p_world_body))
        take = replace(take, names=skeleton.bodies, R_world_body=R, p_world_body=p)
    return Matched(take, turns)


def leave_others(take: Take, known: Sequence[str]) -> Take:
    """The take without sensors that a figure does not have, which is told."""
    more = tuple(name for name in take.names if name not in known)
    if not more:
        return take
    text = f"sensors that the figure does not have are left out: {', '.join(more)}"
    take = take.with_findings((*take.findings, Finding("extra-sensors", "info", text, more)))
    return take.select([name for name in take.names if name in known])


def join_matched(parts: Sequence[Matched]) -> Matched:
    """Several takes of one figure as segments of one."""
    if len(parts) == 1:
        return parts[0]
    turns = None
    if any(part.turns is not None for part in parts):
        none = [np.full(part.take.R_world_body.shape, np.nan) for part in parts]
        turns = np.concatenate(
            [empty if part.turns is None else part.turns for part, empty in zip(parts, none, strict=True)]
        )
    return Matched(join([part.take for part in parts]), turns)


def split_files(matched: Matched) -> list[Matched]:
    """The files of a take one by one, without findings."""
    take, turns = matched.take, matched.turns
    numbers = sorted(set(take.of_source))
    if len(numbers) < 2:
        return [Matched(take.with_findings(()), turns)]
    found = []
    for number in numbers:
        rows = np.flatnonzero(take.in_source(number))
        part = replace(take.at(rows), sources=take.sources[number : number + 1], of_source=(), findings=())
        found.append(Matched(part, None if turns is None else turns[rows]))
    return found


def name_findings(files: Sequence[Matched]) -> list[Matched]:
    """The files, whose findings name them where there are several."""
    if len(files) < 2:
        return list(files)
    return [
        Matched(file.take.with_findings(_name(file.take.findings, name_source(file.take, number))), file.turns)
        for number, file in enumerate(files)
    ]


def _name(findings: Iterable[Finding], file: str) -> tuple[Finding, ...]:
    return tuple(replace(one, text=f"{file}: {one.text}") for one in findings)


def falls_apart(skeleton: Skeleton, turned: Bools) -> bool:
    """Whether bodies without a sensor part the others, which then share no joint to be compared by.

    turned  (n, m) which bodies of the skeleton have a sensor that reports its rotation
    """
    worn = [k for k in range(turned.shape[1]) if turned[:, k].any()]
    pairs = [tuple(skeleton.bodies.index(name) for name in (one.child, one.parent)) for one in skeleton.joints]
    both = [pair for pair in pairs if set(pair) <= set(worn)]

    def count(edges: Sequence[tuple[int, ...]]) -> int:
        parts = components(len(skeleton.bodies), np.array(edges, dtype=np.int64).reshape(-1, 2))
        return sum(bool(set(part) & set(worn)) for part in parts)

    return count(both) > count(pairs)


def _spread(values: Floats, columns: Sequence[int]) -> Floats:
    """(n, m, ...) with these columns of the values, -1: NaN."""

    def pick(part: Floats) -> Floats:
        found = part[:, [max(k, 0) for k in columns]].copy()
        found[:, [k < 0 for k in columns]] = np.nan
        return found

    return seal(over_frames(pick, values))


def _align_markers(take: Take, markers: Sequence[BodyMarker]) -> Take:
    """The take with the axes of bodies as `markers` have them: those of a cluster follow from what was seen of it."""
    R, p = np.tile(np.eye(3), (take.bodies, 1, 1)), np.zeros((take.bodies, 3))
    for k, body in enumerate(take.names):
        was = {one.name: one.p_body_marker for one in markers if one.body == body}
        now = {one.name: one.p_body_marker for one in take.markers if one.body == body}
        both = [name for name in was if name in now]
        if len(both) < 3:
            continue
        turn, shift = fit_poses(np.stack([now[name] for name in both])[None], Shape(np.stack([was[n] for n in both])))
        if np.isfinite(turn).all():
            R[k], p[k] = turn[0], shift[0]
    if not p.any() and (R == np.eye(3)).all():
        return take

    def move(turns: Floats, places: Floats) -> Floats:
        return np.asarray(places + np.einsum("nmij,mj->nmi", turns, p))

    place = seal(over_frames(move, take.R_world_body, take.p_world_body))
    return replace(take, R_world_body=seal(over_frames(lambda part: part @ R, take.R_world_body)), p_world_body=place)


def play_known(
    skeleton: Skeleton,
    take: Take,
    findings: Sequence[Finding] = (),
    *,
    reference: Floats | None = None,
    turns: Floats | None = None,
    slips: Sequence[Slip] = (),
) -> Played:
    """A take of `match_sensors` played on the figure.

    reference  (m, 3, 3) R_parent_body that each joint had as a rule at the calibration; NaN: not known
    turns      (n, m, 3, 3) rotations of sensors that report no position; NaN elsewhere
    slips      those that were moved back in the take
    """
    turned = take.seen if turns is None else take.seen | np.isfinite(turns).all(axis=(-2, -1))
    _check_placed(take)
    files = _compare_with_calibration(skeleton, take)
    R = choose_turns(take, turns)
    parted = measure_parting(skeleton, R, reference)
    now = [joint for one in files if one.belongs for joint in one.joints]
    own = np.any([one.frames & one.belongs for one in files], axis=0)
    joints, freed = _free_joints(skeleton.joints, now, np.where(own[evenly(take.frames, len(R))], parted, np.nan))
    figure = replace(skeleton, loops=skeleton.named_loops, joints=joints)
    figure, unseen = _free_unseen_joints(figure, take, turned, reference, turns)
    motion = fit_motion(figure, take, reference=reference, turns=turns).motion
    absent = find_absent(figure, forward(figure, motion), take.seen, turned, choose_sigmas(figure))
    told = [*take.findings, *findings, *freed, *unseen, *describe_absent(absent)]
    told += [finding for one in files for finding in one.findings]
    placed, known_turn = (np.asarray(rows.any(axis=0)) for rows in (take.seen, turned))
    told += describe_unplaced(take.names, measure_place_errors(figure, R, parted, placed), known_turn, placed)
    told += [one for one in motion.findings if not _is_of_absent(one, absent)]
    gap, weight, joints = measure_gaps(figure, take)
    known = {
        **skeleton.take,
        "frames": take.frames,
        "seconds": take.seconds,
        "sources": list(take.sources),
        "masked": {},
        "calibration": {"fit_id": skeleton.fit_id, "sources": list(skeleton.take.get("sources", ()))},
        "sensors": [name for k, name in enumerate(take.names) if turned[:, k].any()],
    }
    for own in ("sha256", "windows"):  # of the calibration's recording
        known.pop(own, None)
    conventions = {**skeleton.conventions, "up": take.up or skeleton.up}
    conventions["read_as"] = take.read_as or None
    played = replace(
        figure,
        joints=joints,
        findings=sort_findings(told),
        take=known,
        conventions=conventions,
        verdict=None,
        slips=tuple(slips),
    )
    return Played(add_verdict(played), take, replace(motion, findings=()), gap, weight)


@dataclass(frozen=True, eq=False)
class ComparedFile:
    """One file of a later take against the calibration: which frames (n,) it has, the joints that it tells, and what is
    to be said of it.
    """

    frames: Bools
    joints: Sequence[Joint]
    findings: Sequence[Finding]

    @property
    def belongs(self) -> bool:
        return not any(one.severity == "error" for one in self.findings)


def _compare_with_calibration(skeleton: Skeleton, take: Take) -> list[ComparedFile]:
    """Every file of a take by itself, named where there are several."""
    numbers = sorted(set(take.of_source)) or [0]
    before = [one for one in skeleton.joints if one.covariance is not None]
    edges = [(one.parent, one.child) for one in skeleton.joints]
    found = []
    for number in numbers:
        frames = np.ones(take.frames, bool) if len(numbers) == 1 else take.in_source(number)
        part = take if len(numbers) == 1 else take.at(np.flatnonzero(frames))
        now = locate_places(part, edges)
        changed = describe_later_take(compare_take(before, part, now))
        if not any(one.severity == "error" for one in changed):  # what is wrong with all of it is said
            moved = {body for one in changed for body in one.bodies}
            joints = measure_gaps(skeleton, part)[2]
            changed += [one for one in describe_apart(skeleton.joints, joints) if moved.isdisjoint(one.bodies)]
        if len(numbers) > 1:
            changed = list(_name(changed, name_source(take, number)))
        found.append(ComparedFile(frames, now, changed))
    return found


def _free_joints(
    before: Sequence[Joint], now: Sequence[Joint], parted: Floats
) -> tuple[tuple[Joint, ...], list[Finding]]:
    """The joints of a figure, and what is to be said of them: those that turned about one axis, or not at all, at the
    calibration, and about several now, play freely.

    now     the joints that the take's files locate, each its own, which needs positions
    parted  (J, f) [rad] see `measure_parting`, which needs none
    """
    own: dict[tuple[str, str], list[Joint]] = {}
    for joint in now:
        for one in (joint, turn_round(joint)):
            own.setdefault((one.child, one.parent), []).append(one)
    joints, findings = [], []
    for joint, apart in zip(before, parted, strict=True):
        joint = replace(joint, time=None)
        found = own.get((joint.child, joint.parent), [])
        if _is_parted(joint, apart) or any(_turns_otherwise(joint, one) for one in found):
            was = "about one axis only" if joint.kind == "hinge" else "not at all"
            text = (
                f"{joint.parent} - {joint.child} turned {was} at the calibration, and otherwise here: it is "
                "played as a ball joint; move it about all its axes at the calibration"
            )
            findings.append(Finding("kind-differs", "warning", text, (joint.parent, joint.child)))
            joint = _free(joint)
        joints.append(joint)
    return tuple(joints), findings


def _is_parted(joint: Joint, apart: Floats) -> bool:
    """Whether a joint that is held is further from its axis, or rotation, than its play at the calibration explains.

    apart  (f,) [rad] see `measure_parting`
    """
    apart = apart[np.isfinite(apart)]
    if joint.kind not in HELD or not len(apart):
        return False
    return bool(quantile(apart, PARTED_SHARE) > max(OTHER_AXIS_RAD, PARTED_MIN_PLAYS * (joint.play or 0.0)))


def _free(joint: Joint) -> Joint:
    return replace(joint, kind="ball", play=None, axis_covariance=None, line_95=None)


def _free_unseen_joints(
    figure: Skeleton, take: Take, turned: Bools, reference: Floats | None, turns: Floats | None
) -> tuple[Skeleton, list[Finding]]:
    """The figure, and what is to be said of its joints: those of a body without a sensor, which cannot be compared with
    the calibration, play freely where the sensors around them disagree with a figure that holds them.
    """
    groups = [group for group in _group_unseen(figure, turned) if any(joint.kind in HELD for joint in group)]
    if not groups:
        return figure, []
    rows = evenly(take.frames, COMPARED_FRAMES)
    part, part_turns = take.at(rows), None if turns is None else turns[rows]
    R = choose_turns(part, part_turns)

    def measure(freed: Sequence[list[Joint]]) -> Floats:
        """(2, m) rms distance [m] and turn [rad] of the played bodies from their sensors, 0 without one."""
        loose = {id(joint) for group in freed for joint in group if joint.kind in HELD}
        played = replace(figure, joints=tuple(_free(one) if id(one) in loose else one for one in figure.joints))
        poses = forward(played, fit_motion(played, part, reference=reference, turns=part_turns, robust=False).motion)
        place = np.linalg.norm(poses.p_world_body - part.p_world_body, axis=-1)
        turn = rotation.angle(np.swapaxes(R, -1, -2) @ poses.R_world_body)
        apart = np.stack([place, turn])
        known = np.isfinite(apart)
        square = np.where(known, apart, 0.0) ** 2
        return np.asarray(np.sqrt(square.sum(axis=1) / np.maximum(known.sum(axis=1), 1)))

    free, freed, findings = measure(groups), set[int](), []
    for k, group in enumerate(groups):
        apart = measure([*groups[:k], *groups[k + 1 :]])
        far = (apart > np.array([[MOVED_MIN_M], [OTHER_AXIS_RAD]])) & (apart > HELD_MIN_RATIO * free)
        for joint in group if far.any() else ():
            if joint.kind not in HELD:
                continue
            freed.add(id(joint))
            was = "about one axis only" if joint.kind == "hinge" else "not at all"
            text = (
                f"{joint.parent} - {joint.child} turned {was} at the calibration; held so here, bodies are up to "
                f"{mm(apart[0].max())} mm and {np.degrees(apart[1].max()):.0f} deg from their sensors: it is played as "
                "a ball joint; move it about all its axes at the calibration"
            )
            findings.append(Finding("kind-differs", "warning", text, (joint.parent, joint.child)))
    joints = tuple(_free(joint) if id(joint) in freed else joint for joint in figure.joints)
    return replace(figure, joints=joints), findings


def _group_unseen(figure: Skeleton, turned: Bools) -> list[list[Joint]]:
    """The joints of bodies without a sensor; those of bodies that hang together without one are one group."""
    unseen = {name for k, name in enumerate(figure.bodies) if not turned[:, k].any()}
    top, groups = {name: name for name in unseen}, dict[str, list[Joint]]()
    for child, parent, _ in order_joints(figure):  # parents first
        name, above = figure.bodies[child], figure.bodies[parent]
        if {name, above} <= unseen:
            top[name] = top[above]
    for joint in figure.joints:
        body = next((name for name in (joint.child, joint.parent) if name in unseen), None)
        if body is not None:
            groups.setdefault(top[body], []).append(joint)
    return list(groups.values())


def _turns_otherwise(before: Joint, now: Joint) -> bool:
    """Whether a joint that was a hinge, or rigid, turns about other axes now."""
    if before.kind == "rigid":
        return now.kind in ("ball", "hinge")
    if before.kind != "hinge" or now.kind != "hinge":
        return before.kind == "hinge" and now.kind == "ball"
    axes = ((before.axis_child, now.axis_child), (before.axis_parent, now.axis_parent))
    return any(a is not None and b is not None and abs(float(a @ b)) < np.cos(OTHER_AXIS_RAD) for a, b in axes)


def _check_placed(take: Take) -> None:
    if not take.seen.any():
        raise CondyleError(
            "no sensor of the figure has a position in any frame; one at least must report where it is",
            code="no-positions",
            path=", ".join(take.sources) or None,
        )


def place_turned(skeleton: Skeleton, take: Take, motion: Motion) -> Take:
    """The poses of a take, with those played for sensors of a solved take that reported orientations alone."""
    worn = skeleton.take.get("sensors", ()) if "calibration" in skeleton.take else ()
    turned = [take.index(name) for name in worn if name in take.names and not take.seen[:, take.index(name)].any()]
    if not turned:
        return take
    played = forward(skeleton, motion)
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    own = [played.index(take.names[k]) for k in turned]
    R[:, turned], p[:, turned] = played.R_world_body[:, own], played.p_world_body[:, own]
    return replace(take, R_world_body=R, p_world_body=p)


def describe_apart(calibrated: Sequence[Joint], joints: Sequence[Joint]) -> list[Finding]:
    """Findings of joints that come apart in a take by far more than at the calibration, and more than skin moves."""
    found = []
    for before, now in zip(calibrated, joints, strict=True):
        usual = max(before.residual, before.explained or 0.0)
        apart = float(np.linalg.norm(now.p_child_joint) + np.linalg.norm(now.p_parent_joint))
        if now.residual > max(LARGE_RESIDUAL_NOISE_RATIO * usual, HUGE_RESIDUAL_SHARE * apart):
            text = (
                f"{now.child}: its joint with {now.parent} comes apart by {mm(now.residual)} mm rms in this take, "
                f"{mm(before.residual)} mm at the calibration; are sensors or names exchanged, or was one put on anew?"
            )
            ends = (now.child, now.parent)
            found.append(Finding("large-residual", "warning", text, ends, value=now.residual, unit="m"))
    return found


def _is_of_absent(finding: Finding, absent: Sequence[Absent]) -> bool:
    return finding.code.startswith("gap-") and any(one.body in finding.bodies for one in absent)


def measure_gaps(
    skeleton: Skeleton, take: Take, weight: Floats | None = None
) -> tuple[Floats, Floats, tuple[Joint, ...]]:
    """Gaps (n, J, 3) [m] of the measured poses, their weights (n, J), and the joints with what these leave of them.

    A screw's gap is what is left when its thread is followed.

    weight  (n, J) [-] as it is known; None: 1 where both bodies are seen
    """
    if not skeleton.joints:
        return np.zeros((take.frames, 0, 3)), np.zeros((take.frames, 0)), ()
    pairs = np.array([[take.index(joint.child), take.index(joint.parent)] for joint in skeleton.joints])
    halves = (
        np.stack([getattr(joint, name) for joint in skeleton.joints]) for name in ("p_child_joint", "p_parent_joint")
    )
    gap = gaps(take, pairs, *halves)
    _take_out_threads(skeleton, take, gap)
    both: Bools = np.asarray(take.seen[:, pairs[:, 0]] & take.seen[:, pairs[:, 1]])
    weight = both.astype(np.float64) if weight is None else weight
    sizes = gap_residual(gap, weight)
    joints = tuple(
        replace(joint, residual=float(size), frames=int(count))
        for joint, size, count in zip(skeleton.joints, sizes, both.sum(axis=0), strict=True)
    )
    return gap, weight, joints


def _take_out_threads(skeleton: Skeleton, take: Take, gap: Floats) -> None:
    """Takes out of gaps (n, J, 3) [m], in the order of the joints, what the threads of screws make of them."""
    for screw in list_screws(skeleton):
        child, parent = take.index(screw.joint.child), take.index(screw.joint.parent)
        R, a = take.R_world_body, skeleton.joints.index(screw.joint)
        axis = R[:, parent] @ screw.axis_parent
        slide = np.einsum("ni,ni->n", gap[:, a], axis)
        turn = np.swapaxes(R[:, parent], -1, -2) @ R[:, child]
        gap[:, a] -= follow_thread(screw, slide, turn, take.segment)[:, None] * axis
