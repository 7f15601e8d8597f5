"""Are results the same with every declared version of numpy and of Python, on other processors, in another order?

Simulated takes are written once and fitted in environments of their own, which uv makes: joints are to be within
1e-12 m of those found here, and findings of the same codes. The first environment has the oldest numpy that is
declared. Then here, once more, to be within 1e-13 m: with four threads for linear algebra, with OpenBLAS's kernels
for other processors, and with the bodies of every take in the opposite order.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from condyle.simulate import Disturbances, chain, human, linkage, simulate

from .harness import Table, progress, publish

PROJECT = Path(__file__).parents[1]
# Python, numpy; "": the newest
ENVIRONMENTS = (("3.11", "1.26.*"), ("3.11", "2.0.*"), ("3.12", ""), ("3.13", ""), ("3.14", ""))
SAME_M, SAME_HERE_M = 1e-12, 1e-13
OTHERWISE = {  # what is set here: variables of the environment, and BACKWARDS for the order of the bodies
    "again": {},
    "4 threads": {"OPENBLAS_NUM_THREADS": "4", "OMP_NUM_THREADS": "4"},
    **{f"kernels of {name}": {"OPENBLAS_CORETYPE": name} for name in ("SkylakeX", "Haswell", "Sandybridge", "Nehalem")},
    "bodies in the opposite order": {"BACKWARDS": "1"},
}
FIT = """
import json, os, sys
import numpy, condyle
found = {}
for file in sys.argv[1:]:
    take = condyle.read(file)
    take = take.select(take.names[::-1]) if "BACKWARDS" in os.environ else take
    skeleton = condyle.fit(take).skeleton
    joints = [[one.parent, one.child, one.kind, *one.p_parent_joint, *one.p_child_joint] for one in skeleton.joints]
    joints.sort(key=lambda joint: joint[1])
    found[file] = {"joints": joints, "codes": sorted(one.code for one in skeleton.findings)}
print(json.dumps({"python": sys.version.split()[0], "numpy": numpy.__version__, "found": found}))
"""


def write_takes(folder: Path, seeds: int) -> list[str]:
    noise = Disturbances(position_noise=0.002, orientation_noise=0.005)
    rough = Disturbances(position_noise=0.003, orientation_noise=0.01, missing=0.03)
    files = []
    for seed in range(seeds):
        for name, figure, how in (("chain", chain(), noise), ("linkage", linkage(), rough), ("human", human(), rough)):
            files.append(str(folder / f"{name}{seed}.npz"))
            condyle.write_take(files[-1], simulate(figure, seconds=8, rate=60, seed=seed, disturbances=how).take)
    return files


def make_environment(place: Path, python: str, numpy: str) -> Path | str:
    """Its program, or why there is none."""
    needs = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]
    if numpy:
        needs = [*(one for one in needs if not one.startswith("numpy")), f"numpy=={numpy}"]
    program = place / "bin" / "python"
    for words in (["venv", "--python", python, str(place)], ["pip", "install", "--python", str(program), *needs]):
        done = subprocess.run(["uv", *words, "--quiet"], capture_output=True, text=True, check=False)
        if done.returncode:
            return (done.stderr.strip().splitlines() or ["no reason was given"])[-1]
    return program


def fit_in(program: str | Path, files: list[str], **others: str) -> dict[str, Any]:
    paths = {**os.environ, "PYTHONPATH": str(PROJECT / "src"), "OPENBLAS_NUM_THREADS": "1", **others}
    done = subprocess.run([str(program), "-c", FIT, *files], capture_output=True, text=True, env=paths, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def compare(here: dict[str, Any], there: dict[str, Any]) -> tuple[float, int, int]:
    """Largest distance [m] of a joint, takes with another tree or kinds, and takes with other findings."""
    most, trees, told = 0.0, 0, 0
    for file, one in here["found"].items():
        other = there["found"][file]
        told += one["codes"] != other["codes"]
        if [joint[:3] for joint in one["joints"]] != [joint[:3] for joint in other["joints"]]:
            trees += 1
            continue
        places = [np.array([joint[3:] for joint in each["joints"]], float) for each in (one, other)]
        most = max(most, float(np.nanmax(np.abs(places[0] - places[1]))))
    return most, trees, told


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--trials", type=int, default=4, help="seeds of each of three figures (4)")
    parser.add_argument("--only", default="", help="a version of Python; nothing is written")
    given = parser.parse_args()
    rows, same, failed = list[Sequence[str]](), list[Sequence[str]](), False
    data: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        files = write_takes(Path(place), given.trials)
        here = fit_in(sys.executable, files)
        for k, (python, numpy) in enumerate(ENVIRONMENTS):
            if given.only not in python:
                continue
            program = make_environment(Path(place) / f"env{k}", python, numpy)
            if isinstance(program, str):
                rows.append([python, numpy or "newest", "-", program, "", ""])
                continue
            there = fit_in(program, files)
            most, trees, told = compare(here, there)
            failed |= most > SAME_M or trees > 0 or told > 0
            rows.append([there["python"], there["numpy"], str(len(files)), f"{most:.1e}", str(trees), str(told)])
            data[f"{there['python']} {there['numpy']}"] = {"most_m": most, "trees": trees, "findings": told}
            progress(" | ".join(rows[-1]))

        for name, others in OTHERWISE.items():
            most, trees, told = compare(here, fit_in(sys.executable, files, **others))
            failed |= most > SAME_HERE_M or trees > 0 or told > 0
            same.append([name, str(len(files)), f"{most:.1e}", str(trees), str(told)])
            data[name] = {"most_m": most, "trees": trees, "findings": told}
            progress(" | ".join(same[-1]))
    heads = ["takes", "farthest joint m", "other trees", "other findings"]
    tables = {"Versions": Table(["Python", "numpy", *heads], rows), "Here": Table(["with", *heads], same)}
    how = " ".join((__doc__ or "").split()) + f" Here: Python {here['python']}, numpy {here['numpy']}."
    publish("environments", "Other versions of numpy and Python", how, tables, data, given)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
