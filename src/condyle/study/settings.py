"""The settings of takes, as options.toml has them, with `report` and `export` beside."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..io.format import ReadOptions
from ..io.options_file import parse_options
from ..model.options import OWN_TREE, FitOptions
from ..prepare.read import read_rod

BESIDE = ("report", "export")  # settings that are none of a fit
_FIELDS = ("field", "field_file", "rod")  # settings of which a fit takes one


def parse_settings(settings: Mapping[str, Any], root: Path) -> tuple[FitOptions, ReadOptions, bool]:
    """What settings ask a fit for, and whether its tree is the recording's own; raises UsageError.

    The recording of a rod is read.
    """
    told = {name: value for name, value in settings.items() if name not in BESIDE}
    own_tree = told.get("tree") == OWN_TREE
    if own_tree:
        told.pop("tree")
    fit, reading = parse_options(told, root)
    rod, asked = fit.pop("rod", None), ReadOptions(**reading)
    if rod is not None:
        fit["field"] = read_rod(rod[0], rod[1], rod[2], asked)
    return FitOptions(**fit), asked, own_tree


def check_settings(settings: Mapping[str, Any], root: Path) -> None:
    """Raises CondyleError where settings cannot be, or name an export that does not exist."""
    parse_settings(settings, root)
    if settings.get("export"):
        from ..io.exports.export import parse_formats

        parse_formats(settings["export"])


def merge_settings(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of which the second win; what is said of reading, key by key."""
    merged = {**common, **own}
    if "reading" in common and "reading" in own:
        merged["reading"] = {**common["reading"], **own["reading"]}
    if any(field in own for field in _FIELDS):
        merged = {key: value for key, value in merged.items() if key in own or key not in _FIELDS}
    return merged
