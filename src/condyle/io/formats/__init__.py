"""Files to recordings. A format is found by a file's content, never by its name.

A new format is one file in this folder with a `FORMAT`, and its name in `_MODULES`; or, in a package of its own, an
entry point of the group `condyle.formats`, which `_plugins` loads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

from ...errors import TYPO_ALIKE, CondyleError, UsageError, check_letters, join_command, name_file, suggest
from ...findings import Finding
from ...maths.spool import ARRAY_BYTES, largest_in_memory
from ...model.progress import begin_step
from ...model.recording import Recording
from .. import SKELETON
from ..format import Format, ReadOptions, apply_options

__all__ = ["Format", "ReadOptions", "formats", "identify", "list_files", "read_recording"]

# Those that name themselves beyond doubt come first: they are tried one by one, and the rest is not even imported.
_BINARY = ("npz", "c3d")
_MODULES = (
    *_BINARY,
    "csv",
    "bvh",
    "amc",
    "htr",
    "mvnx",
    "opensim",
    "rosbag",
    "session_log",
    "gltf",
    "parquet",
    "matlab",
    "motive",
    "qualisys",
    "vicon",
    "trc",
    "mokka",
    "ndi",
    "polhemus",
    "ascension",
    # the rest leaves room for doubt
    "columns",
    "tum",
    "vr",
    "marker_table",
    "segment_table",
)
BAG_METADATA = "metadata.yaml"  # what makes a folder a bag of ROS 2
_NO_TEXT = re.compile(rb"[\x00-\x08]")  # stands in the head of every binary format
_DIGITS = re.compile(r"(\d+)")
HEAD_BYTES = 65536  # bytes that a format is recognised by


def list_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files that a path stands for: itself, or of a ROS 2 bag, a folder, those in it as they were recorded."""
    folder = Path(path)
    if not (folder / BAG_METADATA).is_file():
        return [folder]
    found = [*folder.glob("*.mcap"), *folder.glob("*.db3")] or [folder]
    return sorted(found, key=lambda file: [int(part) if part.isdigit() else part for part in _DIGITS.split(file.name)])


def read_recording(path: str | os.PathLike[str], options: ReadOptions | None = None) -> Recording:
    """The numbers in one file as they stand there, with the convention that the file states or the user gives."""
    options = options or ReadOptions()
    file = Path(path)
    check_letters(str(file))
    found, faults = _search(file, "columns" if options.columns is not None else options.format)
    begin_step(f"reading {file.name}{_describe_size(file.stat().st_size)}")
    try:
        with name_file(file):
            _check_length(file, found)
            recording = apply_options(found.read(file, options), options, f"{found.title} file")
    except OSError as error:
        raise _describe_unreadable(file, error) from None
    if recording.frames == 0 or not any(
        part.position.size for part in (recording.bodies, recording.markers) if part is not None
    ):
        raise CondyleError(f"{found.title} without a single pose", code="no-data", path=file)
    findings = (*recording.findings, *(Finding("broken-plugin", "warning", fault) for fault in faults))
    return replace(recording, source=str(file), format=found.name, findings=findings)


def _describe_size(size: int) -> str:
    return f" ({size / 1e6:.3g} MB)" if size >= 10**6 else ""


def _check_length(file: Path, found: Format) -> None:
    """Raises where a file is too long for a format that is held in memory as it is."""
    size, most = file.stat().st_size, largest_in_memory()
    if found.held_whole and size > most:
        raise CondyleError(
            f"{size / 1e9:.3g} GB of {found.title} are not read, since {found.held_whole}; "
            f"split the recording, or raise {ARRAY_BYTES} above the {most / 1e9:.3g} GB that one array may take",
            code="file-too-large",
        )


def identify(path: str | os.PathLike[str], name: str | None = None) -> Format:
    """The format of a file by its content; raises with what the file seems to be when it is none of them."""
    return _search(Path(path), name)[0]


def _search(file: Path, name: str | None) -> tuple[Format, list[str]]:
    """The format of a file, and a sentence for each plug-in that could not be asked."""
    head = _read_head(file)
    if name is not None:
        return _find_named(name, file), []
    found = []
    for module in _MODULES if _NO_TEXT.search(head) else _MODULES[len(_BINARY) :]:
        fmt = _import_format(module)
        if fmt.looks_like(head):
            if fmt.certain:
                return fmt, []
            found.append(fmt)
    faults: list[str] = []
    for fmt in _load_plugins(faults):
        try:
            if fmt.looks_like(head):
                found.append(fmt)
        except CondyleError as error:
            faults.append(error.text)
    certain = [fmt for fmt in found if fmt.certain]
    if len(certain or found) == 1:
        return (certain or found)[0], faults
    if found:
        titles = " and ".join(fmt.title for fmt in certain or found)
        names = " or ".join(f"--format {fmt.name}" for fmt in certain or found)
        raise CondyleError(f"looks like {titles}; say which with {names}", code="ambiguous-format", path=file)
    unknown = _describe_unknown(file, head)
    raise CondyleError("; ".join([unknown.text, *faults]), code=unknown.code, path=file) if faults else unknown


def _find_named(name: str, file: Path) -> Format:
    """The format of that name, condyle's own or a plug-in's; raises with all names."""
    from ._plugins import find_plugins, load_plugin

    own = {module.replace("_", "-"): module for module in _MODULES}
    if name in own:
        return _import_format(own[name])
    plugins = find_plugins()
    if name not in plugins:
        raise UsageError(f"no format '{name}'; choose from {', '.join([*own, *plugins])}", code="bad-option")
    with name_file(file):
        return load_plugin(plugins[name])


def _load_plugins(faults: list[str]) -> Iterator[Format]:
    """The formats that other packages bring along; what is wrong with one is added to the faults."""
    from ._plugins import find_plugins, load_plugin

    own = {module.replace("_", "-") for module in _MODULES}
    for name, point in find_plugins().items():
        try:
            if name not in own:
                yield load_plugin(point)
        except CondyleError as error:
            faults.append(error.text)


def _describe_unknown(file: Path, head: bytes) -> CondyleError:
    """What the file seems to be, and the way out."""
    from ..tables.sniff import describe_content, is_bare_header, is_table

    if len(head) < HEAD_BYTES and is_bare_header(head):
        return CondyleError("names of columns or comments, but not a single row of numbers", code="no-data", path=file)
    what, _, way = describe_content(head).partition("; ")
    if not way and is_table(head):
        way = f"`condyle info {join_command([str(file)])}` proposes a column map for it, to be given with --columns"
    elif not way:
        way = f"condyle reads {', '.join(name for name in _MODULES if name != 'columns')}"
    return CondyleError(f"this seems to be {what}, which is not read; {way}", code="unknown-format", path=file)


def formats() -> tuple[Format, ...]:
    """Every format that is read."""
    return tuple(_import_format(name) for name in _MODULES)


@cache
def _import_format(name: str) -> Format:
    found: Format = import_module(f".{name}", __name__).FORMAT
    return found


def _read_head(file: Path) -> bytes:
    try:
        if file.is_dir():
            raise CondyleError(_describe_folder(file), code="not-a-file", path=file)
        if file.exists() and not file.is_file():  # it may have no end, and it cannot be read twice
            raise CondyleError("is a pipe or a device; save it to a file first", code="not-a-file", path=file)
        with open(file, "rb") as stream:
            head = stream.read(HEAD_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _describe_unreadable(file, error) from None
    if not head:
        raise CondyleError("the file is empty", code="empty-file", path=file)
    return head


def _describe_folder(folder: Path) -> str:
    """What to do with a folder where a file is asked for."""
    name = join_command([str(folder)])
    if (folder / SKELETON).is_file():
        return f"is the folder of a fit; look at it with: condyle view {name}"
    return f"is a folder; name the files of one take, or fit every take in it: condyle batch {name} -o STUDY"


def _describe_missing(file: Path) -> str:
    """No such file, and the files beside it whose names are near."""
    if str(file) == "-":
        return "no such file, and standard input is not read, since a recording is read twice; save it to a file first"
    if file.is_symlink():
        return f"is a link to {os.readlink(file)}, which is not there"
    try:
        names = [one.name for one in file.parent.iterdir()] if file.parent.is_dir() else []
    except OSError:
        names = []
    near = suggest(file.name, names, TYPO_ALIKE) if names else ""
    return f"no such file; {near}" if near.startswith("did you") else "no such file"


def _describe_unreadable(file: Path, error: OSError | ValueError) -> CondyleError:
    if isinstance(error, FileNotFoundError):
        return CondyleError(_describe_missing(file), code="no-such-file", path=file)
    reason = getattr(error, "strerror", None) or str(error)
    return CondyleError(f"cannot be read: {reason}", code="unreadable-file", path=file)
