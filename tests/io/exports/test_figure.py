from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.io.exports.build_figure import build_figure
from condyle.io.exports.figure import Figure, find_axis, find_world_turn, legalise
from condyle.maths import rotation
from condyle.model.motion import forward, on_axes
from condyle.motion.play import play
from condyle.simulate import human, prop, simulate, together
from tests.make import machines, moving
from tests.make.moving import EXACT, NEARLY, assert_same, is_proper


@pytest.fixture(scope="module")
def person() -> Figure:
    one = moving.person()
    return build_figure(one.skeleton, one.motion)


# what a figure is


def test_the_sensors_on_the_bones_are_where_the_motion_has_them() -> None:
    for one in (moving.person(), moving.links()):
        assert_same(build_figure(one.skeleton, one.motion).take(sensors=True), forward(one.skeleton, one.motion), EXACT)


def test_a_bone_begins_at_its_joint_and_its_y_points_to_the_next_one(person: Figure) -> None:
    R, p = person.world
    for child, parent in (("shank_l", "thigh_l"), ("foot_r", "shank_r"), ("hand_l", "forearm_l"), ("head", "chest")):
        k, up = person.names.index(child), person.names.index(parent)
        along = p[:, k] - p[:, up]
        np.testing.assert_allclose(along / np.linalg.norm(along, axis=1)[:, None], R[:, up, :, 1], atol=NEARLY)
        np.testing.assert_allclose(person.tip[up], person.p_parent_bone[k], atol=EXACT)


def test_bones_are_rotations_in_motion_and_at_rest(person: Figure) -> None:
    assert is_proper(person.R_parent_bone)
    assert is_proper(person.R_parent_bone_rest)
    assert is_proper(person.R_body_bone)
    assert is_proper(person.rest[0])


def test_arrays_are_frozen_and_shapes_checked(person: Figure) -> None:
    with pytest.raises(ValueError, match="read-only"):
        person.tip[0] = 0
    with pytest.raises(Exception, match="tip has shape"):
        replace(person, tip=np.zeros((2, 3)))


# the rest pose


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


# kinds of joints


def test_a_hinge_turns_about_one_axis_of_its_bone_from_its_rest_pose() -> None:
    one = moving.links(("hinge", "hinge", "ball", "rigid"))
    figure = build_figure(one.skeleton, on_axes(one.skeleton, one.motion))
    assert figure.kind == ("free", "hinge", "hinge", "ball", "rigid")
    for k in (1, 2):
        axis = figure.axis[k]
        turned = figure.R_parent_bone_rest[k] @ rotation.from_vector(figure.angles[:, k, None] * axis)
        np.testing.assert_allclose(turned, figure.R_parent_bone[:, k], atol=NEARLY)
        assert axis[0] > 0.9, "x of the bone is along the hinge"
        low, high = figure.limits[k]
        assert low == figure.angles[:, k].min()
        assert high == figure.angles[:, k].max()
        assert high - low > 0.5
    assert np.isnan(figure.limits[[0, 3, 4]]).all()
    assert figure.reach[4] < 1e-6
    assert figure.reach[3] > 0.3
    assert np.isnan(figure.axis[[0, 3, 4]]).all()


@pytest.mark.parametrize("root", ["link0", "link3"])
def test_a_screw_keeps_its_turns_beyond_a_gap_and_in_a_part_of_the_frames(root: str) -> None:
    one = machines.made("lead-screw")
    hidden = np.zeros(one.take.seen.shape, bool)
    hidden[400:480, 2] = True
    fit = condyle.fit(one.take.mask(hidden), root=root)
    figure = build_figure(fit.skeleton, fit.motion, machines=True)
    (k,) = np.flatnonzero(figure.pitch)
    turned = one.joints[1].sweep * one.q[:, 1]
    angle = figure.angles[:, k] * np.sign(np.corrcoef(figure.angles[:, k], turned)[0, 1])
    assert np.ptp((angle - turned)[~hidden[:, 2]]) < 0.05
    played = forward(fit.skeleton, fit.motion).select(figure.bodies)
    for rows in (slice(None), slice(500, 700)):
        own = figure.at(rows)
        np.testing.assert_allclose(own.take(sensors=True).p_world_body, played.p_world_body[rows], atol=1e-9)
        np.testing.assert_allclose(own.thread_start[k] + own.pitch[k] * own.angles[:, k], own.travel[:, k], atol=1e-3)


def test_what_slides_is_between_two_frames_where_a_clock_asks_for_it() -> None:
    fit = machines.fitted("scara", 0.0)
    figure = build_figure(fit.skeleton, fit.motion, machines=True)
    (k,) = (number for number, kind in enumerate(figure.kind) if kind == "slider")
    twice = figure.resample(2 * figure.rate).travel[:, k]
    np.testing.assert_allclose(twice[1:-1:2], (figure.travel[1:, k] + figure.travel[:-1, k]) / 2, atol=1e-9)


def test_the_reach_of_a_ball_holds_every_rotation_since_the_rest_pose() -> None:
    one = moving.person()
    figure = build_figure(one.skeleton, one.motion)
    k = figure.names.index("thigh_l")
    vectors = rotation.to_vector(figure.turns[:, k])
    assert figure.reach[k] == pytest.approx(np.linalg.norm(vectors, axis=1).max())


def _hinged(joint, one: moving.Moving):  # type: ignore[no-untyped-def]
    """A knee as a hinge about the axis that it mostly turns about."""
    if not joint.child.endswith("shank"):
        return joint
    R = one.motion.R_parent_body[:, one.skeleton.bodies.index(joint.child)]
    turns = rotation.to_vector(rotation.mean(R).T @ R)
    axis = np.linalg.svd(turns)[2][0]
    return replace(joint, kind="hinge", axis_child=axis, axis_parent=rotation.mean(R) @ axis)


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


def test_what_is_not_known_holds_its_last_pose_within_its_segment_and_is_told() -> None:
    one = moving.links(("ball", "ball"))
    hidden = np.zeros((one.take.frames, 3), bool)
    hidden[40:70, 2] = True
    take = replace(one.take.mask(hidden), segment=np.arange(one.take.frames) // 60, time=np.arange(120) / 30)
    figure = build_figure(one.skeleton, play(one.skeleton, take))
    whole = figure.fill_gaps()
    np.testing.assert_array_equal(whole.R_parent_bone[50, 2], figure.R_parent_bone[39, 2])
    np.testing.assert_array_equal(whole.R_parent_bone[62, 2], figure.R_parent_bone[70, 2])
    np.testing.assert_array_equal(whole.R_parent_bone[:40], figure.R_parent_bone[:40])
    told = [finding for finding in whole.findings if finding.code == "pose-held"]
    assert [(f.count, f.frame, f.bodies) for f in told] == [(30, 40, ("link2",))]
    assert np.isnan(figure.world[1][50, 2]).all() or np.isnan(figure.world[0][50, 2]).all()
    assert whole.fill_gaps() is whole


def test_what_is_never_known_stays_at_rest_and_is_not_said_to_be_held() -> None:
    one = moving.links(("ball", "ball"))
    hidden = np.zeros((one.take.frames, 3), bool)
    hidden[:, 2] = True
    whole = build_figure(one.skeleton, play(one.skeleton, one.take.mask(hidden))).fill_gaps()
    np.testing.assert_array_equal(whole.R_parent_bone[50, 2], whole.R_parent_bone_rest[2])
    (told,) = [finding.text for finding in whole.findings if finding.code == "pose-held"]
    assert told.endswith("there it stays as it is at rest")


def test_an_even_clock_stays_as_it_is_and_an_uneven_one_is_resampled_between_its_frames() -> None:
    one = moving.links(("ball",))
    figure = build_figure(one.skeleton, one.motion)
    assert figure.resample() is figure
    kept = np.delete(np.arange(figure.frames), [30, 31, 32])
    gappy = figure.at(kept)
    even = gappy.resample()
    np.testing.assert_allclose(even.time, figure.time, atol=EXACT)
    np.testing.assert_allclose(even.R_parent_bone[kept], figure.R_parent_bone[kept], atol=NEARLY)
    half = rotation.to_vector(even.R_parent_bone[29, 1].T @ even.R_parent_bone[31, 1])
    whole = rotation.to_vector(even.R_parent_bone[29, 1].T @ even.R_parent_bone[33, 1])
    np.testing.assert_allclose(2 * half, whole, atol=NEARLY)
    assert [f.code for f in even.findings if f.code == "resampled"] == ["resampled"]
    doubled = figure.resample(rate=60)
    assert doubled.rate == pytest.approx(60)
    np.testing.assert_allclose(doubled.R_parent_bone[::2], figure.R_parent_bone, atol=NEARLY)


def test_nothing_is_interpolated_across_segments() -> None:
    one = moving.links(("ball",))
    figure = build_figure(one.skeleton, one.motion)
    cut = replace(figure, segment=np.arange(figure.frames) // 50)
    assert [clip.frames for clip in cut.clips()] == [50, 50, 20]
    assert cut.resample() is cut
    gappy = cut.at(np.delete(np.arange(figure.frames), [20, 21]))
    assert [clip.frames for clip in gappy.resample().clips()] == [50, 50, 20]


# the room


def test_the_world_turned_about_is_the_same_figure(person: Figure) -> None:
    R, p = person.world
    for up in ("y", "x", "-z", "-y"):
        turned = person.turn_up(up)
        W = find_world_turn("z", up)
        np.testing.assert_allclose(turned.world[1], p @ W.T, atol=NEARLY)
        np.testing.assert_allclose(turned.world[0], W @ R, atol=NEARLY)
        np.testing.assert_allclose(turned.rest[1], person.rest[1] @ W.T, atol=NEARLY)
        assert turned.up == up
        np.testing.assert_allclose(turned.turn_up("z").world[1], p, atol=NEARLY)


def test_z_up_becomes_y_up_as_x_z_minus_y() -> None:
    np.testing.assert_array_equal(find_world_turn("z", "y") @ [1, 2, 3], [1, 3, -2])
    for a in ("x", "y", "z", "-x", "-y", "-z"):
        for b in ("x", "y", "z", "-x", "-y", "-z"):
            W = find_world_turn(a, b)
            np.testing.assert_array_equal(W @ find_axis(a), find_axis(b))
            assert np.linalg.det(W) == pytest.approx(1)


def test_a_world_that_is_moved_moves_the_figure_and_not_its_bones(rng: np.random.Generator) -> None:
    one = moving.links()
    figure = build_figure(one.skeleton, one.motion)
    W, shift = rotation.random(rng), rng.normal(size=3)
    take = replace(one.take, R_world_body=W @ one.take.R_world_body, p_world_body=one.take.p_world_body @ W.T + shift)
    moved = build_figure(one.skeleton, play(one.skeleton, take))
    np.testing.assert_allclose(moved.p_body_bone, figure.p_body_bone, atol=EXACT)
    np.testing.assert_allclose(np.linalg.norm(moved.tip, axis=1), np.linalg.norm(figure.tip, axis=1), atol=NEARLY)
    np.testing.assert_allclose(moved.world[1], figure.world[1] @ W.T + shift, atol=NEARLY)


# names


def test_legal_names() -> None:
    assert legalise(["a b", "a_b", "1", "", "_"], r"\w", "[A-Za-z]") == ("a_b", "a_b_2", "b1", "bone_", "bone__2")


def test_a_figure_prints_like_a_sentence(person: Figure) -> None:
    assert str(person) == "a person: 15 bones, 120 frames"
    assert str(build_figure(*moving.links()[::2])) == "1 figure: 4 bones, 120 frames"
