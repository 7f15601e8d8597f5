"""JSON of values: the fields of their classes, strictly, in the order of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
import numpy as np
import pytest

from condyle.findings import Finding
from condyle.io.values import from_struct, plain_type, schema, to_plain
from condyle.maths.arrays import Floats, Vector, freeze
from condyle.model.skeleton import Joint, Limb, SensorNoise

LIMB = Limb("thigh", "thigh", "shank", 0.4, None, None)


@dataclass(frozen=True, eq=False)
class Spot:
    """A value with every sort of field."""

    name: str
    place: Vector
    spread: Annotated[Floats, "2 2"] | None
    noise: tuple[SensorNoise, ...]
    words: Mapping[str, Any]

    def __post_init__(self) -> None:
        freeze(self)


def again(value: Any) -> Any:
    return from_struct(msgspec.json.decode(msgspec.json.encode(to_plain(value)), type=schema(type(value))))


def test_every_field_comes_back_to_the_bit() -> None:
    spot = Spot("a", np.array([0.1, 1 / 3, 2.0]), np.eye(2) / 7, (SensorNoise("b", 1e-3, 0.1),), {"k": [1, "x"]})
    found = again(spot)
    assert type(found) is Spot
    assert (found.name, found.noise, found.words) == (spot.name, spot.noise, {"k": [1, "x"]})
    assert (found.place == spot.place).all()
    assert (found.spread == spot.spread).all()
    assert again(Spot("a", np.zeros(3), None, (), {})).spread is None


def test_names_and_order_are_those_of_the_file() -> None:
    limb = ["body", "from", "to", "length", "low", "high", "between", "passing", "along", "along_95"]
    assert list(to_plain(LIMB)) == limb
    finding = Finding("slip", "warning", "it slipped", ("a",))
    keys = ["code", "severity", "bodies", "time", "value", "unit", "text", "frame", "count"]
    assert list(to_plain(finding)) == keys
    assert again(finding) == finding
    evidence = (None, None, None, 0.0, 1, np.ones(6), None, None, None, np.ones(3))
    joint = Joint("b", "a", "ball", "determined", *np.zeros((2, 3)), *evidence)
    plain = to_plain(joint)
    assert list(plain)[-12:-8] == ["coverage", "time", "axis_covariance", "line_95"]
    assert list(plain)[-8:] == [
        "support", "rivals", "explained", "main_child", "main_parent", "main_share", "pitch", "travel"
    ]  # fmt: skip
    assert plain["coverage"] == {"rotation": [1.0, 1.0, 1.0], "passing": None}
    assert (again(joint).rotation == joint.rotation).all()


def test_what_older_files_lack_takes_its_default() -> None:
    plain = to_plain(LIMB)
    del plain["between"], plain["passing"]
    assert from_struct(msgspec.convert(plain, schema(Limb))) == LIMB


@pytest.mark.parametrize(
    "change",
    [{"place": [1.0, 2.0]}, {"place": [1.0, 2.0, "3"]}, {"spread": [[1.0, 0.0]]}, {"more": 1}, {"name": None}],
)
def test_another_shape_type_or_field_is_refused(change: dict[str, Any]) -> None:
    plain = to_plain(Spot("a", np.zeros(3), np.eye(2), (), {})) | change
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(plain, schema(Spot))


def test_a_missing_field_is_refused() -> None:
    plain = to_plain(Spot("a", np.zeros(3), np.eye(2), (), {}))
    del plain["spread"]
    with pytest.raises(msgspec.ValidationError, match="spread"):
        msgspec.convert(plain, schema(Spot))


def test_arrays_are_tuples_of_their_shape() -> None:
    assert plain_type(Vector) == tuple[float, float, float]
    assert plain_type(Annotated[Floats, "2 2"]) == tuple[tuple[float, float], tuple[float, float]]
