"""JSON of the values of `model`: one strict schema for each dataclass, made from its fields.

Every field is required and of its type, arrays of their shape, and nothing else may stand there; `FORMS` has what
differs between a class and its JSON.
"""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from ..findings import Finding
from ..model.skeleton import Joint, Limb, Skeleton
from ..model.take import BodyMarker


class JsonForm(NamedTuple):
    """How the JSON of a class differs from its fields.

    first   fields that stand before all others, in this order
    names   {field: its name in the file}
    inside  {name in the file: fields that stand in it}
    later   fields that files of older versions lack
    """

    first: tuple[str, ...] = ()
    names: Mapping[str, str] = {}
    inside: Mapping[str, tuple[str, ...]] = {}
    later: tuple[str, ...] = ()


FORMS: dict[type, JsonForm] = {
    Finding: JsonForm(first=("code", "severity", "bodies", "time", "value", "unit", "text"), later=("frame", "count")),
    Joint: JsonForm(
        inside={"coverage": ("rotation", "passing")},
        later=("passing", "time", "axis_covariance", "line_95", "support", "rivals", "explained"),
    ),
    Limb: JsonForm(names={"from_joint": "from", "to_joint": "to"}, later=("between", "passing")),
    BodyMarker: JsonForm(later=("carried",)),
    Skeleton: JsonForm(later=("markers", "fit_id", "verdict", "own_tree", "slips")),
}
_VALUES: dict[type, type] = {}  # the class that a schema was made from


@cache
def schema(kind: Any) -> type[msgspec.Struct]:
    """The struct by which the JSON of a dataclass is read."""
    form, hints = FORMS.get(kind, JsonForm()), get_type_hints(kind, include_extras=True)
    defaults = {one.name: one.default for one in fields(kind)}

    def member(name: str) -> tuple[str, Any, Any]:
        return name, plain_type(hints[name]), defaults[name] if name in form.later else MISSING

    members: list[tuple[str, Any, Any]] = []
    for name, parts in _layout(kind):
        inner = [member(part) for part in parts]
        members += [(name, _struct(name, inner), MISSING)] if parts != (name,) else inner
    struct = _struct(kind.__name__, members, form.names)
    _VALUES[struct] = kind
    return struct


def _struct(name: str, members: list[tuple[str, Any, Any]], names: Mapping[str, str] = {}) -> type[msgspec.Struct]:
    given = [one[:2] if one[2] is MISSING else one for one in members]
    return msgspec.defstruct(name, given, rename=dict(names), forbid_unknown_fields=True, kw_only=True)


@cache
def _layout(kind: type) -> list[tuple[str, tuple[str, ...]]]:
    """(name, fields) in the order of the file: a field alone, or several that stand inside a name."""
    form, names = FORMS.get(kind, JsonForm()), [one.name for one in fields(kind)]
    whose = {part: outer for outer, parts in form.inside.items() for part in parts}
    outer = dict.fromkeys(whose.get(name, name) for name in (*form.first, *names))
    return [(name, form.inside.get(name, (name,))) for name in outer]


def plain_type(hint: Any) -> Any:
    """The type that stands in JSON for one of a dataclass: arrays are tuples, values their schema."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        plain: Any = float
        for length in reversed(inner[1].split()):
            plain = tuple[(plain,) * int(length)]  # type: ignore[misc]
        return plain
    if origin in (Union, types.UnionType):
        return Union[tuple(plain_type(one) for one in inner)]  # noqa: UP007
    if origin is tuple:
        return tuple[tuple(one if one is Ellipsis else plain_type(one) for one in inner)]  # type: ignore[misc]
    return schema(hint) if isinstance(hint, type) and is_dataclass(hint) else hint


def to_plain(value: Any) -> Any:
    """A value as dicts, lists, numbers and None, in the order of the file."""
    if is_dataclass(value):
        kind: Any = type(value)
        names = FORMS.get(kind, JsonForm()).names
        found = {}
        for name, parts in _layout(kind):
            own = {part: to_plain(getattr(value, part)) for part in parts}
            found[names.get(name, name)] = own if parts != (name,) else own[name]
        return found
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    return [to_plain(one) for one in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def from_struct(found: Any) -> Any:
    """The value that a struct of `schema`, or of a struct derived from one, was decoded from."""
    if isinstance(found, tuple):
        return tuple(map(from_struct, found))
    struct: Any = type(found)
    kind = _find_kind(struct)
    if kind is None:
        return found
    parts: dict[str, Any] = {}
    for name, own in _layout(kind):
        holder = getattr(found, name) if own != (name,) else found
        parts |= {part: from_struct(getattr(holder, part)) for part in own}
    return kind(**parts)


@cache
def _find_kind(struct: type) -> Any:
    """The class whose values a struct is decoded to; None: it is no struct of `schema`."""
    return next((_VALUES[base] for base in struct.__mro__ if base in _VALUES), None)
