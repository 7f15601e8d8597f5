from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle import Take, forward, read
from condyle.io.exports.take_npz import write_motion_npz, write_take_npz
from condyle.model.skeleton import SensorNoise
from condyle.simulate import Disturbances, linkage, simulate
from tests.make import jointed

TAKE = simulate(linkage(), seconds=2, seed=1, disturbances=Disturbances(missing=0.1)).take


def test_poses_come_back_bit_for_bit(tmp_path: Path) -> None:
    write_take_npz(tmp_path / "a.npz", TAKE)
    again = read(tmp_path / "a.npz", doctor=False)
    for name in ("time", "R_world_body", "p_world_body"):
        assert np.array_equal(getattr(again, name), getattr(TAKE, name), equal_nan=True)
    assert again.names == TAKE.names


def test_made_up_time_and_a_single_segment_are_left_out_and_an_id_is_not(tmp_path: Path) -> None:
    untimed = Take(TAKE.names, TAKE.time, TAKE.R_world_body, TAKE.p_world_body, timed=False)
    write_take_npz(tmp_path / "a.npz", untimed, "1f")
    with np.load(tmp_path / "a.npz") as arrays:
        assert sorted(arrays) == ["R_world_body", "fit_id", "names", "p_world_body"]
        assert str(arrays["fit_id"]) == "1f"


def test_a_stream_gets_the_same_bytes_as_a_file(tmp_path: Path) -> None:
    write_take_npz(tmp_path / "a.npz", TAKE)
    stream = io.BytesIO()
    write_take_npz(stream, TAKE)
    assert stream.getvalue() == (tmp_path / "a.npz").read_bytes()


@pytest.mark.parametrize(("away", "noise", "kind"), [(0.0, 1e-3, "f4"), (1e5, 1e-3, "f8"), (0.0, 0.0, "f8")])
def test_a_motion_is_of_single_precision_where_that_is_nothing_against_the_noise(
    tmp_path: Path, rng: np.random.Generator, away: float, noise: float, kind: str
) -> None:
    skeleton = jointed.figure(rng, 3)
    sensors = tuple(SensorNoise(name, noise, noise) for name in skeleton.bodies)
    take = forward(skeleton, jointed.motion(rng, skeleton, 20))
    take = replace(take, p_world_body=take.p_world_body + [away, 0.0, 0.0])
    gap, weight = rng.standard_normal((20, len(skeleton.joints), 3)), np.ones((20, len(skeleton.joints)))
    write_motion_npz(tmp_path / "motion.npz", take, gap, weight, replace(skeleton, noise=sensors), take)
    with np.load(tmp_path / "motion.npz") as arrays:
        for name in ("R_world_body", "p_world_body", "q_world_played", "p_world_played", "gap", "weight"):
            assert arrays[name].dtype == np.dtype(kind), name
        assert arrays["time"].dtype == np.float64
        np.testing.assert_allclose(arrays["p_world_body"], take.p_world_body, rtol=0, atol=1e-2 * noise)
        assert np.array_equal(arrays["gap"], gap.astype(kind))
