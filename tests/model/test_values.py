"""A dataclass of condyle is one of the standard library in all that can be asked of it."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, field, fields, replace
from typing import Any, get_type_hints

import pytest

import condyle
from condyle.model.options import FitOptions
from condyle.model.values import dataclass
from condyle.simulate import linkage, simulate


def make(maker: Any, **options: bool) -> Any:
    """A class as the maker makes it, and one that inherits from it."""

    @maker(**options)
    class Point:
        """A place."""

        x: float
        y: float = 2.0
        tags: list[str] = field(default_factory=list, compare=False)
        secret: int = field(default=0, repr=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "y", float(self.y))

    @maker(**options)
    class Named(Point):
        """A place with a name."""

        name: str = "a"

        def __repr__(self) -> str:
            return self.name

    return Point, Named


FORMS: list[dict[str, bool]] = [{}, {"eq": False}, {"frozen": True}, {"frozen": True, "eq": False}]


@pytest.mark.parametrize("options", FORMS)
def test_it_is_shown_compared_and_hashed_as_one_of_the_standard_library(options: dict[str, bool]) -> None:
    for own, other in zip(make(dataclass, **options), make(dataclasses.dataclass, **options), strict=True):
        assert repr(own(1, tags=["b"])) == repr(other(1, tags=["b"]))
        assert [one.name for one in fields(own)] == [one.name for one in fields(other)]
        for a, b in (((1,), (1, 2.0)), ((1,), (2,)), ((1, 2, ["c"]), (1,)), ((1, 2, [], 3), (1,))):
            assert (own(*a) == own(*b)) is (other(*a) == other(*b))
        assert own(1) != other(1)
        assert (own.__hash__ is None) is (other.__hash__ is None)
        if options == {"frozen": True}:
            assert hash(own(1)) == hash(own(1, tags=["d"])) == hash(other(1))
        assert replace(own(1), x=5).x == 5
        with pytest.raises(TypeError, match="missing 1 required"):
            own()
    point, named = make(dataclass, **options)
    assert point(1) != named(1)


@pytest.mark.parametrize("eq", [False, True])
def test_a_frozen_one_does_not_change(eq: bool) -> None:
    for one in (kind(1.0) for kind in make(dataclass, frozen=True, eq=eq)):
        for name in ("x", "y", "other"):
            with pytest.raises(FrozenInstanceError, match=f"'{name}'"):
                setattr(one, name, 3.0)
        with pytest.raises(FrozenInstanceError):
            del one.x
        assert (one.x, one.y, vars(one).keys()) == (1.0, 2.0, {one.name for one in fields(one)})


def test_one_that_is_not_frozen_changes() -> None:
    one = make(dataclass)[0](1.0)
    one.x = 4.0
    assert repr(one).endswith("Point(x=4.0, y=2.0, tags=[])")


def test_it_is_packed_and_copied() -> None:
    options = FitOptions(method="drift")
    assert pickle.loads(pickle.dumps(options)) == copy.copy(options) == copy.deepcopy(options) == options


def test_one_that_holds_itself_is_shown() -> None:
    one = make(dataclass)[0](1.0)
    one.tags.append(one)
    assert repr(one).endswith("tags=[...])")


def test_a_class_compiles_nothing_before_many_were_made_and_one_function_then() -> None:
    code = (
        "import dataclasses; from condyle.model import values; made = []; "
        "values.exec = dataclasses.exec = lambda text, *rest: made.append(text) or exec(text, *rest); "
        "A = values.dataclass(frozen=True)(type('A', (), {'__annotations__': {'x': int}, '__doc__': ''})); "
        "some = [A(1) for _ in range(values.MADE_BEFORE_COMPILED)]; few = len(made); "
        "print(few, A(1) == A(x=1) == some[0], len(made))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out == "0 True 1\n"


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("options", FORMS)
def test_wrong_arguments_have_the_words_of_the_standard_library(options: dict[str, bool], compiled: bool) -> None:
    for own, other in zip(make(dataclass, **options), make(dataclasses.dataclass, **options), strict=True):
        if compiled:
            inspect.signature(own)
        for args, given in (((), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), ((1, 2, [], 4, "b", 6), {}), ((), {"y": 2})):
            words = []
            for kind in (own, other):
                with pytest.raises(TypeError) as raised:
                    kind(*args, **given)
                words.append(str(raised.value))
            assert words[0] == words[1]
        for args, given in (((1,), {"secret": 3}), ((1, 2), {}), ((), {"x": 1, "tags": ["b"]})):
            assert vars(own(*args, **given)) == vars(other(*args, **given))


@pytest.mark.parametrize("options", FORMS)
def test_it_is_made_as_one_of_the_standard_library(options: dict[str, bool]) -> None:
    for own, other in zip(make(dataclass, **options), make(dataclasses.dataclass, **options), strict=True):
        assert str(inspect.signature(own)) == str(inspect.signature(other))
        assert own.__init__.__annotations__ == other.__init__.__annotations__
        assert own.__init__.__qualname__ == other.__init__.__qualname__
        assert own.__init__.__module__ == other.__init__.__module__ == __name__
        assert get_type_hints(own.__init__) == get_type_hints(other.__init__)
        assert vars(own(1, secret=2)) == vars(other(1, secret=2))
        assert own(1).tags is not own(1).tags
        assert own.__match_args__ == other.__match_args__
        if sys.version_info >= (3, 13):
            assert copy.replace(own(1), x=5).x == 5


def test_the_hints_of_every_value_of_the_public_names_are_resolved() -> None:
    for kind in (condyle.Take, condyle.Skeleton, condyle.Motion, FitOptions):
        assert set(get_type_hints(kind.__init__)) == {one.name for one in fields(kind) if one.init} | {"return"}


def test_a_take_a_skeleton_and_a_fit_are_one_line_each_and_arrays_in_other_values_a_shape() -> None:
    take = simulate(linkage(), seconds=6, seed=1).take
    fit = condyle.fit(take, intervals=False)
    for value in (take, fit.skeleton, fit, fit.motion):
        assert repr(value) == f"<{type(value).__name__}: {value}>"
        assert len(repr(value).splitlines()) == 1
        assert len(repr(value)) < 200
    fits = condyle.fit_pairs(condyle.sum_pairs(take))
    assert "p_child_joint=array(15, 3)" in repr(fits)
    assert f"p_child_joint={fit.skeleton.joints[0].p_child_joint!r}" in repr(fit.skeleton.joints[0])
