"""io/formats/_asf.py: the skeleton beside an AMC file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats._asf import find_skeleton, read_skeleton

ASF = """:units
  length 0.45
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 1 2 3
  orientation 0 0 90
:bonedata
  begin
    name thigh
    direction 0 -2 0
    length 3
    axis 0 0 0 XYZ
    dof rx rz
  end
:hierarchy
  begin
    root thigh
  end
"""


def test_bones_have_ends_axes_and_channels(tmp_path: Path) -> None:
    path = tmp_path / "01.asf"
    path.write_text(ASF)
    skeleton = read_skeleton(path)
    root, thigh = skeleton.bones
    assert (root.name, thigh.name, skeleton.parent) == ("root", "thigh", (-1, 0))
    np.testing.assert_allclose(thigh.end, [0, -3, 0])  # the direction counts, not its length
    np.testing.assert_allclose(root.C, [[0, -1, 0], [1, 0, 0], [0, 0, 1]], atol=1e-12)
    assert thigh.channels == ("RX", "RZ")
    assert skeleton.position.tolist() == [1, 2, 3]
    assert float(skeleton.unit or 0) == pytest.approx(0.0254 / 0.45)


@pytest.mark.parametrize(
    ("old", "new", "words", "line"),
    [
        ("length 3", "length three", "length 'three' is not a number", 13),
        ("direction 0 -2 0", "direction 0 -2", "is not 3 numbers", 12),
        ("dof rx rz", "dof rx tx", "only the root may move", 15),
        ("dof rx rz", "dof rx rx", "each once", 15),
        ("axis XYZ", "axis XYY", "no order of X, Y and Z", 6),
        ("root thigh", "root shin", "which is no bone", 19),
        (":bonedata", ":bones", "without the section :bonedata", None),
        ("  end\n:hierarchy", ":hierarchy", "ends inside a bone", 15),
    ],
)
def test_a_fault_names_the_file_and_the_line(tmp_path: Path, old: str, new: str, words: str, line: int | None) -> None:
    path = tmp_path / "01.asf"
    path.write_text(ASF.replace(old, new, 1))
    with pytest.raises(CondyleError, match=words) as error:
        read_skeleton(path)
    assert (error.value.path, error.value.line) == (str(path), line)


def test_the_longest_name_up_to_an_underscore_is_the_skeleton_else_the_only_one(tmp_path: Path) -> None:
    motion = tmp_path / "01_02_walk.amc"
    with pytest.raises(CondyleError, match=r"needs its skeleton beside it: 01\.asf"):
        find_skeleton(motion)
    (tmp_path / "other.asf").touch()
    assert find_skeleton(motion).name == "other.asf"
    (tmp_path / "01.ASF").touch()
    assert find_skeleton(motion).name == "01.ASF"
    (tmp_path / "01_02.asf").touch()
    assert find_skeleton(motion).name == "01_02.asf"
    with pytest.raises(CondyleError, match="there are 3 others"):
        find_skeleton(tmp_path / "05_01.amc")
