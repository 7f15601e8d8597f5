"""The pages of docs/ cut into what the tests look at: code blocks, headings and tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tests.make import PROJECT

DOCS = PROJECT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))


class Block(NamedTuple):
    """A fenced block: its language, the 1-based line of its first line, its text."""

    language: str
    line: int
    text: str


def blocks(page: Path, language: str | None = None) -> list[Block]:
    """The fenced blocks of one language, or of all, in the order of the page."""
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    cut = [Block(match[1], text.count("\n", 0, match.start(2)) + 1, match[2]) for match in found]
    return [block for block in cut if language in (None, block.language)]


def prose(page: Path) -> str:
    """The page without its fenced blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def sections(page: Path) -> dict[str, str]:
    """{heading of any level, without backticks: the text below it, up to the next heading}."""
    parts = re.split(r"^#+ +(.+)$", prose(page), flags=re.MULTILINE)
    return {head.replace("`", "").strip(): body for head, body in zip(parts[1::2], parts[2::2], strict=True)}


def rows(text: str) -> list[list[str]]:
    """Cells of every table row in a text, heads and rulers left out."""
    found, lines = [], text.splitlines()
    for k, line in enumerate(lines):
        ruler_next = k + 1 < len(lines) and re.fullmatch(r"\|[-| :]+\|", lines[k + 1])
        if line.startswith("|") and not re.fullmatch(r"\|[-| :]+\|", line) and not ruler_next:
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))])
    return found


def codes(cell: str) -> list[str]:
    """Everything in backticks in a cell."""
    return re.findall(r"`([^`]+)`", cell)


def anchor(heading: str) -> str:
    """The anchor that a Markdown page gives a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower())
    return kept.replace(" ", "-")
