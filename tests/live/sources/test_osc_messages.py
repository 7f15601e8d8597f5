"""live/sources/_osc_messages.py: what python-osc writes is read, and hostile datagrams are refused."""

from __future__ import annotations

import struct

import pytest

from condyle.live.source import PacketError
from condyle.live.sources._osc_messages import MOST_MESSAGES, OscMessage, read_messages
from tests.live.hostile import check

osc_bundle_builder = pytest.importorskip("pythonosc.osc_bundle_builder", reason="python-osc is not installed")
from pythonosc.osc_message_builder import OscMessageBuilder  # noqa: E402


def message(address: str, *arguments: object, kinds: str = ""):
    builder = OscMessageBuilder(address)
    for k, one in enumerate(arguments):
        builder.add_arg(one, kinds[k] if kinds else None)
    return builder.build()


def bundle(*parts: object):
    builder = osc_bundle_builder.OscBundleBuilder(osc_bundle_builder.IMMEDIATELY)
    for part in parts:
        builder.add_content(part)
    return builder.build()


TRACKERS = bundle(*(message("/VMC/Ext/Tra/Pos", f"t{k}", 0.5, 1.5, 2.5, 0.0, 0.0, 0.0, 1.0) for k in range(20)))


def test_messages_of_every_kind_are_read_as_python_osc_writes_them() -> None:
    sent = message("/a/b", 7, 1.5, "word", True, False, None, b"blob!", 2.5, 2**40, kinds="ifsTFNbdh")
    assert read_messages(sent.dgram) == [OscMessage("/a/b", (7, 1.5, "word", True, False, None, 2.5, 2**40))]
    assert read_messages(message("/empty").dgram) == [OscMessage("/empty", ())]


def test_bundles_in_bundles_are_read_in_order() -> None:
    sent = bundle(message("/1", 1), bundle(message("/2", 2), message("/3", 3)), message("/4", 4))
    assert [one.address for one in read_messages(sent.dgram)] == ["/1", "/2", "/3", "/4"]
    assert len(read_messages(TRACKERS.dgram)) == 20


def nested(depth: int) -> bytes:
    raw = message("/a").dgram
    for _ in range(depth):
        raw = b"#bundle\0" + bytes(8) + struct.pack(">i", len(raw)) + raw
    return raw


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"no slash\0\0\0\0",
        b"/a\0\0no comma\0\0\0\0",
        b"/a\0\0,z\0\0",
        b"/a\0\0,f\0\0\0\0",
        b"/" + b"a" * 300,
        b"#bundle\0",
        b"#bundle\0" + bytes(8) + struct.pack(">i", -4),
        b"#bundle\0" + bytes(12),
        nested(5),
        b"#bundle\0" + bytes(8) + (struct.pack(">i", 8) + b"/a\0\0,\0\0\0") * (MOST_MESSAGES + 1),
    ],
)
def test_what_is_no_osc_is_refused(raw: bytes) -> None:
    with pytest.raises(PacketError):
        read_messages(raw)


@pytest.mark.sized
def test_hostile_datagrams_are_read_or_refused_in_bounded_time_and_memory() -> None:
    mixed = message("/a", 7, 1.5, "word", b"blob!", 2.5, kinds="ifsbd")
    check(read_messages, [TRACKERS.dgram, mixed.dgram, bundle(mixed, bundle(mixed)).dgram], "osc")
