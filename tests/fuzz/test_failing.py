"""Whichever use of a file fails, the old result or the new one is there whole, and nothing else is left behind."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import condyle
from condyle import CondyleError
from condyle.api import Fit
from condyle.cli import main
from tests.make.fitted import fitted, take
from tests.make.size import pick

from .failing import failing

STEP = pick(9, 1, 1)  # uses from one that fails to the next
FORMATS = "bvh,glb,mjcf,urdf,osim,c3d,csv,npz,json"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def fill(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return contents(fitted(tmp_path_factory.mktemp("old"), take(2.0, seed=1), intervals=False))


@pytest.fixture(scope="module")
def new() -> Fit:
    return condyle.fit(take(2.0, seed=2), intervals=False)


def walk_through(place: Path, before: dict[str, bytes], write: Callable[[Path], object]) -> set[str]:
    """Lets one use after the other fail while `write` writes to a folder with files; what failed."""
    whole = place / "whole"
    fill(whole / "out", before)
    write(whole / "out")
    after = contents(whole / "out")
    seen = set()
    for at in itertools.count(0, STEP):
        root = place / str(at)
        out = root / "out"
        fill(out, before)
        said = ""
        with failing(root, at) as uses:
            try:
                write(out)
            except CondyleError as error:
                said = str(error)
        if not uses.failed:
            assert contents(out) == after
            assert at, "nothing was written at all"
            return seen
        seen.add(uses.failed)
        assert not said or ("No space left on device" in said and "\n" not in said), (at, uses.failed, said)
        condyle.load(out)  # finishes what was decided
        assert contents(out) in ((before, after) if said else (after,)), (at, uses.failed)
        assert os.listdir(root) == ["out"], (at, uses.failed)
    raise AssertionError("unreachable")


@pytest.mark.sized
def test_a_fit_over_an_older_one(old: dict[str, bytes], new: Fit, tmp_path: Path) -> None:
    seen = walk_through(tmp_path, old, lambda out: new.save(out, report=False, export=FORMATS))
    assert STEP > 1 or seen >= {"open", "write", "replace", "mkdir", "fsync"}


@pytest.mark.sized
def test_exports_beside_a_fit(old: dict[str, bytes], tmp_path: Path) -> None:
    walk_through(tmp_path, old, lambda out: condyle.load(out).export(FORMATS, out))


@pytest.mark.sized
def test_a_new_folder_is_not_left_behind(new: Fit, tmp_path: Path) -> None:
    for at in itertools.count(0, STEP):
        root = tmp_path / str(at)
        root.mkdir()
        refused = False
        with failing(root, at) as uses:
            try:
                new.save(root / "a" / "out", report=False)
            except CondyleError:
                refused = True
        if not uses.failed:
            break
        if refused and not (root / "a" / "out" / ".condyle-journal").exists():
            assert os.listdir(root) == [], (at, uses.failed)
        else:
            condyle.load(root / "a" / "out")


def test_the_command_says_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from condyle.io.exports import write_take

    write_take(tmp_path / "take.npz", take(2.0))
    (tmp_path / "there").mkdir()
    with failing(tmp_path / "there", 5):
        assert main(["fit", str(tmp_path / "take.npz"), "-o", str(tmp_path / "there/out"), "--no-intervals"]) == 1
    said = capsys.readouterr().err
    assert said == f"condyle: error: {tmp_path / 'there/out/motion.npz'}: cannot be written: No space left on device\n"
    assert os.listdir(tmp_path / "there") == []


def test_the_failing_is_over_with_its_block(tmp_path: Path) -> None:
    real = (open, io.open, os.open, os.replace)
    with failing(tmp_path, 0), pytest.raises(OSError, match="No space"):
        (tmp_path / "a").write_text("x")
    assert (open, io.open, os.open, os.replace) == real
