"""People who really hold hands and link arms, recorded together; and people and machines that touch nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.faults.connections import find_connections
from condyle.model.skeleton import SURE_SUPPORT
from condyle.model.take import Take
from condyle.prepare.room_moves import find_room_moves
from tests.make import recordings
from tests.make.disturbed import recentre

from .files import FITS, Fit, run

pytestmark = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)

BONES = recordings.all_truth().get("cmu_bvh/*", {}).get("bones", [])
ALONE = [fit for fit in FITS if not fit.name.startswith(("cmu", "optitrack_csv", "polhemus_fastrak"))]
ARMS = {f"{side}{bone}" for side in ("a_Right", "b_Left") for bone in ("Arm", "ForeArm", "Hand")}
CLIPS = sorted(path.name for path in (recordings.DATA / "cmu_bvh").glob("*.bvh"))


def pair(first: str, second: str) -> Take:
    """Two clips side by side on one clock: their rooms are the same."""
    a, b = (recordings.take(f"cmu_bvh/{name}.bvh").select(BONES) for name in (first, second))
    return Take(
        [f"{who}_{name}" for who in "ab" for name in BONES],
        a.time,
        np.concatenate([a.R_world_body, b.R_world_body], axis=1),
        np.concatenate([a.p_world_body, b.p_world_body], axis=1),
    )


def tree(prefixes: str) -> list[tuple[str, str]]:
    joints = recordings.truth("cmu_bvh/*")["joints"]
    return [
        (f"{who}_{parent}".lstrip("_"), f"{who}_{child}".lstrip("_")) for who in prefixes for parent, child in joints
    ]


def connections(take: Take, edges: list[tuple[str, str]]) -> list[condyle.Finding]:
    fitted = condyle.fit(take, tree=edges, intervals=False)
    return [finding for finding in fitted.findings if finding.code in ("connection", "part-time-joint")]


def test_one_pulls_the_other_by_the_hand() -> None:
    [told] = connections(pair("18_03", "19_03"), tree("ab"))
    assert set(told.bodies) == {"a_RightHand", "b_RightHand"}
    assert told.time is not None
    assert told.time[0] < 1.0  # s: they take hands at once and do not let go
    assert told.time[1] > 4.8


@pytest.mark.costly
def test_two_who_walk_arm_in_arm_all_the_time_are_two_by_their_names_and_their_link_is_in_question_without() -> None:
    take, edges = pair("20_02", "21_02"), tree("ab")
    fitted = condyle.fit(take, tree=edges, intervals=False)
    assert not [joint for joint in fitted.skeleton.joints if joint.child[0] != joint.parent[0]]
    [told] = [finding for finding in fitted.findings if finding.code == "connection"]
    assert set(told.bodies) <= ARMS
    number = {name: f"s{k}" for k, name in enumerate(take.names)}
    plain = condyle.fit(
        replace(take, names=tuple(number.values())), tree=[(number[a], number[b]) for a, b in edges], intervals=False
    )
    given = {frozenset((number[a], number[b])) for a, b in edges}
    [link] = [joint for joint in plain.skeleton.joints if {joint.child, joint.parent} not in given]
    assert {link.child, link.parent} <= {number[name] for name in ARMS}
    assert link.support < SURE_SUPPORT


def test_two_who_walk_arm_in_arm_are_connected_where_their_trees_are_told_apart() -> None:
    take = pair("20_02", "21_02")
    edges = np.array([(take.index(parent), take.index(child)) for parent, child in tree("ab")])
    [contact] = find_connections(take, edges)
    assert set(contact.bodies) <= ARMS
    assert contact.end - contact.start > 1.5  # s of 1.9


@pytest.mark.parametrize("name", CLIPS)
def test_one_person_alone_is_connected_to_nothing(name: str) -> None:
    assert not connections(recordings.take(f"cmu_bvh/{name}").select(BONES), tree([""]))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "standing"),
    [
        ("hard/hip/RightCross.csv", set()),  # a thigh over the leg that the person stands on
        ("hard/wheelchair/sprint.c3d", set()),
        ("diodem/arm/exp01", set()),  # a linkage in the air
        ("vicon_functional_c3d/left_hip.c3d", set()),
        ("hard/squat/b_squats.trc", {"l_foot"}),
        ("more/bmc/walk1.trc", {"l_foot", "r_foot"}),
    ],
)
def test_feet_stand_on_the_floor_and_nothing_else(name: str, standing: set[str]) -> None:
    fitted = condyle.fit(recordings.take(name), world=True, intervals=False)
    told = [finding.bodies for finding in fitted.findings if finding.code == "connection"]
    assert {body for body, other in told if other == "world"} == standing


def test_a_foot_and_the_other_shank_that_stand_all_the_time_are_not_connected() -> None:
    fitted = condyle.fit(recordings.take("hard/squat/b_squats.trc"), intervals=False)
    assert not [finding for finding in fitted.findings if finding.code == "connection"]


@pytest.mark.costly
@pytest.mark.parametrize("fit", ALONE, ids=lambda fit: fit.name)
def test_recordings_in_which_nothing_is_taken_up_or_put_down(fit: Fit, tmp_path: Path) -> None:
    answer = run([*fit.words(tmp_path), "--no-intervals"])
    # Where nothing is joined, since the arm between a hand and a back was not worn, they may be told as connected.
    told = {"connection", "part-time-joint"} if answer.facts["joints"] else {"part-time-joint"}
    assert not answer.codes() & told


def test_devices_whose_room_is_moved_twice_are_connected_to_nothing() -> None:
    """Both feet of one who jumps: in the windows of the moves the room had no other explanation."""
    take = recordings.take("more/lasem/FAILT01_SLDJ03.c3d")
    devices = replace(take.select(["pelvis", "l_foot", "r_foot"]), markers=())
    for shares in ((0.5, 0.52), (0.25, 0.75)):
        moves = {
            int(share * take.frames): (angle, (0.3, -0.4, 0.0))
            for share, angle in zip(shares, (0.5, -0.6), strict=True)
        }
        codes = [finding.code for finding in condyle.fit(recentre(devices, moves), intervals=False).findings]
        assert "connection" not in codes


def test_a_clip_that_begins_elsewhere_is_the_one_of_all_whose_room_is_moved() -> None:
    moves = {name: list(find_room_moves(recordings.take(f"cmu_bvh/{name}"))) for name in CLIPS}
    assert {name: found for name, found in moves.items() if found} == {"20_10.bvh": [14]}
