"""A scene in several formats at once: all files appear, or none."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from pathlib import Path

from ...errors import CondyleError, UsageError, suggest
from ...findings import Finding
from ...model.progress import begin_step
from ..folder import check_name, stage_files
from .inertia import MASS_FORMATS, check_body_mass
from .registry import FORMATS, split_formats
from .rigs import RIGS
from .scene import FigureFormat, Scene, Written

Formats = str | Sequence[str | FigureFormat]
ALL = "all"  # in the place of names: every format that this scene and this installation allow


@cache
def find_format(name: str) -> FigureFormat:
    """A format by its name; raises with the choices."""
    if name not in FORMATS:
        raise UsageError(f"no export format '{name}'; {suggest(name, [*FORMATS, ALL], 0.6)}", code="bad-option")
    found: FigureFormat = import_module(f".{FORMATS[name]}", __package__).FORMAT
    return found


def parse_formats(words: str) -> tuple[FigureFormat, ...]:
    """The formats in a list such as "bvh,glb", or those of the word "all"; raises with the choices."""
    names = list(FORMATS) if asks_for_all(words) else split_formats(words)
    if not names:
        raise UsageError(f"no export format is named; choose from {', '.join(FORMATS)}", code="bad-option")
    return tuple(find_format(name) for name in names)


def asks_for_all(words: str) -> bool:
    """Whether a list such as "bvh,glb" has the word "all" in it."""
    return ALL in split_formats(words)


def write_figure(scene: Scene, formats: Formats, folder: str | os.PathLike[str], stem: str = "figure") -> Written:
    """The scene in every format, "bvh,glb" or ["bvh", "glb"], as files named `stem` in `folder`, which is made if it is
    missing.

    All files appear, or none. In the folder of a fit they become files of that fit, which must be the skeleton's.
    """
    formats = check_scene(scene, formats, stem)
    with stage_files(folder, scene.skeleton.fit_id) as stage:
        written = write_formats(scene, formats, stage.path, stem)
    return Written(tuple(stage.folder / file.name for file in written.files), written.findings)


def check_scene(scene: Scene, formats: Formats, stem: str) -> tuple[FigureFormat, ...]:
    """The formats; raises where one cannot hold this scene, or no file can be named so, before anything is written."""
    check_name(stem)
    if not scene.motion.frames:
        raise CondyleError("the motion has no frame; fit a recording first", code="no-data")
    words = (formats or "",) if isinstance(formats, str) or not formats else formats
    if not isinstance(words, list | tuple) or not all(isinstance(one, str | FigureFormat) for one in words):
        raise UsageError(f"formats are named in a list such as 'bvh,glb', not by {formats!r}", code="bad-call")
    found = (parse_formats(one) if isinstance(one, str) else (one,) for one in words)
    chosen = tuple(form for several in found for form in several)
    if scene.names in RIGS:
        _ = scene.figure  # raises where there is no person, for formats without bones too
    if scene.body_mass is not None:
        wrong = [form.name for form in chosen if form.name not in MASS_FORMATS]
        if len(wrong) == len(chosen):
            raise UsageError(f"a body mass is for {', '.join(MASS_FORMATS)}, not {wrong[0]}", code="option-not-used")
        check_body_mass(scene.figure, scene.body_mass)
    by_name = not any(isinstance(one, str) and asks_for_all(one) for one in words)
    return tuple(form for form in chosen if _can_write(form, scene, asked=by_name))


def _can_write(form: FigureFormat, scene: Scene, *, asked: bool) -> bool:
    """Whether a format can hold the scene; raises where it was asked for by its name and cannot."""
    try:
        if form.check is not None:
            form.check(scene)
    except CondyleError:
        if asked:
            raise
        return False
    return asked or form.suits is None or form.suits(scene)


def write_formats(scene: Scene, formats: Sequence[FigureFormat], folder: Path, stem: str) -> Written:
    """The scene in every format, written to a folder in which nobody looks while that goes on."""
    files: list[Path] = []
    findings: dict[tuple[str, str], Finding] = {}
    for form in formats:
        begin_step(f"writing {form.name}")
        written = form.write(scene, folder / f"{stem}{form.suffix}")
        twice = {file.name for file in files} & {file.name for file in written.files}
        if twice:
            raise UsageError(f"two formats write '{min(twice)}'; export them into different folders", code="bad-option")
        files += written.files
        findings.update({(finding.code, finding.text): finding for finding in written.findings})
    return Written(tuple(files), tuple(findings.values()))
