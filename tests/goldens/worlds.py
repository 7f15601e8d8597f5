"""Simulated worlds, each with the options of its fit: all that the simulation can do to a take, and every option."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import condyle
from condyle.simulate import (
    FEMALE_LENGTHS,
    Disturbances,
    SensorSlip,
    SimulatedFigure,
    World,
    chain,
    disturb,
    human,
    linkage,
    prop,
    rod,
    simulate,
    together,
)
from condyle.simulate.contacts import clasp_hands, join_hands, pick_up, plant_feet

from .fitting import Case

SECONDS = 15.0
MM, DEG = 0.001, np.radians(1.0)
WHITE = {"position_noise": 3 * MM, "orientation_noise": 0.5 * DEG}
QUIET = {"position_noise": 1.5 * MM, "orientation_noise": 0.15 * DEG}
BENT = {**QUIET, "field_warp": 12.5 * MM}
SKIN = {**QUIET, "soft_tissue": 5 * MM}
SPIKY = {**WHITE, "spikes": 0.02, "bursts": 0.05, "missing": 0.05}
ALL = {**QUIET, "field_warp": 12.5 * MM, "soft_tissue": 15 * MM, "pelvis_wobble": 40 * MM, "non_rotary": 1.0}
ROD = {"pair": ("rod_a", "rod_b"), "distance": 0.565}
DISTURBED: dict[str, dict[str, Any]] = {
    "exact": {},
    "white": WHITE,
    "one degree": {**WHITE, "orientation_noise": DEG},
    "correlated": {**WHITE, "correlation_time": 0.5},
    "far from the transmitter": {**WHITE, "range_power": 3.0},
    "quantised": {"position_noise": 2 * MM, "quantisation": 4 * MM},
    "bent field": BENT,
    "metal": {**QUIET, "metal_spots": 3},
    "skin": SKIN,
    "spikes and gaps": SPIKY,
    "stale": {**WHITE, "stale": 0.1},
    "joints that move": {**SKIN, "non_rotary": 1.0},
    "late sensors": {**WHITE, "latency": {"l_hand": 0.05, "r_foot": 0.1}},
    "pelvis pack": {**QUIET, "pelvis_wobble": 40 * MM},
    "everything": ALL,
}
TREE = {"head": "chest", "l_upper_arm": "chest", "l_forearm": "l_upper_arm", "r_upper_arm": "chest"}


def person(
    motion: str = "exercise",
    seed: int = 1,
    seconds: float = SECONDS,
    figure: SimulatedFigure | None = None,
    **done: Any,
) -> World:
    range_ = done.pop("range", 1.0)
    return simulate(
        human() if figure is None else figure,
        motion,  # type: ignore[arg-type]
        seconds=seconds,
        seed=seed,
        disturbances=Disturbances(**done),
        range=range_,
    )


def wooden(motion: str = "exercise", seed: int = 1, **done: Any) -> World:
    return person(motion, seed, figure=linkage(), **done)


def links(*kinds: str, seed: int = 1, **done: Any) -> World:
    return person("exercise", seed, figure=chain(kinds), **done)  # type: ignore[arg-type]


def slipped(
    body: str, figure: SimulatedFigure | None = None, motion: str = "exercise", turn: float = 0.0
) -> condyle.Take:
    slip = SensorSlip(body, 6.0, (0.0, 0.02, 0.01), (turn, 0.0, 0.0))
    return person(motion, 2, 2 * SECONDS, figure, **QUIET, slips=(slip,)).take


def swapped(one: str, other: str, first: int, stop: int, motion: str = "exercise", **done: Any) -> condyle.Take:
    """A person two of whose sensors are exchanged from frame `first` until `stop`."""
    take = person(motion, 3, 2 * SECONDS, **done).take
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    pair = [take.names.index(one), take.names.index(other)]
    for values in (R, p):
        values[first:stop, pair] = values[first:stop, pair[::-1]]
    return replace(take, R_world_body=R, p_world_body=p)


def two_people(seed: int = 1) -> condyle.Take:
    return together([person("walk", seed, **QUIET), person("walk", seed + 500, **QUIET)]).take


def hands_held() -> condyle.Take:
    truth = together([person("exercise", 4), person("exercise", 5)]).truth
    points = np.array([[0.0, 0.05, 0.06], [0.06, 0.0, -0.05]])
    held = join_hands(truth, ("a_r_hand", "b_l_hand"), points, 4.0, 10.0)
    return disturb(held, Disturbances(**WHITE), 4)[0]


def own_hands(start: float, end: float) -> condyle.Take:
    truth = clasp_hands(person("exercise", 6).truth, start, end, np.random.default_rng(6))
    return disturb(truth, Disturbances(**QUIET), 6)[0]


def with_prop(held: bool) -> condyle.Take:
    done = Disturbances(**QUIET)
    world = together([person("walk", 7), prop(seconds=SECONDS, seed=8)], ["", ""])
    truth = pick_up(world.truth, "r_hand", "prop", 5.0, 11.0) if held else world.truth
    return disturb(truth, done, 7)[0]


def on_the_floor() -> condyle.Take:
    return disturb(plant_feet(person("walk", 9).truth), Disturbances(**WHITE), 9)[0]


def drifting(seed: int = 1) -> condyle.Take:
    """The linkage with sensors that wander off by centimetres in minutes."""
    take = wooden("exercise", seed, **QUIET).take
    wave = np.random.default_rng(seed).uniform(0.01, 0.03, (2, take.bodies, 3))
    way = 0.02 * np.sin(2 * np.pi * (wave[0] * take.time[:, None, None] + 30 * wave[1]))
    return replace(take, p_world_body=take.p_world_body + way)


def with_rod(seed: int = 1) -> condyle.Take:
    """The linkage and a rod that is carried beside it."""
    return together([wooden("exercise", seed, **QUIET), carried(seed, **QUIET)], ["", ""]).take


def carried(seed: int = 1, **done: Any) -> World:
    return rod(seconds=SECONDS, seed=seed, disturbances=Disturbances(**done))


def in_parts(seed: int = 1) -> condyle.Take:
    """Three recordings of one person with the same sensors: two motions, and a part of the first again."""
    first = person("exercise", seed, **WHITE)
    done = Disturbances(**WHITE)
    second = simulate(human(), "walk", seconds=8.0, seed=seed + 50, disturbances=done, mounts=first.truth.mounts)
    return condyle.join([first.take, second.take, first.take.slice(100, 300)])


def door(**done: Any) -> condyle.Take:
    """One body on a hinge in the room."""
    take = links("hinge", **done).take
    R, p = take.R_world_body, take.p_world_body
    to_first = np.swapaxes(R[:, :1], -1, -2)
    turned = (to_first @ (p[:, 1:] - p[:, :1])[..., None])[..., 0]
    return condyle.Take(("door",), take.time, to_first @ R[:, 1:], turned)


def unseen(seed: int = 1) -> condyle.Take:
    """The linkage with a sensor of which nothing was recorded."""
    take = wooden("exercise", seed, **WHITE).take
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    hidden[:, 2] = True
    return take.mask(hidden)


def of(world: Callable[..., World], *args: Any, **done: Any) -> Callable[[], condyle.Take]:
    return lambda: world(*args, **done).take


def fit_with_rod() -> Case:
    done = {**BENT, "field_length": 0.9}
    make = of(wooden, "exercise", 5, **done)
    return Case(
        "linkage, bent field, corrected with a rod", make, {"field": condyle.Rod(**ROD, take=of(carried, 5, **done)())}
    )


def disturbed() -> Iterator[Case]:
    for name, done in DISTURBED.items():
        for motion, seed in (("exercise", 1), ("walk", 2)):
            yield Case(f"person, {motion}, {name}", of(person, motion, seed, **done))
    for seed in (3, 4):
        yield Case(f"person, exercise, white, seed {seed}", of(person, "exercise", seed, **WHITE))
        yield Case(f"person, walk, skin, seed {seed}", of(person, "walk", seed, **SKIN))
        yield Case(f"linkage, exercise, white, seed {seed}", of(wooden, "exercise", seed, **WHITE))
    for name in ("exact", "white", "bent field", "spikes and gaps"):
        yield Case(f"linkage, exercise, {name}", of(wooden, **DISTURBED[name]))
    half = {**ALL, "range": 0.5}
    yield Case("person, half a walk's range, everything", of(person, "walk", 3, **half))
    yield Case("woman, exercise, white", of(person, figure=human(FEMALE_LENGTHS), **WHITE))
    yield Case("person, still", of(person, "still", **WHITE))
    yield Case("linkage, still, exact", of(wooden, "still"))
    yield Case("person, two seconds", of(person, "walk", seconds=2.0, **WHITE))
    long = of(person, "walk", seconds=300.0, **WHITE, missing=0.01)  # its sums are made in several parts
    yield Case("person, five minutes with gaps", long)
    yield Case("person, five minutes with gaps, least-squares", long, {"plan": "least-squares"})


def kinds() -> Iterator[Case]:
    for name, done in {"exact": {}, "white": WHITE, "skin": SKIN, "spikes and gaps": SPIKY}.items():
        yield Case(f"chain of ball, hinge, ball, {name}", of(links, "ball", "hinge", "ball", **done))
    yield Case("chain of hinge, hinge", of(links, "hinge", "hinge", **WHITE))
    yield Case("chain of ball, rigid, hinge", of(links, "ball", "rigid", "hinge", **QUIET))
    yield Case("door", partial(door, **QUIET), {"world": True})
    yield Case("one sensor", partial(door, **QUIET))
    yield Case("rod alone", of(carried, **QUIET))


def happenings() -> Iterator[Case]:
    for options in ({}, {"no_fix": "slips"}):
        yield Case(named("person, slip of a hand", options), partial(slipped, "l_hand"), options)
    yield Case("person, slip of a shank in a walk", partial(slipped, "r_shank", motion="walk"))
    yield Case("linkage, slip that turns", partial(slipped, "l_forearm", linkage(), turn=0.1))
    for options in ({}, {"fix": "swaps"}):
        yield Case(
            named("person, hands exchanged", options), partial(swapped, "l_hand", "r_hand", 300, 450, **WHITE), options
        )
        walk = partial(swapped, "l_thigh", "l_shank", 0, 400, "walk", **QUIET)
        yield Case(named("person, thigh and shank exchanged in a walk", options), walk, options)
    yield Case("two people", two_people)
    yield Case("two people, hand in hand", hands_held)
    yield Case("own hands for a while", partial(own_hands, 3.0, 10.0))
    yield Case(
        "own hands throughout, named as a loop", partial(own_hands, -9.0, 99.0), {"loops": [("l_hand", "r_hand")]}
    )
    yield Case("prop, loose", partial(with_prop, False))
    yield Case("prop, held for a while", partial(with_prop, True))
    yield Case("feet on the floor", on_the_floor)
    yield Case("feet on the floor, with the room", on_the_floor, {"world": True})
    yield Case("rod beside the linkage", with_rod)
    yield Case("three recordings joined", in_parts)
    yield Case("a sensor that was never seen", unseen)


def options() -> Iterator[Case]:
    person_white, linkage_white = of(person, "exercise", 1, **WHITE), of(wooden, "exercise", 1, **WHITE)
    for method in ("least-squares", "drift"):
        for name, make in {
            "person, exercise, white": person_white,
            "linkage, exercise, white": linkage_white,
            "linkage, exercise, exact": of(wooden),
            "linkage, spikes and gaps": of(wooden, **SPIKY),
            "linkage, wandering sensors": drifting,
            "chain of ball, hinge, ball": of(links, "ball", "hinge", "ball", **WHITE),
        }.items():
            yield Case(f"{name}, {method}", make, {"plan": method})
    for name in ("bent field", "skin", "spikes and gaps", "pelvis pack", "everything"):
        make = of(person, "walk", 2, **DISTURBED[name])
        yield Case(f"person, walk, {name}, least-squares", make, {"plan": "least-squares"})
    for name, make in {
        "two people": two_people,
        "three recordings joined": in_parts,
        "prop": partial(with_prop, False),
    }.items():
        yield Case(f"{name}, least-squares", make, {"plan": "least-squares"})
    late = of(person, "exercise", 1, **DISTURBED["late sensors"])
    yield Case("person, late sensors, left so", late, {"no_fix": "latency"})
    yield Case("person, spikes and gaps, as recorded", of(person, **SPIKY), {"prepare": False})
    yield Case("person, symmetric", of(person, **SKIN), {"symmetric": 0.003})
    yield Case("person, no intervals", person_white, {"intervals": False})
    yield Case("person, scaled", person_white, {"scale": 0.94})
    yield Case("person, root named", person_white, {"root": "l_foot"})
    yield Case("person, tree by the residual", of(person, "walk", **SKIN), {"tree_score": "residual"})
    yield Case("linkage, most of the tree known", linkage_white, {"tree": TREE})
    yield Case("linkage, a wrong edge given", linkage_white, {"tree": [("head", "l_forearm")]})
    yield Case("linkage, root that does not exist", linkage_white, {"root": "tail"})
    yield Case("linkage, field corrected", of(wooden, "exercise", 5, **BENT), {"field": True})
    yield fit_with_rod()


def named(name: str, options: dict[str, Any]) -> str:
    return ", ".join([name, *(f"{key}={value}" for key, value in options.items())])


def simulated() -> list[Case]:
    return [*disturbed(), *kinds(), *happenings(), *options()]
