"""A study from beginning to end: list the takes, do those that are not done, and write what is known of all of them.

study = condyle.batch("takes", "study")
print(study)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import CondyleError, UsageError, check_path
from ..findings import list_some, many
from ..io.folder import lock_folder
from ..model.progress import begin_step
from .discover import find_takes
from .engine import Engine, Tell, run_steps
from .index import INDEX, write_index
from .ledger import LEDGER, Ledger, LedgerRecord
from .manifest import read_manifest
from .plan import TAKES, Entry, TakeStep, make_steps
from .settings import check_settings
from .tables import NAMES, check_parquet, write_tables


@dataclass(frozen=True)
class Study:
    """A folder of takes that were done.

    folder  holds ledger.jsonl, the tables, index.html, and takes/ with one folder a take
    counts  takes by their state (done, failed, waiting), and those done by their verdict (good, look, bad)
    failed  names of the takes that failed, with their sentences
    ran     takes that this run did; again: how many of them a second time, since their process had died
    notes   what else there is to know: files that are no takes, lines of the ledger that were left out
    files   tables and page
    """

    folder: Path
    counts: Mapping[str, int]
    failed: Mapping[str, str]
    ran: int
    again: int
    notes: tuple[str, ...]
    files: tuple[Path, ...] = field(repr=False)

    def __str__(self) -> str:
        counts = self.counts
        states = [f"{counts[name]} {name}" for name in ("done", "failed", "waiting") if counts[name] or name == "done"]
        words = {"good": "good", "look": "to look at", "bad": "bad"}
        tones = [f"{counts[tone]} {word}" for tone, word in words.items() if counts[tone]]
        total = sum(counts[name] for name in ("done", "failed", "waiting"))
        return f"{many(total, 'take')}: {', '.join(states)}." + (f" Of those done, {', '.join(tones)}." * bool(tones))


def batch(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    performers: bool = False,
    settings: Mapping[str, Any] | None = None,
    workers: int | None = None,
    cluster: str | None = None,
    retry: bool = False,
    parquet: bool = False,
    tell: Tell | None = None,
) -> Study:
    """Fits every take of a folder or of a study.toml into a folder `out`; what was done there before is not done again.

    performers  of a folder: its subfolders are performers, theirs are sessions
    settings    of all takes, as options.toml has them, with `report` (bool) and `export` ("bvh,glb") beside; what a
                study.toml says wins. Paths in them are relative to the folder, or to the study.toml
    workers     processes on this machine; None: as many as cores
    cluster     address of a Dask scheduler, or "dask" for the one that Dask's configuration names
    retry       do takes again that failed; else only those that failed for want of memory, disk or the like
    parquet     write the tables as Parquet as well
    tell        is called with every record as it comes, how many are done in this run, and of how many

    A take that fails does so alone; see Study.failed. Raises CondyleError where nothing can be done at all.
    """
    if parquet:
        check_parquet()
    if workers is not None and (workers < 1 or cluster is not None):
        raise UsageError("workers is a number of processes on this machine, one or more", code="bad-option")
    folder = check_path(os.path.abspath(check_path(out, "a folder")), "a folder")
    begin_step("looking for takes")
    root, entries, notes = _list_takes(check_path(source, "a study"), folder, dict(settings or {}), performers)
    steps = make_steps(root, entries, folder)
    with _make_folder(folder), lock_folder(folder), Ledger(folder) as ledger:
        notes += ledger.told
        named = {(step.name, step.key): step for step in steps}  # takes of one name fail once
        states = (None, "failed-passing", "failed") if retry else (None, "failed-passing")
        todo = [step for step in named.values() if ledger.state(step.name, step.key) in states]
        try:
            again = run_steps(
                todo, steps, lambda: _make_engine(workers, cluster, folder, len(todo)), ledger, tell or _tell_nobody
            )
        except BaseException:
            _leave(folder, steps, ledger, notes)
            raise
        begin_step("writing the page over all takes")
        files = _write_overview(folder, steps, ledger, notes, parquet=parquet)
        counts, failed = _count(steps, ledger)
    return Study(folder, counts, failed, len(todo), again, tuple(notes), tuple(files))


def _list_takes(
    source: Path, out: Path, settings: dict[str, Any], performers: bool
) -> tuple[Path, list[Entry], list[str]]:
    """The root of the files, the takes, and what there is to say about other files."""
    if not source.exists():
        raise UsageError("no such folder, and no such list of takes", code="no-such-file", path=source)
    if not source.is_dir():
        if performers:
            raise UsageError("a list of takes names its performers itself; leave --performers out", code="bad-option")
        check_settings(settings, source.parent)
        root, entries = read_manifest(source, settings)
        return root, entries, []
    root = Path(os.path.abspath(source))
    if root.resolve() in (out.resolve(), (out / TAKES).resolve()):
        raise UsageError(
            f"the study would be written into the folder of the takes; name another, such as {source / 'study'}",
            code="bad-study",
            path=out,
        )
    check_settings(settings, root)
    found = find_takes(root, out, settings, performers=performers)
    notes = []
    if found.passed:
        some = list_some([name for name, _ in found.passed])
        notes.append(f"{many(len(found.passed), 'file')} passed over, no recordings: {some}")
    return root, list(found.entries), notes


@contextmanager
def _make_folder(folder: Path) -> Iterator[None]:
    """Makes the folder of the study, which is not left behind empty; raises where it is something else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CondyleError(f"cannot be made: {error.strerror}", code="unwritable", path=folder) from None
    own = [INDEX, TAKES, *(f"{name}.csv" for name in NAMES)]
    there = [name for name in own if (folder / name).exists()]
    if there and not (folder / LEDGER).exists():
        raise UsageError(f"holds {there[0]}, which is of no study; name another folder", code="bad-study", path=folder)
    try:
        yield
    finally:
        with suppress(OSError):  # something is in it
            folder.rmdir()


def _make_engine(workers: int | None, cluster: str | None, folder: Path, steps: int) -> Engine:
    if cluster is not None:
        from .cluster import DaskCluster

        return DaskCluster(cluster, folder)
    from .processes import Processes, count_cores

    return Processes(min(workers or count_cores(), steps))


def _write_overview(
    folder: Path, steps: tuple[TakeStep, ...], ledger: Ledger, notes: list[str], *, parquet: bool
) -> list[Path]:
    def read(step: TakeStep) -> LedgerRecord | None:
        return ledger.read(step.name, step.key)

    def rows() -> Iterator[tuple[TakeStep, LedgerRecord | None]]:
        return ((step, read(step)) for step in steps)

    tables = write_tables(folder, rows, parquet=parquet)
    return [write_index(folder, steps, read, notes), *tables]


def _leave(folder: Path, steps: tuple[TakeStep, ...], ledger: Ledger, notes: list[str]) -> None:
    """What a run that is cut off leaves: the overview of what is done so far; nothing where that is nothing."""
    with suppress(CondyleError):  # of the disk, which is what cut it off
        if len(ledger):
            _write_overview(folder, steps, ledger, notes, parquet=False)
    if not len(ledger) and not (folder / TAKES).exists():  # a folder of takes without a ledger is of no study
        with suppress(OSError):
            ledger.path.unlink()


def _count(steps: tuple[TakeStep, ...], ledger: Ledger) -> tuple[dict[str, int], dict[str, str]]:
    counts = dict.fromkeys(("done", "failed", "waiting", "good", "look", "bad"), 0)
    failed = {}
    for step in steps:
        record = ledger.read(step.name, step.key)
        counts["waiting" if record is None else record.state] += 1
        if record is not None and record.facts is not None:
            counts[record.facts.tone] += 1
        if record is not None and record.fault is not None:
            failed[step.name] = record.fault.text
    return counts, failed


def _tell_nobody(record: LedgerRecord, done: int, of: int) -> None:
    pass
