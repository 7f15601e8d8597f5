"""Files that once did more than be refused: what damaged files by the thousand have found, one by one."""

from __future__ import annotations

import io
import time
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import CondyleError
from condyle.cli import main
from condyle.io.formats import ReadOptions, _import_format, read_recording
from condyle.maths import rotation
from condyle.model.plausible_unit import plausible_unit
from condyle.model.recording import Bodies, to_take

from .seeds import target

QUICK = 2.0  # s of CPU time
DIGITS = "1" * 5000  # more than Python makes a whole number of
HEX = "0x" + "f" * 5000  # ... or prints as one
RUN = 30_000  # characters of a run that a careless pattern parts in every way


def changed(name: str, variant: str, old: str, new: str) -> bytes:
    """A small sound file with one word changed."""
    raw = target(name).seeds[variant]
    assert old.encode() in raw
    return raw.replace(old.encode(), new.encode(), 1)


def fault(path: Path, raw: bytes, format: str, **options: Any) -> str:
    """The code of the error that a file gives by its format; that by its content may be another, but is an error."""
    path.write_bytes(raw)
    with pytest.raises(CondyleError):
        condyle.read(path, **options)
    with pytest.raises(CondyleError) as error:
        _import_format(format).read(path, ReadOptions.of(**options))
    return error.value.code


def repacked(change: dict[str, Any], raw: bytes | None = None) -> bytes:
    """An NPZ with some of its members exchanged for arrays, or for bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw or target("npz").seeds["plain"])) as old, zipfile.ZipFile(stream, "w") as new:
        for name in old.namelist():
            data = change.get(name.removesuffix(".npy"), old.read(name))
            if not isinstance(data, bytes):
                packed = io.BytesIO()
                np.save(packed, data)
                data = packed.getvalue()
            new.writestr(name, data)
    return stream.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "case.dat"


def test_an_htr_without_a_section(path: Path) -> None:
    path.write_bytes(b"# Hierarchical Translation and Rotation\n")
    with pytest.raises(CondyleError, match=r"no section \[header\]"):
        _import_format("htr").read(path, ReadOptions())


def test_counts_of_thousands_of_digits(path: Path, tmp_path: Path) -> None:
    assert fault(path, changed("bvh", "plain", "CHANNELS 1", f"CHANNELS {DIGITS}"), "bvh") == "bad-header"
    old = target("motive").seeds["tracking tools"]
    row = next(line for line in old.decode().split("\n") if line.startswith("frame,"))
    longer = ",".join([*row.split(",")[:3], "0000000009", *row.split(",")[4:]])
    assert fault(path, old.replace(row.encode(), longer.encode()), "motive") == "ragged-row"
    maps, bodies = tmp_path / "map.toml", tmp_path / "bodies.toml"
    for number in (DIGITS, HEX):
        maps.write_text(f"[bodies.a]\nposition = [{number}, 2, 3]\norientation = [4, 5, 6, 7]\n")
        assert fault(path, target("columns").seeds["header"], "columns", columns=maps) == "bad-columns"
        bodies.write_text(f"[bodies]\na = [{number}, 2, 3]\n")
        path.write_bytes(target("trc").seeds["tabs"])
        with pytest.raises(CondyleError) as error:
            condyle.read(path, bodies=bodies)
        assert error.value.code == "bad-bodies"


@pytest.mark.parametrize(
    ("name", "variant", "old", "new"),
    [
        ("csv", "whole", "\n0.1,", "\n1e308,"),
        ("ndi", "samples", "2, 4 ,", "2, 1e308 ,"),
        ("opensim", "BodyKinematics", "\t-40", "\t1e308"),
        ("motive", "bones", "0,0,0.6,0.8", "0,0,0,1e-308"),
        ("vr", "Unity", "0.988771078", "1e200"),
    ],
)
def test_numbers_that_overflow_warn_nobody(path: Path, name: str, variant: str, old: str, new: str) -> None:
    path.write_bytes(changed(name, variant, old, new))
    try:
        take = condyle.read(path)
    except CondyleError as error:
        assert error.code in ("bad-time", "not-rotations")  # noqa: PT017
    else:
        assert not take.seen.all()


def test_a_scale_so_small_that_its_inverse_overflows_is_none(path: Path, tmp_path: Path) -> None:
    (tmp_path / "case.asf").write_bytes(target("amc").seeds["skeleton"].replace(b"length 0.45", b"length 5e-324"))
    path.write_bytes(target("amc").seeds["motion"])
    assert read_recording(path).convention.unit is None


@pytest.mark.parametrize("size", [0.0, 1e-308, 5e-324, 1e308, np.inf, np.nan])
def test_quaternions_without_a_length_turn_nothing(size: float) -> None:
    assert np.isnan(rotation.from_quaternion([size, 0, 0, size])).all()


def test_angles_beyond_all_turns_are_none(path: Path) -> None:
    path.write_bytes(target("opensim").seeds["BodyKinematics"])
    recording = read_recording(path)
    assert recording.bodies is not None
    wild = np.array(recording.bodies.orientation)
    wild[0, 0] = [1e308, 1e155, -1e13]
    bodies = Bodies(recording.bodies.names, recording.bodies.position, wild)
    assert not to_take(replace(recording, bodies=bodies)).seen[0, 0]


@pytest.mark.parametrize(
    "change",
    [
        {"names": np.frombuffer((0x110000).to_bytes(4, "little") * 2, "<U1")},
        {"names": b"\x93NUMPY\x01\x00\x10\x00{'descr': (((,)}\n"},
        {"time": b"\x93NUMPY\x01\x00\x04\x00{((\n"},
    ],
    ids=["no letter", "broken header", "unclosed header"],
)
def test_an_archive_with_an_array_that_is_none(path: Path, change: dict[str, Any]) -> None:
    assert fault(path, repacked(change), "npz") == "damaged-file"


def test_half_a_letter_in_a_name_of_an_archive_can_be_written_again(path: Path, tmp_path: Path) -> None:
    path.write_bytes(repacked({"names": np.array(["a\udcff", "b"])}))
    assert condyle.read(path).names == ("a?", "b")


def test_an_archive_whose_directory_points_before_its_start_or_names_no_text(path: Path) -> None:
    raw = bytearray(target("npz").seeds["plain"])
    entry = raw.rfind(b"PK\x01\x02")
    end = raw.rfind(b"PK\x05\x06")
    moved = bytearray(raw)
    moved[end + 16 : end + 20] = (int.from_bytes(raw[end + 16 : end + 20], "little") + 2**20).to_bytes(4, "little")
    assert fault(path, bytes(moved), "npz") == "damaged-file"
    raw[entry + 8 : entry + 10] = (0x800).to_bytes(2, "little")  # the name is UTF-8
    raw[entry + 46] = 0x95
    assert fault(path, bytes(raw), "npz") == "damaged-file"


def test_numbers_of_the_signalling_kind_are_not_seen(path: Path) -> None:
    places = np.zeros((3, 2, 3))
    places.view(np.uint64)[1, 0, 2] = 0x7FF0000000000001
    path.write_bytes(repacked({"p_world_body": places}))
    assert np.argwhere(~condyle.read(path).seen).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("name", "variant", "old", "new"),
    [
        ("bvh", "plain", "Frames:", "Frames:" + " " * RUN),
        ("bvh", "plain", "Frame Time", "1" * RUN + "\nFrame Time"),
        ("ndi", "tools", "Port 0x01", "1" * RUN),
        ("ndi", "tools", "Probe", "Probe" + "\t" * RUN + "x"),
        ("qualisys", "markers", "Frame\t", "Frame" + " " * RUN + "\t"),
        ("polhemus", "named", "w1", "w1" + " " * RUN),
        ("polhemus", "header", "Units: cm", "Units" + ": " * RUN),
        ("ascension", "long", "timestamp_ms", "timestam" + " " * RUN),
        ("vr", "rows per device", "serial", "seri" + " " * RUN),
        ("marker_table", "comments", "#", "#" + " unit" * RUN),
        ("tum", "plain", "0.5", "1" * RUN),
    ],
)
def test_long_runs_of_a_character_are_gone_through_once(
    path: Path, name: str, variant: str, old: str, new: str
) -> None:
    path.write_bytes(changed(name, variant, old, new))
    start = time.process_time()
    main(["info", str(path)])
    try:
        _import_format(name).read(path, ReadOptions())
    except CondyleError as error:
        assert error.code  # noqa: PT017
    assert time.process_time() - start < QUICK


@pytest.mark.costly
def test_tables_of_thousands_of_columns_take_no_longer_than_their_size(path: Path) -> None:
    parts = ("px", "py", "pz", "qw", "qx", "qy", "qz")
    columns = ",".join(f"b{k}.{part}" for k in range(3000) for part in parts)
    words = ",".join(str(k % 97) for k in range(2000)) + ",word\n"
    for raw in (f"{columns}\n" + "1,2,3,1,0,0,0," * 2999 + "1,2,3,1,0,0,0\n", words * 30):
        path.write_text(raw)
        start = time.process_time()
        main(["info", str(path)])
        assert time.process_time() - start < QUICK


def test_a_plausible_unit_of_thousands_of_bodies_needs_little_memory() -> None:
    places = np.random.default_rng(0).random((3, 20_000, 3)) * 10_000
    assert plausible_unit(places) in ("m", "cm", "mm")
