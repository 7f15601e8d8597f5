"""io/formats/_c3d_data.py: frames of points and matrices, in blocks of frames."""

from __future__ import annotations

import io

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats import _c3d_data
from condyle.io.formats._c3d_data import read_bodies, read_markers
from condyle.io.formats._c3d_layout import PointLayout, Rotations
from condyle.io.formats._c3d_parameters import Numbers, Parameters

INTEL = Numbers("Intel")
NOTHING = Parameters(INTEL, {})
POINTS = np.arange(1.0, 41).reshape(5, 2, 4)
POINTS[..., 3] = 0


@pytest.mark.parametrize("at_once", [1, 40, 10**6])
def test_points_are_the_same_however_many_frames_are_decoded_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_c3d_data, "C3D_DECODED_AT_ONCE_BYTES", at_once)
    stream = io.BytesIO(b"head" + POINTS.astype("<f4").tobytes())
    markers, told = read_markers(stream, INTEL, NOTHING, PointLayout(2, 0, 5, 4, -1.0), 5)
    np.testing.assert_array_equal(markers.position, POINTS[..., :3])
    assert (markers.names, told) == (("*1", "*2"), [])


def test_a_residual_below_zero_and_a_place_at_zero_are_not_seen() -> None:
    points = POINTS.copy()
    points[0, 0, 3], points[1, 1, :3], points[2, 0, 1] = -1, 0, np.inf
    stream = io.BytesIO(points.astype("<f4").tobytes())
    markers, _ = read_markers(stream, INTEL, NOTHING, PointLayout(2, 0, 5, 0, -1.0), 5)
    assert np.argwhere(np.isnan(markers.position[..., 0])).tolist() == [[0, 0], [1, 1], [2, 0]]


def test_matrices_by_columns_become_rows_and_others_are_refused() -> None:
    matrix = np.eye(4)
    matrix[:3] = [[0, -1, 0, 7], [1, 0, 0, 8], [0, 0, 1, 9]]
    rows = np.tile(np.append(matrix.T.ravel(), 0.0), (3, 1, 1))
    rotations = Rotations(1, 0, 1, 3, 100.0)
    bodies, _ = read_bodies(io.BytesIO(rows.astype("<f4").tobytes()), INTEL, NOTHING, rotations, 3)
    assert bodies is not None
    assert bodies.position[0, 0].tolist() == [7, 8, 9]
    assert bodies.orientation[0, 0].tolist() == [0, -1, 0, 1, 0, 0, 0, 0, 1]
    rows[..., 15] = 2
    with pytest.raises(CondyleError, match="are no 4x4 matrices"):
        read_bodies(io.BytesIO(rows.astype("<f4").tobytes()), INTEL, NOTHING, rotations, 3)


def test_a_file_that_shrinks_while_it_is_read_is_told() -> None:
    with pytest.raises(CondyleError, match="became shorter while it was read"):
        read_markers(io.BytesIO(b"1234"), INTEL, NOTHING, PointLayout(2, 0, 5, 0, -1.0), 5)
