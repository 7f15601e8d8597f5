"""io/tables/column_map.py: what a map says, checked before a table is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle.errors import CondyleError
from condyle.io.tables.column_map import ColumnMap, read_map

HAND = '[bodies.hand]\nposition = ["x", "y", "z"]\norientation = "4-7"\n'


def parsed(tmp_path: Path, text: str) -> ColumnMap:
    path = tmp_path / "map.toml"
    path.write_text(text)
    return read_map(path)


def test_columns_are_names_numbers_or_a_span(tmp_path: Path) -> None:
    found = parsed(tmp_path, 'time = 1\ntime_unit = "ms"\nunit = "cm"\nrotation = "xyzw"\n' + HAND)
    (hand,) = found.bodies
    assert (hand.position, hand.orientation) == (("x", "y", "z"), (4, 5, 6, 7))
    assert (found.time, found.time_unit, found.rotation, found.convention) == (1, "ms", "xyzw", {"unit": "cm"})


def test_a_pose_is_twelve_or_sixteen_columns(tmp_path: Path) -> None:
    (hand,) = parsed(tmp_path, '[bodies.hand]\npose = "1-16"\n').bodies
    assert (hand.position, hand.orientation) == ((4, 8, 12), (1, 2, 3, 5, 6, 7, 9, 10, 11))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the map names no columns"),
        ("units = 'mm'\n" + HAND, "units: no such key; did you mean 'unit'?"),
        ("unit = 'stone'\n" + HAND, "unit: no unit of length named 'stone'"),
        ("rotation = 'ZZZ'\n" + HAND, "rotation: "),
        ("rate = -1\n" + HAND, "rate: is a positive number, not -1"),
        ("rate = 100\ntime = 1\n" + HAND, "rate: the frames have a time column already"),
        ("header = true\n" + HAND, "header: is the line of the column names"),
        ("time = 0\n" + HAND, "time: is a column's name or its number from 1, not 0"),
        (HAND.replace('"4-7"', '"4-8"'), r"\[bodies.hand\] orientation: names 5 columns, expected 3 or 4 or 9"),
        ('[bodies.hand]\nposition = "1-3"\n', "a thing without one is a marker"),
        ('position = "1-3"\n', "give the column of the sensor's id as sensor"),
        ("[bodies.hand\n", "is no TOML"),
    ],
)
def test_a_fault_names_the_file_and_the_key(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(CondyleError, match=words) as error:
        parsed(tmp_path, text)
    assert (error.value.code, error.value.path) == ("bad-columns", str(tmp_path / "map.toml"))


def test_a_map_that_is_not_there_says_what_the_option_takes(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="--columns is the path of a column map") as error:
        read_map(tmp_path / "none.toml")
    assert error.value.code == "no-such-file"
