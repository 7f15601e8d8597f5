"""Every module has its test: tests/ROOM/test_MODULE.py for src/condyle/ROOM/MODULE.py, without leading underscores."""

from __future__ import annotations

from pathlib import PurePosixPath

from tests.make import PROJECT

PACKAGE = PROJECT / "src" / "condyle"
WITHOUT = {"__init__", "_version"}  # hold names and a number, no work
# Modules that are tested through others only, by their room. This list may only shrink.
MISSING = {
    "cli": "view",
    "faults": "field_fit field_rows",
    "io": "field_file",
    "model": "field",
}


def modules() -> set[PurePosixPath]:
    """Modules of the package by their path below it, without suffix."""
    paths = {PurePosixPath(path.relative_to(PACKAGE).with_suffix("").as_posix()) for path in PACKAGE.rglob("*.py")}
    return {path for path in paths if path.name not in WITHOUT}


def mirror(module: PurePosixPath) -> PurePosixPath:
    """Path of the test of a module, below the project."""
    return "tests" / module.parent / f"test_{module.name.strip('_')}.py"


def test_every_module_has_its_mirror_and_the_list_of_those_without_only_shrinks() -> None:
    allowed = {PurePosixPath(room, name) for room, names in MISSING.items() for name in names.split()}
    missing = {module for module in modules() if not (PROJECT / mirror(module)).is_file()}
    assert not missing - allowed, f"without a test: {sorted(str(mirror(module)) for module in missing - allowed)}"
    assert not allowed - missing, f"take these off the list: {sorted(map(str, allowed - missing))}"


def test_mirrors_are_named_after_their_module() -> None:
    assert mirror(PurePosixPath("pipeline")) == PurePosixPath("tests/test_pipeline.py")
    assert mirror(PurePosixPath("io/formats/_asf")) == PurePosixPath("tests/io/formats/test_asf.py")
    assert PurePosixPath("pipeline") in modules()
