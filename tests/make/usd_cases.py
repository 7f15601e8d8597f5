"""Figures that are written as USD, here and by the python that has usd-core: built from nothing but a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from condyle.io.exports.scene import Scene
from condyle.motion.play import play
from condyle.simulate import human, prop, simulate, together
from tests.make import moving


def _scene(one: moving.Moving, **options: object) -> Scene:
    return Scene(one.skeleton, one.motion, one.take, **options)  # type: ignore[arg-type]


def _person() -> Scene:
    return _scene(moving.person(seconds=2), up="z")


def _forest() -> Scene:
    """A person and a thing."""
    worlds = [simulate(human(), "walk", seconds=2, rate=30), prop(seconds=2, rate=30)]
    return _scene(moving.moving(together(worlds, ["", ""])))


def _segments() -> Scene:
    scene = _forest()
    return replace(scene, motion=replace(scene.motion, segment=np.arange(60) // 40))


def _gaps() -> Scene:
    """A shank that is not seen for a while, and a clock that lost two frames."""
    one = moving.person(seconds=3)
    hidden = np.zeros((90, 15), bool)
    hidden[20:60, 10] = True
    take = one.take.mask(hidden).at(np.delete(np.arange(90), [70, 71]))
    return Scene(one.skeleton, play(one.skeleton, take), take)


def _names() -> Scene:
    """Names that USD forbids, or has a use for itself."""
    world = simulate(human(), "walk", seconds=1, rate=30)
    names = {"head": "头/{", "pelvis": "1 skeleton", "chest": "skeleton", "l_hand": "a.b", "r_hand": "a-b"}
    return _scene(moving.moving(world, names), names="bodies")


def _one_frame() -> Scene:
    one = moving.links(("ball",))
    return Scene(one.skeleton, one.motion.at(slice(3, 4)))


CASES: dict[str, Callable[[], Scene]] = {
    "person": _person,
    "y up": lambda: _scene(moving.person(seconds=2), up="y"),
    "x down": lambda: _scene(moving.person(seconds=2), up="-x"),
    "chain": lambda: _scene(moving.links(("ball", "hinge", "rigid"), seconds=2)),
    "forest": _forest,
    "segments": _segments,
    "gaps": _gaps,
    "names": _names,
    "one frame": _one_frame,
}
