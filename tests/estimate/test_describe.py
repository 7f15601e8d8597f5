"""What a fit says: findings with their numbers, and nothing where nothing is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import Finding, Take
from condyle.estimate import describe
from condyle.estimate.describe import (
    GIVEN_EDGE_MAX_RATIO,
    LARGEST_JOINED_M,
    MISSING_WARNING_SHARE,
    describe_joints,
    describe_own_tree,
    describe_structure,
    describe_take,
)
from condyle.estimate.fitting import ROBUST, Solved, fit_tree
from condyle.estimate.intervals import Uncertainty
from condyle.estimate.locate import locate_joints
from condyle.estimate.structure import Structure, infer_structure
from condyle.estimate.support import EdgeSupport, measure_support
from condyle.maths import rotation
from condyle.model.options import FitOptions
from condyle.model.skeleton import SURE_SUPPORT
from condyle.pairs.noise import Noise
from condyle.simulate import Disturbances, World, chain, human, linkage, simulate

NOISE = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3))


@pytest.fixture(scope="module")
def world() -> World:
    return simulate(linkage(), "exercise", seconds=12, seed=3, disturbances=NOISE)


@pytest.fixture(scope="module")
def structure(world: World) -> Structure:
    return infer_structure(world.take)


def described(
    take: Take, structure: Structure, given=(), asked: int | None = 0, support=None
) -> dict[str, list[Finding]]:
    roots = [group[0] for group in structure.figures]
    out: dict[str, list[Finding]] = {}
    found = measure_support(take, structure) if support is None else support
    for one in describe_structure(take, structure, found, roots, asked, given):
        out.setdefault(one.code, []).append(one)
    return out


def codes(take: Take, **options: object) -> dict[str, Finding]:
    return {one.code: one for one in condyle.fit(take, **options).skeleton.findings}  # type: ignore[arg-type]


def test_a_limb_that_did_not_bend_is_told_by_its_names() -> None:
    quiet = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.1))
    take = simulate(chain(("ball", "ball", "rigid")), "exercise", seconds=15, seed=2, disturbances=quiet).take
    named = replace(take, names=("chest", "l_upper_arm", "l_forearm", "l_hand"))
    found = condyle.fit(named).skeleton
    (told,) = [one for one in found.findings if one.code == "rigid-pair"]
    assert told.severity == "warning"
    assert "bend it" in told.text
    assert set(told.bodies) == {"l_forearm", "l_hand"}
    assert found.verdict is not None
    assert found.verdict.tone == "look"
    doubled = codes(replace(take, names=("chest", "l_upper_arm", "l_forearm_1", "l_forearm_2")))
    assert doubled["rigid-pair"].severity == "info"


def test_missing_poses_are_counted_and_many_are_a_warning(world: World) -> None:
    take = world.take
    assert describe_take(take) == []
    hidden = np.zeros((take.frames, take.bodies), bool)
    few = int(MISSING_WARNING_SHARE * take.frames)
    hidden[3 : 3 + few, 1] = True
    hidden[: few + 1, 2] = True
    first, second = describe_take(take.mask(hidden))
    assert (first.severity, first.count, first.frame, first.bodies) == ("info", few, 3, (take.names[1],))
    assert (second.severity, second.count, second.frame) == ("warning", few + 1, 0)
    assert second.value == pytest.approx((few + 1) / take.frames)


def test_a_slower_sensor_has_no_missing_poses_to_look_at() -> None:
    take = simulate(linkage(), seconds=10, rate=60).take
    lost = np.zeros((take.frames, take.bodies), dtype=bool)
    lost[:, 1] = np.arange(take.frames) % 3 != 0
    (finding,) = describe_take(take.mask(lost))
    assert (finding.severity, finding.count) == ("info", 400)
    assert finding.text.endswith("it has one in about 3 frames throughout: there is nothing to do")


def test_a_much_slower_sensor_that_is_joined_to_nothing_is_not_seen_too_rarely(structure: Structure) -> None:
    take = simulate(linkage(), seconds=20, rate=60).take
    lost, again = (np.zeros((take.frames, take.bodies), dtype=bool) for _ in range(2))
    lost[:, 1] = np.arange(take.frames) % 6 != 0
    again[:, 1] = np.arange(take.frames) >= take.frames // 6
    assert [describe._loose(take.mask(one), structure, 1).code for one in (lost, again)] == ["loose-body", "few-frames"]


def test_a_clear_tree_says_nothing_but_its_root(world: World, structure: Structure) -> None:
    assert described(world.take, structure) == {}
    [chosen] = described(world.take, structure, asked=None)["root-chosen"]
    assert chosen.bodies == (world.take.names[0],)


def test_low_support_is_a_doubt_that_names_the_rivals(world: World, structure: Structure) -> None:
    names, pairs = world.take.names, structure.fits.pairs
    first, second = (int(edge) for edge in structure.tree.edges[:2])
    [other] = [k for k in range(len(pairs)) if k not in structure.tree.edges][:1]
    sure = dict.fromkeys(structure.tree.edges.tolist(), EdgeSupport(SURE_SUPPORT, ()))
    low = {**sure, first: EdgeSupport(0.7, (other,)), second: EdgeSupport(0.8, ())}
    doubt, alone = described(world.take, structure, support=low)["rivals"]
    assert (doubt.value, doubt.bodies) == (0.7, tuple(names[k] for k in pairs[first]))
    assert f"{names[pairs[first, 0]]} - {names[pairs[first, 1]]} or {names[pairs[other, 0]]}" in doubt.text
    assert "or not joined" in alone.text
    tied = described(world.take, replace(structure, tied=[(first, other)]), support=low)["rivals"]
    assert "share one point" in tied[0].text
    between = structure.between.copy()
    between[first] = 1.0
    unlike = described(world.take, replace(structure, between=between), support=low)["rivals"]
    assert "their names say that they are no neighbours" in unlike[0].text
    assert "no neighbours" not in doubt.text + alone.text + unlike[1].text
    assert described(world.take, structure, support=sure) == {}


def test_bodies_that_are_not_joined_say_why(world: World, structure: Structure) -> None:
    names, edge = world.take.names, int(structure.tree.edges[0])
    ends = tuple(names[k] for k in structure.fits.pairs[edge])
    for reason, code, words in (
        ("not-rotary", "not-rotary", "without a common centre"),
        ("not-worn", "not-joined", "was not worn"),
        ("two-persons", "not-joined", "two persons"),
    ):
        [told] = described(world.take, replace(structure, apart={edge: reason}))[code]
        assert (told.bodies, words in told.text) == (ends, True)


@pytest.mark.costly
def test_a_headset_and_controllers_are_told_what_to_wear_and_strange_bodies_what_may_be_wrong() -> None:
    take = simulate(human(), "exercise", seconds=20, rate=30, disturbances=NOISE).take
    worn = codes(take.select(["head", "l_hand", "r_hand"]))["loose-body"]
    assert worn.text.startswith("3 of 3 bodies are joined to nothing; by their names limbs between them wore no sensor")
    heads = [simulate(human(), "exercise", seconds=20, rate=30, seed=seed).take.select(["head"]) for seed in range(3)]
    p, R = (
        np.concatenate([getattr(head, name) for head in heads], axis=1) for name in ("p_world_body", "R_world_body")
    )
    assert "are the rotations transposed" in codes(Take.from_poses(p, R_world_body=R, rate=30))["loose-body"].text


def test_a_given_edge_is_doubted_only_where_another_fits_far_better(world: World, structure: Structure) -> None:
    given = [tuple(world.take.names[k] for k in structure.edges[0])]
    for ratio, told in ((1.01 * GIVEN_EDGE_MAX_RATIO, True), (0.99 * GIVEN_EDGE_MAX_RATIO, False)):
        margin = structure.tree.margin.copy()
        margin[0] = 1 / ratio
        poor = replace(structure, tree=replace(structure.tree, margin=margin))
        assert set(described(world.take, poor, given)) == ({"given-edge-misfit"} if told else set())


def test_edges_of_a_files_own_hierarchy_that_were_not_found_are_told() -> None:
    pairs, names = np.array([[1, 0], [2, 1]]), ("a", "b", "c")
    assert describe_own_tree([("a", "b"), ("b", "c")], pairs, names) == []
    assert describe_own_tree([], pairs, names) == []
    [told] = describe_own_tree([("a", "b"), ("a", "c")], pairs, names)
    assert (told.code, told.severity, told.bodies, told.value) == ("own-tree", "info", ("c",), 1)
    assert "1 of the 2 edges" in told.text
    assert "a - c; take it with --tree file" in told.text


def test_bodies_far_apart_call_for_a_unit(world: World) -> None:
    take = world.take
    large = Take(take.names, take.time, take.R_world_body, take.p_world_body * 20 * LARGEST_JOINED_M)
    assert "implausible-size" in described(large, infer_structure(large))


def test_nothing_that_moves_is_an_error() -> None:
    take = simulate(human(), "still", seconds=5, seed=1, disturbances=NOISE).take
    [finding] = described(take, infer_structure(take))["tree-not-determined"]
    assert finding.severity == "error"
    assert finding.text.startswith("nothing moved enough")


def test_a_person_who_is_turned_as_one_is_not_told_that_nothing_moved() -> None:
    take = simulate(human(), "still", seconds=5, seed=1, disturbances=NOISE).take
    turn = rotation.from_vector(np.sin(take.time)[:, None] * np.array([0.2, 0.4, 1.0]))[:, None]
    place = np.einsum("nkij,nkj->nki", np.broadcast_to(turn, take.R_world_body.shape), take.p_world_body)
    carried = Take(take.names, take.time, turn @ take.R_world_body, place)
    [finding] = described(carried, infer_structure(carried))["tree-not-determined"]
    assert finding.text.startswith("the bodies turn in the room, but hardly against one another")


def test_bodies_that_turn_about_no_shared_point_are_not_told_to_move(rng) -> None:
    time, speed, begin = np.arange(600) / 30, rng.uniform(1, 4, (2, 4, 3)), rng.uniform(0, 6, (2, 4, 3))
    turn, place = np.sin(time[:, None, None, None] * speed + begin).transpose(1, 0, 2, 3)
    take = Take(tuple("abcd"), time, rotation.from_vector(0.5 * turn), 0.4 * place)
    structure = infer_structure(take)
    assert not structure.determined
    [finding] = described(take, structure)["tree-not-determined"]
    assert "limbs between them wore no sensor" in finding.text


@pytest.mark.parametrize(("residual_ratio", "text"), [(1.0, "noise hides"), (10.0, "like two bodies with something")])
def test_an_edge_in_doubt_comes_apart_or_is_hidden_by_noise(
    world: World, structure: Structure, residual_ratio: float, text: str
) -> None:
    edge = int(structure.tree.edges[0])
    fits = replace(structure.fits, residual=structure.fits.residual * residual_ratio)
    support = dict.fromkeys(structure.tree.edges.tolist(), EdgeSupport(SURE_SUPPORT, ()))
    support[edge] = EdgeSupport(0.9, ())
    [finding] = described(world.take, replace(structure, fits=fits), support=support)["rivals"]
    assert text in finding.text


def test_an_edge_that_names_have_against_the_motion_is_not_said_to_need_more_motion(
    world: World, structure: Structure
) -> None:
    edge, pairs = int(structure.tree.edges[0]), structure.fits.pairs
    rival = next(k for k in range(len(pairs)) if k not in structure.tree.edges)
    support = dict.fromkeys(structure.tree.edges.tolist(), EdgeSupport(SURE_SUPPORT, ()))
    support[edge] = EdgeSupport(0.9, (rival,), rival)
    [finding] = described(world.take, structure, support=support)["rivals"]
    names = " - ".join(world.take.names[k] for k in pairs[rival])
    assert f"the motion for {names}; look whether sensors or names are exchanged" in finding.text
    assert "move these joints" not in finding.text


def test_kinds_of_joints_are_told_with_what_to_do() -> None:
    quiet = Disturbances(position_noise=0.002, orientation_noise=0.003)
    stiff = codes(simulate(chain(("ball", "hinge", "rigid")), "exercise", seconds=15, seed=2, disturbances=quiet).take)
    assert "condyle scale" in stiff["rigid-pair"].text
    assert "twist it" in stiff["one-axis-only"].text
    free = codes(simulate(chain(("ball", "hinge", "ball")), "exercise", seconds=15, seed=4, disturbances=quiet).take)
    told = free.get("hinge", free.get("one-axis-only"))
    assert told is not None
    assert set(told.bodies) == {"link1", "link2"}


def test_outliers_are_blamed_on_their_sensor() -> None:
    spiky = replace(NOISE, spikes={"l_forearm": 0.05})
    take = simulate(linkage(), "exercise", seconds=12, seed=3, disturbances=spiky).take
    told = [one for one in condyle.fit(take).skeleton.findings if one.code == "outliers"]
    assert [one.bodies for one in told] == [("l_forearm",)]
    assert told[0].severity == "warning"
    assert told[0].value == pytest.approx(0.05, abs=0.02)


def test_a_joint_that_comes_apart_is_a_large_residual() -> None:
    take = simulate(linkage(), "exercise", seconds=12, seed=3, disturbances=NOISE).take
    p = take.p_world_body.copy()
    head = take.index("head")
    p[:, head] += 0.03 * np.sin(np.arange(take.frames)[:, None] * [0.09, 0.13, 0.21])  # as under a loose cap
    told = codes(Take(take.names, take.time, take.R_world_body, p), prepare=False)["large-residual"]
    assert "head" in told.bodies
    assert told.value == pytest.approx(0.037, abs=0.005)


@pytest.mark.parametrize("seconds", [0.5, 2.0])
def test_noise_that_is_correlated_in_time_is_no_large_residual_and_a_loose_joint_beside_it_is(seconds: float) -> None:
    slow = Disturbances(position_noise=0.006, orientation_noise=np.radians(0.6), correlation_time=seconds)
    take = simulate(human(), "exercise", seconds=20, seed=3, disturbances=slow).take
    assert "large-residual" not in codes(take)
    rng, k = np.random.default_rng(4), take.index("l_hand")
    loose = take.p_world_body.copy()
    loose[:, k] += np.cumsum(0.01 * rng.standard_normal((take.frames, 3)), axis=0)
    told = codes(replace(take, p_world_body=loose), tree=[("l_forearm", "l_hand")], fix=(), no_fix="slips")
    assert set(told["large-residual"].bodies) == {"l_hand", "l_forearm"}


@pytest.mark.costly
def test_skin_is_told_as_before() -> None:
    soft = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15), soft_tissue=0.01)
    assert "large-residual" in codes(simulate(human(), "exercise", seconds=20, seed=3, disturbances=soft).take)


def test_outliers_in_the_last_digits_of_exact_numbers_are_not_told(rng: np.random.Generator) -> None:
    take = simulate(linkage(), "exercise", seconds=12, seed=3).take
    for size, told in ((1e-6, False), (0.05, True)):
        p = take.p_world_body + 1e-7 * rng.standard_normal(take.p_world_body.shape)
        p[100:110, 2] += size * rng.standard_normal((10, 3))
        found = codes(replace(take, p_world_body=p), intervals=False)
        assert ("outliers" in found) == told


def test_15_percent_of_missing_poses_are_told_and_25_are_a_warning(world: World) -> None:
    take = world.take
    hidden = np.zeros((take.frames, take.bodies), bool)
    hidden[: int(0.15 * take.frames), 1] = True
    hidden[: int(0.25 * take.frames), 2] = True
    assert [one.severity for one in describe_take(take.mask(hidden))] == ["info", "warning"]


def test_three_edges_of_a_files_own_hierarchy_are_named_and_the_rest_is_counted() -> None:
    names = ("a", "b", "c", "d", "e", "f")
    own = [("a", name) for name in names[1:]]
    chain_pairs = np.array([[1, 0], [2, 1], [3, 2], [4, 3], [5, 4]])
    [told] = describe_own_tree(own, chain_pairs, names)
    assert "4 of the 5 edges" in told.text
    assert "were not found: a - c, a - d, a - e and 1 more; take it" in told.text


def test_a_joint_comes_apart_from_a_thirtieth_of_its_size_or_a_tenth_where_the_noise_is_not_known(world: World) -> None:
    one = fit_tree(world.take, [], FitOptions(), ROBUST)
    solved = Solved(one.solution, one.fits, one.sums)
    joints, solution, _, motion, _ = locate_joints(world.take, one.structure, solved, None, {}, ())
    unknown = replace(one.structure, noise=Noise(*np.zeros((2, world.take.bodies))))
    size = float(motion.size[0])
    for structure, share, told in ((one.structure, 0.025, False), (one.structure, 0.08, True),
                                   (unknown, 0.08, False), (unknown, 0.12, True)):  # fmt: skip
        loose = [replace(joints[0], residual=share * size), *joints[1:]]
        found = describe_joints(world.take, loose, solution, structure, motion, None)
        assert ("large-residual" in {finding.code for finding in found if joints[0].child in finding.bodies}) == told


def test_a_gap_follows_its_angle_from_a_seventh_of_what_the_noise_explains(world: World) -> None:
    one = fit_tree(world.take, [], FitOptions(), ROBUST)
    solved = Solved(one.solution, one.fits, one.sums)
    joints, solution, _, motion, _ = locate_joints(world.take, one.structure, solved, None, {}, ())
    none = np.zeros((6 * len(joints), 6 * len(joints)))
    loud = Noise(np.full(world.take.bodies, 0.05), np.zeros(world.take.bodies))
    noise = float(np.sqrt(3 * loud.gap_variance(*solution.joints)[0]))
    wide = [replace(joints[0], residual=noise), *joints[1:]]
    for share, told in ((0.12, False), (0.2, True)):
        effect = np.zeros((len(joints), 2))
        effect[0, 0] = share * noise
        sure = Uncertainty(none, none, np.zeros(len(joints), dtype=bool), effect)
        found = describe_joints(world.take, wide, solution, replace(one.structure, noise=loud), motion, sure)
        assert ("follows-angle" in {finding.code for finding in found}) == told


def test_joined_sensors_are_5_mm_to_3_m_apart(world: World, structure: Structure) -> None:
    for size, told in ((0.004, True), (0.006, False), (2.9, False), (3.1, True)):
        sized = replace(structure.motion, size=np.full_like(structure.motion.size, size))
        assert ("implausible-size" in described(world.take, replace(structure, motion=sized))) == told
        once = world.take.with_findings([Finding("implausible-size", "warning", "read so")])
        assert "implausible-size" not in described(once, replace(structure, motion=sized))  # of the take it is told
