"""Names that are exchanged on a recorded person do not make an edge sure that the motion speaks against."""

from __future__ import annotations

from dataclasses import replace

import pytest

import condyle
from condyle.model.skeleton import SURE_SUPPORT
from tests.make import recordings

pytestmark = pytest.mark.skipif(not (recordings.DATA / "more").is_dir(), reason=recordings.ABSENT)


@pytest.mark.parametrize("name", ["exo/P1_C2_trans_1_kine.trc", "osimcore/walk_free_03.trc", "exo/ET21.trc"])
def test_no_edge_is_sure_and_wrong_where_pelvis_and_thorax_are_exchanged(name: str) -> None:
    take = condyle.read(recordings.DATA / "more" / name, bodies=recordings.truth(f"more/{name}")["bodies_from_markers"])
    other = {"pelvis": "thorax", "thorax": "pelvis"}
    crossed = replace(take, names=tuple(other.get(one, one) for one in take.names))
    true = {frozenset(other.get(one, one) for one in edge) for edge in recordings.edges(f"more/{name}")}
    joints = condyle.fit(crossed, intervals=False).skeleton.joints
    sure = [one for one in joints if one.support is not None and one.support >= SURE_SUPPORT]
    assert sure
    assert all(frozenset((one.parent, one.child)) in true for one in sure)
