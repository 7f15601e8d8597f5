"""Results as small files of rounded numbers, each with its own date and versions, and what is read back from them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from ..harness import Table, _plain, versions

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "paper-results.md"
FIGURES = PAGE.with_name("paper")


PLAY = (
    "The play of a real joint is no noise, but the weights, and the covariance that joints of one body share, take "
    "part of it for noise; SCoRE leaves out the frames with the largest gaps. Which answer is nearer the truth is not "
    "known"
)


class Rival(NamedTuple):
    """One number of condyle beside one of somebody else; the smaller is the better.

    why  what to say where condyle's is the larger
    """

    what: str
    ours: float | None
    theirs: float | None
    unit: str
    whose: str
    why: str


def save(name: str, results: dict[str, Any], **about: Any) -> None:
    """Writes results/NAME.json; `about` says how they were made (trials, seeds, versions of clients)."""
    record = {"date": str(date.today()), "versions": versions(), **about, "results": results}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(_indented(rounded(_plain(record))) + "\n")


def load(name: str) -> dict[str, Any] | None:
    """What was last saved; None where nothing ever was."""
    file = RESULTS / f"{name}.json"
    return json.loads(file.read_text()) if file.is_file() else None


def rounded(value: Any, digits: int = 4) -> Any:
    if isinstance(value, dict):
        return {key: rounded(entry, digits) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry, digits) for entry in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def made(record: dict[str, Any]) -> str:
    """The line that says when and with what a record was made."""
    kept = {key: value for key, value in record.items() if key not in ("date", "versions", "results")}
    about = [f"{key} {value}" for key, value in {**record["versions"], **kept}.items()]
    return f"*{record['date']}: {', '.join(about)}.*"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return str(Table(heads, list(rows)))


def figure(name: str, words: str) -> str:
    """A figure of the page with the words below it; empty where it was never drawn."""
    there = [file for file in (FIGURES / f"{name}.svg", FIGURES / f"{name}.png") if file.is_file()]
    return f"![{words}](paper/{there[0].name})\n\n*{words}*" if there else ""


def _indented(value: Any, depth: int = 0) -> str:
    """JSON that is indented down to lists and small objects, which stand on one line."""
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or len(flat) < 100:
        return flat
    inner = ",\n".join(
        f"{' ' * (depth + 1)}{json.dumps(key, ensure_ascii=False)}: {_indented(entry, depth + 1)}"
        for key, entry in value.items()
    )
    return "{\n" + inner + "\n" + " " * depth + "}"
