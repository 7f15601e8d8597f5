"""Types of the page, in TypeScript, from the structs of `page_data`.

`python -m condyle.report.page_types > web/src/data.ts` writes them anew after `page_data` was changed.
"""

from __future__ import annotations

import inspect
import json
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from . import page_data

TYPES_HEAD = (
    "// Made from src/condyle/report/page_data.py by `python -m condyle.report.page_types > web/src/data.ts`.\n"
    "// Change that file and write this one anew; a test compares the two."
)
_PLAIN_TYPES = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def write_typescript() -> str:
    """The whole of web/src/data.ts."""
    structs = [
        value
        for name, value in vars(page_data).items()
        if isinstance(value, type) and issubclass(value, msgspec.Struct) and not name.startswith("_")
    ]
    constants = [
        f"export const {name} = {json.dumps(value)};"
        for name, value in vars(page_data).items()
        if name.isupper() and isinstance(value, (str, int, float))
    ]
    return "\n\n".join([TYPES_HEAD, _comment(page_data), "\n".join(constants), *map(_interface, structs)]) + "\n"


def _interface(struct: type[msgspec.Struct]) -> str:
    hints = get_type_hints(struct)
    lines = [f"  readonly {name}: {_type(hints[name])};" for name in struct.__struct_fields__]
    return "\n".join([_comment(struct), f"export interface {struct.__name__} {{", *lines, "}"])


def _comment(thing: Any) -> str:
    """The docstring as a comment of the same lines."""
    text = (inspect.getdoc(thing) or "").replace("*/", "* /")
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in text.splitlines()), " */"])


def _type(hint: Any) -> str:
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _PLAIN_TYPES:
        return _PLAIN_TYPES[hint]
    if origin is Literal:
        return " | ".join(json.dumps(value) for value in inner)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(one) for one in inner)
    if origin is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        item = _type(inner[0])
        return f"readonly ({item})[]" if "|" in item or item.startswith("readonly") else f"readonly {item}[]"
    if origin is tuple:
        return f"readonly [{', '.join(_type(one) for one in inner)}]"
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint.__name__
    raise TypeError(f"the page has no type for {hint}")


if __name__ == "__main__":
    print(write_typescript(), end="")
