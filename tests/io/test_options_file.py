"""options.toml: what was asked for, written and taken again."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.field_file import write_field
from condyle.io.format import Reading, ReadOptions
from condyle.io.options_file import describe_options, read_options, write_options
from condyle.model.field import FieldModel, Rod
from condyle.model.options import FitOptions


def round_trip(folder: Path, options: FitOptions, reading: ReadOptions) -> tuple[dict[str, object], dict[str, object]]:
    path = folder / "options.toml"
    write_options(path, describe_options(options, reading, folder), "1f")
    assert "in fit 1f" in path.read_text()
    return read_options(path)


def test_everything_that_was_asked_for_comes_back(tmp_path: Path) -> None:
    options = FitOptions(
        "drift", "residual", (("a b", 'q"'), ("\u00fc\x7f", "]")), "a b", (("a b", "]"),), True, False, False,
        ("swaps",), ("slips", "part-time"), 0.002, 1.25, True,
    )  # fmt: skip
    bodies = {"left thigh": ["L1", "L 2", "L3"], "x.y": ["a", "b", "c"]}
    reading = ReadOptions(
        120.0, "mm", "-y", "left", "xyzw", "ZYX-extrinsic", True, False, "x,-z,y", bodies, None, "c3d", False
    )
    fit, read = round_trip(tmp_path, options, reading)
    assert FitOptions(**fit) == options  # type: ignore[arg-type]
    assert ReadOptions(**read) == reading  # type: ignore[arg-type]


def test_defaults_come_back_as_defaults(tmp_path: Path) -> None:
    fit, read = round_trip(tmp_path, FitOptions(), ReadOptions())
    assert FitOptions(**fit) == FitOptions()  # type: ignore[arg-type]
    assert read == {}


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").mkdir()
    write_options("out/options.toml", describe_options(FitOptions(), ReadOptions(columns="map.toml"), "out"))
    assert 'columns = "../map.toml"' in Path("out/options.toml").read_text()
    _, read = read_options(tmp_path / "out" / "options.toml")
    assert Path(read["columns"]).resolve() == (tmp_path / "map.toml").resolve()


def test_fields_and_rods_are_taken_again(tmp_path: Path) -> None:
    model = FieldModel(np.zeros((1, 3)), 0.5, np.full((1, 3), 0.01), np.zeros((1, 3)), 1.1)
    write_field(tmp_path / "field.json", model)
    fit, _ = round_trip(tmp_path, FitOptions(field=model), ReadOptions())
    assert isinstance(fit["field"], FieldModel)
    assert fit["field"].scale == 1.1
    fit, _ = round_trip(tmp_path, FitOptions(field=Rod(("a", "b"), 0.5)), ReadOptions())
    assert fit["rod"] == (("a", "b"), 0.5, None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("method = 'best'", "Invalid enum value 'best'"),
        ("speed = 3", "no option 'speed'; choose from method"),
        ("world = 1", "Expected `bool`"),
        ("tree = [['a']]", "Expected `array` of length 2"),
        ("no_fix = ['slip']\n[reading]\nrate = 'fast'", "Expected `float | null`"),
        ("reading = 3", "are tables"),
        ("[rod]\npair = ['a', 'b']", "[rod] needs 'distance'"),
        ("field = true\nfield_file = 'f.json'", "give one of field, field_file and [rod]"),
        ("[reading]\nrate = -1.0", "a rate of -1 Hz is not between"),
        ("x = ", "is no TOML"),
    ],
)
def test_what_is_wrong_is_one_sentence_with_the_file(text: str, told: str, tmp_path: Path) -> None:
    (tmp_path / "o.toml").write_text(text)
    with pytest.raises(CondyleError) as error:
        read_options(tmp_path / "o.toml")
    assert told in str(error.value)
    assert str(error.value).startswith(str(tmp_path / "o.toml"))


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="cannot be read"):
        read_options(tmp_path / "none.toml")


def test_the_keywords_of_reading_are_the_fields_of_its_options() -> None:
    hints = get_type_hints(ReadOptions)
    own = {one.name: hints[one.name] for one in fields(ReadOptions) if one.name != "fix"}
    assert get_type_hints(Reading) == own
