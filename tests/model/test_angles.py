from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.model.angles import AngleColumn, Angles, Stride


def make(values: np.ndarray, *names: str) -> Angles:
    n, c = values.shape
    columns = tuple(AngleColumn(name, "hip", name[-1], f"hip_{name[-1]}", "thigh", "pelvis") for name in names)  # type: ignore[arg-type]
    open_ = np.full(c, np.nan)
    return Angles(
        columns, np.arange(n) / 10, np.radians(values), open_, np.radians(np.ones(c)), open_, (True,) * c, (),
        np.full((n, 3), np.nan), title="ISB",
    )  # fmt: skip


def test_ranges_leave_out_what_is_not_known_and_compare_the_sides() -> None:
    values = np.array([[1.0, 10.0], [np.nan, 20.0], [5.0, 40.0]])
    left, right = make(values, "hip_flexion_l", "hip_flexion_r").ranges
    assert (left.low, left.high, left.range, left.median) == pytest.approx((1, 5, 4, 3))
    assert left.other_side == right.other_side == pytest.approx(26)
    assert left.offset_sd is None
    assert left.curve_sd == pytest.approx(1)
    assert left.definition


def test_sides_are_compared_wherever_the_side_stands_in_the_name() -> None:
    made = make(np.array([[0.0, 0.0], [30.0, 10.0]]), "hip_flexion_l", "hip_flexion_r")
    columns = tuple(replace(one, name=f"hip_{one.side}_angle") for one in made.columns)
    left, right = replace(made, columns=columns).ranges
    assert left.other_side == right.other_side == pytest.approx(20)
    middle = replace(made, columns=tuple(replace(one, name=f"{one.name}x", side="", label="waist") for one in columns))
    assert [row.other_side for row in middle.ranges] == [None, None]


def test_sides_are_compared_over_whole_strides_where_both_have_some() -> None:
    values = np.array([[90.0, 0], [0, 0], [10, 5], [0, 20], [0, 5], [np.nan, 0]])
    strides = (Stride("l", 0, 0.1, 0.3), Stride("r", 0, 0.2, 0.4), Stride("l", 0, 0.4, 0.5), Stride("r", 1, 0.0, 9.0))
    left, right = replace(make(values, "hip_flexion_l", "hip_flexion_r"), strides=strides).ranges
    assert (left.stride_range, left.strides) == (pytest.approx(10), 1)  # the second has a frame that is not known
    assert (right.stride_range, right.strides) == (pytest.approx(15), 1)
    assert left.range == pytest.approx(90)
    assert left.other_side == right.other_side == pytest.approx(5)


def test_an_angle_that_is_never_known_has_no_range() -> None:
    only = make(np.full((3, 1), np.nan), "hip_flexion_l").ranges[0]
    assert only.low is only.high is only.range is only.other_side is None


def test_a_column_is_fetched_by_its_name_in_degrees() -> None:
    angles = make(np.array([[1.0, 2.0]]), "hip_flexion_l", "hip_flexion_r")
    np.testing.assert_allclose(angles["hip_flexion_r"], [2.0])
    with pytest.raises(CondyleError, match="no angle 'hip'; there are hip_flexion_l, hip_flexion_r"):
        angles["hip"]
    assert str(angles) == "2 joints, 2 angles, 1 frame: ISB"


def test_a_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(CondyleError, match="needs pandas"):
        make(np.zeros((1, 1)), "hip_flexion_l").to_dataframe()


def test_a_data_frame_has_time_segment_and_the_angles() -> None:
    pytest.importorskip("pandas")
    table = make(np.array([[1.0, 2.0], [3.0, np.nan]]), "hip_flexion_l", "hip_flexion_r").to_dataframe()
    assert list(table.columns) == ["time", "segment", "hip_flexion_l", "hip_flexion_r"]
    np.testing.assert_allclose(table["hip_flexion_l"], [1, 3])
    assert np.isnan(table["hip_flexion_r"][1])
