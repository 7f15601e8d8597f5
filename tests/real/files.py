"""Every recording beside the project, what is known of it, and what the program makes of it.

One table for the tests and for benchmarks/real.py. `FILES` has a row for every file: what `condyle info` has to find in
it. `FITS` has the takes that are fitted, those of hard/ and more/ aside: the words that a user types after
`condyle fit`. What is true of a take comes from truth.json beside the recordings, or from the skeleton that the file
itself brings along.
"""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from condyle.cli import main
from tests.make import recordings

TIED = {frozenset(("tie group",))}
NOT_RECORDINGS = {".json", ".md"}  # beside licences and readme files, which are .txt


class File(NamedTuple):
    """What `condyle info` has to find. Without a format it cannot be read: `says` is an error's code or a reason."""

    path: str
    format: str | None
    frames: int = 0
    bodies: int = 0
    markers: int = 0
    says: str = ""

    @property
    def folder(self) -> str:
        """Where recordings of one kind lie: hard/ and more/ have a folder for each source."""
        first, second, *_ = self.path.split("/")
        return f"{first}/{second}" if first in ("hard", "more") else first


FILES = (
    File("ascension_trakstar/hand_1.csv", "Ascension tracker log", 7442, bodies=6),
    File("broken_c3d/mocap36.c3d", "C3D", 1380, markers=36),
    File("broken_c3d/phasespace_sample.c3d", None, says="the parameter section at byte 512 is empty"),
    File("cmu_amc/01.asf", None, says="a skeleton without motion; give the .amc"),
    File("cmu_amc/01_01.amc", "Acclaim AMC", 2751, bodies=28),
    File("cmu_amc/11.asf", None, says="a skeleton without motion; give the .amc"),
    File("cmu_amc/11_01.amc", "Acclaim AMC", 597, bodies=28),
    *(
        File(f"cmu_bvh/{name}.bvh", "BVH", frames, bodies=27)
        for name, frames in {
            "01_03": 4511, "02_01": 344, "05_10": 818, "06_13": 4906, "06_14": 480, "08_01": 278, "09_01": 149,
            "12_01": 524, "13_29": 4593, "14_14": 4654, "18_03": 593, "19_03": 593, "20_02": 230, "20_10": 520,
            "21_02": 230, "21_10": 520, "35_01": 359, "39_07": 368, "42_01": 1135, "49_02": 2086, "49_08": 576,
            "55_01": 1807, "56_02": 3419,
        }.items()
    ),
    File("cmu_c3d/02_05.c3d", "C3D", 1854, markers=41),
    File("cmu_c3d/dribble_shoot.c3d", "C3D", 494, markers=41),
    *(
        File(f"diodem/{take}/{motion}/{take[-5:]}_{motion[:8]}_omc.csv", "table of markers", frames, markers=20)
        for take, motions in {
            "arm/exp01": {
                "motion02_pause1": 270, "motion03_slow1": 1200, "motion04_pause2": 180, "motion05_fast": 1290,
                "motion06_pause3": 210, "motion07_fast_slow_fast": 1050, "motion08_freeze1": 60,
                "motion09_fast_slow": 660, "motion10_freeze2": 90, "motion11_slow2": 480, "motion12_shaking": 540,
                "motion13_pause4": 750,
            },
            "arm/exp05": {"motion02_pause": 581},
            "gait/exp06": {
                "motion02_pause1": 450, "motion04_pause2": 1050, "motion06_pause3": 2340, "motion08_freeze1": 300,
                "motion09_fast_slow": 2520, "motion10_freeze2": 300, "motion11_slow2": 1650, "motion12_pause4": 514,
            },
        }.items()
        for motion, frames in motions.items()
    ),
    File("door_pose/door.txt", None, says="columns 4-7 hold unit quaternions"),
    File("franka_log/exciting_traj_positions.txt", None, says="joint angles need a kinematic model"),
    File("franka_log/exciting_traj_time.txt", None, says="a clock without poses"),
    File("functional_knee_c3d/right_knee.c3d", "C3D", 922, markers=73),
    File("hard/convention/segments.csv", "table of points and quaternions", 955, bodies=7),
    File("hard/hemisphere/hinge_flipped.csv", "Polhemus log", 3060, bodies=2),
    *(
        File(f"hard/hip/{name}.csv", "Mokka / BTK text", frames, markers=14)
        for name, frames in {
            "LeftBigCircle": 3102, "LeftCross": 3617, "LeftSmallCircle": 2594,
            "RightBigCircle": 3582, "RightCross": 3812, "RightSmallCircle": 2724,
        }.items()
    ),
    *(
        File(f"hard/linkage/{take}/{exp}_motion{motion}_omc.csv", "table of markers", frames, markers=20)
        for take, exp, motions in (
            ("arm_small_moves", "exp04", {"02": 270, "04": 1050, "06": 270, "08": 653}),
            ("leg_small_moves", "exp07", {"02": 900, "04": 1350, "06": 450, "08": 782}),
        )
        for motion, frames in motions.items()
    ),
    File("hard/squat/a_squats.trc", "TRC markers", 1623, markers=51),
    File("hard/squat/b_squats.trc", "TRC markers", 1346, markers=51),
    File("hard/squat/b_walk.trc", "TRC markers", 131, markers=51),
    File("hard/still/pose.c3d", "C3D", 875, markers=73),
    File("hard/swap/right_hip.c3d", "C3D", 1690, markers=73),
    File("hard/wheelchair/sprint.c3d", "C3D", 3678, markers=26),
    File("more/bmc/walk.trc", "TRC markers", 184, markers=28),
    File("more/bmc/walk1.trc", "TRC markers", 364, markers=28),
    File("more/bmc/walk2.trc", "TRC markers", 251, markers=28),
    *(
        File(f"more/{folder}/{name}.trc", "TRC markers", frames, markers=markers)
        for folder, takes in {
            "deadlift": {
                "athlete_0_conv_dl_0_markers_experimental": (2348, 47),
                "athlete_0_sumo_dl_0_markers_experimental": (2582, 48),
                "athlete_0_sumo_dl_1_markers_experimental": (2190, 47),
            },
            "exo": {
                "ET21": (128, 29), "NE21": (120, 29), "P1_C2_trans_1_kine": (500, 29), "Static1": (233, 38),
                "apo01": (53, 28), "cycle01": (42, 28),
            },
            "jam": {"Y9_100_1": (237, 42), "overground_17": (515, 40), "static1": (1204, 50)},
            "osimcore": {
                "dataWithNaNsWithSpaces": (427, 42), "walk_free_01": (73, 41), "walk_free_02": (75, 41),
                "walk_free_03": (73, 41),
            },
            "osimmodels": {
                "leg39_swing": (28, 41), "motion_capture_run": (510, 42), "motion_capture_walk": (238, 41),
                "static_run": (397, 64), "static_walk_1": (287, 64), "static_walk_2": (153, 41),
                "subject01_static": (300, 49), "subject01_walk1": (151, 41), "subject02_running": (600, 41),
                "subject02_static": (300, 49),
            },
        }.items()
        for name, (frames, markers) in takes.items()
    ),
    *(
        File(f"more/{folder}/{name}.c3d", "C3D", frames, markers=markers)  # points that are angles or forces are none
        for folder, takes in {
            "bmc": {"C_S05_T08_3_Cycle": (120, 117)},
            "deadlift": {"athlete_1_static_00": (175, 63), "athlete_3_static_00": (158, 71)},
            "lasem": {
                "FAILT01_SLDJ01": (693, 48), "FAILT01_SLDJ02": (763, 48), "FAILT01_SLDJ03": (617, 48),
                "FAILT01_SLDJ04": (603, 48), "FAILT01_SLDJ05": (619, 48), "FAILT01_SLDJ06": (400, 48),
                "FAILT01_Walk01": (783, 50), "FAILT01_Walk02": (650, 50), "FAILT01_Walk03": (643, 50),
                "FAILT01_static02": (300, 53),
            },
            "osimcore": {"test_walking": (806, 40), "walking2": (1249, 44), "walking5": (1103, 40)},
            "pycgm": {"Movement_trial": (323, 159), "RoboStatic": (560, 111)},
            "ric": {
                "20140515T133244_run": (5000, 28), "20141003T073938_run": (5000, 28), "RBDS001runT35": (4500, 32),
                "RBDS001static": (150, 48),
            },
            "zoo": {
                "HC002D02": (51, 196), "HC002D06": (222, 179), "HC002D25": (304, 179), "HC033A01": (53, 197),
                "HC033A10": (227, 179), "HC033A22": (346, 179), "HC039A01": (51, 198), "HC039A17": (192, 179),
                "HC039A31": (300, 179), "stick_ti003": (702, 124),
            },
        }.items()
        for name, (frames, markers) in takes.items()
    ),
    # Packets of a network, which are no recordings, and what a program printed of them.
    File("natnet_v3/SampleClient_output.txt", None, says="this seems to be a text file, which is not read"),
    *(
        File(f"natnet_v3/{name}", None, says="a binary file of an unknown kind")
        for name in (
            "connect_packet_v3.bin", "discovery_packet_v3.bin", "echorequest_packet_v3.bin",
            "echoresponse_packet_v3.bin", "mocapframe_packet_occluded_v3.bin", "mocapframe_packet_v3.bin",
            "modeldef_packet_v3.bin", "requestmodeldef_packet_v3.bin", "serverinfo_packet_v3.bin", "traffic.pcapng",
        )
    ),
    File("ndi_aurora/rest.csv", "NDI tracker log", 158, bodies=4),
    File("optitrack_c3d/walk.c3d", "C3D", 3361, markers=12),
    File("optitrack_csv/skeleton.csv", "OptiTrack Motive CSV", 32, bodies=51, markers=82),
    File("optotrak_c3d/Optotrak.c3d", "C3D", 29, markers=54),
    *(
        File(f"polhemus_fastrak/{name}.traj", "Polhemus log", frames, bodies=1)
        for name, frames in {
            "user1_cup9": 360, "user1_toolbox3": 323, "user3_cup1": 397, "user3_spray_can0": 371,
            "user4_b_jug1": 363, "user4_cup1": 422,
        }.items()
    ),
    File("polhemus_liberty/hinge_x.csv", "Polhemus log", 3837, bodies=2),
    File("qualisys_c3d/walk.c3d", "C3D", 340, markers=55),
    File("qualisys_tsv/recording.tsv", "Qualisys QTM TSV", 6000, markers=21),
    File("theia_c3d/rotation.c3d", "C3D", 340, bodies=20),
    File("vicon_functional_c3d/left_hip.c3d", "C3D", 1577, markers=74),
    File("vr_tundra/000_tracker_data_record.csv", None, says="columns 7-10, 11-14 hold unit quaternions"),
    File("xsens_mvnx/test_mocap.mvnx", "Xsens MVNX", 112, bodies=23),
)  # fmt: skip

DOOR = """\
rotation = "xyzw"
unit = "m"
rate = 30

[bodies.door]
position = [1, 2, 3]
orientation = [4, 5, 6, 7]
"""
ARM = """\
rotation = "xyzw"
handed = "left"
up = "y"
unit = "m"
rate = 60

[bodies.forearm]
position = [1, 2, 3]
orientation = [7, 8, 9, 10]

[bodies.hand]
position = [4, 5, 6]
orientation = [11, 12, 13, 14]
"""


@dataclass(frozen=True)
class Fit:
    """A take and what a user types to fit it.

    name     entry of truth.json, or the file where the entry stands for many
    files    pattern below the folder of recordings; the name itself where it is empty
    options  words after the files; `--bodies bodies.toml` is added where truth.json groups markers into bodies
    columns  text of the map.toml that `--columns map.toml` needs, for tables that no format explains
    expect   "tree": edges, and kinds where they are known; "not determined"; "own": the skeleton that the file brings
             along, exactly; "joints": its joints where they move; "open": nobody knows, so only that it is answered
    """

    name: str
    files: str = ""
    options: tuple[str, ...] = ()
    columns: str = ""
    expect: str = "tree"

    @property
    def truth(self) -> dict[str, Any]:
        known = recordings.all_truth()
        entry: dict[str, Any] = known.get(self.name) or known.get(f"{self.name.partition('/')[0]}/*") or {}
        return entry

    @property
    def command(self) -> str:
        """As it is typed in the folder of recordings."""
        words = ["condyle", "fit", self.files or self.name]
        words += ["--bodies", "bodies.toml"] if "bodies_from_markers" in self.truth else []
        words += ["--columns", "map.toml"] if self.columns else []
        return " ".join([*words, *self.options])

    def words(self, folder: Path) -> list[str]:
        """What follows `condyle`, the files it needs written to `folder`."""
        paths = sorted(recordings.DATA.glob(self.files or self.name))
        words = ["fit", *map(str, paths)]
        if groups := self.truth.get("bodies_from_markers"):
            rows = [f"{body} = {json.dumps(markers)}\n" for body, markers in groups.items()]
            (folder / "bodies.toml").write_text("[bodies]\n" + "".join(rows))
            words += ["--bodies", str(folder / "bodies.toml")]
        if self.columns:
            (folder / "map.toml").write_text(self.columns)
            words += ["--columns", str(folder / "map.toml")]
        return [*words, *self.options]


QUICK = ("--method", "least-squares", "--no-intervals")
CLIPS = tuple(file.path for file in FILES if file.format in ("BVH", "Acclaim AMC"))
FITS = (
    Fit("diodem/arm/exp01", "diodem/arm/exp01/*/*.csv"),
    Fit("diodem/gait/exp06", "diodem/gait/exp06/*/*.csv"),
    Fit("diodem/arm/exp05", "diodem/arm/exp05/*/*.csv", expect="not determined"),
    Fit("vicon_functional_c3d/left_hip.c3d"),
    Fit("functional_knee_c3d/right_knee.c3d"),
    Fit("qualisys_c3d/walk.c3d"),
    Fit("theia_c3d/rotation.c3d"),
    Fit("polhemus_liberty/hinge_x.csv"),
    Fit("vr_tundra/000_tracker_data_record.csv", columns=ARM),
    Fit("door_pose/door.txt", options=("--world",), columns=DOOR),
    Fit("ndi_aurora/rest.csv", expect="not determined"),
    Fit("optitrack_csv/skeleton.csv", expect="not determined"),
    Fit("xsens_mvnx/test_mocap.mvnx", expect="joints"),
    Fit("ascension_trakstar/hand_1.csv", expect="open"),
    Fit("qualisys_tsv/recording.tsv", expect="open"),
    Fit("optitrack_c3d/walk.c3d", expect="open"),
    *(Fit(file.path, options=("--world",), expect="open") for file in FILES if file.bodies == 1),
    *(Fit(path, expect="own") for path in CLIPS),
)


@dataclass(frozen=True)
class Answer:
    """What the program printed as JSON, and its exit status."""

    status: int
    facts: dict[str, Any]

    @property
    def joints(self) -> dict[frozenset[str], dict[str, Any]]:
        return {frozenset((joint["child"], joint["parent"])): joint for joint in self.facts["joints"]}

    def codes(self) -> set[str]:
        return {finding["code"] for finding in self.facts["findings"]}

    def told(self, *codes: str) -> list[set[str]]:
        """The bodies of each finding with one of the codes."""
        return [set(finding["bodies"]) for finding in self.facts["findings"] if finding["code"] in codes]


def run(words: list[str]) -> Answer:
    """One command of the program, in this process."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        status = main([*words, "--json", "--strict"])
    return Answer(status, json.loads(printed.getvalue()))


@cache
def info(path: str) -> Answer:
    """The facts of one file; `facts` is the entry of that file."""
    answer = run(["info", str(recordings.DATA / path)])
    return Answer(answer.status, answer.facts["files"][0])


def unnamed() -> list[str]:
    """Recordings in the folder that no row of the table names."""
    inside = (path for path in recordings.DATA.rglob("*") if path.is_file() and path.suffix not in NOT_RECORDINGS)
    paths = {str(path.relative_to(recordings.DATA)) for path in inside if not path.name.startswith(("LICEN", "README"))}
    return sorted(paths ^ {file.path for file in FILES})


def true_edges(fit: Fit) -> set[frozenset[str]]:
    """Edges that are known; bodies of a tie group count as one, and edges among them are left out."""
    return {merged(frozenset(joint[:2]), fit) for joint in fit.truth["joints"]} - TIED


def found_edges(fit: Fit, answer: Answer) -> set[frozenset[str]]:
    """Edges that were found, in the same terms."""
    return {merged(edge, fit) for edge in answer.joints} - TIED


def merged(edge: frozenset[str], fit: Fit) -> frozenset[str]:
    return frozenset("tie group" if body in fit.truth.get("tie_group", ()) else body for body in edge)


def true_kinds(fit: Fit) -> dict[frozenset[str], str]:
    """Kinds where they are known. A joint of two axes has a centre: its kind is ball."""
    known = {frozenset(joint[:2]): joint[2] for joint in fit.truth.get("joints", ()) if len(joint) > 2}
    return {edge: "ball" if kind == "two-axis" else kind for edge, kind in known.items()}


def own_child(joint: dict[str, Any], own: dict[str, dict[str, Any]]) -> str:
    """The body of a joint whose parent in the file's own skeleton is the other; empty where neither is."""
    ends = joint["child"], joint["parent"]
    return next((a for a, b in (ends, ends[::-1]) if own[a]["parent"] == b), "")


def off(joint: dict[str, Any], child: str, own: dict[str, dict[str, Any]]) -> float:
    """How far [m] a joint is from where the file's own skeleton has it, on both sides; for an axis, from that line.

    A bone begins at its joint, so in the child it is the origin.
    """
    if joint["kind"] == "rigid":
        return 0.0  # has no place
    sides = ("child", "parent") if joint["child"] == child else ("parent", "child")
    most = 0.0
    for side, true in zip(sides, (np.zeros(3), own[child]["p_parent_joint"]), strict=True):
        away = np.array(joint[f"p_{side}_joint"]) - true
        if joint["point"] == "arbitrary":
            away = np.cross(away, joint[f"axis_{side}"])
        most = max(most, float(np.linalg.norm(away)))
    return most
