"""Processes of this machine: one dies, and its step alone is lost; all end with the one that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path

import pytest

from condyle.maths.threads import THREAD_VARIABLES
from condyle.study.engine import WorkerDied
from condyle.study.processes import Processes, choose_start, count_cores
from tests.make.studies import make_step, write_small_take

LONGEST_WAIT_S = 60.0
ORPHANS_MAX_S = 10.0  # s in which processes are gone when the one that started them is


@pytest.fixture
def engine() -> Iterator[Processes]:
    engine = Processes(2)
    yield engine
    engine.close()


def is_alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_steps_are_done_side_by_side(engine: Processes, tmp_path: Path) -> None:
    for name in "abcd":
        write_small_take(tmp_path / f"{name}.npz", ord(name))
    steps = [make_step(tmp_path, tmp_path / "out", f"{name}.npz") for name in "abcd"]
    assert engine.room() == 2
    for pair in (steps[:2], steps[2:]):
        futures = [engine.submit(step) for step in pair]
        records = [future.result(LONGEST_WAIT_S) for future in futures]
        assert [record.take for record in records] == [step.name for step in pair]
        assert {record.state for record in records} == {"done"}
        assert len({record.worker for record in records}) == 2
    assert count_cores() >= 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_of_a_process_that_dies_the_step_alone_is_lost(engine: Processes, tmp_path: Path) -> None:
    for name in "ab":
        write_small_take(tmp_path / f"{name}.npz", ord(name))
    steps = [make_step(tmp_path, tmp_path / "out", f"{name}.npz") for name in "ab"]
    first = [engine.submit(step).result(LONGEST_WAIT_S) for step in steps]
    victim = int(first[-1].worker.rpartition(":")[2])  # the next step goes to the process that was idle last
    os.kill(victim, signal.SIGSTOP)
    futures = [engine.submit(step) for step in steps]
    os.kill(victim, signal.SIGKILL)
    wait(futures, LONGEST_WAIT_S)
    ended = [future.exception() for future in futures]
    assert sorted(map(type, ended), key=str) == [type(None), WorkerDied] or ended == [None, None]
    again = engine.submit(steps[0]).result(LONGEST_WAIT_S)
    assert again.state == "done"
    assert int(again.worker.rpartition(":")[2]) != victim


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks for processes in /proc")
def test_no_process_outlives_the_one_that_started_it(tmp_path: Path) -> None:
    write_small_take(tmp_path / "a.npz")
    script = tmp_path / "main.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import sys, time
            from pathlib import Path
            from condyle.study.processes import Processes
            from tests.make.studies import make_step

            if __name__ == "__main__":
                engine = Processes(2)
                steps = [make_step(Path({str(tmp_path)!r}), Path({str(tmp_path)!r}) / name, "a.npz") for name in "xy"]
                futures = [engine.submit(step) for step in steps]
                print(*(future.result().worker.rpartition(":")[2] for future in futures), flush=True)
                time.sleep(60)
            """
        )
    )
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        workers = [int(word) for word in process.stdout.readline().split()]
        assert len(workers) == 2
        assert all(map(is_alive, workers))
        process.kill()
        process.wait(LONGEST_WAIT_S)
    until = time.monotonic() + ORPHANS_MAX_S
    while any(map(is_alive, workers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(is_alive, workers))


def test_a_script_without_a_main_guard_is_told(tmp_path: Path) -> None:
    write_small_take(tmp_path / "in" / "a.npz")
    script = tmp_path / "main.py"
    script.write_text(
        f"import condyle\ncondyle.batch({str(tmp_path / 'in')!r}, {str(tmp_path / 'out')!r}, workers=1)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=LONGEST_WAIT_S)
    assert 'in a script, call condyle.batch below if __name__ == "__main__":' in done.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_the_environment_is_as_before(engine: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(THREAD_VARIABLES[2], raising=False)
    before = dict(os.environ)
    Processes(1).close()
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("platform", "methods", "start"),
    [
        ("linux", ["fork", "spawn", "forkserver"], "forkserver"),
        ("darwin", ["spawn", "fork", "forkserver"], "spawn"),
        ("win32", ["spawn"], "spawn"),
    ],
)
def test_processes_are_started_as_the_system_bears_it(
    monkeypatch: pytest.MonkeyPatch, platform: str, methods: list[str], start: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr("multiprocessing.get_all_start_methods", lambda: methods)
    assert choose_start() == start
