from __future__ import annotations

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.prepare import shapes as module
from condyle.prepare.shapes import SHAPE_FRAMES, Shape, extent, fit_error, fit_poses, fit_shape
from tests.make.looked_at import is_about, record_counts

EXACT = 1e-12  # m, and in rotations
NOISE = 0.001  # m


def moved(rng: np.random.Generator, points: np.ndarray, n: int, far: float = 1.0):
    """R (n, 3, 3), p (n, 3) at random and the points carried along (n, k, 3)."""
    R, p = rotation.random(rng, (n,)), far * rng.standard_normal((n, 3))
    return R, p, p[:, None] + points @ np.swapaxes(R, 1, 2)


def cluster(rng: np.random.Generator, k: int) -> np.ndarray:
    points = 0.1 * rng.standard_normal((k, 3))
    return points - points.mean(axis=0)


@pytest.mark.parametrize("k", [3, 4, 7])
def test_poses_of_exact_points_are_exact(rng, k) -> None:
    points = cluster(rng, k)
    R, p, cloud = moved(rng, points, 50)
    found_R, found_p = fit_poses(cloud, Shape(points))
    np.testing.assert_allclose(found_R, R, atol=EXACT)
    np.testing.assert_allclose(found_p, p, atol=EXACT)


def test_a_far_origin_costs_no_more_digits_than_its_numbers_have(rng) -> None:
    points = cluster(rng, 4)
    R, p, cloud = moved(rng, points, 20, far=1e4)
    found_R, found_p = fit_poses(cloud, Shape(points))
    np.testing.assert_allclose(found_R, R, atol=1e-9)
    np.testing.assert_allclose(found_p, p, atol=1e-9)


def test_three_of_five_points_suffice_and_two_do_not(rng) -> None:
    points = cluster(rng, 5)
    R, p, cloud = moved(rng, points, 30)
    cloud[:10, :2] = np.nan
    cloud[10:20, :3, 1] = np.nan
    found_R, found_p = fit_poses(cloud, Shape(points))
    assert np.isnan(found_p[10:20]).all()
    assert np.isnan(found_R[10:20]).all()
    keep = np.r_[:10, 20:30]
    np.testing.assert_allclose(found_R[keep], R[keep], atol=EXACT)
    np.testing.assert_allclose(found_p[keep], p[keep], atol=EXACT)


def test_points_on_a_line_leave_the_pose_open(rng) -> None:
    points = np.array([[-0.1, 0, 0], [0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]])
    _, _, cloud = moved(rng, points, 4)
    cloud[:2, 3] = np.nan
    _, p = fit_poses(cloud, Shape(points))
    assert np.isnan(p[:2]).all()
    assert np.isfinite(p[2:]).all()


def test_a_shape_is_found_from_points_that_are_never_all_seen_at_once(rng) -> None:
    points = cluster(rng, 8)
    _, _, cloud = moved(rng, points, 300)
    for first in range(5):  # four neighbours are seen at a time: the shape is put together along the chain
        cloud[first::5, :first] = cloud[first::5, first + 4 :] = np.nan
    shape = fit_shape(cloud)
    assert shape.placed.all()
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    np.testing.assert_allclose(np.linalg.norm(shape.points[:, None] - shape.points, axis=2), apart, atol=1e-9)
    np.testing.assert_allclose(shape.points.mean(axis=0), 0, atol=EXACT)


def test_a_fifth_of_wrong_frames_does_not_bend_a_shape(rng) -> None:
    points = cluster(rng, 4)
    _, _, cloud = moved(rng, points, 500)
    cloud += NOISE * rng.standard_normal(cloud.shape)
    wrong = rng.random(500) < 0.2
    cloud[wrong, 1] += 0.1
    shape = fit_shape(cloud)
    R, p = fit_poses(points[None], shape)
    off = points - p - shape.points @ R[0].T
    assert np.abs(off).max() < NOISE / 2


def test_a_shape_is_never_its_mirror_image(rng) -> None:
    points = cluster(rng, 5)
    _, _, cloud = moved(rng, points, 100)
    shape = fit_shape(cloud)
    R, p = fit_poses(points[None], shape)
    assert fit_error(points[None], shape, R, p)[0] < 1e-9
    assert fit_error(-points[None], shape, *fit_poses(-points[None], shape))[0] > 1e-3


def test_the_error_of_a_fit_is_the_noise_however_many_points_are_seen(rng) -> None:
    points = cluster(rng, 6)
    _, _, cloud = moved(rng, points, 4000)
    cloud += NOISE * rng.standard_normal(cloud.shape)
    cloud[::2, :3] = np.nan
    shape = Shape(points)
    error = fit_error(cloud, shape, *fit_poses(cloud, shape))
    for half in (error[::2], error[1::2]):
        assert np.sqrt((half**2).mean()) == pytest.approx(NOISE, rel=0.05)
    assert fit_shape(cloud).noise == pytest.approx(NOISE, rel=0.15)  # a median of frames with three and with six


def test_a_point_seen_seldom_in_a_long_take_is_placed(rng) -> None:
    points = cluster(rng, 4)
    _, _, cloud = moved(rng, points, 5 * SHAPE_FRAMES)
    rows = np.flatnonzero(np.arange(len(cloud)) % 5 == 3)[::20]  # none of them among evenly spread rows
    hidden = np.setdiff1d(np.arange(len(cloud)), rows)
    cloud[hidden, 3] = np.nan
    assert fit_shape(cloud).placed.all()


@pytest.mark.parametrize("n", [0, 5])
def test_points_that_are_never_seen_have_no_shape(n) -> None:
    shape = fit_shape(np.full((n, 4, 3), np.nan))
    assert not shape.placed.any()
    assert shape.size == 0


def test_one_frame_is_a_shape(rng) -> None:
    points = cluster(rng, 3)
    assert fit_shape(points[None]).size == pytest.approx(np.sqrt((points**2).sum(axis=1).mean()))


def test_length_and_width_are_those_of_the_two_longest_axes() -> None:
    points = np.array([[3.0, 0, 0], [-3, 0, 0], [0, 0, 1], [0, 0, -1]])
    assert extent(points) == pytest.approx((np.sqrt(18), np.sqrt(2)))


def test_the_turn_about_a_line_is_seen_where_points_are_off_it_by_more_than_their_noise() -> None:
    def shape(width: float, noise: float = 0.0) -> Shape:
        return Shape(np.array([[0.1, 0, 0], [-0.1, 0, 0], [0, width, 0], [0, -width, 0]]), noise)

    every = np.ones(4, dtype=bool)
    for width, noise, seen in ((0.001, 0.0, False), (0.004, 0.0, True), (0.02, 0.012, False), (0.02, 0.003, True)):
        assert shape(width, noise).is_observed(every) == seen, (width, noise)


def test_a_shape_is_learnt_from_some_thousand_frames_and_enough_of_a_rare_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = record_counts(monkeypatch, module)
    rng = np.random.default_rng(5)
    cloud = np.tile(rng.standard_normal((4, 3)), (9000, 1, 1)) + 1e-4 * rng.standard_normal((9000, 4, 3))
    cloud[np.arange(9000) % 90 != 7, 3] = np.nan
    fit_shape(cloud)
    assert is_about(counts[0], 2000)
    assert is_about(counts[1], 50)
