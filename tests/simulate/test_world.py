"""Whole worlds: one seed, several figures, rods and props."""

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.simulate import Disturbances, SensorSlip, human, linkage, prop, rod, simulate, together

ROUNDING_M = 1e-12
NOISY = Disturbances(position_noise=0.003, orientation_noise=0.01, field_warp=0.01, soft_tissue=0.004, missing=0.05)


def test_the_same_seed_gives_the_same_world_bit_for_bit() -> None:
    a, b = (simulate(human(), "walk", seconds=5, seed=8, disturbances=NOISY) for _ in range(2))
    assert a.take.p_world_body.tobytes() == b.take.p_world_body.tobytes()
    assert a.take.R_world_body.tobytes() == b.take.R_world_body.tobytes()


def test_another_seed_gives_another_motion_and_other_sensors() -> None:
    a, b = (simulate(human(), seconds=5, seed=s) for s in (1, 2))
    assert not np.allclose(a.take.p_world_body, b.take.p_world_body)
    assert not np.allclose(a.truth.p_child_joint[1:], b.truth.p_child_joint[1:])


def test_the_mounts_of_one_world_can_be_used_in_the_next() -> None:
    first = simulate(linkage(), seconds=2, seed=1)
    second = simulate(linkage(), seconds=2, seed=2, mounts=first.truth.mounts)
    assert np.allclose(first.truth.p_child_joint[1:], second.truth.p_child_joint[1:])


def test_an_unknown_motion_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="no motion named 'dance'; there are exercise, walk, still"):
        simulate(human(), "dance")


def test_a_rod_keeps_its_length_wherever_it_is_carried() -> None:
    w = rod(0.565, seconds=20)
    p = w.take.p_world_body
    assert np.abs(np.linalg.norm(p[:, 1] - p[:, 0], axis=-1) - 0.565).max() < ROUNDING_M
    assert np.ptp(p[:, 0], axis=0).min() > 0.4
    assert w.truth.kind[1] == "rigid"
    assert np.allclose(p[:, 0] + w.take.R_world_body[:, 0] @ w.truth.p_parent_joint[1], p[:, 1])


def test_two_figures_and_a_prop_become_one_take_with_their_own_trees() -> None:
    slipping = Disturbances(slips=(SensorSlip("head", 1.0, (0.01, 0, 0)),))
    parts = [simulate(human(), seconds=3, seed=1), simulate(linkage(), seconds=4, seed=2, disturbances=slipping)]
    w = together([*parts, prop("ball", seconds=3, seed=3)], ["ann", "toy", ""])
    assert w.take.bodies == 15 + 6 + 1
    assert w.take.frames == 90
    assert (w.truth.parent < 0).sum() == 3
    assert ("toy_head", "toy_chest") in w.truth.edges
    assert w.take.names[-1] == "ball"
    assert w.truth.slips[0].body == "toy_head"
    assert w.truth.limbs["ann_l_thigh", "ann_l_thigh", "ann_l_shank"] == pytest.approx(0.432, abs=ROUNDING_M)
    assert np.array_equal(w.take.p_world_body[:, 15:21], parts[1].take.p_world_body[:90])


def test_worlds_of_different_rates_are_not_brought_together() -> None:
    with pytest.raises(UsageError, match="different rates"):
        together([prop(seconds=2, rate=30), prop(seconds=2, rate=60)])
    with pytest.raises(UsageError, match="no world"):
        together([])


def test_figures_are_named_a_and_b_when_no_prefix_is_given() -> None:
    w = together([prop(seconds=1), prop(seconds=1, seed=1)])
    assert w.take.names == ("a_prop", "b_prop")


def test_a_body_without_joints_has_no_soft_tissue_to_slide() -> None:
    loose = [make(seconds=2, disturbances=Disturbances(soft_tissue=0.01)) for make in (rod, prop)]
    for w in loose:
        assert np.allclose(w.take.p_world_body, w.truth.p_world_body, atol=ROUNDING_M)
