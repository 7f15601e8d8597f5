"""Steps by Dask: a scheduler and a worker in this process; real ones are in benchmarks/studies.py and its test."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from condyle.errors import CondyleError, UsageError
from condyle.study import cluster as module
from condyle.study.batch import batch
from condyle.study.cluster import DaskCluster, find_address
from condyle.study.engine import WorkerDied
from tests.make.studies import QUICK, make_step, start_loop, write_small_take
from tests.study.test_batch import contents

LONGEST_WAIT_S = 60.0
IN_THIS_PROCESS = {"processes": False, "protocol": "tcp", "dashboard_address": ":0", "silence_logs": 50}
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module", autouse=True)
def distributed() -> Any:
    """Imported when it is used: it takes half a second."""
    return pytest.importorskip("distributed", reason="dask's distributed is not installed (extra `cluster`)")


@pytest.fixture(scope="module")
def loop() -> Iterator[Any]:
    with start_loop() as found:
        yield found


@pytest.fixture(scope="module")
def local(loop: Any, distributed: Any) -> Iterator[Any]:
    with distributed.LocalCluster(n_workers=1, threads_per_worker=1, loop=loop, **IN_THIS_PROCESS) as found:
        yield found


def test_a_study_by_a_cluster_is_the_one_by_processes(local: Any, tmp_path: Path) -> None:
    for seed, name in enumerate(("a", "b", "broken")):
        write_small_take(tmp_path / "takes" / f"{name}.npz", seed)
    (tmp_path / "takes" / "broken.npz").write_bytes(b"PK")
    by_cluster = batch(tmp_path / "takes", tmp_path / "1" / "study", settings=QUICK, cluster=local.scheduler_address)
    by_processes = batch(tmp_path / "takes", tmp_path / "2" / "study", settings=QUICK, workers=1)
    assert str(by_cluster) == str(by_processes) == "3 takes: 2 done, 1 failed. Of those done, 2 good."
    assert contents(tmp_path / "1" / "study") == contents(tmp_path / "2" / "study")


def test_a_worker_that_died_and_a_cluster_that_is_gone_are_told(
    local: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = DaskCluster(local.scheduler_address, tmp_path)
    assert engine.room() == 2
    monkeypatch.setattr(module, "run_step", _die)
    died = engine.submit(make_step(tmp_path, tmp_path)).exception(LONGEST_WAIT_S)
    assert isinstance(died, WorkerDied)
    monkeypatch.setattr(module, "run_step", _sleep)
    lost = engine.submit(make_step(tmp_path, tmp_path))
    engine.close()
    error = lost.exception(LONGEST_WAIT_S)
    assert isinstance(error, CondyleError)
    assert error.text.endswith("is gone; the same command goes on once it is there again")


def _die(step: object) -> None:
    class KilledWorker(Exception):
        pass

    raise KilledWorker("a worker was lost")


def _sleep(step: object) -> None:
    import time

    time.sleep(1.0)


def test_a_worker_of_another_version_or_without_the_folder_is_told(
    local: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "look_around", lambda seen: ("0.0.1", True))
    with pytest.raises(UsageError, match=r"has condyle 0\.0\.1, and this is .*; install the same on both"):
        DaskCluster(local.scheduler_address, tmp_path)
    monkeypatch.setattr(module, "look_around", lambda seen: (module.__version__, False))
    with pytest.raises(UsageError, match=r"does not see .*; a study needs a disk that all machines see"):
        DaskCluster(local.scheduler_address, tmp_path)
    monkeypatch.setattr(module, "look_around", lambda seen: 1 / 0)
    with pytest.raises(UsageError, match="cannot use condyle: division by zero"):
        DaskCluster(local.scheduler_address, tmp_path)


def test_a_cluster_that_is_not_there_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT", "0.2s")
    write_small_take(tmp_path / "takes" / "a.npz")
    with pytest.raises(CondyleError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        batch(tmp_path / "takes", tmp_path / "study", settings=QUICK, cluster="tcp://127.0.0.1:9")
    with pytest.raises(CondyleError, match="no Dask scheduler answers at nonsense"):
        batch(tmp_path / "takes", tmp_path / "study", settings=QUICK, cluster="nonsense://x")
    assert not (tmp_path / "study").exists()


def test_a_client_that_does_not_begin_is_tried_again_and_then_told(
    local: Any, distributed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, failures = distributed.Client, [1]

    def fail_first(*args: Any, **options: Any) -> Any:
        if failures:
            failures.pop()
            raise AssertionError
        return begin(*args, **options)

    monkeypatch.setattr(distributed, "Client", fail_first)
    DaskCluster(local.scheduler_address, tmp_path).close()
    assert not failures
    failures.extend([1] * module.MOST_STARTS)
    with pytest.raises(CondyleError, match="this machine may be too busy: try again"):
        DaskCluster(local.scheduler_address, tmp_path)


def test_a_scheduler_without_a_worker_is_told(
    loop: Any, distributed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LONGEST_WAIT", "3s")
    with (
        distributed.LocalCluster(n_workers=0, loop=loop, **IN_THIS_PROCESS) as empty,
        pytest.raises(UsageError, match="has no worker"),
    ):
        DaskCluster(empty.scheduler_address, tmp_path)


def test_the_address_may_be_that_of_dasks_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    import dask

    assert find_address("tcp://a:1") == "tcp://a:1"
    with dask.config.set({"scheduler-address": "tcp://b:2"}):
        assert find_address("dask") == "tcp://b:2"
    with dask.config.set({"scheduler-address": None}), pytest.raises(UsageError, match="set DASK_SCHEDULER_ADDRESS"):
        find_address("dask")
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r'pip install "condyle\[cluster\]"'):
        find_address("tcp://a:1")
