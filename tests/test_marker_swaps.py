"""Markers that bear each other's labels for a stretch."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from condyle.clusters import form_bodies
from condyle.recording import to_take
from test_clusters import GROUPS, NAMES, NOISE, recorded, world

STRETCH = slice(60, 100)
FRAMES = 300
POSE = 6 * NOISE  # m, of a body's origin
WITHIN = [pair for markers in GROUPS.values() for pair in combinations(markers, 2)]
ACROSS = list(product(*GROUPS.values()))


def exchanged(rng: np.random.Generator, a: str, b: str, rows: slice = STRETCH) -> tuple[np.ndarray, np.ndarray]:
    """Positions with two labels exchanged in some frames, and as they should be."""
    position, _ = world(rng, FRAMES, NOISE)
    wrong = position.copy()
    i, j = NAMES.index(a), NAMES.index(b)
    wrong[rows, i], wrong[rows, j] = position[rows, j], position[rows, i]
    return wrong, position


def told(position: np.ndarray, **how: bool):
    formed = form_bodies([recorded(position)], GROUPS, **how)[0]
    return formed, [finding for finding in formed.findings if finding.code == "marker-swap"]


@pytest.mark.parametrize(("a", "b"), WITHIN + ACROSS)
def test_two_exchanged_markers_are_named_with_their_frames(rng: np.random.Generator, a: str, b: str) -> None:
    wrong, _ = exchanged(rng, a, b)
    _, found = told(wrong)
    assert len(found) == 1
    assert f"markers {a} and {b} " in found[0].text
    assert (found[0].frame, found[0].count) == (STRETCH.start, STRETCH.stop - STRETCH.start)
    assert found[0].severity == "warning"
    assert found[0].bodies == tuple(body for body, markers in GROUPS.items() if a in markers or b in markers)


@pytest.mark.parametrize(("a", "b"), [("a", "c"), ("b", "q")])
def test_exchanged_back_the_poses_are_as_if_nothing_had_happened(rng: np.random.Generator, a: str, b: str) -> None:
    wrong, right = exchanged(rng, a, b)
    formed, found = told(wrong, fix_swaps=True)
    assert [finding.severity for finding in found] == ["info"]
    mended, clean = to_take(formed), to_take(form_bodies([recorded(right)], GROUPS)[0])
    np.testing.assert_allclose(mended.p_world_body, clean.p_world_body, atol=POSE)
    assert mended.seen.all()
    assert "cluster-misfit" not in [finding.code for finding in formed.findings]


def test_markers_of_one_body_of_three_are_exchanged_back_too(rng: np.random.Generator) -> None:
    wrong, _ = exchanged(rng, "a", "b")
    three = {"arm": tuple("abc")}
    found = [f for f in form_bodies([recorded(wrong)], three)[0].findings if f.code == "marker-swap"]
    assert [finding.count for finding in found] == [STRETCH.stop - STRETCH.start]


def test_several_stretches_are_listed_and_the_longest_is_the_time(rng: np.random.Generator) -> None:
    wrong, right = exchanged(rng, "a", "c")
    wrong[200:210, [0, 2]] = right[200:210, [2, 0]]
    _, found = told(wrong)
    assert len(found) == 1
    assert "(frame 60 to 99, frame 200 to 209)" in found[0].text
    assert found[0].count == 50


def test_one_frame_alone_is_not_called_an_exchange(rng: np.random.Generator) -> None:
    wrong, _ = exchanged(rng, "a", "c", slice(60, 61))
    assert told(wrong)[1] == []


def test_two_recordings_each_tell_their_own(rng: np.random.Generator) -> None:
    wrong, right = exchanged(rng, "a", "c")
    first, second = form_bodies([recorded(right), recorded(wrong)], GROUPS)
    assert not any(finding.code == "marker-swap" for finding in first.findings)
    assert [finding.frame for finding in second.findings if finding.code == "marker-swap"] == [STRETCH.start]


def test_ghosts_touched_and_hidden_markers_are_no_exchange(rng: np.random.Generator) -> None:
    for seed in range(20):
        draw = np.random.default_rng(seed)
        position, _ = world(draw, FRAMES, NOISE)
        position[STRETCH, int(draw.integers(9))] += 0.2 * draw.standard_normal(3)  # touched
        position[150:160, int(draw.integers(9))] = draw.standard_normal((10, 3))  # ghosts
        position[draw.random((FRAMES, 9)) < 0.1] = np.nan
        assert told(position)[1] == []
