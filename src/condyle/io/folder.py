"""The folder of a fit is one transaction: all of its files are those of one fit, whatever ends a run.

How files get into a folder DIR:

1. `DIR/.condyle-lock` is locked by the operating system. The lock dies with its process; a second writer gets one
   sentence (`folder-busy`). What a killed run left is cleared now: step 5 of a run that got as far as 4, or its stage.
2. Everything is written into the hidden folder `DIR/.condyle-stage`, on the same file system.
3. manifest.json, with the fit id and the size and SHA-256 of every file of the fit, joins it; all is flushed to disk.
4. `DIR/.condyle-journal` appears by a rename, whole and flushed: the names to be removed and those to be moved in.
   Before this moment the folder is the old one, from this moment on it is the new one.
5. The names are removed and moved, the folder is flushed, and journal, stage and lock go.

Whoever finds a journal, reader or writer, takes the lock and does step 5 again: a name that is not in the stage any
more was moved. A reader that finds the lock taken waits for a moment. A stage without a journal is removed by the next
writer; readers pass it by, since nothing was moved. Names in a journal never lead out of the folder.

Files that the manifest does not list belong to the user and are never touched. Of an older fit, what the manifest
lists and a new fit does not write is removed, unless it was changed since: that is kept and told.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal

import msgspec

from ..errors import CondyleError, UsageError, check_path
from ..findings import Finding
from . import FIELD, FIT_FILES, MANIFEST, REPORT, SKELETON
from .atomic import PREFIX, flush_file, flush_folder, keep_mode, open_locked, read_small, remove_locked

LOCK, STAGE, JOURNAL = f"{PREFIX}lock", f"{PREFIX}stage", f"{PREFIX}journal"
# names that Windows keeps for itself, with superscript digits as well, whatever ending and blanks follow
DEVICES = re.compile(r"(con|conin\$|conout\$|prn|aux|nul|(com|lpt)[\d¹²³]) *(\..*)?", re.IGNORECASE)
FORBIDDEN = re.compile(r'[<>:"|?*]')  # in names of files on Windows
MANIFEST_MOST_BYTES = 2**24  # of a manifest or a journal
NAME_MOST_BYTES = 255  # of a file, on every system
LOCK_LONGEST_WAIT_S = 10.0  # that a reader waits for a writer that moves its files in, which takes milliseconds
LOCK_RETRY_S = 0.02


class FileSum(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one file held when it was written: its size in bytes and its SHA-256 in hexadecimal."""

    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The files that belong to a fit, by their paths in its folder."""

    format: Literal["condyle.manifest"]
    version: Literal[1]
    fit_id: str
    files: dict[str, FileSum]


class _Journal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    remove: list[str]
    move: list[str]


class Staging:
    """Files on their way into a folder: they are written below `path` and stand in `folder` once the block has ended.

    given     names of files that are none of the fit: they are moved in with it, and no later fit removes them
    written   where they stand then
    findings  files of an older fit that were kept, because they were changed since
    """

    def __init__(self, folder: Path, fit_id: str | None, *, replaces: bool, kept: Iterable[Path]) -> None:
        self.folder, self.path = folder, folder / STAGE
        self.fit_id, self.replaces, self.kept = fit_id, replaces, frozenset(path.resolve() for path in kept)
        self.given: set[str] = set()
        self.written: tuple[Path, ...] = ()
        self.findings: tuple[Finding, ...] = ()


def find_folder(place: str | os.PathLike[str]) -> Path:
    """The folder of a fit, given as the folder or as the skeleton.json in it."""
    path = Path(place)
    return path if path.is_dir() else path.parent


def check_name(name: str) -> str:
    """A name for files, without their endings; raises where some system cannot have it, or it leads elsewhere."""
    leads = any(kind(name).name != name for kind in (PurePosixPath, PureWindowsPath))
    if (
        not name
        or leads
        or name.startswith((".", " "))
        or name.endswith((".", " "))  # which Windows takes off
        or DEVICES.fullmatch(name)
        or FORBIDDEN.search(name)
        or not name.isprintable()
    ):
        raise UsageError(f"{name!r} cannot be the name of a file on every system", code="bad-option")
    return name


def number_names(names: Iterable[str]) -> list[str]:
    """The names, numbered where one stood before, in large letters or small: some systems know no other."""
    taken, numbered = set[str](), list[str]()
    numbers: dict[str, int] = {}  # of a name that stands many times: where to go on
    for name in names:
        number = numbers.get(name, 1)
        while (chosen := name if number == 1 else f"{name}-{number}").casefold() in taken:
            number += 1
        numbers[name] = number
        taken.add(chosen.casefold())
        numbered.append(chosen)
    return numbered


@contextmanager
def stage_files(
    folder: str | os.PathLike[str], fit_id: str | None = None, *, replaces: bool = False, kept: Iterable[Path] = ()
) -> Iterator[Staging]:
    """A stage whose files are in `folder` when the block ends well; on any exception the folder stays as it was.

    replaces  the files are a new fit, and an older one in the folder goes; else they join the fit that is there, which
              must be the one named by `fit_id`
    kept      files that are not removed even if they are of the older fit: the new one was made from them

    The folder is made where it is missing, and is not left behind empty.
    """
    place = check_path(folder, "a folder")
    stage = Staging(place, fit_id, replaces=replaces, kept=kept)
    with _make_folder(place), lock_folder(place):
        try:
            _clear(place)
            if not replaces:
                _check_same_fit(place, fit_id)
            stage.path.mkdir()
            yield stage
            _commit(stage)
        except OSError as error:
            raise CondyleError(f"cannot be written: {error.strerror or error}", code="unwritable", path=place) from None
        except CondyleError as error:
            if error.path is None or not Path(error.path).is_relative_to(stage.path):
                raise
            file = place / Path(error.path).relative_to(stage.path)  # where it would stand
            raise CondyleError(error.text, code=error.code, path=file) from None
        finally:
            if not os.path.lexists(place / JOURNAL):
                _remove_tree(stage.path)


@contextmanager
def lock_folder(folder: Path, wait: float = 0.0) -> Iterator[None]:
    """Keeps other writers out; raises CondyleError where one is at work for longer than `wait` [s]."""
    lock, until = folder / LOCK, time.monotonic() + wait
    try:
        while (handle := open_locked(lock)) is None:
            if time.monotonic() >= until:
                raise CondyleError(
                    "another condyle process is writing this folder; wait for it to end, or name another folder",
                    code="folder-busy",
                    path=folder,
                )
            time.sleep(LOCK_RETRY_S)
    except OSError as error:
        raise CondyleError(f"cannot be written: {error.strerror or error}", code="unwritable", path=folder) from None
    try:
        yield
    finally:
        remove_locked(lock, handle)


def settle_folder(folder: Path) -> None:
    """Finishes a move of files into the folder that was cut off; a reader calls this first. Costs one look else."""
    if os.path.lexists(folder / JOURNAL):
        with lock_folder(folder, LOCK_LONGEST_WAIT_S):
            _finish(folder)


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest of a folder; None where there is none, as in folders of version 0.1."""
    try:
        data = read_small(folder / MANIFEST, MANIFEST_MOST_BYTES)
    except CondyleError as error:
        if error.code == "no-such-file":
            return None
        raise
    try:
        found = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CondyleError(
            f"is no manifest that this version reads ({error}); fit anew, or remove it to read the files unchecked",
            code="damaged-file",
            path=folder / MANIFEST,
        ) from None
    return found


def read_checked(file: Path, most: int) -> bytes:
    """The bytes of a file of a fit, which must be those that the manifest beside it lists. `most` bounds their number.

    Raises CondyleError where it is larger, cannot be read, or was changed since it was written.
    """
    for last in (False, True):  # a writer may have moved new files in between the two looks
        settle_folder(file.parent)
        data = read_small(file, most)
        if len(data) > most:
            raise CondyleError(f"is larger than {most / 2**20:.0f} MiB", code="file-too-large", path=file)
        manifest = read_manifest(file.parent)
        known = None if manifest is None else manifest.files.get(file.name)
        if known is None or known == _sum_bytes(data):
            return data
        if last:
            raise CondyleError(
                f"was changed since it was written: its SHA-256 is not that in {MANIFEST}; fit anew, or remove "
                f"{MANIFEST} to read it all the same",
                code="damaged-file",
                path=file,
            )
    raise AssertionError("unreachable")


def check_ids(one: tuple[Path, str | None], other: tuple[Path, str | None]) -> None:
    """Raises where two files of a folder are of different fits; one without an id is of no fit with an id."""
    if one[1] != other[1]:
        (first, first_id), (second, second_id) = one, other
        raise CondyleError(
            f"is of fit {first_id or 'without an id'}, but {second.name} is of fit {second_id or 'without an id'}; "
            "put files of one fit together, or fit anew",
            code="files-disagree",
            path=first,
        )


def _check_same_fit(folder: Path, fit_id: str | None) -> None:
    manifest = read_manifest(folder)
    if manifest is not None and manifest.fit_id != fit_id:
        raise CondyleError(
            f"the folder holds fit {manifest.fit_id}, and the files to be written are of fit "
            f"{fit_id or 'without an id'}; name another folder",
            code="files-disagree",
            path=folder,
        )


def _commit(stage: Staging) -> None:
    folder = stage.folder
    names = sorted(path.relative_to(stage.path).as_posix() for path in stage.path.rglob("*") if path.is_file())
    bad = [name for name in names if not _is_inside(folder, name)]
    if bad:
        text = f"'{bad[0]}' cannot be the name of a file on every system; give one without : and \\"
        raise UsageError(text, code="bad-option", path=folder)
    blocked = [name for name in names if (folder / name).is_dir()]
    if blocked:
        raise CondyleError("is a folder; choose another name", code="unwritable", path=folder / blocked[0])
    taken = [] if stage.replaces else [name for name in names if name in FIT_FILES and (folder / name).exists()]
    if taken:
        text = f"would replace '{taken[0]}' of the fit; choose another name"
        raise UsageError(text, code="bad-option", path=folder)
    manifest = read_manifest(folder)
    remove: list[str] = []
    kept = {} if manifest is None else manifest.files
    if stage.replaces:
        remove, changed = _find_older(folder, manifest, names)
        remove = [name for name in remove if (folder / name).resolve() not in stage.kept]
        stage.findings = _describe_older(changed)
        kept = {}
    if stage.fit_id is not None and (stage.replaces or manifest is not None):
        sums = {name: _sum_file(stage.path / name) for name in names if name not in stage.given}
        new = Manifest("condyle.manifest", 1, stage.fit_id, dict(sorted((kept | sums).items())))
        packed = msgspec.json.format(msgspec.json.encode(new), indent=1) + b"\n"
        (stage.path / MANIFEST).write_bytes(packed)
        names.append(MANIFEST)
    for name in names:
        keep_mode(stage.path / name, folder / name)
        _flush_file(stage.path / name)
    for below in (stage.path, *(path for path in stage.path.rglob("*") if path.is_dir())):
        flush_folder(below)
    draft = stage.path / JOURNAL
    draft.write_bytes(msgspec.json.encode(_Journal(remove, names)))
    _flush_file(draft)
    try:
        os.replace(draft, folder / JOURNAL)
        flush_folder(folder)
        _finish(folder)
    except KeyboardInterrupt:
        _finish(folder)  # the new fit is decided; what remains takes milliseconds
        raise
    stage.written = tuple(folder / name for name in names)


def _finish(folder: Path) -> None:
    """Step 5 of the protocol, from wherever it was cut off. The lock is held."""
    journal = folder / JOURNAL
    if not os.path.lexists(journal):
        return
    try:
        todo = msgspec.json.decode(read_small(journal, MANIFEST_MOST_BYTES), type=_Journal)
        _check_names(folder, [*todo.remove, *todo.move])
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, RecursionError) as error:
        raise CondyleError(
            f"is no journal of this version ({error}); remove it and fit anew", code="damaged-file", path=journal
        ) from None
    try:
        for name in todo.remove:
            (folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # not empty, or the folder itself
                if (folder / name).parent != folder:
                    (folder / name).parent.rmdir()
        for name in todo.move:
            if (folder / STAGE / name).is_file():
                (folder / name).parent.mkdir(exist_ok=True)
                os.replace(folder / STAGE / name, folder / name)
                if (folder / name).parent != folder:
                    flush_folder((folder / name).parent)
        flush_folder(folder)
        journal.unlink()
        _remove_tree(folder / STAGE)
    except OSError as error:
        raise CondyleError(
            f"its new files cannot be moved in: {error.strerror or error}; close the programs that have one open, and "
            "the next condyle command finishes it",
            code="unwritable",
            path=folder,
        ) from None


def _clear(folder: Path) -> None:
    """What a killed run left is finished or removed, single files that were being written as well."""
    _finish(folder)
    for left in folder.glob(f"{PREFIX}*"):
        if left.name != LOCK:
            _remove_tree(left)


def clear_folder(folder: Path, wait: float = 0.0) -> None:
    """Finishes or removes what a killed writer left in a folder, which goes where nothing else is in it.

    wait  [s] for a writer that is at its end
    """
    if folder.is_dir():
        with lock_folder(folder, wait):
            _clear(folder)
        with suppress(OSError):  # something else is in it
            folder.rmdir()


def _remove_tree(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def _find_older(folder: Path, manifest: Manifest | None, new: list[str]) -> tuple[list[str], list[str]]:
    """Names of an older fit's files that a new fit does not replace: those to be removed, and those to be kept."""
    if manifest is None:  # none was there, or it is of version 0.1: its page and its field are known by their content
        ours = [name for name in (REPORT, FIELD) if name not in new and _mentions_condyle(folder / name)]
        exports = [path.name for path in folder.glob("figure*") if path.is_file() and path.name not in new]
        return (ours, sorted(exports)) if (folder / SKELETON).exists() else ([], [])
    _check_names(folder, list(manifest.files))
    there = [name for name in manifest.files if name not in new and (folder / name).is_file()]
    changed = [name for name in there if _sum_file(folder / name) != manifest.files[name]]
    return [name for name in there if name not in changed], changed


def _describe_older(changed: list[str]) -> tuple[Finding, ...]:
    if not changed:
        return ()
    text = (
        f"{', '.join(changed)}: may belong to the fit that was in this folder before, and {'are' * (len(changed) > 1)}"
        f"{'is' * (len(changed) == 1)} kept; remove what is out of date"
    )
    return (Finding("older-files", "warning", text, value=float(len(changed)), unit="1"),)


def _mentions_condyle(file: Path) -> bool:
    try:
        return b"condyle" in read_small(file, MANIFEST_MOST_BYTES)
    except CondyleError:
        return False


def _check_names(folder: Path, names: list[str]) -> None:
    """Raises where a name leads out of the folder, or into more than one folder in it."""
    for name in names:
        if not _is_inside(folder, name):
            raise CondyleError(f"'{name}' is no name of a file in this folder", code="damaged-file", path=folder)


def _is_inside(folder: Path, name: str) -> bool:
    """Whether a name stays in the folder, or in a folder right in it, on every system."""
    parts = PurePosixPath(name).parts
    inside = 0 < len(parts) <= 2 and not any(part in ("..", "/") or "\\" in part or ":" in part for part in parts)
    inside = inside and all(len(part.encode(errors="surrogatepass")) <= NAME_MOST_BYTES for part in parts)
    return inside and not (len(parts) == 2 and (folder / parts[0]).is_symlink())


@contextmanager
def _make_folder(folder: Path) -> Iterator[None]:
    """Makes a folder where it is missing, and takes back what was made and is empty when the block fails."""
    if folder.exists() and not folder.is_dir():
        raise CondyleError("is a file; give the name of a folder", code="unwritable", path=folder)
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException as error:
        for one in missing:
            with suppress(OSError):
                one.rmdir()
        if isinstance(error, OSError):
            raise CondyleError(f"cannot be made: {error.strerror}", code="unwritable", path=folder) from None
        raise


def _sum_bytes(data: bytes) -> FileSum:
    return FileSum(len(data), hashlib.sha256(data).hexdigest())


def _sum_file(file: Path) -> FileSum:
    with file.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
        return FileSum(stream.tell(), digest.hexdigest())


def _flush_file(file: Path) -> None:
    handle = os.open(file, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        flush_file(handle)
    finally:
        os.close(handle)
