"""What the motion does not tell, and takes that cannot be fitted: B26, B27, B29, B36.

B25, a sensor that slips in the middle of a take, belongs to the checks of a result and not to its making; B24's
residual by place likewise.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.anatomy import is_bending_joint
from condyle.simulate import Disturbances, linkage, simulate

from .takes import NOISE, RATE, SECONDS, WRITERS, Poses, condyle, fit, linkage_take, matches, name_in

EXACT = Disturbances()
FORMATS = ["npz", "csv", "ascension"]
AXIS = np.array([0.2, 0.6, 0.77]) / np.linalg.norm([0.2, 0.6, 0.77])
ON_AXIS = 0.01  # m: distance of a hinge's point from its true axis
PARALLEL = np.radians(2.0)


@pytest.fixture(scope="module")
def poses() -> Poses:
    return Poses.of(linkage_take())


def moved(turn: float, slide: float = 0.0) -> Poses:
    """The linkage whose left forearm turns about one axis against the upper arm, and slides along another."""
    exact = Poses.of(linkage_take(noise=EXACT))
    R, p, time = exact.R, exact.p, exact.time
    R[:, 3] = R[:, 2] @ rotation.from_vector(turn * np.sin(2 * time)[:, None] * AXIS)
    p[:, 3] = p[:, 2] + R[:, 2] @ [0.15, 0.1, 0.05] + np.einsum("nij,j->ni", R[:, 3], [0.12, -0.05, 0.1])
    p[:, 3] += (R[:, 2] @ [slide, 0.0, 0.0]) * np.sin(2 * time)[:, None]
    rng = np.random.default_rng(1)
    R = R @ rotation.from_vector(np.radians(0.5) * rng.standard_normal(p.shape))
    return exact.but(R=R, p=p + 0.004 * rng.standard_normal(p.shape))


def joint_of(answer: object, child: str) -> dict[str, object]:
    found: dict[str, object] = next(one for one in answer.facts["joints"] if one["child"] == child)  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("format", FORMATS)
def test_b26_a_pair_that_never_moves_is_rigid_and_no_length_is_made_up(tmp_path: Path, format: str) -> None:
    rigid = moved(0.0)
    answer = fit(WRITERS[format](tmp_path, rigid))
    child, parent = name_in(format, rigid, 3), name_in(format, rigid, 2)
    (text,) = answer.told("rigid-pair")
    named = is_bending_joint(child, parent)
    then = (
        "the joint that their names tell cannot be placed: bend it"
        if named
        else "if you know their distance, `condyle scale --distance` gives the scale"
    )
    assert matches(
        f"{child} and {parent} never moved against each other; they count as one rigid body, <\\d+\\.\\d> mm apart "
        f"(standard deviation <[\\d.]+> mm); {then}",
        text,
    ), text
    assert joint_of(answer, child)["kind"] == "rigid"
    assert all(child not in limb[1:] for limb in answer.lengths())


@pytest.mark.parametrize("format", FORMATS)
def test_b26_a_pair_that_slides_is_a_slider_and_no_joint_that_turns(tmp_path: Path, format: str) -> None:
    slider = moved(0.0, slide=0.2)
    answer = fit(WRITERS[format](tmp_path, slider))
    child, parent = name_in(format, slider, 3), name_in(format, slider, 2)
    (text,) = answer.told("slider")
    way = "over <\\d+> mm: a slider; it stands beside the tree, and mjcf, urdf and osim have it as a joint"
    assert any(
        matches(f"{a} slides on {b} along (<[-\\d.]+> <[-\\d.]+> <[-\\d.]+>) of {b}, {way}", text)
        for a, b in ((child, parent), (parent, child))
    ), text
    assert child in answer.facts["loose"]
    assert all(child not in (joint["child"], joint["parent"]) for joint in answer.facts["joints"])
    assert [loop["kind"] for loop in answer.facts["loops"]] == ["slider"]


@pytest.mark.parametrize("format", ["csv"])
def test_b26_where_nothing_moves_there_is_no_tree(tmp_path: Path, format: str) -> None:
    still = simulate(linkage(), "still", seconds=SECONDS, rate=RATE, seed=3, disturbances=NOISE).take
    answer = fit(WRITERS[format](tmp_path, Poses.of(still)))
    assert answer.status == 3
    assert answer.told("tree-not-determined") == [
        "nothing moved enough to tell which bodies are connected; move every joint through its range, or give the tree"
    ]
    assert answer.facts["joints"] == []


@pytest.mark.parametrize("format", FORMATS)
def test_b27_a_hinge_has_an_axis_and_its_point_is_flagged_as_arbitrary(tmp_path: Path, format: str) -> None:
    hinge = moved(0.8)
    answer = fit(WRITERS[format](tmp_path, hinge))
    child, parent = name_in(format, hinge, 3), name_in(format, hinge, 2)
    [told] = answer.told("one-axis-only")
    assert told.startswith(f"{child}: only one axis exercised against {parent}, ")
    assert told.endswith(
        "; where along it is not determined, the point nearest to the sensors is given; if it can turn otherwise, twist it"
    )
    joint = joint_of(answer, child)
    assert (joint["kind"], joint["point"]) == ("hinge", "arbitrary")
    axis, point = np.array(joint["axis_parent"]), np.array(joint["p_parent_joint"])
    assert np.arccos(min(1.0, abs(axis @ AXIS))) < PARALLEL
    off = point - [0.15, 0.1, 0.05]
    assert np.linalg.norm(off - (off @ AXIS) * AXIS) < ON_AXIS


@pytest.mark.parametrize("format", FORMATS)
def test_b29_one_sensor_is_an_error_that_suggests_the_room(tmp_path: Path, poses: Poses, format: str) -> None:
    words = WRITERS[format](tmp_path, Poses(poses.names[:1], poses.time, poses.p[:, :1], poses.R[:, :1]))
    answer = condyle("fit", *words)
    assert (answer.status, answer.err) == (
        1,
        f"condyle: error: {words[0]}, sensor {name_in(format, poses, 0)}: one sensor alone has no joint; "
        "to fit it against the room, add --world (world=True)\n",
    )
    assert fit(words).error["code"] == "one-sensor"
    assert fit(words, "--world").status in (0, 3)
    doctor = condyle("doctor", *words)
    assert (doctor.status, doctor.err) == (
        1,
        f"condyle: error: {words[0]}: nothing to compare: conventions show in how bodies move against each other, "
        "and that takes two bodies and thirty frames\n",
    )


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("format", ["npz", "csv", "columns"])
def test_b29_fewer_than_three_frames_are_an_error(tmp_path: Path, poses: Poses, format: str, count: int) -> None:
    words = WRITERS[format](tmp_path, poses.rows(slice(0, count)))
    answer = condyle("fit", *words)
    frames = f"{count} frame{'s' * (count != 1)}"
    assert (answer.status, answer.err) == (
        1,
        f"condyle: error: {words[0]}: {frames} cannot tell a joint; at least 3 are needed, and seconds of motion\n",
    )
    assert fit(words).error["code"] == "few-frames"


def two_takes(folder: Path, one: Poses, other: Poses, format: str) -> tuple[list[str], str, str]:
    """Words for a fit of two files, and the two paths."""
    for name in ("a", "b"):
        (folder / name).mkdir()
    first, second = WRITERS[format](folder / "a", one), WRITERS[format](folder / "b", other)
    return [first[0], second[0], *first[1:]], first[0], second[0]


@pytest.mark.parametrize("format", ["npz", "csv", "vr", "qualisys"])
def test_b36_a_sensor_renamed_between_takes_is_an_error_with_the_near_name(
    tmp_path: Path, poses: Poses, format: str
) -> None:
    names = tuple(name.replace("l_forearm", "l_fore_arm") for name in poses.names)
    words, one, other = two_takes(tmp_path, poses, poses.but(names=names), format)
    answer = condyle("fit", *words)
    assert (answer.status, answer.err) == (
        1,
        f"condyle: error: {other}, sensor l_forearm: sensor 'l_forearm' of {one} is missing here; "
        "is 'l_fore_arm' the same sensor? rename it, or fit the takes one by one\n",
    )
    assert fit(words).error["code"] == "bodies-differ"


@pytest.mark.parametrize("format", ["npz", "csv", "ascension", "polhemus"])
def test_b36_a_sensor_missing_in_one_take_is_an_error(tmp_path: Path, poses: Poses, format: str) -> None:
    fewer = Poses(poses.names[:5], poses.time, poses.p[:, :5], poses.R[:, :5])
    name = name_in(format, poses, 5)
    words, one, other = two_takes(tmp_path, poses, fewer, format)
    answer = condyle("fit", *words)
    assert (answer.status, answer.err) == (
        1,
        f"condyle: error: {other}, sensor {name}: sensor '{name}' of {one} is missing here; fit the takes one by one\n",
    )


@pytest.mark.parametrize("format", ["npz", "csv"])
def test_b36_a_sensor_named_twice_is_an_error(tmp_path: Path, poses: Poses, format: str) -> None:
    words = WRITERS[format](tmp_path, poses.but(names=(*poses.names[:5], "chest")))
    answer = fit(words)
    assert answer.status == 1
    code, text = {
        "npz": ("duplicate-name", "two bodies are named 'chest'; names must differ"),
        "csv": ("duplicate-column", "a second column 'chest.px'"),
    }[format]
    assert (answer.error["code"], answer.error["text"]) == (code, text)
    assert answer.error["path"] == words[0]


@pytest.mark.parametrize("format", FORMATS)
def test_b36_two_takes_of_the_same_sensors_are_one(tmp_path: Path, poses: Poses, format: str) -> None:
    words, _, _ = two_takes(tmp_path, poses.rows(slice(0, 300)), poses.rows(slice(300, 600)), format)
    answer = fit(words)
    assert answer.status == 0
    assert answer.facts["take"]["frames"] == 600
