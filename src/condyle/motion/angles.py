"""Joint angles of a figure in motion, counted by a convention in anatomical frames. docs/angles.md explains them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from ..errors import CondyleError, UsageError
from ..findings import Finding
from ..io.exports.build_figure import build_figure
from ..io.exports.figure import find_axis
from ..maths.arrays import Floats, select
from ..maths.spool import hide
from ..model.anatomy import Segment, Side
from ..model.angle_conventions import AngleConvention, JointRow, find_convention
from ..model.angles import AngleColumn, Angles, Landmarks, SegmentFrame
from ..model.motion import match_bodies
from ..model.skeleton import Skeleton
from ..model.take import Take, join
from ..model.values import dataclass
from .angle_errors import find_errors
from .counting import Counted, describe_lock, measure_columns
from .frames import NO_SD, build_frames, carry_frames, zero_frames
from .gait_events import find_gait_events, list_strides
from .landmarks import check_landmarks
from .neutral import Heading, Neutral, find_heading, find_neutral
from .person import Body, find_bodies
from .play import play

SIDES_IN_ORDER: tuple[Side, ...] = ("l", "r", "")
OUTLIER_MAX_SHARE = 0.2  # of a body's poses that may be outliers; of more, something else is to be said
# What the fit warned of, said again beside the angles: of bodies whose turns are then worth less, as a remark.
SAID_OF_BODIES = ("segment-completed", "cluster-collinear")
NO_PERSON = "rotation vectors, and hinges by their angle: no names of a person's segments"
MIRROR = np.diag([1.0, 1.0, -1.0])  # takes the left side of a person to the right


@dataclass(frozen=True, eq=False)
class AngleOptions:
    """How angles are counted.

    convention   a name of `CONVENTIONS`, or "euler:ZXY"
    neutral      "auto", "quiet", "none", a time "12.5" or a span "12:13" [s] of the take, or a take of its own
    zero         every joint reads zero in the neutral pose
    heading      "auto", "travel", "facing", or an axis of the world such as "-y"
    landmarks    {segment: {landmark: marker or place [m]}} that stand for what the motion tells
    keep_locked  keep angles near gimbal lock that noise makes useless
    up           axis of the world that points up, to overrule the recording
    """

    convention: str = "isb"
    neutral: str | float | tuple[float, float] | Take = "auto"
    zero: bool = False
    heading: str = "auto"
    landmarks: Mapping[str, Landmarks] | None = None
    keep_locked: bool = False
    up: str | None = None


def find_joint_angles(skeleton: Skeleton, take: Take, options: AngleOptions | None = None) -> Angles:
    """The angles of every joint in a take, by the measured rotations: a hinge is not kept to its axis.

    The take's bodies are the skeleton's; sensors that were not seen for a moment are bridged, as in `play`.
    """
    options = options or AngleOptions()
    convention = find_convention(options.convention)
    if not skeleton.joints:
        text = "the fit has no joint, so that there are no angles; fit a recording in which the bodies move"
        raise CondyleError(text, code="no-joints")
    measured = take
    stand = match_bodies(skeleton, options.neutral) if isinstance(options.neutral, Take) else None
    if stand is not None:  # counted with the take, and cut off at the end
        take = join([stand, match_bodies(skeleton, take)])
    figure = build_figure(skeleton, play(skeleton, take), up=options.up)
    bodies, up = find_bodies(skeleton, figure), find_axis(figure.up)
    landmarks = options.landmarks or {}
    check_landmarks(bodies, landmarks)
    neutral = _choose_neutral(options, stand, bodies, up)
    joints: list[Counted] = []
    frames: list[SegmentFrame] = []
    heading, p_root, notes = "", np.full((figure.frames, 3), np.nan), []
    for body in bodies:
        there = build_frames(body, neutral, up, landmarks) if body.human else carry_frames(body, neutral)
        there = zero_frames(body, neutral, there) if options.zero else there
        room = None
        if body.human and body.root in there:
            room, p_root, heading = _find_room(body, there[body.root], options.heading, up)
        notes += [*_describe_missing(body, there), *_describe_split_feet(body)]
        joints += _count_joints(body, there, convention, room)
        frames += there.values()
    values, locked, crossed = measure_columns(joints, figure.segment, options.keep_locked)
    known = [finding for finding in skeleton.findings if finding.code == "mirrored-person"]
    known += [replace(one, severity="info") for one in skeleton.findings if one.code in SAID_OF_BODIES]
    told = (*known, *figure.findings, *notes, *describe_lock(joints, locked, crossed, options.keep_locked))
    offset, curve, noise, definition = find_errors(joints, skeleton)
    columns = tuple(column for joint in joints for column in joint.columns)
    angles = Angles(
        columns,
        figure.time,
        values,
        offset,
        curve,
        noise,
        definition,
        tuple(frames),
        p_root,
        convention.name,
        convention.title if not convention.joints or any(body.human for body in bodies) else NO_PERSON,
        neutral.text + ("; every joint reads zero there" if options.zero else ""),
        heading,
        told,
        figure.segment,
        skeleton.fit_id,
    )
    strides = list_strides(find_gait_events(skeleton, measured)[0])
    if stand is None:
        return replace(angles, strides=strides)
    own = select(angles, "n", slice(stand.frames, None))
    return replace(own, segment=own.segment - own.segment[:1], strides=strides)


def hide_outliers(skeleton: Skeleton, take: Take, weight: Floats) -> Take:
    """The take without poses that the fit weighted out: of bodies none of whose joints counted (n, J), though seen."""
    able, counted = np.zeros((2, take.frames, take.bodies), dtype=bool)
    for k, joint in enumerate(skeleton.joints):
        ends = [take.index(joint.parent), take.index(joint.child)]
        both = take.seen[:, ends].all(axis=1, keepdims=True)
        able[:, ends] |= both
        counted[:, ends] |= both & (weight[:, k, None] > 0)
    gone = able & ~counted
    gone &= gone.mean(axis=0) <= OUTLIER_MAX_SHARE
    return replace(take, p_world_body=hide(take.p_world_body, gone)) if gone.any() else take


def _choose_neutral(options: AngleOptions, stand: Take | None, bodies: tuple[Body, ...], up: Floats) -> Neutral:
    if stand is not None:
        return Neutral(np.arange(stand.frames), f"mean of {', '.join(stand.sources) or 'a recording of its own'}")
    assert not isinstance(options.neutral, Take)
    neutral = find_neutral(options.neutral, bodies, up)
    if options.zero and neutral.rows is None:
        raise UsageError("there is no neutral pose to be zero in; name its time: --neutral 12:13", code="no-neutral")
    return neutral


def _find_room(body: Body, frame: SegmentFrame, choice: str, up: Floats) -> tuple[Floats, Floats, str]:
    """(n, 3, 3) axes of the room; place (n, 3) [m] of the root in them; the heading in words."""
    figure = body.figure
    facing = body.world(body.root) @ frame.R_body_anat[:, 0]
    p = figure.p_world_free[:, figure.free.tolist().index(body.root)]
    heading: Heading = find_heading(choice, facing, p, figure.time, figure.segment, up)
    Y = np.broadcast_to(up, heading.X.shape)
    room = np.stack([heading.X, Y, np.cross(heading.X, Y)], axis=-1)
    return room, np.einsum("nji,nj->ni", room, p), heading.text


def _count_joints(
    body: Body, frames: Mapping[int, SegmentFrame], convention: AngleConvention, room: Floats | None
) -> Iterator[Counted]:
    """Joints and segments of the convention in its order, then all other joints in the order of the figure."""
    done: set[int] = set()
    for row in convention.joints:
        if row.proximal is None:
            yield from _count_in_room(body, frames, row, room)
            continue
        for side in SIDES_IN_ORDER:
            above, k = _find_place(body, row, side)
            if above is None or k is None or above not in frames or k not in frames:
                continue
            if body.parent(k) == above:
                done.add(k)
            R = frames[above].R_body_anat.T @ body.between(above, k) @ frames[k].R_body_anat
            yield _count(body, row, side, R, (frames[above], frames[k]), above)
    carried: dict[int, SegmentFrame] = {}  # where some bone has no frame
    for k in body.bones:
        above = body.parent(k)
        if k not in done and above >= 0 and body.joint(k).kind != "rigid" and not _is_covered(body, convention):
            there = above in frames and k in frames
            carried = carried if there or carried else carry_frames(body, Neutral(None, ""))
            yield _count_other(body, k, frames if there else carried, convention)


def _count_in_room(
    body: Body, frames: Mapping[int, SegmentFrame], row: JointRow, room: Floats | None
) -> Iterator[Counted]:
    """A segment in the room."""
    k = body.place.get(Segment(row.distal))
    if room is None or k is None or k not in frames:
        return
    R = np.swapaxes(room, -1, -2) @ body.world(k) @ frames[k].R_body_anat
    for side in ("l", "r") if row.both else ("",):
        yield _count(body, row, side, R, (None, frames[k]), None)


def _is_covered(body: Body, convention: AngleConvention) -> bool:
    """Whether a person's joint is left to the convention, which may not have it: Plug-in Gait has no arms here."""
    return bool(convention.joints) and convention.name not in ("isb", "xzy") and body.human


def _find_place(body: Body, row: JointRow, side: Side) -> tuple[int | None, int | None]:
    """The proximal and the distal bone of a joint on one side, None where it is not worn."""
    if row.proximal is None:
        return None, None
    k = body.place.get(Segment(row.distal, side))
    above = body.place.get(Segment(row.proximal, side), body.place.get(Segment(row.proximal)))
    return (above, k) if k is not None and above is not None and body.is_above(above, k) else (None, None)


def _count(
    body: Body,
    row: JointRow,
    side: Side,
    R: Floats,
    ends: tuple[SegmentFrame | None, SegmentFrame],
    above: int | None,
) -> Counted:
    tail = f"_{side}" if side else ""
    label = f"{body.prefix}{row.joint}{tail}"
    names = [name for name in (*row.names, row.total) if name is not None]
    parent = None if above is None else body.body(above)
    columns = tuple(
        AngleColumn(f"{body.prefix}{name}{tail}", row.joint, side, label, ends[1].body, parent) for name in names
    )
    mirrored = side == "l"
    return Counted(columns, MIRROR @ R @ MIRROR if mirrored else R, row, ends, mirrored)


def _count_other(body: Body, k: int, frames: Mapping[int, SegmentFrame], convention: AngleConvention) -> Counted:
    """A joint that the convention does not name: by its one angle, three angles, or the rotation vector."""
    above, label = body.parent(k), body.figure.joints[k]
    side = body.segments[k].side if k in body.segments else ""
    A, B = frames[above], frames[k]
    reference = body.mean_turn(k)
    axis = body.end(k, k).axis
    if convention.rest == "hinge" and axis is None:
        total = np.einsum("nij->ij", np.nan_to_num(body.turn(k)))
        axis = np.linalg.svd(total)[2][0]
    if axis is not None and convention.rest != "order" and convention.name != "rotvec":
        R = reference.T @ body.turn(k)
        row = JointRow(label, "pelvis", "pelvis", "axis", (1, 1, 1), (f"{label}_angle", None, None), "about its axis")
        column = AngleColumn(f"{label}_angle", label, side, label, body.body(k), body.body(above))
        own = replace(B, R_body_anat=np.eye(3), sd=NO_SD)
        return Counted((column,), R, row, (None, own), False, axis)
    letters = convention.order if convention.rest == "order" else "XYZ"
    order = convention.order if convention.rest == "order" else "vector"
    names = _name_turns(label, letters)
    R = A.R_body_anat.T @ body.turn(k) @ B.R_body_anat
    if order == "vector":
        R = R @ (A.R_body_anat.T @ reference @ B.R_body_anat).T
    columns = tuple(AngleColumn(name, label, side, label, body.body(k), body.body(above)) for name in names)
    row = JointRow(label, "pelvis", "pelvis", order, (1, 1, 1), names, "rotation vector")
    return Counted(columns, R, row, (A, B), False)


def _name_turns(label: str, letters: str) -> tuple[str, str, str]:
    twice = letters[0] == letters[2]
    first, second, third = (f"{label}_{letter.lower()}" for letter in letters)
    return (first, second, f"{third}2") if twice else (first, second, third)


def _describe_split_feet(body: Body) -> list[Finding]:
    """Feet of two bodies, of which the ankle turns the first."""
    split = [k for k in body.bones if body.part(k) == "toe" and "forefoot" in body.body(k).lower()]
    if not split:
        return []
    ankles, middles = ([body.figure.joints[one] for one in ones] for ones in (map(body.parent, split), split))
    text = (
        f"{', '.join(ankles)}: of the hindfoot alone; {', '.join(middles)}: the middle of the foot, which a foot of "
        "one body has in its ankle, so that ranges do not compare"
    )
    return [Finding("split-foot", "info", text, tuple(body.body(k) for k in split))]


def _describe_missing(body: Body, frames: Mapping[int, SegmentFrame]) -> list[Finding]:
    """Bodies of a person whose axes nothing tells."""
    lost = [k for k in body.bones if k not in frames]
    if not lost or not body.human:
        return []
    text = (
        f"the axes of {', '.join(body.name(k) for k in lost)} are not known: a pelvis needs both hips, or one leg "
        "whose knee bent; their joints are given as rotation vectors"
    )
    return [Finding("frame-not-known", "warning", text, tuple(body.body(k) for k in lost))]
