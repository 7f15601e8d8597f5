"""options.toml: what a fit was asked for, as `condyle fit --config` takes it again.

Fields of FitOptions stand at the top, those of ReadOptions in the table [reading]; what was not said is left out. Of a
field, `field = true` asks for what the joints tell, the table [rod] for a rod, and `field_file` names a field.json.
Paths are relative to the file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from .._version import __version__
from ..errors import TYPO_ALIKE, UsageError, name_file, suggest
from ..model.field import Rod
from ..model.options import FitOptions
from . import FIELD
from .atomic import write_atomic
from .bodies_file import bodies_of
from .format import ReadOptions
from .toml_file import list_lines, read_toml

_ROD = {"pair": tuple[str, str], "distance": float, "file": str}


def describe_options(options: FitOptions, reading: ReadOptions, folder: str | os.PathLike[str] = ".") -> dict[str, Any]:
    """The options as TOML holds them, for a file in `folder`."""
    plain = {name: value for name, value in options.to_plain().items() if value is not None}
    given = plain.pop("field")
    if given == "given":
        plain["field_file"] = FIELD
    elif isinstance(options.field, Rod):
        rod = options.field
        plain["rod"] = {"pair": list(rod.pair), "distance": rod.distance}
        if rod.take is not None and rod.take.sources:
            plain["rod"]["file"] = _relative(rod.take.sources[0], folder)
    else:
        plain["field"] = given
    said: dict[str, Any] = {name: getattr(reading, name) for name in reading.given if name != "fix"}
    if reading.bodies is not None:
        said["bodies"] = {name: list(markers) for name, markers in bodies_of(reading.bodies).items()}
    if reading.columns is not None:
        said["columns"] = _relative(reading.columns, folder)
    return {**plain, "reading": said} if said else plain


def write_options(path: str | os.PathLike[str], plain: Mapping[str, Any], fit_id: str | None = None) -> None:
    """Writes what `describe_options` gave, whole or not at all."""
    lines = [
        f"# What condyle {__version__} was asked for{f' in fit {fit_id}' if fit_id else ''}.",
        "# condyle fit FILE... --config options.toml asks for the same.",
        *list_lines(plain),
    ]
    write_atomic(path, ("\n".join(lines) + "\n").encode(errors="replace"))


def read_options(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Values for the fields of FitOptions and of ReadOptions that an options.toml names.

    A rod is told as `rod`: its pair, its distance [m] and the path of its recording, or None. Raises UsageError that
    names the option and the choices.
    """
    file = Path(path)
    content, _ = read_toml(file, "a list of options", "bad-option")
    with name_file(file):
        return parse_options(content, file.parent)


def parse_options(content: Mapping[str, Any], folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same from the content of such a file, whose paths are relative to `folder`."""
    told = dict(content)
    types = {**_types(ReadOptions), "bodies": dict[str, list[str]], "columns": str}
    types.pop("fix")  # stands with the repairs of the fit
    reading = _convert(told.pop("reading", {}), types)
    if "columns" in reading:
        reading["columns"] = folder / reading["columns"]
    ReadOptions(**reading)  # raises where one cannot be
    return _read_fit(told, folder), reading


def _read_fit(content: dict[str, Any], folder: Path) -> dict[str, Any]:
    from .field_file import read_field

    types = {**_types(FitOptions), "field": bool, "field_file": str, "rod": dict[str, Any]}
    values = _convert(content, types)
    rod, field_file = values.pop("rod", None), values.pop("field_file", None)
    if sum(bool(one) for one in (rod, field_file, values.get("field"))) > 1:
        raise UsageError("give one of field, field_file and [rod]", code="bad-option")
    if field_file is not None:
        values["field"] = read_field(folder / field_file)
    if rod is not None:
        told = _convert(rod, _ROD)
        missing = [name for name in ("pair", "distance") if name not in told]
        if missing:
            raise UsageError(f"[rod] needs '{missing[0]}'", code="bad-option")
        values["rod"] = (told["pair"], told["distance"], folder / told["file"] if "file" in told else None)
    return values


@cache
def _types(kind: type) -> Mapping[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


def _convert(content: Any, types: Mapping[str, Any]) -> dict[str, Any]:
    import msgspec  # a fit without a --config does not wait for it

    if not isinstance(content, dict):
        raise UsageError("[reading] and [rod] are tables", code="bad-option")
    values = {}
    for name, value in content.items():
        if name not in types:
            raise UsageError(f"no option '{name}'; {suggest(name, list(types), TYPO_ALIKE)}", code="bad-option")
        try:
            values[name] = msgspec.convert(value, types[name], strict=True)
        except (msgspec.ValidationError, TypeError) as error:
            written = "" if isinstance(value, int) and value.bit_length() > 64 else f" = {value!r}"
            raise UsageError(f"{name}{written}: {error}", code="bad-option") from None
    return values


def _relative(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> str:
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:  # on another drive
        return str(Path(path).resolve())
