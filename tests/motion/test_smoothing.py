from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from condyle import Motion, Skeleton, fit_motion, forward
from condyle.maths import rotation
from condyle.maths.elimination import KinematicRig
from condyle.motion import smoothing
from condyle.motion.pose_solver import State, move_state
from condyle.motion.rig import build_rig, restore_state
from condyle.motion.smoothing import Accelerations, build_accelerations
from tests.make import jointed

SLOPE = 1e-5  # relative, of a gradient against differences
SAME_M = 1e-5  # m; both stop at 1e-7 of the cost, where noise is 3 mm


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


def swing(rng: np.random.Generator, skeleton: Skeleton, frames: int) -> Motion:
    """Every joint swings to and fro as its kind allows, at uneven times."""
    start = jointed.motion(rng, skeleton, 1)
    time = np.cumsum(rng.uniform(0.006, 0.01, frames))
    way = 0.5 * rng.standard_normal((len(skeleton.bodies), 3))
    for one in skeleton.joints:
        k = skeleton.bodies.index(one.child)
        way[k] = {"ball": way[k], "hinge": one.axis_child, "rigid": np.zeros(3)}[one.kind]
    R = start.R_parent_body @ rotation.from_vector(np.sin(6.0 * time)[:, None, None] * way)
    p = start.p_world_free + np.sin(4.0 * time)[:, None, None] * rng.standard_normal(start.p_world_free.shape)
    return Motion(skeleton.bodies, start.free, time, R, p)


@pytest.mark.parametrize("frames", [3, 40, 130])
def test_windows_of_time_lead_to_the_motion_that_frames_for_themselves_lead_to_in_fewer_rounds(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, frames: int
) -> None:
    skeleton = jointed.figure(rng, 8, 2, 1, ("ball", "ball", "hinge", "rigid"))
    take = jointed.noisy(rng, skeleton, swing(rng, skeleton, frames), 0.003, 0.01)
    rounds: dict[str, int] = {}

    def count(name: str, kind: type, was: Callable[..., Any]) -> None:
        def counted(self: Any, *given: Any) -> Any:
            rounds[name] = rounds.get(name, 0) + 1
            return was(self, *given)

        monkeypatch.setattr(kind, "solve", counted)

    count("windows", smoothing._Windows, smoothing._Windows.solve)
    sigmas = {"sigma_position": 0.003, "sigma_rotation": 0.01}
    found = fit_motion(skeleton, take, robust=False, smooth=(20.0, 3.0), **sigmas)
    monkeypatch.setattr(smoothing, "_suits_windows", lambda *_: False)
    count("frames", smoothing.Equations, smoothing.Equations.solve)
    slowly = fit_motion(skeleton, take, robust=False, smooth=(20.0, 3.0), **sigmas)
    assert found.settled.all()
    np.testing.assert_allclose(
        forward(skeleton, found.motion).p_world_body, forward(skeleton, slowly.motion).p_world_body, atol=SAME_M
    )
    assert frames == 3 or 3 * rounds["windows"] < rounds["frames"]
