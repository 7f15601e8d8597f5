"""Docstrings of condyle on the site: lines of `name  what it is` stay lines, in the place of one flowing paragraph."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

NAMED = re.compile(r"^\S+(,? \S+)*  +\S")  # a name or some, two spaces, what it is


def keep_lines(text: str) -> str:
    """The text with paragraphs of aligned lines as blocks."""
    paragraphs = re.split(r"\n\s*\n", text)
    return "\n\n".join(_fence(one) if any(map(NAMED.match, one.splitlines())) else one for one in paragraphs)


def _fence(paragraph: str) -> str:
    lines = paragraph.strip("\n")
    return f"```text\n{lines}\n```"


class AlignedDocstrings(Extension):
    """Rewrites every docstring once, when its object has been read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None and "```" not in obj.docstring.value:
            obj.docstring.value = keep_lines(obj.docstring.value)
