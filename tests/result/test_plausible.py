from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.model.skeleton import Joint
from condyle.result.plausible import find_exchanged_names, find_mirrored, find_odd_limbs
from condyle.simulate import human, simulate

TAKE = simulate(human(), "exercise", seconds=8, seed=1).take


@pytest.fixture(scope="module")
def fit() -> condyle.Fit:
    return condyle.fit(TAKE, intervals=False)


def test_lengths_of_a_person_are_not_remarked_upon(fit: condyle.Fit) -> None:
    skeleton = fit.skeleton
    assert find_odd_limbs(skeleton.bodies, skeleton.joints, skeleton.limbs) == []


@pytest.mark.parametrize("times", [0.025, 2.5])
def test_a_thigh_of_11_mm_or_of_a_metre_is_remarked_upon_once(times: float) -> None:
    skeleton = condyle.fit(TAKE, intervals=False, scale=times).skeleton
    (finding,) = [one for one in skeleton.findings if one.code == "implausible-size"]
    assert finding.severity == "warning"
    if "l_thigh" in finding.bodies:
        assert f"l_thigh is {432 * times:.3g} mm long (an adult's is about 420)" in finding.text


def test_a_length_whose_interval_reaches_what_people_have_is_not_remarked_upon(fit: condyle.Fit) -> None:
    skeleton = fit.skeleton
    short = [replace(limb, length=0.05, low=0.01, high=0.4) for limb in skeleton.limbs]
    assert find_odd_limbs(skeleton.bodies, skeleton.joints, short) == []
    sure = [replace(limb, length=0.05, low=0.04, high=0.06) for limb in skeleton.limbs]
    (finding,) = find_odd_limbs(skeleton.bodies, skeleton.joints, sure)
    assert "l_thigh is 50 mm long" in finding.text
    assert "and 5 more" in finding.text


def test_axes_that_meet_are_no_short_limb(fit: condyle.Fit) -> None:
    skeleton = fit.skeleton
    for length, told in ((0.0, False), (3.0, True)):
        limbs = [replace(limb, length=length, low=length, high=length, between="axes") for limb in skeleton.limbs]
        assert bool(find_odd_limbs(skeleton.bodies, skeleton.joints, limbs)) == told


def test_hips_that_are_farther_apart_than_peoples_are_remarked_upon(fit: condyle.Fit) -> None:
    skeleton = fit.skeleton
    for low, told in ((0.21, False), (0.23, True)):
        wide = [
            replace(limb, length=0.26, low=low, high=0.3) if limb.body == "pelvis" else limb for limb in skeleton.limbs
        ]
        found = find_odd_limbs(skeleton.bodies, skeleton.joints, wide)
        assert [one.bodies for one in found] == [("pelvis",)] * told
        assert all("the skin of pelvis and thighs" in one.text for one in found)
        solved = find_odd_limbs(skeleton.bodies, skeleton.joints, wide, solved=True)
        assert [one.bodies for one in solved] == [("pelvis",)] * told
        assert all("skin" not in one.text and "check the unit" in one.text for one in solved)


@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_knees_that_bend_forwards_tell_a_mirrored_person(motion: str) -> None:
    other = {"l_": "r_", "r_": "l_"}
    take = simulate(human(), motion, seconds=8, seed=2).take  # type: ignore[arg-type]
    for exchanged in (False, True):
        names = tuple(other.get(name[:2], name[:2]) + name[2:] if exchanged else name for name in take.names)
        found = condyle.fit(replace(take, names=names), intervals=False).findings
        assert ("mirrored-person" in {one.code for one in found}) == exchanged


def test_knees_of_slower_sensors_are_seen_to_bend_forwards(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {"l_": "r_", "r_": "l_"}
    take = simulate(human(), "walk", seconds=8, seed=2).take
    take = replace(take, names=tuple(other.get(name[:2], name[:2]) + name[2:] for name in take.names))
    joints = condyle.fit(take, intervals=False).skeleton.joints
    monkeypatch.setattr("condyle.result.plausible.BEND_FRAMES", take.frames // 4)
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    for name in ("l_shank", "r_shank"):
        hidden[np.arange(take.frames) % 4 != 2, take.index(name)] = True
    assert [one.code for one in find_mirrored(take.mask(hidden), joints)] == ["mirrored-person"]


def test_without_two_legs_nothing_is_told_mirrored(fit: condyle.Fit) -> None:
    joints = [joint for joint in fit.skeleton.joints if "foot" not in joint.child]
    assert find_mirrored(TAKE, joints) == []


def test_joints_on_one_point_tell_no_mirrored_person(fit: condyle.Fit) -> None:
    joints = [replace(one, p_child_joint=np.zeros(3), p_parent_joint=np.zeros(3)) for one in fit.skeleton.joints]
    still = replace(TAKE, p_world_body=np.zeros_like(TAKE.p_world_body))
    assert find_mirrored(still, joints) == []


def test_left_arms_above_right_legs_are_told() -> None:
    other = {"l": "r", "r": "l"}
    arms = ("upper_arm", "forearm", "hand")
    take = simulate(human(), "walk", seconds=8, seed=3).take
    names = tuple(other[name[0]] + name[1:] if name[2:] in arms else name for name in take.names)
    skewed = condyle.fit(replace(take, names=names), intervals=False)
    (found,) = [one for one in skewed.findings if one.code == "mirrored-person"]
    assert found.bodies == ("r_upper_arm", "l_upper_arm")
    assert "left arm is above the right leg" in found.text
    assert found.value is not None
    assert 2 < found.value <= np.pi
    apart = [one for one in skewed.skeleton.joints if {one.parent, one.child} != {"pelvis", "chest"}]
    assert find_mirrored(replace(take, names=names), apart) == []  # arms of one person, legs of another


@pytest.mark.parametrize(
    ("exchanged", "named"),
    [
        (("l_thigh", "r_thigh"), {"l_thigh", "r_thigh"}),
        (("l_shank", "r_shank"), {"l_shank", "r_shank"}),
        (("l_foot", "r_foot"), {"l_foot", "r_foot"}),
        (("pelvis", "chest"), {"pelvis", "chest"}),
        (("l_upper_arm", "l_forearm"), {"l_upper_arm", "l_forearm"}),
        (("head", "r_hand"), {"head", "r_hand"}),
    ],
)
def test_two_bodies_that_bear_each_others_names_are_told(exchanged: tuple[str, str], named: set[str]) -> None:
    a, b = exchanged
    names = tuple({a: b, b: a}.get(name, name) for name in TAKE.names)
    (found,) = [one for one in condyle.fit(replace(TAKE, names=names)).findings if one.code == "exchanged-names"]
    assert set(found.bodies) == named
    assert f"--rename {found.bodies[0]}={found.bodies[1]},{found.bodies[1]}={found.bodies[0]}" in found.text


def rename(joints: Sequence[Joint], other: dict[str, str]) -> list[Joint]:
    return [
        replace(one, parent=other.get(one.parent, one.parent), child=other.get(one.child, one.child)) for one in joints
    ]


def test_names_that_fit_or_that_no_exchange_mends_are_not_told(fit: condyle.Fit) -> None:
    bodies, joints = fit.skeleton.bodies, fit.skeleton.joints
    assert find_exchanged_names(bodies, joints) == []
    ring = ("pelvis", "l_hand", "r_foot", "head", "l_shank")
    assert find_exchanged_names(bodies, rename(joints, dict(zip(ring, ring[1:] + ring[:1], strict=True)))) == []
    assert find_exchanged_names(bodies, []) == []


@pytest.mark.parametrize(
    "circles",
    [[("pelvis", "l_hand", "r_foot")], [("pelvis", "r_foot", "l_hand")], [("pelvis", "head"), ("l_shank", "r_hand")]],
)
def test_three_names_in_a_circle_and_two_pairs_are_told_with_what_mends_them(
    fit: condyle.Fit, circles: list[tuple[str, ...]]
) -> None:
    bodies, joints = fit.skeleton.bodies, fit.skeleton.joints
    worn = {name: other for one in circles for name, other in zip(one, one[1:] + one[:1], strict=True)}
    wrong = rename(joints, worn)
    (found,) = find_exchanged_names(bodies, wrong)
    assert set(found.bodies) == set(worn)
    renamed = found.text.split("--rename ")[1].split(",")
    mended = rename(wrong, dict(tuple(one.split("=")) for one in renamed))  # type: ignore[arg-type]
    assert [(one.parent, one.child) for one in mended] == [(one.parent, one.child) for one in joints]


def test_a_few_edges_over_a_segment_are_no_circle(fit: condyle.Fit) -> None:
    bodies = ("pelvis", "chest", "l_thigh", "l_shank", "r_thigh", "r_shank")
    edges = [("chest", "pelvis"), ("pelvis", "l_shank"), ("l_shank", "l_thigh"), ("pelvis", "r_thigh")]
    joints = [replace(fit.skeleton.joints[0], parent=parent, child=child) for parent, child in edges]
    assert all(len(one.bodies) == 2 for one in find_exchanged_names(bodies, joints))


def test_legs_without_feet_may_have_either_names_exchanged(fit: condyle.Fit) -> None:
    bodies = ("pelvis", "chest", "l_thigh", "r_thigh", "l_shank", "r_shank")
    edges = [
        ("pelvis", "chest"),
        ("pelvis", "l_thigh"),
        ("pelvis", "r_thigh"),
        ("l_thigh", "r_shank"),
        ("r_thigh", "l_shank"),
    ]
    joints = [replace(fit.skeleton.joints[0], parent=parent, child=child) for parent, child in edges]
    (found,) = find_exchanged_names(bodies, joints)
    assert found.bodies == ("l_thigh", "r_thigh", "l_shank", "r_shank")
    assert found.count == 2
