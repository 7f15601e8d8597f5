"""Clocks: B03, B18 to B21. The joints do not depend on them, and what was done to a clock is said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.maths import rotation

from .seeds import ROWS, Seed, info, joined
from .takes import KINDS, NOISE, RATE, WRITERS, Poses, clean, condyle, farthest, fit, linkage_take, matches, name_in

SAME = 1e-9  # m: the same poses by another way
TIMED = 1e-4  # m: the default method looks at steps of time, and there are fewer
CLOCKED = [seed for seed in ROWS if seed.time is not None]
KNOWN_BY_NUMBERS = (("tum", "plain"), ("ascension", "blocks"))  # four rows of which two are exchanged look like nothing
REPEATED = "{} the time of the row before; the first of each is kept"


@pytest.fixture(scope="module")
def poses() -> Poses:
    return Poses.of(linkage_take())


def named(seed: Seed) -> str:
    return str(seed)


@pytest.mark.parametrize("format", KINDS)
def test_b03_missing_frames_are_listed_and_nothing_is_interpolated(tmp_path: Path, poses: Poses, format: str) -> None:
    keep = np.setdiff1d(np.arange(600), np.r_[100:130, 300:305])
    answer = fit(WRITERS[format](tmp_path, poses.rows(keep)))
    assert answer.status == 0
    (finding,) = (one for one in answer.findings if one["code"] == "time-gaps")
    assert finding["text"] == (
        "frames are missing in 2 places, the longest gap lasts 0.517 s from 1.65 s on; "
        "nothing is interpolated, so there is nothing to do"
    )
    assert (finding["frame"], finding["count"], finding["severity"]) == (100, 2, "info")
    assert answer.facts["take"]["frames"] == len(keep)
    if format != "npz":
        return
    plain = [fit(WRITERS[format](tmp_path, one), "--method", "least-squares") for one in (poses.rows(keep), poses)]
    assert farthest(plain[0].lengths(), plain[1].lengths()) < 0.003  # 6 % fewer frames


@pytest.mark.parametrize("format", ["csv", "vr", "polhemus"])
def test_b18_repeated_rows_count_once(tmp_path: Path, poses: Poses, format: str) -> None:
    rows = np.sort(np.r_[np.arange(600), 100, 200, 201, 300])
    answer = fit(WRITERS[format](tmp_path, poses.rows(rows)))
    assert (answer.status, answer.codes) == (3, ["repeated-time"])
    (finding,) = (one for one in answer.findings if one["code"] == "repeated-time")
    assert finding["text"] == REPEATED.format("4 rows repeat")
    assert (finding["frame"], finding["count"]) == (101, 4)
    assert farthest(answer.lengths(), clean(format)) < SAME


@pytest.mark.parametrize("format", KINDS)
def test_b18_repeated_rows_with_stamps_of_their_own_count_once(tmp_path: Path, poses: Poses, format: str) -> None:
    rows = np.sort(np.r_[np.arange(600), 100, 200, 201, 300])
    answer = fit(WRITERS[format](tmp_path, poses.rows(rows).but(time=np.arange(len(rows)) / RATE)))
    assert (answer.status, answer.codes) == (3, ["repeated-rows"])
    assert answer.told("repeated-rows") == [
        "4 rows repeat the row before in every sensor; the first of each is kept; "
        "record at the rate at which the device measures"
    ]
    assert farthest(answer.lengths(), clean(format)) < TIMED


@pytest.mark.parametrize("seed", CLOCKED, ids=named)
def test_b18_a_repeated_stamp_keeps_the_first_row_in_every_format(tmp_path: Path, seed: Seed) -> None:
    assert seed.time is not None
    lines = seed.but(1, seed.time, seed.cells(0)[seed.time])
    answer = info(tmp_path, seed.format, joined(lines))
    assert answer.status == 3
    assert answer.told("repeated-time") == [REPEATED.format("1 row repeats")]
    assert answer.facts["files"][0]["frames"] == seed.rows - 1


@pytest.mark.parametrize(
    ("format", "jump"), [("npz", -4.0), ("npz", 400.0), ("csv", -4.0), ("ascension", 400.0), ("qualisys", -4.0)]
)
def test_b19_time_that_jumps_begins_a_segment_and_leaves_the_joints(
    tmp_path: Path, poses: Poses, format: str, jump: float
) -> None:
    time = poses.time.copy()
    time[300:] += jump
    words = WRITERS[format](tmp_path, poses.but(time=time))
    answer = fit(words)
    code = "time-backwards" if jump < 0 else "time-jumps"
    assert (answer.status, answer.codes) == (3, [code])
    (finding,) = (one for one in answer.findings if one["code"] == code)
    assert finding["text"] == (
        "time runs backwards in 1 place, first from 4.98333 s to 1 s; "
        "a new segment begins at each, and the joints do not depend on it"
        if jump < 0
        else "time jumps forward in 1 place, first from 4.98333 s to 405 s; "
        "a new segment begins at each; if the recording was not paused, check its clock"
    )
    assert (finding["frame"], finding["count"]) == (300, 1)
    assert condyle("info", *words, "--json").facts["files"][0]["segments"] == 2
    assert farthest(answer.lengths(), clean(format)) < TIMED
    if format != "npz":
        return
    plain = fit(words, "--method", "least-squares")
    assert (
        farthest(plain.lengths(), fit(WRITERS[format](tmp_path, poses), "--method", "least-squares").lengths()) < SAME
    )


@pytest.mark.parametrize("seed", [s for s in CLOCKED if (s.format, s.variant) not in KNOWN_BY_NUMBERS], ids=named)
def test_b19_two_rows_exchanged_are_told_in_every_format(tmp_path: Path, seed: Seed) -> None:
    lines = seed.lines
    lines[-1], lines[-2] = lines[-2], lines[-1]
    answer = info(tmp_path, seed.format, joined(lines))
    assert answer.status == 3
    (text,) = answer.told("time-backwards")
    assert matches(
        "1 row arrived after later ones, first that of <[\\d.e+]+> s after that of <[\\d.e+]+> s: "
        "all rows were put in their order of time; look at what wrote them",
        text,
    )
    assert answer.facts["files"][0]["frames"] == seed.rows


@pytest.mark.parametrize(
    ("format", "text"),
    [
        ("npz", "frame 300: time is not a number; correct or delete that row, or give --rate to count frames instead"),
        ("csv", "line 306, column 1, frame 300: no time in this row; correct or delete it, or give --rate to count frames instead"),
        ("vr", "line 302, column 1, frame 300: no time in this row; correct or delete it, or give --rate to count frames instead"),
        ("columns", "line 301, column 1, frame 300: no time in this row; correct or delete it, or give --rate to count frames instead"),
        ("ascension", "frame 300: time is not a number; correct or delete that row, or give --rate to count frames instead"),
    ],
)  # fmt: skip
def test_b19_a_row_without_time_is_an_error_with_its_place(
    tmp_path: Path, poses: Poses, format: str, text: str
) -> None:
    time = poses.time.copy()
    time[300] = np.nan
    words = WRITERS[format](tmp_path, poses.but(time=time))
    answer = condyle("info", *words)
    assert (answer.status, answer.err) == (1, f"condyle: error: {words[0]}, {text}\n")
    assert fit(words).error["code"] == "bad-time"
    if "--rate" in text:
        counted = fit([*words, "--rate", "60"])
        assert counted.status == 0
        assert farthest(counted.lengths(), clean(format)) < SAME


DELAY = 0.003  # s: of 0.1 s, in 10 s of motion with 4 mm of noise


@pytest.mark.parametrize(
    ("format", "late"),
    [
        ("npz", {"l_forearm": 0.1}),
        ("npz", {"head": 0.0333}),
        ("csv", {"l_forearm": 0.1, "head": 0.0333}),
        ("ascension", {"l_forearm": 0.1, "head": 0.0333}),
    ],
)
def test_b20_late_sensors_are_found_each_with_its_delay(tmp_path: Path, format: str, late: dict[str, float]) -> None:
    take = linkage_take_late(tuple(late.items()))
    words = WRITERS[format](tmp_path, Poses.of(take))
    answer = fit(words)
    assert (answer.status, answer.codes) == (3, ["latency"])
    (finding,) = (one for one in answer.findings if one["code"] == "latency")
    names = [name_in(format, Poses.of(take), k) for k, name in enumerate(take.names) if name in late]
    assert finding["bodies"] == names
    delays = ", ".join(f"{name} +<[\\d.]+> ms" for name in names)
    assert matches(
        f"sensors report late against the others: {delays}; their poses were moved to the time they were measured; "
        "synchronise the sensors if the device can",
        finding["text"],
    ), finding["text"]
    assert finding["value"] == pytest.approx(max(late.values()), abs=DELAY)
    assert farthest(answer.lengths(), clean(format)) < 0.001
    if format != "npz":
        return
    kept = fit(words, "--no-fix", "latency")
    assert "latency" not in kept.codes
    assert farthest(kept.lengths(), clean(format)) > 3 * farthest(answer.lengths(), clean(format))


_late: dict[tuple[tuple[str, float], ...], object] = {}


def linkage_take_late(late: tuple[tuple[str, float], ...]):  # type: ignore[no-untyped-def]
    if late not in _late:
        _late[late] = linkage_take(noise=replace(NOISE, latency=dict(late)))
    return _late[late]


def trajectory(folder: Path, poses: Poses, body: int, step: int, start: float = 0.0) -> str:
    """A TUM file of one body, every `step` frames, on a clock of its own."""
    q = rotation.to_quaternion(poses.R[::step, body])[:, [1, 2, 3, 0]]
    rows = np.column_stack([poses.time[::step] + 1000 + start, poses.p[::step, body], q])
    path = folder / f"{poses.names[body]}.tum"
    path.write_text("".join(" ".join(map(repr, row)) + "\n" for row in rows.tolist()))
    return str(path)


def test_b21_streams_of_different_rates_are_put_on_one_clock_and_that_is_said(tmp_path: Path, poses: Poses) -> None:
    words = [trajectory(tmp_path, poses, k, 1 if k < 3 else 2) for k in range(6)]
    answer = fit(words)
    (finding,) = (one for one in answer.findings if one["code"] == "common-clock")
    assert finding["severity"] == "info"
    assert finding["text"] == (
        "the 6 streams have clocks of their own (60, 60, 60, 30, 30, 30 Hz) and were interpolated onto the clock of "
        "chest; long gaps stay empty"
    )
    assert answer.facts["take"]["frames"] >= 595
    assert farthest(answer.lengths(), clean("npz")) < 0.002
    # Interpolated noise looks smaller than it is, so a sound joint may seem to come apart by more than it explains.
    assert set(answer.codes) <= {"large-residual"}
    assert answer.status == (3 if answer.codes else 0)
