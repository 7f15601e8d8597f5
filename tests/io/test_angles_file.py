from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.io.angles_file import (
    parse_angle_formats,
    to_facts,
    write_angles_csv,
    write_angles_parquet,
    write_events_csv,
    write_mot,
    write_tables,
)
from condyle.model.angles import AngleColumn, Angles, SegmentFrame
from condyle.model.gait_events import GaitEvent

FRAME = SegmentFrame(
    "thigh_l", "l\nthigh", np.eye(3), np.radians([1.0, np.nan, 2.0]), "functional", "Y: joint to joint"
)


def make(degrees: np.ndarray, *names: str, segment: np.ndarray | None = None) -> Angles:
    n, c = degrees.shape
    columns = tuple(AngleColumn(name, "hip", "l", "hip_l", "thigh", "pelvis") for name in names)
    place = np.stack([np.arange(n), np.ones(n), np.zeros(n)], axis=1)
    return Angles(
        columns, np.arange(n) / 100, np.radians(degrees), np.full(c, np.nan), np.radians(np.ones(c)), np.zeros(c),
        (True,) * c, (FRAME,), place, "isb", "ISB", "quiet stand", "travel", segment=segment, fit_id="abc",
    )  # fmt: skip


def test_a_table_says_how_it_was_counted_and_leaves_cells_empty(tmp_path: Path) -> None:
    file = tmp_path / "angles.csv"
    write_angles_csv(file, make(np.array([[1.5, np.nan], [-2.25, 3.0]]), "hip_flexion_l", "hip_adduction_l"))
    lines = file.read_text(encoding="utf-8").splitlines()
    words = [line for line in lines if line.startswith("# ")]
    assert any("unit: deg" in line for line in words)
    assert any("convention: isb (ISB)" in line for line in words)
    assert any(line == "# frame of thigh_l on l thigh (functional): Y: joint to joint" for line in words)
    assert any("do not compare with laboratories" in line for line in words)
    assert lines[len(words) :] == ["time,segment,hip_flexion_l,hip_adduction_l", "0.0,0,1.5,", "0.01,0,-2.25,3.0"]
    write_angles_csv(file, make(np.array([[180.0]]), "hip_flexion_l"), "rad")
    assert file.read_text(encoding="utf-8").splitlines()[-1] == "0.0,0,3.14159265"


def test_pandas_reads_the_table(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    write_angles_csv(tmp_path / "a.csv", make(np.array([[1.5, np.nan]]), "hip_flexion_l", "hip_adduction_l"))
    table = pandas.read_csv(tmp_path / "a.csv", comment="#")
    assert table["hip_flexion_l"][0] == 1.5
    assert np.isnan(table["hip_adduction_l"][0])


def test_parquet_has_the_same_columns_with_nulls_and_the_facts(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    angles = make(np.array([[1.5, np.nan]]), "hip_flexion_l", "hip_adduction_l")
    write_angles_parquet(tmp_path / "a.parquet", angles)
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.column_names == ["time", "segment", "hip_flexion_l", "hip_adduction_l"]
    assert table["hip_adduction_l"].null_count == 1
    assert json.loads(table.schema.metadata[b"condyle.angles"])["convention"] == "isb"


def test_a_mot_has_one_file_per_stretch_without_a_gap_and_leaves_out_what_is_never_known(tmp_path: Path) -> None:
    degrees = np.tile([[10.0, np.nan, 1.0]], (9, 1)) + np.arange(9)[:, None]
    degrees[3, 0] = np.nan
    angles = make(degrees, "hip_flexion_l", "hip_adduction_l", "pelvis_tilt", segment=np.repeat([0, 1], [7, 2]))
    files, told = write_mot(tmp_path / "a.mot", angles)
    assert [file.name for file in files] == ["a.mot", "a-2.mot", "a-3.mot"]
    lines = files[1].read_text().splitlines()
    assert lines[:5] == ["Coordinates", "version=1", "nRows=3", "nColumns=6", "inDegrees=yes"]
    head = lines.index("endheader") + 1
    assert lines[head].split("\t") == ["time", "hip_flexion_l", "pelvis_tilt", "pelvis_tx", "pelvis_ty", "pelvis_tz"]
    assert [float(cell) for cell in lines[head + 1].split("\t")] == pytest.approx([0.04, 14, 5, 4, 1, 0])
    assert told[0].code == "split-file"
    assert told[0].value == 1
    with pytest.raises(CondyleError, match="write CSV instead"):
        write_mot(tmp_path / "b.mot", make(np.full((4, 1), np.nan), "hip_flexion_l"))


def test_facts_have_frames_errors_and_ranges_as_plain_values(tmp_path: Path) -> None:
    angles = make(np.array([[1.0], [4.0]]), "hip_flexion_l")
    facts = json.loads(json.dumps(to_facts(angles), allow_nan=False))
    assert facts["frames"][0]["sd_deg"] == pytest.approx([1, None, 2])
    (column,) = facts["columns"]
    assert (column["name"], column["range"], column["offset_sd"], column["definition"]) == (
        "hip_flexion_l",
        3,
        None,
        True,
    )
    files = write_tables(tmp_path, "walk", angles, ("csv",), "deg")
    assert [file.name for file in files] == ["walk.json", "walk.csv"]
    assert json.loads(files[0].read_text()) == facts


@pytest.mark.parametrize("words", ["", "csv,xls"])
def test_a_wrong_format_is_named_with_the_choices(words: str) -> None:
    with pytest.raises(UsageError, match="choose from csv, mot, sto, parquet"):
        parse_angle_formats(words)
    assert parse_angle_formats("CSV, .mot,csv") == ("csv", "mot")


def test_the_body_of_an_event_is_no_formula(tmp_path: Path) -> None:
    write_events_csv(
        tmp_path / "events.csv", [GaitEvent(0.5, 0, "l", "strike", "=foot"), GaitEvent(-1, 0, "r", "off", "b")]
    )
    assert (tmp_path / "events.csv").read_text().splitlines()[1:] == ["0.5,0,l,strike,'=foot", "-1,0,r,off,b"]
