"""Tables of all takes, joints and lengths."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import pytest

from condyle.errors import UsageError
from condyle.study import tables
from condyle.study.ledger import LedgerRecord, fail
from condyle.study.plan import Entry, TakeStep, make_steps
from condyle.study.tables import check_parquet, write_tables
from tests.make.studies import make_record


@pytest.fixture
def rows(tmp_path: Path) -> list[tuple[TakeStep, LedgerRecord | None]]:
    listed = [
        Entry("anna/rom", ("anna/rom.npz",), "anna", "monday", "monday"),
        Entry('odd "name", =1', ("a.npz", "b.npz"), "anna", "friday"),
        Entry("bad", ("bad.npz",)),
        Entry("later", ("later.npz",)),
    ]
    steps = make_steps(tmp_path, listed, tmp_path)
    return [
        (steps[0], make_record(steps[0])),
        (steps[1], make_record(steps[1], "look", 0.5)),
        (steps[2], fail(steps[2], "bad.npz: the file is empty", code="empty-file")),
        (steps[3], None),
    ]


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_take_has_a_row_and_every_joint_and_length(
    tmp_path: Path, rows: list[tuple[TakeStep, LedgerRecord | None]]
) -> None:
    written = write_tables(tmp_path, lambda: iter(rows))
    assert [path.name for path in written] == ["takes.csv", "joints.csv", "limbs.csv"]
    takes, joints, limbs = map(read, written)
    assert [take["state"] for take in takes] == ["done", "done", "failed", "waiting"]
    assert [take["verdict"] for take in takes] == ["good", "look", "", ""]
    assert takes[1]["take"] == 'odd "name", =1'
    assert takes[1]["files"] == "a.npz;b.npz"
    assert (takes[1]["worst"], takes[1]["worst_text"]) == ("slip", "<b>: the sensor moved")
    assert (takes[2]["fault"], takes[2]["text"]) == ("empty-file", "bad.npz: the file is empty")
    assert takes[0]["folder"] == "takes/anna/rom"
    assert [joint["take"] for joint in joints] == ["anna/rom", 'odd "name", =1']
    assert float(joints[0]["residual_m"]) == 0.003
    assert [float(limb["length_m"]) for limb in limbs] == [0.4, 0.5]
    assert (limbs[0]["body"], limbs[0]["from"], limbs[0]["to"], limbs[0]["session"]) == ("b", "a", "c", "monday")


def test_parquet_holds_the_same(
    tmp_path: Path, rows: list[tuple[TakeStep, LedgerRecord | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    monkeypatch.setattr(tables, "ROWS_AT_ONCE", 3)
    for path in write_tables(tmp_path, lambda: iter(rows), parquet=True):
        if path.suffix == ".parquet":
            table = parquet.read_table(path)
            plain = read(path.with_suffix(".csv"))
            assert table.column_names == list(plain[0])
            assert [["" if cell is None else str(cell) for cell in row.values()] for row in table.to_pylist()] == [
                list(row.values()) for row in plain
            ]


def test_parquet_without_its_library_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.parquet", None)
    with pytest.raises(UsageError, match=r'Parquet is written with pyarrow: pip install "condyle\[parquet\]"'):
        check_parquet()


def test_a_study_without_a_take_that_is_done_has_empty_tables(tmp_path: Path) -> None:
    def none() -> Iterator[tuple[TakeStep, LedgerRecord | None]]:
        return iter(())

    assert [len(path.read_text().splitlines()) for path in write_tables(tmp_path, none)] == [1, 1, 1]
