"""The takes in a folder: every file that a reader knows, wherever it lies below it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from ..errors import CondyleError, UsageError
from ..io import MOTION, SKELETON
from ..io.formats import identify
from .ledger import LEDGER
from .plan import Entry, make_names


@dataclass(frozen=True)
class Found:
    """Takes of a folder, and the files in it that are none, each with the reason.

    A file that no reader knows is a take that fails where other takes have its ending: it is more likely damaged than
    something else.
    """

    entries: tuple[Entry, ...]
    passed: tuple[tuple[str, str], ...]


def find_takes(root: Path, out: Path, settings: Mapping[str, Any], *, performers: bool = False) -> Found:
    """The takes below `root`, in the order of their paths; what lies in `out` is none.

    performers  the first folder below the root is the performer, the next one, where there is one, the session
    """
    known: list[PurePath] = []
    unknown: dict[PurePath, CondyleError] = {}
    for file in _walk(root, out):
        path = PurePath(file.relative_to(root))
        try:
            identify(file)
            known.append(path)
        except CondyleError as error:
            unknown[path] = error
    endings = {path.suffix.lower() for path in known if path.suffix}
    broken = {path for path in unknown if path.suffix.lower() in endings}
    paths = sorted({*known, *broken}, key=lambda path: path.parts)
    if not paths:
        if _is_result(os.listdir(root)):
            text = "is the folder of a fit or of a study, in which nothing is a take; name that of the recordings"
            raise UsageError(text, code="bad-study", path=root)
        seen = f"; of {len(unknown)} files, {next(iter(unknown.values()))}" if unknown else ""
        raise UsageError(f"no recording is in this folder{seen}", code="bad-study", path=root)
    entries = []
    for path, name in zip(paths, make_names(paths), strict=True):
        fault = (unknown[path].code, _tell(unknown[path], path)) if path in broken else None
        folders = path.parts[:-1] if performers else ()
        who, session = [*folders[:2], "", ""][:2]
        entries.append(Entry(name, (path.as_posix(),), who, session, mounting=session, settings=settings, fault=fault))
    passed = [(path.as_posix(), _tell(error, path)) for path, error in unknown.items() if path not in broken]
    return Found(tuple(entries), tuple(passed))


def _tell(error: CondyleError, path: PurePath) -> str:
    """The sentence with the file named from the root."""
    return f"{path.as_posix()}: {error.text}"


def _is_result(files: Collection[str]) -> bool:
    """Whether a folder of these files is that of a fit or of a study."""
    return LEDGER in files or {SKELETON, MOTION} <= set(files)


def _walk(root: Path, out: Path) -> Iterator[Path]:
    """Files below a folder that are not hidden, not of the study that is being made, and of no fit or other study."""
    own = out.resolve()

    def fail(error: OSError) -> None:
        raise CondyleError(f"cannot be read: {error.strerror}", code="unreadable-file", path=error.filename)

    for place, folders, files in os.walk(root, onerror=fail):
        here = Path(place)
        if here.resolve() == own or _is_result(files):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (here / name for name in sorted(files) if not name.startswith("."))
