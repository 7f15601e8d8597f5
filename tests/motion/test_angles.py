from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import condyle
from condyle.errors import UsageError
from condyle.findings import Finding
from condyle.motion.angles import AngleOptions, find_joint_angles, hide_outliers
from condyle.simulate import Disturbances, chain, simulate
from tests.make import recordings, walkers

LEGS = [f"{joint}_{side}" for joint in ("hip", "knee") for side in "lr"]
# Rms error [deg] of flexion, adduction, rotation without the noise of single frames: 1.2 times what functional frames
# reached for walks of 20 s with sensors of 3 mm and 0.5 deg, over six people; and the same with 5 mm of skin.
BARS_DEG = {"hip": (0.72, 0.72, 1.08), "knee": (0.6, 0.84, 0.84)}
SKIN_BARS_DEG = {"hip": (3.1, 4.3, 4.3), "knee": (4.0, 3.2, 1.9)}
NOISE_DEG = 0.5 * np.sqrt(2)  # of the rotation between two sensors
# [deg] ranges of a recorded walk with landmarks and with functional frames: hip, knee, ankle, left and right
WALK_RANGES_DEG = {"hip_flexion": (48.0, 47.7), "knee_flexion": (68.2, 67.1), "ankle_dorsiflexion": (30.9, 34.1)}


def errors(seed: int, noise: bool, skin: float, joint: str) -> np.ndarray:
    """(3,) [deg] rms."""
    world = walkers.walker(seed, "walk", 20.0, noise, skin)
    angles = walkers.fitted(seed, "walk", 20.0, noise, skin).angles(neutral="none")
    names = [column.name for column in angles.columns if column.label == joint]
    off = np.stack([angles[name] for name in names], axis=1) - walkers.true_angles(world, joint)
    return np.sqrt(np.nanmean(np.square(off), axis=0))


@pytest.mark.parametrize("joint", LEGS)
def test_angles_of_an_exact_walk_are_the_true_ones_up_to_the_axis_that_the_motion_shows(joint: str) -> None:
    assert (errors(1, False, 0.0, joint) < (0.1, 0.7, 1.0)).all()


@pytest.mark.costly
def test_angles_of_noisy_walks_with_random_mounts_are_within_the_bars() -> None:
    for name, bars in BARS_DEG.items():
        mean = np.mean([errors(seed, True, 0.0, f"{name}_{side}") ** 2 for seed in (1, 2, 3) for side in "lr"], axis=0)
        assert (np.sqrt(np.maximum(mean - NOISE_DEG**2, 0)) < bars).all(), name


@pytest.mark.costly
def test_angles_under_skin_are_within_the_bars() -> None:
    for name, bars in SKIN_BARS_DEG.items():
        mean = np.mean([errors(seed, True, 0.005, f"{name}_{side}") ** 2 for seed in (1, 2) for side in "lr"], axis=0)
        assert (np.sqrt(mean) < bars).all(), name


def test_shoulders_have_the_elevation_of_the_truth() -> None:
    angles, world = walkers.fitted(1).angles(), walkers.walker(1)
    for side in "lr":
        arm = walkers.true_rotations(world)[f"shoulder_{side}"][:, :, 1]
        elevation = np.degrees(np.arccos(np.clip(arm[:, 1], -1, 1)))
        assert np.abs(angles[f"shoulder_elevation_{side}"] - elevation).max() < 0.1
        plane = angles[f"shoulder_plane_{side}"]
        assert np.isnan(plane).any()
        assert np.isfinite(plane[elevation > 12]).all()


def test_columns_are_those_of_the_page_in_every_take() -> None:
    walk, other = walkers.fitted(1), walkers.walker(1, "exercise", 10.0)
    names = walk.angles().names
    assert names == walk.angles(take=other.take).names
    assert names[:3] == ("pelvis_rotation", "pelvis_obliquity", "pelvis_tilt")
    assert names[3:6] == ("hip_flexion_l", "hip_adduction_l", "hip_rotation_l")
    assert {"knee_flexion_r", "ankle_inversion_l", "shoulder_rotation_total_r", "elbow_carrying_l"} <= set(names)
    assert {"wrist_deviation_r", "trunk_bending", "neck_rotation", "thorax_flexion"} <= set(names)


def test_opensim_names_its_coordinates_and_counts_the_knee_as_its_models_do() -> None:
    fit = walkers.fitted(1)
    isb, opensim, older = (fit.angles(name) for name in ("isb", "opensim", "opensim:gait2392"))
    np.testing.assert_allclose(opensim["knee_angle_l"], isb["knee_flexion_l"], atol=1e-9)
    np.testing.assert_allclose(older["knee_angle_l"], -isb["knee_flexion_l"], atol=1e-9)
    np.testing.assert_allclose(opensim["lumbar_extension"], -isb["trunk_flexion"], atol=1e-9)
    assert "arm_flex_r" in opensim.names
    assert not [name for name in older.names if name.startswith(("arm", "elbow"))]
    pig = fit.angles("pig")
    np.testing.assert_allclose(pig["pelvis_obliquity_l"], -pig["pelvis_obliquity_r"], atol=1e-9)
    np.testing.assert_allclose(pig["pelvis_tilt_l"], pig["pelvis_tilt_r"], atol=1e-9)


def test_other_joints_are_rotation_vectors_and_hinges_one_angle_with_its_error() -> None:
    noise = Disturbances(position_noise=0.001, orientation_noise=0.004)
    world = simulate(chain(("ball", "hinge")), "exercise", seconds=20, rate=60, seed=3, disturbances=noise)
    angles = condyle.fit(world.take, tree=[("link0", "link1"), ("link1", "link2")]).angles()
    assert angles.names == ("link1_joint_x", "link1_joint_y", "link1_joint_z", "link2_joint_angle")
    truth = world.truth
    turn = np.swapaxes(truth.R_world_body[:, 1], -1, -2) @ truth.R_world_body[:, 2]
    axis = truth.axis_child[2]
    true = np.degrees(condyle.rotation.find_turn(axis, condyle.rotation.mean(turn).T @ turn))
    found = angles["link2_joint_angle"]
    found = found * np.sign(found @ true)  # motion tells no sign of an axis
    off = found - true
    assert off.std() == pytest.approx(np.degrees(angles.noise_sd[-1]), rel=0.25)
    assert angles.definition[-1], "its zero is the mean pose"
    assert all(name.startswith("link") for name in find_joint_angles(
        condyle.fit(world.take, intervals=False).skeleton, world.take, AngleOptions("euler:XYX")).names)  # fmt: skip


def test_a_neutral_pose_may_be_zero_and_needs_to_be_there() -> None:
    fit = walkers.fitted(1)
    angles = fit.angles(neutral=(3.0, 3.0), zero=True)
    row = int(np.argmin(np.abs(angles.time - 3.0)))
    legs = [name for name in angles.names if name.startswith(("hip", "knee", "ankle", "elbow", "trunk"))]
    np.testing.assert_allclose([angles[name][row] for name in legs], 0, atol=1e-6)
    assert "reads zero" in angles.neutral
    with pytest.raises(UsageError, match="no neutral pose to be zero in"):
        fit.angles(neutral="none", zero=True)


def test_a_sensor_that_was_not_seen_leaves_a_gap_in_its_joints_only() -> None:
    world = walkers.walker(1)
    hidden = np.zeros((world.take.frames, world.take.bodies), bool)
    hidden[300:400, world.take.index("l_shank")] = True
    angles = walkers.fitted(1).angles(take=world.take.mask(hidden))
    assert np.isnan(angles["knee_flexion_l"][300:400]).all()
    assert np.isfinite(angles["knee_flexion_r"]).all()
    assert np.isfinite(angles["hip_flexion_l"]).all()
    assert np.abs(np.diff(angles["knee_flexion_l"][np.isfinite(angles["knee_flexion_l"])])).max() < 120


def test_a_walk_along_a_line_heads_where_it_goes_and_the_pelvis_turns_about_zero() -> None:
    angles = walkers.fitted(1).angles(heading="x")
    assert angles.heading == "world x"
    assert walkers.fitted(1).angles().heading == "facing over 2 s"
    assert abs(np.nanmedian(walkers.fitted(1).angles()["pelvis_rotation"])) < 5
    assert np.isfinite(angles.p_room_root).all()


@pytest.fixture(scope="module")
def recorded() -> condyle.Fit:
    if not recordings.DATA.is_dir():
        pytest.skip(recordings.ABSENT)
    name = "qualisys_c3d/walk.c3d"
    tree = [(parent, child) for parent, child, *_ in recordings.truth(name)["joints"]]
    return condyle.fit(recordings.take(name), tree=tree)


@pytest.mark.parametrize("name", WALK_RANGES_DEG)
def test_a_recorded_walk_has_the_ranges_of_landmarks_on_both_sides(recorded: condyle.Fit, name: str) -> None:
    width = {row.name: row.range for row in recorded.angles().ranges}
    found = [width[f"{name}_{side}"] or 0.0 for side in "lr"]
    for one, expected in zip(found, WALK_RANGES_DEG[name], strict=True):
        assert expected / 1.2 < one < 1.2 * expected
    assert abs(found[0] - found[1]) < 5


def test_landmarks_of_a_recorded_walk_change_offsets_and_not_ranges_of_flexion(recorded: condyle.Fit) -> None:
    told = {
        **{
            f"{part}_{side.lower()}": {"lateral": f"{side}_{lateral}", "medial": f"{side}_{medial}"}
            for side in "LR"
            for part, lateral, medial in (("thigh", "FLE", "FME"), ("shank", "FAL", "TAM"))
        },
        "pelvis": {"ras": "R_IAS", "las": "L_IAS", "rps": "R_IPS", "lps": "L_IPS"},
    }
    functional, landmarks = recorded.angles(), recorded.angles(landmarks=told)
    for name in ("hip_flexion", "knee_flexion"):
        for side in "lr":
            off = landmarks[f"{name}_{side}"] - functional[f"{name}_{side}"]
            assert off.std() < 1.0, "a frame error in flexion is only an offset"
            assert abs(off.mean()) < 15


def test_poses_that_the_fit_weighted_out_do_not_count() -> None:
    world = simulate(
        chain(),
        "exercise",
        disturbances=Disturbances(position_noise=0.001, orientation_noise=0.003),
        seconds=15,
        seed=3,
    )
    R = world.take.R_world_body.copy()
    p = world.take.p_world_body.copy()
    p[100:103, -1] += 0.3
    R[100:103, -1] = R[100:103, -1] @ np.diag([1.0, -1.0, -1.0])
    take = condyle.Take(world.take.names, world.take.time, R, p)
    fit = condyle.fit(take)
    name = fit.angles("rotvec").names[-1]
    assert np.isnan(hide_outliers(fit.skeleton, fit.take, fit.weight).p_world_body[100:103, -1]).all()
    assert np.nanmax(np.abs(fit.angles("rotvec")[name])) < 180
    untouched = np.setdiff1d(np.arange(take.frames), np.arange(100, 103))
    kept = hide_outliers(fit.skeleton, fit.take, fit.weight).p_world_body[untouched]
    np.testing.assert_array_equal(kept, take.p_world_body[untouched])


def test_a_joint_that_never_counts_keeps_its_angles() -> None:
    fit = condyle.fit(simulate(chain(), "exercise", seconds=5, seed=3).take)
    assert hide_outliers(fit.skeleton, fit.take, np.zeros_like(fit.weight)) is fit.take


def test_an_ankle_of_the_hindfoot_alone_is_told_and_so_is_a_body_whose_turns_are_poorly_known() -> None:
    world = simulate(chain(("ball",) * 4), "exercise", seconds=10, rate=60, seed=1)
    names = ("pelvis", "l_thigh", "l_shank", "l_hindfoot", "l_forefoot")
    fit = condyle.fit(replace(world.take, names=names), tree=list(pairwise(names)))
    told = {finding.code: finding for finding in fit.angles().findings}
    assert "ankle_l: of the hindfoot alone" in told["split-foot"].text
    assert "cluster-collinear" not in told
    narrow = Finding("cluster-collinear", "warning", "l_shank: nearly on a line", ("l_shank",))
    skeleton = replace(fit.skeleton, findings=(*fit.skeleton.findings, narrow))
    assert replace(narrow, severity="info") in find_joint_angles(skeleton, fit.take).findings  # the fit warned
    whole = condyle.fit(replace(world.take, names=(*names[:3], "l_foot", "l_toes")))
    assert "split-foot" not in {finding.code for finding in whole.angles().findings}
