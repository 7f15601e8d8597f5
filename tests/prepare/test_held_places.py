from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.maths import rotation, spool
from condyle.model.motion import forward
from condyle.model.take import BodyMarker, Take
from condyle.prepare.dropouts import prepare
from condyle.prepare.held_places import add_held_turns, find_held_places, find_held_turns
from condyle.prepare.repeats import find_repeats
from condyle.result.profile import make_profile
from condyle.simulate import Disturbances, World, human, simulate

NOISE = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.3))
FOOT, HAND = 11, 5
HELD = ((300, 480, FOOT), (900, 1100, FOOT), (600, 700, 0), (1000, 1200, HAND))  # first, stop, body
STEPS = Take(  # one sensor that goes on by 1 cm, and turns; another beside it
    ("a", "b"),
    np.arange(400) / 100,
    np.broadcast_to(rotation.from_vector(np.linspace(0, 6, 400)[:, None] * [0, 0, 1.0])[:, None], (400, 2, 3, 3)),
    np.stack([np.linspace(0, 4, 400)[:, None] * [1, 0, 0.0], np.linspace(0, 3, 400)[:, None] * [1, 1, 0.0]], axis=1),
)


def figure(motion: str = "exercise", disturbances: Disturbances = NOISE, seed: int = 1, **given) -> World:
    return simulate(human(), motion, seconds=20, rate=90, seed=seed, disturbances=disturbances, **given)  # type: ignore[arg-type]


def hold(take: Take, *runs: tuple[int, int, int]) -> tuple[Take, np.ndarray]:
    """The take with places that are held in frames first to stop of a body, and which these are (n, m)."""
    p, marks = take.p_world_body.copy(), np.zeros(take.seen.shape, dtype=bool)
    for first, stop, body in runs:
        p[first:stop, body] = p[first - 1, body]
        marks[first:stop, body] = True
    return replace(take, p_world_body=p), marks


def find(take: Take) -> tuple[np.ndarray, np.ndarray]:
    return find_held_places(take, *find_repeats(take))


@pytest.mark.parametrize("motion", ["exercise", "walk"])
@pytest.mark.parametrize("noise", [Disturbances(), NOISE, replace(NOISE, quantisation=0.001)])
def test_places_that_were_held_are_found_and_no_others(motion: str, noise: Disturbances) -> None:
    take, marks = hold(figure(motion, noise).take, *HELD)
    held, polled = find(take)
    assert (held & marks).sum() == marks.sum()
    assert (held & ~marks).sum() <= 2
    assert not polled.any()


def test_a_figure_whose_pelvis_is_out_of_sight_for_a_while_is_as_sure_as_without_it() -> None:
    world = figure(seed=2)
    take, marks = hold(world.take, (200, 380, 0), (900, 1000, 0), (1300, 1500, 0), *HELD)
    found = condyle.fit(take, intervals=False).skeleton
    assert {frozenset((joint.child, joint.parent)) for joint in found.joints} == set(map(frozenset, world.truth.edges))
    assert all(joint.support is not None and joint.support > 0.95 and joint.residual < 0.01 for joint in found.joints)
    told = {one.bodies[0]: one for one in found.findings if one.code == "frozen-samples"}
    assert set(told) == {take.names[body] for body in np.flatnonzero(marks.any(axis=0))}
    assert told["pelvis"].severity == "warning"
    assert told["pelvis"].count == marks[:, 0].sum()
    assert "in sight of the cameras or base stations" in told["pelvis"].text


@pytest.mark.parametrize("rounding", [1e-4, 1e-3, 1e-2])
def test_feet_that_stand_have_their_place_again_by_rounding_and_were_not_held(rounding: float) -> None:
    noise = Disturbances(position_noise=0.2 * rounding, orientation_noise=0.003, quantisation=rounding)
    for motion in ("walk", "still"):
        take = figure(motion, noise).take
        assert find_repeats(take)[1].any() == (motion == "still" or rounding > 1e-4)
        held, polled = find(take)
        assert held.sum() <= 1
        assert not polled.any()


def test_a_link_that_turns_about_its_own_origin_for_a_while_was_not_held() -> None:
    take, _ = hold(STEPS, (100, 200, 0))
    p = take.p_world_body.copy()
    p[200:, 0] -= STEPS.p_world_body[199, 0] - p[199, 0]  # goes on from where it stopped
    rests = np.r_[0:100, np.full(100, 99), 100:300]  # of a link below it, axis by axis
    one = replace(take, p_world_body=np.stack([p[:, 0], take.p_world_body[rests, 1]], axis=1))
    one = replace(one, R_world_body=np.stack([take.R_world_body[:, 0], take.R_world_body[rests, 1]], axis=1))
    assert find_repeats(one)[1][:, 0].sum() == 100
    assert not find(one)[0].any()


def test_a_place_that_is_held_to_the_end_is_found_by_how_the_sensor_stopped() -> None:
    take, marks = hold(figure().take, (1500, 1800, FOOT))
    assert (find(take)[0] == marks).all()
    fixed = replace(  # as a base station that is recorded as well
        take,
        p_world_body=np.where(np.arange(15)[:, None] == 0, take.p_world_body[:1], take.p_world_body),
        R_world_body=np.where(np.arange(15)[:, None, None] == 0, take.R_world_body[:1], take.R_world_body),
    )
    assert (find(fixed)[0] == marks).all()


@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_what_is_held_to_the_end_is_found_where_the_sensor_was_slow_when_it_stopped(motion: str) -> None:
    """In a quarter of such takes it was missed, and in half of them where the place alone was held."""
    for body in (0, FOOT, HAND):
        take = figure(motion).take
        step = np.linalg.norm(np.diff(take.p_world_body[1000:1200, body], axis=0), axis=1)
        first = 1001 + int(np.argmin(step))
        one, marks = hold(take, (first, take.frames, body))
        assert (find(one)[0] & marks).sum() == marks.sum()
        R = one.R_world_body.copy()
        R[first:, body] = R[first - 1, body]
        ready = prepare(replace(one, R_world_body=R))
        assert not ready.seen[first + 1 :, body].any()
        assert ready.seen[: first - 1].all()


def test_a_place_that_is_held_for_one_of_two_recordings_is_found() -> None:
    first = figure()
    second = figure("walk", seed=7, mounts=first.truth.mounts).take
    p = second.p_world_body.copy()
    p[:, FOOT] = p[0, FOOT]
    take = condyle.join([first.take, replace(second, p_world_body=p)])
    held, _ = find(take)
    assert np.flatnonzero(held.any(axis=0)).tolist() == [FOOT]
    assert np.flatnonzero(held[:, FOOT]).tolist() == list(range(1801, 3600))


@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_places_of_all_sensors_that_are_held_at_once_are_found_together(motion: str) -> None:
    """Some came to a stop too slowly to show it, and all jumped when they were seen again, as when a room is moved."""
    for seed, first in ((1, 400), (4, 700)):
        take, marks = hold(figure(motion, seed=seed).take, *((first, first + 300, body) for body in range(15)))
        assert (find(take)[0] & marks).sum() == marks.sum()


def test_a_room_that_is_moved_leaves_the_place_of_a_foot_that_stood() -> None:
    take, marks = hold(STEPS, (100, 200, 0))
    assert find(take)[0].sum() == marks.sum()
    moved = take.p_world_body + np.where(np.arange(400) >= 200, 1.0, 0.0)[:, None, None]
    turned = np.array(take.R_world_body)
    turned[100:200, 0] = (
        rotation.from_vector(0.001 * np.random.default_rng(1).standard_normal((100, 3))) @ turned[99, 0]
    )
    assert not find(replace(take, p_world_body=moved, R_world_body=turned))[0].any()


@pytest.mark.parametrize("motion", ["exercise", "walk"])
@pytest.mark.parametrize("every", [2, 3, 5, 8])
def test_places_that_are_measured_less_often_than_turns_are_told_as_such(motion: str, every: int) -> None:
    take = figure(motion).take
    rows = np.arange(take.frames) // every * every
    some = take.p_world_body.copy()
    some[:, [0, HAND]] = some[rows][:, [0, HAND]]
    take = replace(take, p_world_body=some)
    held, polled = find(take)
    assert not held.any()
    assert polled[:, [0, HAND]].sum() == 2 * (rows != np.arange(take.frames)).sum() == polled.sum()
    told = [one for one in prepare(take).findings if one.code == "frozen-samples"]
    assert [one.severity for one in told] == ["info", "info"]
    assert "places repeat the one before" in told[0].text
    assert "read faster than it measures" in told[0].text


def test_places_that_are_measured_by_a_clock_that_trembles_were_not_held() -> None:
    take = figure().take
    fresh = np.cumsum(np.random.default_rng(1).integers(3, 6, take.frames))
    rows = np.maximum.accumulate(np.where(np.isin(np.arange(take.frames), fresh), np.arange(take.frames), 0))
    some = take.p_world_body.copy()
    some[:, HAND] = some[rows, HAND]
    held, polled = find(replace(take, p_world_body=some))
    assert not held.any()
    assert polled.sum() == (rows != np.arange(take.frames)).sum()


def test_rows_in_which_no_place_is_new_are_dropped() -> None:
    take = figure().take
    ready = prepare(replace(take, p_world_body=take.p_world_body[np.arange(take.frames) // 2 * 2]))
    assert ready.frames == take.frames / 2
    (told,) = ready.findings
    assert told.code == "repeated-rows"
    assert "repeat the places of the row before in every sensor" in told.text


def test_a_sensor_with_one_place_throughout_is_told_and_left() -> None:
    take = figure().take
    p = take.p_world_body.copy()
    p[:, FOOT] = p[0, FOOT]
    ready = prepare(replace(take, p_world_body=p))
    assert ready.seen.all()
    (told,) = ready.findings
    assert told.bodies == (take.names[FOOT],)
    assert "one place throughout while it turns" in told.text


def test_bodies_of_markers_hold_no_place() -> None:
    take, marks = hold(figure().take, *HELD)
    formed = tuple(BodyMarker(take.names[FOOT], name, np.eye(3)[k]) for k, name in enumerate("abc"))
    held, _ = find(replace(take, markers=formed))
    assert not held[:, FOOT].any()
    assert held[:, HAND].sum() == marks[:, HAND].sum()


def test_a_known_figure_is_played_by_the_orientation_where_the_place_was_held() -> None:
    first = figure()
    second = figure(seed=9, mounts=first.truth.mounts)
    take, marks = hold(second.take, *HELD)
    turns = add_held_turns(take, None)
    assert turns is not None
    assert (np.isfinite(turns).all(axis=(2, 3)) == marks).all()
    given = np.where(np.arange(15)[:, None, None] == 3, take.R_world_body, np.nan)
    both = add_held_turns(take, given)
    assert both is not None
    assert (np.isfinite(both).all(axis=(2, 3)) == (marks | (np.arange(15) == 3))).all()
    assert add_held_turns(second.take, given) is given
    played = condyle.solve(take, condyle.fit(first.take, intervals=False))
    off = forward(played.skeleton, played.motion).p_world_body - second.truth.p_world_body
    assert np.sqrt(np.mean(np.sum(off[marks] ** 2, axis=-1))) < 0.004


def test_a_known_figure_is_played_by_the_orientation_between_places_that_are_measured_less_often() -> None:
    first = figure()
    second = figure(seed=9, mounts=first.truth.mounts)
    p = second.take.p_world_body.copy()
    p[:, ::3] = p[np.arange(1800) // 8 * 8][:, ::3]
    played = condyle.solve(replace(second.take, p_world_body=p), condyle.fit(first.take, intervals=False))
    off = forward(played.skeleton, played.motion).p_world_body - second.truth.p_world_body
    assert np.linalg.norm(off, axis=-1).max() < 0.01


def test_a_fit_is_played_by_the_orientation_where_the_place_was_held() -> None:
    """The sensor was in no frame of the motion meanwhile, though `solve` played the same take."""
    world = figure("walk")
    take, marks = hold(world.take, *HELD[:2], HELD[3])
    fit = condyle.fit(take, intervals=False)
    off = forward(fit.skeleton, fit.motion).p_world_body - world.truth.p_world_body
    assert np.sqrt(np.mean(np.sum(off[marks] ** 2, axis=-1))) < 0.004


def test_a_fit_whose_lengths_a_profile_holds_is_played_by_the_orientation_as_well() -> None:
    """`solve` by a profile played a later take without it."""
    world = figure("walk")
    take, marks = hold(world.take, *HELD[:2], HELD[3])
    profile = make_profile([condyle.fit(world.take).skeleton])[0]
    played = condyle.solve(take, profile=profile)
    off = forward(played.skeleton, played.motion).p_world_body - world.truth.p_world_body
    assert np.sqrt(np.mean(np.sum(off[marks] ** 2, axis=-1))) < 0.004


def test_held_turns_of_a_long_take_are_held_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    take, _ = hold(figure().take, *HELD)
    ready = prepare(take)
    monkeypatch.setattr(spool, "largest_in_memory", lambda: 1_000_000)
    turns = find_held_turns(take, ready)
    assert turns is not None
    assert spool.is_spooled(turns)


def test_held_turns_are_those_of_the_frames_that_are_left_and_of_sensors_that_were_left_alone() -> None:
    take, marks = hold(figure().take, *HELD)
    ready = prepare(take)
    turns = find_held_turns(take, ready)
    assert turns is not None
    assert (np.isfinite(turns).all(axis=(2, 3)) == marks).all()
    kept = np.flatnonzero(np.arange(take.frames) % 7 > 0)
    fewer = find_held_turns(take, ready.at(kept).select(["r_foot", take.names[FOOT]]))
    assert fewer is not None
    assert (np.isfinite(fewer[:, 1]).all(axis=(1, 2)) == marks[kept, FOOT]).all()
    assert not np.isfinite(fewer[:, 0]).any()
    turn = rotation.from_vector(np.array([0.0, 0.0, 0.1]))
    assert find_held_turns(take, replace(ready, R_world_body=turn @ ready.R_world_body)) is None
    assert find_held_turns(take, replace(ready, time=ready.time + 1)) is None
    assert find_held_turns(figure().take, ready) is None
