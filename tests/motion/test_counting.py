from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.model.angle_conventions import CONVENTIONS, JointRow
from condyle.model.angles import AngleColumn, SegmentFrame
from condyle.motion.counting import Counted, count_each, describe_lock, measure_columns

OWN = SegmentFrame("thigh_l", "thigh", np.eye(3), np.zeros(3), "functional", "")
ISB = {row.joint: row for row in CONVENTIONS["isb"].joints}
NEAR = 1e-9  # rad


def joint(row: JointRow, R: np.ndarray, axis: np.ndarray | None = None) -> Counted:
    names = [f"{name}_r" for name in (*row.names, row.total) if name is not None]
    columns = tuple(AngleColumn(name, row.joint, "r", f"{row.joint}_r", "child", "parent") for name in names)
    return Counted(columns, R, row, (OWN, OWN), False, axis)


def measure(one: Counted, *, keep: bool = False, segment: np.ndarray | None = None) -> np.ndarray:
    parts = np.zeros(len(one.R), np.int64) if segment is None else segment
    return np.degrees(measure_columns([one], parts, keep)[0])


def test_an_elevation_never_becomes_negative_and_the_plane_is_left_out_near_the_lock() -> None:
    swing = np.linspace(-60, 60, 241)  # an arm that swings from behind to the front
    found = measure(joint(ISB["shoulder"], Rotation.from_euler("Z", swing[:, None], degrees=True).as_matrix()))
    np.testing.assert_allclose(found[:, 1], np.abs(swing), atol=1e-6)
    near = np.abs(swing) < 10
    assert np.isnan(found[near][:, [0, 2]]).all()
    assert np.isfinite(found[np.abs(swing) > 10.1]).all()
    np.testing.assert_allclose(found[swing < -10.1, 0], -90, atol=1e-6)
    np.testing.assert_allclose(found[swing > 10.1, 0], 90, atol=1e-6)
    np.testing.assert_allclose(found[:, 3], 0, atol=1e-6)


def test_the_sum_of_plane_and_rotation_stays_known() -> None:
    low = Rotation.from_euler("YXY", [[20, -1, 15], [70, -0.5, -35]], degrees=True).as_matrix()
    found = measure(joint(ISB["shoulder"], low))
    np.testing.assert_allclose(found[:, 3], 35, atol=1e-6)
    kept = measure(joint(ISB["shoulder"], low), keep=True)
    np.testing.assert_allclose(kept[:, 0], (20, 70), atol=1e-4)


def test_a_sequence_goes_on_beyond_its_lock_and_that_is_told() -> None:
    given = np.stack([np.full(80, 20.0), np.linspace(0, 117, 80), np.full(80, 10.0)], axis=1)
    one = joint(ISB["hip"], Rotation.from_euler("ZXY", given, degrees=True).as_matrix())
    values, locked, crossed = measure_columns([one], np.zeros(80, np.int64), True)
    np.testing.assert_allclose(np.degrees(values), given, atol=1e-6)
    told = list(describe_lock([one], locked, crossed, True))
    assert [finding.code for finding in told] == ["near-gimbal-lock", "beyond-gimbal-lock"]
    assert told[0].count == int((np.abs(given[:, 1] - 90) < 10).sum())
    assert told[1].frame == int(np.argmax(given[:, 1] > 90))
    assert "hip_flexion_r and hip_rotation_r are kept" in told[0].text


def test_a_hinge_goes_on_past_whole_turns() -> None:
    angle = np.linspace(0, 15, 200)
    row = JointRow("wheel", "pelvis", "pelvis", "axis", (1, 1, 1), ("wheel_angle", None, None), "")
    one = joint(row, Rotation.from_rotvec(angle[:, None] * [0.0, 0.6, 0.8]).as_matrix(), np.array([0.0, 0.6, 0.8]))
    found = np.radians(measure(one)[:, 0])
    np.testing.assert_allclose(np.diff(found), np.diff(angle), atol=NEAR)
    assert -np.pi < np.median(found) <= np.pi


def test_a_rotation_vector_goes_on_past_half_a_turn() -> None:
    angle = np.linspace(0.1, 5, 100)
    axis = np.array([0.6, 0.0, 0.8])
    row = JointRow("ball", "pelvis", "pelvis", "vector", (1, 1, 1), ("ball_x", "ball_y", "ball_z"), "")
    found = np.radians(measure(joint(row, Rotation.from_rotvec(angle[:, None] * axis).as_matrix())))
    np.testing.assert_allclose(found, angle[:, None] * axis, atol=NEAR)


def test_what_is_not_known_stays_so_and_every_recording_begins_anew() -> None:
    given = np.zeros((40, 3))
    given[:, 0] = np.linspace(0, 30, 40)
    R = Rotation.from_euler("ZXY", given, degrees=True).as_matrix()
    R[10:15] = np.nan
    found = measure(joint(ISB["hip"], R), segment=np.repeat([0, 1], 20))
    assert np.isnan(found[10:15]).all()
    np.testing.assert_allclose(np.delete(found[:, 0], np.s_[10:15]), np.delete(given[:, 0], np.s_[10:15]), atol=1e-6)


@pytest.mark.parametrize("name", ["knee", "shoulder", "pelvis"])
def test_each_frame_for_itself_is_the_same_up_to_whole_turns(name: str, rng: np.random.Generator) -> None:
    R = Rotation.random(50, rng).as_matrix()
    one = joint(ISB[name], R)
    apart = np.degrees(count_each(one, R)) - measure(one, keep=True, segment=np.arange(50))
    np.testing.assert_allclose((apart + 180) % 360 - 180, 0, atol=1e-6)
