"""maths/rotation.py against scipy.spatial.transform as an independent answer."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.maths import rotation

EXACT = 1e-14  # entries of rotation matrices and quaternions, rad
NEAR_PI = 1e-7  # rad, vectors close to half a turn, where the arc cosine of any method loses half its digits


def _scipy_from_wxyz(q: np.ndarray) -> Rotation:
    return Rotation.from_quat(np.roll(q, -1, axis=-1))


def test_quaternions_give_the_same_matrices_as_scipy(rng: np.random.Generator) -> None:
    q = rng.standard_normal((500, 4))
    np.testing.assert_allclose(rotation.from_quaternion(q), _scipy_from_wxyz(q).as_matrix(), atol=EXACT)


def test_matrices_give_the_same_quaternions_as_scipy_up_to_sign(rng: np.random.Generator) -> None:
    R = Rotation.random(500, random_state=rng).as_matrix()
    q = np.roll(Rotation.from_matrix(R).as_quat(), 1, axis=-1)
    q = np.where(q[:, :1] < 0, -q, q)
    np.testing.assert_allclose(rotation.to_quaternion(R), q, atol=EXACT)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (-1, 2, 0.5)])
@pytest.mark.parametrize("angle", [0.0, 1e-13, 1e-9, 1e-4, 1.0, np.pi - 1e-4, np.pi - 1e-9, np.pi])
def test_quaternions_survive_the_way_there_and_back_at_every_angle(axis: tuple[float, ...], angle: float) -> None:
    R = rotation.from_vector(angle * np.array(axis) / np.linalg.norm(axis))
    np.testing.assert_allclose(rotation.from_quaternion(rotation.to_quaternion(R)), R, atol=EXACT)


@pytest.mark.parametrize("size", [1e-300, 1e-13, 1e-8, 1e-3, 1.0, 3.0])
def test_vectors_agree_with_scipy_at_every_size(rng: np.random.Generator, size: float) -> None:
    v = rng.standard_normal((100, 3))
    v *= size / np.linalg.norm(v, axis=-1, keepdims=True)
    np.testing.assert_allclose(rotation.from_vector(v), Rotation.from_rotvec(v).as_matrix(), atol=EXACT)
    np.testing.assert_allclose(rotation.to_vector(rotation.from_vector(v)), v, atol=EXACT, rtol=1e-12)


def test_a_small_rotation_keeps_its_digits(rng: np.random.Generator) -> None:
    v = 1e-10 * rng.standard_normal((50, 3))
    np.testing.assert_allclose(rotation.to_vector(rotation.from_vector(v)), v, rtol=1e-12)


def test_half_a_turn_has_an_angle_of_pi(rng: np.random.Generator) -> None:
    v = rng.standard_normal((100, 3))
    v *= np.pi / np.linalg.norm(v, axis=-1, keepdims=True)
    np.testing.assert_allclose(rotation.angle(rotation.from_vector(v)), np.pi, atol=NEAR_PI)


@pytest.mark.parametrize(
    "order", ["".join(order) for order in product("XYZ", repeat=3) if order[0] != order[1] != order[2]]
)
def test_euler_angles_of_every_order_agree_with_scipy(rng: np.random.Generator, order: str) -> None:
    angles = rng.uniform(-np.pi, np.pi, (50, 3))
    ours = rotation.from_euler(angles, order)
    np.testing.assert_allclose(ours, Rotation.from_euler(order, angles).as_matrix(), atol=EXACT)
    ours = rotation.from_euler(angles, order, extrinsic=True)
    np.testing.assert_allclose(ours, Rotation.from_euler(order.lower(), angles).as_matrix(), atol=EXACT)


def test_project_gives_the_nearest_rotation(rng: np.random.Generator) -> None:
    R = rotation.random(rng, (200,))
    M = R + 0.05 * rng.standard_normal((200, 3, 3))
    P = rotation.project(M)
    assert rotation.defect(P).max() < EXACT
    best = np.linalg.norm(P - M, axis=(-2, -1))
    for _ in range(20):
        other = P @ rotation.from_vector(0.01 * rng.standard_normal((200, 3)))
        assert (np.linalg.norm(other - M, axis=(-2, -1)) >= best).all()


def test_project_of_a_mirror_image_is_a_proper_rotation(rng: np.random.Generator) -> None:
    mirrored = rotation.random(rng, (50,)) * np.array([1, 1, -1.0])
    assert (np.linalg.det(rotation.project(mirrored)) > 0).all()


def test_defect_is_zero_for_rotations_and_infinite_for_mirror_images(rng: np.random.Generator) -> None:
    R = rotation.random(rng, (50,))
    assert rotation.defect(R).max() < EXACT
    assert np.isinf(rotation.defect(-R)).all()
    assert np.isinf(rotation.defect(np.zeros((3, 3))))


def test_mean_agrees_with_scipy_and_leaves_out_nan(rng: np.random.Generator) -> None:
    R = rotation.from_vector(rng.standard_normal((40, 3)))
    expected = Rotation.from_matrix(R).mean().as_matrix()
    with_gaps = np.concatenate([R, np.full((5, 3, 3), np.nan)])
    np.testing.assert_allclose(rotation.mean(R), expected, atol=EXACT)
    np.testing.assert_allclose(rotation.mean(with_gaps), expected, atol=EXACT)


def test_mean_of_nothing_is_nan_without_a_warning() -> None:
    assert np.isnan(rotation.mean(np.full((4, 2, 3, 3), np.nan))).all()
    assert rotation.mean(np.empty((0, 2, 3, 3))).shape == (2, 3, 3)


@pytest.mark.parametrize(
    "function", [rotation.to_quaternion, rotation.to_vector, rotation.angle, rotation.project, rotation.defect]
)
@pytest.mark.parametrize("shape", [(), (1,), (0,), (0, 3), (2, 0), (2, 3)])
def test_leading_axes_are_batch_axes_and_nan_stays_nan(function: object, shape: tuple[int, ...]) -> None:
    result = np.asarray(function(np.full((*shape, 3, 3), np.nan)))  # type: ignore[operator]
    assert result.shape[: len(shape)] == shape
    assert np.isnan(result).all()


@pytest.mark.parametrize("noise", [0.0, 1e-8, 1e-5, 0.02])
def test_what_nearly_is_a_rotation_is_polished_to_the_nearest_one(rng: np.random.Generator, noise: float) -> None:
    M = rotation.random(rng, (200,)) + noise * rng.uniform(-1, 1, (200, 3, 3))
    assert rotation.defect(M).max() < 0.1
    np.testing.assert_allclose(rotation.polish(M), rotation.project(M), atol=EXACT)
    assert rotation.defect(rotation.polish(M)).max() < EXACT
    assert rotation.polish(M[:0]).shape == (0, 3, 3)


def test_a_mirrored_matrix_is_projected_to_a_rotation(rng: np.random.Generator) -> None:
    R = rotation.project(-rotation.random(rng, (50,)))
    np.testing.assert_allclose(np.linalg.det(R), 1, atol=EXACT)


def test_a_quaternion_of_length_zero_is_no_rotation() -> None:
    assert np.isnan(rotation.from_quaternion([0, 0, 0, 0])).all()


def test_the_sign_of_a_quaternion_does_not_matter(rng: np.random.Generator) -> None:
    q = rng.standard_normal((20, 4))
    np.testing.assert_array_equal(rotation.from_quaternion(q), rotation.from_quaternion(-q))


def test_skew_is_the_cross_product(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((2, 10, 3))
    np.testing.assert_allclose((rotation.skew(a) @ b[..., None])[..., 0], np.cross(a, b), atol=EXACT)


def test_the_cross_product_of_two_vectors_is_numpys_to_the_bit(rng: np.random.Generator) -> None:
    for a, b in rng.standard_normal((9, 2, 3)):
        assert rotation.cross(a, b).tolist() == np.cross(a, b).tolist()


def test_random_rotations_are_uniform_over_octants(rng: np.random.Generator) -> None:
    R = rotation.random(rng, (8000,))
    assert rotation.defect(R).max() < EXACT
    for column in range(3):
        octant = ((R[:, :, column] > 0) * np.array([1, 2, 4])).sum(axis=-1)
        counts = np.bincount(octant, minlength=8)
        assert np.abs(counts - 1000).max() < 6 * np.sqrt(1000)


def test_what_turns_one_into_another_is_the_vector_of_the_product(rng: np.random.Generator) -> None:
    A = rotation.from_vector(rng.normal(0, 2, (40, 3, 3)))
    B = A @ rotation.from_vector(rng.normal(0, 1, (40, 3, 3)))
    B[3, 1] = A[3, 1] @ rotation.from_vector([np.pi - 1e-7, 0, 0])  # where the sine says little
    A[5, 0] = np.nan
    np.testing.assert_allclose(rotation.between(A, B), rotation.to_vector(np.swapaxes(A, -1, -2) @ B), atol=1e-9)


def test_the_shortest_arc_goes_from_one_direction_to_the_other_by_the_angle_between(rng: np.random.Generator) -> None:
    ahead, up = np.array([0, -1.0, 0]), np.array([0, 0, 1.0])
    for _ in range(20):
        a, b = (v / np.linalg.norm(v) for v in rng.normal(size=(2, 3)))
        R = rotation.find_shortest_arc(a, b)
        np.testing.assert_allclose(R @ a, b, atol=1e-12)
        assert rotation.angle(R) == pytest.approx(np.arccos(a @ b))
    np.testing.assert_allclose(rotation.find_shortest_arc(up, -up, ahead) @ ahead, ahead, atol=1e-12)
    for across in (None, ahead):
        np.testing.assert_allclose(rotation.find_shortest_arc(ahead, -ahead, across) @ ahead, -ahead, atol=1e-12)
    np.testing.assert_array_equal(rotation.find_shortest_arc(up, up), np.eye(3))
