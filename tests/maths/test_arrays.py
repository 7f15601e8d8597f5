from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest
from numpy.typing import NDArray

from condyle.errors import CondyleError
from condyle.maths.arrays import (
    BLOCK_BYTES,
    Floats,
    Ints,
    Vector,
    _number_type,
    concatenate,
    distinct,
    dot_rows,
    evenly,
    evenly_seen,
    find_marked,
    freeze,
    freeze_array,
    measure_rms,
    norm_rows,
    select,
)


def test_a_list_becomes_a_read_only_array_of_doubles() -> None:
    array = freeze_array([[1, 2]], (None, 2), "a")
    assert array.dtype == np.float64
    assert not array.flags.writeable


def test_the_caller_keeps_a_writable_array_of_their_own() -> None:
    mine = np.zeros(3)
    array = freeze_array(mine, (3,), "a")
    mine[0] = 1
    assert array[0] == 0
    assert mine.flags.writeable


def test_a_view_of_a_writable_array_is_copied_even_when_it_is_read_only() -> None:
    mine = np.zeros(4)
    view = mine[:3]
    view.flags.writeable = False
    array = freeze_array(view, (3,), "a")
    mine[0] = 1
    assert array[0] == 0


def test_a_frozen_array_is_not_copied_again() -> None:
    array = freeze_array(np.zeros(3), (3,), "a")
    assert freeze_array(array, (3,), "a") is array


def test_a_part_of_a_read_only_table_is_taken_as_it_is_where_that_is_asked() -> None:
    table = freeze_array(np.zeros((2, 3)), (2, 3), "table")
    column = table[:, 1]
    assert freeze_array(column, (2,), "a", part=True) is column
    assert freeze_array(column, (2,), "a") is not column


def test_a_part_of_a_table_that_can_be_written_to_is_copied_all_the_same() -> None:
    mine = np.zeros((2, 3))
    column = mine[:, 1]
    column.flags.writeable = False
    array = freeze_array(column, (2,), "a", part=True)
    mine[0, 1] = 1
    assert array[0] == 0


@pytest.mark.parametrize("shape", [(2,), (3, 1), (None, None)])
def test_another_shape_is_refused_with_the_name_and_both_shapes(shape: tuple[int | None, ...]) -> None:
    with pytest.raises(CondyleError, match=r"speed has shape \(3,\), expected \("):
        freeze_array(np.zeros(3), shape, "speed")


@pytest.mark.parametrize("wrong", [["a"], [1j], np.array([1j]), np.zeros(1, "M8[s]"), np.zeros(1, "V8"), [object()]])
def test_what_is_no_number_is_refused_by_name(wrong: object) -> None:
    with pytest.raises(CondyleError, match="speed is not an array of numbers: "):
        freeze_array(wrong, (1,), "speed")  # type: ignore[arg-type]


def test_numbers_beyond_doubles_are_infinite_without_a_warning() -> None:
    assert freeze_array(np.array([np.finfo(np.longdouble).max]), (1,), "speed").tolist() == [np.inf]


@dataclass(frozen=True, eq=False)
class Track:
    place: Annotated[Floats, "n 3"]
    number: Annotated[Ints, "n"] = None  # type: ignore[assignment]
    axis: Vector | None = None

    def __post_init__(self) -> None:
        freeze(self, n=len(self.place))


def test_a_value_freezes_its_arrays_by_the_shapes_in_their_types() -> None:
    track = Track([[1, 2, 3], [4, 5, 6]], [7, 8], [0, 0, 1])  # type: ignore[arg-type]
    assert [track.place.dtype, track.number.dtype] == [np.float64, np.int64]
    assert track.axis is not None
    assert not any(array.flags.writeable for array in (track.place, track.number, track.axis))
    with pytest.raises(CondyleError, match=r"number has shape \(3,\), expected \(2\)"):
        Track(np.zeros((2, 3)), np.zeros(3, np.int64))
    with pytest.raises(CondyleError, match=r"place has shape \(2, 2\), expected \(2, 3\)"):
        Track(np.zeros((2, 2)))


def test_none_stays_where_it_is_allowed_and_is_zeros_elsewhere() -> None:
    track = Track(np.zeros((2, 3)))
    assert track.axis is None
    assert track.number.tolist() == [0, 0]


def test_rows_of_a_letter_are_selected_in_every_array_that_has_it() -> None:
    track = Track(np.arange(12.0).reshape(4, 3), np.arange(4), [0, 0, 1])  # type: ignore[arg-type]
    some = select(track, "n", np.array([3, 1]))
    assert some.place.tolist() == [[9, 10, 11], [3, 4, 5]]
    assert some.number.tolist() == [3, 1]
    assert some.axis is track.axis


def test_arrays_are_put_in_one_along_their_letter() -> None:
    track = Track(np.zeros((2, 3)), np.array([1, 2]))
    both = concatenate([track, track], "n")
    assert set(both) == {"place", "number"}
    assert both["number"].tolist() == [1, 2, 1, 2]


def test_different_numbers_are_those_of_numpy() -> None:
    for values in (np.array([3, 1, 3, 2, 1]), np.array([[2.5, -1.0], [2.5, 7.0]]), np.empty(0)):
        np.testing.assert_array_equal(distinct(values), np.unique(values))


def test_the_type_of_numbers_is_read_from_both_ways_in_which_numpy_writes_an_array() -> None:
    from types import GenericAlias

    alias = GenericAlias(list, (np.float64,))  # as numpy 2.5 has NDArray[np.float64]
    assert _number_type(alias) is np.float64
    assert _number_type(np.ndarray[tuple[int, ...], np.dtype[np.int64]]) is np.int64
    assert _number_type(NDArray[np.bool_]) is np.bool_


def test_a_whole_number_beyond_the_type_is_refused_by_name() -> None:
    for dtype, large in ((np.float64, 10**400), (np.float64, -(10**5000)), (np.int64, 2**70)):
        with pytest.raises(CondyleError, match=rf"^time has a number too large for {np.dtype(dtype)}$"):
            freeze_array([0, 1, large], (None,), "time", dtype)


@pytest.mark.parametrize("count", [3, 2_000_000])
def test_what_is_no_whole_number_is_no_segment(count: int) -> None:
    for odd in (np.nan, np.inf, 1e300):
        values = np.zeros(count)
        values[-1] = odd
        with pytest.raises(CondyleError, match="segment is not an array of numbers: it holds what is no whole number"):
            freeze_array(values, (None,), "segment", np.int64)


def test_numbers_that_are_masked_are_not_seen() -> None:
    hidden = np.ma.masked_array([1, 2, 3], mask=[False, True, False])
    for values in (hidden, hidden.astype(float)):
        np.testing.assert_array_equal(freeze_array(values, (3,), "a"), [1, np.nan, 3])
    large = np.ma.masked_array(np.ones(BLOCK_BYTES // 8 + 1), mask=False)
    large[5] = np.ma.masked
    assert np.flatnonzero(np.isnan(freeze_array(large, (None,), "a"))).tolist() == [5]


def test_the_rms_is_of_the_numbers_that_are_known() -> None:
    found = measure_rms(np.array([[3.0, np.nan, np.nan], [4.0, 2.0, np.nan]]))
    np.testing.assert_allclose(found, [np.sqrt(12.5), 2.0, np.nan])


def test_rows_are_evenly_spread_unless_a_sensor_of_a_fraction_of_the_rate_is_in_hardly_any_of_them() -> None:
    seen = np.ones((4800, 3), dtype=bool)
    assert evenly_seen(seen, 2000).tolist() == evenly(4800, 2000).tolist()
    assert evenly_seen(seen, 5000).tolist() == list(range(4800))
    for every, first in ((2, 1), (3, 2), (8, 5)):
        seen[:, 1] = np.arange(4800) % every == first
        for most in (1600, 600, 200):
            rows = evenly_seen(seen, most)
            assert (np.diff(rows) > 0).all()
            assert 0.9 * most < len(rows) <= most
            assert rows[-1] < 4800
            assert seen[rows, 1].mean() == pytest.approx(1 / every, rel=0.5)


def test_rows_in_which_no_body_is_seen_are_spread_as_well() -> None:
    assert evenly_seen(np.zeros((10, 2), dtype=bool), 5).tolist() == evenly(10, 5).tolist()
    assert evenly_seen(np.zeros((0, 2), dtype=bool), 5).tolist() == []


def test_products_of_rows_are_those_of_einsum_and_unknown_where_a_number_is(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 7, 4, 3))
    np.testing.assert_allclose(dot_rows(a, b), np.einsum("nmi,nmi->nm", a, b), rtol=0, atol=1e-15)
    np.testing.assert_allclose(dot_rows(a, b[0]), np.einsum("nmi,mi->nm", a, b[0]), rtol=0, atol=1e-15)
    a[2, 1, 0], a[3, 0, 2] = np.nan, 1e200
    found = dot_rows(a, a)
    assert np.isnan(found[2, 1])
    assert np.isinf(found[3, 0])
    assert np.isfinite(found).sum() == found.size - 2
    assert np.isinf(dot_rows(np.full((1, 3), 1e154), np.full((1, 3), 1e154)))  # each is a number, and the sum is none
    assert np.isnan(dot_rows(np.array([[np.inf, np.inf]]), np.array([[1.0, -1.0]])))
    assert dot_rows(a[:0], b[:0]).shape == (0, 4)
    np.testing.assert_allclose(norm_rows(b), np.linalg.norm(b, axis=2), rtol=1e-15)


@pytest.mark.parametrize("shape", [(50, 4), (0, 4), (3, 0)])
def test_marks_are_found_row_by_row(rng: np.random.Generator, shape: tuple[int, int]) -> None:
    marks = rng.random((2 * shape[0], shape[1]))[::2] < 0.2
    np.testing.assert_array_equal(find_marked(marks), np.nonzero(marks))
