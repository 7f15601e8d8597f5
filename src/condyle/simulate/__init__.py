"""Known worlds: figures that move, sensors on them, and what a tracker makes of it."""

from .disturb import Disturbances, disturb
from .figures import FEMALE_LENGTHS, MALE_LENGTHS, SimulatedFigure, chain, human, limb_lengths, linkage
from .motions import BoneMotion, exercise, still, walk
from .mounting import Mounts, SensorSlip, Truth, mount, random_mounts
from .world import World, prop, rod, simulate, together

__all__ = [
    "FEMALE_LENGTHS",
    "MALE_LENGTHS",
    "BoneMotion",
    "Disturbances",
    "Mounts",
    "SensorSlip",
    "SimulatedFigure",
    "Truth",
    "World",
    "chain",
    "disturb",
    "exercise",
    "human",
    "limb_lengths",
    "linkage",
    "mount",
    "prop",
    "random_mounts",
    "rod",
    "simulate",
    "still",
    "together",
    "walk",
]
