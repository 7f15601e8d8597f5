"""The whole chain on known worlds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import condyle
from condyle import CondyleError, Finding, Take, UsageError, pipeline
from condyle.estimate import fitting, proof
from condyle.estimate.checks import describe_left_out
from condyle.estimate.fitting import ROBUST, Estimate, fit_tree
from condyle.estimate.proof import prove
from condyle.maths import rotation
from condyle.model.options import FitOptions, Method
from condyle.model.stage import Change, Decision, Effect, Proof
from condyle.model.take import join
from condyle.pipeline import PLAN_OF
from condyle.simulate import Disturbances, World, chain, human, linkage, prop, rod, simulate, together

EXACT_LENGTH = 1e-9  # m
NEARLY_EXACT = 1e-5  # m
NOISY = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.5))


@pytest.fixture(scope="module")
def noisy_linkage() -> World:
    return simulate(linkage(), seconds=20, rate=30, seed=11, disturbances=NOISY)


def edges(calibration: condyle.Fit) -> set[frozenset[str]]:
    return {frozenset((joint.child, joint.parent)) for joint in calibration.skeleton.joints}


def true_edges(world: World) -> set[frozenset[str]]:
    return {frozenset(edge) for edge in world.truth.edges}


def codes(calibration: condyle.Fit) -> set[str]:
    return {finding.code for finding in calibration.findings}


def length_errors(calibration: condyle.Fit, world: World) -> list[float]:
    truth = world.truth.limbs
    known = {**truth, **{(body, b, a): length for (body, a, b), length in truth.items()}}
    return [
        limb.length - known[limb.body, limb.from_joint, limb.to_joint]
        for limb in calibration.skeleton.limbs
        if limb.length is not None
    ]


@pytest.mark.parametrize("method", ["default", "least-squares", "drift"])
def test_exact_data_give_exact_lengths_and_the_right_tree(method: condyle.model.options.Method) -> None:
    world = simulate(linkage(), seconds=10, rate=30, seed=3)
    result = condyle.fit(world.take, plan=method)
    assert edges(result) == true_edges(world)
    assert np.abs(length_errors(result, world)).max() < EXACT_LENGTH
    assert {joint.kind for joint in result.skeleton.joints} == {"ball"}


def test_noisy_data_give_lengths_whose_intervals_hold_them(noisy_linkage: World) -> None:
    result = condyle.fit(noisy_linkage.take)
    assert edges(result) == true_edges(noisy_linkage)
    errors = length_errors(result, noisy_linkage)
    widths = [(limb.high - limb.low) / 2 for limb in result.skeleton.limbs]  # type: ignore[operator]
    assert len(errors) == len(widths) == 5
    assert np.abs(errors).max() < 0.005
    assert np.mean(np.abs(errors) <= widths) >= 0.8
    assert max(widths) < 0.01


def test_the_take_is_not_changed_and_the_same_take_gives_the_same_result(noisy_linkage: World) -> None:
    before = noisy_linkage.take.p_world_body.copy()
    first, second = condyle.fit(noisy_linkage.take), condyle.fit(noisy_linkage.take)
    assert (noisy_linkage.take.p_world_body == before).all()
    for a, b in zip(first.skeleton.joints, second.skeleton.joints, strict=True):
        assert (a.p_child_joint == b.p_child_joint).all()


def test_a_rigid_move_of_the_world_changes_nothing(noisy_linkage: World, rng: np.random.Generator) -> None:
    take = noisy_linkage.take
    R, p = rotation.random(rng), rng.uniform(-5, 5, 3)
    moved = Take.from_poses(
        take.p_world_body @ R.T + p, R_world_body=R @ take.R_world_body, names=take.names, time=take.time
    )
    for a, b in zip(condyle.fit(take).skeleton.joints, condyle.fit(moved).skeleton.joints, strict=True):
        assert (a.child, a.parent, a.kind) == (b.child, b.parent, b.kind)
        assert np.abs(a.p_child_joint - b.p_child_joint).max() < EXACT_LENGTH


def test_the_order_of_the_bodies_does_not_matter(noisy_linkage: World) -> None:
    take = noisy_linkage.take
    shuffled = take.select(sorted(take.names, key=lambda name: name[::-1]))
    one, other = condyle.fit(take).skeleton, condyle.fit(shuffled).skeleton
    assert one.roots == other.roots
    assert one.parent == {name: other.parent[name] for name in one.parent}
    for joint in one.joints:
        assert np.abs(joint.p_child_joint - other.joint(joint.child).p_child_joint).max() < 1e-6


def test_a_given_root_is_the_root_and_an_unknown_one_is_told_with_the_names(noisy_linkage: World) -> None:
    assert condyle.fit(noisy_linkage.take, root="l_forearm").skeleton.roots == ("l_forearm",)
    with pytest.raises(UsageError, match="no body named 'hip'; choose from head, chest"):
        condyle.fit(noisy_linkage.take.select(["head", "chest"]), root="hip")


def test_a_given_tree_is_kept_and_a_given_misfit_is_told(noisy_linkage: World) -> None:
    right = [(parent, child) for child, parent in noisy_linkage.truth.edges]
    assert edges(condyle.fit(noisy_linkage.take, tree=right)) == true_edges(noisy_linkage)
    wrong = condyle.fit(noisy_linkage.take, tree=[("head", "l_forearm")])
    assert frozenset(("head", "l_forearm")) in edges(wrong)
    assert "given-edge-misfit" in codes(wrong)


def test_a_given_tree_that_closes_a_loop_is_refused(noisy_linkage: World) -> None:
    loop = [("head", "chest"), ("chest", "l_upper_arm"), ("l_upper_arm", "head")]
    with pytest.raises(UsageError, match="closes a loop"):
        condyle.fit(noisy_linkage.take, tree=loop)


def test_a_whole_given_hierarchy_says_its_own_root(noisy_linkage: World) -> None:
    parents = {"chest": "head", "l_upper_arm": "chest", "r_upper_arm": "chest"}
    parents |= {"l_forearm": "l_upper_arm", "r_forearm": "r_upper_arm"}
    skeleton = condyle.fit(noisy_linkage.take, tree={**parents, "head": None}).skeleton
    assert skeleton.roots == ("head",)
    assert {child: parent for child, parent in skeleton.parent.items() if parent} == parents


def test_least_squares_is_the_papers_estimator_pair_by_pair(noisy_linkage: World) -> None:
    take = noisy_linkage.take
    result = condyle.fit(take, plan="least-squares")
    for joint in result.skeleton.joints:
        i, j = take.names.index(joint.child), take.names.index(joint.parent)
        Q = np.concatenate([take.R_world_body[:, i], -take.R_world_body[:, j]], axis=2).reshape(-1, 6)
        d = (take.p_world_body[:, j] - take.p_world_body[:, i]).reshape(-1)
        u, square, _, values = np.linalg.lstsq(Q, d, rcond=None)
        assert np.abs(u[:3] - joint.p_child_joint).max() < 1e-12
        assert np.abs(u[3:] - joint.p_parent_joint).max() < 1e-12
        assert joint.residual == pytest.approx(np.sqrt(square[0] / take.frames), rel=1e-9)
        assert np.abs(values - joint.singular_values).max() < 1e-8


def test_hinges_have_axes_an_open_point_and_lengths_to_the_axis() -> None:
    world = simulate(chain(("ball", "hinge", "ball")), seconds=20, rate=30, seed=5, disturbances=NOISY)
    skeleton = condyle.fit(world.take, root="link0").skeleton
    hinge = skeleton.joint("link2")
    assert (hinge.kind, hinge.point) == ("hinge", "arbitrary")
    k = world.truth.names.index("link2")
    assert abs(hinge.axis_child @ world.truth.axis_child[k]) > np.cos(np.radians(1))  # type: ignore[operator]
    assert abs(hinge.axis_parent @ world.truth.axis_parent[k]) > np.cos(np.radians(1))  # type: ignore[operator]
    limb = skeleton.limb("link1")
    assert limb.between == "joint and axis"
    assert limb.length == pytest.approx(0.3, abs=0.005)
    assert "one-axis-only" in {finding.code for finding in skeleton.findings}


def test_two_people_and_a_prop_are_not_glued_together() -> None:
    worlds = [simulate(linkage(), seconds=20, seed=1, disturbances=NOISY)]
    worlds += [simulate(linkage(), seconds=20, seed=2, disturbances=NOISY), prop(seconds=20, seed=3)]
    result = condyle.fit(together(worlds).take)
    assert len(result.skeleton.roots) == 2
    assert result.skeleton.loose == ("c_prop",)
    assert all(joint.child[0] == joint.parent[0] for joint in result.skeleton.joints)
    assert {"several-figures"} < codes(result)
    assert codes(result) & {"loose-body", "not-rotary"}


def test_a_still_take_has_no_joint_and_says_so() -> None:
    still = simulate(human(), "still", seconds=5, rate=30, disturbances=NOISY)
    result = condyle.fit(still.take)
    assert result.skeleton.joints == ()
    assert result.skeleton.loose == still.take.names
    assert codes(result) == {"tree-not-determined"}


def test_a_rod_is_one_rigid_body() -> None:
    result = condyle.fit(rod(seconds=20, disturbances=NOISY).take)
    assert [joint.kind for joint in result.skeleton.joints] == ["rigid"]
    assert "rigid-pair" in codes(result)
    assert result.skeleton.limbs == ()


def test_one_sensor_is_refused_with_the_way_out_and_fits_against_the_world(noisy_linkage: World) -> None:
    take = noisy_linkage.take.select(["head"])
    with pytest.raises(CondyleError, match="--world") as caught:
        condyle.fit(take)
    assert caught.value.code == "one-sensor"
    assert condyle.fit(take, world=True).skeleton.roots in {("world",), ()}


def test_a_door_against_the_room_is_a_hinge(rng: np.random.Generator) -> None:
    angle = 0.8 * np.sin(np.linspace(0, 12, 600))
    R = rotation.from_vector(angle[:, None] * [0.0, 0, 1]) @ rotation.random(rng)
    hinge, arm = np.array([1.0, 2, 0.5]), np.array([0.6, 0.1, 0.3])
    p = hinge + rotation.from_vector(angle[:, None] * [0.0, 0, 1]) @ arm + 0.001 * rng.standard_normal((600, 3))
    R = R @ rotation.from_vector(0.003 * rng.standard_normal((600, 3)))
    take = Take.from_poses(p[:, None], R_world_body=R[:, None], names=["door"], rate=30)
    joint = condyle.fit(take, world=True).skeleton.joint("door")
    assert joint.kind == "hinge"
    assert abs(joint.axis_parent[2]) > 0.9999  # type: ignore[index]
    assert np.abs(joint.p_parent_joint[:2] - hinge[:2]).max() < 0.002


def test_fewer_than_three_frames_are_refused(noisy_linkage: World) -> None:
    with pytest.raises(CondyleError, match="2 frames cannot tell a joint") as caught:
        condyle.fit(noisy_linkage.take.slice(0, 2))
    assert caught.value.code == "few-frames"


def test_two_identical_sensors_are_named(noisy_linkage: World) -> None:
    take = noisy_linkage.take
    twice = Take(
        (*take.names, "copy"),
        take.time,
        np.concatenate([take.R_world_body, take.R_world_body[:, :1]], axis=1),
        np.concatenate([take.p_world_body, take.p_world_body[:, :1]], axis=1),
    )
    with pytest.raises(CondyleError, match=r"'\w+' and 'copy'") as caught:
        condyle.fit(twice)
    assert caught.value.code == "identical-sensors"


def test_missing_poses_count_as_deleted_rows(noisy_linkage: World, rng: np.random.Generator) -> None:
    take = noisy_linkage.take.select(["chest", "head"])
    gone = rng.random(take.frames) < 0.2
    hidden = np.zeros((take.frames, 2), dtype=bool)
    hidden[gone, 1] = True
    masked = condyle.fit(take.mask(hidden), plan="least-squares").skeleton.joints[0]
    kept = np.flatnonzero(~gone)
    rows = Take(take.names, take.time[kept], take.R_world_body[kept], take.p_world_body[kept])
    deleted = condyle.fit(rows, plan="least-squares").skeleton.joints[0]
    assert np.abs(masked.p_child_joint - deleted.p_child_joint).max() < 1e-12
    assert masked.residual == pytest.approx(deleted.residual, rel=1e-9)


def test_a_sensor_that_is_never_seen_is_loose_and_told(noisy_linkage: World) -> None:
    take = noisy_linkage.take
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    hidden[:, take.names.index("l_forearm")] = True
    result = condyle.fit(take.mask(hidden))
    assert result.skeleton.loose == ("l_forearm",)
    assert "few-frames" in codes(result)
    assert len(result.skeleton.joints) == 4


def test_all_unseen_is_refused(noisy_linkage: World) -> None:
    take = noisy_linkage.take
    with pytest.raises(CondyleError, match="fewer than two sensors") as caught:
        condyle.fit(take.mask(np.ones((take.frames, take.bodies), dtype=bool)))
    assert caught.value.code == "nothing-seen"


def test_a_take_without_time_is_fitted_and_claims_no_more_than_it_knows(noisy_linkage: World) -> None:
    take = noisy_linkage.take
    untimed = Take.from_poses(take.p_world_body, R_world_body=take.R_world_body, names=take.names)
    result = condyle.fit(untimed)
    assert edges(result) == true_edges(noisy_linkage)
    assert "no-time" in codes(result)
    assert all(limb.length is not None and limb.low is None for limb in result.skeleton.limbs)


def test_several_recordings_of_one_figure_are_one_calibration() -> None:
    mounts = simulate(linkage(), seconds=10, seed=7).truth.mounts
    worlds = [simulate(linkage(), seconds=10, seed=s, disturbances=NOISY, mounts=mounts) for s in (7, 8)]
    both = condyle.fit(condyle.join([world.take for world in worlds]))
    alone = condyle.fit(worlds[0].take)
    assert both.skeleton.take["frames"] == 2 * alone.skeleton.take["frames"]
    assert edges(both) == true_edges(worlds[0])
    assert np.abs(length_errors(both, worlds[0])).max() < 0.005


def test_named_loops_are_located(noisy_linkage: World) -> None:
    result = condyle.fit(noisy_linkage.take, loops=[("head", "l_forearm")])
    assert [(loop.child, loop.parent) for loop in result.skeleton.loops] == [("head", "l_forearm")]
    assert result.skeleton.loops[0].time is not None


def test_intervals_can_be_left_out(noisy_linkage: World) -> None:
    skeleton = condyle.fit(noisy_linkage.take, intervals=False).skeleton
    assert all(limb.length is not None and limb.low is None for limb in skeleton.limbs)
    assert all(joint.covariance is None for joint in skeleton.joints)


@pytest.mark.parametrize("call", [{"plan": "best"}, {"tree_score": "luck"}])
def test_an_unknown_choice_is_told_with_the_choices(call: dict, noisy_linkage: World) -> None:
    with pytest.raises(UsageError, match="choose from"):
        condyle.fit(noisy_linkage.take, **call)


def test_gaps_and_weights_belong_to_the_joints(noisy_linkage: World) -> None:
    result = condyle.fit(noisy_linkage.take)
    n, J = noisy_linkage.take.frames, len(result.skeleton.joints)
    assert result.gap.shape == (n, J, 3)
    assert result.weight.shape == (n, J)
    rms = np.sqrt((np.sum(result.gap**2, axis=2) * result.weight).sum(axis=0) / result.weight.sum(axis=0))
    assert rms == pytest.approx([joint.residual for joint in result.skeleton.joints], rel=1e-9)


@pytest.mark.costly
@pytest.mark.parametrize("share", [0.005, 0.05, 0.2])
def test_missing_poses_beside_a_loose_thing_leave_the_tree_right(share: float) -> None:
    gappy = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.5), missing=share)
    person = simulate(human(), seconds=20, seed=1, disturbances=gappy)
    world = together([person, prop(seconds=20, seed=3, disturbances=gappy)])
    result = condyle.fit(world.take, intervals=False)
    assert edges(result) == true_edges(world)
    assert result.skeleton.loose == ("b_prop",)


@pytest.mark.parametrize("pair", ["chest:head", ("chest",), ("chest", "chest"), ("chest", 3)])
def test_edges_that_are_no_pairs_of_bodies_are_refused(pair: object, noisy_linkage: World) -> None:
    with pytest.raises(UsageError) as caught:
        condyle.fit(noisy_linkage.take, tree=[pair])  # type: ignore[list-item]
    assert caught.value.code == "bad-tree"
    with pytest.raises(UsageError):
        condyle.fit(noisy_linkage.take, loops=[pair])  # type: ignore[list-item]


def test_a_wrong_unit_and_transposed_rotations_are_doubted(noisy_linkage: World) -> None:
    take = noisy_linkage.take
    huge = Take.from_poses(take.p_world_body * 1000, R_world_body=take.R_world_body, names=take.names, time=take.time)
    assert "implausible-size" in codes(condyle.fit(huge))
    turned = np.swapaxes(take.R_world_body, -1, -2)
    wrong = Take.from_poses(take.p_world_body, R_world_body=turned, names=take.names, time=take.time)
    findings = condyle.fit(wrong).findings
    assert any(finding.severity != "info" for finding in findings)


def test_least_squares_intervals_reach_back_over_the_bias_of_orientation_noise() -> None:
    held, count = 0, 0
    for seed in (1, 2, 3):
        noisy = Disturbances(position_noise=0.003, orientation_noise=np.radians(1.0))
        world = simulate(human(), seconds=30, rate=30, seed=seed, disturbances=noisy)
        result = condyle.fit(world.take, plan="least-squares")
        widths = [(limb.high - limb.low) / 2 for limb in result.skeleton.limbs]  # type: ignore[operator]
        held += int(np.sum(np.abs(length_errors(result, world)) <= widths))
        count += len(widths)
    assert held / count > 0.85


def test_a_given_edge_does_not_invent_the_rest_of_a_still_take() -> None:
    still = simulate(linkage(), "still", seconds=5, rate=30, disturbances=NOISY)
    result = condyle.fit(still.take, tree=[("chest", "head")])
    assert edges(result) == {frozenset(("chest", "head"))}
    assert "tree-not-determined" in codes(result)


@pytest.mark.parametrize(
    ("outliers", "bar"),
    [({"stale": 0.2, "stale_run": 0.5}, 0.0025), ({"bursts": 0.2}, 0.006), ({"spikes": 0.1}, 0.0025)],
    ids=["held samples", "bursts", "spikes"],
)
def test_a_fifth_of_bad_samples_is_survived(outliers: dict, bar: float) -> None:
    bad = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3), **outliers)
    world = simulate(human(), seed=1, disturbances=bad)
    tree = [(parent, child) for child, parent in world.truth.edges]
    joints = condyle.fit(world.take, tree=tree, intervals=False).skeleton.joints
    place = world.truth.names.index
    errors = [joint.p_child_joint - world.truth.p_child_joint[place(joint.child)] for joint in joints]
    assert np.sqrt(np.mean(np.sum(np.square(errors), axis=1))) < bar  # m; plain least squares is 3 to 16 cm off


@pytest.mark.parametrize("frames", [1, 2, 5, 20])
def test_a_sensor_seen_in_few_frames_does_not_spoil_the_tree(frames: int, noisy_linkage: World) -> None:
    take = noisy_linkage.take
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    hidden[frames:, take.names.index("l_forearm")] = True
    result = condyle.fit(take.mask(hidden))
    assert edges(result) == {edge for edge in true_edges(noisy_linkage) if "l_forearm" not in edge}
    assert result.skeleton.loose == ("l_forearm",)
    assert "few-frames" in codes(result)


def test_a_given_edge_that_is_never_seen_together_is_refused(noisy_linkage: World) -> None:
    take = noisy_linkage.take
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    hidden[:300, 0] = hidden[300:, 1] = True
    for call in ({"tree": [take.names[:2]]}, {"loops": [take.names[:2]]}):
        with pytest.raises(CondyleError, match="share 0 frames"):
            condyle.fit(take.mask(hidden), **call)


def test_a_sensor_hidden_in_the_middle_has_its_own_noise() -> None:
    world = simulate(linkage(), seconds=60, rate=60, seed=1, disturbances=Disturbances(0.002, 0.01))
    hidden = np.zeros((world.take.frames, world.take.bodies), dtype=bool)
    hidden[1000:2600, 0] = True
    result = condyle.fit(world.take.mask(hidden))
    assert all(noise.position == pytest.approx(0.002, rel=0.2) for noise in result.skeleton.noise)
    assert np.abs(length_errors(result, world)).max() < 0.01


def test_orientations_without_positions_are_refused(noisy_linkage: World) -> None:
    take = noisy_linkage.take
    flat = Take(take.names, take.time, take.R_world_body, 0 * take.p_world_body)
    with pytest.raises(CondyleError, match="orientations only") as caught:
        condyle.fit(flat)
    assert caught.value.code == "no-positions"


@pytest.mark.parametrize("size", [1e100, 1e160, -1e300])
@pytest.mark.parametrize("method", ["default", "least-squares"])
def test_a_position_beyond_all_measure_is_not_seen(size: float, method: str, noisy_linkage: World) -> None:
    take = noisy_linkage.take
    p = take.p_world_body.copy()
    p[7, 2, 1] = size
    result = condyle.fit(Take(take.names, take.time, take.R_world_body, p), plan=method)  # type: ignore[arg-type]
    assert edges(result) == true_edges(noisy_linkage)


def test_two_parents_are_refused_and_an_edge_said_twice_is_one(noisy_linkage: World) -> None:
    with pytest.raises(UsageError, match="two parents for 'chest'"):
        condyle.fit(noisy_linkage.take, tree=[("head", "chest"), ("l_upper_arm", "chest")])
    twice = condyle.fit(noisy_linkage.take, tree=[("chest", "head"), ("chest", "head")], intervals=False)
    assert edges(twice) == true_edges(noisy_linkage)


def test_a_loop_said_twice_or_used_by_the_tree_is_told_once(noisy_linkage: World) -> None:
    loops = [("head", "l_forearm"), ("l_forearm", "head"), ("chest", "head")]
    result = condyle.fit(noisy_linkage.take, loops=loops, intervals=False)
    assert len(result.skeleton.loops) == 1
    with pytest.raises(UsageError):
        condyle.fit(noisy_linkage.take, loops=[("head", "nobody")])


def test_poor_data_can_be_written(tmp_path: Path) -> None:
    shaky = Disturbances(position_noise=0.003, orientation_noise=np.radians(1))
    world = simulate(human(), "walk", seconds=4, rate=30, seed=0, disturbances=shaky)
    for call in ({}, {"tree": [("head", "l_foot")]}):
        skeleton = condyle.fit(world.take, **call).skeleton  # type: ignore[arg-type]
        condyle.write_skeleton(tmp_path / "skeleton.json", skeleton)
        assert len(condyle.read_skeleton(tmp_path).findings) == len(skeleton.findings)


def test_exact_joints_beside_one_that_comes_apart_stay_where_they_are() -> None:
    world = simulate(human(), "walk", seed=7, seconds=10, disturbances=Disturbances(position_noise={"head": 0.005}))
    for joint in condyle.fit(world.take, intervals=False).skeleton.joints:
        assert joint.residual < (0.01 if "head" in (joint.child, joint.parent) else NEARLY_EXACT), joint.child


@pytest.mark.costly
def test_gaps_that_follow_the_joints_angle_are_told_from_noise_and_from_a_bent_field() -> None:
    quiet = {"position_noise": 0.0015, "orientation_noise": np.radians(0.15)}
    worlds = {"noise": {}, "field": {"field_warp": 0.0125}, "knees": {"non_rotary": 1.0}}
    told = {}
    for name, more in worlds.items():
        world = simulate(human(), "walk", seconds=45, rate=30, seed=201, disturbances=Disturbances(**quiet, **more))
        findings = condyle.fit(world.take).findings
        told[name] = {finding.bodies[0] for finding in findings if finding.code == "follows-angle"}
    joints = {"l_shank", "r_shank", "l_upper_arm", "r_upper_arm"}  # the ones that the simulator moves
    assert told == {"noise": set(), "field": set(), "knees": joints}


# The engine itself: changes of stages that were made up for it.
OPTIONS = FitOptions()


@dataclass(frozen=True, eq=False)
class Shift:
    """The head's sensor moved over its body [m] from a frame on."""

    by: float
    first: int = 300
    effect: Effect = "moves"
    hold: tuple[tuple[str, str], ...] = ()
    at_border: bool = False
    repair: str = "slips"
    bodies: tuple[str, ...] = ("head",)

    @property
    def size(self) -> float:
        return abs(self.by)

    @property
    def suspicion(self) -> str:
        return f"{self.by:+.2f} m"

    def apply(self, take: Take) -> Take:
        k, p = take.index("head"), take.p_world_body.copy()
        p[self.first :, k] += self.by * take.R_world_body[self.first :, k, :, 0]
        return replace(take, p_world_body=p)

    def describe(self) -> list[Finding]:
        return [Finding("slip", "info", f"{self.by:+.2f} m")]


@pytest.fixture(scope="module")
def slipped(noisy_linkage: World) -> Estimate:
    """The figure of a take whose head sensor sits 4 cm further from the middle on."""
    return fit_tree(Shift(0.04).apply(noisy_linkage.take), [], OPTIONS, ROBUST)


def test_every_method_has_a_plan_and_a_plan_is_tuples_of_stages() -> None:
    assert set(pipeline.PLAN_OF) == set(get_args(Method))
    for plan in pipeline.PLAN_OF.values():
        for stages in (plan.prepare, plan.repair):
            assert isinstance(stages, tuple)
            assert all(callable(stage) for stage in stages)
            assert len(set(stages)) == len(stages) > 0


def test_a_refused_change_is_told_and_its_stage_asked_again_without_it(slipped: Estimate) -> None:
    wrong, right = Shift(0.03), Shift(-0.04)
    asked: list[list[Change]] = []

    def stage(estimate: Estimate, options: FitOptions, refused: Sequence[Change]) -> Decision:
        asked.append(list(refused))
        assert (estimate, options) == (slipped, OPTIONS)
        return Decision([Finding("bent-field", "info", "seen")], changes=[right] if wrong in refused else [wrong])

    after, kept, not_kept, found = proof.carry_out(stage, slipped, OPTIONS)
    assert asked == [[], [wrong]]
    assert (kept, not_kept) == ([right], [wrong])
    assert [(one.code, one.text[:7]) for one in found] == [
        ("bent-field", "seen"),
        ("repair-not-kept", "+0.03 m"),
        ("slip", "-0.04 m"),
    ]
    np.testing.assert_array_equal(after.take.p_world_body, right.apply(slipped.take).p_world_body)


def test_a_stage_that_never_gives_in_is_not_asked_for_ever(slipped: Estimate) -> None:
    asked: list[int] = []

    def stage(estimate: Estimate, options: FitOptions, refused: Sequence[Change]) -> Decision:
        asked.append(len(refused))
        assert len(asked) < 50, "asked for ever"
        return Decision(changes=[Shift(0.5 + 0.01 * len(refused))])

    after, kept, not_kept, found = proof.carry_out(stage, slipped, OPTIONS)
    assert asked == list(range(proof.MOST_REFUSALS + 2))
    assert (after, kept, len(not_kept)) == (slipped, [], len(asked))
    assert [one.code for one in found] == ["repair-not-kept"] * len(asked)


def test_of_several_changes_each_proves_itself_on_top_of_those_kept(
    slipped: Estimate, monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs = list[Proof]()

    def keep_proof(*given: Any) -> Proof:
        proofs.append(prove(*given))
        return proofs[-1]

    monkeypatch.setattr(proof, "prove", keep_proof)
    half, wrong, rest = Shift(-0.02), Shift(0.1, first=200), Shift(-0.02)
    after, kept, _ = proof.keep_proved(slipped, [half, wrong, rest])
    assert kept == [half, rest]
    first, second, third = proofs
    assert (first.kept, second.kept, third.kept) == (True, False, True)
    assert third.before == pytest.approx(first.after, rel=1e-6)
    np.testing.assert_allclose(after.take.p_world_body, Shift(-0.04).apply(slipped.take).p_world_body, atol=1e-12)


def test_a_reading_is_kept_without_proof_and_so_is_what_changes_no_pose(
    slipped: Estimate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "prove", lambda *_, **__: pytest.fail("was to be proved"))
    reading = Shift(0.1, effect="reading")
    after, kept, _ = proof.keep_proved(slipped, [reading])
    assert kept == [reading]
    np.testing.assert_array_equal(after.take.p_world_body, reading.apply(slipped.take).p_world_body)

    class Nothing(Shift):
        def apply(self, take: Take) -> Take:
            return take

    nothing = Nothing(0.1)
    assert proof.keep_proved(slipped, [nothing])[:2] == (slipped, [nothing])
    with pytest.raises(pytest.fail.Exception, match="was to be proved"):
        proof.keep_proved(slipped, [Shift(0.1)])


def test_edges_that_a_change_holds_stay_joined_in_later_fits(slipped: Estimate) -> None:
    odd = frozenset((slipped.take.index("head"), slipped.take.index("l_forearm")))
    assert odd not in map(frozenset, slipped.pairs.tolist())
    holding = Shift(1e-6, effect="reading", hold=(("head", "l_forearm"),))
    first, *_ = proof.keep_proved(slipped, [holding])
    assert odd in map(frozenset, first.pairs.tolist())
    beside, *_ = proof.keep_proved(slipped, [holding, Shift(1e-6, effect="reading")])
    assert odd in map(frozenset, beside.pairs.tolist())
    later, *_ = proof.keep_proved(first, [Shift(1e-6, effect="reading")])
    assert odd in map(frozenset, later.pairs.tolist())


def test_a_change_that_is_not_kept_holds_nothing(slipped: Estimate) -> None:
    refused = Shift(0.5, hold=(("head", "l_forearm"),))
    after, kept, _ = proof.keep_proved(slipped, [refused, Shift(1e-6, effect="reading")])
    assert refused not in kept
    assert {frozenset(pair) for pair in after.pairs.tolist()} == {frozenset(pair) for pair in slipped.pairs.tolist()}


def test_a_run_follows_its_plan_in_order_and_says_what_every_stage_found(
    noisy_linkage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    move = Shift(0.04, effect="reading")

    def first(take: Take, options: FitOptions) -> Decision:
        order.append("first")
        return Decision([Finding("latency", "info", "x")], take.select(take.names[:4]))

    def second(take: Take, options: FitOptions) -> Decision:
        order.append(f"second of {take.bodies}")
        return Decision(changes=[move])

    def last(estimate: Estimate, options: FitOptions, refused: Sequence[Change]) -> Decision:
        order.append(f"last of {estimate.take.bodies}")
        return Decision([Finding("bent-field", "info", "x")])

    plan = pipeline.Plan((first, second), ROBUST, (last,), connections=False)
    monkeypatch.setitem(pipeline.PLAN_OF, "drift", plan)
    made = pipeline.run(noisy_linkage.take, FitOptions(method="drift", intervals=False))
    assert order == ["first", "second of 4", "last of 4"]
    assert made.changes == (move,)
    assert {"latency", "bent-field", "slip"} <= {finding.code for finding in made.findings}
    taken = noisy_linkage.take.select(noisy_linkage.take.names[:4])
    np.testing.assert_array_equal(made.take.p_world_body, move.apply(taken).p_world_body)


@pytest.mark.parametrize(
    ("bodies", "words"),
    [
        (64, ""),
        (65, "connections for a part of the take (up to 64)"),
        (129, "connections for a part of the take (up to 64), latency (up to 128)"),
    ],
)
def test_checks_that_are_left_out_among_many_bodies_are_told(bodies: int, words: str) -> None:
    take = Take.from_poses(np.zeros((3, bodies, 3)), R_world_body=np.tile(np.eye(3), (3, bodies, 1, 1)), rate=60)
    told = [finding.text for finding in describe_left_out(take, PLAN_OF["default"].most_bodies)]
    whole = f"among {bodies} bodies nothing is looked for of: {words}; fit fewer with --only for that"
    assert told == ([whole] if words else [])
    assert describe_left_out(take, PLAN_OF["least-squares"].most_bodies) == []


def test_edges_that_are_known_hold_early_as_far_as_their_bodies_are_there(
    noisy_linkage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(fitting, "fit_tree", lambda take, known, options, estimator: seen.append((known, options)))
    take = noisy_linkage.take
    a, b = take.names[:2]
    options = FitOptions(tree=((a, b), ("world", a), (b, "gone")), world=True, root=b)
    fitting.estimate_early(take, options, ROBUST)
    assert [(known, used.world, used.root) for known, used in seen] == [([(0, 1)], False, None)]


@pytest.mark.costly
def test_a_file_that_is_left_out_leaves_no_trace_in_the_repairs_of_the_others() -> None:
    noise = Disturbances(position_noise=0.002, orientation_noise=0.009)
    first, anew = (simulate(human(), "exercise", seconds=12, seed=k, disturbances=noise).take for k in (0, 3))
    options = FitOptions(intervals=False)
    alone, kept = (
        pipeline.run(take, options).skeleton
        for take in (first, join([replace(first, sources=("a.npz",)), replace(anew, sources=("b.npz",))]))
    )
    assert [finding.code for finding in kept.findings if finding.severity != "info"] == ["remounted"]
    assert [(j.parent, j.child, j.residual) for j in kept.joints] == [
        (j.parent, j.child, j.residual) for j in alone.joints
    ]


def test_a_stage_that_leaves_out_frames_is_asked_once(noisy_linkage: World) -> None:
    asked: list[int] = []

    def drop_first(take: Take, options: FitOptions) -> Decision:
        asked.append(take.frames)
        return Decision(take=take.slice(1))

    plan = pipeline.Plan((drop_first,), ROBUST, ())
    ready, _, _, _ = pipeline.prepare_take(noisy_linkage.take, FitOptions(), plan)
    assert asked == [noisy_linkage.take.frames]
    assert ready.frames == noisy_linkage.take.frames - 1


def test_every_stage_of_a_plan_is_announced_before_it_works(
    noisy_linkage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    monkeypatch.setattr(pipeline, "begin_step", steps.append)

    def look_about(take: Take, options: FitOptions) -> Decision:
        assert steps[-1] == "preparing: look about"
        return Decision()

    def look_again(estimate: Estimate, options: FitOptions, refused: Sequence[Change]) -> Decision:
        assert steps[-1] == "checking: look again"
        return Decision()

    plan = pipeline.Plan((look_about,), ROBUST, (look_again,), connections=False)
    pipeline.run(noisy_linkage.take, FitOptions(intervals=False), plan)
    assert steps == ["preparing: look about", "finding the tree", "checking: look again"]


def test_a_take_that_was_fitted_to_prove_its_last_change_is_not_fitted_again(
    noisy_linkage: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[Take] = []

    def fit_and_count(take: Take, *given: Any) -> Estimate:
        fitted.append(take)
        return fit_tree(take, *given)

    monkeypatch.setattr(pipeline, "fit_tree", fit_and_count)
    name = noisy_linkage.take.names[2]
    how = replace(NOISY, latency={name: 0.033})
    late = simulate(linkage(), seconds=20, rate=30, seed=11, disturbances=how).take
    found = pipeline.run(late, FitOptions())
    assert [finding.code for finding in found.skeleton.findings].count("latency") == 1
    assert fitted == []
    pipeline.run(late, FitOptions(root=name))  # another root than the one it was proved with
    assert len(fitted) == 1
