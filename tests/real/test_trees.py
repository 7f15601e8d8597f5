"""Trees of sensors on people who move naturally, whose skeleton is exact; files as they are stand in test_files.py."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.estimate.structure import Structure, infer_structure
from condyle.model.take import Take
from tests.make import recordings
from tests.real import mounted

pytestmark = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)


def edges_of(take: Take, found: Structure) -> set[frozenset[str]]:
    return {frozenset((take.names[i], take.names[j])) for i, j in found.fits.pairs[found.tree.edges]}


@pytest.mark.parametrize("name", ["02_01.bvh", "08_01.bvh", "09_01.bvh", "35_01.bvh"])
def test_sensors_on_natural_motion_have_the_persons_tree(name) -> None:
    take, _ = mounted.clip(name, seed=1)
    found = infer_structure(take)
    assert found.determined
    assert edges_of(take, found) == recordings.edges("cmu_bvh/*")


def test_two_people_recorded_together_are_two_figures() -> None:
    first, second = (mounted.clip(name)[0] for name in ("18_03.bvh", "19_03.bvh"))
    take = Take(
        [f"{who}_{name}" for who, part in (("a", first), ("b", second)) for name in part.names],
        first.time,
        np.concatenate([first.R_world_body, second.R_world_body], axis=1),
        np.concatenate([first.p_world_body, second.p_world_body], axis=1),
    )
    want = {frozenset(f"{who}_{b}" for b in edge) for who in "ab" for edge in recordings.edges("cmu_bvh/*")}
    assert edges_of(take, infer_structure(take)) == want
