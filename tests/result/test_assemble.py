"""Limbs and placements from joints, and how sure they are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.estimate.intervals import Uncertainty
from condyle.maths.robust import Z95
from condyle.model.skeleton import Joint
from condyle.result.assemble import assemble_limbs, assemble_placements, show_poses
from tests.make import moving


def joint(child: str, parent: str, p_child: list[float], p_parent: list[float], kind: str = "ball") -> Joint:
    evidence = (None, None, None, 0.0, 10, np.ones(6), 1e-6 * np.eye(6), None, None, np.ones(3))
    return Joint(child, parent, kind, "determined", p_child, p_parent, *evidence)  # type: ignore[arg-type]


JOINTS = [joint("thigh", "pelvis", [0, 0, 0.1], [0.1, 0, 0]), joint("shank", "thigh", [0, 0, 0.2], [0, 0, -0.3])]


def sure(sigma: float) -> Uncertainty:
    """Every coordinate known to `sigma` [m], a quarter of its variance passing."""
    V = sigma**2 * np.eye(12)
    return Uncertainty(*(V if name == "covariance" else V / 4 if name == "passing" else None for name in FIELDS))  # type: ignore[misc]


FIELDS = list(Uncertainty.__dataclass_fields__)


def test_a_limb_lies_between_every_two_joints_of_a_body() -> None:
    (limb,) = assemble_limbs(JOINTS, None)
    assert (limb.body, limb.from_joint, limb.to_joint) == ("thigh", "thigh", "shank")
    assert limb.length == pytest.approx(0.4)
    assert (limb.low, limb.high) == (None, None)


def test_its_interval_is_that_of_the_two_ends_and_part_of_it_passes() -> None:
    (limb,) = assemble_limbs(JOINTS, sure(0.001))
    assert limb.high is not None
    assert limb.low is not None
    assert limb.high - limb.low == pytest.approx(2 * Z95 * 0.001 * np.sqrt(2))
    assert limb.passing == pytest.approx(0.25)


def test_no_length_is_told_to_a_joint_that_is_not_located() -> None:
    rigid = [JOINTS[0], replace(JOINTS[1], kind="rigid")]
    (limb,) = assemble_limbs(rigid, sure(0.001))
    assert limb.length is None


def test_every_joint_is_placed_on_both_of_its_bodies() -> None:
    found = assemble_placements(JOINTS, sure(0.002))
    assert [(one.body, one.joint) for one in found] == [
        ("thigh", "thigh"), ("pelvis", "thigh"), ("shank", "shank"), ("thigh", "shank")
    ]  # fmt: skip
    for one in found:
        assert one.high is not None
        assert one.high - one.distance == pytest.approx(Z95 * 0.002)
    assert assemble_placements([replace(JOINTS[0], point="arbitrary")], sure(0.002))[0].high is None


def test_poses_of_another_take_stand_where_asked() -> None:
    take = moving.links(seconds=1).take
    other = replace(take, p_world_body=take.p_world_body + 1)
    where = np.zeros((take.frames, take.bodies), bool)
    where[3, 1] = True
    shown = show_poses(take, other, where)
    np.testing.assert_array_equal(np.argwhere((shown.p_world_body != take.p_world_body).any(axis=-1)), [[3, 1]])
