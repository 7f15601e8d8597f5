"""Fits one after the other in one process leave nothing behind, and two of the same take are equal byte by byte."""

from __future__ import annotations

import gc
import os
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

import condyle
from tests.make.fitted import take
from tests.make.size import pick

from .worker import measure_memory

FITS = pick(12, 60, 500)
WARM_FITS = 5
GROWTH_MAX_BYTES = 4 * 2**20
SAME_PLACE_M = 1e-13  # m


def count_things(scratch: Path) -> tuple[int, int, int]:
    """Open files, threads, and files left in the folder for temporary ones."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(list(scratch.iterdir()))


@pytest.mark.costly
@pytest.mark.sized
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the process's own numbers from /proc")
def test_many_fits_in_one_process_leave_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    one = take(1.5, missing=0.02)
    things, memory = (0, 0, 0), 0
    for k in range(WARM_FITS + FITS):
        if k == WARM_FITS:
            things, memory = count_things(scratch), measure_memory("VmRSS")
        condyle.fit(one, intervals=False).save(tmp_path / "out", report=False, export="bvh")
        condyle.load(tmp_path / "out").motion.known.any()
    assert count_things(scratch) == things
    assert measure_memory("VmRSS") - memory < GROWTH_MAX_BYTES


def test_two_fits_of_the_same_take_are_equal_byte_by_byte(tmp_path: Path) -> None:
    formats = "bvh,glb,mjcf,urdf,osim,c3d,csv,npz,json"
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        condyle.fit(take(2.0, missing=0.02)).save(folder, export=formats, report=False)
    one, other = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] == []


def test_the_order_of_bodies_moves_no_joint() -> None:
    one = take(4.0, missing=0.02)
    places = []
    for names in (one.names, one.names[::-1]):
        joints = condyle.fit(one.select(names), root=one.names[0]).skeleton.joints
        places.append({(joint.parent, joint.child): joint.p_parent_joint for joint in joints})
    assert places[0].keys() == places[1].keys()
    assert max(np.abs(places[0][edge] - places[1][edge]).max() for edge in places[0]) < SAME_PLACE_M
