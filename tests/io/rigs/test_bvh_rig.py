"""BVH rigs: the hierarchy stays, rows are new."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.io.rigs.bvh_rig import read_bvh_rig
from condyle.io.rigs.rig_file import RigClip
from condyle.maths import rotation
from tests.make.rigs import BONES, write_bvh_rig

HEAD = """HIERARCHY
ROOT a
{
  OFFSET 0 90 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Yrotation Xrotation
  JOINT b
  {
    OFFSET 0 10 0
    CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
    End Site
    {
      OFFSET 0 5 0
    }
  }
}
"""


def clip(n: int = 4) -> RigClip:
    R = rotation.from_vector(np.random.default_rng(1).normal(0, 0.3, (n, 2, 3)))
    p = np.zeros((n, 2, 3)) + [1.0, 92.0, 3.0]
    p[:, 1] = p[:, 0] + R[:, 0] @ [0.0, 10.0, 0.0]
    return RigClip(0, np.arange(n) / 50, R, p)


def test_places_and_ends_at_rest(tmp_path: Path) -> None:
    rig = read_bvh_rig(write_bvh_rig(tmp_path / "rig.bvh"))
    assert len(rig.names) == len(BONES)
    foot = rig.names.index("mixamorig:LeftFoot")
    np.testing.assert_allclose(rig.p_rest[foot], [13, -80, -1])
    np.testing.assert_allclose(rig.tip[rig.names.index("mixamorig:LeftToeBase")], [14, -87, 19])
    assert np.isnan(rig.tip[foot]).all()
    assert rig.placeable.count(True) == 1


@pytest.mark.parametrize(
    ("first", "start"), [("", 0.0), ("0 91 0 0 0 0 0 10 0 0 0 0", 0.0), ("0 1 0 0 0 0 0 10 0 0 0 0", 90.0)]
)
def test_the_roots_place_counts_as_the_files_own_frames_have_it(first: str, start: float, tmp_path: Path) -> None:
    count = 1 if first else 0
    (tmp_path / "a.bvh").write_text(HEAD + f"MOTION\nFrames: {count}\nFrame Time: 0.01\n{first}\n")
    (content,) = read_bvh_rig(tmp_path / "a.bvh").render([clip()])
    text = content.decode()
    assert text.startswith(HEAD.rstrip())
    assert "Frames: 4\nFrame Time: 0.02\n" in text
    row = list(map(float, text.splitlines()[-1].split()))
    np.testing.assert_allclose(row[:3], [1.0, 92.0 - start, 3.0])
    np.testing.assert_allclose(row[6:9], [0.0, 10.0, 0.0])  # of a joint below: where it is in its parent


def test_every_clip_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.bvh").write_text(HEAD)
    assert len(read_bvh_rig(tmp_path / "a.bvh").render([clip(), clip()])) == 2
