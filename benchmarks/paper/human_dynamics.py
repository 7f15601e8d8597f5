"""The paper's simulated human: rigid-body dynamics, 48 degrees of freedom, every one exercised, no noise."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from condyle.maths import rotation
from condyle.model.take import Take
from condyle.simulate import World, human, mount
from condyle.simulate.mounting import random_mounts
from condyle.simulate.seeds import stream

from ..harness import edges, length_errors, progress, true_edges
from . import clients, published
from .store import Rival, table

TITLE = "1. The simulated human"
SECONDS, RATE = 45.0, 30.0
WARM = 2.0  # s before the recording, in which the person leaves the rest pose
SWING = 1.0  # rad that the servos are asked for, at most
MOUNTS = 4  # simulations, each with other sensors and another motion
SAME = 1e-12  # m by which MuJoCo's sensors may differ from sensors mounted on its bones by condyle


def simulated(python: Path, seed: int, seconds: float = SECONDS) -> tuple[World, dict[str, Any]]:
    """A person that MuJoCo moved, with sensors mounted at random, and what MuJoCo says of it."""
    figure = human()
    mounts = random_mounts(figure.parent, figure.p_parent_joint, stream(seed, "mounts"))
    arrays = {
        "p_parent_joint": figure.p_parent_joint,
        "p_bone_body": mounts.p_bone_body,
        "q_bone_body": rotation.to_quaternion(mounts.R_bone_body),
    }
    facts = {
        "names": figure.names,
        "parent": figure.parent.tolist(),
        "seed": seed,
        "seconds": seconds,
        "rate": RATE,
        "warm": WARM,
        "swing": SWING,
    }
    told, poses = clients.ask(python, "mujoco_human.py", facts, arrays)
    time = np.arange(len(poses["p_bone"])) / RATE
    truth = mount(
        figure.names, figure.parent, poses["R_bone"], poses["p_bone"], figure.p_parent_joint, None, time, mounts=mounts
    )
    apart = np.abs(poses["p_site"] - truth.p_world_body).max()
    if apart > SAME:
        raise RuntimeError(f"MuJoCo's sensors are {apart:.1e} m from where they were mounted")
    take = Take(figure.names, time, rotation.project(poses["R_site"]), poses["p_site"], sources=("MuJoCo",))
    return World(take, truth, figure), told


def measure(given: argparse.Namespace) -> dict[str, Any] | None:
    """None where there is no environment with MuJoCo."""
    python = clients.python_of("mujoco")
    if python is None:
        return None
    found: dict[str, Any] = {"trials": 0, "limbs": 0, "turned_deg": None}
    ways = {way: {"largest_m": 0.0, "trees_right": 0} for way in ("least-squares", "default")}
    least: list[float] = []
    for number in range(1 if given.quick else given.repeats or MOUNTS):
        world, told = simulated(python, given.seed + number)
        found |= told
        found["trials"] += 1
        for way, entry in ways.items():
            fitted = condyle.fit(world.take, plan=way)  # type: ignore[arg-type]
            entry["trees_right"] += int(edges(fitted.skeleton) == true_edges(world.truth))
            errors = list(length_errors(fitted.skeleton, world.truth).values())
            found["limbs"] = len(errors)
            entry["largest_m"] = max(entry["largest_m"], float(np.abs(errors).max()))
            least += [float(np.degrees(joint.rotation[-1])) for joint in fitted.skeleton.joints]
        progress(f"dynamic human {number + 1}: {told}")
    return {**found, "turned_deg": min(least), "ways": ways}


def section(found: dict[str, Any]) -> str:
    trials = found["trials"]
    rows = [["paper", f"< {published.SIMULATED_LENGTH:.0e} m", "right"]]
    for way, entry in found["ways"].items():
        rows.append([f"condyle, {way}", f"{entry['largest_m']:.1e} m", f"{entry['trees_right']} of {trials} right"])
    return "\n\n".join(
        [
            f"{found['bodies']} bodies, a free root and 14 ball joints, {found['degrees_of_freedom']} degrees of "
            f"freedom, in MuJoCo {found['mujoco']}: damped servos in every joint follow slow references on every axis "
            "against gravity while the trunk hangs in an elastic harness. Joints lag "
            f"{np.degrees(found['off_reference']):.0f} deg rms behind, with torques of up to "
            f"{found['largest_torque']:.0f} N m; the least-turned axis turns by {found['turned_deg']:.0f} deg rms. "
            f"Sensors sit at random; {trials} simulations of {SECONDS:.0f} s at {RATE:.0f} Hz, nothing known.",
            table(["", f"largest error of {found['limbs']} limb lengths", "hierarchy"], rows),
        ]
    )


def rivals(found: dict[str, Any]) -> list[Rival]:
    return [
        Rival(
            f"largest length error of the simulated human, {way}",
            entry["largest_m"],
            published.SIMULATED_LENGTH,
            "m",
            "the paper",
            "",
        )
        for way, entry in found["ways"].items()
    ]
