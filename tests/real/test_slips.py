"""No sensor slipped on people whose sensors did not, however few of them are worn and though no markers are known."""

from __future__ import annotations

from dataclasses import replace

import pytest

import condyle
from tests.make import recordings

pytestmark = pytest.mark.skipif(not (recordings.DATA / "more").is_dir(), reason=recordings.ABSENT)

LEFT_OUT = [  # sensors that skin moves, between which segments were not worn: a foot stepped by 21 mm, a thorax by 7
    ("lasem/FAILT01_SLDJ04.c3d", {"pelvis", "l_shank", "r_shank", "r_foot"}),
    ("deadlift/athlete_0_sumo_dl_0_markers_experimental.trc", {"head", "r_thigh", "l_shank", "l_uarm"}),
]


@pytest.mark.parametrize(("name", "left_out"), LEFT_OUT, ids=[name for name, _ in LEFT_OUT])
def test_skin_that_wanders_for_seconds_is_no_slip(name: str, left_out: set[str]) -> None:
    file, worn = recordings.DATA / "more" / name, recordings.truth(f"more/{name}")["bodies_from_markers"]
    take = condyle.read(file, bodies=worn)
    part = take.select(body for body in take.names if body not in left_out)
    nameless = replace(part, names=tuple(f"s{k}" for k in range(part.bodies)), markers=(), own=None)
    assert "slip" not in {finding.code for finding in condyle.fit(nameless, intervals=False).findings}
