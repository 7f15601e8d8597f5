"""What was recorded before sensors were moved back comes back from the slips of the skeleton."""

from __future__ import annotations

import numpy as np

import condyle
from condyle.faults.slips import move_back
from condyle.model.clock import Clock
from condyle.model.skeleton import Slip
from condyle.report.recorded import find_recorded_gaps, list_slips, sum_slips
from condyle.simulate import human, simulate

EXACT_M = 1e-9


def test_gaps_of_a_take_move_back_are_those_that_were_recorded() -> None:
    world = simulate(human(), "exercise", seconds=10, seed=3)
    skeleton = condyle.fit(world.take).skeleton
    slips = (
        Slip("l_shank", 100, float(world.take.time[100]), np.array([0.02, 0, 0]), np.array([0, 0.1, 0]), 1.0),
        Slip("l_shank", 200, float(world.take.time[200]), np.array([0, 0.03, 0]), np.array([0.2, 0, 0]), 1.0),
    )
    skeleton = condyle.Skeleton(**{**vars(skeleton), "slips": slips})
    back = move_back(world.take, slips)  # as if the take had been recorded with these slips
    rows = np.arange(back.frames)
    found = find_recorded_gaps(skeleton, back, rows)
    for k, joint in enumerate(skeleton.joints):
        child, parent = world.take.index(joint.child), world.take.index(joint.parent)
        R, p = world.take.R_world_body, world.take.p_world_body
        apart = p[:, child] + R[:, child] @ joint.p_child_joint - p[:, parent] - R[:, parent] @ joint.p_parent_joint
        if "l_shank" in (joint.child, joint.parent):
            assert np.isnan(found[:100, k]).all()
            assert np.abs(found[100:, k] - np.linalg.norm(apart[100:], axis=1)).max() < EXACT_M
        else:
            assert np.isnan(found[:, k]).all()


def test_each_slip_lasts_until_the_next_of_its_sensor_and_they_add_up() -> None:
    time = np.arange(300) / 30
    shift = np.array([0.01, 0.0, 0.0])
    one, two = Slip("a", 30, 1.0, shift, np.zeros(3), 1.0), Slip("a", 90, 3.0, shift, np.zeros(3), 1.0)
    skeleton = condyle.Skeleton(("a", "b"), (), ("a", "b"), (), slips=(one, two))
    first, second = list_slips(skeleton, Clock.of(time, np.zeros(300, np.int64)))
    assert (first.start, first.end) == (1.0, 3.0)
    assert second.end > time[-1]
    assert second.shift == (0.02, 0.0, 0.0)
    assert np.allclose(sum_slips([one, two])[1], 2 * shift)
