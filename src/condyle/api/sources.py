"""What a fit is made from, as it is given: a file, several files, files of one room, a take, or matrices."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CondyleError, UsageError, check_paths
from ..io.format import ReadOptions
from ..maths.arrays import Floats
from ..model.skeleton import Skeleton
from ..model.take import Take
from .fitted import FilePath

Recorded = FilePath | Sequence[FilePath] | Mapping[str, FilePath] | Take | NDArray[Any]  # what a fit is made from


def load_take(source: Recorded, reading: ReadOptions) -> Take:
    """The take in files, or the one that is given; options of reading are for files."""
    from ..prepare.read import load as load_files

    if isinstance(source, Take | np.ndarray):
        others = [name for name in reading.given if name not in ("rate", "fix")]
        if others or (reading.rate is not None and isinstance(source, Take)):
            raise UsageError(
                f"'{(others or ['rate'])[0]}' is for files, and the poses are given", code="option-not-used"
            )
        from ..prepare.own_rows import share_frames

        return share_frames(source if isinstance(source, Take) else Take.from_matrices(source, rate=reading.rate))
    if isinstance(source, Mapping):
        from ..prepare.together import place_together

        check_files(list(source.values()))
        return place_together({label: load_files([file], reading).take for label, file in source.items()})
    return load_files(check_files(source), reading).take


def load_parts(source: Recorded, known: Skeleton, reading: ReadOptions) -> list[tuple[Take, Floats | None]]:
    """The takes in files, and the rotations without a position: one take where all files have the same sensors.

    The convention is that of the calibration where the files say the same; else the motion is asked, as in a fit.
    """
    from ..model.scale import scale_markers
    from ..prepare.read import load as load_files
    from ..prepare.read import read_turns

    if isinstance(source, Take | np.ndarray | Mapping):
        return [(load_take(source, reading), None)]
    markers = scale_markers(known.markers, 1 / known.scale)  # as recorded
    groups = [check_files(source)]
    as_said = replace(reading, doctor=bool(reading.doctor))
    try:
        loaded = [load_files(groups[0], as_said, markers)]
    except CondyleError as error:
        if error.code != "bodies-differ":
            raise
        groups = [[file] for file in groups[0]]
        loaded = [load_files(group, as_said, markers) for group in groups]
    if reading.doctor is None and any(one.take.read_as != known.conventions.get("read_as") for one in loaded):
        loaded = [load_files(group, reading, markers) for group in groups]
    return [(one.take, read_turns(one)) for one in loaded]


def list_sources(source: Recorded, names: Sequence[str]) -> list[tuple[FilePath, Sequence[str]]]:
    """The files that are given, and which of the bodies are from each; none where poses are given."""
    if isinstance(source, Take | np.ndarray):
        return []
    if isinstance(source, Mapping):
        return [
            (file, [name.removeprefix(f"{label}:") for name in names if name.startswith(f"{label}:")])
            for label, file in source.items()
        ]
    return [(file, names) for file in ([source] if isinstance(source, str | os.PathLike) else source)]


def check_files(source: FilePath | Sequence[FilePath]) -> list[Path]:
    """The files that are meant; raises where one is named twice, or is a copy of another."""
    several = [] if isinstance(source, str | bytes | os.PathLike) or not isinstance(source, Iterable) else list(source)
    if any(isinstance(one, Take | np.ndarray | list | tuple) for one in several):
        fault = "poses are given as one array (n, m, 4, 4) or one Take; join makes one of several takes"
        raise UsageError(f"{fault}, Take.from_poses one of positions and quaternions", code="bad-call")
    if not isinstance(source, str | os.PathLike | Iterable):
        fault = f"a recording is a file, several files, {{label: file}}, a Take or matrices, not {source!r}"
        raise UsageError(fault, code="bad-call")
    files = check_paths(several or source)
    twice = [file for k, file in enumerate(files) if file.resolve() in {one.resolve() for one in files[:k]}]
    if twice:
        raise UsageError("is named twice; its frames would count double", code="same-file-twice", path=twice[0])
    by_size: dict[int, list[Path]] = {}  # only files of one size are read
    for file in filter(Path.is_file, files):
        alike = by_size.setdefault(file.stat().st_size, [])
        for other in alike:
            from filecmp import cmp

            if cmp(file, other, shallow=False):
                text = f"has the same content as {other}; its frames would count double"
                raise UsageError(text, code="same-file-twice", path=file)
        alike.append(file)
    return files
