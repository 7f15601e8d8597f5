from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from condyle.io.exports.build_figure import build_figure
from condyle.io.exports.figure import Figure
from condyle.io.exports.mechanism import align_axis
from condyle.io.exports.shapes import (
    DENSITY_KG_M3,
    PART_COLOURS,
    Shapes,
    Solid,
    draw_parts,
    find_usual_length,
    join_solids,
    make_box,
    make_cylinder,
    make_sphere,
    shape_bones,
)
from tests.make import moving

SHAPES: dict[str, Callable[[], Solid]] = {
    "sphere": lambda: make_sphere(0.5),
    "cylinder": lambda: make_cylinder(np.array([0.0, 2, 1]), 0.3),
    "box": lambda: make_box(0.5),
}
VOLUMES = {"sphere": np.pi / 6, "cylinder": np.pi * 0.09 * np.sqrt(5), "box": 1.0}  # m^3
FEW_CORNERS = 0.08  # share by which a volume with 16 corners around falls short of a round one


@pytest.fixture(scope="module")
def person() -> Figure:
    one = moving.person(seconds=1)
    return build_figure(one.skeleton, one.motion)


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
    end = np.array([0.0, 2, 1])
    reach = make_cylinder(end, 0.3).point @ end / np.sqrt(5)
    assert (reach.min(), reach.max()) == pytest.approx((0, np.sqrt(5)))


def test_solids_are_placed_and_joined() -> None:
    two = join_solids([make_box(1.0), make_box(1.0).place(np.eye(3), np.array([10.0, 0, 0]))])
    assert len(two.point) == 48
    assert two.point[two.triangle[12:]].min(axis=(0, 1))[0] == 9
    assert two.point[two.triangle[:12]].max(axis=(0, 1))[0] == 1


def test_rods_lead_to_every_child_or_to_the_tip(person: Figure) -> None:
    shapes = shape_bones(person)
    assert len(shapes[person.names.index("chest")].rods) == 3
    head = person.names.index("head")
    np.testing.assert_array_equal(shapes[head].rods[0], person.tip[head])
    assert 0.15 < find_usual_length(person) < 0.5


def test_what_is_drawn_are_the_shapes_of_the_bones(person: Figure) -> None:
    parts = {part.name: part for part in draw_parts(person)}
    assert list(parts) == list(PART_COLOURS)
    assert set(parts["joints"].bone) == set(np.flatnonzero(person.parent >= 0))
    assert set(parts["sensors"].bone) == set(range(len(person.names)))
    R, p = person.rest
    for k, shapes in enumerate(shape_bones(person)):
        sensor = parts["sensors"].solid.point[parts["sensors"].bone == k]
        np.testing.assert_allclose(sensor.mean(axis=0), R[k] @ person.p_bone_body[k] + p[k], atol=1e-12)
        assert np.ptp(sensor @ R[k] @ person.R_bone_body[k], axis=0) == pytest.approx(2 * shapes.box)


def test_mass_centre_and_inertia_are_those_of_the_solids(rng: np.random.Generator) -> None:
    rod, ball = np.array([0.1, 0.2, -0.2]), np.array([0.3, 0.0, 0.1])
    shapes = Shapes(rod[None], ((ball, 0.05, "links"),), 0.02, 0.03)
    mass, centre, inertia = shapes.inertial()
    # A cloud of points inside each, evenly spread.
    count = 200_000
    axes = align_axis(rod, 2)
    turn, wide, high = (
        rng.uniform(0, 2 * np.pi, count),
        0.02 * np.sqrt(rng.uniform(size=count)),
        rng.uniform(size=count),
    )
    disc = np.stack([wide * np.cos(turn), wide * np.sin(turn), 0.3 * high], axis=1) @ axes.T
    way = rng.standard_normal((count, 3))
    round_ = ball + 0.05 * np.cbrt(rng.uniform(size=(count, 1))) * way / np.linalg.norm(way, axis=1, keepdims=True)
    parts = DENSITY_KG_M3 * np.array([np.pi * 0.02**2 * 0.3, 4 / 3 * np.pi * 0.05**3])
    weight = np.repeat(parts / count, count)
    points = np.concatenate([disc, round_])
    assert mass == pytest.approx(parts.sum(), rel=1e-12)
    middle = weight @ points / mass
    np.testing.assert_allclose(centre, middle, atol=2e-4)
    d = points - centre
    expected = np.einsum("n,ni,nj->ij", weight, d, d)
    expected = np.trace(expected) * np.eye(3) - expected
    np.testing.assert_allclose(inertia, expected, rtol=0.02, atol=1e-5)


def test_every_bone_has_mass_also_one_without_length() -> None:
    one = moving.person(seconds=1)
    figure = build_figure(one.skeleton, one.motion)
    flat = replace(figure, tip=np.zeros_like(figure.tip), p_parent_bone=np.zeros_like(figure.p_parent_bone))
    for shapes in (*shape_bones(figure), *shape_bones(flat)):
        mass, _, inertia = shapes.inertial()
        least, middle, most = np.linalg.eigvalsh(inertia)
        assert mass > 0
        assert least > 0
        assert least + middle >= most * (1 - 1e-9), "an inertia that no solid has"
