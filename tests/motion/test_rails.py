"""Sliders stay on their rails, and threads do not disturb the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle import Motion, Skeleton, Take
from condyle.maths import rotation
from condyle.model.motion import derive_motion, forward, measure_slide
from condyle.motion.ik import fit_motion
from condyle.motion.play import play
from condyle.motion.rails import keep_on_rails, remove_threads, turn_threads
from tests.make import jointed, machines

EXACT = 1e-9  # m, and of matrix entries


@pytest.mark.parametrize("root", ["link0", "link2", "link4"])
def test_a_part_that_was_measured_off_its_rail_is_put_on_it(root: str) -> None:
    fit = machines.fitted("scara", 0.0, root=root)
    (slider,) = fit.skeleton.loops
    true = fit.take
    small = slider.child if slider.child in fit.skeleton.loose else slider.parent
    rng, k = np.random.default_rng(1), true.index(small)
    R, p = true.R_world_body.copy(), true.p_world_body.copy()
    R[:, k] = R[:, k] @ rotation.from_vector(rng.normal(0, 0.01, (true.frames, 3)))
    p[:, k] += rng.normal(0, 0.005, (true.frames, 3))
    motion = derive_motion(fit.skeleton, replace(true, R_world_body=R, p_world_body=p))
    poses = forward(fit.skeleton, keep_on_rails(fit.skeleton, motion))
    other = true.index(slider.parent if small == slider.child else slider.child)
    turn = np.swapaxes(poses.R_world_body[:, other], -1, -2) @ poses.R_world_body[:, k]
    assert np.abs(turn - turn[0]).max() < EXACT
    place = (
        np.swapaxes(poses.R_world_body[:, other], -1, -2)
        @ (poses.p_world_body[:, k] - poses.p_world_body[:, other])[..., None]
    )
    spread = np.linalg.svd(place[..., 0] - place[..., 0].mean(axis=0), compute_uv=False)
    assert spread[0] > 0.1  # it goes along,
    assert spread[1] < EXACT  # and only along


def test_what_is_on_its_rail_stays_where_it_is() -> None:
    fit = machines.fitted("scara", 0.0)
    solved = forward(fit.skeleton, fit_motion(fit.skeleton, fit.take).motion)
    assert np.abs(solved.p_world_body - fit.take.p_world_body).max() < EXACT


def test_a_screw_is_played_along_its_thread_as_it_was_recorded() -> None:
    fit = machines.fitted("screw", 0.0)
    motion = fit_motion(fit.skeleton, fit.take).motion
    solved = forward(fit.skeleton, motion)
    assert np.abs(solved.R_world_body - fit.take.R_world_body).max() < EXACT
    assert np.abs(solved.p_world_body - fit.take.p_world_body).max() < 1e-6
    about = forward(fit.skeleton, replace(motion, slide=None))
    assert np.abs(about.p_world_body - fit.take.p_world_body).max() > 0.01


def test_without_its_thread_a_screw_is_a_hinge() -> None:
    fit = machines.fitted("screw", 0.0)
    plain = remove_threads(fit.skeleton, fit.take, measure_slide(fit.skeleton, fit.take))
    for joint in fit.skeleton.joints:
        child, parent = plain.index(joint.child), plain.index(joint.parent)
        ends = [
            plain.p_world_body[:, k] + plain.R_world_body[:, k] @ p
            for k, p in ((child, joint.p_child_joint), (parent, joint.p_parent_joint))
        ]
        assert np.abs(ends[0] - ends[1]).max() < 1e-6


PITCH_M = 0.02


@pytest.fixture
def drill(rng: np.random.Generator) -> tuple[Skeleton, Take]:
    """A screw that turns at 6 rad/s for 5 s, back for 5 s in another segment, and a body that hangs on it by a ball."""
    screw = replace(jointed.joint(rng, "b", "a", "hinge"), kind="screw", pitch=PITCH_M)
    skeleton = Skeleton(("a", "b", "c"), ("a",), (), (screw, jointed.joint(rng, "c", "b", "ball")))
    time = np.arange(1000) / 100
    angle = np.where(time < 5, 6 * time, 30 - 6 * (time - 5)) - 15
    assert screw.axis_child is not None
    onto = rotation.find_shortest_arc(screw.axis_child, screw.axis_parent)
    R = rotation.from_vector(time[:, None, None] * rng.uniform(-1, 1, (3, 3)))
    R[:, 1] = onto @ rotation.from_vector((angle + 1)[:, None] * screw.axis_child)
    slide = np.zeros((1000, 3))
    slide[:, 1] = PITCH_M / (2 * np.pi) * angle
    p, segment = time[:, None, None] * rng.uniform(-0.1, 0.1, 3), (time >= 5).astype(np.int64)
    return skeleton, forward(skeleton, Motion(skeleton.bodies, ("a",), time, R, p, segment, slide=slide))


def hide(take: Take, body: str, frames: slice) -> Take:
    hidden = np.zeros(take.seen.shape, bool)
    hidden[frames, take.index(body)] = True
    return take.mask(hidden)


@pytest.mark.parametrize("body", ["a", "b"])
@pytest.mark.parametrize("solver", ["play", "fit", "balls"])
def test_a_screw_is_on_its_thread_on_both_sides_of_a_gap_of_many_turns(
    drill: tuple[Skeleton, Take], solver: str, body: str
) -> None:
    skeleton, true = drill
    seen = hide(hide(true, body, slice(200, 300)), body, slice(460, 530))
    found = play(skeleton, seen) if solver == "play" else fit_motion(skeleton, seen, keep_axes=solver == "fit").motion
    poses = forward(skeleton, found)
    rows = seen.seen.all(axis=1)
    assert rows.sum() == 830
    assert np.abs(poses.p_world_body - true.p_world_body)[rows].max() < 1e-6


def test_whole_turns_are_told_where_noise_is_a_large_part_of_the_pitch(
    drill: tuple[Skeleton, Take], rng: np.random.Generator
) -> None:
    skeleton, true = drill
    noisy = replace(true, p_world_body=true.p_world_body + rng.normal(0, 0.2 * PITCH_M, true.p_world_body.shape))
    slide, exact = play(skeleton, noisy).slide, measure_slide(skeleton, true)
    assert slide is not None
    assert exact is not None
    assert np.abs(slide - exact).max() < 0.1 * PITCH_M


@pytest.mark.parametrize("turn", [2.0, -2.0, np.pi])
def test_one_bad_pose_does_not_cost_a_turn(drill: tuple[Skeleton, Take], turn: float) -> None:
    skeleton, true = drill
    R, axis = true.R_world_body.copy(), skeleton.joints[0].axis_child
    assert axis is not None
    R[250:252, 1] = R[250:252, 1] @ rotation.from_vector(np.array([[turn], [2 * turn]]) * axis)
    p = true.p_world_body.copy()
    p[700:703, 1] += 0.1
    slide, exact = play(skeleton, replace(true, R_world_body=R, p_world_body=p)).slide, measure_slide(skeleton, true)
    assert slide is not None
    assert exact is not None
    away = np.abs(slide - exact).max(axis=1)
    assert np.delete(away, [250, 251]).max() < 1e-6


def test_a_screw_that_was_never_seen_with_its_parent_only_turns(drill: tuple[Skeleton, Take]) -> None:
    skeleton, true = drill
    motion = fit_motion(skeleton, hide(true, "b", slice(None))).motion
    np.testing.assert_array_equal(motion.slide, np.zeros((1000, 3)))


def test_a_part_of_a_motion_is_played_as_in_the_whole(drill: tuple[Skeleton, Take]) -> None:
    skeleton, true = drill
    motion = derive_motion(skeleton, true)
    for rows in (slice(3, 4), slice(100, 700)):
        assert np.abs(forward(skeleton, motion.at(rows)).p_world_body - true.p_world_body[rows]).max() < EXACT


def test_a_thread_goes_on_as_the_screw_turns_on(drill: tuple[Skeleton, Take]) -> None:
    skeleton, true = drill
    motion = derive_motion(skeleton, true)
    assert motion.slide is not None
    R = motion.R_parent_body
    found = turn_threads(skeleton, motion.slide[:499], R[:499], R[1:500])
    np.testing.assert_allclose(found, motion.slide[1:500], atol=EXACT)


def test_a_figure_without_such_joints_is_untouched() -> None:
    fit = machines.fitted("planar", 0.0)
    assert measure_slide(fit.skeleton, fit.take) is None
    assert remove_threads(fit.skeleton, fit.take, None) is fit.take
    assert fit.motion.slide is None
    assert keep_on_rails(fit.skeleton, fit.motion) is fit.motion
