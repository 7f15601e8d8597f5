"""The figure in space as figure 5C of the paper: spheres for joints, cubes for sensors, cylinders for links.

It is projected and sorted by depth here, so that near parts cover far ones; matplotlib only fills shapes.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ..maths.arrays import Floats, evenly, freeze
from ..model.html import INK_COLOUR, MARK_COLOUR
from ..model.skeleton import Skeleton
from ..model.take import Take
from ..model.values import dataclass
from .drawing import PALE_COLOUR, TEXT_COLOUR, _figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POSES_TRIED = 200  # frames from which the shown one is chosen
VIEWS_TRIED = 24  # views round the figure from which the widest is chosen
VIEW_LIFT_RAD = np.radians(12.0)  # of the view above the horizon
SPHERE_SHARE, CUBE_HALF_SHARE, CYLINDER_SHARE = (
    0.011,
    0.016,
    0.007,
)  # radius, half an edge, radius; over the figure's size
CUBE_FACES = ((0, 1), (0, -1), (1, 1), (1, -1), (2, 1), (2, -1))


@dataclass(frozen=True, eq=False)
class DrawnFrame:
    """The figure in one frame.

    p_world_joint   (J, 3)     [m]  joints, in the skeleton's order
    R_world_body    (m, 3, 3)       sensors
    p_world_body    (m, 3)     [m]
    links           pairs of points [m] on one body, (L, 2, 3)
    stalks          (S, 2, 3)  [m]  from a sensor to the nearest joint of its body
    """

    p_world_joint: Annotated[Floats, "J 3"]
    R_world_body: Annotated[Floats, "m 3 3"]
    p_world_body: Annotated[Floats, "m 3"]
    links: Annotated[Floats, "L 2 3"]
    stalks: Annotated[Floats, "S 2 3"]

    def __post_init__(self) -> None:
        freeze(self)


def choose_frame(skeleton: Skeleton, played: Take) -> DrawnFrame | None:
    """The figure in the frame whose joints are nearest to their usual angles; None where no frame has all bodies."""
    names = [name for name in skeleton.bodies if name not in skeleton.loose]
    take = played.select(names)
    whole = np.flatnonzero(take.seen.all(axis=1))
    if not skeleton.joints or not len(whole):
        return None
    rows = whole[evenly(len(whole), POSES_TRIED)]
    at = {name: k for k, name in enumerate(take.names)}
    child = [at[joint.child] for joint in skeleton.joints]
    parent = [at[joint.parent] for joint in skeleton.joints]
    turn = np.swapaxes(take.R_world_body[rows][:, parent], -1, -2) @ take.R_world_body[rows][:, child]
    frame = int(rows[np.argmin(((turn - turn.mean(axis=0)) ** 2).sum(axis=(1, 2, 3)))])
    R, p = take.R_world_body[frame], take.p_world_body[frame]
    joints = np.array([R[k] @ joint.p_child_joint + p[k] for k, joint in zip(child, skeleton.joints, strict=True)])
    links, stalks = [], []
    for k in range(len(take.names)):
        own = joints[[k in (a, b) for a, b in zip(child, parent, strict=True)]]
        middle = own.mean(axis=0)
        links += [(a, b) for a, b in combinations(own, 2)] if len(own) < 4 else [(middle, one) for one in own]
        stalks.append((p[k], own[np.argmin(np.linalg.norm(own - p[k], axis=1))]))
    return DrawnFrame(joints, R, p, np.array(links).reshape(-1, 2, 3), np.array(stalks))


def draw_model(shown: DrawnFrame, up: str | None = None) -> Figure:
    """The figure seen from where it is widest. up: world axis that points up, as z or -y."""
    upright = _upright(up or "z")
    joints = shown.p_world_joint @ upright.T
    view = max((_view(2 * np.pi * k / VIEWS_TRIED) for k in range(VIEWS_TRIED)), key=lambda V: _spread(joints @ V.T))
    V = view @ upright
    points = np.concatenate([shown.p_world_joint, shown.p_world_body])
    size = float(np.linalg.norm(np.ptp(points, axis=0)))
    flat = points @ V.T
    with styled():
        low, high = flat[:, :2].min(axis=0) - 0.05 * size, flat[:, :2].max(axis=0) + 0.05 * size
        wide, tall = high - low
        height = 3.6
        figure = _figure(float(np.clip(height * wide / tall, 2.4, 6.4)) + 0.2, height)
        axes = figure.subplots()
        _stalks(axes, shown.stalks @ V.T)
        for link in shown.links @ V.T:
            _cylinder(axes, link, CYLINDER_SHARE * size)
        for R, p in zip(shown.R_world_body, shown.p_world_body, strict=True):
            _cube(axes, V @ R, V @ p, CUBE_HALF_SHARE * size)
        for joint in shown.p_world_joint @ V.T:
            _sphere(axes, joint, SPHERE_SHARE * size)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        axes.set_aspect("equal")
        axes.axis("off")
        ruler = 10.0 ** np.floor(np.log10(size / 3)) if size > 0 else 1.0
        axes.plot([low[0], low[0] + ruler], [low[1], low[1]], color=TEXT_COLOUR, linewidth=1.2, clip_on=False)
        axes.annotate(f"{100 * ruler:g} cm", (low[0], low[1]), (0, 3), textcoords="offset points")
        return figure


def _upright(up: str) -> Floats:
    """The rotation (3, 3) that takes the named axis to z."""
    axis = "xyz".index(up[-1])
    new = np.roll(np.eye(3), 2 - axis, axis=0)  # a turn about the diagonal
    return np.diag([1.0, -1.0, -1.0]) @ new if up.startswith("-") else new


def _view(turn: float) -> Floats:
    """World to picture (3, 3): right, up, towards the eye."""
    c, s, cl, sl = np.cos(turn), np.sin(turn), np.cos(VIEW_LIFT_RAD), np.sin(VIEW_LIFT_RAD)
    return np.array([[-s, c, 0.0], [-sl * c, -sl * s, cl], [cl * c, cl * s, sl]])


def _spread(flat: Floats) -> float:
    """How far joints are from one another in the picture."""
    apart = np.linalg.norm(flat[:, None, :2] - flat[None, :, :2], axis=-1)
    return float(np.sqrt(apart).sum())


def _stalks(axes: Axes, stalks: Floats) -> None:
    for a, b in stalks:
        axes.plot([a[0], b[0]], [a[1], b[1]], color=PALE_COLOUR, linewidth=0.8, zorder=min(a[2], b[2]))


def _cylinder(axes: Axes, ends: Floats, radius: float) -> None:
    from matplotlib.patches import Polygon

    along = ends[1, :2] - ends[0, :2]
    length = float(np.linalg.norm(along))
    if length == 0:
        return
    across = radius * np.array([-along[1], along[0]]) / length
    a, b = ends[:, :2]
    depth = float(ends[:, 2].mean())
    for inner, colour in ((1.0, "#7f9dbb"), (0.45, "#a9c0d6")):  # a lighter strip along the middle makes it round
        corners = [a - inner * across, b - inner * across, b + inner * across, a + inner * across]
        axes.add_patch(Polygon(np.array(corners), closed=True, facecolor=colour, edgecolor="none", zorder=depth))


def _sphere(axes: Axes, at: Floats, radius: float) -> None:
    from matplotlib.patches import Circle

    x, y, depth = (float(value) for value in at)
    axes.add_patch(
        Circle((x, y), radius, facecolor=INK_COLOUR, edgecolor="white", linewidth=0.4, zorder=depth + radius)
    )
    shine = (x - 0.3 * radius, y + 0.3 * radius)
    axes.add_patch(Circle(shine, 0.3 * radius, facecolor="white", alpha=0.6, edgecolor="none", zorder=depth + radius))


def _cube(axes: Axes, R_view_body: Floats, at: Floats, half: float) -> None:
    """The faces that look at the eye, the more they do so the lighter."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Polygon

    base = np.array(to_rgb(MARK_COLOUR))
    for axis, sign in CUBE_FACES:
        normal = sign * R_view_body[:, axis]
        if normal[2] <= 0:
            continue
        u, v = (half * R_view_body[:, k] for k in range(3) if k != axis)
        middle = at + half * normal
        corners = np.array([middle + u + v, middle + u - v, middle - u - v, middle - u + v])[:, :2]
        light = 0.55 * normal[2]
        colour = tuple(base + (1 - base) * light)
        axes.add_patch(
            Polygon(corners, closed=True, facecolor=colour, edgecolor="white", linewidth=0.3, zorder=float(middle[2]))
        )
