"""Independent random streams of one seed, each known by its name."""

from __future__ import annotations

from zlib import crc32

import numpy as np


def stream(seed: int, name: str) -> np.random.Generator:
    """The generator of this name: drawing from one stream never moves another."""
    return np.random.default_rng([seed, crc32(name.encode())])
