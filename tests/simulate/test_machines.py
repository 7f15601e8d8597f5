"""Machines whose dimensions are known: links keep to each other as their joints say."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import UsageError
from condyle.maths import rotation
from condyle.simulate import MACHINES, machine
from condyle.simulate.machines import LOOPED

EXACT_M = 1e-12


@pytest.mark.parametrize("name", [*MACHINES, *LOOPED])
def test_a_joint_moves_as_its_kind_says(name: str) -> None:
    one = machine(name, seconds=4, seed=2, carried=True)
    R, p = one.take.R_world_body, one.take.p_world_body
    for k, joint in enumerate(one.joints):
        axis = R[:, k] @ one.axis[k]
        turn = np.swapaxes(R[:, k], 1, 2) @ R[:, k + 1]
        turned = rotation.to_vector(turn @ turn[0].T)
        point = np.einsum("nxy,y->nx", R[:, k], one.point[k]) + p[:, k]
        seen = np.einsum("nyx,ny->nx", R[:, k + 1], point - p[:, k + 1])
        if joint.kind == "slider":
            assert np.abs(turned).max() < 1e-9
            along = np.einsum("nyx,ny->nx", R[:, k], p[:, k + 1] - p[:, k])
            moved = along - along[0]
            np.testing.assert_allclose(np.cross(moved, one.axis[k]), 0.0, atol=EXACT_M)
            assert np.linalg.norm(moved, axis=1).max() > 0.05
        elif joint.kind in ("hinge", "screw"):
            np.testing.assert_allclose(np.cross(turned, one.axis[k]), 0.0, atol=1e-9)
            assert (np.ptp(seen, axis=0).max() > 0.005) == (joint.kind == "screw")
        else:
            assert np.ptp(seen, axis=0).max() < EXACT_M
        assert np.isfinite(axis).all()


def test_a_four_bar_closes() -> None:
    one = machine("four-bar", seconds=4, seed=3)
    assert one.loop == (("link0", "link3"),)
    R, p = one.take.R_world_body, one.take.p_world_body
    rows = np.concatenate([R[:, 3], -R[:, 0]], axis=2).reshape(-1, 6)
    u, *_ = np.linalg.lstsq(rows, (p[:, 0] - p[:, 3]).ravel(), rcond=1e-9)
    assert np.abs(rows @ u - (p[:, 0] - p[:, 3]).ravel()).max() < 1e-9


def test_a_base_stands_unless_it_is_carried_and_seeds_repeat() -> None:
    assert np.ptp(machine("planar", seconds=1).take.p_world_body[:, 0], axis=0).max() == 0
    assert np.ptp(machine("planar", seconds=1, carried=True).take.p_world_body[:, 0], axis=0).max() > 0.01
    a, b = (machine("ur5", seconds=1, seed=5, position_noise=0.001).take.p_world_body for _ in range(2))
    np.testing.assert_array_equal(a, b)
    with pytest.raises(UsageError, match="no machine named 'crane'; there are panda"):
        machine("crane")
