"""Markers that bear each other's labels for a stretch."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.recording import to_take
from condyle.prepare import marker_swaps
from condyle.prepare.clusters import form_bodies
from condyle.prepare.marker_swaps import MarkerCluster, MarkerSwap
from condyle.prepare.shapes import Shape

from .test_clusters import GROUPS, NAMES, NOISE, recorded, world

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


def test_while_they_are_exchanged_both_markers_are_left_out(rng: np.random.Generator) -> None:
    """Of the four markers of the arm two are too few; of the five of the leg three suffice."""
    for a, b, body in (("a", "c", 0), ("q", "s", 1)):
        wrong, right = exchanged(rng, a, b)
        formed, _ = told(wrong)
        take, clean = to_take(formed), to_take(form_bodies([recorded(right)], GROUPS)[0])
        assert take.seen[STRETCH, body].any() == (body == 1)
        np.testing.assert_allclose(
            take.p_world_body[take.seen], clean.p_world_body[take.seen], atol=POSE, err_msg=f"{a} {b}"
        )
        assert "cluster-misfit" not in [finding.code for finding in formed.findings]


@pytest.mark.parametrize(("a", "b"), [("a", "c"), ("b", "q")])
@pytest.mark.parametrize("rows", [slice(0, 40), slice(260, 300)], ids=["first", "last"])
def test_an_exchange_at_an_end_of_the_take_is_found(rng: np.random.Generator, a: str, b: str, rows: slice) -> None:
    wrong, _ = exchanged(rng, a, b, rows)
    _, found = told(wrong)
    assert [(one.frame, one.count) for one in found] == [(rows.start, 40)]


@pytest.mark.parametrize(("a", "b"), [("a", "c"), ("b", "q")])
def test_an_exchange_whose_ends_are_hidden_is_found_where_it_is_seen(rng: np.random.Generator, a: str, b: str) -> None:
    wrong, _ = exchanged(rng, a, b)
    both = [NAMES.index(a), NAMES.index(b)]
    for end in (STRETCH.start, STRETCH.stop):
        wrong[end - 8 : end + 8, both] = np.nan
    _, found = told(wrong)
    assert [(one.frame, one.count) for one in found] == [(STRETCH.start + 8, 24)]


def test_an_exchange_that_skin_nearly_hides_is_found_by_its_ends(rng: np.random.Generator) -> None:
    """Skin moves every marker by 2.2 cm rms: no exchanged frame fits worse than the limit, and yet they are told."""
    time = np.arange(FRAMES) / 100
    for seed in range(6):
        draw = np.random.default_rng(seed)
        rate, phase = draw.uniform(0.5, 2, (2, 9, 3))
        skin = 0.018 * np.sin(2 * np.pi * rate * time[:, None, None] + 6 * phase)
        wrong, right = exchanged(draw, "p", "r")
        assert told(right + skin)[1] == [], seed
        assert [one.frame for one in told(wrong + skin)[1]] == [STRETCH.start], seed


LIMIT, DOUBT = 4.0, 2.0  # fit errors, of which one is usual
INSIDE = np.arange(40, 60)


def errors() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit errors (100,) as labelled and after an exchange of the frames INSIDE, and one set of markers in sight."""
    labelled, swapped = np.ones(100), np.full(100, 3.5)
    labelled[INSIDE], swapped[INSIDE] = 3.5, 1.0
    return labelled, swapped, np.zeros(100, np.int64)


def stretches(labelled: np.ndarray, swapped: np.ndarray, sight: np.ndarray) -> list[int]:
    signs = np.flatnonzero((labelled > DOUBT) & (swapped <= 0.5 * labelled))
    return marker_swaps._stretches(labelled, swapped, signs, LIMIT, DOUBT, sight).tolist()


def test_a_stretch_between_two_steps_is_one_even_where_the_misfit_is_small() -> None:
    assert stretches(*errors()) == INSIDE.tolist()


def test_a_gain_that_comes_and_goes_smoothly_is_skin() -> None:
    _, _, sight = errors()
    bump = np.exp(-0.5 * ((np.arange(100) - 50) / 12) ** 2)
    assert stretches(1 + 2.5 * bump, 3.5 - 2.5 * bump, sight) == []


@pytest.mark.parametrize("gross", [1.0, 1.5])
def test_where_an_end_is_hidden_the_misfit_must_be_gross(gross: float) -> None:
    labelled, swapped, sight = errors()
    labelled[INSIDE] *= gross
    for hidden in (slice(55, 70), slice(30, 45)):
        seen, other = labelled.copy(), swapped.copy()
        seen[hidden] = other[hidden] = np.nan
        rows = [k for k in INSIDE.tolist() if np.isfinite(seen[k])]
        assert stretches(seen, other, sight) == (rows if gross > 1 else [])


def test_a_gain_that_changes_with_the_markers_in_sight_is_no_end() -> None:
    labelled, swapped, sight = errors()
    sight[INSIDE] = 1
    assert stretches(labelled, swapped, sight) == []


def test_a_spike_neither_cuts_a_stretch_nor_lengthens_it() -> None:
    labelled, swapped, sight = errors()
    labelled[50], swapped[50] = 20.0, 30.0
    labelled[62], swapped[62] = 30.0, 20.0
    assert stretches(labelled, swapped, sight) == INSIDE.tolist()


def test_fit_errors_are_alike_within_a_tenth_of_what_is_doubted() -> None:
    labelled, swapped, sight = np.full(100, 2.2), np.full(100, 2.2), np.zeros(100, np.int64)
    for rest, found in ((0.45, []), (0.35, INSIDE.tolist())):  # two octaves, were it not for that tenth
        swapped[INSIDE] = rest
        assert stretches(labelled, swapped, sight) == found


def test_frames_that_fit_both_ways_do_not_tell() -> None:
    labelled, swapped, sight = errors()
    labelled[48:54], swapped[48:54] = 1.0, 1.2
    assert stretches(labelled, swapped, sight) == INSIDE.tolist()


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
    assert "(0.60 to 0.99 s, 2.00 to 2.09 s)" in found[0].text
    assert found[0].count == 50
    assert found[0].time == (0.6, 0.99)


def test_one_frame_alone_is_not_called_an_exchange(rng: np.random.Generator) -> None:
    wrong, _ = exchanged(rng, "a", "c", slice(60, 61))
    assert told(wrong)[1] == []


def test_two_recordings_each_tell_their_own(rng: np.random.Generator) -> None:
    wrong, right = exchanged(rng, "a", "c")
    first, second = form_bodies([recorded(right), recorded(wrong)], GROUPS)
    assert not any(finding.code == "marker-swap" for finding in first.findings)
    assert [finding.frame for finding in second.findings if finding.code == "marker-swap"] == [STRETCH.start]


@pytest.mark.costly
def test_ghosts_touched_and_hidden_markers_are_no_exchange(rng: np.random.Generator) -> None:
    for seed in range(20):
        draw = np.random.default_rng(seed)
        position, _ = world(draw, FRAMES, NOISE)
        position[STRETCH, int(draw.integers(9))] += 0.2 * draw.standard_normal(3)  # touched
        position[150:160, int(draw.integers(9))] = draw.standard_normal((10, 3))  # ghosts
        position[draw.random((FRAMES, 9)) < 0.1] = np.nan
        assert told(position)[1] == []


def legs(rng: np.random.Generator, wrong: slice) -> np.ndarray:
    """Markers of two thighs that mirror each other; the right one's outer and inner exchange labels in some frames."""
    shape = np.array([[0.05, 0.0, 0.1], [0.06, 0.04, 0.0], [0.05, 0.0, -0.2], [-0.05, 0.0, -0.2]])
    sides = []
    for sign in (1, -1):
        R = rotation.from_vector(np.cumsum(0.01 * rng.standard_normal((FRAMES, 3)), axis=0))
        p = np.array([0.15 * sign, 0, 0]) + shape * [sign, 1, 1] @ np.swapaxes(R, 1, 2)
        sides.append(p + NOISE * rng.standard_normal(p.shape))
    position = np.concatenate(sides, axis=1)
    position[wrong, 2:4] = position[wrong, 2:4][:, ::-1].copy()
    return position


LEGS = {"r_thigh": ("RTHI", "RTH2", "RLFE", "RMFE"), "l_thigh": ("LTHI", "LTH2", "LLFE", "LMFE")}
LABELS = (*LEGS["r_thigh"], *LEGS["l_thigh"])


@pytest.mark.parametrize("wrong", [slice(0, 90), slice(110, 300)], ids=["less than half", "more than half"])
def test_the_other_side_tells_which_part_is_exchanged(rng: np.random.Generator, wrong: slice) -> None:
    position = legs(rng, wrong)
    [formed] = form_bodies([recorded(position, LABELS)], LEGS, fix_swaps=True)
    (finding,) = [one for one in formed.findings if one.code == "marker-swap"]
    assert (finding.frame, finding.count) == (wrong.start, wrong.stop - wrong.start)
    placed = {one.marker: one.place for one in formed.placed}
    across = [np.linalg.norm(placed[f"{side}LFE"] - placed[f"{side}THI"]) for side in "RL"]
    assert across[0] == pytest.approx(across[1], abs=POSE)


def test_another_recording_tells_which_part_is_exchanged(rng: np.random.Generator) -> None:
    wrong, right = exchanged(rng, "a", "c", slice(50, 300))
    first, second = form_bodies([recorded(right[:60]), recorded(wrong)], GROUPS)
    assert not any(finding.code == "marker-swap" for finding in first.findings)
    (finding,) = [one for one in second.findings if one.code == "marker-swap"]
    assert (finding.frame, finding.count) == (50, 250)
    assert "or in all others" not in finding.text


@pytest.mark.parametrize(("share", "sure"), [(0.3, True), (0.45, False)])
def test_where_nothing_tells_and_both_parts_are_long_either_may_be_right(
    rng: np.random.Generator, share: float, sure: bool
) -> None:
    wrong, _ = exchanged(rng, "a", "c", slice(0, int(share * FRAMES)))
    (finding,) = told(wrong)[1]
    assert ("or in all others, for nothing tells which part is right" not in finding.text) is sure


@pytest.mark.parametrize(
    ("name", "other"),
    [("RLFE", "LLFE"), ("Left_knee", "Right_knee"), ("knee.L", "knee.R"), ("sub:RASI", "sub:LASI"), ("KneeR", "KneeL")],
)
def test_the_marker_of_the_other_side_is_found_by_its_name(name: str, other: str) -> None:
    assert other in marker_swaps._mirror_names(name)


def test_three_stretches_are_listed_and_the_rest_is_counted() -> None:
    rows = np.concatenate([np.arange(k, k + 5) for k in range(100, 600, 100)])
    swap = marker_swaps.MarkerSwap(("shank", "shank"), ("a", "b"), (0, 1), rows)
    (told,) = marker_swaps.describe_marker_swaps([swap], slice(0, 1000), None, repaired=True)
    assert "in 25 frames" in told.text
    assert "and 2 more)" in told.text
    (told,) = marker_swaps.describe_marker_swaps([swap], slice(0, 350), None, repaired=True)
    assert "more)" not in told.text


def test_an_exchange_between_bodies_halves_both_errors_and_makes_them_usual_or_a_quarter_together() -> None:
    def mended(error: float, limit: float) -> bool:
        cluster = SimpleNamespace(
            cloud=np.zeros((1, 3, 3)), error=np.ones(1), limit=limit, error_of=lambda cloud: np.full(1, error)
        )
        return bool(marker_swaps._repair(cluster, cluster, np.arange(1), 0, 1)[0])

    assert mended(0.24, limit=0.1)
    assert not mended(0.26, limit=0.1)
    assert mended(0.48, limit=0.5)
    assert not mended(0.52, limit=0.6)


def votes(places: dict[str, tuple[float, float, float]]) -> int:
    """Of LA and LB, by markers of both thighs at these places [m]."""
    clusters = []
    for side in sorted({name[0] for name in places}):
        names = tuple(name for name in places if name[0] == side)
        cloud = np.tile([places[name] for name in names], (10, 1, 1))
        clusters.append(MarkerCluster(side, names, cloud, Shape(cloud[0]), np.zeros(10), 1.0))
    swap = MarkerSwap(("L", "L"), ("LA", "LB"), (0, 1), np.arange(10))
    return marker_swaps._count_mirror_votes(swap, clusters, np.ones(10, dtype=bool))


def test_labels_across_a_limb_are_told_by_their_distances_to_the_other_side() -> None:
    right = {"RA": (-0.1, 0.0, 0.0), "RB": (-0.2, 0.05, 0.0)}
    assert votes({"LA": (0.1, 0.0, 0.0), "LB": (0.2, 0.05, 0.0), **right}) == 1
    assert votes({"LB": (0.1, 0.0, 0.0), "LA": (0.2, 0.05, 0.0), **right}) == -1
    assert votes({"LA": (0.1, 0.0, 0.0), "LB": (0.2, 0.05, 0.0)}) == 0  # nobody on the other side
    for off, told in ((0.0667, 0), (0.0333, 1)):  # m, by which sides are not alike: twice and five times more
        assert votes({"LA": (0.1, 0, 0), "LB": (0.2, 0, 0), "RA": (-0.1 - off, 0, 0), "RB": (-0.2, 0, 0)}) == told


def test_labels_along_a_limb_are_told_by_its_other_markers() -> None:
    right = {"RA": (-0.1, 0.0, 0.0), "RB": (-0.1, 0.2, 0.0), "RC": (-0.15, 0.05, 0.0)}
    beside = {"LC": (0.15, 0.05, 0.0), **right}
    assert votes({"LA": (0.1, 0.0, 0.0), "LB": (0.1, 0.2, 0.0), **beside}) == 1
    assert votes({"LB": (0.1, 0.0, 0.0), "LA": (0.1, 0.2, 0.0), **beside}) == -1
    assert votes({"LA": (0.1, 0.0, 0.0), "LB": (0.1, 0.2, 0.0), **right}) == 0


def test_an_exchange_inside_a_body_is_tried_from_twice_its_usual_error_or_a_share_of_its_size() -> None:
    shape = Shape(np.array([[0.1, 0, 0], [-0.1, 0, 0], [0, 0.1, 0]]))
    for usual, least, most in ((0.003, 0.004, 0.009), (1e-5, 0.0008, 0.004)):  # m
        one = MarkerCluster("a", ("x", "y", "z"), np.zeros((10, 3, 3)), shape, np.full(10, usual), limit=1.0)
        assert least <= one.doubt <= most, usual
        assert replace(one, limit=0.0005).doubt == 0.0005
