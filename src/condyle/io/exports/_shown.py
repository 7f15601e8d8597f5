"""What of a figure is drawn: its links, joints and sensors as solids in the rest pose, each point on one bone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...maths.arrays import Ints
from ._solids import JOINT, LINK, SENSOR, Solid, box, cylinder, joined, link_ends, sphere, usual_length
from .figure import Figure

HEAD = 0.45  # of the length of a head: the radius of the ball that shows it
COLOURS = {"links": (0.72, 0.71, 0.68), "joints": (0.62, 0.21, 0.13), "sensors": (0.13, 0.28, 0.45)}


@dataclass(frozen=True, eq=False)
class Shown:
    """All solids of one colour: "links", "joints" or "sensors"; bone (v,) is the one that each point follows."""

    name: str
    solid: Solid
    bone: Ints


def shown_parts(figure: Figure, size: float | None = None) -> list[Shown]:
    """Spheres for joints, boxes for sensors, cylinders for links; sizes follow `size` [m], the usual length of a link.

    What a figure has none of is left out.
    """
    size = usual_length(figure) if size is None else size
    R, p = figure.rest()
    parts: dict[str, list[tuple[int, Solid]]] = {name: [] for name in COLOURS}
    for k in range(len(figure.names)):
        if figure.parts[k] == "head":
            ball = sphere(HEAD * float(np.linalg.norm(figure.tip[k])))
            parts["links"].append((k, ball.placed(np.eye(3), (1 - HEAD) * figure.tip[k])))
        parts["links"] += [(k, cylinder(np.zeros(3), end, LINK * size)) for end in link_ends(figure, k)]
        if figure.parent[k] >= 0:
            parts["joints"].append((k, sphere(JOINT * size)))
        parts["sensors"].append((k, box(SENSOR * size).placed(figure.R_bone_body[k], figure.p_bone_body[k])))
    return [
        Shown(
            name,
            joined([solid.placed(R[k], p[k]) for k, solid in solids]),
            np.repeat([k for k, _ in solids], [len(solid.point) for _, solid in solids]),
        )
        for name, solids in parts.items()
        if solids
    ]
