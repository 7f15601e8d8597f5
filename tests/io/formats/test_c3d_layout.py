"""io/formats/_c3d_layout.py: where the numbers stand, when header and parameters agree and when they do not."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from condyle.errors import CondyleError
from condyle.io.formats._c3d_layout import C3dHeader, PointLayout, find_layout, find_rotations
from condyle.io.formats._c3d_parameters import C3D_BLOCK_BYTES, Numbers, Parameter, Parameters

HEADER = C3dHeader(points=2, analog=0, first=1, last=10, scale=-1.0, start=3, samples=0, rate=100.0)
SIZE = 2 * C3D_BLOCK_BYTES + 10 * 2 * 16


def parameters(**values: float) -> Parameters:
    """POINT__USED=3 is the parameter POINT:USED, as a float."""
    records = {
        name.replace("__", ":"): Parameter(name, 4, (), 0, 4, struct.pack("<f", value))
        for name, value in values.items()
    }
    return Parameters(Numbers("Intel"), records)


def test_the_header_alone_is_enough() -> None:
    layout = find_layout(HEADER, parameters(), SIZE)
    assert layout == PointLayout(2, 0, 10, 2 * C3D_BLOCK_BYTES, -1.0)
    assert (layout.width, layout.stride, layout.end) == (4, 32, SIZE)
    assert [layout.present(limit) for limit in (0, layout.start + 33, SIZE, 2 * SIZE)] == [0, 1, 10, 10]


def test_where_two_counts_differ_the_size_of_the_file_decides() -> None:
    said = parameters(POINT__USED=3.0)
    assert find_layout(HEADER, said, SIZE).points == 2
    assert find_layout(HEADER, said, 2 * C3D_BLOCK_BYTES + 10 * 3 * 16).points == 3
    with pytest.raises(CondyleError, match=r"disagree \(points: 3 and 2\)") as error:
        find_layout(HEADER, said, 10 * SIZE)
    assert error.value.code == "bad-header"


def test_a_full_counter_of_frames_leaves_room_for_as_many_as_the_file_holds() -> None:
    full = replace(HEADER, first=1, last=65535)
    layout = find_layout(full, parameters(), 2 * C3D_BLOCK_BYTES + 70_000 * 32)
    assert (layout.frames, layout.open) == (70_000, True)


@pytest.mark.parametrize(
    ("change", "words"),
    [({"scale": 0.0}, "holds a scale"), ({"start": 0}, "where the data begin"), ({"last": 0}, "how many")],
)
def test_what_nobody_says_is_an_error(change: dict[str, float], words: str) -> None:
    with pytest.raises(CondyleError, match=words):
        find_layout(replace(HEADER, **change), parameters(), SIZE)  # type: ignore[arg-type]


def test_rotations_come_at_a_whole_multiple_of_the_points_rate() -> None:
    said = {"ROTATION__USED": 2.0, "ROTATION__DATA_START": 5.0}
    assert find_rotations(parameters(), 10, 100.0) is None
    found = find_rotations(parameters(**said, ROTATION__RATE=200.0), 10, 100.0)
    assert found is not None
    assert (found.used, found.start, found.ratio, found.frames, found.rate) == (2, 4 * C3D_BLOCK_BYTES, 2, 20, 200.0)
    assert found.present(found.start + 3 * found.stride + 1) == 3
    with pytest.raises(CondyleError, match="must be a whole multiple"):
        find_rotations(parameters(**said, ROTATION__RATE=150.0), 10, 100.0)
    with pytest.raises(CondyleError, match="does not say where they are"):
        find_rotations(parameters(ROTATION__USED=2.0), 10, 100.0)
