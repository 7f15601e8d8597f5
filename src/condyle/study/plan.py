"""What a study is made of: the takes as they are listed, and the steps that are to be done, calibrations first."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any, Literal

from .._version import __version__
from ..errors import UsageError, check_letters
from ..io.folder import DEVICES, number_names

Role = Literal["calibration", "performance"]
ROLES: tuple[Role, ...] = ("calibration", "performance")
TAKES = "takes"  # folder in a study that holds one folder a take
MOST_TAKES = 100_000  # more in one study is a folder named by mistake
LONGEST_FOLDER_NAME = 80  # letters of one folder of a take's name; file systems have 255 bytes
KEY_DIGITS = 16  # hexadecimal, of a SHA-256
_NOT_IN_NAMES = re.compile(r"[^\w .+@=()-]")  # what some file system, shell or address does not take


@dataclass(frozen=True)
class Entry:
    """One take as it is listed.

    name      of its folder in the study: "anna/walk"; unique
    files     its recordings, relative to the study's root where they are below it
    mounting  takes of one performer and one mounting have their sensors in the same places
    settings  as options.toml has them, with `report` and `export` beside
    fault     (code, sentence) where it cannot be done at all
    """

    name: str
    files: tuple[str, ...]
    performer: str = ""
    session: str = ""
    mounting: str = ""
    role: Role = "calibration"
    settings: Mapping[str, Any] = field(default_factory=dict)
    fault: tuple[str, str] | None = None


@dataclass(frozen=True)
class TakeStep:
    """One take to be done, as plain values that travel to another process.

    root       folder that the files and the files in the settings are relative to
    folder     of the study's folder of this take
    needs      name of the calibration that it is solved on; None: it is a calibration
    skeleton   folder of that calibration
    key        changes with everything that the outcome depends on, so that a take is done again when that changed
    """

    entry: Entry
    root: str
    folder: str
    key: str
    needs: str | None = None
    skeleton: str | None = None

    @property
    def name(self) -> str:
        return self.entry.name


def make_steps(root: Path, entries: Sequence[Entry], out: Path) -> tuple[TakeStep, ...]:
    """One step for every take, in the order of the list."""
    if len(entries) > MOST_TAKES:
        raise UsageError(
            f"has {len(entries)} takes, more than {MOST_TAKES}; make several studies of it", code="bad-study", path=root
        )
    named: dict[str, list[Entry]] = {}
    for entry in entries:
        for file in entry.files:
            check_letters(str(root / file))
        named.setdefault(entry.name.casefold(), []).append(entry)
    calibrations: dict[str, list[TakeStep]] = {}
    steps: dict[int, TakeStep] = {}
    for place, entry in sorted(enumerate(entries), key=lambda one: ROLES.index(one[1].role)):
        same = named[entry.name.casefold()]
        fault = _describe_same_name(same) if len(same) > 1 else entry.fault
        known = calibrations.get(entry.performer, []) if entry.role == "performance" else []
        known = [step for step in known if step.entry.mounting == entry.mounting]
        if entry.role == "performance" and not known:
            fault = fault or _describe_no_calibration(entry, entries)
        # The calibration of a performance: best one of its session, the first of those.
        needs = min(known, key=lambda step: step.entry.session != entry.session, default=None)
        steps[place] = _make_step(root, entry, fault, needs, out)
        if entry.role == "calibration" and fault is None:
            calibrations.setdefault(entry.performer, []).append(steps[place])
    return tuple(steps[place] for place in range(len(entries)))


def _make_step(root: Path, entry: Entry, fault: tuple[str, str] | None, needs: TakeStep | None, out: Path) -> TakeStep:
    entry = Entry(**{**vars(entry), "fault": fault})
    facts: list[object] = [
        __version__,
        [_look_at(root / file) for file in entry.files],
        entry.settings,
        [_look_at(root / file) for file in _name_files(entry.settings)],
        None if needs is None else needs.key,
    ]
    if fault is not None:  # takes of one name have one, and are one in the ledger
        facts = [__version__, fault]
    key = hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()[:KEY_DIGITS]
    folder = str(out / TAKES / entry.name)
    if needs is None:
        return TakeStep(entry, str(root), folder, key)
    return TakeStep(entry, str(root), folder, key, needs.name, needs.folder)


def _look_at(file: Path) -> list[object]:
    """What tells whether a file was changed, without reading it."""
    try:
        found = file.stat()
    except (OSError, ValueError):
        return [str(file), None]
    return [str(file), found.st_size, found.st_mtime_ns]


def _name_files(settings: Mapping[str, Any]) -> list[str]:
    """Files that settings name."""
    tables = ((settings, "field_file"), (settings.get("reading", {}), "columns"), (settings.get("rod", {}), "file"))
    return [str(table[name]) for table, name in tables if name in table]


def _describe_same_name(same: Sequence[Entry]) -> tuple[str, str]:
    files = " and ".join(", ".join(entry.files) for entry in same[:2])
    return _fault(
        f"{len(same)} takes are named '{same[0].name}' ({files}); give each a name of its own", code="same-name"
    )


def _describe_no_calibration(entry: Entry, entries: Sequence[Entry]) -> tuple[str, str]:
    own = [one for one in entries if one.role == "calibration" and one.performer == entry.performer]
    mountings = sorted({one.mounting for one in own})
    others = sorted({one.performer for one in entries if one.role == "calibration" and one.performer})
    who = f"performer '{entry.performer}'" if entry.performer else "a take without a performer"
    if own:
        who += f" has no calibration in mounting '{entry.mounting}', only in {', '.join(map(repr, mountings[:8]))}"
    else:
        have = f"; there are calibrations of {', '.join(others[:8])}" if others else ""
        who += f" has no calibration to be solved on{have}"
    return _fault(f"{', '.join(entry.files)}: {who}; list one of role calibration", code="no-calibration")


def _fault(text: str, *, code: str) -> tuple[str, str]:
    return code, text


def make_names(files: Iterable[PurePath]) -> list[str]:
    """A name for the folder of each take, after its file: without its ending where that leaves them different."""
    paths = list(files)
    names = ["/".join(map(_clean, path.with_suffix("").parts)) for path in paths]
    doubled = _find_doubled(names)
    names = [
        "/".join(map(_clean, path.parts)) if name.casefold() in doubled else name
        for path, name in zip(paths, names, strict=True)
    ]
    return number_names(names)


def relate(file: str | os.PathLike[str], root: Path) -> PurePath:
    """The path of a file for its name: below the root where it is there, else without what leads out of it."""
    try:
        path = PurePath(os.path.relpath(file, root))
    except ValueError:  # on another drive
        path = PurePath(file)
    return PurePath(*[part for part in path.parts if part not in ("..", path.anchor)])


def clean_name(name: str) -> str:
    """A name that somebody gave a take, as folders may be called."""
    return "/".join(_clean(part) for part in name.replace("\\", "/").split("/") if part not in ("", ".", ".."))


def _clean(part: str) -> str:
    kept = _NOT_IN_NAMES.sub("_", part)[:LONGEST_FOLDER_NAME].strip(" ").rstrip(". ") or "_"
    return f"_{kept}" if kept.startswith(".") or DEVICES.fullmatch(kept) else kept


def _find_doubled(names: Sequence[str]) -> set[str]:
    seen, doubled = set[str](), set[str]()
    for name in map(str.casefold, names):
        (doubled if name in seen else seen).add(name)
    return doubled
