"""A recording larger than the memory: the same figure as of one that is not, from all its frames, in flat memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.io.exports.take_npz import write_take_npz
from condyle.maths import rotation, spool
from condyle.model.take import Take
from condyle.simulate import Disturbances, human, simulate

SINGLE = 1e-7  # of a number in single precision
SAME_M = 1e-9  # m, of joints by least squares, however frames are cut into blocks
NEAR_M = 1e-5  # m, of joints by the default
FEW_BYTES = 2**16  # of a block of frames
FROZEN_S = 25.0  # s
MOST_GROWTH = 0.15  # bytes of memory for a byte of poses more: none here, 0.3 where one stage holds what it has of rows
NOISE = Disturbances(position_noise=0.003, orientation_noise=0.008, spikes=0.002, missing=0.02)
# The most memory of a fit and its saving that no file stands behind, in bytes.
WATCH = """
import json, sys, threading, time
import condyle
from condyle.maths import robust, spool

spool.BLOCK_BYTES = robust.BLOCK_BYTES = 2**19  # so that a few minutes are many blocks

def used():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon")) * 1024

def watch():
    while not done.wait(0.005):
        most[0] = max(most[0], used())

most, done = [0], threading.Event()
watcher = threading.Thread(target=watch)
watcher.start()
fit = condyle.fit(sys.argv[1]).save(sys.argv[2], report=False)
done.set()
watcher.join()
print(json.dumps([most[0], fit.take.frames]))
"""


@pytest.fixture(scope="module")
def take() -> Take:
    return simulate(human(), "exercise", seconds=30, rate=60.0, seed=4, disturbances=NOISE).take


@contextmanager
def in_blocks(array_bytes: int) -> Iterator[None]:
    """Frames are walked in small blocks; arrays of more than so many bytes lie on disk."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setenv(spool.ARRAY_BYTES, str(array_bytes))
        changed.setattr(spool, "BLOCK_BYTES", FEW_BYTES)
        yield


def joints(fit: condyle.Fit) -> np.ndarray:
    return np.array([[one.p_child_joint, one.p_parent_joint] for one in fit.skeleton.joints])


@pytest.mark.parametrize(("method", "most"), [("least-squares", SAME_M), ("default", NEAR_M)])
def test_a_take_on_disk_gives_the_figure_and_the_motion_of_one_in_memory(
    take: Take, method: str, most: float, tmp_path: Path
) -> None:
    write_take_npz(tmp_path / "take.npz", take)
    whole = condyle.fit(tmp_path / "take.npz", method)  # type: ignore[arg-type]
    with in_blocks(10**9):
        short = condyle.fit(tmp_path / "take.npz", method)  # type: ignore[arg-type]
        assert not spool.is_spooled(short.take.R_world_body)
        moved = short.motion.R_parent_body
    with in_blocks(0):
        long = condyle.fit(tmp_path / "take.npz", method)  # type: ignore[arg-type]
        assert spool.is_spooled(long.take.R_world_body)
        assert spool.is_spooled(long.gap)
        assert long.skeleton.fit_id == short.skeleton.fit_id == whole.skeleton.fit_id
        assert long.findings == short.findings
        for one, two in ((long.gap, short.gap), (long.weight, short.weight), (joints(long), joints(short))):
            assert one.tobytes() == two.tobytes(), "where an array lies changes nothing"
        assert long.motion.R_parent_body.tobytes() == moved.tobytes()
        saved = condyle.load(long.save(tmp_path / "out", report=False).folder or "")
        assert saved.take.frames == take.frames, "motion.npz has all frames"
        np.testing.assert_allclose(saved.gap, short.gap, rtol=SINGLE)
    kinds = [[(one.child, one.kind) for one in fit.skeleton.joints] for fit in (long, whole)]
    assert kinds[0] == kinds[1]
    np.testing.assert_allclose(joints(long), joints(whole), rtol=0, atol=most)
    assert [one.code for one in long.findings] == [one.code for one in whole.findings]


def test_a_sensor_that_freezes_for_long_is_masked_throughout(take: Take) -> None:
    """Whether a sensor is frozen is told by the whole recording, however it is cut into blocks."""
    first, stop = 200, 200 + round(FROZEN_S * 60)
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    body = take.index("l_hand")
    R[199:stop, body], p[199:stop, body] = R[199, body], p[199, body]
    frozen = Take(take.names, take.time, R, p)
    held = int(frozen.seen[first:stop, body].sum())
    with in_blocks(0):
        fit = condyle.fit(frozen)
    (told,) = [one for one in fit.findings if one.code == "frozen-samples" and one.bodies == ("l_hand",)]
    assert told.count == held
    assert not fit.take.seen[first:stop, body].any()


@pytest.mark.costly
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_memory_does_not_grow_with_the_length_of_a_recording(tmp_path: Path) -> None:
    one = simulate(human(), "exercise", seconds=60, rate=120.0, seed=1).take
    rng = np.random.default_rng(7)
    used, poses = [], []
    for minutes in (3, 9):
        n = minutes * one.frames
        R = np.tile(one.R_world_body, (minutes, 1, 1, 1)) @ rotation.from_vector(
            0.008 * rng.standard_normal((n, one.bodies, 3))
        )
        p = np.tile(one.p_world_body, (minutes, 1, 1)) + 0.003 * rng.standard_normal((n, one.bodies, 3))
        write_take_npz(tmp_path / "take.npz", Take(one.names, np.arange(n) / 120.0, R, p))
        environment = {**os.environ, spool.ARRAY_BYTES: "500000", "TMPDIR": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, "-c", WATCH, str(tmp_path / "take.npz"), str(tmp_path / f"out{minutes}")]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
        peak, frames = json.loads(done.stdout)
        assert frames == n
        used.append(peak)
        poses.append(n * one.bodies * spool.POSE_BYTES)
    assert used[1] - used[0] < MOST_GROWTH * (poses[1] - poses[0]), [round(peak / 1e6) for peak in used]
