from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.estimate.structure import infer_structure
from condyle.io.formats import read_recording
from condyle.maths import rotation
from condyle.model.recording import Bodies, Convention, Markers, Recording, to_take
from condyle.model.take import join
from condyle.pairs.fits import fit_pairs
from condyle.pairs.sums import sum_pairs
from condyle.prepare import clusters, propose_bodies
from condyle.prepare.clusters import form_bodies, match_marker
from condyle.prepare.shapes import fit_shape
from tests.make import PROJECT, recordings

EXACT = 1e-9  # m, and in rotations
NOISE = 0.0005  # m per axis
SAME = 1.005  # residual with these poses over residual with plain Procrustes poses, at most
NAMES = tuple("abcd") + tuple("pqrst")
GROUPS = {"arm": tuple("abcd"), "leg": tuple("pqrst")}


def world(rng: np.random.Generator, n: int = 200, noise: float = 0.0):
    """Marker positions (n, 9, 3) [m] of two bodies that are carried about, and their rotations {body: (n, 3, 3)}."""
    parts, turns = [], {}
    for body, markers in GROUPS.items():
        shape = 0.08 * np.random.default_rng(len(markers)).standard_normal((len(markers), 3))  # the same in every world
        R, p = rotation.random(rng, (n,)), rng.standard_normal((n, 1, 3))
        parts.append(p + shape @ np.swapaxes(R, 1, 2))
        turns[body] = R
    cloud = np.concatenate(parts, axis=1)
    return cloud + noise * rng.standard_normal(cloud.shape), turns


def recorded(position: np.ndarray, names=NAMES, **convention) -> Recording:
    says = Convention(**{"unit": "m", **convention})
    return Recording("walk.c3d", "test", markers=Markers(names, position), rate=100.0, convention=says)


def codes(recording: Recording) -> list[str]:
    return [finding.code for finding in recording.findings]


def turned_alike(found: np.ndarray, true: np.ndarray) -> float:
    """Largest departure of (n, 3, 3) from the true rotations times one constant."""
    constant = np.swapaxes(true, 1, 2) @ found
    return float(np.nanmax(np.abs(constant - constant[np.argmax(np.isfinite(constant[:, 0, 0]))])))


def test_bodies_move_as_their_markers_do(rng) -> None:
    position, turns = world(rng)
    take = to_take(form_bodies([recorded(position)], GROUPS)[0])
    assert take.names == ("arm", "leg")
    assert take.seen.all()
    np.testing.assert_allclose(take.p_world_body[:, 0], position[:, :4].mean(axis=1), atol=EXACT)
    for k, body in enumerate(GROUPS):
        assert turned_alike(take.R_world_body[:, k], turns[body]) < EXACT


def test_x_points_from_the_first_marker_to_the_second_and_y_to_the_side_of_the_next(rng) -> None:
    shape = np.array([[0.0, 0, 0], [0.1, 0, 0], [0.05, 0.08, 0], [0.02, 0.01, 0.03]])
    R = rotation.random(rng, (20,))
    position = shape @ np.swapaxes(R, 1, 2)
    take = to_take(form_bodies([recorded(position, tuple("abcd"))], {"arm": tuple("abcd")})[0])
    np.testing.assert_allclose(take.R_world_body[:, 0], R, atol=EXACT)


def test_all_recordings_share_one_shape_and_its_axes(rng) -> None:
    first, _ = world(rng, 50, NOISE)
    second, _ = world(rng, 300, NOISE)
    together = form_bodies([recorded(first), recorded(second)], GROUPS)
    as_one = form_bodies([recorded(np.concatenate([first, second]))], GROUPS)[0]
    assert all(part.bodies is not None for part in (*together, as_one))
    for name in ("position", "orientation"):
        parts = np.concatenate([getattr(part.bodies, name) for part in together])
        np.testing.assert_allclose(parts, getattr(as_one.bodies, name), atol=EXACT)


@pytest.mark.parametrize(
    "convention",
    [
        {"unit": "mm"},
        {"handed": "left"},
        {"handed": "left", "up": "x"},
        {"axes": ("x", "-z", "y")},
        {"axes": ("y", "x", "z")},
        {"axes": ("x", "-z", "y"), "handed": "left", "unit": "mm"},
        {"transposed": True},
    ],
    ids=str,
)
def test_the_convention_of_the_file_does_not_come_between_markers_and_bodies(rng, convention) -> None:
    position, _ = world(rng)
    made = form_bodies([recorded(position, **convention)], GROUPS)[0]
    take = to_take(made)
    # The file's markers as the take's world has them must lie still in the body.
    world_of = replace(
        recorded(position, **convention),
        bodies=Bodies(NAMES, position, np.tile(np.eye(3).ravel(), (*position.shape[:2], 1))),
        convention=made.convention,
    )
    p = to_take(world_of).p_world_body
    local = (p[:, :4] - take.p_world_body[:, :1]) @ take.R_world_body[:, 0]
    assert np.ptp(local, axis=0).max() < EXACT
    assert {"rotation", "transposed", "axes"} <= made.convention.stated
    assert made.convention.unit == convention.get("unit", "m")


def test_recordings_in_two_units_and_hands_make_the_same_body(rng) -> None:
    position, _ = world(rng)
    mirror = np.array([-1.0, 1, 1])
    other = recorded(1000 * position * mirror, unit="mm", handed="left")
    takes = [to_take(part) for part in form_bodies([recorded(position), other], GROUPS)]
    np.testing.assert_allclose(takes[0].p_world_body, takes[1].p_world_body, atol=EXACT)
    np.testing.assert_allclose(takes[0].R_world_body, takes[1].R_world_body, atol=EXACT)


def test_a_file_that_states_no_unit_keeps_its_numbers(rng) -> None:
    position, _ = world(rng)
    made = form_bodies([recorded(1000 * position, unit=None)], GROUPS)[0]
    assert made.bodies is not None
    np.testing.assert_allclose(made.bodies.position[:, 0], 1000 * position[:, :4].mean(axis=1), atol=1e-6)
    assert made.convention.unit is None


def test_a_pose_needs_three_seen_markers_of_its_body(rng) -> None:
    position, turns = world(rng)
    position[:20, [0, 5, 6]] = np.nan
    position[20:30, :2] = np.nan
    take = to_take(form_bodies([recorded(position)], GROUPS)[0])
    assert not take.seen[20:30, 0].any()
    assert take.seen[:20].all()
    assert turned_alike(take.R_world_body[:, 0], turns["arm"]) < EXACT
    np.testing.assert_allclose(take.p_world_body[30:, 0], position[30:, :4].mean(axis=1), atol=EXACT)


def test_a_ghost_marker_is_left_out_of_its_frames(rng) -> None:
    position, turns = world(rng, 1000, NOISE)
    position[100:103, 1] += 0.1
    made = form_bodies([recorded(position)], GROUPS)[0]
    take = to_take(made)
    assert take.seen.all()
    (found,) = (finding for finding in made.findings if finding.code == "cluster-misfit")
    assert (found.bodies, found.frame, found.count, found.severity) == (("arm",), 100, 3, "info")
    assert 0.01 < (found.value or 0) < 0.1
    assert turned_alike(take.R_world_body[:, 0], turns["arm"]) < 0.1


def test_two_exchanged_markers_of_four_leave_no_pose(rng) -> None:
    position, _ = world(rng, 100, NOISE)
    position[40:50, [0, 1]] = position[40:50, [1, 0]]
    made = form_bodies([recorded(position)], GROUPS)[0]
    take = to_take(made)
    assert not take.seen[40:50, 0].any()
    assert take.seen[:, 1].all()
    (found,) = (finding for finding in made.findings if finding.code == "marker-swap")
    assert (found.frame, found.count, found.severity) == (40, 10, "warning")


def test_skin_that_comes_and_goes_is_no_ghost(rng) -> None:
    position, turns = world(rng, 1000, NOISE)
    slid = 0.03 * np.sin(np.pi * np.arange(40) / 40)[:, None] * [0.6, 0.0, 0.8]
    position[100:140, 1] += np.einsum("nij,nj->ni", turns["arm"][100:140], slid)
    made = form_bodies([recorded(position)], GROUPS)[0]
    assert codes(made) == []
    off = np.swapaxes(turns["arm"], 1, 2) @ to_take(made).R_world_body[:, 0]
    jumps = np.linalg.norm(rotation.to_vector(np.swapaxes(off[:-1], 1, 2) @ off[1:]), axis=1)
    assert np.degrees(jumps.max()) < 2.0


def test_a_marker_that_comes_loose_is_left_out_however_slowly(rng) -> None:
    for stop in (1000, 800):  # stays away, or comes back late
        position, turns = world(rng, 1000, NOISE)
        away = np.clip(np.minimum(np.arange(1000) - 600, stop - np.arange(1000) if stop < 1000 else np.inf) / 60, 0, 1)
        position[:, 1] += np.einsum("nij,nj->ni", turns["arm"], 0.04 * away[:, None] * [0.6, 0.0, 0.8])
        made = form_bodies([recorded(position)], GROUPS)[0]
        assert codes(made) == ["cluster-misfit"]
        assert turned_alike(to_take(made).R_world_body[700:740, 0], turns["arm"][700:740]) < 1.0


def slide(position: np.ndarray, R: np.ndarray, columns: Sequence[int], far: float = 0.03) -> None:
    """Markers moved on their body [m], in directions of their own, and back, in frames 400 to 600."""
    away = np.sin(np.pi * np.clip((np.arange(len(position)) - 400) / 200, 0, 1))
    aside = np.concatenate([np.eye(3), -np.eye(3)])
    for column, direction in zip(columns, aside, strict=False):
        position[:, column] += np.einsum("nij,nj->ni", R, far * away[:, None] * direction)


def rest_but_for_the_slide(rng: np.random.Generator) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A world in which the leg keeps its place on the arm, but for frames 400 to 600."""
    position, turns = world(rng, 1000, NOISE)
    still = np.r_[0:400, 600:1000]
    local = (position[0, 4:] - position[0, 0]) @ turns["arm"][0]
    position[still, 4:] = position[still, :1] + local @ np.swapaxes(turns["arm"][still], 1, 2)
    turns["leg"][still] = turns["arm"][still] @ (turns["arm"][0].T @ turns["leg"][0])
    return position + NOISE * rng.standard_normal(position.shape), turns


def test_where_all_markers_of_a_cluster_slide_as_its_joint_is_bent_the_motion_is_kept_and_told(rng) -> None:
    position, turns = rest_but_for_the_slide(rng)
    slide(position, turns["leg"], [4, 5, 6, 7, 8])
    made = form_bodies([recorded(position)], GROUPS)[0]
    assert to_take(made).seen.all()
    (found,) = (finding for finding in made.findings if finding.code == "cluster-misfit")
    assert "all its markers move against each other" in found.text
    assert found.severity == "warning"
    assert 400 < (found.frame or 0) < 500


def test_where_they_slide_and_the_other_frames_hold_the_motion_as_well_they_are_left_out(rng) -> None:
    position, turns = world(rng, 1000, NOISE)
    slide(position, turns["leg"], [4, 5, 6, 7, 8])
    made = form_bodies([recorded(position)], GROUPS)[0]
    assert [finding.text for finding in made.findings if "against each other" in finding.text] == []
    seen = to_take(made).seen[:, 1]
    assert not seen[450:550].any()
    assert seen[np.r_[0:400, 600:1000]].all()


@pytest.mark.parametrize("far", [0.03, 0.05, 0.08])
def test_two_markers_of_five_that_slide_are_left_out(rng, far: float) -> None:
    still, turns = rest_but_for_the_slide(rng)
    for columns in combinations(range(4, 9), 2):
        position = still.copy()
        slide(position, turns["leg"], columns, far)
        made = form_bodies([recorded(position)], GROUPS)[0]
        assert [finding.text for finding in made.findings if "against each other" in finding.text] == []
    position = still.copy()
    slide(position, turns["leg"], [4, 6], far)
    take = to_take(form_bodies([recorded(position)], GROUPS)[0])
    assert turned_alike(take.R_world_body[450:550, 1], turns["leg"][450:550]) < 0.1


def test_two_wrong_markers_of_five_are_both_left_out(rng) -> None:
    position, turns = world(rng, 300, NOISE)
    position[10, [4, 6]] += [[0.1, 0, 0], [0, 0, 0.15]]
    take = to_take(form_bodies([recorded(position)], GROUPS)[0])
    assert take.seen.all()
    assert turned_alike(take.R_world_body[:, 1], turns["leg"]) < 0.2


def test_noise_alone_is_no_misfit(rng) -> None:
    position, _ = world(rng, 5000, NOISE)
    made = form_bodies([recorded(position)], GROUPS)[0]
    assert codes(made) == []
    assert to_take(made).seen.all()


def test_a_misfit_is_counted_in_the_frames_of_its_own_file(rng) -> None:
    first, second = (world(rng, 200, NOISE)[0] for _ in range(2))
    second[7, 1] += 0.1
    made = form_bodies([recorded(first), recorded(second)], GROUPS)
    assert codes(made[0]) == []
    assert [finding.frame for finding in made[1].findings] == [7]
    assert [finding.frame for finding in join([to_take(part) for part in made]).findings] == [207]


def test_markers_of_two_bodies_are_refused_as_one(rng) -> None:
    position, _ = world(rng)
    with pytest.raises(CondyleError, match="one rigid body") as error:
        form_bodies([recorded(position)], {"mixed": ("a", "b", "p", "q")})
    assert (error.value.code, error.value.body) == ("cluster-misfit", "mixed")


def test_markers_that_hardly_keep_their_shape_are_told(rng) -> None:
    position, _ = world(rng, noise=0.02)
    made = form_bodies([recorded(position)], GROUPS)[0]
    (found,) = (finding for finding in made.findings if finding.bodies == ("arm",) and finding.frame is None)
    assert (found.code, found.severity) == ("cluster-misfit", "warning")
    assert found.value == pytest.approx(0.02, rel=0.3)


def test_the_facts_tell_the_fit_of_every_body(rng) -> None:
    position, _ = world(rng, 4000, NOISE)
    facts = form_bodies([recorded(1000 * position, unit="mm")], GROUPS)[0].facts
    assert set(facts) == {"cluster arm", "cluster leg"}
    words = facts["cluster arm"].split()
    assert words[:3] == ["4", "markers,", "fit"]
    # Six of twelve numbers of a frame go into the pose.
    assert float(words[3]) == pytest.approx(1000 * NOISE * np.sqrt(3 * 6 / 12), rel=0.1)


def test_a_marker_that_is_never_seen_is_dropped_and_told(rng) -> None:
    position, _ = world(rng)
    position[:, 0] = np.nan
    made = form_bodies([recorded(position)], GROUPS)[0]
    assert codes(made) == ["marker-missing"]
    assert "a is never seen" in made.findings[0].text
    assert to_take(made).seen.all()


def test_a_marker_that_one_of_two_files_lacks_is_told_there(rng) -> None:
    first, second = (world(rng)[0] for _ in range(2))
    made = form_bodies([recorded(first), recorded(second[:, 1:], NAMES[1:])], GROUPS)
    assert codes(made[0]) == []
    assert codes(made[1]) == ["marker-missing"]
    assert to_take(made[1]).seen.all()


def test_a_marker_in_two_bodies_is_allowed_and_told(rng) -> None:
    position, _ = world(rng)
    made = form_bodies([recorded(position)], {"one": ("a", "b", "c"), "two": ("b", "c", "d")})[0]
    assert [finding.bodies for finding in made.findings if finding.code == "shared-marker"] == [("one", "two")] * 2


def test_a_body_of_fewer_than_three_seen_markers_is_refused(rng) -> None:
    position, _ = world(rng)
    position[:, :2] = np.nan
    with pytest.raises(CondyleError, match="2 are ever seen") as error:
        form_bodies([recorded(position)], GROUPS)
    assert (error.value.code, error.value.body, error.value.path) == ("few-markers", "arm", "walk.c3d")


def test_markers_that_are_never_seen_three_at_a_time_are_refused(rng) -> None:
    position, _ = world(rng)
    position[0::2, :2] = np.nan
    position[1::2, 2:4] = np.nan
    with pytest.raises(CondyleError, match="never three of them together"):
        form_bodies([recorded(position)], GROUPS)


def test_markers_on_a_line_are_refused(rng) -> None:
    position, _ = world(rng)
    position[:, 2] = 0.5 * (position[:, 0] + position[:, 1])
    with pytest.raises(CondyleError, match="on a line") as error:
        form_bodies([recorded(position)], {"rod": ("a", "b", "c")})
    assert error.value.code == "cluster-collinear"


def test_markers_nearly_on_a_line_are_told(rng) -> None:
    shape = np.array([[0, 0, 0], [0.2, 0, 0], [0.1, 0.01, 0.0]])
    position = shape @ np.swapaxes(rotation.random(rng, (50,)), 1, 2)
    made = form_bodies([recorded(position, tuple("abc"))], {"rod": ("a", "b", "c")})[0]
    assert codes(made) == ["cluster-collinear"]


def test_an_unknown_marker_is_refused_with_those_near_it(rng) -> None:
    position, _ = world(rng)
    names = ("LASI", "RASI", "LPSI", "RPSI", *NAMES[4:])
    with pytest.raises(CondyleError, match="near it are LASI") as error:
        form_bodies([recorded(position, names)], {"pelvis": ("LASIS", "RASI", "LPSI")})
    assert (error.value.code, error.value.body) == ("unknown-marker", "pelvis")
    with pytest.raises(CondyleError, match="there are LASI, RASI"):
        form_bodies([recorded(position, names)], {"pelvis": ("xyzzy", "RASI", "LPSI")})
    with pytest.raises(CondyleError, match="'l_hip_centre' is no marker but a joint centre"):
        form_bodies([recorded(position, names)], {"l_thigh": ("LASI", "RASI", "l_hip_centre")})


@pytest.mark.parametrize(
    ("name", "labels", "column"),
    [
        ("LASI", ("lasi", "Tom:LASI", "LASI"), 2),
        ("LASI", ("lasi", "Tom:LASI"), 1),
        ("LASI", ("RASI", "Tom:lasi "), 1),
        ("Ann:LASI", ("Tom:LASI", "Ann:LASI"), 1),
        ("LASI", ("RASI",), None),
        ("LASI", (), None),
    ],
)
def test_a_marker_is_matched_exactly_then_without_its_subject_then_in_any_case(name, labels, column) -> None:
    assert match_marker(name, labels) == column


def test_a_marker_of_two_subjects_is_ambiguous(rng) -> None:
    with pytest.raises(CondyleError, match="'Tom:LASI' and 'Ann:LASI'"):
        match_marker("LASI", ("Tom:LASI", "Ann:LASI"))
    position, _ = world(rng)
    with pytest.raises(CondyleError) as error:
        form_bodies([recorded(position, ("x:a", "y:a", *NAMES[2:]))], GROUPS)
    assert (error.value.code, error.value.path) == ("ambiguous-marker", "walk.c3d")


def test_a_recording_without_markers_is_refused() -> None:
    bodies = Bodies(("x",), np.zeros((2, 1, 3)), np.tile([1.0, 0, 0, 0], (2, 1, 1)))
    with pytest.raises(CondyleError) as error:
        form_bodies([Recording("a.npz", "test", bodies=bodies)], GROUPS)
    assert error.value.code == "no-markers"


def test_bodies_that_the_file_brought_along_are_replaced(rng) -> None:
    position, _ = world(rng)
    theirs = Bodies(("x",), position[:, :1], np.tile([1.0, 0, 0, 0], (len(position), 1, 1)))
    made = form_bodies([replace(recorded(position), bodies=theirs, solved_by="Program")], GROUPS)[0]
    assert made.bodies is not None
    assert made.bodies.names == ("arm", "leg")
    assert made.solved_by is None


def test_one_frame_and_no_recording_will_do(rng) -> None:
    position, _ = world(rng, 1)
    assert to_take(form_bodies([recorded(position)], GROUPS)[0]).seen.all()
    assert form_bodies([], GROUPS) == []


def test_the_thresholds_on_the_page_are_those_in_the_code() -> None:
    page = " ".join((PROJECT / "docs" / "marker-clusters.md").read_text(encoding="utf-8").split())
    for words in (
        f"more than {clusters.MISFIT_MIN_SD:g} robust standard deviations",
        f"more than {clusters.MISFIT_MIN_TIMES:g} times it and more than {100 * clusters.MISFIT_MIN_SHARE:g} %",
        f"at most {propose_bodies.SAME_BODY_MAX_TIMES:g} times worse",
        f"({propose_bodies.SAME_MARKER_MAX_TIMES:g} times for one",
        f"rigid to {100 * propose_bodies.RIGID_MAX_SHARE:g} %",
    ):
        assert words in page
    assert clusters.NARROW_MAX_RATIO == 0.1, "the page says a tenth"


def real(name: str, shared_data):
    """The recordings of an entry of truth.json with its bodies formed, as one take."""
    folder = shared_data / name
    paths = sorted(folder.glob("*/*.csv")) if folder.is_dir() else [folder]
    made = form_bodies([read_recording(path) for path in paths], recordings.truth(name)["bodies_from_markers"])
    return made, join([to_take(part) for part in made])


def residuals(take, name: str) -> np.ndarray:
    """Gap of each true joint [m] when its pair is fitted alone."""
    pairs = [[take.names.index(body) for body in sorted(edge)] for edge in sorted(recordings.edges(name), key=sorted)]
    return np.asarray(fit_pairs(sum_pairs(take), np.array(pairs)).residual)


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    [
        "vicon_functional_c3d/left_hip.c3d",
        "functional_knee_c3d/right_knee.c3d",
        "qualisys_c3d/walk.c3d",
        "diodem/arm/exp01",
        "diodem/gait/exp06",
    ],
)
def test_real_clusters_have_the_true_tree_and_joints_as_tight_as_plain_procrustes(name, shared_data) -> None:
    _, take = real(name, shared_data)
    found = infer_structure(take)
    edges = {frozenset((take.names[i], take.names[j])) for i, j in found.fits.pairs[found.tree.edges]}
    assert edges == recordings.edges(name)
    plain = recordings.linkage(name.removeprefix("diodem/")) if name.startswith("diodem") else recordings.c3d(name)
    mine, theirs = residuals(take, name), residuals(plain, name)
    assert np.sqrt((mine**2).mean()) <= SAME * np.sqrt((theirs**2).mean())


def test_what_is_known_of_real_markers_is_told(shared_data) -> None:
    made, _ = real("vicon_functional_c3d/left_hip.c3d", shared_data)
    lost = [finding.text for finding in made[0].findings if finding.code == "marker-missing"]
    assert [name for name in ("SACR", "LANKin", "RANKin") if any(name in text for text in lost)] == [
        "SACR",
        "LANKin",
        "RANKin",
    ]
    made, take = real("optitrack_c3d/walk.c3d", shared_data)
    assert any(finding.code == "cluster-misfit" and finding.bodies == ("foot",) for finding in made[0].findings)
    assert take.seen.mean() > 0.95


def test_three_markers_that_are_never_seen_together_are_no_body_and_it_says_so(rng) -> None:
    position, _ = world(rng)
    for k in range(3):  # in every frame another of the first three is lost
        position[k::3, k] = np.nan
    with pytest.raises(CondyleError, match="3 are ever seen, but never three of them together"):
        form_bodies([recorded(position)], {"arm": GROUPS["arm"][:3]})


def test_a_misfit_in_half_a_percent_of_the_frames_is_no_warning(rng) -> None:
    for bad, severity in ((1, "info"), (5, "warning")):  # of 400 frames
        position, _ = world(rng, 400, NOISE)
        position[100 : 100 + bad, 0] += 0.3
        (made,) = form_bodies([recorded(position)], GROUPS)
        (found,) = (finding for finding in made.findings if finding.code == "cluster-misfit")
        assert (found.severity, found.count) == (severity, bad)


def test_a_cluster_a_twentieth_as_wide_as_long_is_poorly_known_and_a_fifth_is_not(rng) -> None:
    for width, told in ((0.02, True), (0.1, False)):
        shape = np.array([[0.0, 0, 0], [0.2, 0, 0], [0.4, width, 0], [0.1, width, 0]])
        R = rotation.random(rng, (200,))
        position = shape @ np.swapaxes(R, 1, 2) + 0.0001 * rng.standard_normal((200, 4, 3))
        (made,) = form_bodies([recorded(position, tuple("abcd"))], {"arm": tuple("abcd")})
        assert ("cluster-collinear" in codes(made)) == told


def test_a_frame_is_doubted_from_four_times_the_usual_fit_error_on(rng) -> None:
    local = rng.uniform(-0.1, 0.1, (5, 3))
    off = rng.normal(0, 0.02, (5, 3))
    shape = fit_shape(np.tile(local, (40, 1, 1)))
    look = clusters._Look.at(np.stack([local + sign * off for sign in np.tile([1, 1.05], 20)]), shape)
    usual = float(np.median(look.error))
    assert usual > 0.02 * shape.size  # above what the size alone would allow
    assert look.limit == pytest.approx(4 * usual, rel=0.01)
