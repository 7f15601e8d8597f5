"""Every disturbance has the size it claims and leaves the others alone."""

from dataclasses import replace

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.maths import rotation
from condyle.simulate import Disturbances, SensorSlip, chain, human, linkage, rod, simulate

ROUNDING_M = 1e-12
SHARE = 0.1  # relative tolerance of a sample's standard deviation
INTERPOLATION_M = 1e-6
INTERPOLATION_RAD = 1e-5
NM = {"position_noise": 0.003, "orientation_noise": 0.01}


def world(motion="exercise", figure=None, seconds=20, **what):
    return simulate(figure or human(), motion, seconds=seconds, seed=5, disturbances=Disturbances(**what))


def shift_in_body(w):
    """Displacement (n, m, 3) [m] and rotation vector [rad] of the measured against the true sensor, in its frame."""
    R = np.swapaxes(w.truth.R_world_body, -1, -2)
    p = w.take.p_world_body - w.truth.p_world_body
    return np.einsum("nmij,nmj->nmi", R, p), rotation.to_vector(R @ w.take.R_world_body)


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


def test_correlated_noise_has_its_size_and_its_memory() -> None:
    w = world(seconds=300, figure=linkage(), position_noise=0.01, correlation_time=0.5)
    noise = (w.take.p_world_body - w.truth.p_world_body).reshape(w.take.frames, -1)
    assert noise.std() == pytest.approx(0.01, rel=SHARE)
    after = np.mean(noise[15:] * noise[:-15]) / np.mean(noise**2)
    assert after == pytest.approx(np.exp(-1), abs=0.08)


def test_noise_grows_with_the_range() -> None:
    w = world(seconds=60, position_noise=0.001, range_power=4, range_scale=1.5)
    r = np.linalg.norm(w.truth.p_world_body, axis=-1)
    noise = (w.take.p_world_body - w.truth.p_world_body) / (1 + (r / 1.5) ** 4)[..., None]
    assert noise.std() == pytest.approx(0.001, rel=0.02)


def test_quantised_positions_are_whole_steps_and_scaled_ones_are_scaled() -> None:
    p = world(quantisation=0.004, scale=1 / 0.94).take.p_world_body / 0.004
    assert np.abs(p - np.round(p)).max() < 1e-9
    w = world(scale=1 / 0.94)
    assert np.allclose(w.take.p_world_body * 0.94, w.truth.p_world_body, atol=ROUNDING_M)
    assert w.truth.scale == 1 / 0.94


def test_the_field_has_its_size_over_many_rooms_and_depends_on_place_only() -> None:
    rooms = [
        simulate(linkage(), "walk", seconds=6, rate=5, seed=s, disturbances=Disturbances(field_warp=0.0125))
        for s in range(40)
    ]
    warp = np.concatenate([(w.take.p_world_body - w.truth.p_world_body).reshape(-1, 3) for w in rooms])
    turn = [rotation.to_vector(w.take.R_world_body @ np.swapaxes(w.truth.R_world_body, -1, -2)) for w in rooms]
    assert warp.std() == pytest.approx(0.0125, rel=0.15)
    assert np.std(turn) == pytest.approx(0.0125 / 0.9, rel=0.15)
    w = world("still", field_warp=0.0125)
    assert np.ptp(w.take.p_world_body, axis=0).max() == 0


def test_the_same_seed_is_the_same_room_for_another_figure() -> None:
    warped = Disturbances(field_warp=0.0125)
    person, bar = (make(disturbances=warped, seed=3, seconds=30) for make in (lambda **k: simulate(human(), **k), rod))
    where = np.concatenate([w.truth.p_world_body.reshape(-1, 3) for w in (person, bar)])
    warp = np.concatenate([(w.take.p_world_body - w.truth.p_world_body).reshape(-1, 3) for w in (person, bar)])
    split = person.take.frames * person.take.bodies
    near = np.linalg.norm(where[split:, None] - where[None, :split:7], axis=-1)
    i, j = np.nonzero(near < 0.04)
    assert len(i) > 10
    assert np.abs(warp[split:][i] - warp[:split:7][j]).max() < 0.004  # against 0.0125 rms between rooms


def test_metal_bends_the_floor_and_hardly_the_air() -> None:
    w = world("walk", metal_spots=5)
    warp = np.linalg.norm(w.take.p_world_body - w.truth.p_world_body, axis=-1).mean(axis=0)
    assert warp[w.take.index("l_foot")] > 3 * warp[w.take.index("head")] > 0


def test_a_late_sensor_shows_the_exact_pose_of_a_moment_ago() -> None:
    late, fast = world("walk", latency={"l_hand": 1 / 120}), simulate(human(), "walk", seconds=20, rate=120, seed=5)
    k = late.take.index("l_hand")
    before = np.arange(8, late.take.frames - 8) * 4 - 1
    p, R = late.take.p_world_body[8:-8, k], late.take.R_world_body[8:-8, k]
    assert np.abs(p - fast.truth.p_world_body[before, k]).max() < INTERPOLATION_M
    assert rotation.angle(np.swapaxes(R, -1, -2) @ fast.truth.R_world_body[before, k]).max() < INTERPOLATION_RAD
    others = [j for j in range(15) if j != k]
    assert np.array_equal(late.take.p_world_body[:, others], late.truth.p_world_body[:, others])
    assert late.truth.latency[k] == 1 / 120


@pytest.mark.parametrize("name", ["spikes", "bursts", "stale", "missing"])
def test_spoilt_samples_are_as_many_as_asked_and_the_mask_names_them(name) -> None:
    w = world(seconds=120, **{name: 0.1})
    mask = getattr(w.truth, {"spikes": "spiked", "bursts": "burst"}.get(name, name))
    assert mask.mean() == pytest.approx(0.1, abs=0.015)
    changed = (w.take.p_world_body != w.truth.p_world_body).any(axis=-1)  # NaN differs from everything
    assert np.array_equal(changed, mask)


def test_stale_samples_repeat_the_last_good_one_noise_and_all() -> None:
    w = world(stale=0.2, stale_run=0.5, **NM)
    held = w.truth.stale
    assert not held[0].any()
    same = (np.diff(w.take.p_world_body, axis=0) == 0).all(axis=-1)
    assert np.array_equal(same, held[1:])


def test_missing_samples_come_in_runs_and_are_not_seen() -> None:
    w = world(missing=0.1, missing_run=0.3)
    assert np.array_equal(w.take.seen, ~w.truth.missing)
    starts = (np.diff(w.truth.missing.astype(int), axis=0) == 1).sum()
    assert w.truth.missing.sum() / starts > 6


def test_a_slip_moves_one_sensor_from_its_moment_on() -> None:
    slip = SensorSlip("l_shank", 8.0, (0.0, 0.03, 0.0), rotation=(0.1, 0.0, 0.0))
    w = world(slips=(slip,))
    k, after = w.take.index("l_shank"), w.take.time >= 8
    shift, turn = shift_in_body(w)
    assert np.abs(shift[after, k] - slip.displacement).max() < ROUNDING_M
    assert np.abs(turn[after, k] - slip.rotation).max() < 1e-9
    assert np.abs(shift[~after]).max() == 0
    assert w.truth.slips == (slip,)


def test_two_slips_of_one_sensor_add_up() -> None:
    slips = (SensorSlip("head", 12.0, (0.02, 0, 0)), SensorSlip("head", 5.0, (0, 0.01, 0)))
    shift, _ = shift_in_body(world(slips=slips))
    assert np.abs(shift[-1, 2] - [0.02, 0.01, 0]).max() < ROUNDING_M


@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_soft_tissue_has_its_rms_and_turns_two_degrees_per_centimetre(motion) -> None:
    shift, turn = shift_in_body(world(motion, seconds=60, soft_tissue=0.005))
    length = np.sqrt((shift**2).sum(axis=-1).mean(axis=0))
    angle = np.degrees(np.sqrt((turn**2).sum(axis=-1).mean(axis=0)))
    assert np.allclose(length, 0.005, rtol=0.2)
    assert np.allclose(angle, 1.0, rtol=0.2)
    assert np.abs(shift.mean(axis=0)).max() < 1e-9


def test_soft_tissue_rests_while_nothing_moves() -> None:
    assert np.abs(shift_in_body(world("still", soft_tissue=0.01))[0]).max() < ROUNDING_M


def test_non_rotary_joints_open_by_about_a_centimetre_at_knee_and_shoulder_only() -> None:
    t = world(non_rotary=1).truth
    k = np.flatnonzero(t.parent >= 0)
    up = t.parent[k]
    child = np.einsum("nmij,mj->nmi", t.R_world_body[:, k], t.p_child_joint[k]) + t.p_world_body[:, k]
    parent = np.einsum("nmij,mj->nmi", t.R_world_body[:, up], t.p_parent_joint[k]) + t.p_world_body[:, up]
    gap = np.linalg.norm(child - parent, axis=-1).max(axis=0)
    moving = np.array([t.names[j].endswith(("shank", "upper_arm")) for j in k])
    assert gap[~moving].max() < ROUNDING_M
    assert 0.005 < gap[moving].min() < gap[moving].max() < 0.035


def test_the_pelvis_pack_wobbles_to_its_peak_and_follows_the_thighs() -> None:
    w = world("walk", pelvis_wobble=0.05)
    shift, turn = shift_in_body(w)
    assert np.linalg.norm(shift[:, 0], axis=-1).max() == pytest.approx(0.05, abs=1e-9)
    assert np.abs(shift[:, 1:]).max() == 0
    assert np.abs(turn).max() < 1e-7
    assert np.linalg.matrix_rank(shift[:, 0], tol=1e-9) == 2  # two thighs


def test_the_wobbling_body_can_be_another() -> None:
    w = world(figure=linkage(), pelvis_wobble=0.05, pelvis_wobble_body="chest")
    assert np.linalg.norm(shift_in_body(w)[0][:, 0], axis=-1).max() == pytest.approx(0.05, abs=1e-9)
    with pytest.raises(UsageError, match="no body named 'pelvis'; there are chest, head"):
        world(figure=linkage(), pelvis_wobble=0.05)


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
