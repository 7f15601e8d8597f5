from __future__ import annotations

import numpy as np
import pytest

from condyle import Take, join, play
from condyle.errors import UsageError
from condyle.io.exports.build_figure import build_figure
from condyle.motion.neutral import find_heading, find_neutral
from condyle.motion.person import Body, find_bodies
from tests.make import walkers

UP = np.array([0.0, 0.0, 1.0])


def bodies_of(take: Take) -> tuple[Body, ...]:
    skeleton = walkers.fitted(1, "walk", 10.0).skeleton
    return find_bodies(skeleton, build_figure(skeleton, play(skeleton, take)))


@pytest.fixture(scope="module")
def standing() -> tuple[Body, ...]:
    """Two seconds of standing after four of walking, with the same mounts."""
    walk, still = walkers.walker(1, "walk", 10.0).take, walkers.walker(1, "still", 2.0).take
    return bodies_of(join([walk.slice(0, 240), still]))


def test_a_quiet_stand_is_found_where_there_is_one(standing: tuple[Body, ...]) -> None:
    found = find_neutral("auto", standing, UP)
    assert found.rows is not None
    assert found.rows[0] == 240
    assert "quiet stand" in found.text
    np.testing.assert_array_equal(find_neutral("quiet", standing, UP).rows, found.rows)


def test_who_walks_or_lies_does_not_stand() -> None:
    walking = bodies_of(walkers.walker(1, "walk", 10.0).take)
    assert find_neutral("auto", walking, UP).rows is None
    with pytest.raises(UsageError, match="stands still"):
        find_neutral("quiet", walking, UP)
    lying = bodies_of(walkers.walker(1, "still", 2.0).take)
    assert find_neutral("auto", lying, UP).rows is not None
    assert find_neutral("auto", lying, np.array([1.0, 0.0, 0.0])).rows is None


@pytest.mark.parametrize("choice", ["1:1.5", (1.0, 1.5)])
def test_a_span_of_time_is_taken_as_it_is(standing: tuple[Body, ...], choice: str | tuple[float, float]) -> None:
    rows = find_neutral(choice, standing, UP).rows
    assert rows is not None
    time = standing[0].figure.time[rows]
    assert time.min() >= 1
    assert time.max() <= 1.5


def test_a_moment_is_its_nearest_frame(standing: tuple[Body, ...]) -> None:
    rows = find_neutral(1.0021, standing, UP).rows
    assert rows is not None
    assert rows.tolist() == [60]
    assert find_neutral("none", standing, UP).rows is None


@pytest.mark.parametrize(("choice", "words"), [("soon", "not 'soon'"), ("3:2", "not '3:2'"), ("90:91", "no frame at")])
def test_a_wrong_time_is_one_sentence(standing: tuple[Body, ...], choice: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find_neutral(choice, standing, UP)


def walk_along(direction: np.ndarray, facing: np.ndarray, n: int = 100) -> tuple[np.ndarray, ...]:
    way = np.linspace(0, 2, n)[:, None] * direction
    return np.broadcast_to(facing, (n, 3)), way, np.arange(n) / 50, np.zeros(n, np.int64)


def test_a_straight_way_is_the_heading_and_backwards_it_is_turned_round() -> None:
    ahead, aside = np.array([1.0, 0.0, 0.3]), np.array([0.8, 0.6, 0.1])
    found = find_heading("auto", *walk_along(ahead, aside), UP)
    assert found.text == "travel"
    np.testing.assert_allclose(found.X, np.broadcast_to([1, 0, 0], (100, 3)), atol=1e-12)
    back = find_heading("auto", *walk_along(-ahead, aside), UP)
    np.testing.assert_allclose(back.X, found.X, atol=1e-12)
    facing = find_heading("facing", *walk_along(ahead, aside), UP)
    np.testing.assert_allclose(facing.X[0], [0.8, 0.6, 0], atol=1e-12)


def test_who_stays_faces_and_who_turns_faces_over_a_window() -> None:
    facing, p, time, segment = walk_along(np.array([0.1, 0.0, 0.0]), np.array([0.0, 1.0, 0.2]))
    assert find_heading("auto", facing, p, time, segment, UP).text == "facing"
    turn = np.linspace(0, 2 * np.pi, 100)
    round_ = np.stack([np.cos(turn), np.sin(turn), np.zeros(100)], axis=1)
    found = find_heading("auto", round_, p, 4 * time, segment, UP)
    assert found.text == "facing over 2 s"
    assert (np.einsum("ni,ni->n", found.X, round_) > 0.9).all()
    with pytest.raises(UsageError, match="nobody walks 1 m"):
        find_heading("travel", round_, p, time, segment, UP)


def test_an_axis_of_the_world_is_levelled_and_up_is_none() -> None:
    words = walk_along(np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(find_heading("-y", *words, UP).X[3], [0, -1, 0], atol=1e-12)
    with pytest.raises(UsageError, match="points up"):
        find_heading("z", *words, UP)
    with pytest.raises(UsageError, match="not 'north'"):
        find_heading("north", *words, UP)


def test_every_recording_has_its_own_heading() -> None:
    there, back = (walk_along(np.array([sign, 0, 0]), np.array([sign, 0, 0])) for sign in (1.0, -1.0))
    facing, p, time = (np.concatenate([a, b]) for a, b in zip(there[:3], back[:3], strict=True))
    X = find_heading("auto", facing, p, time, np.repeat([0, 1], 100), UP).X
    np.testing.assert_allclose(X[[0, 150]], [[1, 0, 0], [-1, 0, 0]], atol=1e-12)


def test_a_heading_that_nothing_tells_is_left_open_by_auto_and_refused_by_name() -> None:
    unknown = np.full((100, 3), np.nan)
    _, _, time, segment = walk_along(np.array([0.1, 0, 0]), np.array([1.0, 0, 0]))
    found = find_heading("auto", unknown, unknown, time, segment, UP)
    assert found.text == "not known"
    assert np.isnan(found.X).all()
    with pytest.raises(UsageError, match="not known"):
        find_heading("facing", unknown, unknown, time, segment, UP)
