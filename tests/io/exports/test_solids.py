from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from condyle.io.exports._solids import Solid, box, cylinder, joined, link_ends, sphere, usual_length
from condyle.io.exports.figure import Figure
from tests.make import moving

SHAPES: dict[str, Callable[[], Solid]] = {
    "sphere": lambda: sphere(0.5),
    "cylinder": lambda: cylinder(np.array([1.0, 0, 0]), np.array([1.0, 2, 1]), 0.3),
    "box": lambda: box(0.5),
}
VOLUMES = {"sphere": np.pi / 6, "cylinder": np.pi * 0.09 * np.sqrt(5), "box": 1.0}  # m^3
FEW_CORNERS = 0.08  # share by which a volume with 16 corners around falls short of a round one


@pytest.mark.parametrize("name", SHAPES)
def test_a_solid_is_closed_and_seen_from_outside(name: str) -> None:
    solid = SHAPES[name]()
    a, b, c = (solid.point[solid.triangle[:, k]] for k in range(3))
    volume = float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)
    assert VOLUMES[name] * (1 - FEW_CORNERS) < volume <= VOLUMES[name] * (1 + 1e-9)
    face = np.cross(b - a, c - a)
    assert (np.linalg.norm(face, axis=1) > 0).all()
    mean = solid.normal[solid.triangle].mean(axis=1)
    assert (np.einsum("ij,ij->i", face, mean) > 0).all(), "normals point where the faces look"
    np.testing.assert_allclose(np.linalg.norm(solid.normal, axis=1), 1, atol=1e-12)


def test_a_cylinder_reaches_from_one_end_to_the_other() -> None:
    start, end = np.array([1.0, 0, 0]), np.array([1.0, 2, 1])
    along = (end - start) / np.sqrt(5)
    reach = (cylinder(start, end, 0.3).point - start) @ along
    assert (reach.min(), reach.max()) == pytest.approx((0, np.sqrt(5)))


def test_solids_are_placed_and_joined() -> None:
    two = joined([box(1.0), box(1.0).placed(np.eye(3), np.array([10.0, 0, 0]))])
    assert len(two.point) == 48
    assert two.point[two.triangle[12:]].min(axis=(0, 1))[0] == 9
    assert two.point[two.triangle[:12]].max(axis=(0, 1))[0] == 1


def test_links_lead_to_every_child_or_to_the_tip() -> None:
    one = moving.person(seconds=1)
    figure = Figure.of(one.skeleton, one.motion)
    assert len(link_ends(figure, figure.names.index("chest"))) == 3
    np.testing.assert_array_equal(link_ends(figure, figure.names.index("head"))[0], figure.tip[2])
    assert 0.15 < usual_length(figure) < 0.5
