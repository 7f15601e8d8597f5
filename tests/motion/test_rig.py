from __future__ import annotations

import numpy as np

from condyle import forward
from condyle.model.motion import find_reference
from condyle.motion.pose_solver import settle
from condyle.motion.rig import build_rig, build_state, hold_unknown, restore_state, store
from tests.make import jointed


def test_a_state_holds_a_motion_and_gives_it_back(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 9, 2, 1, jointed.KINDS)
    motion = jointed.motion(rng, skeleton, 7)
    poses = forward(skeleton, motion)
    rig = build_rig(skeleton, find_reference(skeleton, motion.R_parent_body))
    for state in (
        restore_state(rig, motion.R_parent_body, poses.p_world_body),
        build_state(rig, poses.R_world_body, poses.p_world_body),
    ):
        R, p = store(rig, settle(rig, state))
        np.testing.assert_allclose(R, motion.R_parent_body, atol=1e-9)
        np.testing.assert_allclose(p, poses.p_world_body, atol=1e-9)


def test_parents_come_before_children_and_groups_cover_every_row_once(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 12, 2, 2, jointed.KINDS)
    rig = build_rig(skeleton, np.tile(np.eye(3), (14, 1, 1)))
    assert sorted(rig.bodies) == list(range(14))
    assert (rig.parent < np.arange(14)).all()
    assert [k for group in rig.groups for k in range(group.own.start, group.own.stop)] == list(range(14))
    for row, parent in enumerate(rig.parent):
        above = skeleton.parent[skeleton.bodies[rig.bodies[row]]]
        assert above == (None if parent < 0 else skeleton.bodies[rig.bodies[parent]])


def test_unknown_rotations_are_held_from_the_nearest_frame(rng: np.random.Generator) -> None:
    R = np.tile(np.eye(3), (4, 2, 1, 1))
    R[1, 0] *= -1
    R[[0, 2], 0] = np.nan
    R[:, 1] = np.nan
    filled = hold_unknown(R, np.zeros(4, np.int64), np.tile(np.eye(3), (R.shape[1], 1, 1)))
    np.testing.assert_array_equal(filled[[0, 2], 0], R[[1, 1], 0])
    np.testing.assert_array_equal(filled[:, 1], np.tile(np.eye(3), (4, 1, 1)))
