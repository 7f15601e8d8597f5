"""Takes that cannot answer what was asked are refused with the reason and a code."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import CondyleError, UsageError
from condyle.estimate import checks
from condyle.estimate.checks import (
    check_asked,
    check_forest,
    check_seen_together,
    check_take,
    check_twins,
    describe_left_out,
)
from condyle.maths import rotation
from condyle.model.options import FitOptions
from condyle.model.take import Take
from tests.make.looked_at import is_about, record_counts

NAMES = ("hip", "knee", "foot")


@pytest.fixture
def take(rng: np.random.Generator) -> Take:
    return Take(
        NAMES, np.arange(30) / 10, rotation.random(rng, (30, 3)), rng.uniform(-1, 1, (30, 3, 3)), sources=("a.csv",)
    )


def hide(take: Take, *places: tuple[slice, int]) -> Take:
    mask = np.zeros((take.frames, take.bodies), dtype=bool)
    for rows, body in places:
        mask[rows, body] = True
    return take.mask(mask)


def test_a_sound_take_is_let_through(take: Take) -> None:
    check_take(take, FitOptions(root="knee"))
    check_take(take.slice(0, 3), FitOptions())


@pytest.mark.parametrize(
    ("spoil", "code", "text"),
    [
        (lambda take: take.select(["hip"]), "one-sensor", "add --world"),
        (lambda take: take.slice(0, 2), "few-frames", "2 frames cannot tell a joint; at least 3"),
        (lambda take: hide(take, (slice(2, None), 0), (slice(None), 2)), "nothing-seen", "fewer than two sensors"),
        (
            lambda take: take.mask(np.arange(take.frames)[:, None] % take.bodies != np.arange(take.bodies)),
            "nothing-seen",
            "no two sensors are seen in one frame",
        ),
        (lambda take: replace(take, p_world_body=0 * take.p_world_body + 1), "no-positions", "orientations only"),
    ],
)
def test_a_take_without_enough_in_it_is_refused_with_its_file(spoil, code: str, text: str, take: Take) -> None:
    with pytest.raises(CondyleError, match=text) as caught:
        check_take(spoil(take), FitOptions())
    assert caught.value.code == code
    assert "a.csv" in str(caught.value)


def test_two_sensors_seen_in_three_frames_are_enough(take: Take) -> None:
    check_take(hide(take, (slice(3, None), 0), (slice(None), 2)), FitOptions())


def test_positions_that_differ_in_one_frame_only_are_positions() -> None:
    """A glance at some of the frames must not decide."""
    p = np.zeros((500, 3, 3))
    p[203, 1] = 1.0
    long = Take(NAMES, np.arange(500) / 10, np.tile(np.eye(3), (500, 3, 1, 1)), p)
    check_take(long, FitOptions())


def test_an_unknown_root_is_told_with_the_names(take: Take) -> None:
    with pytest.raises(UsageError, match="no body named 'head'; choose from hip, knee, foot"):
        check_take(take, FitOptions(root="head"))


@pytest.mark.parametrize(
    ("edges", "text"),
    [
        ([(0, 1), (2, 1)], "two parents for 'knee': 'hip' and 'foot'"),
        ([(0, 1), (1, 2), (2, 0)], "closes a loop at 'foot' and 'hip'"),
        ([(0, 1), (1, 0)], "closes a loop at 'knee' and 'hip'"),
    ],
)
def test_edges_that_make_no_forest_are_refused(edges: list[tuple[int, int]], text: str, take: Take) -> None:
    with pytest.raises(UsageError, match=text) as caught:
        check_forest(take, edges)
    assert caught.value.code == "bad-tree"


@pytest.mark.parametrize("edges", [[], [(0, 1), (1, 2)], [(1, 0), (1, 2)], [(0, 2)]])
def test_forests_are_let_through(edges: list[tuple[int, int]], take: Take) -> None:
    check_forest(take, edges)


@pytest.mark.parametrize(("together", "refused"), [(2, True), (3, False)])
def test_given_pairs_must_be_seen_together(together: int, refused: bool, take: Take) -> None:
    apart = hide(take, (slice(15), 0), (slice(15 + together, None), 1))
    check_seen_together(apart, [(0, 2), (1, 2)])
    if not refused:
        check_seen_together(apart, [(0, 1)])
        return
    with pytest.raises(CondyleError, match="'hip' and 'knee' were given as joined but share 2 frames") as caught:
        check_seen_together(apart, [(0, 2), (0, 1)])
    assert caught.value.code == "few-frames"


def test_one_sensor_read_twice_is_named_and_one_that_differs_once_is_not(take: Take) -> None:
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    R[:, 2], p[:, 2] = R[:, 0], p[:, 0]
    twice = replace(take, R_world_body=R, p_world_body=p)
    with pytest.raises(CondyleError, match="'hip' and 'foot' report the same pose in all 30 frames") as caught:
        check_twins(twice)
    assert (caught.value.code, caught.value.body) == ("identical-sensors", "foot")
    p = p.copy()
    p[7, 2] += 1e-9
    nearly = replace(take, R_world_body=R, p_world_body=p)
    check_twins(nearly)
    check_twins(take.mask(np.ones((take.frames, take.bodies), dtype=bool)))


def test_what_was_asked_for_is_checked_whole_and_edges_are_told_by_number(take: Take) -> None:
    asked = FitOptions(tree=(("hip", "knee"), ("knee", "foot")), loops=(("foot", "hip"),))
    assert check_asked(take, asked) == [(0, 1), (1, 2)]
    with pytest.raises(CondyleError, match="2 frames"):
        check_asked(take.slice(0, 2), asked)
    with pytest.raises(UsageError, match="two parents"):
        check_asked(take, replace(asked, tree=(("hip", "knee"), ("foot", "knee"))))
    apart = hide(take, (slice(15), 0), (slice(15, None), 2))
    with pytest.raises(CondyleError, match="'foot' and 'hip' were given as joined but share 0 frames"):
        check_asked(apart, asked)


@pytest.mark.parametrize("copies", [(0, 1, 0), (0, 0), (0, 1, 1, 1)], ids=str)
@pytest.mark.parametrize("apart", [0.0, 1e-15, 1e-4])
def test_copies_of_a_sensor_are_named_and_near_copies_break_nothing(
    take: Take, copies: tuple[int, ...], apart: float
) -> None:
    p = take.p_world_body[:, list(copies)].copy()
    p[7, 1:] += apart * np.arange(1, len(copies))[:, None]
    names = tuple(f"s{k}" for k in range(len(copies)))
    twins = Take(names, take.time, take.R_world_body[:, list(copies)], p)
    if apart:
        assert condyle.fit(twins).skeleton.bodies == names
        return
    with pytest.raises(CondyleError, match="report the same pose in all 30 frames; remove one"):
        condyle.fit(twins)


def test_frames_of_which_no_two_follow_each_other_are_not_called_in_order(take: Take) -> None:
    apart = replace(take, segment=np.arange(take.frames))
    assert describe_left_out(take, {"latency": 128}) == []
    (finding,) = describe_left_out(apart, {"latency": 128})
    assert (finding.code, finding.severity) == ("checks-left-out", "warning")
    assert finding.text.endswith("nothing that needs it is looked for: slips, delays")


def test_twins_are_looked_for_in_a_few_frames_of_a_long_take(monkeypatch: pytest.MonkeyPatch, take: Take) -> None:
    counts = record_counts(monkeypatch, checks)
    checks.check_twins(take)
    assert len(counts) == 1
    assert is_about(counts[0], 20)
