"""Speed and memory, as ratios taken side by side in one run: CPU time, one thread, the least of five.

The rival is what one would write first: one `numpy.linalg.lstsq` for every pair of bodies, then scipy's spanning
tree over the residuals. Where that takes minutes, a sample of the pairs is timed and scaled up; the table says so.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree

import condyle
from condyle.maths.graph import spanning_tree
from condyle.model.take import Take
from condyle.pairs.digest import forget_digests
from condyle.pairs.fits import PairFits, all_pairs, fit_pairs, refine_pairs
from condyle.pairs.sums import forget_stacks, sum_pairs
from condyle.simulate import SimulatedFigure, World, simulate

from .bound import noise
from .harness import RESULTS, Table, arguments, known_tree, progress, publish

SAMPLE = 60  # pairs timed where all of them would take minutes
SCORE_SAMPLE = 4
KINDS: dict[str, dict[str, float]] = {
    "clean": {},
    "dirty": {"missing": 0.02, "missing_run": 0.001, "spikes": 0.002},  # single samples lost, and spikes of 10 cm
    "soft": {"soft_tissue": 0.005},  # m of skin
}
WHOLE_FITS = ((16, 45, 120.0, "clean"), (16, 45, 120.0, "dirty"), (16, 45, 120.0, "soft"))
LARGE_FITS = ((64, 60, 240.0, "clean"), (64, 60, 240.0, "dirty"), (500, 10, 120.0, "clean"))
STARTED_HZ, QUICK = (30.0, 120.0), "--method least-squares --no-intervals"
LOW_HZ, HIGH_HZ = 60.0, 480.0
BIOBUDDY = "0.3.2"
MALLOC_TRIM_THRESHOLD, MALLOC_MMAP_THRESHOLD = -1, -3  # M_... of malloc.h


def branching(bodies: int) -> SimulatedFigure:
    """Every body has two children 0.3 m away, so that a figure of any size fits into a room."""
    rng = np.random.default_rng(bodies)
    step = rng.standard_normal((bodies, 3))
    step *= 0.3 / np.linalg.norm(step, axis=1, keepdims=True)
    step[0] = 0
    names = tuple(f"body{k:03d}" for k in range(bodies))
    kinds = ("ball",) * bodies
    return SimulatedFigure(names, (np.arange(bodies) + 1) // 2 - 1, step, kinds, np.full((bodies, 3), np.nan))  # type: ignore[arg-type]


def recording(bodies: int, seconds: float, rate: float, seed: int, kind: str = "clean") -> World:
    spoilt = noise(0.3, 0.5, **KINDS[kind])
    return simulate(branching(bodies), "walk", seconds=seconds, rate=rate, seed=seed, disturbances=spoilt)


def least_time(call: Callable[[], object], times: int = 5) -> float:
    """Least CPU seconds of `call`."""
    spent = []
    for _ in range(times):
        forget_stacks()
        forget_digests()
        gc.collect()
        begin = time.process_time()
        call()
        spent.append(time.process_time() - begin)
    return min(spent)


def least_times(calls: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Least CPU seconds of each call, taken in turn, so that a machine that is busy for a while is so for all."""
    spent = [[least_time(call, 1) for call in calls] for _ in range(rounds)]
    return [min(one) for one in zip(*spent, strict=True)]


def keep_memory() -> None:
    """Freed memory stays with the process, where the C library can be told so: else what the machine takes back in
    between, and hands out again page by page, is a tenth of a time.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        for option in (MALLOC_MMAP_THRESHOLD, MALLOC_TRIM_THRESHOLD):
            mallopt(option, 2**30)


def whole_fits(seed: int) -> list[list[str]]:
    """`fit` as people call it, intervals and checks and all, against one lstsq per pair in the same rounds."""
    rows = [whole_fit(*one, seed)[1] for one in (*WHOLE_FITS, *LARGE_FITS)]
    low, high = (recording(16, 45, rate, seed).take for rate in (LOW_HZ, HIGH_HZ))
    slow, fast = least_times([lambda: condyle.fit(low), lambda: condyle.fit(high)], 5)
    what = f"16 bodies x 45 s, CPU time at {HIGH_HZ:g} Hz over that at {LOW_HZ:g} Hz"
    rows.append([what, f"{fast / slow:.2f}", f"{fast * 1e3:.0f} ms against {slow * 1e3:.0f} ms"])
    progress(" | ".join(rows[-1]))
    return rows


def whole_fit(
    bodies: int, seconds: float, rate: float, kind: str, seed: int, rounds: int = 5
) -> tuple[float, list[str]]:
    """How many times faster `fit` is than one lstsq per pair, and that as a row."""
    keep_memory()
    take = recording(bodies, seconds, rate, seed, kind).take
    pairs = all_pairs(bodies)
    whole = len(pairs) <= 4 * SAMPLE
    some = pairs if whole else pairs[np.random.default_rng(0).choice(len(pairs), SAMPLE, replace=False)]
    mine, theirs = least_times([lambda: condyle.fit(take), lambda: lstsq_all(take, some)], rounds if whole else 2)
    theirs *= len(pairs) / len(some)
    what = f"{bodies} bodies x {seconds:g} s x {rate:g} Hz, {kind}"
    row = _row(what, theirs / mine, f"{mine:.3g} s against {theirs:.3g} s", whole)
    progress(" | ".join(row))
    return theirs / mine, row


def recorded_ratio(bodies: int, seconds: float, rate: float, kind: str) -> float:
    """The ratio of `whole_fit` that stands in the results."""
    what = f"{bodies} bodies x {seconds:g} s x {rate:g} Hz, {kind}"
    rows = json.loads((RESULTS / "speed.json").read_text())["results"]["The whole fit"]
    return float(next(row[1] for row in rows if row[0] == what).split()[0])


def least_squares(take: Take) -> PairFits:
    """All pairs, spanning tree, joints of the tree corrected on the rows."""
    fits = fit_pairs(sum_pairs(take))
    edges = spanning_tree(take.bodies, fits.pairs, fits.residual, take.names)
    return refine_pairs(take, PairFits(**{one.name: getattr(fits, one.name)[edges] for one in fields(fits)}))


def lstsq_pair(take: Take, i: int, j: int) -> tuple[np.ndarray, float]:
    """Both halves of the joint of a pair (6,) [m], and its residual."""
    R, p = take.R_world_body, take.p_world_body
    A, d = np.concatenate([R[:, i], -R[:, j]], axis=2).reshape(-1, 6), (p[:, j] - p[:, i]).ravel()
    if not take.seen.all():
        known = np.isfinite(d)
        A, d = A[known], d[known]
    u, square, *_ = np.linalg.lstsq(A, d, rcond=None)
    return u, float(np.sqrt(square[0] / (len(d) / 3))) if len(square) else 0.0


def lstsq_all(take: Take, pairs: np.ndarray) -> list[tuple[np.ndarray, float]]:
    return [lstsq_pair(take, i, j) for i, j in pairs]


def scipy_tree(bodies: int, pairs: np.ndarray, residual: np.ndarray) -> Any:
    return minimum_spanning_tree(coo_array((residual, (pairs[:, 0], pairs[:, 1])), shape=(bodies, bodies)))


def rival_time(take: Take, times: int = 5) -> tuple[float, bool]:
    """CPU seconds of one lstsq per pair and the spanning tree, and whether all pairs were timed."""
    pairs = all_pairs(take.bodies)
    whole = len(pairs) <= 4 * SAMPLE
    rows = np.arange(len(pairs)) if whole else np.random.default_rng(0).choice(len(pairs), SAMPLE, replace=False)
    spent = least_time(lambda: lstsq_all(take, pairs[rows]), times) * len(pairs) / len(rows)
    residual = fit_pairs(sum_pairs(take)).residual
    return spent + least_time(lambda: scipy_tree(take.bodies, pairs, residual), times), whole


def speeds(seed: int) -> list[list[str]]:
    rows = []
    for bodies, seconds, rate in ((16, 45, 120.0), (64, 60, 240.0), (500, 10, 120.0)):
        take = recording(bodies, seconds, rate, seed).take
        mine = least_time(lambda: least_squares(take))  # noqa: B023
        theirs, whole = rival_time(take)
        what = f"least squares, unknown tree, {bodies} bodies x {seconds} s x {rate:g} Hz, against one lstsq per pair"
        rows.append(_row(what, theirs / mine, f"{mine * 1e3:.1f} ms against {theirs:.3g} s", whole))
        progress(" | ".join(rows[-1]))
        if bodies == 16:
            rows += first_take(take, mine, theirs, seed)
    return rows


def first_take(take: Take, mine: float, theirs: float, seed: int) -> list[list[str]]:
    """What is compared on 16 bodies x 45 s x 120 Hz."""
    rows = []
    score = score_time(take)
    if score is None:
        rows.append(["the same against BioBuddy's SCoRE on every pair", "not measured", "no environment for it"])
    else:
        what = f"the same against BioBuddy {BIOBUDDY} SCoRE on every pair"
        rows.append(_row(what, score / mine, f"{mine * 1e3:.1f} ms against {score:.3g} s", False, SCORE_SAMPLE))
    tree = known_tree(recording(16, 1, 120.0, seed).truth)
    for method, times in (("least-squares", 5),):
        full = least_time(lambda: condyle.fit(take, plan=method), times)  # noqa: B023
        known = least_time(lambda: condyle.fit(take, plan=method, tree=tree), times)  # noqa: B023
        amounts = f"{full * 1e3:.0f} ms against {theirs:.3g} s"
        rows.append(_row(f"`fit(plan='{method}')` with intervals, against one lstsq per pair", theirs / full, amounts))
        amounts = f"{full * 1e3:.0f} ms against {known * 1e3:.0f} ms"
        rows.append([f"`fit(plan='{method}')`: unknown over known tree", f"{full / known:.2f}", amounts])
        for row in rows[-2:]:
            progress(" | ".join(row))
    edges = lstsq_edges(take, tree)
    what = "least squares, unknown tree, over one lstsq per edge of a known tree"
    rows.append([what, f"{mine / edges:.2f}", f"{mine * 1e3:.1f} ms against {edges * 1e3:.1f} ms"])
    return rows


def lstsq_edges(take: Take, tree: Sequence[tuple[str, str]]) -> float:
    pairs = np.array([(take.index(child), take.index(parent)) for parent, child in tree])
    return least_time(lambda: lstsq_all(take, pairs))


def _row(what: str, ratio: float, amounts: str, whole: bool = True, sample: int = SAMPLE) -> list[str]:
    return [what, f"{ratio:.3g} times faster", amounts + ("" if whole else f" (scaled from {sample} pairs)")]


def score_time(take: Take) -> float | None:
    """CPU seconds of BioBuddy's SCoRE on every pair, scaled from a few; None where it cannot be installed."""
    python = biobuddy_python()
    if python is None:
        return None
    pairs = all_pairs(take.bodies)
    asked = [f"{i}:{j}" for i, j in pairs[np.linspace(0, len(pairs) - 1, SCORE_SAMPLE).astype(int)]]
    with tempfile.TemporaryDirectory() as folder:
        poses = Path(folder) / "poses.npz"
        np.savez(poses, R_world_body=take.R_world_body, p_world_body=take.p_world_body)
        script = Path(__file__).with_name("score_pairs.py")
        least = np.full(SCORE_SAMPLE, np.inf)
        for _ in range(2):
            out = subprocess.run([python, script, poses, *asked], capture_output=True, text=True, check=True).stdout
            least = np.minimum(least, [pair["seconds"] for pair in json.loads(out)])
    return float(least.mean() * len(pairs))


def biobuddy_python() -> Path | None:
    """The interpreter of an environment that holds BioBuddy and nothing of ours; made by uv where it is missing."""
    home = Path(tempfile.gettempdir()) / f"condyle-biobuddy-{BIOBUDDY}"
    python = home / "bin" / "python"
    if python.exists():
        return python
    uv = shutil.which("uv")
    if uv is None:
        return None
    wanted = ["pip", "install", "-q", "--python", str(python), f"biobuddy=={BIOBUDDY}", "matplotlib"]
    for command in (["venv", "-q", str(home)], wanted):
        if subprocess.run([uv, *command], check=False).returncode:
            shutil.rmtree(home, ignore_errors=True)
            return None
    return python


def memory(seed: int) -> list[list[str]]:
    """Most memory that `sum_pairs` holds beyond the take."""
    rows = []
    for bodies, seconds in ((16, 45), (16, 180), (64, 15), (64, 60)):
        take = recording(bodies, seconds, 120.0, seed).take
        _ = take.seen
        tracemalloc.start()
        sum_pairs(take)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append([f"{bodies} bodies, {take.frames} frames", f"{peak / 1e6:.1f} MB"])
    return rows


def fit_memory(seed: int) -> list[list[str]]:
    """Most memory that `fit` holds beyond the take, and what is still held when it is done."""
    rows = []
    for bodies, seconds in ((16, 60), (16, 600), (64, 600)):
        take = recording(bodies, seconds, 120.0, seed).take
        size = take.R_world_body.nbytes + take.p_world_body.nbytes
        tracemalloc.start()
        kept = condyle.fit(take)
        held, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        del kept
        what = f"{bodies} bodies x {seconds} s x 120 Hz, {size / 1e6:.0f} MB"
        rows.append([what, f"{peak / 1e6:.0f} MB", f"{held / 1e6:.0f} MB"])
        progress(" | ".join(rows[-1]))
    return rows


def exactness(seed: int, seconds: float = 45.0) -> list[list[str]]:
    """Centres of the tree's joints against a reference in extended precision, near the origin and 1 km away."""
    rows = []
    for label, shake in (("exact poses", noise(0, 0)), ("0.3 cm, 0.5 deg", noise(0.3, 0.5))):
        for away in (0.0, 1000.0):
            take = simulate(branching(16), "walk", seconds=seconds, rate=120.0, seed=seed, disturbances=shake).take
            take = replace(take, p_world_body=take.p_world_body + [away, 0, 0])
            fits = least_squares(take)
            kept = fits.singular_values[:, -1] >= 1e-2 * fits.singular_values[:, 0]
            mine = np.concatenate([fits.p_child_joint, fits.p_parent_joint], axis=1)[kept]
            true = np.stack([reference(take, i, j) for i, j in fits.pairs[kept]])
            plain = np.stack([lstsq_pair(take, i, j)[0] for i, j in fits.pairs[kept]])
            ours, theirs = (float(np.abs(found - true).max()) for found in (mine, plain))
            rows.append([f"{label}, {away:g} m from the origin", f"{ours:.1e} m", f"{theirs:.1e} m", str(kept.sum())])
    return rows


def reference(take: Take, i: int, j: int) -> np.ndarray:
    """The least-squares joint (6,) [m] of a pair: normal equations in extended precision, corrected until they hold."""
    wide = np.longdouble
    A = np.concatenate([take.R_world_body[:, i], -take.R_world_body[:, j]], axis=2).reshape(-1, 6).astype(wide)
    d = (take.p_world_body[:, j].astype(wide) - take.p_world_body[:, i].astype(wide)).ravel()
    inverse = np.linalg.inv((A.T @ A).astype(np.float64)).astype(wide)
    u = np.zeros(6, wide)
    for _ in range(8):
        u = u + inverse @ (A.T @ (d - A @ u))
    return u


def command_line(seed: int) -> list[list[str]]:
    """`condyle fit take.csv` against an interpreter that only imports numpy; CPU of the whole process."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for rate in STARTED_HZ:
            for options in (QUICK, "-o out"):
                bare, mine, size = start_times(Path(folder), rate, options, seed)
                rows = rows or [["`python -c 'import numpy'`", f"{bare * 1e3:.0f} ms", "1"]]
                rows.append([f"{_describe_start(rate, options)} ({size:.1f} MB)", f"{mine * 1e3:.0f} ms"])
                rows[-1].append(f"{mine / bare:.2f}")
                progress(" | ".join(rows[-1]))
    return rows


def start_times(folder: Path, rate: float, options: str, seed: int, rounds: int = 5) -> tuple[float, float, float]:
    """CPU time [s] of `import numpy` and, in turn with it, of the installed program; and the size of its file [MB]."""
    path = folder / f"take{rate:g}.csv"
    if not path.exists():
        condyle.write_take(path, recording(16, 45, rate, seed).take)
    program = [sys.executable, str(Path(sys.executable).with_name("condyle")), "fit", str(path)]
    commands = [
        [sys.executable, "-c", "import numpy"],
        [*program, *options.replace("out", str(folder / "out")).split()],
    ]
    spent = [[_process_time(command, str(folder)) for command in commands] for _ in range(rounds + 1)]
    bare, mine = (min(times) for times in zip(*spent[1:], strict=True))  # the first compiles the modules
    return bare, mine, path.stat().st_size / 1e6


def _describe_start(rate: float, options: str) -> str:
    return f"`condyle fit take.csv {options}`, 16 bodies x 45 s x {rate:g} Hz"


def recorded_start(rate: float, options: str) -> float:
    """The program's time over that of `import numpy`, as it stands in the results."""
    rows = json.loads((RESULTS / "speed.json").read_text())["results"]["Command line"]
    return float(next(row[2] for row in rows if row[0].startswith(_describe_start(rate, options))))


def _process_time(command: Sequence[str], compiled: str) -> float:
    """CPU time [s] of a process. Modules are compiled once, into the folder `compiled`, as they are by an install."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env, check=False)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    given = arguments(__doc__, trials=5)
    parts: dict[str, tuple[list[str], Callable[[int], list[list[str]]]]] = {
        "The whole fit": (["take", "against one lstsq per pair", "CPU times"], whole_fits),
        "Speed": (["what", "ratio", "CPU times"], speeds),
        "Extra memory of the sums": (["take", "peak"], memory),
        "Extra memory of the whole fit": (["take", "peak", "held afterwards"], fit_memory),
        "Centres against extended precision, largest error": (["poses", "condyle", "lstsq", "joints"], exactness),
        "Command line": (["process", "CPU time", "ratio"], command_line),
    }
    tables = {
        caption: Table(heads, part(given.seed)) for caption, (heads, part) in parts.items() if given.only in caption
    }
    how = (
        "CPU time, one thread, least of five. Ratios are between runs in one process, minutes apart at most; freed "
        "memory stays with the process."
    )
    data = {caption: [list(row) for row in table.rows] for caption, table in tables.items()}
    publish("speed", "Speed and memory", how, tables, data, given)


if __name__ == "__main__":
    main()
