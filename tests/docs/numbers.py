"""Numbers in the sentences of the pages that look as if they were measured, and what each of them rests on.

What was measured stands between the marks of tests/docs/results.py. Any other number with a unit, or count of a whole,
is listed in numbers.toml, page by page, by some words that hold it: with the constants of the code it comes from, one
by one (`100 * estimate.describe.MISSING_WARNING_SHARE`), or with one of REASONS.
"""

from __future__ import annotations

import inspect
import math
import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from tests.make import PROJECT

from .pages import PAGES
from .results import CELL, LIST, TABLE, read

REASONS = {
    "definition": "follows from what the word means",
    "example": "of a take that the page makes, or of what it prints",
    "theirs": "of a format, a device or a publication that is named beside it",
}
WRITTEN = ("constants.md", "paper-results.md")  # by scripts, as a whole
LISTED: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_name("numbers.toml").read_text(encoding="utf-8"))

NUMBER = r"\d[\d,]*(?:\.\d+)?"
WORD = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
UNIT = (
    r"(?:(?:mm|cm|km|m|inches|deg|degrees?|m?rad|dpi|bytes|[kMG]B|[KMG]iB|s|ms|µs|min|h|hours?|minutes?|seconds?|Hz|fps"
    r"|N|kg|ppm|times|frames"
    r"|(?:\w+ )?(?:takes|walks|recordings|clips|people|subjects|trials|edges|steps|events|seeds))\b|%|°)"
)
MEASURED = re.compile(
    rf"(?<![\w.\-/#]){NUMBER}(?:(?:,| to| and| or| of|-|–|±) ?{NUMBER})*\s+{UNIT}"
    rf"|(?<![\w.]){NUMBER}°"
    rf"|\b{NUMBER} (?:simulated|recorded|made)\b"
    r"|(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w.])"
    rf"|\b(?:(?i:{WORD}|no|none|all)|{NUMBER}) of {NUMBER}(?![\w.])"
    rf"|\b(?i:{WORD}) of (?!one|two){WORD}\b"
)
HIDDEN = (  # what is no sentence of the page's: blocks, marked results, names in code, addresses, what is quoted
    re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL),
    re.compile(r"<!-- accuracy -->.*?<!-- /accuracy -->", re.DOTALL),
    TABLE,
    CELL,
    LIST,
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"`[^`\n]*`"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r'"[^"\n]*"'),
)


class Number(NamedTuple):
    """A number on a page: its 1-based line, its words, and where they begin and end."""

    line: int
    words: str
    begin: int
    end: int


def find_numbers(text: str) -> list[Number]:
    """The numbers of a page that are not marked as results."""
    for hidden in HIDDEN:
        text = hidden.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text)
    return [Number(text.count("\n", 0, m.start()) + 1, m[0], m.start(), m.end()) for m in MEASURED.finditer(text)]


def find_unlisted(text: str, listed: dict[str, str]) -> list[Number]:
    """The numbers of a page that neither are results nor stand in words that are listed."""
    spans = [found.span() for words in listed for found in find_words(words, text)]
    return [one for one in find_numbers(text) if not any(a <= one.begin and one.end <= b for a, b in spans)]


def find_words(words: str, text: str) -> list[re.Match[str]]:
    """Where words stand in a text, however its lines are broken."""
    return list(re.finditer(r"\s+".join(map(re.escape, words.split())), text))


def check_source(words: str, source: str) -> str:
    """What is wrong with what a number is said to rest on; empty if nothing is."""
    if source in REASONS:
        return ""
    told = [float(one.replace(",", "")) for one in re.findall(NUMBER, words)]
    held = [float(evaluate(one)) for one in source.split(";")]
    alike = len(told) == len(held) and all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(told, held, strict=True))
    return "" if alike else f"{words!r}: {source} is {held}"


def evaluate(expression: str) -> float:
    """An expression over constants by their modules, and defaults of arguments: `default(motion.play.play, 'gap')`."""
    names = {room: Room(f"condyle.{room}") for room in re.findall(r"\b[a-z]\w*(?=\.)", expression)}
    known = {one: getattr(math, one) for one in ("degrees", "asin", "acos")} | {"default": default}
    return float(eval(expression, {"__builtins__": {}} | known, names))


class Room:
    """A module by its name, whose modules and constants are its attributes."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> object:
        try:
            return Room(import_module(f"{self.name}.{name}").__name__)
        except ModuleNotFoundError:
            return getattr(import_module(self.name), name)


def default(function: Callable[..., object], argument: str) -> object:
    """What an argument is where it is not given."""
    return inspect.signature(function).parameters[argument].default


def pages() -> dict[str, Path]:
    """The pages that people write, by their names in numbers.toml."""
    written = [page for page in PAGES if page.name not in WRITTEN]
    return {page.relative_to(PROJECT).as_posix(): page for page in (PROJECT / "README.md", *written)}


if __name__ == "__main__":
    for name, page in pages().items():
        for one in find_unlisted(read(page), LISTED.get(name, {})):
            print(f"{name}:{one.line}: {one.words}: {read(page).splitlines()[one.line - 1].strip()}")
