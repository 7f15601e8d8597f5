"""The scale of a set-up as a small file, calibration.toml or .json: made once by `condyle scale`, applied by fits."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

from ..errors import CondyleError, UsageError, check_number
from ..model.scale import LEAST, MOST, Scale
from ..model.skeleton import SensorNoise
from .atomic import read_small, write_atomic
from .toml_file import list_lines, parse_toml

SCALE_FORMAT, SCALE_VERSION = "condyle.scale", 1
SCALE_FILE_MOST_BYTES = 10**6


def write_scale(path: str | os.PathLike[str], scale: Scale) -> None:
    """A calibration.toml, or .json by its ending, whole or not at all."""
    file = Path(path)
    check_ending(file)
    text = json.dumps(to_plain(scale), indent=1) + "\n" if file.suffix.lower() == ".json" else _toml(scale)
    write_atomic(file, text.encode("utf-8"))


def read_scale(path: str | os.PathLike[str]) -> Scale:
    """The scale in a calibration file; raises with what is wrong in it."""
    file = Path(path)
    raw = read_small(file, SCALE_FILE_MOST_BYTES)
    try:
        text = raw.decode("utf-8-sig")
        content = json.loads(text) if text.lstrip().startswith("{") else parse_toml(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError):  # UnicodeDecodeError and both decoders' errors are ValueErrors
        raise _bad(file, "is neither TOML nor JSON") from None
    if len(raw) > SCALE_FILE_MOST_BYTES or not isinstance(content, dict) or content.get("format") != SCALE_FORMAT:
        raise _bad(file, "is no scale")
    if content.get("version") != SCALE_VERSION:
        raise _bad(file, "is of another version")
    try:
        return _from_plain(content)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise _bad(
            file, f"has no good '{error.args[0]}'" if isinstance(error, KeyError) else f"is wrong: {error}"
        ) from None


def factor_of(scale: float | str | os.PathLike[str] | Scale) -> float:
    """The factor in what `scale` may be: a number, a Scale, or the path of its file; raises where it is none."""
    if isinstance(scale, str | os.PathLike):
        scale = read_scale(scale)
    factor = check_number(scale.scale if isinstance(scale, Scale) else scale, "the scale")
    if not LEAST <= factor <= MOST:
        raise UsageError(f"the scale {factor!r} is not a positive number", code="bad-call")
    return factor


def check_ending(file: Path) -> None:
    if file.suffix.lower() not in (".toml", ".json"):
        raise UsageError("should end in .toml or .json", code="bad-option", path=file)


def to_plain(scale: Scale) -> dict[str, Any]:
    """The file's facts as dicts, lists, numbers and text."""
    return {
        "format": SCALE_FORMAT,
        "version": SCALE_VERSION,
        "scale": scale.scale,
        **{name: value for name, value in (("low", scale.low), ("high", scale.high)) if value is not None},
        "pair": list(scale.pair),
        "distance": scale.distance,
        "measured": scale.measured,
        "sd": scale.sd,
        "white": scale.white,
        "frames": scale.frames,
        "sources": list(scale.sources),
        "noise": [{"body": one.body, "position": one.position, "orientation": one.orientation} for one in scale.noise],
    }


def _from_plain(content: dict[str, Any]) -> Scale:
    a, b = (str(name) for name in content["pair"])
    numbers = {name: _number(content[name], name) for name in ("scale", "distance", "measured", "sd", "white")}
    if not LEAST <= numbers["scale"] <= MOST:
        raise ValueError(f"a scale of {numbers['scale']:g}")
    ends = {name: _number(content[name], name) for name in ("low", "high") if name in content}
    noise = tuple(
        SensorNoise(str(one["body"]), _number(one["position"], "position"), _number(one["orientation"], "orientation"))
        for one in content.get("noise", ())
    )
    sources = tuple(str(name) for name in content.get("sources", ()))
    return Scale(pair=(a, b), noise=noise, frames=int(content["frames"]), sources=sources, **numbers, **ends)


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{name} is no number")
    return float(value)


def _toml(scale: Scale) -> str:
    plain = to_plain(scale)
    noise = plain.pop("noise")
    lines = ["# recorded lengths times scale are metres; from two sensors at a known distance", *list_lines(plain)]
    for one in noise:
        lines += ["", "[[noise]]", *list_lines(one)]
    return "\n".join(lines) + "\n"


def _bad(file: Path, what: str) -> CondyleError:
    return CondyleError(f"{what}; expected a file that condyle scale -o wrote", code="bad-scale", path=file)
