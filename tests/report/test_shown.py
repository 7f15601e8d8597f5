"""Frames, steps and pieces of a page's motion."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle import read_skeleton
from condyle.io.motion_file import Frames, open_motion
from condyle.report.pack import join_frames, unpack
from condyle.report.page_data import Piece
from condyle.report.shown import PIECE_FRAMES, MotionPieces, choose_packing, link_pieces, pack_pieces
from tests.make.fitted import NOISE, TURN, fitted, rewritten, take

SMALL = 1e-9  # m, s


def shown_of(folder: Path) -> MotionPieces:
    return choose_packing(open_motion(folder, read_skeleton(folder)))


def unpacked(shown: MotionPieces, pieces: tuple[Piece, ...]) -> Frames:
    return join_frames([unpack(base64.b64decode(piece.data), piece.frames, shown.packing) for piece in pieces])


def test_every_frame_comes_back(noisy: Path) -> None:
    shown, pieces = pack_pieces(shown_of(noisy))
    found, wanted = unpacked(shown, pieces), shown.source.rows(slice(0, None))
    assert [piece.first for piece in pieces] == [0, PIECE_FRAMES]
    assert [piece.frames for piece in pieces] == [PIECE_FRAMES, shown.source.frames - PIECE_FRAMES]
    np.testing.assert_allclose(found.p, wanted.p, atol=shown.packing.position / 2 + SMALL, equal_nan=True)
    np.testing.assert_allclose(found.time, wanted.time, atol=shown.packing.time / 2 + SMALL)
    assert np.isnan(found.p).any()
    steps = np.broadcast_to(shown.packing.gap, found.gap.shape)
    assert (
        np.abs(found.gap - wanted.gap)[np.isfinite(wanted.gap)] <= (steps / 2 + SMALL)[np.isfinite(wanted.gap)]
    ).all()


def test_few_frames_are_read_once_and_many_again_with_the_same_pieces(
    noisy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    def pieces_of(most: int) -> tuple[Piece, ...]:
        monkeypatch.setattr("condyle.report.shown.HELD_MAX_POSES", most)
        shown = shown_of(noisy)
        rows = type(shown.source).rows
        monkeypatch.setattr(type(shown.source), "rows", lambda self, some: (read.append(some), rows(self, some))[1])
        pieces = pack_pieces(shown)[1]
        monkeypatch.setattr(type(shown.source), "rows", rows)
        return pieces

    few = pieces_of(10**6)
    assert not read
    assert pieces_of(0) == few
    assert len(read) == len(few) == 2


def test_steps_are_a_tenth_of_the_noise_of_the_sensors(noisy: Path) -> None:
    packing = shown_of(noisy).packing
    assert packing.position == pytest.approx(NOISE / 10, rel=0.1)
    assert packing.orientation == pytest.approx(TURN / 10, rel=0.1)


def test_without_noise_steps_follow_the_size_of_the_figure_and_gaps_their_own(tmp_path: Path) -> None:
    exact = fitted(tmp_path, take(position_noise=0.0, orientation_noise=0.0))
    shown, pieces = pack_pieces(shown_of(exact))
    assert 5e-5 < shown.packing.position < 3e-4
    assert np.degrees(shown.packing.orientation) == pytest.approx(0.02, rel=0.01)
    found, wanted = unpacked(shown, pieces), shown.source.rows(slice(0, None))
    assert wanted.gap.max() < 1e-9
    np.testing.assert_allclose(found.gap, wanted.gap, atol=0.1 * wanted.gap.max())


def test_a_small_file_shows_fewer_frames_and_says_so(noisy: Path) -> None:
    whole = sum(len(piece.data) for piece in pack_pieces(shown_of(noisy))[1])
    shown, pieces = pack_pieces(shown_of(noisy), most=whole // 3)
    page = shown.page(pieces, None)
    assert page.every >= 3
    assert sum(len(piece.data) for piece in pieces) <= whole / 3 * 1.02
    assert page.frames == sum(piece.frames for piece in pieces) == len(range(0, 1200, page.every))
    assert page.rate == pytest.approx(60 / page.every)
    wanted = shown.source.rows(slice(0, None, page.every))
    np.testing.assert_allclose(unpacked(shown, pieces).p, wanted.p, atol=shown.packing.position, equal_nan=True)


def test_recordings_have_breaks_and_one_clock(tmp_path: Path) -> None:
    folder = fitted(tmp_path, take(10), take(8))
    shown = replace(shown_of(folder), every=7)
    page = shown.page((), None)
    rows = np.arange(0, shown.source.frames, 7)
    (turn,) = page.breaks
    assert rows[turn - 1] < 600 <= rows[turn]
    since = np.concatenate([shown.frames(k).time for k in range(shown.count)])
    times = since + np.repeat(page.starts, [turn, len(rows) - turn])
    np.testing.assert_allclose(times, rows / 60, atol=SMALL)


def test_a_body_that_leaves_its_joint_is_written_with_its_place(noisy: Path, tmp_path: Path) -> None:
    shown = shown_of(noisy)
    joint = shown.source.skeleton.joints[-1]
    child = shown.source.skeleton.bodies.index(joint.child)
    with np.load(noisy / "motion.npz") as archive:
        p = archive["p_world_played"]
    p[700:720, child] += 0.3
    left, pieces = pack_pieces(shown_of(rewritten(noisy, tmp_path / "left", p_world_played=p)))
    assert child in left.packing.free
    assert child not in shown.packing.free
    np.testing.assert_allclose(unpacked(left, pieces).p_played[:, child], p[:, child], atol=1e-3, equal_nan=True)


def test_stretches_that_did_not_count_are_told(noisy: Path, tmp_path: Path) -> None:
    with np.load(noisy / "motion.npz") as archive:
        weight, p, R = np.ones_like(archive["weight"]), archive["p_world_body"], archive["R_world_body"]
    p, R = (np.where(np.isnan(array), array[0], array) for array in (p, R))
    p[100:160, 2], R[100:160, 2] = np.nan, np.nan
    p[161:170, 2] = np.nan  # one frame later: told as one stretch
    skeleton = read_skeleton(noisy)
    middle = skeleton.bodies.index(skeleton.joints[0].parent)
    of_middle = [middle in (skeleton.bodies.index(j.child), skeleton.bodies.index(j.parent)) for j in skeleton.joints]
    weight[500:510, of_middle] = 0
    folder = rewritten(noisy, tmp_path / "masked", weight=weight, p_world_body=p, R_world_body=R)
    assert sum(of_middle) > 1
    assert set(shown_of(folder).masked) == {(2, 100, 169), (middle, 500, 509)}


def test_spikes_do_not_widen_the_box(noisy: Path, tmp_path: Path) -> None:
    with np.load(noisy / "motion.npz") as archive:
        p = archive["p_world_body"]
    before = shown_of(noisy)
    p[::400, 1] = 1e6
    after = shown_of(rewritten(noisy, tmp_path / "spiky", p_world_body=p))
    np.testing.assert_allclose(after.high, before.high, atol=0.1)


def test_one_frame_is_shown(tmp_path: Path, noisy: Path) -> None:
    with np.load(noisy / "motion.npz") as archive:
        first = {name: archive[name][:1] for name in archive.files if archive[name].shape[:1] == (1200,)}
    shown, pieces = pack_pieces(shown_of(rewritten(noisy, tmp_path / "one", **first)))
    page = shown.page(pieces, None)
    assert (page.frames, page.rate, page.breaks, len(page.starts)) == (1, 0.0, (), 1)
    np.testing.assert_allclose(unpacked(shown, pieces).p, first["p_world_body"], atol=shown.packing.position)


def test_pieces_to_be_fetched_have_an_address_and_no_data(noisy: Path) -> None:
    pieces = link_pieces(shown_of(noisy))
    assert pieces == (
        Piece(0, PIECE_FRAMES, "", "pieces/0.bin"),
        Piece(PIECE_FRAMES, 1200 - PIECE_FRAMES, "", "pieces/1.bin"),
    )
