"""The gaps of a take's own best tree: small where it holds together, many times larger where it was read wrongly."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.model.take import Take
from condyle.pairs.forest import EXACT_GAP_SHARE, measure_forest, scene_size
from condyle.simulate import Disturbances, linkage, simulate

NOISE_M = 0.003


def linkage_take(**disturbances: float) -> Take:
    return simulate(linkage(), "exercise", seconds=10, seed=2, disturbances=Disturbances(**disturbances)).take  # type: ignore[arg-type]


def transposed(take: Take) -> Take:
    return Take(take.names, take.time, np.swapaxes(take.R_world_body, -1, -2), take.p_world_body)


def test_a_wrong_convention_opens_the_joints_many_times() -> None:
    take = linkage_take(position_noise=NOISE_M)
    right, wrong = (measure_forest(one, size=0.5) for one in (take, transposed(take)))
    assert right.gap == pytest.approx(np.sqrt(2) * 1.54 * NOISE_M, rel=0.1)
    assert wrong.gap > 10 * right.gap


def test_frames_that_are_far_off_do_not_widen_the_second_gap() -> None:
    clean = measure_forest(linkage_take(position_noise=NOISE_M), size=0.5)
    spoilt = measure_forest(linkage_take(position_noise=NOISE_M, spikes=0.05), size=0.5)
    assert spoilt.plain > 1.2 * clean.plain
    assert spoilt.gap < 1.1 * clean.gap


def test_exact_gaps_count_as_a_share_of_the_scene() -> None:
    assert measure_forest(linkage_take(), size=2.0).gap == pytest.approx(2.0 * EXACT_GAP_SHARE)


def test_what_is_hopeless_is_looked_at_once() -> None:
    gaps = measure_forest(transposed(linkage_take(spikes=0.05)), size=0.5, hopeless=1e-3)
    assert gaps.plain == gaps.gap > 1e-3


def test_one_body_and_bodies_that_are_never_seen_together_have_no_tree() -> None:
    take = linkage_take()
    assert measure_forest(take.select(["chest"]), size=0.5) == (np.inf, np.inf)
    hidden = np.zeros((take.frames, 2), bool)
    hidden[::2, 0] = hidden[1::2, 1] = True
    assert measure_forest(take.select(["chest", "head"]).mask(hidden), size=0.5) == (np.inf, np.inf)


def test_the_size_of_a_scene_is_the_usual_distance_between_its_bodies() -> None:
    take = linkage_take()
    place = np.zeros((5, 3, 3))
    place[:, 1, 0], place[:, 2, 0] = 2.0, 3.0
    still = Take(("a", "b", "c"), np.arange(5.0), np.broadcast_to(np.eye(3), (5, 3, 3, 3)), place)
    assert scene_size(still) == 2.0
    assert scene_size(still.mask(np.ones((5, 3), bool))) == 1.0
    far = Take(take.names, take.time, take.R_world_body, take.p_world_body + 1000.0)
    assert scene_size(far) == pytest.approx(scene_size(take))
