"""Inverse kinematics against scipy's least squares on the joint angles themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

from condyle import Motion, Skeleton, Take, Target, fit_motion, forward, reach_targets
from condyle.maths import rotation
from tests.make import jointed

SAME_COST = 1e-6  # relative, of the least cost
POSITION, TURN = 0.01, 0.03  # m, rad
SMOOTH = (20.0, 5.0)  # rad/s^2, m/s^2


def moved_by(skeleton: Skeleton, motion: Motion, u: np.ndarray) -> Motion:
    """A motion changed by small numbers for every freedom of every frame."""
    R, p = motion.R_parent_body.copy(), motion.p_world_free.copy()
    rows = u.reshape(motion.frames, -1)
    at = 0
    for k, name in enumerate(motion.free):
        p[:, k] += rows[:, at : at + 3]
        body = motion.bodies.index(name)
        R[:, body] = R[:, body] @ rotation.from_vector(rows[:, at + 3 : at + 6])
        at += 6
    for one in skeleton.joints:
        body = motion.bodies.index(one.child)
        if one.kind == "hinge":
            R[:, body] = R[:, body] @ rotation.from_vector(rows[:, at, None] * one.axis_child)
            at += 1
        elif one.kind != "rigid":
            R[:, body] = R[:, body] @ rotation.from_vector(rows[:, at : at + 3])
            at += 3
    return replace(motion, R_parent_body=R, p_world_free=p)


def freedoms(skeleton: Skeleton) -> int:
    sizes = {"hinge": 1, "rigid": 0}
    return 6 * len((*skeleton.roots, *skeleton.loose)) + sum(sizes.get(one.kind, 3) for one in skeleton.joints)


def lowest(skeleton: Skeleton, motion: Motion, errors: Callable[[Motion], np.ndarray]) -> tuple[float, float]:
    """The cost of a motion, and the least that scipy finds from there."""
    u = np.zeros(motion.frames * freedoms(skeleton))
    found = least_squares(lambda v: errors(moved_by(skeleton, motion, v)), u, xtol=1e-14, ftol=1e-14, gtol=1e-10)
    return 0.5 * float((errors(motion) ** 2).sum()), float(found.cost)


def sensors(skeleton: Skeleton, take: Take, motion: Motion) -> np.ndarray:
    poses = forward(skeleton, motion)
    turn = rotation.to_vector(np.swapaxes(take.R_world_body, -1, -2) @ poses.R_world_body)
    seen = take.seen
    return np.concatenate(
        [((poses.p_world_body - take.p_world_body)[seen] / POSITION).ravel(), (turn[seen] / TURN).ravel()]
    )


@pytest.mark.parametrize("seed", range(3))
def test_the_cost_is_the_least_that_scipy_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 7, 1, 1, jointed.KINDS)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 30), POSITION, TURN)
    fit = fit_motion(skeleton, take, sigma_position=POSITION, sigma_rotation=TURN, robust=False)
    for frame in range(3):
        one = take.slice(frame, frame + 1)
        here, least = lowest(skeleton, fit.motion.at(slice(frame, frame + 1)), lambda m, t=one: sensors(skeleton, t, m))
        assert here == pytest.approx(float(fit.cost[frame]), rel=1e-9)
        assert here <= least * (1 + SAME_COST)


@pytest.mark.costly
def test_smooth_motion_has_the_least_cost_over_all_frames_together(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 4, 1, 0, ("ball", "hinge"))
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 6, 0.05), POSITION, TURN)
    take = replace(take, time=np.array([0.0, 0.01, 0.02, 0.035, 0.045, 0.055]))
    fit = fit_motion(skeleton, take, sigma_position=POSITION, sigma_rotation=TURN, robust=False, smooth=SMOOTH)

    def errors(motion: Motion) -> np.ndarray:
        poses, step = forward(skeleton, motion), np.diff(take.time)
        both = (step[1:] + step[:-1])[:, None, None] / 2
        R = poses.R_world_body
        spin = rotation.to_vector(R[1:] @ np.swapaxes(R[:-1], -1, -2)) / step[:, None, None]
        speed = np.diff(motion.p_world_free, axis=0) / step[:, None, None]
        shakes = [(np.diff(v, axis=0) / both / s).ravel() for v, s in ((spin, SMOOTH[0]), (speed, SMOOTH[1]))]
        return np.concatenate([sensors(skeleton, take, motion), *shakes])

    here, least = lowest(skeleton, fit.motion, errors)
    assert here <= least * (1 + 10 * SAME_COST)


@pytest.mark.parametrize("seed", range(3))
def test_targets_are_reached_at_the_least_cost_that_scipy_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 6, 1, 1, jointed.KINDS)
    start = jointed.motion(rng, skeleton, 1)
    begun = forward(skeleton, start)
    hand, foot = (begun.index(one.child) for one in skeleton.joints[-2:])
    point = rng.uniform(-0.1, 0.1, 3)
    place = begun.p_world_body[0, hand] + begun.R_world_body[0, hand] @ point + rng.uniform(-0.1, 0.1, 3)
    axes = begun.R_world_body[0, foot] @ rotation.from_vector(rng.uniform(-0.4, 0.4, 3))
    targets = [
        Target(begun.names[hand], p_world=place, p_body_point=point, sigma_position=0.01),
        Target(begun.names[foot], R_world=axes, sigma_rotation=0.05),
    ]
    fit = reach_targets(skeleton, start, targets)
    free = [begun.index(name) for name in start.free]
    inner = [k for k in range(begun.bodies) if k not in free]

    def errors(motion: Motion) -> np.ndarray:
        poses = forward(skeleton, motion)
        R, p = poses.R_world_body[0], poses.p_world_body[0]
        turned = np.swapaxes(start.R_parent_body[0], -1, -2) @ motion.R_parent_body[0]
        return np.concatenate(
            [
                (p[hand] + R[hand] @ point - place) / 0.01,
                rotation.to_vector(axes.T @ R[foot]) / 0.05,
                rotation.to_vector(turned[inner]).ravel() / 0.5,
                rotation.to_vector(turned[free]).ravel() / 0.5,
                (p[free] - begun.p_world_body[0, free]).ravel() / 0.3,
            ]
        )

    here, least = lowest(skeleton, fit.motion, errors)
    assert fit.settled.all()
    assert here <= least * (1 + SAME_COST) + 1e-9
