"""Every recording beside the project through `condyle info` and `condyle fit`, against what is known of it."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from benchmarks.marker_sets import count_edges
from benchmarks.marker_sets import fit as fit_markers

from condyle.io.exports import write_take
from condyle.model.skeleton import SURE_SUPPORT
from condyle.model.take import Take
from condyle.prepare.recognise_bodies import SEGMENT_RIGID_MAX_SHARE
from tests.make import recordings

from . import files
from .files import FILES, FITS, QUICK, Answer, File, Fit, info, run

pytestmark = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)

DONE, DONE_WITH_WARNINGS, FAILED, USAGE = 0, 3, 1, 2
SAME_POINT = 1e-6  # m, of joints in poses that a program computed on a skeleton of its own
SAME_AXIS = 1e-6  # rad
OWN_EDGES = 2 / 3  # of a clip's own edges that have to be found; the others tie with what is found instead
CHI3_95 = 7.81  # 95 % of the squared standardised distances of a point in space
XSENS = 0.0002  # m: a clip of 1.9 s in which some joints turn by a sixth of a degree
BUILT_PLAY_DEG = 5.0  # of hinges that were built
TURN_DEG = (60, 120)  # the magnetic hinge is turned about 90 degrees
DEFAULT_TOO = (
    "cmu_bvh/09_01.bvh",
    "cmu_bvh/20_02.bvh",
    "cmu_amc/11_01.amc",
)  # in a second
DOUBT = ("rivals",)


@cache
def fitted(fit: Fit) -> Answer:
    with TemporaryDirectory() as folder:
        return run(fit.words(Path(folder)))


def rows(expect: str) -> list[Fit]:
    return [fit for fit in FITS if fit.expect == expect]


def named(fit: Fit) -> str:
    return " ".join([fit.name, *fit.options])


def row(name: str) -> Fit:
    return next(fit for fit in FITS if fit.name == name)


def test_the_table_names_every_recording() -> None:
    assert files.unnamed() == []


def test_the_table_uses_every_entry_of_the_truth() -> None:
    paths = [file.path for file in FILES]
    for name in recordings.all_truth():
        assert any(path.startswith(name.removesuffix("*")) for path in paths), name


def test_the_table_has_the_frames_that_the_truth_has() -> None:
    true = {name: entry["frames"] for name, entry in recordings.all_truth().items() if "frames" in entry}
    assert len(true) >= 61
    assert {file.path: file.frames for file in FILES if file.path in true} == true


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.path)
def test_info_tells_what_is_in_a_file(file) -> None:
    answer = info(file.path)
    facts = answer.facts
    if file.format is None:
        text = facts["error"]["text"] if "error" in facts else "; ".join(facts["reasons"])
        assert file.says in text
        assert answer.status == (FAILED if "error" in facts else DONE)
        return
    assert answer.status in (DONE, DONE_WITH_WARNINGS)
    assert facts.get("conventions", {}).get("format") == file.format
    assert (facts["frames"], len(facts.get("markers", ()))) == (file.frames, file.markers)
    named = facts.get("recognised", {}).get("bodies", ())
    assert len(facts.get("bodies", ())) == (file.bodies or len(named))


@pytest.mark.parametrize("name", ["door_pose/door.txt", "vr_tundra/000_tracker_data_record.csv"])
def test_info_proposes_the_columns_of_an_unknown_table(name) -> None:
    proposed, true = info(name).facts["columns"], row(name).columns
    for line in true.splitlines():
        if line.startswith(("position", "orientation")):
            assert line in proposed


def test_info_declines_joint_angles_with_a_reason_and_proposes_nothing() -> None:
    assert info("franka_log/exciting_traj_positions.txt").facts["columns"] is None


@pytest.mark.parametrize("fit", rows("tree"), ids=named)
def test_a_take_has_the_tree_that_is_known(fit) -> None:
    answer = fitted(fit)
    assert answer.status in (DONE, DONE_WITH_WARNINGS)
    true, found = files.true_edges(fit), files.found_edges(fit, answer)
    assert true <= found
    assert answer.facts["loose"] == []
    wrong = [joint for edge, joint in answer.joints.items() if not {files.merged(edge, fit)} <= true | files.TIED]
    for joint in wrong:  # one tree of all bodies, where two are known: what joins them has to be disclaimed
        ends = {joint["child"], joint["parent"]}
        open_and_loose = joint["kind"] == "undetermined" and ends in answer.told("large-residual")
        assert open_and_loose or any(ends <= set(bodies) for bodies in answer.told("rivals"))
    assert len(wrong) == len(answer.facts["bodies"]) - 1 - len(fit.truth["joints"])


@pytest.mark.parametrize("fit", [fit for fit in rows("tree") if files.true_kinds(fit)], ids=named)
def test_joints_are_of_the_kind_that_is_known(fit) -> None:
    true, joints = files.true_kinds(fit), fitted(fit).joints
    assert {edge: joints[edge]["kind"] for edge in true} == true


@pytest.mark.parametrize("name", ["diodem/arm/exp01", "diodem/gait/exp06"])
def test_the_tree_of_a_built_linkage_is_not_in_doubt_and_its_hinges_have_little_play(name) -> None:
    answer = fitted(row(name))
    assert not answer.codes() & {*DOUBT, "loop-joint", "loose-body"}
    for joint in answer.facts["joints"]:
        assert joint["kind"] == "ball" or np.degrees(joint["play"]) < BUILT_PLAY_DEG


def test_the_magnetic_hinge_turned_by_about_ninety_degrees() -> None:
    (joint,) = fitted(row("polhemus_liberty/hinge_x.csv")).facts["joints"]
    take = recordings.take("polhemus_liberty/hinge_x.csv")
    parent, child = (take.R_world_body[:, take.index(joint[which])] for which in ("parent", "child"))
    R = np.swapaxes(parent, 1, 2) @ child
    along = np.array(joint["axis_parent"])
    side = np.cross(along, [1.0, 0, 0])
    swept = np.einsum("nij,j->ni", R, R[0].T @ side)
    angle = np.degrees(np.arctan2(np.cross(side, swept) @ along, swept @ side))
    assert TURN_DEG[0] < np.ptp(angle) < TURN_DEG[1]


@pytest.mark.parametrize("fit", rows("not determined"), ids=named)
def test_no_tree_is_told_where_nothing_moved(fit) -> None:
    assert fit.truth.get("expect", "not determined") == "not determined"
    answer = fitted(fit)
    assert answer.status == DONE_WITH_WARNINGS
    assert "tree-not-determined" in answer.codes()
    assert answer.facts["joints"] == []
    assert answer.facts["loose"] == answer.facts["bodies"]


@pytest.mark.parametrize(
    "fit",
    [replace(fit, options=QUICK) for fit in rows("own")] + [fit for fit in rows("own") if fit.name in DEFAULT_TOO],
    ids=named,
)
def test_the_skeleton_of_a_clip_is_found_again(fit) -> None:
    """Every joint is a point that two bodies really share, and it is where the file has it.

    Elbow twist and wrist, hand, thumb and fingers share points, and fingers hardly move, so edges among them tie.
    """
    own = {bone["name"]: bone for bone in info(fit.name).facts["own_skeleton"]}
    answer = fitted(fit)
    assert set(own) == set(answer.facts["bodies"])
    assert len(answer.facts["joints"]) == len(own) - 1
    points = [joint["residual"] for joint in answer.facts["joints"] if joint["kind"] != "hinge"]
    assert max(points) < SAME_POINT  # a hinge is a line: what it turns off its axis shows at the point it is given
    right = [joint for joint in answer.facts["joints"] if files.own_child(joint, own)]
    assert len(right) >= OWN_EDGES * (len(own) - 1)
    for joint in right:
        assert files.off(joint, files.own_child(joint, own), own) < SAME_POINT


def xsens_joints() -> dict[tuple[str, str], tuple[np.ndarray, np.ndarray]]:
    """{(parent, child): where the joint is in each} as the segments of the MVNX file have it."""
    root = ET.parse(recordings.DATA / "xsens_mvnx/test_mocap.mvnx").getroot()
    space = {"m": root.tag.partition("}")[0][1:]}
    place = {
        f"{segment.get('label')}/{point.get('label')}": np.array(point.findtext("m:pos_b", "", space).split(), float)
        for segment in root.iterfind(".//m:segment", space)
        for point in segment.iterfind(".//m:point", space)
    }
    ends = [
        (joint.findtext("m:connector1", "", space), joint.findtext("m:connector2", "", space))
        for joint in root.iterfind(".//m:joint", space)
    ]
    return {(up.split("/")[0], down.split("/")[0]): (place[up], place[down]) for up, down in ends}


def test_the_moving_joints_of_an_inertial_suit_are_where_its_file_has_them() -> None:
    fit = row("xsens_mvnx/test_mocap.mvnx")
    answer, true = fitted(fit), xsens_joints()
    own = {frozenset(edge) for edge in true}
    assert len(true) == 22
    legs = ("Leg", "Foot", "Toe")
    frozen = {edge for edge in true if edge[1].endswith(legs)}
    told = [*answer.told("wide-interval"), *answer.told("undetermined-joint")]
    assert all(any("Shoulder" in body for body in edge) for edge in told)
    moving = set(true) - frozen
    assert len(moving) >= 14
    for up, down in moving:
        joint = answer.joints.get(frozenset((up, down)))
        if joint is None:  # the file's own edge stands beside the one that was found
            instead = [one for edge, one in answer.joints.items() if down in edge and edge not in own]
            assert [one["support"] < SURE_SUPPORT for one in instead] == [True]
            assert {up, down} in [set(edge) for edge in instead[0]["rivals"]]
            continue
        where = [joint["p_parent_joint"], joint["p_child_joint"]][:: 1 if joint["child"] == down else -1]
        off = np.array(where) - true[up, down]
        # The shoulders slide, and turn by a degree: their intervals allow for it.
        covariance = np.array(joint["covariance"])
        halves = [covariance[3:, 3:], covariance[:3, :3]][:: 1 if joint["child"] == down else -1]
        far = [float(one @ np.linalg.pinv(own) @ one) for one, own in zip(off, halves, strict=True)]
        assert np.abs(off).max() < XSENS or ("Shoulder" in down and max(far) < CHI3_95), (up, down)
    for edge, joint in answer.joints.items():
        if any(body.endswith(legs) for body in edge):
            assert joint["kind"] == "rigid", edge


@pytest.mark.parametrize("fit", rows("open"), ids=named)
def test_where_nobody_knows_the_tree_every_joint_is_told_with_its_doubts(fit) -> None:
    answer = fitted(fit)
    assert answer.status == DONE_WITH_WARNINGS
    warned = {
        body for finding in answer.facts["findings"] for body in finding["bodies"] if finding["severity"] != "info"
    }
    size = "implausible-size" in answer.codes()  # a wrist is no joint of the room
    assert all(size or {joint["child"], joint["parent"]} & warned for joint in answer.facts["joints"])


@pytest.mark.parametrize("file", [file for file in FILES if file.bodies == 1], ids=lambda file: file.path)
def test_one_sensor_alone_is_an_error_that_names_the_way_out(file) -> None:
    answer = run(["fit", str(recordings.DATA / file.path)])
    assert answer.status == FAILED
    assert answer.facts["error"]["code"] == "one-sensor"
    assert "--world" in answer.facts["error"]["text"]


def one_of_each_folder(files: Iterable[File]) -> list[File]:
    """The first file of each folder and format."""
    return list({(file.folder, file.format): file for file in reversed(list(files))}.values())


@pytest.mark.parametrize(
    "file",
    one_of_each_folder(file for file in FILES if file.markers and not (file.bodies or "/exp" in file.path)),
    ids=lambda f: f.path,
)
def test_markers_alone_become_bodies_by_their_names(file) -> None:
    answer = info(file.path)
    known = answer.facts["recognised"]
    assert len(known["bodies"]) >= 2
    assert all(body["fit_error"] <= SEGMENT_RIGID_MAX_SHARE * body["size"] for body in known["bodies"])
    assert "markers-by-name" in answer.codes()
    true = recordings.all_truth().get(file.path, {}).get("bodies_from_markers", {})
    found = [{marker.rpartition(":")[2] for marker in body["markers"]} for body in known["bodies"]]
    for group in true.values():  # a body of which most markers are of each group, and no marker in two bodies
        assert any(2 * len(own & {marker.rpartition(":")[2] for marker in group}) > len(own) for own in found), group


@pytest.mark.parametrize(
    "name", ["qualisys_c3d/walk.c3d", "hard/squat/b_walk.trc", "more/exo/ET21.trc", "more/zoo/HC002D06.c3d"]
)
def test_a_fit_by_names_has_every_edge_of_one_with_the_list(name) -> None:
    skeleton, _ = fit_markers([recordings.DATA / name], None)
    edges = count_edges(skeleton, recordings.truth(name))
    assert (edges.right, edges.wrong) == (edges.known, 0)


@pytest.mark.parametrize("name", ["cmu_c3d/dribble_shoot.c3d", "broken_c3d/mocap36.c3d"])
def test_bodies_that_info_proposes_can_be_fitted(name, tmp_path) -> None:
    path, bodies = str(recordings.DATA / name), str(tmp_path / "bodies.toml")
    assert run(["info", path, "--propose", bodies]).status in (DONE, DONE_WITH_WARNINGS)
    answer = run(["fit", path, "--bodies", bodies, *QUICK])
    assert answer.status in (DONE, DONE_WITH_WARNINGS)
    assert len(answer.facts["bodies"]) >= 5
    assert answer.facts["joints"]


def robot(name: str) -> tuple[Take, list[np.ndarray]]:
    """Poses of a robot arm's links by its joint angles, every twentieth frame, and each link in the last at angle 0."""
    table = recordings.all_truth()["franka_log/*"]["mdh_a_alpha_d"]
    angle = np.loadtxt(recordings.DATA / name).reshape(-1, len(table))[::20]
    time = np.loadtxt(recordings.DATA / "franka_log/exciting_traj_time.txt")[::20]
    T = [np.tile(np.eye(4), (len(angle), 1, 1))]
    fixed = []
    for k, (a, alpha, d) in enumerate(table):
        c, s = np.cos(alpha), np.sin(alpha)
        fixed.append(np.array([[1, 0, 0, a], [0, c, -s, -s * d], [0, s, c, c * d], [0, 0, 0, 1]]))
        turn = np.tile(np.eye(4), (len(angle), 1, 1))
        turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angle[:, k])
        turn[:, 1, 0] = np.sin(angle[:, k])
        turn[:, 0, 1] = -turn[:, 1, 0]
        T.append(T[-1] @ fixed[-1] @ turn)
    return Take.from_matrices(np.stack(T, axis=1), names=[f"link{k}" for k in range(8)], time=time), fixed


@pytest.mark.parametrize("chain", [True, False], ids=["chain given", "nothing given"])
def test_the_hinges_of_a_robot_arm_are_found_with_their_axes(chain, tmp_path) -> None:
    """Axes that meet give links two apart a common point, so the chain ties with other trees; that is told."""
    take, fixed = robot("franka_log/exciting_traj_positions.txt")
    write_take(tmp_path / "arm.csv", take)
    edges = [(f"link{k}", f"link{k + 1}") for k in range(7)]
    given = ["--tree", ",".join(f"{up}:{down}" for up, down in edges)] if chain else []
    answer = run(["fit", str(tmp_path / "arm.csv"), *given])
    assert len(answer.joints) == 7
    hinges = [edge for edge in edges if frozenset(edge) in answer.joints]
    if chain:
        assert hinges == edges
    for up, down in hinges:
        joint = answer.joints[frozenset((up, down))]
        assert joint["kind"] == "hinge"
        side = "child" if joint["child"] == down else "parent"
        other = "parent" if side == "child" else "child"
        T = fixed[int(down[4:]) - 1]  # a link turns about its own z axis
        for which, along, origin in ((side, np.array([0, 0, 1.0]), np.zeros(3)), (other, T[:3, 2], T[:3, 3])):
            assert np.linalg.norm(np.cross(joint[f"axis_{which}"], along)) < SAME_AXIS
            assert np.linalg.norm(np.cross(np.array(joint[f"p_{which}_joint"]) - origin, along)) < SAME_POINT
    for edge, joint in answer.joints.items():
        if tuple(sorted(edge)) not in edges:
            assert joint["residual"] < SAME_POINT
            assert any(edge <= bodies for bodies in answer.told(*DOUBT))


@pytest.mark.parametrize("fit", [*rows("tree"), *rows("open")], ids=named)
def test_no_sensor_is_said_to_have_slipped_or_been_exchanged_where_none_is_known_to_have(fit) -> None:
    assert not [
        text["text"] for text in fitted(fit).facts["findings"] if text["code"] in ("slip", "swap", "marker-swap")
    ]
