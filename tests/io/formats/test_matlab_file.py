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


@pytest.mark.parametrize("write", [old, new])
def test_a_library_that_is_missing_is_named(tmp_path, write, monkeypatch) -> None:
    import builtins

    plain = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name.partition(".")[0] in ("scipy", "h5py"):
            raise ImportError(name)
        return plain(name, *args, **kwargs)

    path = tmp_path / "a.mat"
    path.write_bytes(write(VALUES))
    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(CondyleError, match=r"condyle\[matlab\]"):
        read_variables(path)
