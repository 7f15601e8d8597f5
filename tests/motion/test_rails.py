"""Sliders stay on their rails, and threads do not disturb the motion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.motion import derive_motion, forward
from condyle.motion.ik import fit_motion
from condyle.motion.rails import keep_on_rails, remove_threads
from tests.make import machines

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
    about = forward(fit.skeleton, motion, threads=False)
    assert np.abs(about.p_world_body - fit.take.p_world_body).max() > 0.01


def test_without_its_thread_a_screw_is_a_hinge() -> None:
    fit = machines.fitted("screw", 0.0)
    plain = remove_threads(fit.skeleton, fit.take)
    for joint in fit.skeleton.joints:
        child, parent = plain.index(joint.child), plain.index(joint.parent)
        ends = [
            plain.p_world_body[:, k] + plain.R_world_body[:, k] @ p
            for k, p in ((child, joint.p_child_joint), (parent, joint.p_parent_joint))
        ]
        assert np.abs(ends[0] - ends[1]).max() < 1e-6


def test_a_figure_without_such_joints_is_untouched() -> None:
    fit = machines.fitted("planar", 0.0)
    assert remove_threads(fit.skeleton, fit.take) is fit.take
    assert keep_on_rails(fit.skeleton, fit.motion) is fit.motion
