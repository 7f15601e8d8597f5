"""The short form of benchmarks/studies.py: whatever is killed, every take is done once, and the folder is the same."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

import pytest
from benchmarks.studies import ORPHANS_MAX_S, Bench, Killed, contents, table

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
TAKES = 8


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("studies"), TAKES, seed=0)
    bench.run(bench.home / "reference" / "study", "--no-report")
    return bench


def check(ended: Killed, kills: int) -> None:
    assert 0 < sum(ended.kills.values()) <= kills, ended  # a quick machine may be done before the last one
    assert TAKES <= ended.begun <= TAKES + ended.running, ended
    assert ended.lines == 1, ended
    assert ended.orphans_s is None or ended.orphans_s < ORPHANS_MAX_S, ended
    assert ended.same, ended
    assert table({"x": ended}).rows[0][-1] == "yes"


@pytest.mark.costly
@pytest.mark.parametrize("engine", ["processes", "cluster"])
def test_what_is_killed_is_done_again_and_nothing_else(bench: Bench, engine: str) -> None:
    out, reference = bench.home / engine / "study", bench.home / "reference" / "study"
    if engine == "processes":
        check(bench.disturb(out, reference, 3, random.Random(1), "--no-report"), 3)
    else:
        pytest.importorskip("distributed", reason="dask's distributed is not installed (extra `cluster`)")
        check(bench.disturb_cluster(out, reference, 1, random.Random(1), "--no-report"), 1)


def test_another_folder_would_be_seen(bench: Bench) -> None:
    reference = bench.home / "reference" / "study"
    other = Path(shutil.copytree(reference, bench.home / "other" / "study"))
    assert contents(other) == contents(reference)
    (other / "limbs.csv").write_text("x")
    assert contents(other) != contents(reference)
