"""Everything that can go wrong between bone and file, each part switched on its own; all off by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..maths import rotation
from ..maths.arrays import Bools, Floats, freeze_array
from ..model.take import Take
from ..model.values import dataclass
from . import device, flesh
from .mounting import SensorSlip, Truth
from .seeds import stream

PerSensor = float | Sequence[float] | Floats | Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Disturbances:
    """What is done to exact poses. PerSensor values are one number, m numbers, or {body: number} (others 0).

    The tracker
    position_noise       [m]    white, per axis, per sensor
    orientation_noise    [rad]  white, R exp([e]x), per axis, per sensor
    correlation_time     [s]    above 0 both noises are first-order Gauss-Markov instead of white
    range_power          [-]    above 0 both noises grow by 1 + (r / range_scale)^range_power
    range_scale          [m]      with the distance r from the transmitter
    transmitter          [m]      which stands here
    quantisation         [m]    step to which reported positions are rounded
    field_warp           [m]    rms per axis of a smooth displacement by place, shared by all sensors
    field_length         [m]      its length; orientations turn by field_warp / field_length rad rms
    metal_spots                 number of lumps of metal in the floor whose pull falls as 1/r^3
    metal_pull, metal_radius [m]  size of the pull, and where it has that size
    scale                       reported length over true length
    latency              [s]    how late a sensor reports, per sensor

    Single samples (fractions of each sensor's samples, per sensor)
    spikes               [-]    lone samples off by spike_size [m] and spike_angle [rad], per axis
    bursts               [-]    runs of burst_run [s] off by burst_size [m] and burst_angle [rad], per axis
    stale                [-]    runs of stale_run [s] that repeat the sample before
    missing              [-]    runs of missing_run [s] that are NaN

    The body
    slips                       sensors that move on their bone for good
    soft_tissue          [m]    rms length of the skin's movement under the sensor, per sensor; turns by 2 deg per cm
    non_rotary           [-]    1: knee and shoulder centres move as much as a real knee's
    pelvis_wobble        [m]    peak movement of the sensor on pelvis_wobble_body, pushed about by the thighs
    """

    position_noise: PerSensor = 0.0
    orientation_noise: PerSensor = 0.0
    correlation_time: float = 0.0
    range_power: float = 0.0
    range_scale: float = 1.5
    transmitter: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quantisation: float = 0.0
    field_warp: float = 0.0
    field_length: float = 0.9
    metal_spots: int = 0
    metal_pull: float = 0.03
    metal_radius: float = 0.25
    scale: float = 1.0
    latency: PerSensor = 0.0
    spikes: PerSensor = 0.0
    spike_size: float = 0.1
    spike_angle: float = 0.4
    bursts: PerSensor = 0.0
    burst_run: float = 0.3
    burst_size: float = 0.05
    burst_angle: float = 0.08
    stale: PerSensor = 0.0
    stale_run: float = 0.3
    missing: PerSensor = 0.0
    missing_run: float = 0.3
    slips: tuple[SensorSlip, ...] = ()
    soft_tissue: PerSensor = 0.0
    non_rotary: float = 0.0
    pelvis_wobble: float = 0.0
    pelvis_wobble_body: str = "pelvis"


def disturb(truth: Truth, disturbances: Disturbances, seed: int = 0) -> tuple[Take, Truth]:
    """What the tracker reports of an exact world, and the truth with what was done to it.

    Every disturbance draws from a stream of its own: switching one on leaves the others as they were. The same seed
    is the same room: two recordings with it share the warped field.
    """
    d = disturbances
    if d.non_rotary:
        truth = replace(truth, p_world_body=flesh.shift_joints(truth, d.non_rotary, stream(seed, "non rotary")))
    R, p = _move_sensors(truth, d, seed)
    latency = per_sensor(d.latency, truth.names, "latency")
    R, p = device.delay(truth.time, R, p, latency)
    if d.field_warp:
        R, p = device.warp(R, p, d.field_warp, d.field_length, stream(seed, "field"))
    if d.metal_spots:
        R, p = device.pull_to_metal(R, p, d.metal_spots, d.metal_pull, d.metal_radius, stream(seed, "metal"))
    R, p = _add_noise(truth, d, seed, R, p)
    p = p * d.scale
    if d.quantisation:
        p = d.quantisation * np.round(p / d.quantisation)
    return _spoil_samples(replace(truth, slips=tuple(d.slips), latency=latency, scale=d.scale), d, seed, R, p)


def per_sensor(value: PerSensor, names: Sequence[str], what: str) -> Floats:
    """The value of each sensor (m,), from one number, m numbers, or numbers by name with 0 for the rest."""
    if isinstance(value, Mapping):
        values = np.zeros(len(names))
        for name, number in value.items():
            values[flesh.index(names, name)] = number
        return values
    if np.ndim(value) == 0:
        return np.full(len(names), float(value))  # type: ignore[arg-type]
    return freeze_array(value, (len(names),), what)


def _move_sensors(truth: Truth, d: Disturbances, seed: int) -> tuple[Floats, Floats]:
    """Sensor poses after all that moves a sensor on its bone."""
    R, p = truth.R_world_body, truth.p_world_body
    soft = per_sensor(d.soft_tissue, truth.names, "soft_tissue")
    moving = len(truth.time) > 1  # a single frame shows no motion to follow
    if soft.any() and moving:
        R, p = flesh.move_sensors(R, p, *flesh.slide_skin(truth, soft, stream(seed, "soft tissue")))
    if d.pelvis_wobble and moving:
        shift = flesh.wobble_sensor(truth, d.pelvis_wobble, d.pelvis_wobble_body, stream(seed, "wobble"))
        R, p = flesh.move_sensors(R, p, shift, np.zeros_like(shift))
    for shift, turn in flesh.list_slips(truth, d.slips):
        R, p = flesh.move_sensors(R, p, shift, turn)
    return R, p


def _add_noise(truth: Truth, d: Disturbances, seed: int, R: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Poses with white or coloured noise, growing with range where asked."""
    growth: Floats = np.ones(p.shape[:2])
    if d.range_power:
        growth = 1 + (np.linalg.norm(p - np.asarray(d.transmitter), axis=-1) / d.range_scale) ** d.range_power
    shake = {}
    for name in ("position_noise", "orientation_noise"):
        size = per_sensor(getattr(d, name), truth.names, name)
        if size.any():
            white = stream(seed, name).standard_normal(p.shape)
            shake[name] = device.colour_noise(white, truth.time, d.correlation_time) * (growth * size)[..., None]
    if "position_noise" in shake:
        p = p + shake["position_noise"]
    if "orientation_noise" in shake:
        R = R @ rotation.from_vector(shake["orientation_noise"])
    return R, p


def _spoil_samples(truth: Truth, d: Disturbances, seed: int, R: Floats, p: Floats) -> tuple[Take, Truth]:
    """The take with single samples spoilt, held and lost, and the truth with the masks of them."""
    names, shape = truth.names, (p.shape[0], p.shape[1])
    step = float(np.median(np.diff(truth.time))) if len(truth.time) > 1 else 1.0

    def run_mask(name: str, length: float) -> Bools:
        fraction = per_sensor(getattr(d, name), names, name)
        return device.draw_runs(stream(seed, name), shape, fraction, max(1, round(length / step)))

    spiked = stream(seed, "spikes").random(shape) < per_sensor(d.spikes, names, "spikes")
    burst, stale = run_mask("bursts", d.burst_run), run_mask("stale", d.stale_run)
    missing = run_mask("missing", d.missing_run)
    stale[:1] = False
    for mask, label, size, angle in (
        (burst, "burst errors", d.burst_size, d.burst_angle),
        (spiked, "spike errors", d.spike_size, d.spike_angle),
    ):
        if mask.any():
            error = stream(seed, label).standard_normal((*shape, 6))
            if mask is burst:  # one error per run, trembling a little
                error = np.take_along_axis(error, device.find_run_starts(mask)[..., None], axis=0) + 0.2 * error
            error *= mask[..., None]
            R, p = R @ rotation.from_vector(angle * error[..., 3:]), p + size * error[..., :3]
    if stale.any():
        rows = device.find_held_rows(stale)
        p = np.take_along_axis(p, rows[..., None], axis=0)
        R = np.take_along_axis(R, rows[..., None, None], axis=0)
    p = np.where(missing[..., None], np.nan, p)
    R = np.where(missing[..., None, None], np.nan, R)
    take = Take(names, truth.time, R, p, sources=("simulated",))
    return take, replace(truth, spiked=spiked, burst=burst, stale=stale, missing=missing)
