"""Normal equations against numpy's least squares on the rows."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.maths.least_squares import (
    JACOBI_MIN_MATRICES,
    clear_of,
    clear_of_columns,
    eliminate,
    factor_columns,
    invert_normal,
    invert_open,
    invert_positive,
    invert_triangle,
    is_above,
    is_covariance,
    solve_normal,
    solve_symmetric,
    solve_triangle,
    span_columns,
    svd_of_many,
)

SAME = 1e-9  # relative: the same answer by another way


def test_open_directions_and_matrices_of_no_numbers_have_the_inverse_0(rng: np.random.Generator) -> None:
    A = rng.standard_normal((3, 4, 4))
    A[1, 3], A[2, 0, 0] = A[1, 2], np.inf
    found = invert_open(A)
    np.testing.assert_allclose(found[0], np.linalg.inv(A[0]), rtol=SAME)
    np.testing.assert_allclose(A[1] @ found[1] @ A[1], A[1], atol=SAME)
    np.testing.assert_array_equal(found[2], 0.0)


@pytest.fixture
def rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((50, 6)), rng.standard_normal(50)


def test_the_solution_is_that_of_the_rows(rows) -> None:
    A, y = rows
    want = np.linalg.lstsq(A, y, rcond=None)[0]
    np.testing.assert_allclose(solve_normal(A.T @ A, A.T @ y), want, rtol=SAME)
    twice = solve_normal(A.T @ A, A.T @ np.stack([y, -y], axis=1))
    np.testing.assert_allclose(twice, np.stack([want, -want], axis=1), rtol=SAME)


def test_directions_outside_the_basis_stay_at_nought(rows, rng) -> None:
    A, y = rows
    basis = np.linalg.qr(rng.standard_normal((6, 4)))[0]
    x = solve_normal(A.T @ A, A.T @ y, basis)
    np.testing.assert_allclose(x, basis @ np.linalg.lstsq(A @ basis, y, rcond=None)[0], rtol=SAME)
    covariance = invert_normal(A.T @ A, basis)
    np.testing.assert_allclose(covariance, basis @ np.linalg.inv(basis.T @ A.T @ A @ basis) @ basis.T, rtol=1e-6)


def test_an_unknown_that_no_row_speaks_of_stays_at_nought(rows) -> None:
    A, y = rows
    A[:, 2] = 0
    x = solve_normal(A.T @ A, A.T @ y)
    assert x[2] == 0
    np.testing.assert_allclose(x, np.linalg.lstsq(A, y, rcond=None)[0], atol=SAME)


def test_loading_is_that_of_rows_that_ask_for_nought(rows) -> None:
    A, y = rows
    loaded, aim = np.concatenate([A, 2 * np.eye(6)]), np.concatenate([y, np.zeros(6)])
    x = solve_normal(A.T @ A, A.T @ y, loading=4.0)
    np.testing.assert_allclose(x, np.linalg.lstsq(loaded, aim, rcond=None)[0], rtol=SAME)


def test_symmetric_systems_are_solved_one_by_one_and_in_batches(rng) -> None:
    half = rng.standard_normal((4, 5, 3, 3))
    S, right = half @ np.swapaxes(half, -1, -2) + np.eye(3), rng.standard_normal((4, 5, 3))
    np.testing.assert_allclose(solve_symmetric(S, right), np.linalg.solve(S, right[..., None])[..., 0], rtol=1e-7)
    np.testing.assert_array_equal(solve_symmetric(S[1, 2], right[1, 2]), solve_symmetric(S, right)[1, 2])


@pytest.mark.parametrize("size", [1, 18, 19, 75])
def test_a_triangle_is_inverted_whole_and_in_blocks(size: int, rng) -> None:
    half = rng.standard_normal((2, size, size))
    lower = np.linalg.cholesky(half @ np.swapaxes(half, 1, 2) + size * np.eye(size))
    back = invert_triangle(lower)
    np.testing.assert_allclose(back @ lower, np.tile(np.eye(size), (2, 1, 1)), atol=1e-12)
    assert not np.triu(back, 1).any()


def test_what_columns_span_is_cleared_away_also_where_two_are_alike(rows) -> None:
    A, y = rows
    twins = np.column_stack([A, A[:, 0], np.zeros(50)])
    base = span_columns(twins)
    left = clear_of(base, y)
    np.testing.assert_allclose(left, y - A @ np.linalg.lstsq(A, y, rcond=None)[0], atol=1e-6)
    np.testing.assert_allclose(clear_of_columns(twins, y), left, atol=1e-12)
    np.testing.assert_array_equal(span_columns(twins, out=twins), base)  # in the place of the columns themselves


def test_columns_whose_products_have_lost_their_digits_count_as_none(rng: np.random.Generator) -> None:
    large, others = 1e10 * rng.standard_normal((50, 2)), rng.standard_normal((50, 2))
    tiny = 1e-158 * rng.standard_normal((50, 3)) @ rng.standard_normal((3, 9))
    for columns, used in ((large, 2), (np.column_stack([large, tiny]), 2), (np.column_stack([large, 1e20 * tiny]), 11)):
        both = np.column_stack([columns, others])
        left, count = eliminate(both.T @ both, columns.shape[1])
        assert count == used
        assert (np.linalg.eigvalsh(left) > 0).all()


def test_only_independent_columns_are_factored(rows) -> None:
    A, _ = rows
    A[:, 5] = A[:, 1] - A[:, 2]
    q, r, keep = factor_columns(A)
    assert keep.tolist() == [True, True, True, True, True, False]
    np.testing.assert_allclose(q.T @ q, np.diag(keep.astype(float)), atol=SAME)
    np.testing.assert_allclose((q @ r)[:, keep], A[:, keep], atol=1e-12)
    np.testing.assert_allclose(q @ r @ solve_triangle(r[None], q.T[None] @ A[:, 0], keep[None])[0], A[:, 0], atol=SAME)


@pytest.mark.parametrize("columns", [1, 2, 18, 19, 37, 72])
def test_positive_matrices_are_inverted_block_by_block(rng, columns: int) -> None:
    X = rng.standard_normal((3, 2 * columns + 5, columns)) * np.geomspace(1, 1e3, columns)
    A = np.swapaxes(X, 1, 2) @ X
    found = invert_positive(A)
    np.testing.assert_allclose(found @ A, np.broadcast_to(np.eye(columns), A.shape), rtol=0, atol=1e-9)
    np.testing.assert_allclose(invert_positive(A[0]), found[0], rtol=SAME)


def test_directions_that_rounding_leaves_nothing_of_have_no_inverse() -> None:
    A = np.zeros((2, 4, 4))
    A[0], A[1] = np.diag([1.0, 2.0, 4.0, 0.0]), np.eye(4)
    np.testing.assert_allclose(invert_positive(A), [np.diag([1.0, 0.5, 0.25, 0.0]), np.eye(4)], atol=1e-15)


def test_a_matrix_is_above_its_least_eigenvalue_and_not_beyond(rng) -> None:
    q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    A = (q * [0.1, 0.5, 1.0, 2.0, 3.0]) @ q.T
    assert is_above(A, 0.0999)
    assert not is_above(A, 0.1001)


def test_a_matrix_that_was_read_is_a_covariance_or_is_none() -> None:
    sound = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert is_covariance(sound)
    assert is_covariance(np.zeros((0, 0)))
    for spoilt in (sound - 2.0, sound * 1e25, np.where(sound > 1, np.nan, sound), sound + [[0.0, 1e-3], [0.0, 0.0]]):
        assert not is_covariance(spoilt)


@pytest.mark.parametrize("kind", ["any", "mean rotations", "nearly singular", "mirrored", "nothing"])
def test_thousands_of_small_matrices_are_taken_apart_as_lapack_does(kind: str, rng: np.random.Generator) -> None:
    A = rng.standard_normal((2 * JACOBI_MIN_MATRICES, 3, 3))
    if kind == "mean rotations":
        A = rotation.from_vector(rng.standard_normal((4, len(A), 3)) * rng.uniform(0, 1, (len(A), 1))).mean(axis=0)
    elif kind == "nearly singular":
        A[::7, 2] = A[::7, 1] * (1 + 1e-9)
        A[1::7] = np.outer([1, 2, 3], [0, 1, 0])
    elif kind == "mirrored":
        A = np.tile(np.diag([1.0, 1.0, -1.0]), (len(A), 1, 1))
    elif kind == "nothing":
        A[3], A[5] = 0.0, np.eye(3)
    U, s, Vt = svd_of_many(A)
    np.testing.assert_allclose(s, np.linalg.svd(A)[1], atol=1e-13)
    np.testing.assert_allclose(U @ (s[..., None] * Vt), A, atol=1e-13)
    for Q in (U, Vt):
        np.testing.assert_allclose(Q @ np.swapaxes(Q, 1, 2), np.broadcast_to(np.eye(3), Q.shape), atol=1e-13)
