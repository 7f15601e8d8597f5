"""Frames outside of a sample are treated as the sample was: each its own, and none twice."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from condyle import Take, write_take
from condyle.faults.part_time import PartTime
from condyle.faults.slips import Slip, moved_back
from condyle.io.formats import ReadOptions
from condyle.model.field import FieldModel
from condyle.model.options import FitOptions
from condyle.prepare.dropouts import prepare
from condyle.prepare.latency import without_latency
from condyle.prepare.read import load
from condyle.simulate import Disturbances, linkage, simulate
from condyle.source import blocks
from condyle.source.blocks import AllFrames, Places, Treatment, rows_in
from tests.make.long_files import count_as_long

SAME = 1e-9  # m and 1
PLACES = Places(10, 14, np.array([0, 1, 50, 51]), 100)  # of a file of 100 frames, rows 10 to 13 of a take


@pytest.fixture(autouse=True)
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    count_as_long(monkeypatch, frames=400)
    monkeypatch.setattr(blocks, "FEWEST", 300)
    monkeypatch.setattr(blocks, "STACK_KEPT_BYTES", 0)


def recording(**how: object) -> Take:
    disturbances = Disturbances(position_noise=0.002, orientation_noise=0.003, **how)  # type: ignore[arg-type]
    return simulate(linkage(), seconds=30, rate=60, seed=1, disturbances=disturbances).take


def through(folder: Path, take: Take, options: FitOptions | None = None, **done: object) -> tuple[Take, list]:
    """All frames of a take's file that come out of the blocks, and the blocks; a sample that was only read."""
    path = folder / "take.csv"
    write_take(path, take)
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        treatment = Treatment(options or FitOptions(prepare=False), loaded.take, loaded.take, **done)  # type: ignore[arg-type]
        got = list(AllFrames(loaded.long, treatment))
    parts = [block.take for block in got]
    joined = Take(
        parts[0].names,
        np.concatenate([part.time for part in parts]),
        np.concatenate([part.R_world_body for part in parts]),
        np.concatenate([part.p_world_body for part in parts]),
    )
    return joined, got


def assert_same(a: Take, b: Take) -> None:
    assert a.names == b.names
    np.testing.assert_array_equal(a.time, b.time)
    np.testing.assert_array_equal(a.seen, b.seen)
    np.testing.assert_allclose(a.p_world_body, b.p_world_body, atol=SAME)
    np.testing.assert_allclose(a.R_world_body, b.R_world_body, atol=SAME)


def test_every_frame_comes_once_and_as_it_was_written(tmp_path: Path) -> None:
    take = recording(missing=0.05)
    joined, got = through(tmp_path, take)
    assert_same(joined, take)
    np.testing.assert_array_equal(np.concatenate([block.number for block in got]), np.arange(take.frames))
    assert len(got) == 6


def test_a_delay_is_taken_away_over_the_borders_of_blocks(tmp_path: Path) -> None:
    take = recording()
    delay = np.array([0, 0.03, 0, 0, -0.02, 0])
    joined, _ = through(tmp_path, take, delay=delay)
    assert_same(joined, without_latency(take, delay))


def test_dropouts_and_repeats_are_prepared_over_the_borders_of_blocks(tmp_path: Path) -> None:
    take = recording(stale=0.02)
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    R[[299, 300, 301, 700], 2], p[[299, 300, 301, 700], 2] = np.eye(3), 0.0
    R[900], p[900] = R[899], p[899]  # a row that repeats whole is dropped
    spoilt = Take(take.names, take.time, R, p)
    wanted = prepare(spoilt)
    assert wanted.frames == take.frames - 1
    assert_same(through(tmp_path, spoilt, FitOptions())[0], wanted)


def test_scale_field_and_room_reach_every_frame(tmp_path: Path) -> None:
    take = recording()
    field = FieldModel(np.array([[0.0, 0, 1], [0.5, 0, 1]]), 0.5, np.full((2, 3), 0.05), np.full((2, 3), 0.1), 1.1)
    joined, _ = through(tmp_path, take, FitOptions(prepare=False, scale=2.0, world=True), field=field, bend=field)
    twice = Take(take.names, take.time, take.R_world_body, 2 * take.p_world_body)
    wanted = field.corrected(field.corrected(twice))
    assert joined.names == (*take.names, "world")
    np.testing.assert_array_equal(joined.p_world_body[:, -1], 0)
    assert_same(joined.select(take.names), wanted)


def test_a_slip_is_moved_back_from_the_frame_on_and_left_out_where_it_may_have_been(tmp_path: Path) -> None:
    take = recording()
    path = tmp_path / "take.csv"
    write_take(path, take)
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        place = loaded.long[0].place
    row = int(np.flatnonzero(np.diff(place) > 1)[12]) + 1  # the first of a stretch
    slip = Slip("l_forearm", row, 0.0, np.array([0.01, 0.02, 0.03]), np.array([0.1, 0, 0]), 999.0)
    moment = int(place[row])
    wanted = moved_back(take, [Slip("l_forearm", moment, 0.0, slip.shift, slip.turn, 999.0)])
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    hidden[place[row - 1] + 1 : moment, take.index("l_forearm")] = True
    assert hidden.any()
    assert_same(through(tmp_path, take, slips=[slip])[0], wanted.mask(hidden))


def test_a_sensor_is_left_out_while_its_joint_does_not_hold(tmp_path: Path) -> None:
    take = recording()
    path = tmp_path / "take.csv"
    write_take(path, take)
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        place, frames = loaded.long[0].place, loaded.take.frames
    holds = np.ones(frames, dtype=bool)
    holds[100:200] = False
    part = PartTime("l_forearm", "l_upper_arm", holds, ((0.0, 1.0),), 0.1, 0.001, "l_forearm")
    joined, _ = through(tmp_path, take, part_time=[part])
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    hidden[place[99] + 1 : place[200], take.index("l_forearm")] = True
    assert_same(joined, take.mask(hidden))


@pytest.mark.parametrize(
    ("row", "wanted"),
    [(3, (0, 0)), (10, (0, 0)), (11, (1, 1)), (12, (2, 50)), (13, (51, 51)), (14, (52, 100)), (20, (100, 100))],
)
def test_what_begins_with_a_row_of_the_sample_begins_in_the_file(row: int, wanted: tuple[int, int]) -> None:
    assert PLACES.begins(row) == wanted


def test_what_holds_before_and_after_a_frame_holds_there() -> None:
    holds = np.zeros(30, dtype=bool)
    holds[[10, 11, 12]] = True
    got = PLACES.holds(holds, np.array([0, 1, 20, 49, 50, 51, 99]))
    np.testing.assert_array_equal(got, [True, True, True, True, True, False, False])


def test_rows_of_a_part_are_found_by_segment_and_time() -> None:
    take = recording()
    whole = Take(take.names, take.time % 5, take.R_world_body, take.p_world_body, np.arange(take.frames) // 300)
    rows = np.sort(np.random.default_rng(0).choice(take.frames, 700, replace=False))
    np.testing.assert_array_equal(rows_in(whole.at(rows), whole), rows)
    np.testing.assert_array_equal(rows_in(whole, whole), np.arange(take.frames))
