"""Is a folder ever a mixture of two fits, whatever ends the program, and does anything stay behind?

Each trial begins with the folder of one fit. `fit -o` of another recording, `export` or `report` is started on it and
ended by a signal (KILL, TERM or INT) at a random moment, every second time while the files are being written. Then the
folder is read, its files are compared byte by byte with those that an undisturbed run writes, and the next run is made.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import condyle
from condyle.simulate import Disturbances, linkage, simulate

from .harness import Table, arguments, progress, publish

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
VERBS = {
    "fit -o": ["fit", "b.npz", "-o", "DIR", "--no-intervals", "--export", "bvh,glb"],
    "export": ["export", "DIR", "--to", "csv,osim"],
    "report": ["report", "DIR"],
}
# Of a process that had not begun to run condyle the signal itself is the end, which a shell reports as the same status.
STATUS = {one: (128 + one, -one) for one in SIGNALS}
LONGEST_WAIT_S = 60.0


@dataclass(frozen=True)
class Ended:
    """One trial.

    mixed     files of two fits stand in the folder, and it is read without a word
    torn      it cannot be read, or holds what no undisturbed run writes
    left      names of ours that an ended run left (after KILL that is meant to be), and the next run
    counts    the run was not done before the signal, and Python had come to condyle
    """

    verb: str
    signal: str
    writing: bool
    counts: bool
    new: bool
    mixed: bool
    torn: bool
    left: int
    left_after: int
    traceback: bool
    status: bool


class Bench:
    """Two recordings, the folder of the first one's fit, and what an undisturbed run of every verb makes of it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        noise = Disturbances(position_noise=0.002, orientation_noise=0.005)
        for seed, name in enumerate(("a", "b")):
            condyle.write_take(home / f"{name}.npz", simulate(linkage(), seconds=8, seed=seed, disturbances=noise).take)
        self.old = home / "old"
        self.run("fit", "a.npz", "-o", "old", "--no-intervals", "--no-report", "--export", "bvh")
        self.wanted, self.seconds = {}, {}
        for verb, words in VERBS.items():
            folder = self.fresh()
            begin = time.perf_counter()
            self.run(*self.words(words, folder))
            self.seconds[verb] = time.perf_counter() - begin
            self.wanted[verb] = contents(folder)

    def fresh(self) -> Path:
        shutil.rmtree(self.home / "DIR", ignore_errors=True)
        shutil.copytree(self.old, self.home / "DIR")
        return self.home / "DIR"

    def words(self, words: list[str], folder: Path) -> list[str]:
        return [str(folder) if word == "DIR" else word for word in words]

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [Path(sys.executable).with_name("condyle"), *words],  # as it is installed
            cwd=self.home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        )

    def run(self, *words: str) -> None:
        with self.start(*words) as process:
            _, error = process.communicate(timeout=LONGEST_WAIT_S)
        assert process.returncode in (0, 3), error.decode()

    def trial(self, verb: str, number: signal.Signals, rng: random.Random, *, writing: bool) -> Ended:
        folder = self.fresh()
        before = contents(folder)
        with self.start(*self.words(VERBS[verb], folder)) as process:
            if writing:  # from when the stage stands, which is a small part of a run
                while process.poll() is None and not (folder / ".condyle-stage").exists():
                    time.sleep(0.0005)
                time.sleep(rng.uniform(0, 0.3 * self.seconds[verb]) * rng.random())
            else:
                time.sleep(rng.uniform(0, self.seconds[verb]))
            finished = process.poll() is not None
            process.send_signal(number)
            _, error = process.communicate(timeout=LONGEST_WAIT_S)
        traceback = b"Traceback" in error
        counts = not finished and not (traceback and b"condyle" not in error)
        status = process.returncode in (*STATUS[number], 0, 3)
        left = len(list(folder.glob(".condyle-*")))
        mixed, torn = look_into(folder)
        after = contents(folder)
        new = after == self.wanted[verb]
        torn |= not new and after != before
        self.next_run(folder)
        left_after = len(list(folder.glob(".condyle-*"))) + (contents(folder) != contents(self.old))
        return Ended(verb, number.name, writing, counts, new, mixed, torn, left, left_after, traceback, status)

    def next_run(self, folder: Path) -> None:
        """The first recording fitted once more: the folder is to be what it was."""
        before = Path.cwd()
        os.chdir(self.home)
        try:
            condyle.fit("a.npz", intervals=False).save(folder, report=False, export="bvh")
        finally:
            os.chdir(before)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file that is not hidden."""
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if not path.name.startswith(".condyle-")}


def look_into(folder: Path) -> tuple[bool, bool]:
    """Whether files of two fits are read without a word, and whether the folder cannot be read."""
    try:
        fit = condyle.load(folder)
    except condyle.CondyleError as error:
        return False, error.code != "files-disagree"
    ids = {fit.provenance.fit_id}
    for name, pattern in {
        "report.html": rb'<meta name="condyle-fit" content="(\w+)">',
        "figure.glb": rb'"fit_id":"(\w+)"',
        "figure.osim": rb"<!-- condyle fit (\w+) -->",
        "options.toml": rb"in fit (\w+)",
        "manifest.json": rb'"fit_id": "(\w+)"',
    }.items():
        if (folder / name).exists():
            found = re.search(pattern, (folder / name).read_bytes())
            ids.add(found[1].decode() if found else name)
    return len(ids) > 1, False


def measure(trials: int, seed: int) -> list[Ended]:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as home:
        bench = Bench(Path(home))
        ended = []
        for k in range(trials):
            verb, number = list(VERBS)[k % len(VERBS)], SIGNALS[k // len(VERBS) % len(SIGNALS)]
            ended.append(bench.trial(verb, number, rng, writing=k // 9 % 2 == 1))
            if k % 20 == 19:
                progress(f"{k + 1} of {trials}")
    return ended


def table(ended: list[Ended]) -> Table:
    heads = [
        "ended by",
        "during",
        "kills",
        "while writing",
        "new fit stands",
        "mixtures",
        "torn",
    ]
    heads += ["tracebacks of condyle", "wrong status", "left after TERM or INT", "left after the next run"]
    rows = []
    for key in [(number.name, verb) for number in SIGNALS for verb in VERBS] + [("all", "all")]:
        some = [one for one in ended if key in ((one.signal, one.verb), ("all", "all")) and one.counts]
        sums: Counter[str] = Counter()
        for one in some:
            sums.update({name: int(getattr(one, name)) for name in ("writing", "new", "mixed", "torn", "traceback")})
            sums["status"] += not one.status
            sums["left"] += one.left if one.signal != "SIGKILL" else 0
            sums["after"] += one.left_after
        names = ("writing", "new", "mixed", "torn", "traceback", "status", "left", "after")
        rows.append([*key, str(len(some)), *(str(sums[name]) for name in names)])
    return Table(heads, rows)


def main() -> None:
    given = arguments(__doc__ or "", 243)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored, and by its runs
    ended = measure(given.trials, given.seed)
    publish(
        "kills",
        "Ended at random moments",
        f"{' '.join((__doc__ or '').split())} Runs that were done before the signal, or in which Python had not come "
        "to condyle, are not counted.",
        {"Kills": table(ended)},
        {str(k): vars(one) for k, one in enumerate(ended)},
        given,
    )


if __name__ == "__main__":
    main()
