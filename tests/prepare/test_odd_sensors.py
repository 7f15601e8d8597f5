"""prepare/odd_sensors.py: one sensor in another unit or convention is named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle import Take
from condyle.errors import CondyleError
from condyle.prepare import odd_sensors
from condyle.prepare.odd_sensors import OddSensor, apply_odd, axis_orders, find_odd_sensors, repair_odd_sensors
from condyle.simulate import Disturbances, human, simulate
from tests.make.machines import made

NOISE = Disturbances(position_noise=0.004, orientation_noise=np.radians(0.5))
CLOSE = 1e-12


@pytest.fixture(scope="module")
def take() -> Take:
    return simulate(human(), "walk", seconds=10, seed=11, disturbances=NOISE).take


def test_no_sensor_is_accused_where_all_agree(take: Take) -> None:
    assert find_odd_sensors(take) == ()


@pytest.mark.parametrize("name", ["head", "l_thigh", "r_hand"])
def test_a_sensor_in_millimetres_is_an_error_that_names_it(take: Take, name: str) -> None:
    name = next(one for one in take.names if name in one) if name not in take.names else name
    spoilt = apply_odd(take, OddSensor(name, 1.0, scale=1000.0))
    (odd,) = find_odd_sensors(spoilt)
    assert odd.name == name
    assert odd.scale == pytest.approx(0.001)
    with pytest.raises(CondyleError) as error:
        repair_odd_sensors(spoilt, [odd])
    assert (error.value.code, error.value.body) == ("sensor-unit", name)


@pytest.mark.parametrize(
    ("spoil", "undo"),
    [
        (OddSensor("l_thigh", 1.0, transposed=True), OddSensor("l_thigh", 1.0, transposed=True)),
        (OddSensor("l_thigh", 1.0, shifted=1), OddSensor("l_thigh", 1.0, shifted=-1)),
        (OddSensor("l_thigh", 1.0, axes=("x", "-y", "z")), OddSensor("l_thigh", 1.0, axes=("x", "-y", "z"))),
    ],
)
def test_a_sensor_in_another_convention_is_named_and_put_right(take: Take, spoil: OddSensor, undo: OddSensor) -> None:
    np.testing.assert_allclose(apply_odd(apply_odd(take, spoil), undo).R_world_body, take.R_world_body, atol=1e-9)
    spoilt = apply_odd(take, spoil)
    odd = find_odd_sensors(spoilt)
    assert [one.name for one in odd] == ["l_thigh"]
    repaired = repair_odd_sensors(spoilt, odd)
    (finding,) = repaired.findings
    assert (finding.code, finding.bodies) == ("sensor-convention", ("l_thigh",))
    assert find_odd_sensors(replace(repaired, findings=())) == ()


def test_every_order_of_axes_is_listed_once_up_to_a_mirror() -> None:
    orders = axis_orders()
    assert len(orders) == len(set(orders)) == 24
    assert ("x", "y", "z") in orders


def test_up_to_half_of_the_sensors_are_named(take: Take) -> None:
    some = take.select(["pelvis", "l_thigh", "l_shank", "l_foot", "chest"])
    spoilt = apply_odd(apply_odd(some, OddSensor("l_thigh", 1.0, scale=1000.0)), OddSensor("chest", 1.0, scale=1000.0))
    assert {one.name for one in find_odd_sensors(spoilt)} == {"l_thigh", "chest"}


def test_what_slides_on_a_machine_that_stands_is_in_no_other_unit() -> None:
    """Made a thousand times smaller it would be at rest, and fit the base like a joint."""
    for seed in (1, 3, 60001):
        assert find_odd_sensors(made("scara", seed=seed).take) == ()


def oddest(
    monkeypatch: pytest.MonkeyPatch, gap: float, fits: OddSensor, row: float, travel: float = 1.0
) -> OddSensor | None:
    """Of four sensors, three of which come apart by 1 m and the last by `gap`, or by `row` when it is read as `fits`.

    travel  of the last sensor, over that of the others
    """
    rng = np.random.default_rng(8)
    p = rng.standard_normal((50, 4, 3))
    p[:, 3] *= travel
    take = Take.from_poses(p, R_world_body=np.tile(np.eye(3), (50, 4, 1, 1)), rate=50.0, names="abcd")
    table = np.ones((4, 4))
    table[3] = table[:, 3] = gap
    np.fill_diagonal(table, np.inf)

    def read(reading: OddSensor, _: int) -> np.ndarray:
        return np.full(4, row if replace(reading, times=1.0) == fits else 2 * gap)

    monkeypatch.setattr(odd_sensors, "_table", lambda *_: table)
    monkeypatch.setattr(odd_sensors, "apply_odd", lambda _, reading: reading)
    monkeypatch.setattr(odd_sensors, "_row", read)
    return odd_sensors._oddest(take, set())


TURNED, LARGE, SMALL = (OddSensor("d", 1.0, **how) for how in ({"transposed": True}, {"scale": 1e3}, {"scale": 1e-3}))


def test_another_reading_must_explain_a_sensor_that_fits_badly(monkeypatch: pytest.MonkeyPatch) -> None:
    for gap, reading, row, travel, told in [
        (1.3, TURNED, 0.5, 1, False),  # comes apart like the others: nothing else is tried
        (2.0, TURNED, 0.5, 1, True),
        (3.0, LARGE, 0.5, 1, False),  # another unit is tried where it comes apart much more
        (6.0, LARGE, 0.5, 1, True),
        (20.0, TURNED, 4.0, 1, False),  # still comes apart more than the others
        (20.0, TURNED, 1.7, 1, True),
        (3.0, TURNED, 2.2, 1, False),  # hardly better
        (3.0, TURNED, 1.0, 1, True),
        (20.0, SMALL, 1.0, 30, False),  # would be at rest, which fits anything
        (20.0, SMALL, 1.0, 100, True),
    ]:
        found = oddest(monkeypatch, gap, reading, row, travel)
        assert (found is not None) == told
        assert found is None or replace(found, times=1.0) == reading
