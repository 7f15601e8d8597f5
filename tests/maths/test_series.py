from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.maths.series import (
    average_runs,
    block_medians,
    block_starts,
    correlated_square_sum,
    count_frames,
    cut_blocks,
    even_places,
    even_step,
    find_held_frames,
    find_known_around,
    find_packets,
    find_runs,
    follow_turns,
    mean_step,
    segment_slices,
    spread_packets,
    sum_from_end,
    usual_step,
)

EXACT = 1e-12  # s, and shares of a frame


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_each_row_has_all_behind_it_added(rows: int, rng: np.random.Generator) -> None:
    values = rng.standard_normal((rows, 3))
    np.testing.assert_allclose(sum_from_end(values.copy()), np.cumsum(values[::-1], axis=0)[::-1], rtol=EXACT)


@pytest.mark.parametrize("count", [[4, 4, 4], [1, 1, 1], [3, 3, 5, 2]])
def test_runs_are_averaged_whatever_their_lengths(count: list[int], rng: np.random.Generator) -> None:
    values = rng.standard_normal((sum(count), 5))
    values[1, 2] = np.nan
    start = np.cumsum([0, *count[:-1]])
    expected = [values[a : a + k].mean(axis=0) for a, k in zip(start, count, strict=True)]
    np.testing.assert_allclose(average_runs(values, start, np.array(count)), expected, atol=EXACT)


def test_the_last_known_frame_of_a_segment_is_held_and_before_it_the_first() -> None:
    known = np.array([False, True, False, False, True, False, False, False, True], bool)
    segment = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2])
    assert find_held_frames(known, segment).tolist() == [1, 1, 1, 1, 4, -1, -1, 8, 8]
    assert find_held_frames(np.zeros(0, bool), np.zeros(0, np.int64)).tolist() == []


def test_the_known_frames_around_each_are_of_its_segment() -> None:
    before, after = find_known_around(np.array([False, True, False, False, True]), np.array([0, 0, 0, 1, 1]))
    assert before.tolist() == [-1, 1, 1, -1, 4]
    assert after.tolist() == [1, 1, 5, 4, 4]


def test_segments_are_runs_of_frames() -> None:
    assert segment_slices(np.array([0, 0, 2, 1, 1])) == [slice(0, 2), slice(2, 3), slice(3, 5)]
    assert segment_slices(np.zeros(0, np.int64)) == [slice(0, 0)]


def test_an_even_clock_needs_nothing_and_small_jitter_is_even() -> None:
    time = 5 + np.arange(100) / 120
    assert even_places(time) is None
    assert even_places(np.round(time, 3)) is None
    assert even_places(time[:1]) is None
    assert mean_step(time) == pytest.approx(1 / 120)
    assert mean_step(time[:1]) == 0.01


def test_lost_frames_are_found_again_at_the_usual_rate() -> None:
    time = np.delete(np.arange(50) / 10, [20, 21])
    places = even_places(time)
    assert places is not None
    np.testing.assert_allclose(places.clock, np.arange(50) / 10, atol=EXACT)
    np.testing.assert_allclose(places.share[[19, 20, 21, 22]], [0, 1 / 3, 2 / 3, 0], atol=1e-9)
    assert places.before[20] == 19


def test_another_rate_reaches_from_the_first_frame_to_the_last() -> None:
    places = even_places(np.arange(11) / 10, 0.025)
    assert places is not None
    assert len(places.clock) == 41
    np.testing.assert_allclose(places.before + places.share, np.arange(41) / 4, atol=1e-9)
    assert even_places(np.arange(11) / 10, 0.1) is None


def test_blocks_hold_all_values_in_their_order_and_end_with_nan() -> None:
    table = cut_blocks(np.arange(10.0).reshape(5, 2), 3)
    assert table.shape == (3, 2, 2)
    np.testing.assert_array_equal(table[:, 0, 0], [0, 2, 4])
    np.testing.assert_array_equal(table[:, 1, 1], [7, 9, np.nan])
    assert cut_blocks(np.zeros((6, 1)), 3).shape == (3, 2, 1)


def test_neighbours_that_go_along_make_the_sum_of_squares_larger_and_those_that_alternate_do_not() -> None:
    assert correlated_square_sum(np.array([1.0, 1.0, -1.0, -1.0])) == 4.0 + 2 * 1.0
    assert correlated_square_sum(np.array([1.0, -1.0, 1.0, -1.0])) == 4.0


def test_blocks_do_not_cross_segments_and_have_medians_of_what_is_known() -> None:
    first = block_starts(np.array([0, 0, 0, 1, 1]), 2)
    np.testing.assert_array_equal(first, [0, 2, 3])
    values = np.array([[1.0], [3.0], [np.nan], [5.0], [np.nan]])
    np.testing.assert_array_equal(block_medians(values, first), [[2.0], [np.nan], [5.0]])


def in_packets(frames: int = 756, size: int = 18, within: float = 5e-5, rate: float = 360.0) -> np.ndarray:
    """Times of frames that are stamped when their packet arrives, with its last one."""
    k = np.arange(frames)
    return (k - k % size + size - 1) / rate + (k % size - size + 1) * within


@pytest.mark.parametrize("size", [2, 3, 7, 18])
@pytest.mark.parametrize("within", [0.0, 1e-9, 5e-5, 3e-4])
def test_the_rate_of_packets_is_that_of_their_duration(size: int, within: float) -> None:
    time = in_packets(size=size, within=within)
    assert usual_step(np.diff(time)) == pytest.approx(1 / 360, rel=1e-3)
    packets = find_packets(np.diff(time))
    assert packets is not None
    spread = spread_packets(time, np.zeros(len(time), np.int64), packets)
    assert np.diff(spread) == pytest.approx(np.full(755, 1 / 360), rel=1e-2)
    assert spread[-1] == time[-1]


def test_packets_of_other_sizes_and_lost_ones_do_not_change_the_rate(rng: np.random.Generator) -> None:
    tick = np.ceil(np.arange(1999) / 360 / 0.016) * 0.016  # five or six frames each
    time = tick + 2e-5 * (np.arange(1999) - np.searchsorted(tick, tick))
    lost = rng.choice(np.unique(tick), 20, replace=False)
    kept = time[~np.isin(tick, lost)]
    packets = find_packets(np.diff(kept))
    assert packets is not None
    assert 1 / packets.step == pytest.approx(360, rel=0.01)
    spread = spread_packets(kept, np.zeros(len(kept), np.int64), packets)
    assert (np.diff(spread) > 3 / 360).sum() == 20 - (np.diff(np.sort(lost)) < 0.017).sum()


def test_frames_that_a_program_was_late_to_fetch_lie_on_the_clock_of_the_device(rng: np.random.Generator) -> None:
    measured = np.arange(3000) / 360
    fetched = np.cumsum(np.where(rng.random(2000) < 0.02, 0.1, rng.uniform(0.001, 0.012, 2000)))  # held up at times
    which = np.searchsorted(fetched, measured)
    arrived = fetched[which] + 3e-5 * (np.arange(3000) - np.searchsorted(which, which))
    packets = find_packets(np.diff(arrived))
    assert packets is not None
    assert 1 / packets.step == pytest.approx(360, rel=0.02)
    spread = spread_packets(arrived, np.zeros(3000, np.int64), packets)
    assert (np.diff(spread) >= packets.step * (1 - 1e-6)).all()
    assert np.diff(spread).max() < 5 / 360
    assert np.abs(spread - measured).max() < 0.1 < np.abs(arrived - measured).max() + 0.01


@pytest.mark.parametrize("lost", [0.0, 0.05, 0.3, 0.6, 0.8])
def test_frames_that_were_lost_or_tremble_are_no_packets(lost: float, rng: np.random.Generator) -> None:
    time = np.arange(3000)[rng.random(3000) >= lost] / 60
    assert find_packets(np.diff(time)) is None
    assert find_packets(np.diff(time + rng.uniform(-0.4, 0.4, len(time)) / 60)) is None


def test_a_step_that_no_clock_counts_is_no_step() -> None:
    assert np.isnan(usual_step(np.zeros(0)))
    assert np.isnan(usual_step(np.full(50, 5e-324)))
    assert usual_step(np.full(50, 1e-9)) == 1e-9


def test_an_even_clock_makes_no_frames_without_number() -> None:
    time = np.concatenate([1e-3 * np.arange(60), [0.95]])  # nearly all of it is one step
    assert even_step(time) == pytest.approx(1e-3)
    time = np.concatenate([3e-4 * np.arange(60), [0.95]])
    assert even_step(time) == pytest.approx(0.95 / 60 / 20)
    places = even_places(time)
    assert places is not None
    assert len(places.clock) <= 20 * len(time)


def test_turns_are_those_that_something_else_tells_also_beyond_a_gap(rng: np.random.Generator) -> None:
    true = np.linspace(0, 60, 300)
    known = np.angle(np.exp(1j * (true + 1.0)))  # up to whole turns, from another zero
    known[100:160] = np.nan
    found = follow_turns(known, true + rng.normal(0, 0.8, 300), np.zeros(300, np.int64))
    off = found - true
    assert np.ptp(np.delete(off, np.arange(100, 160))) < 1e-9
    assert abs(off[0]) < 0.5  # the zero is that of the other
    assert np.abs(np.diff(found)).max() < 1  # what is not known goes on evenly
    np.testing.assert_array_equal(follow_turns(np.full(4, np.nan), np.zeros(4), np.zeros(4, np.int64)), np.zeros(4))


INTEGERS = ("int", "round", "ceil", "floor", "rint", "trunc", "astype")
OF_TIME = re.compile(r"(^|_)(rate|fps|hz|seconds|step|period|time|duration|span)$|_S$|_HZ$")
NO_FRAMES = {  # function that makes whole numbers of times, rates or steps, and why they are no count of frames
    "estimate/registration.py _find_lags": "makes the frames, by a step that even_step limits",
    "io/exports/mcap.py _write_part": "stamps in another unit",
    "io/motion_file.py __getitem__": "steps are of a slice",
    "live/excerpt.py _forget": "the number of a second of the session",
    "live/excerpt.py add": "the number of a second of the session",
    "live/transforms.py send": "stamps in another unit",
    "prepare/latency.py _bracket": "the sample that a delay reaches, as far as delays may",
    "prepare/latency.py _multiply_bands": "bands of frequencies, each of a frequency there is",
    "report/pack.py _steps": "steps are of a length or a turn",
    "report/recorded.py show_recorded": "steps are of a length",
    "simulate/contacts.py plant_feet": "the foot that stands",
    "simulate/disturb.py _spoil_samples": "runs of frames that may be longer than the simulation",
    "simulate/disturb.py run_mask": "runs of frames that may be longer than the simulation",
    "simulate/motions.py clock": "a simulation makes its frames",
}


def find_counts(source: str) -> Iterator[tuple[str, int]]:
    """(function, line) of every whole number that is made of a product or quotient of times or rates."""
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        calls = [call for call in ast.walk(function) if isinstance(call, ast.Call)]
        counted = {one for call in calls if name_of(call) == "count_frames" for one in ast.walk(call)}
        for call in calls:
            if call not in counted and any(is_of_time(part) for part in list_counted(call)):
                yield function.name, call.lineno


def list_counted(call: ast.Call) -> list[ast.AST]:
    """What a call makes whole numbers of: products and quotients in its arguments, or the step of a range."""
    name = name_of(call)
    if name == "arange" and len(call.args) > 2:
        return [call.args[2]]
    inside = [call.func.value] if name == "astype" and isinstance(call.func, ast.Attribute) else call.args
    parts = [part for one in inside if name in INTEGERS for part in ast.walk(one)]
    return [p for p in parts if isinstance(p, ast.BinOp) and isinstance(p.op, ast.Mult | ast.Div | ast.FloorDiv)]


def name_of(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def is_of_time(part: ast.AST) -> bool:
    names = (getattr(one, "attr", getattr(one, "id", "")) for one in ast.walk(part))
    return any(OF_TIME.search(name) for name in names)


def test_no_other_function_makes_a_count_of_frames_from_seconds() -> None:
    package = Path(condyle.__file__).parent
    found = {
        f"{path.relative_to(package).as_posix()} {function}": line
        for path in package.rglob("*.py")
        for function, line in find_counts(path.read_text(encoding="utf-8"))
    }
    assert {place: line for place, line in found.items() if place not in NO_FRAMES} == {}
    assert set(NO_FRAMES) <= set(found), "excused, and there no longer"


@pytest.mark.parametrize(
    "body", ["round(seconds * take.rate)", "int(WINDOW_S / step)", "(t / period).astype(int)", "np.arange(a, b, step)"]
)
def test_a_count_from_seconds_by_itself_is_found(body: str) -> None:
    assert list(find_counts(f"def f(x):\n    return {body}\n")) == [("f", 2)]


@pytest.mark.parametrize(
    ("frames", "most", "nearest", "whole"),
    [(2.6, 10, 3, 2), (1e30, 10, 10, 10), (np.inf, 10, 10, 10), (np.nan, 10, 0, 0), (-5.0, 10, 0, 0), (0.4, 0, 0, 0)],
)
def test_a_count_from_seconds_is_at_most_the_frames_there_are(
    frames: float, most: int, nearest: int, whole: int
) -> None:
    assert count_frames(frames, most) == nearest
    assert count_frames(frames, most, whole=True) == whole


@pytest.mark.parametrize(
    ("flags", "runs"),
    [("", []), ("000", []), ("1", [(0, 1)]), ("0110", [(1, 3)]), ("10011", [(0, 1), (3, 5)])],
)
def test_runs_are_from_a_flag_to_the_first_without(flags: str, runs: list[tuple[int, int]]) -> None:
    assert find_runs(np.array([flag == "1" for flag in flags], bool)) == runs
