"""Parquet tables with the columns of condyle's CSV: time, segment, <body>.px ... <body>.qz; docs/formats/parquet.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CondyleError, import_extra
from ...maths.arrays import Floats
from ...maths.spool import empty
from ...model.recording import Recording
from ..format import Format, ReadOptions
from .csv import TakeTable, check_columns, make_recording

PARQUET_MAGIC = b"PAR1"
PARQUET_NEED = "Parquet needs pyarrow"
PARQUET_READ_ROWS = 16_384  # at once
PARQUET_FREE_BYTES = 64 * 2**20  # up to this size any compression ratio is harmless
MOST_PARQUET_RATIO = 200.0  # of the numbers over the file
MOST_PARQUET_COLUMNS = 100_000
LONGEST_PARQUET_TEXT_BYTES = 64 * 2**20  # bytes of one string in the file's own description


def looks_like(head: bytes) -> bool:
    """The mark in front."""
    return head.startswith(PARQUET_MAGIC)


def read(path: Path, options: ReadOptions) -> Recording:
    """The numbers; a null is a number not seen."""
    file = _open(path)
    try:
        names = file.schema_arrow.names
        if len(names) > MOST_PARQUET_COLUMNS:
            raise CondyleError(f"{len(names)} columns are more than are read", code="file-too-large")
        bodies = check_columns(names)
        if not bodies:
            raise CondyleError("no column '<body>.px'", code="missing-column")
        _check_size(file.metadata, path.stat().st_size)
        facts = {_decode(k): _decode(v) for k, v in (file.schema_arrow.metadata or {}).items()}
        count, filled = file.metadata.num_rows, 0
        values = empty((count, len(names)))
        for batch in file.iter_batches(PARQUET_READ_ROWS, columns=names, use_threads=False):
            rows = values[filled : filled + batch.num_rows]
            for k, name in enumerate(names):
                rows[:, k] = _read_numbers(batch.column(k), name)
            filled += batch.num_rows
        if filled != count:
            raise ValueError(f"{filled} of {count} rows")
    except CondyleError:
        raise
    except Exception as error:  # what a damaged file raises is not documented: OSError, ArrowException, ValueError
        raise _describe_damage(error) from None
    finally:
        file.close()
    if not count:
        raise CondyleError("a table without a single row", code="no-data")
    recording = make_recording(path, TakeTable(facts, names, bodies), values, options)
    stated = frozenset({"rotation", *(("unit",) if "length" in facts else ())})
    return replace(
        recording,
        convention=replace(recording.convention, stated=stated),
        facts={"length": facts.get("length", "m"), "rotation": "quaternion wxyz", "rows": str(count)},
    )


def _open(path: Path) -> Any:
    pq = import_extra("pyarrow.parquet", "parquet", PARQUET_NEED)
    try:
        return pq.ParquetFile(
            path,
            thrift_string_size_limit=LONGEST_PARQUET_TEXT_BYTES,
            thrift_container_size_limit=10 * MOST_PARQUET_COLUMNS,
        )
    except Exception as error:  # see above
        raise _describe_damage(error) from None


def _describe_damage(error: Exception) -> CondyleError:
    why = (str(error).splitlines() or [type(error).__name__])[0][:200]
    return CondyleError(f"the Parquet file is cut short or damaged ({why}); write it again", code="damaged-file")


def _check_size(metadata: Any, on_disk: int) -> None:
    """Before anything is unpacked: a table of one repeated value is small on disk, whatever its length."""
    numbers = metadata.num_rows * metadata.num_columns
    groups = [metadata.row_group(k) for k in range(metadata.num_row_groups)]
    unpacked = max(8 * numbers, sum(group.total_byte_size for group in groups))
    if numbers < 0:
        raise ValueError("a negative number of rows")
    if unpacked > PARQUET_FREE_BYTES and unpacked > MOST_PARQUET_RATIO * on_disk:
        raise CondyleError(
            f"{on_disk / 2**20:.1f} MiB claim to unpack to {unpacked / 2**20:.0f} MiB, as no recording does; "
            "if it is real, save it as NPZ",
            code="suspicious-size",
        )


def _read_numbers(column: Any, name: str) -> Floats:
    """A column as floats, null as NaN; time stamps and durations become seconds."""
    import pyarrow as pa  # type: ignore[import-untyped]

    kind = column.type
    if name == "time" and (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)):
        per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
        whole = column.cast(pa.int64())
        return np.asarray(whole.to_numpy(zero_copy_only=False), np.float64) / per_second
    if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)):
        raise CondyleError(f"column '{name[:80]}' has type {str(kind)[:40]}, expected numbers", code="bad-type")
    return np.asarray(column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


FORMAT = Format("parquet", "Parquet", looks_like, read)
