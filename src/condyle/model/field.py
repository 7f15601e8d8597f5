"""A bent field as a value: how far, and by what rotation, a place in the room is reported off; and its undoing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import CondyleError, UsageError
from ..maths import rotation
from ..maths.arrays import Floats, freeze_array
from ..maths.spool import copy_array, seal
from .take import Take
from .values import dataclass

CHUNK = 200_000  # poses whose distances to all centres are held at once


@dataclass(frozen=True, eq=False)
class FieldModel:
    """A smooth displacement and rotation by place, the same for all sensors, made of Gaussian bells.

    centres  (K, 3)  [m]    middles of the bells, in the room as it was reported
    length           [m]    standard deviation of a bell
    shift    (K, 3)  [m]    displacement that each bell adds to a position
    turn     (K, 3)  [rad]  rotation vector, in the axes of the room, that each bell adds to an orientation
    scale            [-]    true over reported length, for what is left once the displacement is taken away
    """

    centres: Floats
    length: float
    shift: Floats
    turn: Floats
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("centres", "shift", "turn"):
            object.__setattr__(self, name, freeze_array(getattr(self, name), (len(self.centres), 3), name))
        numbers = (*(getattr(self, name) for name in ("centres", "shift", "turn")), self.length, self.scale)
        if not all(np.isfinite(values).all() for values in numbers) or self.length <= 0 or self.scale <= 0:
            raise CondyleError("a field needs finite numbers, and a length and a scale above 0", code="bad-field")

    @classmethod
    def none(cls, scale: float = 1.0) -> FieldModel:
        """No bend at all."""
        empty = np.zeros((0, 3))
        return cls(empty, 1.0, empty, empty, scale)

    def displacement(self, p_world: ArrayLike) -> Floats:
        """(..., 3) [m] by which reported positions (..., 3) [m] are off; far from all that was visited it is 0."""
        return np.asarray(bells(np.asarray(p_world, dtype=np.float64), self.centres, self.length) @ self.shift)

    def rotation_vector(self, p_world: ArrayLike) -> Floats:
        """(..., 3) [rad] by which orientations reported at positions (..., 3) [m] are off, in the room's axes."""
        return np.asarray(bells(np.asarray(p_world, dtype=np.float64), self.centres, self.length) @ self.turn)

    def correct(self, take: Take, still: int | None = None) -> Take:
        """The take as a straight field would have shown it; poses that were not seen stay so.

        still   a body that no sensor reports (the room), which stays where it is
        """
        R, p = copy_array(take.R_world_body), copy_array(take.p_world_body)
        step = max(1, CHUNK // max(take.bodies, 1))
        for start in range(0, take.frames if len(self.centres) else 0, step):
            rows = slice(start, start + step)
            phi = bells(p[rows], self.centres, self.length)
            p[rows] = p[rows] - phi @ self.shift
            R[rows] = rotation.from_vector(-(phi @ self.turn)) @ R[rows]
        p *= self.scale
        if still is not None:
            R[:, still], p[:, still] = take.R_world_body[:, still], take.p_world_body[:, still]
        return replace(take, R_world_body=seal(R), p_world_body=seal(p))

    def to_plain(self) -> dict[str, Any]:
        """The same as numbers and lists, for files."""
        return {
            "length": float(self.length),
            "scale": float(self.scale),
            "centres": self.centres.tolist(),
            "shift": self.shift.tolist(),
            "turn": self.turn.tolist(),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> FieldModel:
        """What `to_plain` gave; raises where something is missing or is no number."""
        names = ("centres", "length", "shift", "turn", "scale")
        missing = [name for name in names if name not in plain]
        if missing:
            raise CondyleError(f"a field needs '{missing[0]}'", code="bad-field")
        try:
            length, scale = float(plain["length"]), float(plain["scale"])
            tables = [np.array(plain[name], dtype=np.float64).reshape(-1, 3) for name in ("centres", "shift", "turn")]
        except (TypeError, ValueError) as error:
            raise CondyleError(f"a field holds what is no number: {error}", code="bad-field") from None
        return cls(tables[0], length, tables[1], tables[2], scale)


def bells(p: Floats, centres: Floats, length: float) -> Floats:
    """(..., K) heights at places (..., 3) of Gaussian bells of height 1 around K centres."""
    middle = centres.mean(axis=0) if len(centres) else np.zeros(3)  # squares of far coordinates would cancel
    x, c = p - middle, centres - middle
    square = (x * x).sum(axis=-1)[..., None] + (c * c).sum(axis=-1) - 2 * (x @ c.T)
    return np.asarray(np.exp(-np.maximum(square, 0.0) / (2 * length**2)))


def spread_centres(places: Floats, length: float, most: int, known: float) -> Floats:
    """(K, 3) of the places (P, 3), each where a field of this length is least told by those before.

    It ends when what the others leave open of the field's variance is nowhere above `known`, or with `most`.
    """
    left, columns = np.ones(len(places)), np.zeros((0, len(places)))
    picked: list[int] = []
    while len(picked) < most and left.max(initial=0.0) > known:
        k = int(np.argmax(left))
        column = bells(places, places[k : k + 1], length)[:, 0] - columns[:, k] @ columns
        column = column / np.sqrt(left[k])
        columns = np.concatenate([columns, column[None]])
        left = np.maximum(left - column * column, 0.0)
        picked.append(k)
    return places[picked]


@dataclass(frozen=True)
class Rod:
    """Two sensors fixed `distance` [m] apart, carried through the room in a take of their own or (None) in the same."""

    pair: tuple[str, str]
    distance: float
    take: Take | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.distance) and self.distance > 0):
            raise UsageError(f"a rod of {self.distance:g} m; give the distance of its sensors", code="bad-call")
        if len(self.pair) != 2 or self.pair[0] == self.pair[1]:
            raise UsageError("a rod needs the names of its two sensors", code="bad-call")
