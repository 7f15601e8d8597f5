"""How far bodies turned against each other, where that was too little to tell which are joined."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..maths import rotation
from ..maths.arrays import Floats
from ..model.skeleton import Skeleton
from .page_data import PageTurn

if TYPE_CHECKING:
    from .shown import MotionPieces

TURNS_MAX_BODIES = 60  # bodies whose pairs are all looked at


def measure_turns(skeleton: Skeleton, shown: MotionPieces) -> tuple[PageTurn, ...]:
    """Each body with the one that it turned most against, the least first; none of a take of very many bodies."""
    if not 2 <= len(skeleton.bodies) <= TURNS_MAX_BODIES:
        return ()
    noise = {one.body: one.orientation for one in skeleton.noise}
    white = np.array([noise.get(name, 0.0) for name in skeleton.bodies])
    turned = find_turns(shown.few.R, white)
    most = np.argmax(np.where(np.isfinite(turned), turned, -1.0), axis=1)
    found = [PageTurn(k, int(j), float(turned[k, j])) for k, j in enumerate(most) if np.isfinite(turned[k, j])]
    return tuple(sorted(found, key=lambda one: one.turned))


def find_turns(R: Floats, noise: Floats) -> Floats:
    """(m, m) [rad] rms rotation of each body against each other about the axis of most, white noise (m,) removed; NaN
    where two were hardly seen together, and on the diagonal.
    """
    m = R.shape[1]
    turned = np.full((m, m), np.nan)
    for i in range(m):
        for j in range(i + 1, m):
            both = np.swapaxes(R[:, i], -1, -2) @ R[:, j]
            both = both[np.isfinite(both).all(axis=(1, 2))]
            if len(both) < 3:
                continue
            vectors = rotation.to_vector(rotation.mean(both).T @ both)
            largest = float(np.linalg.eigvalsh(vectors.T @ vectors / len(vectors))[-1])
            turned[i, j] = turned[j, i] = np.sqrt(max(largest - noise[i] ** 2 - noise[j] ** 2, 0.0))
    return turned
