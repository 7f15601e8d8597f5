from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from condyle.errors import CondyleError
from condyle.io import atomic
from condyle.io.atomic import flush_file, keep_mode, open_atomic


def test_the_file_appears_whole_at_the_end_and_nothing_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with open_atomic(path) as stream:
        stream.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["a.bin"]


def _write_half(stream: IO[bytes], fault: type[BaseException]) -> None:
    stream.write(b"half")
    raise fault


@pytest.mark.parametrize("fault", [KeyboardInterrupt, ValueError, MemoryError])
def test_an_error_leaves_the_old_file_and_nothing_half_written(tmp_path: Path, fault: type[BaseException]) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(fault), open_atomic(path) as stream:
        _write_half(stream, fault)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="cannot be written: No space left") as error, open_atomic(tmp_path / "a"):
        raise OSError(28, "No space left on device")
    assert error.value.code == "unwritable"
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match=r"the folder '.*none' does not exist"), open_atomic(tmp_path / "none" / "a"):
        pass


def test_a_folder_without_permission_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)  # root may write everywhere, so the system's word is made up
    with pytest.raises(CondyleError, match="cannot be written: Permission denied"), open_atomic(tmp_path / "a"):
        pass


def test_a_folder_in_place_of_the_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="is a folder"), open_atomic(tmp_path):
        pass


@pytest.mark.skipif(os.name != "posix", reason="file modes of POSIX")
def test_the_file_has_the_mode_of_the_one_it_replaces_or_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").touch()
    with open_atomic(tmp_path / "new"):
        pass
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode
    (tmp_path / "plain").chmod(0o640)
    with open_atomic(tmp_path / "plain"):
        pass
    assert stat.S_IMODE((tmp_path / "plain").stat().st_mode) == 0o640


def test_a_file_that_a_fit_is_read_from_is_not_replaced(tmp_path: Path) -> None:
    for name in ("skeleton.json", "manifest.json"):
        (tmp_path / name).write_text("old")
    refused = pytest.raises(CondyleError, match="is a file of the fit in this folder; choose another name")
    with refused, open_atomic(tmp_path / "skeleton.json") as stream:
        stream.write(b"a page")
    assert (tmp_path / "skeleton.json").read_text() == "old"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name there")
def test_a_pipe_or_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(CondyleError, match="is a pipe or a device; give the name of a file"), open_atomic(path):
        pass
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


class Windows:
    """The module os as it is there: no file is renamed or removed while it is open, nor replaced while another program
    has it open, as those in `held`.
    """

    name = "nt"

    def __init__(self, held: tuple[str, ...] = ()) -> None:
        self.held, self.open_files = held, set[int]()

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def open(self, *given: Any) -> int:
        handle = os.open(*given)
        self.open_files.add(handle)
        return handle

    def close(self, handle: int) -> None:
        if handle not in self.open_files:
            raise OSError(9, "Bad file descriptor")
        self.open_files.remove(handle)
        os.close(handle)

    def replace(self, one: Path, other: Path) -> None:
        if self.open_files or Path(other).name in self.held:
            raise PermissionError(13, "Access is denied")
        os.replace(one, other)

    def unlink(self, path: Path) -> None:
        if self.open_files:
            raise PermissionError(13, "Access is denied")
        os.unlink(path)

    def chmod(self, *_: object) -> None:
        raise AssertionError("a file that cannot be written could not be moved or removed")


@pytest.mark.parametrize("old", [None, b"old"])
def test_on_windows_the_file_appears_whole_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: bytes | None
) -> None:
    monkeypatch.setattr(atomic, "os", Windows())
    path = tmp_path / "a.csv"
    if old is not None:
        path.write_bytes(old)
    with open_atomic(path) as stream:
        stream.write(b"whole")
    assert path.read_bytes() == b"whole"
    assert os.listdir(tmp_path) == ["a.csv"]


def test_on_windows_a_file_that_a_spreadsheet_has_open_is_one_sentence_and_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system = Windows(held=("a.csv",))
    monkeypatch.setattr(atomic, "os", system)
    path = tmp_path / "a.csv"
    path.write_bytes(b"old")
    with pytest.raises(CondyleError, match="cannot be written: Access is denied"), open_atomic(path) as stream:
        stream.write(b"new")
    assert (path.read_bytes(), os.listdir(tmp_path), system.open_files) == (b"old", ["a.csv"], set())


def test_on_windows_no_mode_is_carried_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "os", Windows())
    (tmp_path / "old").touch()
    (tmp_path / "new").touch()
    keep_mode(tmp_path / "new", tmp_path / "old")


@pytest.mark.parametrize("can", [True, False])
def test_on_macos_a_file_goes_to_the_disk_and_not_to_the_memory_of_the_drive(
    monkeypatch: pytest.MonkeyPatch, can: bool
) -> None:
    called: list[object] = []

    def control(handle: int, command: int) -> None:
        called.append(command)
        if not can:
            raise OSError(45, "Operation not supported")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(atomic, "fcntl", SimpleNamespace(fcntl=control, F_FULLFSYNC=51))
    monkeypatch.setattr("os.fsync", called.append)
    flush_file(7)
    assert called == ([51] if can else [51, 7])
