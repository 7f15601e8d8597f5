"""Graphs of bodies: the lightest tree, its parts and its root; nothing depends on the order of the bodies."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.maths.graph import choose_root, components, is_between, leaves_first, orient, sides, spanning_tree
from condyle.pairs.fits import all_pairs

STAR = np.array([[0, 1], [0, 2], [0, 3], [3, 4]])


def test_the_lightest_edges_that_close_no_ring_are_chosen() -> None:
    pairs = all_pairs(4)  # 01 02 03 12 13 23
    chosen = spanning_tree(4, pairs, np.array([1.0, 2, 9, 3, 8, 4]), "abcd")
    assert {tuple(pairs[k]) for k in chosen} == {(0, 1), (0, 2), (2, 3)}


def test_pairs_without_a_residual_are_never_chosen() -> None:
    pairs = all_pairs(3)
    chosen = spanning_tree(3, pairs, np.array([np.nan, 1.0, np.nan]), "abc")
    assert chosen.tolist() == [1]


def test_fixed_pairs_come_first_whatever_they_weigh() -> None:
    pairs = all_pairs(3)
    assert set(spanning_tree(3, pairs, np.array([1.0, 2.0, 50.0]), "abc", fixed=[2])) == {0, 2}
    assert set(spanning_tree(3, pairs, np.array([1.0, 2.0, np.nan]), "abc", fixed=[2])) == {0, 2}


def test_equal_weights_are_taken_in_the_order_of_names(rng) -> None:
    names = ("delta", "alpha", "charlie", "bravo", "echo")
    chosen = []
    for _ in range(6):
        order = rng.permutation(5)
        shuffled = [names[k] for k in order]
        pairs = all_pairs(5)
        edges = pairs[spanning_tree(5, pairs, np.ones(10), shuffled)]
        chosen.append({frozenset((shuffled[i], shuffled[j])) for i, j in edges})
    assert all(tree == chosen[0] for tree in chosen)


@pytest.mark.parametrize("bodies", [0, 1])
def test_fewer_than_two_bodies_have_no_edges(bodies) -> None:
    pairs = all_pairs(bodies)
    assert len(spanning_tree(bodies, pairs, np.empty(0), "ab"[:bodies])) == 0


def test_the_sides_of_an_edge_are_the_parts_it_holds_together() -> None:
    side = sides(6, STAR)  # body 5 stands alone
    assert side[3].tolist() == [0, 0, 0, 0, 1, -1]
    assert side[2].tolist() == [0, 0, 0, 1, 1, -1]
    assert side[0].tolist() == [0, 1, 0, 0, 0, -1]
    assert sides(3, np.empty((0, 2), np.int64)).shape == (0, 3)


def test_parents_point_to_the_root() -> None:
    assert orient(5, STAR, [0]).tolist() == [-1, 0, 0, 0, 3]
    assert orient(5, STAR, [4]).tolist() == [3, 0, 0, 4, -1]
    assert orient(6, STAR, [0]).tolist() == [-1, 0, 0, 0, 3, -1]
    assert orient(0, np.empty((0, 2), np.int64), []).tolist() == []


def test_components_come_largest_first_with_single_bodies_among_them() -> None:
    assert components(7, np.array([[5, 6], [0, 3], [3, 1]])) == [[0, 1, 3], [5, 6], [2], [4]]
    assert components(2, np.empty((0, 2), np.int64)) == [[0], [1]]
    assert components(0, np.empty((0, 2), np.int64)) == []


def test_the_root_is_the_middle_of_the_tree_and_the_calmer_of_two() -> None:
    line = np.array([[0, 1], [1, 2], [2, 3]])
    assert choose_root([0, 1, 2, 3], line, np.array([0.0, 2.0, 1.0, 0.0]), "abcd") == 2
    assert choose_root([0, 1, 2, 3], line, np.array([9.0, 1.0, 2.0, 9.0]), "abcd") == 1
    assert choose_root([0, 1, 2, 3], line, np.ones(4), "dcba") == 2  # by name where all else is equal
    assert choose_root([4], line, np.ones(5), "abcde") == 4


def test_the_root_does_not_depend_on_the_order_of_the_bodies(rng) -> None:
    names = np.array(["pelvis", "chest", "head", "thigh", "shank", "foot"])
    edges, speed = np.array([[0, 1], [1, 2], [0, 3], [3, 4], [4, 5]]), rng.random(6)
    want = names[choose_root(range(6), edges, speed, names)]
    for _ in range(10):
        order = rng.permutation(6)
        place = np.argsort(order)
        found = choose_root(rng.permutation(6).tolist(), place[edges], speed[order], names[order])
        assert names[order][found] == want


def test_children_come_before_their_parents() -> None:
    parent = np.array([2, -1, 1, 2, 0])
    order = leaves_first(parent).tolist()
    assert all(order.index(child) < order.index(up) for child, up in enumerate(parent) if up >= 0)


def test_edges_between_two_bodies_are_those_on_the_way() -> None:
    side = sides(5, np.array([[0, 1], [1, 2], [3, 4]]))
    assert is_between(side, 0, 2).tolist() == [True, True, False]
    assert is_between(side, 0, 3).tolist() == [False, False, False]
