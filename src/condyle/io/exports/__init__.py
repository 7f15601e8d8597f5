"""Takes and figures to files. Every file appears whole or not at all; figures are in `export`.

A format that figures are written in is one file here with a `FORMAT`, and its name in `export_formats.FORMATS`.
"""

from __future__ import annotations

import os

from ...errors import UsageError, check_path
from ...maths.threads import keep_arithmetic
from ...model.take import Take
from .take_csv import write_take_csv
from .take_npz import write_motion_npz, write_take_npz

__all__ = ["check_suffix", "write_motion_npz", "write_take", "write_take_csv", "write_take_npz"]

_SUFFIXES = (".npz", ".csv")


@keep_arithmetic()
def write_take(path: str | os.PathLike[str], take: Take) -> None:
    """Writes a take in the format that the name ends in, .npz or .csv; raises with the choices."""
    writer = write_take_npz if check_suffix(path) == ".npz" else write_take_csv
    writer(path, take)


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix that names the format, in lower case; raises with the choices where it names none."""
    file = check_path(path, "a file")
    suffix = file.suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(
            f"cannot tell the format from '{suffix or file.name}'; end the name in {' or '.join(_SUFFIXES)}",
            code="unknown-suffix",
            path=file,
        )
    return suffix
