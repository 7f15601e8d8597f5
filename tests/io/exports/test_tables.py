from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.io.exports import figure_json, figure_npz, tables
from condyle.io.exports.scene import Scene
from condyle.io.exports.take_csv import write_take_csv
from condyle.io.skeleton_file import from_json, read_skeleton, to_json
from condyle.maths.robust import Z95
from condyle.model.motion import forward
from condyle.model.recording import Convention, Markers, Recording, to_take
from condyle.model.skeleton import Limb, Skeleton
from condyle.model.take import BodyMarker
from condyle.motion.play import play
from condyle.prepare.clusters import form_bodies
from condyle.prepare.read import read
from condyle.simulate import Disturbances, World, chain, human, simulate
from tests.make import moving

EXACT = 2e-6  # mm: six digits are written, from a recording without noise
MM = 1000.0  # in a metre
TURNS = 2e-15  # entries of matrices after the way through a quaternion


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def _numbers(row: Mapping[str, str], pattern: str) -> np.ndarray:
    return np.array([float(row[pattern.format(axis)]) for axis in "xyz"])


def _plates(names: tuple[str, ...]) -> dict[str, dict[str, np.ndarray]]:
    """{body: {marker: place (3,) [m] on the body's sensor}}: four on every body."""
    rng = np.random.default_rng(7)
    return {body: {f"{body}{k}": 0.07 * rng.standard_normal(3) for k in range(1, 5)} for body in names}


def _marked(world: World, noise: float, unit: str = "mm", handed: str = "right") -> Recording:
    """What cameras would see of a world: markers on plates, with white noise [m] per axis."""
    take, rng = world.take, np.random.default_rng(8)
    plates = _plates(take.names)
    names = [name for plate in plates.values() for name in plate]
    parts = []
    for k, plate in enumerate(plates.values()):
        place = np.array(list(plate.values()))
        parts.append(take.p_world_body[:, k, None] + place @ np.swapaxes(take.R_world_body[:, k], 1, 2))
    cloud = np.concatenate(parts, axis=1)
    cloud = (cloud + noise * rng.standard_normal(cloud.shape)) * {"mm": MM, "m": 1.0}[unit]
    if handed == "left":
        cloud = cloud * [-1, 1, 1]
    return Recording(
        "walk.c3d",
        "test",
        markers=Markers(tuple(names), cloud),
        rate=take.rate,
        convention=Convention(unit=unit, handed=handed),
    )


def _formed(recording: Recording, names: tuple[str, ...]) -> Any:
    groups = {body: tuple(plate) for body, plate in _plates(names).items()}
    return to_take(form_bodies([recording], groups)[0])


@pytest.fixture(scope="module")
def world() -> World:
    return simulate(human(), "walk", seconds=6, rate=50)


@pytest.fixture(scope="module", params=[0.0, 0.0005], ids=["exact", "noisy"])
def marked(request: pytest.FixtureRequest, world: World) -> Scene:
    """The simulated human, recorded by markers with noise [m], fitted and played."""
    take = _formed(_marked(world, request.param), world.take.names)
    skeleton = condyle.fit(take).skeleton
    return Scene(skeleton, play(skeleton, take), take)


@pytest.fixture(scope="module")
def noisy() -> Scene:
    """A chain with a ball and a hinge, of magnetic sensors."""
    noise = Disturbances(position_noise=0.002, orientation_noise=0.005)
    take = simulate(chain(("ball", "hinge", "ball")), "exercise", seconds=20, rate=30, disturbances=noise).take
    skeleton = condyle.fit(take).skeleton
    return Scene(skeleton, play(skeleton, take), take)


def test_played_poses_come_back_from_csv_and_npz_as_they_are(noisy: Scene, tmp_path: Path) -> None:
    files = tables.write_tables(noisy, tmp_path / "figure.csv").files
    assert [file.name for file in files] == ["figure.csv", "figure-joints.csv", "figure-limbs.csv"]
    assert figure_npz.write_npz(noisy, tmp_path / "figure.npz").files == (tmp_path / "figure.npz",)
    played = forward(noisy.skeleton, noisy.motion)
    for path, tolerance in ((files[0], TURNS), (tmp_path / "figure.npz", 0.0)):
        back = read(path, doctor=False)
        assert back.names == noisy.skeleton.bodies
        np.testing.assert_array_equal(back.time, played.time)
        np.testing.assert_array_equal(back.p_world_body, played.p_world_body)
        np.testing.assert_allclose(back.R_world_body, played.R_world_body, rtol=0, atol=tolerance)


def test_the_json_is_the_skeleton_itself(noisy: Scene, tmp_path: Path) -> None:
    figure_json.write_json(noisy, tmp_path / "figure.json")
    assert (tmp_path / "figure.json").read_bytes() == to_json(noisy.skeleton)
    assert to_json(read_skeleton(tmp_path / "figure.json")) == to_json(noisy.skeleton)


def test_every_joint_has_a_row_for_each_of_its_bodies(noisy: Scene, tmp_path: Path) -> None:
    rows = _rows(tables.write_tables(noisy, tmp_path / "figure.csv").files[1])
    assert len(rows) == 2 * len(noisy.skeleton.joints)
    for row, (joint, child) in zip(rows, ((j, c) for j in noisy.skeleton.joints for c in (True, False)), strict=True):
        place, axis = (joint.p_child_joint, joint.axis_child) if child else (joint.p_parent_joint, joint.axis_parent)
        assert row["body"] == (joint.child if child else joint.parent)
        assert row["other_body"] == (joint.parent if child else joint.child)
        assert (row["structure"], row["side"]) == ("tree", "child" if child else "parent")
        assert (row["kind"], row["point"], row["frames"]) == (joint.kind, joint.point, str(joint.frames))
        np.testing.assert_allclose(_numbers(row, "{}_mm"), MM * place, atol=EXACT)
        assert float(row["residual_mm"]) == pytest.approx(MM * joint.residual, abs=EXACT)
        if axis is None:
            assert row["axis_x"] == row["play_deg"] == row["half_95_across_axis_mm"] == ""
        else:
            np.testing.assert_allclose(_numbers(row, "axis_{}"), axis, atol=1e-6)
            assert joint.play is not None
            assert float(row["play_deg"]) == pytest.approx(np.degrees(joint.play), abs=1e-6)
    assert {row["kind"] for row in rows} == {"ball", "hinge"}


def test_errors_are_those_of_the_covariance_and_none_is_told_of_an_arbitrary_point(
    noisy: Scene, tmp_path: Path
) -> None:
    rows = _rows(tables.write_tables(noisy, tmp_path / "figure.csv").files[1])
    told = {(row["body"], row["other_body"]): row for row in rows}
    points = set()
    for joint in noisy.skeleton.joints:
        assert joint.covariance is not None
        points.add(joint.point)
        for pair, block, axis in (
            ((joint.child, joint.parent), joint.covariance[:3, :3], joint.axis_child),
            ((joint.parent, joint.child), joint.covariance[3:, 3:], joint.axis_parent),
        ):
            row = told[pair]
            if joint.point == "determined":
                errors = MM * np.sqrt(np.diagonal(block))
                np.testing.assert_allclose(_numbers(row, "se_{}_mm"), errors, atol=EXACT)
                np.testing.assert_allclose(_numbers(row, "half_95_{}_mm"), Z95 * errors, atol=EXACT)
            else:
                assert row["se_x_mm"] == row["half_95_y_mm"] == ""
            if axis is not None:
                across = np.linalg.svd(axis[None])[2][1:]  # two directions across the axis
                most = Z95 * MM * np.sqrt(np.linalg.eigvalsh(across @ block @ across.T)[-1])
                assert float(row["half_95_across_axis_mm"]) == pytest.approx(most, abs=EXACT)
    assert points == {"determined", "arbitrary"}, "both cases were looked at"


def test_limbs_have_their_lengths_and_intervals_and_the_names_of_the_joints(noisy: Scene, tmp_path: Path) -> None:
    files = tables.write_tables(noisy, tmp_path / "figure.csv").files
    rows, names = _rows(files[2]), {row["joint"] for row in _rows(files[1])}
    assert len(rows) == len(noisy.skeleton.limbs) > 0
    for row, limb in zip(rows, noisy.skeleton.limbs, strict=True):
        assert (row["body"], row["between"]) == (limb.body, limb.between)
        assert {row["from_joint"], row["to_joint"]} <= names
        for key, value in (("length_mm", limb.length), ("low_95_mm", limb.low), ("high_95_mm", limb.high)):
            assert value is not None
            assert float(row[key]) == pytest.approx(MM * value, abs=EXACT)
    open_ended = replace(noisy.skeleton, limbs=(Limb("link1", "link1", "link2", None, None, None),))
    (row,) = tables.build_tables(open_ended, tables.name_joints(noisy))["limbs"]
    assert tables.to_csv([row], tables.TABLE_COLUMNS["limbs"]).endswith(b",joints,,,\n")


def test_joints_are_called_by_anatomy_whichever_side_the_skeleton_sees_them_from() -> None:
    one = moving.person(seconds=1)
    turned = moving.rooted(one.skeleton, "l_foot")
    for skeleton in (one.skeleton, turned):
        names = tables.name_joints(Scene(skeleton, play(skeleton, one.take)))
        by_pair = {frozenset(pair): name for pair, name in names.items()}
        assert by_pair[frozenset(("l_thigh", "l_shank"))] == "knee_l"
        assert by_pair[frozenset(("pelvis", "r_thigh"))] == "hip_r"
        assert len(set(names.values())) == len(skeleton.joints)


def test_loops_stand_in_the_table_and_say_so() -> None:
    one = moving.person(seconds=1)
    loop = replace(one.skeleton.joints[0], child="l_hand", parent="r_hand", time=(0.0, 1.0))
    skeleton = replace(one.skeleton, loops=(loop,))
    rows = tables.build_tables(skeleton, tables.name_joints(Scene(skeleton, one.motion)))["joints"]
    assert [(row["joint"], row["structure"], row["body"]) for row in rows[-2:]] == [
        ("l_hand-r_hand", "loop", "l_hand"),
        ("l_hand-r_hand", "loop", "r_hand"),
    ]


def test_marker_tables_bring_a_joint_back_into_a_marker_set(marked: Scene, world: World, tmp_path: Path) -> None:
    """With nothing but three markers of a body in the room and the table, the true joint is found again."""
    files = tables.write_tables(marked, tmp_path / "figure.csv").files
    assert [file.stem.partition("-")[2] for file in files[3:]] == ["markers", "joints-by-markers", "distances"]
    plates, truth = _plates(world.take.names), world.truth
    exact = not marked.skeleton.noise[0].position > 1e-6
    inside = [(k, int(up)) for k, up in enumerate(truth.parent) if up >= 0]
    places = {(truth.names[k], truth.names[up]): truth.p_child_joint[k] for k, up in inside}
    places |= {(truth.names[up], truth.names[k]): truth.p_parent_joint[k] for k, up in inside}
    others = {(row["joint"], row["body"]): row["other_body"] for row in _rows(files[1])}
    off = []
    for row in _rows(files[4]):
        body = row["body"]
        first, second, third = (plates[body][row[key]] for key in ("origin_marker", "x_marker", "plane_marker"))
        x = (second - first) / np.linalg.norm(second - first)
        z = np.cross(x, third - first)
        z /= np.linalg.norm(z)
        found = MM * first + np.stack([x, np.cross(z, x), z], axis=1) @ _numbers(row, "{}_mm")
        off.append(float(np.linalg.norm(found - MM * places[body, others[row["joint"], body]])))
    assert len(off) == 2 * len(marked.skeleton.joints)
    assert max(off) < (1e-3 if exact else 8.0), "mm from the true joint"


def test_distances_to_markers_are_true_distances_and_tell_their_intervals(
    marked: Scene, world: World, tmp_path: Path
) -> None:
    files = tables.write_tables(marked, tmp_path / "figure.csv").files
    rows = _rows(files[5])
    assert len(rows) == 4 * 2 * len(marked.skeleton.joints)
    places = {(m.body, m.name): m.p_body_marker for m in marked.skeleton.markers}
    joints = {(row["joint"], row["body"]): _numbers(row, "{}_mm") for row in _rows(files[1])}
    for row in rows:
        expected = np.linalg.norm(joints[row["joint"], row["body"]] - MM * places[row["body"], row["marker"]])
        assert float(row["distance_mm"]) == pytest.approx(expected, abs=2 * EXACT)
    some = [row for row in rows if row["half_95_mm"]]
    assert some
    assert all(float(row["half_95_mm"]) >= 0 for row in some)


def test_the_first_three_markers_are_the_corner_of_their_frame(marked: Scene, tmp_path: Path) -> None:
    files = tables.write_tables(marked, tmp_path / "figure.csv").files
    rows = [row for row in _rows(files[3]) if row["body"] == "l_shank"]
    assert [row["marker"] for row in rows] == ["l_shank1", "l_shank2", "l_shank3", "l_shank4"]
    inside = np.array([_numbers(row, "frame_{}_mm") for row in rows])
    np.testing.assert_allclose(inside[0], 0, atol=EXACT)
    np.testing.assert_allclose(inside[1, 1:], 0, atol=EXACT)
    np.testing.assert_allclose(inside[2, 2], 0, atol=EXACT)
    assert inside[1, 0] > 0
    assert inside[2, 1] > 0
    own = np.array([_numbers(row, "{}_mm") for row in rows])
    for a, b in ((0, 1), (1, 3), (2, 3)):
        assert np.linalg.norm(inside[a] - inside[b]) == pytest.approx(np.linalg.norm(own[a] - own[b]), abs=1e-5)


@pytest.mark.parametrize(("unit", "handed"), [("mm", "right"), ("m", "right"), ("mm", "left")])
def test_the_markers_of_a_skeleton_are_where_its_poses_put_them(world: World, unit: str, handed: str) -> None:
    recording = _marked(world, 0.0, unit, handed)
    take = _formed(recording, world.take.names)
    assert recording.markers is not None
    cloud = recording.markers.position * {"mm": 0.001, "m": 1.0}[unit] * ([-1, 1, 1] if handed == "left" else 1)
    assert len(take.markers) == cloud.shape[1]
    for marker in take.markers:
        k = take.index(marker.body)
        found = take.p_world_body[:, k] + take.R_world_body[:, k] @ marker.p_body_marker
        np.testing.assert_allclose(found, cloud[:, recording.markers.names.index(marker.name)], atol=1e-9)


def test_recordings_in_two_units_have_their_markers_in_the_same_places(world: World) -> None:
    groups = {body: tuple(plate) for body, plate in _plates(world.take.names).items()}
    formed = form_bodies([_marked(world, 0.0, "mm"), _marked(world, 0.0, "m")], groups)
    first, second = (to_take(one).markers for one in formed)
    assert len(first) == 4 * len(groups)
    for a, b in zip(first, second, strict=True):
        np.testing.assert_allclose(a.p_body_marker, b.p_body_marker, atol=1e-12)
        assert np.linalg.norm(a.p_body_marker) < 0.5, "metres"


def test_a_joint_and_its_axis_are_told_in_the_frame_of_any_three_markers(rng: np.random.Generator) -> None:
    one = moving.links(("hinge",))
    joint = replace(one.skeleton.joints[0], covariance=np.diag([1.0, 4.0, 9.0, 1.0, 4.0, 9.0]) * 1e-6)
    places = 0.1 * rng.standard_normal((4, 3))
    markers = tuple(BodyMarker("link0", name, p) for name, p in zip("abcd", places, strict=True))
    skeleton = replace(one.skeleton, joints=(joint,), markers=markers)
    found = tables.build_tables(skeleton, tables.name_joints(Scene(skeleton, one.motion)))
    a, b, c = places[:3]
    x = (b - a) / np.linalg.norm(b - a)
    z = np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))
    axes = np.stack([x, np.cross(z, x), z])  # rows
    assert joint.axis_parent is not None
    (row,) = found["joints-by-markers"]
    np.testing.assert_allclose([row[f"{k}_mm"] for k in "xyz"], MM * axes @ (joint.p_parent_joint - a))
    np.testing.assert_allclose([row[f"axis_{k}"] for k in "xyz"], axes @ joint.axis_parent)
    spread = np.sqrt(np.diagonal(axes @ np.diag([1.0, 4.0, 9.0]) @ axes.T))
    np.testing.assert_allclose([row[f"half_95_{k}_mm"] for k in "xyz"], Z95 * spread)
    last = found["markers"][3]
    np.testing.assert_allclose([last[f"frame_{k}_mm"] for k in "xyz"], MM * axes @ (places[3] - a))
    far = found["distances"][2]
    apart = joint.p_parent_joint - c
    along = apart / np.linalg.norm(apart)
    assert far["distance_mm"] == pytest.approx(MM * np.linalg.norm(apart))
    assert far["half_95_mm"] == pytest.approx(Z95 * np.sqrt(along @ np.diag([1.0, 4.0, 9.0]) @ along))


def test_a_third_marker_on_the_line_of_two_gives_way_to_the_next_and_a_body_without_a_plane_has_no_frame() -> None:
    one = moving.links(("ball",))
    places = [[0, 0, 0], [0.1, 0, 0], [0.3, 0.001, 0], [0.05, 0.2, 0]]
    skeleton = replace(
        one.skeleton,
        markers=tuple(BodyMarker("link0", name, np.array(p)) for name, p in zip("abcd", places, strict=True)),
    )
    assert tables.find_marker_frames(skeleton)["link0"].markers == ("a", "b", "d")
    assert tables.find_marker_frames(replace(skeleton, markers=skeleton.markers[:3])) == {}
    assert tables.find_marker_frames(replace(skeleton, markers=skeleton.markers[:2])) == {}
    assert "markers" not in tables.build_tables(one.skeleton, tables.name_joints(Scene(one.skeleton, one.motion)))


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@SUM(A1)", "\tx", "a,b", 'a"b', "a\nb", "Fuß"])
def test_awkward_names_come_back_and_none_stands_as_a_formula(name: str, tmp_path: Path) -> None:
    one = moving.links(("ball", "ball"))
    skeleton = moving.renamed(one.skeleton, {"link1": name})
    take = replace(one.take, names=skeleton.bodies)
    scene = Scene(skeleton, play(skeleton, take), take, "bodies")
    files = tables.write_tables(scene, tmp_path / "figure.csv").files
    found = {row["body"].removeprefix("'") for row in _rows(files[1])}
    assert found == {"link0", name, "link2"}
    cells = [cell for file in files[1:] for row in _rows(file) for cell in row.values()]
    texts = [cell for cell in cells if not cell.lstrip("-").replace(".", "").isdigit()]
    assert not [cell for cell in texts if cell.startswith(("=", "+", "@", "-", "\t", "\r"))]
    assert read(files[0], doctor=False).names == skeleton.bodies


def test_a_table_is_refused_as_a_recording_with_a_sentence(noisy: Scene, tmp_path: Path) -> None:
    files = tables.write_tables(noisy, tmp_path / "figure.csv").files
    with pytest.raises(CondyleError):
        read(files[1])


def test_unknown_poses_are_empty_cells_in_csv(tmp_path: Path) -> None:
    one = moving.person(seconds=3)
    hidden = np.zeros((90, 15), bool)
    hidden[20:60, 3] = True
    motion = play(one.skeleton, one.take.mask(hidden))
    tables.write_tables(Scene(one.skeleton, motion), tmp_path / "gap.csv")
    played = forward(one.skeleton, motion)
    assert not played.seen.all()
    np.testing.assert_array_equal(read(tmp_path / "gap.csv", doctor=False).seen, played.seen)


def test_without_joints_the_tables_have_heads_alone(tmp_path: Path) -> None:
    one = moving.links(("ball",))
    loose = Skeleton(one.skeleton.bodies, (), one.skeleton.bodies, ())
    files = tables.write_tables(Scene(loose, play(loose, one.take)), tmp_path / "loose.csv").files
    assert [file.read_text().count("\n") for file in files[1:]] == [1, 1]
    write_take_csv(tmp_path / "same.csv", forward(loose, play(loose, one.take)))
    assert (tmp_path / "same.csv").read_bytes() == files[0].read_bytes()


def test_markers_survive_the_file_of_the_skeleton_and_an_older_file_has_none(marked: Scene) -> None:
    raw = to_json(marked.skeleton)
    again = from_json(raw)
    assert to_json(again) == raw
    assert len(again.markers) == 4 * len(again.bodies)
    for a, b in zip(again.markers, marked.skeleton.markers, strict=True):
        assert (a.body, a.name) == (b.body, b.name)
        np.testing.assert_array_equal(a.p_body_marker, b.p_body_marker)
    plain = json.loads(raw)
    del plain["markers"]
    assert from_json(json.dumps(plain).encode()).markers == ()
