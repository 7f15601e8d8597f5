"""Session logs and packets, as sources give them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from condyle.io.log_records import FRAME_RECORD, LAYOUT, Layout, LogRecord, encode_frame, encode_layout
from condyle.live.recorder import Recorder
from condyle.live.source import Packet
from condyle.maths import rotation
from condyle.model.recording import Convention
from condyle.model.take import Take
from condyle.simulate import Disturbances, human, simulate

QUATERNIONS = Convention("wxyz", unit="m", stated=frozenset({"rotation", "unit"}))


def layout(*bodies: str, source: str = "lsl:room", markers: Sequence[str] = (), clock: str = "device") -> Layout:
    return Layout(source, tuple(bodies), tuple(markers), QUATERNIONS, clock)  # type: ignore[arg-type]


def packets(one: Layout, count: int, *, rate: float = 100.0, first: int = 0, offset: float = 1e9) -> list[Packet]:
    """So many packets whose numbers tell the frame and the place; they arrive a millisecond late."""
    rng = np.random.default_rng(3)
    found = []
    for k in range(first, first + count):
        values = k + np.arange(one.width) / 1000
        m = len(one.bodies)
        turn = rng.normal(size=(m, 4))
        values[3 * m : 7 * m] = (turn / np.linalg.norm(turn, axis=1, keepdims=True)).ravel()
        found.append(Packet(one, k / rate, offset + k / rate + 0.001, values))
    return found


def write_log(path: Path, sent: Sequence[Packet], *, close: bool = True) -> Path:
    recorder = Recorder(path)
    for packet in sent:
        recorder.write(packet)
    if close:
        recorder.close()
    return path


def walk(seconds: float = 8.0, rate: float = 60.0, seed: int = 4) -> list[Packet]:
    """A simulated person as packets of one source."""
    return stream(simulate(human(), "exercise", seconds=seconds, rate=rate, seed=seed).take)


def person(
    seconds: float = 20.0, rate: float = 30.0, seed: int = 4, motion: str = "exercise", **disturbances: object
) -> Take:
    """A simulated person under cloth, whose sensors may slip."""
    how = Disturbances(
        **{"position_noise": 0.0015, "orientation_noise": 0.0026, "soft_tissue": 0.005, **disturbances}  # type: ignore[arg-type]
    )
    return simulate(human(), motion, seconds=seconds, rate=rate, seed=seed, disturbances=how).take  # type: ignore[arg-type]


def stream(take: Take, source: str = "lsl:room", offset: float = 1e9) -> list[Packet]:
    """A take as packets of one source; they arrive a constant time after they were measured."""
    one = layout(*take.names, source=source)
    turn = rotation.to_quaternion(take.R_world_body)
    rows = np.concatenate([take.p_world_body.reshape(take.frames, -1), turn.reshape(take.frames, -1)], axis=1)
    return [Packet(one, float(t), offset + float(t), row) for t, row in zip(take.time, rows, strict=True)]


def records(sent: Sequence[Packet]) -> list[LogRecord]:
    """Packets as the records of a log."""
    layouts = {id(packet.layout): packet.layout for packet in sent}
    number = {key: k for k, key in enumerate(layouts)}
    out = [LogRecord(LAYOUT, memoryview(encode_layout(number[key], one))) for key, one in layouts.items()]
    for one, device, arrival, values, segment in sent:
        payload = encode_frame(number[id(one)], segment, device, arrival, values)
        out.append(LogRecord(FRAME_RECORD, memoryview(payload)))
    return out
