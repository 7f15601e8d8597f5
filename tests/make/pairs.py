"""Pairs of bodies that turn and come apart as a test says."""

from __future__ import annotations

import numpy as np

from condyle.estimate.kinds import PairMotion
from condyle.pairs.fits import PairFits


def made_up(main_deg: list[float], lever: list[float], error: float = 0.0) -> tuple[PairMotion, PairFits]:
    """A chain of bodies half a metre apart whose joints turn by so much, with so much lever over what is left."""
    J = len(main_deg)
    main, half = np.radians(main_deg), np.full(J, 0.5)
    spread = np.outer(main**2 / 2, [0.0, 1.0, 1.0])
    motion = PairMotion(half, half, 60 * half, spread, main, np.array(lever), np.full((J, 3), error), main > 0)
    pairs = np.stack([np.arange(1, J + 1), np.arange(J)], axis=1)
    axes = np.tile(np.eye(3), (J, 1, 1))
    return motion, PairFits(
        pairs, np.full((J, 3), 0.1), np.full((J, 3), 0.1), np.full(J, 0.01), 100 * half, spread, axes, axes
    )
