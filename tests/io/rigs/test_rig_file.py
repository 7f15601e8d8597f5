"""What a rig holds is checked once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.rigs.rig_file import RigClip, RigFile


def test_shapes_are_those_of_the_bones() -> None:
    eye, zero = np.tile(np.eye(3), (2, 1, 1)), np.zeros((2, 3))
    with pytest.raises(CondyleError, match="p_rest has shape"):
        RigFile(Path("a.bvh"), ("a", "b"), np.array([-1, 0]), eye, zero[:1], zero, (True, True), lambda clips: [])
    with pytest.raises(CondyleError, match="R_world has shape"):
        RigClip(0, np.arange(3.0), eye[None], np.zeros((3, 2, 3)))
