"""A study on a Dask cluster: a scheduler and two workers, each a process of its own, as they would be on machines.

    python examples/07_dask.py [FOLDER]

Writes FOLDER/recordings (three performers, each with a calibration and a task), FOLDER/processes/study by this machine
and FOLDER/cluster/study by the cluster, and says whether they are the same. Without Dask (pip install
condyle[cluster]) there is the first one only.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import condyle
from condyle.simulate import Disturbances, linkage, simulate

WORKERS = 2
LONGEST_WAIT_S = 120.0  # for the scheduler to begin
LEAVE_S = 10.0  # for a process to end
NOISE = Disturbances(position_noise=0.002, orientation_noise=0.005)


def main(folder: Path) -> None:
    listed = write_recordings(folder / "recordings")
    alone = condyle.batch(listed, folder / "processes" / "study", workers=1)
    print("by processes:", alone)
    if importlib.util.find_spec("distributed") is None:
        print('Dask is not installed; pip install "condyle[cluster]"')
        return
    with start_cluster(folder / "cluster") as address:
        # What `condyle batch recordings/study.toml -o study --cluster ADDRESS` does.
        study = condyle.batch(listed, folder / "cluster" / "study", cluster=address)
    print("by the cluster:", study)
    same = read_files(folder / "cluster" / "study") == read_files(folder / "processes" / "study")
    print("the same files, byte for byte" if same else "the two differ")


def write_recordings(folder: Path) -> Path:
    """Three performers, and the list of their takes."""
    lines = ["[settings]", "report = false"]
    for k in range(1, 4):
        who = f"S{k:02}"
        (folder / who).mkdir(parents=True, exist_ok=True)
        first = simulate(linkage(), seconds=5, rate=30, seed=k, disturbances=NOISE)
        later = simulate(linkage(), seconds=3, rate=30, seed=100 + k, disturbances=NOISE, mounts=first.truth.mounts)
        condyle.write_take(folder / who / "rom.npz", first.take)
        condyle.write_take(folder / who / "task.npz", later.take)
        lines += ["[[take]]", f'file = "{who}/rom.npz"', f'performer = "{who}"']
        lines += ["[[take]]", f'file = "{who}/task.npz"', f'performer = "{who}"', 'role = "performance"']
    (folder / "study.toml").write_text("\n".join(lines) + "\n")
    return folder / "study.toml"


@contextmanager
def start_cluster(place: Path) -> Iterator[str]:
    """The address of a scheduler with workers; all of them are ended afterwards."""
    place.mkdir(parents=True, exist_ok=True)
    told = place.resolve() / "scheduler.json"
    told.unlink(missing_ok=True)
    with (place / "log.txt").open("wb") as log:

        def spawn(program: str, *words: str) -> subprocess.Popen[bytes]:
            command = [sys.executable, "-m", f"distributed.cli.{program}", *words, "--no-dashboard"]
            return subprocess.Popen(command, stdout=log, stderr=log, cwd=place)

        running = [spawn("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(told))]
        try:
            until = time.monotonic() + LONGEST_WAIT_S
            while not told.exists():
                if time.monotonic() > until or running[0].poll() is not None:
                    raise SystemExit(f"no scheduler began; see {place / 'log.txt'}")
                time.sleep(0.1)
            address = str(json.loads(told.read_text())["address"])
            for _ in range(WORKERS):
                running.append(spawn("dask_worker", address, "--nthreads", "1", "--no-nanny"))
            yield address
        finally:
            for process in reversed(running):  # workers take leave of the scheduler
                process.terminate()
                try:
                    process.wait(LEAVE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def read_files(folder: Path) -> dict[str, bytes]:
    """Every file of a study but the ledger, which has times and names of machines."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "ledger.jsonl"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("dask-study"))
