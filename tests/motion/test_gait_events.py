"""Gait events against made steps, and against those that laboratories marked in recorded walks."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import condyle
from condyle.maths import rotation
from condyle.model.gait_events import GaitEvent
from condyle.model.take import Take
from condyle.motion.gait_events import STRIDE_MAX_S, find_gait_events, list_strides
from condyle.simulate import human, simulate
from tests.make import recordings

RATE = 100.0  # Hz
STEP_S, SWING_S = 1.0, 0.4
NEAR_S = 0.07  # of a made step, whose swing begins and ends slowly
# Of 78 events that five laboratories' people marked: found, and the error of all but a tenth.
MARKED_MIN_SHARE, MARKED_MAX_S = 0.95, 0.04
WALKS = (
    "qualisys_c3d/walk.c3d",
    *(f"more/lasem/FAILT01_Walk0{k}.c3d" for k in (1, 2, 3)),
    *(f"more/zoo/{name}.c3d" for name in ("HC002D06", "HC002D25", "HC033A10", "HC039A17", "HC039A31")),
)


def steps(seconds: float = 6.0, noise: float = 0.0, belt: float = 0.0) -> Take:
    """A pelvis that travels, and feet that rest and swing, half a step apart; a `belt` [m/s] carries them back."""
    time = np.arange(round(seconds * RATE)) / RATE
    turn, place, names = [], [], ["pelvis", "l_thigh", "l_shank", "l_foot", "r_foot"]
    for body in names:
        shift = 0.5 * STEP_S if body == "r_foot" else 0.0
        count, phase = np.divmod(time + shift, STEP_S)
        swing = np.clip((phase - (STEP_S - SWING_S)) / SWING_S, 0.0, 1.0)
        x = 1.2 * (count + swing - np.sin(2 * np.pi * swing) / (2 * np.pi))
        pitch = 0.6 * np.sin(np.pi * swing) if "foot" in body else 0.4 * np.sin(2 * np.pi * (time + shift) / STEP_S)
        turn.append(rotation.from_vector(np.stack([0 * time, pitch, 0 * time], axis=1)))
        if "foot" not in body:
            x = 1.2 * time
        height = {"pelvis": 1.0, "l_thigh": 0.7, "l_shank": 0.3}.get(body, 0.05)
        place.append(
            np.stack([x - belt * time, 0.2 * np.full_like(time, body == "r_foot"), np.full_like(time, height)], 1)
        )
    p = np.stack(place, axis=1)
    p = p + noise * np.random.default_rng(1).standard_normal(p.shape)
    return Take.from_poses(p, R_world_body=np.stack(turn, axis=1), names=names, time=time)


@cache
def skeleton() -> condyle.Skeleton:
    take = steps()
    edges = [("pelvis", "l_thigh"), ("l_thigh", "l_shank"), ("l_shank", "l_foot"), ("pelvis", "r_foot")]
    return condyle.fit(take, tree=edges).skeleton


@pytest.mark.parametrize("noise", [0.0, 0.003, 0.008])
def test_strikes_and_offs_are_where_the_foot_rests(noise) -> None:
    events, told = find_gait_events(skeleton(), steps(noise=noise))
    left = [(event.kind, event.time) for event in events if event.body == "l_foot"]
    kinds, times = zip(*left, strict=True)
    assert kinds == (("off", "strike") * 6)[:11]
    true = sorted([STEP_S - SWING_S + k for k in range(6)] + [STEP_S + k for k in range(5)])
    assert np.abs(np.array(times) - true[: len(times)]).max() < NEAR_S
    assert told[0].code == "gait-events"
    assert told[0].count == len(events)


def test_a_gap_has_no_event_at_its_borders() -> None:
    take = steps()
    p = take.p_world_body.copy()
    p[130:150, take.names.index("l_foot")] = np.nan  # while it stands
    cut = Take.from_poses(p, R_world_body=take.R_world_body, names=take.names, time=take.time)
    before = [one.time for one in find_gait_events(skeleton(), take)[0]]
    assert {one.time for one in find_gait_events(skeleton(), cut)[0]} <= set(before)


@pytest.mark.parametrize("step", [5e-324, 1e-300, 1e-11])
def test_steps_of_time_that_no_clock_counts_have_no_events(step: float) -> None:
    take = steps()
    p, R = take.p_world_body, take.R_world_body
    fast = Take.from_poses(p, R_world_body=R, names=take.names, time=step * np.arange(len(p)))
    assert not find_gait_events(skeleton(), fast)[0]


def test_two_frames_at_nearly_one_time_have_no_speed() -> None:
    take = steps()
    time = take.time.copy()
    time[101::50] = time[100:-1:50] + 1e-13
    p, R = take.p_world_body, take.R_world_body
    uneven = Take.from_poses(p, R_world_body=R, names=take.names, time=time)
    assert len(find_gait_events(skeleton(), uneven)[0]) == len(find_gait_events(skeleton(), take)[0])


def test_on_a_belt_nothing_rests_and_that_is_told() -> None:
    events, told = find_gait_events(skeleton(), steps(belt=1.2))
    assert not events
    assert "treadmill" in told[0].text


@pytest.mark.parametrize("seed", [1, 2])
def test_feet_that_turn_about_in_the_air_do_not_stand(seed) -> None:
    fit = condyle.fit(simulate(human(), "exercise", seconds=30, rate=60, seed=seed).take, intervals=False)
    assert not find_gait_events(fit.skeleton, fit.take)[0]


@pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)
def test_a_foot_that_is_held_in_the_air_before_a_jump_does_not_stand() -> None:
    fit = condyle.fit(str(recordings.DATA / "more/lasem/FAILT01_SLDJ04.c3d"), intervals=False)
    drop = 2.2  # s, until when the person stands on the right leg on a box
    times = [one.time - fit.take.time[0] for one in fit.gait_events() if one.side == "l"]
    assert min(times) > drop


def test_noise_makes_no_steps_of_who_stands() -> None:
    take = steps(seconds=12)
    p = take.p_world_body[:1] + 0.006 * np.random.default_rng(3).standard_normal(take.p_world_body.shape)
    R = take.R_world_body[:1] @ rotation.from_vector(0.017 * np.random.default_rng(4).standard_normal(p.shape))
    assert not find_gait_events(skeleton(), Take.from_poses(p, R_world_body=R, names=take.names, time=take.time))[0]


def test_who_stands_or_wears_no_foot_has_no_events() -> None:
    take = steps()
    still = Take.from_poses(
        np.broadcast_to(take.p_world_body[:1], take.p_world_body.shape),
        R_world_body=np.broadcast_to(take.R_world_body[:1], take.R_world_body.shape),
        names=take.names,
        time=take.time,
    )
    assert not find_gait_events(skeleton(), still)[0]
    arm = condyle.simulate.simulate(condyle.simulate.chain(), "exercise", seconds=10, seed=1).take
    assert find_gait_events(condyle.fit(arm).skeleton, arm) == ((), ())


@pytest.mark.costly
@pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)
def test_events_of_recorded_walks_are_those_that_were_marked() -> None:
    off: list[float] = []
    for name in WALKS:
        fit = condyle.fit(str(recordings.DATA / name))
        start, end = fit.take.time[[0, -1]]
        events = fit.gait_events()
        for side, kind, time in recordings.marked_events(name):
            if not 0.05 < time < end - start - 0.05:
                continue
            near = [abs(one.time - start - time) for one in events if (one.side, one.kind) == (side, kind)]
            off.append(min(near, default=np.inf))
    assert len(off) >= 45
    assert np.mean(np.array(off) < 0.2) >= MARKED_MIN_SHARE
    assert np.percentile([one for one in off if one < 0.2], 90) <= MARKED_MAX_S


def test_strides_lead_from_a_strike_to_the_next_of_the_same_foot() -> None:
    def strike(time: float, side: str = "l", segment: int = 0) -> GaitEvent:
        return GaitEvent(time, segment, side, "strike", f"{side}_foot")

    off = GaitEvent(0.7, 0, "l", "off", "l_foot")
    events = [
        strike(0),
        strike(0.5, "r"),
        off,
        strike(1.0),
        strike(1.6, "r"),
        strike(1.0 + STRIDE_MAX_S),
        strike(0.3, "l", 1),
    ]
    assert [tuple(one) for one in list_strides(events)] == [("l", 0, 0, 1.0), ("r", 0, 0.5, 1.6)]
    assert list_strides([]) == ()
