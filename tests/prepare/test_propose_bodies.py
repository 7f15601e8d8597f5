from __future__ import annotations

import numpy as np
import pytest

from condyle.io.formats import read_recording
from condyle.maths import rotation
from condyle.prepare import propose_bodies as module
from condyle.prepare.propose_bodies import _find_beginning, _fit_group, _join_group, _MarkerGroup, propose_bodies
from tests.make import recordings
from tests.make.looked_at import is_about, record_counts

MOSTLY = 0.6  # markers in common over markers in either
# Bodies of truth.json found exactly, and mostly: what was reached.
REACHED = {
    "vicon_functional_c3d/left_hip.c3d": (4, 6),
    "functional_knee_c3d/right_knee.c3d": (3, 10),
    "qualisys_c3d/walk.c3d": (5, 10),
    "optitrack_c3d/walk.c3d": (1, 3),
    "qualisys_tsv/recording.tsv": (3, 3),
    "diodem/arm/exp01": (5, 5),
    "diodem/arm/exp05": (5, 5),
    "diodem/gait/exp06": (5, 5),
}


def chain(rng: np.random.Generator, sizes=(4, 3, 5), n: int = 400, skin: float = 0.0, swing: float = 0.5):
    """Markers (n, k, 3) [m] of a chain of segments that swing about their ends; skin [m] moves them slowly."""
    time = np.arange(n) / 100
    R, p, parts = rotation.random(rng), np.zeros((n, 1, 3)), []
    turn = np.broadcast_to(R, (n, 3, 3))
    for size in sizes:
        phase, speed = rng.uniform(0, 6, 3), rng.uniform(1, 4, 3)
        turn = turn @ rotation.from_vector(swing * np.sin(speed * time[:, None] + phase))
        shape = rng.uniform(-0.08, 0.08, (size, 3)) + [0.2, 0, 0]
        slow = skin * np.sin(rng.uniform(1, 4, (size, 3)) * time[:, None, None] + rng.uniform(0, 6, (size, 3)))
        parts.append(p + shape @ np.swapaxes(turn, 1, 2) + slow)
        p = p + np.array([[0.4, 0, 0]]) @ np.swapaxes(turn, 1, 2)
    names = [f"seg{k}_{j}" for k, size in enumerate(sizes) for j in range(size)]
    return np.concatenate(parts, axis=1), names


def groups(names, sizes=(4, 3, 5)) -> list[tuple[str, ...]]:
    ends = np.cumsum(sizes)
    return [tuple(names[stop - size : stop]) for size, stop in zip(sizes, ends, strict=True)]


@pytest.mark.parametrize("skin", [0.0, 0.001, 0.004], ids=lambda skin: f"{1000 * skin:g} mm of skin")
def test_segments_of_a_moving_chain_are_found(rng, skin) -> None:
    markers, names = chain(rng, skin=skin)
    found = propose_bodies(markers + 1e-4 * rng.standard_normal(markers.shape), names)
    assert [one.markers for one in found] == groups(names)
    assert [one.name for one in found] == ["seg0", "seg1", "seg2"]
    assert all(one.error < max(2 * skin, 2e-4) for one in found)
    assert all(0.02 < one.size < 0.2 for one in found)


def test_the_unit_and_the_order_of_markers_do_not_matter(rng) -> None:
    markers, names = chain(rng, skin=0.001)
    order = rng.permutation(len(names))
    found = propose_bodies(1000 * markers[:, order], [names[k] for k in order])
    assert {frozenset(one.markers) for one in found} == {frozenset(group) for group in groups(names)}


def test_missing_samples_and_swaps_do_not_hide_a_body(rng) -> None:
    markers, names = chain(rng, n=1000, skin=0.0005)
    markers[rng.random(markers.shape[:2]) < 0.2] = np.nan
    markers[500:510, [0, 5]] = markers[500:510, [5, 0]]
    assert [one.markers for one in propose_bodies(markers, names)] == groups(names)


def test_markers_of_no_body_are_left_out(rng) -> None:
    markers, names = chain(rng)
    loose = np.cumsum(0.01 * rng.standard_normal((len(markers), 2, 3)), axis=0)
    never = np.full((len(markers), 1, 3), np.nan)
    found = propose_bodies(np.concatenate([markers, loose, never], axis=1), [*names, "ball", "bat", "ghost"])
    assert [one.markers for one in found] == groups(names)


def test_segments_that_do_not_move_against_each_other_are_one_body(rng) -> None:
    shape = rng.uniform(-0.2, 0.2, (7, 3))
    markers = shape @ np.swapaxes(rotation.random(rng, (200,)), 1, 2) + 1e-4 * rng.standard_normal((200, 7, 3))
    (found,) = propose_bodies(markers, [f"m{k}" for k in range(7)])
    assert len(found.markers) == 7


def test_markers_on_a_line_are_no_body(rng) -> None:
    shape = np.array([[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0]])
    markers = shape @ np.swapaxes(rotation.random(rng, (100,)), 1, 2)
    assert propose_bodies(markers, "abc") == []


@pytest.mark.parametrize(
    ("names", "title"),
    [
        (("LF01", "LF02", "LF03"), "LF"),
        (("Tom:hand_top", "Tom:hand_left", "Tom:hand_right"), "hand"),
        (("seg1_marker1", "seg1_marker2", "seg1_marker3"), "seg1_marker"),
        (("Foot_Marker1", "Foot_Marker12", "Foot_Marker3"), "Foot_Marker"),
        (("LASI", "LPSI", "LTHI"), "body1"),
        (("1", "2", "3"), "body1"),
        (("Marker_13", "Marker_14", "Marker_15"), "body1"),
        (("head", "head", "head"), "head"),
    ],
)
def test_a_body_is_named_by_what_its_markers_names_begin_with(rng, names, title) -> None:
    shape = rng.uniform(-0.1, 0.1, (3, 3))
    (found,) = propose_bodies(shape @ np.swapaxes(rotation.random(rng, (50,)), 1, 2), names)
    assert found.name == title


def test_two_bodies_never_have_one_name(rng) -> None:
    markers, _ = chain(rng, (3, 3))
    found = propose_bodies(markers, [f"marker{k}" for k in range(6)])
    assert [one.name for one in found] == ["body1", "body2"]


@pytest.mark.parametrize("shape", [(0, 0, 3), (0, 5, 3), (1, 5, 3), (30, 2, 3), (500, 5, 3)])
def test_nothing_is_proposed_where_nothing_is_known(shape) -> None:
    assert propose_bodies(np.full(shape, np.nan), "abcde"[: shape[1]]) == []


def test_markers_that_never_move_are_one_body_or_none() -> None:
    still = np.tile(np.random.default_rng(0).uniform(-1, 1, (6, 3)), (100, 1, 1))
    assert len(propose_bodies(still, "abcdef")) <= 1


@pytest.mark.parametrize("name", REACHED)
def test_bodies_of_real_recordings_are_found_as_often_as_was_reached(name, shared_data) -> None:
    folder = shared_data / name
    paths = sorted(folder.glob("*/*.csv")) if folder.is_dir() else [folder]
    parts = [read_recording(path).markers for path in paths]
    names = parts[0].names
    markers = np.concatenate([part.position for part in parts])
    found = [set(one.markers) for one in propose_bodies(markers, names)]
    seen = {label for label, known in zip(names, np.isfinite(markers).all(axis=2).any(axis=0), strict=True) if known}
    truth = {body: set(group) & seen for body, group in recordings.truth(name)["bodies_from_markers"].items()}
    listed = set().union(*truth.values())  # a file may have markers that no body of the truth has
    alike = [max(len(one & group) / len((one & listed) | group) for one in found) for group in truth.values()]
    exact, mostly = REACHED[name]
    assert sum(share == 1 for share in alike) >= exact
    assert sum(share >= MOSTLY for share in alike) >= mostly


def test_a_body_is_called_by_what_its_markers_begin_with_but_not_by_a_side() -> None:
    assert _find_beginning(("thigh_a", "thigh_b")) == "thigh"
    assert _find_beginning(("Ann:thigh1", "Ann:thigh2", "Ann:thigh3")) == "thigh"
    assert _find_beginning(("LKNE", "LANK")) == ""
    assert _find_beginning(("RFin", "RFout")) == "RF"


def _moving(rng: np.random.Generator, local: np.ndarray, frames: int = 200) -> np.ndarray:
    """Points (k, 3) [m] of a rigid body that turns and travels, with noise of half a millimetre."""
    R, p = rotation.random(rng, (frames,)), rng.uniform(-1, 1, (frames, 1, 3))
    return np.einsum("nij,kj->nki", R, local) + p + 0.0005 * rng.standard_normal((frames, len(local), 3))


def test_markers_that_are_nearly_in_a_line_are_no_body(rng: np.random.Generator) -> None:
    for width, bodies in ((0.2, 1), (0.02, 0)):
        local = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.4, width, 0.0]])
        assert len(propose_bodies(_moving(rng, local), ["a", "b", "c"])) == bodies


def test_markers_must_be_seen_together_in_20_frames(rng: np.random.Generator) -> None:
    local = np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.0], [0.2, 0.3, 0.0]])
    for frames, bodies in ((24, 1), (16, 0)):
        cloud = _moving(rng, local)
        cloud[frames:] = np.nan
        assert len(propose_bodies(cloud, ["a", "b", "c"])) == bodies


def test_two_bodies_are_one_up_to_1_3_times_their_fit_error_and_a_marker_belongs_up_to_twice(rng) -> None:
    columns = tuple(range(6))
    cloud = _moving(rng, rng.uniform(-0.2, 0.2, (6, 3))) + rng.normal(0, 0.002, (200, 6, 3))
    error = _fit_group(cloud, columns).error

    for parts, most in ((2, 1.3), (1, 2.0)):
        for times in (0.97 * most, 1.03 * most):
            own = [_MarkerGroup(columns, error / times, 0.2)] * parts
            assert (_join_group(cloud, columns, own, 0.0, 0.0, 1.0) is None) == (times > most)
    assert _join_group(cloud, columns, [], 3.9 * 1.01 * error, 0.0, 1.01 * error) is not None
    assert _join_group(cloud, columns, [], 4.1 * 1.01 * error, 0.0, 1.01 * error) is None


def test_bodies_are_proposed_from_some_thousand_frames_and_groups_are_fitted_to_some_hundred(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = record_counts(monkeypatch, module)
    cloud, names = chain(np.random.default_rng(3), n=500)
    propose_bodies(cloud, names)
    assert is_about(counts[0], 2000)
    assert is_about(counts[1], 400)


def test_of_very_many_markers_fewer_frames_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = record_counts(monkeypatch, module)
    propose_bodies(np.full((100, 400, 3), np.nan), [f"m{k}" for k in range(400)])  # the square of their number counts
    assert is_about(counts[0], 250)


def test_markers_that_all_lie_at_one_place_are_not_tried_as_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    monkeypatch.setattr(module, "_fit_group", lambda cloud, columns: tried.append(columns))
    assert propose_bodies(np.zeros((100, 60, 3)), [f"m{k}" for k in range(60)]) == []
    assert not tried  # hundreds of them, as damaged files have them, took a minute
