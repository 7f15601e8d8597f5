"""What lies behind the readers, run on adversity in a process of its own under limits: `run` starts it.

A run is known by its class, a word and its number, from which everything in it follows: `python -m tests.fuzz.behind
poses WORD 17` does run 17 again and shows what happens.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import numpy as np

from tests.make import PROJECT
from tests.make.size import pick

from .damage import check_printed, check_written, damage_arrays, damage_json, show
from .logs import run_log
from .mutate import Mutator
from .stages import run_stage
from .verbs import run_verbs
from .worker import CODE, ENOUGH, Failure, Outcome, Stuck, alarm, limit_memory, measure_memory, ring

if TYPE_CHECKING:
    from condyle.study.ledger import LedgerRecord
    from condyle.study.plan import TakeStep

SLOW_S = 10.0  # s of CPU time for one small take, every format written
WARM_RUNS = pick(1, 4, 4)
EXPORTED = 6  # one fit in so many is written, read and exported as well
FORMATS = "bvh,glb,mjcf,osim,c3d,csv,npz,json"


def run_poses(rng: np.random.Generator, folder: Path) -> None:
    """A spoilt take is fitted, played and printed, and at times written, read, shown and exported."""
    from condyle.api import fit_with, load
    from condyle.cli.summary import print_fit
    from condyle.io.skeleton_file import from_json, to_json

    from .adversity import choose_options, spoil

    _, poses = spoil(rng)
    options, whole = choose_options(rng, tuple(poses.names)), rng.integers(EXPORTED) == 0
    fit = fit_with(poses.take(), options)
    from_json(to_json(fit.skeleton))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_fit(fit.skeleton)
        print(fit.motion, fit.take)
    check_printed(out.getvalue())
    if whole:
        fit.save(folder / "out", export=FORMATS)
        load(folder / "out").export("urdf", folder / "out")
        check_written(folder / "out")


@cache
def sound_folder(number: int) -> dict[str, bytes]:
    """The files of a fit: a chain, one with a loop and gaps, one of several recordings."""
    from condyle.api import fit_with
    from condyle.model.options import FitOptions
    from condyle.model.take import join
    from tests.make.fitted import take

    one = take(seconds=2.0, seed=number, missing=0.05 if number else 0.0)
    options = FitOptions(intervals=False, loops=((one.names[0], one.names[2]),) if number == 1 else ())
    with tempfile.TemporaryDirectory() as folder:
        fit_with(one if number < 2 else join([one, take(seconds=1.0, seed=9)]), options).save(folder, report=False)
        return {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}


def run_folder(rng: np.random.Generator, folder: Path) -> None:
    """A folder with a damaged file is loaded, shown, exported, retargeted and written again."""
    from condyle.api import load

    files = dict(sound_folder(int(rng.integers(3))))
    name = str(rng.choice([*files, "motion.npz", "motion.npz", "skeleton.json", ".condyle-journal"]))
    if name == "motion.npz" and rng.random() < 0.7:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            files[name] = damage_arrays(files[name], rng)
    elif name == "skeleton.json" and rng.random() < 0.7:
        files[name] = damage_json(files[name], rng)
    else:
        seeds = [files.get(name, b'{"remove":["skeleton.json"],"move":["motion.npz"]}')]
        files[name] = Mutator(seeds, rng).next()
    if name != "manifest.json" and rng.random() < 0.8:
        files.pop("manifest.json")
    out = folder / "out"
    out.mkdir()
    for file, data in files.items():
        (out / file).write_bytes(data)
    verb = int(rng.integers(6))
    words = [
        ["export", "--to", FORMATS],
        ["report"],
        ["coverage", "--width", "5"],
        ["retarget", "--scale", "1.1", "-o", str(folder / "tall")],
    ]
    if verb < len(words):
        show([words[verb][0], str(out), *words[verb][1:]])
        check_written(out)
        return
    fit = load(out)
    str(fit.motion), fit.gap.shape, fit.weight.shape
    fit.export("urdf,csv" if verb == 4 else "osim", folder / "more")
    fit.save(folder / "again", report=False)
    check_written(folder / "more")


OPTION_FILES: dict[str, tuple[str, str, bytes]] = {  # option: recording, file, its content where it is sound
    "--config": (
        "take.npz",
        "options.toml",
        b'method = "default"\ntree = [["link0", "link1"]]\nno_fix = ["slips"]\nscale = 1.02\nworld = false\n'
        b'[reading]\nunit = "m"\n',
    ),
    "--tree": ("take.npz", "tree.txt", b"link0 link1\nlink1:link2 # known\nlink2, link3\n"),
    "--bodies": ("take.trc", "bodies.toml", b'[bodies]\na = ["a1", "a2", "a3"]\n"b" = ["b1", "b2", "b3"]\n'),
    "--columns": (
        "take.csv",
        "map.toml",
        b'unit = "m"\nrotation = "matrix"\ntime = 1\n[bodies.a]\nposition = [2, 3, 4]\n'
        b'orientation = [5, 6, 7, 8, 9, 10, 11, 12, 13]\n[bodies.b]\nposition = [14, 15, 16]\n'
        b'orientation = [17, 18, 19, 20, 21, 22, 23, 24, 25]\n',
    ),
    "--scale": (
        "take.npz",
        "scale.toml",
        b'format = "condyle.scale"\nversion = 1\nscale = 1.02\npair = ["link0", "link1"]\ndistance = 0.3\n'
        b"measured = 0.29\nsd = 0.001\nwhite = 0.001\nframes = 100\nsources = []\n",
    ),
}  # fmt: skip


@cache
def sound_recording(name: str) -> bytes:
    """A chain of links as NPZ, two of them as a table of numbers, or as a table of markers on them."""
    from condyle.io.exports import write_take
    from tests.make.fitted import take

    one = take(seconds=1.5)
    if name.endswith(".npz"):
        with tempfile.TemporaryDirectory() as folder:
            write_take(Path(folder) / name, one)
            return (Path(folder) / name).read_bytes()
    p, R = one.p_world_body[:, :2], one.R_world_body[:, :2]
    if name.endswith(".csv"):
        poses = np.concatenate([p, R.reshape(one.frames, 2, 9)], axis=2).reshape(one.frames, -1)
        return "".join(",".join(map(str, row)) + "\n" for row in np.column_stack([one.time, poses]).tolist()).encode()
    places = np.array([[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]])
    markers = 1000 * (p[:, :, None] + np.einsum("nbij,kj->nbki", R, places)).reshape(one.frames, -1)
    head = (
        "PathFileType\t4\t(X/Y/Z)\ttake.trc\nDataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\t"
        f"OrigDataStartFrame\tOrigNumFrames\n60\t60\t{one.frames}\t6\tmm\t60\t1\t{one.frames}\n"
        "Frame#\tTime\ta1\t\t\ta2\t\t\ta3\t\t\tb1\t\t\tb2\t\t\tb3\t\t\n\t\t"
    )
    head += "\t".join(f"{axis}{k}" for k in range(1, 7) for axis in "XYZ") + "\n\n"
    rows = [f"{k + 1}\t{k / 60:.5f}\t" + "\t".join(f"{x:.4f}" for x in row) for k, row in enumerate(markers.tolist())]
    return (head + "\n".join(rows) + "\n").encode()


def run_options(rng: np.random.Generator, folder: Path, damaged: bool = True) -> None:
    """A fit is asked for with a damaged file of options, edges, bodies, columns or a scale."""
    option = str(rng.choice(list(OPTION_FILES)))
    recording, name, seed = OPTION_FILES[option]
    (folder / recording).write_bytes(sound_recording(recording))
    (folder / name).write_bytes(Mutator([seed], rng).next() if damaged else seed)
    show(["fit", str(folder / recording), "--no-intervals", option, str(folder / name)])


@cache
def sound_performer() -> tuple[bytes, bytes]:
    """The profile of a chain of links, and a later take of it."""
    from condyle.api import fit_with
    from condyle.io.profile_file import to_json
    from condyle.model.options import FitOptions
    from condyle.result.profile import make_profile
    from tests.make.fitted import take

    profile, _ = make_profile([fit_with(take(seconds=4.0), FitOptions()).skeleton])
    return to_json(profile), sound_recording("take.npz")


def run_profile(rng: np.random.Generator, folder: Path) -> None:
    """A damaged profile is compared and written again, or a later take is fitted or solved with it."""
    profile, later = sound_performer()
    sound, damaged, recording = folder / "sound.json", folder / "performer.json", folder / "take.npz"
    sound.write_bytes(profile)
    damaged.write_bytes(damage_json(profile, rng) if rng.random() < 0.7 else Mutator([profile], rng).next())
    recording.write_bytes(later)
    (folder / "out").mkdir()
    words = [
        ["profile", str(damaged), "-o", str(folder / "out" / "again.json")],
        ["compare", str(sound), str(damaged)],
        ["fit", str(recording), "--profile", str(damaged)],
        ["solve", str(recording), "--profile", str(damaged), "-o", str(folder / "out"), "--no-report"],
    ]
    show(words[int(rng.integers(len(words)))])
    check_written(folder / "out")


MANIFEST = b"""[settings]
intervals = false
report = false

[performer.anna.settings]
root = "link0"

[[take]]
file = "anna/rom.npz"
performer = "anna"
session = "monday"

[[take]]
files = ["anna/play.npz"]
name = "play"
performer = "anna"
session = "monday"
role = "performance"
"""


class InThisProcess:
    """An engine of a study that does a step when it is asked for, so that limits and warnings are those of the run."""

    def room(self) -> int:
        return 1

    def submit(self, step: TakeStep) -> Future[LedgerRecord]:
        from condyle.study.step import run_step

        done: Future[LedgerRecord] = Future()
        try:
            done.set_result(run_step(step))
        except Exception as error:
            done.set_exception(error)
        return done

    def close(self) -> None:
        pass


@cache
def sound_study() -> dict[str, bytes]:
    """The takes, the list and the ledger of a study that is done."""
    from tests.make.studies import write_performer

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "study.toml").write_bytes(MANIFEST)
        write_performer(folder / "anna")
        do_study(folder)
        return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def do_study(folder: Path) -> None:
    from condyle.study import batch

    with mock.patch.object(batch, "_make_engine", return_value=InThisProcess()):
        show(["batch", str(folder / "study.toml"), "-o", str(folder / "study")])


def run_study(rng: np.random.Generator, folder: Path) -> None:
    """A study goes on with a damaged list of takes or a damaged ledger."""
    files = dict(sound_study())
    name = str(rng.choice(["study.toml", "study/ledger.jsonl"]))
    files[name] = Mutator([files[name]], rng).next()
    for file, data in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    do_study(folder)
    check_written(folder / "study" / "takes")


CLASSES: dict[str, Callable[[np.random.Generator, Path], None]] = {
    "poses": run_poses, "folders": run_folder, "options": run_options, "profiles": run_profile, "studies": run_study,
    "verbs": run_verbs, "stages": run_stage, "logs": run_log,
}  # fmt: skip


def seeded(word: str, number: int) -> np.random.Generator:
    return np.random.default_rng([zlib.crc32(word.encode()), number])


def work(name: str, word: str, numbers: Sequence[int], folder: Path) -> Outcome:
    """Runs of a class in this process; what each leaves in the folder goes."""
    from condyle import CondyleError

    outcome, kinds = Outcome(), set[str]()
    start = time.process_time()
    for number in numbers:
        before = time.process_time()
        why, trace = "", ""
        try:
            with alarm():
                CLASSES[name](seeded(word, number), folder)
                outcome.read += 1
        except CondyleError as error:
            if CODE.fullmatch(error.code) is None or not error.text:
                why = f"an error without code or text: {error!r}"
            outcome.codes[error.code] = outcome.codes.get(error.code, 0) + 1
        except (Exception, Stuck) as error:
            frames = traceback.extract_tb(error.__traceback__)
            kind = f"{type(error).__name__} {frames[-1].filename}:{frames[-1].lineno}"
            why, trace = ("" if kind in kinds else f"{type(error).__name__}: {error}"[:300]), traceback.format_exc()
            kinds.add(kind)
        spent = time.process_time() - before
        outcome.slowest = max(outcome.slowest, spent)
        if spent > SLOW_S and not why:
            why = f"took {spent:.1f} s of CPU time"
        if why:
            outcome.failures.append(Failure(f"{word} {number}: {why}", b"", trace))
        for left in folder.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        outcome.executions += 1
        if len(outcome.failures) >= ENOUGH:
            break
    outcome.seconds, outcome.memory = time.process_time() - start, measure_memory("VmHWM")
    return outcome


def run(name: str, word: str, numbers: Sequence[int], *, timeout: float = 3600.0) -> Outcome:
    """The outcome of a process that does these runs; one that dies or does not end is a failure."""
    paths = os.pathsep.join([str(PROJECT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        job = pickle.dumps((name, word, numbers, folder))
        command = [sys.executable, "-c", "from tests.fuzz.behind import serve; serve()"]
        try:
            done = subprocess.run(
                command, input=job, capture_output=True, timeout=timeout, env={**os.environ, "PYTHONPATH": paths}
            )
        except subprocess.TimeoutExpired:
            return Outcome(failures=[Failure(f"{word}: no end within {timeout:g} s", b"")])
    if done.returncode:
        why = f"{word}: the process died with status {done.returncode}"
        return Outcome(failures=[Failure(why, b"", done.stderr.decode(errors="replace"))])
    found = pickle.loads(done.stdout)
    assert isinstance(found, Outcome)
    return found


def serve() -> None:
    job = sys.stdin.buffer.read()
    answer, sys.stdout = sys.stdout, sys.stderr  # nothing else may print there
    name, word, numbers, folder = pickle.loads(job)
    warnings.simplefilter("error")
    signal.signal(signal.SIGVTALRM, ring)
    for number in range(WARM_RUNS):  # imports and caches are no matter of the runs
        work(name, "warm", range(number, number + 1), Path(folder))
    limit_memory()
    answer.buffer.write(pickle.dumps(work(name, word, numbers, Path(folder))))


def main() -> int:
    """One run, in the open."""
    warnings.simplefilter("error")
    name, word, number = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        CLASSES[name](seeded(word, number), Path(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
