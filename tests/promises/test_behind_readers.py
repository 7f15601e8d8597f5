"""What docs/faults.md promises of spoilt takes, names and options is what a user reads, word by word."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
import pytest

import condyle
from condyle import CondyleError, pipeline
from condyle.api import fit_with
from condyle.cli import main, streams
from condyle.errors import SENTENCE_MOST_LETTERS
from condyle.estimate.checks import describe_left_out
from condyle.io.folder import check_name, stage_files
from condyle.io.formats import read_recording
from condyle.io.skeleton_file import from_json, to_json
from condyle.io.tables.text import TEXT_BLOCK_BYTES, read_utf8
from condyle.io.toml_file import read_toml
from condyle.live.guide import read_routine
from condyle.live.recorder import Recorder
from condyle.model.clock import describe_clock_unit, in_order
from condyle.model.options import FitOptions
from condyle.model.take import Take
from condyle.pipeline import PLAN_OF, run
from condyle.prepare.dropouts import prepare
from tests.fuzz.failing import failing
from tests.make import PROJECT, sessions
from tests.make.fitted import fitted, rewritten, take

PAGE = (PROJECT / "docs" / "faults.md").read_text(encoding="utf-8")
STEADY = np.arange(60) / 30.0


def select(columns: list[int]) -> Take:
    one = take(1.0).slice(0, 60)
    names = ("a", "b", "c", "d")[: len(columns)]
    return Take(names, one.time, one.R_world_body[:, columns], one.p_world_body[:, columns])


def lose_poses() -> Take:
    one = take(2.0, names=("a", "b", "c", "l_hand"))
    p = one.p_world_body.copy()
    p[:41, 3] = 1e11
    return replace(one, p_world_body=p)


def fit_apart() -> list[condyle.Finding]:
    one = take(2.0)
    return list(run(replace(one, segment=np.arange(one.frames)), FitOptions(intervals=False)).findings)


def stamp_packets() -> np.ndarray:
    return np.repeat(np.arange(20) * 0.05, 18) + np.tile(np.arange(18) * 5e-5, 20)


def take_of(bodies: int) -> Take:
    one = take(1.0).slice(0, 12)
    columns = np.zeros(bodies, np.int64)
    names = tuple(f"b{k}" for k in range(bodies))
    return Take(names, one.time, one.R_world_body[:, columns], one.p_world_body[:, columns])


def read_bent_axis() -> object:
    plain = json.loads(to_json(condyle.fit(select([0, 1]), intervals=False).skeleton))
    plain["joints"][0].update(child="a", parent="b", axis_child=[0.0, 0.0, 0.0])
    return from_json(json.dumps(plain).encode())


def lose_sensor() -> list[condyle.Finding]:
    whole = take(4.0)
    later = whole.slice(whole.frames // 2, whole.frames)
    p = later.p_world_body.copy()
    p[: later.frames // 4, 3] = np.nan
    return list(condyle.solve(replace(later, p_world_body=p), calibrate()).skeleton.findings)


def calibrate() -> condyle.Fit:
    return condyle.fit(take(4.0).slice(0, 120), intervals=False)


def lose_frame() -> list[condyle.Finding]:
    with TemporaryDirectory() as folder:
        with failing(Path(folder), 3), Recorder(Path(folder) / "session.log") as log:
            for packet in sessions.packets(sessions.layout("a"), 6):
                with suppress(CondyleError):
                    log.write(packet)
            log._flush()
        return list(read_recording(Path(folder) / "session.log").findings)


def fit_scaled() -> list[condyle.Finding]:
    one = take(2.0)
    return list(condyle.fit(replace(one, p_world_body=1e9 * one.p_world_body), intervals=False).skeleton.findings)


def fit_singular() -> list[condyle.Finding]:
    one = take(2.0)
    turned = replace(one, R_world_body=one.R_world_body[:, :1].repeat(4, axis=1))
    return list(condyle.fit(turned, intervals=False).skeleton.findings)


def export_spoilt() -> list[condyle.Finding]:
    with TemporaryDirectory() as folder:
        place = fitted(Path(folder) / "out", take(2.0), intervals=False)
        turns, places = np.zeros((120, 4, 3, 3)), np.zeros((120, 4, 3))
        with np.load(place / "motion.npz") as archive:
            turns[:], places[:] = archive["R_world_body"], archive["p_world_played"]
        turns[:5, 0], places[3] = 7.0, np.inf
        spoilt = rewritten(place, Path(folder) / "spoilt", R_world_body=turns, p_world_played=places)
        return list(condyle.load(spoilt).export("bvh", spoilt).findings)


def cut_text() -> object:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(b"1,2\n" * (TEXT_BLOCK_BYTES // 2))
        text = read_utf8(path)
        os.truncate(path, 100)
        return text.find(b"x")


def solve_twins() -> object:
    later = take(4.0).slice(120, 240)
    p, R = (values[:, [0, 1, 2, 2]] for values in (later.p_world_body, later.R_world_body))
    return condyle.solve(replace(later, p_world_body=p, R_world_body=R), calibrate())


def write_routine(text: str) -> object:
    with TemporaryDirectory() as folder:
        (Path(folder) / "routine.toml").write_text(text)
        return read_routine(Path(folder) / "routine.toml")


FOUND: dict[str, tuple[str, Callable[[], list[condyle.Finding]]]] = {
    "B39": ("time-backwards", lambda: in_order(STEADY[::-1], None, 60)[3]),
    "B40": ("clock-packets", lambda: in_order(stamp_packets(), None, 360)[3]),
    "B41": ("clock-origin", lambda: in_order(STEADY + 1686000000.25, None, 60)[3]),
    "B42": ("checks-left-out", fit_apart),
    "B43": ("clock-unit", lambda: describe_clock_unit(np.arange(60) * 5e-324, None)),
    "B46": ("checks-left-out", lambda: describe_left_out(take_of(129), PLAN_OF["default"].most_bodies)),
    "B55": ("dropout", lambda: list(prepare(lose_poses()).findings)),
    "B57": ("clock-unit", lambda: describe_clock_unit(STEADY / 3600, None)),
    "B44": ("implausible-size", fit_scaled),
    "B44 ": ("tree-not-determined", fit_singular),
    "B49": ("pose-held", export_spoilt),
    "B56": ("gap-left", lose_sensor),
    "B63": ("log-damaged", lose_frame),
    "B69": ("clock-unit", lambda: describe_clock_unit(STEADY / 120, None, lambda _: 50.0)),
    "B70": ("clock-unit", lambda: describe_clock_unit(np.arange(60.0), None)),
    "B81": ("repeated-time", lambda: in_order(np.full(60, 1.7e9), None, 60, lambda: np.ones(59, bool))[3]),
}
REFUSED: dict[str, Callable[[], object]] = {
    "B61": lambda: write_routine("a." * 30_000 + "a = 1"),
    "B61 ": lambda: write_routine("#" * 1_100_000),
    "B65": solve_twins,
    "B68": cut_text,
    "B71": lambda: condyle.read(None),  # type: ignore[arg-type]
    "B74": lambda: condyle.fit(np.zeros((3, 2, 4, 4), complex)),
    "B75": lambda: condyle.fit(take(1.0), world="no"),  # type: ignore[arg-type]
    "B79": lambda: condyle.fit("take\udcff.npz"),
    "B45": lambda: run(select([0, 0, 1]), FitOptions(), plan=PLAN_OF["default"]),
    "B48": read_bent_axis,
    "B58": lambda: check_name("CON"),
    "B62": lambda: condyle.fit(take(2.0, names=("a", "b", "c", "l_thigh")), intervals=False).retarget(
        {"l_thigh": 1e300}
    ),
}


def row_of(number: str) -> str:
    return next(line for line in PAGE.splitlines() if line.startswith(f"| {number.strip()} "))


@pytest.mark.parametrize("number", FOUND)
def test_a_finding_is_as_promised(number: str) -> None:
    code, find = FOUND[number]
    texts = [finding.text for finding in find() if finding.code == code]
    assert f'"{texts[0]}"' in row_of(number)
    assert f"`{code}`" in row_of(number)


@pytest.mark.parametrize("number", REFUSED)
def test_a_refusal_is_as_promised(number: str) -> None:
    with pytest.raises(CondyleError) as error:
        REFUSED[number]()
    assert f'"{error.value.text}"' in row_of(number)


def test_a_take_that_will_take_long_is_told_before_as_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(pipeline, "run", mock.Mock(side_effect=lambda *_: told.append("the work begins") or 1 / 0))
    with pytest.raises(ZeroDivisionError):
        fit_with(take_of(1000), FitOptions(), tell=told.append)
    assert f'"condyle: {told[0]}"' in row_of("B47")
    assert told[1:] == ["the work begins"]


def test_output_that_is_full_or_closed_is_told_as_promised(capsys: pytest.CaptureFixture[str]) -> None:
    with mock.patch.object(streams, "_silence"):
        assert streams.end_output(OSError(28, "No space left on device"), 0, closed=False) == 1
        assert f'"{capsys.readouterr().err.strip()}"' in row_of("B52")
        assert (streams.end_output(BrokenPipeError(), 0, closed=False), capsys.readouterr().err) == (141, "")
    assert "141" in row_of("B53")


def test_a_path_that_is_none_and_a_line_that_is_long_are_told_as_promised(tmp_path: Path) -> None:
    with pytest.raises(CondyleError) as error, stage_files("a\0b"):
        pass
    assert f'"{error.value.text}"' in row_of("B66")
    assert f"{SENTENCE_MOST_LETTERS // 2} letters" in row_of("B67")
    (tmp_path / "deep.toml").write_text("a." * 30_000 + "a = 1")
    with pytest.raises(CondyleError) as error:
        read_toml(tmp_path / "deep.toml", "a column map", "bad-columns")
    assert f'"{error.value.text}"' in row_of("B51")


def test_every_row_of_the_page_has_words_that_are_tried() -> None:
    """Those of B50, B54, B60 and B64 where they are printed: a server, a failing disk, landmarks, no memory."""
    here = Path(__file__).read_text(encoding="utf-8")
    elsewhere = {
        "B50": ("report/test_server.py", "motion.npz was cut while it was read; write it anew with condyle fit -o"),
        "B54": ("fuzz/test_failing.py", "cannot be written: No space left on device"),
        "B60": ("motion/test_landmarks.py", "is 115 m from its sensor; write it in metres"),
        "B63": ("fuzz/test_failing.py", "No space left on device"),
        "B64": ("fuzz/test_failing.py", "condyle: error: not enough memory for this recording"),
        "B72": ("test_main.py", "128 + getattr(signal, name)"),
        "B73": ("io/formats/test_session_log.py", "1 frame of lsl:room without a time: left out"),
        "B76": ("io/test_atomic.py", "is a pipe or a device; give the name of a file"),
        "B77": ("io/test_motion_file.py", "cannot be read: Too many open files"),
        "B78": ("io/test_skeleton_file.py", "is no JSON; write it anew with condyle fit -o"),
        "B82": ("io/exports/test_mcap.py", "longer than messages of ROS can count"),
        "B83": ("maths/test_arrays.py", "masked"),
        "B84": ("io/tables/test_stamps.py", "is no number; write times as seconds"),
        "B85": ("cli/test_batch.py", "stopped; what is done stays. To go on: "),
        "B86": ("io/test_atomic.py", "cannot be written: Access is denied"),
        "B87": ("study/test_manifest.py", "list the files one by one"),
        "B80": ("promises/test_files.py", "is a link to gone.csv, which is not there"),
    }
    for number, (file, words) in elsewhere.items():
        assert words in (PROJECT / "tests" / file).read_text(encoding="utf-8")
        assert words in row_of(number) or number == "B72"
    rows = [line.split()[1] for line in PAGE.splitlines() if line.startswith("| B")]
    assert [number for number in rows if f'"{number}"' not in here] == []


def test_files_of_a_fit_are_safe_as_promised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(fitted(tmp_path / "out", take(2.0), intervals=False))
    before = (tmp_path / "out" / "skeleton.json").read_bytes()
    for number, words in {
        "B58": ["angles", out, "--name", "skeleton"],
        "B59": ["report", out, "-o", f"{out}/skeleton.json"],
    }.items():
        assert main(words) in (1, 2)
        said = capsys.readouterr().err.strip().rpartition(": ")[2]
        assert said in row_of(number)
    assert (tmp_path / "out" / "skeleton.json").read_bytes() == before
