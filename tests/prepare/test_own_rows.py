"""Sensors in rows of their own are put on one clock; sensors that are lost or slower share the others' rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.maths import rotation
from condyle.model.recording import Bodies, Convention, Markers, Recording, to_take
from condyle.prepare.own_rows import share_frames, share_rows
from condyle.simulate import linkage, simulate

INTERPOLATED_M = 0.002  # m between samples that are 1/30 s apart, of a body that moves at 1 Hz


def recording(frames: int = 600) -> Recording:
    take = simulate(linkage(), seconds=frames / 60, rate=60, seed=2).take
    q = rotation.to_quaternion(take.R_world_body)
    return Recording(
        bodies=Bodies(take.names, take.p_world_body, q), time=take.time, convention=Convention("wxyz", unit="m")
    )


def seen_in(whole: Recording, seen: np.ndarray) -> Recording:
    bodies = whole.bodies
    p, q = (np.where(seen[..., None], part, np.nan) for part in (bodies.position, bodies.orientation))
    return replace(whole, bodies=Bodies(bodies.names, p, q))


@pytest.mark.parametrize("turns", [2, 3])
def test_sensors_that_take_turns_are_interpolated_onto_one_clock(turns) -> None:
    whole = recording()
    n, m = whole.bodies.position.shape[:2]
    split = seen_in(whole, np.arange(n)[:, None] % turns == np.arange(m) % turns)
    shared = share_rows(split)
    (finding,) = shared.findings
    assert finding.code == "common-clock"
    assert len(shared.time) == pytest.approx(n / turns, abs=1)
    rows = np.searchsorted(whole.time, shared.time)
    away = np.linalg.norm(shared.bodies.position - whole.bodies.position[rows], axis=2)
    inner = away[turns:-turns]
    assert np.isfinite(inner).all()
    assert inner.max() < INTERPOLATED_M
    assert to_take(shared).seen[turns:-turns].all()


def test_sensors_that_report_in_any_order_are_too(rng) -> None:
    whole = recording()
    n, m = whole.bodies.position.shape[:2]
    assert [f.code for f in share_rows(seen_in(whole, rng.integers(m, size=n)[:, None] == np.arange(m))).findings] == [
        "common-clock"
    ]


def test_sensors_that_share_rows_are_left_as_they_are(rng) -> None:
    whole = recording()
    n, m = whole.bodies.position.shape[:2]
    slower, lost, half = (np.ones((n, m), dtype=bool) for _ in range(3))
    slower[:, :2] = (np.arange(n) % 4 == 0)[:, None]
    lost[:] = rng.random((n, m)) < 0.4
    half[: n // 2, 0] = half[n // 2 :, 1] = False
    for seen in (slower, lost, half):
        one = seen_in(whole, seen)
        assert share_rows(one) is one


def test_without_a_clock_quaternions_or_two_sensors_nothing_is_done() -> None:
    whole = recording(60)
    n, m = whole.bodies.position.shape[:2]
    split = seen_in(whole, np.arange(n)[:, None] % 2 == np.arange(m) % 2)
    for one in (
        replace(split, time=None, rate=60.0),
        replace(split, segment=np.arange(n) // 30),
        replace(split, markers=Markers(("a",), np.zeros((n, 1, 3)))),
        replace(split, bodies=None, markers=Markers(("a",), np.zeros((n, 1, 3)))),
        replace(split, convention=Convention("ZYX"), bodies=replace(split.bodies, orientation=np.zeros((n, m, 3)))),
        seen_in(whole, np.zeros((n, m), dtype=bool)),
    ):
        assert share_rows(one) is one


def test_stamps_that_do_not_tell_when_poses_were_put_nothing_together() -> None:
    whole = recording()
    n, m = whole.bodies.position.shape[:2]
    split = seen_in(whole, np.arange(n)[:, None] % 2 == np.arange(m) % 2)
    back = whole.time - 0.507 * (np.arange(n) // 20)  # a clock that is set back all the time
    lost = whole.time.copy()
    lost[7] = np.nan
    for time in (back, lost, np.zeros(n), np.floor(whole.time)):
        one = replace(split, time=time)
        assert share_rows(one) is one
    late = whole.time.copy()
    late[[40, 42]] = late[[42, 40]]  # of one sensor, over a network
    shared = share_rows(replace(split, time=late))
    assert [finding.code for finding in shared.findings] == ["common-clock"]
    assert (np.diff(shared.time) > 0).all()


@pytest.mark.parametrize("back", [0.207, 0.507, 0.907, 5.0])
def test_a_clock_that_is_set_back_begins_another_take(back: float) -> None:
    """Both were sorted into one, and no two bodies kept a point in common; or no two were in one frame."""
    whole = recording()
    n, m = whole.bodies.position.shape[:2]
    split = seen_in(whole, np.arange(n)[:, None] % 2 == np.arange(m) % 2)
    late = np.arange(n)
    late[100:104] = [101, 102, 103, 100]  # 0.05 s late
    time = np.where(late < n // 2, whole.time[late], whole.time[late] - back)
    bodies = Bodies(split.bodies.names, split.bodies.position[late], split.bodies.orientation[late])
    shared = share_rows(replace(split, bodies=bodies, time=time))
    assert [one.code for one in shared.findings] == ["common-clock"]
    assert (np.diff(shared.time) < 0).sum() == 1
    later = np.arange(len(shared.time)) > np.argmin(np.diff(shared.time))
    rows = np.searchsorted(whole.time + 1e-9, shared.time + back * later)
    away = np.linalg.norm(shared.bodies.position - whole.bodies.position[rows], axis=2)
    assert np.nanmax(away) < INTERPOLATED_M
    assert np.isfinite(away).mean() > 0.98


@pytest.mark.parametrize("slow", [(0, 1), (0, 1, 2, 3)])
def test_sensors_of_a_take_that_have_frames_of_their_own_are_put_on_one_clock(slow) -> None:
    take = simulate(linkage(), seconds=10, rate=60, seed=2).take
    n = take.frames
    own = np.ones(take.seen.shape, dtype=bool)
    own[:, slow] = np.arange(n)[:, None] % 4 == np.array(slow)
    split = replace(take.mask(~own), segment=np.arange(n) // (n // 2))
    shared = share_frames(split)
    assert [one.code for one in shared.findings] == ["common-clock"]
    assert sorted(set(shared.segment.tolist())) == [0, 1]
    rows = np.searchsorted(take.time + 1e-9, shared.time)
    away = np.linalg.norm(shared.p_world_body - take.p_world_body[rows], axis=2)
    assert np.nanmax(away) < 0.004
    turned = rotation.angle(np.swapaxes(shared.R_world_body, -1, -2) @ take.R_world_body[rows])
    assert np.nanmax(turned) < 0.02
    assert shared.seen.mean() > 0.97


def test_takes_whose_sensors_share_frames_are_left_as_they_are() -> None:
    take = simulate(linkage(), seconds=10, rate=60, seed=2).take
    slower = take.mask(np.arange(take.frames)[:, None] % 4 * (np.arange(take.bodies) < 2) > 0)
    turns = take.mask(np.arange(take.frames)[:, None] % 2 != np.arange(take.bodies) % 2)
    for one in (take, slower, replace(turns, timed=False), take.slice(0, 0), take.mask(take.seen)):
        assert share_frames(one) is one
