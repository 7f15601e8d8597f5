from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.model.field import FieldModel, Rod
from condyle.model.options import FitOptions, check_kinds, check_options, check_pairs


def test_pairs_are_two_different_names_each_once() -> None:
    assert check_pairs([("a", "b"), ("a", "b"), ("b", "c")], "tree") == (("a", "b"), ("b", "c"))
    for bad in (["ab"], [("a",)], [("a", 1)]):
        with pytest.raises(UsageError, match="where a pair of body names is expected"):
            check_pairs(bad, "tree")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="tree joins 'a' to itself"):
        check_pairs([("a", "a")], "tree")
    assert check_pairs({"b": "a", "a": None}, "tree") == (("a", "b"),)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"tree": [("a", "a")]}, "tree joins 'a' to itself"),
        ({"loops": [("b", "b")]}, "loops joins 'b' to itself"),
        ({"kinds": [("a", "b")]}, "where two bodies and a kind are expected"),
        ({"kinds": [("a", "b", "saddle")]}, "kinds has 'saddle' where ball or hinge is expected"),
    ],
)
def test_options_refuse_edges_and_kinds_that_cannot_be(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        FitOptions(**wrong)


@pytest.mark.parametrize(
    ("wrong", "told"), [({"method": "best"}, "no method named"), ({"tree_score": "x"}, "no tree score")]
)
def test_what_is_no_choice_is_refused_with_the_choices(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=f"{told} .*; choose from "):
        check_options(FitOptions(**wrong))
    with pytest.raises(UsageError, match="field is True or False, a Rod or a FieldModel, not 'room'"):
        check_options(FitOptions(field="room"))  # type: ignore[arg-type]
    check_options(FitOptions())


@pytest.mark.parametrize(
    ("field", "word"),
    [(False, False), (True, True), (Rod(("a", "b"), 0.5), "rod"), (FieldModel.none(), "given")],
)
def test_plain_values_are_those_of_json(field: bool | Rod | FieldModel, word: bool | str) -> None:
    plain = FitOptions(tree=(("a", "b"),), fix=("swaps",), field=field, world=np.True_).to_plain()  # type: ignore[arg-type]
    assert plain["field"] == word
    assert json.loads(json.dumps(plain)) == plain
    assert list(plain) == [name for name in FitOptions.__dataclass_fields__ if name != "kinds"]
    assert FitOptions(kinds=(("a", "b", "hinge"),)).to_plain()["kinds"] == [["a", "b", "hinge"]]
    assert np.isscalar(plain["scale"])


def test_kinds_that_can_be_read_once_are_kept() -> None:
    given = [("l_thigh", "l_shank", "hinge"), ("r_thigh", "r_shank", "hinge")]
    assert check_kinds(iter(given)) == tuple(given)
