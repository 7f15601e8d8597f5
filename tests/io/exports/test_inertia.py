from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import UsageError
from condyle.io.exports.export import write_figure
from condyle.io.exports.figure import Figure
from condyle.io.exports.inertia import check_body_mass, weigh_bones
from condyle.io.exports.scene import Scene
from condyle.io.exports.shapes import shape_bones
from tests.make import moving
from tests.make.clients import ask

KG = 72.0
WRITTEN = 1e-8  # of masses, which are written to nine digits
OPENSIM = """
import opensim
opensim.Logger.setLevelString("error")
model = opensim.Model(facts["file"])
answer(model.getTotalMass(model.initSystem()))
"""
MUJOCO = """
import mujoco
model = mujoco.MjModel.from_xml_path(facts["file"])
answer({model.body(k).name: [float(model.body_mass[k]), *model.body_ipos[k].tolist(), *model.body_inertia[k].tolist()]
        for k in range(1, model.nbody)})
"""


def person() -> Scene:
    one = moving.person(seconds=1)
    return Scene(one.skeleton, one.motion, one.take, body_mass=KG)


def weights(figure: Figure) -> dict[str, tuple[float, np.ndarray, np.ndarray]]:
    return dict(zip(figure.names, weigh_bones(figure, shape_bones(figure), KG), strict=True))


def test_a_person_weighs_what_was_said_and_a_thigh_its_share() -> None:
    found = weights(person().figure)
    assert sum(one[0] for one in found.values()) == pytest.approx(KG, rel=WRITTEN)
    mass, centre, inertia = found["thigh_l"]
    assert mass == pytest.approx(0.1447 * KG, rel=1e-4)  # the rows add up to 0.99995
    length = 0.432
    np.testing.assert_allclose(centre, [0, 0.38535 * length, 0], atol=1e-3)
    np.testing.assert_allclose(
        np.diag(inertia) / mass, np.square(np.array([0.3465, 0.1555, 0.349]) * length), rtol=1e-2
    )


def test_without_a_mass_bones_weigh_as_their_shapes() -> None:
    figure = person().figure
    shapes = shape_bones(figure)
    for one, shape in zip(weigh_bones(figure, shapes), shapes, strict=True):
        assert one.mass == shape.inertial()[0]


def test_what_is_not_worn_is_carried_by_what_it_hangs_on() -> None:
    one = moving.person(seconds=1)
    take = one.take.select([name for name in one.take.names if "hand" not in name and name != "head"])
    tree = [(joint.parent, joint.child) for joint in one.skeleton.joints]
    worn = [edge for edge in tree if set(edge) <= set(take.names)]
    fit = condyle.fit(take, tree=worn, intervals=False)
    found = weights(fit.scene("play").figure)
    assert sum(mass for mass, *_ in found.values()) == pytest.approx(KG, rel=WRITTEN)
    assert found["forearm_l"][0] == pytest.approx((0.0150 + 0.00585) * KG, rel=1e-3)
    assert found["chest"][0] == pytest.approx((0.15705 + 0.1549 + 0.0681) * KG, rel=1e-3)


def test_a_mass_is_for_one_person_and_for_formats_that_hold_masses(tmp_path: Path) -> None:
    links = moving.links(seconds=1)
    with pytest.raises(UsageError, match="for one person, and the figure has none"):
        write_figure(Scene(links.skeleton, links.motion, body_mass=KG), "urdf", tmp_path)
    with pytest.raises(UsageError, match="a body mass is for mjcf, urdf, osim, not bvh"):
        write_figure(person(), "bvh", tmp_path)
    with pytest.raises(UsageError, match="not above zero"):
        check_body_mass(person().figure, -1.0)
    with pytest.raises(UsageError, match="72000 kg is no person's; give it in kilograms"):
        check_body_mass(person().figure, 72000.0)
    figure = person().figure
    figure = replace(figure, parts=("pelvis", *("clavicle" for _ in figure.parts[1:])))
    with pytest.raises(UsageError, match="weighs less than its bones"):
        weigh_bones(figure, shape_bones(figure), 1e-6)
    assert not list(tmp_path.iterdir())


def test_files_hold_the_masses(tmp_path: Path) -> None:
    write_figure(person(), "mjcf,urdf,osim", tmp_path)
    root = ET.parse(tmp_path / "figure.urdf").getroot()
    masses = {link.get("name"): link.find("inertial/mass") for link in root.iter("link")}
    links = {name: float(mass.get("value", "")) for name, mass in masses.items() if mass is not None}
    assert links["shank_r"] == pytest.approx(0.0457 * KG, rel=3e-3)  # its two links between have a thousandth each
    assert sum(links.values()) == pytest.approx(KG, rel=WRITTEN)
    osim = ET.parse(tmp_path / "figure.osim").getroot()
    assert sum(float(one.text or 0) for one in osim.iter("mass")) == pytest.approx(KG, rel=WRITTEN)
    mjcf = ET.parse(tmp_path / "figure.xml").getroot()
    assert sum(float(one.get("mass", 0)) for one in mjcf.iter("inertial")) == pytest.approx(KG, rel=WRITTEN)


def test_mujoco_and_opensim_weigh_the_person(tmp_path: Path) -> None:
    write_figure(person(), "mjcf,osim", tmp_path)
    told = ask("mujoco", MUJOCO, {"file": str(tmp_path / "figure.xml")})
    found = weights(person().figure_on_axes)
    for name, (mass, centre, _) in found.items():
        np.testing.assert_allclose(told[name][:4], [mass, *centre], rtol=1e-6, atol=1e-9)
    assert ask("opensim", OPENSIM, {"file": str(tmp_path / "figure.osim")}) == pytest.approx(KG, rel=WRITTEN)
