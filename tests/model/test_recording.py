"""model/recording.py: numbers as a file holds them, and the convention that makes poses of them."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.maths import rotation
from condyle.model.recording import (
    Bodies,
    Convention,
    Markers,
    Recording,
    along_axes,
    axes_matrix,
    to_take,
    width_of,
)
from condyle.model.take import OwnSkeleton
from condyle.simulate import linkage, simulate

CLOSE = 1e-12  # m, or of a rotation's entries


def recording(orientation: np.ndarray, convention: Convention, position: np.ndarray | None = None) -> Recording:
    n, m = orientation.shape[:2]
    p = np.arange(n * m * 3, dtype=float).reshape(n, m, 3) if position is None else position
    names = tuple(f"s{k}" for k in range(m))
    return Recording("a.txt", "test", Bodies(names, p, orientation), time=np.arange(n) / 10, convention=convention)


def test_every_way_to_write_a_rotation_gives_the_same_take(rng: np.random.Generator) -> None:
    R = rotation.random(rng, (5, 2))
    q = rotation.to_quaternion(R)
    from scipy.spatial.transform import Rotation

    flat = Rotation.from_matrix(R.reshape(-1, 3, 3))
    ways = {
        Convention("wxyz", unit="m"): q,
        Convention("xyzw", unit="m"): q[..., [1, 2, 3, 0]],
        Convention("matrix", unit="m"): R.reshape(5, 2, 9),
        Convention("wxyz", unit="m", transposed=True): q * [1, -1, -1, -1],
        Convention("ZYX", unit="m"): flat.as_euler("ZYX", degrees=True).reshape(5, 2, 3),
        Convention("XZX", unit="m", degrees=False): flat.as_euler("XZX").reshape(5, 2, 3),
        Convention("vector", unit="m"): np.degrees(rotation.to_vector(R)),
        Convention("XYZ-extrinsic", unit="m"): flat.as_euler("xyz", degrees=True).reshape(5, 2, 3),
    }
    for convention, numbers in ways.items():
        take = to_take(recording(numbers, convention))
        np.testing.assert_allclose(take.R_world_body, R, atol=CLOSE, err_msg=str(convention))


def test_a_left_handed_world_becomes_a_right_handed_one_with_the_same_distances(rng: np.random.Generator) -> None:
    R, p = rotation.random(rng, (5, 2)), rng.standard_normal((5, 2, 3))
    mirror = np.diag([-1.0, 1, 1])
    left = Convention("matrix", unit="m", handed="left", up="y")
    take = to_take(recording((mirror @ R @ mirror).reshape(5, 2, 9), left, p @ mirror))
    np.testing.assert_allclose(take.R_world_body, R, atol=CLOSE)
    np.testing.assert_allclose(take.p_world_body, p, atol=CLOSE)
    assert take.up == "y"


def test_a_left_handed_world_with_x_up_keeps_its_up() -> None:
    left = Convention("wxyz", unit="m", handed="left", up="x")
    take = to_take(recording(np.tile([1.0, 0, 0, 0], (3, 1, 1)), left, np.tile([1.0, 2, 3], (3, 1, 1))))
    assert take.p_world_body[0, 0].tolist() == [1, -2, 3]


def test_axes_put_positions_in_another_order(rng: np.random.Generator) -> None:
    p = rng.standard_normal((5, 2, 3))
    axes = ("y", "-z", "x")
    np.testing.assert_array_equal(along_axes(p, axes), np.stack([p[..., 1], -p[..., 2], p[..., 0]], axis=-1))
    np.testing.assert_allclose(p @ axes_matrix(axes).T, along_axes(p, axes))


def test_the_unit_of_a_file_becomes_metres_for_its_own_skeleton_as_well() -> None:
    own = OwnSkeleton(("a", "b"), np.array([-1, 0]), np.array([[0.0, 0, 0], [0, 500, 0]]))
    one = recording(np.tile([1.0, 0, 0, 0], (3, 2, 1)), Convention("wxyz", unit="mm"))
    take = to_take(Recording(one.source, one.format, one.bodies, time=one.time, convention=one.convention, own=own))
    np.testing.assert_allclose(take.p_world_body[0, 1], [0.003, 0.004, 0.005])
    assert take.own is not None
    np.testing.assert_allclose(take.own.p_parent_joint[1], [0, 0.5, 0])


@pytest.mark.parametrize("scale", [1.0, 100.0, 1000.0])
def test_an_unknown_unit_is_the_plausible_one_and_told(rng: np.random.Generator, scale: float) -> None:
    p = (np.array([[0, 0, 1.0], [0, 0, 0.6], [0.3, 0, 0.6]]) + 0.05 * rng.standard_normal((20, 3, 3))) * scale
    take = to_take(recording(np.tile([1.0, 0, 0, 0], (20, 3, 1)), Convention("wxyz"), p))
    (finding,) = take.findings
    assert (finding.code, finding.severity, finding.value) == ("unit-assumed", "warning", 1 / scale)
    assert "--unit" in finding.text


def test_a_unit_that_a_file_states_is_doubted_where_nobody_is_so_large() -> None:
    take = simulate(linkage(), seconds=5, rate=60, seed=1).take
    take = take.select(take.names[:2])
    R = take.R_world_body.reshape(take.frames, -1, 9)
    for scale, given, told in [(100, (), True), (100, ("unit",), False), (1, (), False)]:
        convention = Convention("matrix", unit="m", given=frozenset(given))
        one = replace(recording(R, convention, scale * take.p_world_body), time=take.time)
        texts = [finding.text for finding in to_take(one).findings if finding.code == "implausible-size"]
        assert len(texts) == told
        assert all("cm would give" in text and "--unit" in text for text in texts)


@pytest.mark.parametrize(("minutes", "lost"), [(True, 0.0), (True, 0.02), (False, 0.0)])
def test_a_clock_in_minutes_is_told_by_how_fast_the_sensors_move(
    rng: np.random.Generator, minutes: bool, lost: float
) -> None:
    take = simulate(linkage(), seconds=5, rate=60, seed=1).take
    p = np.where(rng.random((take.frames, take.bodies, 1)) < lost, np.nan, 1000 * take.p_world_body)
    one = recording(take.R_world_body.reshape(take.frames, -1, 9), Convention("matrix", unit="mm"), p)
    told = to_take(replace(one, time=take.time / 60 if minutes else take.time)).findings
    assert [finding.code for finding in told if "as minutes they give 60" in finding.text] == ["clock-unit"] * minutes


def test_speed_is_that_of_a_figure_of_the_bodies_that_are_seen_within_segments() -> None:
    take = simulate(linkage(), seconds=5, rate=600, seed=1).take
    R = take.R_world_body.reshape(take.frames, -1, 9)
    lost = take.p_world_body.copy()
    lost[:, 0] = np.nan
    segment = np.arange(take.frames) // 10
    for p, unit, time, own, told in [
        (lost, "m", take.time / 60, None, True),
        (100 * take.p_world_body, "m", take.time, None, False),  # the unit of length is wrong, and not the clock
        (take.p_world_body, "m", take.time % (10 / 600), segment, False),  # each begins at zero
    ]:
        one = replace(recording(R, Convention("matrix", unit=unit), p), time=time, segment=own)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = to_take(one).findings
        assert any("as minutes they give" in finding.text for finding in found) == told


def test_gimbal_lock_is_told_with_its_first_frame() -> None:
    angles = np.zeros((4, 1, 3))
    angles[2:, 0, 1] = 90
    take = to_take(recording(angles, Convention("ZYX", unit="m")))
    (finding,) = take.findings
    assert (finding.code, finding.frame, finding.count, finding.bodies) == ("gimbal-lock", 2, 2, ("s0",))


def test_markers_alone_are_told_what_is_missing() -> None:
    one = Recording("a.c3d", "c3d", markers=Markers(("M1",), np.zeros((3, 1, 3))))
    with pytest.raises(CondyleError, match="--bodies") as error:
        to_take(one)
    assert error.value.code == "markers-only"


def test_solved_poses_are_told() -> None:
    one = recording(np.tile([1.0, 0, 0, 0], (3, 1, 1)), Convention("wxyz", unit="m"))
    take = to_take(
        Recording(one.source, one.format, one.bodies, time=one.time, convention=one.convention, solved_by="X")
    )
    assert [finding.code for finding in take.findings] == ["solved-poses"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rotation": "wzyx"},
        {"rotation": "XXY"},
        {"unit": "furlong"},
        {"handed": "both"},
        {"up": "w"},
        {"axes": ("x", "y", "y")},
        {"axes": ("x", "y", "--z")},
        {"axes": ("x", "y")},
    ],
)
def test_a_convention_that_does_not_exist_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        Convention(**wrong)  # type: ignore[arg-type]


def test_numbers_per_rotation() -> None:
    assert [width_of(kind) for kind in ("wxyz", "xyzw", "matrix", "ZYX", "ZXZ-extrinsic")] == [4, 4, 9, 3, 3]


def test_a_convention_reads_like_a_sentence() -> None:
    assert str(Convention("xyzw", transposed=True)) == "quaternion xyzw, transposed"
    assert str(Convention("ZYX", degrees=False)) == "Euler ZYX in radians"
    assert str(Convention("matrix", axes=("x", "z", "y"), handed="left")) == (
        "matrices, position axes x,z,y, left-handed"
    )


def test_what_the_user_gives_is_remembered() -> None:
    convention = Convention("wxyz", stated=frozenset({"unit"})).but(given=True, rotation="xyzw")
    assert convention.given == {"rotation"}
    assert convention.rotation == "xyzw"
    assert convention.but(transposed=True).given == {"rotation"}


@pytest.mark.parametrize("size", [4, 8])
def test_nan_of_the_signalling_kind_is_no_pose_and_no_warning(size: int, rng: np.random.Generator) -> None:
    bits = {4: np.uint32(0x7F800001), 8: np.uint64(0x7FF0000000000001)}[size]
    p = rng.standard_normal((5, 2, 3)).astype(f"f{size}")
    p.view(bits.dtype)[3, 1] = bits
    for changes in ({}, {"axes": ("y", "-x", "z")}, {"handed": "left", "unit": "mm"}):
        convention = replace(Convention("matrix", unit="m"), **changes)  # type: ignore[arg-type]
        take = to_take(recording(rotation.random(rng, (5, 2)).reshape(5, 2, 9), convention, p))
        assert np.argwhere(np.isnan(take.p_world_body[..., 0])).tolist() == [[3, 1]], changes
