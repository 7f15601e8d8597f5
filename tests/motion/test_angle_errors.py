from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.model.angle_conventions import CONVENTIONS
from condyle.model.angles import AngleColumn, SegmentFrame
from condyle.model.skeleton import SensorNoise, Skeleton
from condyle.motion.angle_errors import find_errors
from condyle.motion.counting import Counted

KNEE = next(row for row in CONVENTIONS["isb"].joints if row.joint == "knee")
COLUMNS = tuple(AngleColumn(name or "", "knee", "r", "knee_r", "shank", "thigh") for name in KNEE.names)
EXACT = SegmentFrame("thigh_r", "thigh", np.eye(3), np.zeros(3), "functional", "")
NOISE = (SensorNoise("thigh", 0.003, 0.003), SensorNoise("shank", 0.003, 0.004))
SKELETON = Skeleton(("thigh", "shank"), ("thigh",), (), (), noise=NOISE)


def errors(sd: tuple[float, float, float], flexion: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple]:
    """[deg] of a knee whose thigh's frame has these errors [deg]."""
    R = Rotation.from_euler("Z", -flexion[:, None], degrees=True).as_matrix()
    thigh = replace(EXACT, sd=np.radians(sd))
    level, course, noise, definition = find_errors([Counted(COLUMNS, R, KNEE, (thigh, EXACT), False)], SKELETON)
    return np.degrees(level), np.degrees(course), np.degrees(noise), definition


def test_an_error_of_flexion_is_an_offset_and_nothing_else() -> None:
    level, course, _, definition = errors((0, 0, 3), np.linspace(0, 90, 50))
    np.testing.assert_allclose(level, (3, 0, 0), atol=0.01)
    np.testing.assert_allclose(course, 0, atol=0.01)
    assert definition == (False, False, False)


def test_an_axis_that_is_off_makes_curves_of_adduction_as_crosstalk_does() -> None:
    flexion = np.array([0.0, 60.0])
    level, course, _, _ = errors((0, 10, 0), flexion)
    shown = 10 * np.sin(np.radians(flexion))  # adduction that a bend of 60 deg shows: 8.66
    assert level[1] == pytest.approx(shown.mean(), rel=0.02)
    assert course[1] == pytest.approx(shown.std(), rel=0.02)
    turned = 10 * np.cos(np.radians(flexion))
    assert course[2] == pytest.approx(turned.std(), rel=0.05)


def test_what_a_definition_sets_has_no_error_and_says_so() -> None:
    level, course, _, definition = errors((0, 0, np.nan), np.linspace(0, 60, 30))
    assert definition == (True, False, False)
    assert np.isnan(level[0])
    np.testing.assert_allclose(course, 0, atol=0.01)


def test_the_noise_of_a_frame_is_that_of_both_sensors() -> None:
    noise = errors((0, 0, 0), np.linspace(0, 60, 30))[2]
    np.testing.assert_allclose(noise, np.degrees(0.005), rtol=0.02)


def test_a_joint_that_is_never_known_has_no_errors() -> None:
    one = Counted(COLUMNS, np.full((4, 3, 3), np.nan), KNEE, (EXACT, EXACT), False)
    level, course, noise, definition = find_errors([one], SKELETON)
    assert np.isnan([*level, *course, *noise]).all()
    assert definition == (False, False, False)
