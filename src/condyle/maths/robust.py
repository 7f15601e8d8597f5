"""Statistics that outliers do not move. Medians know NaN, and numpy's own, like its quantiles, import its masked arrays
at the first call, a sixth of the program's start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .spool import BLOCK_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .arrays import Floats

Z95 = 1.959963984540054  # standard deviations in half of a 95 % interval
CHI3_MEDIAN = 1.5381722544550522  # median length of a unit Gaussian vector in space
MAD_SD = 1.4826  # standard deviations of a Gaussian in its median absolute deviation


def median(values: Floats, empty: float = 0.0) -> Floats:
    """Median over the first axis without NaN; `empty` where a column has no number."""
    if values.ndim > 1 and values.nbytes > BLOCK_BYTES:  # some columns at a time, not in a sorted copy of all
        step = BLOCK_BYTES // values[:, :1].nbytes
        if not step and values.ndim > 2:
            return np.stack([median(values[:, k], empty) for k in range(values.shape[1])])
        step = max(1, step)
        if step < values.shape[1]:
            return np.concatenate([median(values[:, k : k + step], empty) for k in range(0, values.shape[1], step)])
    if not len(values):
        return np.full(values.shape[1:], empty)
    n, size = len(values), values.shape[1:]
    columns = np.array(values.reshape(n, -1).T, order="C")  # a column's numbers side by side: half of the time
    count = np.isfinite(columns).sum(axis=1)
    columns.sort(axis=1)  # NaN goes last; two middles are not partitioned out as fast
    low, high, k = np.maximum(count - 1, 0) // 2, np.minimum(count // 2, n - 1), np.arange(len(columns))
    return np.where(count > 0, 0.5 * (columns[k, low] + columns[k, high]), empty).reshape(size)


def quantile(values: NDArray[np.floating[Any]], share: float) -> Floats:
    """What a share of (n, ...) values lies below, over the first axis; to the last digit `np.quantile` of [share]."""
    ordered = np.sort(values, axis=0)  # NaN goes last
    place = np.float64(share * (len(values) - 1))
    below = int(place)
    low, high = ordered[below], ordered[min(below + 1, len(values) - 1)]
    part, step = place - below, high - low
    between = low + step * part if part < 0.5 else high - step * (1 - part)
    return np.where(np.isnan(ordered[-1]), np.nan, between)


def robust_sd(values: Floats, empty: float = 0.0) -> tuple[Floats, Floats]:
    """Median over the first axis, and the standard deviation that the usual distance from it tells."""
    middle = median(values, empty)
    return middle, np.asarray(MAD_SD * median(np.abs(values - middle), empty))


def tukey_weight(x: Floats) -> Floats:
    """Tukey's weights of distances x over the one at which they stop counting."""
    return np.where(x < 1, (1 - x**2) ** 2, 0.0)


def huber_weight(x: Floats, full: float) -> Floats:
    """Huber's weights of distances x, which count in full up to `full`, and beyond it as if they were that far."""
    return np.asarray(full / np.maximum(x, full))
