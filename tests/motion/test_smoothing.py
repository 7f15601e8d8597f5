from __future__ import annotations

import numpy as np
import pytest

from condyle import forward
from condyle.maths.elimination import KinematicRig
from condyle.motion.pose_solver import State, move_state
from condyle.motion.rig import build_rig, restore_state
from condyle.motion.smoothing import Accelerations, build_accelerations
from tests.make import jointed

SLOPE = 1e-5  # relative, of a gradient against differences


@pytest.fixture
def shaking(rng: np.random.Generator) -> tuple[KinematicRig, State, Accelerations]:
    skeleton = jointed.figure(rng, 4, 1, 1)
    motion = jointed.motion(rng, skeleton, 7, 0.3)
    rig = build_rig(skeleton, np.tile(np.eye(3), (5, 1, 1)))
    state = restore_state(rig, motion.R_parent_body, forward(skeleton, motion).p_world_body)
    return rig, state, build_accelerations(rig, np.cumsum(rng.uniform(0.5, 1.5, 7)), 0.5, 2.0)


def test_even_motion_has_no_acceleration_at_uneven_times(
    shaking: tuple[KinematicRig, State, Accelerations],
) -> None:
    rig, _, _ = shaking
    time = np.array([0.0, 0.1, 0.15, 0.4])
    rough = build_accelerations(rig, time, 1.0, 1.0)
    np.testing.assert_allclose(rough.along(3.0 * time - 1.0), 0.0, atol=1e-12)
    np.testing.assert_allclose(rough.along(time**2), 2.0)


def test_back_is_the_transpose_of_along(
    shaking: tuple[KinematicRig, State, Accelerations], rng: np.random.Generator
) -> None:
    _, _, rough = shaking
    v, a = rng.standard_normal(7), rng.standard_normal(5)
    assert rough.along(v) @ a == pytest.approx(v @ rough.back(a))
    whole = np.stack([rough.back(rough.along(row)) for row in np.eye(7)])
    np.testing.assert_allclose(np.diag(whole), rough.diagonal())


def test_the_gradient_of_the_turns_is_the_slope_of_their_cost(
    shaking: tuple[KinematicRig, State, Accelerations], rng: np.random.Generator
) -> None:
    rig, state, rough = shaking
    gradient = rough.turns_gradient(state)
    t = rng.standard_normal(gradient.shape)
    zero = np.zeros_like(t)
    ahead, behind = (
        0.5 * float((rough.turns(move_state(rig, state, zero, sign * 1e-6 * t, None)) ** 2).sum()) for sign in (1, -1)
    )
    assert (ahead - behind) / 2e-6 == pytest.approx(float((gradient * t).sum()), rel=SLOPE)
