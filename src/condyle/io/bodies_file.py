"""bodies.toml: which markers make up which body.

[bodies]
pelvis = ["LASI", "RASI", "SACR"]
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import CondyleError
from .atomic import write_atomic
from .toml_file import read_toml, spell_key, spell_value

BODIES_EXAMPLE = '[bodies] and below it lines like pelvis = ["LASI", "RASI", "SACR"]'
Groups = dict[str, tuple[str, ...]]


def read_bodies(path: str | os.PathLike[str]) -> Groups:
    """{body: its markers} of a bodies.toml; raises CondyleError with the line of the fault."""
    file = Path(path)
    content, text = read_toml(file, "a list of bodies", "bad-bodies", f"; expected {BODIES_EXAMPLE}")
    if not isinstance(content.get("bodies"), dict):
        raise CondyleError(f"has no table [bodies]; expected {BODIES_EXAMPLE}", code="bad-bodies", path=file)
    others = [name for name in content if name != "bodies"]
    if others:
        fault = f"'{others[0]}' is not in the table [bodies]; put that line first, or leave other tables out"
        raise CondyleError(fault, code="bad-bodies", path=file, line=_find_line(text, others[0]))
    try:
        return check_groups(content["bodies"])
    except CondyleError as error:
        line = None if error.body is None else _find_line(text, error.body)
        raise CondyleError(error.text, code=error.code, path=file, line=line, body=error.body) from None


def bodies_of(given: str | os.PathLike[str] | Mapping[str, Sequence[str]]) -> Groups:
    """{body: its markers} of what `bodies` may be: the path of a bodies.toml, or the mapping itself."""
    return check_groups(given) if isinstance(given, Mapping) else read_bodies(given)


def check_groups(groups: Mapping[str, Any]) -> Groups:
    """The same with its shape checked: one body or more, each with a list of different names."""
    if not groups:
        raise CondyleError(f"no body is named; expected {BODIES_EXAMPLE}", code="bad-bodies")
    checked: Groups = {}
    for body, markers in groups.items():
        if not isinstance(body, str) or not body.strip():
            raise CondyleError("a body has no name", code="bad-bodies", body=str(body))
        if isinstance(markers, (str, Mapping)) or not isinstance(markers, Sequence):
            raise CondyleError(
                f'takes a list of marker names, like {body} = ["LASI", "RASI", "SACR"]', code="bad-bodies", body=body
            )
        known: set[str] = set()
        for marker in markers:
            if not isinstance(marker, str) or not marker.strip():
                said = f"{marker:#x}" if isinstance(marker, int) and abs(marker) > 10**18 else repr(marker)
                raise CondyleError(f"{said[:80]} is no name of a marker", code="bad-bodies", body=body)
            if marker in known:
                raise CondyleError(f"names marker '{marker}' twice", code="bad-bodies", body=body)
            known.add(marker)
        if len(markers) < 3:
            text = (
                f"has {len(markers)} of the three markers that a pose needs; add some of the same segment "
                "or leave the body out"
            )
            raise CondyleError(text, code="few-markers", body=body)
        checked[body] = tuple(markers)
    return checked


def write_bodies(
    path: str | os.PathLike[str],
    groups: Mapping[str, Sequence[str]],
    comments: Mapping[str, str] | None = None,
    heading: Sequence[str] = (),
    offered: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """A bodies.toml, whole or not at all.

    comments  {body: words that stand behind its line}; heading: lines of comment at the top
    offered   bodies that are written as comments, to be taken in by hand
    """
    notes = comments or {}

    def line(body: str, markers: Sequence[str]) -> str:
        note = f"  # {_join_lines(notes[body])}" if notes.get(body) else ""
        return f"{spell_key(body)} = {spell_value(markers)}{note}"

    lines = [f"# {_join_lines(text)}".rstrip() for text in heading]
    lines.append("[bodies]")
    lines += [line(body, markers) for body, markers in check_groups(groups).items()]
    lines += [f"# {line(body, markers)}" for body, markers in (offered or {}).items()]
    write_atomic(path, ("\n".join(lines) + "\n").encode("utf-8"))


def _find_line(text: str, key: str) -> int | None:
    """1-based line on which a key or a table begins, as far as a glance tells."""
    name = rf"(?:{re.escape(key)}|{re.escape(spell_value(key))}|'{re.escape(key)}')"
    match = re.search(rf"^[ \t]*(?:\[+[ \t]*{name}[ \t]*[\].]|{name}[ \t]*[=.])", text, re.MULTILINE)
    return None if match is None else text.count("\n", 0, match.start()) + 1


def _join_lines(text: str) -> str:
    """Words for a comment: whatever is not printed becomes a blank."""
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return "".join(char if char.isprintable() else " " for char in plain)
