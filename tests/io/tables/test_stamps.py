"""Times as dates and hours become seconds, and a date that may be meant in two ways has a way out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.io.tables import text
from condyle.io.tables.rows import parse_rows
from condyle.io.tables.stamps import read_stamps
from condyle.simulate import linkage, simulate

BEGIN = datetime(2026, 11, 18, 23, 59, 59, 500_000, tzinfo=UTC)
STAMP_ERROR_S = 3e-7  # of seconds since 1970 as a float


@pytest.mark.parametrize(
    ("cell", "seconds"),
    [
        ("2026-11-18T23:59:59.500Z", 0.0),
        ("2026-11-18 23:59:59.5", 0.0),
        ("2026-11-19T01:59:59.500000+02:00", 0.0),
        ("2026-11-18T18:29:59.500123456-0530", 0.000123456),
        ("2026-11-18T23:59:60Z", 0.5),
        ('"2026-11-19T00:00:00Z"', 0.5),
    ],
)
def test_a_date_is_seconds_since_1970(cell: str, seconds: float) -> None:
    values, _ = parse_rows(f"{cell},1.5\n{cell},2.5\n".encode(), ("time", "x"), line=1)
    np.testing.assert_allclose(values[:, 0], BEGIN.timestamp() + seconds, atol=STAMP_ERROR_S, rtol=0)
    assert values[:, 1].tolist() == [1.5, 2.5]


def test_hours_are_seconds_since_the_first_row_and_go_on_after_midnight() -> None:
    cells = ["23:59:59.250", "23:59:59.750", "00:00:00.250", "00:00:00.750"]
    values, _ = parse_rows("".join(f"{k},{cell}\n" for k, cell in enumerate(cells)).encode(), ("x", "time"), line=1)
    assert values.tolist() == [[0, 0.0], [1, 0.5], [2, 1.0], [3, 1.5]]


def test_decimal_commas_and_stamps_stand_in_one_table() -> None:
    rows = b"10:00:00,250;1,5;2\n10:00:00.750;2,5;3\n"
    values, _ = parse_rows(rows, ("time", "x", "y"), line=1, separator=b";", decimal_comma=None)
    assert values.tolist() == [[0, 1.5, 2], [0.5, 2.5, 3]]


def test_rows_of_numbers_are_given_back_as_they_are() -> None:
    rows = b"1,2\n12:00:00,3\n"
    assert read_stamps(rows, b",") == (rows, ())
    assert read_stamps(b"", b",") == (b"", ())
    assert read_stamps(b"10:00:00 1\n", None) == (b"10:00:00 1\n", ())


def test_a_long_text_is_changed_block_by_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(text, "TEXT_BLOCK_BYTES", 256)
    stamps = [(BEGIN + timedelta(milliseconds=4 * k)).isoformat() for k in range(100)]
    (tmp_path / "a.csv").write_text("".join(f"{stamp},{k}\n" for k, stamp in enumerate(stamps)))
    values, _ = parse_rows(text.read_text(tmp_path / "a.csv"), ("time", "x"), line=1)
    np.testing.assert_allclose(np.diff(values[:, 0]), 0.004, atol=2 * STAMP_ERROR_S)
    assert values[:, 1].tolist() == list(range(100))


@pytest.mark.parametrize("cell", ["11/12/2026 10:00:00", "12.11.2026", "10:00:00:12", "2026-02-30T10:00:00"])
def test_a_stamp_that_may_be_meant_in_two_ways_has_a_way_out(cell: str) -> None:
    with pytest.raises(CondyleError, match="is no number; write times as seconds") as error:
        parse_rows(f"0,{cell}\n1,{cell}\n2,{cell}\n".encode(), ("x", "time"), line=5)
    assert (error.value.line, error.value.column) == (5, 2)


@pytest.mark.parametrize("style", ["%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%M:%S.%fZ", "%H:%M:%S.%f"])
def test_a_take_with_stamps_is_the_take_with_seconds(style: str, tmp_path: Path) -> None:
    take = simulate(linkage(), seconds=2, seed=3).take
    condyle.write_take(tmp_path / "plain.csv", take)
    lines = (tmp_path / "plain.csv").read_text().splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("time,")) + 1
    for k in range(first, len(lines)):
        seconds, _, rest = lines[k].partition(",")
        lines[k] = f"{(BEGIN + timedelta(seconds=float(seconds))).strftime(style)},{rest}"
    (tmp_path / "stamped.csv").write_text("\n".join(lines) + "\n")
    found = condyle.read(tmp_path / "stamped.csv")
    np.testing.assert_allclose(found.time, take.time, atol=2e-6, rtol=0)  # microseconds are written
    np.testing.assert_array_equal(found.p_world_body, take.p_world_body)
