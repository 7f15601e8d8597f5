"""A sensor glued on with other axes is the same sensor: every answer stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.maths import rotation
from condyle.pairs.noise import estimate_noise
from condyle.simulate import Disturbances, chain, linkage, simulate

NOISE = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.3), soft_tissue=0.003)
SAME = 1e-9  # m
SAME_NOISE = 1e-9  # of itself


@pytest.mark.parametrize("figure", [linkage(), chain(["hinge", "ball", "hinge"])], ids=["linkage", "hinges"])
def test_turned_sensor_axes_change_no_length_no_kind_and_no_residual(figure, rng: np.random.Generator) -> None:
    take = simulate(figure, seconds=15, seed=4, disturbances=NOISE).take
    turned = replace(take, R_world_body=take.R_world_body @ rotation.random(rng, (take.bodies,)))
    one, other = (condyle.fit(each).skeleton for each in (take, turned))
    assert [(j.child, j.parent, j.kind, j.point) for j in one.joints] == [
        (j.child, j.parent, j.kind, j.point) for j in other.joints
    ]
    np.testing.assert_allclose([j.residual for j in one.joints], [j.residual for j in other.joints], atol=SAME)
    lengths = [[limb.length for limb in skeleton.limbs if limb.length is not None] for skeleton in (one, other)]
    np.testing.assert_allclose(lengths[0], lengths[1], atol=SAME)


def test_the_noise_of_a_sensor_does_not_depend_on_its_axes(rng: np.random.Generator) -> None:
    take = simulate(linkage(), seconds=15, seed=4, disturbances=NOISE).take
    turned = replace(take, R_world_body=take.R_world_body @ rotation.random(rng, (take.bodies,)))
    one, other = estimate_noise(take), estimate_noise(turned)
    np.testing.assert_allclose(one.orientation, other.orientation, rtol=SAME_NOISE)
    np.testing.assert_allclose(one.position, other.position, rtol=SAME_NOISE)
