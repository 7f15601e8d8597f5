from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle import CondyleError, Skeleton, fit_motion, forward, write_skeleton
from condyle.io.exports import write_motion_npz
from condyle.io.motion_file import read_motion
from tests.make import jointed

SAME = 1e-12  # m, entries of matrices


@pytest.fixture
def folder(tmp_path: Path, rng: np.random.Generator) -> tuple[Path, Skeleton]:
    skeleton = jointed.figure(rng, 5, 1, 1)
    take = jointed.noisy(rng, skeleton, jointed.motion(rng, skeleton, 30), 0.003, 0.01)
    write_skeleton(tmp_path / "skeleton.json", skeleton)
    joints = len(skeleton.joints)
    played = forward(skeleton, fit_motion(skeleton, take).motion)
    write_motion_npz(tmp_path / "motion.npz", take, np.zeros((30, joints, 3)), np.ones((30, joints)), skeleton, played)
    return tmp_path, skeleton


def test_the_played_poses_come_back_by_folder_and_by_file(folder: tuple[Path, Skeleton]) -> None:
    place, skeleton = folder
    arrays = np.load(place / "motion.npz")
    for path in (place, place / "skeleton.json", str(place)):
        poses = forward(skeleton, read_motion(path))
        np.testing.assert_allclose(poses.p_world_body, arrays["p_world_played"], atol=SAME)
        np.testing.assert_allclose(poses.R_world_body, arrays["R_world_played"], atol=SAME)
    assert jointed.gaps(skeleton, poses).max() <= SAME
    assert not np.array_equal(arrays["p_world_played"], arrays["p_world_body"])


def test_a_folder_without_motion_says_so_in_a_sentence(folder: tuple[Path, Skeleton]) -> None:
    place, _ = folder
    (place / "motion.npz").unlink()
    with pytest.raises(CondyleError, match=r"there is no motion\.npz beside skeleton\.json") as caught:
        read_motion(place)
    assert caught.value.code == "no-motion"


def test_damage_missing_arrays_and_other_bodies_are_told_apart(folder: tuple[Path, Skeleton]) -> None:
    place, skeleton = folder
    whole = (place / "motion.npz").read_bytes()
    (place / "motion.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CondyleError, match="cut short or damaged"):
        read_motion(place)
    (place / "motion.npz").write_bytes(whole)
    renamed = replace(skeleton, bodies=("x", *skeleton.bodies[1:]))
    with pytest.raises(CondyleError, match="holds the bodies"):
        read_motion(place, renamed)
    arrays = dict(np.load(place / "motion.npz"))
    np.savez(place / "motion.npz", **{name: a for name, a in arrays.items() if name != "p_world_played"})
    with pytest.raises(CondyleError, match="no array 'p_world_played'"):
        read_motion(place)
    np.savez(place / "motion.npz", **{**arrays, "p_world_played": arrays["p_world_played"][:3]})
    with pytest.raises(CondyleError, match="expected numbers of shape"):
        read_motion(place)
    np.savez(place / "motion.npz", **{**arrays, "names": np.array([{}] * 6, dtype=object)})
    with pytest.raises(CondyleError, match="damaged"):
        read_motion(place)
