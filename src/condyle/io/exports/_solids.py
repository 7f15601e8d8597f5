"""Triangles of the shapes that a figure is drawn with: spheres for joints, cylinders for links, boxes for sensors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...maths.arrays import Floats, Ints
from ...maths.robust import median
from .figure import Figure

AROUND = 16  # corners of a circle
LINK, JOINT, SENSOR = 0.07, 0.11, 0.08  # of the usual length of a link: radius, radius, half an edge


@dataclass(frozen=True, eq=False)
class Solid:
    """point (v, 3), normal (v, 3) outward and of unit length, triangle (t, 3) counter-clockwise seen from outside."""

    point: Floats
    normal: Floats
    triangle: Ints

    def placed(self, R: Floats, p: Floats) -> Solid:
        """Turned by R (3, 3), then moved by p (3,)."""
        return Solid(self.point @ R.T + p, self.normal @ R.T, self.triangle)


def joined(solids: list[Solid]) -> Solid:
    """Several as one."""
    starts = np.cumsum([0, *(len(solid.point) for solid in solids)])
    triangles = [solid.triangle + start for solid, start in zip(solids, starts[:-1], strict=True)]
    return Solid(
        np.concatenate([solid.point for solid in solids]),
        np.concatenate([solid.normal for solid in solids]),
        np.concatenate(triangles),
    )


def sphere(radius: float) -> Solid:
    """About the origin."""
    rings = AROUND // 2
    polar = np.pi * np.arange(rings + 1) / rings
    turn = 2 * np.pi * np.arange(AROUND + 1) / AROUND
    normal = np.stack(
        [
            np.outer(np.sin(polar), np.cos(turn)),
            np.outer(np.cos(polar), np.ones_like(turn)),
            -np.outer(np.sin(polar), np.sin(turn)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    row = AROUND + 1
    a = (np.arange(rings)[:, None] * row + np.arange(AROUND)).ravel()
    upper, lower = np.stack([a, a + row, a + row + 1], axis=1), np.stack([a, a + row + 1, a + 1], axis=1)
    triangle = np.concatenate([upper[: (rings - 1) * AROUND + AROUND], lower[AROUND:]])
    triangle = triangle[_area(radius * normal, triangle) > 0]
    return Solid(radius * normal, normal, triangle)


def cylinder(start: Floats, end: Floats, radius: float) -> Solid:
    """From one point (3,) to another, with flat ends."""
    length = float(np.linalg.norm(end - start))
    turn = 2 * np.pi * np.arange(AROUND) / AROUND
    circle = np.stack([np.cos(turn), np.zeros(AROUND), -np.sin(turn)], axis=1)
    top = np.array([0.0, length, 0.0])
    point = np.concatenate([radius * circle, radius * circle + top, radius * circle, radius * circle + top])
    flat = np.tile([0.0, 1.0, 0.0], (AROUND, 1))
    normal = np.concatenate([circle, circle, -flat, flat])
    a, b = np.arange(AROUND), (np.arange(AROUND) + 1) % AROUND
    side = np.concatenate([np.stack([a, b, b + AROUND], axis=1), np.stack([a, b + AROUND, a + AROUND], axis=1)])
    fan = np.arange(1, AROUND - 1)
    low = np.stack([np.zeros_like(fan), fan + 1, fan], axis=1) + 2 * AROUND
    high = np.stack([np.zeros_like(fan), fan, fan + 1], axis=1) + 3 * AROUND
    return Solid(point, normal, np.concatenate([side, low, high])).placed(_upright(end - start), start)


def box(half: float) -> Solid:
    """A cube about the origin, `half` from it to each face."""
    points: list[Floats] = []
    normals, triangles = [], []
    for axis in range(3):
        for sign in (1.0, -1.0):
            n = sign * np.eye(3)[axis]
            u = np.eye(3)[(axis + 1) % 3]
            v = np.cross(n, u)
            triangles.append(np.array([[0, 1, 2], [0, 2, 3]]) + 4 * len(points))
            points.append(half * np.array([n - u - v, n + u - v, n + u + v, n - u + v]))
            normals.append(np.tile(n, (4, 1)))
    return Solid(np.concatenate(points), np.concatenate(normals), np.concatenate(triangles))


def link_ends(figure: Figure, bone: int) -> list[Floats]:
    """Where the cylinders from a bone's origin lead, in the bone's frame: its children's joints, or its tip."""
    ends = [figure.p_parent_bone[child] for child in figure.children(bone)] or [figure.tip[bone]]
    return [end for end in ends if float(np.linalg.norm(end)) > 1e-4]


def usual_length(figure: Figure) -> float:
    """[m] of a figure's links, which the sizes of its shapes follow."""
    lengths = [float(np.linalg.norm(end)) for k in range(len(figure.names)) for end in link_ends(figure, k)]
    return float(median(np.array(lengths))) if lengths else 0.3


def _upright(along: Floats) -> Floats:
    """(3, 3) whose y is along a vector."""
    y = along / np.linalg.norm(along)
    x = np.cross(y, np.eye(3)[np.argmin(np.abs(y))])
    x /= np.linalg.norm(x)
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _area(point: Floats, triangle: Ints) -> Floats:
    a, b, c = (point[triangle[:, k]] for k in range(3))
    return np.asarray(np.round(np.linalg.norm(np.cross(b - a, c - a), axis=1), 15))
