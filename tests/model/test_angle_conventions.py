from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from condyle.errors import UsageError
from condyle.maths.euler import find_principal_angles
from condyle.model.angle_conventions import CONVENTIONS, JointRow, find_convention

NEAR_DEG = 6e-5  # of oracles that are given to four digits
MIRROR = np.diag([1.0, 1.0, -1.0])
X, Y, Z = np.eye(3)

# What a small turn of the distal segment about an axis of the proximal one is called: X is forward, Y up, Z right.
# Right side: the leg swings forward, the left hand's side of the trunk rises, the toes turn inwards, ...
MEANINGS = {
    "isb": {
        "hip": (Z, X, Y),
        "knee": (-Z, X, Y),
        "ankle": (Z, X, Y),
        "trunk": (-Z, X, Y),
        "neck": (-Z, X, Y),
        "thorax": (-Z, X, Y),
        "elbow": (Z, X, Y),
        "wrist": (Z, X, Y),
        "pelvis": (Y, X, -Z),
    },
    "xzy": {"shoulder": (-X, Z, Y)},
    "opensim": {
        "pelvis": (Z, X, Y),
        "hip": (Z, X, Y),
        "knee": (-Z, None, None),
        "ankle": (Z, X, None),
        "lumbar": (Z, X, Y),
        "shoulder": (Z, X, Y),
        "elbow": (Z, None, Y),
        "wrist": (Z, X, None),
    },
    "opensim:gait2392": {
        "pelvis": (Z, X, Y),
        "hip": (Z, X, Y),
        "knee": (Z, None, None),
        "ankle": (Z, X, None),
        "lumbar": (Z, X, Y),
    },
    "pig": {"pelvis": (-Z, -X, Y), "hip": (Z, X, Y), "knee": (-Z, X, Y), "ankle": (Z, X, Y)},
}


def row_of(convention: str, joint: str) -> JointRow:
    return next(row for row in CONVENTIONS[convention].joints if row.joint == joint)


def count(row: JointRow, R: np.ndarray) -> np.ndarray:
    """[deg] wrapped to a half turn."""
    angles = np.degrees(find_principal_angles(np.asarray(R)[None], row.order)[0] * row.signs)
    return (angles + 180) % 360 - 180


@pytest.mark.parametrize(
    ("convention", "joint", "k"),
    [
        (convention, joint, k)
        for convention, joints in MEANINGS.items()
        for joint, axes in joints.items()
        for k, axis in enumerate(axes)
        if axis is not None
    ],
)
def test_a_sign_means_the_same_on_both_sides(convention: str, joint: str, k: int) -> None:
    row = row_of(convention, joint)
    axis = MEANINGS[convention][joint][k]
    right = Rotation.from_rotvec(np.radians(10) * axis).as_matrix()
    found = count(row, right)
    assert found[k] == pytest.approx(10)
    np.testing.assert_allclose(np.delete(found, k), 0, atol=1e-9)
    left = Rotation.from_rotvec(np.radians(10) * axis * [-1, -1, 1]).as_matrix()  # the mirrored motion
    np.testing.assert_allclose(count(row, MIRROR @ left @ MIRROR), found, atol=1e-9)


def test_every_row_of_every_table_is_tried_above() -> None:
    for name, convention in CONVENTIONS.items():
        rows = {row.joint for row in convention.joints if row.order != "YXY"}
        known = set(MEANINGS.get(name, {})) | (
            {"shoulder"} if name == "isb" else set(MEANINGS["isb"]) if name == "xzy" else set()
        )
        assert rows <= known, name


@pytest.mark.parametrize(
    ("R", "yxy", "xzy", "zxy"),
    [
        (Rotation.from_euler("X", -90, degrees=True), (0, -90, 0), (-90, 0, 0), None),
        (Rotation.from_euler("Z", 90, degrees=True), (90, -90, -90), None, (90, 0, 0)),
        (Rotation.from_euler("ZY", [90, 30], degrees=True), (90, -90, -60), None, (90, 0, 30)),
        (
            Rotation.from_euler("YXY", [45, -60, -45], degrees=True),
            (45, -60, -45),
            (-50.7685, 37.7612, -18.4349),
            (50.7685, -37.7612, 18.4349),
        ),
    ],
)
def test_an_arm_is_counted_as_the_literature_does(
    R: Rotation, yxy: tuple[float, ...], xzy: tuple[float, ...] | None, zxy: tuple[float, ...] | None
) -> None:
    matrix = R.as_matrix()
    np.testing.assert_allclose(count(row_of("isb", "shoulder"), matrix), np.array(yxy) * [1, -1, 1], atol=NEAR_DEG)
    if xzy is not None:
        np.testing.assert_allclose(count(row_of("xzy", "shoulder"), matrix), np.array(xzy) * [-1, 1, 1], atol=NEAR_DEG)
    if zxy is not None:
        np.testing.assert_allclose(count(row_of("opensim", "shoulder"), matrix), zxy, atol=NEAR_DEG)


def test_a_knee_is_that_of_grood_and_suntay(rng: np.random.Generator) -> None:
    given = np.array([[0.4491, 0.8808, -0.1500], [-0.8730, 0.4683, 0.1363], [0.1903, 0.0698, 0.9792]])
    np.testing.assert_allclose(count(row_of("isb", "knee"), given), (62, 4, -11), atol=0.01)
    thigh, shank = (Rotation.random(2000, rng).as_matrix() for _ in range(2))
    e1, e3 = thigh[:, :, 2], shank[:, :, 1]
    e2 = np.cross(e3, e1)
    e2 /= np.linalg.norm(e2, axis=1, keepdims=True)

    def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("ni,ni->n", a, b)

    flexion = -np.arctan2(dot(e2, thigh[:, :, 1]), dot(e2, thigh[:, :, 0]))
    adduction = np.arcsin(dot(e1, e3))
    inwards = np.arctan2(dot(e2, shank[:, :, 2]), dot(e2, shank[:, :, 0]))
    row = row_of("isb", "knee")
    found = find_principal_angles(np.swapaxes(thigh, -1, -2) @ shank, row.order) * row.signs
    np.testing.assert_allclose(found, np.stack([flexion, adduction, inwards], axis=1), atol=1e-7)


def test_a_pelvis_of_opensim_is_bakers_with_another_order_and_another_sign() -> None:
    opensim = Rotation.from_euler("ZXY", [15, 10, 40], degrees=True).as_matrix()
    np.testing.assert_allclose(count(row_of("opensim", "pelvis"), opensim), (15, 10, 40), atol=NEAR_DEG)
    np.testing.assert_allclose(count(row_of("isb", "pelvis"), opensim), (40.9792, -2.1707, -17.8365), atol=NEAR_DEG)
    baker = Rotation.from_euler("YXZ", [40, 10, 15], degrees=True).as_matrix()
    np.testing.assert_allclose(count(row_of("opensim", "pelvis"), baker), (5.4317, 17.1489, 37.8606), atol=NEAR_DEG)


def test_a_mirrored_rotation_keeps_flexion_and_changes_the_other_signs() -> None:
    R = Rotation.from_quat([0.7, 0.1, -0.5, 0.5], scalar_first=True).as_matrix()
    hip = row_of("isb", "hip")
    np.testing.assert_allclose(count(hip, R), (59.0362, -21.1002, -59.0362), atol=NEAR_DEG)
    np.testing.assert_allclose(count(hip, MIRROR @ R @ MIRROR), (59.0362, 21.1002, 59.0362), atol=NEAR_DEG)


def test_a_convention_is_found_by_its_name_or_its_order() -> None:
    assert find_convention("isb") is CONVENTIONS["isb"]
    assert find_convention("euler:yxy").order == "YXY"
    for wrong in ("isp", "euler", "euler:ZZX", "euler:ZXYX"):
        with pytest.raises(UsageError, match=r"no convention .* choose from isb, xzy, opensim"):
            find_convention(wrong)


def test_names_of_columns_are_unique_in_every_table() -> None:
    for convention in CONVENTIONS.values():
        names = [name for row in convention.joints for name in (*row.names, row.total) if name is not None]
        assert len(set(names)) == len(names)
