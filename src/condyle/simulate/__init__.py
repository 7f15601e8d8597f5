"""Known worlds: figures that move, sensors on them, and what a tracker makes of it."""

from .disturb import Disturbances, disturb
from .figures import FEMALE_LENGTHS, MALE_LENGTHS, SimulatedFigure, chain, human, limb_lengths, linkage
from .machines import MACHINES, Machine, MachineJoint, machine
from .motions import BoneMotion, exercise, still, walk
from .mounting import Mounts, SensorSlip, Truth, mount, random_mounts
from .world import World, prop, rod, simulate, together

__all__ = [
    "FEMALE_LENGTHS",
    "MACHINES",
    "MALE_LENGTHS",
    "BoneMotion",
    "Disturbances",
    "Machine",
    "MachineJoint",
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
    "machine",
    "mount",
    "prop",
    "random_mounts",
    "rod",
    "simulate",
    "still",
    "together",
    "walk",
]
