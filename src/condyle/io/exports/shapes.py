"""How a figure looks: rods for links, balls for joints, boxes for sensors, as sizes for programs and as triangles."""

from __future__ import annotations

import numpy as np

from ...maths.arrays import Floats, Ints
from ...maths.robust import median
from ...model.values import dataclass
from .figure import Figure

CIRCLE_CORNERS = 16  # corners of a circle
LINK_RADIUS_SHARE, JOINT_RADIUS_SHARE, SENSOR_HALF_SHARE = (
    0.07,
    0.11,
    0.08,
)  # of the usual length of a link: radius, radius, half an edge
HEAD_RADIUS_SHARE = 0.45  # of the length of a head: the radius of the ball that shows it
DENSITY_KG_M3 = 1000.0  # kg/m3 of the shapes, which give bones their mass
PART_COLOURS = {"links": (0.72, 0.71, 0.68), "joints": (0.62, 0.21, 0.13), "sensors": (0.13, 0.28, 0.45)}


@dataclass(frozen=True, eq=False)
class Shapes:
    """What shows a bone, in its own frame [m].

    rods   (r, 3)  ends of the cylinders that begin at its origin
    balls  of (centre (3,), radius, colour)
    thick  radius of the rods
    box    half an edge of the cube at its sensor
    """

    rods: Floats
    balls: tuple[tuple[Floats, float, str], ...]
    thick: float
    box: float

    def inertial(self) -> tuple[float, Floats, Floats]:
        """Mass [kg], centre of mass (3,) [m], and inertia (3, 3) [kg m2] about it of the solids at DENSITY_KG_M3."""
        mass, centre, own = [], [], []
        for end in self.rods:
            length = float(np.linalg.norm(end))
            m, u = DENSITY_KG_M3 * np.pi * self.thick**2 * length, end / length
            along, across = m * self.thick**2 / 2, m * (3 * self.thick**2 + length**2) / 12
            mass.append(m)
            centre.append(end / 2)
            own.append(across * np.eye(3) + (along - across) * np.outer(u, u))
        for place, radius, _ in self.balls:
            m = DENSITY_KG_M3 * 4 / 3 * np.pi * radius**3
            mass.append(m)
            centre.append(place)
            own.append(0.4 * m * radius**2 * np.eye(3))
        total = float(sum(mass))
        middle = np.asarray(np.array(mass) @ np.array(centre) / total)
        inertia = np.zeros((3, 3))
        for m, place, about_own in zip(mass, centre, own, strict=True):
            d = place - middle
            inertia += about_own + m * (d @ d * np.eye(3) - np.outer(d, d))
        return total, middle, (inertia + inertia.T) / 2


def shape_bones(figure: Figure, size: float | None = None) -> list[Shapes]:
    """Of every bone: rods to the joints on it, a ball at its joint, a larger one for a head, a box for its sensor.

    size  [m] of a usual link, which all sizes follow; None: that of the figure
    """
    size = find_usual_length(figure) if size is None else size
    found = []
    for k in range(len(figure.names)):
        rods = np.array(_find_ends(figure, k)).reshape(-1, 3)
        balls = [(np.zeros(3), JOINT_RADIUS_SHARE * size, "joints")] if figure.parent[k] >= 0 or not len(rods) else []
        if figure.parts[k] == "head":
            balls.append(
                (
                    (1 - HEAD_RADIUS_SHARE) * figure.tip[k],
                    HEAD_RADIUS_SHARE * float(np.linalg.norm(figure.tip[k])),
                    "links",
                )
            )
        found.append(Shapes(rods, tuple(balls), LINK_RADIUS_SHARE * size, SENSOR_HALF_SHARE * size))
    return found


def find_usual_length(figure: Figure) -> float:
    """[m] of a figure's links, which the sizes of its shapes follow."""
    lengths = [float(np.linalg.norm(end)) for k in range(len(figure.names)) for end in _find_ends(figure, k)]
    return float(median(np.array(lengths))) if lengths else 0.3


def _find_ends(figure: Figure, bone: int) -> list[Floats]:
    """Where the rods from a bone's origin lead, in the bone's frame: its children's joints, or its tip."""
    ends = [figure.p_parent_bone[child] for child in figure.children(bone)] or [figure.tip[bone]]
    return [end for end in ends if float(np.linalg.norm(end)) > 1e-4]


@dataclass(frozen=True, eq=False)
class Solid:
    """point (v, 3), normal (v, 3) outward and of unit length, triangle (t, 3) counter-clockwise seen from outside."""

    point: Floats
    normal: Floats
    triangle: Ints

    def place(self, R: Floats, p: Floats) -> Solid:
        """Turned by R (3, 3), then moved by p (3,)."""
        return Solid(self.point @ R.T + p, self.normal @ R.T, self.triangle)


def join_solids(solids: list[Solid]) -> Solid:
    """Several as one."""
    starts = np.cumsum([0, *(len(solid.point) for solid in solids)])
    triangles = [solid.triangle + start for solid, start in zip(solids, starts[:-1], strict=True)]
    return Solid(
        np.concatenate([solid.point for solid in solids]),
        np.concatenate([solid.normal for solid in solids]),
        np.concatenate(triangles),
    )


def make_sphere(radius: float) -> Solid:
    """About the origin."""
    rings = CIRCLE_CORNERS // 2
    polar = np.pi * np.arange(rings + 1) / rings
    turn = 2 * np.pi * np.arange(CIRCLE_CORNERS + 1) / CIRCLE_CORNERS
    normal = np.stack(
        [
            np.outer(np.sin(polar), np.cos(turn)),
            np.outer(np.cos(polar), np.ones_like(turn)),
            -np.outer(np.sin(polar), np.sin(turn)),
        ],
        axis=-1,
    ).reshape(-1, 3)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    row = CIRCLE_CORNERS + 1
    a = (np.arange(rings)[:, None] * row + np.arange(CIRCLE_CORNERS)).ravel()
    upper, lower = np.stack([a, a + row, a + row + 1], axis=1), np.stack([a, a + row + 1, a + 1], axis=1)
    triangle = np.concatenate([upper[: (rings - 1) * CIRCLE_CORNERS + CIRCLE_CORNERS], lower[CIRCLE_CORNERS:]])
    a, b, c = (radius * normal[triangle[:, k]] for k in range(3))
    flat = np.round(np.linalg.norm(np.cross(b - a, c - a), axis=1), 15) <= 0  # at the poles
    return Solid(radius * normal, normal, triangle[~flat])


def make_cylinder(end: Floats, radius: float) -> Solid:
    """From the origin to a point (3,), with flat ends."""
    length = float(np.linalg.norm(end))
    turn = 2 * np.pi * np.arange(CIRCLE_CORNERS) / CIRCLE_CORNERS
    circle = np.stack([np.cos(turn), np.zeros(CIRCLE_CORNERS), -np.sin(turn)], axis=1)
    top = np.array([0.0, length, 0.0])
    point = np.concatenate([radius * circle, radius * circle + top, radius * circle, radius * circle + top])
    flat = np.tile([0.0, 1.0, 0.0], (CIRCLE_CORNERS, 1))
    normal = np.concatenate([circle, circle, -flat, flat])
    a, b = np.arange(CIRCLE_CORNERS), (np.arange(CIRCLE_CORNERS) + 1) % CIRCLE_CORNERS
    side = np.concatenate(
        [np.stack([a, b, b + CIRCLE_CORNERS], axis=1), np.stack([a, b + CIRCLE_CORNERS, a + CIRCLE_CORNERS], axis=1)]
    )
    fan = np.arange(1, CIRCLE_CORNERS - 1)
    low = np.stack([np.zeros_like(fan), fan + 1, fan], axis=1) + 2 * CIRCLE_CORNERS
    high = np.stack([np.zeros_like(fan), fan, fan + 1], axis=1) + 3 * CIRCLE_CORNERS
    y = end / length
    x = np.cross(y, np.eye(3)[np.argmin(np.abs(y))])
    x /= np.linalg.norm(x)
    upright = np.stack([x, y, np.cross(x, y)], axis=1)
    return Solid(point, normal, np.concatenate([side, low, high])).place(upright, np.zeros(3))


def make_box(half: float) -> Solid:
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


@dataclass(frozen=True, eq=False)
class DrawnPart:
    """All solids of one colour: "links", "joints" or "sensors"; bone (v,) is the one that each point follows."""

    name: str
    solid: Solid
    bone: Ints


def draw_parts(figure: Figure, size: float | None = None) -> list[DrawnPart]:
    """The shapes of all bones in the rest pose as triangles; what a figure has none of is left out."""
    R, p = figure.rest
    parts: dict[str, list[tuple[int, Solid]]] = {name: [] for name in PART_COLOURS}
    for k, shapes in enumerate(shape_bones(figure, size)):
        for centre, radius, colour in shapes.balls:
            if colour == "links" or figure.parent[k] >= 0:
                parts[colour].append((k, make_sphere(radius).place(np.eye(3), centre)))
        parts["links"] += [(k, make_cylinder(end, shapes.thick)) for end in shapes.rods]
        parts["sensors"].append((k, make_box(shapes.box).place(figure.R_bone_body[k], figure.p_bone_body[k])))
    return [
        DrawnPart(
            name,
            join_solids([solid.place(R[k], p[k]) for k, solid in solids]),
            np.repeat([k for k, _ in solids], [len(solid.point) for _, solid in solids]),
        )
        for name, solids in parts.items()
        if solids
    ]
