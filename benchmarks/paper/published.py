"""What O'Brien, Bodenheimer, Brostow and Hodgins (Graphics Interface 2000) report: the only numbers typed by hand.

Lengths in cm. Differences are measured less calculated, as printed there; a few do not follow from the printed lengths,
which were rounded on their own.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """One length: its name, the hand measurement, what was calculated in each set, and the printed differences."""

    name: str
    measured: float
    lengths: tuple[float, ...]
    differences: tuple[float, ...]


LINKAGE = (  # table 1
    Row("Neck - Left Shoulder", 39.0, (39.4, 38.8, 39.8, 39.1, 39.1, 40.1), (-0.4, 0.2, -0.8, -0.1, -0.1, -1.1)),
    Row("Neck - Right Shoulder", 39.7, (39.8, 39.8, 40.3, 40.0, 39.9, 40.3), (-0.1, -0.1, -0.6, -0.3, -0.2, -0.6)),
    Row("Between Shoulders", 34.3, (34.3, 33.7, 34.5, 34.3, 34.3, 34.8), (0.0, 0.6, -0.2, 0.0, 0.0, -0.5)),
    Row("Right Upper Arm", 28.6, (29.2, 29.0, 28.8, 28.9, 29.0, 29.1), (-0.6, -0.4, -0.2, -0.3, -0.4, -0.5)),
    Row("Left Upper Arm", 31.4, (31.5, 31.7, 31.9, 31.5, 31.1, 31.2), (-0.1, -0.3, -0.5, -0.1, 0.3, 0.2)),
)
MALE_EXERCISE = (  # table 2
    Row("Right Lower Leg", 40.0, (40.8, 40.9, 42.2, 42.5), (-0.8, -0.9, -2.2, -2.5)),
    Row("Left Lower Leg", 40.3, (37.3, 38.4, 41.2, 41.5), (3.0, 1.9, -0.9, -1.2)),
    Row("Right Upper Leg", 41.6, (41.5, 42.1, 42.9, 42.2), (0.1, -0.5, -1.3, -0.6)),
    Row("Left Upper Leg", 43.2, (41.4, 41.8, 43.2, 43.0), (1.8, 1.4, 0.0, 0.2)),
    Row("Right Lower Arm", 27.0, (26.3, 26.7, 27.7, 27.0), (0.7, 0.3, -0.7, 0.0)),
    Row("Left Lower Arm", 26.7, (26.5, 27.0, 26.7, 27.1), (0.1, -0.3, -0.1, -0.4)),
    Row("Right Upper Arm", 29.5, (32.1, 31.3, 29.3, 28.8), (-2.6, -1.8, 0.2, 0.7)),
    Row("Left Upper Arm", 29.5, (33.7, 32.9, 30.1, 29.9), (-4.1, -3.4, -0.6, -0.4)),
)
MALE_WALK = (  # table 3
    Row("Right Lower Leg", 40.0, (40.7, 40.3, 38.9), (-0.6, -0.3, 1.1)),
    Row("Left Lower Leg", 40.3, (40.8, 38.9, 39.8), (-0.4, 1.4, 0.5)),
    Row("Right Upper Leg", 41.6, (40.7, 40.6, 42.6), (0.9, 1.0, -1.0)),
    Row("Left Upper Leg", 43.2, (45.1, 42.7, 43.1), (-1.9, 0.5, 0.1)),
    Row("Right Lower Arm", 27.0, (27.3, 27.5, 25.8), (-0.3, -0.5, 1.2)),
    Row("Left Lower Arm", 26.7, (26.2, 24.9, 25.6), (0.5, 1.7, 1.0)),
    Row("Right Upper Arm", 29.5, (31.0, 31.1, 32.7), (-1.4, -1.6, -3.2)),
    Row("Left Upper Arm", 29.5, (32.3, 32.3, 30.8), (-2.7, -2.7, -1.3)),
)
FEMALE = (  # table 4: one exercise, two walks
    Row("Right Lower Leg", 36.8, (39.1, 38.0, 38.1), (-2.3, -1.2, -1.3)),
    Row("Left Lower Leg", 36.5, (37.6, 37.0, 37.4), (-1.1, -0.5, -0.9)),
    Row("Right Upper Leg", 42.2, (42.9, 43.3, 42.2), (-0.7, -1.1, 0.0)),
    Row("Left Upper Leg", 41.9, (42.4, 44.1, 42.9), (-0.5, -2.2, -1.0)),
    Row("Right Lower Arm", 24.8, (25.5, 25.3, 22.4), (-0.7, -0.5, 2.3)),
    Row("Left Lower Arm", 24.8, (25.1, 24.8, 23.0), (-0.3, 0.0, 1.8)),
    Row("Right Upper Arm", 27.6, (27.5, 27.5, 28.7), (0.2, 0.1, -1.0)),
    Row("Left Upper Arm", 27.6, (28.5, 30.0, 29.0), (-0.9, -2.4, -1.3)),
)
BODIES = dict(
    zip(
        (row.name for row in FEMALE),
        ("r_shank", "l_shank", "r_thigh", "l_thigh", "r_forearm", "l_forearm", "r_upper_arm", "l_upper_arm"),
        strict=True,
    )
)
LINKAGE_LIMBS = {  # body and the joints, each named by its child, that a length of table 1 joins
    "Neck - Left Shoulder": ("chest", "head", "l_upper_arm"),
    "Neck - Right Shoulder": ("chest", "head", "r_upper_arm"),
    "Between Shoulders": ("chest", "l_upper_arm", "r_upper_arm"),
    "Right Upper Arm": ("r_upper_arm", "r_upper_arm", "r_forearm"),
    "Left Upper Arm": ("l_upper_arm", "l_upper_arm", "l_forearm"),
}
SIMULATED_LENGTH = 1e-6  # m, errors of the simulated human are less
ROD, ROD_SD, SCALE = 56.5, 0.7, 0.94  # cm, cm, and recorded times this is true
RESOLUTION = 0.4  # cm, of the sensors
SKIN = 3.0  # cm, up to which skin moves over the shank
WALKS_WRONG, WALKS = 3, 5  # trees in which one thigh became the child of the other
EXERCISES = 5  # trees of exercises, all right
SECONDS_GIVEN, SECONDS_NOT = 4.0, 14.0  # s to process 45 s of 16 sensors, hierarchy given and not
