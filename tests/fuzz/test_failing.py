"""Whichever use of a file fails, the old result or the new one is there whole, and nothing else is left behind."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

import condyle
from condyle import CondyleError
from condyle.api import Fit
from condyle.cli import main
from condyle.io.formats import read_recording
from condyle.live.recorder import Recorder
from condyle.study import batch
from tests.make import sessions
from tests.make.fitted import fitted, take
from tests.make.size import pick
from tests.make.studies import write_small_take

from .behind import InThisProcess
from .failing import failing

STEP = pick(18, 1, 1)  # uses from one that fails to the next
LARGE_ARRAY_BYTES = 2**16
SMALL = {"intervals": False, "report": False}
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


@pytest.mark.costly
@pytest.mark.sized
def test_exports_beside_a_fit(old: dict[str, bytes], tmp_path: Path) -> None:
    walk_through(tmp_path, old, lambda out: condyle.load(out).export(FORMATS, out))


@pytest.mark.sized
@pytest.mark.parametrize("words", [["angles", "--convention", "rotvec"], ["report"]])
def test_what_is_written_beside_a_fit(
    old: dict[str, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    def write(out: Path) -> None:
        if main([words[0], str(out), *words[1:]]):
            raise CondyleError(capsys.readouterr().err.removesuffix("\n"), code="said")

    walk_through(tmp_path, old, write)


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


@pytest.mark.sized
def test_a_recording_holds_every_frame_that_was_taken(tmp_path: Path) -> None:
    sent = [*sessions.packets(sessions.layout("a"), 3), *sessions.packets(sessions.layout("a", "b"), 3, first=3)]
    for at in itertools.count():
        root = tmp_path / str(at)
        root.mkdir()
        taken = []
        with failing(root, at) as uses, contextlib.suppress(CondyleError), Recorder(root / "session.log") as log:
            for packet in sent:
                with contextlib.suppress(CondyleError):
                    log.write(packet)
                    taken.append(packet)
            log._flush()
            assert log.lost == len(sent) - len(taken)
        if not uses.failed:
            assert len(taken) == len(sent)
            return
        if not taken:
            assert os.listdir(root) == [], (at, uses.failed)
            continue
        told = read_recording(root / "session.log")
        assert told.bodies is not None
        assert len(told.bodies.position) == len(taken), (at, uses.failed)
        assert any("1 frame" in one.text for one in told.findings) == (len(taken) < len(sent)), (at, uses.failed)


@pytest.mark.costly
@pytest.mark.sized
def test_a_study_goes_on_where_a_use_of_a_file_failed(tmp_path: Path) -> None:
    takes = tmp_path / "takes"
    write_small_take(takes / "a.npz")
    step = pick(29, 3, 1)
    with mock.patch.object(batch, "_make_engine", side_effect=lambda *_: InThisProcess()):
        whole = batch.batch(takes, tmp_path / "whole", settings=SMALL)
        names = sorted(contents(tmp_path / "whole"))
        assert whole.counts["done"] == 1
        for at in itertools.count(0, step):
            out = tmp_path / str(at) / "study"
            out.parent.mkdir()
            said = ""
            with failing(out.parent, at) as uses:
                try:
                    said = " ".join(batch.batch(takes, out, settings=SMALL).failed.values())
                except CondyleError as error:
                    said = str(error)
            assert "No space left on device" in said or (not said and sorted(contents(out)) == names), (at, uses.failed)
            again = batch.batch(takes, out, settings=SMALL)
            assert again.counts["done"] == 1, (at, uses.failed, again.failed)
            assert sorted(contents(out)) == names, (at, uses.failed)
            if not uses.failed:
                return


def test_the_command_says_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from condyle.io.exports import write_take

    write_take(tmp_path / "take.npz", take(2.0))
    (tmp_path / "there").mkdir()
    with failing(tmp_path / "there", 5):
        assert main(["fit", str(tmp_path / "take.npz"), "-o", str(tmp_path / "there/out"), "--no-intervals"]) == 1
    said = capsys.readouterr().err
    assert said == f"condyle: error: {tmp_path / 'there/out/motion.npz'}: cannot be written: No space left on device\n"
    assert os.listdir(tmp_path / "there") == []


@pytest.mark.sized
def test_memory_that_is_refused_is_one_sentence_and_the_old_result_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from condyle.io.exports import write_take

    from .starving import starving

    write_take(tmp_path / "take.npz", take(8.0))
    words = ["fit", str(tmp_path / "take.npz"), "-o", str(tmp_path / "out"), "--export", "bvh,glb,c3d,csv"]
    assert main(words) == 0
    before = contents(tmp_path / "out")
    capsys.readouterr()
    for at in itertools.count(0, pick(60, 5, 1)):
        with starving(at, LARGE_ARRAY_BYTES) as pieces:
            status = main(words)
        said = capsys.readouterr().err
        if not pieces.failed:
            assert at, "no array was large"
            return
        assert (status, said) == (1, "condyle: error: not enough memory for this recording\n"), (at, pieces.failed)
        assert contents(tmp_path / "out") == before, (at, pieces.failed)


def test_the_failing_is_over_with_its_block(tmp_path: Path) -> None:
    real = (open, io.open, os.open, os.replace)
    with failing(tmp_path, 0), pytest.raises(OSError, match="No space"):
        (tmp_path / "a").write_text("x")
    assert (open, io.open, os.open, os.replace) == real
