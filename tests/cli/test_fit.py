"""condyle fit, as a person runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle import Take, read, read_skeleton, write_take
from condyle.cli import main
from condyle.cli.fit import describe_next, read_edges
from condyle.errors import UsageError
from condyle.simulate import Disturbances, human, linkage, simulate
from tests.make import machines
from tests.make.performers import mount_chain

NOISY = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.5))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fit") / "take.npz"
    write_take(path, simulate(linkage(), seconds=15, seed=3, disturbances=NOISY).take)
    return path


def test_fit_prints_a_sentence_joints_lengths_and_findings(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(recording)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("6 sensors, 450 frames, 15.0 s. Found: 5 of 5 joints sure. ")
    assert "l_forearm" in text
    assert "95 % interval" in text
    assert "[root-chosen]" in text


NEVER = ("numpy.ma", "scipy", "pyarrow", "dask", "importlib.metadata", "condyle.estimate.registration")
IMPORTED_LATE = {  # {arguments of a fit: what it does without}; each of them takes milliseconds, before every fit
    ("--method", "least-squares"): (
        *NEVER,
        *("shutil", "tempfile", "filecmp"),
        *("msgspec", "zipfile", "condyle.io.folder", "condyle.io.skeleton_file", "condyle.io.field_file"),
        *("condyle.io.formats.c3d", "condyle.io.formats.npz", "condyle.io.formats.bvh", "condyle.model.axes"),
        *("condyle.model.profile", "condyle.faults.belonging", "condyle.faults.field_fit", "condyle.report"),
    ),
    ("-o", "out"): (*NEVER, "condyle.io.formats.c3d", "condyle.io.formats.bvh", "condyle.faults.belonging"),
}


@pytest.mark.parametrize("arguments", IMPORTED_LATE)
def test_a_fit_imports_only_what_it_needs(arguments: tuple[str, ...], tmp_path: Path) -> None:
    write_take(tmp_path / "take.csv", simulate(linkage(), seconds=15, seed=3, disturbances=NOISY).take)
    code = (
        "import sys; from condyle.cli import main; late = sys.argv[1].split(); status = main(sys.argv[2:]); "
        "print(status, [name for name in late if name in sys.modules])"
    )
    program = [sys.executable, "-c", code, " ".join(IMPORTED_LATE[arguments]), "fit", "take.csv", *arguments]
    out = subprocess.run(program, capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert out.splitlines()[-1] == "0 []"


def test_fit_writes_skeleton_and_motion(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    assert main(["fit", str(recording), "-o", str(out), "--no-report"]) == 0
    skeleton = read_skeleton(out)
    assert len(skeleton.joints) == 5
    motion = np.load(out / "motion.npz")
    assert motion["gap"].shape == (450, 5, 3)
    assert list(motion["joints"]) == [joint.child for joint in skeleton.joints]
    assert sorted(path.name for path in out.iterdir()) == [
        "manifest.json", "motion.npz", "options.toml", "skeleton.json",
    ]  # fmt: skip
    assert read(out / "motion.npz").names == skeleton.bodies


def test_json_is_the_same_as_the_file(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(recording), "-o", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "skeleton.json").read_text())


def test_npz_and_csv_give_the_same_skeleton(recording: Path, tmp_path: Path) -> None:
    csv = tmp_path / "take.csv"
    write_take(csv, read(recording))
    main(["fit", str(recording), "-o", str(tmp_path / "a")])
    main(["fit", str(csv), "-o", str(tmp_path / "b")])
    a, b = read_skeleton(tmp_path / "a"), read_skeleton(tmp_path / "b")
    for one, other in zip(a.joints, b.joints, strict=True):
        assert np.abs(one.p_child_joint - other.p_child_joint).max() < 1e-9


def test_several_files_are_one_calibration(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.npz"
    take = read(recording)
    write_take(other, take.slice(0, take.frames - 50))
    assert main(["fit", str(recording), str(other)]) == 0
    assert "850 frames" in capsys.readouterr().out


def test_the_same_file_twice_is_refused(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(recording), str(recording)]) == 2
    assert "named twice" in capsys.readouterr().err


def test_files_of_other_bodies_are_refused_with_a_near_name(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take = read(recording)
    names = tuple(name.replace("l_forearm", "l_fore_arm") for name in take.names)
    write_take(tmp_path / "b.npz", Take(names, take.time, take.R_world_body, take.p_world_body))
    assert main(["fit", str(recording), str(tmp_path / "b.npz")]) == 1
    error = capsys.readouterr().err
    assert "l_forearm" in error
    assert "l_fore_arm" in error


@pytest.mark.parametrize("option", [["--method", "least-squares"], ["--method", "drift"], ["--tree-score", "residual"]])
def test_every_method_runs(option: list[str], recording: Path) -> None:
    assert main(["fit", str(recording), *option]) == 0


def test_tree_and_root_are_taken_from_text_file_and_skeleton(recording: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    main(["fit", str(recording), "-o", str(out), "--tree", "head:chest,chest:l_upper_arm", "--root", "head"])
    assert read_skeleton(out).roots == ("head",)
    listing = tmp_path / "tree.txt"
    listing.write_text("# parent child\nhead chest\nchest:l_upper_arm\n\n")
    assert read_edges(str(listing)) == [("head", "chest"), ("chest", "l_upper_arm")]
    assert len(read_edges(str(out / "skeleton.json"))) == 5
    assert len(read_edges(str(out))) == 5


def test_a_tree_that_cannot_be_read_is_a_usage_error(tmp_path: Path, recording: Path) -> None:
    listing = tmp_path / "tree.txt"
    listing.write_text("head chest\nchest\n")
    with pytest.raises(UsageError, match="line 2"):
        read_edges(str(listing))
    assert main(["fit", str(recording), "--tree", "head"]) == 2
    assert main(["fit", str(recording), "--root", "hip"]) == 2


def test_one_sensor_suggests_the_world(recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = tmp_path / "one.npz"
    write_take(one, read(recording).select(["head"]))
    assert main(["fit", str(one)]) == 1
    assert "--world" in capsys.readouterr().err


def test_a_still_take_is_done_with_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    still = tmp_path / "still.npz"
    write_take(still, simulate(linkage(), "still", seconds=5, disturbances=NOISY).take)
    assert main(["fit", str(still), "-o", str(tmp_path / "out"), "--strict"]) == 3
    assert "[tree-not-determined]" in capsys.readouterr().out
    assert read_skeleton(tmp_path / "out").joints == ()


def test_a_folder_that_is_a_file_is_told_and_nothing_is_written(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out").write_text("mine")
    assert main(["fit", str(recording), "-o", str(tmp_path / "out")]) == 1
    assert "is a file" in capsys.readouterr().err
    assert (tmp_path / "out").read_text() == "mine"


def test_hostile_names_do_not_reach_the_terminal(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take = read(recording)
    names = ("\x1b[31mhead[/bold]", *take.names[1:])
    write_take(tmp_path / "h.npz", Take(names, take.time, take.R_world_body, take.p_world_body))
    main(["fit", str(tmp_path / "h.npz")])
    assert "\x1b" not in capsys.readouterr().out


def test_a_long_list_of_edges_is_no_file_name(recording: Path) -> None:
    edges = ", ".join(["chest : head", "chest : l_upper_arm", "chest : r_upper_arm"] * 12)
    assert len(edges) > 255
    assert len(read_edges(edges)) == 36
    assert main(["fit", str(recording), "--tree", edges, "--no-intervals"]) == 0


def test_a_tree_that_is_no_text_or_names_no_edge_is_a_usage_error(recording: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe\x00")
    assert main(["fit", str(recording), "--tree", str(tmp_path / "bad.txt")]) == 2
    assert main(["fit", str(recording), "--tree", ","]) == 2


@pytest.mark.parametrize("words", [["demo", "--seed", "-3"], ["simulate", "x.npz", "--seconds", "0.001"]])
def test_impossible_worlds_are_usage_errors(words: list[str]) -> None:
    assert main(words) == 2


def test_a_list_of_edges_without_end_is_refused_before_it_is_read(
    recording: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listing = tmp_path / "tree.txt"
    with listing.open("wb") as stream:
        stream.truncate(2**31)  # zeros that take no room
    assert main(["fit", str(recording), "--tree", str(listing)]) == 2
    assert capsys.readouterr().err == (
        f"condyle: error: {listing}: is no list of 'parent child' lines: it is larger than 1 MB\n"
    )


def test_several_mountings_have_a_folder_each_and_a_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for seed in (1, 2):
        files.append(str(tmp_path / f"m{seed}.npz"))
        write_take(files[-1], mount_chain(seed).take)
    assert main(["fit", *files, "--remounted", "-o", str(tmp_path / "out"), "--no-report"]) == 0
    text = capsys.readouterr().out
    assert "2 lengths from 2 mountings, 2 fits" in text
    assert (tmp_path / "out" / "profile.json").is_file()
    assert (tmp_path / "out" / "m2" / "skeleton.json").is_file()
    assert main(["fit", *files, "--alike"]) == 2
    assert "--remounted" in capsys.readouterr().err
    assert main(["fit", *files, "--remounted", "--json"]) == 0
    assert '"mountings": 2' in capsys.readouterr().out


def test_two_people_of_equal_names_are_put_in_one_scene(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        write_take(tmp_path / f"{name}.npz", mount_chain(seed).take)
    files = [str(tmp_path / "a.npz"), str(tmp_path / "b.npz")]
    assert main(["fit", "--together", f"a={files[0]}", f"b={files[1]}", "--no-intervals", "--json"]) in (0, 3)
    facts = json.loads(capsys.readouterr().out)
    assert {name[:2] for name in facts["bodies"]} == {"a:", "b:"}
    assert len(facts["roots"]) == 2
    for words, told in (
        ([files[0], files[1]], "is not a=FILE"),
        ([f"a={files[0]}", f"a={files[1]}"], "label of two files"),
        ([f"a={files[0]}", f"b={files[1]}", "--remounted"], "--together is one scene"),
    ):
        assert main(["fit", "--together", *words]) == 2
        assert told in capsys.readouterr().err


@pytest.mark.costly
def test_lengths_without_priors_stand_beside(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for k in (1, 2):
        world = simulate(human(), seconds=10, seed=k, disturbances=Disturbances(position_noise=0.003))
        write_take(tmp_path / f"{k}.npz", world.take)
    files = [str(tmp_path / "1.npz"), str(tmp_path / "2.npz")]
    assert main(["fit", *files, "--remounted", "--alike", "--json"]) in (0, 3)
    facts = json.loads(capsys.readouterr().out)
    assert [one["body"] for one in facts["without"]] == [one["body"] for one in facts["lengths"]]
    assert any(a["length"] != b["length"] for a, b in zip(facts["without"], facts["lengths"], strict=True))
    assert main(["fit", *files, "--remounted", "--proportions"]) in (0, 3)
    assert "without it" in capsys.readouterr().out


@pytest.fixture
def quick(tmp_path: Path) -> str:
    path = tmp_path / "take.npz"
    assert main(["simulate", str(path), "--seconds", "4", "--position-noise", "1", "--orientation-noise", "0.3"]) == 0
    return str(path)


def test_a_fit_that_goes_nowhere_says_so_and_one_that_is_kept_says_what_to_do_next(
    quick: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", quick]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("nothing was written; add -o DIR to keep it")
    out = tmp_path / "out 1"
    assert main(["fit", quick, "-o", str(out), "--no-report"]) == 0
    *_, took, last = capsys.readouterr().out.splitlines()
    assert took.startswith("took ")
    assert last.startswith(f'next: condyle view "{out}" shows it; condyle ')
    assert "condyle axes" not in last
    machine = replace(machines.fitted("planar"), folder=out)
    assert describe_next(machine).endswith(f'condyle axes "{out}" has its axes and DH tables')
    names = dict(zip(machine.skeleton.bodies, ("l_foot", "l_shank", "l_thigh", "pelvis", "chest"), strict=False))
    joints = [replace(one, child=names[one.child], parent=names[one.parent]) for one in machine.skeleton.joints]
    person = replace(machine.skeleton, bodies=tuple(names.values()), joints=tuple(joints))
    assert "condyle export" in describe_next(replace(machine, skeleton=person))


def test_the_time_told_is_the_whole_time(
    quick: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import time

    from condyle.api import Fit

    save = Fit.save

    def slow(self: Fit, *words: object, **options: object) -> Fit:
        time.sleep(0.5)
        return save(self, *words, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Fit, "save", slow)
    begin = time.perf_counter()
    assert main(["fit", quick, "-o", str(tmp_path / "out"), "--no-report"]) == 0
    spent = time.perf_counter() - begin
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("took ")]
    assert 0.5 <= float(told.split()[1]) <= spent + 0.005  # it is rounded


def test_open_opens_the_page_that_was_written_and_needs_one(
    quick: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import webbrowser

    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)))
    assert main(["fit", quick, "--open"]) == 2
    assert "give its folder with -o" in capsys.readouterr().err
    assert main(["fit", quick, "-o", str(tmp_path / "out"), "--open"]) == 0
    assert opened == [(tmp_path / "out" / "report.html").as_uri()]
    assert "no browser could be started; open" in capsys.readouterr().err


def test_a_folder_or_a_name_that_is_nearly_there_is_answered_with_what_to_do(
    quick: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["fit", "take.npz", "-o", "out", "--no-report"]) == 0
    capsys.readouterr()
    for words, said in (
        (["fit", "."], ".: is a folder; name the files of one take, or fit every take in it: condyle batch . -o STUDY"),
        (["fit", "out"], "out: is the folder of a fit; look at it with: condyle view out"),
        (["fit", "taek.npz"], "taek.npz: no such file; did you mean 'take.npz'?"),
        (["fit", "-"], "-: no such file, and standard input is not read, since a recording is read twice"),
        (["view", "take.npz"], "take.npz: is no skeleton.json, nor the folder of a fit; if it is a recording, fit it"),
        (
            ["view", "out/options.toml"],
            "out/options.toml: is no skeleton.json, nor the folder of a fit; name the folder",
        ),
    ):
        assert main(words) == 1
        assert capsys.readouterr().err.startswith(f"condyle: error: {said}")
