"""The ledger: what was written stays, whatever comes after."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from condyle.errors import CondyleError
from condyle.study import ledger as module
from condyle.study.ledger import LEDGER, Fault, Ledger, LedgerRecord
from tests.make.size import cut_lengths
from tests.make.studies import make_record, make_step


@pytest.fixture
def record(tmp_path: Path) -> LedgerRecord:
    return make_record(make_step(tmp_path, tmp_path / "out"))


def named(record: LedgerRecord, name: str) -> LedgerRecord:
    return msgspec.structs.replace(record, take=name)


def test_a_record_comes_back_as_it_was(tmp_path: Path, record: LedgerRecord) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.append(named(record, "a"))
        ledger.append(named(record, "b"))
    with Ledger(tmp_path) as ledger:
        assert len(ledger) == 2
        assert ledger.read("b", record.key) == named(record, "b")
        assert ledger.read("a", "another key") is None
        assert ledger.state("a", record.key) == "done"
        assert ledger.state("c", record.key) is None


def test_the_last_line_of_a_take_holds(tmp_path: Path, record: LedgerRecord) -> None:
    failed = msgspec.structs.replace(record, state="failed", facts=None, fault=Fault("no-time", "why"))
    with Ledger(tmp_path) as ledger:
        ledger.append(failed)
        assert ledger.state(record.take, record.key) == "failed"
        ledger.append(record)
        assert ledger.state(record.take, record.key) == "done"
    with Ledger(tmp_path) as ledger:
        assert ledger.read(record.take, record.key) == record


def test_a_fault_of_the_machine_is_one_to_be_tried_again(tmp_path: Path, record: LedgerRecord) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.append(msgspec.structs.replace(record, state="failed", fault=Fault("unwritable", "no space left")))
        assert ledger.state(record.take, record.key) == "failed-passing"


@pytest.mark.sized
def test_wherever_the_last_line_was_cut_off_the_others_stay(tmp_path: Path, record: LedgerRecord) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.append(named(record, "a"))
        ledger.append(named(record, "b"))
    whole = (tmp_path / LEDGER).read_bytes()
    first = whole.index(b"\n") + 1
    for length in cut_lengths(whole, first):
        (tmp_path / LEDGER).write_bytes(whole[:length])
        with Ledger(tmp_path) as ledger:
            assert ledger.state("a", record.key) == "done"
            assert ledger.state("b", record.key) is None
            assert len(ledger.told) == (length > first)
            ledger.append(named(record, "b"))
        assert (tmp_path / LEDGER).read_bytes() == whole


def test_a_damaged_line_is_told_and_passed_over(tmp_path: Path, record: LedgerRecord) -> None:
    with Ledger(tmp_path) as ledger:
        ledger.append(named(record, "a"))
    deep = b'{"other": ' + b"[" * 20_000 + b"]" * 20_000 + b"}\n"
    (tmp_path / LEDGER).write_bytes(b'{"take": 3}\n\xff\n' + deep + (tmp_path / LEDGER).read_bytes())
    with Ledger(tmp_path) as ledger:
        assert ledger.read("a", record.key) == named(record, "a")
        assert ledger.told == [f"{ledger.path}: lines 1, 2, 3 are damaged and left out; what stood there is done again"]


def test_a_file_that_is_no_ledger_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_LINE", 100)
    (tmp_path / LEDGER).write_bytes(b"x" * 1000)
    with pytest.raises(CondyleError, match="line 1: has a line that no study writes"):
        Ledger(tmp_path)
    assert (tmp_path / LEDGER).stat().st_size == 1000


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_on_a_full_disk_nothing_is_added(tmp_path: Path, record: LedgerRecord, monkeypatch: pytest.MonkeyPatch) -> None:
    written = os.write

    def run_full(handle: int, data: bytes) -> int:
        if len(data) > 10:
            return written(handle, data[:10])
        raise OSError(28, "No space left on device")

    with Ledger(tmp_path) as ledger:
        ledger.append(named(record, "a"))
        size = ledger.path.stat().st_size
        monkeypatch.setattr(os, "write", lambda handle, data: run_full(handle, data[:20] if len(data) > 20 else b"x"))
        with pytest.raises(CondyleError, match="No space left on device; the same command goes on once it can"):
            ledger.append(named(record, "b"))
        monkeypatch.undo()
        assert ledger.path.stat().st_size == size
        ledger.append(named(record, "c"))
    with Ledger(tmp_path) as ledger:
        assert not ledger.told
        assert ledger.state("c", record.key) == "done"
