"""The short form of benchmarks/kinematics.py: the same minimum as mink, which solves frame by frame."""

from __future__ import annotations

import pytest
from benchmarks.harness import known_tree
from benchmarks.kinematics import BODIES, PLAIN, RATE, SMOOTH, compare, recorded_smooth, smooth_times, theirs
from benchmarks.kinematics import FRAMES as SOLVED
from benchmarks.speed import recording

import condyle
from tests.make.clients import client

SAME = 1e-6  # of the cost


def test_the_cost_of_inverse_kinematics_is_that_of_mink() -> None:
    python = client("mink")
    world = recording(BODIES, 10, RATE, 1)
    skeleton = condyle.fit(world.take, tree=known_tree(world.truth), intervals=False).skeleton
    _, poses = theirs(python, skeleton, world.take.at(SOLVED))
    excess = compare(skeleton, world.take, poses)
    assert min(largest for _, largest, _ in excess.values()) < SAME, "mink gets there too"
    assert min(smallest for _, _, smallest in excess.values()) > -SAME, "and no further"


@pytest.mark.costly
def test_smooth_inverse_kinematics_is_not_a_third_slower_against_the_plain_one_than_it_was() -> None:
    """CPU time in turn, the best of some rounds: what else the machine does counts little."""
    world = recording(BODIES, 10, RATE, 1)
    skeleton = condyle.fit(world.take, tree=known_tree(world.truth), intervals=False).skeleton
    rounds = [smooth_times(skeleton, world.take) for _ in range(4)]
    ratio = min(one[SMOOTH] for one in rounds) / min(one[PLAIN] for one in rounds)
    assert ratio < 1.5 * recorded_smooth()
