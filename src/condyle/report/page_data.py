"""What the page shows: one definition for Python, which fills it, and for the page, whose types are generated from it.

Bodies and joints are told by their place in `bodies` and `joints`. Lengths are metres, angles radians, time seconds;
the page shows millimetres and degrees. Names come from files: the page may only ever set them as text. What the page
has of a joint, a limb, a placement or a finding are the fields of those in `model`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, get_type_hints

import msgspec

from ..findings import Finding
from ..io.values import plain_type
from ..model.axes import Measured
from ..model.skeleton import SURE_SUPPORT as SURE_SUPPORT  # the page marks joints below it
from ..model.skeleton import Joint, Limb, Placement, Tone
from ..result.coverage import NEEDED_TURN_DEG as NEEDED_TURN_DEG  # beside what turned too little
from ..result.coverage import Sufficiency

FORMAT = "condyle.page"
VERSION = 1
WEIGHT_STEPS = 15  # a packed weight of so much stands for 1
NO_ANGLE = -32768  # a packed angle that is not known

Triple = tuple[float, float, float]


class _Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A constant value."""


PLACE_TYPES = {  # fields that name bodies or joints in `model`, and have their places on the page
    **dict.fromkeys(("child", "parent", "body", "joint", "from_joint", "to_joint"), int),
    "runner_up": tuple[int, int] | None,
    "rivals": tuple[tuple[int, int], ...],
    "bodies": tuple[int, ...],
}


def _by_place(kind: type, *left_out: str) -> Any:
    """A struct with the fields of a class of `model` but some, what names bodies and joints telling their places."""
    hints = get_type_hints(kind, include_extras=True)
    names = [one.name for one in fields(kind) if one.name not in left_out]
    types = [(name, PLACE_TYPES[name] if name in PLACE_TYPES else plain_type(hints[name])) for name in names]
    return msgspec.defstruct(f"_{kind.__name__}", types, bases=(_Value,), frozen=True, forbid_unknown_fields=True)


class PageVerdict(_Value, frozen=True):
    """The sentence that is read from two metres. tone: good: nothing to look at; bad: no figure, or not to be used.

    sure       joints that are sure
    length_95  largest half-width of a length's interval as a share of that length; None where not known
    """

    text: str
    tone: Tone
    sure: int
    length_95: float | None


class PageBody(_Value, frozen=True):
    """One sensor with the body under it.

    figure       number of the tree it belongs to, -1 where it is joined to nothing
    noise        standard deviation per axis, position [m] and orientation [rad]; None where not told
    masked       frames that did not count, of the take's
    """

    name: str
    figure: int
    root: bool
    world: bool
    noise_position: float | None
    noise_orientation: float | None
    masked: int


_NOT_SHOWN = (
    *("singular_values", "covariance", "passing", "time", "axis_covariance", "line_95"),
    *("main_child", "main_parent", "main_share", "pitch", "travel"),
)


class PageJoint(_by_place(Joint, *_NOT_SHOWN)):  # type: ignore[misc]
    """One joint of the tree, or a loop joint, named by its child.

    child, parent    places in `bodies`
    place_95         [m] half-widths of the 95 % interval of the joint's place in the child along its principal axes,
                     descending; half_width: the widest in both bodies, as findings tell it; None where not determined
    margin           times the gap would grow with the best other edge, `runner_up`, in its place
    support          lower bound of the chance that the edge is right, and `rivals` that may stand in its place
    explained        [m] rms gap that noise and skin explain
    rotation         [rad] rms relative rotation about the pair's own axes, descending
    verdict, advice  how well it was exercised, and what to move more
    gap_step         [m] of the packed gaps
    p50, p95, largest [m] of the gap's length over all frames with weight
    """

    place_95: Triple | None
    half_width: float | None
    verdict: Sufficiency
    advice: str
    gap_step: float
    p50: float
    p95: float
    largest: float


class PageConnection(_Value, frozen=True):
    """A stretch in which two bodies are joined: a line of the timeline.

    joint   place in `joints` of a tree joint that holds for part of the take only; None for a loop
    p_child_joint, p_parent_joint  [m] the point on both bodies
    start, end  [s]
    """

    child: int
    parent: int
    joint: int | None
    p_child_joint: Triple
    p_parent_joint: Triple
    residual: float
    start: float
    end: float


class PageLimb(_by_place(Limb, "passing")):  # type: ignore[misc]
    """Distance on one body between two of its joints (places in `joints`) with its 95 % interval, all in m."""


class PagePlacement(_by_place(Placement)):  # type: ignore[misc]
    """A joint (place in `joints`) in the frame of a sensor on one of its bodies; their distance, its interval, in m."""


class PageFinding(_by_place(Finding, "unit", "frame", "count")):  # type: ignore[misc]
    """What is to be known, most pressing first. title: what to do, of a note what it is about; cause:
    what it has in common with others; time [s]: (start, end).
    """

    title: str
    cause: str
    unit: str | None


class PageSlip(_Value, frozen=True):
    """Where a sensor sat on its body from `start` to `end` [s], seen from where it is drawn: its place [m] and its
    turn, a rotation vector [rad].
    """

    body: int
    start: float
    end: float
    shift: Triple
    turn: Triple


class PageRecorded(_Value, frozen=True):
    """The gap of a joint (place in `joints`) before sensors were moved back.

    step    [m] what 1 stands for
    values  base64 of 16-bit whole numbers, lowest byte first, evenly over the shown frames; 0: as it is now
    """

    joint: int
    step: float
    values: str


class PageTurn(_Value, frozen=True):
    """How far a body turned [rad, rms about one axis] against `other`, the body that it turned most against."""

    body: int
    other: int
    turned: float


class PageAngle(_Value, frozen=True):
    """One joint angle over time.

    panel      what it is shown under with the other side's, "knee flexion"; side "l", "r" or "" for the middle
    body       the distal body
    low, high, median  [rad] over all frames; None where it is never known
    level      [rad] standard error of its offset, course of its curve, as the frames' errors make them; None: open
    noise      [rad] of a single frame
    definition its offset depends on how a frame was defined
    values     base64 of 16-bit whole numbers, lowest byte first, evenly over the shown frames; NO_ANGLE: not known
    """

    name: str
    panel: str
    side: str
    body: int
    low: float | None
    high: float | None
    median: float | None
    level: float | None
    course: float | None
    noise: float | None
    definition: bool
    values: str


class PageAngles(_Value, frozen=True):
    """The joint angles, by ISB. step [rad]: what 1 stands for in `values`; made: (segment, how its frame was made)."""

    title: str
    neutral: str
    heading: str
    note: str
    step: float
    columns: tuple[PageAngle, ...]
    made: tuple[tuple[str, str], ...]


class PageMeasured(_by_place(Measured)):  # type: ignore[misc]
    """A number of a machine with the half-width of its 95 % interval, in m or rad. free: what the motion alone says,
    where the value is that of a special case."""


class PageAxis(_Value, frozen=True):
    """One axis of a chain. outer: the body behind it. low, high: [rad] of its angle from the zero, of a slider [m]."""

    outer: int
    kind: str
    lie: str | None
    distance: PageMeasured | None
    angle: PageMeasured | None
    offset: PageMeasured
    theta: PageMeasured
    low: float
    high: float


class PageChain(_Value, frozen=True):
    """A chain of axes of a machine. zero [s] of the take; standard: rows of theta, d, a, alpha; screws: rows (z, p x z)
    in the frame of the base; played [m, rad]: rms between the tool as recorded and by the table."""

    base: int
    tool: int
    still: bool
    zero: float
    played: tuple[float, float] | None
    rows: tuple[PageAxis, ...]
    standard: tuple[tuple[float, ...], ...]
    screws: tuple[tuple[float, ...], ...]


class Masked(_Value, frozen=True):
    """A stretch in which a body was seen badly or not at all, in s."""

    body: int
    start: float
    end: float


class Made(_Value, frozen=True):
    """How it was made: pairs of a label and what stands there, in groups; enough to repeat it."""

    group: str
    rows: tuple[tuple[str, str], ...]


class Piece(_Value, frozen=True):
    """Frames that unpack by themselves: `frames` shown ones from number `first` on.

    data   base64 of a raw deflate stream, see `pack.py`; empty where the piece is fetched from `url`
    """

    first: int
    frames: int
    data: str
    url: str


class PageMotion(_Value, frozen=True):
    """The measured and the played motion, packed. pack.py states the form, docs/report.md its precision.

    frames           shown frames; every `every`-th frame of the take
    rate             [Hz] of shown frames, median; 0 where there are fewer than two
    timed            False where time was made up from a count of frames
    position_step    [m], orientation_step [rad], time_step [s]: what 1 stands for
    origin           [m] from which packed places are counted
    up               world axis that points up, as x, -y, ...; None where not known
    low, high        [m] the box that holds nearly every measured position of every body; spikes may lie outside
    free             bodies whose played place is packed; of all others it follows from the joints
    breaks           shown frames at which a new recording begins, 0 not among them; time may jump there
    starts           [s] time of the first shown frame of every recording, from which packed times are counted: one
                     more than there are breaks
    """

    frames: int
    every: int
    rate: float
    timed: bool
    position_step: float
    orientation_step: float
    time_step: float
    origin: Triple
    up: str | None
    low: Triple
    high: Triple
    free: tuple[int, ...]
    breaks: tuple[int, ...]
    starts: tuple[float, ...]
    pieces: tuple[Piece, ...]


class PageData(_Value, frozen=True):
    """Everything on the page. exports: (name, what it is) of the formats that the server of the page writes."""

    format: str
    version: int
    condyle: str
    title: str
    verdict: PageVerdict
    seconds: float
    frames: int
    bodies: tuple[PageBody, ...]
    joints: tuple[PageJoint, ...]
    loops: tuple[PageJoint, ...]
    connections: tuple[PageConnection, ...]
    limbs: tuple[PageLimb, ...]
    placements: tuple[PagePlacement, ...]
    findings: tuple[PageFinding, ...]
    masked: tuple[Masked, ...]
    made: tuple[Made, ...]
    motion: PageMotion | None
    angles: PageAngles | None = None
    chains: tuple[PageChain, ...] = ()
    slips: tuple[PageSlip, ...] = ()
    recorded: tuple[PageRecorded, ...] = ()
    turns: tuple[PageTurn, ...] = ()
    exports: tuple[tuple[str, str], ...] = ()


def to_triple(values: Iterable[float]) -> Triple:
    x, y, z = (float(value) for value in values)
    return x, y, z
