"""benchmarks/adversity.py: rows that are gone on with another night."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks import adversity
from tests.fuzz.worker import Failure, Outcome


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
    cells = ["poses", "10", "100 %", "", "0.1", "0.2", "80", "2 (3, 7), 1 mended", "b 0 to 9", "2026-01-01"]
    word, total = adversity.read_row(cells)
    assert (word, total.executions, total.codes, len(total.failures)) == ("b", 10, {}, 2)
    assert adversity.row("poses", word, total, mended=1)[adversity.FAILURES] == "2 (3, 7), 1 mended"


@pytest.mark.parametrize(
    ("cell", "found"),
    [("0", ([], 0)), ("0, 2 mended", ([], 2)), ("1 (5)", ([5], 0)), ("2 (3, 7), 1 mended", ([3, 7], 1))],
)
def test_failures_are_told_with_their_seeds_and_read_again(cell: str, found: tuple[list[int], int]) -> None:
    assert adversity.read_failures(cell) == found
    outcome = Outcome(9, failures=[Failure(f"a {number}: KeyError", b"") for number in found[0]])
    assert adversity.describe_failures(outcome, found[1]) == cell


def test_runs_that_failed_are_made_again_before_a_row_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(name: str, word: str, numbers: Sequence[int]) -> Outcome:
        return Outcome(
            len(numbers), failures=[Failure(f"{word} {number}: late", b"") for number in numbers if number == 7]
        )

    monkeypatch.setattr(adversity, "run", run)
    total = Outcome(10, failures=[Failure("a 3: late", b""), Failure("a 7: late", b"")])
    assert adversity.mend("poses", "a", total, [3, 7]) == 1
    assert [failure.why for failure in total.failures] == ["a 7: late"]


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
