"""What a page says is what the skeleton holds."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle import Finding, read_skeleton
from condyle.errors import CondyleError
from condyle.maths.robust import Z95
from condyle.model.clock import Clock
from condyle.model.take import BodyMarker
from condyle.report import facts
from condyle.report.page import build_page
from condyle.report.page_data import PageData
from tests.make.fitted import fitted, rewritten, take

ONE_CLOCK = Clock.of(np.arange(1200) / 60, np.zeros(1200, np.int64))


@pytest.fixture(scope="module")
def page(noisy: Path) -> PageData:
    return build_page(noisy)


def test_bodies_joints_limbs_and_placements_are_the_skeletons(page: PageData, noisy: Path) -> None:
    skeleton = read_skeleton(noisy)
    assert tuple(body.name for body in page.bodies) == skeleton.bodies
    assert [(page.bodies[j.child].name, page.bodies[j.parent].name) for j in page.joints] == [
        (j.child, j.parent) for j in skeleton.joints
    ]
    for shown, joint in zip(page.joints, skeleton.joints, strict=True):
        assert shown.p_child_joint == tuple(joint.p_child_joint)
        assert shown.residual == joint.residual
        assert shown.verdict == "enough"
        assert joint.child not in shown.advice
        assert joint.covariance is not None
        assert shown.place_95 is not None
        assert shown.place_95[0] >= shown.place_95[1] >= shown.place_95[2] > 0
        assert sum((one / Z95) ** 2 for one in shown.place_95) == pytest.approx(np.trace(joint.covariance[:3, :3]))
        assert shown.half_width == joint.half_width
        assert 0 < shown.p50 < shown.p95 < shown.largest
    for shown, limb in zip(page.limbs, skeleton.limbs, strict=True):
        assert page.bodies[shown.body].name == limb.body
        assert page.bodies[page.joints[shown.from_joint].child].name == limb.from_joint
        assert (shown.length, shown.low, shown.high) == (limb.length, limb.low, limb.high)
    assert len(page.placements) == len(skeleton.sensors)
    assert {body.masked for body in page.bodies} == set(skeleton.take["masked"].values())


def test_parents_stand_before_their_children(noisy: Path, tmp_path: Path) -> None:
    from condyle import write_skeleton

    skeleton = read_skeleton(noisy)
    (tmp_path / "motion.npz").write_bytes((noisy / "motion.npz").read_bytes())
    write_skeleton(tmp_path / "skeleton.json", replace(skeleton, joints=skeleton.joints[::-1]))
    page, before = build_page(tmp_path), build_page(noisy)
    known = {k for k, body in enumerate(page.bodies) if body.root}
    for joint in page.joints:
        assert joint.parent in known
        known.add(joint.child)
    by_child = {joint.child: joint for joint in before.joints}
    assert all(joint.p50 == by_child[joint.child].p50 for joint in page.joints)


def test_the_verdict_is_the_one_in_the_file(page: PageData, noisy: Path) -> None:
    verdict = read_skeleton(noisy).verdict
    assert verdict is not None
    assert (page.verdict.text, page.verdict.tone) == (verdict.text, "good")
    assert (page.verdict.sure, page.verdict.length_95) == (len(page.joints), verdict.length_95)


def test_without_a_tree_the_page_says_so_and_shows_the_sensors(tmp_path: Path) -> None:
    from condyle.simulate import Disturbances, chain, simulate

    still = simulate(chain(), "still", seconds=5, rate=60, disturbances=Disturbances(position_noise=0.003)).take
    page = build_page(fitted(tmp_path, still))
    assert page.verdict.tone == "bad"
    assert page.verdict.text.startswith("No joint can be told from this motion. ")
    assert (page.joints, page.limbs) == ((), ())
    assert [body.figure for body in page.bodies] == [-1] * 4
    assert page.motion is not None
    assert page.motion.free == (0, 1, 2, 3)
    assert page.findings[0].severity == "error"


def test_two_figures_have_two_numbers(noisy: Path) -> None:
    skeleton = read_skeleton(noisy)
    root, joints = skeleton.roots[0], skeleton.joints
    cut = replace(skeleton, roots=(root, joints[-1].child), joints=joints[:-1])
    figures = {body.name: body.figure for body in facts.list_bodies(cut)}
    assert figures[joints[-1].child] == 1
    assert set(figures.values()) == {0, 1}


def test_findings_come_worst_first_and_shared_ones_in_one_line(noisy: Path) -> None:
    skeleton = read_skeleton(noisy)
    names = skeleton.bodies
    shared = [Finding("hinge", "info", f"{name} is a hinge", (name,)) for name in names[:3]]
    slip = Finding(
        "slip", "warning", "it slipped", (names[1], "elsewhere"), time=(3.0, 3.0), value=float("nan"), unit="m"
    )
    told = facts.list_findings(replace(skeleton, findings=(slip, *shared)), ONE_CLOCK)
    assert [finding.code for finding in told] == ["slip", "hinge"]
    assert (told[0].bodies, told[0].time, told[0].value, told[0].unit) == ((1,), (3.0, 3.0), None, "m")
    assert (told[1].bodies, told[1].time, told[1].unit) == ((0, 1, 2), None, None)


def test_loops_and_joints_with_a_time_are_lines_of_the_timeline(noisy: Path) -> None:
    skeleton = read_skeleton(noisy)
    first, *rest = skeleton.joints
    loop = replace(rest[0], time=(2.0, 4.0))
    told = facts.list_connections(
        replace(skeleton, joints=(replace(first, time=(1.0, 9.0)), *rest), loops=(loop,)), ONE_CLOCK
    )
    assert [(one.joint, one.start, one.end) for one in told] == [(0, 1.0, 9.0), (None, 2.0, 4.0)]


def test_how_it_was_made_names_files_options_frames_and_versions(page: PageData, noisy: Path) -> None:
    skeleton = replace(
        read_skeleton(noisy),
        take={"frames": 1200, "seconds": 20.0, "sources": ["a/b.csv", "c.csv"], "masked": {"x": 7}},
        options={"root": None, "world": False, "tree": [["a", "b"], ["b", "c"]], "symmetric": 0.01, "loops": []},
        conventions={"read_as": "quaternions wxyz", "up": "y", "length": "m"},
        findings=(
            Finding("convention-repaired", "warning", "the doctor turned them"),
            Finding("slip", "warning", "no"),
        ),
    )
    made = {group.group: dict(group.rows) for group in facts.describe_making(skeleton, "y", 60.0, 2)}
    assert made["Files"] == {"file 1": "a/b.csv", "file 2": "c.csv"}
    assert made["Conventions"]["the file was read as"] == "quaternions wxyz"
    assert "the doctor turned them" in made["Conventions"].values()
    assert "no" not in made["Conventions"].values()
    assert made["Options"] == {"tree": "a:b, b:c", "symmetric": "0.01"}  # what is usual is not told
    assert made["Frames"]["left out"] == "x 7"
    assert made["Frames"]["rate"] == "60 Hz"
    assert "numpy" in made["Versions"]["page by"]
    assert [group.group for group in page.made] == ["Files", "Conventions", "Options", "Frames", "Versions"]


@pytest.mark.parametrize(
    "facts_of_take",
    [
        {"seconds": "long", "masked": [1], "frames": None},
        {"seconds": None, "masked": {"x": "many"}},
        {"seconds": [], "masked": None},
        {},
    ],
)
def test_a_file_that_somebody_changed_still_has_a_page(
    noisy: Path, tmp_path: Path, facts_of_take: dict[str, object]
) -> None:
    rewritten(noisy, tmp_path)
    file = tmp_path / "skeleton.json"
    changed = json.loads(file.read_text()) | {
        "take": facts_of_take,
        "options": {"root": {"a": [None]}},
        "conventions": {"up": 3},
    }
    file.write_text(json.dumps(changed))
    page = build_page(tmp_path)
    assert (page.seconds, page.frames) == (0.0, 1200)
    assert page.motion is not None
    assert page.motion.up is None


@pytest.mark.parametrize("sources", ["a.csv", 3, [None]])
def test_files_that_have_no_names_are_told(noisy: Path, tmp_path: Path, sources: object) -> None:
    rewritten(noisy, tmp_path)
    file = tmp_path / "skeleton.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"take": {"sources": sources}}))
    with pytest.raises(CondyleError, match="the files that it was made of are damaged"):
        build_page(tmp_path)


def test_bodies_from_markers_are_named_with_their_markers(noisy: Path) -> None:
    markers = tuple(BodyMarker("hip", name, np.zeros(3)) for name in ("LASI", "RASI"))
    made = facts.describe_making(replace(read_skeleton(noisy), markers=markers), None, None, 1)
    assert dict(next(group.rows for group in made if group.group == "Markers")) == {"hip": "LASI, RASI"}


@pytest.mark.parametrize(
    ("sources", "title"),
    [([], "condyle"), (["a/walk.c3d"], "walk.c3d"), (["a", "b"], "a, b"), (["a", "b", "c", "d"], "a, b and 2 more")],
)
def test_the_title_is_the_file(noisy: Path, sources: list[str], title: str) -> None:
    assert facts.make_title(replace(read_skeleton(noisy), take={"sources": sources})) == title


def test_what_points_up_is_told_by_a_persons_trunk(tmp_path: Path, noisy: Path) -> None:
    from condyle.simulate import human, simulate

    person = simulate(human(), "exercise", seconds=6, rate=30).take
    people, machine = build_page(fitted(tmp_path / "a", person)), build_page(noisy)
    limbs = ("_shank", "_thigh", "_foot")  # with a trunk that is not named, nothing tells
    names = tuple(name if name.endswith(limbs) else f"x{k}" for k, name in enumerate(person.names))
    unnamed = build_page(fitted(tmp_path / "c", replace(person, names=("ab", *names[1:]))))
    assert unnamed.motion is not None
    assert unnamed.motion.up is None
    assert people.motion is not None
    assert machine.motion is not None
    assert (people.motion.up, machine.motion.up) == ("z", None)
    said = [dict(page.made[1].rows)["axis that points up"] for page in (people, machine)]
    assert said == ["z, as the figure's trunk points; the recording does not say", "not told"]
    told = build_page(fitted(tmp_path / "b", replace(take(5), up="-y")))
    assert told.motion is not None
    assert told.motion.up == "-y"
    assert dict(told.made[1].rows)["axis that points up"] == "-y"
