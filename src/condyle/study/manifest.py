"""study.toml: the takes of a study, whose they are, and what they are for.

[settings]                # of all takes: as in options.toml, with report = false and export = "bvh" beside
method = "default"

[performer.anna.settings] # of one performer's takes
root = "pelvis"

[[take]]
file = "anna/rom.c3d"     # or a pattern, "anna/*.c3d": a take for each file; or files = [...]: several files, one take
performer = "anna"
session = "monday"
role = "calibration"      # or "performance": solved on the performer's calibration

Paths are relative to the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import TYPO_ALIKE, CondyleError, UsageError, suggest
from ..io.toml_file import read_toml
from .plan import MOST_TAKES, ROLES, Entry, clean_name, make_names, relate
from .settings import check_settings, merge_settings

CODE = "bad-study"
_TABLES = ("settings", "performer", "take")
_WORDS = ("name", "performer", "session", "mounting", "role")
_KEYS = ("file", "files", *_WORDS, "settings")
PATTERN_MAX_LETTERS = 1_000  # of a pattern of files; paths of more letters are hardly found on any system


class _Text(NamedTuple):
    """The file and its text, for faults that name a line."""

    path: Path
    text: str

    def fault(self, words: str, table: str = "", key: str | None = None, take: int | None = None) -> UsageError:
        place = f"[[take]] {take + 1}: " if take is not None else f"[{table}]: " if table else ""
        inside = table or ("" if take is None else "take")
        line = find_line(self.text, inside, key, take)
        while line is None and "." in inside:  # as a value in braces, in the table above
            inside, _, key = inside.rpartition(".")
            line = find_line(self.text, inside, key, take)
        return UsageError(f"{place}{words}", code=CODE, path=self.path, line=line)


def read_manifest(path: str | os.PathLike[str], settings: Mapping[str, Any] | None = None) -> tuple[Path, list[Entry]]:
    """The root of a study's files, and its takes in the order of the list; raises UsageError that names the line.

    settings  of all takes, where the file does not say otherwise
    """
    file = Path(path)
    content, text = read_toml(file, "a list of takes", CODE)
    where, root = _Text(file, text), Path(os.path.abspath(file)).parent
    _check_keys(content, _TABLES, where)
    listed = content.get("take", [])
    if not isinstance(listed, list) or not listed or not all(isinstance(take, dict) for take in listed):
        raise UsageError('lists no take; begin each with [[take]] and file = "..."', code=CODE, path=file)
    common = merge_settings(settings or {}, _check_settings(content.get("settings", {}), where, "settings", root))
    performers = _read_performers(content.get("performer", {}), where, root)
    entries: list[Entry] = []
    for k, take in enumerate(listed):
        entries += _read_take(take, k, where, root, common, performers)
        if len(entries) > MOST_TAKES:
            raise where.fault(f"the study has more than {MOST_TAKES} takes by now; make several of it", take=k)
    unused = [name for name in performers if name not in {entry.performer for entry in entries}]
    if unused:
        names = sorted({entry.performer for entry in entries if entry.performer})
        hint = f"; {suggest(unused[0], names, TYPO_ALIKE)}" if names else ""
        raise where.fault(f"no take names the performer '{unused[0]}'{hint}", f"performer.{unused[0]}")
    return root, _name_takes(entries, root)


def _read_performers(content: Any, where: _Text, root: Path) -> dict[str, dict[str, Any]]:
    if not isinstance(content, dict) or not all(isinstance(one, dict) for one in content.values()):
        raise where.fault("performers are tables, such as [performer.anna.settings]", "performer")
    for name, table in content.items():
        _check_keys(table, ("settings",), where, f"performer.{name}")
    return {
        name: _check_settings(table.get("settings", {}), where, f"performer.{name}.settings", root)
        for name, table in content.items()
    }


def _read_take(
    take: dict[str, Any],
    k: int,
    where: _Text,
    root: Path,
    common: Mapping[str, Any],
    performers: Mapping[str, Mapping[str, Any]],
) -> list[Entry]:
    """The takes of one table: one, or one for each file of a pattern."""
    _check_keys(take, _KEYS, where, "take", k)
    for key in _WORDS:
        if not isinstance(take.get(key, ""), str):
            raise where.fault(f"{key} = {take[key]!r} is no text; put it in quotes", "take", key, k)
    who = str(take.get("performer", ""))
    session = str(take.get("session", ""))
    role = take.get("role", "calibration")
    if role not in ROLES:
        raise where.fault(f"no role '{role}'; {suggest(role, ROLES, TYPO_ALIKE)}", "take", "role", k)
    own = _check_settings(take.get("settings", {}), where, "take.settings", root, k)
    settings = merge_settings(merge_settings(common, performers.get(who, {})), own)
    groups, fault = _list_files(take, k, where, root)
    name = clean_name(str(take.get("name", "")))
    if name and len(groups) > 1:
        raise where.fault(f"one name for the {len(groups)} files of a pattern; leave it out", "take", "name", k)
    mounting = str(take.get("mounting", session))  # sensors are mounted anew for each session, unless it is said
    return [Entry(name, files, who, session, mounting, role, settings, fault) for files in groups]


def _list_files(
    take: Mapping[str, Any], k: int, where: _Text, root: Path
) -> tuple[list[tuple[str, ...]], tuple[str, str] | None]:
    """The files of each take, and what is wrong with them."""
    given = [key for key in ("file", "files") if key in take]
    if len(given) != 1:
        raise where.fault('needs either file = "..." or files = ["...", "..."]', "take", take=k)
    value = take[given[0]]
    several = isinstance(value, list) and value and all(isinstance(one, str) and one for one in value)
    if not (several if given[0] == "files" else isinstance(value, str) and value):
        kind = "a list of paths" if given[0] == "files" else "one path; files = [...] takes several"
        raise where.fault(f"{given[0]} = {value!r} is not {kind}", "take", given[0], k)
    if several:
        return [tuple(Path(one).as_posix() for one in value)], None
    path = Path(value)
    if not re.search(r"[*?\[]", value) or os.path.lexists(root / path):
        return [(path.as_posix(),)], None
    if len(value) > PATTERN_MAX_LETTERS:
        text = f"file is a pattern of {len(value)} letters, more than {PATTERN_MAX_LETTERS}; list the files one by one"
        raise where.fault(text, "take", "file", k)
    base = Path(path.anchor) if path.is_absolute() else root
    try:
        found = sorted(one for one in base.glob(str(path.relative_to(path.anchor))) if one.is_file())
    except (ValueError, OSError, NotImplementedError) as error:
        raise where.fault(f"file = {value!r} is no pattern: {error}", "take", "file", k) from None
    if not found:
        return [(path.as_posix(),)], ("no-such-file", f"{value}: no file fits this pattern")
    return [((one if path.is_absolute() else one.relative_to(root)).as_posix(),) for one in found], None


def _name_takes(entries: Sequence[Entry], root: Path) -> list[Entry]:
    """The takes with names for those that were given none."""
    unnamed = [entry for entry in entries if not entry.name]
    names = iter(make_names([relate(root / entry.files[0], root) for entry in unnamed]))
    return [entry if entry.name else Entry(**{**vars(entry), "name": next(names)}) for entry in entries]


def _check_keys(
    table: Mapping[str, Any], known: Sequence[str], where: _Text, name: str = "", take: int | None = None
) -> None:
    for key in table:
        if key not in known:
            raise where.fault(f"no key '{key}'; {suggest(key, known, TYPO_ALIKE)}", name, key, take)


def _check_settings(content: Any, where: _Text, table: str, root: Path, take: int | None = None) -> dict[str, Any]:
    """The settings of a table, which must be those of a fit; raises with the line."""
    if not isinstance(content, dict):
        raise where.fault("settings are a table", table, take=take)
    for name, kind in (("report", bool), ("export", str)):
        if name in content and not isinstance(content[name], kind):
            raise where.fault(f"{name} = {content[name]!r} is not {kind.__name__}", table, name, take)
    whole: list[tuple[str | None, dict[str, Any]]] = [(key, {key: value}) for key, value in content.items()]
    for key, part in [*whole, (None, content)]:
        try:
            check_settings(part, root)
        except CondyleError as error:
            raise where.fault(str(error), table, _find_key(error, key), take) from None
    return dict(content)


def _find_key(error: CondyleError, key: str | None) -> str | None:
    """The key that a fault is about: of [reading], the option that it names."""
    inside = re.search(r"no option '([^']*)'|^(\w+) = ", error.text)
    return key if inside is None else inside[1] or inside[2]


def find_line(text: str, table: str, key: str | None = None, take: int | None = None) -> int | None:
    """1-based line of a key in a table, or of the table, as far as a glance tells; `take`: in which [[take]]."""
    count, header = -1, None
    inside = table == ""
    name = None if key is None else re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]")
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\s*(\[+)\s*([^\]]+?)\s*\]", line)
        if head is None:
            if inside and name is not None and name.match(line):
                return number
            continue
        here = re.sub(r"\s|[\"']", "", head[2])
        count += here == "take" and head[1] == "[["
        mine = take is None or count == take
        inside = mine and (here == table or here.startswith(f"{table}.") or (table == "" and here == key))
        if mine and key is not None and here == f"{table}.{key}".removeprefix("."):
            return number
        if inside and header is None:
            header = number
    return header
