"""The Cramer-Rao bound against the whole problem written out: every pose a parameter of its own."""

from __future__ import annotations

import numpy as np
from benchmarks.information import fisher_information

from condyle.maths import rotation
from condyle.model.take import Take
from condyle.pairs.noise import Noise
from tests.oracle.worlds import carried, take_of, wander

PAIRS = np.array([[1, 0], [2, 1], [3, 1]])  # a trunk of two bodies with two branches
STEP = 1e-6  # rad and m, of numerical derivatives
INFORMATION = 1e-5  # relative
ERRORS = 0.05  # standard errors by which two ways of maximising may differ
NOISE = Noise(np.array([0.002, 0.003, 0.004, 0.003]), np.array([0.01, 0.02, 0.01, 0.015]))


def world(rng: np.random.Generator, n: int) -> tuple[Take, np.ndarray]:
    """Exact poses of four bodies joined as PAIRS, and the unknowns (18,)."""
    u = rng.uniform(-0.3, 0.3, (3, 2, 3))
    R, p = [None] * 4, [None] * 4
    R[0], p[0] = carried(rng, n)
    for (child, parent), (c, l) in zip(PAIRS, u, strict=True):
        R[child] = R[parent] @ rotation.from_vector(0.6 * wander(rng, n, 3, rate=3.0))
        p[child] = p[parent] + R[parent] @ l - R[child] @ c
    return take_of("abcd", R, p, rate=3.0), u.ravel()


def poses(u: np.ndarray, R: np.ndarray, p_root: np.ndarray) -> np.ndarray:
    """Positions (n, 4, 3) that joints, orientations (n, 4, 3, 3) and the first body's place lead to."""
    p = np.empty((len(R), 4, 3))
    p[:, 0] = p_root
    for (child, parent), (c, l) in zip(PAIRS, u.reshape(3, 2, 3), strict=True):
        p[:, child] = p[:, parent] + R[:, parent] @ l - R[:, child] @ c
    return p


def misfit(take: Take, u: np.ndarray, turn: np.ndarray, place: np.ndarray) -> np.ndarray:
    """(n, 24) what was recorded against what the parameters say, in standard deviations.

    Orientations are the recorded ones turned back by `turn` (n, 4, 3) [rad], which is then their error.
    """
    R = take.R_world_body @ rotation.from_vector(-turn)
    off = (take.p_world_body - poses(u, R, place)) / NOISE.position[:, None]
    return np.concatenate([turn / NOISE.orientation[:, None], off], axis=2).reshape(take.frames, -1)


def test_the_information_is_that_of_the_whole_problem_with_the_poses_eliminated(rng) -> None:
    take, u = world(rng, 6)
    own = np.zeros((take.frames, 4, 3)), take.p_world_body[:, 0]
    to_joints = np.stack(
        [(misfit(take, u + STEP * e, *own) - misfit(take, u - STEP * e, *own)) / (2 * STEP) for e in np.eye(18)], axis=2
    )
    to_poses = []
    for k in range(15):  # twelve turns and a place, of every frame by itself
        step = np.zeros(15)
        step[k] = STEP
        turn, place = np.broadcast_to(step[:12].reshape(4, 3), own[0].shape), step[12:]
        ahead, behind = misfit(take, u, turn, own[1] + place), misfit(take, u, -turn, own[1] - place)
        to_poses.append((ahead - behind) / (2 * STEP))
    to_poses = np.stack(to_poses, axis=2)
    want = np.zeros((18, 18))
    for A, B in zip(to_joints, to_poses, strict=True):
        cross = A.T @ B
        want += A.T @ A - cross @ np.linalg.solve(B.T @ B, cross.T)
    found = fisher_information(take, PAIRS, u, NOISE)
    np.testing.assert_allclose(found, want, rtol=0, atol=INFORMATION * np.abs(want).max())
