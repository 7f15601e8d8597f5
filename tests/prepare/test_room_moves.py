from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.maths import rotation, spool
from condyle.model.take import Take
from condyle.prepare.room_moves import _measure_jumps, find_room_moves, undo_room_moves
from tests.make.disturbed import recentre, world

DEVICES = ("head", "l_hand", "r_hand", "pelvis", "chest")
MOVES = {100: (0.6, (0.3, -0.2, 0.0)), 250: (-1.2, (0.0, 0.4, 0.1)), 400: (0.2, (-0.5, 0.0, 0.0))}
OFF_M = 0.02  # m per move, of devices in hands that swing
OFF_RAD = 0.03


def worn(motion: str = "walk") -> Take:
    return world(motion, position_noise=0.001, orientation_noise=0.002).take.select(DEVICES)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_room_that_was_moved_is_put_back_as_often_as_it_was(count: int) -> None:
    take = worn()
    moves = dict(list(MOVES.items())[:count])
    moved = recentre(take, moves)
    assert list(find_room_moves(moved)) == list(moves)
    back = undo_room_moves(moved)
    assert np.abs(back.p_world_body - take.p_world_body).max() < count * OFF_M
    off = rotation.angle(back.R_world_body.swapaxes(-1, -2) @ take.R_world_body)
    assert off.max() < count * OFF_RAD


@pytest.mark.parametrize("motion", ["walk", "exercise", "still"])
def test_a_room_that_nobody_moved_is_left_as_it_is(motion: str) -> None:
    take = worn(motion)
    assert undo_room_moves(take) is take


def test_who_begins_to_walk_moves_no_room() -> None:
    """Most steps are of one who stands: all the others are long, and of all sensors alike."""
    take = worn("still")
    way = np.cumsum(np.clip(np.arange(take.frames) - 500, 0, 10) * 0.004)
    moved = replace(take, p_world_body=take.p_world_body + way[:, None, None] * [1.0, 0, 0])
    assert undo_room_moves(moved) is moved


def test_one_sensor_that_jumps_and_the_next_recording_move_no_room() -> None:
    take = worn()
    p = take.p_world_body.copy()
    p[100:, 1] += 0.5
    one = replace(take, p_world_body=p)
    assert undo_room_moves(one) is one
    alone = recentre(take.select(["head"]), MOVES)
    assert undo_room_moves(alone) is alone
    next_one = replace(recentre(take, {100: MOVES[100]}), segment=(np.arange(take.frames) >= 100).astype(np.int64))
    assert undo_room_moves(next_one) is next_one


@pytest.mark.parametrize("frames", [0, 1, 2])
def test_few_frames_have_no_room_that_moves(frames: int) -> None:
    take = worn().slice(0, frames)
    assert undo_room_moves(take) is take
    gone = take.mask(np.ones_like(take.seen))
    assert undo_room_moves(gone) is gone


def test_jumps_of_a_long_take_are_held_on_disk_and_tell_the_same_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = recentre(worn(), MOVES)
    monkeypatch.setattr(spool, "largest_in_memory", lambda: 10_000)
    assert spool.is_spooled(_measure_jumps(moved))
    assert list(find_room_moves(moved)) == list(MOVES)
