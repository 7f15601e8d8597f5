from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.io.exports.build_figure import build_figure
from condyle.io.exports.bvh import to_bvh, write_bvh
from condyle.io.exports.figure import Figure
from condyle.io.exports.scene import Scene
from condyle.model.take import Take
from condyle.motion.play import play
from condyle.prepare.read import read
from condyle.simulate import human, prop, simulate, together
from tests.make import moving
from tests.make.clients import ask

PLACES = 1e-7  # m: six decimals of centimetres and degrees, along a chain of bones
TURNS = 1e-7  # of matrix entries
BLENDER = 1e-6  # m: Blender computes in single precision

POSES = """
import bpy
found = []
for path in facts["files"]:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.ops.import_anim.bvh(filepath=path, global_scale=0.01, update_scene_fps=True, update_scene_duration=True)
    rig = next(one for one in bpy.data.objects if one.type == "ARMATURE")
    frames = []
    for frame in facts["frames"]:
        bpy.context.scene.frame_set(frame + 1)
        seen = rig.evaluated_get(bpy.context.evaluated_depsgraph_get())
        frames.append({bone.name: list((seen.matrix_world @ bone.matrix).translation) for bone in seen.pose.bones})
    rest = {bone.name: list(rig.matrix_world @ bone.head_local) for bone in rig.data.bones}
    scene = bpy.context.scene
    found.append({"frames": frames, "rest": rest, "fps": scene.render.fps / scene.render.fps_base})
answer(found)
"""


def _scene(one: moving.Moving, **options: object) -> Scene:
    return Scene(one.skeleton, one.motion, one.take, **options)  # type: ignore[arg-type]


def _as_written(figure: Figure) -> Take:
    """What a reader should find: frames that lie along the room's axes at rest, in a world with y up."""
    turned = figure.turn_up("y")
    poses = turned.take()
    return replace(poses, R_world_body=poses.R_world_body @ np.swapaxes(turned.rest[0], -1, -2))


@pytest.mark.parametrize("one", [moving.person(), moving.links(("ball", "hinge", "rigid"))], ids=["person", "chain"])
def test_reading_a_file_back_gives_the_same_poses(one: moving.Moving, tmp_path: Path) -> None:
    scene = _scene(one)
    written = write_bvh(scene, tmp_path / "clip.bvh")
    assert written.files == (tmp_path / "clip.bvh",)
    back = read(tmp_path / "clip.bvh", unit="cm")
    expected = _as_written(scene.figure).select(back.names)
    np.testing.assert_allclose(back.p_world_body, expected.p_world_body, atol=PLACES)
    np.testing.assert_allclose(back.R_world_body, expected.R_world_body, atol=TURNS)
    np.testing.assert_allclose(back.time, one.take.time, atol=1e-6)
    assert back.up == "y"
    assert set(back.names) == set(scene.figure.names)


def test_at_rest_all_angles_are_zero_and_offsets_are_the_rest_pose() -> None:
    one = moving.person(seconds=1)
    figure = build_figure(one.skeleton, one.motion).turn_up("y")
    rest = replace(
        figure.at(slice(0, 2)),
        R_parent_bone=np.stack([figure.R_parent_bone_rest] * 2),
        p_world_free=np.zeros((2, 1, 3)),
    )
    text = to_bvh(rest).decode()
    row = np.array(text.splitlines()[-1].split(), float)
    np.testing.assert_allclose(row, 0, atol=1e-6)
    assert "-0.000000" not in text.partition("MOTION")[0]
    start = text.index("JOINT thigh_l")
    offset = np.array(text[start:].splitlines()[2].split()[1:], float)
    np.testing.assert_allclose(offset, [9, 0, 0], atol=1e-5)


def test_a_file_is_in_centimetres_with_one_root_one_order_of_angles_and_an_end_at_every_leaf() -> None:
    one = moving.person(seconds=1)
    text = to_bvh(build_figure(one.skeleton, one.motion).turn_up("y")).decode("ascii")
    assert text.count("ROOT ") == 1
    assert text.count("End Site") == 5
    assert text.count("CHANNELS 3 Zrotation Xrotation Yrotation") == 14
    assert text.count("CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation") == 1
    assert "Frames: 30\nFrame Time: 0.03333333333\n" in text
    assert text.count("{") == text.count("}") == 20


def test_a_forest_is_a_file_per_tree_and_segments_are_files_by_number(tmp_path: Path) -> None:
    worlds = [simulate(human(), "walk", seconds=2, rate=30), prop(seconds=2, rate=30)]
    one = moving.moving(together(worlds, ["", ""]))
    cut = replace(one.motion, segment=np.arange(60) // 40)
    written = write_bvh(Scene(one.skeleton, cut), tmp_path / "clip.bvh")
    names = [file.name for file in written.files]
    assert names == ["clip-hips.bvh", "clip-hips-2.bvh", "clip-prop.bvh", "clip-prop-2.bvh"]
    assert [read(file, unit="cm").frames for file in written.files] == [40, 20, 40, 20]
    figure = build_figure(one.skeleton, cut)
    second = read(written.files[1], unit="cm")
    expected = _as_written(figure.trees()[0]).slice(40, 60).select(second.names)
    np.testing.assert_allclose(second.p_world_body, expected.p_world_body, atol=PLACES)


def test_gaps_and_an_uneven_clock_are_told_and_leave_no_hole(tmp_path: Path) -> None:
    one = moving.person(seconds=3)
    hidden = np.zeros((90, 15), bool)
    hidden[20:60, 3] = True
    take = one.take.mask(hidden).at(np.delete(np.arange(90), [10, 11]))
    written = write_bvh(Scene(one.skeleton, play(one.skeleton, take)), tmp_path / "clip.bvh")
    assert {"pose-held", "resampled", "gap-left"} <= {finding.code for finding in written.findings}
    back = read(tmp_path / "clip.bvh", unit="cm")
    assert back.frames == 90
    assert back.seen.all()


def test_names_that_would_break_the_hierarchy_are_changed_and_told(tmp_path: Path) -> None:
    world = simulate(human(), "walk", seconds=1, rate=30)
    one = moving.moving(world, {"head": "头 {", "pelvis": "JOINT"})
    written = write_bvh(_scene(one, names="bodies"), tmp_path / "clip.bvh")
    assert "renamed-bones" in {finding.code for finding in written.findings}
    assert set(read(tmp_path / "clip.bvh", unit="cm").names) == {"JOINT", "___", *one.skeleton.bodies[1:]} - {"头 {"}


def test_one_frame_is_a_file(tmp_path: Path) -> None:
    one = moving.links(("ball",))
    write_bvh(Scene(one.skeleton, one.motion.at(slice(3, 4))), tmp_path / "clip.bvh")
    assert read(tmp_path / "clip.bvh", unit="cm").frames == 1


def test_blender_puts_every_joint_where_condyle_does(tmp_path: Path) -> None:
    people = [moving.person(seconds=3), moving.links(("ball", "hinge", "rigid"), seconds=3)]
    figures, files, frames = [], [], [0, 1, 37, 88]
    for number, one in enumerate(people):
        scene = _scene(one)
        files += [str(file) for file in write_bvh(scene, tmp_path / f"clip{number}.bvh").files]
        figures.append(scene.figure)
    for figure, told in zip(figures, ask("blender", POSES, {"files": files, "frames": frames}), strict=True):
        p = figure.world[1]
        assert told["fps"] == pytest.approx(30, rel=1e-3)
        for frame, places in zip(frames, told["frames"], strict=True):
            found = np.array([places[name] for name in figure.names])
            np.testing.assert_allclose(found, p[frame], atol=BLENDER)
        rest = np.array([told["rest"][name] for name in figure.names])
        expected = figure.rest[1]
        np.testing.assert_allclose(rest - rest[0], expected - expected[0], atol=BLENDER)
