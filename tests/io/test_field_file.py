"""A bent field as a JSON file: whole, read back as it was, and refused in one sentence where it is none."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from condyle import CondyleError
from condyle.io.field_file import FIELD_FILE_MOST_BYTES, read_field, write_field
from condyle.model.field import FieldModel
from tests.make.fields import some_field


def test_a_field_survives_its_file(tmp_path: Path, rng: np.random.Generator) -> None:
    field = some_field(rng, scale=0.98)
    write_field(tmp_path / "field.json", field)
    again = read_field(tmp_path / "field.json")
    assert again.to_plain() == field.to_plain()
    np.testing.assert_array_equal(again.displacement(field.centres), field.displacement(field.centres))
    assert not len(FieldModel.from_plain(FieldModel.none().to_plain()).centres)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "other"}, "is no field.json"),
        ({"version": 2}, "is no field.json"),
        ({"length": -1.0}, "above 0"),
        ({"scale": "x"}, "no number"),
        ({"shift": [[0, 0, 0]]}, "shape"),
        ({"turn": None}, "no number|finite"),
    ],
)
def test_a_broken_field_file_is_refused_in_one_sentence(
    tmp_path: Path, change: dict[str, object], says: str, rng: np.random.Generator
) -> None:
    path = tmp_path / "field.json"
    write_field(path, some_field(rng))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CondyleError, match=says) as error:
        read_field(path)
    assert error.value.path == str(path)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
def test_another_file_is_no_field(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(CondyleError, match=r"is no field\.json"):
        read_field(tmp_path / "x")
    with pytest.raises(CondyleError, match="cannot be read"):
        read_field(tmp_path / "none")


def test_a_file_that_is_too_large_is_no_field(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b" " * (FIELD_FILE_MOST_BYTES + 2))
    with pytest.raises(CondyleError, match=r"is no field\.json"):
        read_field(tmp_path / "x")
