"""Steps in noise that wanders: level and jump together tell them, neither alone does."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from condyle.estimate.edge_blocks import Blocks
from condyle.estimate.fitting import ROBUST, fit_tree
from condyle.faults import jumps
from condyle.faults.jumps import _combine, _find_jumps, _Jumps, _usual_around, find_abrupt_step
from condyle.faults.slips import find_slips
from condyle.faults.steps import GapSeries, GapStep, find_step
from condyle.model.options import FitOptions
from condyle.model.take import Take
from condyle.pairs.fits import gaps
from condyle.simulate import Disturbances, SensorSlip, human, simulate

SLOW = {"position_noise": 0.003, "orientation_noise": np.radians(0.3), "correlation_time": 0.5}
MOMENT = 36.02  # s
ENOUGH = 150.0  # likelihood ratio that the level alone would need


def take_of(*slips: SensorSlip, seed: int = 3, **more: float) -> Take:
    d = Disturbances(slips=slips, **{**SLOW, **more})  # type: ignore[arg-type]
    return simulate(human(), "exercise", seconds=45, rate=30, seed=seed, disturbances=d).take


def look(take: Take) -> tuple[GapStep | None, GapStep | None]:
    """What level and jump tell together, and what the level tells alone."""
    solution = fit_tree(take, [], FitOptions(), ROBUST).solution
    gap = gaps(take, *solution.joints)
    blocks = Blocks(take, replace(solution, weight=np.isfinite(gap).all(axis=2).astype(np.float64)))
    joints = GapSeries.of_joints(blocks, range(len(solution.pairs)))
    bodies = range(take.bodies)
    return find_abrupt_step(take, solution, blocks.first, joints, bodies, 9), find_step(joints, bodies, 9, ENOUGH)


@pytest.mark.parametrize("body", ["r_upper_arm", "head"])
def test_a_step_that_slow_noise_hides_from_the_level_is_seen_with_its_jump(body: str) -> None:
    take = take_of(SensorSlip(body, MOMENT, (0.006, 0.0, 0.008)))
    both, alone = look(take)
    assert alone is None
    assert both is not None
    assert take.names[both.body] == body
    assert both.frame == int(np.searchsorted(take.time, MOMENT))


@pytest.mark.parametrize("seed", range(4))
def test_slow_noise_by_itself_has_no_step(seed: int) -> None:
    assert look(take_of(seed=seed)) == (None, None)


def test_a_jump_that_goes_back_at_once_is_no_step() -> None:
    take = take_of()
    p = take.p_world_body.copy()
    p[1080, take.index("l_shank")] += 0.05
    assert look(replace(take, p_world_body=p))[0] is None


def test_a_level_that_changes_without_a_jump_is_not_told_as_abrupt() -> None:
    take = take_of()
    k, p = take.index("l_shank"), take.p_world_body.copy()
    way = np.clip((take.time - 34.0) / 4.0, 0, 1)[:, None] * np.array([0.006, 0.0, 0.008])
    p[:, k] += np.einsum("nij,nj->ni", take.R_world_body[:, k], way)
    assert look(replace(take, p_world_body=p))[0] is None


def test_a_border_between_two_recordings_is_no_jump() -> None:
    take = take_of(SensorSlip("l_shank", MOMENT, (0.006, 0.0, 0.008)))
    border = int(np.searchsorted(take.time, MOMENT))
    parted = replace(take, segment=(np.arange(take.frames) >= border).astype(np.int64))
    assert look(parted)[0] is None


def test_the_slip_has_the_frame_of_its_jump() -> None:
    take = take_of(SensorSlip("l_shank", MOMENT, (0.006, 0.0, 0.008)))
    [slip] = find_slips(take, fit_tree(take, [], FitOptions(), ROBUST).solution)
    assert (slip.body, slip.frame) == ("l_shank", int(np.searchsorted(take.time, MOMENT)))
    assert slip.size == pytest.approx(0.01, abs=0.004)


def jumping(steps: dict[int, float], loud: slice, frames: int = 700) -> _Jumps:
    """The jumps of a body that steps along x by so many millimetres from frames on, ten times as loud in `loud`."""
    p = 0.2 * np.random.default_rng(8).standard_normal((frames, 2, 3))
    p[loud] *= 10
    for frame, size in steps.items():
        p[frame:, 0, 0] += size
    take = Take.from_poses(0.001 * p, R_world_body=np.broadcast_to(np.eye(3), (frames, 2, 3, 3)), rate=30)
    whole = SimpleNamespace(pairs=np.array([[0, 1]]), p_child_joint=np.zeros((1, 3)), p_parent_joint=np.zeros((1, 3)))
    return _find_jumps(take, whole, 0)


def test_the_three_largest_jumps_of_a_body_are_looked_at_each_against_the_noise_around_it() -> None:
    found = jumping({100: 5.0, 200: 4.0, 300: 3.0, 400: 1.5}, slice(500, 700))
    assert found.frame.tolist() == [100, 200, 300]
    np.testing.assert_allclose(found.step[:, 0], [0.005, 0.004, 0.003], atol=0.0008)
    assert (np.diff(found.information * np.square(found.step).sum(axis=1)) < 0).all()


def test_a_jump_is_looked_for_in_a_second_of_frames_and_not_in_less() -> None:
    none = slice(0, 0)
    assert 20 in jumping({20: 4.0}, none, frames=32).frame  # a frame at either end has none before or after
    assert len(jumping({20: 4.0}, none, frames=31).frame) == 0


def test_what_is_usual_around_a_frame_is_the_mean_of_those_that_share_no_frame_with_it(rng) -> None:
    ratio, near, reach = rng.exponential(3.0, 60), 2, 9
    found = _usual_around(ratio, near, reach)
    for k in range(reach, 60 - reach):
        before, after = ratio[k - reach : k - 2 * near + 1], ratio[k + 2 * near : k + reach + 1]
        assert found[k] == pytest.approx(max(before.mean(), after.mean()))


def test_a_jump_that_is_gross_at_one_joint_does_not_tell_how_joints_share_them(rng: np.random.Generator) -> None:
    jump = rng.normal(0, 0.001, (400, 2, 3))
    step, information = _combine(jump)
    jump[::20, 0] += 0.1
    again, with_gross = _combine(jump)
    assert with_gross == pytest.approx(information, rel=0.1)
    np.testing.assert_allclose(again[1:19], step[1:19], atol=1e-4)


def test_a_jump_counts_against_the_third_largest_of_the_others() -> None:
    none = slice(0, 0)
    alone, among = jumping({100: 5.0}, none), jumping({100: 5.0, 200: 5.0, 300: 5.0}, none)
    worth = [one.information[0] * float(np.square(one.step[0]).sum()) for one in (alone, among)]
    assert min(worth) > 120
    four = jumping({100: 5.0, 200: 5.0, 300: 5.0, 400: 5.0}, none)
    assert four.information[0] * float(np.square(four.step[0]).sum()) < 50


def test_level_and_jump_must_both_witness_a_step() -> None:
    blocks, first = 40, np.arange(0, 400, 10)
    for of_jump, of_level, told in ((25.0, 25.0, True), (12.0, 40.0, False), (40.0, 12.0, False)):
        found = _Jumps(np.array([200]), np.array([[0.01, 0, 0]]), np.array([of_jump / 0.01**2]))
        gradient = np.zeros((blocks, 3))
        gradient[:, 0] = of_level / 0.01
        level = jumps._Level(
            gradient, np.tile(of_level / 0.01**2 * np.eye(3), (blocks, 1, 1)), np.full(blocks, of_level)
        )
        steps = jumps._match(3, found, level, first, 5)
        assert bool(steps) == told, (of_jump, of_level)
        for step in steps:
            assert (step.body, step.frame) == (3, 200)
            assert step.ratio == pytest.approx(of_jump + of_level, rel=0.01)


def test_a_step_stands_out_from_what_both_show_by_chance_and_from_what_bodies_usually_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = Take("abcde", np.arange(10) / 30, np.tile(np.eye(3), (10, 5, 1, 1)), np.zeros((10, 5, 3)))  # type: ignore[arg-type]
    joints = [SimpleNamespace(bodies=(k, k + 1)) for k in range(4)]
    monkeypatch.setattr(jumps, "_find_jumps", lambda *_: None)
    for usual, first, both, told in [
        (10.0, 100.0, 50.0, False),
        (10.0, 100.0, 90.0, True),
        (10.0, 12.0, 90.0, False),  # the level alone shows next to nothing
        (10.0, 30.0, 90.0, True),
        (40.0, 30.0, 90.0, False),  # all bodies have as much
        (40.0, 60.0, 90.0, True),
    ]:

        def measure(_: object, body: int, usual=usual, first=first) -> jumps._Level:
            return jumps._Level(np.zeros((40, 3)), np.zeros((40, 3, 3)), np.full(40, first if body == 0 else usual))

        def match(body: int, *_: object, both=both) -> list[GapStep]:
            return [GapStep(body, 20, both if body == 0 else 0.0)]

        monkeypatch.setattr(jumps, "_level", measure)
        monkeypatch.setattr(jumps, "_match", match)
        found = find_abrupt_step(take, None, None, joints, range(5), 5)  # type: ignore[arg-type]
        assert (found is not None) == told, (usual, first, both)
