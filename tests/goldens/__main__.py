"""Writes the table anew: `uv run python -m tests.goldens`, from the project's folder.

Every take is fitted as it is, with the kernels of other processors, and after changes of its poses in their last
digit; what the results moved by fixes the tolerances. `--only TEXT` renews the takes whose name contains the text; it
may be given several times.
"""

from __future__ import annotations

import argparse
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

import condyle  # noqa: E402
from tests.goldens import table  # noqa: E402
from tests.goldens.cases import cases  # noqa: E402
from tests.goldens.fitting import fit_take  # noqa: E402
from tests.make import PROJECT, recordings  # noqa: E402

JITTERS = (1, 2, 3)
ABOUT = (
    "Results of condyle on takes of tests/goldens/cases.py; `uv run python -m tests.goldens` writes this file, and "
    "tests/goldens/test_goldens.py compares with it. A line is a row: its key, its fields in the order of columns, "
    "and last, where it has them, its own tolerances. Without them the floors of tests/goldens/table.py hold: 1e-12 m "
    "for places and lengths. A tolerance of its own is 100 times what the field moved by over these runs: the kernels "
    "of other processors, as OPENBLAS_CORETYPE and NPY_DISABLE_CPU_FEATURES choose them, and the poses changed in "
    "their last digit. null: it is not compared, because it became another word or count, or moved by a hundredth of "
    "itself. A key alone: the row was not there in every run."
)


def processors() -> dict[str, dict[str, str]]:
    """What to set so that this machine computes as others do."""
    from numpy._core import _multiarray_umath as core

    there = [name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]]
    no_512 = " ".join(name for name in there if "512" in name or name == "X86_V4")
    return {
        "Haswell, numpy without AVX-512": {"OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": no_512},
        "Zen": {"OPENBLAS_CORETYPE": "Zen"},
        "SkylakeX": {"OPENBLAS_CORETYPE": "SkylakeX"},
        "Sandybridge, numpy's baseline": {
            "OPENBLAS_CORETYPE": "Sandybridge",
            "NPY_DISABLE_CPU_FEATURES": " ".join(there),
        },
        "Nehalem, numpy's baseline": {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": " ".join(there)},
    }


def run(only: Sequence[str], jitter: int | None) -> dict[str, table.Rows]:
    return {
        name: table.rows_of(fit_take(case, jitter))
        for name, case in cases().items()
        if any(text in name for text in only)
    }


def run_elsewhere(what: str, only: Sequence[str], env: dict[str, str], jitter: int | None) -> dict[str, table.Rows]:
    """`run` in a process of its own."""
    begin = time.perf_counter()
    with TemporaryDirectory() as folder:
        out = Path(folder) / "rows"
        words = [sys.executable, "-m", "tests.goldens", *(f"--only={text}" for text in only), "--rows", str(out)]
        words += [] if jitter is None else ["--jitter", str(jitter)]
        subprocess.run(words, check=True, env=os.environ | env, cwd=PROJECT)
        found: dict[str, table.Rows] = pickle.loads(out.read_bytes())
    print(f"{what}: {len(found)} takes in {time.perf_counter() - begin:.0f} s", flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="TEXT", help="renew the takes whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--rows", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--jitter", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.only = given.only or [""]
    if given.rows:
        given.rows.write_bytes(pickle.dumps(run(given.only, given.jitter)))
        return
    if not recordings.DATA.is_dir():
        parser.error(recordings.ABSENT)
    runs = [("as it is", {}, None), *((name, env, None) for name, env in processors().items())]
    runs += [(f"poses changed in their last digit, {seed}", {}, seed) for seed in JITTERS]
    with ThreadPoolExecutor(given.jobs) as pool:
        found = list(pool.map(lambda one: run_elsewhere(one[0], given.only, one[1], one[2]), runs))
    renewed = {name: table.settle(rows[name] for rows in found) for name in found[0]}
    about = {
        "about": ABOUT,
        "runs": [name for name, _, _ in runs],
        "versions": {"condyle": condyle.__version__, "numpy": np.__version__},
    }
    for file in table.FILES:
        kept = {name: golden for name, golden in table.read_table(file).items() if name in cases()}
        own = {name for name, case in cases().items() if bool(case.files) == (file == "recorded")}
        table.write_table(file, {**kept, **{name: renewed[name] for name in own & renewed.keys()}}, about)
    for field, counts in table.count_tolerances(renewed.values()).items():
        print(field, dict(sorted(counts.items())))


main()
