"""Names, keys and calibrations of the takes of a study."""

from __future__ import annotations

import os
import time
from pathlib import Path, PurePath

import pytest

from condyle.errors import CondyleError, UsageError
from condyle.study import plan
from condyle.study.plan import Entry, clean_name, make_names, make_steps, relate


def test_names_of_many_takes_of_one_file_are_numbered_in_time_that_grows_with_their_number() -> None:
    begin = time.process_time()
    names = make_names([PurePath("a.csv")] * 20_000)
    assert time.process_time() - begin < 5.0  # s of CPU time, and a quarter of one is usual; by the square a minute
    assert (names[0], names[-1], len(set(names))) == ("a.csv", "a.csv-20000", 20_000)


def test_a_take_is_named_after_its_file_without_the_ending() -> None:
    assert make_names([PurePath("anna/walk.c3d"), PurePath("ben/walk.c3d")]) == ["anna/walk", "ben/walk"]


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["walk.c3d", "walk.bvh"], ["walk.c3d", "walk.bvh"]),
        (["Walk.c3d", "walk.C3D"], ["Walk.c3d", "walk.C3D-2"]),
        (["a?.npz", "a*.npz"], ["a_.npz", "a_.npz-2"]),
        (["con.npz", ".hidden.npz"], ["_con", "_.hidden"]),
    ],
)
def test_files_that_would_share_a_folder_do_not(files: list[str], names: list[str]) -> None:
    assert make_names(map(PurePath, files)) == names


def test_a_name_leads_out_of_no_folder() -> None:
    assert clean_name("../../etc/x y") == "etc/x y"
    assert clean_name("a\\..\\b") == "a/b"
    assert clean_name("a. ./b ") == "a/b"
    assert relate("/data/x.npz", Path("/study/takes")) == PurePath("data/x.npz")
    assert len(clean_name("x" * 300)) == plan.LONGEST_FOLDER_NAME


def test_a_step_changes_its_key_with_the_file_and_the_settings_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    file.write_bytes(b"1")

    def key(**entry: object) -> str:
        return make_steps(tmp_path, [Entry("a", ("a.npz",), **entry)], tmp_path / "out")[0].key  # type: ignore[arg-type]

    first = key()
    assert key() == key(performer="anna", session="monday") == first
    assert key(settings={"intervals": False}) != first
    os.utime(file, (1, 1))
    assert key() != first


def test_files_that_settings_name_count_as_well(tmp_path: Path) -> None:
    (tmp_path / "map.toml").write_text("a")
    entry = Entry("a", ("a.npz",), settings={"reading": {"columns": "map.toml"}})
    first = make_steps(tmp_path, [entry], tmp_path)[0].key
    (tmp_path / "map.toml").write_text("ab")
    assert make_steps(tmp_path, [entry], tmp_path)[0].key != first


def entries() -> list[Entry]:
    return [
        Entry("play", ("play.npz",), "anna", "tuesday", "tuesday", role="performance"),
        Entry("rom", ("rom.npz",), "anna", "monday", "monday"),
        Entry("rom2", ("rom2.npz",), "anna", "tuesday", "tuesday"),
        Entry("later", ("later.npz",), "anna", "friday", "friday", role="performance"),
        Entry("other", ("other.npz",), "ben", role="performance"),
    ]


def test_a_performance_is_solved_on_the_calibration_of_its_mounting(tmp_path: Path) -> None:
    steps = {step.name: step for step in make_steps(tmp_path, entries(), tmp_path / "out")}
    assert list(steps) == ["play", "rom", "rom2", "later", "other"], "in the order of the list"
    assert steps["play"].needs == "rom2"
    assert steps["play"].key != steps["rom"].key
    assert steps["play"].skeleton == str(tmp_path / "out" / "takes" / "rom2")
    assert steps["rom"].needs is None


def test_a_performer_without_a_calibration_fails_alone(tmp_path: Path) -> None:
    faults = [step.entry.fault for step in make_steps(tmp_path, entries(), tmp_path / "out")]
    assert faults[:3] == [None] * 3
    assert faults[3] == (
        "no-calibration",
        "later.npz: performer 'anna' has no calibration in mounting 'friday', only in 'monday', 'tuesday'; list one of "
        "role calibration",
    )
    assert faults[4] == (
        "no-calibration",
        "other.npz: performer 'ben' has no calibration to be solved on; there are calibrations of anna; list one of "
        "role calibration",
    )


def test_two_takes_of_one_name_fail_alone(tmp_path: Path) -> None:
    listed = [Entry("x", ("a.npz",)), Entry("X", ("b.npz",)), Entry("y", ("c.npz",))]
    faults = [step.entry.fault for step in make_steps(tmp_path, listed, tmp_path / "out")]
    assert faults[2] is None
    assert (
        faults[0]
        == faults[1]
        == (
            "same-name",
            "2 takes are named 'x' (a.npz and b.npz); give each a name of its own",
        )
    )


def test_a_study_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "MOST_TAKES", 1)
    with pytest.raises(UsageError, match="has 2 takes, more than 1; make several studies of it"):
        make_steps(tmp_path, [Entry("x", ("a.npz",)), Entry("y", ("b.npz",))], tmp_path)


def test_a_file_whose_name_no_ledger_could_hold_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="its name is no text in UTF-8; rename it"):
        make_steps(tmp_path, [Entry("take", ("take\udcff.npz",))], tmp_path / "study")
