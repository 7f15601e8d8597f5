"""A folder is one transaction: all of its files are those of one fit, whatever ends a run."""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from condyle.errors import CondyleError, UsageError
from condyle.io import MANIFEST
from condyle.io import folder as module
from condyle.io.folder import (
    JOURNAL,
    LOCK,
    STAGE,
    check_ids,
    check_name,
    find_folder,
    lock_folder,
    number_names,
    read_checked,
    read_manifest,
    settle_folder,
    stage_files,
)
from tests.make.size import pick

OLD, NEW = (
    {"skeleton.json": "old", "motion.npz": "old", "report.html": "old"},
    {"skeleton.json": "new", "motion.npz": "new"},
)


def write(folder: Path, files: dict[str, str], fit_id: str, *, replaces: bool = True) -> module.Staging:
    with stage_files(folder, fit_id, replaces=replaces) as stage:
        for name, text in files.items():
            (stage.path / name).parent.mkdir(exist_ok=True)
            (stage.path / name).write_text(text)
    return stage


def contents(folder: Path) -> dict[str, str]:
    """Every file but the manifest."""
    found = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    return {name: text for name, text in found.items() if name != MANIFEST}


def test_files_appear_together_with_their_sums_and_nothing_else_stays(tmp_path: Path) -> None:
    with stage_files(tmp_path / "a" / "b", "1f", replaces=True) as stage:
        (stage.path / "x.txt").write_text("one")
        assert sorted(os.listdir(stage.folder)) == [LOCK, STAGE]
    assert sorted(os.listdir(stage.folder)) == [MANIFEST, "x.txt"]
    assert stage.written == (stage.folder / "x.txt", stage.folder / MANIFEST)
    manifest = read_manifest(stage.folder)
    assert manifest is not None
    assert (manifest.fit_id, manifest.files["x.txt"].bytes) == ("1f", 3)
    assert read_checked(stage.folder / "x.txt", 10) == b"one"


def test_what_an_older_fit_left_goes_and_what_is_foreign_stays(tmp_path: Path) -> None:
    write(tmp_path, {**OLD, "figures/model.svg": "old"}, "1")
    (tmp_path / "notes.txt").write_text("mine")
    stage = write(tmp_path, NEW, "2")
    assert contents(tmp_path) == {**NEW, "notes.txt": "mine"}
    assert not (tmp_path / "figures").exists()
    assert not stage.findings


def test_a_file_of_an_older_fit_that_was_changed_is_kept_and_told(tmp_path: Path) -> None:
    write(tmp_path, {**OLD, "figure.bvh": "old"}, "1")
    (tmp_path / "figure.bvh").write_text("by hand")
    stage = write(tmp_path, NEW, "2")
    assert contents(tmp_path) == {**NEW, "figure.bvh": "by hand"}
    (finding,) = stage.findings
    assert finding.code == "older-files"
    assert finding.text.startswith("figure.bvh: may belong to the fit that was in this folder before")


def test_a_folder_of_version_0_1_is_taken_over(tmp_path: Path) -> None:
    for name, text in {**OLD, "report.html": "a page of condyle", "figure.glb": "old", "field.json": "mine"}.items():
        (tmp_path / name).write_text(text)
    stage = write(tmp_path, NEW, "2")
    assert contents(tmp_path) == {**NEW, "figure.glb": "old", "field.json": "mine"}
    assert [finding.code for finding in stage.findings] == ["older-files"]


def test_files_join_the_fit_that_is_there_and_no_other(tmp_path: Path) -> None:
    write(tmp_path, NEW, "2")
    write(tmp_path, {"figure.bvh": "more"}, "2", replaces=False)
    manifest = read_manifest(tmp_path)
    assert manifest is not None
    assert sorted(manifest.files) == ["figure.bvh", *sorted(NEW)]
    with pytest.raises(CondyleError, match="the folder holds fit 2, and the files to be written are of fit 3") as error:
        write(tmp_path, {"figure.bvh": "other"}, "3", replaces=False)
    assert error.value.code == "files-disagree"
    assert contents(tmp_path) == {**NEW, "figure.bvh": "more"}


def _write_half(stage: module.Staging, fault: type[BaseException]) -> None:
    (stage.path / "skeleton.json").write_text("half")
    raise fault


@pytest.mark.parametrize("fault", [KeyboardInterrupt, ValueError, MemoryError])
def test_whatever_ends_the_writing_the_folder_stays_as_it_was(tmp_path: Path, fault: type[BaseException]) -> None:
    write(tmp_path / "there", OLD, "1")
    for folder in (tmp_path / "there", tmp_path / "new" / "er"):
        with pytest.raises(fault), stage_files(folder, "2", replaces=True) as stage:
            _write_half(stage, fault)
    assert contents(tmp_path / "there") == OLD
    assert not (tmp_path / "new").exists(), "a first fit that fails leaves no empty folder"


def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="cannot be written: No space left") as error, stage_files(tmp_path, "1"):
        raise OSError(28, "No space left on device")
    assert error.value.code == "unwritable"
    assert os.listdir(tmp_path) == []


DIES = """
import json, os, shutil, sys
from pathlib import Path
from condyle.io.folder import stage_files
from tests.make.size import pick

folder, files, at, made = Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]), 0

def watched(real):
    def call(*given, **how):
        global made
        made += 1
        if made > at:
            os._exit(9)
        return real(*given, **how)
    return call

for name in ("open", "replace", "unlink", "rmdir", "fsync", "mkdir"):
    setattr(os, name, watched(getattr(os, name)))
with stage_files(folder, "2", replaces=True) as stage:
    for name, text in files.items():
        (stage.path / name).parent.mkdir(exist_ok=True)
        (stage.path / name).write_text(text)
"""  # ends without a word at the call with which the disk would be changed for the (at + 1)th time


@pytest.mark.sized
def test_killed_at_any_call_the_folder_is_the_old_or_the_new_one(tmp_path: Path) -> None:
    new, seen, at, step = {**NEW, "figures/a.svg": "new"}, [], 0, pick(6, 1, 1)
    while True:
        folder = tmp_path / str(at)
        write(folder, OLD, "1")
        ended = subprocess.run([sys.executable, "-c", DIES, str(folder), json.dumps(new), str(at)]).returncode
        settle_folder(folder)  # what a reader does
        there = {name: text for name, text in contents(folder).items() if not name.startswith(".condyle-")}
        manifest = read_manifest(folder)
        assert manifest is not None
        assert there == ({"1": OLD, "2": new}[manifest.fit_id]), at
        seen.append(manifest.fit_id)
        write(folder, {"figure.bvh": "more"}, manifest.fit_id, replaces=False)  # the next writer removes what is left
        assert not list(folder.glob(".condyle-*")), at
        if ended == 0:
            break
        at += step
    assert at > 20
    assert seen == sorted(seen)
    assert seen.count("2") > 5 // step, "killed after the journal stands, the new fit is moved in"


def _hold(folder: str, held: Event, over: Event) -> None:
    with lock_folder(Path(folder)):
        held.set()
        over.wait(60)


def test_a_second_writer_is_kept_out_until_the_first_is_gone_even_when_it_was_killed(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, over = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(tmp_path), held, over))
    other.start()
    assert held.wait(60)
    try:
        with pytest.raises(CondyleError, match="another condyle process is writing this folder") as error:
            write(tmp_path, NEW, "1")
        assert error.value.code == "folder-busy"
        with pytest.raises(CondyleError, match="another condyle process"), lock_folder(tmp_path, wait=0.05):
            pass
    finally:
        other.kill()
        other.join()
    write(tmp_path, NEW, "1")
    assert contents(tmp_path) == NEW


@pytest.mark.parametrize(("name", "text"), [(MANIFEST, "no manifest"), (JOURNAL, "no journal")])
def test_lists_that_are_nested_without_end_are_damage(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_bytes(b'{"other": ' + b"[" * 20_000 + b"]" * 20_000 + b"}")
    read = read_manifest if name == MANIFEST else settle_folder
    with pytest.raises(CondyleError, match=text):
        read(tmp_path)


def test_a_journal_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    for name in ("../precious", "/precious", "a/../../precious", "a\\b", "c:x", "a/b/c", ""):
        folder = tmp_path / "fit"
        folder.mkdir(exist_ok=True)
        (folder / JOURNAL).write_text(json.dumps({"remove": [name], "move": []}))
        with pytest.raises(CondyleError) as error:
            settle_folder(folder)
        assert error.value.code == "damaged-file"
    (tmp_path / "fit" / JOURNAL).write_text("{")
    with pytest.raises(CondyleError, match="is no journal"):
        settle_folder(tmp_path / "fit")
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_changed_a_large_and_a_missing_file_are_told(tmp_path: Path) -> None:
    write(tmp_path, NEW, "1")
    (tmp_path / "skeleton.json").write_text("mew")
    with pytest.raises(CondyleError, match=r"its SHA-256 is not that in manifest\.json") as error:
        read_checked(tmp_path / "skeleton.json", 10)
    assert error.value.code == "damaged-file"
    (tmp_path / MANIFEST).unlink()
    assert read_checked(tmp_path / "skeleton.json", 10) == b"mew"
    with pytest.raises(CondyleError, match="is larger than"):
        read_checked(tmp_path / "skeleton.json", 2)
    with pytest.raises(CondyleError, match="cannot be read"):
        read_checked(tmp_path / "none.json", 2)
    (tmp_path / MANIFEST).write_text("[]")
    with pytest.raises(CondyleError, match="is no manifest"):
        module.read_manifest(tmp_path)


def test_two_ids_are_both_named(tmp_path: Path) -> None:
    check_ids((tmp_path / "a", "1"), (tmp_path / "b", "1"))
    check_ids((tmp_path / "a", None), (tmp_path / "b", None))
    with pytest.raises(CondyleError, match="a: is of fit 1, but b is of fit without an id") as error:
        check_ids((tmp_path / "a", "1"), (tmp_path / "b", None))
    assert error.value.code == "files-disagree"


def test_a_folder_is_named_by_itself_or_by_a_file_in_it(tmp_path: Path) -> None:
    assert find_folder(tmp_path) == find_folder(tmp_path / "skeleton.json") == tmp_path


@pytest.mark.parametrize("name", ["walk 12:30.bvh", "a\\b.bvh"])
def test_a_name_that_not_every_system_has_is_refused_before_anything_is_moved(tmp_path: Path, name: str) -> None:
    (tmp_path / "kept.txt").write_text("kept")
    with pytest.raises(CondyleError, match="cannot be the name of a file"), stage_files(tmp_path, None) as stage:
        (stage.path / name).write_text("new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.txt"]


@pytest.mark.parametrize(
    "name", ["", "a/b", "../a", "a\\b", "c:a", ".a", "CON", "nul.walk", "COM²", "con .x", "a.", "a ", "a\nb", "a\0b"]
)
def test_a_name_for_files_leads_nowhere_and_is_one_on_every_system(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a file on every system"):
        check_name(name)


@pytest.mark.parametrize("name", ["walk 1", "Gang_ä", "a.b", "console", "-"])
def test_usual_names_are_names(name: str) -> None:
    assert check_name(name) == name


def test_what_joins_a_fit_replaces_none_of_the_files_it_is_read_from(tmp_path: Path) -> None:
    write(tmp_path, OLD, "a")
    before = contents(tmp_path)
    with pytest.raises(UsageError, match=r"would replace 'skeleton\.json' of the fit; choose another name"):
        write(tmp_path, {"skeleton.json": "angles"}, "a", replaces=False)
    assert contents(tmp_path) == before
    write(tmp_path, {"report.html": "newer"}, "a", replaces=False)
    assert contents(tmp_path) == before | {"report.html": "newer"}


def test_names_that_stand_twice_are_numbered_whatever_the_case_of_their_letters() -> None:
    assert number_names(["a", "b", "a", "a"]) == ["a", "b", "a-2", "a-3"]
    assert number_names(["a", "A", "a-2"]) == ["a", "A-2", "a-2-2"]


def test_a_journal_with_a_name_that_no_system_has_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / ".condyle-journal").write_text('{"remove":["' + "A" * 300 + '/b"],"move":[]}')
    with pytest.raises(CondyleError, match="is no name of a file in this folder"):
        settle_folder(tmp_path)
