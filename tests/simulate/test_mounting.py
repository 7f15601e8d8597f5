"""Sensors on any skeleton, and a truth that agrees with them."""

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.maths import rotation
from condyle.simulate import Mounts, chain, exercise, human, limb_lengths, mount, random_mounts

ROUNDING_M = 1e-12
RATE_HZ = 30


def mounted(figure, seed=0, **options):
    rng = np.random.default_rng(seed)
    bones = exercise(figure, 4, RATE_HZ, rng)
    time = np.arange(4 * RATE_HZ) / RATE_HZ
    kinds = {"kind": figure.kind, "axis": figure.axis}
    return mount(figure.names, figure.parent, *bones, figure.p_parent_joint, rng, time, **(kinds | options))


def test_both_sensors_of_a_joint_see_it_in_one_place() -> None:
    truth = mounted(human())
    k = np.flatnonzero(truth.parent >= 0)
    up = truth.parent[k]
    R, p = truth.R_world_body, truth.p_world_body
    from_child = np.einsum("nmij,mj->nmi", R[:, k], truth.p_child_joint[k]) + p[:, k]
    from_parent = np.einsum("nmij,mj->nmi", R[:, up], truth.p_parent_joint[k]) + p[:, up]
    assert np.abs(from_child - from_parent).max() < ROUNDING_M


def test_limb_lengths_do_not_depend_on_where_the_sensors_sit() -> None:
    assert mounted(human(), 1).limbs == pytest.approx(limb_lengths(human()), abs=ROUNDING_M)


def test_roots_have_no_joint_and_only_hinges_have_an_axis() -> None:
    truth = mounted(chain(("ball", "hinge")))
    assert np.isnan(truth.p_child_joint).all(axis=1).tolist() == [True, False, False]
    assert np.isnan(truth.p_parent_joint).all(axis=1).tolist() == [True, False, False]
    assert np.isnan(truth.axis_child).all(axis=1).tolist() == [True, True, False]


def test_a_hinge_axis_points_the_same_way_from_both_sensors() -> None:
    truth = mounted(chain(("ball", "hinge")))
    R = truth.R_world_body
    assert np.abs(R[:, 2] @ truth.axis_child[2] - R[:, 1] @ truth.axis_parent[2]).max() < ROUNDING_M


def test_random_sensors_sit_near_their_bone_and_clear_of_joints() -> None:
    figure = human()
    for seed in range(20):
        p = random_mounts(figure.parent, figure.p_parent_joint, np.random.default_rng(seed)).p_bone_body
        inner = np.flatnonzero(figure.parent >= 0)
        assert np.linalg.norm(p[inner], axis=-1).min() > 0.04
        assert np.linalg.norm(p[figure.parent[inner]] - figure.p_parent_joint[inner], axis=-1).min() > 0.04
        assert np.linalg.norm(p, axis=-1).max() < 0.45


def test_given_mounts_are_used_as_they_are() -> None:
    figure = chain(("ball",))
    mounts = Mounts(rotation.random(np.random.default_rng(3), (2,)), np.array([[0.1, 0, 0], [0, 0.05, -0.1]]))
    truth = mounted(figure, mounts=mounts)
    assert np.allclose(truth.p_child_joint[1], -mounts.R_bone_body[1].T @ mounts.p_bone_body[1])


def test_bones_that_do_not_begin_at_their_joint_can_be_mounted() -> None:
    figure = chain(("ball", "ball"))
    offset = np.array([0.02, -0.03, 0.05])
    R, p = exercise(figure, 4, RATE_HZ, np.random.default_rng(4))
    p_own = np.tile(offset, (3, 1))
    p_up = figure.p_parent_joint + np.where(figure.parent[:, None] >= 0, offset, 0.0)
    time = np.arange(len(p)) / RATE_HZ
    args = (figure.names, figure.parent, R, p - R @ offset, p_up, np.random.default_rng(5), time)
    truth = mount(*args, p_child_joint=p_own)
    seen = truth.R_world_body[:, 2] @ truth.p_child_joint[2] + truth.p_world_body[:, 2]
    assert np.abs(seen - p[:, 2]).max() < ROUNDING_M


def test_mounts_for_another_figure_are_refused() -> None:
    with pytest.raises(UsageError, match="1 mounts for 2 bones"):
        mounted(chain(("ball",)), mounts=Mounts(np.eye(3)[None], np.zeros((1, 3))))


def test_a_child_before_its_parent_cannot_be_mounted() -> None:
    still = np.zeros((4, 2, 3))
    with pytest.raises(UsageError, match="the parent of 'a' must come before it"):
        mount(("a", "b"), [1, -1], np.eye(3) + still[..., None], still, np.zeros((2, 3)), None, np.arange(4))
