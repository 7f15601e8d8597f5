"""Links of machines are measured between and along their axes; limbs of people as before."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.model.limbs import LINK_AXIS_MAX_95_RAD, is_link, limb_geometry, measure_link, measure_offset
from tests.make import machines

WITHIN_M = 0.0003


def test_the_links_of_a_robot_have_their_lengths_between_and_along_axes() -> None:
    skeleton = machines.fitted("panda").skeleton
    found = {limb.body: limb for limb in skeleton.limbs}
    true = {"link1": 0, "link2": 0, "link3": 0.0825, "link4": 0.0825, "link5": 0, "link6": 0.088}
    for body, distance in true.items():
        limb = found[body]
        assert limb.between == "axes"
        assert limb.length == pytest.approx(distance, abs=WITHIN_M)
        assert limb.low is not None
        assert limb.high is not None
        assert limb.low - WITHIN_M <= distance <= limb.high + WITHIN_M
    assert found["link3"].along == pytest.approx(0.316, abs=WITHIN_M)
    assert found["link5"].along == pytest.approx(0.384, abs=WITHIN_M)
    assert found["link1"].along is None


def test_parallel_axes_have_a_distance_and_no_offset() -> None:
    skeleton = machines.fitted("planar").skeleton
    found = {limb.body: limb for limb in skeleton.limbs}
    assert [found[f"link{k}"].length for k in (1, 2, 3)] == pytest.approx([0.3, 0.25, 0.2], abs=WITHIN_M)
    assert all(limb.along is None for limb in skeleton.limbs)


def test_axes_that_are_known_poorly_make_no_link() -> None:
    one, other = machines.fitted("skewed").skeleton.joints[1:3]
    assert is_link(one, other)
    assert one.axis_covariance is not None
    wide = replace(one, axis_covariance=np.eye(6) * LINK_AXIS_MAX_95_RAD**2)
    assert not is_link(wide, other)
    assert not is_link(replace(one, kind="ball"), other)
    assert not is_link(replace(one, axis_covariance=None), other)
    assert measure_offset([wide, one, other], one.child, one, other) is None


def test_a_length_between_axes_is_measured_along_their_normal() -> None:
    one, other = machines.fitted("skewed").skeleton.joints[1:3]
    shape = limb_geometry(one, other, one.child)
    assert shape is not None
    length, direction, between = shape
    assert between == "axes"
    assert length == measure_link(one, other, one.child).distance.value
    assert one.axis_child is not None
    assert other.axis_parent is not None
    assert abs(direction @ one.axis_child) < 1e-9
    assert abs(direction @ other.axis_parent) < 1e-9
    back = limb_geometry(other, one, one.child)
    assert back is not None
    assert back[0] == pytest.approx(length)
    np.testing.assert_allclose(back[1], -direction, atol=1e-9)
