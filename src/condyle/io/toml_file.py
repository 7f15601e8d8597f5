"""TOML files that users write: one strict way in, whose faults name the line; and how values stand in them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import CondyleError
from .atomic import read_small
from .tables.text import decode, to_utf8, unify_line_ends

MOST_TOML_BYTES = 10**6  # more is another kind of file
MOST_TOML_DOTS = 100  # in a name: each is a table in another, and the time to read it grows with their square


def parse_toml(text: str) -> dict[str, Any]:
    """The content of TOML; raises ValueError, or RecursionError where it is nested too deeply."""
    for line in text.split("\n"):
        if line.count(".") > MOST_TOML_DOTS:
            names = (part.split("=")[0] for part in re.split(r"[{,]", line))
            if any(name.count(".") > MOST_TOML_DOTS for name in names):
                raise RecursionError
    import tomllib

    return tomllib.loads(text)


def read_toml(path: str | os.PathLike[str], what: str, code: str, hint: str = "") -> tuple[dict[str, Any], str]:
    """The content of a TOML file and its text; raises with the line of the fault, and the hint behind it.

    what  noun for the file: "a column map"
    """
    file = Path(path)
    raw = read_small(file, MOST_TOML_BYTES)
    if len(raw) > MOST_TOML_BYTES:
        raise CondyleError(f"is too large for {what}{hint}", code=code, path=file)
    text = decode(unify_line_ends(to_utf8(raw)))
    try:
        return parse_toml(text), text
    except ValueError as error:  # TOMLDecodeError, or a whole number of thousands of digits
        words = str(error)
    except RecursionError:
        words = "it is nested too deeply"
    place = re.search(r" \(at (?:line (\d+), column (\d+)|end of document)\)$", words)
    reason = words[: place.start()] if place else words
    if place is not None and place[1] is None:
        reason += " at the end of the file"
    line, column = (int(place[1]), int(place[2])) if place is not None and place[1] else (None, None)
    raise CondyleError(f"is no TOML ({reason}){hint}", code=code, path=file, line=line, column=column)


def list_lines(table: Mapping[str, Any], where: tuple[str, ...] = ()) -> list[str]:
    """A table as lines of TOML, the tables in it last; `where`: its own name and those of the tables around it."""
    lines = [f"{spell_key(name)} = {spell_value(value)}" for name, value in table.items() if not _is_table(value)]
    for name, value in table.items():
        if _is_table(value):
            inside = (*where, spell_key(name))
            lines += ["", f"[{'.'.join(inside)}]", *list_lines(value, inside)]
    return lines


def spell_key(name: str) -> str:
    """A name as TOML has it: bare where it may be."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else spell_value(name)


def spell_value(value: Any) -> str:
    """A value as TOML has it; in a text all that is not printed is escaped."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(spell_value, value))}]"
    if isinstance(value, float | int):
        return repr(value)
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').encode("utf-8", "replace").decode("utf-8")
    return '"' + "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in text) + '"'


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping)
