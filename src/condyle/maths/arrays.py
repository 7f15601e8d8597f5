"""Check an array once, copy it, and freeze it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import CondyleError
from .spool import BLOCK_BYTES, is_spooled, over_frames, seal

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
T = TypeVar("T")
GOLDEN_RATIO = 0.5 * (1 + np.sqrt(5))  # multiples of it fall on no raster
Vector = Annotated[Floats, "3"]


def to_numbers(values: ArrayLike, name: str, dtype: Any = np.float64) -> NDArray[Any]:
    """The values as an array of a type of numbers; raises with the name where they are complex, dates or no numbers."""
    try:
        array = np.asarray(_show_masked(values))
        if array.dtype.kind in "cMmV":
            raise TypeError(f"it holds {array.dtype}")
        if np.dtype(dtype).kind in "iu" and array.dtype.kind == "f" and not (np.abs(array) < 2**63).all():
            raise ValueError("it holds what is no whole number")
        # What is beyond float64 is infinite there; invalid: NaN of the signalling kind, in binary files.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(array, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise CondyleError(f"{name} is not an array of numbers: {error}", code="bad-shape") from None
    except OverflowError:  # a whole number of Python has no bounds
        text = f"{name} has a number too large for {np.dtype(dtype)}"
        raise CondyleError(text, code="bad-shape") from None


def _show_masked(values: ArrayLike) -> ArrayLike:
    """The values, with NaN where a masked array hides a number: what lies under its mask is no data."""
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiu" or not hasattr(values, "filled"):
        return values
    shown: Floats = values.astype(np.float64).filled(np.nan)  # type: ignore[attr-defined]
    return shown


def freeze_array(
    values: ArrayLike, shape: tuple[int | None, ...], name: str, dtype: Any = np.float64, *, part: bool = False
) -> NDArray[Any]:
    """A read-only copy of `values` with the given shape (None: any length); raises with the name and both shapes.

    An array that is already read-only, owns its memory or lies on disk, and has the right type is taken as it is; with
    `part` also one that is a part of such an array, such as some columns of a table.
    """
    values = _show_masked(values)
    array: NDArray[Any] = np.asarray(values) if isinstance(values, np.ndarray) else to_numbers(values, name, dtype)
    large = array.ndim > 0 and array.nbytes > BLOCK_BYTES and array.dtype.kind in "fiub" and array.itemsize <= 8
    array = array if large or array.dtype == dtype else to_numbers(array, name, dtype)
    if array.ndim != len(shape) or any(w is not None and w != h for w, h in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        raise CondyleError(f"{name} has shape {array.shape}, expected ({wanted})", code="bad-shape")
    if array is values and array.dtype == dtype and not array.flags.writeable:
        owner = array.base
        if owner is None or (part and isinstance(owner, np.ndarray) and not owner.flags.writeable) or is_spooled(array):
            return array
    if large:
        return seal(over_frames(lambda block: np.array(to_numbers(block, name, dtype), order="C"), array))
    return seal(np.array(array, dtype, order="C", copy=True))


def freeze(value: Any, **sizes: int | None) -> None:
    """Every array of a dataclass in its place as `freeze_array` gives it, with the shape that stands in its type.

    Annotated[Floats, "n 3"] is an array of that shape, and `sizes` has what the letters stand for; a letter that is not
    there is any length. None stays where the type allows it, and else stands for zeros.
    """
    for name, (letters, dtype, optional) in _array_fields(value.__class__).items():
        shape = tuple(int(word) if word.isdigit() else sizes.get(word) for word in letters.split())
        array = getattr(value, name)
        if array is None and not optional:
            array = np.zeros([length or 0 for length in shape], dtype)
        if array is not None:
            object.__setattr__(value, name, freeze_array(array, shape, name, dtype))


def select(value: T, letter: str, rows: Any, **changes: Any) -> T:
    """A dataclass with these rows of every array in whose shape the letter stands, see `freeze`, and other changes."""
    found, kind = {}, type(value)
    for name, (letters, _, _) in _array_fields(kind).items():  # type: ignore[arg-type]
        axes, array = letters.split(), getattr(value, name)
        if letter in axes and array is not None:
            found[name] = array[(slice(None),) * axes.index(letter) + (rows,)]
    return replace(value, **(found | changes))  # type: ignore[type-var]


def concatenate(values: Sequence[Any], letter: str) -> dict[str, NDArray[Any]]:
    """{field: the arrays of several values of a dataclass in one} of the fields in whose shape the letter stands."""
    axes = {name: letters.split() for name, (letters, _, _) in _array_fields(values[0].__class__).items()}
    return {
        name: np.concatenate([getattr(value, name) for value in values], axis=words.index(letter))
        for name, words in axes.items()
        if letter in words
    }


@cache
def _array_fields(kind: Any) -> dict[str, tuple[str, Any, bool]]:
    """{field: shape in letters, type of the numbers, whether it may be None} of the fields that are such arrays."""
    found = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        for part in (hint, *get_args(hint)):
            if get_origin(part) is Annotated:
                array, letters = get_args(part)
                found[name] = letters, _number_type(array), part is not hint
    return found


def _number_type(array: Any) -> Any:
    """The type of the numbers in an NDArray[...]: numpy writes it as a dtype, and from 2.5 on as an alias."""
    last = get_args(array)[-1]
    return (*get_args(last), last)[0]


def evenly(count: int, most: int) -> Ints:
    """At most `most` of the numbers below `count`, evenly spread."""
    return np.arange(count) if count <= most else np.arange(most) * count // most


def evenly_seen(seen: Bools, most: int) -> Ints:
    """The same of frames in which bodies are seen (n, m): unevenly spread where one is in hardly any of these, as a
    sensor of a fraction of the rate may be.
    """
    rows = evenly(len(seen), most)
    if len(rows) == len(seen) or not hardly_seen(seen, rows):
        return rows
    each = np.arange(most)
    return distinct(((each + each * GOLDEN_RATIO % 1) * (len(seen) / most)).astype(np.int64))


def hardly_seen(seen: Bools, rows: Ints | slice) -> bool:
    """Whether a body is seen (n, m) in less than half as large a share of some rows as of all."""
    part = seen[rows]
    return not part.all() and bool((2 * part.mean(axis=0) < seen.mean(axis=0)).any())


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """The different numbers, ascending. `np.unique` imports numpy's masked arrays at its first call."""
    ordered = np.sort(values, axis=None)
    return np.asarray(ordered[np.append(ordered[:1] == ordered[:1], ordered[1:] != ordered[:-1])])


def find_marked(marks: Bools) -> tuple[Ints, Ints]:
    """Rows and columns of the marks (n, m), row by row: `np.nonzero`, many times as fast where they are few."""
    row, column = np.divmod(np.flatnonzero(marks), max(marks.shape[1], 1))
    return row, column


def dot_rows(a: Floats, b: Floats) -> Floats:
    """(...) products of two arrays (..., k) of few numbers k, added up: a quarter of the time of `np.einsum`."""
    with np.errstate(over="ignore", invalid="ignore"):  # as `np.einsum`, which warns of nothing
        products = a * b
        k = products.shape[-1]
        return np.asarray((products.reshape(-1, k) @ np.ones(k)).reshape(products.shape[:-1]))


def norm_rows(rows: Floats) -> Floats:
    """(...) lengths of an array (..., k) of few numbers k: faster than `np.linalg.norm`."""
    return np.sqrt(dot_rows(rows, rows))


def centre_positions(p_world_body: Floats, seen: Bools) -> Floats:
    """Positions (..., n, m, 3) from each frame's first seen body, 0 where not seen.

    Only differences between bodies matter; without this, products of positions far from the origin lose them.
    """
    away = p_world_body - first_seen(p_world_body, seen)
    return np.asarray(away if seen.all() else np.where(seen[..., None], away, 0.0))


def first_seen(p_world_body: Floats, seen: Bools) -> Floats:
    """(..., n, 1, 3) position of the first of m bodies that is seen in each frame; 0 where none is."""
    if seen.all():
        return p_world_body[..., :1, :]
    first = np.argmax(seen, axis=-1)[..., None, None]
    return np.nan_to_num(np.take_along_axis(p_world_body, first, axis=-2))


def measure_rms(values: Floats) -> Floats:
    """Root mean square over the first axis without NaN; NaN where a column has no number."""
    known = np.isfinite(values)
    count, total = known.sum(axis=0), np.square(np.where(known, values, 0.0)).sum(axis=0)
    return np.where(count > 0, np.sqrt(total / np.maximum(count, 1)), np.nan)
