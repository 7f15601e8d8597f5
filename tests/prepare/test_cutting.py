"""Parts of recordings: seconds and bodies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import UsageError
from condyle.io.format import ReadOptions
from condyle.model.recording import Bodies, Markers, PlacedMarker, Recording
from condyle.model.take import CarriedCentre, OwnSkeleton
from condyle.prepare.cutting import choose_bodies, cut_time, find_named
from condyle.prepare.read import recordings_in
from condyle.simulate import chain, simulate

NAMES = ("hip", "l_thigh", "l_shank", "r_thigh")


def _recording(**more: object) -> Recording:
    position = np.arange(10 * 4 * 3, dtype=float).reshape(10, 4, 3)
    orientation = np.tile([1.0, 0, 0, 0], (10, 4, 1))
    return Recording("walk.csv", bodies=Bodies(NAMES, position, orientation), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("clock", "start", "stop", "rows"),
    [
        ({"rate": 10.0}, 0.2, 0.5, range(2, 6)),
        ({"rate": 10.0}, None, 0.1, range(2)),
        ({"time": 1e9 + np.arange(10) / 10}, 0.8, None, range(8, 10)),  # from its own first frame
        ({}, 0.05, None, range(5, 10)),  # counted at 100 Hz
        ({"time": np.array([0, 1, 2, 3, 4, 0.5, 1.5, 2.5, 3.5, 4.5])}, 1.0, 2.0, (1, 2, 6)),
    ],
)
def test_seconds_are_counted_from_the_first_frame(
    clock: dict[str, object], start: float | None, stop: float | None, rows: range
) -> None:
    whole = _recording(**clock)
    part = cut_time(whole, start, stop)
    assert part.bodies is not None
    assert whole.bodies is not None
    np.testing.assert_array_equal(part.bodies.position, whole.bodies.position[list(rows)])
    assert cut_time(whole, None, None) is whole


def test_a_part_without_frames_names_the_file_and_its_length() -> None:
    with pytest.raises(UsageError, match=r"walk\.csv: has no frame from 2 s to 3 s: it lasts 0\.9 s"):
        cut_time(_recording(rate=10.0), 2.0, 3.0)
    with pytest.raises(UsageError, match="from 3 s to 1 s"):
        ReadOptions(start=3.0, stop=1.0)
    with pytest.raises(UsageError, match="start is 0 or more"):
        ReadOptions(start=-1.0)


def test_bodies_are_chosen_by_name_and_pattern_and_renamed() -> None:
    own = OwnSkeleton(NAMES, np.array([-1, 0, 1, 0]), np.zeros((4, 3)))
    carried = CarriedCentre("hip", np.zeros(3), np.eye(3))
    placed = (
        PlacedMarker("hip", "LASI", np.zeros(3)),
        PlacedMarker("r_thigh", "KNE", np.zeros(3)),
        PlacedMarker("l_thigh", "l_hip_centre", np.zeros(3), carried),
    )
    part = choose_bodies(
        _recording(own=own, placed=placed),
        ReadOptions(only=("l_*", "hip"), drop=("l_shank",), rename={"hip": "pelvis"}),
    )
    assert part.bodies is not None
    assert part.bodies.names == ("pelvis", "l_thigh")
    assert part.bodies.position[0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert part.own is not None
    assert part.own.edges(part.bodies.names) == (("pelvis", "l_thigh"),)
    assert [(one.body, one.carried and one.carried.body) for one in part.placed] == [
        ("pelvis", None),
        ("l_thigh", "pelvis"),
    ]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"only": ["nose"]}, "no body named 'nose'; choose from hip, l_thigh"),
        ({"drop": ["x_*"]}, "no body named 'x_\\*'"),
        ({"drop": ["*"]}, "no body left"),
        ({"rename": {"nose": "a"}}, "no body named 'nose'"),
        ({"rename": {"hip": "l_thigh"}}, "two bodies would be named 'l_thigh'"),
    ],
)
def test_what_is_not_there_is_refused_with_the_choices(asked: dict[str, list[str]], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        choose_bodies(_recording(), ReadOptions(**asked))  # type: ignore[arg-type]


def test_markers_have_no_bodies_to_choose() -> None:
    markers = Recording("a.c3d", markers=Markers(("LASI",), np.zeros((3, 1, 3))))
    with pytest.raises(UsageError, match="form them with --bodies"):
        choose_bodies(markers, ReadOptions(only=("LASI",)))
    assert choose_bodies(markers, ReadOptions()) is markers


def test_every_file_is_cut_by_itself(tmp_path: Path) -> None:
    take = simulate(chain(), seconds=3, seed=1).take
    for name in ("a", "b"):
        condyle.write_take(tmp_path / f"{name}.npz", take)
    parts = recordings_in(
        [tmp_path / "a.npz", tmp_path / "b.npz"], ReadOptions(start=1.0, stop=2.0, drop=take.names[:1])
    )
    assert [one.frames for one in parts] == [31, 31]
    assert all(one.bodies is not None and one.bodies.names == take.names[1:] for one in parts)


def test_a_word_that_is_a_name_is_that_name_alone() -> None:
    names = ("foot[1]", "foot1", "l_*", "l_hand")
    assert find_named("foot[1]", names) == ["foot[1]"]
    assert find_named("l_*", names) == ["l_*"]
    assert find_named("foot*", names) == ["foot[1]", "foot1"]
    with pytest.raises(UsageError, match=r"no body named 'l_\*'"):
        choose_bodies(_recording(), ReadOptions(rename={"l_*": "left"}))  # one name for several
