"""Mass and inertia of a person's segments from the mass of the body, by published tables.

de Leva 1996, Adjustments to Zatsiorsky-Seluyanov's segment inertia parameters, J Biomech 29:1223, table 4, mean of
women and men; the foot's place and radius by Winter, Biomechanics and Motor Control of Human Movement, whose segment
begins at the ankle as a bone here does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .anatomy import Part


class SegmentMass(NamedTuple):
    """A segment as shares, mean of women and men.

    mass    of the body's
    centre  of the segment's length, from its proximal end (of a trunk's from its lower one)
    radii   of gyration over the length, about the anteroposterior, the transverse and the long axis
    """

    mass: float
    centre: float
    radii: tuple[float, float, float]


def _mean(women: SegmentMass, men: SegmentMass) -> SegmentMass:
    radii = tuple((a + b) / 2 for a, b in zip(women.radii, men.radii, strict=True))
    return SegmentMass((women.mass + men.mass) / 2, (women.centre + men.centre) / 2, radii)  # type: ignore[arg-type]


# The table counts a trunk's parts and the head from above, bones here from below.
SEGMENT_MASSES: dict[Part, SegmentMass] = {
    "head": _mean(
        SegmentMass(0.0668, 1 - 0.5894, (0.330, 0.359, 0.318)), SegmentMass(0.0694, 1 - 0.5976, (0.362, 0.376, 0.312))
    ),
    "chest": _mean(
        SegmentMass(0.1545, 1 - 0.2077, (0.746, 0.502, 0.718)), SegmentMass(0.1596, 1 - 0.2999, (0.716, 0.454, 0.659))
    ),
    "spine": _mean(
        SegmentMass(0.1465, 1 - 0.4512, (0.433, 0.354, 0.415)), SegmentMass(0.1633, 1 - 0.4502, (0.482, 0.383, 0.468))
    ),
    "pelvis": _mean(
        SegmentMass(0.1247, 1 - 0.4920, (0.433, 0.402, 0.444)), SegmentMass(0.1117, 1 - 0.6115, (0.615, 0.551, 0.587))
    ),
    "upper_arm": _mean(
        SegmentMass(0.0255, 0.5754, (0.278, 0.260, 0.148)), SegmentMass(0.0271, 0.5772, (0.285, 0.269, 0.158))
    ),
    "forearm": _mean(
        SegmentMass(0.0138, 0.4559, (0.261, 0.257, 0.094)), SegmentMass(0.0162, 0.4574, (0.276, 0.265, 0.121))
    ),
    "hand": _mean(
        SegmentMass(0.0056, 0.3427, (0.244, 0.208, 0.154)), SegmentMass(0.0061, 0.3624, (0.288, 0.235, 0.184))
    ),
    "thigh": _mean(
        SegmentMass(0.1478, 0.3612, (0.369, 0.364, 0.162)), SegmentMass(0.1416, 0.4095, (0.329, 0.329, 0.149))
    ),
    "shank": _mean(
        SegmentMass(0.0481, 0.4416, (0.271, 0.267, 0.093)), SegmentMass(0.0433, 0.4459, (0.255, 0.249, 0.103))
    ),
    "foot": SegmentMass((0.0129 + 0.0137) / 2, 0.5, (0.475, 0.475, 0.13)),
}


def _stack(lower: SegmentMass, length: float, upper: SegmentMass, above: float) -> SegmentMass:
    """Two parts, so long [m], one on the other as one segment."""
    mass, whole = lower.mass + upper.mass, length + above
    places = np.array([lower.centre * length, length + upper.centre * above])
    shares = np.array([lower.mass, upper.mass]) / mass
    centre = float(shares @ places)
    own = np.square(np.array([np.array(lower.radii) * length, np.array(upper.radii) * above]))
    own[:, :2] += np.square(places - centre)[:, None]
    radii = np.sqrt(shares @ own) / whole
    return SegmentMass(mass, centre / whole, (float(radii[0]), float(radii[1]), float(radii[2])))


# From the navel to the suprasternal notch: a chest that is worn without a spine; lengths as the table has them.
UPPER_BODY = _stack(SEGMENT_MASSES["spine"], (0.2053 + 0.2155) / 2, SEGMENT_MASSES["chest"], (0.1425 + 0.1707) / 2)
CARRIED_BY: dict[Part, Part] = {  # which segment carries another that is not worn
    "hand": "forearm", "forearm": "upper_arm", "upper_arm": "chest", "head": "chest", "chest": "spine",
    "spine": "pelvis", "foot": "shank", "shank": "thigh", "thigh": "pelvis",
}  # fmt: skip
