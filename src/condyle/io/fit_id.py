"""The id of a fit: a hash of its input, its options and the version; the same three give the same files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ..maths.spool import blocks
from ..model.field import FieldModel, Rod
from ..model.options import FitOptions
from ..model.take import Take
from .atomic import read_small
from .format import ReadOptions
from .formats import list_files
from .options_file import describe_options
from .toml_file import MOST_TOML_BYTES

FIT_ID_DIGITS = 16  # hexadecimal, of a SHA-256


def hash_input(take: Take) -> str:
    """SHA-256 of the poses as they were read."""
    digest = hashlib.sha256()
    _add_take(digest, take)
    return digest.hexdigest()


def list_windows(
    sources: Iterable[tuple[str | os.PathLike[str], Iterable[str]]], reading: ReadOptions
) -> list[dict[str, Any]]:
    """The parts of files that are read, as a `FileWindow` each: overlapping ones are of one recording.

    sources  files and the names of the bodies that are taken from them
    """
    found = []
    before = {new: old for old, new in (reading.rename or {}).items()}
    for path, names in sources:
        bodies = [before.get(name, name) for name in names]
        for file in filter(Path.is_file, list_files(path)):
            with file.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
            start, stop = float(reading.start or 0.0), None if reading.stop is None else float(reading.stop)
            found.append({"sha256": digest, "start": start, "stop": stop, "bodies": bodies})
    return found


def _add_take(digest: hashlib._Hash, take: Take) -> None:
    facts = [list(take.names), take.timed, take.up, [[one.body, one.name] for one in take.markers]]
    digest.update(json.dumps(facts).encode())
    for array in (take.time, take.segment, take.R_world_body, take.p_world_body):
        for rows in blocks(array):
            digest.update(np.ascontiguousarray(array[rows]).data)


def pack_options(options: FitOptions, reading: ReadOptions) -> bytes:
    """The options with all that they stand for, as bytes that are the same for the same options."""
    plain: dict[str, Any] = {**options.to_plain(), "reading": describe_options(FitOptions(), reading).get("reading")}
    if reading.columns is not None:
        plain["reading"]["columns"] = hashlib.sha256(read_small(reading.columns, MOST_TOML_BYTES)).hexdigest()
    if isinstance(options.field, FieldModel):
        plain["field"] = options.field.to_plain()
    elif isinstance(options.field, Rod):
        digest = hashlib.sha256()
        if options.field.take is not None:
            _add_take(digest, options.field.take)
        plain["field"] = [options.field.pair, options.field.distance, digest.hexdigest()]
    return json.dumps(plain, sort_keys=True).encode()


def make_fit_id(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:FIT_ID_DIGITS]
