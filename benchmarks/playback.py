"""Which is nearer to the truth: the figure as its sensors' rotations play it, or as inverse kinematics fits it to all?

People walk and exercise with known bones; the skeleton is fitted to the disturbed recording with its tree given, as it
would be on a real one. Compared with the truth are the sensors' places and axes on the bones and the joint centres.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import condyle
from condyle import Motion, Skeleton, Take, fit_motion, forward, play
from condyle.maths import rotation
from condyle.simulate import Disturbances, Truth, human, simulate

from .harness import Table, arguments, known_tree, measured, progress, publish

SECONDS, RATE = 15.0, 60.0
DEGREE = np.radians(1.0)
SMOOTH = (20.0, 5.0)  # rad/s^2, m/s^2
WAYS = ("measured", "play", "fit_motion", "fit_motion, not robust", "fit_motion, smooth")


@dataclass(frozen=True)
class Case:
    name: str
    disturbances: Disturbances


CASES = [
    Case("white noise 1 mm, 0.2 deg", Disturbances(position_noise=0.001, orientation_noise=0.2 * DEGREE)),
    Case("white noise 3 mm, 0.5 deg", Disturbances(position_noise=0.003, orientation_noise=0.5 * DEGREE)),
    Case(
        "slow noise 3 mm, 0.5 deg over 0.5 s",
        Disturbances(position_noise=0.003, orientation_noise=0.5 * DEGREE, correlation_time=0.5),
    ),
    Case(
        "warped field 1 cm",
        Disturbances(position_noise=0.002, orientation_noise=0.3 * DEGREE, field_warp=0.01),
    ),
    Case(
        "warped field 3 cm",
        Disturbances(position_noise=0.002, orientation_noise=0.3 * DEGREE, field_warp=0.03),
    ),
    Case("soft tissue 1 cm", Disturbances(position_noise=0.001, orientation_noise=0.2 * DEGREE, soft_tissue=0.01)),
    Case(
        "soft tissue 2 cm, knees not rotary",
        Disturbances(position_noise=0.001, orientation_noise=0.2 * DEGREE, soft_tissue=0.02, non_rotary=1.0),
    ),
    Case("spikes 2 %", Disturbances(position_noise=0.002, orientation_noise=0.3 * DEGREE, spikes=0.02)),
    Case("bursts 3 %", Disturbances(position_noise=0.002, orientation_noise=0.3 * DEGREE, bursts=0.03)),
    Case("missing 5 %", Disturbances(position_noise=0.002, orientation_noise=0.3 * DEGREE, missing=0.05)),
]


def main() -> None:
    given = arguments(__doc__, 6)
    tables = {
        "Places of the sensors, rms error [mm]": Table(["recording", *WAYS], []),
        "Axes of the sensors, rms error [deg]": Table(["recording", *WAYS], []),
        "Joint centres, rms error [mm]": Table(["recording", *WAYS[1:]], []),
        "Poses that are not known [%]": Table(["recording", *WAYS], []),
    }
    data = {}
    for case, found in measured(CASES, measure, given):
        data[case.name] = found
        for (table, factor), key in zip(
            zip(tables.values(), (1e3, 1 / DEGREE, 1e3, 100.0), strict=True),
            ("place", "turn", "joint", "unknown"),
            strict=True,
        ):
            ways = [way for way in WAYS if key in found[way]]
            values = [factor * found[way][key] for way in ways]
            best = min(values[1:] if "measured" in ways else values)
            table.rows.append([case.name, *(f"**{v:.2f}**" if v == best and best else f"{v:.2f}" for v in values)])
        progress(case.name)
    how = (
        f"A person of 15 sensors, {SECONDS:g} s at {RATE:g} Hz, walking and exercising in turn. "
        "The skeleton is fitted to the disturbed recording with its tree given, and joint centres are its own. "
        f"Smooth: accelerations of {SMOOTH[0]:g} rad/s^2 and {SMOOTH[1]:g} m/s^2. Errors count where a pose is known; "
        "the last table tells where it is not. The best way is bold."
    )
    publish("playback", "Playing against inverse kinematics", how, tables, data, given)


def measure(case: Case, seeds: range) -> dict[str, dict[str, float]]:
    """{way: {what: rms error [m, rad], or share of poses that are not known}} over all recordings."""
    sums: dict[str, dict[str, list[float]]] = {}
    for seed in seeds:
        motion = "walk" if seed % 2 else "exercise"
        world = simulate(human(), motion, seconds=SECONDS, rate=RATE, seed=seed, disturbances=case.disturbances)  # type: ignore[arg-type]
        calibration = condyle.fit(world.take, tree=known_tree(world.truth), root="pelvis", intervals=False)
        skeleton, take = calibration.skeleton, calibration.take
        motions: dict[str, Motion] = {
            "play": play(skeleton, take),
            "fit_motion": fit_motion(skeleton, take).motion,
            "fit_motion, not robust": fit_motion(skeleton, take, robust=False).motion,
            "fit_motion, smooth": fit_motion(skeleton, take, smooth=SMOOTH).motion,
        }
        poses = {"measured": take, **{way: forward(skeleton, motion) for way, motion in motions.items()}}
        for way, one in poses.items():
            errors = compare(one, world.truth)
            if way != "measured":
                errors["joint"] = joint_error(skeleton, one, world.truth)
            for key, value in errors.items():
                sums.setdefault(way, {}).setdefault(key, []).append(value)
    return {
        way: {key: float(np.mean(v)) if key == "unknown" else float(np.sqrt(np.mean(v))) for key, v in found.items()}
        for way, found in sums.items()
    }


def compare(poses: Take, truth: Truth) -> dict[str, float]:
    """Mean square errors [m^2, rad^2] where the pose is known, and the share where it is not."""
    place = ((poses.p_world_body - truth.p_world_body) ** 2).sum(axis=-1)
    turn = rotation.angle(np.swapaxes(truth.R_world_body, -1, -2) @ poses.R_world_body) ** 2
    seen = poses.seen
    return {"place": float(place[seen].mean()), "turn": float(turn[seen].mean()), "unknown": float(1 - seen.mean())}


def joint_error(skeleton: Skeleton, poses: Take, truth: Truth) -> float:
    """Mean square distance [m^2] of the joint centres from the true ones."""
    squares = []
    for joint in skeleton.joints:
        k = truth.names.index(joint.child)
        here = poses.p_world_body[:, k] + poses.R_world_body[:, k] @ joint.p_child_joint
        there = truth.p_world_body[:, k] + truth.R_world_body[:, k] @ truth.p_child_joint[k]
        squares.append(((here - there) ** 2).sum(axis=-1))
    return float(np.nanmean(squares))


if __name__ == "__main__":
    main()
