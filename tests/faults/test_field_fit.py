"""The field that all joints ask for together: found where it is, and none where there is none."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle.estimate.fitting import ROBUST, fit_tree
from condyle.faults import field_fit
from condyle.faults.field_fit import HELD_BACK_MIN_SHARE, Bend, fit_field, likeliest, measure_bend, measure_held_back
from condyle.faults.field_rows import FieldRows, choose_places
from condyle.model.options import FitOptions
from condyle.simulate import World
from tests.make.fields import bend_by

from .test_field import FIELD, carried, errors, true_joints, world

FOUND = 0.7  # of the displacement between places that a field with a rod must explain


def test_the_likeliest_size_of_random_effects_is_theirs(rng: np.random.Generator) -> None:
    X = rng.standard_normal((3000, 40))
    x = 0.3 * rng.standard_normal(40)
    y = X @ x + 0.5 * rng.standard_normal(3000)
    ratio, noise, gain, share, found, factor = likeliest(X.T @ X, X.T @ y, float(y @ y), 3000.0)
    assert np.sqrt(noise) == pytest.approx(0.5, rel=0.05)
    assert np.sqrt(ratio * noise) == pytest.approx(0.3, rel=0.4)
    assert gain > 100
    assert 0.7 < share < 1
    np.testing.assert_allclose(found, x, atol=0.05)
    assert np.sqrt(np.diagonal(factor @ factor.T)) == pytest.approx(0.5 / np.sqrt(3000), rel=0.2)
    white = 0.5 * rng.standard_normal(3000)
    assert likeliest(X.T @ X, X.T @ white, float(white @ white), 3000.0)[2] < 3


def test_no_rows_tell_nothing() -> None:
    ratio, noise, gain, share, found, factor = likeliest(np.zeros((4, 4)), np.zeros(4), 0.0, 0.0)
    assert (ratio, noise, gain, share) == (0.0, 0.0, 0.0, 0.0)
    assert not found.any()
    assert not factor.any()


def test_a_field_is_asked_for_where_it_is_and_shared_by_all_joints() -> None:
    straight, bent = (measure_bend(one.take, true_joints(one)) for one in (world(), world(**FIELD)))
    assert straight.gain < 10
    assert bent.gain > 100
    assert bent.shared > 0.2
    assert 0.003 < bent.size < 0.05


def test_where_a_part_of_the_blocks_rules_a_bend_out_the_others_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    measure = field_fit._measure_rows
    monkeypatch.setattr(field_fit, "_measure_rows", lambda *given: read.append(1) or measure(*given))
    straight, bent = world(), world(**FIELD)
    assert measure_bend(straight.take, true_joints(straight), least=100.0).gain < 10
    assert len(read) == 1
    assert measure_bend(bent.take, true_joints(bent), least=100.0) == measure_bend(bent.take, true_joints(bent))


def test_with_a_rod_the_field_itself_is_found() -> None:
    one = world(**FIELD)
    fit = fit_field(one.take, true_joints(one), carried(**FIELD))
    off = one.take.p_world_body[::10] - one.truth.p_world_body[::10]
    told = fit.model.displacement(one.take.p_world_body[::10])
    off, told = (values - values.reshape(-1, 3).mean(axis=0) for values in (off, told))
    assert float(((off - told) ** 2).sum()) < (1 - FOUND) * float((off**2).sum())


def test_a_straight_field_stays_straight_and_leaves_nothing_open() -> None:
    one = world()
    solution = true_joints(one)
    fit = fit_field(one.take, solution)
    assert not len(fit.model.centres)
    assert not fit.reorder_covariance(solution).any()


def test_what_the_field_leaves_open_follows_a_joint_that_changed_its_child() -> None:
    one = world(**FIELD)
    solution = true_joints(one)
    fit = fit_field(one.take, solution)
    whole = fit.reorder_covariance(solution)
    assert np.diagonal(whole).max() > 0
    back = vars(solution) | {"pairs": solution.pairs[:, ::-1]}
    turned = fit.reorder_covariance(type(solution)(**back))
    order = np.concatenate([6 * a + np.roll(np.arange(6), 3) for a in range(len(solution.pairs))])
    assert np.diagonal(turned) == pytest.approx(np.diagonal(whole)[order])


def held_back(one: World) -> float:
    rows = [FieldRows.of_joints(one.take, true_joints(one))]
    return measure_held_back(rows, field_fit._search(rows, choose_places(rows)))


@pytest.mark.costly
def test_the_field_of_the_rest_of_the_room_explains_a_part_of_it() -> None:
    assert held_back(world(**FIELD)) > 0.8
    assert held_back(world()) < HELD_BACK_MIN_SHARE


@pytest.mark.costly
@pytest.mark.parametrize("family", ["plate", "waves", "compression"])
@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_in_rooms_of_other_kinds_a_field_is_taken_away_only_where_it_does_no_harm(
    family: str, motion: str, rng: np.random.Generator
) -> None:
    straight = world(motion=motion)
    bent = bend_by(family, straight.take, rng)
    before, after = (
        float(np.abs(errors(condyle.fit(bent, intervals=False, field=asked), straight)).max())
        for asked in (False, True)
    )
    assert after < max(1.1 * before, before + 0.0005)


def test_what_is_not_known_of_the_scale_grows_with_how_much_it_differs_by_place() -> None:
    one = world(**FIELD)
    found = fit_field(one.take, true_joints(one))
    assert found.size > 0
    lengths = np.sqrt(np.diagonal(found.covariance))
    assert (lengths[np.abs(true_joints(one).unknowns) > 0.1] > 0.002 * 0.1).all()


def test_two_rows_tell_effects_and_one_tells_none() -> None:
    square = np.array([[4.0]])
    assert likeliest(square, np.array([6.0]), 9.5, 1.5)[2] > 0
    assert likeliest(square, np.array([6.0]), 9.5, 1.0)[2] == 0


def test_where_every_joint_is_with_the_room_there_is_no_field_and_nothing_is_open() -> None:
    take = world().take.select(world().take.names[:2])
    solution = fit_tree(take, [(0, 1)], FitOptions(), ROBUST).solution
    fit = fit_field(take, solution, still=0)
    assert not len(fit.model.centres)
    assert fit.reorder_covariance(solution).shape == (6, 6)


def test_a_field_is_taken_away_where_it_is_likely_shared_and_holds_in_the_rest_of_the_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = world(**FIELD)
    solution = true_joints(one)
    found = field_fit._search(rows := [FieldRows.of_joints(one.take, solution)], choose_places(rows))
    monkeypatch.setattr(field_fit, "GAUSS_NEWTON_ROUNDS", 1)
    for gain, shared, held, taken in [
        (20.0, 0.1, 0.6, True),
        (6.0, 0.1, 0.6, False),
        (20.0, 0.03, 0.6, False),
        (20.0, 0.1, 0.25, False),
    ]:
        monkeypatch.setattr(field_fit, "_search", lambda *_, gain=gain: replace(found, gain=gain))
        monkeypatch.setattr(field_fit, "measure_bend", lambda *_, shared=shared: Bend(20.0, shared, 0.01))
        monkeypatch.setattr(field_fit, "measure_held_back", lambda *_, held=held: held)
        fit = fit_field(one.take, solution)
        assert bool(len(fit.model.centres)) == taken, (gain, shared, held)
        if taken:  # what is open is more than by the shapes assumed, and less than everything
            way = np.random.default_rng(1).standard_normal(len(solution.unknowns))
            way -= solution.unknowns * (way @ solution.unknowns) / (solution.unknowns @ solution.unknowns)
            assert 1.2 < (way @ fit.covariance @ way) / (way @ found.covariance @ way) < 5


def test_a_first_look_for_a_bend_reads_a_part_of_the_blocks_and_ends_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = list[int]()
    monkeypatch.setattr(FieldRows, "of_joints", lambda take, solution, still, most=600: read.append(most))
    for gain, looks in ((5.0, 1), (20.0, 2)):  # of 100 that are asked for
        monkeypatch.setattr(field_fit, "_measure_rows", lambda *_, gain=gain: Bend(gain, 0.0, 0.0))
        for count, least, most in ((200, 40, 100), (600, 80, 200)):
            monkeypatch.setattr(field_fit, "average_blocks", lambda *_, count=count: SimpleNamespace(count=count))
            read.clear()
            measure_bend(None, None, least=100.0)  # type: ignore[arg-type]
            assert len(read) == looks
            assert least < read[0] < most


def test_the_likeliest_length_and_rotation_of_a_field_are_sought_from_the_middle_outwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    places = np.random.default_rng(2).uniform(-1, 1, (200, 3))
    for length, ratio in ((0.6, 0.4), (2.4, 2.5), (1.2, 1.0), (0.85, 1.0), (1.7, 1.0)):

        def solve(rows: object, basis: object, turn: float, start: object, length=length, ratio=ratio):
            reach = basis.length / field_fit.extent(places)  # type: ignore[attr-defined]
            gain = 1000 - 100 * abs(np.log(reach / length)) - abs(np.log(turn / ratio))
            return SimpleNamespace(basis=basis, turn_ratio=turn, gain=gain, weights=(np.zeros((3, 3)),) * 2)

        monkeypatch.setattr(field_fit, "_solve", solve)
        found = field_fit._search([], places)
        assert found.basis.length / field_fit.extent(places) == pytest.approx(length, rel=0.1)
        assert found.turn_ratio == pytest.approx(ratio, rel=0.1)
