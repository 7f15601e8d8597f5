"""Playing, forward and inverse kinematics: CPU time per frame beside mink, MuJoCo and pinocchio, at the same objective.

16 bodies with ball joints, 45 s at 120 Hz, 3 mm and 0.5 deg of noise. mink solves the same figure to the same sensors
(one frame task per body, cost 1/sigma, no limits, damping 1e-12, step of unit time) in an environment of its own; of
its starts (the frame before; the measured rotations, as here) and solvers the fastest counts, with the fewest steps
after which every frame's cost is within 1e-6 of the least. It is not charged for telling when to stop. Every time is
the least of as many rounds, in which everything is measured once in turn; freed memory stays with the process.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from condyle import Skeleton, Take, fit_motion, forward, play
from condyle.maths import rotation
from condyle.model.motion import order_joints
from condyle.motion.ik import choose_sigmas

from .harness import FIRST_SEED, RESULTS, Table, known_tree, progress, publish
from .speed import keep_memory, recording

BODIES, SECONDS, RATE = 16, 45, 120.0
FRAMES = slice(1000, 1200)  # that mink solves
SAME = 1e-6  # relative, of the cost
SHORT = 600  # frames that are solved smoothly
PLAIN, SMOOTH = "inverse kinematics of 600 frames", "the same, smooth (20 rad/s^2, 3 m/s^2)"
WANTED = ("mink==1.3.0", "mujoco==4.0.0", "daqp", "proxsuite", "qpsolvers", "scipy", "pin")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=8, help="rounds, of which the least time counts (8)")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help=f"seed of the recording ({FIRST_SEED})")
    parser.add_argument("--only", default="", help="anything: nothing is written")
    given = parser.parse_args()
    keep_memory()
    world = recording(BODIES, SECONDS, RATE, given.seed)
    take = world.take
    skeleton = condyle.fit(take, tree=known_tree(world.truth), intervals=False).skeleton
    python = mink_python()
    spent, told = {}, None
    for k in range(given.trials):
        progress(f"round {k + 1} of {given.trials}")
        spent = least(spent, ours(skeleton, take))
        if python is not None:
            found, poses = theirs(python, skeleton, take.at(FRAMES))
            told = found if told is None else {**told, "seconds": nested_least(told["seconds"], found["seconds"])}
            told["forward"] = least(told["forward"], found["forward"])
    tables = {"Own times": Table(["what", "us per frame"], [[k, f"{1e6 * v:.1f}"] for k, v in spent.items()])}
    data: dict[str, Any] = {"own": spent}
    if told is not None:
        excess = compare(skeleton, take, poses)
        rows, best = judged(told["seconds"], excess)
        ratio = best / spent["inverse kinematics"]
        steps = fit_motion(skeleton, take, robust=False, keep_axes=False).steps
        rows.append(["**condyle**", f"{steps.mean():.2f}", f"{1e6 * spent['inverse kinematics']:.1f}", "1"])
        tables[f"Inverse kinematics: {ratio:.0f} times faster than mink"] = Table(
            ["solver and start", "steps", "us per frame", "times condyle's"],
            [[*row[:3], f"{float(row[2]) / 1e6 / spent['inverse kinematics']:.0f}"] for row in rows],
        )
        tables["Cost after so many steps of mink over condyle's, less one"] = Table(
            ["start", "steps", "mean", "largest", "smallest"],
            [[*key.rsplit(" ", 1), *(f"{value:.1e}" for value in values)] for key, values in excess.items()],
        )
        own = {"condyle, forward": spent["forward"], "condyle, play": spent["play"]}
        tables["Forward kinematics, called frame by frame from Python; condyle's makes arrays of all frames"] = Table(
            ["what", "us per frame"], [[k, f"{1e6 * v:.2f}"] for k, v in {**told["forward"], **own}.items()]
        )
        data |= {"theirs": told, "excess": excess, "ratio": ratio}
    names = {} if told is None else told["versions"]
    how = f"{__doc__.strip().split(chr(10), 2)[2].strip()}\n\n" + ", ".join(f"{k} {v}" for k, v in names.items())
    publish("kinematics", "Kinematics per frame", how, tables, data, given)


def ours(skeleton: Skeleton, take: Take) -> dict[str, float]:
    """CPU seconds per frame, measured once: as often as mink's in a round."""
    motion = play(skeleton, take)
    calls: dict[str, Callable[[], object]] = {
        "play": lambda: play(skeleton, take),
        "forward": lambda: forward(skeleton, motion),
        "inverse kinematics": lambda: fit_motion(skeleton, take, robust=False, keep_axes=False),
        "inverse kinematics, robust": lambda: fit_motion(skeleton, take),
    }
    spent = {}
    for name, call in calls.items():
        call()  # warms up, as mink's first frames do
        begin = time.process_time()
        call()
        spent[name] = (time.process_time() - begin) / take.frames
    return {**spent, **smooth_times(skeleton, take)}


def smooth_times(skeleton: Skeleton, take: Take) -> dict[str, float]:
    """CPU seconds per frame of the first `SHORT` frames, each for itself and smooth."""
    short, spent = take.slice(0, SHORT), {}
    for name, how in ((PLAIN, {}), (SMOOTH, {"smooth": (20.0, 3.0)})):
        begin = time.process_time()
        fit_motion(skeleton, short, robust=False, **how)  # type: ignore[arg-type]
        spent[name] = (time.process_time() - begin) / short.frames
    return spent


def recorded_smooth() -> float:
    """How many times as long smooth inverse kinematics takes, as it stands in the results."""
    own = json.loads((RESULTS / "kinematics.json").read_text())["results"]["own"]
    return float(own[SMOOTH] / own[PLAIN])


def theirs(python: Path, skeleton: Skeleton, take: Take) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What mink_poses.py tells, and the poses it came to."""
    start = forward(skeleton, play(skeleton, take))
    m = take.bodies
    parent, p_child_joint, p_parent_joint = np.full(m, -1), np.zeros((m, 3)), np.zeros((m, 3))
    for child, above, joint in order_joints(skeleton):
        parent[child], p_child_joint[child], p_parent_joint[child] = above, joint.p_child_joint, joint.p_parent_joint
    sigma_position, sigma_rotation = choose_sigmas(skeleton)
    with tempfile.TemporaryDirectory() as folder:
        problem, answer = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
        np.savez(
            problem,
            parent=parent,
            p_child_joint=p_child_joint,
            p_parent_joint=p_parent_joint,
            R_world_body=take.R_world_body,
            p_world_body=take.p_world_body,
            R_start=start.R_world_body,
            p_start=start.p_world_body,
            sigma_position=sigma_position,
            sigma_rotation=sigma_rotation,
        )
        script = Path(__file__).with_name("mink_poses.py")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        done = subprocess.run([python, script, problem, answer], capture_output=True, text=True, check=True, env=kept)
        return json.loads(done.stdout.splitlines()[-1]), dict(np.load(answer))


def compare(skeleton: Skeleton, take: Take, poses: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """{start and steps: mean, largest and smallest excess of mink's cost over ours}."""
    part = take.at(FRAMES)
    sigma_position, sigma_rotation = choose_sigmas(skeleton)

    def cost(R: np.ndarray, p: np.ndarray) -> np.ndarray:
        place = ((p - part.p_world_body) ** 2).sum(axis=-1) / sigma_position**2
        turn = rotation.angle(np.swapaxes(part.R_world_body, -1, -2) @ R) ** 2 / sigma_rotation**2
        return np.asarray(0.5 * (place + turn).sum(axis=-1))

    fit = fit_motion(skeleton, take, robust=False, keep_axes=False)
    own = forward(skeleton, fit.motion.at(FRAMES))
    least_cost = cost(own.R_world_body, own.p_world_body)
    found = {}
    for key in sorted({name.rsplit(" ", 1)[0] for name in poses}):
        excess = cost(poses[f"{key} R"], poses[f"{key} p"]) / least_cost - 1
        found[key] = [float(excess.mean()), float(excess.max()), float(excess.min())]
    return found


def judged(seconds: dict[str, dict[str, float]], excess: dict[str, list[float]]) -> tuple[list[list[str]], float]:
    """A row per solver and start with the fewest steps that suffice, and the least time of mink's own solvers."""
    rows, best = [], float("inf")
    for name, times in seconds.items():
        start = name.split(", ")[1]
        enough = [steps for steps in times if excess[f"{start} {steps}"][1] <= SAME]
        if not enough:
            continue
        steps = min(enough, key=int)
        rows.append([f"mink, {name}", steps, f"{1e6 * times[steps]:.0f}", ""])
        if not name.startswith("cholesky"):
            best = min(best, times[steps])
    return rows, best


def least(one: dict[str, float], two: dict[str, float]) -> dict[str, float]:
    return {key: min(value, one.get(key, float("inf"))) for key, value in two.items()}


def nested_least(one: dict[str, dict[str, float]], two: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {key: least(one[key], two[key]) for key in one}


def mink_python() -> Path | None:
    """The interpreter of an environment with mink: CONDYLE_MINK, or one made by uv where it is missing."""
    if os.environ.get("CONDYLE_MINK"):
        return Path(os.environ["CONDYLE_MINK"])
    home = Path(tempfile.gettempdir()) / "condyle-mink"
    python = home / "bin" / "python"
    uv = shutil.which("uv")
    if python.exists() or uv is None:
        return python if python.exists() else None
    for command in (["venv", "-q", str(home)], ["pip", "install", "-q", "--python", str(python), *WANTED]):
        if subprocess.run([uv, *command], check=False).returncode:
            shutil.rmtree(home, ignore_errors=True)
            return None
    return python


if __name__ == "__main__":
    main()
