"""The variables of a MATLAB file as plain values: structures as mappings, cell arrays as lists, numbers as arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...errors import CondyleError

MATLAB_5 = b"MATLAB 5.0 MAT-file"
MATLAB_73 = b"MATLAB 7.3 MAT-file"
DEEPEST_STRUCTURE = 8  # structures inside each other
MOST_MATLAB_VALUES = 100_000  # variables, fields and cells


def read_variables(path: Path) -> dict[str, Any]:
    """{name: value} in MATLAB's order of axes; raises where the file is damaged, or its library is not installed."""
    with path.open("rb") as stream:
        new = stream.read(len(MATLAB_73)) == MATLAB_73
    try:
        return _read_73(path) if new else _read_5(path)
    except (CondyleError, MemoryError):
        raise
    except Exception as error:  # what a damaged file raises is not documented
        raise CondyleError(f"is cut short or damaged ({error}); save it again", code="damaged-file") from None


def _read_5(path: Path) -> dict[str, Any]:
    try:
        from scipy.io import loadmat  # type: ignore[import-untyped]
    except ImportError:
        raise CondyleError("MATLAB files need scipy; install condyle[matlab]", code="missing-extra") from None
    found = loadmat(path, simplify_cells=True)
    return {name: value for name, value in found.items() if not name.startswith("__")}


def _read_73(path: Path) -> dict[str, Any]:
    try:
        import h5py  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        raise CondyleError("MATLAB 7.3 files need h5py; install condyle[matlab]", code="missing-extra") from None
    left = [MOST_MATLAB_VALUES]

    def convert(item: Any, depth: int = 0) -> Any:
        left[0] -= 1
        if left[0] < 0 or depth > DEEPEST_STRUCTURE:
            raise CondyleError("holds more, or deeper, structures than are read", code="file-too-large")
        if isinstance(item, h5py.Group):
            return {name: convert(item[name], depth + 1) for name in item if not name.startswith("#")}
        if item.dtype == h5py.ref_dtype:
            return [convert(file[one], depth + 1) for one in np.asarray(item[()]).T.ravel()]
        kind = item.attrs.get("MATLAB_class", b"")
        array = np.asarray(item[()]).T
        if kind == b"char":
            return "".join(map(chr, array.ravel().tolist())) if "MATLAB_empty" not in item.attrs else ""
        return array.squeeze()

    with h5py.File(path, "r") as file:
        return {name: convert(file[name]) for name in file if not name.startswith("#")}
