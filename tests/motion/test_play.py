from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from condyle import Motion, Skeleton, Take, forward, play
from condyle.maths import rotation
from tests.make import jointed

MEET = 1e-12  # m, the two sides of a joint
SAME = 1e-12  # m and entries of matrices
seeds = st.integers(0, 2**32 - 1)


def gappy(take: Take, body: str, frames: slice) -> Take:
    hidden = np.zeros((take.frames, take.bodies), bool)
    hidden[frames, take.index(body)] = True
    return take.mask(hidden)


@settings(max_examples=30, deadline=None)
@given(seeds, st.integers(1, 3), st.integers(0, 2))
def test_joints_of_a_played_forest_meet_and_free_bodies_stay_where_they_were_measured(
    seed: int, roots: int, loose: int
) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 9, roots, loose, jointed.KINDS)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton), 0.02, 0.05)
    poses = forward(skeleton, play(skeleton, take))
    assert jointed.gaps(skeleton, poses).max() <= MEET
    np.testing.assert_allclose(poses.R_world_body, take.R_world_body, atol=SAME)
    free = [take.index(name) for name in (*skeleton.roots, *skeleton.loose)]
    np.testing.assert_array_equal(poses.p_world_body[:, free], take.p_world_body[:, free])


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_forward_undoes_play_and_play_undoes_forward(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 8, 2, 1, jointed.KINDS)
    moved = jointed.motion(rng, skeleton)
    again = play(skeleton, forward(skeleton, moved))
    np.testing.assert_allclose(again.R_parent_body, moved.R_parent_body, atol=SAME)
    np.testing.assert_allclose(again.p_world_free, moved.p_world_free, atol=SAME)


@settings(max_examples=20, deadline=None)
@given(seeds)
def test_a_moved_world_moves_the_poses_and_no_joint(seed: int) -> None:
    rng = np.random.default_rng(seed)
    skeleton = jointed.figure(rng, 6, 1, 1)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton), 0.01, 0.02)
    Q, shift = rotation.random(rng), rng.uniform(-5, 5, 3)
    moved = replace(take, R_world_body=Q @ take.R_world_body, p_world_body=take.p_world_body @ Q.T + shift)
    here, there = play(skeleton, take), play(skeleton, moved)
    inner = [k for k, name in enumerate(skeleton.bodies) if name not in here.free]
    np.testing.assert_allclose(there.R_parent_body[:, inner], here.R_parent_body[:, inner], atol=SAME)
    expected = forward(skeleton, here).p_world_body @ Q.T + shift
    np.testing.assert_allclose(forward(skeleton, there).p_world_body, expected, atol=1e-11)


def test_bodies_in_another_order_give_the_same_poses(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 7, 1, 1)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton), 0.01, 0.02)
    turned = replace(skeleton, bodies=skeleton.bodies[::-1], joints=skeleton.joints[::-1])
    one, other = forward(skeleton, play(skeleton, take)), forward(turned, play(turned, take))
    assert other.names == one.names[::-1]
    np.testing.assert_array_equal(other.p_world_body, one.p_world_body[:, ::-1])


def test_limbs_of_a_played_figure_keep_their_length(rng: np.random.Generator) -> None:
    skeleton = jointed.figure(rng, 6)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 50), 0.05, 0.1)
    poses = forward(skeleton, play(skeleton, take))
    for one in skeleton.joints:
        k, p = poses.index(one.child), poses.index(one.parent)
        joint = poses.R_world_body[:, k] @ one.p_child_joint + poses.p_world_body[:, k]
        length = np.linalg.norm(joint - poses.p_world_body[:, p], axis=1)
        np.testing.assert_allclose(length, np.linalg.norm(one.p_parent_joint), atol=MEET)


@pytest.fixture
def swing(rng: np.random.Generator) -> tuple[Skeleton, Take]:
    """Three bodies in a row that turn evenly about fixed axes, at 100 Hz."""
    joints = (jointed.joint(rng, "b", "a", "ball"), jointed.joint(rng, "c", "b", "ball"))
    skeleton = Skeleton(("a", "b", "c"), ("a",), (), joints)
    time = np.arange(101) / 100
    R = rotation.from_vector(time[:, None, None] * rng.uniform(-1, 1, (3, 3)))
    p = time[:, None] * rng.uniform(-1, 1, 3)
    return skeleton, forward(skeleton, Motion(skeleton.bodies, ("a",), time, R, p[:, None]))


@pytest.mark.parametrize("body", ["a", "b", "c"])
def test_a_short_gap_is_bridged_along_the_arc_and_told(swing: tuple[Skeleton, Take], body: str) -> None:
    skeleton, take = swing
    motion = play(skeleton, gappy(take, body, slice(40, 59)))
    poses = forward(skeleton, motion)
    np.testing.assert_allclose(poses.R_world_body, take.R_world_body, atol=1e-9)
    np.testing.assert_allclose(poses.p_world_body, take.p_world_body, atol=1e-9)
    (finding,) = motion.findings
    assert (finding.code, finding.bodies, finding.frame, finding.count) == ("gap-bridged", (body,), 40, 19)
    assert finding.value == pytest.approx(0.2)
    assert finding.severity == "info"


def test_a_long_gap_is_left_with_all_that_hangs_on_it(swing: tuple[Skeleton, Take]) -> None:
    skeleton, take = swing
    motion = play(skeleton, gappy(take, "b", slice(40, 60)))
    poses = forward(skeleton, motion)
    assert not poses.seen[40:60, 1:].any()
    assert poses.seen[:, 0].all()
    assert poses.seen[:40].all()
    assert poses.seen[60:].all()
    (finding,) = motion.findings
    assert (finding.code, finding.severity, finding.frame, finding.count) == ("gap-left", "warning", 40, 20)


def test_below_a_root_that_is_lost_joints_between_seen_bodies_are_still_known(swing: tuple[Skeleton, Take]) -> None:
    skeleton, take = swing
    motion = play(skeleton, gappy(take, "a", slice(30, 70)))
    assert motion.known[30:70].tolist() == [[False, False, True]] * 40
    assert not forward(skeleton, motion).seen[30:70].any()


def test_nothing_is_bridged_at_the_ends_or_across_segments(swing: tuple[Skeleton, Take]) -> None:
    skeleton, take = swing
    for frames in (slice(0, 3), slice(98, 101)):
        assert [finding.code for finding in play(skeleton, gappy(take, "c", frames)).findings] == ["gap-left"]
    parts = replace(take, segment=(np.arange(101) >= 50).astype(int))
    assert [finding.code for finding in play(skeleton, gappy(parts, "c", slice(48, 52))).findings] == ["gap-left"]


def test_the_longest_gap_may_be_chosen(swing: tuple[Skeleton, Take]) -> None:
    skeleton, take = swing
    holed = gappy(take, "b", slice(40, 60))
    assert play(skeleton, holed, longest_gap=0.3).known.all()
    assert not play(skeleton, gappy(take, "b", slice(40, 42)), longest_gap=0.0).known.all()


def test_all_poses_missing_is_a_motion_that_is_not_known(swing: tuple[Skeleton, Take]) -> None:
    skeleton, take = swing
    motion = play(skeleton, take.mask(np.ones((101, 3), bool)))
    assert not motion.known.any()
    assert {finding.code for finding in motion.findings} == {"gap-left"}
