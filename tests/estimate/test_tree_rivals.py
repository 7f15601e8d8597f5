"""Close rivals of edges: one gets the trial of a solve of its own, nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.estimate import tree as module
from condyle.estimate.tree import RIVAL_MAX_MARGIN, ResidualRows, Tree, Trials, swap_edges, try_rivals
from condyle.maths.graph import spanning_tree
from condyle.pairs.fits import fit_pairs
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, human, linkage, simulate

WOBBLE = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.3), pelvis_wobble=0.04)


class Case:
    """A walk whose pelvis wobbles, its pairs, and the tree that exchanges of edges lead to."""

    def __init__(self, seed: int) -> None:
        world = simulate(human(), "walk", seconds=15, seed=seed, range=0.5, disturbances=WOBBLE)
        self.take, self.true = world.take, {frozenset(edge) for edge in world.truth.edges}
        self.sums = sum_pairs(self.take)
        self.fits = fit_pairs(self.sums)
        start = spanning_tree(15, self.fits.pairs, self.fits.residual, self.take.names)
        self.tree, self.rivals = swap_edges(ResidualRows(self.take, self.fits, start), start)
        self.free = np.zeros(len(self.fits.pairs))

    def edges(self, tree: Tree) -> set[frozenset[str]]:
        return {frozenset((self.take.names[i], self.take.names[j])) for i, j in self.fits.pairs[tree.edges]}

    def settle(self, held=(), handicap=None) -> tuple[Tree, bool, Trials]:
        extra = self.free if handicap is None else handicap
        return try_rivals(self.take, self.sums, self.fits, self.tree, self.rivals, list(held), extra)


@pytest.fixture(scope="module")
def wrong() -> Case:
    """Pair by pair the wrong tree looks best; solved together the right one does."""
    case = Case(seed=0)
    assert case.edges(case.tree) != case.true
    return case


@pytest.fixture(scope="module")
def right() -> Case:
    case = Case(seed=8)
    assert case.edges(case.tree) == case.true
    return case


def test_a_rival_that_fits_better_when_solved_together_wins(wrong) -> None:
    tree, changed, _ = wrong.settle()
    assert changed
    assert wrong.edges(tree) == wrong.true


def test_only_one_edge_changes_at_a_time(wrong) -> None:
    tree, *_ = wrong.settle()
    assert (tree.edges != wrong.tree.edges).sum() == 1


def test_an_edge_that_is_given_gets_no_rival(wrong) -> None:
    tree, changed, _ = wrong.settle(held=wrong.tree.edges.tolist())
    assert not changed
    np.testing.assert_array_equal(tree.edges, wrong.tree.edges)


def test_a_right_tree_stands_and_its_margins_grow(right) -> None:
    tree, changed, trials = right.settle()
    assert not changed
    np.testing.assert_array_equal(tree.edges, right.tree.edges)
    tried = np.nanmin(np.where(np.isfinite(right.rivals), right.rivals, np.nan), axis=1) < np.log(RIVAL_MAX_MARGIN)
    assert tried.any()
    assert tree.margin[tried].min() > right.tree.margin[tried].min()
    np.testing.assert_array_equal(tree.margin[~tried], right.tree.margin[~tried])
    assert {edge for edge, _ in trials} == set(tree.edges[tried].tolist())
    assert min(gain for gain, _ in trials.values()) == pytest.approx(np.log(tree.margin[tried].min()))


def test_a_handicap_weighs_on_the_rivals(wrong) -> None:
    handicap = np.full(len(wrong.fits.pairs), np.log(100))
    handicap[wrong.tree.edges] = 0
    assert not wrong.settle(handicap=handicap)[1]


def test_a_margin_beyond_all_numbers_is_a_number(right) -> None:
    """Of exact data a rival's determinant may be e^800 times as large; numpy warned of an overflow."""
    handicap = np.full(len(right.fits.pairs), 1000.0)
    handicap[right.tree.edges] = 0
    tree, changed, trials = right.settle(handicap=handicap)
    assert not changed
    assert min(gain for gain, _ in trials.values()) > 800
    assert np.isfinite(tree.margin[tree.margin > 1e300]).any()


def test_without_close_rivals_nothing_is_solved(monkeypatch) -> None:
    take = simulate(linkage(), seconds=5, seed=1, disturbances=Disturbances(position_noise=0.002)).take
    sums = sum_pairs(take)
    fits = fit_pairs(sums)
    start = spanning_tree(6, fits.pairs, fits.residual, take.names)
    tree, rivals = swap_edges(ResidualRows(take, fits, start), start)
    monkeypatch.setattr(module, "solve_together", None)
    same, changed, trials = try_rivals(take, sums, fits, tree, rivals, [], np.zeros(15))
    assert same is tree
    assert (changed, trials) == (False, {})


def test_a_tree_without_edges_is_settled() -> None:
    take = simulate(linkage(), seconds=2, seed=1).take
    sums = sum_pairs(take)
    none = Tree(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))
    tree, changed, _ = try_rivals(take, sums, fit_pairs(sums), none, np.empty((0, 15)), [], np.zeros(15))
    assert len(tree.edges) == 0
    assert not changed
