"""Rows of equations that a bent field is fitted to: gaps of joints and of a rod by place."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from condyle import UsageError
from condyle.faults.field_rows import Basis, FieldRows, choose_places, extent, fit_scaling, joint_rows
from condyle.model.field import Rod, bells

from .test_field import DISTANCE, FIELD, carried, true_joints, world

EXACT = 1e-9  # m


def test_what_follows_the_angles_of_a_joint_and_its_neighbours_does_not_count(rng: np.random.Generator) -> None:
    straight = world()
    solution = true_joints(straight)
    rows = FieldRows.of_joints(straight.take, solution)
    for a, (child, parent) in enumerate(solution.pairs):
        near = ((solution.pairs == child) | (solution.pairs == parent)).any(axis=1).sum() - 1
        assert rows.skin[a].shape[2] == 9 + 18 + 9 * near
    slid = np.stack([columns @ rng.standard_normal(columns.shape[2]) for columns in rows.skin], axis=1)
    assert (rows.weigh(slid).variance < 1e-3 * (slid**2).mean(axis=(0, 2))).all()


def test_in_a_straight_field_gaps_are_those_of_the_joints() -> None:
    one = world()
    rows = FieldRows.of_joints(one.take, true_joints(one))
    child, parent, gap = rows.straighten(None)
    np.testing.assert_allclose(gap, child - parent + rows.p_child - rows.p_parent, atol=EXACT)
    basis = Basis(choose_places([rows]), 1.0)
    zero = np.zeros((len(basis.centres), 3))
    np.testing.assert_allclose(rows.straighten((basis, zero, zero))[2], gap, atol=EXACT)


def test_the_rows_of_a_joint_are_the_slope_of_its_gap(rng: np.random.Generator) -> None:
    one = world()
    rows = FieldRows.of_joints(one.take, true_joints(one))
    basis = Basis(choose_places([rows]), 1.0, most=6)
    K = len(basis.centres)
    zero, small = np.zeros((K, 3)), 1e-6 * rng.standard_normal((2, K, 3))
    table, _, own = joint_rows(rows, 0, basis, 1.0, (zero, zero))
    F = table[:, own:-1]
    root = np.sqrt(rows.weight[:, 0] / (rows.variance[0] * rows.stretch[0]))
    change = (rows.straighten((basis, *small))[2] - rows.straighten(None)[2])[:, 0]
    np.testing.assert_allclose(
        F @ small.transpose(0, 2, 1).ravel(), (change * root[:, None]).ravel(), atol=1e-3 * np.abs(F).max() * 1e-6
    )


def test_a_rod_is_two_joints_at_its_distance() -> None:
    rod = carried()
    assert rod.take is not None
    rows = FieldRows.of_rod(rod.take, rod)
    assert rows.c.shape == (2, 3)
    assert np.linalg.norm(rows.c, axis=1) == pytest.approx([DISTANCE, DISTANCE], abs=1e-3)
    hidden = rod.take.mask(np.ones((rod.take.frames, rod.take.bodies), dtype=bool))
    with pytest.raises(UsageError, match="are not seen together"):
        FieldRows.of_rod(hidden, replace(rod, take=hidden))
    with pytest.raises(UsageError, match="no body named 'c'"):
        FieldRows.of_rod(rod.take, Rod(("rod_a", "c"), DISTANCE))


def test_joints_with_the_room_are_left_out() -> None:
    one = world()
    solution = true_joints(one)
    still = int(solution.pairs[0, 1])
    rows = FieldRows.of_joints(one.take, solution, still)
    assert ((rows.weight > 0).any(axis=0) == ~(solution.pairs == still).any(axis=1)).all()


def test_equal_weights_make_a_field_of_equal_size_everywhere(rng: np.random.Generator) -> None:
    places = rng.uniform(-1, 1, (500, 3))
    basis = Basis(places, 0.8)
    assert (basis(places) ** 2).sum(axis=1) == pytest.approx(np.ones(500), abs=0.01)
    np.testing.assert_allclose(basis(places), bells(places, basis.centres, 0.8) @ basis.mix, atol=EXACT)


def test_the_field_that_scales_a_room_moves_places_away_from_its_middle(rng: np.random.Generator) -> None:
    places = rng.uniform(-1, 1, (500, 3))
    basis = Basis(places, 1.5)
    moved = basis(places) @ fit_scaling(places, basis).reshape(3, -1).T
    away = places - places.mean(axis=0)
    assert float((moved * away).sum() / (away * away).sum()) == pytest.approx(1.0, abs=0.05)
    assert extent(places) == pytest.approx(np.sqrt((away**2).sum(axis=1).mean()))


def test_a_bent_field_leaves_gaps_of_its_size() -> None:
    straight, bent = world(), world(**FIELD)
    sizes = [float(FieldRows.of_joints(one.take, true_joints(one)).variance.mean()) for one in (straight, bent)]
    assert sizes[1] > 4 * sizes[0]


def test_places_and_centres_are_as_many_as_sharpen_a_field(rng: np.random.Generator) -> None:
    places = rng.uniform(-1, 1, (3000, 2, 3))
    rows = SimpleNamespace(weight=np.ones((3000, 2)), p_child=places, p_parent=places + 0.3)
    assert 700 < len(choose_places([rows])) < 3000  # type: ignore[list-item]
    crowded = Basis(places[:, 0], 0.3)
    assert 45 < len(crowded.centres) < 200
    smooth = Basis(places[:, 0], 1.6)
    left_open = 1 - np.square(smooth(places[:, 0])).sum(axis=1)
    assert 7e-4 < left_open.max() < 4e-3  # of the field's variance


def test_a_take_of_any_length_is_some_hundred_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    class Thinned(Exception):
        pass

    def thin(most: int) -> None:
        assert 300 < most < 1200
        raise Thinned

    one = world()
    monkeypatch.setattr("condyle.faults.field_rows.average_blocks", lambda *_: SimpleNamespace(thin=thin))
    with pytest.raises(Thinned):
        FieldRows.of_joints(one.take, true_joints(one))


def test_samples_far_from_the_usual_place_on_a_rod_do_not_count(rng: np.random.Generator) -> None:
    rod = carried()
    assert rod.take is not None
    p = rod.take.p_world_body.copy()
    odd = rng.random(rod.take.frames) < 0.02
    p[odd, rod.take.index("rod_b")] += 0.05  # m
    clean, spiked = (FieldRows.of_rod(one, rod) for one in (rod.take, replace(rod.take, p_world_body=p)))
    assert (spiked.variance < 2 * clean.variance).all()


def test_a_joint_without_any_gap_does_not_rule_over_those_that_have_one() -> None:
    one = world()
    rows = FieldRows.of_joints(one.take, true_joints(one))
    gap = np.random.default_rng(1).standard_normal((*rows.weight.shape, 3)) * 0.01
    gap[:, 0] = 0.0
    variance = rows.weigh(gap).variance
    assert variance[0] == variance.min()
    assert 1e-9 < variance[0] / variance.max() < 1e-3
