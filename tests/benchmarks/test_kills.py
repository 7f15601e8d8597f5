"""The short form of benchmarks/kills.py: no mixture of two fits, and nothing left behind."""

from __future__ import annotations

import os
import random
import signal

import pytest
from benchmarks.kills import VERBS, Bench, look_into, table

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("kills"))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_leaves_one_fit_and_the_next_run_leaves_nothing_else(
    verb: str, number: signal.Signals, bench: Bench
) -> None:
    ended = bench.trial(verb, number, random.Random(f"{verb} {number}"), writing=True)
    assert [ended.mixed, ended.torn, ended.traceback, ended.left_after, ended.status] == [False] * 3 + [0, True], ended
    if number != signal.SIGKILL:
        assert not ended.left
    assert table([ended]).rows[-1][5:8] == ["0", "0", "0"]


def test_a_mixture_would_be_seen(bench: Bench) -> None:
    folder = bench.fresh()
    other = bench.wanted["fit -o"]
    (folder / "report.html").write_bytes(other["report.html"])
    assert look_into(folder) == (True, False)
    (folder / "motion.npz").write_bytes(other["motion.npz"])
    assert look_into(folder) == (False, False), "told as files-disagree"
    (folder / "motion.npz").write_bytes(b"PK")
    assert look_into(folder) == (False, True)
