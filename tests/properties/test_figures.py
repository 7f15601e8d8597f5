"""Whatever the forest, the kinds of joints, the names and the gaps: bones are rotations on the same motion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.io.exports.bvh import write_bvh
from condyle.io.exports.figure import Figure
from condyle.io.exports.gltf import write_glb
from condyle.io.exports.scene import Scene
from condyle.maths import rotation
from condyle.model.motion import Motion, forward, on_axes
from condyle.model.skeleton import Joint, Skeleton
from condyle.prepare.read import read

EXACT = 1e-9  # m, and entries of rotations
SINGLE = 3e-6  # m, in single precision along up to thirteen bones
NAMES = (
    "pelvis chest spine head neck l_thigh r_thigh l_shank r_shank l_foot r_foot l_upper_arm r_upper_arm l_forearm "
    "r_hand L_clavicle box1 seg_2 LeftHip hips2 Thorax LeftToe"
)
SEEDS = range(25)


def _skeleton(rng: np.random.Generator) -> Skeleton:
    """A random forest of up to 13 bodies; some joints lie at an origin."""
    names = rng.permutation(NAMES.split())[: int(rng.integers(1, 14))].tolist()
    joints = []

    def place() -> np.ndarray:
        return np.zeros(3) if rng.random() < 0.15 else 0.3 * rng.normal(size=3)

    for k, name in enumerate(names):
        if k == 0 or rng.random() < 0.12:
            continue
        kind = str(rng.choice(["ball", "hinge", "rigid", "undetermined"]))
        axis = rotation.random(rng)[0]
        axes = (axis, rotation.random(rng) @ axis) if kind == "hinge" else (None, None)
        up = names[int(rng.integers(0, k))]
        facts = (None, 0.0, 1, np.ones(6), None, None, None, np.zeros(3))
        joints.append(Joint(name, up, kind, "determined", place(), place(), *axes, *facts))  # type: ignore[arg-type]
    children, parents = {joint.child for joint in joints}, {joint.parent for joint in joints}
    free = [name for name in names if name not in children]
    roots = tuple(name for name in free if name in parents)
    return Skeleton(tuple(names), roots, tuple(name for name in free if name not in parents), tuple(joints))


def _motion(skeleton: Skeleton, rng: np.random.Generator) -> Motion:
    """Random rotations over 1, 2 or 30 frames, some unknown, on an even clock or not, in one segment or more."""
    n, m, free = int(rng.choice([1, 2, 30])), len(skeleton.bodies), (*skeleton.roots, *skeleton.loose)
    R, p = rotation.random(rng, (n, m)), rng.normal(size=(n, len(free), 3))
    lost = rng.choice([0.0, 0.2])
    R = np.where((rng.random((n, m)) < lost)[..., None, None], np.nan, R)
    p = np.where((rng.random((n, len(free))) < lost)[..., None], np.nan, p)
    time = np.cumsum(rng.uniform(0.01, 0.02, n)) if rng.random() < 0.5 else np.arange(n) / 50
    segment = np.arange(n) // (12 if rng.random() < 0.3 else 99)
    up = rng.choice(["x", "-y", "z", "?"])
    return Motion(skeleton.bodies, free, time, R, p, segment, up=None if up == "?" else str(up))


@pytest.mark.parametrize("seed", SEEDS)
def test_any_forest_becomes_bones_that_move_alike_and_files_that_read_back(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    skeleton = _skeleton(rng)
    motion = _motion(skeleton, rng)
    motion = on_axes(skeleton, motion) if rng.random() < 0.5 else motion
    scene = Scene(skeleton, motion)
    figure = scene.figure
    played, moved = forward(skeleton, motion), figure.take(sensors=True).select(skeleton.bodies)
    both = played.seen & moved.seen
    np.testing.assert_allclose(moved.p_world_body[both], played.p_world_body[both], atol=EXACT)
    np.testing.assert_allclose(moved.R_world_body[both], played.R_world_body[both], atol=EXACT)
    assert rotation.defect(figure.R_parent_bone_rest).max() < EXACT
    assert rotation.defect(figure.R_body_bone).max() < EXACT
    assert (figure.tip[:, 1] > 0).all()
    np.testing.assert_allclose(figure.tip[:, [0, 2]], 0, atol=EXACT)
    _hinges_rest_on_their_hinges(figure, skeleton)
    whole = figure.turn_up("y").fill_gaps()
    write_glb(scene, tmp_path / "any.glb")
    back = read(tmp_path / "any.glb")
    expected = whole.take().select(back.names)
    np.testing.assert_allclose(back.p_world_body, expected.p_world_body, atol=SINGLE)
    files = write_bvh(scene, tmp_path / "any.bvh").files
    assert all(read(file, unit="cm").seen.all() for file in files)


def _hinges_rest_on_their_hinges(figure: Figure, skeleton: Skeleton) -> None:
    for k in [k for k, kind in enumerate(figure.kind) if kind == "hinge"]:
        up = int(figure.parent[k])
        ends = {figure.bodies[k], figure.bodies[up]}
        joint = next(joint for joint in skeleton.joints if {joint.child, joint.parent} == ends)
        axes = [joint.axis_child, joint.axis_parent]
        own, other = axes if joint.child == figure.bodies[k] else axes[::-1]
        rest = figure.R_body_bone[up] @ figure.R_parent_bone_rest[k] @ figure.R_body_bone[k].T
        np.testing.assert_allclose(rest @ own, other, atol=EXACT)
