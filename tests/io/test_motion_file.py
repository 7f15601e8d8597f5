"""motion.npz: read some frames at a time or whole, by one strict way; a file that is not of the fit is told as such."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import tracemalloc
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import CondyleError, Skeleton, fit_motion, forward, read_skeleton, write_skeleton
from condyle.io import motion_file
from condyle.io.exports import write_motion_npz
from condyle.io.motion_file import AROUND_S, READ_OVER_MOST, MotionFile, open_motion
from condyle.maths.rotation import from_quaternion
from condyle.report.page import build_page
from tests.make import fitted, jointed
from tests.make.fitted import rewritten

SAME = 1e-12  # m, entries of matrices
SINGLE = 1e-6  # m, of places some metres away in single precision


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
        poses = forward(skeleton, open_motion(path).motion())
        np.testing.assert_allclose(poses.p_world_body, arrays["p_world_played"], atol=SAME)
        np.testing.assert_allclose(poses.R_world_body, from_quaternion(arrays["q_world_played"]), atol=SAME)
    assert jointed.gaps(skeleton, poses).max() <= SAME
    assert not np.array_equal(arrays["p_world_played"], arrays["p_world_body"])


def test_a_folder_without_motion_says_so_in_a_sentence(folder: tuple[Path, Skeleton]) -> None:
    place, _ = folder
    (place / "motion.npz").unlink()
    with pytest.raises(CondyleError, match=r"there is no motion\.npz beside skeleton\.json") as caught:
        open_motion(place).motion()
    assert caught.value.code == "no-motion"


def test_damage_missing_arrays_and_other_bodies_are_told_apart(folder: tuple[Path, Skeleton]) -> None:
    place, skeleton = folder
    whole = (place / "motion.npz").read_bytes()
    (place / "motion.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CondyleError, match="cut short or damaged"):
        open_motion(place).motion()
    (place / "motion.npz").write_bytes(whole)
    renamed = replace(skeleton, bodies=("x", *skeleton.bodies[1:]))
    with pytest.raises(CondyleError, match="holds the bodies"):
        open_motion(place, renamed).motion()
    arrays = dict(np.load(place / "motion.npz"))
    np.savez(place / "motion.npz", **{name: a for name, a in arrays.items() if name != "p_world_played"})
    with pytest.raises(CondyleError, match="no array 'p_world_played'"):
        open_motion(place).motion()
    np.savez(place / "motion.npz", **{**arrays, "p_world_played": arrays["p_world_played"][:3]})
    with pytest.raises(CondyleError, match="expected numbers of shape"):
        open_motion(place).motion()
    np.savez(place / "motion.npz", **{**arrays, "names": np.array([{}] * 6, dtype=object)})
    with pytest.raises(CondyleError, match="damaged"):
        open_motion(place).motion()


REPEATS = 100  # of 20 s, which make 44 MB


def opened(folder: Path) -> MotionFile:
    return open_motion(folder, read_skeleton(folder))


def test_frames_are_those_in_the_file(noisy: Path) -> None:
    with np.load(noisy / "motion.npz") as archive:
        whole = {name: archive[name] for name in archive.files}
    held = opened(noisy).rows(slice(100, 200, 3))
    assert np.array_equal(held.p, whole["p_world_body"][100:200:3], equal_nan=True)
    assert np.array_equal(held.R, whole["R_world_body"][100:200:3], equal_nan=True)
    assert np.array_equal(held.R_played, from_quaternion(whole["q_world_played"][100:200:3]), equal_nan=True)
    np.testing.assert_allclose(held.gap, np.linalg.norm(whole["gap"][100:200:3].astype(np.float64), axis=-1))
    assert np.array_equal(held.weight, whole["weight"][100:200:3])
    assert np.array_equal(held.time, whole["time"][100:200:3])


def test_bodies_and_joints_are_matched_by_name(noisy: Path, tmp_path: Path) -> None:
    skeleton = read_skeleton(noisy)
    turned = replace(skeleton, bodies=skeleton.bodies[::-1], joints=skeleton.joints[::-1])
    a, b = opened(noisy).rows(slice(0, 50)), open_motion(noisy, turned).rows(slice(0, 50))
    assert np.array_equal(a.p, b.p[:, ::-1], equal_nan=True)
    assert np.array_equal(a.gap, b.gap[:, ::-1], equal_nan=True)


def test_a_loop_has_a_gap_and_counts_while_it_holds(noisy: Path) -> None:
    skeleton = read_skeleton(noisy)
    tree = skeleton.joints[1]
    loop = replace(tree, time=(5.0, 10.0))
    held = open_motion(noisy, replace(skeleton, loops=(loop,))).rows(slice(0, 1200))
    told = (held.time >= 5 - AROUND_S) & (held.time <= 10 + AROUND_S)
    np.testing.assert_allclose(held.gap[:, -1], np.where(told, held.gap[:, 1], np.nan), atol=SINGLE)
    inside = (held.time >= 5) & (held.time <= 10) & np.isfinite(held.gap[:, 1])
    assert np.array_equal(held.weight[:, -1], inside)


def test_poses_that_are_none_are_not_seen(noisy: Path, tmp_path: Path) -> None:
    with np.load(noisy / "motion.npz") as archive:
        p, q = (archive[name].astype(np.float64) for name in ("p_world_body", "q_world_played"))
    p[3, 0], q[4, 1], q[5, 1], q[6, 1] = 1e300, np.inf, 0.0, 1.2 * q[6, 1]
    motion = opened(rewritten(noisy, tmp_path / "odd", p_world_body=p, q_world_played=q))
    held = motion.rows(slice(0, 8))
    assert np.isnan(held.R[3, 0]).all()
    assert np.isnan(held.p_played[4:7, 1]).all()
    assert np.isfinite(held.p_played[:4, 1]).all()


def test_older_files_that_hold_matrices_of_the_played_poses_are_read(noisy: Path, tmp_path: Path) -> None:
    with np.load(noisy / "motion.npz") as archive:
        q = archive["q_world_played"]
    matrices = {"R_world_played": from_quaternion(q).astype(np.float32), "q_world_played": None}
    older = open_motion(rewritten(noisy, tmp_path / "older", **matrices))
    for read in (lambda motion: motion.rows(slice(5, 90, 4)).R_played, lambda motion: motion.motion().R_parent_body):
        np.testing.assert_allclose(read(older), read(open_motion(noisy)), atol=SINGLE)
    with pytest.raises(CondyleError, match="no array 'q_world_played'"):
        open_motion(rewritten(noisy, tmp_path / "neither", q_world_played=None))


def test_the_file_is_smaller_than_the_poses_that_it_came_from(tmp_path: Path) -> None:
    fit = condyle.fit(fitted.take(), intervals=False).save(tmp_path, report=False)
    assert (tmp_path / "motion.npz").stat().st_size < fit.take.R_world_body.nbytes + fit.take.p_world_body.nbytes


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"gap": None}, "missing-array"),
        ({"names": np.array(["a", "b", "c", "d"])}, "bodies-differ"),
        ({"joints": np.array(["a"])}, "bodies-differ"),
        ({"names": np.array([1, 2])}, "bad-shape"),
        ({"weight": np.zeros((3, 3))}, "bad-shape"),
        ({"p_world_body": np.zeros((0, 4, 3))}, "no-data"),
        ({"time": np.full(1200, 2.0)}, "bad-time"),
        ({"gap": np.full((1200, 3, 3), None)}, "damaged-file"),
    ],
)
def test_a_file_that_is_not_of_the_fit_is_told(
    noisy: Path, tmp_path: Path, changed: dict[str, np.ndarray | None], code: str
) -> None:
    folder = rewritten(noisy, tmp_path / "other", **changed)
    with pytest.raises(CondyleError) as caught:
        opened(folder)
    assert (caught.value.code, caught.value.path) == (code, str(folder / "motion.npz"))


@pytest.mark.parametrize("length", [0, 10, 5000, 200_000])
def test_a_file_that_was_cut_is_told(noisy: Path, tmp_path: Path, length: int) -> None:
    folder = rewritten(noisy, tmp_path / "cut")
    data = (folder / "motion.npz").read_bytes()
    (folder / "motion.npz").write_bytes(data[:length])
    with pytest.raises(CondyleError, match="cut short or damaged"):
        opened(folder)


def test_a_packed_archive_is_told(noisy: Path, tmp_path: Path) -> None:
    folder = rewritten(noisy, tmp_path / "packed")
    with np.load(folder / "motion.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    np.savez_compressed(folder / "motion.npz", **arrays)
    with pytest.raises(CondyleError, match="packed or locked"):
        opened(folder)


def test_a_member_that_declares_more_than_it_has_is_told(noisy: Path, tmp_path: Path) -> None:
    folder = rewritten(noisy, tmp_path / "more")
    data = (folder / "motion.npz").read_bytes()
    assert data.count(b"(1200, 4, 3)") == 2
    (folder / "motion.npz").write_bytes(data.replace(b"(1200, 4, 3)", b"(9900, 4, 3)"))
    with pytest.raises(CondyleError, match="does not hold what it declares"):
        opened(folder)


def test_without_a_motion_the_way_to_one_is_told(noisy: Path, tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match=r"there is no motion\.npz") as caught:
        open_motion(tmp_path, read_skeleton(noisy))
    assert caught.value.code == "no-motion"


def test_a_long_take_is_never_in_memory_as_a_whole(noisy: Path, tmp_path: Path) -> None:
    with np.load(noisy / "motion.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    repeated = {name: np.concatenate([one] * REPEATS) for name, one in arrays.items() if one.shape[:1] == (1200,)}
    repeated["time"] = np.arange(1200 * REPEATS) / 60
    folder = rewritten(noisy, tmp_path / "long", **repeated)
    size = (folder / "motion.npz").stat().st_size
    del arrays, repeated
    tracemalloc.start()
    try:
        page = build_page(folder, linked=True)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert page.motion is not None
    assert page.motion.frames == 1200 * REPEATS
    assert most < size / 4


def test_the_file_is_one_that_zip_programs_accept(noisy: Path) -> None:
    with zipfile.ZipFile(noisy / "motion.npz") as archive:
        assert archive.testzip() is None


def test_a_flipped_byte_in_the_numbers_is_told(noisy: Path, tmp_path: Path) -> None:
    folder = rewritten(noisy, tmp_path / "flipped")
    data = bytearray((folder / "motion.npz").read_bytes())
    data[len(data) // 2] ^= 1
    (folder / "motion.npz").write_bytes(data)
    with pytest.raises(CondyleError, match=r"the checksum of .* is wrong"):
        opened(folder)


def test_the_take_is_that_of_the_file(noisy: Path) -> None:
    held = opened(noisy)
    with np.load(noisy / "motion.npz") as archive:
        for name in ("time", "p_world_body", "R_world_body"):
            assert np.array_equal(getattr(held.take(), name), archive[name], equal_nan=True)
        assert np.array_equal(held.gap, archive["gap"], equal_nan=True)
        assert np.array_equal(held.weight, archive["weight"])


def test_a_file_that_is_cut_after_it_was_opened_is_told_by_whatever_reads_it(noisy: Path, tmp_path: Path) -> None:
    motion = open_motion(rewritten(noisy, tmp_path / "cut"))
    os.truncate(tmp_path / "cut" / "motion.npz", 4096)
    reads = (
        lambda: motion.rows(np.array([0, 5])),
        motion.take,
        motion.motion,
        lambda: motion.gap,
        lambda: motion.weight,
    )
    for read in reads:
        with pytest.raises(CondyleError, match=r"motion\.npz was cut while it was read; write it anew"):
            read()


def test_rows_are_those_of_the_array_in_whatever_order_it_is_stored(noisy: Path, tmp_path: Path) -> None:
    with np.load(noisy / "motion.npz") as archive:
        turned = {"p_world_body": np.asfortranarray(archive["p_world_body"])}
        p = archive["p_world_body"]
    for folder in (noisy, rewritten(noisy, tmp_path / "turned", **turned)):
        stored = open_motion(folder).arrays["p_world_body"]
        numbers = np.array([4, 5, 6, 2, 9, 9]), np.array([-1, 3]), np.arange(len(p)) % 5 == 2
        steps = slice(0, 40, 7), slice(1, 90, 17), slice(9, 2, -1), slice(9, 2)
        for rows in (slice(None), slice(3, 9), slice(5, 5), *steps, *numbers):
            np.testing.assert_array_equal(stored[rows], p[rows])
        with pytest.raises(IndexError):
            stored[np.array([len(p)])]


def test_rows_near_each_other_are_read_at_once_and_a_block_at_most(
    noisy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = opened(noisy).arrays["p_world_body"]
    whole, reads = array.whole(), list[int]()
    read = array.file.read
    monkeypatch.setattr(array.file, "read", lambda start, size: reads.append(size) or read(start, size))
    rows = np.concatenate([np.arange(0, 300, READ_OVER_MOST), np.arange(400, 900, READ_OVER_MOST + 1), [3, 3, 2]])
    np.testing.assert_array_equal(array[rows], whole[rows])
    assert len(reads) == 1 + len(range(400, 900, READ_OVER_MOST + 1)) + 3
    reads.clear()
    monkeypatch.setattr(motion_file, "_READ_AT_ONCE", 100 * whole[0].nbytes)
    for unsigned in (np.arange(0, 1200, 4, dtype=np.uint16), np.arange(1196, -1, -4, dtype=np.uint16)):
        np.testing.assert_array_equal(array[unsigned], whole[unsigned])
    assert len(reads) == 12 + 300
    assert max(reads) <= 100 * whole[0].nbytes


def test_copies_of_an_open_file_have_its_bytes_whatever_becomes_of_it(noisy: Path, tmp_path: Path) -> None:
    folder = rewritten(noisy, tmp_path / "kept")
    motion = open_motion(folder)
    there = motion.arrays["gap"].whole()
    packed, same = pickle.dumps(motion.arrays), copy.deepcopy(motion.arrays)
    del motion
    (folder / "motion.npz").unlink()
    with (noisy / "motion.npz").open("rb"):  # takes the handle that was the first one's, were it closed
        for arrays in (pickle.loads(packed), same):
            np.testing.assert_array_equal(arrays["gap"].whole(), there)


def test_a_disk_that_fails_and_arrays_that_nobody_can_have_are_told(
    noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for spoilt in (np.zeros(3, np.dtype([])), np.empty((0, 2**41), "U1")):
        with pytest.raises(CondyleError, match=r"is cut short or damaged|no list of texts"):
            open_motion(rewritten(noisy, tmp_path / "spoilt", names=spoilt))
    motion = open_motion(noisy)

    def fail(*_: object) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "pread", fail)
    with pytest.raises(CondyleError, match=r"motion\.npz cannot be read: Input/output error"):
        motion.take()


def test_where_an_open_file_cannot_be_replaced_a_copy_is_read(
    noisy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = rewritten(noisy, tmp_path / "copy")
    whole = open_motion(folder).rows(slice(None))
    monkeypatch.setattr(motion_file, "_REPLACED_WHILE_OPEN", False)
    copied = open_motion(folder)
    (folder / "motion.npz").write_bytes(b"cut")
    for name in ("R", "p", "R_played", "p_played", "gap", "weight"):
        np.testing.assert_array_equal(getattr(copied.rows(slice(None)), name), getattr(whole, name))


def test_another_id_is_told_with_both(noisy: Path) -> None:
    skeleton = read_skeleton(noisy)
    with pytest.raises(CondyleError, match=f"is of fit {skeleton.fit_id}, but skeleton.json is of fit 1f") as error:
        open_motion(noisy, replace(skeleton, fit_id="1f"))
    assert error.value.code == "files-disagree"


def test_what_is_no_rotation_in_a_changed_file_is_not_seen(noisy: Path, tmp_path: Path) -> None:
    with np.load(noisy / "motion.npz") as archive:
        R, time = archive["R_world_body"].astype(np.float64), np.array(archive["time"])
    R[3, 0], R[4, 0, 0], R[5, 0] = 0.0, np.inf, 1e200 * R[5, 0]
    seen = open_motion(rewritten(noisy, tmp_path / "a", R_world_body=R)).take().seen
    assert not seen[3:6, 0].any()
    with pytest.raises(CondyleError, match="time does not increase"):
        open_motion(rewritten(noisy, tmp_path / "b", time=1e60 * (1 + time)))


def test_a_header_that_python_cannot_read_is_damage(noisy: Path, tmp_path: Path) -> None:
    out = rewritten(noisy, tmp_path / "a")
    raw = (out / "motion.npz").read_bytes()
    (out / "motion.npz").write_bytes(raw.replace(b"'descr'", b"{{{{{{{", 1))
    with pytest.raises(CondyleError) as error:
        open_motion(out)
    assert error.value.code == "damaged-file"


def test_names_of_no_letters_and_gaps_of_no_size_in_a_changed_file_are_told_or_left_out(
    noisy: Path, tmp_path: Path
) -> None:
    with np.load(noisy / "motion.npz") as archive:
        names, gap, weight = archive["names"], *(archive[name].astype(np.float64) for name in ("gap", "weight"))
    names.view("u4")[0] = 0x7FFFFFFF
    with pytest.raises(CondyleError, match="'names' holds numbers that are no letters"):
        open_motion(rewritten(noisy, tmp_path / "a", names=names))
    torn = np.frombuffer((0x110000).to_bytes(4, "little") * 16, "<U16")[0:1].reshape(())
    with pytest.raises(CondyleError, match="'fit_id' holds numbers that are no letters"):
        open_motion(rewritten(noisy, tmp_path / "c", fit_id=torn))
    gap[:, 0], weight[:, 0] = 1e300, 1e300
    held = open_motion(rewritten(noisy, tmp_path / "b", gap=gap, weight=weight)).rows(slice(0, 50))
    assert np.isnan(held.gap[:, 0]).all()
    assert (held.weight[:, 0] == 0).all()


def test_too_many_open_files_are_no_damage(folder: tuple[Path, Skeleton], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(motion_file, "OpenFile", refuse)
    with pytest.raises(CondyleError, match=r"cannot be read: Too many open files$") as error:
        open_motion(folder[0]).motion()
    assert error.value.code == "unreadable-file"
