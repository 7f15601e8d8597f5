"""The paper's stacked least squares, row by row and with nothing of condyle's sums: the answer to compare with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from condyle.model.take import Take


class Joint(NamedTuple):
    """Child and parent halves [m], rms gap [m], singular values (6,), right singular vectors (6, 6) in rows."""

    p_child_joint: np.ndarray
    p_parent_joint: np.ndarray
    residual: float
    singular_values: np.ndarray
    vectors: np.ndarray


def rows_of(take: Take, child: int, parent: int) -> tuple[np.ndarray, np.ndarray]:
    """Q (3n, 6) and d (3n,) of the frames in which both are seen; d is formed before anything else is."""
    both = take.seen[:, child] & take.seen[:, parent]
    R_child, R_parent = take.R_world_body[both, child], take.R_world_body[both, parent]
    d = take.p_world_body[both, parent] - take.p_world_body[both, child]
    return np.concatenate([R_child, -R_parent], axis=2).reshape(-1, 6), d.reshape(-1)


def fit(take: Take, child: int, parent: int, rcond: float | None = 1e-6) -> Joint:
    """Least squares by numpy's SVD of the stacked rows; directions below `rcond` of the largest are left at zero."""
    Q, d = rows_of(take, child, parent)
    u = np.linalg.lstsq(Q, d, rcond=rcond)[0]
    _, s, Vt = np.linalg.svd(Q, full_matrices=False)
    gap = (Q @ u - d).reshape(-1, 3)
    return Joint(u[:3], u[3:], float(np.sqrt(np.mean(np.sum(gap**2, axis=1)))), s, Vt)
