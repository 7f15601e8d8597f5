"""Sensors that report orientation only: joints that part, and how well their places are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.maths import rotation
from condyle.motion.tasks import GUESS_SIGMA_RAD
from condyle.motion.unplaced import (
    ALONG_SHARE,
    PLACE_WIDE_M,
    choose_turns,
    describe_unplaced,
    measure_parting,
    measure_place_errors,
)
from condyle.simulate import Disturbances, chain, simulate

NOISE = Disturbances(position_noise=0.001, orientation_noise=0.003)
ABOUT_X = np.array([1.0, 0.0, 0.0])


@pytest.fixture(scope="module")
def fitted() -> condyle.Fit:
    return condyle.fit(simulate(chain(), seconds=10, seed=3, disturbances=NOISE).take, root="link0")


def _hold(fit: condyle.Fit, kind: str) -> condyle.Skeleton:
    """The figure with its second joint of this kind."""
    axis = {"axis_child": ABOUT_X, "axis_parent": ABOUT_X} if kind == "hinge" else {}
    joints = list(fit.skeleton.joints)
    joints[1] = replace(joints[1], kind=kind, **axis)  # type: ignore[arg-type]
    return replace(fit.skeleton, joints=tuple(joints))


def _turn(skeleton: condyle.Skeleton, body: str, vector: np.ndarray, frames: int = 4) -> np.ndarray:
    """(f, m, 3, 3) bodies that stand alike but one."""
    R = np.tile(np.eye(3), (frames, len(skeleton.bodies), 1, 1))
    R[:, skeleton.bodies.index(body)] = rotation.from_vector(vector)
    return R


def test_rotations_come_from_sensors_with_a_position_and_from_those_without(fitted: condyle.Fit) -> None:
    take = fitted.take
    hidden = np.zeros((take.frames, take.bodies), bool)
    hidden[:, 1] = True
    turns = np.where(hidden[..., None, None], take.R_world_body, np.nan)
    R = choose_turns(take.mask(hidden), turns)
    assert np.isfinite(R).all()
    assert np.isnan(choose_turns(take.mask(hidden), None)[:, 1]).all()


def test_rotations_of_a_slower_sensor_are_among_those_that_are_looked_at(
    fitted: condyle.Fit, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = fitted.take
    monkeypatch.setattr("condyle.motion.unplaced.ASKED_FRAMES", take.frames // 4)
    hidden = np.zeros((take.frames, take.bodies), bool)
    hidden[np.arange(take.frames) % 4 != 2, 1] = True
    slower = take.mask(hidden)
    lost = slower.mask(np.arange(take.bodies) == np.full((take.frames, 1), 1))
    turns = np.where(slower.seen[..., None, None], take.R_world_body, np.nan)
    for R in (choose_turns(slower, None), choose_turns(lost, turns)):
        assert 0.1 < np.isfinite(R[:, 1, 0, 0]).mean() < 0.5


def test_a_hinge_parts_by_turns_across_its_axis_and_a_rigid_joint_by_any(fitted: condyle.Fit) -> None:
    hinge, rigid = (_hold(fitted, kind) for kind in ("hinge", "rigid"))
    body = hinge.joints[1].child
    along, across = (_turn(hinge, body, vector) for vector in (0.5 * ABOUT_X, np.array([0.0, 0.3, 0.0])))
    assert measure_parting(hinge, along)[1] == pytest.approx(0.0, abs=1e-7)
    assert measure_parting(hinge, across)[1] == pytest.approx(0.3)
    usual = np.tile(np.eye(3), (len(rigid.bodies), 1, 1))
    assert measure_parting(rigid, along, usual)[1] == pytest.approx(0.5)
    assert np.isnan(measure_parting(rigid, along)[1]).all()
    assert not measure_parting(fitted.skeleton, across).any()


def test_errors_of_places_add_up_from_the_nearest_sensor_that_has_one(fitted: condyle.Fit) -> None:
    skeleton = fitted.skeleton
    R, still = choose_turns(fitted.take, None), np.zeros((len(skeleton.joints), 1))
    first = np.array([name == skeleton.bodies[0] for name in skeleton.bodies])
    errors = measure_place_errors(skeleton, R, still, first)
    assert errors[0] == 0
    assert (np.diff(errors) > 0).all()  # the bodies of a chain are in its order
    assert errors[1] ** 2 > next(one.residual**2 for one in skeleton.joints if one.child == skeleton.bodies[1])
    ends = first | first[::-1]
    assert (measure_place_errors(skeleton, R, still, ends) <= errors).all()
    assert np.isinf(measure_place_errors(skeleton, R, still, np.zeros(len(first), bool))).all()


def test_a_joint_that_parts_leaves_the_places_beyond_it_open(fitted: condyle.Fit) -> None:
    held = _hold(fitted, "hinge")
    R, apart = choose_turns(fitted.take, None), np.zeros((len(held.joints), 1))
    first = np.array([name == held.bodies[0] for name in held.bodies])
    apart[1] = 0.4
    joint = held.joints[1]
    size = np.linalg.norm(joint.p_child_joint) + np.linalg.norm(joint.p_parent_joint)
    k = held.bodies.index(joint.child)
    sure, free, tied = (
        measure_place_errors(figure, R, parted, first)
        for figure, parted in ((fitted.skeleton, 0 * apart), (fitted.skeleton, apart), (held, apart))
    )
    assert free[k] ** 2 - sure[k] ** 2 == pytest.approx((ALONG_SHARE * size * 0.4) ** 2)
    assert tied[k - 1] > sure[k - 1]  # the body above is turned as well
    assert free[k - 1] == sure[k - 1]


def test_a_body_without_a_sensor_makes_the_places_beyond_it_uncertain(fitted: condyle.Fit) -> None:
    skeleton, R = fitted.skeleton, choose_turns(fitted.take, None).copy()
    first, still = np.arange(len(skeleton.bodies)) == 0, np.zeros((len(skeleton.joints), 1))
    before = measure_place_errors(skeleton, R, still, first)
    R[:, 1] = np.nan
    lever = next(one for one in skeleton.joints if one.child == skeleton.bodies[1]).p_child_joint
    more = measure_place_errors(skeleton, R, still, first)[2]
    assert more > max(before[2], GUESS_SIGMA_RAD * np.linalg.norm(lever))


def test_places_that_are_known_badly_are_a_warning() -> None:
    names, turned, placed = ("a", "b", "c", "d"), np.ones(4, bool), np.array([True, False, False, False])
    errors = np.array([0.0, 0.01, 0.02, 0.1])
    far, near = describe_unplaced(names, errors, turned, placed)
    assert (far.severity, far.bodies, near.severity, near.bodies) == ("warning", ("d",), "info", ("b", "c"))
    assert far.value is not None
    assert far.value > PLACE_WIDE_M
    assert "d reports orientation only" in far.text
    assert "within 20 mm (b) to 39 mm (c)" in near.text
    assert describe_unplaced(names, errors, placed, placed) == []
    assert describe_unplaced(names, np.array([0.0, np.inf, np.inf, np.inf]), turned, placed) == []
