"""Arrays that may lie on disk: where, how they are walked, and that the answer is the same."""

from __future__ import annotations

import gc
import os
from collections import namedtuple
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.maths import spool
from condyle.maths.arrays import freeze_array
from condyle.maths.robust import median

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of temporary files, in which every array lies that has a number."""
    monkeypatch.setenv(spool.ARRAY_BYTES, "0")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def test_an_array_lies_on_disk_from_the_limit_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(spool.ARRAY_BYTES, "800")
    assert not spool.is_spooled(spool.empty((100,)))
    large = spool.empty((101,))
    assert spool.is_spooled(large)
    assert spool.is_spooled(large.reshape(1, 101)[:, 5:7]), "so does a part of it"
    assert spool.empty((3, 0, 4)).shape == (3, 0, 4)


def test_arrays_that_are_held_together_lie_on_disk_from_twice_the_limit_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_held", {})
    monkeypatch.setenv(spool.ARRAY_BYTES, "8000")
    size = 750
    first, second, third = (spool.empty((size,)) for _ in range(3))
    assert [spool.is_spooled(one) for one in (first, second, third)] == [False, False, True]
    assert not spool.is_spooled(spool.empty((15,))), "small ones are not counted"
    part = first[5:7]
    del first
    assert spool.is_spooled(spool.empty((size,))), "a part keeps all of its array"
    del part
    assert not spool.is_spooled(spool.empty((size,)))


def test_the_limit_is_a_share_of_the_memory_unless_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(spool.ARRAY_BYTES, raising=False)
    assert spool.largest_in_memory() == int(spool._memory_bytes() / 16) > 2**20
    monkeypatch.setenv(spool.ARRAY_BYTES, "1e9")
    with pytest.raises(UsageError, match="CONDYLE_ARRAY_BYTES is a number of bytes, not '1e9'"):
        spool.largest_in_memory()


def test_what_is_written_to_an_array_on_disk_is_read_back_and_its_file_has_no_name(
    rng: np.random.Generator, on_disk: Path
) -> None:
    values = rng.standard_normal((1000, 7))
    array = spool.empty(values.shape)
    array[...] = values
    assert array.tobytes() == values.tobytes()
    assert list(on_disk.iterdir()) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs /proc")
def test_the_file_is_gone_with_its_array(on_disk: Path) -> None:
    array = spool.empty((10_000,))
    part = array[5:10]
    del array
    mapped = Path("/proc/self/maps").read_text()
    assert str(on_disk) in mapped
    del part
    gc.collect()
    assert str(on_disk) not in Path("/proc/self/maps").read_text()
    assert not [fd for fd in os.listdir("/proc/self/fd") if str(on_disk) in str(Path("/proc/self/fd", fd).resolve())]


def test_a_disk_that_is_full_is_told_before_anything_is_written(on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda folder: Usage(10**9, 10**9 - 100, 100))
    with pytest.raises(CondyleError) as error:
        spool.empty((10**9,))
    assert error.value.code == "disk-full"
    assert f"needs 8 GB in {on_disk}, where 1e-07 GB are free; set TMPDIR" in error.value.text


def test_a_disk_that_fills_up_is_told_as_well(on_disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(CondyleError, match=r"cannot be made in .*: No space left on device"):
        spool.empty((10,))


def test_large_arrays_lie_where_tmpdir_says_or_where_large_files_belong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert spool.spool_folder() == str(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    monkeypatch.setattr(spool, "ON_DISK", str(tmp_path))
    assert spool.spool_folder() == str(tmp_path)


@pytest.mark.parametrize("frames", [0, 1, 7, 8, 9, 100])
def test_blocks_cover_all_frames_once(frames: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "BLOCK_BYTES", 8 * 24)
    rows = [k for part in spool.blocks(np.zeros((frames, 3))) for k in range(part.start, part.stop)]
    assert rows == list(range(frames))
    assert all(part.stop - part.start <= 8 for part in spool.blocks(np.zeros((frames, 3))))
    monkeypatch.setattr(spool, "PART_BYTES", 2 * 24)
    parts = [part.stop - part.start for part in spool.blocks(np.zeros((frames, 3)))]
    assert sum(parts) == frames
    assert max(parts, default=0) == (frames if frames <= 8 else 2), "at once, or in parts that are smaller"


@pytest.mark.parametrize("limit", ["0", "100000"])
def test_what_is_done_block_by_block_is_what_is_done_at_once(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    a, b = rng.standard_normal((50, 4, 3)), rng.random((50, 4)) < 0.3
    rows = np.flatnonzero(rng.random(50) < 0.5)
    monkeypatch.setattr(spool, "BLOCK_BYTES", 200)
    monkeypatch.setenv(spool.ARRAY_BYTES, limit)
    hidden = spool.hide(a, b)
    assert hidden.tobytes() == np.where(b[..., None], np.nan, a).tobytes()
    assert spool.is_spooled(hidden) == (limit == "0")
    assert not hidden.flags.writeable
    assert spool.over_frames(lambda x, y: x[:, 0] * y[:, :1], a, b).tobytes() == (a[:, 0] * b[:, :1]).tobytes()
    assert spool.take_rows(a, rows).tobytes() == a[rows].tobytes()
    assert spool.take_rows(a, np.isin(np.arange(50), rows)).tobytes() == a[rows].tobytes()
    assert spool.take_rows(a, slice(3, 9)).base is a
    assert spool.join_arrays([a, a[:7]]).tobytes() == np.concatenate([a, a[:7]]).tobytes()


def test_marks_that_become_numbers_are_walked_in_blocks_of_these(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "BLOCK_BYTES", 8 * 30)
    sizes = []

    def count(part: spool.Array) -> spool.Array:
        sizes.append(len(part))
        return part.astype(np.float64)

    assert spool.over_frames(count, np.ones((40, 3), dtype=bool)).all()
    assert sizes == [10, 10, 10, 10]


def test_an_array_on_disk_is_kept_as_it_is_and_one_in_memory_is_copied(on_disk: Path) -> None:
    array = spool.empty((5, 3))
    array[...] = 1.0
    assert freeze_array(array, (5, 3), "it") is not array
    assert spool.is_spooled(spool.seal(array))
    assert freeze_array(array, (5, 3), "it") is array
    assert freeze_array(array[1:], (4, 3), "it").base is not None


def test_large_numbers_of_another_type_become_floats_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condyle.maths.arrays.BLOCK_BYTES", 100)
    monkeypatch.setattr(spool, "BLOCK_BYTES", 100)
    values = np.arange(300, dtype=np.float32).reshape(100, 3)
    found = freeze_array(values, (100, 3), "it")
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, values)


def test_a_median_by_columns_is_that_of_all(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    values = rng.standard_normal((31, 5, 4))
    values[rng.random(values.shape) < 0.2] = np.nan
    whole, turned = median(values), median(values.T)
    for few in (300, 600, 1000):  # less than a column, some columns, and all of one body
        monkeypatch.setattr("condyle.maths.robust.BLOCK_BYTES", few)
        assert median(values).tobytes() == whole.tobytes()
        assert median(values.T).tobytes() == turned.tobytes()


@pytest.mark.parametrize("limit", ["0", "1000000"])
def test_rows_that_come_one_by_one_are_all_there(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setenv(spool.ARRAY_BYTES, limit)
    values, rows = rng.standard_normal((200, 3)), spool.GrowingRows()
    assert len(rows.array()) == 0
    for row in values.tolist():
        rows.add(row)
    assert len(rows) == 200
    assert rows.array().tobytes() == values.tobytes()
    assert spool.is_spooled(rows.array()) == (limit == "0")


def test_many_arrays_together_are_as_large_as_one(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(spool.ARRAY_BYTES, "1000")
    values = rng.standard_normal((20, 3))
    assert spool.one_of_many(values, 2) is values
    assert spool.is_spooled(spool.one_of_many(values, 3))
    assert spool.one_of_many(values, 3).tobytes() == values.tobytes()
    assert spool.side_by_side([values, 2 * values]).tobytes() == np.stack([values, 2 * values], axis=1).tobytes()
    assert not spool.zeros((200, 3)).any()
    assert spool.copy_array(values).flags.writeable


def test_room_is_taken_at_once_where_the_system_has_no_call_for_it(
    on_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "posix_fallocate")  # as on macOS and Windows
    monkeypatch.setattr(spool, "BLOCK_BYTES", 1000)
    mapped = spool._map_file(2500)
    assert (len(mapped), mapped[:]) == (2500, bytes(2500))

    class Full:
        def __init__(self) -> None:
            self.left = 2000

        def write(self, data: bytes) -> None:
            self.left -= len(data)
            if self.left < 0:
                raise OSError(28, "No space left on device")

    @contextmanager
    def open_full(*_: object, **__: object) -> Iterator[Full]:
        yield Full()

    monkeypatch.setattr("tempfile.TemporaryFile", open_full)
    with pytest.raises(CondyleError, match="No space left on device"):
        spool._map_file(2500)
