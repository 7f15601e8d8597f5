"""Mass and inertia of bones: those of the shapes at the density of water, or of a person by the mass of the body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...errors import UsageError, check_number
from ...maths.arrays import Floats
from ...model.anatomy import Part
from ...model.body_mass import CARRIED_BY, SEGMENT_MASSES, UPPER_BODY, SegmentMass
from .figure import Figure
from .shapes import Shapes

BODY_MAX_KG = 700.0  # kg: nobody was heavier
MASS_FORMATS = ("mjcf", "urdf", "osim")  # formats that hold masses


class Inertial(NamedTuple):
    """Mass [kg], centre of mass (3,) [m] in the bone, and inertia (3, 3) [kg m2] about it."""

    mass: float
    centre: Floats
    inertia: Floats


def weigh_bones(figure: Figure, shapes: Sequence[Shapes], body_mass: float | None = None) -> list[Inertial]:
    """Of every bone. With `body_mass` [kg] the segments of the person share it, what is not worn being carried by the
    segment that it hangs on; other bones keep the mass of their shapes.
    """
    found = [Inertial(*one.inertial()) for one in shapes]
    if body_mass is None:
        return found
    segments = _find_segments(figure)
    others = sum(found[k].mass for bones in figure.people for k in bones if k not in segments)
    left, every = body_mass - others, sum(carried for _, carried in segments.values())
    if left <= 0:
        raise UsageError(f"a body of {body_mass:g} kg weighs less than its bones as they are drawn", code="bad-option")
    for k, (one, carried) in segments.items():
        length, mass = float(np.linalg.norm(figure.tip[k])), left * carried / every
        front, across, along = mass * np.square(np.array(one.radii) * length)
        found[k] = Inertial(mass, one.centre * figure.tip[k], np.diag([across, along, front]))
    return found


def check_body_mass(figure: Figure, body_mass: float | None) -> None:
    """Raises where a mass cannot be that of a body, or there is not one person to have it."""
    if body_mass is None:
        return
    if not 0 < check_number(body_mass, "a body mass") < float("inf"):
        raise UsageError(f"a body mass of {body_mass:g} kg is not above zero", code="bad-option")
    if body_mass > BODY_MAX_KG:
        raise UsageError(f"a body mass of {body_mass:g} kg is no person's; give it in kilograms", code="bad-option")
    if len(figure.people) != 1:
        text = f"a body mass is for one person, and the figure has {len(figure.people) or 'none'}"
        raise UsageError(text, code="bad-option")


def _find_segments(figure: Figure) -> dict[int, tuple[SegmentMass, float]]:
    """{bone: its row of the table, and the share of the body's mass that it has}, the first bone of each segment."""
    place: dict[tuple[str, str], int] = {}
    for k in [k for bones in figure.people for k in bones]:
        if figure.parts[k] in SEGMENT_MASSES:
            place.setdefault((figure.parts[k], figure.sides[k]), k)
    whole = ("spine", "") not in place and ("chest", "") in place
    rows = {k: UPPER_BODY if whole and part == "chest" else SEGMENT_MASSES[part] for (part, _), k in place.items()}  # type: ignore[index]
    shares = {k: row.mass for k, row in rows.items()}
    for part, one in SEGMENT_MASSES.items():
        for side in ("l", "r") if part not in ("head", "chest", "spine", "pelvis") else ("",):
            if (part, side) in place or (whole and part == "spine"):
                continue
            carrier = _find_carrier(part, side, place)
            if carrier is not None:
                shares[carrier] += one.mass
    return {k: (row, shares[k]) for k, row in rows.items()}


def _find_carrier(part: Part, side: str, place: dict[tuple[str, str], int]) -> int | None:
    """The nearest bone that is worn on the way to the pelvis; None: nothing is."""
    above: Part | None = CARRIED_BY.get(part)
    while above is not None:
        for key in ((above, side), (above, "")):
            if key in place:
                return place[key]
        above = CARRIED_BY.get(above)
    return None
