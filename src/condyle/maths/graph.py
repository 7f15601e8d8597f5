"""Graphs of bodies: spanning trees, components, which way a tree hangs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arrays import Bools, Floats, Ints


def spanning_tree(bodies: int, pairs: Ints, weight: Floats, names: Sequence[str], fixed: Sequence[int] = ()) -> Ints:
    """Indices of the pairs that make the lightest spanning forest; `fixed` pairs come first, NaN weights never.

    Equal weights are taken in the order of the bodies' names, so that the order of the bodies does not matter.
    """
    label = np.arange(bodies)
    rank = np.empty(bodies, dtype=np.int64)
    rank[sorted(range(bodies), key=lambda k: names[k])] = np.arange(bodies)
    ties = np.sort(rank[pairs], axis=1)
    first = np.ones(len(pairs))
    first[list(fixed)] = 0
    order = np.lexsort((ties[:, 1], ties[:, 0], weight, first))
    chosen = []
    for k in order:
        i, j = pairs[k]
        if label[i] != label[j] and (np.isfinite(weight[k]) or k in fixed):
            label[label == label[j]] = label[i]
            chosen.append(k)
            if len(chosen) == bodies - 1:
                break
    return np.array(chosen, dtype=np.int64)


def sides(bodies: int, edges: Ints) -> Ints:
    """(J, m) for each edge of a forest: 1 on one side of the edge, 0 on the other, -1 in another tree."""
    edges = np.asarray(edges).reshape(-1, 2)
    groups = components(bodies, edges)
    parent = orient(bodies, edges, [group[0] for group in groups])
    group_of = np.empty(bodies, dtype=np.int64)
    for k, group in enumerate(groups):
        group_of[group] = k
    beyond = np.eye(bodies, dtype=bool)  # [a, b]: b hangs below a
    for body in leaves_first(parent):
        if parent[body] >= 0:
            beyond[parent[body]] |= beyond[body]
    below = np.where(parent[edges[:, 0]] == edges[:, 1], edges[:, 0], edges[:, 1])
    same = group_of[below][:, None] == group_of[None]
    return np.where(same, beyond[below].astype(np.int64), -1)


def is_between(side: Ints, i: int, j: int) -> Bools:
    """(J,) edges on the way from one body to another, by the `sides` (J, m) of edges."""
    return np.asarray((side[:, i] != side[:, j]) & (side[:, i] >= 0) & (side[:, j] >= 0))


def leaves_first(parent: Ints) -> Ints:
    """All bodies, children before their parents."""
    depth = np.zeros(len(parent), dtype=np.int64)
    above = parent.copy()
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parent[above], -1)
    return np.argsort(-depth, kind="stable")


def orient(bodies: int, edges: Ints, roots: Sequence[int]) -> Ints:
    """Parent (m,) of every body, -1 at the roots and for bodies that no root reaches."""
    parent = np.full(bodies, -1, dtype=np.int64)
    near: list[list[int]] = [[] for _ in range(bodies)]
    for i, j in np.asarray(edges).reshape(-1, 2).tolist():
        near[i].append(j)
        near[j].append(i)
    front, done = list(roots), set(roots)
    for body in front:  # which grows meanwhile
        for other in near[body]:
            if other not in done:
                parent[other] = body
                done.add(other)
                front.append(other)
    return parent


def components(bodies: int, edges: Ints) -> list[list[int]]:
    """The trees of a forest as lists of bodies, single bodies among them, largest first."""
    label = np.arange(bodies)
    for i, j in np.asarray(edges).reshape(-1, 2):
        label[label == label[j]] = label[i]
    groups = [np.flatnonzero(label == value).tolist() for value in sorted(set(label.tolist()))]
    return sorted(groups, key=lambda group: (-len(group), group))


def choose_root(group: Sequence[int], edges: Ints, speed: Floats, names: Sequence[str]) -> int:
    """The body of a tree that the others are nearest to (graph centre); among equals the calmest, then by name."""
    members = list(group)
    reach = count_steps(len(names), edges)[np.ix_(members, members)].max(axis=1)
    farthest = dict(zip(members, reach.tolist(), strict=True))
    return min(members, key=lambda body: (farthest[body], speed[body], names[body]))


def count_steps(bodies: int, edges: Ints) -> Floats:
    """(m, m) edges between two bodies of a forest; inf where none lead from one to the other."""
    edges = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    parent = orient(bodies, edges, [group[0] for group in components(bodies, edges)])
    steps = np.full((bodies, bodies), np.inf)
    done: list[int] = []
    for body in leaves_first(parent)[::-1].tolist():
        if parent[body] >= 0:
            steps[body, done] = steps[done, body] = steps[parent[body], done] + 1
        steps[body, body] = 0.0
        done.append(body)
    return steps
