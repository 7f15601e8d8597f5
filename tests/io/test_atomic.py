from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

import pytest

from condyle.errors import CondyleError
from condyle.io.atomic import open_atomic


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
