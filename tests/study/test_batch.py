"""A study from beginning to end, on small takes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest

import condyle
from condyle.errors import CondyleError, UsageError
from condyle.io.folder import lock_folder
from condyle.study import batch as module
from condyle.study.batch import Study, batch
from condyle.study.engine import Engine
from condyle.study.ledger import LedgerRecord
from condyle.study.plan import TakeStep
from tests.make.studies import QUICK, write_performer, write_small_take
from tests.study.test_engine import Instant


@pytest.fixture
def takes(tmp_path: Path) -> Path:
    for seed, name in enumerate(("anna/rom", "anna/walk", "ben/rom")):
        write_small_take(tmp_path / "takes" / f"{name}.npz", seed)
    return tmp_path / "takes"


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Steps are done here and now; the names of those that were begun."""
    from condyle.study.step import run_step

    begun: list[str] = []

    def do(step: TakeStep) -> LedgerRecord:
        begun.append(step.name)
        return run_step(step)

    def make(*_: object) -> Engine:
        return Instant(do)

    monkeypatch.setattr(module, "_make_engine", make)
    return begun


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but the ledger, which has times."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "ledger.jsonl"
    }


def test_a_folder_becomes_a_study_by_processes(takes: Path, tmp_path: Path) -> None:
    (takes / "ben" / "walk.npz").touch()
    told: list[tuple[str, int, int]] = []
    study = condyle.batch(
        takes,
        tmp_path / "study",
        settings=QUICK,
        workers=2,
        tell=lambda one, done, of: told.append((one.take, done, of)),
    )
    assert str(study) == "4 takes: 3 done, 1 failed. Of those done, 3 good."
    assert study.failed == {"ben/walk": "ben/walk.npz: the file is empty"}
    assert (study.ran, study.again) == (4, 0)
    assert [done for _, done, _ in told] == [1, 2, 3, 4]
    assert [path.name for path in study.files] == ["index.html", "takes.csv", "joints.csv", "limbs.csv"]
    fit = condyle.load(tmp_path / "study" / "takes" / "anna" / "rom")
    assert fit.provenance.sources == ("anna/rom.npz",)
    assert not list((tmp_path / "study").rglob(".condyle-*"))


@pytest.mark.usefixtures("in_this_process")
def test_what_is_done_is_not_done_again_unless_it_changed(
    takes: Path, tmp_path: Path, in_this_process: list[str]
) -> None:
    out = tmp_path / "study"
    batch(takes, out, settings=QUICK)
    before = contents(out)
    assert sorted(in_this_process) == ["anna/rom", "anna/walk", "ben/rom"]
    in_this_process.clear()
    assert batch(takes, out, settings=QUICK).ran == 0
    assert contents(out) == before
    write_small_take(takes / "ben" / "rom.npz", 9)
    write_small_take(takes / "ben" / "new.npz", 9)
    assert batch(takes, out, settings=QUICK).ran == 2
    assert sorted(in_this_process) == ["ben/new", "ben/rom"]


@pytest.mark.usefixtures("in_this_process")
def test_a_study_below_the_folder_of_its_takes_is_none_of_them(takes: Path) -> None:
    assert batch(takes, takes / "study", settings=QUICK).ran == 3
    assert batch(takes, takes / "study", settings=QUICK).ran == 0


def test_a_take_that_failed_is_tried_again_when_that_may_help(
    takes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from condyle.study.ledger import fail
    from condyle.study.step import run_step

    code = "unwritable"

    def do(step: TakeStep) -> LedgerRecord:
        return fail(step, "why", code=code) if step.name == "anna/rom" else run_step(step)

    monkeypatch.setattr(module, "_make_engine", lambda *_: Instant(do))
    out = tmp_path / "study"
    assert batch(takes, out, settings=QUICK).failed == {"anna/rom": "why"}
    code = "no-time"
    assert batch(takes, out, settings=QUICK).ran == 1, "the disk may have been full"
    assert batch(takes, out, settings=QUICK).ran == 0, "a fault of the take stays"
    assert batch(takes, out, settings=QUICK, retry=True).ran == 1


@pytest.mark.costly
@pytest.mark.usefixtures("in_this_process")
def test_a_list_of_takes_becomes_the_same_study(takes: Path, tmp_path: Path) -> None:
    batch(takes, tmp_path / "study", settings=QUICK)
    (takes / "study.toml").write_text(
        '[settings]\nintervals = false\nreport = false\n[[take]]\nfile = "anna/*.npz"\n[[take]]\nfile = "ben/rom.npz"\n'
    )
    batch(takes / "study.toml", tmp_path / "again" / "study")
    assert contents(tmp_path / "study") == contents(tmp_path / "again" / "study")


def test_takes_of_one_name_fail_both_and_once(takes: Path, tmp_path: Path, in_this_process: list[str]) -> None:
    listed = (("anna/rom.npz", "x"), ("anna/gone.npz", "x"), ("ben/rom.npz", "y"))
    text = "\n".join(f'[[take]]\nfile = "{file}"\nname = "{name}"\n' for file, name in listed)
    (takes / "study.toml").write_text(text)
    first, second = (batch(takes / "study.toml", tmp_path / "out", settings=QUICK) for _ in range(2))
    for study in (first, second):
        assert [study.counts[state] for state in ("done", "failed", "waiting")] == [1, 2, 0]
    assert (first.ran, second.ran) == (2, 0)
    assert in_this_process == ["y"]


def test_a_run_that_is_stopped_goes_on_where_it_was(
    takes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(record: LedgerRecord, done: int, of: int) -> None:
        raise KeyboardInterrupt

    out = tmp_path / "study"
    with pytest.raises(KeyboardInterrupt):
        batch(takes, out, settings=QUICK, workers=1, tell=stop)
    assert "1 of 3 takes done, 2 not yet" in (out / "index.html").read_text()
    assert not list(out.rglob(".condyle-*"))
    study = batch(takes, out, settings=QUICK, workers=1)
    assert (study.ran, study.counts["done"]) == (2, 3)
    batch(takes, tmp_path / "whole" / "study", settings=QUICK, workers=1)
    assert contents(out) == contents(tmp_path / "whole" / "study")


def test_two_runs_do_not_write_one_study(takes: Path, tmp_path: Path) -> None:
    (tmp_path / "study").mkdir()
    with lock_folder(tmp_path / "study"), pytest.raises(CondyleError, match="another condyle process is writing"):
        batch(takes, tmp_path / "study", settings=QUICK)


@pytest.mark.parametrize(
    ("source", "out", "options", "text"),
    [
        ("nothing", "study", {}, "no such folder, and no such list of takes"),
        ("takes", "takes", {}, "the study would be written into the folder of the takes; name another, such as"),
        ("takes", "other", {}, "holds index.html, which is of no study; name another folder"),
        ("takes", "study", {"workers": 0}, "workers is a number of processes on this machine, one or more"),
        ("takes", "study", {"settings": {"intervals": 3}}, "intervals = 3"),
        ("takes", "study", {"settings": {"export": "xyz"}}, "no export format 'xyz'"),
        ("list.toml", "study", {"performers": True}, "a list of takes names its performers itself"),
    ],
)
def test_a_call_that_cannot_be_is_told_and_leaves_nothing(
    takes: Path, tmp_path: Path, source: str, out: str, options: dict[str, object], text: str
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.html").touch()
    (tmp_path / "list.toml").write_text('[[take]]\nfile = "takes/anna/rom.npz"')
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=text):
        batch(tmp_path / source, tmp_path / out, **options)  # type: ignore[arg-type]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(os.name != "posix", reason="limits of POSIX")
def test_a_disk_that_is_full_for_a_take_fails_that_take_alone(
    takes: Path, tmp_path: Path, in_this_process: list[str]
) -> None:
    import resource

    large = takes / "large.npz"
    from condyle.io.exports import write_take
    from condyle.simulate import chain, simulate

    write_take(large, simulate(chain(), "exercise", seconds=30, rate=60, seed=0).take)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        study = batch(takes, tmp_path / "study", settings=QUICK)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list(study.failed) == ["large"]
    assert "cannot be written: File too large" in study.failed["large"]
    assert study.counts["done"] == 3
    assert not (tmp_path / "study" / "takes" / "large").exists()
    assert batch(takes, tmp_path / "study", settings=QUICK).counts["done"] == 4, "there is room now"


def test_a_disk_that_is_full_for_the_ledger_ends_the_run_with_a_sentence(
    takes: Path, tmp_path: Path, in_this_process: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "study"
    batch(takes, out, settings=QUICK)
    shutil.copytree(out, tmp_path / "before")
    write_small_take(takes / "new.npz", 4)

    def fail(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("condyle.study.ledger.os.write", fail)
        with pytest.raises(CondyleError, match=r"ledger\.jsonl: cannot be written: No space left on device; the same"):
            batch(takes, out, settings=QUICK)
    assert (out / "ledger.jsonl").read_bytes() == (tmp_path / "before" / "ledger.jsonl").read_bytes()
    assert batch(takes, out, settings=QUICK).ran == 1


def test_a_study_in_words() -> None:
    counts = {"done": 2, "failed": 0, "waiting": 1, "good": 1, "look": 1, "bad": 0}
    study = Study(Path("x"), counts, {}, 2, 0, (), ())
    assert str(study) == "3 takes: 2 done, 1 waiting. Of those done, 1 good, 1 to look at."
    assert msgspec.json.encode(dict(study.counts))


@pytest.mark.usefixtures("in_this_process")
def test_performances_are_solved_on_the_calibration_of_their_performer(tmp_path: Path) -> None:
    for seed, name in enumerate(("anna", "ben")):
        write_performer(tmp_path / name, seed)
    (tmp_path / "study.toml").write_text(
        "settings = { intervals = false, report = false }\n"
        '[[take]]\nfile = "anna/play.npz"\nperformer = "anna"\nrole = "performance"\n'
        '[[take]]\nfile = "anna/rom.npz"\nperformer = "anna"\n'
        '[[take]]\nfile = "ben/play.npz"\nperformer = "ben"\nrole = "performance"\n'
    )
    study = batch(tmp_path / "study.toml", tmp_path / "study")
    assert study.counts["done"] == 2
    assert study.failed == {
        "ben/play": "ben/play.npz: performer 'ben' has no calibration to be solved on; there are calibrations of anna; "
        "list one of role calibration"
    }
    rom, play = (condyle.load(tmp_path / "study" / "takes" / "anna" / name).skeleton for name in ("rom", "play"))
    assert [limb.length for limb in rom.limbs] == [limb.length for limb in play.limbs]
    assert play.take["sources"] == ["anna/play.npz"]
    alone = condyle.solve(tmp_path / "anna" / "play.npz", tmp_path / "study" / "takes" / "anna" / "rom")
    assert alone.provenance.fit_id == play.fit_id


@pytest.mark.usefixtures("in_this_process")
def test_a_calibration_that_is_done_anew_brings_its_performances_along(
    tmp_path: Path, in_this_process: list[str]
) -> None:
    rom, _ = write_performer(tmp_path / "anna")
    (tmp_path / "study.toml").write_text(
        "settings = { intervals = false, report = false }\n"
        '[[take]]\nfile = "anna/rom.npz"\nperformer = "anna"\n'
        '[[take]]\nfile = "anna/play.npz"\nperformer = "anna"\nrole = "performance"\n'
    )
    good = rom.read_bytes()
    rom.write_bytes(b"PK")
    assert set(batch(tmp_path / "study.toml", tmp_path / "study").failed) == {"anna/rom", "anna/play"}
    rom.write_bytes(good)
    assert batch(tmp_path / "study.toml", tmp_path / "study").counts["done"] == 2
    assert in_this_process == ["anna/rom", "anna/rom", "anna/play"]
