"""The front door: few names, all of them there, and cheap to open."""

from __future__ import annotations

import subprocess
import sys

import pytest

import condyle

PUBLIC = [
    "CODES", "CondyleError", "FieldModel", "Finding", "Fit", "Joint", "Limb", "Motion", "Placement", "Rod", "Skeleton",
    "Study", "Take", "Target", "UsageError", "__version__", "batch", "departure", "fit", "fit_motion", "fit_pairs",
    "fit_remounted", "forward", "join", "load", "on_axes", "play", "reach_targets", "read", "read_field",
    "read_skeleton", "reference_rotations", "retarget_motion", "rotation", "simulate", "solve", "sum_pairs",
    "write_skeleton", "write_take",
]  # fmt: skip


def test_the_public_names_are_pinned() -> None:
    assert sorted(condyle.__all__) == PUBLIC == dir(condyle)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(condyle, name) is not None


def test_another_name_is_refused_as_python_does() -> None:
    with pytest.raises(AttributeError, match="no attribute 'calibration'"):
        _ = condyle.calibration


def test_importing_condyle_imports_no_numpy() -> None:
    code = "import sys, condyle; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
