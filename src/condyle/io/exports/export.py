"""A scene in several formats at once: all files appear, or none."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

from ...errors import CondyleError, UsageError
from ...findings import Finding
from .registry import FORMATS
from .scene import FigureFormat, Scene, Written

FIT_FILES = ("skeleton.json", "motion.npz")  # what condyle fit wrote, and exports are made from


@cache
def figure_format(name: str) -> FigureFormat:
    """A format by its name; raises with the choices."""
    if name not in FORMATS:
        raise UsageError(f"no export format '{name}'; choose from {', '.join(FORMATS)}", code="bad-option")
    found: FigureFormat = import_module(f".{FORMATS[name]}", __package__).FORMAT
    return found


def formats_of(words: str) -> tuple[FigureFormat, ...]:
    """The formats in a list such as "bvh,glb"; raises with the choices."""
    names = [word.strip().lower().removeprefix(".") for word in words.split(",") if word.strip()]
    if not names:
        raise UsageError(f"no export format is named; choose from {', '.join(FORMATS)}", code="bad-option")
    return tuple(figure_format(name) for name in dict.fromkeys(names))


def write_figure(
    scene: Scene, formats: str | Sequence[FigureFormat], folder: str | os.PathLike[str], stem: str = "figure"
) -> Written:
    """The scene in every format ("bvh,glb"), as files named `stem` in `folder`, which is made if it is missing.

    Everything is written to a folder beside first and moved at the end, so that nothing is left half written.
    """
    formats = formats_of(formats) if isinstance(formats, str) else formats
    if not stem or Path(stem).name != stem or stem.startswith("."):
        raise UsageError(f"'{stem}' cannot be the name of a file", code="bad-option")
    if not scene.motion.frames:
        raise CondyleError("the motion has no frame; fit a recording first", code="no-data")
    for form in formats:
        if form.check is not None:
            form.check(scene)
    out = Path(folder)
    new = _made(out)
    done = False
    try:
        with tempfile.TemporaryDirectory(prefix=".condyle-", dir=out, ignore_cleanup_errors=True) as name:
            files, findings = _write_all(scene, formats, Path(name), stem)
            taken = [file.name for file in files if file.name in FIT_FILES and (out / file.name).exists()]
            if taken:
                raise UsageError(
                    f"would replace '{taken[0]}' of the fit; choose another name", code="bad-option", path=out
                )
            blocked = [file.name for file in files if (out / file.name).is_dir()]
            if blocked:
                raise CondyleError("is a folder; choose another name", code="unwritable", path=out / blocked[0])
            moved = []
            for file in files:
                os.replace(file, out / file.name)
                moved.append(out / file.name)
        done = True
        return Written(tuple(moved), tuple(findings))
    except OSError as error:
        raise CondyleError(f"cannot be written: {error.strerror or error}", code="unwritable", path=out) from None
    finally:
        if new is not None and not done:
            shutil.rmtree(new, ignore_errors=True)


def _write_all(
    scene: Scene, formats: Sequence[FigureFormat], folder: Path, stem: str
) -> tuple[list[Path], list[Finding]]:
    files: list[Path] = []
    findings: dict[tuple[str, str], Finding] = {}
    for form in formats:
        written = form.write(scene, folder / f"{stem}{form.suffix}")
        twice = {file.name for file in files} & {file.name for file in written.files}
        if twice:
            raise UsageError(f"two formats write '{min(twice)}'; export them into different folders", code="bad-option")
        files += written.files
        findings.update({(finding.code, finding.text): finding for finding in written.findings})
    return files, list(findings.values())


def _made(folder: Path) -> Path | None:
    """Makes a folder where it is missing, and returns the outermost one that was."""
    if folder.exists() and not folder.is_dir():
        raise CondyleError("is a file; give the name of a folder", code="unwritable", path=folder)
    missing = None
    for one in (folder, *folder.parents):
        if one.exists():
            break
        missing = one
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if missing is not None:
            with suppress(OSError):
                missing.rmdir()
        raise CondyleError(f"cannot be made: {error.strerror}", code="unwritable", path=folder) from None
    return missing
