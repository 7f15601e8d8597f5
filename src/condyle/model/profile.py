"""Profile: a performer as a value. Limb lengths with their joint covariance, kinds of joints, names, sides."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from .._version import __version__
from ..errors import CondyleError
from ..findings import many
from ..maths.arrays import Floats
from ..maths.least_squares import is_covariance
from .anatomy import Side
from .skeleton import Kind
from .values import dataclass

Edge = tuple[str, str]  # two bodies that are joined, in the order of the alphabet
# A body, the joints between which a length on it is measured, and those of them that count as an axis, not as a centre.
LengthKey = tuple[str, tuple[Edge, Edge], tuple[Edge, ...]]


def name_edge(a: str, b: str) -> Edge:
    """A joint by its two bodies, whichever of them is the parent."""
    return (a, b) if a < b else (b, a)


def name_length(body: str, one: Edge, other: Edge, axes: Iterable[Edge] = ()) -> LengthKey:
    """A length by its body and two joints, in the same order whichever way the tree runs.

    axes  those of the two joints that count as an axis
    """
    first, second = sorted((name_edge(*one), name_edge(*other)))
    return body, (first, second), tuple(sorted(name_edge(*edge) for edge in axes))


def describe_ends(key: LengthKey) -> str:
    """The other bodies of the two joints of a length, for people."""
    body, joints, axes = key
    others = [next((name for name in joint if name != body), joint[0]) for joint in joints]
    return " to ".join(f"{name} (axis)" if edge in axes else name for name, edge in zip(others, joints, strict=True))


@dataclass(frozen=True)
class ProfileJoint:
    """A connection of two bodies, as the fits have it."""

    child: str
    parent: str
    kind: Kind


@dataclass(frozen=True)
class ProfileLength:
    """Distance [m] on one body between two of its joints, each given by its two bodies, with its 95 % interval.

    axes  those of the joints that count as an axis, across which it is measured, and not as a centre
    """

    body: str
    joints: tuple[Edge, Edge]
    length: float
    low: float
    high: float
    axes: tuple[Edge, ...] = ()

    @property
    def key(self) -> LengthKey:
        return self.body, self.joints, self.axes


@dataclass(frozen=True)
class FileWindow:
    """The part of a file that was fitted.

    sha256       of the file
    start, stop  [s] from its first frame; stop None: to its end
    bodies       as they are called in the file
    """

    sha256: str
    start: float
    stop: float | None
    bodies: tuple[str, ...]

    def overlaps(self, other: FileWindow) -> bool:
        """Whether both have two sensors, as many as tell a joint, and a stretch of time in common; a frame at the
        border of two parts is none.
        """
        ends = [np.inf if one.stop is None else one.stop for one in (self, other)]
        both = set(self.bodies) & set(other.bodies)
        return self.sha256 == other.sha256 and len(both) > 1 and max(self.start, other.start) < min(ends)


@dataclass(frozen=True)
class Profile:
    """A performer: what does not change with where sensors sit.

    bodies      names of the segments; sides: "l", "r" or "" of each, by its name
    joints      the tree, parents before children
    lengths     with their intervals; covariance (L, L) [m^2] of all of them
    mountings   how many independent mountings they come from
    fits        ids of the fits they come from
    recordings  SHA-256 of the poses of these fits, and windows: the parts of files that they were read from, so that
                none counts twice
    """

    bodies: tuple[str, ...]
    sides: tuple[Side, ...]
    joints: tuple[ProfileJoint, ...]
    lengths: tuple[ProfileLength, ...]
    covariance: tuple[tuple[float, ...], ...]
    mountings: int
    fits: tuple[str, ...] = ()
    recordings: tuple[str, ...] = ()
    windows: tuple[FileWindow, ...] = ()
    condyle: str = __version__

    def __post_init__(self) -> None:
        known = set(self.bodies)
        count = len(self.lengths)
        named = {name for joint in self.joints for name in (joint.child, joint.parent)}
        named |= {name for one in self.lengths for name in (one.body, *one.joints[0], *one.joints[1])}
        if unknown := sorted(named - known):
            raise _damage(f"'{unknown[0]}' is not among the bodies")
        if len(self.sides) != len(self.bodies) or len(known) != len(self.bodies):
            raise _damage("a body is named twice, or has no side")
        edges = [(joint.child, joint.parent) for joint in self.joints] + [e for one in self.lengths for e in one.joints]
        if any(a == b for a, b in edges):
            raise _damage("a joint joins a body with itself")
        children = [joint.child for joint in self.joints]
        late = any(joint.parent in children[k:] for k, joint in enumerate(self.joints))
        if late or len(set(children)) != len(children):
            raise _damage("the joints are no tree with parents before children")
        if self.mountings < 1:
            raise _damage("it comes from no mounting")
        if len(self.covariance) != count or any(len(row) != count for row in self.covariance):
            raise _damage(f"the covariance is not {count} x {count}")
        if len({one.key for one in self.lengths}) != count:
            raise _damage("a length stands twice")
        if any(self._list_sensors(one.body).isdisjoint(joint) for one in self.lengths for joint in one.joints):
            raise _damage("a length ends at a joint that its body does not have")
        if any(edge not in one.joints for one in self.lengths for edge in one.axes):
            raise _damage("a length has an axis at which it does not end")
        values = np.array([(one.length, one.low, one.high) for one in self.lengths]).reshape(count, 3)
        if not (
            np.isfinite(values).all() and (values[:, 1] <= values[:, 0]).all() and (values[:, 0] <= values[:, 2]).all()
        ):
            raise _damage("a length lies outside its interval")
        if not is_covariance(self.matrix):
            raise _damage("the covariance is none: not symmetric, a negative variance, or beyond all sizes")

    def _list_sensors(self, body: str) -> set[str]:
        """The bodies that are one segment with this one: sensors that never move against each other."""
        found = {body}
        for _ in self.joints:
            found |= {
                name
                for joint in self.joints
                if joint.kind == "rigid" and not found.isdisjoint((joint.child, joint.parent))
                for name in (joint.child, joint.parent)
            }
        return found

    @cached_property
    def matrix(self) -> Floats:
        """(L, L) [m^2] the covariance."""
        return np.array(self.covariance, dtype=np.float64).reshape(len(self.lengths), len(self.lengths))

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """(parent, child) of the tree."""
        return tuple((joint.parent, joint.child) for joint in self.joints)

    def __str__(self) -> str:
        return (
            f"{many(len(self.bodies), 'segment')}, {many(len(self.lengths), 'length')} from "
            f"{many(self.mountings, 'mounting')}, {many(len(self.fits), 'fit')}"
        )

    def __repr__(self) -> str:
        return f"<Profile: {self}>"


def _damage(text: str) -> CondyleError:
    return CondyleError(text, code="bad-profile")
