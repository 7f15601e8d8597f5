"""A bent field as a JSON file."""

from __future__ import annotations

import json
import os

from ..errors import CondyleError, check_path, name_file
from ..model.field import FieldModel
from .atomic import read_small, write_atomic

FIELD_FORMAT = "condyle.field"
FIELD_FILE_MOST_BYTES = 10**7  # of a field file: more is another kind of file


def write_field(path: str | os.PathLike[str], field: FieldModel) -> None:
    """The field as a JSON file, whole or not at all."""
    text = json.dumps({"format": FIELD_FORMAT, "version": 1, "units": "m", **field.to_plain()}, indent=1)
    write_atomic(path, text.encode() + b"\n")


def read_field(path: str | os.PathLike[str]) -> FieldModel:
    """The field that `write_field` wrote."""
    file = check_path(path, "a field")
    raw = read_small(file, FIELD_FILE_MOST_BYTES)
    try:
        plain = json.loads(raw) if len(raw) <= FIELD_FILE_MOST_BYTES else None
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or plain.get("format") != FIELD_FORMAT or plain.get("version") != 1:
        raise CondyleError("is no field.json that condyle fit --field wrote", code="bad-field", path=file)
    with name_file(file):
        return FieldModel.from_plain(plain)
