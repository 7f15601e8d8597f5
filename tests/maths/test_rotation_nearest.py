"""Nearest rotations in closed form, against LAPACK."""

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.maths.rotation import POLAR_BLOCK_MATRICES, blocks, nearest_rotations

ROUNDING = 1e-12  # [-] of an entry, where the answer is well determined


def by_lapack(M: np.ndarray) -> np.ndarray:
    U, _, Vt = np.linalg.svd(M)
    U[..., :, 2] *= np.sign(np.linalg.det(U @ Vt))[..., None]
    return U @ Vt


def made(rng: np.random.Generator, values: tuple[float, float, float], count: int = 500) -> np.ndarray:
    """Matrices with the given singular values; the last one negative: mirrored."""
    return rotation.random(rng, (count,)) @ np.diag(values) @ rotation.random(rng, (count,))


@pytest.mark.parametrize(
    "values", [(1, 1, 1), (3, 2, 1), (1, 0.5, 0), (1, 0.05, 0), (1, 0.9, -0.3), (1, 1, -0.5), (1e-9, 5e-10, 1e-10)]
)
def test_whole_flat_and_mirrored_matrices_have_the_rotation_that_lapack_finds(
    rng: np.random.Generator, values: tuple[float, float, float]
) -> None:
    M = made(rng, values)
    R, doubtful = nearest_rotations(M)
    assert not doubtful.any()
    np.testing.assert_allclose(R, by_lapack(M), atol=ROUNDING)


@pytest.mark.parametrize("values", [(1, 0, 0), (0, 0, 0), (1, 0.5, -0.5), (1, 1e-9, 0)])
def test_where_many_rotations_are_nearest_the_closed_form_doubts_and_one_of_them_is_given(
    rng: np.random.Generator, values: tuple[float, float, float]
) -> None:
    M = made(rng, values, 20)
    assert nearest_rotations(M)[1].any()
    R = rotation.project(M)
    assert rotation.defect(R).max() < ROUNDING
    np.testing.assert_allclose(np.einsum("nij,nij->n", R, M), sum(values), atol=1e-8)


def test_random_matrices_are_given_to_full_precision_whatever_their_shape(rng: np.random.Generator) -> None:
    M = rng.standard_normal((POLAR_BLOCK_MATRICES + 7, 2, 3, 3))
    np.testing.assert_allclose(rotation.project(M), by_lapack(M), atol=1e-9)


def test_what_is_not_a_number_stays_so_and_leaves_the_others_alone(rng: np.random.Generator) -> None:
    M = made(rng, (3, 2, 1), 5)
    M[1, 2, 0], M[3, 0, 0] = np.nan, np.inf
    R = rotation.project(M)
    assert np.isnan(R[[1, 3]]).all()
    np.testing.assert_allclose(R[[0, 2, 4]], by_lapack(M[[0, 2, 4]]), atol=ROUNDING)


@pytest.mark.parametrize("shape", [(0,), (1,), (POLAR_BLOCK_MATRICES,), (POLAR_BLOCK_MATRICES + 1,), (3, 2)])
def test_blocks_hold_every_row_once(rng: np.random.Generator, shape: tuple[int, ...]) -> None:
    values = rng.standard_normal((*shape, 4))
    out = np.full((int(np.prod(shape)), 4), np.nan)
    for rows, parts in blocks(values, 4):
        out[rows] = parts.T
    np.testing.assert_array_equal(out.reshape(values.shape), values)
    assert rotation.project(np.zeros((0, 3, 3))).shape == (0, 3, 3)
