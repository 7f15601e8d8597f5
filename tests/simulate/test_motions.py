"""Motions hold joints together, use the range, stay slow and are the same at every rate."""

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.simulate import chain, exercise, human, linkage, still, walk

ROUNDING_M = 1e-12
SPACE_M = 1.5  # farthest a root strays from the middle of the capture space
WHITE_M = 0.003
NOISE_SHARE = 0.1  # how well sixth differences tell white noise while the figure moves


def joint_gaps(figure, R, p):
    up = figure.parent
    inner = np.flatnonzero(up >= 0)
    reached = p[:, up[inner]] + np.einsum("nmij,mj->nmi", R[:, up[inner]], figure.p_parent_joint[inner])
    return np.linalg.norm(reached - p[:, inner], axis=-1)


@pytest.mark.parametrize("motion", [exercise, walk, still])
@pytest.mark.parametrize("figure", [human(), linkage(), chain(("hinge", "ball", "rigid"))])
def test_every_joint_stays_together_in_every_motion(motion, figure) -> None:
    R, p = motion(figure, 6, 30, np.random.default_rng(1))
    assert R.shape == (180, len(figure.names), 3, 3)
    assert joint_gaps(figure, R, p).max() < ROUNDING_M
    assert rotation.defect(R).max() < ROUNDING_M


@pytest.mark.parametrize("motion", [exercise, walk])
def test_every_ball_joint_of_the_human_turns_about_all_axes(motion) -> None:
    figure = human()
    R, _ = motion(figure, 45, 30, np.random.default_rng(2))
    relative = np.swapaxes(R[:, figure.parent[1:]], -1, -2) @ R[:, 1:]
    spread = np.linalg.svd(relative.mean(axis=0), compute_uv=False)
    assert (1 - spread).min() > 0.002  # some 4 deg rms about the weakest pair of axes
    assert np.degrees(rotation.angle(relative)).max(axis=0).min() > 20


def test_exercise_moves_one_chain_while_the_others_idle() -> None:
    figure = human()
    R, _ = exercise(figure, 60, 30, np.random.default_rng(3))
    angle = np.degrees(rotation.angle(np.swapaxes(R[:, figure.parent[1:]], -1, -2) @ R[:, 1:]))
    assert (np.median(angle, axis=0) < 6).all()


def test_legs_walk_in_antiphase() -> None:
    figure = human()
    R, _ = walk(figure, 30, 30, np.random.default_rng(4))
    legs = [figure.names.index(name) for name in ("l_thigh", "r_thigh")]
    flexion = rotation.to_vector(np.swapaxes(R[:, [0, 0]], -1, -2) @ R[:, legs])[..., 1]
    assert np.corrcoef(flexion.T)[0, 1] < -0.5


def test_half_range_halves_the_joint_angles() -> None:
    figure = chain(("ball",))
    full, half = (walk(figure, 5, 30, np.random.default_rng(5), range=range) for range in (1.0, 0.5))
    angles = [rotation.to_vector(np.swapaxes(R[:, 0], -1, -2) @ R[:, 1]) for R, _ in (full, half)]
    assert np.allclose(angles[1], 0.5 * angles[0], atol=1e-9)


def test_a_hinge_turns_about_its_axis_only() -> None:
    figure = chain(("hinge",))
    R, _ = exercise(figure, 10, 30, np.random.default_rng(6))
    turned = np.swapaxes(R[:, 0], -1, -2) @ R[:, 1] @ figure.axis[1]
    assert np.abs(turned - figure.axis[1]).max() < ROUNDING_M


def test_nothing_moves_in_still() -> None:
    R, p = still(human(), 2, 30)
    assert np.ptp(p, axis=0).max() == 0
    assert np.ptp(R, axis=0).max() == 0


@pytest.mark.parametrize("motion", [exercise, walk])
def test_a_higher_rate_samples_the_same_motion_more_often(motion) -> None:
    slow, fast = (motion(human(), 4, rate, np.random.default_rng(7)) for rate in (30, 120))
    assert np.allclose(slow.p_world_bone, fast.p_world_bone[::4], atol=ROUNDING_M)


@pytest.mark.parametrize("motion", [exercise, walk])
def test_roots_stay_in_the_capture_space(motion) -> None:
    _, p = motion(human(), 60, 30, np.random.default_rng(8))
    assert np.linalg.norm(p[:, 0, :2] - [1.2, 0.0], axis=-1).max() < SPACE_M
    assert p[:, 0, 2].min() > 0.8


@pytest.mark.parametrize("motion", [exercise, walk])
def test_sixth_differences_at_30_hz_see_only_white_noise(motion) -> None:
    rng = np.random.default_rng(9)
    _, p = motion(human(), 45, 30, rng)
    differences = np.diff(p + WHITE_M * rng.standard_normal(p.shape), n=6, axis=0) / np.sqrt(924)
    estimate = np.median(np.abs(differences), axis=(0, 2)) / 0.6745
    assert np.abs(estimate / WHITE_M - 1).max() < NOISE_SHARE


@pytest.mark.parametrize("seconds", [0, 1 / 30])
def test_no_frame_and_one_frame_are_motions_too(seconds) -> None:
    for motion in (exercise, walk, still):
        R, p = motion(human(), seconds, 30, np.random.default_rng(0))
        assert len(R) == len(p) == round(30 * seconds)
