from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle import forward
from condyle.maths import rotation
from condyle.model.motion import find_reference
from condyle.model.take import Take
from condyle.motion import pose_solver
from condyle.motion.pose_solver import Problem, find_rotation_vectors, measure_errors, solve
from condyle.motion.rig import KinematicRig, build_rig, build_state, to_rows
from tests.make import jointed


def test_rotation_vectors_are_those_of_the_error_in_the_world_up_to_half_a_turn(rng: np.random.Generator) -> None:
    angles = np.array([0.0, 1e-12, 1e-6, 0.1, 1.0, 2.9, 3.1, np.pi - 1e-9])
    axis = rng.standard_normal((len(angles), 3))
    vector = angles[:, None] * axis / np.linalg.norm(axis, axis=1, keepdims=True)
    aim = rotation.random(rng, (len(angles),))
    R = rotation.from_vector(vector) @ aim
    found = find_rotation_vectors(np.moveaxis(R, 0, -1)[None], np.moveaxis(aim, 0, -1)[None])[0].T
    np.testing.assert_allclose(found, vector, atol=1e-7)
    np.testing.assert_allclose(found[:6], vector[:6], atol=1e-10)


def pose_figure(rng: np.random.Generator) -> tuple[KinematicRig, Take, Problem]:
    """A figure of six bodies, 40 poses of it, and these as what is sought."""
    skeleton = jointed.figure(rng, 6)
    motion = jointed.motion(rng, skeleton, 40)
    poses = forward(skeleton, motion)
    rig = build_rig(skeleton, find_reference(skeleton, motion.R_parent_body))
    one = np.ones((6, 40))
    return rig, poses, Problem(to_rows(rig, poses.R_world_body), to_rows(rig, poses.p_world_body), 1e4 * one, 1e3 * one)


def test_a_far_start_comes_to_the_same_pose(rng: np.random.Generator) -> None:
    rig, poses, aims = pose_figure(rng)
    away = poses.R_world_body @ rotation.from_vector(rng.uniform(-1, 1, (40, 6, 3)))
    start = build_state(rig, away, poses.p_world_body + 1.0)
    state, steps, settled = solve(rig, start, aims)
    assert settled.all()
    assert steps.max() < 30
    assert measure_errors(rig, state, aims).cost.max() < 1e-6


def test_a_body_that_is_hardly_held_leaves_the_others_where_they_are(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 6)
    motion = jointed.motion(rng, skeleton, 400)
    poses = forward(skeleton, motion)
    rig = build_rig(skeleton, find_reference(skeleton, motion.R_parent_body))
    w_position, w_rotation = np.full((6, 400), 1e8), np.full((6, 400), 1e5)
    w_position[1:4], w_rotation[1:4] = 0.0, 4.0  # as of sensors of 0.1 mm and bodies without one
    aims = Problem(to_rows(rig, poses.R_world_body), to_rows(rig, poses.p_world_body), w_position, w_rotation)
    away = poses.R_world_body @ rotation.from_vector(rng.uniform(-0.3, 0.3, (400, 6, 3)))
    start = build_state(rig, away, poses.p_world_body)
    before = measure_errors(rig, start, aims).cost
    state, _, settled = solve(rig, start, aims)
    assert (measure_errors(rig, state, aims).cost < 1e-3 * before).all()
    assert settled.all()


@pytest.mark.parametrize("worth", [np.nan, np.inf])
def test_a_step_beyond_all_numbers_is_not_made(
    worth: float, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig, poses, aims = pose_figure(rng)
    start = build_state(rig, poses.R_world_body @ rotation.from_vector([0.3, 0.0, 0.0]), poses.p_world_body)
    sound, steps = pose_solver.step, []

    def leap(*given: Any) -> Any:
        x, t, s, gain = sound(*given)
        if not steps:
            t, gain = t.copy(), gain.copy()
            t[..., :5], gain[:5] = np.inf, worth
        steps.append(len(gain))
        return x, t, s, gain

    monkeypatch.setattr(pose_solver, "step", leap)
    state, _, settled = solve(rig, start, aims)
    assert settled.all()
    assert measure_errors(rig, state, aims).cost.max() < 1e-6
