"""Joints as values: what the arrays say, and hinges whose place along the axis is open put beside a known joint."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.estimate.locate import gap_residual, settle_points
from condyle.model.skeleton import Joint
from condyle.simulate import Disturbances, chain, simulate

NOISE = Disturbances(position_noise=0.002, orientation_noise=0.003)
AXIS = np.array([0.0, 0.6, 0.8])


def joint(child: str, parent: str, point: str = "determined", kind: str = "ball", **places: np.ndarray) -> Joint:
    hinge = kind == "hinge"
    return Joint(
        child=child,
        parent=parent,
        kind=kind,  # type: ignore[arg-type]
        point=point,  # type: ignore[arg-type]
        p_child_joint=places.get("c", np.zeros(3)),
        p_parent_joint=places.get("l", np.zeros(3)),
        axis_child=AXIS if hinge else None,
        axis_parent=AXIS if hinge else None,
        play=0.0 if hinge else None,
        residual=0.001,
        frames=100,
        singular_values=np.ones(6),
        covariance=None,
        margin=None,
        runner_up=None,
        rotation=np.ones(3),
    )


def test_the_residual_is_the_weighted_root_mean_square(rng) -> None:
    gap, weight = rng.standard_normal((50, 2, 3)), rng.random((50, 2))
    gap[7, 0], weight[7, 0] = np.nan, 0.0
    square = np.nan_to_num(np.square(gap).sum(axis=2))
    np.testing.assert_allclose(gap_residual(gap, weight), np.sqrt((square * weight).sum(axis=0) / weight.sum(axis=0)))
    assert gap_residual(gap, np.zeros((50, 2))).tolist() == [0, 0]


def test_joints_carry_their_evidence() -> None:
    world = simulate(chain(("ball", "hinge", "rigid")), "exercise", seconds=15, seed=2, disturbances=NOISE)
    joints = {one.kind: one for one in condyle.fit(world.take).skeleton.joints}
    assert set(joints) == {"ball", "hinge", "rigid"}
    hinge, ball, rigid = joints["hinge"], joints["ball"], joints["rigid"]
    assert hinge.axis_child is not None
    assert np.linalg.norm(hinge.axis_child) == pytest.approx(1)
    assert ball.axis_child is ball.play is rigid.covariance is rigid.passing is None
    assert ball.covariance is not None
    np.testing.assert_array_equal(ball.covariance, ball.covariance.T)
    assert 0 < ball.passing <= 1
    assert ball.margin is not None
    assert ball.margin > 1
    assert set(ball.runner_up) <= set(world.take.names)
    assert (np.diff(ball.rotation) <= 0).all()
    assert (np.diff(ball.singular_values) <= 0).all()


def test_an_open_hinge_goes_along_its_axis_to_the_foot_of_its_parents_own_joint() -> None:
    known = joint("b", "a", c=np.array([0.1, 0.2, 0.3]))
    hinge = joint("c", "b", "arbitrary", "hinge", c=np.array([1.0, 0.0, 0.0]), l=np.array([0.0, 0.0, 0.1]))
    [same, settled] = settle_points([known, hinge])
    assert same is known
    step = (known.p_child_joint - hinge.p_parent_joint) @ AXIS
    np.testing.assert_allclose(settled.p_parent_joint, hinge.p_parent_joint + step * AXIS)
    np.testing.assert_allclose(settled.p_child_joint, hinge.p_child_joint + step * AXIS)


def test_else_another_joint_of_the_parent_decides_and_then_one_of_the_child() -> None:
    hinge = joint("c", "b", "arbitrary", "hinge")
    sister = joint("d", "b", l=np.array([0.0, 0.5, 0.0]))
    beyond = joint("e", "c", l=np.array([0.0, 0.0, 0.5]))
    np.testing.assert_allclose(settle_points([hinge, sister, beyond])[0].p_parent_joint, 0.3 * AXIS)
    np.testing.assert_allclose(settle_points([hinge, beyond])[0].p_child_joint, 0.4 * AXIS)
    vague = replace(sister, point="arbitrary")
    assert settle_points([hinge, vague])[0] is hinge


def test_a_hinge_whose_point_is_known_stays() -> None:
    joints = [joint("b", "a", c=np.ones(3)), joint("c", "b", "determined", "hinge")]
    assert settle_points(joints) == joints
