"""Where the numbers of a C3D file stand: how many frames of how many points, how wide, and from which byte on.

The header and the parameters both say it, and they do not always agree. Then the file's size decides, and where it does
not, the file is refused: a wrong count would turn every number after it into another one.
"""

from __future__ import annotations

import itertools
import math

from ...errors import CondyleError
from ...model.values import dataclass
from ._c3d_parameters import C3D_BLOCK_BYTES, Numbers, Parameters

ROTATION_WORDS = 17  # a 4x4 matrix by columns, and how reliable it is
COUNTER_FULL = 65535  # the largest number of frames that 16 bits hold; it stands for any larger one as well


@dataclass(frozen=True)
class C3dHeader:
    """The first block. points, analog: numbers per frame; first, last: frames; start: block of the data; rate [Hz]."""

    points: int
    analog: int
    first: int
    last: int
    scale: float
    start: int
    samples: int
    rate: float

    @classmethod
    def of(cls, raw: bytes, numbers: Numbers) -> C3dHeader:
        count, number = numbers.count_at, numbers.float_at
        return cls(
            points=count(raw, 2),
            analog=count(raw, 4),
            first=count(raw, 6),
            last=count(raw, 8),
            scale=number(raw, 12),
            start=count(raw, 16),
            samples=count(raw, 18),
            rate=number(raw, 20),
        )

    @property
    def frames(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)
class PointLayout:
    """Frames of points, each followed by its analog samples.

    start   byte of the first frame
    scale   below zero: 32-bit floats; else 16-bit integers to be multiplied by it
    open    the counter of frames is full: the file may hold more than it can say
    """

    points: int
    analog: int
    frames: int
    start: int
    scale: float
    open: bool = False

    @property
    def width(self) -> int:
        """Bytes per number."""
        return 4 if self.scale < 0 else 2

    @property
    def stride(self) -> int:
        """Bytes per frame."""
        return (4 * self.points + self.analog) * self.width

    @property
    def end(self) -> int:
        return self.start + self.frames * self.stride

    def present(self, limit: int) -> int:
        """Whole frames before byte `limit`."""
        if not self.stride:
            return self.frames
        return max(min(self.frames, (limit - self.start) // self.stride), 0)


@dataclass(frozen=True)
class Rotations:
    """4x4 matrices, `frames` of `used` each from byte `start` on; `ratio` of them for every frame of points."""

    used: int
    start: int
    ratio: int
    frames: int
    rate: float | None

    @property
    def stride(self) -> int:
        return self.used * ROTATION_WORDS * 4

    def present(self, size: int) -> int:
        return max(min(self.frames, (size - self.start) // self.stride), 0)


def find_layout(header: C3dHeader, parameters: Parameters, size: int) -> PointLayout:
    """The layout of the points in a file of `size` bytes; raises where header and parameters contradict each other."""
    scales = [s for s in (parameters.number("POINT:SCALE"), header.scale) if s and math.isfinite(s)]
    if not scales:
        raise CondyleError("neither the header nor POINT:SCALE holds a scale other than zero", code="bad-header")
    starts = [s for s in (header.start, parameters.count("POINT:DATA_START")) if s is not None and s > 1]
    if not starts:
        raise CondyleError("neither the header nor POINT:DATA_START says where the data begin", code="bad-header")
    points = [k for k in (parameters.count("POINT:USED"), header.points or None) if k is not None] or [0]
    told: dict[str, tuple[float, ...]] = {
        "scale": tuple(dict.fromkeys(s if s > 0 else -1.0 for s in scales)),
        "data start": tuple(dict.fromkeys(starts)),
        "points": tuple(dict.fromkeys(points)),
        "analog samples": tuple(dict.fromkeys(_count_analog(header, parameters))),
    }
    after = find_rotation_start(parameters)
    frames, full = _find_frames(header, parameters)
    first = None
    for (scale, start, used, analog), count in itertools.product(itertools.product(*told.values()), frames):
        layout = PointLayout(int(used), int(analog), count, (int(start) - 1) * C3D_BLOCK_BYTES, scale)
        limit = after if after > layout.start else size
        if 0 <= limit - layout.end <= C3D_BLOCK_BYTES:
            return layout
        first = first or layout
    assert first is not None
    for what, values in told.items():
        if len(values) > 1:
            listed = " and ".join(f"{value:g}" for value in values)
            text = f"header and parameters disagree ({what}: {listed}), and the file's {size} bytes fit neither"
            raise CondyleError(text, code="bad-header")
    if full and first.stride:
        limit = after if after > first.start else size
        held = (limit - first.start) // first.stride
        if held > first.frames:
            return PointLayout(first.points, first.analog, held, first.start, first.scale, open=True)
    return first


def find_rotations(parameters: Parameters, frames: int, rate: float | None) -> Rotations | None:
    """The matrices of the ROTATION group beside `frames` of points at `rate`; None where there are none."""
    used, start = parameters.count("ROTATION:USED"), find_rotation_start(parameters)
    if not used:
        return None
    if not start:
        text = f"ROTATION:USED declares {used} rotations, but ROTATION:DATA_START does not say where they are"
        raise CondyleError(text, code="bad-header")
    own_rate, ratio = parameters.number("ROTATION:RATE"), parameters.number("ROTATION:RATIO")
    if own_rate is None or not (math.isfinite(own_rate) and own_rate > 0):
        own_rate = None
    by_rate = own_rate / rate if own_rate and rate else None
    if ratio is None:
        ratio = 1.0 if by_rate is None else by_rate
    whole = round(ratio) if math.isfinite(ratio) else 0
    if whole < 1 or abs(whole - ratio) > 1e-3 or (by_rate is not None and abs(by_rate / whole - 1) > 1e-3):
        text = (
            f"rotations at {own_rate or 0:g} Hz (ROTATION:RATIO {ratio:g}) beside points at {rate or 0:g} Hz: "
            "the rate must be a whole multiple, and the two must agree"
        )
        raise CondyleError(text, code="bad-header")
    count = parameters.count("ROTATION:FRAMES") or frames * whole
    return Rotations(used, start, whole, count, own_rate or (rate * whole if rate else None))


def find_rotation_start(parameters: Parameters) -> int:
    """First byte of the matrices, or 0 where there are none."""
    block = parameters.count("ROTATION:DATA_START") or 0
    return (block - 1) * C3D_BLOCK_BYTES if block > 1 and parameters.count("ROTATION:USED") else 0


def _count_analog(header: C3dHeader, parameters: Parameters) -> list[int]:
    used = parameters.count("ANALOG:USED")
    return [header.analog] if used is None else [header.analog, used * header.samples]


def _find_frames(header: C3dHeader, parameters: Parameters) -> tuple[list[int], bool]:
    """Numbers of frames that the file declares, the one to believe first, and whether its 16-bit counter is full."""
    stated = parameters.count("POINT:FRAMES")
    long = [parameters.count("POINT:LONG_FRAMES"), _count_trial(parameters)]
    short = [stated, header.frames]
    counted = next((count for count in short if count is not None and count > 0), None)
    # beyond 16 bits the counter is full, zero, or has run over; elsewhere the trial's fields may be those before a cut
    longer = [
        count
        for count in long
        if count is not None
        and count >= COUNTER_FULL
        and (counted is None or counted == COUNTER_FULL or counted == count % (COUNTER_FULL + 1))
    ]
    others = [count for count in (*short, *long) if count is not None and count > 0]
    frames = list(dict.fromkeys([*longer, *([counted] if counted else []), *others]))
    if not frames:
        raise CondyleError("neither the header nor POINT:FRAMES says how many frames there are", code="bad-header")
    return frames, counted == COUNTER_FULL and not longer


def _count_trial(parameters: Parameters) -> int | None:
    """Frames between TRIAL:ACTUAL_START_FIELD and TRIAL:ACTUAL_END_FIELD: two 16-bit halves each, the low one first."""
    ends = []
    for name in ("TRIAL:ACTUAL_START_FIELD", "TRIAL:ACTUAL_END_FIELD"):
        halves = parameters.values(name, unsigned=True)
        if not 1 <= len(halves) <= 2 or not all(0 <= half < 2**31 for half in halves):
            return None
        ends.append(int(halves[0]) + (int(halves[1]) << 16 if len(halves) == 2 else 0))
    count = ends[1] - ends[0] + 1
    return count if 0 < count < 2**31 else None
