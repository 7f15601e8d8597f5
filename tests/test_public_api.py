"""The front door: few names, all of them there, and cheap to open."""

from __future__ import annotations

import subprocess
import sys

import pytest

import condyle

PUBLIC = [
    "Take", "read", "join", "calibrate", "Calibration", "Options", "Skeleton", "Joint", "Limb", "Placement",
    "Finding", "CODES", "CondyleError", "UsageError", "read_skeleton", "write_skeleton", "write_take",
    "Motion", "play", "forward", "fit_motion", "MotionFit", "reach_targets", "Target", "departure", "Departure",
    "on_axes", "reference_rotations", "retarget_motion", "read_motion", "Figure", "Scene", "write_figure",
    "FieldModel", "Rod", "read_field", "write_field",
    "PairSums", "PairFits", "sum_pairs", "fit_pairs", "rotation", "simulate", "__version__",
]  # fmt: skip


def test_the_public_names_are_pinned() -> None:
    assert list(condyle.__all__) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(condyle, name) is not None


def test_another_name_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="no attribute 'calibration'"):
        _ = condyle.calibration


def test_importing_condyle_imports_no_numpy() -> None:
    code = "import sys, condyle; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
