"""A take with its lengths multiplied: positions and markers, never rotations, and it says so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.scale import scale_take
from condyle.model.take import BodyMarker, Take


@pytest.fixture
def take(rng: np.random.Generator) -> Take:
    made = Take(("hip", "knee"), np.arange(5.0), rotation.random(rng, (5, 2)), rng.uniform(-1, 1, (5, 2, 3)))
    return replace(made, markers=(BodyMarker("hip", "LASI", np.array([0.1, 0.2, 0.3])),))


def test_lengths_are_multiplied_and_rotations_are_not(take: Take) -> None:
    made = scale_take(take, 1.25)
    np.testing.assert_array_equal(made.p_world_body, 1.25 * take.p_world_body)
    np.testing.assert_array_equal(made.R_world_body, take.R_world_body)
    np.testing.assert_allclose(made.markers[0].p_body_marker, [0.125, 0.25, 0.375])
    assert (made.names, made.markers[0].body) == (take.names, "hip")


def test_the_factor_is_told_after_what_was_told_before(take: Take) -> None:
    twice = scale_take(scale_take(take, 1.25), 2.0)
    assert [(one.code, one.severity, one.value, one.unit) for one in twice.findings] == [
        ("scaled", "info", 1.25, "1"),
        ("scaled", "info", 2.0, "1"),
    ]
    assert "multiplied by 1.25" in twice.findings[0].text


def test_a_factor_of_one_is_the_very_take(take: Take) -> None:
    assert scale_take(take, 1.0) is take
