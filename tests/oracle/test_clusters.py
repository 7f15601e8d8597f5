"""Poses of clusters against scipy's alignment of vectors, frame by frame."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from condyle.maths import rotation
from condyle.prepare.shapes import Shape, fit_poses

ALIKE = 1e-9  # in rotations, and m
NOISE = 0.003  # m
FRAMES = 40


def test_poses_are_those_of_an_independent_alignment(rng) -> None:
    points = 0.1 * rng.standard_normal((5, 3))
    R, p = rotation.random(rng, (FRAMES,)), rng.standard_normal((FRAMES, 1, 3))
    cloud = p + points @ np.swapaxes(R, 1, 2) + NOISE * rng.standard_normal((FRAMES, 5, 3))
    for frame in range(0, FRAMES, 2):
        cloud[frame, rng.choice(5, size=rng.integers(1, 3), replace=False)] = np.nan
    found_R, found_p = fit_poses(cloud, Shape(points))
    for frame in range(FRAMES):
        seen = np.isfinite(cloud[frame, :, 0])
        middle, centre = points[seen].mean(axis=0), cloud[frame, seen].mean(axis=0)
        turn, _ = Rotation.align_vectors(cloud[frame, seen] - centre, points[seen] - middle)
        np.testing.assert_allclose(found_R[frame], turn.as_matrix(), atol=ALIKE)
        np.testing.assert_allclose(found_p[frame], centre - turn.apply(middle), atol=ALIKE)
