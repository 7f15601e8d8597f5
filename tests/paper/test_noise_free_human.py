"""The paper's first experiment: a human of 48 degrees of freedom without noise."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.simulate import human, simulate

PAPER_LENGTH = 1e-6  # m, what the paper reports
LEAST_SQUARES_LENGTH = 1e-12  # m
DEFAULT_LENGTH = 1e-9  # m


@pytest.mark.parametrize("motion", ["exercise", "walk"])
@pytest.mark.parametrize(
    ("method", "tolerance"), [("least-squares", LEAST_SQUARES_LENGTH), ("default", DEFAULT_LENGTH)]
)
def test_every_limb_length_and_the_tree_are_recovered(motion: str, method: str, tolerance: float) -> None:
    figure = human()
    assert figure.degrees_of_freedom == 48
    world = simulate(figure, motion, seconds=20, rate=30, seed=48)  # type: ignore[arg-type]
    skeleton = condyle.fit(world.take, plan=method).skeleton  # type: ignore[arg-type]
    assert {(j.child, j.parent) for j in skeleton.joints} == set(world.truth.edges)
    known = {frozenset(key): value for key, value in _by_ends(world.truth.limbs).items()}
    errors = [
        limb.length - known[frozenset((limb.body, limb.from_joint, limb.to_joint, "limb"))] for limb in skeleton.limbs
    ]
    assert len(errors) == 17
    assert np.abs(errors).max() < tolerance < PAPER_LENGTH


def _by_ends(limbs: dict[tuple[str, str, str], float]) -> dict[tuple[str, ...], float]:
    return {(*key, "limb"): value for key, value in limbs.items()}
