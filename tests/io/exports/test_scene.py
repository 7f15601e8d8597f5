from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from condyle.io.exports.scene import Scene, number_file
from tests.make import moving


def test_a_scene_builds_its_figures_once_and_by_its_own_names_and_up() -> None:
    one = moving.person(seconds=1)
    scene = Scene(one.skeleton, one.motion)
    assert scene.figure is scene.figure
    assert "thigh_l" in scene.figure.names
    plain = replace(scene, names="bodies", up="x")
    assert (set(plain.figure.names), plain.figure.up) == (set(one.skeleton.bodies), "x")


def test_on_its_axes_a_hinge_turns_about_its_axis_alone() -> None:
    one = moving.links(("hinge",), seconds=1)
    shaken = one.motion.R_parent_body.copy()
    shaken[:, 1] = shaken[:, 1] @ np.array([[1, 0, 0], [0, 0.96, -0.28], [0, 0.28, 0.96]])
    scene = Scene(one.skeleton, replace(one.motion, R_parent_body=shaken))
    for figure, still in ((scene.figure, False), (scene.figure_on_axes, True)):
        axis = figure.turns[:, 1] @ figure.axis[1]
        assert np.allclose(axis, figure.axis[1], atol=1e-9) == still


def test_the_first_file_has_the_plain_name() -> None:
    assert number_file(Path("a/b.csv"), 1) == Path("a/b.csv")
    assert number_file(Path("a/b.csv"), 3) == Path("a/b-3.csv")
