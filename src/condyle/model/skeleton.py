"""Skeleton: the articulated figure, every number with its evidence. A constant value; motion lives elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Annotated, Any, Literal

import numpy as np

from .._version import __version__
from ..errors import UsageError, import_extra
from ..findings import Finding, many
from ..maths.arrays import Floats, Vector, freeze
from ..maths.robust import Z95
from .take import UP_AXES, BodyMarker
from .values import dataclass

Between = Literal["joints", "joint and axis", "axes"]


Kind = Literal["ball", "hinge", "rigid", "undetermined", "universal", "screw", "slider"]
ONE_AXIS: tuple[Kind, ...] = ("hinge", "screw")  # kinds that turn about one axis
TURNING: tuple[Kind, ...] = (*ONE_AXIS, "universal", "slider")  # kinds with axes
Point = Literal["determined", "arbitrary"]
Tone = Literal["good", "look", "bad"]
SURE_SUPPORT = 0.95  # support from which a joint is sure; at least 95 % of those are right on recordings of data/more


@dataclass(frozen=True, eq=False)
class Joint:
    """One connection of two bodies. A joint is named by its child.

    p_child_joint    (3,)  [m]    the joint in the child's (outboard body's) own frame
    p_parent_joint   (3,)  [m]    the same point in the parent's (inboard body's) frame
    kind, point                   see docs/conventions.md; point "arbitrary": some direction is not determined
    axis_child       (3,)  [-]    unit axis of a hinge or screw in the child, axis_parent in the parent; of a slider its
                                  direction; of an undetermined joint the one direction that is open. A universal joint
                                  turns about axis_parent, fixed in the parent, and about axis_child, fixed in the
                                  child; else None
    play                   [rad]  rms angle by which a hinge's axis wanders, noise removed; None unless hinge or screw
    residual               [m]    root mean square length of the gap over frames with weight
    frames                 [-]    frames in which both bodies are seen and trusted
    singular_values  (6,)  [-]    of the paper's stacked matrix, descending
    covariance       (6, 6) [m^2] of [p_child_joint, p_parent_joint]; None where the joint is not determined
    axis_covariance  (6, 6) [rad^2] of [axis_child, axis_parent], each across itself; None without axes or intervals
    line_95                [m]    half-width of the 95 % interval of a hinge's line, across it at the given point where
                                  it is widest; None unless hinge with intervals
    margin                 [-]    times the gap would grow with the best other edge in its place; None if there is none
    runner_up                     that edge, (parent, child) in no particular order
    rotation         (3,)  [rad]  rms relative rotation about the pair's own axes, descending, noise removed
    passing                [-]    share of the covariance from noise that changes from frame to frame; None without one
    time                   [s]    (start, end) in which a loop joint holds; None for joints of the tree
    support                [-]    lower bound of the chance that these two bodies are joined and not others; 1 where the
                                  edge was given, None for loops
    rivals                        edges that may stand in its place, the likeliest first; of a sure joint none
    explained              [m]    root mean square gap that the sensors' noise and skin explain
    main_child       (3,)  [-]    unit axis that it turned about most, in the child, main_parent in the parent; None
                                  where it did not turn
    main_share             [-]    share of its mean square turn that is about that axis
    pitch                  [m]    along the axis in a whole turn of a screw; else None
    travel                 [m]    of a slider between its ends in this take; else None
    """

    child: str
    parent: str
    kind: Kind
    point: Point
    p_child_joint: Vector
    p_parent_joint: Vector
    axis_child: Vector | None
    axis_parent: Vector | None
    play: float | None
    residual: float
    frames: int
    singular_values: Annotated[Floats, "6"]
    covariance: Annotated[Floats, "6 6"] | None
    margin: float | None
    runner_up: tuple[str, str] | None
    rotation: Vector
    passing: float | None = None
    time: tuple[float, float] | None = None
    axis_covariance: Annotated[Floats, "6 6"] | None = None
    line_95: float | None = None
    support: float | None = None
    rivals: tuple[tuple[str, str], ...] = ()
    explained: float | None = None
    main_child: Vector | None = None
    main_parent: Vector | None = None
    main_share: float | None = None
    pitch: float | None = None
    travel: float | None = None

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def half_width(self) -> float | None:
        """[m] half-width of the centre's 95 % interval where it is widest; None without one.

        Directions that are held count as known: of a hinge it is that of its line, at the point that is given.
        """
        return None if self.covariance is None else _widest(self.covariance)

    def with_covariance(self, covariance: Floats | None) -> Joint:
        """The joint with another covariance of its centre, and what follows from it."""
        line = _widest(covariance) if covariance is not None and self.kind in ONE_AXIS else None
        return replace(self, covariance=covariance, line_95=line)

    @property
    def axis_95(self) -> float | None:
        """[rad] half-width of the 95 % interval of a hinge's direction, where it is widest."""
        return None if self.axis_covariance is None else _widest(self.axis_covariance)


def _widest(covariance: Floats) -> float:
    """Largest half-width of a 95 % interval over both halves of a covariance (6, 6)."""
    halves = np.stack([covariance[:3, :3], covariance[3:, 3:]])
    return Z95 * float(np.sqrt(max(0.0, float(np.linalg.eigvalsh(halves)[:, -1].max()))))


@dataclass(frozen=True)
class Limb:
    """Distance on one body between two of its joints, each named by its child; all None where not determined.

    Where several sensors sit on one segment, a joint may be on another of them; `body` is that of the first joint.

    length, low, high  [m]  estimate and 95 % interval
    passing            [-]  share of the interval's variance from noise that changes from frame to frame
    between                 what was measured: two joints, a joint and a hinge's axis, or two axes. Of a link of a
                            machine, whose axes are known well, it is their shortest distance: 0 where they meet
    along              [m]  of such a link: the offset along the axis of `from_joint`, between the normals to the axis
                            before and to that of `to_joint`; along_95: half-width of its 95 % interval
    """

    body: str
    from_joint: str
    to_joint: str
    length: float | None
    low: float | None
    high: float | None
    between: Between = "joints"
    passing: float | None = None
    along: float | None = None
    along_95: float | None = None


@dataclass(frozen=True, eq=False)
class Placement:
    """Where a sensor sits on its body: a joint in the sensor's frame, and their distance with its 95 % interval.

    p_body_joint  (3,)  [m]
    distance, low, high [m]  low and high None where the point is not determined
    """

    body: str
    joint: str
    p_body_joint: Vector
    distance: float
    low: float | None
    high: float | None

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True)
class SensorNoise:
    """White noise of one sensor, standard deviation per axis: position [m], orientation [rad]."""

    body: str
    position: float
    orientation: float


@dataclass(frozen=True, eq=False)
class Slip:
    """A sensor that sits elsewhere on its body from a moment on; its poses since were moved back.

    frame, time  first frame after the slip, and its time [s]
    shift  (3,)  [m]    way of the sensor over its body, in its own axes of before
    turn   (3,)  [rad]  rotation vector of the sensor on its body, in the same axes; as far as the joints show it
    ratio        [-]    likelihood ratio of the step
    """

    body: str
    frame: int
    time: float
    shift: Vector
    turn: Vector
    ratio: float

    def __post_init__(self) -> None:
        freeze(self)

    @property
    def size(self) -> float:
        """Distance [m] by which the sensor moved."""
        return float(np.linalg.norm(self.shift))


@dataclass(frozen=True)
class Question:
    """A joint in question: its edge (parent, child), and the edges that may be right instead; none: not joined."""

    edge: tuple[str, str]
    rivals: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Verdict:
    """What a fit is worth as a whole.

    sure         how many of `joints` joints of the tree are sure: their support is 0.95 or more
    in_question  the others
    length_95    [-] largest half-width of a length's 95 % interval as a share of that length; None without lengths
    tone         good: nothing to look at; bad: no figure, or not to be used
    text         the same in sentences
    """

    sure: int
    joints: int
    in_question: tuple[Question, ...]
    length_95: float | None
    tone: Tone
    text: str


@dataclass(frozen=True, eq=False)
class Skeleton:
    """The articulated figure of a take, or the figures: joints on a forest.

    bodies    names, in the take's order
    roots     one per tree; loose: bodies joined to nothing
    joints    parents before children
    scale     factor that was applied to the recorded lengths
    markers   where the markers are on the bodies that were formed from markers
    fit_id    of the fit that it came from, as it stands in every file of that fit; None where it came from none
    verdict   what it is worth; None until it was judged
    own_tree  edges (parent, child) of the hierarchy that the recording brought along, where it has one
    slips     of sensors whose poses were moved back, in the order of time
    """

    bodies: tuple[str, ...]
    roots: tuple[str, ...]
    loose: tuple[str, ...]
    joints: tuple[Joint, ...]
    limbs: tuple[Limb, ...] = ()
    loops: tuple[Joint, ...] = ()
    sensors: tuple[Placement, ...] = ()
    findings: tuple[Finding, ...] = ()
    take: Mapping[str, Any] = field(default_factory=dict)
    method: str = "default"
    options: Mapping[str, Any] = field(default_factory=dict)
    conventions: Mapping[str, Any] = field(default_factory=dict)
    noise: tuple[SensorNoise, ...] = ()
    scale: float = 1.0
    markers: tuple[BodyMarker, ...] = ()
    fit_id: str | None = None
    condyle: str = __version__
    verdict: Verdict | None = None
    own_tree: tuple[tuple[str, str], ...] = ()
    slips: tuple[Slip, ...] = ()

    def joint(self, child: str) -> Joint:
        """The joint of a body with its parent; raises with the choices."""
        for joint in self.joints:
            if joint.child == child:
                return joint
        names = ", ".join(joint.child for joint in self.joints) or "none"
        raise UsageError(f"no joint named '{child}'; a joint is named by its child: {names}", code="unknown-joint")

    def limb(self, body: str, from_joint: str | None = None, to_joint: str | None = None) -> Limb:
        """The limb of a body; name its two joints where the body has more than two."""
        found = [
            limb
            for limb in self.limbs
            if limb.body == body
            and (from_joint is None or from_joint in (limb.from_joint, limb.to_joint))
            and (to_joint is None or to_joint in (limb.from_joint, limb.to_joint))
        ]
        if len(found) != 1:
            choices = ", ".join(f"{limb.body} {limb.from_joint}-{limb.to_joint}" for limb in found or self.limbs)
            raise UsageError(f"{len(found)} limbs fit '{body}'; there are {choices or 'none'}", code="unknown-limb")
        return found[0]

    @property
    def up(self) -> str | None:
        """The axis of the recording's world that points up, "z" or "-y"; None: not known."""
        given = self.conventions.get("up")
        return given if given in UP_AXES else None

    @property
    def named_loops(self) -> tuple[Joint, ...]:
        """The loop joints that were named to the fit; the others were found in the motion."""
        named = {frozenset(pair) for pair in self.options.get("loops", ())}
        return tuple(joint for joint in self.loops if frozenset((joint.child, joint.parent)) in named)

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) of every joint."""
        return tuple((joint.parent, joint.child) for joint in self.joints)

    def columns(self, joint: Joint) -> tuple[int, int]:
        """Where the child and the parent of a joint stand among the bodies."""
        return self.bodies.index(joint.child), self.bodies.index(joint.parent)

    @property
    def parent(self) -> dict[str, str | None]:
        """{body: parent}, None for roots and loose bodies."""
        table: dict[str, str | None] = dict.fromkeys(self.bodies)
        table.update({joint.child: joint.parent for joint in self.joints})
        return table

    def to_dataframe(self, of: Literal["limbs", "joints"] = "limbs") -> Any:
        """A pandas DataFrame of the lengths [m] with their intervals, or of the joints with their residuals [m]."""
        pandas = import_extra("pandas", "notebook")
        if of == "limbs":
            names = ("body", "from_joint", "to_joint", "length", "low", "high", "between")
            return pandas.DataFrame([{name: getattr(one, name) for name in names} for one in self.limbs], columns=names)
        names = ("child", "parent", "kind", "residual", "explained", "support", "frames")
        return pandas.DataFrame([{name: getattr(one, name) for name in names} for one in self.joints], columns=names)

    def _repr_html_(self) -> str:
        from .html import render_skeleton

        return render_skeleton(self)

    def __str__(self) -> str:
        seconds, frames = self.take.get("seconds"), self.take.get("frames")
        count = len(self.take.get("sensors", self.bodies)) - bool(self.options.get("world"))
        head = many(count, "sensor")
        if frames is not None and seconds is not None:
            head += f", {many(frames, 'frame')}, {seconds:.1f} s"
        return f"{head}. {self.verdict.text if self.verdict else many(len(self.joints), 'joint')}"
