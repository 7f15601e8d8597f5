"""demo: a simulated performer, who moves every joint, and whose sensor slips on the way."""

from __future__ import annotations

import math

from ...maths import rotation
from ...model.recording import Bodies, Convention, Recording
from ...simulate import Disturbances, SensorSlip, human, simulate
from .replay import ReplaySource

DEMO_S = 120.0  # s that the performer moves
DEMO_RATE_HZ = 60.0
DEMO_SLIP = SensorSlip("r_thigh", 40.0, (0.012, 0.008, -0.010))  # told a few seconds later
DEMO_WORLD = Disturbances(
    position_noise=0.0015, orientation_noise=math.radians(0.15), soft_tissue=0.005, slips=(DEMO_SLIP,)
)


def open_source(address: str = "") -> ReplaySource:
    """The performer; `address` is not used."""
    take = simulate(human(), "exercise", seconds=DEMO_S, rate=DEMO_RATE_HZ, seed=5, disturbances=DEMO_WORLD).take
    stated = frozenset({"rotation", "unit", "up"})
    recording = Recording(
        bodies=Bodies(take.names, take.p_world_body, rotation.to_quaternion(take.R_world_body)),
        time=take.time,
        convention=Convention("wxyz", unit="m", up="z", stated=stated),
        facts={"recorded from": "a simulated performer"},
    )
    return ReplaySource(recording, "demo")
