"""From all pairs to a figure: right trees, loose things left loose, and no tree where nothing tells one."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import condyle
from condyle.estimate import structure
from condyle.estimate.structure import Structure, _same_point, find_plain_hinges, infer_structure
from condyle.estimate.support import measure_support
from condyle.maths import rotation
from condyle.maths.graph import choose_root, spanning_tree
from condyle.model.take import Take
from condyle.pairs.fits import fit_pairs, refine_pairs
from condyle.pairs.noise import Noise
from condyle.pairs.sums import sum_pairs
from condyle.prepare.dropouts import prepare
from condyle.simulate import (
    Disturbances,
    SimulatedFigure,
    World,
    chain,
    human,
    linkage,
    prop,
    rod,
    simulate,
    together,
)
from tests.make.pairs import made_up
from tests.oracle.worlds import (
    common_point,
    crank_rocker,
    four_bars,
    moved,
    noisy,
    resting,
    sliding,
    squat,
    take_of,
    wander,
)

POSITION_M, ORIENTATION_RAD = 0.003, np.radians(0.3)
NOISE = Disturbances(position_noise=POSITION_M, orientation_noise=ORIENTATION_RAD)
LOCATED_M = 0.003  # error of a loop joint's place at this noise
EXACT_M = 1e-9


def edges_of(take: Take, structure: Structure, rows=None) -> set[frozenset[str]]:
    rows = structure.tree.edges if rows is None else np.asarray(rows, np.int64)
    return {frozenset((take.names[i], take.names[j])) for i, j in structure.fits.pairs[rows]}


def plain_edges(take: Take) -> set[frozenset[str]]:
    """The lightest spanning tree of the residuals and nothing else."""
    fits = fit_pairs(sum_pairs(take))
    chosen = spanning_tree(take.bodies, fits.pairs, fits.residual, take.names)
    return {frozenset((take.names[i], take.names[j])) for i, j in fits.pairs[chosen]}


def true_edges(world: World) -> set[frozenset[str]]:
    return {frozenset(edge) for edge in world.truth.edges}


@pytest.mark.parametrize("step", [2, 4, 8])
def test_sensors_of_a_fraction_of_the_rate_keep_their_joints(step) -> None:
    world = simulate(human(), "exercise", seconds=30, rate=60, seed=4, disturbances=NOISE)
    slow = [world.take.index(name) for name in ("l_upper_arm", "l_forearm", "r_foot")]
    lost = np.zeros((world.take.frames, world.take.bodies), dtype=bool)
    lost[:, slow] = (np.arange(world.take.frames) % step != 0)[:, None]
    take = world.take.mask(lost)
    assert edges_of(take, infer_structure(take)) == true_edges(world)


@pytest.mark.parametrize(("seconds", "rate", "step", "slow"), [(20, 240, 8, [5]), (40, 100, 2, range(0, 15, 2))])
def test_whatever_frame_a_slower_sensor_begins_in_nothing_else_is_told_of_it(seconds, rate, step, slow) -> None:
    """All its poses were outliers, or its joints came apart, where every so-manieth frame had none of them."""
    world = simulate(human(), "exercise", seconds=seconds, rate=rate, seed=1, disturbances=NOISE)
    for first in (0, 1):
        lost = np.zeros(world.take.seen.shape, dtype=bool)
        lost[:, slow] = (np.arange(world.take.frames) % step != first)[:, None]
        found = condyle.fit(world.take.mask(lost), intervals=False).skeleton
        assert {frozenset(edge) for edge in found.edges} == true_edges(world)
        told = {one.code for one in found.findings if one.severity != "info" or one.code == "universal-joint"}
        assert not told - {"wide-interval"}


@pytest.mark.parametrize("paper", [True, False], ids=["plain", "default"])
@pytest.mark.parametrize("figure", [human(), linkage()], ids=["human", "linkage"])
@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_the_tree_is_right_on_clean_data(figure, motion, paper) -> None:
    world = simulate(figure, motion, seconds=10, seed=6)
    found = infer_structure(world.take, paper=paper)
    assert edges_of(world.take, found) == true_edges(world)
    assert found.determined
    assert len(found.apart) == len(found.loops) == len(found.tied) == 0


@pytest.mark.parametrize(("wobble", "seed"), [(0.04, 0), (0.04, 1), (0.04, 2), (0.05, 3), (0.05, 5)])
def test_a_wobbling_pelvis_misleads_the_plain_tree_only(wobble, seed) -> None:
    shaken = replace(NOISE, pelvis_wobble=wobble)
    world = simulate(human(), "walk", seconds=15, seed=seed, range=0.5, disturbances=shaken)
    assert plain_edges(world.take) != true_edges(world)
    assert edges_of(world.take, infer_structure(world.take)) == true_edges(world)


@pytest.mark.parametrize(("motion", "seed"), [("exercise", 0), ("exercise", 1), ("walk", 1)])
def test_spikes_and_bursts_do_not_mislead(motion, seed) -> None:
    world = simulate(human(), motion, seconds=20, seed=seed, disturbances=replace(NOISE, spikes=0.05, bursts=0.05))
    found = infer_structure(world.take)
    assert edges_of(world.take, found) == true_edges(world)
    spoilt = world.truth.spiked | world.truth.burst
    assert found.good[~spoilt].mean() > 0.95
    assert found.good[world.truth.spiked].mean() < 0.2


def test_spikes_make_no_loop_joint() -> None:
    for seed in range(2, 5):
        world = simulate(human(), "walk", seconds=15, seed=seed, disturbances=replace(NOISE, spikes=0.05))
        assert len(infer_structure(world.take).loops) == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_a_fifth_of_stale_samples_does_not_mislead_on_exercise(seed) -> None:
    world = simulate(human(), "exercise", seed=seed, disturbances=replace(NOISE, stale=0.2))
    assert plain_edges(world.take) != true_edges(world)
    assert edges_of(world.take, infer_structure(world.take)) == true_edges(world)


def test_a_fifth_of_stale_samples_does_not_mislead_on_a_walk_once_it_is_prepared() -> None:
    world = simulate(human(), "walk", seed=1, disturbances=replace(NOISE, stale=0.2))
    take = prepare(world.take)
    assert edges_of(take, infer_structure(take)) == true_edges(world)


@pytest.mark.parametrize(("motion", "seed", "run"), [("walk", 0, 0.5), ("walk", 4, 0.05), ("exercise", 3, 0.5)])
def test_a_fifth_of_missing_samples_does_not_mislead(motion, seed, run) -> None:
    gaps = replace(NOISE, missing=0.2, missing_run=run)
    world = simulate(human(), motion, seconds=20, seed=seed, disturbances=gaps)
    assert edges_of(world.take, infer_structure(world.take)) == true_edges(world)


def test_a_few_missing_samples_do_not_mislead() -> None:
    world = simulate(human(), "walk", seconds=20, seed=3, disturbances=replace(NOISE, missing=0.05))
    assert edges_of(world.take, infer_structure(world.take)) == true_edges(world)


@pytest.mark.parametrize("still", [300, 1200])
def test_a_body_that_was_seen_only_at_rest_is_loose_and_takes_no_tree_from_the_others(rng, still) -> None:
    """Two bodies that rest fit each other whatever they are: a sensor lost as the motion began was joined to all."""
    take = simulate(human(), "walk", seconds=10, rate=60, seed=1, disturbances=NOISE).take
    rows = np.concatenate([np.zeros(still, dtype=int), np.arange(take.frames)])
    p = take.p_world_body[rows] + 0.0005 * rng.standard_normal((len(rows), take.bodies, 3))
    k = take.index("chest")
    p[still:, k] = np.nan
    both = Take(take.names, np.arange(len(rows)) / 60, take.R_world_body[rows], p)
    structure = infer_structure(both)
    assert structure.determined
    assert structure.loose == [k]
    assert frozenset(("l_thigh", "l_shank")) in edges_of(both, structure)


def two_walkers(seconds: float, seed: int, apart: float) -> World:
    """Two people at once; `apart` [m] moves the second, who walks round the same place as the first at 0."""
    first, second = (simulate(human(), "walk", seconds=seconds, seed=seed + k, disturbances=NOISE) for k in (0, 100))
    if apart:
        away = moved(second.take, rotation.from_vector([0, 0, 1.0]), np.array([apart, 0.3 * apart, 0]))
        second = replace(second, take=away)
    return together([first, second])


@pytest.mark.parametrize("seed", [0, 2])
def test_two_people_and_a_ball_are_three_figures(seed) -> None:
    people = two_walkers(15, seed, apart=2.0)
    world = together([people, prop("ball", seconds=15, seed=seed, disturbances=NOISE)], ["", ""])
    found = infer_structure(world.take)
    assert edges_of(world.take, found) == true_edges(world)
    assert found.determined
    assert len(found.apart) == 2
    assert [world.take.names[k] for k in found.loose] == ["ball"]


@pytest.mark.parametrize(("seconds", "seed"), [(20, 2), (45, 4)])
def test_two_people_who_circle_one_place_are_two_figures(seconds, seed) -> None:
    world = two_walkers(seconds, seed, apart=0.0)
    assert edges_of(world.take, infer_structure(world.take)) == true_edges(world)


@pytest.mark.costly
def test_a_loose_thing_is_not_glued_to_a_person() -> None:
    for seed in range(3):
        person = simulate(human(), "exercise", seconds=15, seed=seed, disturbances=NOISE)
        world = together([person, prop(seconds=15, seed=seed, disturbances=NOISE)], ["", ""])
        found = infer_structure(world.take)
        assert edges_of(world.take, found) == true_edges(world)
        assert [world.take.names[k] for k in found.loose] == ["prop"]


@pytest.mark.parametrize(
    ("roll", "share", "right"),
    [(0.0, 0.3, 4), (0.5, 1.0, 3), (2.0, 1.0, 4)],
    ids=["still and optical", "hardly rolling", "rolling"],
)
def test_planted_feet_hang_on_their_legs_and_not_on_each_other(rng, roll, share, right) -> None:
    """Feet roll on their soles by `roll` degrees; of four takes `right` are told, and none is told wrongly."""
    told = 0
    for _ in range(4):
        take, true = squat(rng, roll=np.radians(roll))
        take = noisy(take, rng, share * POSITION_M, share * ORIENTATION_RAD)
        found = infer_structure(take)
        assert not found.determined or edges_of(take, found) == true
        told += found.determined
    assert told >= right


def test_the_plain_tree_joins_planted_feet_to_each_other(rng) -> None:
    for _ in range(3):
        take = noisy(squat(rng)[0], rng, POSITION_M, ORIENTATION_RAD)
        assert frozenset(("l_foot", "r_foot")) in plain_edges(take)
        assert frozenset(("l_foot", "r_foot")) not in edges_of(take, infer_structure(take))


def test_feet_that_do_not_move_at_all_are_not_joined_on_exact_data_either() -> None:
    for seed in range(6):
        take, _ = squat(np.random.default_rng(seed))
        assert frozenset(("l_foot", "r_foot")) not in edges_of(take, infer_structure(take))


def test_a_hinge_that_closes_a_loop_may_come_apart_by_as_much_as_its_levers_make_of_noise() -> None:
    """Half a metre from its sensors a hinge comes apart by twice as much as one beside them."""
    for seed in range(4):
        rng = np.random.default_rng([seed, 5])
        take, hinges = crank_rocker(rng)
        take = noisy(take, rng, 0.0005, np.radians(0.1))
        found = infer_structure(take)
        assert len(found.loops) == 1
        assert edges_of(take, found) | edges_of(take, found, found.loops) == hinges


@pytest.mark.parametrize("noise", [0.0, 1.0], ids=["exact", "noisy"])
def test_a_ring_of_four_bars_has_one_loop_joint_and_it_is_located(noise) -> None:
    for seed in range(3):
        rng = np.random.default_rng([seed, 4])
        take, places = four_bars(rng)
        take = noisy(take, rng, noise * 0.002, noise * ORIENTATION_RAD)
        found = infer_structure(take)
        assert len(found.tree.edges) == 3
        assert len(found.loops) == 1
        assert edges_of(take, found) | edges_of(take, found, found.loops) == set(places)
        fits = refine_pairs(take, found.fits)
        k = int(found.loops[0])
        child = int(fits.pairs[k, 0])
        p_world_joint = take.p_world_body[:, child] + take.R_world_body[:, child] @ fits.p_child_joint[k]
        place = places[frozenset(take.names[b] for b in fits.pairs[k])]
        assert np.linalg.norm(p_world_joint - place, axis=1).mean() < (4 * LOCATED_M if noise else EXACT_M)


@pytest.mark.parametrize("noise", [0.0, 1.0], ids=["exact", "noisy"])
def test_bodies_that_share_one_point_are_reported_as_tied(noise) -> None:
    for seed in range(3):
        rng = np.random.default_rng([seed, 3])
        take = noisy(common_point(rng), rng, noise * 0.002, noise * ORIENTATION_RAD)
        found = infer_structure(take)
        edges = edges_of(take, found)
        assert len(edges) == 3
        assert frozenset(("right", "tip")) in edges
        assert len(found.tied) == 2  # of three edges two are in the tree, and each may be the third
        in_the_tree, other = (edges_of(take, found, [row]) for row in found.tied[0])
        assert in_the_tree < edges
        assert in_the_tree | other < {frozenset(x) for x in (("hub", "left"), ("hub", "right"), ("left", "right"))}
        assert len(found.loops) == 0


@pytest.mark.parametrize("disturbances", [Disturbances(), NOISE], ids=["exact", "noisy"])
def test_nothing_that_moves_means_no_tree(disturbances) -> None:
    take = simulate(linkage(), "still", seconds=10, seed=1, disturbances=disturbances).take
    found = infer_structure(take)
    assert not found.determined
    assert len(found.tree.edges) == len(found.loops) == len(found.tied) == 0
    assert len(found.apart) == 5
    assert len(found.loose) == 6


def test_a_figure_carried_about_stiffly_is_no_tree_either() -> None:
    one = rod(seconds=15, seed=2, disturbances=NOISE).take
    R, p = one.R_world_body[:, 0], one.p_world_body[:, 0]
    rng = np.random.default_rng(3)
    offsets = rng.uniform(-0.3, 0.3, (4, 3))
    stiff = Take(tuple("abcd"), one.time, np.repeat(R[:, None], 4, axis=1), np.stack([p + R @ x for x in offsets], 1))
    assert not infer_structure(noisy(stiff, rng, POSITION_M, ORIENTATION_RAD)).determined


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(0.0, id="exact"),
        pytest.param(
            1.0,
            id="noisy",
        ),
    ],
)
def test_a_pair_that_only_slides_is_no_joint(rng, noise) -> None:
    take = noisy(sliding(rng), rng, noise * POSITION_M, noise * ORIENTATION_RAD)
    assert len(infer_structure(take).tree.edges) == 0


def test_two_bodies_at_rest_are_no_joint(rng) -> None:
    for shaken in (resting(rng), noisy(resting(rng), rng, POSITION_M, ORIENTATION_RAD)):
        found = infer_structure(shaken)
        assert len(found.tree.edges) == 0
        assert not found.determined


def test_a_slider_on_a_figure_is_set_apart(rng) -> None:
    """A body that shifts along a bone without turning against it."""
    for seed in range(3):
        world = simulate(linkage(), "walk", seconds=15, seed=seed, disturbances=NOISE)
        take, k = world.take, world.take.index("l_forearm")
        R, n = take.R_world_body[:, k], take.frames
        shift = 0.15 * wander(rng, n, 3, rate=30) + [0.3, 0, 0]
        p = take.p_world_body[:, k] + np.einsum("nij,nj->ni", R, shift)
        more = Take(
            (*take.names, "slider"),
            take.time,
            np.concatenate([take.R_world_body, R[:, None]], axis=1),
            np.concatenate([take.p_world_body, p[:, None]], axis=1),
        )
        found = infer_structure(more)
        assert edges_of(more, found) == true_edges(world)
        assert "slider" in set().union(*edges_of(more, found, list(found.apart)))
        assert set(found.apart.values()) == {"not-rotary"}


def test_a_door_is_joined_to_the_room(rng) -> None:
    n = 400
    R = rotation.from_vector(0.7 * wander(rng, n, 1) * [0.0, 0, 1]) @ rotation.random(rng)
    door = noisy(take_of(["door"], [R], [np.ones(3) - R @ [0.2, 0.1, 0.3]]), rng, POSITION_M, ORIENTATION_RAD)
    room = take_of(["world"], [np.tile(np.eye(3), (n, 1, 1))], [np.zeros((n, 3))])
    take = Take(
        ("door", "world"),
        door.time,
        np.concatenate([door.R_world_body, room.R_world_body], axis=1),
        np.concatenate([door.p_world_body, room.p_world_body], axis=1),
    )
    found = infer_structure(take, still_world=1)
    assert found.determined
    assert edges_of(take, found) == {frozenset(("door", "world"))}


def test_two_sensors_on_one_bone_are_joined() -> None:
    for seed in range(3):
        world = simulate(chain(("ball", "rigid", "ball")), "walk", seconds=15, seed=seed, disturbances=NOISE)
        edges = edges_of(world.take, infer_structure(world.take))
        assert len(edges) == 3
        assert frozenset(("link1", "link2")) in edges


def test_joints_of_a_slower_sensor_are_points_of_their_own() -> None:
    take = simulate(linkage(), "exercise", seconds=26.58, rate=30, seed=1, disturbances=NOISE).take
    assert (take.frames - 1) / 199 == 4  # of 200 frames evenly spread none is the slower sensor's
    phase = np.arange(take.frames) % 4
    for apart in (False, True):
        gone = np.zeros(take.seen.shape, dtype=bool)
        gone[phase != 2, 3] = True
        gone[phase == 2, 0] = apart  # never seen with it
        found = infer_structure(take.mask(gone))
        pairs, edges = found.fits.pairs, found.tree.edges.tolist()
        assert not found.tied
        for a in (edge for edge in edges if 3 in pairs[edge]):
            for b in (edge for edge in edges if edge != a):
                assert not _same_point(found.rows.take, found.fits, found.motion, a, b)


def test_rounding_chooses_no_edge_of_the_plain_tree() -> None:
    take = simulate(human(), seconds=5, rate=30, seed=1).take
    doubled = [take.index(name) for name in ("chest", "l_forearm", "r_forearm", "l_thigh")]
    R, p = take.R_world_body, take.p_world_body
    place = rotation.from_vector([0.3, 0.1, 0.2]), np.array([0.05, 0.02, 0.03])
    R = np.concatenate([R, R[:, doubled] @ place[0]], axis=1)
    p = np.concatenate([p, p[:, doubled] + take.R_world_body[:, doubled] @ place[1]], axis=1)
    names = (*take.names, *(f"{take.names[k]}2" for k in doubled))
    found = set()
    for seed in range(4):  # as other processors compute
        last = [1 + 2.0**-52 * np.random.default_rng(seed).integers(-1, 2, one.shape) for one in (R, p)]
        exact = Take(names, take.time, R * last[0], p * last[1])
        found.add(frozenset(edges_of(exact, infer_structure(exact, paper=True))))
    assert len(found) == 1


@pytest.mark.parametrize("seed", range(3))
def test_two_sensors_beside_a_hinge_are_on_one_body(seed: int) -> None:
    # Both turn about its axis, exactly, so that motion alone would as well have two hinges and no pair.
    places = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -0.1], [0.0, 0.0, -0.15]])
    axis = np.array([[np.nan] * 3, [np.nan] * 3, [0.0, 1.0, 0.0]])
    figure = SimulatedFigure(("a1", "a2", "b"), np.array([-1, 0, 0]), places, ("ball", "rigid", "hinge"), axis)
    take = simulate(figure, seconds=10, seed=seed).take
    found = infer_structure(take)
    assert frozenset(("a1", "a2")) in edges_of(take, found)
    # Which of the two the hinge is at cannot be told.
    assert all(one.support < 0.95 for one in measure_support(take, found).values())


@pytest.mark.parametrize(
    "paper",
    [
        pytest.param(False, id="default"),
        pytest.param(
            True,
            id="plain",
        ),
    ],
)
def test_given_edges_are_kept_whatever_they_fit_like(paper) -> None:
    world = simulate(linkage(), "walk", seconds=10, seed=1, disturbances=NOISE)
    head, forearm = world.take.index("head"), world.take.index("r_forearm")
    edges = edges_of(world.take, infer_structure(world.take, fixed=[(forearm, head)], paper=paper))
    assert frozenset(("head", "r_forearm")) in edges
    assert len(edges) == 5
    assert len(edges & true_edges(world)) == 4


def test_a_given_tree_is_the_tree_even_of_a_take_in_which_nothing_moves() -> None:
    world = simulate(linkage(), "still", seconds=5, seed=1, disturbances=NOISE)
    given = [(k, int(up)) for k, up in enumerate(world.truth.parent) if up >= 0]
    found = infer_structure(world.take, fixed=given)
    assert found.determined
    assert edges_of(world.take, found) == true_edges(world)


@pytest.mark.parametrize("seconds", [0.1, 0.5])
def test_a_very_short_take_gives_an_answer(seconds) -> None:
    found = infer_structure(simulate(linkage(), "walk", seconds=seconds, seed=1, disturbances=NOISE).take)
    assert len(found.tree.edges) + len(found.apart) == 5


def test_one_frame_determines_nothing() -> None:
    found = infer_structure(simulate(linkage(), "walk", seconds=1, seed=1).take.slice(0, 1))
    assert not found.determined
    assert len(found.tree.edges) == 0


def test_a_body_that_is_never_seen_is_loose() -> None:
    world = simulate(linkage(), "walk", seconds=8, seed=1, disturbances=NOISE)
    hidden = np.zeros((world.take.frames, 6), bool)
    hidden[:, world.take.index("head")] = True
    found = infer_structure(world.take.mask(hidden))
    assert edges_of(world.take, found) == true_edges(world) - {frozenset(("chest", "head"))}
    assert found.loose == [world.take.index("head")]


@pytest.mark.parametrize("case", ["one body", "no frames", "nothing seen"])
def test_a_take_without_pairs_has_no_tree(case) -> None:
    take = simulate(linkage(), "walk", seconds=2, seed=1).take
    if case == "one body":
        take = take.select(["head"])
    elif case == "no frames":
        take = take.slice(0, 0)
    else:
        take = take.mask(np.ones((take.frames, 6), bool))
    found = infer_structure(take)
    assert not found.determined
    assert len(found.tree.edges) == 0


def test_tree_and_root_do_not_depend_on_the_order_of_the_bodies(rng) -> None:
    world = simulate(human(), "walk", seconds=10, seed=8, disturbances=NOISE)
    roots = set()
    for _ in range(3):
        take = world.take.select(rng.permutation(world.take.names))
        found = infer_structure(take)
        assert edges_of(take, found) == true_edges(world)
        speed = np.linalg.norm(np.diff(take.p_world_body, axis=0), axis=2).mean(axis=0)
        edges = found.fits.pairs[found.tree.edges]
        roots.add(take.names[choose_root(range(15), edges, speed, take.names)])
    assert roots == {"pelvis"}


# ---- rules by themselves, on either side of what they ask


def test_a_plain_hinge_turns_about_one_axis_near_its_sensors_for_a_second_and_a_half() -> None:
    noise = Noise(np.full(2, 0.01), np.full(2, 1e-4))
    untimed = Take.from_poses(np.zeros((2, 2, 3)), R_world_body=np.tile(np.eye(3), (2, 2, 1, 1)), names=["a", "b"])

    def plain(
        reach: float = 0.1, seconds: float = 30.0, across: float = 0.0, main_deg: float = 20.0, between: float = np.nan
    ) -> bool:
        motion, fits = made_up([main_deg], [9.0])
        off = (across * motion.main[0]) ** 2 / 2
        motion = replace(motion, seconds=np.full(1, seconds), spread=motion.spread + [off, 0.0, 0.0])
        fits = replace(fits, p_child_joint=np.array([[reach, 0.0, 0.0]]))
        return bool(find_plain_hinges(untimed, fits, motion, noise, np.array([between]))[0])

    assert plain()
    assert plain(reach=4.9 * 0.5)
    assert not plain(reach=5.1 * 0.5)  # of the sensors' distance
    assert plain(seconds=1.6)
    assert not plain(seconds=1.4)
    assert plain(across=0.028)
    assert not plain(across=0.032)
    assert not plain(main_deg=0.2)
    assert plain(between=0.0)
    assert not plain(between=1.0)  # a segment of a person


def test_axes_that_turn_one_after_the_other_for_a_second_each_are_hinges() -> None:
    """A robot whose axes are moved one by one: the take lasts, though each of its joints turns for a moment alone."""
    time, moves = np.arange(0, 6, 0.01), 5
    R, p = [np.tile(np.eye(3), (len(time), 1, 1))], [np.zeros((len(time), 3))]
    for k in range(moves):
        angle = np.radians(60) * np.clip(time - 0.2 - 1.1 * k, 0, 1)
        R.append(R[-1] @ rotation.from_vector(angle[:, None] * np.eye(3)[k % 3]))
        p.append(p[-1] + R[-1] @ [0.0, 0.0, 0.3])
    rng, shape = np.random.default_rng(1), (len(time), moves + 1, 3)
    turned = np.stack(R, axis=1) @ rotation.from_vector(0.0005 * rng.standard_normal(shape))
    take = Take(tuple("abcdef"), time, turned, np.stack(p, axis=1) + 0.0002 * rng.standard_normal(shape))
    skeleton = condyle.fit(take).skeleton
    assert {frozenset((one.child, one.parent)) for one in skeleton.joints} == {frozenset(x) for x in pairwise("abcdef")}


def test_bodies_that_were_worn_in_other_halves_of_a_motion_are_joined() -> None:
    take = simulate(human(), "exercise", seconds=40, rate=60, seed=1, disturbances=NOISE).take
    gone = np.zeros(take.seen.shape, dtype=bool)
    for k, name in enumerate(take.names):
        if name[2:] in ("thigh", "shank", "foot"):
            gone[1200:, k] = True
        elif name != "pelvis":
            gone[:1200, k] = True
    assert not infer_structure(take.mask(gone)).loose


def test_a_rest_around_a_single_step_adds_no_time_in_which_two_bodies_turn() -> None:
    time = np.arange(0, 8, 0.01)

    def lively(angle: np.ndarray) -> float:
        noisy = angle[:, None] * [0.0, 0.0, 1.0] + 0.002 * np.random.default_rng(1).standard_normal((len(time), 3))
        R = np.stack([np.tile(np.eye(3), (len(time), 1, 1)), rotation.from_vector(noisy)], axis=1)
        return structure._measure_lively_s(Take(("a", "b"), time, R, np.zeros((len(time), 2, 3))))

    assert 7 < lively(0.5 * np.sin(2 * np.pi * time)) < 9
    assert lively(0.6 * np.clip(time - 3.5, 0, 0.5)) < structure.PLAIN_HINGE_MIN_S


def test_motion_that_is_new_in_every_frame_is_not_taken_for_noise() -> None:
    world = simulate(human(), "walk", seconds=10, rate=12, seed=1, disturbances=Disturbances(0.002, 0.009))
    order = np.random.default_rng(1).permutation(world.take.frames)
    R, p = (poses[order] for poses in (world.take.R_world_body, world.take.p_world_body))
    found = infer_structure(replace(world.take, R_world_body=R, p_world_body=p))
    assert np.median(found.rows.noise.orientation) > 30 * 0.009
    assert np.median(found.noise.orientation) < 3 * 0.009


# m: hips of people who run on a treadmill sway by 0.03
@pytest.mark.parametrize(("sway", "joined"), [(0.0, True), (0.02, False)])
def test_a_body_that_turns_about_a_place_that_sways_is_not_joined_to_the_room(sway: float, joined: bool) -> None:
    d = Disturbances(position_noise=0.001, orientation_noise=0.002)
    take = simulate(linkage(), "exercise", seconds=20, seed=6, disturbances=d).take
    place = take.p_world_body[:, 0] + take.R_world_body[:, 0] @ [0.4, 0.0, 0.3]
    place = place - sway * np.sin(take.time[:, None] * [5.0, 7.0, 11.0])
    fitted = condyle.fit(replace(take, p_world_body=take.p_world_body - place[:, None]), world=True, intervals=False)
    assert any("world" in (joint.child, joint.parent) for joint in fitted.skeleton.joints) is joined


def test_edges_are_exchanged_before_any_rival_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    world = simulate(human(), "walk", seconds=15, seed=1, range=0.5, disturbances=replace(NOISE, pelvis_wobble=0.04))
    sums = sum_pairs(world.take)
    fits = fit_pairs(sums)
    plain = spanning_tree(world.take.bodies, fits.pairs, fits.residual, world.take.names)
    monkeypatch.setattr(structure, "try_rivals", lambda part, sums, fits, tree, *_: (tree, False, structure.Trials()))
    tree, _, _ = structure._search(world.take, sums, fits, plain, (), np.zeros(len(fits.pairs)))
    names = np.array(world.take.names)
    assert {frozenset(pair) for pair in names[fits.pairs[plain]].tolist()} != true_edges(world)
    assert {frozenset(pair) for pair in names[fits.pairs[tree.edges]].tolist()} == true_edges(world)
