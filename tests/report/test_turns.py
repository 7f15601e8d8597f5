"""How far bodies turned against each other is told as it was."""

from __future__ import annotations

import numpy as np

from condyle.maths import rotation
from condyle.report.turns import find_turns

TURN_RAD = np.radians(6.0)


def test_a_swing_about_one_axis_is_told_by_its_rms_and_noise_is_taken_away() -> None:
    rng = np.random.default_rng(1)
    n, noise = 4000, np.radians(2.0)
    swing = np.sqrt(2) * TURN_RAD * np.sin(np.linspace(0, 40 * np.pi, n))
    whole = rotation.from_vector(np.stack([np.zeros(n), np.zeros(n), np.linspace(0, 6, n)], axis=1))  # all turn along
    own = rotation.from_vector(np.stack([swing, np.zeros(n), np.zeros(n)], axis=1))
    R = np.stack([whole, whole @ own, whole], axis=1)
    noisy = R @ rotation.from_vector(rng.normal(0, noise, (n, 3, 3)))
    for poses, white in ((R, 0.0), (noisy, noise)):
        turned = find_turns(poses, np.full(3, white))
        assert abs(turned[0, 1] - TURN_RAD) < 0.02 * TURN_RAD
        assert turned[0, 2] < 0.25 * TURN_RAD
        assert np.isnan(turned[0, 0])


def test_bodies_that_were_never_seen_together_are_not_compared() -> None:
    R = np.tile(np.eye(3), (10, 2, 1, 1))
    R[:5, 0], R[5:, 1] = np.nan, np.nan
    assert np.isnan(find_turns(R, np.zeros(2))).all()
