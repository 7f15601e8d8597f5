"""Files that are too long for the memory: the same numbers as of a file that is not, in every format that streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io import formats
from condyle.io.formats import ReadOptions, identify, read_recording
from condyle.maths import spool
from condyle.model.recording import Recording, to_take

NEEDS = {"parquet": "pyarrow", "rosbag": "rosbags"}


def variants() -> Iterator[tuple[str, str]]:
    for name in formats._MODULES:
        tests = import_module(f"tests.io.formats.test_{name}")
        for variant in tests.SMALL:
            if (name, variant) != ("amc", "skeleton"):
                yield name, variant


def write(folder: Path, name: str, variant: str) -> tuple[Path, ReadOptions]:
    """A small file of a format, with the file that such a file needs beside it."""
    tests = import_module(f"tests.io.formats.test_{name}")
    path = folder / "case.dat"
    path.write_bytes(tests.SMALL[variant])
    if name == "amc":
        (folder / "case.asf").write_bytes(tests.SMALL["skeleton"])
    if name != "columns":
        return path, ReadOptions()
    (folder / "map.toml").write_text(tests.SMALL_MAP)
    return path, ReadOptions(columns=folder / "map.toml")


@contextmanager
def too_long(path: Path, block: int = 64) -> Iterator[None]:
    """Everything is too long for the memory: arrays are walked in tiny blocks, and texts in two."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv(spool.ARRAY_BYTES, "0")
        changed.setattr(spool, "BLOCK_BYTES", block)
        changed.setattr("condyle.io.tables.rows.PARSED_AT_ONCE_BYTES", 16)
        for name in ("TEXT_BLOCK_BYTES", "LONG_TEXT_MIN_BYTES"):
            changed.setattr(f"condyle.io.tables.text.{name}", max(path.stat().st_size - 1, 1))
        yield


def arrays(recording: Recording) -> Iterator[tuple[str, np.ndarray]]:
    for owner in (recording, recording.bodies, recording.markers):
        for field in fields(owner) if owner is not None else ():
            value = getattr(owner, field.name)
            if isinstance(value, np.ndarray):
                yield f"{type(owner).__name__}.{field.name}", value


def words(recording: Recording) -> object:
    return recording.convention, recording.rate, recording.facts, recording.findings, recording.solved_by


def outcome(read: Callable[[], Recording]) -> Recording | str:
    try:
        return read()
    except CondyleError as error:
        return str(error)


@pytest.mark.parametrize(("name", "variant"), list(variants()))
def test_a_long_file_gives_the_numbers_and_the_words_of_a_short_one(tmp_path: Path, name: str, variant: str) -> None:
    path, options = write(tmp_path, name, variant)
    fmt = identify(path, name.replace("_", "-"))
    options = replace(options, format=fmt.name)
    short = outcome(lambda: read_recording(path, options))
    with too_long(path):
        long = outcome(lambda: read_recording(path, options))
    if fmt.held_whole:
        assert isinstance(long, str)
        assert fmt.held_whole in long
        return
    if variant == "tracking tools":
        assert "Tracking Tools are read up to the length" in str(long)
        return
    if isinstance(short, str) or isinstance(long, str):
        assert long == short
        return
    assert words(long) == words(short)
    assert [(key, one.tobytes()) for key, one in arrays(long)] == [(key, one.tobytes()) for key, one in arrays(short)]
    if short.bodies is None:
        return
    take = to_take(short)
    with too_long(path):
        other = to_take(long)
    assert other.findings == take.findings
    for key in ("time", "segment", "R_world_body", "p_world_body", "seen"):
        assert getattr(other, key).tobytes() == getattr(take, key).tobytes(), key


def test_the_numbers_of_a_long_file_lie_on_disk(tmp_path: Path) -> None:
    for name in ("csv", "c3d", "npz", "trc"):
        path, options = write(tmp_path, name, next(iter(import_module(f"tests.io.formats.test_{name}").SMALL)))
        with too_long(path):
            part = read_recording(path, options)
        for key, one in arrays(part):
            assert spool.is_spooled(one) or one.ndim == 1, f"{name}: {key}"


def test_two_formats_are_held_whole() -> None:
    held = {fmt.name for fmt in formats.formats() if fmt.held_whole}
    assert held == {"gltf", "matlab"}
