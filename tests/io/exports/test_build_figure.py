from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import UsageError
from condyle.io.exports.build_figure import build_figure
from condyle.io.exports.figure import Figure, find_world_turn
from condyle.maths import rotation
from condyle.model.motion import Motion, forward
from condyle.model.skeleton import Skeleton
from condyle.motion.play import play
from condyle.prepare.read import read
from condyle.simulate import human, prop, simulate, together
from tests.make import moving
from tests.make.moving import EXACT, NEARLY, assert_same, is_proper


@pytest.fixture(scope="module")
def person() -> Figure:
    one = moving.person()
    return build_figure(one.skeleton, one.motion)


# what a figure is


def test_the_root_of_a_person_is_between_the_hips(person: Figure) -> None:
    hips = [person.p_parent_bone[person.names.index(f"thigh_{side}")] for side in "lr"]
    np.testing.assert_allclose(np.mean(hips, axis=0), 0, atol=EXACT)


def test_a_person_has_the_names_of_its_segments_and_joints(person: Figure) -> None:
    assert person.human
    assert set(person.names) == {"hips", "chest", "head"} | {
        f"{part}_{side}" for part in ("upper_arm", "forearm", "hand", "thigh", "shank", "foot") for side in "lr"
    }
    assert person.joints[person.names.index("shank_l")] == "knee_l"
    assert person.bodies[person.names.index("shank_l")] == "l_shank"
    assert person.parts[person.names.index("hips")] == "pelvis"
    one = moving.person()
    assert set(build_figure(one.skeleton, one.motion, "bodies").names) == set(one.skeleton.bodies)


def test_other_names_are_refused() -> None:
    one = moving.links()
    with pytest.raises(UsageError, match="no names 'bones'; "):
        build_figure(one.skeleton, one.motion, "bones")  # type: ignore[arg-type]


def test_parents_come_first_and_a_limb_stays_together(person: Figure) -> None:
    assert (person.parent < np.arange(len(person.names))).all()
    k = person.names.index("thigh_l")
    assert person.names[k : k + 3] == ("thigh_l", "shank_l", "foot_l")
    assert person.children(k) == [k + 1]


def test_a_person_whose_root_is_elsewhere_is_hung_on_the_pelvis_and_moves_the_same(person: Figure) -> None:
    one = moving.person()
    for root in ("chest", "r_hand", "l_foot"):
        skeleton = moving.rooted(one.skeleton, root)
        figure = build_figure(skeleton, play(skeleton, one.take))
        assert figure.names == person.names
        assert_same(figure.take(), person.take())
        np.testing.assert_allclose(figure.R_parent_bone_rest, person.R_parent_bone_rest, atol=NEARLY)


# the rest pose


def test_a_person_rests_with_legs_down_arms_out_feet_forward_and_left_on_the_left(person: Figure) -> None:
    R, p = person.rest
    y = {name: R[k, :, 1] for k, name in enumerate(person.names)}
    up, forward_, left = np.array([0, 0, 1.0]), np.array([0, -1.0, 0]), np.array([1.0, 0, 0])
    for side, out in (("l", left), ("r", -left)):
        for part, way in {"thigh": -up, "shank": -up, "foot": forward_, "upper_arm": out, "hand": out}.items():
            np.testing.assert_allclose(y[f"{part}_{side}"], way, atol=NEARLY)
    for part in ("hips", "chest", "head"):
        np.testing.assert_allclose(y[part], up, atol=NEARLY)
    places = dict(zip(person.names, p, strict=True))
    assert places["thigh_l"] @ left > 0.05
    assert places["thigh_r"] @ left < -0.05
    assert places["hand_l"] @ left > 0.6
    assert places["head"] @ up > 1.3


def test_a_person_stands_on_the_floor_over_the_origin(person: Figure) -> None:
    R, p = person.rest
    ends = np.concatenate([p, p + (R @ person.tip[..., None])[..., 0]])
    assert ends[:, 2].min() == pytest.approx(0, abs=EXACT)
    np.testing.assert_allclose(p[0, :2], 0, atol=EXACT)


def test_z_of_a_bone_at_rest_points_forward_or_for_feet_up(person: Figure) -> None:
    R, _ = person.rest
    for k, name in enumerate(person.names):
        np.testing.assert_allclose(R[k, :, 2], [0, 0, 1] if "foot" in name else [0, -1, 0], atol=NEARLY)


def test_how_the_sensors_are_mounted_changes_neither_bones_nor_rest_pose() -> None:
    a, b = (simulate(human(), "walk", seconds=4, rate=30, seed=3) for _ in range(2))
    mounted = moving.moving(a)
    other = _remounted(moving.moving(b))
    one, two = (build_figure(each.skeleton, each.motion) for each in (mounted, other))
    assert_same(one.take(), two.take())
    np.testing.assert_allclose(one.R_parent_bone_rest, two.R_parent_bone_rest, atol=1e-6)


def _remounted(one: moving.Moving) -> moving.Moving:
    """The same with every sensor turned on its body, which moves its joints' coordinates with it."""
    rng = np.random.default_rng(5)
    turn = dict(zip(one.skeleton.bodies, rotation.random(rng, (len(one.skeleton.bodies),)), strict=True))
    joints = tuple(
        replace(
            joint,
            p_child_joint=turn[joint.child].T @ joint.p_child_joint,
            p_parent_joint=turn[joint.parent].T @ joint.p_parent_joint,
        )
        for joint in one.skeleton.joints
    )
    skeleton = replace(one.skeleton, joints=joints)
    take = replace(one.take, R_world_body=one.take.R_world_body @ np.stack([turn[n] for n in one.take.names]))
    return moving.Moving(skeleton, take, play(skeleton, take))


def test_a_hand_goes_on_from_the_forearm_and_a_foot_points_forward_as_they_do_on_average() -> None:
    one = moving.person()
    figure = build_figure(one.skeleton, one.motion)
    for bone, body in (("hand_l", "l_hand"), ("foot_r", "r_foot")):
        k = figure.names.index(bone)
        up = int(figure.parent[k])
        rest = figure.R_body_bone[up] @ figure.R_parent_bone_rest[k] @ figure.R_body_bone[k].T
        usual = rotation.mean(one.motion.R_parent_body[:, one.skeleton.bodies.index(body)])
        np.testing.assert_allclose(rest, usual, atol=NEARLY)


def test_legs_alone_have_an_upright_pelvis() -> None:
    one = moving.person()
    names = [name for name in one.take.names if any(part in name for part in ("pelvis", "thigh", "shank", "foot"))]
    skeleton = replace(
        one.skeleton, bodies=tuple(names), joints=tuple(j for j in one.skeleton.joints if j.child in names)
    )
    figure = build_figure(skeleton, play(skeleton, one.take.select(names)))
    R, p = figure.rest
    np.testing.assert_allclose(R[0, :, 1], [0, 0, 1], atol=NEARLY)
    assert p[figure.names.index("thigh_l"), 0] > 0.05
    # Upright as it truly is: the mean of both thighs' directions is a few degrees off the trunk's own axis.
    whole = build_figure(one.skeleton, one.motion)
    assert np.degrees(rotation.angle(figure.R_body_bone[0].T @ whole.R_body_bone[0])) < 35


@pytest.mark.costly
@pytest.mark.parametrize(
    "name", ["functional_knee_c3d/right_knee.c3d", "qualisys_c3d/walk.c3d", "vicon_functional_c3d/left_hip.c3d"]
)
def test_people_that_were_recorded_rest_upright_with_left_on_the_left(name: str, shared_data: Path) -> None:
    known = json.loads((shared_data / "truth.json").read_text())[name]
    calibration = condyle.fit(read(shared_data / name, bodies=known["bodies_from_markers"]), intervals=False)
    figure = build_figure(calibration.skeleton, play(calibration.skeleton, calibration.take))
    assert figure.human
    assert all(figure.parts)
    R, p = figure.rest
    at = dict(zip(figure.names, p, strict=True))
    y = dict(zip(figure.names, R[:, :, 1], strict=True))
    for part in ("thigh", "shank", "foot"):
        assert at[f"{part}_l"][0] > 0.02
        assert at[f"{part}_r"][0] < -0.02
    for side in "lr":
        assert y[f"thigh_{side}"][2] < -0.99
        assert y[f"shank_{side}"][2] < -0.95
        assert y[f"foot_{side}"][1] < -0.99
    mean = [figure.world[0][:, k, 2, 1].mean() for k, part in enumerate(figure.names) if part.startswith("thigh")]
    assert min(mean) < -0.9, "the leg that it stands on is upright in the recording as well"
    if "head" in at:
        assert at["head"][2] > 1.2
        assert at["upper_arm_l"][0] > 0.1
        assert y["upper_arm_r"][0] < -0.99


def test_an_unknown_figure_rests_in_the_frame_nearest_to_the_mean() -> None:
    one = moving.links(("ball", "ball"))
    figure = build_figure(one.skeleton, one.motion)
    assert not figure.human
    R = figure.R_parent_bone[:, 1:]
    far = ((R - rotation.mean(R)) ** 2).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(figure.R_parent_bone_rest[1:], R[np.argmin(far)], atol=EXACT)


# kinds of joints


def test_a_knee_that_is_a_hinge_bends_about_the_side_to_side_axis_at_rest() -> None:
    one = moving.person()
    skeleton = replace(one.skeleton, joints=tuple(_hinged(j, one) for j in one.skeleton.joints))
    figure = build_figure(skeleton, play(skeleton, one.take))
    R, _ = figure.rest
    for side in "lr":
        k = figure.names.index(f"shank_{side}")
        assert figure.kind[k] == "hinge"
        assert abs((R[k] @ figure.axis[k])[0]) > 0.98
        assert R[k, 2, 1] < -0.95, "the leg is nearly straight"


def _hinged(joint, one: moving.Moving):  # type: ignore[no-untyped-def]
    """A knee as a hinge about the axis that it mostly turns about."""
    if not joint.child.endswith("shank"):
        return joint
    R = one.motion.R_parent_body[:, one.skeleton.bodies.index(joint.child)]
    turns = rotation.to_vector(rotation.mean(R).T @ R)
    axis = np.linalg.svd(turns)[2][0]
    return replace(joint, kind="hinge", axis_child=axis, axis_parent=rotation.mean(R) @ axis)


def test_an_undetermined_joint_is_a_ball() -> None:
    one = moving.links(("ball", "ball"))
    joints = (replace(one.skeleton.joints[0], kind="undetermined"), one.skeleton.joints[1])
    figure = build_figure(replace(one.skeleton, joints=joints), one.motion)
    assert figure.kind == ("free", "ball", "ball")


# forests, gaps, clocks


def _forest() -> moving.Moving:
    two = together(
        [
            simulate(human(), "walk", seconds=3, rate=30, seed=1),
            simulate(human(), "walk", seconds=3, rate=30, seed=2),
            prop(seconds=3, rate=30),
        ],
        ["a", "b", ""],
    )
    return moving.moving(two)


def test_several_people_and_loose_bodies_are_trees_of_one_figure() -> None:
    one = _forest()
    figure = build_figure(one.skeleton, one.motion)
    assert len(figure.free) == 3
    assert {"hips", "p2_hips", "p2_thigh_l", "prop"} <= set(figure.names)
    assert_same(figure.take(sensors=True), forward(one.skeleton, one.motion))
    trees = figure.trees()
    assert [len(tree.names) for tree in trees] == [15, 15, 1]
    for tree in trees:
        assert_same(tree.take(), figure.take().select(tree.names))
        assert tree.parent[0] == -1
    assert trees[0].trees() == (trees[0],)


def test_people_at_rest_stand_apart_as_in_the_take() -> None:
    figure = build_figure(*_forest()[::2])
    _, p = figure.rest
    places = p[figure.free]
    assert np.linalg.norm(places[0] - places[1]) > 0.1
    np.testing.assert_allclose(places[:, :2].mean(axis=0), 0, atol=EXACT)


def test_one_loose_body_is_a_figure() -> None:
    one = moving.moving(prop(seconds=1))
    figure = build_figure(one.skeleton, one.motion)
    assert figure.kind == ("free",)
    assert np.linalg.norm(figure.tip[0]) > 0.01
    assert_same(figure.take(sensors=True), one.take)


def test_no_body_and_no_frame_are_figures_too() -> None:
    empty = build_figure(
        Skeleton((), (), (), ()), Motion((), (), np.zeros(0), np.zeros((0, 0, 3, 3)), np.zeros((0, 0, 3)))
    )
    assert empty.names == ()
    one = moving.links()
    figure = build_figure(one.skeleton, one.motion.at(slice(0, 0)))
    assert figure.frames == 0
    assert np.isnan(figure.rate)
    assert is_proper(figure.R_parent_bone_rest)
    assert figure.fill_gaps().resample().frames == 0


def test_a_figure_that_is_never_seen_rests() -> None:
    one = moving.links()
    nothing = play(one.skeleton, one.take.mask(np.ones((one.take.frames, one.take.bodies), bool)))
    figure = build_figure(one.skeleton, nothing).fill_gaps()
    R, p = figure.rest
    np.testing.assert_allclose(figure.world[0][3], R, atol=EXACT)
    np.testing.assert_allclose(figure.world[1][3], p, atol=EXACT)


# the room


def test_up_is_as_given_or_as_the_recording_says_or_as_a_person_stands_or_z_with_a_warning() -> None:
    one = moving.person()
    told = build_figure(one.skeleton, one.motion)
    assert told.up == "z"
    assert [(f.code, f.severity) for f in told.findings] == [("up-assumed", "info")]
    W = find_world_turn("z", "-x")
    turned = replace(one.take, R_world_body=W @ one.take.R_world_body, p_world_body=one.take.p_world_body @ W.T)
    assert build_figure(one.skeleton, play(one.skeleton, turned)).up == "-x"
    said = build_figure(one.skeleton, replace(one.motion, up="y"))
    assert (said.up, said.findings) == ("y", ())
    assert build_figure(one.skeleton, replace(one.motion, up="y"), up="-z").up == "-z"
    unknown = build_figure(*moving.links()[::2])
    assert unknown.up == "z"
    assert [(f.code, f.severity) for f in unknown.findings] == [("up-assumed", "warning")]
    with pytest.raises(UsageError, match="up is one of"):
        build_figure(one.skeleton, one.motion, up="w")


# names


def test_names_are_sane_and_unique_whatever_the_bodies_are_called() -> None:
    world = simulate(human(), "walk", seconds=1, rate=30)
    odd = {"pelvis": "<b>x</b>", "chest": "a b", "head": "a_b", "l_hand": "\x1b[31m", "r_hand": "头"}
    one = moving.moving(world, odd)
    figure = build_figure(one.skeleton, one.motion, "bodies")
    assert {"_b_x__b_", "a_b", "a_b_2", "__31m", "头"} <= set(figure.names)
    assert len(set(figure.names)) == len(figure.names)
    ascii_only = figure.rename("[A-Za-z0-9_]", "[A-Za-z]", form="X")
    assert all(name.isascii() and name[0].isalpha() for name in ascii_only.names)
    assert len(set(ascii_only.names)) == len(figure.names)
    told = next(f for f in ascii_only.findings if f.code == "renamed-bones")
    assert "X does not allow" in told.text
    assert figure.rename(r"[\w]").findings == figure.findings
