"""A temporary copy of numbers: the same to the last bit, gone whatever happens, and told where there is no room."""

from __future__ import annotations

import errno
import os
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.source import spool as module
from condyle.source.spool import Spool, spool_folder

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def numbers(rng: np.random.Generator, rows: int, width: int) -> np.ndarray:
    values = rng.normal(size=(rows, width)) * 10.0 ** rng.integers(-300, 300, (rows, width))
    values[rng.random((rows, width)) < 0.1] = np.nan
    return values


def test_rows_come_back_to_the_last_bit_from_wherever_they_are_asked(rng: np.random.Generator) -> None:
    values = numbers(rng, 1000, 7)
    with Spool(7, 1000) as spool:
        for part in np.array_split(values, [1, 400, 400, 999]):
            spool.append(part[:, :2], part[:, 2:])
        assert (spool.rows, spool.bytes) == (1000, 56_000)
        for start, stop in ((0, 1000), (0, 1), (399, 402), (990, 2000), (-5, 3), (600, 500), (1000, 1010)):
            got = spool.read(start, stop)
            assert got.tobytes() == values[max(start, 0) : max(stop, 0)].tobytes()


def test_rows_may_be_added_after_some_were_read(rng: np.random.Generator) -> None:
    values = numbers(rng, 30, 3)
    with Spool(3, 30) as spool:
        spool.append(values[:10])
        spool.read(2, 4)
        spool.append(values[10:])
        assert spool.read(0, 30).tobytes() == values.tobytes()


def test_whole_numbers_and_several_axes_are_laid_side_by_side() -> None:
    with Spool(8, 2) as spool:
        spool.append(np.array([4, 5]), np.arange(2.0), np.arange(12.0).reshape(2, 2, 3))
        np.testing.assert_array_equal(spool.read(1, 2), [[5, 1, 6, 7, 8, 9, 10, 11]])
        with pytest.raises(ValueError, match="7 numbers in a row of 8"):
            spool.append(np.zeros((1, 7)))


def test_it_lies_where_tmpdir_says_and_else_where_large_files_may_lie(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    assert spool_folder() == str(folder)
    large = tmp_path_factory.mktemp("large")
    monkeypatch.setattr(module, "ON_DISK", str(large))
    monkeypatch.delenv("TMPDIR")
    assert spool_folder() == str(large)
    monkeypatch.setattr(module, "ON_DISK", str(large / "none"))
    assert os.path.isdir(spool_folder())


def test_nothing_is_left_in_the_folder(folder: Path) -> None:
    with Spool(2, 5) as spool:
        spool.append(np.zeros((5, 2)))
    assert spool.closed
    assert list(folder.iterdir()) == []


def test_too_little_room_is_told_before_anything_is_written(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Usage(9e9, 8e9, 1.5e9))
    with pytest.raises(CondyleError) as error:
        Spool(100, 10_000_000)
    assert error.value.code == "disk-full"
    assert error.value.text == (
        f"a temporary copy of its numbers needs 8 GB in {folder}, where 1.5 GB are free; "
        "set TMPDIR to a folder with that much room"
    )
    assert list(folder.iterdir()) == []


def test_a_disk_that_fills_up_meanwhile_is_told_and_nothing_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full:
        closed = False

        def seek(self, _: int) -> None: ...

        def write(self, data: memoryview) -> int:
            if len(data) > 40:
                return 40  # as much as there is room for
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        def close(self) -> None:
            self.closed = True

    monkeypatch.setattr("tempfile.TemporaryFile", lambda **_: Full())
    spool = Spool(10, 100_000_000)
    with pytest.raises(CondyleError) as error:
        spool.append(np.zeros((1, 10)))
    assert error.value.code == "disk-full"
    assert error.value.text == (
        f"a temporary copy of its numbers needs 8 GB and cannot be written to {folder}: No space left on device; "
        "set TMPDIR to a folder with that much room"
    )
    assert spool.closed


def test_a_folder_that_cannot_be_written_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("tempfile.TemporaryFile", refused)
    with pytest.raises(CondyleError, match=f"cannot be made in {folder}: Permission denied; set TMPDIR"):
        Spool(2, 5)
