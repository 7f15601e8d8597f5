"""Reads damaged files in a process of its own, under a limit of memory: `run` starts it.

The job comes in and the answer goes out as pickles on standard input and output: both ends are this file.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tests.make import PROJECT

from .mutate import Mutator

MEMORY = 512 * 2**20  # bytes of address space beyond what an idle process has
SLOW = 2.0  # s of CPU time for one small file
HANG = 20.0  # s of CPU time after which an execution is broken off
SHOWN = 15  # one execution in so many goes through `condyle info`, as a user would see it
ENOUGH = 5  # failures of different kinds after which there is no need to go on
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Target:
    """What is damaged: the file `file`, of which `seeds` are sound versions {variant: bytes}.

    format   name of the format that reads
    main     file that is given to the reader; `file` itself, or one that needs it
    beside   other files of the same folder {name: bytes}
    options  reading options; a value that is the name of a file above stands for its path
    """

    name: str
    format: str
    seeds: Mapping[str, bytes]
    file: str = "case.dat"
    main: str = "case.dat"
    beside: Mapping[str, bytes] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Failure:
    """A file that does what no file may do. `raw`: the damaged file."""

    why: str
    raw: bytes
    trace: str = ""


@dataclass
class Outcome:
    """How a target stood `executions` damaged files; seconds and slowest are CPU time [s], memory in bytes."""

    executions: int = 0
    read: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_file: bytes = b""
    memory: int = 0
    codes: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)


class Stuck(BaseException):
    """Raised by the alarm: nothing catches it by accident."""


def run(target: Target, executions: int, *, seed: str = "", timeout: float = 600.0) -> Outcome:
    """The outcome of a worker process that reads `executions` damaged files; a process that dies is a failure."""
    job = pickle.dumps((target, executions, f"{seed} {target.name}"))
    paths = os.pathsep.join([str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-c", "from tests.fuzz.worker import main; main()", folder],
                input=job,
                capture_output=True,
                timeout=timeout,
                env={**os.environ, "PYTHONPATH": paths},
                check=False,
            )
        except subprocess.TimeoutExpired:
            raw = (Path(folder) / target.file).read_bytes()
            return Outcome(failures=[Failure(f"no end within {timeout:g} s", raw)])
        if done.returncode:
            file = Path(folder) / target.file
            raw = file.read_bytes() if file.exists() else b""
            why = f"the process died with status {done.returncode}"
            return Outcome(failures=[Failure(why, raw, done.stderr.decode(errors="replace"))])
    found = pickle.loads(done.stdout)
    assert isinstance(found, Outcome)
    return found


def work(target: Target, executions: int, seed: str, folder: Path) -> Outcome:
    """All executions of a target in this process, after sound files were read once."""
    from condyle.io.formats import ReadOptions

    for name, raw in target.beside.items():
        (folder / name).write_bytes(raw)
    file, main = folder / target.file, folder / target.main
    own = {target.file, *target.beside}
    words = {key: folder / value if value in own else value for key, value in target.options.items()}
    options = ReadOptions.of(**words)
    for raw in target.seeds.values():  # imports and caches are no matter of the damaged files
        file.write_bytes(raw)
        _read(target.format, main, options, words)
        _show(main, words)
    outcome = Outcome()
    limit_memory()
    mutator = Mutator(list(target.seeds.values()), np.random.default_rng(zlib.crc32(seed.encode())))
    start = time.process_time()
    kinds: set[str] = set()
    for k in range(executions):
        raw = mutator.next()
        file.write_bytes(raw)
        before = time.process_time()
        try:
            with alarm():
                outcome.read += _read(target.format, main, options, words, outcome.codes)
                if k % SHOWN == 0:
                    _show(main, words)
        except (Exception, Stuck, SystemExit) as error:
            frames = traceback.extract_tb(error.__traceback__)
            kind = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}"
            if kind not in kinds:
                kinds.add(kind)
                outcome.failures.append(Failure(f"{type(error).__name__}: {error}"[:300], raw, traceback.format_exc()))
        spent = time.process_time() - before
        if spent > outcome.slowest:
            outcome.slowest, outcome.slowest_file = spent, raw
        if spent > SLOW:
            outcome.failures.append(Failure(f"took {spent:.1f} s of CPU time", raw))
        outcome.executions += 1
        if len(outcome.failures) >= ENOUGH:
            break
    outcome.seconds = time.process_time() - start
    outcome.memory = measure_memory("VmHWM")
    return outcome


def _read(format: str, path: Path, options: Any, words: dict[str, Any], codes: dict[str, int] | None = None) -> bool:
    """Whether the file was read, by its format directly and as the user reads it; only CondyleError is caught."""
    import condyle
    from condyle.io.formats import _import_format

    calls: tuple[Callable[[], object], ...] = (
        lambda: _import_format(format).read(path, options),
        lambda: condyle.read(path, doctor=False, **words),
    )
    done = False
    for call in calls:
        try:
            call()
            done = True
        except condyle.CondyleError as error:
            if CODE.fullmatch(error.code) is None or not error.text:
                raise AssertionError(f"an error without code or text: {error!r}") from error
            if codes is not None:
                codes[error.code] = codes.get(error.code, 0) + 1
    return done


def _show(path: Path, words: dict[str, Any]) -> None:
    """`condyle info`: ends as it should, and prints nothing that acts on a terminal."""
    from condyle.cli import main

    given = [part for key, value in words.items() for part in (f"--{key}", str(value))]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["info", str(path), *given])
    text = out.getvalue() + err.getvalue()
    if status not in (0, 1, 2, 3) or "Traceback" in text:
        raise AssertionError(f"condyle info ended with {status}: {text[-2000:]}")
    if status == 1 and not text.strip():
        raise AssertionError("condyle info failed and said nothing")
    if acting := {letter for letter in text if letter != "\n" and unicodedata.category(letter) in ("Cc", "Cf", "Cs")}:
        raise AssertionError(f"condyle info prints {acting!r}")


def limit_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (measure_memory("VmSize") + MEMORY, resource.RLIM_INFINITY))


def measure_memory(name: str) -> int:
    """Bytes of this process by their name in /proc; getrusage would tell the largest of the parent before the start."""
    with open("/proc/self/status") as stream:
        return next(int(line.split()[1]) * 1024 for line in stream if line.startswith(f"{name}:"))


@contextlib.contextmanager
def alarm() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_VIRTUAL, HANG)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def ring(*_: object) -> None:
    raise Stuck(f"no end within {HANG:g} s of CPU time")


def main() -> None:
    job = sys.stdin.buffer.read()
    answer, sys.stdout = sys.stdout, sys.stderr  # nothing else may print there
    target, executions, seed = pickle.loads(job)
    warnings.simplefilter("error")
    signal.signal(signal.SIGVTALRM, ring)
    left: list[str] = []
    sys.unraisablehook = lambda what: left.append(f"{what.exc_value!r} in {what.object!r}")  # files left open
    outcome = work(target, executions, seed, Path(sys.argv[1]))
    outcome.failures += [Failure(f"left behind: {words}", b"") for words in left[:1]]
    answer.buffer.write(pickle.dumps(outcome))
