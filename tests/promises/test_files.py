"""Faults of files, B30 to B38, over every text format: what the program says, its code and its exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from condyle.cli import main
from tests.make import c3d_files

from .seeds import ROWS, TEXT, Seed, all_variants, info, joined, plain, told
from .takes import Poses, condyle, csv_text, fit, linkage_take, matches, write_csv

MICROMETRE = 1e-6  # m
REFUSED = {("opensim", "quaternions"), ("opensim", "coordinates")}  # sound files without poses


def same(raw: bytes) -> bytes:
    return raw


def named(seed: Seed) -> str:
    return str(seed)


# B30


@pytest.mark.parametrize("verb", ["info", "fit", "doctor"])
def test_b30_an_empty_file_is_an_error(tmp_path: Path, verb: str) -> None:
    path = tmp_path / "take.csv"
    path.write_bytes(b"")
    answer = condyle(verb, str(path))
    assert (answer.status, answer.err) == (1, f"condyle: error: {path}: the file is empty\n")
    assert condyle("fit", str(path), "--json").error["code"] == "empty-file"


NO_ROWS = {
    "csv": "a header without a single whole row of numbers",
    "motive": "a header without a single whole row of numbers",
    "qualisys": "a header without a single whole row of numbers",
    "opensim": "a header without a single whole row of numbers",
    "bvh": "a skeleton without a single whole frame",
    "vicon": "no row of objects, segments or trajectories",
    "columns": "holds no row of numbers that the column map could apply to",
    "trc": "a header without a single whole row of numbers",
    "ndi": "column names without a single whole row of numbers",
}
BARE = "names of columns or comments, but not a single row of numbers"


@pytest.mark.parametrize(
    "seed", [s for s in ROWS if (s.format, s.variant) not in (("tum", "plain"), ("ascension", "blocks"))], ids=named
)
def test_b30_a_header_without_rows_is_an_error(tmp_path: Path, seed: Seed) -> None:
    answer = info(tmp_path, seed.format, joined(seed.lines[: -seed.rows]))
    assert answer.status == 1
    assert answer.error["code"] == "no-data"
    assert answer.error["path"] == str(tmp_path / "case.dat")
    assert answer.error["text"] == NO_ROWS.get(seed.format, BARE)


@pytest.mark.parametrize(
    ("format", "variant", "last", "text"),
    [
        ("amc", "motion", ":DEGREES", "not a single whole frame"),
        ("htr", "plain", "#Fr", "a skeleton without a single whole frame"),
        ("mvnx", "version 4", "<frames", "no frame of type 'normal' with orientation and position"),
        ("tum", "comments", "# timestamp", BARE),
    ],
)
def test_b30_formats_without_a_table_say_the_same(
    tmp_path: Path, format: str, variant: str, last: str, text: str
) -> None:
    lines = import_module(f"tests.io.formats.test_{format}").SMALL[variant].decode().split("\n")
    end = next(k for k, line in enumerate(lines) if line.startswith(last))
    answer = info(tmp_path, format, joined(lines[: end + 1]))
    assert answer.status == 1
    assert (answer.error["code"], answer.error["text"]) == ("no-data", text)


# B31


DECLARED = {("csv", "whole"), ("motive", "rigid bodies"), ("motive", "bones"), ("qualisys", "bodies"), ("qualisys", "skeleton"),
            ("qualisys", "markers"), ("opensim", "BodyKinematics"), ("bvh", "plain"), ("trc", "tabs")}  # fmt: skip


@pytest.mark.parametrize("seed", ROWS, ids=named)
def test_b31_a_cut_inside_the_last_row_is_told_and_whole_frames_are_kept(tmp_path: Path, seed: Seed) -> None:
    lines = seed.lines
    cut = (seed.separator or " ").join(seed.cells(seed.rows - 1)[:4])
    answer = info(tmp_path, seed.format, ("\n".join(lines[:-1]) + "\n" + cut).encode())
    assert answer.status == 3
    left = seed.rows - 1
    frames = f"{left} frame{'s' * (left != 1)}"
    said = (
        f"header says {seed.rows} frames, {left} present"
        if (seed.format, seed.variant) in DECLARED
        else f"{frames} present"
    )
    assert f"{said}; the last line is cut and was left out" in answer.told("truncated-file")
    assert answer.facts["files"][0]["frames"] == left


@pytest.mark.parametrize("seed", [s for s in ROWS if (s.format, s.variant) in DECLARED], ids=named)
def test_b31_a_file_that_ends_between_rows_is_told_where_it_declares_its_length(tmp_path: Path, seed: Seed) -> None:
    answer = info(tmp_path, seed.format, joined(seed.lines[:-1]))
    assert answer.status == 3
    left = seed.rows - 1
    (text,) = answer.told("truncated-file")
    assert text == f"header says {seed.rows} frames, {left} present; the end of the recording is missing"
    assert answer.facts["files"][0]["frames"] == left


def test_b31_a_cut_recording_is_fitted_with_the_frames_it_has(tmp_path: Path) -> None:
    take = linkage_take()
    raw = csv_text(Poses.of(take)).encode()
    path = tmp_path / "take.csv"
    path.write_bytes(raw[: len(raw) * 2 // 3])
    answer = fit([str(path)])
    kept = answer.facts["take"]["frames"]
    assert answer.status == 3
    assert answer.told("truncated-file") == [
        f"header says {take.frames} frames, {kept} present; the last line is cut and was left out"
    ]
    assert 390 < kept < 410
    whole = fit(write_csv(tmp_path, Poses.of(take).rows(slice(0, kept)))).lengths()
    assert answer.lengths() == pytest.approx(whole, abs=MICROMETRE)


@pytest.mark.parametrize(
    ("format", "variant", "status", "text"),
    [
        ("npz", 0, 1, "the archive is cut short or damaged (<.*>); copy it again"),
        ("parquet", 0, 1, "the Parquet file is cut short or damaged (<.*>); write it again"),
        ("rosbag", 0, 3, "the bag ends early; 5 frames come before the cut; copy it again or run its repair tool"),
        ("c3d", "analog", 3, "header says 4 frames, 2 present; the end of the recording is missing"),
    ],
)
def test_b31_a_cut_binary_file_is_told_too(
    tmp_path: Path, format: str, variant: str | int, status: int, text: str
) -> None:
    small = import_module(f"tests.io.formats.test_{format}").SMALL
    raw = small[variant] if isinstance(variant, str) else list(small.values())[variant]
    path = tmp_path / "case.dat"
    path.write_bytes(raw[:-300])
    answer = condyle("info", str(path), "--json")
    assert answer.status == status
    said = [answer.error["text"]] if status == 1 else answer.told("truncated-file")
    assert matches(text, said[0])
    if status == 1:
        assert (answer.error["code"], answer.error["path"]) == ("damaged-file", str(path))


# B32


def test_b32_a_c3d_of_more_than_65535_frames_is_read_whole(tmp_path: Path) -> None:
    frames = 70_000
    path = tmp_path / "long.c3d"
    points = np.zeros((frames, 1, 3))
    points[:, 0, 0] = np.arange(frames) + 1
    path.write_bytes(c3d_files.c3d(points, ["A"], rate=100.0))
    answer = condyle("info", str(path), "--json")
    assert answer.status == 0, answer.out
    assert answer.facts["files"][0]["frames"] == frames


# B33


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "BOM": lambda raw: b"\xef\xbb\xbf" + raw,
    "UTF-16": lambda raw: raw.decode().encode("utf-16"),
    "UTF-16 big": lambda raw: b"\xfe\xff" + raw.decode().encode("utf-16-be"),
    "CR": lambda raw: raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r"),
    "CRLF": lambda raw: raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("format", TEXT)
def test_b33_byte_order_marks_utf_16_and_line_ends_change_nothing(tmp_path: Path, format: str, encoding: str) -> None:
    small: dict[str, bytes] = import_module(f"tests.io.formats.test_{format}").SMALL
    variants = [variant for name, variant in all_variants() if name == format]
    assert variants
    for variant in variants:
        raw = small[variant]
        if format == "mvnx" and encoding.startswith("UTF-16"):
            raw = raw.replace(b"UTF-8", b"UTF-16")  # an XML file says its encoding
        status, facts = plain(format, variant)
        if status == 1:
            assert (format, variant) in REFUSED
            continue
        assert told(info(tmp_path, format, ENCODINGS[encoding](raw))) == (status, facts), variant


@pytest.mark.parametrize(
    ("format", "variant", "name"),
    [
        ("csv", "whole", "hip"),
        ("motive", "rigid bodies", "hip"),
        ("qualisys", "bodies", "hip"),
        ("vicon", "objects", "wand"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_b33_names_beyond_ascii_are_the_same_in_every_encoding(
    tmp_path: Path, format: str, variant: str, name: str, encoding: str
) -> None:
    text = import_module(f"tests.io.formats.test_{format}").SMALL[variant].decode().replace(name, "hüfte")
    answer = info(tmp_path, format, text.encode(encoding))
    assert answer.status == 0
    assert any("hüfte" in body["name"] for body in answer.facts["files"][0]["bodies"])


# B34


SPREADSHEET = [
    Seed("csv", "whole"), Seed("csv", "no header"), Seed("motive", "rigid bodies"), Seed("motive", "bones"),
    Seed("vicon", "objects"), Seed("vicon", "trajectories"), Seed("ascension", "wide"), Seed("ascension", "blocks"),
    Seed("polhemus", "named"), Seed("vr", "Unity"), Seed("vr", "OpenVR"), Seed("marker_table", "time"),
    Seed("columns", "header"), Seed("qualisys", "bodies", "\t"), Seed("qualisys", "skeleton", "\t"),
    Seed("trc", "tabs", "\t"), Seed("bvh", "plain", " "), Seed("polhemus", "angles", " "), Seed("polhemus", "quaternions", " "),
]  # fmt: skip


@pytest.mark.parametrize("seed", SPREADSHEET, ids=named)
def test_b34_decimal_commas_between_semicolons_tabs_or_blanks_are_read(tmp_path: Path, seed: Seed) -> None:
    """As a spreadsheet in many countries writes it: names and comments stay as they are."""
    raw = "\n".join(seed.lines) + "\n"
    lines = raw.split("\n")
    start = next(
        k
        for k, line in enumerate(lines)
        if line.strip() and not any(c.isalpha() for c in line.replace("e-", "")) and len(line) > 10
    )
    mark = ";" if seed.separator == "," else seed.separator
    head = [line.replace(seed.separator or " ", mark or " ") for line in lines[:start]]
    rows = [line.replace(seed.separator or " ", mark or " ").replace(".", ",") for line in lines[start:]]
    plain, other = (
        info(tmp_path, seed.format, raw.encode()),
        info(tmp_path, seed.format, "\n".join(head + rows).encode()),
    )
    assert plain.status in (0, 3)
    assert other.facts == plain.facts
    assert other.status == plain.status


@pytest.mark.parametrize(
    ("format", "variant", "line", "column", "text"),
    [
        ("csv", "whole", 6, 16, "16 cells, expected 15"),
        ("motive", "rigid bodies", 9, 19, "26 cells, expected 18"),
        ("vicon", "quaternions", 6, 17, "21 cells, expected 16"),
        ("ndi", "samples", 6, 20, "26 cells, expected 19"),
    ],
)
def test_b34_decimal_commas_between_commas_are_an_error_with_the_line(
    tmp_path: Path, format: str, variant: str, line: int, column: int, text: str
) -> None:
    lines = import_module(f"tests.io.formats.test_{format}").SMALL[variant].decode().split("\n")
    lines[line - 1 :] = [row.replace(".", ",") for row in lines[line - 1 :]]
    answer = info(tmp_path, format, "\n".join(lines).encode())
    assert answer.status == 1
    error = answer.error
    assert error["code"] == "ragged-row"
    assert (error["line"], error["column"]) == (line, column)
    assert error["text"].endswith("cells, expected " + text.rpartition(" ")[2])


# B35


NAMED = [seed for seed in ROWS if seed.format != "tum"]  # that one is known by its numbers, and four rows are too few


@pytest.mark.parametrize("seed", NAMED, ids=named)
def test_b35_text_in_a_number_is_an_error_with_line_and_column(tmp_path: Path, seed: Seed) -> None:
    row = max(seed.rows - 2, 0)
    cell = seed.cells(row)[seed.number]
    bad = cell.strip()[:-1] + "x"
    lines = seed.but(row, seed.number, bad if "," not in cell else "1,x,3")
    answer = info(tmp_path, seed.format, joined(lines))
    assert answer.status == 1
    error = answer.error
    assert error["code"] == "bad-number", error
    assert error["line"] == seed.line(row) + 1
    assert error["column"] is not None
    wrong = bad if "," not in cell else "x"
    assert matches(f"'{wrong}' in column <.+> is no number", error["text"])
    shown = condyle(
        "info",
        str(tmp_path / "case.dat"),
        *(["--columns", str(tmp_path / "map.toml")] if seed.format == "columns" else []),
    )
    assert shown.status == 1
    assert shown.err == (
        f"condyle: error: {tmp_path / 'case.dat'}, line {error['line']}, column {error['column']}: {error['text']}\n"
    )


@pytest.mark.parametrize("seed", NAMED, ids=named)
def test_b35_a_ragged_row_is_an_error_with_line_and_column(tmp_path: Path, seed: Seed) -> None:
    row = max(seed.rows - 2, 0)
    lines = seed.lines
    cells = list(seed.cells(row))
    lines[seed.line(row)] = (seed.separator or " ").join(cells[:-3])
    answer = info(tmp_path, seed.format, joined(lines))
    assert answer.status == 1
    error = answer.error
    assert error["code"] == "ragged-row", error
    assert error["line"] == seed.line(row) + 1
    assert matches(r"<\d+> cells, expected <\d+>", error["text"])
    assert str(error["column"] - 1) == error["text"].split()[0]


@pytest.mark.parametrize("fault", ["text", "ragged"])
def test_b35_a_broken_row_in_a_trajectory_is_named_by_its_line(tmp_path: Path, fault: str) -> None:
    tests = import_module("tests.io.formats.test_tum")
    rows = tests.rows(60).splitlines()
    rows[30] = rows[30][:-1] + "x" if fault == "text" else rows[30].rpartition(" ")[0]
    answer = info(tmp_path, "tum", joined(rows))
    assert answer.status == 1
    error = answer.error
    assert (error["code"], error["line"], error["column"]) == ("bad-number" if fault == "text" else "ragged-row", 31, 8)


@pytest.mark.parametrize("fault", ["text", "ragged"])
@pytest.mark.parametrize("seed", NAMED, ids=named)
def test_b35_a_broken_last_row_is_left_out_and_told(tmp_path: Path, seed: Seed, fault: str) -> None:
    row = seed.rows - 1
    cells = seed.cells(row)
    lines = seed.lines
    if fault == "text":
        cell = cells[seed.number].strip()
        lines = seed.but(row, seed.number, cell[:-1] + "x" if "," not in cell else "1,x,3")
    else:
        lines[-1] = (seed.separator or " ").join(cells[:-3])
    answer = info(tmp_path, seed.format, joined(lines))
    assert answer.status == 3, answer.out
    (text,) = answer.told("truncated-file")
    assert text.endswith("; the last line is cut and was left out")
    assert answer.facts["files"][0]["frames"] == row


# B37


def test_b37_a_file_larger_than_the_memory_is_fitted_like_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = write_csv(tmp_path, Poses.of(linkage_take()))
    short = fit(words)
    monkeypatch.setenv("CONDYLE_ARRAY_BYTES", "1000")
    long = fit(words)
    assert long.facts == short.facts


@pytest.mark.parametrize("when", ["while reading", "while writing"])
def test_b37_an_interrupt_leaves_nothing_half_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], when: str
) -> None:
    words = write_csv(tmp_path, Poses.of(linkage_take()))
    out = tmp_path / "out"

    def interrupted(*args: object, **more: object) -> None:
        raise KeyboardInterrupt

    if when == "while reading":
        monkeypatch.setattr("condyle.io.formats.csv.parse_rows", interrupted)
    else:
        monkeypatch.setattr("condyle.io.skeleton_file.to_json", interrupted)
    assert main(["fit", *words, "--no-intervals", "-o", str(out)]) == 130
    assert capsys.readouterr().err == "condyle: interrupted; nothing was left half written\n"
    assert not out.exists()


@pytest.mark.parametrize("fault", ["empty", "cut header", "one sensor"])
def test_a_failed_fit_writes_nothing(tmp_path: Path, fault: str) -> None:
    path, out = tmp_path / "take.csv", tmp_path / "out"
    text = csv_text(Poses.of(linkage_take()))
    path.write_text(
        {"empty": "", "cut header": text[:100], "one sensor": csv_text(Poses.of(linkage_take().select(["chest"])))}[
            fault
        ]
    )
    assert condyle("fit", str(path), "-o", str(out)).status == 1
    assert not out.exists()


# B38


@pytest.mark.parametrize("suffix", [".c3d", ""])
@pytest.mark.parametrize("format", TEXT)
def test_b38_the_extension_does_not_matter(tmp_path: Path, format: str, suffix: str) -> None:
    variant = next(variant for name, variant in all_variants() if name == format)
    raw = import_module(f"tests.io.formats.test_{format}").SMALL[variant]
    assert plain(format, variant)[0] in (0, 3)
    assert told(info(tmp_path, format, raw, f"case{suffix}")) == plain(format, variant)


OTHER = {
    "a PNG image": b"\x89PNG\r\n\x1a\n" + bytes(100),
    "a PDF document": b"%PDF-1.7\n" + b"x" * 100,
    "an HTML page (a download that went wrong?)": b"<!DOCTYPE html><html><body>404</body></html>",
    "a JSON file": b'{"a": 1}',
    "a Python pickle, which is never opened": b"\x80\x04\x95" + bytes(40),
    "an HDF5 file (MATLAB 7.3 files are HDF5 too)": b"\x89HDF\r\n\x1a\n" + bytes(100),
    "a gzip-compressed file": b"\x1f\x8b\x08\x00" + bytes(40),
    "a text file": b"Dear Sir,\nplease find enclosed\n",
}


@pytest.mark.parametrize("what", OTHER)
@pytest.mark.parametrize("verb", ["info", "fit", "doctor"])
def test_b38_another_kind_of_file_is_named_by_its_content(tmp_path: Path, what: str, verb: str) -> None:
    path = tmp_path / "take.csv"
    path.write_bytes(OTHER[what])
    answer = condyle(verb, str(path))
    assert answer.status == 1
    assert matches(
        f"condyle: error: {path}: this seems to be {what}, which is not read; condyle reads npz, c3d, csv, <.*>\n",
        answer.err,
    )
    assert condyle("fit", str(path), "--json").error["code"] == "unknown-format"


def test_b38_a_scene_of_gltf_as_json_is_told_the_form_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "walk.gltf"
    path.write_text('{\n  "asset": {"version": "2.0"},\n  "scenes": [{"nodes": [0]}], "nodes": [{"name": "hip"}]\n}')
    assert condyle("info", str(path)).err == (
        f"condyle: error: {path}: this seems to be a glTF scene as JSON (.gltf), which is not read; save it as one binary "
        "file (.glb), which is\n"
    )


@pytest.mark.skipif(sys.platform == "win32", reason="no such permissions there")
def test_b38_what_is_no_file_is_told(tmp_path: Path) -> None:
    missing = condyle("fit", str(tmp_path / "none.csv"))
    assert (missing.status, missing.err) == (1, f"condyle: error: {tmp_path / 'none.csv'}: no such file\n")
    link = tmp_path / "link.csv"
    link.symlink_to("gone.csv")
    said = condyle("fit", str(link)).err
    assert said == f"condyle: error: {link}: is a link to gone.csv, which is not there\n"
    link.unlink()
    folder = condyle("fit", str(tmp_path))
    assert (folder.status, folder.err) == (
        1,
        f"condyle: error: {tmp_path}: is a folder; name the files of one take, or fit every take in it: condyle batch {tmp_path} -o STUDY\n",
    )
    assert condyle("fit").status == 2
    assert os.listdir(tmp_path) == []
