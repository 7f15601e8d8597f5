"""Bent fields for tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from condyle.maths import rotation
from condyle.model.field import FieldModel
from condyle.model.take import Take


def some_field(rng: np.random.Generator, scale: float = 1.0) -> FieldModel:
    """Five bells over two metres that displace by centimetres and turn by degrees."""
    centres = rng.uniform(-1, 1, (5, 3))
    return FieldModel(centres, 0.7, 0.02 * rng.standard_normal((5, 3)), 0.02 * rng.standard_normal((5, 3)), scale)


def bend_by(family: str, take: Take, rng: np.random.Generator) -> Take:
    """The take in a room that no corrector assumes: beside a plate of metal, among waves, or compressed with range."""
    p, middle = take.p_world_body, np.nanmean(take.p_world_body.reshape(-1, 3), axis=0)
    x = p - middle
    reach = float(np.sqrt(np.nanvar(p.reshape(-1, 3), axis=0).sum()))
    shift, turn = np.zeros_like(x), np.zeros_like(x)
    if family == "plate":
        normal = rng.standard_normal(3)
        normal /= np.linalg.norm(normal)
        pull = 0.05 * np.exp(-(x @ normal + 1.9 * reach) / (0.6 * reach))[..., None]
        shift, turn = pull * normal, pull / (0.6 * reach) * np.cross(normal, [0.3, 0.5, 0.8])
    elif family == "waves":
        for _ in range(3):
            wave, size, phase = rng.standard_normal(3), 0.01 * rng.standard_normal(3), rng.uniform(0, 2 * np.pi)
            wave *= 2 * np.pi / (1.6 * reach * np.linalg.norm(wave))
            shift += np.sin(x @ wave + phase)[..., None] * size
            turn += np.cos(x @ wave + phase)[..., None] * np.cross(wave, size) / 2
    else:
        far = p - middle + [0.0, 0.0, 1.2]
        square = (far**2).sum(axis=-1, keepdims=True)
        shift = -0.04 * square / np.nanmean(square) * far
    return replace(take, p_world_body=p + shift, R_world_body=rotation.from_vector(turn) @ take.R_world_body)
