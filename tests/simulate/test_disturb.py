"""Every disturbance has the size it claims and leaves the others alone."""

from dataclasses import replace

import numpy as np
import pytest

from condyle.simulate import Disturbances, SensorSlip, chain, human, linkage, simulate
from tests.make.disturbed import NM, ROUNDING_M, SHARE, shift_in_body, world


def test_without_disturbances_the_take_is_the_truth() -> None:
    w = world()
    assert np.array_equal(w.take.p_world_body, w.truth.p_world_body)
    assert np.array_equal(w.take.R_world_body, w.truth.R_world_body)


def test_white_noise_has_its_size_on_every_axis() -> None:
    shift, turn = shift_in_body(world(**NM))
    assert np.allclose(shift.std(axis=0), 0.003, rtol=SHARE)
    assert np.allclose(turn.std(axis=0), 0.01, rtol=SHARE)


def test_noise_can_differ_by_sensor_given_as_array_or_by_name() -> None:
    sizes = np.linspace(0.001, 0.01, 6)
    shift, _ = shift_in_body(world(figure=linkage(), position_noise=sizes))
    assert np.allclose(shift.std(axis=(0, 2)), sizes, rtol=SHARE)
    shift, _ = shift_in_body(world(figure=linkage(), position_noise={"head": 0.01}))
    assert np.flatnonzero(shift.std(axis=(0, 2)) > ROUNDING_M).tolist() == [1]


@pytest.mark.parametrize("name", ["spikes", "bursts", "stale", "missing"])
def test_spoilt_samples_are_as_many_as_asked_and_the_mask_names_them(name) -> None:
    w = world(seconds=120, **{name: 0.1})
    mask = getattr(w.truth, {"spikes": "spiked", "bursts": "burst"}.get(name, name))
    assert mask.mean() == pytest.approx(0.1, abs=0.015)
    changed = (w.take.p_world_body != w.truth.p_world_body).any(axis=-1)  # NaN differs from everything
    assert np.array_equal(changed, mask)


def test_switching_one_disturbance_on_leaves_all_others_as_they_were() -> None:
    base = Disturbances(**NM, spikes=0.02, bursts=0.05, field_warp=0.01, soft_tissue=0.003)
    more = replace(base, missing=0.1, latency={"head": 0.02}, slips=(SensorSlip("l_hand", 3, (0.01, 0, 0)),))
    a, b = (simulate(human(), seconds=8, seed=11, disturbances=d) for d in (base, more))
    for name in ("spiked", "burst"):
        assert np.array_equal(getattr(a.truth, name), getattr(b.truth, name))
    rest = [k for k, name in enumerate(a.take.names) if name not in ("head", "l_hand")]
    both = b.take.seen[:, rest]
    assert np.array_equal(a.take.p_world_body[:, rest][both], b.take.p_world_body[:, rest][both])


@pytest.mark.parametrize("seconds", [0, 1 / 30, 2 / 30])
def test_everything_at_once_works_on_next_to_nothing(seconds) -> None:
    everything = Disturbances(
        **NM, correlation_time=1, range_power=4, quantisation=0.004, field_warp=0.01, metal_spots=2, scale=1.1,
        latency=0.01, spikes=0.1, bursts=0.1, stale=0.1, missing=0.1, slips=(SensorSlip("link1", 0, (0.1, 0, 0)),),
        soft_tissue=0.01, non_rotary=1, pelvis_wobble=0.1, pelvis_wobble_body="link0",
    )  # fmt: skip
    w = simulate(chain(("ball",)), seconds=seconds, disturbances=everything)
    assert w.take.frames == round(30 * seconds)
