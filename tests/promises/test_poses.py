"""Faults of single poses and of sensors: B01, B02, B04, B09, B10, B13, B22, B23, B24, B28."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.maths import rotation

from .takes import KINDS, NOISE, WRITERS, Poses, clean, condyle, farthest, fit, linkage_take, name_in

SAME = 1e-9  # m: the same poses by another way
GUARDED = 0.0005  # m: what a few per cent of lost samples may move a limb
TIMED = 1e-4  # m: the default method looks at steps of time, and a hole has none
BODY = 2
TREE = "chest:head,chest:l_upper_arm,l_upper_arm:l_forearm,chest:r_upper_arm,r_upper_arm:r_forearm"
FREE = ("npz", "csv", "vr", "ascension")  # formats whose writers may put anything into a cell
MATRICES = ("npz", "polhemus", "qualisys")
QUATERNIONS = ("csv", "vr", "columns")


@pytest.fixture(scope="module")
def poses() -> Poses:
    return Poses.of(linkage_take())


def stretches(*parts: tuple[int, int]) -> np.ndarray:
    return np.concatenate([np.arange(start, start + length) for start, length in parts])


LOST = stretches((60, 6), (162, 6), (240, 6), (401, 6), (520, 6))  # 5 % of 600 frames


def missing(name: str, count: int) -> str:
    share = f"{count / 600:.1%}"
    return f"{name}: {count} of 600 poses are missing ({share}); they are left out for this sensor only"


@pytest.mark.parametrize(
    ("format", "number"), [*((format, np.nan) for format in WRITERS), *((format, -np.inf) for format in FREE)]
)
def test_b01_what_is_no_number_is_masked_for_its_sensor_only(
    tmp_path: Path, poses: Poses, format: str, number: float
) -> None:
    answer = fit(WRITERS[format](tmp_path, poses.written(LOST, BODY, number)))
    name = name_in(format, poses, BODY)
    assert answer.status == 0
    assert answer.told("missing-samples") == [missing(name, 30)]
    (finding,) = (one for one in answer.findings if one["code"] == "missing-samples")
    assert (finding["bodies"], finding["frame"], finding["count"]) == ([name], 60, 30)
    if not np.isnan(number):
        empty = fit(WRITERS[format](tmp_path, poses.without(LOST, BODY)))
        assert farthest(answer.lengths(), empty.lengths()) < SAME
    assert farthest(answer.lengths(), clean(format)) < GUARDED


@pytest.mark.parametrize("format", ["csv", "ascension"])
def test_b01_one_number_that_is_none_loses_the_whole_pose(tmp_path: Path, poses: Poses, format: str) -> None:
    p = poses.p.copy()
    p[LOST, BODY, 1] = np.nan
    answer = fit(WRITERS[format](tmp_path, poses.but(p=p)))
    whole = fit(WRITERS[format](tmp_path, poses.without(LOST, BODY)))
    assert answer.lengths() == whole.lengths()
    assert answer.findings == whole.findings


@pytest.mark.parametrize("format", ["npz", "csv"])
def test_b01_rows_that_are_lost_whole_count_as_deleted(tmp_path: Path, poses: Poses, format: str) -> None:
    p = poses.p.copy()
    p[LOST] = np.nan
    few = poses.rows(np.setdiff1d(np.arange(600), LOST))
    for method, tolerance in (("least-squares", SAME), ("default", TIMED)):
        lost = fit(WRITERS[format](tmp_path, poses.but(p=p)), "--method", method)
        deleted = fit(WRITERS[format](tmp_path, few), "--method", method)
        assert farthest(lost.lengths(), deleted.lengths()) < tolerance


ZEROS = {  # what each format tells of poses written as zeros; None: they are its way to write a lost sample
    "npz": "{name}: 30 matrices are no rotations but zeros, as devices write where they lose a sample, "
    "first in frame 60; those poses are left out",
    "csv": "{name}: 30 quaternions of zeros, as devices write where they lose a sample; those poses are left out",
    "columns": "{name}: 30 quaternions of zeros, as devices write where they lose a sample; those poses are left out",
    "vr": None,
    "ascension": None,
    "polhemus": None,
    "qualisys": None,
}


@pytest.mark.parametrize("format", WRITERS)
def test_b02_a_dropout_written_as_zeros_is_masked(tmp_path: Path, poses: Poses, format: str) -> None:
    zeros = np.zeros(poses.p.shape[:2], dtype=bool)
    zeros[LOST, BODY] = True
    answer = fit(WRITERS[format](tmp_path, poses.but(zeros=zeros)))
    name, text = name_in(format, poses, BODY), ZEROS[format]
    assert answer.status == (0 if text is None else 3)
    assert answer.told("rotation-rejected") == ([] if text is None else [text.format(name=name)])
    assert answer.told("missing-samples") == [missing(name, 30)]
    assert farthest(answer.lengths(), clean(format)) < GUARDED


@pytest.mark.parametrize(
    ("format", "place"),
    [
        *((format, (0.0, 0.0, 0.0)) for format in ("npz", "csv", "columns", "ascension", "polhemus")),
        ("npz", (0.4, -0.3, 1.2)),
        ("ascension", (0.4, -0.3, 1.2)),
    ],
)
def test_b02_a_dropout_written_as_one_pose_is_masked(
    tmp_path: Path, poses: Poses, format: str, place: tuple[float, float, float]
) -> None:
    p, R = poses.p.copy(), poses.R.copy()
    p[LOST, BODY], R[LOST, BODY] = place, np.eye(3)
    answer = fit(WRITERS[format](tmp_path, poses.but(p=p, R=R)))
    name = name_in(format, poses, BODY)
    if format == "ascension" and not any(place):  # zeros in every number are that device's lost sample
        assert answer.status == 0
    else:
        assert answer.status == 3
        assert answer.codes == ["dropout"]
        assert answer.told("dropout") == [
            f"{name}: 30 poses written as zeros or as one constant pose where the sample was lost; masked; "
            "if they are many, check the sensor, its cable and its range"
        ]
        (finding,) = (one for one in answer.findings if one["code"] == "dropout")
        assert (finding["bodies"], finding["frame"], finding["count"]) == ([name], 60, 30)
    assert answer.told("missing-samples") == [missing(name, 30)]
    assert farthest(answer.lengths(), clean(format)) < GUARDED


def test_b02_unguarded_the_same_dropouts_spoil_a_plain_fit(tmp_path: Path, poses: Poses) -> None:
    p, R = poses.p.copy(), poses.R.copy()
    p[LOST, BODY], R[LOST, BODY] = 0.0, np.eye(3)
    words = WRITERS["npz"](tmp_path, poses.but(p=p, R=R))
    plain = ("--method", "least-squares", "--tree", TREE)
    spoilt, guarded = fit(words, "--as-recorded", *plain), fit(words, *plain)
    sound = fit(WRITERS["npz"](tmp_path, poses), *plain)
    assert "large-residual" in spoilt.codes
    assert spoilt.lengths().keys() < sound.lengths().keys()  # those of the arm are not even determined
    assert farthest(guarded.lengths(), sound.lengths()) < GUARDED


@pytest.mark.parametrize("format", KINDS)
def test_b04_a_frozen_sensor_is_masked_while_others_move(tmp_path: Path, poses: Poses, format: str) -> None:
    p, R = poses.p.copy(), poses.R.copy()
    p[200:260, BODY], R[200:260, BODY] = p[200, BODY], R[200, BODY]
    answer = fit(WRITERS[format](tmp_path, poses.but(p=p, R=R)))
    name = name_in(format, poses, BODY)
    assert answer.status == 3
    assert answer.codes == ["frozen-samples"]
    assert answer.told("frozen-samples") == [
        f"{name}: 59 poses repeat the one before while others move, at most 59 in a row; masked; "
        "check the sensor's connection"
    ]
    (finding,) = (one for one in answer.findings if one["code"] == "frozen-samples")
    assert (finding["bodies"], finding["frame"], finding["count"]) == ([name], 201, 59)
    assert farthest(answer.lengths(), clean(format)) < 0.001


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ([1.0, 1.0, -1.0], "mirrored (determinant -1, axes left-handed or swapped)"),
        ([1.0, 1.0, 0.7], "sheared or scaled"),
    ],
)
@pytest.mark.parametrize("format", MATRICES)
def test_b09_matrices_that_are_no_rotations_are_masked_when_few_and_an_error_when_most(
    tmp_path: Path, poses: Poses, format: str, change: list[float], what: str
) -> None:
    name = name_in(format, poses, BODY)
    few, most = poses.R.copy(), poses.R.copy()
    few[50:60, BODY] *= change
    most[:, BODY] *= change
    answer = fit(WRITERS[format](tmp_path, poses.but(R=few)))
    assert answer.status == 3
    assert answer.codes == ["rotation-rejected"]
    assert answer.told("rotation-rejected") == [
        f"{name}: 10 matrices are no rotations but {what}, first in frame 50; those poses are left out"
    ]
    assert farthest(answer.lengths(), clean(format)) < GUARDED
    words = WRITERS[format](tmp_path, poses.but(R=most))
    refused = fit(words, "-o", str(tmp_path / "out"))
    assert refused.status == 1
    assert refused.error == {
        "code": "not-rotations",
        "text": f"600 of 600 matrices are no rotations but {what}; convert them first",
        "path": words[0],
        "line": None,
        "column": None,
        "frame": 0,
        "body": name,
    }
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("length", "severity", "text"),
    [
        (1.01, "info", "600 quaternions were scaled to unit length"),
        (1.3, "warning", "600 quaternions are off unit length by up to 0.30 and were scaled; check the columns"),
        (0.7, "warning", "600 quaternions are off unit length by up to 0.30 and were scaled; check the columns"),
    ],
)
@pytest.mark.parametrize("format", ["csv", "columns"])
def test_b10_quaternions_off_unit_length_are_scaled_and_told(
    tmp_path: Path, poses: Poses, format: str, length: float, severity: str, text: str
) -> None:
    lengths = np.ones(poses.p.shape[:2])
    lengths[:, BODY] = length
    answer = fit(WRITERS[format](tmp_path, poses.but(length=lengths)))
    assert answer.status == (0 if severity == "info" else 3)
    (finding,) = (one for one in answer.findings if one["code"] == "quaternion-normalised")
    assert (finding["severity"], finding["text"]) == (severity, f"{poses.names[BODY]}: {text}")
    assert farthest(answer.lengths(), clean(format)) < SAME


@pytest.mark.parametrize(("length", "text"), [
    (1.8, "10 quaternions far from unit length, first in frame 40; those poses are left out; check the columns"),
    (0.0, "10 quaternions of zeros, as devices write where they lose a sample; those poses are left out"),
])  # fmt: skip
@pytest.mark.parametrize(
    ("format", "option"),
    [
        *((format, []) for format in QUATERNIONS),
        ("csv", ["--transposed", "--no-doctor"]),
        ("csv", ["--handed", "left", "--no-doctor"]),
    ],
)
def test_b10_few_quaternions_of_no_length_or_a_wrong_one_are_masked_never_identity(
    tmp_path: Path, poses: Poses, format: str, option: list[str], length: float, text: str
) -> None:
    lengths = np.ones(poses.p.shape[:2])
    lengths[40:50, BODY] = length
    answer = fit(WRITERS[format](tmp_path, poses.but(length=lengths)), *option)
    assert answer.status == 3
    assert answer.told("rotation-rejected") == [f"{poses.names[BODY]}: {text}"]
    assert missing(poses.names[BODY], 10) in answer.told("missing-samples")
    if not option:
        assert farthest(answer.lengths(), clean(format)) < GUARDED


@pytest.mark.parametrize("verb", ["fit", "doctor"])
@pytest.mark.parametrize("format", QUATERNIONS)
def test_b10_a_sensor_whose_quaternions_are_none_is_an_error_that_names_it(
    tmp_path: Path, poses: Poses, format: str, verb: str
) -> None:
    lengths = np.ones(poses.p.shape[:2])
    lengths[:, BODY] = 1.8
    words = WRITERS[format](tmp_path, poses.but(length=lengths))
    answer = condyle(verb, *words)
    assert answer.status == 1
    assert answer.err == (
        f"condyle: error: {words[0]}, frame 0, sensor {poses.names[BODY]}: "
        "600 of 600 quaternions are far from unit length; check which columns hold them\n"
    )
    assert condyle(verb, *words, "--json").error["code"] == "not-rotations"


def test_b13_gimbal_lock_is_told_with_its_frames_and_costs_nothing(tmp_path: Path, poses: Poses) -> None:
    # The sensor turned on its bone so that its elevation is nearly 90 degrees in frame 300.
    level = rotation.from_euler(np.radians([20.0, 89.5, 10.0]), "ZYX")
    R = poses.R.copy()
    R[:, BODY] = R[:, BODY] @ (R[300, BODY].T @ level)
    answer = fit(WRITERS["ascension"](tmp_path, poses.but(R=R)))
    assert answer.status == 0
    (finding,) = (one for one in answer.findings if one["code"] == "gimbal-lock")
    count, first = finding["count"], finding["frame"]
    assert finding["severity"] == "info"
    assert finding["text"] == (
        f"s3: {count} pose{'s' * (count != 1)} within 1 degree of gimbal lock, first in frame {first}; "
        "the rotation is read without loss, but its angles jump there"
    )
    assert first <= 300
    assert farthest(answer.lengths(), clean("ascension")) < 1e-6


@pytest.mark.parametrize("format", QUATERNIONS)
def test_b22_signs_of_quaternions_do_not_matter(
    tmp_path: Path, poses: Poses, format: str, rng: np.random.Generator
) -> None:
    signs = rng.choice([-1.0, 1.0], poses.p.shape[:2])
    answer = fit(WRITERS[format](tmp_path, poses.but(length=signs)))
    assert answer.status == 0
    assert answer.codes == []
    assert farthest(answer.lengths(), clean(format)) < SAME


@pytest.mark.parametrize("rows", [stretches((241, 3), (400, 3)), stretches((400, 150))])
@pytest.mark.parametrize("format", ["csv", "ascension", "polhemus"])
def test_b23_a_hemisphere_flip_is_put_right(tmp_path: Path, poses: Poses, format: str, rows: np.ndarray) -> None:
    p = poses.p.copy()
    p[rows, BODY] *= -1
    answer = fit(WRITERS[format](tmp_path, poses.but(p=p)))
    name = name_in(format, poses, BODY)
    assert answer.status == 3
    assert answer.told("hemisphere-flip") == [
        f"{name}: {len(rows)} positions mirrored to the other side of the transmitter; {len(rows)} put right; "
        "keep the sensor on one side, or set the device's hemisphere"
    ]
    (finding,) = (one for one in answer.findings if one["code"] == "hemisphere-flip")
    assert (finding["bodies"], finding["frame"], finding["count"]) == ([name], int(rows[0]), len(rows))
    assert farthest(answer.lengths(), clean(format)) < SAME


@pytest.mark.parametrize("format", ["npz", "csv", "ascension"])
def test_b24_spikes_are_weighted_out(tmp_path: Path, format: str) -> None:
    spoilt = linkage_take(noise=replace(NOISE, spikes={"l_upper_arm": 0.02}))
    answer = fit(WRITERS[format](tmp_path, Poses.of(spoilt)))
    name = name_in(format, Poses.of(spoilt), BODY)
    assert answer.status == 3
    (finding,) = (one for one in answer.findings if one["code"] == "outliers" and one["severity"] == "warning")
    count = finding["count"]
    assert 10 <= count <= 14  # 12 were made
    assert finding["text"] == (
        f"{name}: {count} poses ({count / 600:.1%}) disagree with every joint of the sensor and were weighted out"
    )
    assert finding["bodies"] == [name]
    assert farthest(answer.lengths(), clean(format)) < GUARDED


@pytest.mark.parametrize("format", KINDS)
def test_b28_two_sensors_with_the_same_poses_are_an_error_that_names_both(
    tmp_path: Path, poses: Poses, format: str
) -> None:
    p, R = poses.p.copy(), poses.R.copy()
    p[:, 4], R[:, 4] = p[:, 3], R[:, 3]
    words = WRITERS[format](tmp_path, poses.but(p=p, R=R))
    one, other = name_in(format, poses, 3), name_in(format, poses, 4)
    answer = fit(words)
    assert answer.status == 1
    error = answer.error
    assert (error["code"], error["path"], error["body"]) == ("identical-sensors", words[0], other)
    assert error["text"] == (
        f"'{one}' and '{other}' report the same pose in all 600 frames; remove one, or check the columns"
    )
