"""No bytes make a reader do anything but read or refuse: damaged files by the thousand, made from its tests."""

from __future__ import annotations

import os

import numpy as np
import pytest

from condyle.io.formats import formats
from tests.make import PROJECT
from tests.make.size import DAMAGED_FILES

from .mutate import Mutator
from .seeds import BESIDE, NAMES, target
from .worker import MEMORY, SLOW, Failure, run


def report(failures: list[Failure]) -> str:
    """What to see at a glance, and the bytes to try again."""
    return "\n\n".join(f"{one.why}\n{one.trace}\nfile ({len(one.raw)} bytes): {one.raw[:2000]!r}" for one in failures)


@pytest.mark.sized
@pytest.mark.parametrize("name", [*NAMES, *BESIDE.values()])
def test_damaged_files_are_read_or_refused_in_time_and_memory(name: str, request: pytest.FixtureRequest) -> None:
    outcome = run(target(name), DAMAGED_FILES, seed=request.node.nodeid)
    assert not outcome.failures, report(outcome.failures)
    assert outcome.executions == DAMAGED_FILES
    assert outcome.slowest < SLOW
    assert outcome.memory < MEMORY
    assert outcome.read, "no damaged file was read: the damage is too coarse to reach the reader"
    assert outcome.codes, "no damaged file was refused"


def test_every_format_is_among_those_that_are_damaged() -> None:
    assert {fmt.name.replace("-", "_") for fmt in formats()} == {target(name).format for name in NAMES}


def test_a_format_without_seeds_is_named_with_what_it_needs() -> None:
    with pytest.raises(pytest.fail.Exception, match=r"no tests/io/formats/test_soufflé\.py"):
        target("soufflé")
    with pytest.raises(pytest.fail.Exception, match=r"needs a module-level SMALL"):
        target("registry")  # tests of a module that is no format


def test_the_same_seed_damages_alike_and_most_files_are_changed() -> None:
    seeds = [b"time,x\n0,1\n0.5,2\n", bytes(range(256)) * 2]
    one, two = (Mutator(seeds, np.random.default_rng(7)) for _ in range(2))
    files = [one.next() for _ in range(200)]
    assert files == [two.next() for _ in range(200)]
    assert sum(file not in seeds for file in files) > 180
    assert len(set(files)) > 180


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("raise KeyError('x')", "KeyError"),
        ("import warnings; warnings.warn('loud')", "UserWarning: loud"),
        ("bytearray(2**30)", "MemoryError"),
        ("while True: pass", "no end within"),
        ("import time; s = time.process_time()\nwhile time.process_time() < s + 0.4: pass", "s of CPU time"),
        ("open(__file__)", "left behind: ResourceWarning"),
        ("import os; os._exit(7)", "died with status 7"),
        ("print('\\x1b[2J')", "condyle info prints"),
    ],
)
def test_what_no_reader_may_do_is_noticed(fault: str, why: str, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker itself is broken on purpose: its customisation of Python patches the reader."""
    lines = "\n    ".join(fault.split("\n"))
    (tmp_path / "sitecustomize.py").write_text(
        f"""
from tests.fuzz import worker
worker.HANG, worker.SLOW, worker.ENOUGH = 0.6, 0.3, 1
from condyle.io.formats import tum
sound, calls = tum.read, 0
def read(path, options):
    global calls
    calls += 1
    if calls < 20:
        return sound(path, options)
    {lines}
    return sound(path, options)
object.__setattr__(tum.FORMAT, "read", read)
""",
        encoding="utf-8",
    )
    paths = os.pathsep.join([str(tmp_path), str(PROJECT)])
    monkeypatch.setenv("PYTHONPATH", paths)
    failures = run(target("tum"), 60, timeout=60).failures
    assert why in report(failures)
