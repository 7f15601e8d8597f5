from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from condyle import Take, read
from condyle.io.exports.take_npz import write_take_npz
from condyle.simulate import Disturbances, linkage, simulate

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
