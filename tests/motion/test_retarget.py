from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import condyle
from condyle import Limb, Motion, Skeleton, UsageError, forward, play, retarget_motion, simulate
from condyle.model.skeleton import Placement
from tests.make import jointed

MEET = 1e-12  # m
FLOOR = 1e-9  # m
FEET = 0.005  # m, how far the lowest point may leave the floor from step to step


@pytest.fixture(scope="module")
def walker() -> tuple[Skeleton, Motion]:
    world = simulate.simulate(simulate.human(), "walk", seconds=6.0, rate=30.0, seed=5)
    edges = [(parent, child) for child, parent in world.truth.edges]
    calibration = condyle.fit(replace(world.take, up="z"), tree=edges, root="pelvis", intervals=False)
    return calibration.skeleton, play(calibration.skeleton, calibration.take)


def lowest(skeleton: Skeleton, motion: Motion) -> np.ndarray:
    """(n,) [m] height of the lowest sensor or joint."""
    poses = forward(skeleton, motion)
    heights = [poses.p_world_body[..., 2]]
    for one in skeleton.joints:
        k = poses.index(one.child)
        heights.append((poses.p_world_body[:, k] + poses.R_world_body[:, k] @ one.p_child_joint)[:, None, 2])
    return np.concatenate(heights, axis=1).min(axis=1)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_limbs_have_the_new_lengths_and_joints_meet(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 8, 2, 1)
    motion = jointed.motion(rng, skeleton)
    factors = {name: float(rng.uniform(0.5, 2)) for name in skeleton.bodies}
    grown, moved = retarget_motion(skeleton, replace(motion, up="y"), factors)
    assert jointed.gaps(grown, forward(grown, moved)).max() <= MEET
    np.testing.assert_array_equal(moved.R_parent_body, motion.R_parent_body)
    for old, new in zip(skeleton.joints, grown.joints, strict=True):
        np.testing.assert_allclose(new.p_child_joint, factors[old.child] * old.p_child_joint)
        np.testing.assert_allclose(new.p_parent_joint, factors[old.parent] * old.p_parent_joint)


def test_a_figure_scaled_as_a_whole_is_the_same_figure_larger(walker: tuple[Skeleton, Motion]) -> None:
    skeleton, motion = walker
    grown, moved = retarget_motion(skeleton, motion, 1.25)
    small, large = forward(skeleton, motion), forward(grown, moved)
    np.testing.assert_allclose(
        np.diff(large.p_world_body, axis=0), 1.25 * np.diff(small.p_world_body, axis=0), atol=1e-9
    )
    floor = np.sort(lowest(skeleton, motion))[1]
    assert np.sort(lowest(grown, moved))[1] == pytest.approx(floor, abs=FLOOR)
    assert grown.limb("l_thigh").length == pytest.approx(1.25 * skeleton.limb("l_thigh").length)  # type: ignore[operator]
    root = motion.free.index("pelvis")
    np.testing.assert_allclose(moved.p_world_free[0, root, :2], motion.p_world_free[0, root, :2], atol=1e-12)


@pytest.mark.parametrize("factor", [0.7, 1.3])
def test_feet_of_a_figure_with_other_legs_stay_on_the_floor(walker: tuple[Skeleton, Motion], factor: float) -> None:
    skeleton, motion = walker
    legs = {f"{side}_{part}": factor for side in "lr" for part in ("thigh", "shank", "foot")}
    grown, moved = retarget_motion(skeleton, motion, legs)
    before, after = np.sort(lowest(skeleton, motion)), np.sort(lowest(grown, moved))
    assert after[1] == pytest.approx(before[1], abs=FLOOR)
    spread = np.ptp(before[:-5])
    assert np.ptp(after[:-5]) <= max(factor, 1.0) * spread + 20 * FEET
    rise = forward(grown, moved).p_world_body[:, 0, 2].mean() - forward(skeleton, motion).p_world_body[:, 0, 2].mean()
    assert np.sign(rise) == np.sign(factor - 1)


def test_without_up_the_root_goes_where_it_went_and_says_so() -> None:
    rng = np.random.default_rng(4)
    skeleton = jointed.figure(rng, 5, 1, 0)
    motion = replace(jointed.motion(rng, skeleton), up=None)
    grown, moved = retarget_motion(skeleton, motion, 2.0)
    np.testing.assert_array_equal(moved.p_world_free, motion.p_world_free)
    assert moved.findings[-1].code == "path-not-scaled"
    assert any(finding.code == "path-not-scaled" for finding in grown.findings)


def test_a_persons_trunk_tells_what_is_up(walker: tuple[Skeleton, Motion]) -> None:
    skeleton, motion = walker
    unsaid = replace(skeleton, conventions={**skeleton.conventions, "up": None})
    _, moved = retarget_motion(unsaid, replace(motion, up=None), 2.0)
    _, wanted = retarget_motion(skeleton, motion, 2.0)
    np.testing.assert_array_equal(moved.p_world_free, wanted.p_world_free)
    assert [finding.code for finding in moved.findings] == ["up-assumed"]


def test_lengths_of_another_skeleton_are_taken_over_and_back(walker: tuple[Skeleton, Motion]) -> None:
    skeleton, motion = walker
    factors = {"l_thigh": 1.2, "r_thigh": 1.2, "l_upper_arm": 0.8, "r_upper_arm": 0.9}
    other, _ = retarget_motion(skeleton, motion, factors)
    grown, moved = retarget_motion(skeleton, motion, other)
    for limb, wanted in zip(grown.limbs, other.limbs, strict=True):
        assert limb.length == pytest.approx(wanted.length)
    assert jointed.gaps(grown, forward(grown, moved)).max() <= MEET


def test_every_length_of_a_body_grows_and_its_uncertainty_with_it(rng: np.random.Generator) -> None:
    one = replace(jointed.joint(rng, "b", "a", "ball"), covariance=np.eye(6))
    skeleton = Skeleton(
        ("a", "b", "c"),
        ("a",),
        (),
        (one, jointed.joint(rng, "c", "b", "ball")),
        (Limb("b", "b", "c", 0.4, 0.3, 0.5), Limb("a", "b", "c", None, None, None)),
        sensors=(Placement("b", "b", np.ones(3), 1.7, None, 2.0),),
        loops=(jointed.joint(rng, "a", "c", "ball"),),
    )
    grown, _ = retarget_motion(skeleton, jointed.motion(rng, skeleton), {"b": 3.0})
    assert (grown.limbs[0].length, grown.limbs[0].low, grown.limbs[0].high) == pytest.approx((1.2, 0.9, 1.5))
    assert grown.limbs[1].length is None
    assert grown.sensors[0].distance == pytest.approx(5.1)
    assert np.diag(grown.joints[0].covariance).tolist() == [9.0] * 3 + [1.0] * 3  # type: ignore[arg-type]
    assert grown.loops == ()
    assert grown.options["retarget"] == {"a": 1.0, "b": 3.0, "c": 1.0}
    alike, _ = retarget_motion(grown, jointed.motion(rng, grown), 2.0)
    assert alike.options["retarget"] == {"a": 2.0, "b": 6.0, "c": 2.0}


def test_wrong_names_and_factors_are_refused(walker: tuple[Skeleton, Motion], rng: np.random.Generator) -> None:
    skeleton, motion = walker
    with pytest.raises(UsageError, match="no body named 'tail'; choose from pelvis"):
        retarget_motion(skeleton, motion, {"tail": 2.0})
    for factor in (np.inf, 1e300, 1e-320):
        with pytest.raises(UsageError, match=r"is not between 0\.001 and 1000"):
            retarget_motion(skeleton, motion, factor)
    for factor in (0.0, -1.0, np.nan):
        with pytest.raises(UsageError, match="is not above zero"):
            retarget_motion(skeleton, motion, factor)
    with pytest.raises(UsageError, match="has no body named"):
        retarget_motion(skeleton, motion, jointed.figure(rng, 4))
    with pytest.raises(UsageError, match="no limb in common"):
        retarget_motion(skeleton, motion, replace(skeleton, limbs=()))
