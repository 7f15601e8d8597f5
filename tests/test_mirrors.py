"""Every module has its test: tests/ROOM/test_MODULE.py for src/condyle/ROOM/MODULE.py, without leading underscores."""

from __future__ import annotations

from pathlib import PurePosixPath

from tests.make import PROJECT

PACKAGE = PROJECT / "src" / "condyle"
WITHOUT = {"__init__", "_version"}  # hold names and a number, no work


def modules() -> set[PurePosixPath]:
    """Modules of the package by their path below it, without suffix."""
    paths = {PurePosixPath(path.relative_to(PACKAGE).with_suffix("").as_posix()) for path in PACKAGE.rglob("*.py")}
    return {path for path in paths if path.name not in WITHOUT}


def mirror(module: PurePosixPath) -> PurePosixPath:
    """Path of the test of a module, below the project."""
    return "tests" / module.parent / f"test_{module.name.strip('_')}.py"


def test_every_module_has_its_mirror() -> None:
    missing = {mirror(module) for module in modules() if not (PROJECT / mirror(module)).is_file()}
    assert not missing, f"without a test: {sorted(map(str, missing))}"


def test_mirrors_are_named_after_their_module() -> None:
    assert mirror(PurePosixPath("pipeline")) == PurePosixPath("tests/test_pipeline.py")
    assert mirror(PurePosixPath("io/formats/_asf")) == PurePosixPath("tests/io/formats/test_asf.py")
    assert PurePosixPath("pipeline") in modules()
