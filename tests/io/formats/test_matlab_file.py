"""The variables of MATLAB files, and what damage to them says."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats._matlab_file import read_variables
from tests.io.formats.test_matlab import cells, new, old

VALUES = {"words": "pelvis", "many": cells("a", "bc"), "inner": {"x": np.arange(6.0).reshape(2, 3)}, "one": 5.0}


@pytest.mark.parametrize("write", [old, new])
def test_both_versions_give_the_same_values(tmp_path, write) -> None:
    path = tmp_path / "a.mat"
    path.write_bytes(write(VALUES))
    found = read_variables(path)
    assert found["words"] == "pelvis"
    assert list(found["many"]) == ["a", "bc"]
    np.testing.assert_array_equal(found["inner"]["x"], VALUES["inner"]["x"])
    assert float(found["one"]) == 5.0


@pytest.mark.parametrize("write", [old, new])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_a_file_that_is_cut_is_told(tmp_path, write, share) -> None:
    path = tmp_path / "a.mat"
    raw = write(VALUES)
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(CondyleError) as raised:
        read_variables(path)
    assert raised.value.code == "damaged-file"


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch) -> None:
    import sys

    path = tmp_path / "a.mat"
    path.write_bytes(new(VALUES))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(CondyleError, match=r"condyle\[matlab\]"):
        read_variables(path)


def test_packed_files_of_either_byte_order_are_read(tmp_path) -> None:
    import io

    import scipy.io

    stream = io.BytesIO()
    scipy.io.savemat(stream, VALUES, do_compression=True)
    path = tmp_path / "a.mat"
    path.write_bytes(stream.getvalue())
    assert list(read_variables(path)["many"]) == ["a", "bc"]
    head = b"MATLAB 5.0 MAT-file".ljust(124, b" ") + b"\x01\x00MI"
    parts = [
        (6, b"\x00\x00\x00\x06" + bytes(4)),
        (5, b"\x00\x00\x00\x02" * 2),
        (1, b"x"),
        (9, np.arange(4.0).astype(">f8").tobytes()),
    ]
    body = b"".join(
        kind.to_bytes(4, "big") + len(data).to_bytes(4, "big") + data + bytes(-len(data) % 8) for kind, data in parts
    )
    path.write_bytes(head + (14).to_bytes(4, "big") + len(body).to_bytes(4, "big") + body)
    np.testing.assert_array_equal(read_variables(path)["x"], [[0, 2], [1, 3]])


def test_what_unpacks_without_end_is_refused(tmp_path) -> None:
    import zlib

    packed = zlib.compress(bytes(80 * 2**20))
    path = tmp_path / "a.mat"
    head = b"MATLAB 5.0 MAT-file".ljust(124, b" ") + b"\x00\x01IM"
    path.write_bytes(head + (15).to_bytes(4, "little") + len(packed).to_bytes(4, "little") + packed)
    with pytest.raises(CondyleError) as raised:
        read_variables(path)
    assert raised.value.code == "suspicious-size"
