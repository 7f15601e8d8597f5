"""io/log_records.py: records are walked past damage, and a layout comes back bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.findings import Finding
from condyle.io.log_records import (
    END,
    FRAME_RECORD,
    LOG_MAGIC,
    Damage,
    Layout,
    decode_layout,
    encode_layout,
    pack_record,
    walk_records,
)
from condyle.model.recording import Convention
from condyle.model.take import OwnSkeleton

PAYLOADS = [bytes([k]) * (10 + k) for k in range(5)]
WHOLE = LOG_MAGIC + b"".join(pack_record(FRAME_RECORD, one) for one in PAYLOADS) + pack_record(END, b"")


def walk(raw: bytes) -> tuple[list[bytes], Damage]:
    damage = Damage()
    return [bytes(one.payload) for one in walk_records(memoryview(raw), damage) if one.kind == FRAME_RECORD], damage


def test_whole_records_come_back_and_the_end_closes_the_log() -> None:
    assert walk(WHOLE) == (PAYLOADS, Damage(closed=True))


@pytest.mark.parametrize("cut", range(len(LOG_MAGIC), len(WHOLE)))
def test_everything_before_a_torn_end_is_kept(cut: int) -> None:
    found, damage = walk(WHOLE[:cut])
    assert found == PAYLOADS[: len(found)]
    assert not damage.closed
    ends = np.cumsum([len(LOG_MAGIC), *(12 + len(one) for one in PAYLOADS)])
    assert damage.torn == cut - ends[len(found)]
    assert len(found) == (ends <= cut).sum() - 1


def test_a_damaged_record_is_skipped_and_the_next_found() -> None:
    at = WHOLE.index(PAYLOADS[2])
    found, damage = walk(WHOLE[:at] + b"\xff" + WHOLE[at + 1 :])
    assert found == [*PAYLOADS[:2], *PAYLOADS[3:]]
    assert damage == Damage(skipped=12 + len(PAYLOADS[2]), closed=True)


def test_marking_bytes_by_the_thousand_do_not_make_the_search_long() -> None:
    hostile = LOG_MAGIC + (b"\xc7\x1aF\x00" + (2**20).to_bytes(4, "little")) * 40_000
    found, damage = walk(hostile + bytes(2**20))
    assert not found
    assert damage.torn > 2**20


def test_a_layout_comes_back_bit_by_bit() -> None:
    own = OwnSkeleton(("a", "b"), np.array([-1, 0]), np.array([[0, 0, 0], [1 / 3, 0.1, 1e-300]]))
    told = (Finding("latency", "warning", "late", ("a",), time=(0.0, 0.1 + 0.2), value=1 / 3, unit="s"),)
    convention = Convention("XYZ-extrinsic", False, True, ("x", "-z", "y"), "cm", "left", "-y", frozenset({"unit"}))
    before = Layout("replay:å", ("a", "b"), ("m",), convention, "frames", 1 / 3, {"program": "x"}, told, "MVN", own)
    number, after = decode_layout(encode_layout(7, before))
    assert number == 7
    for name in ("source", "bodies", "markers", "convention", "clock", "rate", "facts", "findings", "solved_by"):
        assert getattr(after, name) == getattr(before, name), name
    assert after.own is not None
    assert after.own.p_parent_joint.tobytes() == own.p_parent_joint.tobytes()
    assert after.width == 2 * 6 + 3


def test_a_finding_that_this_version_does_not_know_is_left_out() -> None:
    raw = encode_layout(0, Layout("x", ("a",), findings=(Finding("latency", "info", "late"),)))
    assert decode_layout(raw)[1].findings
    assert decode_layout(raw.replace(b'"latency"', b'"of-a-later-day"'))[1].findings == ()


@pytest.mark.parametrize(
    "damage",
    [
        (b'"wxyz"', b'"wyxz"'),
        (b'"parent":[-1,0]', b'"parent":[1,0]'),
        (b'"parent":[-1,0]', b'"parent":[-1,7]'),
        (b'"device"', b'"sundial"'),
        (b"{", b"["),
        (b'"x"', b"\xff"),
    ],
)
def test_a_layout_that_is_none_is_refused(damage: tuple[bytes, bytes]) -> None:
    raw = encode_layout(0, Layout("x", ("a", "b"), own=OwnSkeleton(("a", "b"), np.array([-1, 0]), np.zeros((2, 3)))))
    assert decode_layout(raw)
    with pytest.raises(CondyleError) as error:
        decode_layout(raw.replace(*damage, 1))
    assert error.value.code == "damaged-file"
