"""What the verbs print. Text from files cannot act on the terminal; in a pipe everything is plain text, uncut."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from ..findings import Finding

DONE, DONE_WITH_WARNINGS = 0, 3
CLEAR_LINE = "\r\x1b[K"
_hides: list[Callable[[], None]] = []
_STYLES = {"": "", "bold": "1", "dim": "2", "yellow": "33", "error": "1;31", "warning": "33", "info": "36"}
# Control, format (bidirectional marks, zero width), surrogate and private characters, line and paragraph separators.
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def escape_text(text: object) -> str:
    """The text with every character that could act on a terminal written as an escape: ESC becomes \\x1b."""
    words = str(text)
    if words.isascii() and words.isprintable():
        return words
    return "".join(
        letter.encode("unicode_escape").decode("ascii") if unicodedata.category(letter) in _HIDDEN else letter
        for letter in words
    )


def _count_columns(stream: TextIO) -> int:
    """The width of the terminal that a stream goes to, or, where it does not say, what the environment says."""
    from shutil import get_terminal_size

    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or get_terminal_size().columns


def _has_escapes() -> bool:
    """Whether the terminal knows escape sequences: old consoles of Windows and `TERM=dumb` show them as letters."""
    return os.environ.get("TERM") != "dumb" and (sys.platform != "win32" or "WT_SESSION" in os.environ)


def redraw(text: str, stream: TextIO | None = None) -> None:
    """A line, on standard error by default, in the place of the one before, cut to the width of the terminal."""
    stream = stream or sys.stderr
    width = max(_count_columns(stream) - 1, 1)
    if _width(text) > width:
        text = (_cut(text, width - 3) if width > 4 else "") + "..."[:width]
    blanks = " " * (width - _width(text))
    stream.write(CLEAR_LINE + text if _has_escapes() else f"\r{text}{blanks}\r")
    stream.flush()


@contextmanager
def quiet_before_print(hide: Callable[[], None]) -> Iterator[None]:
    """Calls `hide` before anything is printed in the block: it takes away a line that is drawn over and over."""
    _hides.append(hide)
    try:
        yield
    finally:
        _hides.remove(hide)


def hush() -> None:
    """Takes away lines that are drawn over and over; whoever prints calls it first."""
    for hide in _hides:
        hide()


def print_line(text: str = "", *, style: str = "") -> None:
    """One line; in a terminal wrapped at words and in the given style."""
    hush()
    _print_wrapped(escape_text(text), style)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 1) -> None:
    """A table with the first `left` columns flush left, the rest flush right; None is an empty cell."""
    hush()
    cells = [["" if cell is None else escape_text(cell) for cell in row] for row in rows]
    head = [escape_text(column) for column in columns]
    widths = [max(map(_width, column)) for column in zip(head, *cells, strict=True)]
    if sys.stdout.isatty() and sum(widths) + 2 * (len(widths) - 1) > _count_columns(sys.stdout):
        _print_entries(head, cells, left)
        return
    for k, row in enumerate([head, *cells]):
        padded = [
            cell + " " * (width - _width(cell)) if k < left else " " * (width - _width(cell)) + cell
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        print(_paint("  ".join(padded).rstrip(), "" if k else "bold"))
        if sys.stdout.isatty() and not k:
            line = "─" if "utf" in (sys.stdout.encoding or "utf").lower() else "-"
            print(line * (sum(widths) + 2 * (len(widths) - 1)))


def _print_entries(head: Sequence[str], cells: Sequence[Sequence[str]], left: int) -> None:
    """A table that is wider than the terminal: what names its rows, then every row as an entry, its name first and its
    numbers below.
    """
    if any(head[:left]):
        _print_wrapped(" - ".join(filter(None, head[:left])), "dim")
    for row in cells:
        _print_wrapped(" - ".join(filter(None, row[:left])), "bold")
        numbers = [f"{name} {cell}".strip() for name, cell in zip(head[left:], row[left:], strict=True) if cell]
        _print_wrapped(", ".join(numbers), indent="  ")


def print_findings(findings: Iterable[Finding]) -> None:
    """One line per finding, the worst first: `warning: what and what to do [code]`."""
    from ..findings import sort_findings

    hush()
    for finding in sort_findings(findings):
        *lines, last = wrap_text(escape_text(finding)) if sys.stdout.isatty() else [escape_text(finding)]
        code = f"[{finding.code}]"
        last = last.removesuffix(code) + _paint(code, "dim") if last.endswith(code) else last
        first, *others = [*lines, last]
        print(first.replace(finding.severity, _paint(finding.severity, finding.severity), 1), *others, sep="\n")


def print_written(files: Iterable[object]) -> None:
    """A line for every file that was written."""
    for file in files:
        print_line(f"wrote {file}")


def print_error(error: Exception) -> None:
    """One line on standard error, in a terminal wrapped at words."""
    hush()
    print(wrap_error(f"condyle: error: {escape_text(error)}"), file=sys.stderr)


def print_note(text: str) -> None:
    """One line on standard error about what is going on, in a terminal wrapped at words."""
    hush()
    print(wrap_error(f"condyle: {escape_text(text)}"), file=sys.stderr, flush=True)


def wrap_error(text: str) -> str:
    """A line for standard error: in a terminal wrapped at spaces, but not inside quotes, for what they hold is to be
    copied; else as it is.
    """
    if not sys.stderr.isatty():
        return text
    from textwrap import fill

    width = _count_columns(sys.stderr)
    whole = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", lambda part: part[0].replace(" ", "\0"), text)
    return fill(whole, max(width - 1, 1), break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def print_json(facts: Any) -> None:
    """The facts as JSON; NaN and infinity become null, arrays become lists."""
    hush()
    print(json.dumps(to_plain(facts), indent=2, allow_nan=False))


def to_plain(value: Any) -> Any:
    """The value made of dict, list, str, int, float, bool and None only: what JSON can hold."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if hasattr(value, "__dataclass_fields__"):
        return {name: to_plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)


def choose_status(findings: Iterable[Finding]) -> int:
    """Exit status of a command that is done: 3 where a finding is a warning or worse, else 0."""
    from ..findings import worst_severity

    return DONE if worst_severity(findings) in (None, "info") else DONE_WITH_WARNINGS


def _print_wrapped(text: str, style: str = "", indent: str = "") -> None:
    words = text.lstrip(" ")
    indent += " " * (len(text) - len(words))
    lines = wrap_text(words, len(indent)) if sys.stdout.isatty() else [words]
    print("\n".join(indent + _paint(line, style) for line in lines))


def wrap_text(text: str, taken: int = 0) -> list[str]:
    """The text in lines as wide as the terminal less `taken` columns, cut at spaces; a longer word is cut anywhere."""
    most = max(_count_columns(sys.stdout) - taken, 1)
    lines, line = [], ""
    for word in text.split(" "):
        whole = f"{line} {word}" if line else word
        while _width(whole) > most:
            cut = line or _cut(whole, most)
            lines.append(cut)
            whole = word if line else whole[len(cut) :]
            line = ""
        line = whole
    return [*lines, line]


def _cut(text: str, most: int) -> str:
    """As much of the beginning of a text as fits into so many columns, and at least one letter."""
    end = 1
    while end < len(text) and _width(text[: end + 1]) <= most:
        end += 1
    return text[:end]


def _paint(text: str, style: str) -> str:
    """The text in a style, where the terminal shows it and `NO_COLOR` is not set, or empty."""
    code = _STYLES[style]
    painted = code and sys.stdout.isatty() and _has_escapes() and not os.environ.get("NO_COLOR")
    return f"\x1b[{code}m{text}\x1b[0m" if painted else text


def _width(text: str) -> int:
    """Cells a text takes in a terminal: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF") for letter in text
    )
