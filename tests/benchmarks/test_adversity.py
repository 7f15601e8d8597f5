"""benchmarks/adversity.py: rows that are gone on with another night."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks import adversity
from tests.fuzz.worker import Outcome


def test_a_row_that_is_gone_on_with_has_the_runs_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()

    def run(name: str, word: str, numbers: Sequence[int]) -> Outcome:
        asked.extend(numbers)
        return Outcome(len(numbers), len(numbers) // 2, 0.1 * len(numbers), 0.7, memory=2**27, codes={"late": 3})

    monkeypatch.setattr(adversity, "run", run)
    *_, first = adversity.measure("logs", 700, "a", Outcome())
    cells = adversity.row("logs", "a", first)
    word, total = adversity.read_row(cells)
    assert adversity.row("logs", word, total)[:9] == cells[:9]
    *_, whole = adversity.measure("logs", 1000, word, total)
    assert asked == list(range(1000))
    assert adversity.row("logs", word, whole)[1:9] == ["1000", "50 %", "late", "0.100", "0.7", "128", "0", "a 0 to 999"]


def test_a_row_without_refusals_or_with_failures_is_read_as_well() -> None:
    word, total = adversity.read_row(["poses", "10", "100 %", "", "0.1", "0.2", "80", "2", "b 0 to 9", "2026-01-01"])
    assert (word, total.executions, total.codes, len(total.failures)) == ("b", 10, {}, 2)


def test_classes_share_the_runs_in_all_and_the_one_farthest_behind_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(adversity.PERCENT) == set(adversity.CLASSES)
    assert sum(adversity.PERCENT.values()) == 100

    def run(name: str, word: str, numbers: Sequence[int]) -> Outcome:
        return Outcome(len(numbers), len(numbers))

    monkeypatch.setattr(adversity, "run", run)
    monkeypatch.setattr(adversity, "AT_ONCE", 10)
    totals = {"poses": Outcome(16, 16), "options": Outcome(0)}
    turns = list(adversity.take_turns({"poses": 20, "options": 40}, {"poses": "a", "options": "b"}, totals))
    assert turns == ["options"] * 4 + ["poses"]
    assert [total.executions for total in totals.values()] == [20, 40]


def test_the_page_tells_the_runs_in_all_and_what_is_missing_to_a_million() -> None:
    def cells(name: str, runs: int) -> list[str]:
        return adversity.row(name, "a", Outcome(runs, runs, 0.01 * runs))

    short = {name: cells(name, 20_000) for name in adversity.CLASSES}
    assert adversity.describe_missing(short).startswith("160,000 runs in all.")
    assert "840,000 are missing, at these means 2.3 hours of one core" in adversity.describe_missing(short)
    whole = {name: cells(name, adversity.share(name, 10**6)) for name in adversity.CLASSES}
    assert adversity.describe_missing(whole) == "1,000,000 runs in all."
