"""Clocks, names, long series, trees and lengths, as they are drawn."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.model.skeleton import Joint, Limb, Skeleton
from condyle.report import drawing

matplotlib = pytest.importorskip("matplotlib")

MANY = 1_050  # bodies in a chain, deeper than Python calls itself


def joint(child: str, parent: str, margin: float | None = 2.0) -> Joint:
    zero = np.zeros(3)
    return Joint(
        child,
        parent,
        "ball",
        "determined",
        zero,
        zero,
        None,
        None,
        None,
        0.001,
        9,
        np.ones(6),
        None,
        margin,
        None,
        zero,
    )


def skeleton(*edges: tuple[str, str], loose: tuple[str, ...] = ()) -> Skeleton:
    """From (child, parent) edges, parents first; the first parent is the root."""
    joints = tuple(joint(*edge) for edge in edges)
    bodies = tuple(dict.fromkeys([name for edge in edges for name in edge[::-1]])) + loose
    return Skeleton(bodies, bodies[:1] if edges else (), loose, joints)


def test_recordings_follow_one_another_one_step_apart() -> None:
    axis = drawing.lay_out_time(np.array([5.0, 5.1, 5.2, 0.0, 0.1]), np.array([0, 0, 0, 1, 1]))
    np.testing.assert_allclose(axis.at, [0, 0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(axis.breaks, [0.3])
    assert axis.label == "time [s]"


def test_a_recording_that_comes_later_keeps_its_distance() -> None:
    axis = drawing.lay_out_time(np.array([5.0, 5.1, 9.0, 9.1]), np.array([0, 0, 1, 1]))
    np.testing.assert_allclose(axis.at, [0, 0.1, 4.0, 4.1])


@pytest.mark.parametrize(("time", "frames"), [(None, 4), (np.array([2.0]), 1), (None, 0)])
def test_without_time_frames_are_counted(time, frames) -> None:
    axis = drawing.lay_out_time(time, np.zeros(frames, np.int64))
    np.testing.assert_array_equal(axis.at, np.arange(frames))
    assert axis.label == "frame"


def test_a_long_series_keeps_its_peaks(rng) -> None:
    value = rng.uniform(0, 0.001, 20_000)
    value[12_345], value[700:900] = 0.05, np.nan
    axis = drawing.lay_out_time(np.arange(20_000) / 100, np.zeros(20_000, np.int64))
    figure = drawing.draw_series(axis, value, title="", label="")
    band = figure.axes[0].collections[0].get_paths()
    assert max(part.vertices[:, 1].max() for part in band) == pytest.approx(50.0)
    assert figure.axes[0].get_ylim()[1] > 50


@pytest.mark.parametrize("value", [np.zeros(0), np.array([0.001]), np.full(50, np.nan), np.zeros(50)])
def test_series_of_nothing_can_be_drawn(value, tmp_path) -> None:
    axis = drawing.lay_out_time(np.arange(len(value)) / 10.0, np.zeros(len(value), np.int64))
    drawing.draw_series(axis, value, title="t", label="l", level=0.0).savefig(tmp_path / "it.png")


def test_names_are_cut_and_hold_nothing_hidden() -> None:
    assert drawing.shorten_name("l_thigh") == "l_thigh"
    assert drawing.shorten_name("a\x1b[31m\u202eb") == "a?[31m?b"
    assert len(drawing.shorten_name("x" * 500)) == drawing.NAME_MAX_LETTERS


def test_a_tree_shows_every_body_once_and_every_margin() -> None:
    figure = drawing.draw_tree(skeleton(("a", "root"), ("b", "root"), ("c", "a"), loose=("prop",)), ["b"])
    words = [text.get_text() for text in figure.axes[0].texts]
    assert sorted(words) == sorted(["root", "a", "b", "c", "prop", "2", "2", "2"])
    marked = [text for text in figure.axes[0].texts if text.get_color() == drawing.MARK_COLOUR]
    assert len(marked) == 1


def test_no_two_names_of_a_tree_stand_in_one_place() -> None:
    figure = drawing.draw_tree(skeleton(("a", "root"), ("b", "root"), ("c", "a"), ("d", "a"), loose=("x", "y")))
    places = [text.xy for text in figure.axes[0].texts if text.get_text().isalpha()]
    assert len(set(places)) == len(places) == 7


def test_a_chain_of_very_many_bodies_is_drawn() -> None:
    names = [f"b{k}" for k in range(MANY)]
    figure = drawing.draw_tree(skeleton(*zip(names[1:], names[:-1], strict=True)))
    assert max(figure.get_size_inches()) <= drawing.FIGURE_MAX_IN


def test_lengths_show_intervals_and_the_truth_where_it_is_known() -> None:
    limbs = [
        Limb("a", "a", "b", 0.4, 0.39, 0.41),
        Limb("b", "b", "c", 0.3, None, None),
        Limb("c", "c", "d", None, None, None),
    ]
    figure = drawing.draw_lengths(limbs, {("a", "a", "b"): 0.402})
    left, right = figure.axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["a: a to b", "b: b to c"]
    assert "400.0  (390.0 to 410.0)" in [text.get_text() for text in right.texts]
    marks = [line for line in right.lines if line.get_marker() == "|"]
    np.testing.assert_allclose(marks[0].get_xdata(), [2.0])


def test_the_style_ends_with_the_drawing() -> None:
    before = dict(matplotlib.rcParams)
    drawing.draw_lengths([])
    assert dict(matplotlib.rcParams) == before
