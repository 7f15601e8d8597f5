"""Preparing a real recording loses neither its tree nor its kinds, and finds nothing where nothing is wrong."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.model.options import FitOptions
from condyle.model.take import Take
from condyle.prepare.dropouts import prepare
from condyle.prepare.flips import find_flips
from condyle.prepare.latency import repair_latency
from tests.make import recordings
from tests.real import mounted

pytestmark = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)


def new_codes(take: Take, ready: Take) -> set[str]:
    return {finding.code for finding in ready.findings[len(take.findings) :]}


def answer(take: Take) -> set[tuple[frozenset[str], str]]:
    joints = condyle.fit(take, prepare=False, intervals=False).skeleton.joints
    return {(frozenset((joint.child, joint.parent)), joint.kind) for joint in joints}


@pytest.mark.parametrize(
    "name",
    [
        "diodem/arm/exp01",
        "diodem/gait/exp06",
        "diodem/arm/exp05",
        "vicon_functional_c3d/left_hip.c3d",
        "functional_knee_c3d/right_knee.c3d",
        "qualisys_c3d/walk.c3d",
        "cmu_amc/01_01.amc",
        "ndi_aurora/rest.csv",
        "xsens_mvnx/test_mocap.mvnx",
    ],
)
def test_a_recording_without_faults_is_left_as_it_is(name) -> None:
    take = recordings.take(name)
    ready = prepare(take)
    assert np.array_equal(ready.p_world_body, take.p_world_body, equal_nan=True)
    assert np.array_equal(ready.R_world_body, take.R_world_body, equal_nan=True)
    assert new_codes(take, ready) <= {"time-gaps"}


def test_segment_poses_with_the_room_among_them_are_left_as_they_are() -> None:
    take = recordings.take("theia_c3d/rotation.c3d")
    ready = prepare(take)
    assert np.array_equal(ready.p_world_body, take.p_world_body, equal_nan=True)
    assert new_codes(take, ready) <= {"frozen-samples"}


def test_a_magnetic_hinge_read_too_fast_loses_its_repeated_rows_and_keeps_its_answer() -> None:
    take = recordings.take("polhemus_liberty/hinge_x.csv")
    ready = prepare(take)
    assert 0.6 * take.frames < ready.frames < 0.7 * take.frames
    assert ready.seen.all()
    assert new_codes(take, ready) == {"repeated-rows"}
    assert 235 < ready.rate < 245  # Hz, as the device has it; its stamps come in packets
    assert answer(ready) == answer(take)


@pytest.mark.costly
def test_six_sensors_on_a_hand_with_few_decimals_keep_nearly_all_samples() -> None:
    take = recordings.take("ascension_trakstar/hand_1.csv")
    ready = prepare(take)
    assert ready.frames == take.frames
    assert ready.seen.mean() > 0.998 * take.seen.mean()
    assert {f.severity for f in ready.findings[len(take.findings) :]} <= {"info"}
    assert not repair_latency(ready, FitOptions()).changes
    assert answer(ready) == answer(take)


def test_up_to_half_of_the_samples_of_a_wrist_sensor_are_repeats_and_its_fresh_ones_stay() -> None:
    for path in sorted((recordings.DATA / "polhemus_fastrak").glob("*.traj")):
        poses = np.loadtxt(path).reshape(-1, 1, 4, 4)
        fresh = np.append(True, (np.diff(poses[:, 0], axis=0) != 0).any(axis=(1, 2)))
        ready = prepare(Take.from_matrices(poses, rate=100.0))
        assert ready.frames == fresh.sum(), path.name
        assert ready.seen.all(), path.name


@pytest.mark.parametrize("name", ["02_01.bvh", "08_01.bvh", "35_01.bvh"])
def test_sensors_on_natural_motion_are_left_as_they_are(name) -> None:
    take, _ = mounted.clip(name, seed=1)
    assert prepare(take) is take


@pytest.mark.parametrize("name", ["02_01.bvh", "09_01.bvh", "14_14.bvh", "49_02.bvh"])
def test_bones_of_a_clip_that_rest_to_the_last_bit_keep_their_poses(name) -> None:
    take = recordings.take(f"cmu_bvh/{name}")
    ready = prepare(take)
    assert np.array_equal(ready.p_world_body, take.p_world_body)
    assert np.array_equal(ready.R_world_body, take.R_world_body)


def test_a_clip_that_begins_in_its_pose_of_rest_has_no_dropouts() -> None:
    take = recordings.take("cmu_bvh/20_10.bvh")
    assert "dropout" not in new_codes(take, prepare(take))


@pytest.mark.parametrize("rate", [10, 15, 20])
def test_people_who_pass_the_origin_at_few_samples_a_second_are_on_no_other_side(rate: int) -> None:
    """In 06_13.bvh a foot swings past it within four of them, and stands as far off on both sides."""
    for path in sorted((recordings.DATA / "cmu_bvh").glob("*.bvh")):
        take = recordings.take(f"cmu_bvh/{path.name}")
        for first in (0, 3):
            assert find_flips(take.slice(first, None, round(take.rate / rate))) is None, (path.name, first)
