"""A bent field as a value: it displaces and turns by place, its correction undoes that, and rods are checked."""

from __future__ import annotations

import numpy as np
import pytest

from condyle import CondyleError, Take, UsageError
from condyle.maths import rotation
from condyle.model.field import FieldModel, Rod, bells, spread_centres
from tests.make.fields import some_field

EXACT = 1e-9  # m, and in rotations


def test_a_correction_undoes_what_bent_the_poses(rng: np.random.Generator) -> None:
    field = some_field(rng, scale=1.1)
    p, R = rng.uniform(-1, 1, (20, 2, 3)), rotation.random(rng, (20, 2))
    take = Take(("a", "b"), np.arange(20.0), R, p)
    back = field.correct(take)
    np.testing.assert_allclose(back.p_world_body / 1.1 + field.displacement(p), p, atol=EXACT)
    np.testing.assert_allclose(rotation.from_vector(field.rotation_vector(p)) @ back.R_world_body, R, atol=EXACT)


def test_what_was_not_seen_stays_so_and_far_away_nothing_moves(rng: np.random.Generator) -> None:
    field = some_field(rng)
    hidden = Take(("a",), np.arange(3.0), np.full((3, 1, 3, 3), np.nan), np.full((3, 1, 3), np.nan))
    assert not field.correct(hidden).seen.any()
    assert np.abs(field.displacement([100.0, 0.0, 0.0])).max() == 0


def test_a_body_that_no_sensor_reports_stays_where_it_is(rng: np.random.Generator) -> None:
    take = Take(("room", "a"), np.arange(4.0), rotation.random(rng, (4, 2)), rng.uniform(-1, 1, (4, 2, 3)))
    moved = some_field(rng, scale=1.2).correct(take, still=0)
    np.testing.assert_array_equal(moved.p_world_body[:, 0], take.p_world_body[:, 0])
    assert (np.abs(moved.p_world_body[:, 1] - take.p_world_body[:, 1]).max(axis=1) > 0).all()


def test_bells_are_one_in_their_middle_and_the_same_far_from_the_origin(rng: np.random.Generator) -> None:
    centres = rng.uniform(-1, 1, (4, 3))
    assert np.diagonal(bells(centres, centres, 0.3)) == pytest.approx(np.ones(4))
    far = np.array([1e4, -2e4, 3e3])
    np.testing.assert_allclose(bells(centres + far, centres + far, 0.3), bells(centres, centres, 0.3), atol=1e-6)


@pytest.mark.parametrize("change", [{"length": 0.0}, {"scale": -1.0}, {"length": float("nan")}])
def test_a_field_of_no_length_or_scale_is_refused(change: dict[str, float], rng: np.random.Generator) -> None:
    with pytest.raises(CondyleError, match="above 0"):
        FieldModel.from_plain({**some_field(rng).to_plain(), **change})
    with pytest.raises(CondyleError, match="needs 'turn'"):
        FieldModel.from_plain({key: value for key, value in some_field(rng).to_plain().items() if key != "turn"})


def test_a_rod_has_a_length_and_two_names() -> None:
    for pair, distance in ((("a", "b"), 0.0), (("a", "b"), float("inf")), (("a", "a"), 0.5)):
        with pytest.raises(UsageError, match="rod"):
            Rod(pair, distance)


def test_centres_are_spread_until_the_rest_is_known(rng: np.random.Generator) -> None:
    places = rng.uniform(0, 1, (400, 3))
    few, more = (spread_centres(places, length, 90, 0.01) for length in (2.0, 0.5))
    assert 3 < len(few) < len(more) < 90
    assert len(spread_centres(places, 0.1, 7, 0.01)) == 7
    assert len(spread_centres(places[:0], 0.1, 7, 0.01)) == 0
