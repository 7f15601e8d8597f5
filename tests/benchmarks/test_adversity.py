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
