"""The lightest tree against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from condyle.maths.graph import components, spanning_tree
from condyle.pairs.fits import all_pairs, fit_pairs
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, human, simulate


def scipys(bodies: int, pairs: np.ndarray, weight: np.ndarray) -> set[tuple[int, int]]:
    known = np.isfinite(weight)
    graph = coo_array((weight[known], tuple(pairs[known].T)), shape=(bodies, bodies))
    tree = minimum_spanning_tree(graph.tocsr()).tocoo()
    return {(int(min(i, j)), int(max(i, j))) for i, j in zip(*tree.coords, strict=True)}


@pytest.mark.parametrize("bodies", [2, 3, 7, 20, 40])
@pytest.mark.parametrize("missing", [0.0, 0.6], ids=["all pairs", "few pairs"])
def test_random_weights_have_the_tree_scipy_finds(rng, bodies, missing) -> None:
    names = [f"b{k:02d}" for k in rng.permutation(bodies)]
    for _ in range(5):
        pairs = all_pairs(bodies)
        weight = np.where(rng.random(len(pairs)) < missing, np.nan, rng.uniform(0.1, 1, len(pairs)))
        chosen = spanning_tree(bodies, pairs, weight, names)
        assert {tuple(pair) for pair in pairs[chosen].tolist()} == scipys(bodies, pairs, weight)


def test_residuals_of_a_walk_have_the_tree_scipy_finds() -> None:
    take = simulate(human(), "walk", seconds=8, seed=5, disturbances=Disturbances(soft_tissue=0.02)).take
    fits = fit_pairs(sum_pairs(take))
    chosen = spanning_tree(15, fits.pairs, fits.residual, take.names)
    assert {tuple(pair) for pair in fits.pairs[chosen].tolist()} == scipys(15, fits.pairs, fits.residual)


def test_the_parts_of_a_forest_are_those_scipy_finds(rng) -> None:
    for _ in range(10):
        edges = rng.integers(0, 12, (7, 2))
        graph = coo_array((np.ones(7), tuple(edges.T)), shape=(12, 12))
        _, label = connected_components(graph, directed=False)
        want = {frozenset(np.flatnonzero(label == k).tolist()) for k in np.unique(label)}
        assert {frozenset(group) for group in components(12, edges)} == want
