"""A person in a figure: bones by their segments, joints as each side sees them, rotations between any two bones."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..io.exports.figure import Figure
from ..maths import rotation
from ..maths.arrays import Floats, Ints
from ..model.anatomy import ABOVE_CHEST, MAIN_CHILD, Part, Segment, find_segments
from ..model.skeleton import ONE_AXIS, Joint, Skeleton
from ..model.values import dataclass


class JointEnd(NamedTuple):
    """A joint as one of its bodies sees it.

    p           (3,) [m]      its place
    covariance  (3, 3) [m^2]  of that; None where it was not estimated
    open        (3,)          direction along which the motion leaves it open, or None
    axis, axis_covariance     of a hinge, in this body
    """

    p: Floats
    covariance: Floats | None
    open: Floats | None
    axis: Floats | None
    axis_covariance: Floats | None


@dataclass(frozen=True, eq=False)
class Body:
    """The bones of one tree of a figure, with what the skeleton knows of their joints.

    bones     numbers in the figure, parents first
    segments  {bone: segment} of a person; empty for other figures
    prefix    before the names of a second person
    """

    skeleton: Skeleton
    figure: Figure
    bones: tuple[int, ...]
    segments: dict[int, Segment]
    prefix: str = ""

    @property
    def root(self) -> int:
        return self.bones[0]

    @property
    def human(self) -> bool:
        return bool(self.segments)

    @cached_property
    def place(self) -> dict[Segment, int]:
        """{segment: its bone}, the nearest to the trunk; of several chests the one that carries arms or a head."""
        found: dict[Segment, int] = {}
        for k in self.bones:
            segment = self.segments.get(k)
            if segment is None:
                continue
            carries = any(self.part(c) in ABOVE_CHEST for c in self.children(k))
            if segment not in found or (segment.part == "chest" and carries):
                found[segment] = k
        return found

    def part(self, k: int) -> Part | None:
        return self.segments[k].part if k in self.segments else None

    def parent(self, k: int) -> int:
        return int(self.figure.parent[k])

    def children(self, k: int) -> list[int]:
        return self.figure.children(k)

    def name(self, k: int) -> str:
        """ "thigh_l", "pelvis", "thorax"; as the figure has it where it is no segment of a person."""
        if k not in self.segments:
            return self.figure.names[k]
        part, side = self.segments[k]
        return self.prefix + ("thorax" if part == "chest" else part) + (f"_{side}" if side else "")

    def body(self, k: int) -> str:
        return self.figure.bodies[k]

    def joint(self, k: int) -> Joint:
        """The skeleton's joint between a bone and its parent in the figure."""
        pair = {self.body(k), self.body(self.parent(k))}
        return next(joint for joint in self.skeleton.joints if {joint.child, joint.parent} == pair)

    def end(self, k: int, on: int) -> JointEnd:
        """The joint of bone k with its parent, as bone `on`, one of the two, sees it."""
        joint = self.joint(k)
        own = joint.child == self.body(on)
        half = slice(0, 3) if own else slice(3, 6)
        axis = joint.axis_child if own else joint.axis_parent
        return JointEnd(
            joint.p_child_joint if own else joint.p_parent_joint,
            None if joint.covariance is None else joint.covariance[half, half],
            axis if joint.point == "arbitrary" else None,
            axis if joint.kind in ONE_AXIS else None,
            None if joint.axis_covariance is None else joint.axis_covariance[half, half],
        )

    def main_child(self, k: int) -> int | None:
        """The bone that a bone of a person points at, if it is worn."""
        part = self.part(k)
        for wanted in MAIN_CHILD[part] if part else ():
            for c in self.children(k):
                if self.part(c) == wanted:
                    return c
        return None

    def pair(self, k: int, parts: Sequence[Part]) -> tuple[int, int] | None:
        """Left and right child of a trunk's bone, of the first of `parts` of which both are worn."""
        for part in parts:
            sides = {self.segments[c].side: c for c in self.children(k) if self.part(c) == part}
            if "l" in sides and "r" in sides:
                return sides["l"], sides["r"]
        return None

    def turn(self, k: int, rows: Ints | slice = slice(None)) -> Floats:
        """(n, 3, 3) R_parent_body of a bone's body in its parent's, of a free bone's in the world."""
        figure = self.figure
        R = figure.R_parent_bone[rows, k] @ figure.R_body_bone[k].T
        return np.asarray(R if self.parent(k) < 0 else figure.R_body_bone[self.parent(k)] @ R)

    def world(self, k: int, rows: Ints | slice = slice(None)) -> Floats:
        """(n, 3, 3) R_world_body of a bone's body."""
        R = self.turn(k, rows)
        while (k := self.parent(k)) >= 0:
            R = self.turn(k, rows) @ R
        return R

    def worlds(self, rows: Ints) -> dict[int, Floats]:
        """{bone: `world` of it}, of all of them at once."""
        found: dict[int, Floats] = {}
        for k in self.bones:  # parents first
            R, up = self.turn(k, rows), self.parent(k)
            found[k] = R if up < 0 else found[up] @ R
        return found

    def between(self, above: int, k: int, rows: Ints | slice = slice(None)) -> Floats:
        """(n, 3, 3) R_above_body of a bone's body in that of a bone above it."""
        R = self.turn(k, rows)
        while (k := self.parent(k)) != above:
            R = self.turn(k, rows) @ R
        return R

    def is_above(self, above: int, k: int) -> bool:
        while (k := self.parent(k)) >= 0:
            if k == above:
                return True
        return False

    def mean_turn(self, k: int) -> Floats:
        """(3, 3) mean of `turn` over all frames; identity where it is never known."""
        if k not in self._means:
            figure, up = self.figure, self.parent(k)
            # Turned as the rotations are: so is their mean.
            mean = rotation.mean(figure.R_parent_bone[:, k]) @ figure.R_body_bone[k].T
            mean = mean if up < 0 else figure.R_body_bone[up] @ mean
            self._means[k] = mean if np.isfinite(mean).all() else np.eye(3)
        return self._means[k]

    @cached_property
    def _means(self) -> dict[int, Floats]:
        return {}


def find_bodies(skeleton: Skeleton, figure: Figure) -> tuple[Body, ...]:
    """Every tree of the figure; segments of those that are persons."""
    segments = find_segments(skeleton.bodies, skeleton.edges)
    top = list(range(len(figure.names)))
    for k, up in enumerate(figure.parent.tolist()):
        top[k] = top[up] if up >= 0 else k
    found, people = [], 0
    for root in figure.free.tolist():
        bones = tuple(k for k in range(len(top)) if top[k] == root)
        own = {k: segments[figure.bodies[k]] for k in bones if figure.parts[k]}
        people += bool(own)
        found.append(Body(skeleton, figure, bones, own, f"p{people}_" if own and people > 1 else ""))
    return tuple(found)
