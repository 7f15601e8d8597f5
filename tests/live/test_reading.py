"""live/reading.py: what the user says of a source goes into its packets, and so into the log."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.io.format import ReadOptions
from condyle.live.reading import (
    SourceWithOptions,
    apply_to_layout,
    changes_packets,
    check_streamed,
    keep_for_fit,
    leave_missing,
    share_names,
)
from condyle.live.source import Packet
from tests.make.sessions import layout, packets


class Given:
    """A source that gives what it was given."""

    word, ended, bad_packets, fault = "osc:9000", False, 0, ""
    has_markers_only = False

    def __init__(self, sent: list[Packet]) -> None:
        self.sent = sent

    def read(self, timeout: float) -> list[Packet]:
        sent, self.sent = self.sent, []
        return sent

    def close(self) -> None:
        self.ended = True


def test_how_numbers_are_read_is_said_in_the_layout() -> None:
    found = apply_to_layout(layout("hip", "thigh"), ReadOptions(unit="cm", quaternion="xyzw", up="y"))
    convention = found.layout.convention
    assert (convention.unit, convention.rotation, convention.up) == ("cm", "xyzw", "y")
    assert {"unit", "rotation", "up"} <= convention.given
    assert found.columns is None
    assert found.layout.bodies == ("hip", "thigh")


def test_an_option_that_cannot_apply_is_refused() -> None:
    with pytest.raises(UsageError, match="'euler' is for Euler angles, but this stream has quaternions"):
        apply_to_layout(layout("hip"), ReadOptions(euler="ZYX"))


def test_bodies_are_chosen_and_renamed_with_their_numbers() -> None:
    one = layout("base", "s1", "s2", markers=("wand",))
    sent = packets(one, 3)
    source = SourceWithOptions(Given(list(sent)), ReadOptions(drop="base", rename={"s2": "thigh"}))
    found = source.read(0.0)
    assert [packet.layout.bodies for packet in found] == [("s1", "thigh")] * 3
    assert found[0].layout is found[2].layout
    for packet, before in zip(found, sent, strict=True):
        position, turn = before.values[:9].reshape(3, 3), before.values[9:21].reshape(3, 4)
        assert np.array_equal(packet.values[:6].reshape(2, 3), position[1:])
        assert np.array_equal(packet.values[6:14].reshape(2, 4), turn[1:])
        assert np.array_equal(packet.values[14:], before.values[21:])
        assert len(packet.values) == packet.layout.width
    assert source.fault == ""


def test_a_body_that_is_not_there_is_told_and_may_still_come() -> None:
    source = SourceWithOptions(Given([*packets(layout("s1"), 1)]), ReadOptions(only=("s1", "s2")))
    assert source.read(0.0)[0].layout.bodies == ("s1",)
    assert source.fault == "no body named 's2'; it sends s1"
    source._source.sent = packets(layout("s1", "s2"), 1)  # type: ignore[attr-defined]
    assert source.read(0.0)[0].layout.bodies == ("s1", "s2")
    assert source.fault == ""


def test_a_body_that_is_named_may_be_at_any_source() -> None:
    reading = ReadOptions(only=("s1", "s2", "s3"), rename={"s2": "hip"})
    one = SourceWithOptions(Given(packets(layout("s1"), 1)), reading)
    other = SourceWithOptions(Given(packets(layout("s2", "base"), 1)), reading)
    share_names([one, other], reading)
    assert one.read(0.0)[0].layout.bodies == ("s1",)
    assert one.fault == ""  # the other has not told yet what it sends
    assert other.read(0.0)[0].layout.bodies == ("hip",)
    assert one.fault == "no body named 's3' at any source; it sends s1"
    assert other.fault == "no body named 's3' at any source; it sends s2, base"
    other._source.sent = packets(layout("s2", "s3"), 1)  # type: ignore[attr-defined]
    other.read(0.0)
    assert one.fault == other.fault == ""


def test_a_source_without_any_body_that_is_named_is_refused() -> None:
    reading = ReadOptions(only=("s1", "s2"), drop="base", rename={"s2": "hip"})
    assert leave_missing(reading, ("s1", "base")) == ReadOptions(only="s1", drop="base")
    with pytest.raises(UsageError, match="has none of the bodies s1, s2; leave it out"):
        leave_missing(reading, ("base",))


def test_two_bodies_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two bodies would be named 'b'"):
        apply_to_layout(layout("a", "b"), ReadOptions(rename={"a": "b"}))


def test_what_is_for_files_is_refused_for_a_stream() -> None:
    with pytest.raises(UsageError, match="'columns' is for files, and osc:9000 is none"):
        check_streamed("osc:9000", ReadOptions(columns="map.toml"))
    check_streamed("osc:9000", ReadOptions(unit="mm", doctor=False))
    assert not changes_packets(ReadOptions(doctor=False))
    assert changes_packets(ReadOptions(unit="mm"))


def test_the_fit_is_told_what_the_log_does_not_say() -> None:
    reading = ReadOptions(unit="mm", only="l_*", doctor=False)
    streamed = Given([])
    assert keep_for_fit(reading, [streamed]) == ReadOptions(doctor=False)
    streamed.has_markers_only = True  # bodies are formed, and chosen, by the fit
    assert keep_for_fit(reading, [streamed]) == ReadOptions(doctor=False, only="l_*")
