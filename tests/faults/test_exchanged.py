"""Sensors that stand for each other, on a person whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from condyle.faults import exchanged
from condyle.faults.belonging import compare_take, describe_later_take
from condyle.faults.exchanged import ExchangedSensors, _list_trials, find_exchange
from condyle.faults.files import locate_places
from condyle.model.skeleton import Joint
from condyle.model.take import Take
from condyle.simulate import Disturbances, Mounts, World, human, simulate

NOISE = Disturbances(position_noise=0.003, orientation_noise=0.009)
EDGES = [(human().names[up], name) for name, up in zip(human().names, human().parent, strict=True) if up >= 0]


@cache
def _record(seed: int, anew: tuple[str, ...] = ()) -> World:
    """A take of one mounting, in which some sensors were put on anew."""
    mounts, other = (simulate(human(), seconds=1, seed=one).truth.mounts for one in (1, 7))
    R, p = mounts.R_bone_body.copy(), mounts.p_bone_body.copy()
    for body in (human().names.index(name) for name in anew):
        R[body], p[body] = other.R_bone_body[body], other.p_bone_body[body]
    return simulate(human(), seconds=12, seed=seed, disturbances=NOISE, mounts=Mounts(R, p))


@cache
def _known() -> list[Joint]:
    return [joint for joint in locate_places(_record(2).take, EDGES) if joint.covariance is not None]


def _exchange(take: Take, *pairs: tuple[str, str]) -> Take:
    twin = {name: other for a, b in pairs for name, other in ((a, b), (b, a))}
    return replace(take, names=tuple(twin.get(name, name) for name in take.names))


def _find(take: Take) -> ExchangedSensors | None:
    return compare_take(_known(), take, locate_places(take, EDGES)).exchange


@pytest.mark.parametrize(
    "pairs",
    [
        (("l_thigh", "r_thigh"),),
        (("l_thigh", "l_shank"),),
        (("l_thigh", "r_thigh"), ("l_shank", "r_shank"), ("l_foot", "r_foot")),
    ],
)
def test_names_that_are_exchanged_are_told_by_the_joints_that_close(pairs: tuple[tuple[str, str], ...]) -> None:
    found = _find(_exchange(_record(3).take, *pairs))
    assert found is not None
    assert {frozenset(pair) for pair in found.pairs} == {frozenset(pair) for pair in pairs}
    assert not found.anew


def test_sensors_put_on_each_others_bodies_are_told_by_the_bodies_beside_them() -> None:
    thighs = ("l_thigh", "r_thigh")
    anew = _record(4, thighs).take
    assert _find(anew) is None  # they moved, each on its own body
    take = _exchange(anew, thighs)
    assert _find(take) == ExchangedSensors((thighs,), anew=True)
    (told,) = describe_later_take(compare_take(_known(), take, locate_places(take, EDGES)))
    assert (told.code, set(told.bodies)) == ("sensors-exchanged", set(thighs))
    assert "calibrate anew" in told.text


def test_sensors_where_they_were_are_not_exchanged() -> None:
    assert _find(_record(3).take) is None
    assert find_exchange(_known()[:1], _record(3).take, (), lambda *_: True) is None


def test_a_sensor_that_moved_besides_an_exchange_is_told_as_well() -> None:
    hands = ("l_hand", "r_hand")
    take = _record(3).take
    shank = take.index("l_shank")
    p = take.p_world_body.copy()
    p[:, shank] += take.R_world_body[:, shank] @ [0.05, 0.0, 0.0]
    take = _exchange(replace(take, p_world_body=p), hands)
    found = compare_take(_known(), take, locate_places(take, EDGES))
    assert set(found.bodies) == {*hands, "l_shank"}
    assert {one.code: set(one.bodies) for one in describe_later_take(found)} == {
        "sensors-exchanged": set(hands),
        "sensor-moved": {"l_shank"},
    }


def test_of_very_many_suspects_left_and_right_alone_are_tried() -> None:
    names = [f"s{k}" for k in range(100)]
    assert len(_list_trials(names[:10], [], names[:10])) == 45
    assert _list_trials(names, [], names) == []


def test_a_pair_that_holds_where_it_is_does_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a", "b", "c", "d", "e")
    take = Take(names, np.arange(5) / 10, np.tile(np.eye(3), (5, 5, 1, 1)), np.zeros((5, 5, 3)))
    joints = [SimpleNamespace(child=k, parent="e", covariance=1.0, residual=0.0, explained=0.0) for k in "abcd"]
    monkeypatch.setattr(exchanged, "_list_trials", lambda *_: [(("a", "b"),), (("c", "d"),)])

    def measure(some: list, take: Take, twin: dict) -> np.ndarray:
        return np.array([0.1 if joint.child in "cd" and not twin else 0.001 for joint in some])

    monkeypatch.setattr(exchanged, "_measure_apart", measure)
    found = find_exchange(joints, take, (), lambda *_: False)  # type: ignore[arg-type]
    assert found is not None
    assert found.pairs == (("c", "d"),)
    for apart, told in ((0.006, False), (0.02, True)):  # m: skin alone does as much
        monkeypatch.setattr(exchanged, "_list_trials", lambda *_: [(("c", "d"),)])
        sizes = lambda some, take, twin, apart=apart: np.full(len(some), 0.0 if twin else apart)  # noqa: E731
        monkeypatch.setattr(exchanged, "_measure_apart", sizes)
        assert (find_exchange(joints, take, (), lambda *_: False) is not None) == told  # type: ignore[arg-type]
