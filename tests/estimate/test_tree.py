"""Trees of pairs: the lightest, exchanges of edges, margins, roots; nothing depends on the order of the bodies."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.estimate.tree import (
    ALL_PAIRS_MAX_BODIES,
    ResidualRows,
    TimeBlocks,
    _root_of_inverse,
    nearest_pairs,
    spanning_margins,
    swap_edges,
    try_rivals,
)
from condyle.maths import rotation
from condyle.maths.graph import components, sides, spanning_tree
from condyle.model.take import Take
from condyle.pairs.fits import fit_pairs
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, human, linkage, simulate

WOBBLE = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3), pelvis_wobble=0.04)
LOG = 1e-9  # of a log margin


def names_of(take: Take, pairs: np.ndarray) -> set[frozenset[str]]:
    return {frozenset((take.names[i], take.names[j])) for i, j in pairs}


@pytest.fixture(scope="module")
def wobbling():
    """A walk at half range whose pelvis sensor is pushed about, its pairs, and the plain spanning tree."""
    world = simulate(human(), "walk", seconds=20, seed=1, range=0.5, disturbances=WOBBLE)
    fits = fit_pairs(sum_pairs(world.take))
    start = spanning_tree(15, fits.pairs, fits.residual, world.take.names)
    return world, fits, start


@pytest.mark.parametrize("figure", [human(), linkage()], ids=["human", "linkage"])
@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_the_papers_tree_is_right_on_clean_data(figure, motion) -> None:
    world = simulate(figure, motion, seconds=10, seed=4)
    fits = fit_pairs(sum_pairs(world.take))
    edges = spanning_tree(world.take.bodies, fits.pairs, fits.residual, world.take.names)
    assert names_of(world.take, fits.pairs[edges]) == {frozenset(edge) for edge in world.truth.edges}


def test_exchanging_edges_repairs_a_wobbling_pelvis(wobbling) -> None:
    world, fits, start = wobbling
    true = {frozenset(edge) for edge in world.truth.edges}
    assert names_of(world.take, fits.pairs[start]) != true
    tree, _ = swap_edges(ResidualRows(world.take, fits, start), start)
    assert names_of(world.take, fits.pairs[tree.edges]) == true


def test_after_the_search_no_exchange_is_worth_it(wobbling) -> None:
    world, fits, start = wobbling
    tree, rivals = swap_edges(ResidualRows(world.take, fits, start), start)
    assert rivals.shape == (14, 105)
    assert rivals.min() > -0.01
    np.testing.assert_allclose(np.log(tree.margin), rivals.min(axis=1), atol=LOG)
    np.testing.assert_array_equal(tree.runner_up, rivals.argmin(axis=1))


def test_without_search_the_tree_stays_and_its_margins_are_told(wobbling) -> None:
    world, fits, start = wobbling
    tree, rivals = swap_edges(ResidualRows(world.take, fits, start), start, search=False)
    np.testing.assert_array_equal(tree.edges, start)
    assert rivals.min() < -0.01
    assert tree.margin.min() < 1


def test_fixed_edges_are_never_exchanged(wobbling) -> None:
    world, fits, start = wobbling
    true = {frozenset(edge) for edge in world.truth.edges}
    wrong = [int(k) for k in start if not names_of(world.take, fits.pairs[[k]]) <= true]
    tree, _ = swap_edges(ResidualRows(world.take, fits, start), start, fixed=wrong)
    assert set(wrong) <= set(tree.edges.tolist())


def test_only_pairs_that_join_the_two_parts_stand_in_for_an_edge(wobbling) -> None:
    world, fits, start = wobbling
    tree, rivals = swap_edges(ResidualRows(world.take, fits, start), start)
    side = sides(15, fits.pairs[tree.edges])
    for a in range(14):
        across = side[a, fits.pairs[:, 0]] != side[a, fits.pairs[:, 1]]
        across[tree.edges[a]] = False
        np.testing.assert_array_equal(np.isfinite(rivals[a]), across)


def test_a_handicap_counts_as_a_larger_residual(wobbling) -> None:
    world, fits, start = wobbling
    plain, rivals = swap_edges(ResidualRows(world.take, fits, start), start)
    handicap = np.zeros(len(fits.pairs))
    handicap[plain.runner_up[0]] = np.log(3)
    _, harder = swap_edges(ResidualRows(world.take, fits, plain.edges), plain.edges, handicap=handicap, search=False)
    np.testing.assert_allclose(
        harder[0, plain.runner_up[0]] - rivals[0, plain.runner_up[0]], np.log(3), rtol=0, atol=1e-6
    )


def test_the_papers_margin_is_the_ratio_to_the_next_best_edge() -> None:
    world = simulate(linkage(), seconds=8, seed=3, disturbances=Disturbances(position_noise=0.003))
    fits = fit_pairs(sum_pairs(world.take))
    edges = spanning_tree(6, fits.pairs, fits.residual, world.take.names)
    tree = spanning_margins(6, fits, edges)
    for a, edge in enumerate(edges):
        rest = np.delete(edges, a)
        groups = components(6, fits.pairs[rest])
        label = {body: g for g, group in enumerate(groups) for body in group}
        across = [k for k, (i, j) in enumerate(fits.pairs) if label[i] != label[j] and k != edge]
        best = min(across, key=lambda k: fits.residual[k])
        assert tree.runner_up[a] == best
        assert tree.margin[a] == pytest.approx(fits.residual[best] / fits.residual[edge])


def test_two_bodies_have_a_tree_that_nothing_rivals(rng) -> None:
    take = simulate(linkage(), seconds=5, seed=1).take.select(["chest", "head"])
    fits = fit_pairs(sum_pairs(take))
    only = np.array([0])
    for tree in (swap_edges(ResidualRows(take, fits, only), only)[0], spanning_margins(2, fits, only)):
        assert tree.edges.tolist() == [0]
        assert np.isinf(tree.margin[0])
        assert tree.runner_up[0] == -1


def test_an_empty_tree_stays_empty() -> None:
    take = simulate(linkage(), seconds=2, seed=1).take
    none = np.empty(0, np.int64)
    tree, rivals = swap_edges(ResidualRows(take, fit_pairs(sum_pairs(take)), none), none)
    assert len(tree.edges) == 0
    assert rivals.shape == (0, 15)


def test_few_bodies_keep_all_pairs_as_candidates_and_many_the_nearest(rng) -> None:
    take = simulate(linkage(), seconds=3, seed=1).take
    fits = fit_pairs(sum_pairs(take))
    np.testing.assert_array_equal(nearest_pairs(fits, 6, np.empty(0, np.int64)), np.arange(15))
    m = ALL_PAIRS_MAX_BODIES + 20
    wide = Take(
        tuple(f"b{k}" for k in range(m)),
        np.arange(30) / 30,
        np.tile(np.eye(3), (30, m, 1, 1)),
        rng.standard_normal((30, m, 3)),
    )
    fits = fit_pairs(sum_pairs(wide))
    worst = int(np.argmax(fits.residual))
    near = nearest_pairs(fits, m, np.array([worst]))
    assert worst in near
    assert len(near) < len(fits.pairs) / 2
    for body in range(m):
        own = np.flatnonzero((fits.pairs == body).any(axis=1))
        assert set(own[np.argsort(fits.residual[own])[:12]]) <= set(near)
    ranks = np.array([np.sum(fits.residual[(fits.pairs == body).any(axis=1)] < fits.residual[k])
                      for k in near if k != worst for body in fits.pairs[k]])  # fmt: skip
    assert ranks.reshape(-1, 2).min(axis=1).max() <= 12


def test_blocks_of_time_are_of_a_second_five_at_least_and_twenty_at_most() -> None:
    for seconds, count in ((2.0, 5), (12.0, 12), (100.0, 20)):
        blocks = TimeBlocks.of(600, seconds)
        assert blocks.count == count
        assert [part.stop - part.start for part in blocks.rows()] == [600 // count] * count


def test_a_swap_needs_fewer_standard_errors_the_more_blocks_of_time_there_are(rng: np.random.Generator) -> None:
    for seconds, errors in ((2.0, 2.2), (20.0, 1.1)):
        blocks = TimeBlocks.of(600, seconds)
        without = rng.standard_normal(blocks.count)
        np.testing.assert_allclose(blocks.least_gain(without), errors * blocks.error(without))


def test_rivals_up_to_1_6_times_as_far_apart_are_tried_24_at_most() -> None:
    take = simulate(human(), seconds=3, seed=1).take
    sums = sum_pairs(take)
    fits = fit_pairs(sums)
    edges = spanning_tree(take.bodies, fits.pairs, fits.residual, take.names)
    rows = ResidualRows(take, fits, edges)
    tree, _ = swap_edges(rows, edges, search=False)
    crossing = rows.find_crossing(rows.places(edges))
    for margin, tried in ((1.5, 24), (1.7, 0)):
        rivals = np.full((len(edges), len(fits.pairs)), np.inf)
        rivals[:, rows.candidates] = np.where(crossing, np.log(margin), np.inf)
        *_, trials = try_rivals(take, sums, fits, tree, rivals, (), np.zeros(len(fits.pairs)))
        assert len(trials) == tried


def test_the_root_of_an_inverse_is_one_however_near_singular_the_matrix_is() -> None:
    turn = rotation.from_vector(np.array([0.3, -0.5, 0.8]))
    for least in (1.0, 1e-6, 1e-10):
        S = turn @ np.diag([1.0, 0.3, least]) @ turn.T
        root, volume = _root_of_inverse(S)
        np.testing.assert_allclose(root.T @ root @ S, np.eye(3), atol=1e-4)
        np.testing.assert_allclose(volume, -np.log(0.3 * least), rtol=1e-4)


def test_what_is_no_number_without_a_block_is_as_unsure_as_can_be(rng: np.random.Generator) -> None:
    blocks = TimeBlocks.of(600, 20.0)
    without = rng.standard_normal((blocks.count, 3))
    sure = blocks.error(without)
    without[2, 1] = -np.inf
    assert blocks.error(without).tolist() == [sure[0], np.inf, sure[2]]
