"""live/sources/mvn.py: datagrams by the published layout, with the poses of a real recording of MVN."""

from __future__ import annotations

import socket
import struct
import time
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.io.formats import read_recording
from condyle.live.source import PacketError
from condyle.live.sources.mvn import MVN_HEADER, MVN_SEGMENTS, name_segment, open_source, read_datagram
from tests.live.hostile import check
from tests.live.sources.test_osc import free_port


def datagram(
    milliseconds: int, poses: np.ndarray, kind: bytes = b"MXTP02", character: int = 0, first: int = 1
) -> bytes:
    """Poses (k, 7) of segments from a number on."""
    items = b"".join(struct.pack(">i7f", first + k, *row) for k, row in enumerate(poses.tolist()))
    head = MVN_HEADER.pack(
        kind, milliseconds, 0x80, len(poses), milliseconds, character, len(poses), 0, 0, 0, len(items)
    )
    return head + items


POSES = np.arange(23 * 7, dtype=float).reshape(23, 7)


def test_a_datagram_is_a_time_and_segments_by_number() -> None:
    assert len(datagram(1500, POSES)) == 760  # as MVN sends them for 23 segments
    found = read_datagram(datagram(1500, POSES, character=1))
    assert found is not None
    assert (found.time, found.character, found.ids.tolist()) == (1.5, 1, list(range(1, 24)))
    assert found.poses.tolist() == POSES.tolist()
    assert read_datagram(datagram(1500, POSES, kind=b"MXTP13")) is None  # names, scales and the like


def test_what_is_none_is_refused() -> None:
    for raw in (b"", datagram(1, POSES)[:-1], b"x" * 760):
        with pytest.raises(PacketError):
            read_datagram(raw)


@pytest.mark.sized
def test_hostile_datagrams_are_read_or_refused_in_bounded_time_and_memory() -> None:
    check(read_datagram, [datagram(1500, POSES), datagram(7, POSES[:2])], "mvn")


def test_segments_have_the_names_of_the_file_format() -> None:
    assert len(MVN_SEGMENTS) == 23
    assert (name_segment(0, 1), name_segment(1, 23), name_segment(0, 30)) == ("Pelvis", "2/LeftToe", "segment 30")


def test_a_recording_of_mvn_comes_through_the_socket(shared_data: Path) -> None:
    found = sorted((shared_data / "xsens_mvnx").glob("*.mvnx"))
    if not found:
        pytest.skip("no recording of MVN")
    bodies = read_recording(found[0]).bodies
    assert bodies is not None
    assert set(bodies.names) <= set(MVN_SEGMENTS)
    order = [bodies.names.index(name) for name in MVN_SEGMENTS if name in bodies.names]
    assert len(order) == 23
    poses = np.concatenate([bodies.position[:50, order], bodies.orientation[:50, order]], axis=2).astype(np.float32)
    port = free_port()
    source = open_source(str(port))
    got, end = [], time.monotonic() + 10
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for k, frame in enumerate(poses):
            for part in (slice(0, 12), slice(12, 23)):  # a sample may come in several datagrams
                sender.sendto(datagram(10 * k, frame[part], first=part.start + 1), ("127.0.0.1", port))
            got += source.read(0.02)
        while len(got) < len(poses) and time.monotonic() < end:
            got += source.read(0.05)
    source.close()
    assert [packet.device_time for packet in got] == [k / 100 for k in range(len(poses))]
    assert got[0].layout.bodies == MVN_SEGMENTS
    assert got[0].layout.solved_by == "Xsens MVN"
    values = np.stack([packet.values for packet in got])
    assert np.array_equal(values[:, :69].reshape(-1, 23, 3), poses[:, :, :3])
    assert np.array_equal(values[:, 69:].reshape(-1, 23, 4), poses[:, :, 3:])


def test_a_port_that_is_none_and_a_datagram_that_is_none_are_told() -> None:
    with pytest.raises(UsageError, match="is no port such as mvn:9763"):
        open_source("x")
    port = free_port()
    source = open_source(str(port))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x" * 40, ("127.0.0.1", port))
        source.read(1.0)
    assert (source.bad_packets, source.fault) == (1, "is no datagram of MVN")
    source.close()
