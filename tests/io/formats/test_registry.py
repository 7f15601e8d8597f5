"""io/formats/__init__.py, io/tables/sniff.py: formats are found by content, and an unknown file is told what it is."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.io import formats as readers
from condyle.io.exports import write_take
from condyle.io.formats import Format, ReadOptions, identify, read_recording
from condyle.model.take import Take
from condyle.prepare.read import read

TAKE = Take.from_poses(np.zeros((3, 1, 3)), np.tile([1.0, 0, 0, 0], (3, 1, 1)), names=["hip"], rate=10)


def fault(path: Path, **options: object) -> CondyleError:
    with pytest.raises(CondyleError) as error:
        read(path, **options)
    assert error.value.path == str(path)
    return error.value


@pytest.mark.parametrize("wrong_suffix", [".c3d", ".txt", ""])
@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_file_is_known_by_its_content_not_by_its_name(tmp_path: Path, suffix: str, wrong_suffix: str) -> None:
    write_take(tmp_path / f"a{suffix}", TAKE)
    other = (tmp_path / f"a{suffix}").rename(tmp_path / f"other{wrong_suffix}")
    assert read(other).names == ("hip",)
    assert identify(other).name == suffix[1:]


@pytest.mark.parametrize("name", readers._BINARY)
def test_no_text_looks_like_a_binary_format(name: str, rng: np.random.Generator) -> None:
    letters = np.arange(9, 256, dtype=np.uint8)
    looks_like = readers._import_format(name).looks_like
    heads = [rng.choice(letters, 1024).tobytes() for _ in range(50)]
    heads += [start + head for head in heads for start in (b"PK", b"\x0aP", b"\x55P")]
    assert not any(looks_like(head) for head in heads)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    assert fault(tmp_path / "none.npz").code == "no-such-file"


def test_a_folder_is_told(tmp_path: Path) -> None:
    assert fault(tmp_path).code == "not-a-file"


def test_an_empty_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.touch()
    assert fault(path).code == "empty-file"


def test_a_file_without_permission_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, real = tmp_path / "a.csv", open
    path.write_text("x")

    def refuse(file: Any, *args: Any, **given: Any) -> Any:
        if file == path:
            raise PermissionError(13, "Permission denied")
        return real(file, *args, **given)

    monkeypatch.setattr("builtins.open", refuse)  # root may read everything, so the system's word is made up
    assert fault(path).code == "unreadable-file"


def test_a_name_that_no_system_takes_is_told() -> None:
    with pytest.raises(CondyleError) as error:
        read("a\0b")
    assert error.value.code == "bad-call"


def _zip(path: Path) -> bytes:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("word/document.xml", "text")
    return path.read_bytes()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<!DOCTYPE html><html>not found</html>", "an HTML page"),
        (b"<?xml version='1.0'?><other/>", "an XML file"),
        (b"\x89PNG\r\n\x1a\n", "a PNG image"),
        (b"\xff\xd8\xff\xe0", "a JPEG image"),
        (b"\x93NUMPY\x01\x00", "a single NumPy array"),
        (b"\x80\x04\x95\x10", "a Python pickle"),
        (b"PK\x05\x06" + bytes(18), "an empty ZIP archive"),
        (b'{"a": 1}', "a JSON file"),
        (b"a;b\n1;2\n3;4\n", "a text table with semicolons"),
        (b"a\tb\n1\t2\n", "a text table with tabs"),
        (b"a,b\n1,2\n", "a text table with commas"),
        ("\ufeffa,b\n1,2\n".encode("utf-16"), "a text table with commas"),
        (b"hello\n", "a text file"),
        (b"\n\n  \n", "a file of blank lines"),
        (bytes(100), "a file of zero bytes"),
        (bytes(range(1, 32)) * 9, "a binary file of an unknown kind"),
    ],
)
def test_an_unknown_file_is_told_what_it_seems_to_be_and_what_is_read(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "take.npz"
    path.write_bytes(content)
    error = fault(path)
    assert error.code == "unknown-format"
    assert f"this seems to be {words}" in error.text
    way = "with np.savez" if "NumPy" in words else "condyle reads npz, c3d, csv, bvh"
    assert way in error.text


@pytest.mark.parametrize("separator", [",", ";", "\t", "  "])
def test_an_unknown_table_is_told_how_to_describe_its_columns(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "log.txt"
    path.write_text("".join(separator.join(["1.5", "7", "-2e3", "0"]) + "\n" for _ in range(9)))
    error = fault(path)
    assert error.code == "unknown-format"
    assert f"`condyle info {path}` proposes a column map" in error.text


def test_a_zip_archive_without_arrays_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    _zip(path)
    assert "a ZIP archive" in fault(path).text


def test_two_formats_that_claim_a_file_are_an_error_with_both_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.npz"
    write_take(path, TAKE)
    (real, *_) = readers.formats()
    twins = {k: Format(k, f"{k.title()} NPZ", real.looks_like, real.read, certain=False) for k in ("one", "two")}
    monkeypatch.setattr(readers, "_MODULES", tuple(twins))
    monkeypatch.setattr(readers, "_import_format", twins.__getitem__)
    error = fault(path)
    assert error.code == "ambiguous-format"
    assert "One NPZ and Two NPZ" in error.text
    assert "--format one or --format two" in error.text
    assert read(path, format="two").names == TAKE.names


def test_an_option_that_no_reader_knows_is_refused_with_the_choices(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no reading option 'speed'; choose from rate, unit"):
        read(tmp_path / "a.npz", speed=1)


def test_an_option_that_a_format_cannot_use_is_refused_not_ignored(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_take(path, TAKE)
    with pytest.raises(UsageError, match="'quaternion' is for quaternions, but this condyle NPZ file has matrices"):
        read(path, quaternion="xyzw")
    with pytest.raises(UsageError, match="'degrees' is for Euler angles"):
        read(path, degrees=True)


def test_an_unknown_format_name_is_refused_with_the_choices(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_take(path, TAKE)
    with pytest.raises(UsageError, match="no format 'nzp'; choose from npz, "):
        read(path, format="nzp")


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), 1e-300])
def test_a_rate_must_be_a_positive_number(rate: float) -> None:
    with pytest.raises(UsageError):
        ReadOptions(rate=rate)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_rate_and_unit_win_over_the_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    write_take(path, Take.from_poses(np.ones((3, 1, 3)), np.tile([1.0, 0, 0, 0], (3, 1, 1)), rate=10))
    take = read(path, rate=50, unit="mm")
    assert take.time.tolist() == [0, 0.02, 0.04]
    np.testing.assert_allclose(take.p_world_body, 0.001)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_a_recording_tells_its_conventions(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    write_take(path, TAKE)
    recording = read_recording(path)
    assert recording.facts["length"] == "m"
    assert recording.convention.unit == "m"
    assert "rotation" in recording.convention.stated


def test_a_column_map_that_is_not_there_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    write_take(path, TAKE)
    with pytest.raises(CondyleError):
        read(path, columns=str(tmp_path / "map.toml"))


def test_no_format_claims_any_of_the_recorded_files_of_others(shared_data: Path) -> None:
    files = [path for path in shared_data.rglob("*") if path.is_file() and path.stat().st_size]
    assert files
    for path in files:
        with open(path, "rb") as stream:
            head = stream.read(readers.HEAD_BYTES)
        claims = [fmt.name for fmt in readers.formats() if fmt.name in ("npz", "csv") and fmt.looks_like(head)]
        assert claims == [], path
