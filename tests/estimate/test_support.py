"""How sure an edge is: what beats it, what holds it down, and what names say."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import special

import condyle
from condyle.estimate import support
from condyle.estimate.apart import measure_unexplained_share
from condyle.estimate.handicaps import is_half_named
from condyle.estimate.structure import Structure, infer_structure
from condyle.estimate.support import (
    DOUBTED_SUPPORT,
    SURE_SD,
    EdgeSupport,
    measure_support,
)
from condyle.maths.rotation import from_vector
from condyle.model.skeleton import SURE_SUPPORT
from condyle.model.take import OwnSkeleton, Take
from condyle.pairs.noise import Noise
from condyle.simulate import Disturbances, World, chain, human, linkage, simulate, together
from tests.oracle.worlds import moved, wander

NOISE = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3))


def nameless(take: Take) -> Take:
    return replace(take, names=tuple(f"s{k}" for k in range(take.bodies)))


def supports(take: Take, structure: Structure | None = None) -> dict[frozenset[str], EdgeSupport]:
    found = infer_structure(take) if structure is None else structure
    pairs = found.fits.pairs
    return {
        frozenset(take.names[k] for k in pairs[edge]): support for edge, support in measure_support(take, found).items()
    }


def names_of(take: Take, structure: Structure, edge: int) -> set[str]:
    return {take.names[k] for k in structure.fits.pairs[edge]}


@pytest.fixture(scope="module")
def walk() -> World:
    return simulate(human(), "walk", seconds=20, seed=5, disturbances=NOISE)


def test_every_edge_of_a_clean_take_is_sure_without_names(walk: World) -> None:
    found = supports(nameless(walk.take))
    assert len(found) == 14
    assert min(one.support for one in found.values()) >= SURE_SUPPORT
    assert {one.rivals for one in found.values()} == {()}


def test_noise_that_grows_with_place_leaves_no_edge_in_question() -> None:
    grows = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.05), range_power=4.0)
    far = simulate(human(), "walk", seconds=20, seed=73006, disturbances=grows)
    assert min(one.support for one in supports(nameless(far.take)).values()) >= SURE_SUPPORT


def test_what_compared_the_trees_of_a_long_take_is_made_anew(walk: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before, frames = supports(walk.take), infer_structure(walk.take).rows.take.frames
    monkeypatch.setattr("condyle.estimate.structure.SEARCH_FRAMES", frames - 1)
    found = infer_structure(walk.take)
    assert found.search is None
    assert supports(walk.take, found) == before


def test_the_order_of_bodies_and_the_world_do_not_matter(walk: World) -> None:
    order = np.random.default_rng(3).permutation(15)
    turned = moved(walk.take, from_vector([0.3, -0.2, 1.0]), np.array([3.0, 1.0, -2.0]))
    before, after = supports(nameless(walk.take)), supports(nameless(turned).select([f"s{k}" for k in order]))
    assert before.keys() == after.keys()
    for edge, one in before.items():
        assert after[edge].support == pytest.approx(one.support, abs=1e-6)


def test_a_pair_that_fits_as_well_takes_the_support_away() -> None:
    """Three bodies that meet in one point: which of them are joined cannot be told."""
    rng = np.random.default_rng(1)
    n = 600
    R = np.stack([from_vector(0.6 * wander(rng, n, 3)) for _ in range(3)], axis=1)
    centre = np.cumsum(0.01 * rng.standard_normal((n, 3)), axis=0)
    p = centre[:, None] + np.einsum("nmij,mj->nmi", R, 0.3 * np.eye(3))
    take = Take(("a", "b", "c"), np.arange(n) / 30, R, p + 0.001 * rng.standard_normal(p.shape))
    found = supports(take)
    assert len(found) == 2
    for one in found.values():
        assert one.support < SURE_SUPPORT
        assert len(one.rivals) == 1


def test_a_trial_that_a_rival_nearly_won_counts(walk: World) -> None:
    structure = infer_structure(walk.take)
    edge = int(structure.tree.edges[0])
    names = frozenset(walk.take.names[k] for k in structure.fits.pairs[edge])
    [other] = [k for k in range(len(structure.fits.pairs)) if k not in structure.tree.edges][:1]
    for gain, rivals in ((0.05, (other,)), (0.3, ())):
        found = supports(walk.take, replace(structure, trials={(edge, other): (gain, 0.0)}))[names]
        assert found.rivals == rivals
        assert (found.support >= SURE_SUPPORT) == (not rivals)


def test_two_bodies_that_stay_where_they_are_support_nothing(walk: World) -> None:
    structure = infer_structure(nameless(walk.take))
    edge = structure.tree.edges[0]
    a, b = structure.fits.pairs[edge]
    calm = np.isin(np.arange(15), [a, b])
    quiet = replace(structure, turn=np.where(calm, 0, structure.turn), drift=np.where(calm, 0, structure.drift))
    held = measure_support(walk.take, quiet)
    assert held[int(edge)].support == 0.5
    between = structure.between.copy()
    between[edge] = 0.0  # names that say that they are neighbours
    assert measure_support(walk.take, replace(quiet, between=between))[int(edge)].support >= SURE_SUPPORT
    between[edge] = 2.0
    assert measure_support(walk.take, replace(structure, between=between))[int(edge)].support == DOUBTED_SUPPORT


def test_two_people_who_hold_hands_throughout_are_in_question_or_two() -> None:
    first, second = (simulate(human(), "walk", seconds=15, seed=seed, disturbances=NOISE) for seed in (1, 2))
    hand, other = (w.take.p_world_body[:, w.take.index("l_hand")] for w in (first, second))
    second = replace(second, take=replace(second.take, p_world_body=second.take.p_world_body + (hand - other)[:, None]))
    both = together([first, second])
    named = infer_structure(both.take)
    assert "two-persons" in named.apart.values()
    assert sorted(map(len, named.figures)) == [15, 15]
    found = supports(nameless(both.take))
    [link] = [one for edge, one in found.items() if len({int(name[1:]) < 15 for name in edge}) == 2]
    assert link.support <= DOUBTED_SUPPORT


def test_bodies_between_which_something_is_not_worn_are_not_joined() -> None:
    take = simulate(human(), "walk", seconds=15, seed=4, disturbances=NOISE).take
    part = take.select([name for name in take.names if "thigh" not in name])
    found = infer_structure(part)
    assert "not-worn" in found.apart.values()
    edges = {frozenset(part.names[k] for k in pair) for pair in found.edges}
    assert frozenset(("pelvis", "l_shank")) not in edges
    assert frozenset(("l_shank", "l_foot")) in edges


def test_motion_overrules_names_that_were_exchanged_and_says_so(walk: World) -> None:
    exchanged = {"l_shank": "r_shank", "r_shank": "l_shank"}
    take = replace(walk.take, names=tuple(exchanged.get(name, name) for name in walk.take.names))
    found = supports(take)
    true = {frozenset(exchanged.get(name, name) for name in edge) for edge in walk.truth.edges}
    assert found.keys() == true
    assert found[frozenset(("l_thigh", "r_shank"))].support <= DOUBTED_SUPPORT


def test_names_that_contradict_the_motion_throughout_say_nothing(walk: World) -> None:
    order = np.random.default_rng(8).permutation(walk.take.bodies)
    mixed = replace(walk.take, names=tuple(walk.take.names[k] for k in order))
    named, plain = infer_structure(mixed), infer_structure(nameless(walk.take))
    assert np.isnan(named.between).all()
    assert named.edges.tolist() == plain.edges.tolist()


def test_an_edge_over_a_segment_that_nobody_wore_is_not_sure_without_names() -> None:
    skin = replace(NOISE, soft_tissue=0.005)
    take = simulate(human(), "walk", seconds=15, seed=4, disturbances=skin).take
    part = take.select([name for name in take.names if "shank" not in name])
    called = dict(zip(nameless(part).names, part.names, strict=True))
    found = {frozenset(called[name] for name in edge): one.support for edge, one in supports(nameless(part)).items()}
    over = [found[edge] for edge in map(frozenset, (("l_thigh", "l_foot"), ("r_thigh", "r_foot"))) if edge in found]
    assert all(support <= DOUBTED_SUPPORT for support in over)


def test_a_thing_that_a_person_leans_on_is_not_sure_to_be_joined() -> None:
    """A pelvis that has no human name, with 2 cm of skin at the thighs, is a chair as far as anyone can tell."""
    take = simulate(human(), "walk", seconds=15, seed=4, disturbances=replace(NOISE, soft_tissue=0.02)).take
    take = replace(take, names=tuple("chair" if name == "pelvis" else name for name in take.names))
    structure = infer_structure(take)
    half = structure.fits.pairs[is_half_named(structure.between, structure.fits.pairs)]
    assert len(half) == take.bodies - 1
    assert (half == take.index("chair")).any(axis=1).all()
    edges = structure.tree.edges
    left = measure_unexplained_share(structure.sums, structure.fits, edges)
    found = measure_support(take, structure)
    loose = [k for k, share in zip(edges, left, strict=True) if "chair" in names_of(take, structure, k) and share > 0.1]
    assert loose
    assert all(found[int(k)].support <= DOUBTED_SUPPORT for k in loose)


def test_bursts_of_bad_poses_put_no_edge_in_question() -> None:
    """Lone poses and runs of 0.3 s of every sensor that are off by decimetres, in an eighth of all frames."""
    noise = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15))
    spoilt = replace(noise, spikes=0.02, bursts=0.05)
    for seed in (60006, 60014):
        take = nameless(simulate(human(), "walk", seconds=45, seed=seed, disturbances=spoilt).take)
        joints = condyle.fit(take, intervals=False).skeleton.joints
        assert len(joints) == 14
        assert min(joint.support or 0.0 for joint in joints) >= SURE_SUPPORT
        assert min(one.support for one in supports(take).values()) < SURE_SUPPORT, "nothing was to be left out"


def test_sure_is_what_so_many_standard_errors_are() -> None:
    from math import erf, sqrt

    assert 0.5 * (1 + erf(SURE_SD / sqrt(2))) == pytest.approx(SURE_SUPPORT, abs=1e-4)


def test_a_tree_without_edges_has_no_support() -> None:
    still = simulate(linkage(), "still", seconds=3, seed=1, disturbances=NOISE).take
    assert measure_support(still, infer_structure(still)) == {}


def test_against_the_hierarchy_of_the_recording_no_edge_is_sure_and_its_edge_is_named() -> None:
    world = simulate(human(), "walk", seconds=10, seed=5, disturbances=NOISE)
    take, parent = world.take, world.truth.parent.copy()
    names = list(take.names)
    parent[names.index("l_hand")] = names.index("l_upper_arm")  # the file says so, the motion does not
    told = replace(take, own=OwnSkeleton(take.names, parent, np.zeros((len(names), 3))))
    hand = frozenset(("l_forearm", "l_hand"))
    before, after = supports(take), supports(told)
    assert before[hand].support > SURE_SUPPORT
    assert after[hand].support == DOUBTED_SUPPORT
    k = structure_pairs(told).index({"l_upper_arm", "l_hand"})
    assert after[hand].rivals == (k,)
    assert {edge: one for edge, one in after.items() if edge != hand} == {
        edge: one for edge, one in before.items() if edge != hand
    }


def test_against_the_hierarchy_of_the_recording_not_even_a_plain_hinge_is_sure() -> None:
    world = simulate(chain(("hinge", "hinge", "hinge")), "exercise", seconds=20, seed=5, disturbances=NOISE)
    take, parent = world.take, world.truth.parent.copy()
    parent[3] = 1  # the file says so, the motion does not
    last = frozenset((take.names[2], take.names[3]))
    told = replace(take, own=OwnSkeleton(take.names, parent, np.zeros((take.bodies, 3))))
    assert supports(take)[last].support > SURE_SUPPORT
    after = supports(told)
    assert after[last].support == DOUBTED_SUPPORT
    assert after[last].rivals == (structure_pairs(told).index({take.names[1], take.names[3]}),)


def structure_pairs(take: Take) -> list[set[str]]:
    return [{take.names[k] for k in pair} for pair in infer_structure(take).fits.pairs]


@pytest.mark.parametrize("seed", [90002, 90003, 90007, 91001])
def test_bodies_that_turn_about_one_axis_for_a_moment_are_no_hinge(seed: int) -> None:
    world = simulate(human(), "walk", seconds=0.6, rate=100, seed=seed, disturbances=Disturbances(0.0005, 0.0009))
    assert set(supports(world.take)) == {frozenset(edge) for edge in world.truth.edges}


def test_pairs_that_are_worse_by_far_more_than_chance_need_no_error_of_whole_trees(
    walk: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = nameless(walk.take)
    structure = infer_structure(take)
    asked = []
    measure = support.ResidualRows.gains_without_blocks
    monkeypatch.setattr(
        support.ResidualRows,
        "gains_without_blocks",
        lambda self, tree, columns: asked.append(len(columns)) or measure(self, tree, columns),
    )
    found = measure_support(take, structure)
    few = sum(asked)
    monkeypatch.setattr(support, "RIVAL_MAX_SE", np.inf)
    assert measure_support(take, structure) == found
    assert 2 * few < sum(asked) - few


def test_rivals_are_those_within_what_a_sure_edge_is_sure_by(walk: World, monkeypatch: pytest.MonkeyPatch) -> None:
    take = nameless(walk.take)
    structure = infer_structure(take)
    pairs, z, _ = support._standard_errors(take, structure, structure.tree.edges)
    edge, (close, far, *more) = 3, [k for k in range(len(pairs)) if pairs[k] not in structure.tree.edges][:6]
    z = np.full_like(z, np.inf)
    z[edge, [close, far]] = 1.6, 1.7  # 1.645 standard errors are SURE_SUPPORT
    by_motion = np.full_like(z, np.inf)
    monkeypatch.setattr(support, "_standard_errors", lambda *_: (pairs, z, by_motion))
    monkeypatch.setattr(support, "_rule_out", lambda structure, plain, pairs, z: z)
    found = measure_support(take, structure)[int(structure.tree.edges[edge])]
    assert found.rivals[:1] == (pairs[close],)
    assert pairs[far] not in found.rivals
    assert found.support == pytest.approx(special.ndtr(1.6), abs=1e-9)
    z[edge, more] = 1.5
    assert len(measure_support(take, structure)[int(structure.tree.edges[edge])].rivals) == 3


def test_names_make_no_edge_sure_against_the_motion(walk: World, monkeypatch: pytest.MonkeyPatch) -> None:
    structure = infer_structure(walk.take)
    pairs, z, by_motion = support._standard_errors(walk.take, structure, structure.tree.edges)
    assert (by_motion <= z).all()  # every edge is of neighbours by their names
    assert (by_motion < z).any()
    before = measure_support(walk.take, structure)
    edge = int(np.argmax([before[int(k)].support for k in structure.tree.edges]))
    rival = int(np.flatnonzero(np.isfinite(by_motion[edge]))[0])
    for beaten, most in ((support.DOUBTED_SD - 0.1, 1.0), (support.DOUBTED_SD + 0.1, support.DOUBTED_SUPPORT)):
        by_motion[edge, rival] = -beaten
        monkeypatch.setattr(support, "_standard_errors", lambda *_: (pairs, z, by_motion))
        found = measure_support(walk.take, structure)[int(structure.tree.edges[edge])]
        assert found.support == min(before[int(structure.tree.edges[edge])].support, most)
        assert (found.rivals[:1] == (pairs[rival],)) == (most < 1)
        assert found.by_motion == (pairs[rival] if most < 1 else None)
    without = replace(structure, between=np.full_like(structure.between, np.nan))
    assert measure_support(walk.take, without)[int(structure.tree.edges[edge])].by_motion is None
    assert special.ndtr(support.DOUBTED_SD) == pytest.approx(support.DOUBTED_SUPPORT, abs=1e-3)


def test_an_edge_between_the_ends_of_two_branched_figures_may_be_hands_that_hold() -> None:
    one = np.array([[0, 1], [0, 2], [0, 3], [3, 4]])  # a trunk with three limbs, one of them longer
    pairs = np.concatenate([one, one + 5, [[4, 9]]])
    assert np.flatnonzero(support._links_figures(10, pairs)).tolist() == [8]
    chain = np.stack([np.arange(9), np.arange(1, 10)], axis=1)
    assert not support._links_figures(10, chain).any()
    small = np.concatenate([one[:3], one + 4, [[3, 8]]])  # four bodies are too few for a figure
    assert not support._links_figures(9, small).any()


def bound_chain(
    monkeypatch: pytest.MonkeyPatch,
    size: np.ndarray,
    residual: np.ndarray,
    left: np.ndarray,
    calm: tuple[float, float],
    noise: float = 0.0,
    between: float = np.nan,
    reach: float = 0.2,
) -> list[float]:
    """What the edges of a chain of six bodies are supported by at most.

    size, residual  (5,) [m] distances and gaps;  left: (5,) share that they leave of what they have to explain
    calm            drift and turn of the first two bodies over the usual ones
    noise           [m] that explains gaps, of each or of all;  between: segments that names put between neighbours
    reach           [m] distance of each joint from its two sensors
    """
    drift, turn = (np.where(np.arange(6) < 2, one, 1.0) for one in calm)
    structure = SimpleNamespace(
        fits=SimpleNamespace(
            pairs=np.array([(k, k + 1) for k in range(5)]), residual=residual, reach=np.full(5, reach)
        ),
        tree=SimpleNamespace(edges=np.arange(5)),
        between=np.full(5, between),
        drift=drift,
        turn=turn,
        motion=SimpleNamespace(size=size),
        sums=None,
    )
    monkeypatch.setattr(support, "explain_by_noise", lambda *_: np.broadcast_to(noise, 5))
    monkeypatch.setattr(support, "turn_about_one_axis", lambda *_: np.zeros(5, dtype=bool))
    left_over = support.LeftOver(residual, left)
    return support._most_support(6, structure, np.zeros(5, dtype=bool), Noise.none(6), left_over)[0].tolist()  # type: ignore[arg-type]


FIRST = np.arange(5) == 0


def most_of(
    monkeypatch: pytest.MonkeyPatch,
    *,
    left: float = 0.05,
    longer: float = 1.0,
    times: float = 1.0,
    share: float = 0.02,
    thing: bool = False,
    calm: tuple[float, float] = (1.0, 1.0),
    others: float = 0.05,
    noise: float = 0.0,
    named: bool = False,
) -> list[float]:
    """The same of sensors half a metre apart, but for the first edge.

    left    share that it leaves of what it has to explain;  longer: times that it is longer
    times   its residual over the usual one, which is so much of the distance (share);  thing: it leads to one
    others  what those leave;  noise: usual residuals that it explains;  named: all are neighbours by name
    """
    monkeypatch.setattr(support, "is_half_named", lambda *_: FIRST & thing)
    size, residual = np.where(FIRST, 0.5 * longer, 0.5), np.where(FIRST, times, 1.0) * share * 0.5
    left_over = np.where(FIRST, left, others)
    return bound_chain(monkeypatch, size, residual, left_over, calm, noise * share * 0.5, 0.0 if named else np.nan)


def test_an_edge_is_in_question_that_leaves_much_or_is_long_or_unlike_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for case, doubted in [
        ({}, False),
        ({"left": 0.15}, False),
        ({"left": 0.4}, True),
        ({"left": 0.1, "longer": 1.3}, False),
        ({"left": 0.1, "longer": 2.0}, True),  # a segment between may be that nobody wore
        ({"left": 0.06, "thing": True}, False),
        ({"left": 0.15, "thing": True}, True),
        ({"left": 0.45, "others": 0.5}, False),  # where skin moves, all joints leave much
        ({"left": 0.55, "others": 0.6}, True),
        ({"times": 2.5}, False),
        ({"times": 4.0}, True),  # they come apart as no others do,
        ({"times": 4.0, "noise": 2.5}, False),  # unless it is noise,
        ({"times": 12.0, "named": True}, False),  # and names overrule it,
        ({"times": 30.0, "named": True}, True),  # but not always
        ({"times": 30.0, "share": 1e-4}, False),  # of numbers that are exact otherwise
        ({"times": 30.0, "share": 1e-3}, True),
        ({"left": 0.4, "noise": 1.0}, False),  # what noise explains is no other joint's,
        ({"left": 0.4, "noise": 0.8}, False),
        ({"left": 0.4, "noise": 0.6}, True),
        ({"left": 0.6, "noise": 1.0}, False),  # however large it is,
        ({"left": 0.15, "times": 1.5, "noise": 0.9}, True),  # and beside noise alone less stands out,
        ({"left": 0.15, "times": 1.2, "noise": 0.9}, False),
        ({"left": 0.08, "times": 1.5, "noise": 0.9}, False),
        ({"left": 0.15, "times": 1.5, "noise": 0.5}, False),  # but not beside skin
    ]:
        most = most_of(monkeypatch, **case)  # type: ignore[arg-type]
        assert most[0] == (0.9 if doubted else 1.0), case
        assert most[1:] == [1.0, 1.0, 1.0, 1.0] or case.get("others", 0.0) > 0.25, case


def test_of_two_bodies_that_neither_drift_nor_turn_the_room_tells_as_much(monkeypatch: pytest.MonkeyPatch) -> None:
    for drift, turn, calm in ((0.15, 0.3, True), (0.4, 0.3, False), (0.15, 0.7, False)):
        assert most_of(monkeypatch, calm=(drift, turn))[0] == (0.5 if calm else 1.0), (drift, turn)


@pytest.mark.parametrize(
    ("reach", "left", "noise", "between", "doubted"),
    [
        (0.55, 0.1, 0.0, np.nan, True),
        (0.45, 0.12, 0.0, np.nan, False),
        (0.45, 0.18, 0.0, np.nan, True),
        (2.0, 0.03, 0.0, np.nan, False),  # one joint of something large
        (0.55, 0.1, 0.006, np.nan, False),  # noise
        (0.55, 0.1, 0.0, 0.0, False),  # neighbours by their names
    ],
)
def test_joints_farther_from_their_sensors_than_people_have_them_may_be_several(
    monkeypatch: pytest.MonkeyPatch, reach: float, left: float, noise: float, between: float, doubted: bool
) -> None:
    same = (np.full(5, 0.5), np.full(5, 0.01), np.full(5, left), (1.0, 1.0))
    monkeypatch.setattr(support, "is_half_named", lambda *_: np.zeros(5, dtype=bool))
    assert bound_chain(monkeypatch, *same, noise, between, reach) == [0.9 if doubted else 1.0] * 5


def test_thighs_below_a_pelvis_that_nobody_wore_are_not_sure_to_be_joined_without_names() -> None:
    skin = replace(NOISE, soft_tissue=0.005)
    take = simulate(human(), "walk", seconds=20, seed=8, disturbances=skin).take
    worn = ("l_thigh", "r_thigh", "l_shank", "r_shank")
    found = supports(nameless(take.select(worn)))
    assert found[frozenset(("s0", "s2"))].support >= SURE_SUPPORT
    assert found[frozenset(("s0", "s1"))].support <= DOUBTED_SUPPORT


def test_another_body_that_is_calm_may_be_the_partner_where_it_fits_nearly_as_well() -> None:
    pairs = np.array([[0, 1], [0, 2], [1, 2]])
    for times, alike in ((1.3, [1]), (2.0, [])):
        fits = SimpleNamespace(pairs=pairs, residual=np.array([1.0, times, 1.0]))
        assert support._alike(fits, np.array([False, True, True]), 0) == alike  # type: ignore[arg-type]


def test_neighbours_are_the_nearer_of_the_joined_sensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of five edges are long: a quarter of the distances is what neighbours have, whatever else is not worn."""
    lengths = np.array([0.3, 0.5, 0.5, 1.0, 1.0])
    most = bound_chain(monkeypatch, lengths, np.ones(5), np.full(5, 0.15), (1.0, 1.0))
    assert most == [1.0, 1.0, 1.0, 0.9, 0.9]
