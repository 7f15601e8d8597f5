"""Check an array once, copy it, and freeze it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CondyleError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def frozen(
    values: ArrayLike, shape: tuple[int | None, ...], name: str, dtype: Any = np.float64, *, part: bool = False
) -> NDArray[Any]:
    """A read-only copy of `values` with the given shape (None: any length); raises with the name and both shapes.

    An array that is already read-only, owns its memory and has the right type is taken as it is; with `part` also one
    that is a part of such an array, such as some columns of a table.
    """
    try:
        array = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise CondyleError(f"{name} is not an array of numbers: {error}", code="bad-shape") from None
    wanted = ", ".join("any" if length is None else str(length) for length in shape)
    if array.ndim != len(shape) or any(w is not None and w != h for w, h in zip(shape, array.shape, strict=True)):
        raise CondyleError(f"{name} has shape {array.shape}, expected ({wanted})", code="bad-shape")
    if array is values and not array.flags.writeable:
        owner = array.base
        if owner is None or (part and isinstance(owner, np.ndarray) and not owner.flags.writeable):
            return array
    array = np.array(array, order="C", copy=True)
    array.flags.writeable = False
    return array


def evenly(count: int, most: int) -> Ints:
    """At most `most` of the numbers below `count`, evenly spread."""
    return np.arange(count) if count <= most else np.arange(most) * count // most


def centred(p_world_body: Floats, seen: Bools) -> Floats:
    """Positions (..., n, m, 3) from each frame's first seen body, 0 where not seen.

    Only differences between bodies matter; without this, products of positions far from the origin lose them.
    """
    if seen.all():
        return np.asarray(p_world_body - p_world_body[..., :1, :])
    p = np.where(seen[..., None], p_world_body, 0.0)
    first = np.take_along_axis(p, np.argmax(seen, axis=-1)[..., None, None], axis=-2)
    return np.where(seen[..., None], p - first, 0.0)
