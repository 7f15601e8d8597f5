"""The figure in space: joints where forward kinematics has them, the chosen view, and what covers what."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import simulate
from condyle.report import model

pytest.importorskip("matplotlib")

EXACT = 1e-9  # m


@pytest.fixture(scope="module")
def fitted() -> tuple[condyle.Fit, simulate.Truth]:
    world = simulate.simulate(simulate.linkage(), seconds=8, rate=30, seed=3)
    return condyle.fit(world.take, root="chest", intervals=False), world.truth


def test_joints_are_where_the_truth_has_them_in_some_frame(fitted) -> None:
    calibration, truth = fitted
    shown = model.choose_frame(calibration.skeleton, calibration.take)
    assert shown is not None
    k = truth.names.index("head")
    joint = np.einsum("nij,j->ni", truth.R_world_body[:, k], truth.p_child_joint[k]) + truth.p_world_body[:, k]
    own = shown.p_world_joint[[j.child for j in calibration.skeleton.joints].index("head")]
    assert np.linalg.norm(joint - own, axis=1).min() < EXACT


def test_links_have_the_lengths_of_the_limbs(fitted) -> None:
    calibration, truth = fitted
    shown = model.choose_frame(calibration.skeleton, calibration.take)
    assert shown is not None
    lengths = np.sort(np.linalg.norm(shown.links[:, 0] - shown.links[:, 1], axis=1))
    np.testing.assert_allclose(lengths, np.sort(list(truth.limbs.values())), atol=EXACT)
    assert len(shown.stalks) == len(truth.names)


def test_a_body_of_four_joints_has_spokes_from_their_middle() -> None:
    world = simulate.simulate(simulate.human(), seconds=4, rate=30, seed=3)
    calibration = condyle.fit(world.take, intervals=False)
    shown = model.choose_frame(calibration.skeleton, calibration.take)
    assert shown is not None
    limbs = {"pelvis": 3, "chest": 4} | {
        f"{s}_{n}": 1 for s in "lr" for n in ("thigh", "shank", "upper_arm", "forearm")
    }
    assert len(shown.links) == sum(limbs.values())


def test_frames_with_a_body_missing_are_not_shown(fitted) -> None:
    calibration, _ = fitted
    hidden = np.zeros(calibration.take.p_world_body.shape[:2], bool)
    hidden[:, 0] = True
    assert model.choose_frame(calibration.skeleton, calibration.take.mask(hidden)) is None


@pytest.mark.parametrize("up", ["x", "y", "z", "-x", "-y", "-z"])
def test_the_axis_that_points_up_is_drawn_upwards(up) -> None:
    R = model._upright(up)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1)
    axis = np.eye(3)["xyz".index(up[-1])] * (-1 if up[0] == "-" else 1)
    np.testing.assert_allclose(R @ axis, [0, 0, 1], atol=1e-15)


def test_a_view_is_a_rotation_and_looks_down_a_little() -> None:
    V = model._view(0.7)
    np.testing.assert_allclose(V @ V.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(V) == pytest.approx(1)
    right, up, towards = V
    assert right[2] == 0
    assert up[2] > 0.9
    assert 0 < towards[2] < 0.5


def test_near_parts_cover_far_ones(fitted) -> None:
    calibration, _ = fitted
    shown = model.choose_frame(calibration.skeleton, calibration.take)
    assert shown is not None
    figure = model.draw_model(shown)
    depths = [patch.get_zorder() for patch in figure.axes[0].patches]
    assert len(set(depths)) > len(shown.p_world_joint)
