"""live/sources/_natnet_packets.py: captured traffic against what the vendor's client printed, and hostile packets."""

from __future__ import annotations

import re
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from condyle.live.source import PacketError
from condyle.live.sources._natnet_packets import (
    FRAME_MESSAGE,
    MODELS,
    SERVER_INFO,
    NatNetFrame,
    Server,
    pack_message,
    read_frame,
    read_head,
    read_models,
    read_server,
)
from tests.live.hostile import MOST_BYTES, MOST_SECONDS, attack, check
from tests.make import natnet

POSES = [(1, (0.5, 1.25, -2.0), (0.0, 0.0, 0.0, 1.0), True), (7, (9.0, 9.0, 9.0), (0.5, 0.5, 0.5, 0.5), False)]
VERSIONS = [(3, 0), (4, 0), (4, 1), (4, 2)]


def frame_of(data: bytes, version: tuple[int, int] = (3, 0)) -> NatNetFrame:
    kind, cursor = read_head(data)
    assert kind == FRAME_MESSAGE
    return read_frame(cursor, version)


@pytest.fixture
def traffic(shared_data: Path) -> list[bytes]:
    """What the server sent in the captured traffic."""
    folder = shared_data / "natnet_v3"
    if not folder.is_dir():
        pytest.skip("no captured NatNet traffic")
    return [data for port, data in natnet.read_capture(folder / "traffic.pcapng") if port in (1510, 1511)]


def test_captured_frames_are_what_the_vendor_s_client_printed(traffic: list[bytes], shared_data: Path) -> None:
    frames = {one.number: one for data in traffic if read_head(data)[0] == FRAME_MESSAGE for one in [frame_of(data)]}
    assert len(frames) == 518
    printed = (shared_data / "natnet_v3" / "SampleClient_output.txt").read_text()
    compared = 0
    for part in printed.split("FrameID : ")[1:]:
        number = int(part.split()[0])
        if number not in frames:
            continue
        one = frames[number]
        time = re.search(r"Timestamp : ([\d.]+)", part)
        body = re.search(r"\[ID=(\d+)  Error=\S+  Valid=(\d)\]\s+x\s.*\n\s*(.*)", part)
        assert time is not None
        assert body is not None
        assert one.time == pytest.approx(float(time[1]), abs=0.0051)
        assert (one.ids.tolist(), one.tracked.tolist()) == ([int(body[1])], [body[2] == "1"])
        numbers = [float(word) for word in body[3].split()]
        assert [*one.position[0], *one.quaternion[0]] == pytest.approx(numbers, abs=0.0051)
        compared += 1
    assert compared == 251


def test_captured_frames_come_at_the_rate_that_the_server_said(traffic: list[bytes]) -> None:
    times = np.array([frame_of(data).time for data in traffic if read_head(data)[0] == FRAME_MESSAGE])
    assert np.diff(times) == pytest.approx(1 / 120, abs=0.0005)


def test_captured_server_and_names(traffic: list[bytes], shared_data: Path) -> None:
    found = dict(map(read_head, traffic))
    assert read_server(found[SERVER_INFO]) == Server("Motive", (3, 0), 1511, "239.255.42.99")
    assert read_models(found[MODELS], (3, 0)) == {2: "RaceQuad"}
    occluded = (shared_data / "natnet_v3" / "mocapframe_packet_occluded_v3.bin").read_bytes()
    one = frame_of(occluded)
    assert (one.number, one.ids.tolist(), one.tracked.tolist()) == (269_007, [7], [True])


@pytest.mark.parametrize("version", VERSIONS)
def test_frames_and_names_of_every_version_by_the_published_layout(version: tuple[int, int]) -> None:
    one = frame_of(natnet.frame(version, 5, 12.5, POSES), version)
    assert (one.number, one.time, one.ids.tolist(), one.tracked.tolist()) == (5, 12.5, [1, 7], [True, False])
    assert one.position.tolist() == [[0.5, 1.25, -2.0], [9.0, 9.0, 9.0]]
    assert one.quaternion.tolist() == [[0, 0, 0, 1], [0.5, 0.5, 0.5, 0.5]]
    names = {1: "hip", 7: "thigh"}
    assert read_models(read_head(natnet.models(version, names))[1], version) == names
    assert read_server(read_head(natnet.server_info(version))[1]) == Server("Motive", version, 1511, None)


def test_an_older_version_is_named() -> None:
    with pytest.raises(PacketError, match=r"speaks NatNet 2\.9; 3 and 4 are read"):
        read_server(read_head(natnet.server_info((2, 9)))[1])


def test_a_time_that_is_no_number_is_refused() -> None:
    with pytest.raises(PacketError, match="time is no number"):
        frame_of(natnet.frame((3, 0), 1, float("nan"), POSES))


def decode(version: tuple[int, int]):
    def run(data: bytes) -> None:
        kind, cursor = read_head(data)
        if kind == SERVER_INFO:
            read_server(cursor)
        elif kind == MODELS:
            read_models(cursor, version)
        else:
            read_frame(cursor, version)

    return run


@pytest.mark.sized
@pytest.mark.parametrize("version", VERSIONS)
def test_hostile_packets_are_read_or_refused_in_bounded_time_and_memory(version: tuple[int, int]) -> None:
    seeds = [
        natnet.frame(version, 5, 12.5, POSES * 20),
        natnet.models(version, {k: f"body {k}" for k in range(20)}),
        natnet.server_info(version),
    ]
    check(decode(version), seeds, f"natnet {version}")


@pytest.mark.parametrize(
    "raw",
    [
        pack_message(FRAME_MESSAGE, struct.pack("<ii", 1, 500) + bytes(5) * 13_000),
        pack_message(FRAME_MESSAGE, struct.pack("<iiiii", 1, 0, 0, 0, 500) + bytes(60_000)),
        pack_message(MODELS, struct.pack("<ii", 1, 0) + b"\0" + struct.pack("<i", 999) + bytes(60_000)),
        pack_message(MODELS, struct.pack("<ii", 400, 0) + bytes(60_000)),
    ],
    ids=["sets", "skeletons", "names", "models"],
)
def test_packets_made_to_be_slow_stay_within_bounds(raw: bytes) -> None:
    """As many sets, skeletons and names as the bounds allow."""

    def tried(_: bytes) -> None:
        with suppress(PacketError):
            decode((4, 0))(raw)

    outcome = attack(tried, [raw], 20, "slow")
    assert outcome.slowest < MOST_SECONDS
    assert outcome.largest < MOST_BYTES
