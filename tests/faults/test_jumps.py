"""Steps in noise that wanders: level and jump together tell them, neither alone does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.estimate.fitting import ROBUST, fit_tree
from condyle.estimate.intervals import Blocks
from condyle.faults.jumps import find_abrupt_step
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
