"""Simulated contacts are exact while they hold, and leave the figure whole."""

from __future__ import annotations

import numpy as np

from condyle.simulate import Truth, human, prop, simulate, together
from condyle.simulate.contacts import TOE_M, clasp_hands, join_hands, pick_up, plant_feet

EXACT = 1e-9  # m
START, END = 4.0, 7.0  # s


def walker(seed: int = 1) -> Truth:
    return simulate(human(), "walk", seconds=12, seed=seed).truth


def places(truth: Truth, body: str, point: np.ndarray) -> np.ndarray:
    k = truth.names.index(body)
    return truth.p_world_body[:, k] + truth.R_world_body[:, k] @ point


def on_bone(truth: Truth, body: str, point: tuple[float, float, float]) -> np.ndarray:
    k = truth.names.index(body)
    return truth.mounts.R_bone_body[k].T @ (np.array(point) - truth.mounts.p_bone_body[k])


def largest_gap(truth: Truth) -> float:
    gaps = []
    for child, parent in enumerate(truth.parent):
        if parent >= 0:
            a = places(truth, truth.names[child], truth.p_child_joint[child])
            gaps.append(np.abs(a - places(truth, truth.names[parent], truth.p_parent_joint[child])).max())
    return max(gaps)


def inside(truth: Truth) -> np.ndarray:
    return (truth.time >= START) & (truth.time <= END)


def test_hands_of_two_figures_meet_while_they_are_told_to(rng: np.random.Generator) -> None:
    two = together([simulate(human(), "walk", seconds=12, seed=k) for k in (1, 2)]).truth
    points = rng.standard_normal((2, 3)) * 0.05
    held = join_hands(two, ("a_r_hand", "b_l_hand"), points, START, END)
    apart = np.linalg.norm(places(held, "a_r_hand", points[0]) - places(held, "b_l_hand", points[1]), axis=1)
    assert apart[inside(held)].max() < EXACT
    assert apart[held.time < START - 1].min() > 0.01
    assert largest_gap(held) < EXACT


def test_ones_own_hands_meet_and_the_arms_stay_whole(rng: np.random.Generator) -> None:
    held = clasp_hands(walker(), START, END, rng)
    grips = [places(held, name, on_bone(held, name, (0.0, 0.0, -0.08))) for name in ("l_hand", "r_hand")]
    apart = np.linalg.norm(grips[0] - grips[1], axis=1)
    assert apart[inside(held)].max() < EXACT
    assert largest_gap(held) < EXACT
    before = held.time < START - 1
    np.testing.assert_allclose(held.p_world_body[before], walker().p_world_body[before], atol=EXACT)


def test_a_prop_lies_still_is_carried_and_lies_still_again() -> None:
    both = together([simulate(human(), "walk", seconds=12, seed=1), prop(seconds=12, seed=2)], ["", ""]).truth
    held = pick_up(both, "r_hand", "prop", START, END)
    k, hand = held.names.index("prop"), held.names.index("r_hand")
    for still in (held.time <= START, held.time >= END):
        assert np.ptp(held.p_world_body[still, k], axis=0).max() < EXACT
    relative = np.swapaxes(held.R_world_body[:, hand], 1, 2) @ held.R_world_body[:, k]
    assert np.ptp(relative[inside(held)], axis=0).max() < EXACT


def test_one_foot_after_the_other_keeps_its_toe_in_place() -> None:
    walked = plant_feet(walker(), stance=0.5)
    for number, foot in enumerate(("l_foot", "r_foot")):
        toe = places(walked, foot, on_bone(walked, foot, TOE_M))
        turn = np.floor(walked.time / 0.5 + 1e-9).astype(int)
        for stance in range(number, 20, 2):
            assert np.ptp(toe[turn == stance][1:-1], axis=0).max() < EXACT
    assert largest_gap(walked) < EXACT
