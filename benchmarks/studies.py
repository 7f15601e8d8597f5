"""Is every take of a study done once, whatever is killed meanwhile, and what does a study cost beside its fits?

Takes are recordings of a linkage, simulated. `condyle batch` runs over them in a process of its own while processes are
killed (KILL) at random moments: one that is at a take, the one that leads them, or a worker of a Dask cluster, which is
a scheduler and two workers of their own. Who was killed is started again. Which takes were begun is told by the files
that were opened, seen from outside of condyle. At the end the folder is compared with that of an undisturbed run.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import condyle
from condyle.simulate import Disturbances, linkage, simulate

from .harness import FIRST_SEED, Table, progress, publish

WORKERS = 2
KILLS, KILLS_DASK = 30, 15  # in each study, of which every third is of the one that leads
ORPHANS_MAX_S = 10.0  # s in which processes are gone when the one that leads them is
LOOPBACK = "127.0.0.1"  # where the cluster listens: nothing of it leaves this machine
LONGEST_WAIT_S = 3600.0  # for a study that nobody disturbs, on a busy machine
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER of Linux's prctl: their CPU time counts as that of children
# Every process writes down which recording it opens, and when: one line of at most 4 KiB, which no other one breaks.
OPENED = """
import os, sys
_log = os.open(os.environ["CONDYLE_BENCH_OPENED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def _note(event, args):
    if event == "open" and isinstance(args[0], (str, os.PathLike)):
        path = os.fspath(args[0])
        if isinstance(path, str) and os.path.dirname(path) == os.environ["CONDYLE_BENCH_TAKES"]:
            os.write(_log, f"{os.getpid()} {os.path.basename(path)}\\n".encode())
sys.addaudithook(_note)
"""


@dataclass
class Killed:
    """What came of a study that was disturbed.

    kills       {who: how often}
    running     takes that can have been running when something was killed
    begun       how often a take was begun
    lines       lines of the ledger that say of one take that it is done: the most
    orphans_s   [s] the longest that a process outlived the one that led it; None: a cluster's workers are to do so
    same        the folder is that of an undisturbed run, but for the ledger
    """

    kills: Counter[str] = field(default_factory=Counter)
    running: int = 0
    begun: int = 0
    lines: int = 0
    orphans_s: float | None = None
    same: bool = False
    takes: int = 0


class Bench:
    """Takes in a folder, and the study of them that nobody disturbed."""

    def __init__(self, home: Path, takes: int, seed: int) -> None:
        self.home, self.takes = home, home / "takes"
        self.takes.mkdir()
        (home / "site").mkdir()
        (home / "site" / "sitecustomize.py").write_text(OPENED)
        noise = Disturbances(position_noise=0.002, orientation_noise=0.005)
        for k in range(takes):
            take = simulate(linkage(), seconds=5, rate=30, seed=seed + k, disturbances=noise).take
            condyle.write_take(self.takes / f"take{k:04}.npz", take.select(take.names[:5]))

    def start(self, out: Path, *words: str) -> subprocess.Popen[bytes]:
        command = ["batch", str(self.takes), "-o", str(out), "--workers", str(WORKERS), *words]
        if "--cluster" in words:
            del command[4:6]
        return self.spawn("-m", "condyle", *command)

    def spawn(self, *words: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join([str(self.home / "site"), *sys.path[1:]]),
            "CONDYLE_BENCH_OPENED": str(self.home / "opened"),
            "CONDYLE_BENCH_TAKES": str(self.takes),
        }
        with (self.home / "errors").open("ab") as errors:
            return subprocess.Popen(
                [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=errors, env=environment, cwd=self.home
            )

    def run(self, out: Path, *words: str) -> None:
        with self.start(out, *words) as process:
            assert process.wait(LONGEST_WAIT_S) == 0, (self.home / "errors").read_text()

    def begun(self, leaders: set[int]) -> list[str]:
        """Takes that were begun, by others than those that lead; a take is opened several times in a row."""
        last: dict[str, str] = {}
        found = []
        for line in (self.home / "opened").read_text().splitlines():
            process, name = line.split()
            if int(process) not in leaders and last.get(process) != name:
                found.append(name)
            last[process] = name
        return found

    def disturb(self, out: Path, reference: Path, kills: int, rng: random.Random, *words: str) -> Killed:
        """A study by processes of this machine, of which some are killed, and now and then the one that leads them."""
        ended, leaders = Killed(takes=len(list(self.takes.iterdir()))), set[int]()
        (self.home / "opened").write_bytes(b"")
        step = max(1, ended.takes // (kills + 1))
        process = self.start(out, *words)
        leaders.add(process.pid)
        for k in range(kills):
            wait_for_lines(out, step * (k + 1) - rng.randrange(step), process)
            time.sleep(rng.uniform(0, 0.2))
            workers = find_workers(process.pid)
            if process.poll() is not None:
                break
            if k % 3 == 2 or not workers:
                process.kill()
                process.wait()
                ended.kills["the one that leads"] += 1
                ended.running += WORKERS
                ended.orphans_s = max(ended.orphans_s or 0.0, wait_for_end(workers))
                process = self.start(out, *words)
                leaders.add(process.pid)
            else:
                kill(rng.choice(workers))
                ended.kills["one at a take"] += 1
                ended.running += 1
        if process.wait(LONGEST_WAIT_S) != 0:  # a take whose process was killed twice is blamed
            process = self.start(out, *words)
            leaders.add(process.pid)
            assert process.wait(LONGEST_WAIT_S) == 0, (self.home / "errors").read_text()
        return self.judge(ended, out, reference, leaders)

    def disturb_cluster(self, out: Path, reference: Path, kills: int, rng: random.Random, *words: str) -> Killed:
        """The same by a Dask cluster, of which workers are killed, and now and then the client."""
        ended = Killed(takes=len(list(self.takes.iterdir())))
        (self.home / "opened").write_bytes(b"")
        place = self.home / "scheduler.json"
        ports = ("--host", LOOPBACK, "--port", "0", "--no-dashboard", "--scheduler-file", str(place))
        scheduler = self.spawn("-m", "distributed.cli.dask_scheduler", *ports)
        until = time.monotonic() + LONGEST_WAIT_S
        while not place.exists() and time.monotonic() < until:
            time.sleep(0.1)
        address = json.loads(place.read_text())["address"]
        workers = [self.start_worker(address) for _ in range(WORKERS)]
        process = self.start(out, "--cluster", address, *words)
        leaders = {process.pid, scheduler.pid}
        step = max(1, ended.takes // (kills + 1))
        try:
            for k in range(kills):
                wait_for_lines(out, step * (k + 1) - rng.randrange(step), process)
                if process.poll() is not None:
                    break
                if k % 3 == 2:
                    process.kill()
                    process.wait()
                    ended.kills["the one that leads"] += 1
                    ended.running += WORKERS
                    process = self.start(out, "--cluster", address, *words)
                    leaders.add(process.pid)
                else:
                    victim = workers.pop(rng.randrange(len(workers)))
                    victim.kill()
                    victim.wait()
                    ended.kills["a worker of Dask"] += 1
                    ended.running += 2  # the one at work, and one that is done and was not yet fetched
                    workers.append(self.start_worker(address))
            assert process.wait(LONGEST_WAIT_S) == 0, (self.home / "errors").read_text()
        finally:
            for one in (*workers, scheduler):
                one.kill()
                one.wait()
            place.unlink(missing_ok=True)
        return self.judge(ended, out, reference, leaders)

    def start_worker(self, address: str) -> subprocess.Popen[bytes]:
        words = (
            "--host",
            LOOPBACK,
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--local-directory",
            str(self.home / "dask"),
        )
        return self.spawn("-m", "distributed.cli.dask_worker", address, *words)

    def judge(self, ended: Killed, out: Path, reference: Path, leaders: set[int]) -> Killed:
        records = [json.loads(line) for line in (out / "ledger.jsonl").read_text().splitlines()]
        ended.lines = max(Counter(record["take"] for record in records if record["state"] == "done").values())
        ended.begun = len(self.begun(leaders))
        ended.same = contents(out) == contents(reference)
        return ended


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a study but the ledger."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "ledger.jsonl"
    }


def count_lines(out: Path) -> int:
    try:
        return (out / "ledger.jsonl").read_bytes().count(b"\n")
    except OSError:
        return 0


def wait_for_lines(out: Path, lines: int, process: subprocess.Popen[bytes]) -> None:
    """Until the ledger has so many lines, or the process has ended."""
    until = time.monotonic() + LONGEST_WAIT_S
    while count_lines(out) < lines and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)


def find_children(process: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{process}/task").iterdir()
        return [int(word) for task in tasks for word in (task / "children").read_text().split()]
    except OSError:
        return []


def find_workers(process: int) -> list[int]:
    """Processes that fit takes: the children of the one that forks them, which is a child of the one that leads."""
    return [worker for child in find_children(process) for worker in find_children(child)]


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def wait_for_end(processes: list[int]) -> float:
    """[s] until none of them is there; infinite where one stays."""
    begin = time.monotonic()
    while any(map(is_alive, processes)):
        if time.monotonic() - begin > 3 * ORPHANS_MAX_S:
            return float("inf")
        time.sleep(0.01)
    return time.monotonic() - begin


ALONE = """
import resource, sys, time
from pathlib import Path
import condyle
files, out = sorted(Path(sys.argv[1]).iterdir()), Path(sys.argv[2])
condyle.fit(files[0]).save(out / "first")
begin = time.process_time()
for file in files:
    condyle.fit(file).save(out / file.stem)
print(time.process_time() - begin)
"""


def measure_cost(bench: Bench, home: Path) -> dict[str, float]:
    """CPU time [s] of a study and of the same fits one after the other, side by side, on a machine as busy for both.

    Also how busy the processes were, and the most memory [MB] of the process that leads and of the others, in the first
    and the last quarter of the study.
    """
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    alone = subprocess.Popen(
        [sys.executable, "-c", ALONE, str(bench.takes), str(home / "alone")],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    takes = len(list(bench.takes.iterdir()))
    out = home / "cost"
    begin, wall = _cpu_of_ended(), time.monotonic()
    study = bench.start(out)
    memory: dict[str, float] = Counter()
    while study.poll() is None:
        quarter = 4 * count_lines(out) // takes
        for who, processes in (("leads", [study.pid]), ("fits", find_workers(study.pid))):
            for process in processes:
                if quarter in (0, 3):
                    key = f"{who}, {'first' if quarter == 0 else 'last'} quarter, MB"
                    memory[key] = max(memory[key], _memory(process))
        time.sleep(0.1)
    wall = time.monotonic() - wall
    _wait_for_adopted(alone.pid)
    spent = _cpu_of_ended() - begin
    told, _ = alone.communicate(timeout=LONGEST_WAIT_S)
    records = [json.loads(line) for line in (out / "ledger.jsonl").read_text().splitlines()]
    return {
        "takes": takes,
        "study, CPU s": spent,
        "fits alone, CPU s": float(told),
        "ratio": spent / float(told),
        "beside the fit, CPU ms a take": 1000 * (spent - float(told)) / takes,
        "busy, share": sum(record["wall"] for record in records) / (WORKERS * wall),
        **memory,
    }


def _cpu_of_ended() -> float:
    """CPU time [s] of children that have ended, and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait_for_adopted(alone: int) -> None:
    """Ends when no child but the one named is left."""
    while [child for child in find_children(os.getpid()) if child != alone]:
        for child in find_children(os.getpid()):
            if child != alone:
                os.waitpid(child, 0)


def _memory(process: int) -> float:
    """[MB] of memory that is its own, not shared with the one that it was forked from."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private")) / 1000


def table(trials: dict[str, Killed]) -> Table:
    heads = [
        "study by",
        "takes",
        "killed",
        "begun",
        "most that may",
        "done lines of one take",
        "orphans, s",
        "same folder",
    ]
    rows = []
    for name, one in trials.items():
        kills = ", ".join(f"{who} {count}" for who, count in one.kills.items())
        most = one.takes + one.running
        rows.append(
            [
                name,
                str(one.takes),
                kills,
                str(one.begun),
                str(most),
                str(one.lines),
                "-" if one.orphans_s is None else f"{one.orphans_s:.2f}",
            ]
            + ["yes" if one.same else "no"]
        )
    return Table(heads, rows)


def measure_kills(takes: int, kills: int, seed: int, *, cluster: bool) -> Killed:
    """A study that is disturbed; without intervals and pages, since only who does a take matters."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        home, rng = Path(place), random.Random(seed)
        bench, reference = Bench(home, takes, seed), home / "reference" / "study"
        (home / "quick.toml").write_text("intervals = false\n")
        words = ("--no-report", "--config", str(home / "quick.toml"))
        bench.run(reference, *words)
        disturb = bench.disturb_cluster if cluster else bench.disturb
        ended = disturb(home / "disturbed" / "study", reference, kills, rng, *words)
    progress(f"{'Dask' if cluster else 'processes'}: {ended}")
    return ended


def report(trials: dict[str, Killed], cost: dict[str, float], given: argparse.Namespace) -> None:
    costs = Table(["what", "measured"], [[name, f"{value:.3g}"] for name, value in cost.items()])
    data: dict[str, Any] = {**{name: vars(one) for name, one in trials.items()}, "cost": cost}
    tables = {"Killed at random moments": table(trials), "What a study costs": costs}
    publish("studies", "A study of many takes", " ".join((__doc__ or "").split()), tables, data, given)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--takes", type=int, default=1000, help="takes of the study by processes (1000)")
    parser.add_argument("--dask", type=int, default=1000, help="takes of the study by Dask (1000)")
    parser.add_argument("--cost", type=int, default=700, help="takes of the study whose cost is measured (700)")
    parser.add_argument("--first-seed", type=int, default=FIRST_SEED)
    parser.add_argument("--only", default="", help="anything: nothing is written")
    given = parser.parse_args()
    trials = {
        "processes": measure_kills(given.takes, KILLS, given.first_seed, cluster=False),
        "Dask": measure_kills(given.dask, KILLS_DASK, given.first_seed, cluster=True),
    }
    with tempfile.TemporaryDirectory(dir="/var/tmp") as home:
        cost = measure_cost(Bench(Path(home), given.cost, given.first_seed), Path(home))
    report(trials, cost, given)


if __name__ == "__main__":
    main()
