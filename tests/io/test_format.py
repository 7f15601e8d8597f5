"""io/format.py: what the caller may say of a file, and what it does to its recording."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.io.format import ReadOptions, apply_options
from condyle.model.recording import Bodies, Convention, Markers, Recording

POSES = Recording(
    bodies=Bodies(("a",), np.zeros((2, 1, 3)), np.tile([1.0, 0, 0, 0], (2, 1, 1))),
    time=np.array([0.0, 1.0]),
    convention=Convention("wxyz", unit="mm", stated=frozenset({"unit"})),
)


def test_what_is_given_wins_over_the_file_and_counts_as_given() -> None:
    found = apply_options(POSES, ReadOptions(unit="cm", quaternion="xyzw", axes="x, -Z,y"), "log file")
    assert (found.convention.unit, found.convention.rotation, found.convention.axes) == ("cm", "xyzw", ("x", "-z", "y"))
    assert found.convention.given == {"unit", "rotation", "axes"}
    assert apply_options(POSES, ReadOptions(), "log file") is POSES


def test_a_rate_takes_the_place_of_the_time() -> None:
    found = apply_options(POSES, ReadOptions(rate=50.0), "log file")
    assert (found.time, found.rate) == (None, 50.0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"euler": "ZYX"}, "'euler' is for Euler angles, but this log file has quaternions"),
        ({"degrees": True}, "'degrees' is for Euler angles"),
    ],
)
def test_an_option_that_cannot_apply_is_refused(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        apply_options(POSES, ReadOptions(**options), "log file")  # type: ignore[arg-type]


def test_markers_have_no_orientations_to_speak_of() -> None:
    markers = Recording(markers=Markers(("m",), np.zeros((2, 1, 3))))
    with pytest.raises(UsageError, match="has markers only"):
        apply_options(markers, ReadOptions(transposed=True), "log file")


@pytest.mark.parametrize(
    "options", [{"rate": 0.0}, {"rate": float("inf")}, {"unit": "stone"}, {"quaternion": "zyxw"}, {"euler": "ZYX-odd"}]
)
def test_a_value_that_is_none_of_the_choices_is_refused_at_once(options: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        ReadOptions(**options)  # type: ignore[arg-type]
