from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from condyle.errors import CondyleError, UsageError
from condyle.maths import rotation
from condyle.model.take import REPAIRABLE, BodyMarker, OwnSkeleton, Take, join

EXACT = 1e-14  # entries of rotation matrices


def make_take(rng: np.random.Generator, n: int = 20, names: tuple[str, ...] = ("hip", "knee"), **more: Any) -> Take:
    p = rng.standard_normal((n, len(names), 3))
    return Take.from_poses(
        p, R_world_body=rotation.random(rng, (n, len(names))), names=names, **{"time": np.arange(n) / 50, **more}
    )


def codes(take: Take) -> list[str]:
    return [finding.code for finding in take.findings]


def test_homogeneous_matrices_and_poses_make_the_same_take(rng: np.random.Generator) -> None:
    take = make_take(rng)
    T = np.tile(np.eye(4), (20, 2, 1, 1))
    T[..., :3, :3], T[..., :3, 3] = take.R_world_body, take.p_world_body
    again = Take.from_matrices(T, names=take.names, rate=50)
    np.testing.assert_array_equal(again.R_world_body, take.R_world_body)
    np.testing.assert_array_equal(again.p_world_body, take.p_world_body)
    np.testing.assert_allclose(again.time, take.time)


def test_matrices_of_the_wrong_shape_are_refused_with_both_shapes() -> None:
    with pytest.raises(CondyleError, match=r"\(5, 4, 4\), expected \(frames, bodies, 4, 4\)"):
        Take.from_matrices(np.zeros((5, 4, 4)))


def test_quaternions_and_matrices_make_the_same_take(rng: np.random.Generator) -> None:
    take = make_take(rng)
    q = rotation.to_quaternion(take.R_world_body)
    again = Take.from_poses(take.p_world_body, -q, names=take.names, time=take.time)
    np.testing.assert_allclose(again.R_world_body, take.R_world_body, atol=EXACT)
    assert again.findings == ()


def test_either_quaternions_or_matrices_but_not_both(rng: np.random.Generator) -> None:
    p = np.zeros((3, 1, 3))
    with pytest.raises(UsageError, match="either quaternions or matrices"):
        Take.from_poses(p)


def test_values_are_copied_and_frozen(rng: np.random.Generator) -> None:
    p = np.zeros((3, 1, 3))
    take = Take.from_poses(p, R_world_body=np.tile(np.eye(3), (3, 1, 1, 1)), rate=10)
    p[:] = 7
    assert (take.p_world_body == 0).all()
    for array in (take.time, take.R_world_body, take.p_world_body, take.segment, take.seen):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_bodies_without_names_are_counted(rng: np.random.Generator) -> None:
    take = Take.from_poses(np.zeros((3, 2, 3)), np.ones((3, 2, 4)) / 2, rate=10)
    assert take.names == ("body1", "body2")


def test_without_time_and_rate_frames_are_counted_at_100_hz_and_told(rng: np.random.Generator) -> None:
    take = make_take(rng, time=None)
    assert codes(take) == ["no-time"]
    assert not take.timed
    assert take.time[1] == 0.01
    assert make_take(rng, time=None, rate=25.0).timed


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), 1e-300, 1e300])
def test_a_rate_that_is_not_positive_is_refused(rng: np.random.Generator, rate: float) -> None:
    with pytest.raises(UsageError):
        make_take(rng, time=None, rate=rate)


def test_time_that_runs_backwards_is_refused_with_its_frame(rng: np.random.Generator) -> None:
    time = np.arange(20) / 50
    time[7] = 0
    with pytest.raises(CondyleError, match=r"frame 7: time does not increase \(0.12 s, then 0 s\)"):
        make_take(rng, time=time)


def test_time_may_start_again_in_a_new_segment(rng: np.random.Generator) -> None:
    time, segment = np.tile(np.arange(10) / 50, 2), np.repeat([0, 1], 10)
    take = make_take(rng, time=time, segment=segment)
    assert take.seconds == pytest.approx(2 * 9 / 50)
    assert take.rate == pytest.approx(50)


def test_time_that_is_no_number_is_refused_with_its_frame(rng: np.random.Generator) -> None:
    time = np.arange(20) / 50
    time[3] = np.nan
    with pytest.raises(CondyleError, match="frame 3: time is not a number"):
        make_take(rng, time=time)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["p", "R"])
def test_a_pose_that_is_not_finite_is_masked_for_that_body_only(
    rng: np.random.Generator, bad: float, where: str
) -> None:
    clean = make_take(rng)
    p, R = clean.p_world_body.copy(), clean.R_world_body.copy()
    (p if where == "p" else R)[4, 1].flat[0] = bad
    take = Take.from_poses(p, R_world_body=R, names=clean.names, time=clean.time)
    assert take.findings == ()
    assert (~take.seen).sum() == 1
    assert not take.seen[4, 1]
    assert np.isnan(take.p_world_body[4, 1]).all()
    assert np.isnan(take.R_world_body[4, 1]).all()


def test_a_quaternion_that_is_not_finite_is_masked(rng: np.random.Generator) -> None:
    q = np.tile([1.0, 0, 0, 0], (5, 1, 1))
    q[1, 0, 2], q[2, 0, 0] = np.nan, np.inf
    take = Take.from_poses(np.zeros((5, 1, 3)), q, rate=10)
    assert take.seen[:, 0].tolist() == [True, False, False, True, True]


def test_a_few_mirrored_or_sheared_matrices_are_masked_and_told(rng: np.random.Generator) -> None:
    take = make_take(rng)
    R = take.R_world_body.copy()
    R[2, 0] *= -1
    R[3, 0] *= 1.5
    R[5, 0] = 1e200
    again = Take.from_poses(take.p_world_body, R_world_body=R, names=take.names, time=take.time)
    (finding,) = again.findings
    assert (finding.code, finding.severity, finding.bodies) == ("rotation-rejected", "warning", ("hip",))
    assert (finding.frame, finding.count) == (2, 3)
    assert np.flatnonzero(~again.seen[:, 0]).tolist() == [2, 3, 5]


def test_mostly_mirrored_matrices_are_an_error_that_says_so(rng: np.random.Generator) -> None:
    take = make_take(rng)
    R = take.R_world_body.copy()
    R[:15, 1, :, 2] *= -1
    with pytest.raises(CondyleError, match=r"sensor knee: 15 of 20 matrices .*determinant -1") as error:
        Take.from_poses(take.p_world_body, R_world_body=R, names=take.names, time=take.time)
    assert error.value.code == "not-rotations"


def test_mostly_scaled_matrices_are_an_error_that_says_so(rng: np.random.Generator) -> None:
    take = make_take(rng)
    with pytest.raises(CondyleError, match="sheared or scaled"):
        Take.from_poses(take.p_world_body, R_world_body=take.R_world_body * 2, time=take.time)


def test_dropouts_written_as_zero_matrices_are_masked_even_when_they_are_many(rng: np.random.Generator) -> None:
    take = make_take(rng)
    R = take.R_world_body.copy()
    R[:15, 1] = 0
    again = Take.from_poses(take.p_world_body, R_world_body=R, names=take.names, time=take.time)
    assert codes(again) == ["rotation-rejected"]
    assert again.seen[:, 1].sum() == 5


@pytest.mark.parametrize(("digits", "severity"), [(6, "info"), (2, "warning")])
def test_matrices_with_few_decimals_are_replaced_by_the_nearest_rotation(
    rng: np.random.Generator, digits: int, severity: str
) -> None:
    take = make_take(rng)
    R = np.round(take.R_world_body, digits)
    again = Take.from_poses(take.p_world_body, R_world_body=R, names=take.names, time=take.time)
    (finding,) = again.findings
    assert (finding.code, finding.severity) == ("rotation-repaired", severity)
    assert finding.value is not None
    assert finding.value < REPAIRABLE
    assert rotation.defect(again.R_world_body).max() < EXACT


@pytest.mark.parametrize(
    ("length", "expected"),
    [(1 + 1e-6, []), (1.01, ["info"]), (1.3, ["warning"]), (0.7, ["warning"])],
)
def test_quaternions_off_unit_length_are_scaled_and_told_by_how_far(length: float, expected: list[str]) -> None:
    q = np.tile([1.0, 0, 0, 0], (10, 1, 1))
    q[3] *= length
    take = Take.from_poses(np.zeros((10, 1, 3)), q, rate=10)
    assert [finding.severity for finding in take.findings] == expected
    assert take.seen.all()
    np.testing.assert_allclose(take.R_world_body[3, 0], np.eye(3), atol=EXACT)


@pytest.mark.parametrize("length", [0.0, 0.3, 5.0, 1e200])
def test_quaternions_of_length_zero_or_far_from_one_are_masked_never_identity(length: float) -> None:
    q = np.tile([0.5, 0.5, 0.5, 0.5], (10, 1, 1))
    q[3] *= length
    take = Take.from_poses(np.zeros((10, 1, 3)), q, rate=10)
    assert codes(take) == ["rotation-rejected"]
    assert not take.seen[3, 0]


def test_mostly_impossible_quaternions_are_an_error() -> None:
    with pytest.raises(CondyleError, match="10 of 10 quaternions are far from unit length"):
        Take.from_poses(np.zeros((10, 1, 3)), np.full((10, 1, 4), 90.0), rate=10)


def test_a_sensor_of_zero_quaternions_only_is_a_dropout_and_no_error() -> None:
    take = Take.from_poses(np.zeros((10, 1, 3)), np.zeros((10, 1, 4)), rate=10)
    assert not take.seen.any()


@pytest.mark.parametrize("names", [("hip", "hip"), ("hip", " "), ("hip",)])
def test_names_must_be_there_differ_and_be_as_many_as_bodies(rng: np.random.Generator, names: tuple[str, ...]) -> None:
    with pytest.raises(CondyleError):
        Take.from_poses(np.zeros((3, 2, 3)), np.ones((3, 2, 4)) / 2, names=names, rate=10)


def test_select_keeps_the_asked_order_and_names_the_choices(rng: np.random.Generator) -> None:
    take = make_take(rng)
    other = take.select(["knee"])
    assert other.names == ("knee",)
    np.testing.assert_array_equal(other.p_world_body[:, 0], take.p_world_body[:, 1])
    np.testing.assert_array_equal(take.select(["knee", "hip"]).R_world_body, take.R_world_body[:, ::-1])
    with pytest.raises(UsageError, match="no body named 'kne'; did you mean 'knee'"):
        take.select(["kne"])
    with pytest.raises(UsageError, match="no body named 'toe'; choose from hip, knee"):
        take.select(["toe"])


def test_markers_go_with_their_bodies_and_stay_in_a_join_of_takes_that_agree_on_them(rng: np.random.Generator) -> None:
    places = rng.standard_normal((2, 3))
    markers = tuple(BodyMarker(body, f"{body}1", place) for body, place in zip(("a", "b"), places, strict=True))
    take = replace(make_take(rng, names=("a", "b", "c")), markers=markers)
    assert [marker.name for marker in take.select(["c", "b"]).markers] == ["b1"]
    assert [marker.name for marker in take.slice(1, 3).markers] == ["a1", "b1"]
    assert join([take, take]).markers == markers
    moved = replace(take, markers=(markers[0], BodyMarker("b", "b1", places[1] + 0.01)))
    assert join([take, moved]).markers == (), "their frames differ"
    assert join([take, replace(take, markers=())]).markers == ()


def test_slice_keeps_time_segments_and_findings(rng: np.random.Generator) -> None:
    take = make_take(rng, time=None)
    part = take.slice(5, 15, 2)
    assert part.frames == 5
    np.testing.assert_array_equal(part.time, take.time[5:15:2])
    assert part.findings == take.findings
    assert not part.timed
    assert take.slice(3, 3).frames == 0
    with pytest.raises(UsageError, match=r"frames are counted by whole numbers, not 0\.5"):
        take.slice(0.5)  # type: ignore[arg-type]


def test_mask_hides_poses_and_refuses_another_shape(rng: np.random.Generator) -> None:
    take = make_take(rng, n=2)
    hidden = np.array([[True, False], [False, False]])
    masked = take.mask(hidden)
    np.testing.assert_array_equal(masked.seen, ~hidden)
    assert np.isnan(masked.R_world_body[0, 0]).all()
    assert take.seen.all()
    with pytest.raises(CondyleError, match=r"hidden has shape \(2,\)"):
        take.mask([True, False])


def test_join_makes_segments_and_matches_bodies_by_name(rng: np.random.Generator) -> None:
    first, second = make_take(rng, n=4), make_take(rng, n=3, names=("knee", "hip"))
    both = join([first, second, join([first, second])])
    assert both.names == ("hip", "knee")
    assert both.segment.tolist() == [0] * 4 + [1] * 3 + [2] * 4 + [3] * 3
    np.testing.assert_array_equal(both.p_world_body[4:7, 0], second.p_world_body[:, 1])
    assert both.seconds == pytest.approx(2 * (3 + 2) / 50)


def test_join_of_one_take_or_of_none(rng: np.random.Generator) -> None:
    take = make_take(rng, n=4)
    np.testing.assert_array_equal(join([take]).p_world_body, take.p_world_body)
    with pytest.raises(UsageError):
        join([])


def test_a_renamed_sensor_is_an_error_that_suggests_the_near_name(rng: np.random.Generator) -> None:
    first = make_take(rng, sources=["a.npz"])
    second = make_take(rng, names=("hip", "Knee"), sources=["b.npz"])
    with pytest.raises(CondyleError, match=r"b\.npz, sensor knee: .*of a\.npz.* is 'Knee' the same sensor") as error:
        join([first, second])
    assert error.value.code == "bodies-differ"


def test_a_sensor_missing_from_a_later_or_from_the_first_take_is_named_at_the_right_file(
    rng: np.random.Generator,
) -> None:
    first = make_take(rng, sources=["a.npz"])
    second = make_take(rng, names=("hip",), sources=["b.npz"])
    with pytest.raises(CondyleError, match=r"b\.npz, sensor knee: sensor 'knee' of a\.npz is missing here"):
        join([first, second])
    with pytest.raises(CondyleError, match=r"b\.npz, sensor knee: sensor 'knee' of a\.npz is missing here"):
        join([second, first])
    with pytest.raises(CondyleError, match="sensor 'knee' of a later take is missing here"):
        join([make_take(rng, names=("hip",)), make_take(rng)])


def test_takes_without_a_common_sensor_may_be_of_one_time(rng: np.random.Generator) -> None:
    first, second = make_take(rng, names=("hip", "knee")), make_take(rng, names=("a", "b"))
    with pytest.raises(CondyleError, match="or as recorded at one time: --together a=FILE b=FILE"):
        join([first, second])
    with pytest.raises(CondyleError, match=r"fit the takes one by one$"):
        join([first, make_take(rng, names=("hip", "b"))])


def test_empty_one_frame_and_one_body_are_takes_too(rng: np.random.Generator) -> None:
    empty = make_take(rng, n=0)
    assert (empty.frames, empty.seconds) == (0, 0.0)
    assert np.isnan(empty.rate)
    one = make_take(rng, n=1, names=("only",))
    assert str(one) == "1 body, 1 frame, 0.0 s"
    assert np.isnan(one.rate)


def test_a_take_of_nothing_but_nan_is_wholly_unseen() -> None:
    take = Take.from_poses(np.full((4, 2, 3), np.nan), np.full((4, 2, 4), np.nan), rate=10)
    assert not take.seen.any()
    assert "100.0% of the poses missing" in str(take)


def test_a_take_prints_like_a_sentence(rng: np.random.Generator) -> None:
    assert str(make_take(rng)) == "2 bodies, 20 frames, 0.4 s at 50 Hz"


def test_frames_are_counted_where_there_is_time_and_are_never_more_than_there_are(rng: np.random.Generator) -> None:
    take = make_take(rng)
    assert take.count_frames(2 / take.rate) == 2
    assert take.count_frames(1e9) == take.frames
    assert take.slice(0, 1).count_frames(0.5) == 0
    assert make_take(rng, time=None).count_frames(0.5) == 0


def test_pairs_that_the_skeleton_of_the_file_joins_are_found_either_way_round(rng: np.random.Generator) -> None:
    take, pairs = make_take(rng, names=("foot", "hip", "knee")), np.array([[0, 1], [0, 2], [1, 2]])
    assert take.find_own_edges(pairs).tolist() == [False] * 3
    own = OwnSkeleton(("hip", "thigh", "knee", "foot"), np.array([-1, 0, 1, 2]), np.zeros((4, 3)))
    told = replace(take, own=own)
    assert told.find_own_edges(pairs).tolist() == told.find_own_edges(pairs[:, ::-1]).tolist() == [False, True, True]
