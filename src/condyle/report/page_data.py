"""What the page shows: one definition for Python, which fills it, and for the page, whose types are generated from it.

Bodies and joints are told by their place in `bodies` and `joints`. Lengths are metres, angles radians, time seconds;
the page shows millimetres and degrees. Names come from files: the page may only ever set them as text.
"""

from __future__ import annotations

from typing import Literal

import msgspec

FORMAT = "condyle.page"
VERSION = 1
WEIGHT_STEPS = 15  # a packed weight of so much stands for 1

Vector = tuple[float, float, float]


class _Value(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A constant value."""


class Verdict(_Value, frozen=True):
    """The sentence that is read from two metres. tone: good: nothing to look at; bad: no figure, or not to be used."""

    text: str
    tone: Literal["good", "look", "bad"]


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


class PageJoint(_Value, frozen=True):
    """One joint of the tree, or a loop joint, named by its child.

    child, parent    places in `bodies`
    sigma            [m] standard deviations of the joint's place in the child along its own principal axes, descending;
                     None where not determined
    margin           times the gap would grow with the best other edge, `runner_up`, in its place
    rotation         [rad] rms relative rotation about the pair's own axes, descending
    verdict, advice  how well it was exercised, and what to move more
    gap_step         [m] of the packed gaps
    p50, p95, largest [m] of the gap's length over all frames with weight
    """

    child: int
    parent: int
    kind: Literal["ball", "hinge", "rigid", "undetermined"]
    point: Literal["determined", "arbitrary"]
    p_child_joint: Vector
    p_parent_joint: Vector
    axis_child: Vector | None
    axis_parent: Vector | None
    play: float | None
    residual: float
    frames: int
    sigma: Vector | None
    margin: float | None
    runner_up: tuple[int, int] | None
    rotation: Vector
    verdict: Literal["enough", "weak", "not determined"]
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
    p_child_joint: Vector
    p_parent_joint: Vector
    residual: float
    start: float
    end: float


class PageLimb(_Value, frozen=True):
    """Distance on one body between two of its joints (places in `joints`) with its 95 % interval, all in m."""

    body: int
    from_joint: int
    to_joint: int
    between: Literal["joints", "joint and axis", "axes"]
    length: float | None
    low: float | None
    high: float | None


class PagePlacement(_Value, frozen=True):
    """A joint (place in `joints`) in the frame of a sensor on one of its bodies; their distance, its interval, in m."""

    body: int
    joint: int
    p_body_joint: Vector
    distance: float
    low: float | None
    high: float | None


class PageFinding(_Value, frozen=True):
    """What is to be known, most pressing first. time [s]: (start, end)."""

    code: str
    severity: Literal["info", "warning", "error"]
    bodies: tuple[int, ...]
    time: tuple[float, float] | None
    value: float | None
    unit: str | None
    text: str


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
    """The measured and the played motion, packed. docs/report.md states the format and its precision.

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
    origin: Vector
    up: str | None
    low: Vector
    high: Vector
    free: tuple[int, ...]
    breaks: tuple[int, ...]
    starts: tuple[float, ...]
    pieces: tuple[Piece, ...]


class PageData(_Value, frozen=True):
    """Everything on the page."""

    format: str
    version: int
    condyle: str
    title: str
    verdict: Verdict
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
