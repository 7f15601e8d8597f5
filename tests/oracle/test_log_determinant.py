"""Exchanges of edges against the log-determinant of every tree, formed and decomposed by itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from condyle.estimate.tree import ResidualRows, swap_edges
from condyle.maths.graph import components, spanning_tree
from condyle.model.take import Take
from condyle.pairs.fits import fit_pairs, gaps
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, linkage, simulate

LOG = 1e-6  # of a log margin, floor of the search included
BODIES = ["chest", "head", "l_upper_arm", "l_forearm", "r_upper_arm"]


def small_take(seed: int, wobble: float) -> Take:
    noise = Disturbances(position_noise=0.004, orientation_noise=0.01, pelvis_wobble=wobble, pelvis_wobble_body="chest")
    return simulate(linkage(), "walk", seconds=8, seed=seed, disturbances=noise).take.select(BODIES)


def all_trees(pairs: np.ndarray) -> list[tuple[int, ...]]:
    return [four for four in combinations(range(len(pairs)), 4) if len(components(5, pairs[list(four)])) == 1]


def log_determinant(take: Take, fits, edges) -> float:
    edges = list(edges)
    gap = gaps(take, fits.pairs[edges], fits.p_child_joint[edges], fits.p_parent_joint[edges])
    rows = gap.reshape(take.frames, -1)
    sign, value = np.linalg.slogdet(rows.T @ rows / take.frames)
    assert sign > 0
    return float(value)


@pytest.mark.parametrize("seed", [0, 1])
def test_every_margin_is_the_difference_of_two_log_determinants(seed) -> None:
    take = small_take(seed, wobble=0.03)
    fits = fit_pairs(sum_pairs(take))
    start = spanning_tree(5, fits.pairs, fits.residual, take.names)
    tree, rivals = swap_edges(ResidualRows(take, fits, start), start, search=False)
    base = log_determinant(take, fits, tree.edges)
    told = 0
    for a in range(4):
        for b in range(len(fits.pairs)):
            other = [*np.delete(tree.edges, a).tolist(), b]
            if b == tree.edges[a] or len(components(5, fits.pairs[other])) > 1:
                assert np.isinf(rivals[a, b])
            else:
                want = (log_determinant(take, fits, other) - base) / 6
                assert rivals[a, b] == pytest.approx(want, abs=LOG)
                told += 1
    assert told > 10


def test_the_search_ends_at_the_best_of_all_trees() -> None:
    for seed in range(6):
        take = small_take(seed, wobble=0.05)
        fits = fit_pairs(sum_pairs(take))
        trees = all_trees(fits.pairs)
        assert len(trees) == 125  # Cayley: 5 bodies have 5^3 trees
        best = min(trees, key=lambda edges: log_determinant(take, fits, edges))
        start = spanning_tree(5, fits.pairs, fits.residual, take.names)
        tree, _ = swap_edges(ResidualRows(take, fits, start), start)
        assert set(tree.edges.tolist()) == set(best)


def test_the_search_finds_the_best_tree_from_the_worst() -> None:
    take = small_take(3, wobble=0.02)
    fits = fit_pairs(sum_pairs(take))
    by_value = sorted(all_trees(fits.pairs), key=lambda edges: log_determinant(take, fits, edges))
    worst = np.array(by_value[-1])
    tree, _ = swap_edges(ResidualRows(take, fits, worst), worst)
    assert set(tree.edges.tolist()) == set(by_value[0])
