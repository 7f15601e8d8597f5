"""Files that mean harm: what is read from a file is data, and never acts on memory, disk, terminal or spreadsheet."""

from __future__ import annotations

import csv
import io
import json
import os
import pickle
import struct
import time
import tracemalloc
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import CondyleError
from condyle.cli import main
from condyle.io.bodies_file import read_bodies
from condyle.io.exports import write_take
from condyle.io.formats import ReadOptions, formats, read_recording
from condyle.model.take import Take
from condyle.simulate import linkage, simulate

from .seeds import module_of, target

SMALL_PEAK = 64 * 2**20  # bytes that a refused bomb may take at most
QUICK = 2.0  # s of CPU time
LONG = 100_000  # characters of a very long name
HOSTILE = {
    "html": "<script>alert(1)</script>",
    "entity": "&lt;img src=x onerror=alert(1)&gt;",
    "escape": "\x1b]0;owned\x07\x1b[2J",
    "c1 control": "\x9b31mred",
    "path": "../../../outside",
    "absolute path": "/tmp/outside",
    "windows path": "..\\..\\outside",
    "formula": "=HYPERLINK(1)",
    "plus formula": "+cmd|' /C calc'!A0",
    "at formula": "@SUM(1+1)",
    "wide formula": "＝SUM(1)",
    "right to left": "\u202egnp.exe\u2066",
    "zero width": "le\u200bg\ufeff",
    "long": "x" * LONG,
    "percent": "%s%n%x",
    "braces": "{0.__class__}",
    "markup": "[bold red]leg[/]",
    "line separator": "a\u2028b\u2029c\x85d",
    "newline": "a\nb\r\nc",
    "nul": "a\x00b",
    "toml": 'a"\n[bodies]\nx = 1',
}
FORMULA = tuple("=+-@\t\r＝＋－＠")
NAMED = {  # a name in one of a format's small files, to be replaced
    "csv": ("whole", "knee"),
    "bvh": ("plain", "shin"),
    "mvnx": ("version 4", None),
    "trc": ("tabs", "RASI"),
    "opensim": ("BodyKinematics", "femur_r"),
    "motive": ("rigid bodies", None),
    "qualisys": ("bodies", None),
    "vicon": ("objects", "B:box"),
    "htr": ("plain", None),
    "vr": ("OpenVR", "tracker_1"),
    "marker_table": ("comments", None),
    "segment_table": ("comments", None),
}


def acting(text: str) -> set[str]:
    """Characters in printed text that could act on a terminal."""
    return {
        letter for letter in text if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")
    }


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def peak_of(call: Callable[[], object]) -> tuple[CondyleError | None, int, float]:
    """The error that a call raises, the bytes it took at most, and its CPU time [s]."""
    tracemalloc.start()
    start = time.process_time()
    error = None
    try:
        call()
    except CondyleError as raised:
        error = raised
    finally:
        spent, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return error, peak, spent


# Pickles


class Bomb:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("key", ["names", "time", "R_world_body", "p_world_body", "segment"])
def test_objects_in_an_archive_are_never_unpickled(tmp_path: Path, key: str) -> None:
    mark = tmp_path / "was run"
    arrays = {"names": ["a"], "R_world_body": np.eye(3)[None, None], "p_world_body": np.zeros((1, 1, 3))}
    np.savez(tmp_path / "take.npz", **{**arrays, key: np.array([Bomb(mark)], dtype=object)})
    with pytest.raises(CondyleError) as error:
        condyle.read(tmp_path / "take.npz")
    assert error.value.code == "pickled-array"
    assert not mark.exists()


@pytest.mark.parametrize("name", ["take.pkl", "take.npz", "take.csv", "take.c3d", "take.parquet"])
@pytest.mark.parametrize("protocol", [0, 2, 5])
def test_a_pickle_is_never_unpickled_whatever_its_name(tmp_path: Path, name: str, protocol: int) -> None:
    mark = tmp_path / "was run"
    path = tmp_path / name
    path.write_bytes(pickle.dumps(Bomb(mark), protocol))
    with pytest.raises(CondyleError) as error:
        condyle.read(path)
    assert error.value.code == "unknown-format"
    for fmt in formats():
        with pytest.raises(CondyleError):
            fmt.read(path, ReadOptions())
    assert not mark.exists()


# Bombs


def archive(members: dict[str, tuple[bytes, int]]) -> bytes:
    """A ZIP of deflated members {name: (deflated bytes, size that is declared)}; checksums are not right."""
    body, directory = b"", b""
    for name, (packed, size) in members.items():
        facts = struct.pack("<HHHHIIIHH", 0, 8, 0, 0, 0, len(packed), size, len(name), 0)
        directory += b"PK\x01\x02\x14\x00\x14\x00" + facts + bytes(10) + struct.pack("<I", len(body)) + name.encode()
        body += b"PK\x03\x04\x14\x00" + facts + name.encode() + packed
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + b"PK\x05\x06" + end


def deflated(data: bytes, then_zeros: int = 0) -> bytes:
    """Data and after them so many MiB of zeros, deflated: a block is packed once and repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + block * then_zeros + packer.flush()


def npy(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def bomb(gib: int, claimed: int | None = None) -> bytes:
    """An NPZ of a few MB whose positions unpack to so many GiB; `claimed`: what its directory says, in bytes."""
    frames = gib * 2**30 // 32
    head = npy((frames, 4), "<f8") if claimed is None else npy((4, 1, 3))
    size = len(head) + gib * 2**30 if claimed is None else claimed
    names, turns = (
        npy((1,), "<U1") + "a".encode("utf-32-le"),
        npy((4, 1, 3, 3)) + np.tile(np.eye(3), (4, 1, 1)).tobytes(),
    )
    return archive(
        {
            "p_world_body.npy": (deflated(head, gib * 1024), size),
            "R_world_body.npy": (deflated(turns), len(turns)),
            "names.npy": (deflated(names), len(names)),
        }
    )


def test_two_gibibytes_in_two_megabytes_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    path.write_bytes(bomb(2))
    assert path.stat().st_size < 3 * 2**20
    error, peak, spent = peak_of(lambda: condyle.read(path))
    assert error is not None
    assert error.code == "suspicious-size"
    assert peak < SMALL_PEAK
    assert spent < QUICK


def test_a_bomb_whose_directory_lies_unpacks_no_further_than_it_says(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    path.write_bytes(bomb(2, claimed=len(npy((4, 1, 3))) + 96))
    error, peak, spent = peak_of(lambda: condyle.read(path))
    assert error is not None
    assert error.code == "damaged-file"  # its checksum is not that of what was unpacked
    assert peak < SMALL_PEAK
    assert spent < QUICK


def test_an_archive_of_ten_thousand_members_is_refused_in_time(tmp_path: Path) -> None:
    path = tmp_path / "many.npz"
    path.write_bytes(archive({f"{k}.npy": (b"\x03\x00", 0) for k in range(10_000)}))
    error, peak, spent = peak_of(lambda: condyle.read(path))
    assert error is not None
    assert error.code == "missing-array"
    assert len(error.text) < 1000
    assert peak < SMALL_PEAK
    assert spent < 3 * QUICK  # tracemalloc counts every object


def test_an_archive_inside_an_archive_is_not_opened(tmp_path: Path) -> None:
    path = tmp_path / "take.npz"
    with zipfile.ZipFile(path, "w") as outer:
        outer.writestr("p_world_body.npy", archive({"p_world_body.npy": (b"\x03\x00", 0)}))
        outer.writestr("../../names.npy", b"")
    with pytest.raises(CondyleError):
        condyle.read(path)
    assert files_in(tmp_path) == {"take.npz"}


# XML


LAUGHS = "".join(f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' for k in range(9))
XML = {
    "external entity": '<!DOCTYPE mvnx [<!ENTITY x SYSTEM "file:///etc/passwd">]><mvnx><comment>&x;</comment></mvnx>',
    "external type": '<!DOCTYPE mvnx SYSTEM "http://127.0.0.1:9/x.dtd"><mvnx/>',
    "parameter entity": '<!DOCTYPE mvnx [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><mvnx/>',
    "billion laughs": f'<!DOCTYPE mvnx [<!ENTITY l0 "lol">{LAUGHS}]><mvnx>&l9;</mvnx>',
    "quadratic": f'<!DOCTYPE mvnx [<!ENTITY x "{"y" * 50_000}">]><mvnx>{"&x;" * 50_000}</mvnx>',
    "deep": "<mvnx>" + "<a>" * 200_000,
    "many attributes": "<mvnx " + " ".join(f'a{k}="1"' for k in range(30_000)) + "/>",
    "long attribute": f'<mvnx version="{"9" * 6_000_000}"/>',
    "long text": f"<mvnx><segments><segment label='a'><points><point><pos_b>{'1 ' * 3_000_000}",
    "long comment": f"<mvnx><!--{'x' * 9_000_000}",
    "many empty elements": "<mvnx>" + "<a/>" * 100_000,
}


@pytest.mark.parametrize("kind", XML)
def test_hostile_xml_is_refused_in_little_time_and_memory(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "take.mvnx"
    path.write_bytes(XML[kind].encode())
    start = time.process_time()
    with pytest.raises(CondyleError) as error:
        condyle.read(path, format="mvnx")
    assert time.process_time() - start < QUICK
    assert "root:" not in str(error.value)
    assert len(str(error.value)) < 1000
    if "DOCTYPE" in XML[kind]:
        assert error.value.code == "xml-doctype"
    error_, peak, _ = peak_of(lambda: condyle.read(path, format="mvnx"))
    assert error_ is not None
    assert peak < SMALL_PEAK


# Things that are no files


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "take.csv"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path = Path("/dev/zero")
    with pytest.raises(CondyleError) as error:
        condyle.read(path)
    assert error.value.code == "not-a-file"


# Names


def swinging(names: list[str]) -> Take:
    """Three bodies of a linkage that move enough to be fitted, under these names."""
    take = simulate(linkage(), seconds=2.0, seed=5).take.select(("chest", "l_upper_arm", "l_forearm"))
    return Take.from_poses(take.p_world_body, R_world_body=take.R_world_body, names=names, time=take.time)


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [*((".npz", kind) for kind in HOSTILE), *((".csv", kind) for kind in ("escape", "formula", "long"))],
)
def test_hostile_names_of_bodies_stay_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str, kind: str
) -> None:
    name = HOSTILE[kind]
    room = tmp_path / "a" / "b" / "c"
    room.mkdir(parents=True)
    path, out = room / f"take{suffix}", room / "out"
    write_take(path, swinging([name, "thigh", "shank"]))
    before = files_in(tmp_path)
    for words in (["info", str(path)], ["info", str(path), "--json"]):
        assert main(words) in (0, 1, 3)
        printed = capsys.readouterr()
        assert not acting(printed.out + printed.err), words
    assert main(["fit", str(path), "-o", str(out), "--no-intervals"]) in (0, 3)
    printed = capsys.readouterr()
    assert not acting(printed.out + printed.err)
    names = ("skeleton.json", "motion.npz", "report.html", "options.toml", "manifest.json")
    made = {"a/b/c/out", *(f"a/b/c/out/{name}" for name in names)}
    assert files_in(tmp_path) - before == made
    written = json.loads((out / "skeleton.json").read_bytes())
    assert len(set(written["bodies"])) == 3
    if kind not in ("nul", "newline", "toml"):
        assert name in written["bodies"]


@pytest.mark.parametrize("kind", HOSTILE)
def test_no_cell_of_a_table_is_a_formula_and_the_names_come_back(tmp_path: Path, kind: str) -> None:
    name = HOSTILE[kind]
    path = tmp_path / "take.csv"
    take = Take.from_poses(
        np.zeros((2, 2, 3)), R_world_body=np.tile(np.eye(3), (2, 2, 1, 1)), names=[name, "b"], rate=1
    )
    write_take(path, take)
    text = path.read_bytes().decode()
    for row in csv.reader(io.StringIO(text, newline="")):
        for cell in row:
            if not cell.startswith("#"):
                assert not cell.startswith(FORMULA) or _is_number(cell), cell[:80]
    if kind not in ("nul", "newline", "toml"):
        assert condyle.read(path).names == take.names


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("kind", [kind for kind, name in HOSTILE.items() if not set(name) & set("\n\r\x00\udcff\x85")])
@pytest.mark.parametrize("format", NAMED)
def test_hostile_names_in_any_format_are_read_or_refused_and_printed_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str, kind: str
) -> None:
    variant, old = NAMED[format]
    path = tmp_path / "take.dat"
    raw = target(format).seeds[variant]
    path.write_bytes(raw)
    if old is None:
        recording = read_recording(path)
        part = recording.bodies or recording.markers
        assert part is not None
        old = part.names[-1]
    assert old.encode() in raw
    path.write_bytes(raw.replace(old.encode(), HOSTILE[kind].encode()))
    start = time.process_time()
    assert main(["info", str(path)]) in (0, 1, 3)
    assert time.process_time() - start < QUICK
    printed = capsys.readouterr()
    assert not acting(printed.out + printed.err)
    assert files_in(tmp_path) == {"take.dat"}


@pytest.mark.parametrize(
    "kind", [kind for kind, name in HOSTILE.items() if name.isascii() and len(name) < 100 and kind != "nul"]
)
def test_a_proposed_bodies_file_holds_hostile_marker_names_as_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    rng = np.random.default_rng(1)
    places = 1000 * rng.random((1, 4, 3)) + 100 * rng.standard_normal((50, 1, 3))
    c3d = module_of("c3d").c3d
    names = [HOSTILE[kind] + letter for letter in "abcd"]
    path, proposal = tmp_path / "take.c3d", tmp_path / "bodies.toml"
    path.write_bytes(c3d(places, labels=names))
    assert main(["info", str(path), "--propose", str(proposal)]) in (0, 1, 3)
    printed = capsys.readouterr()
    assert not acting(printed.out + printed.err)
    if proposal.exists():
        markers = {marker for one in read_bodies(proposal).values() for marker in one}
        assert markers <= {name.strip() for name in names}
    assert files_in(tmp_path) <= {"take.c3d", "bodies.toml"}
