"""The pictures of the gallery, from simulated takes: `uv run python docs/site/gallery.py [FOLDER]`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import condyle
from condyle.report.drawing import TimeAxis, draw_lengths, lay_out_time
from condyle.report.figures import draw_gap, save_figure
from condyle.report.model import choose_frame, draw_model
from condyle.simulate import Disturbances, SensorSlip, World, disturb, human, simulate
from condyle.simulate.contacts import clasp_hands
from condyle.simulate.machines import machine

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = Path(__file__).parents[1] / "pictures"
NOISE = {"position_noise": 0.002, "orientation_noise": math.radians(0.3)}


def draw_person() -> Figure:
    """The figure of a person in a walk, as it was found."""
    return draw_fit(condyle.fit(person("walk").take))


def draw_person_lengths() -> Figure:
    """Limb lengths with their intervals, and the true ones."""
    world = person("exercise")
    return draw_lengths(condyle.fit(world.take).skeleton.limbs, world.truth.limbs)


def draw_slip() -> Figure:
    """The gap of a knee whose thigh's sensor slips 25 mm at 15 s, before that is put right."""
    slip = SensorSlip("l_thigh", time=15.0, displacement=(0.025, 0.0, 0.0))
    return draw_joint(condyle.fit(person("exercise", slips=(slip,)).take, no_fix="slips"), "l_shank")


def draw_bent_field() -> Figure:
    """The gap of an elbow in a field that metal bends by a centimetre."""
    return draw_joint(condyle.fit(person("exercise", field_warp=0.01).take), "l_forearm")


def draw_clasped_hands() -> Figure:
    """A person whose hands are together from 8 to 22 s: in that time a loop is closed."""
    world = simulate(human(), "exercise", seconds=30, rate=60, seed=3)
    truth = clasp_hands(world.truth, 8.0, 22.0, np.random.default_rng(3))
    take, _ = disturb(truth, Disturbances(**NOISE), 3)
    fit = condyle.fit(take)
    held = next(loop for loop in fit.skeleton.loops if {loop.child, loop.parent} == {"l_hand", "r_hand"})
    a, b = (take.index(name) for name in (held.child, held.parent))
    place = [
        take.R_world_body[:, k] @ p + take.p_world_body[:, k]
        for k, p in ((a, held.p_child_joint), (b, held.p_parent_joint))
    ]
    gap = place[0] - place[1]
    return draw_gap(time_of(take), gap, np.ones(take.frames), held.child, held.parent)


def draw_robot() -> Figure:
    """An arm of seven hinges."""
    return draw_fit(
        condyle.fit(machine("panda", seconds=30, position_noise=0.0005, orientation_noise=0.002).take, root="link0")
    )


def person(motion: str, **disturbances: object) -> World:
    """A person with fifteen sensors, 2 mm and 0.3 degrees of noise."""
    given = Disturbances(**NOISE, **disturbances)  # type: ignore[arg-type]
    return simulate(human(), motion, seconds=30, rate=60, seed=3, disturbances=given)  # type: ignore[arg-type]


def draw_fit(fit: condyle.Fit) -> Figure:
    """The figure of a fit in space."""
    shown = choose_frame(fit.skeleton, condyle.forward(fit.skeleton, fit.motion))
    assert shown is not None
    return draw_model(shown, fit.skeleton.conventions.get("up"))


def draw_joint(fit: condyle.Fit, child: str) -> Figure:
    """The gap of one joint over time."""
    k = next(k for k, joint in enumerate(fit.skeleton.joints) if joint.child == child)
    return draw_gap(time_of(fit.take), fit.gap[:, k], np.ones(fit.take.frames), child, fit.skeleton.joints[k].parent)


def time_of(take: condyle.Take) -> TimeAxis:
    return lay_out_time(take.time, take.segment)


DRAWN: dict[str, Callable[[], Figure]] = {
    "gallery-person": draw_person,
    "gallery-lengths": draw_person_lengths,
    "gallery-slip": draw_slip,
    "gallery-field": draw_bent_field,
    "gallery-hands": draw_clasped_hands,
    "gallery-robot": draw_robot,
}

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURES
    for name, draw in DRAWN.items():
        save_figure(draw(), folder / f"{name}.svg")
        print(f"wrote {folder / name}.svg")
