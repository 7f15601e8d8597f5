"""The front door: few names, all of them there, and cheap to open."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
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


@pytest.mark.parametrize("value", [None, b"take.npz", 3, "", [None], {"a": None}, True, "x" * 300])
def test_what_is_no_path_is_refused_in_a_sentence(value: Any) -> None:
    take = condyle.Take.from_matrices(np.tile(np.eye(4), (4, 2, 1, 1)))
    calls: list[Callable[[], object]] = [
        lambda: condyle.read(value), lambda: condyle.fit(value), lambda: condyle.load(value),
        lambda: condyle.read_field(value), lambda: condyle.read_skeleton(value), lambda: condyle.batch(value, "out"),
        lambda: condyle.write_take(value, take), lambda: condyle.solve(take, [] if value is None else value),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(condyle.CondyleError, match=r"is told by its path, not|a recording is a file|be opened: "):
            call()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("tree", 3), ("loops", 5), ("fix", 3), ("no_fix", None), ("symmetric", "a"), ("kinds", 7), ("start", "a"),
        ("only", 3), ("drop", 5), ("rename", 7), ("unit", 5j), ("columns", 5), ("rate", "60"), ("tree", [1, 2]),
        ("rate", np.array([60.0])), ("only", [3]), ("kinds", [3]), ("kinds", {"a": "b"}), ("axes", 3),
    ],
)  # fmt: skip
def test_an_option_of_another_type_is_refused_in_a_sentence(tmp_path: Path, name: str, value: Any) -> None:
    poses = np.tile(np.eye(4), (4, 2, 1, 1))
    condyle.write_take(tmp_path / "take.npz", condyle.Take.from_matrices(poses, rate=60))
    with pytest.raises(
        condyle.CondyleError,
        match=r"is a list, not|is a number, not|rename is|unit|path|pair of body|of names|a kind are|axes are",
    ):
        condyle.fit(tmp_path / "take.npz", **{name: value})


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    poses = np.tile(np.eye(4), (4, 2, 1, 1))
    condyle.write_take(tmp_path / "take.npz", condyle.Take.from_matrices(poses, rate=60))
    assert condyle.read(tmp_path / "take.npz", rate=np.float32(50), unit=0.001).rate == 50  # type: ignore[arg-type, typeddict-item]


def test_importing_condyle_imports_no_numpy() -> None:
    code = "import sys, condyle; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"
