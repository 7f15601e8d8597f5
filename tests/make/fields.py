"""Bent fields for tests."""

from __future__ import annotations

import numpy as np

from condyle.model.field import FieldModel


def some_field(rng: np.random.Generator, scale: float = 1.0) -> FieldModel:
    """Five bells over two metres that displace by centimetres and turn by degrees."""
    centres = rng.uniform(-1, 1, (5, 3))
    return FieldModel(centres, 0.7, 0.02 * rng.standard_normal((5, 3)), 0.02 * rng.standard_normal((5, 3)), scale)
