"""Bodies by the names of markers: proved by the motion, and never of markers that do not move together."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.io.format import ReadOptions
from condyle.maths import rotation
from condyle.model.anatomy import count_between
from condyle.model.recording import Convention, Markers, Recording
from condyle.model.take import CENTRE
from condyle.prepare.marker_names import MarkerMeaning, MarkerNames, name_markers
from condyle.prepare.read import bodies_in, understand
from condyle.prepare.recognise_bodies import (
    SEGMENT_RIGID_MAX_SHARE,
    _find_lever,
    _find_plates,
    _find_rigid,
    _give_joint_markers,
    _look_at,
    _prove,
    _stem,
    describe_recognition,
    recognise_bodies,
)
from condyle.simulate import human, simulate
from tests.make import marker_sets

NOISE = 0.0005  # m per axis
WORN = {  # markers of a set with three or more per segment, by the body that carries them
    "pelvis": "LASI RASI LPSI RPSI",
    "chest": "C7 T10 CLAV STRN",
    "head": "LFHD RFHD LBHD RBHD",
    "l_thigh": "LTH1 LTH2 LTH3 LKNE",
    "r_thigh": "RTH1 RTH2 RTH3 RKNE",
    "l_shank": "LTB1 LTB2 LTB3 LANK",
    "r_shank": "RTB1 RTB2 RTB3 RANK",
    "l_foot": "LCAL LTOE LMT5",
    "r_foot": "RCAL RTOE RMT5",
}


def recording(
    worn: dict[str, str], more: dict[str, np.ndarray] | None = None, seed: int = 1, still: bool = False
) -> Recording:
    """A simulated walk of a person who wears these markers; `more` are points (n, 3) beside them."""
    rng = np.random.default_rng(seed)
    take = simulate(human(), "walk", seconds=6, rate=60, seed=seed).take
    names, points = [], []
    for body, labels in worn.items():
        k = take.index(body)
        shape = 0.07 * np.random.default_rng(len(body)).standard_normal((len(labels.split()), 3))
        R, p = (take.R_world_body[:1], take.p_world_body[:1]) if still else (take.R_world_body, take.p_world_body)
        points.append(np.broadcast_to(p[:, k, None] + shape @ np.swapaxes(R[:, k], 1, 2), (take.frames, len(shape), 3)))
        names += labels.split()
    cloud = np.concatenate(points, axis=1)
    cloud = cloud + NOISE * rng.standard_normal(cloud.shape)
    for label, track in (more or {}).items():
        names.append(label)
        cloud = np.concatenate([cloud, track[:, None]], axis=1)
    return Recording("walk.c3d", "made", markers=Markers(tuple(names), cloud), rate=60, convention=Convention(unit="m"))


def test_a_person_s_segments_are_formed_and_called_by_their_names() -> None:
    found = recognise_bodies([recording(WORN)])
    assert list(found.bodies) == [
        *("pelvis", "thorax", "head", "l_thigh", "r_thigh", "l_shank", "r_shank", "l_foot", "r_foot"),
    ]
    assert found.bodies["l_thigh"].markers == ("LKNE", "LTH1", "LTH2", "LTH3")
    assert all(body.error < 3 * NOISE for body in found.bodies.values())
    assert not found.few
    assert not found.findings


def test_a_fit_needs_no_list_of_bodies() -> None:
    one = recording(WORN)
    take = understand(bodies_in([one], ReadOptions()), ReadOptions()).take
    skeleton = condyle.fit(take).skeleton
    edges = {frozenset((joint.parent, joint.child)) for joint in skeleton.joints}
    assert {frozenset(pair) for pair in (("pelvis", "l_thigh"), ("l_thigh", "l_shank"), ("pelvis", "thorax"))} <= edges
    assert "markers-by-name" in {finding.code for finding in take.findings}
    assert {marker.body for marker in skeleton.markers} == set(take.names)


def test_a_marker_that_moves_elsewhere_than_its_name_says_is_left_out_and_told() -> None:
    worn = WORN | {"l_thigh": "LTH1 LTH2 LTH3", "r_foot": WORN["r_foot"] + " LKNE"}
    found = recognise_bodies([recording(worn)])
    assert found.bodies["l_thigh"].markers == ("LTH1", "LTH2", "LTH3")
    (told,) = found.findings
    assert (told.code, told.bodies) == ("cluster-misfit", ("l_thigh",))
    assert "LKNE" in told.text


def test_markers_that_do_not_move_together_make_no_body_and_it_is_asked_for() -> None:
    worn = WORN | {"l_thigh": "LTH1", "r_foot": WORN["r_foot"] + " LTH2", "head": WORN["head"] + " LTH3"}
    found = recognise_bodies([recording(worn | {"l_shank": "LTB1 LTB2 LTB3"})])
    assert "l_thigh" not in found.bodies
    assert [(one.code, one.severity) for one in found.findings] == [("segment-left-out", "warning")]
    assert "--bodies" in found.findings[0].text


def test_segments_of_one_marker_are_left_out_and_no_marker_serves_two() -> None:
    found = recognise_bodies(
        [recording(WORN | {"l_thigh": "LTH1 LTH2 LKNE", "l_shank": "LANK", "l_foot": "LHEE LTOE"})]
    )
    assert found.few == {"l_shank": ("LANK",), "l_foot": ("LHEE", "LTOE")}
    used = [marker for body in found.bodies.values() for marker in body.markers]
    assert len(used) == len(set(used))
    told = describe_recognition(found)
    assert [one.code for one in told] == ["markers-by-name", "segment-left-out"]
    assert "l_shank: LANK" in told[1].text


def test_a_joint_s_marker_serves_the_segment_that_has_too_few_and_that_is_told() -> None:
    worn = WORN | {"l_shank": "LTB1 LTB2 LTB3", "l_foot": "LHEE LTOE LANK"}
    found = recognise_bodies([recording(worn)])
    assert found.bodies["l_foot"].markers == ("LANK", "LHEE", "LTOE")
    assert [one.code for one in found.findings] == ["marker-assumed"]


def test_skin_that_moves_much_serves_only_where_it_must() -> None:
    thorax = recognise_bodies([recording(WORN | {"chest": "C7 CLAV LSHO RSHO"})]).bodies["thorax"]
    assert thorax.markers == ("C7", "CLAV", "LSHO", "RSHO")
    thorax = recognise_bodies([recording(WORN | {"chest": "C7 CLAV STRN LSHO RSHO"})]).bodies["thorax"]
    assert thorax.markers == ("C7", "CLAV", "STRN")


def test_computed_points_make_no_bodies() -> None:
    track = np.random.default_rng(2).standard_normal((360, 3))
    found = recognise_bodies([recording(WORN, {"PELO": track, "PELA": track, "PELL": track, "LHJC": track})])
    assert found.computed == ("PELO", "PELA", "PELL", "LHJC")
    assert found.groups == recognise_bodies([recording(WORN)]).groups


def test_a_computed_point_among_the_markers_of_a_listed_body_is_told() -> None:
    walk = recording(WORN | {"l_thigh": "LTH1 LKNE LHJC", "r_thigh": "RFEO RFEA RFEL"})
    listed = {"pelvis": ("LASI", "RASI", "LPSI"), "l_thigh": ("LTH1", "LKNE", "LHJC"), "t": ("RFEO", "RFEA", "RFEL")}
    (formed,) = bodies_in([walk], ReadOptions(bodies=listed))
    (told,) = (one for one in formed.findings if one.code == "segment-completed")
    assert told.bodies == ("l_thigh",)
    assert "l_thigh: LHJC" in told.text


def test_two_people_have_bodies_of_their_own() -> None:
    one, two = (
        recording({k: WORN[k] for k in ("pelvis", "chest", "l_thigh")}),
        recording({k: WORN[k] for k in ("pelvis", "chest", "l_thigh")}, seed=2),
    )
    assert one.markers is not None
    assert two.markers is not None
    names = tuple(f"{who}:{name}" for who in ("Ann", "Bob") for name in one.markers.names)
    both = Recording(
        "two.c3d",
        "made",
        markers=Markers(names, np.concatenate([one.markers.position, two.markers.position], axis=1)),
        rate=60,
        convention=Convention(unit="m"),
    )
    assert set(recognise_bodies([both]).bodies) == {
        f"{who}:{body}" for who in ("Ann", "Bob") for body in ("pelvis", "thorax", "l_thigh")
    }


def test_clusters_that_motive_numbers_are_bodies_whatever_they_are_called() -> None:
    worn = {"pelvis": "Board:Marker1 Board:Marker2 Board:Marker3", "head": "Stick_1 Stick_2 Stick_3 Stick_4"}
    worn |= {"l_thigh": "ThighL:Marker1 ThighL:Marker2 ThighL:Marker3"}
    assert set(recognise_bodies([recording(worn)]).bodies) == {"Board", "Stick", "l_thigh"}


def test_words_for_left_and_right_on_one_plate_do_not_make_two_people_s_hands() -> None:
    worn = {"l_hand": "hand_top hand_left hand_right", "chest": "back_top back_left back_right"}
    assert set(recognise_bodies([recording(worn)]).bodies) == {"hand", "thorax"}


def test_names_that_say_nothing_leave_it_to_the_motion_and_only_where_it_is_clear() -> None:
    numbers = iter(range(1, 100))
    worn = {
        body: " ".join(f"M{next(numbers):03}" for _ in range(4)) for body in ("pelvis", "l_thigh", "l_shank", "l_foot")
    }
    assert [len(body.markers) for body in recognise_bodies([recording(worn)]).bodies.values()] == [4, 4, 4, 4]
    assert not recognise_bodies([recording(worn, still=True)]).bodies


def test_where_nothing_is_recognised_the_bodies_are_asked_for() -> None:
    tracks = np.random.default_rng(3).standard_normal((5, 360, 3))
    lost = Recording(
        "cloud.c3d",
        "made",
        markers=Markers(tuple(f"M{k}" for k in range(5)), np.swapaxes(tracks, 0, 1)),
        rate=60,
        convention=Convention(unit="m"),
    )
    with pytest.raises(CondyleError, match="--bodies") as raised:
        understand(bodies_in([lost], ReadOptions()), ReadOptions())
    assert raised.value.code == "markers-only"


@pytest.mark.costly
def test_files_of_one_person_may_have_other_markers_and_another_order() -> None:
    walk = recording(WORN)
    static = recording({"l_thigh": WORN["l_thigh"] + " LMFC", **{k: v for k, v in WORN.items() if k != "l_thigh"}})
    assert recognise_bodies([walk, static]).bodies["l_thigh"].markers == ("LKNE", "LMFC", "LTH1", "LTH2", "LTH3")
    assert list(recognise_bodies([walk, static]).bodies) == list(recognise_bodies([static, walk]).bodies)


def test_markers_that_the_motion_lacks_do_not_take_a_segment_from_it() -> None:
    """A marker of the foot is taken off after the static trial: the ankle's then serves the foot, as in the walk."""
    worn = WORN | {"l_shank": "LTB1 LTB2 LTB3", "l_foot": "LHEE LTOE LANK"}
    walk, static = recording(worn), recording(worn | {"l_foot": "LHEE LTOE LANK LMT5"}, still=True)
    assert "LMT5" in recognise_bodies([static]).bodies["l_foot"].markers
    for both in ([walk, static], [static, walk]):
        assert set(recognise_bodies(both).bodies["l_foot"].markers) >= {"LANK", "LHEE", "LTOE"}


def test_a_marker_that_is_never_seen_is_not_asked_of_anyone() -> None:
    gone = np.full((360, 3), np.nan)
    assert recognise_bodies([recording(WORN, {"LPSI2": gone, "LMFC": gone})]).bodies["l_thigh"].error < (
        SEGMENT_RIGID_MAX_SHARE * 0.1
    )


def test_names_that_only_count_leave_it_to_the_motion_and_that_is_told() -> None:
    worn = {"pelvis": "M1 M2 M3 M4", "l_thigh": "M5 M6 M7 M8", "r_thigh": "M9 M10 M11 M12"}
    found = recognise_bodies([recording(worn)])
    assert found.by_motion
    assert sorted(len(body.markers) for body in found.bodies.values()) == [4, 4, 4]
    (told,) = describe_recognition(found)
    assert told.text.startswith("bodies were formed from the motion of markers whose names say nothing: ")
    assert not recognise_bodies([recording(WORN)]).by_motion


def test_rigidity_is_looked_at_in_600_frames_of_all_recordings() -> None:
    walk = recording({"pelvis": "LASI RASI SACR"})
    assert len(_look_at([walk])[1]) == walk.frames < 600
    assert len(_look_at([walk, walk])[1]) == 600


def test_the_stem_of_a_label_is_what_its_cluster_has_in_common() -> None:
    stems = {
        "thigh_front": "thigh",
        "l_thigh_front": "l_thigh",
        "plate3": "plate",
        "head marker 2": "head",
        "front": "",
    }
    assert {label: _stem(label) for label in stems} == stems


def test_labels_of_more_than_80_characters_are_damaged_and_nothing_is_recognised() -> None:
    for length in (80, 81):
        walk = recording({"pelvis": "LASI RASI SACR", "l_thigh": "LTHI1 LTHI2 " + "LTHI3".ljust(length, "x")})
        assert bool(recognise_bodies([walk]).bodies) == (length == 80)


LEGS = {f"{side}_{part}" for side in "lr" for part in ("thigh", "shank", "foot")}


@pytest.mark.parametrize("what", marker_sets.SETS)
def test_a_person_who_wears_a_set_has_the_right_tree_whatever_its_labels_look_like(what) -> None:
    title, worn = marker_sets.SETS[what]
    one, owners = marker_sets.wear(worn)
    found = recognise_bodies([one])
    assert name_markers(list(owners)).title == title
    assert {"pelvis"} | LEGS <= set(found.groups)
    strangers = {
        (marker, body)
        for body, group in found.groups.items()
        for marker in group
        if marker in owners and body not in owners[marker]
    }
    assert not strangers
    skeleton = condyle.fit(understand(bodies_in([one], ReadOptions()), ReadOptions()).take, intervals=False).skeleton
    assert all(count_between([joint.parent, joint.child])[0][0, 1] == 0 for joint in skeleton.joints)
    assert len(skeleton.joints) >= len(LEGS)


@pytest.mark.parametrize("what", marker_sets.SETS)
def test_subjects_case_gaps_and_computed_points_do_not_change_a_person(what) -> None:
    one, owners = marker_sets.wear(marker_sets.SETS[what][1])
    assert one.markers is not None
    plain = recognise_bodies([one]).groups
    computed = ["LHJC", "RKJC", "CentreOfMass", "LKneeAngles"]
    points = np.concatenate([one.markers.position, one.markers.position[:, : len(computed)] + 0.02], axis=1)
    camel = any(re.search("[a-z][A-Z]", name) for name in owners)  # words that small letters alone do not tell apart
    for change in ("Subj:{}".format, *(() if camel else (str.lower,))):
        markers = Markers(tuple(map(change, [*owners, *computed])), points)
        found = recognise_bodies([replace(one, markers=markers)]).groups
        assert found == {
            body: tuple(name if name.endswith(CENTRE) else change(name) for name in group)
            for body, group in plain.items()
        }
    left_out = [k for k, name in enumerate(owners) if k % 9]  # every ninth is not worn
    fewer = Markers(tuple(np.array(one.markers.names)[left_out]), one.markers.position[:, left_out])
    for body, group in recognise_bodies([replace(one, markers=fewer)]).groups.items():
        assert all(body in owners.get(name, {body}) for name in group)


def test_a_marker_at_a_joint_goes_to_the_segment_that_needs_it_and_moves_with_it() -> None:
    for thigh, shank, fits, shank_gets in [
        (3, 2, True, True),
        (3, 2, False, False),  # moves with the thigh
        (2, 2, True, False),  # which has too few itself
        (3, 0, True, False),  # there is no shank
        (3, 1, True, False),  # and one more would not do
        (3, 3, True, False),
    ]:
        own = {("l", "thigh"): ["T"] * thigh, ("l", "shank"): ["S"] * shank}
        person = SimpleNamespace(places={("l", "knee"): ["LKNE"]}, notes=[])
        _give_joint_markers(person, own, "l", "knee", ("thigh", "shank"), lambda _, fits=fits: fits)
        assert ("LKNE" in own["l", "shank"]) == shank_gets == bool(person.notes), (thigh, shank, fits)
        assert ("LKNE" in own["l", "thigh"]) != shank_gets
    bare = dict[tuple[str, str], list[str]]()
    _give_joint_markers(SimpleNamespace(places={}, notes=[]), bare, "l", "knee", ("thigh", "shank"), lambda _: True)
    assert not bare


def plates(noise: float, swing: float) -> np.ndarray:
    """(300, 8, 3) [m] markers of two plates of 10 cm with so much noise, the second swung by so much [rad]."""
    rng = np.random.default_rng(11)
    local = np.array([[0.1, 0, 0], [0, 0.1, 0], [-0.1, 0, 0.02], [0, -0.1, 0.05]])
    turn = swing * rng.standard_normal((300, 3))
    second = np.array([0.3, 0, 0]) + np.einsum("nij,kj->nki", rotation.from_vector(turn), local + [0.15, 0, 0])
    return np.concatenate([np.tile(local, (300, 1, 1)), second], axis=1) + noise * rng.standard_normal((300, 8, 3))


def test_the_motion_alone_tells_plates_that_are_stiff_and_move_against_all_else() -> None:
    labels = [f"m{k}" for k in range(8)]
    nothing = MarkerNames("", 0, (), {}, ())
    for noise, swing, found in [
        (0.001, 0.5, 2),
        (0.003, 1.5, 0),  # gives like skin
        (0.0005, 0.2, 2),
        (0.0005, 0.1, 0),  # hardly moves against the other
    ]:
        assert len(_find_rigid(labels, nothing, plates(noise, swing))) == found, (noise, swing)
    computed = MarkerNames("", 0, (), {}, ("m0", "m1"))
    assert not _find_rigid(labels, computed, plates(0.0005, 0.5))  # two markers are no plate


def test_the_lever_of_a_triangle_is_its_height_over_the_longest_side() -> None:
    triangle = np.array([[[0.0, 0, 0], [0.4, 0, 0], [0.1, 0.05, 0]]])
    for order in ([0, 1, 2], [2, 0, 1], [1, 0, 2]):
        assert _find_lever(triangle[:, order]) == pytest.approx(0.05)
    assert _find_lever(np.concatenate([triangle, triangle, 3 * triangle])) == pytest.approx(0.05)


def test_three_markers_that_give_like_skin_or_move_by_themselves_are_no_segment() -> None:
    rng = np.random.default_rng(2)
    labels = ("LTH1", "LTH2", "LTH3")
    column = {label: k for k, label in enumerate(labels)}
    stiff = plates(0.0005, 0.5)[:, 4:7]
    for loose, proved in ((0.0, True), (0.01, False), (0.03, False)):  # m
        cloud = stiff + loose * rng.standard_normal(stiff.shape)
        body, findings = _prove("l_thigh", labels, cloud, column)
        assert (body is not None) == proved, loose
        assert [one.code for one in findings] == ([] if proved else ["segment-left-out"])


def test_a_marker_that_motive_did_not_name_leaves_the_cluster_to_its_segment() -> None:
    labels = ["ThighL:Marker1", "ThighL:Marker2", "ThighL:Marker3"]
    for last, plate in (("ThighL:Marker3", True), ("ThighL:3", False)):
        labels[2] = last
        meaning = dict.fromkeys(labels, MarkerMeaning("l", "thigh"))
        column = {label: k for k, label in enumerate(labels)}
        found = _find_plates(labels, MarkerNames("", 0, (), meaning, ()), plates(0.0005, 0.5)[:, 4:7], column)
        assert bool(found) == plate, last
