from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.io.exports import mjcf, osim, urdf
from condyle.io.exports.export import parse_formats, write_figure
from condyle.io.exports.mechanism import (
    RANGE_MIN_WIDTH,
    add,
    build_mechanism,
    describe_lost_threads,
    format_numbers,
    format_weights,
    list_loops,
    make_title,
    to_xml,
    widen_range,
    write_tables,
)
from condyle.io.exports.scene import FigureFormat, Scene
from tests.make import machines, moving, simulators

FORMATS = (mjcf.FORMAT, urdf.FORMAT, osim.FORMAT)
EVERY = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


def _scene(one: moving.Moving) -> Scene:
    return Scene(one.skeleton, one.motion, one.take)


@EVERY
def test_a_motion_without_frames_is_refused_in_one_sentence_and_nothing_is_written(
    form: FigureFormat, tmp_path: Path
) -> None:
    one = moving.links(seconds=1)
    scene = Scene(one.skeleton, one.motion.at(slice(0, 0)))
    with pytest.raises(CondyleError, match="the motion has no frame; fit a recording first") as caught:
        write_figure(scene, [form], tmp_path / "out")
    assert caught.value.code == "no-data"
    assert not (tmp_path / "out").exists()


def test_all_three_are_written_beside_each_other(tmp_path: Path) -> None:
    scene = _scene(moving.links(seconds=1))
    written = write_figure(scene, parse_formats("mjcf,urdf,osim"), tmp_path, "clip")
    names = [file.name for file in written.files]
    assert names == ["clip.xml", "clip-qpos.csv", "clip.urdf", "clip-joint-states.csv", "clip.osim", "clip.sto"]
    assert sorted(names) == sorted(file.name for file in tmp_path.iterdir())


@EVERY
def test_a_gap_is_held_and_told_and_no_number_is_missing(form: FigureFormat, tmp_path: Path) -> None:
    one = moving.person(seconds=3)
    hidden = np.zeros((90, 15), bool)
    hidden[20:60, 3] = True
    hidden[:, 5] = True
    scene = Scene(one.skeleton, moving.play(one.skeleton, one.take.mask(hidden)))
    written = form.write(scene, tmp_path / f"clip{form.suffix}")
    assert "pose-held" in {finding.code for finding in written.findings}
    assert all(b"nan" not in file.read_bytes().lower() for file in written.files)


@EVERY
def test_hostile_names_make_a_file_that_parses_and_are_told(form: FigureFormat, tmp_path: Path) -> None:
    scene = simulators.cases()["hostile names"].scene
    written = form.write(scene, tmp_path / f'<a & "b">{form.suffix}')
    told = [finding for finding in written.findings if finding.code == "renamed-bones"]
    reserved = {"mjcf": "world", "urdf": "base", "osim": "ground"}[form.name]
    assert any(reserved in finding.bodies for finding in told)
    names = [element.get("name") for element in ET.parse(written.files[0]).iter() if element.get("name")]
    assert f"{reserved}_2" in names


@EVERY
def test_segments_are_motion_files_by_number_of_one_model(form: FigureFormat, tmp_path: Path) -> None:
    one = moving.links(seconds=2)
    cut = replace(one.motion, segment=np.arange(60) // 40)
    whole = form.write(_scene(one), tmp_path / f"whole{form.suffix}").files
    parts = form.write(Scene(one.skeleton, cut), tmp_path / f"parts{form.suffix}").files
    assert len(parts) == 3
    assert parts[2].stem == f"{parts[1].stem}-2"
    rows = [_rows(file) for file in (whole[1], *parts[1:])]
    assert [len(one) for one in rows] == [60, 40, 20]
    assert rows[0] == rows[1] + rows[2]


def _rows(file: Path) -> list[str]:
    lines = file.read_text(encoding="utf-8").splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("time"))
    return lines[start + 1 :]


def test_a_body_that_is_the_room_stands_still_and_another_of_that_name_does_not() -> None:
    door = simulators.cases()["door in the room"].scene
    figure = build_mechanism(door, "z", ".", ".", (), "this")
    assert figure.kind == ("rigid", "hinge")
    np.testing.assert_array_equal(figure.R_parent_bone_rest[0], figure.R_parent_bone[7, 0])
    np.testing.assert_array_equal(figure.p_parent_bone[0], figure.p_world_free[7, 0])
    one = moving.moving(simulators.simulate(simulators.chain(("ball",)), "exercise", seconds=1), {"link0": "world"})
    assert build_mechanism(_scene(one), "z", ".", ".", (), "this").kind == ("free", "ball")


def test_bones_come_depth_first_and_ranges_have_a_width() -> None:
    one = moving.person(seconds=1)
    figure = _scene(one).figure_on_axes
    order = figure.depth_first
    assert sorted(order) == list(range(15))
    for k in order:
        below = figure.children(k)
        for child in below:
            assert order.index(child) > order.index(k)
        assert not below or order[order.index(k) + 1] == below[0]
    assert widen_range(-1.0, 2.0) == (-1.0, 2.0)
    low, high = widen_range(0.5, 0.5)
    assert high - low == pytest.approx(RANGE_MIN_WIDTH)


def test_numbers_are_plain_and_exact() -> None:
    assert format_numbers([0.1, -0.0, 1e-17, 0.30000000000000004]) == "0.1 0.0 0.0 0.3"
    assert format_numbers(1 / 3) == "0.333333333333333"
    assert format_weights([1e-20, 1 / 3]) == "1e-20 0.333333333"
    root = ET.Element("a")
    add(root, "b", "<x>", class_="c", none=None)
    assert b'<b class="c">&lt;x&gt;</b>' in to_xml(root, None)
    assert make_title(Path("x/a b<.xml")) == "a_b_"


def test_a_table_keeps_every_digit(tmp_path: Path) -> None:
    figure = _scene(moving.links(seconds=1)).figure_on_axes
    values = figure.p_world_free[:, 0] / 3
    (file,) = write_tables(tmp_path / "t.csv", figure, ["x", "y", "z"], values)
    back = np.loadtxt(file, delimiter=",", skiprows=1)
    np.testing.assert_array_equal(back, np.column_stack([figure.time, values]))
    assert file.read_text().startswith("time,x,y,z\n")


def test_loops_are_closed_in_models_that_can_and_told_in_one_that_cannot(tmp_path: Path) -> None:
    fit = machines.fitted("four-bar")
    written = fit.export("mjcf,osim,urdf", tmp_path)
    lost = [told for told in written.findings if told.code == "loop-lost"]
    assert [set(told.bodies) for told in lost] == [{"link0", "link3"}]
    model = ET.parse(tmp_path / "figure.xml").getroot()
    connects = model.findall("equality/connect")
    sites = {site.get("name"): site for site in model.iter("site")}
    assert len(connects) == 2
    assert all(connect.get(end) in sites for connect in connects for end in ("site1", "site2"))
    constraints = ET.parse(tmp_path / "figure.osim").getroot().findall(".//PointConstraint")
    assert len(constraints) == 2
    for one in constraints:
        assert {one.findtext(f"socket_body_{half}") for half in (1, 2)} == {"/bodyset/link0", "/bodyset/link3"}
        assert all(len((one.findtext(f"location_body_{half}") or "").split()) == 3 for half in (1, 2))
    places = {limb.to_joint: limb for limb in fit.skeleton.limbs}
    (closing,) = {name for name in places if "-" in name}
    found = sorted(limb.length or 0 for limb in fit.skeleton.limbs if limb.to_joint == closing)
    assert found == pytest.approx([0.22, 0.30], abs=0.001)


def test_a_slider_that_closes_a_loop_is_a_joint_and_another_joint_closes_the_loop(tmp_path: Path) -> None:
    fit = condyle.fit(machines.made("slider-crank", 0.0, carried=True).take)
    (slider,) = fit.skeleton.loops
    assert slider.kind == "slider"
    assert {slider.child, slider.parent} == {"link0", "link3"}
    assert any(told.code == "slider" and "closes a loop" in told.text for told in fit.findings)
    written = fit.export("mjcf,osim,urdf", tmp_path)
    (lost,) = (told for told in written.findings if told.code == "loop-lost")
    assert set(lost.bodies) != {"link0", "link3"}
    model = ET.parse(tmp_path / "figure.xml").getroot()
    assert sorted(one.get("type") or "" for one in model.iter("joint") if one.get("type")) == [
        "hinge",
        "hinge",
        "slide",
    ]
    assert len(model.findall("equality/connect")) == 2
    osim = ET.parse(tmp_path / "figure.osim").getroot()
    assert len(osim.findall(".//SliderJoint")) == 1
    assert len(osim.findall(".//PointConstraint")) == 2
    scene = Scene(fit.skeleton, fit.motion)
    figure = build_mechanism(scene, "z", ".", ".", (), "this")
    R, p = figure.world
    for loop in list_loops(scene, figure):
        ends = [
            p[:, k, None] + np.einsum("nij,kj->nki", R[:, k], points)
            for k, points in ((loop.first, loop.points_first), (loop.second, loop.points_second))
        ]
        assert np.abs(ends[0] - ends[1]).max() < 1e-9
    assert len(fit.axes()[0].rows) == 3


def test_a_screw_that_closes_a_loop_is_told_where_its_thread_is_not_written() -> None:
    fit = machines.fitted("four-bar")
    loops = tuple(replace(joint, kind="screw", pitch=0.01) for joint in fit.skeleton.loops)
    scene = Scene(replace(fit.skeleton, loops=loops), fit.motion)
    (told,) = describe_lost_threads(scene, "MJCF")
    assert set(told.bodies) == {"link0", "link3"}
    assert "not what it moves along it" in told.text


MACHINE_ELEMENTS = {
    "scara": ({"hinge": 3, "slide": 1}, {"revolute": 3, "prismatic": 1}, {"PinJoint": 3, "SliderJoint": 1}),
    "universal": ({"hinge": 6}, {"revolute": 6}, {"CustomJoint": 3}),
    "screw": ({"hinge": 3, "slide": 1}, {"revolute": 3, "prismatic": 1}, {"PinJoint": 2, "CustomJoint": 1}),
}


@pytest.mark.costly
@pytest.mark.parametrize("name", MACHINE_ELEMENTS)
def test_joints_of_machines_are_those_of_the_programs(name: str, tmp_path: Path) -> None:
    fit = machines.fitted(name)
    mjcf_kinds, urdf_kinds, osim_kinds = MACHINE_ELEMENTS[name]
    files = {file.suffix: file for file in fit.export("mjcf,urdf,osim", tmp_path).files if file.suffix != ".csv"}
    model, robot, osim = (ET.parse(files[suffix]).getroot() for suffix in (".xml", ".urdf", ".osim"))
    assert Counter(one.get("type") for one in model.iter("joint") if one.get("type")) == mjcf_kinds
    kinds = Counter(one.get("type") for one in robot.iter("joint"))
    assert {kind: count for kind, count in kinds.items() if kind not in ("fixed", "floating")} == urdf_kinds
    found = Counter(one.tag for one in osim.iter() if one.tag.endswith("Joint"))
    assert {kind: found[kind] for kind in osim_kinds} | {"CustomJoint": found["CustomJoint"] - 1} == osim_kinds | {
        "CustomJoint": osim_kinds.get("CustomJoint", 0)
    }  # one more is that of the base
    if name == "screw":
        (pitch,) = (joint.pitch for joint in fit.skeleton.joints if joint.pitch)
        (mimic,) = robot.iter("mimic")
        assert abs(float(mimic.get("multiplier", "0"))) == pytest.approx(pitch / (2 * np.pi))
        (tied,) = model.find("equality") or ()
        assert tied.tag == "joint"
