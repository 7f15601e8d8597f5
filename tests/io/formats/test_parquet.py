from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats import identify, parquet, read_recording
from condyle.model.recording import to_take
from tests.make.size import cut_lengths
from tests.make.texts import fault, recording_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PARTS = ("px", "py", "pz", "qw", "qx", "qy", "qz")
VALUES = {"px": 1.0, "py": 2.0, "pz": 3.0, "qw": 0.5, "qx": 0.5, "qy": -0.5, "qz": 0.5}


def columns(rows: int = 3) -> dict[str, Any]:
    table: dict[str, Any] = {"time": np.arange(rows) / 100}
    for body in ("hip", "knee"):
        table |= {f"{body}.{part}": np.full(rows, VALUES[part]) for part in PARTS}
    table["knee.px"] = np.arange(rows, dtype=float)
    return table


def packed(table: dict[str, Any], metadata: dict[str, str] | None = None, **options: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(table).replace_schema_metadata(metadata), stream, **options)
    return stream.getvalue()


SMALL = {
    "snappy": packed(columns()),
    "plain": packed(columns(), compression="none", use_dictionary=False),
    "zstd, single precision": packed(
        {k: v.astype(np.float32) for k, v in columns().items()}, {"length": "mm"}, compression="zstd"
    ),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.parquet"


@pytest.mark.parametrize("variant", SMALL)
def test_a_table_is_read_as_its_columns_are_named(path: Path, variant: str) -> None:
    recording = recording_of(path, SMALL[variant])
    assert identify(path).name == "parquet"
    assert recording.bodies is not None
    assert recording.bodies.names == ("hip", "knee")
    assert recording.bodies.position[2].tolist() == [[1, 2, 3], [2, 2, 3]]
    assert recording.bodies.orientation[1, 0].tolist() == [0.5, 0.5, -0.5, 0.5]
    assert recording.time is not None
    np.testing.assert_allclose(recording.time, [0, 0.01, 0.02], atol=1e-9)
    assert recording.findings == ()


def test_lengths_are_metres_unless_the_file_says_otherwise(path: Path) -> None:
    assert to_take(recording_of(path, SMALL["plain"])).p_world_body[0, 0].tolist() == [1, 2, 3]
    recording = recording_of(path, packed(columns(), {"length": "mm"}))
    assert "unit" in recording.convention.stated
    np.testing.assert_allclose(to_take(recording).p_world_body[0, 0], [0.001, 0.002, 0.003])
    assert fault(path, packed(columns(), {"length": "ell"})).code == "unknown-unit"


def test_columns_are_found_by_name_in_any_order_and_any_kind_of_number(path: Path) -> None:
    table = dict(reversed(columns().items()))
    table["hip.px"] = np.array([1, 2, 3], np.int16)
    recording = recording_of(path, packed(table))
    assert recording.bodies is not None
    assert recording.bodies.names == ("knee", "hip")
    assert recording.bodies.position[:, 1, 0].tolist() == [1, 2, 3]


def test_a_null_is_a_pose_not_seen(path: Path) -> None:
    table = columns()
    table["hip.px"] = pa.array([1.0, None, 3.0])
    table["knee.qw"] = pa.array([None, None, 1], pa.int32())
    table["knee.qx"] = table["knee.qy"] = table["knee.qz"] = np.zeros(3)
    take = to_take(recording_of(path, packed(table)))
    assert take.seen.tolist() == [[True, False], [False, False], [True, True]]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_time_stamps_become_seconds(path: Path, unit: str) -> None:
    table = columns() | {"time": pa.array([10, 11, 12], pa.timestamp(unit))}
    recording = recording_of(path, packed(table))
    assert recording.time is not None
    steps = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]
    np.testing.assert_allclose(np.diff(recording.time), steps, rtol=1e-6)


def test_a_table_without_time_has_none_and_segments_are_kept(path: Path) -> None:
    table = columns() | {"segment": np.array([0, 0, 1])}
    del table["time"]
    recording = recording_of(path, packed(table))
    assert recording.time is None
    assert recording.segment is not None
    assert recording.segment.tolist() == [0, 0, 1]


def test_other_columns_are_refused_with_the_way_out(path: Path) -> None:
    error = fault(path, packed(columns() | {"quality": np.ones(3)}))
    assert (error.code, error.column) == ("unknown-column", 16)
    assert "--columns" in error.text


@pytest.mark.sized
def test_every_cut_is_an_error(path: Path) -> None:
    whole = SMALL["snappy"]
    for cut in cut_lengths(whole, 4):
        assert fault(path, whole[:cut]).code == "damaged-file", cut


def test_damaged_bytes_never_crash(path: Path, rng: np.random.Generator) -> None:
    for raw in SMALL.values():
        for _ in range(60):
            broken = bytearray(raw)
            for at in rng.integers(4, len(raw) - 4, 3):
                broken[at] = rng.integers(0, 256)
            try:
                recording_of(path, bytes(broken))
            except CondyleError:
                continue


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"time": np.array([0, np.nan, 1])}, "bad-time"),
        ({"segment": np.array([0, 0.5, 1])}, "bad-segment"),
        ({"hip.px": pa.array(["a", "b", "c"])}, "bad-type"),
        ({"hip.px": pa.array([[1.0], [2.0], [3.0]])}, "bad-type"),
        ({"toe.px": np.ones(3)}, "missing-column"),
    ],
)
def test_a_broken_table_is_one_clear_error(path: Path, change: dict[str, Any], code: str) -> None:
    assert fault(path, packed(columns() | change)).code == code


def test_an_empty_table_and_one_without_bodies_are_errors(path: Path) -> None:
    assert fault(path, packed(columns(0))).code == "no-data"
    assert fault(path, packed({"time": np.arange(3.0)})).code == "missing-column"


def test_a_second_column_of_a_name_is_an_error(path: Path) -> None:
    table = pa.table(columns())
    stream = io.BytesIO()
    pq.write_table(table.append_column("hip.px", pa.array(np.ones(3))), stream)
    assert fault(path, stream.getvalue()).code == "duplicate-column"


@pytest.mark.costly
def test_a_small_file_of_endless_rows_is_refused_before_it_is_unpacked(path: Path) -> None:
    rows = 3_000_000
    table = {f"a.{part}": np.full(rows, VALUES[part]) for part in PARTS}
    raw = packed(table, compression="zstd")
    assert len(raw) < 400_000
    assert fault(path, raw).code == "suspicious-size"


def test_without_pyarrow_the_extra_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_bytes(SMALL["plain"])
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(CondyleError) as error:
        read_recording(path)
    assert error.value.code == "missing-extra"
    assert "condyle[parquet]" in error.value.text


def test_other_files_are_not_claimed() -> None:
    assert not any(parquet.looks_like(head) for head in (b"", b"PAR", b"PK\x03\x04", b"time,hip.px\n"))
