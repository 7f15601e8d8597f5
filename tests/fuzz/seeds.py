"""Sound small files of every format to damage: those that the formats' own tests read, and the files beside them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

import pytest

from condyle.io import formats as readers

from .worker import Target

NAMES: tuple[str, ...] = readers._MODULES
BESIDE = {"amc": "amc (skeleton)", "columns": "columns (map)", "trc": "trc (bodies file)"}


def target(name: str) -> Target:
    """What to damage for a format, or for the file that belongs to it; skips where its library is not installed."""
    format = name.partition(" (")[0]
    tests = module_of(format)
    seeds = getattr(tests, "SMALL", None)
    if not isinstance(seeds, dict) or not seeds or not all(isinstance(raw, bytes) for raw in seeds.values()):
        pytest.fail(
            f"no seeds for the format '{format}': tests/io/formats/test_{format}.py needs a module-level "
            "SMALL: dict[str, bytes] with a few small sound files"
        )
    seeds = dict(seeds)
    if format == "amc":
        skeleton = seeds["skeleton"]
        if name == format:
            return Target(name, format, seeds, beside={"case.asf": skeleton})
        return Target(name, format, {"skeleton": skeleton}, "case.asf", beside={"case.dat": seeds["motion"]})
    if format == "columns":
        maps = {
            variant: getattr(tests, variant).encode()
            for variant in ("SMALL_MAP", "MAP", "LONG_MAP")
            if hasattr(tests, variant)
        }
        options = {"columns": "map.toml"}
        if name == format:
            return Target(name, format, seeds, beside={"map.toml": maps["SMALL_MAP"]}, options=options)
        return Target(name, format, maps, "map.toml", beside={"case.dat": seeds["header"]}, options=options)
    if name == BESIDE["trc"]:
        bodies = {"two bodies": b'[bodies]\npelvis = ["L.ASIS", "RASI"]\n"left leg" = ["RASI", "L.ASIS"]  # knee\n'}
        return Target(
            name, format, bodies, "bodies.toml", beside={"case.dat": seeds["tabs"]}, options={"bodies": "bodies.toml"}
        )
    return Target(name, format, seeds)


def module_of(format: str) -> ModuleType:
    """The tests of a format's own, which hold its seeds."""
    try:
        return import_module(f"tests.io.formats.test_{format}")
    except ModuleNotFoundError as error:
        if error.name == f"tests.io.formats.test_{format}":
            pytest.fail(f"no seeds for the format '{format}': there is no tests/io/formats/test_{format}.py")
        pytest.skip(f"the seeds of '{format}' need {error.name}, which is not installed")
