from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.take import Take
from condyle.prepare.repeats import find_repeats, find_runs
from condyle.simulate import human, simulate

TAKE = simulate(human(), seconds=2, rate=50, seed=1).take


def test_a_pose_that_repeats_whole_has_its_place_again_and_a_place_alone_is_no_pose() -> None:
    p, R = TAKE.p_world_body.copy(), TAKE.R_world_body.copy()
    p[10:15, 3], p[40:42, 3] = p[9, 3], p[39, 3]
    R[10:13, 3] = R[9, 3]
    poses, places = find_repeats(replace(TAKE, p_world_body=p, R_world_body=R))
    assert np.flatnonzero(places[:, 3]).tolist() == [10, 11, 12, 13, 14, 40, 41]
    assert np.flatnonzero(poses[:, 3]).tolist() == [10, 11, 12]
    assert places.sum() == 7
    assert poses.sum() == 3


def test_one_coordinate_that_repeats_is_no_place() -> None:
    p = TAKE.p_world_body.copy()
    p[10, 3, 0] = p[9, 3, 0]
    assert not find_repeats(replace(TAKE, p_world_body=p))[1].any()


def test_the_first_frame_of_a_segment_repeats_nothing() -> None:
    p = np.broadcast_to(TAKE.p_world_body[:1], TAKE.p_world_body.shape)
    take = replace(TAKE, p_world_body=p, segment=np.repeat([0, 1], 50))
    assert np.flatnonzero(~find_repeats(take)[1][:, 0]).tolist() == [0, 50]


@pytest.mark.parametrize(
    ("fresh", "longest"),
    [
        (range(0, 100, 2), 4),
        (range(0, 100, 6), 9),  # as long as usual, and half as long again
        ([*range(0, 60, 6), *range(84, 100, 6)], 9),  # held once
        ([*range(30), *range(60, 100)], 4),  # held once, and else never
        ([*range(0, 20, 2), *range(20, 50, 10), *range(50, 100, 5)], 4),  # of all lengths
    ],
)
def test_runs_that_are_alike_are_those_of_a_slower_clock(fresh: Sequence[int], longest: float) -> None:
    alike = ~np.isin(np.arange(TAKE.frames), fresh)
    assert find_runs(TAKE, 3, alike).measure_polled() == longest


def test_runs_have_their_first_sample_their_length_and_the_steps_into_them_and_out() -> None:
    p = TAKE.p_world_body.copy()
    p[10:15, 3] = p[9, 3]
    take = replace(TAKE, p_world_body=p)
    runs = find_runs(take, 3, find_repeats(take)[1][:, 3])
    (k,) = np.flatnonzero(runs.length > 1)
    assert (runs.rows[runs.first[k]], runs.length[k]) == (9, 6)
    assert runs.shift[k] == np.linalg.norm(p[9, 3] - p[8, 3])
    assert runs.after(runs.shift)[k] == np.linalg.norm(p[15, 3] - p[14, 3])


def stop_at(step: float, steps: np.ndarray, held: int = 30) -> np.ndarray:
    """(n,) ends of a path along x of these steps [m], a last one, and a place that is held."""
    return np.cumsum([0.0, *steps, step, *[0.0] * held])


def cut_off(x: np.ndarray) -> bool:
    """Whether the last run of a sensor that goes along x (n,) [m], and does not turn, is one that was held."""
    p = x[:, None, None] * [1.0, 0, 0]
    take = Take(["a"], np.arange(len(x)) / 50, np.broadcast_to(np.eye(3), (len(x), 1, 3, 3)), p)
    return bool(find_runs(take, 0, find_repeats(take)[1][:, 0]).find_cut_off()[-1])


def test_a_sensor_that_was_slower_often_and_went_on_does_not_stop_by_itself(rng: np.random.Generator) -> None:
    steps = rng.uniform(0.002, 0.02, 200)
    assert cut_off(stop_at(0.004, steps))
    assert not cut_off(stop_at(0.004, steps)[:-26])  # for a moment only
    assert not cut_off(stop_at(0.0021, steps))  # at its slowest it may have come to rest
    assert not cut_off(stop_at(0.004, np.append(steps, np.repeat([0.0, 0.005], [10, 1]))))  # as it did before
    assert not cut_off(stop_at(0.002, 0.001 * rng.integers(1, 6, 200)))  # few decimals
    slowing = 0.02 * np.linspace(1, 0.02, 100)
    assert not cut_off(stop_at(0.0002, slowing))


def test_a_stop_is_one_by_its_turn_as_well_as_by_its_step(rng: np.random.Generator) -> None:
    angle = stop_at(0.004, rng.uniform(0.002, 0.02, 200))
    R = rotation.from_vector(angle[:, None, None] * [0, 0, 1.0])
    p = stop_at(1e-5, 0.01 * np.ones(200))[:, None, None] * [1.0, 0, 0]
    take = Take(["a"], np.arange(len(angle)) / 50, R, p)
    assert find_runs(take, 0, find_repeats(take)[0][:, 0]).find_cut_off()[-1]


def test_what_brakes_before_it_stops_comes_to_rest_by_itself(rng: np.random.Generator) -> None:
    """Machines whose poses are known without noise lost the rows in which they park, after 40 moves or more."""
    steps = rng.uniform(0.0001, 0.02, 400)
    for phase in (0.5, 0.7, 0.99):
        braking = 0.0025 * np.diff((np.arange(6) + phase) ** 2)[::-1]
        assert not cut_off(stop_at(0.0025 * phase**2, np.append(steps, braking)))
        assert cut_off(stop_at(0.004, np.append(steps, braking)))  # in the midst of it
