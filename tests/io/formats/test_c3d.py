"""readers/c3d.py and its parts: every variant of the format, what is missing, what is cut, what is broken."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle import read
from condyle.errors import CondyleError
from condyle.io.format import ReadOptions
from condyle.io.formats import c3d as module
from condyle.io.formats import identify, read_recording
from condyle.maths import rotation
from condyle.model.recording import Recording
from tests.make.c3d_files import BLOCK, PROCESSORS, c3d
from tests.make.size import cut_lengths
from tests.make.texts import codes, fault, recording_of

SINGLE = 1e-6  # [-] relative, of a 32-bit float


def places(n: int = 4, k: int = 3) -> np.ndarray[Any, Any]:
    """(n, k, 3) [mm] that 32-bit floats and steps of 0.5 mm hold exactly, none of them zero."""
    return 100.0 + np.arange(n * k * 3).reshape(n, k, 3) * 0.5


def matrices(n: int = 4, m: int = 2) -> np.ndarray[Any, Any]:
    """(n, m, 17): rotations about z by quarter turns, which floats hold exactly, and places [mm]."""
    quarter = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    M = np.zeros((n, m, 4, 4))
    for frame in range(n):
        for body in range(m):
            M[frame, body, :3, :3] = np.linalg.matrix_power(quarter, frame + body)
    M[..., :3, 3] = places(n, m)
    M[..., 3, 3] = 1
    return np.concatenate([np.swapaxes(M, 2, 3).reshape(n, m, 16), np.zeros((n, m, 1))], axis=2)


BODIES = {"ROTATION:LABELS": ["pelvis_4X4", "thigh_4X4"], "ROTATION:RATE": 100.0}
SMALL: dict[str, bytes] = {
    **{f"floats, {name}": c3d(places(), processor=name) for name in PROCESSORS},
    **{f"integers, {name}": c3d(places(), processor=name, scale=0.5) for name in PROCESSORS},
    "analog": c3d(places(), analog=np.ones((4, 5, 2))),
    "bodies": c3d(rotations=matrices(), parameters=BODIES),
    "both": c3d(places(), rotations=matrices(), parameters=BODIES),
    "last link": c3d(places(), last_link=True),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.c3d"


def position(recording: Recording) -> np.ndarray[Any, Any]:
    assert recording.markers is not None
    return recording.markers.position


# --- numbers


@pytest.mark.parametrize("scale", [-1.0, -0.02, 0.5], ids=["floats", "scaled floats", "integers"])
@pytest.mark.parametrize("processor", PROCESSORS)
@pytest.mark.parametrize("samples", [0, 1, 7])
def test_points_are_read_whatever_the_processor_the_type_and_the_analog_data(
    path: Path, processor: str, scale: float, samples: int
) -> None:
    analog = np.full((4, samples, 3), 77.0) if samples else None
    found = recording_of(
        path, c3d(places(), ["A", "B", "C"], processor=processor, scale=scale, analog=analog, rate=120.0)
    )
    assert (found.format, found.rate, found.time) == ("c3d", 120.0, None)
    assert found.markers is not None
    assert found.bodies is None
    assert found.markers.names == ("A", "B", "C")
    assert found.findings == ()
    np.testing.assert_array_equal(position(found), places())


def test_integers_are_signed(path: Path) -> None:
    points = -places()
    np.testing.assert_array_equal(position(recording_of(path, c3d(points, scale=0.5))), points)


def test_numbers_between_blocks_of_frames_are_not_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("condyle.io.formats._c3d_data.C3D_DECODED_AT_ONCE_BYTES", 100)  # bytes: two frames at a time
    found = recording_of(path, c3d(places(7), rotations=matrices(7), parameters=BODIES))
    np.testing.assert_array_equal(position(found), places(7))
    assert found.bodies is not None
    np.testing.assert_array_equal(found.bodies.position, places(7, 2))


# --- what is not seen


@pytest.mark.parametrize("scale", [-1.0, 0.5])
@pytest.mark.parametrize("processor", PROCESSORS)
def test_a_residual_below_zero_and_three_zeros_mean_not_seen(path: Path, processor: str, scale: float) -> None:
    points, residual = places(), np.zeros((4, 3))
    residual[1, 2] = -1
    points[2, 0] = 0
    points[3, 1, 0] = 0  # one zero alone is a number
    found = position(recording_of(path, c3d(points, processor=processor, scale=scale, residual=residual)))
    unseen = np.zeros((4, 3), bool)
    unseen[1, 2] = unseen[2, 0] = True
    np.testing.assert_array_equal(np.isnan(found).all(axis=2), unseen)
    np.testing.assert_array_equal(found[~unseen], points[~unseen])


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_no_number_means_not_seen(path: Path, number: float) -> None:
    points = places()
    points[1, 1, 2] = number
    assert np.isnan(position(recording_of(path, c3d(points)))[1, 1]).all()


def test_residuals_that_nobody_computed_hide_no_point(path: Path) -> None:
    points = places()
    points[2, 0] = 0
    found = position(recording_of(path, c3d(points, residual=np.full((4, 3), -1.0))))
    assert np.argwhere(np.isnan(found).any(axis=2)).tolist() == [[2, 0]]
    np.testing.assert_array_equal(found[3], points[3])


def test_a_file_in_which_nothing_is_ever_seen_is_refused(path: Path) -> None:
    error = fault(path, c3d(np.zeros((4, 3, 3))))
    assert error.code == "no-data"
    assert "none of its 3 points" in error.text


def test_a_marker_that_is_never_seen_keeps_its_name(path: Path) -> None:
    points = places()
    points[:, 1] = 0
    found = recording_of(path, c3d(points, ["A", "B", "C"]))
    assert found.markers is not None
    assert found.markers.names == ("A", "B", "C")


# --- names


def test_labels_go_on_in_labels2_beyond_255(path: Path) -> None:
    labels = [f"P{k}" for k in range(600)]
    more = {"POINT:LABELS2": labels[255:510], "POINT:LABELS3": labels[510:]}
    found = recording_of(path, c3d(places(2, 600), labels[:255], parameters=more))
    assert found.markers is not None
    assert found.markers.names == tuple(labels)


def test_names_are_kept_as_they_are_but_for_blanks(path: Path) -> None:
    labels = ["Subject:LASI", " <b>hip</b>\x1b[2J ", "Fuß"]
    found = recording_of(path, c3d(places(), labels))
    assert found.markers is not None
    assert found.markers.names == ("Subject:LASI", "<b>hip</b>\x1b[2J", "Fuß")


def test_a_label_ends_at_a_zero_byte(path: Path) -> None:
    found = recording_of(path, c3d(places(2, 2), ["AB\x00x", "C\x00\x00\x00"]))
    assert found.markers is not None
    assert found.markers.names == ("AB", "C")


def test_points_without_a_label_are_called_by_their_number(path: Path) -> None:
    found = recording_of(path, c3d(places(2, 4), ["A", "", "*7"]))
    assert found.markers is not None
    assert found.markers.names == ("A", "*2", "*7", "*4")


def test_more_labels_than_points_do_not_matter(path: Path) -> None:
    found = recording_of(path, c3d(places(2, 2), ["A", "B", "C"]))
    assert found.markers is not None
    assert found.markers.names == ("A", "B")


def test_labels_that_stand_twice_get_a_number_which_is_told(path: Path) -> None:
    found = recording_of(path, c3d(places(2, 5), ["*", "A", "*", "*_2", "*"]))
    assert found.markers is not None
    assert found.markers.names == ("*", "A", "*_3", "*_2", "*_4")
    assert codes(found) == ["renamed-bodies"]


def test_angles_and_forces_among_the_points_are_no_markers(path: Path) -> None:
    lists = {"POINT:ANGLES": ["LHipAngles"], "POINT:FORCES": ["LHipForce"]}
    found = recording_of(path, c3d(places(), ["LHipAngles", "LASI", "LHipForce"], parameters=lists))
    assert found.markers is not None
    assert found.markers.names == ("LASI",)
    np.testing.assert_array_equal(position(found), places()[:, 1:2])
    assert found.facts["left out"].startswith("2 points")


# --- what the file states


@pytest.mark.parametrize(
    ("written", "unit"), [("mm", "mm"), ("M ", "m"), ("inches", "inches"), ("", None), ("deg", None), ("0.5", None)]
)
def test_the_unit_is_the_one_stated_or_none(path: Path, written: str, unit: str | None) -> None:
    convention = recording_of(path, c3d(places(), parameters={"POINT:UNITS": written})).convention
    assert convention.unit == unit
    assert ("unit" in convention.stated) == (unit is not None)


def test_a_unit_for_every_point_is_one_unit(path: Path) -> None:
    assert recording_of(path, c3d(places(), parameters={"POINT:UNITS": ["cm", "cm"]})).convention.unit == "cm"


def test_without_a_unit_none_is_made_up(path: Path) -> None:
    assert recording_of(path, c3d(places(), parameters={"POINT:UNITS": None})).convention.unit is None


@pytest.mark.parametrize(("screen", "up"), [("+Z", "z"), ("Y", "y"), ("-X", "-x"), ("up", None), (None, None)])
def test_the_screen_tells_which_axis_is_up(path: Path, screen: str | None, up: str | None) -> None:
    convention = recording_of(path, c3d(places(), parameters={"POINT:Y_SCREEN": screen})).convention
    assert convention.up == up
    assert ("up" in convention.stated) == (up is not None)


def test_the_minus_of_qtm_is_not_taken_at_its_word(path: Path) -> None:
    said = {"POINT:Y_SCREEN": "-Z", "MANUFACTURER:COMPANY": "Qualisys"}
    convention = recording_of(path, c3d(places(), parameters=said)).convention
    assert convention.up == "z"
    assert "up" not in convention.stated


@pytest.mark.parametrize("rate", [None, 0.0, float("nan"), -5.0])
def test_a_rate_that_is_none_is_taken_from_the_header(path: Path, rate: float | None) -> None:
    found = recording_of(path, c3d(places(), parameters={"POINT:RATE": rate}, header={"rate": 60.0}))
    assert found.rate == 60.0


def test_without_any_rate_there_is_none(path: Path) -> None:
    assert recording_of(path, c3d(places(), parameters={"POINT:RATE": None}, header={"rate": 0.0})).rate is None


def test_the_program_is_named(path: Path) -> None:
    said = {"MANUFACTURER:SOFTWARE": "Tracker", "MANUFACTURER:VERSION": [2, 17, 3720]}
    assert recording_of(path, c3d(places(), parameters=said)).facts["program"] == "Tracker 2.17.3720"


# --- how many frames


LONG = 70_000


def long_file(**parameters: Any) -> bytes:
    return c3d(np.arange(1.0, LONG + 1)[:, None, None] * [[[1.0, 1.0, 1.0]]], parameters=parameters)


@pytest.mark.parametrize(
    "parameters",
    [
        {"POINT:LONG_FRAMES": float(LONG)},
        {"POINT:FRAMES": float(LONG)},
        {"TRIAL:ACTUAL_START_FIELD": [1, 0], "TRIAL:ACTUAL_END_FIELD": [LONG & 0xFFFF, LONG >> 16]},
        {"POINT:FRAMES": LONG & 0xFFFF, "POINT:LONG_FRAMES": float(LONG)},
        {"POINT:FRAMES": -1},
        {"POINT:FRAMES": 65535},
    ],
    ids=["long frames", "float frames", "trial fields", "counter ran over", "minus one", "counter full"],
)
def test_more_than_65535_frames_are_read_to_the_last(path: Path, parameters: dict[str, Any]) -> None:
    found = recording_of(path, long_file(**parameters))
    assert found.frames == LONG
    assert found.findings == ()
    np.testing.assert_array_equal(position(found)[:, 0, 1], np.arange(1.0, LONG + 1))


def test_fields_of_the_trial_before_it_was_cut_do_not_count(path: Path) -> None:
    fields = {"TRIAL:ACTUAL_START_FIELD": [1, 0], "TRIAL:ACTUAL_END_FIELD": [LONG & 0xFFFF, LONG >> 16]}
    found = recording_of(path, c3d(places(), parameters=fields, header={"last": 65535}))
    assert found.frames == 4
    assert found.findings == ()


@pytest.mark.parametrize("counted", [65535, LONG & 0xFFFF])
def test_a_long_file_that_was_cut_tells_how_many_frames_it_had(path: Path, counted: int) -> None:
    raw = long_file(**{"POINT:FRAMES": counted, "POINT:LONG_FRAMES": float(LONG)})
    found = recording_of(path, raw[: len(raw) - 16 * 3000])
    (finding,) = found.findings
    assert finding.text.startswith(f"header says {LONG} frames, {found.frames} present")
    assert LONG - 3000 <= found.frames < LONG - 2900


def test_40000_frames_are_no_negative_number(path: Path) -> None:
    found = recording_of(path, c3d(np.ones((40_000, 1, 3)), header={"last": 0}))
    assert found.frames == 40_000


def test_the_header_counts_frames_where_the_parameter_is_missing(path: Path) -> None:
    assert recording_of(path, c3d(places(), first=165, parameters={"POINT:FRAMES": None})).frames == 4


def test_bytes_that_nothing_describes_are_told(path: Path) -> None:
    raw = c3d(places())  # 4 frames of 48 bytes in a block of 512
    found = recording_of(path, raw + bytes(2000))
    assert found.frames == 4
    assert found.facts["at the end"].startswith(f"{2000 + BLOCK - 4 * 48} bytes")
    assert "at the end" not in recording_of(path, raw).facts


# --- where header and parameters disagree


@pytest.mark.parametrize(
    ("parameters", "header"),
    [
        ({"POINT:DATA_START": 0}, {}),
        ({"POINT:DATA_START": 9}, {}),
        ({}, {"start": 0}),
        ({"POINT:USED": None}, {}),
        ({}, {"points": 0}),
        ({"POINT:USED": 40}, {}),
        ({}, {"points": 40}),
        ({"POINT:SCALE": None}, {}),
        ({}, {"scale": 0.0}),
        ({}, {"scale": 0.5}),
        ({"POINT:FRAMES": 90}, {}),
        ({}, {"analog": 30}),
        ({"ANALOG:USED": None}, {}),
        ({"ANALOG:USED": 31}, {}),
    ],
)
def test_the_size_of_the_file_decides_between_header_and_parameters(
    path: Path, parameters: dict[str, Any], header: dict[str, Any]
) -> None:
    points = places(50, 3)
    analog = np.full((50, 2, 2), 5.0)
    found = recording_of(path, c3d(points, analog=analog, parameters=parameters, header=header))
    np.testing.assert_array_equal(position(found), points)
    assert found.findings == ()


def test_a_contradiction_that_the_size_does_not_settle_is_an_error(path: Path) -> None:
    raw = c3d(places(50), header={"points": 40})
    error = fault(path, raw[: len(raw) - 1000])
    assert error.code == "bad-header"
    assert "points: 3 and 40" in error.text


@pytest.mark.parametrize(
    ("parameters", "header", "words"),
    [
        ({"POINT:SCALE": None}, {"scale": 0.0}, "scale"),
        ({"POINT:DATA_START": 0}, {"start": 0}, "where the data begin"),
        ({"POINT:FRAMES": None}, {"first": 9, "last": 3}, "how many frames"),
    ],
)
def test_what_nobody_says_is_an_error(
    path: Path, parameters: dict[str, Any], header: dict[str, Any], words: str
) -> None:
    error = fault(path, c3d(places(), parameters=parameters, header=header))
    assert error.code == "bad-header"
    assert words in error.text


# --- bodies


@pytest.mark.parametrize("processor", PROCESSORS)
def test_rotations_are_bodies_by_columns(path: Path, processor: str) -> None:
    raw = c3d(rotations=matrices(), parameters=BODIES, processor=processor)
    found = recording_of(path, raw)
    assert found.markers is None
    assert found.bodies is not None
    assert found.bodies.names == ("pelvis", "thigh")
    assert found.convention.rotation == "matrix"
    assert {"rotation", "transposed", "unit"} <= found.convention.stated
    np.testing.assert_array_equal(found.bodies.position, places(4, 2))
    first = found.bodies.orientation[1, 0].reshape(3, 3)
    np.testing.assert_array_equal(first, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    take = read(path)
    np.testing.assert_allclose(take.p_world_body, places(4, 2) / 1000, rtol=1e-12)
    assert rotation.angle(take.R_world_body[0, 0].T @ take.R_world_body[1, 0]) == pytest.approx(np.pi / 2)


def test_the_world_is_no_body(path: Path) -> None:
    labels = {**BODIES, "ROTATION:LABELS": ["worldbody_4X4", "pelvis_4X4", "thigh"]}
    found = recording_of(path, c3d(rotations=matrices(4, 3), parameters=labels))
    assert found.bodies is not None
    assert found.bodies.names == ("pelvis", "thigh")
    np.testing.assert_array_equal(found.bodies.position, places(4, 3)[:, 1:])


def test_the_world_alone_is_no_data(path: Path) -> None:
    labels = {**BODIES, "ROTATION:LABELS": ["worldbody_4X4"]}
    assert fault(path, c3d(rotations=matrices(4, 1), parameters=labels)).code == "no-data"


def test_an_unreliable_rotation_is_not_seen(path: Path) -> None:
    values = matrices()
    values[1, 0, 16] = -1
    values[2, 1, :16] = 0
    values[3, 0, 5] = np.nan
    found = recording_of(path, c3d(rotations=values, parameters=BODIES))
    assert found.bodies is not None
    unseen = [[False, False], [True, False], [False, True], [True, False]]
    assert np.isnan(found.bodies.position).all(axis=2).tolist() == unseen
    assert np.isnan(found.bodies.orientation).all(axis=2).tolist() == unseen


def test_poses_of_theia_are_told_as_solved(path: Path) -> None:
    assert recording_of(path, c3d(rotations=matrices(), parameters=BODIES)).solved_by is None
    said = {**BODIES, "MANUFACTURER:SOFTWARE": "THEIA3D"}
    assert recording_of(path, c3d(rotations=matrices(), parameters=said)).solved_by == "Theia"
    assert recording_of(path, c3d(places(), parameters={"MANUFACTURER:SOFTWARE": "THEIA3D"})).solved_by is None


def test_a_file_with_both_has_both(path: Path) -> None:
    found = recording_of(path, SMALL["both"])
    assert found.bodies is not None
    np.testing.assert_array_equal(found.bodies.position, places(4, 2))
    np.testing.assert_array_equal(position(found), places())


def test_points_that_are_all_empty_are_no_markers_beside_bodies(path: Path) -> None:
    found = recording_of(path, c3d(np.zeros((4, 3, 3)), rotations=matrices(), parameters=BODIES))
    assert found.markers is None
    assert found.bodies is not None


def test_bodies_alone_may_have_a_multiple_of_the_rate(path: Path) -> None:
    said = {**BODIES, "ROTATION:RATE": 300.0, "ROTATION:RATIO": 3, "POINT:FRAMES": 4}
    found = recording_of(path, c3d(rotations=matrices(12), parameters=said))
    assert (found.frames, found.rate) == (12, 300.0)


def test_markers_and_bodies_of_two_rates_are_refused(path: Path) -> None:
    said = {**BODIES, "ROTATION:RATE": 300.0, "ROTATION:RATIO": 3}
    error = fault(path, c3d(places(), rotations=matrices(12), parameters=said))
    assert error.code == "unequal-rates"
    assert "3 times" in error.text


@pytest.mark.parametrize(
    "said",
    [
        {"ROTATION:RATE": 250.0, "ROTATION:RATIO": None},
        {"ROTATION:RATE": 200.0},
        {"ROTATION:RATE": None, "ROTATION:RATIO": 1.5},
        {"ROTATION:RATIO": 0},
    ],
)
def test_rates_that_make_no_sense_together_are_refused(path: Path, said: dict[str, Any]) -> None:
    assert fault(path, c3d(rotations=matrices(), parameters={**BODIES, **said})).code == "bad-header"


def test_rotations_without_a_place_are_refused(path: Path) -> None:
    error = fault(path, c3d(rotations=matrices(), parameters={**BODIES, "ROTATION:DATA_START": None}))
    assert "ROTATION:DATA_START" in error.text


def test_matrices_by_rows_are_refused_not_misread(path: Path) -> None:
    values = matrices()
    values[..., :16] = np.swapaxes(values[..., :16].reshape(4, 2, 4, 4), 2, 3).reshape(4, 2, 16)
    assert "no 4x4 matrices" in fault(path, c3d(rotations=values, parameters=BODIES)).text


# --- cut and broken files


def test_a_cut_file_keeps_its_whole_frames_and_tells(path: Path) -> None:
    raw = c3d(places(50))
    start = len(raw) - BLOCK * -(-50 * 48 // BLOCK)
    found = recording_of(path, raw[: start + 48 * 30 + 20])
    np.testing.assert_array_equal(position(found), places(50)[:30])
    (finding,) = found.findings
    assert (finding.code, finding.count) == ("truncated-file", 20)
    assert finding.text.startswith("header says 50 frames, 30 present")


def test_a_cut_among_the_rotations_is_told_and_the_markers_stay(path: Path) -> None:
    raw = c3d(places(50), rotations=matrices(50), parameters=BODIES)
    start = len(raw) - BLOCK * -(-50 * 136 // BLOCK)
    found = recording_of(path, raw[: start + 136 * 20])
    assert found.bodies is not None
    assert found.frames == 50
    assert np.isfinite(found.bodies.position[:20]).all()
    assert np.isnan(found.bodies.position[20:]).all()
    np.testing.assert_array_equal(position(found), places(50))
    assert [finding.text[:49] for finding in found.findings] == ["header says 50 frames of rotations, 20 present; t"]
    without = recording_of(path, raw[:start])
    assert without.bodies is None
    assert codes(without) == ["truncated-file"]


@pytest.mark.parametrize("variant", ["floats, MIPS", "integers, DEC", "analog", "both"])
@pytest.mark.sized
def test_a_file_cut_at_any_byte_is_an_error_or_told(path: Path, variant: str) -> None:
    raw = SMALL[variant]
    whole = recording_of(path, raw)
    for end in cut_lengths(raw, 1):
        path.write_bytes(raw[:end])
        try:
            found = read_recording(path)
        except CondyleError:
            continue
        assert found.findings or raw[end:].strip(b"\x00") == b"" or _same(found, whole), end


def _same(a: Recording, b: Recording) -> bool:
    def equal(x: Any, y: Any) -> bool:
        return (x is None and y is None) or np.array_equal(x.position, y.position, equal_nan=True)

    return equal(a.markers, b.markers) and equal(a.bodies, b.bodies)


def test_no_frame_at_all_is_an_error_with_the_byte(path: Path) -> None:
    raw = c3d(places())
    error = fault(path, raw[: len(raw) - BLOCK])
    assert error.code == "damaged-file"
    assert f"ends at byte {len(raw) - BLOCK}" in error.text


def test_a_header_alone_is_an_error(path: Path) -> None:
    error = fault(path, c3d(places())[:BLOCK])
    assert error.code == "damaged-file"
    assert "byte 512" in error.text


def test_a_file_of_analog_data_only_has_nothing_to_read(path: Path) -> None:
    raw = c3d(np.zeros((4, 0, 3)), analog=np.ones((4, 2, 2)), parameters={"POINT:LABELS": None})
    assert fault(path, raw).code == "no-data"


def test_an_unknown_processor_is_named_with_its_byte(path: Path) -> None:
    raw = bytearray(c3d(places()))
    raw[515] = 7
    assert "byte 515 names processor 7" in fault(path, bytes(raw)).text


def test_an_empty_parameter_section_is_an_error(path: Path) -> None:
    raw = bytearray(c3d(places()))
    raw[516:518] = b"\x00\x00"
    error = fault(path, bytes(raw))
    assert error.code == "damaged-file"
    assert "parameter section at byte 512 is empty" in error.text


def test_a_broken_parameter_is_named_with_its_byte(path: Path) -> None:
    raw = bytearray(c3d(places(2, 2), ["AAAA", "BBBB"]))
    at = raw.index(b"LABELS") + len(b"LABELS") + 2 + 2  # link, type, number of dimensions: the width of a label
    raw[at] = 200
    error = fault(path, bytes(raw))
    assert error.code == "damaged-file"
    assert f"POINT:LABELS at byte {at - 12} declares 400 bytes" in error.text


@pytest.mark.parametrize("name", [b"RATE", b"UNITS"])
def test_a_parameter_of_the_wrong_kind_is_named(path: Path, name: bytes) -> None:
    raw = bytearray(c3d(places()))
    raw[raw.index(name) + len(name) + 2] = {b"RATE": 0xFF, b"UNITS": 2}[name]
    if name == b"UNITS":  # two letters are one number: made to fit, so that only the kind is wrong
        raw[raw.index(name) + len(name) + 4] = 1
    error = fault(path, bytes(raw))
    assert error.code == "damaged-file"
    assert f"POINT:{name.decode()}" in error.text


def test_a_broken_parameter_that_nobody_needs_does_not_matter(path: Path) -> None:
    raw = bytearray(c3d(places(), parameters={"SEG:LIMIT": [1.0, 2.0]}))
    raw[raw.index(b"LIMIT") + len(b"LIMIT") + 2] = 99
    np.testing.assert_array_equal(position(recording_of(path, bytes(raw))), places())


def test_a_link_out_of_the_parameters_is_named(path: Path) -> None:
    raw = bytearray(c3d(places()))
    at = raw.index(b"USED") + 4
    raw[at : at + 2] = b"\xff\x7f"
    error = fault(path, bytes(raw))
    assert error.code == "damaged-file"
    assert "'USED'" in error.text


def test_a_link_into_the_middle_of_a_record_is_a_broken_chain(path: Path) -> None:
    raw = bytearray(c3d(places()))
    at = raw.index(b"USED") + 4
    raw[at : at + 2] = b"\x08\x00"
    assert fault(path, bytes(raw)).code == "damaged-file"


@pytest.mark.parametrize("header", [{}, {"start": 0}])
def test_parameters_that_end_with_their_last_link_are_read(path: Path, header: dict[str, Any]) -> None:
    raw = c3d(places(), last_link=True, header=header)
    np.testing.assert_array_equal(position(recording_of(path, raw)), places())


def test_hostile_counts_ask_for_no_memory(path: Path) -> None:
    said = {"POINT:USED": 65535, "POINT:FRAMES": 2e9, "POINT:LONG_FRAMES": 2e9}
    assert fault(path, c3d(places(), parameters=said, header={"points": 65535})).code in ("damaged-file", "bad-header")


@pytest.mark.parametrize("variant", SMALL)
def test_damaged_bytes_end_in_one_error_or_in_a_recording(path: Path, variant: str, rng: np.random.Generator) -> None:
    for _ in range(150):
        raw = bytearray(SMALL[variant])
        for at in rng.integers(0, len(raw), rng.integers(1, 8)):
            raw[at] = rng.integers(0, 256)
        raw[1] = 0x50
        path.write_bytes(raw)
        with contextlib.suppress(CondyleError):  # any other error leaves, and the test fails
            module.read(path, ReadOptions())


# --- which files are claimed


@pytest.mark.parametrize("variant", SMALL)
def test_a_c3d_file_is_known_by_its_content(path: Path, variant: str) -> None:
    path.write_bytes(SMALL[variant])
    assert identify(path).name == "c3d"


@pytest.mark.parametrize(
    "head",
    [b"", b"\x02", b"PP", b"XP,YP\n1,2\n" * 5000, b"PK\x03\x04", b"\x00P", b"TP" + b"T" * 65534, b"\x02P" + b"x" * 600],
)
def test_other_bytes_are_not_claimed(head: bytes) -> None:
    assert not module.looks_like(head)


def test_no_other_recording_is_claimed_and_every_c3d_is(shared_data: Path) -> None:
    for file in sorted(shared_data.rglob("*")):
        if file.is_file():
            with file.open("rb") as stream:
                assert module.looks_like(stream.read(65536)) == (file.suffix.lower() == ".c3d"), file


# --- real files


REAL = {  # frames, markers, bodies, rate [Hz]
    "cmu_c3d/02_05.c3d": (1854, 41, 0, 120.0),
    "cmu_c3d/dribble_shoot.c3d": (494, 41, 0, 120.0),
    "functional_knee_c3d/right_knee.c3d": (922, 73, 0, 100.0),
    "optitrack_c3d/walk.c3d": (3361, 12, 0, 160.0),
    "optotrak_c3d/Optotrak.c3d": (29, 54, 0, 30.0),
    "qualisys_c3d/walk.c3d": (340, 55, 0, 200.0),
    "theia_c3d/rotation.c3d": (340, 0, 20, 85.0),
    "vicon_functional_c3d/left_hip.c3d": (1577, 74, 0, 120.0),
}


@pytest.mark.parametrize("name", REAL)
def test_a_real_file_has_the_frames_markers_and_bodies_it_should(shared_data: Path, name: str) -> None:
    found = read_recording(shared_data / name)
    markers = () if found.markers is None else found.markers.names
    bodies = () if found.bodies is None else found.bodies.names
    assert (found.frames, len(markers), len(bodies), found.rate) == REAL[name]
    assert found.convention.unit == "mm"
    truth = json.loads((shared_data / "truth.json").read_text(encoding="utf-8")).get(name, {})
    for group in truth.get("bodies_from_markers", {}).values():
        assert set(group) <= set(markers)
    if bodies:
        assert {end for joint in truth["joints"] for end in joint[:2]} <= set(bodies)


def test_a_person_in_a_real_file_stands_upright(shared_data: Path) -> None:
    """Head above pelvis above heel along the axis that is up, at heights that a person has."""
    heights = {
        "qualisys_c3d/walk.c3d": ("L_HDF", "L_IAS", "L_FCC"),
        "cmu_c3d/02_05.c3d": ("TakeoMonday:LFHD", "TakeoMonday:LFWT", "TakeoMonday:LHEE"),
        "cmu_c3d/dribble_shoot.c3d": ("Justin:LFHD", "Justin:LFWT", "Justin:LHEE"),
    }
    for name, labels in heights.items():
        found = read_recording(shared_data / name)
        assert found.markers is not None
        assert found.convention.up == "z"
        head, pelvis, heel = (
            np.nanmedian(found.markers.position[:, found.markers.names.index(label), 2]) for label in labels
        )
        assert 1800 > head > pelvis + 300 > heel + 800 > 800, name


def test_the_cut_real_file_is_told(shared_data: Path) -> None:
    (finding,) = read_recording(shared_data / "optotrak_c3d/Optotrak.c3d").findings
    assert finding.text.startswith("header says 1149 frames, 29 present")


def test_a_real_file_without_parameters_is_refused_with_the_place(shared_data: Path) -> None:
    with pytest.raises(CondyleError, match="parameter section at byte 512 is empty") as error:
        read_recording(shared_data / "broken_c3d/phasespace_sample.c3d")
    assert error.value.code == "damaged-file"


def test_a_real_file_that_other_readers_refuse_is_whole_and_read(shared_data: Path) -> None:
    """A parameter of 0 x 0 letters stops others; every byte of the file is accounted for."""
    file = shared_data / "broken_c3d/mocap36.c3d"
    found = read_recording(file)
    assert (found.frames, found.rate, found.findings) == (1380, 100.0, ())
    assert found.markers is not None
    assert found.markers.names[0] == "Skeleton_Hip2"
    words = np.frombuffer(file.read_bytes(), "<f4", 1380 * 36 * 4, 11 * BLOCK).reshape(1380, 36, 4)
    seen = words[..., 3] >= 0
    np.testing.assert_array_equal(np.isfinite(found.markers.position).all(axis=2), seen)
    np.testing.assert_array_equal(found.markers.position[seen], words[seen][:, :3])
