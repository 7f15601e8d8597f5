"""Is the skeleton of a session's log that of the file it replays? Every recording beside the project, as recorded.

Each file is replayed as fast as it can be into a log, and both are fitted; `--only` for some files. The recordings are
not part of the project: tests/real/files.py has the table of them.
"""

from __future__ import annotations

import argparse
import json
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import condyle
from condyle.errors import CondyleError
from condyle.io.format import ReadOptions
from condyle.io.skeleton_file import to_plain
from condyle.live.reading import keep_for_fit
from condyle.live.recorder import Recorder
from condyle.live.sources.replay import open_source

from .harness import Table, progress, publish

HEADS = ["recordings", "files", "same skeleton, bit by bit", "both refused, in the same words", "other"]


def record_replay(path: Path, log: Path, reading: ReadOptions) -> ReadOptions:
    """Writes the log of a replay; gives what its fit has to be told."""
    source = open_source(f"{path}@max", reading)
    with Recorder(log) as recorder:
        while not source.ended:
            for packet in source.read(0.1):
                recorder.write(packet)
    return keep_for_fit(reading, [source])


def find_facts(path: Path, reading: ReadOptions, world: bool) -> Any:
    """The skeleton of a file as JSON has it, but for its source; or the sentence that it is refused with."""
    given: dict[str, Any] = {name: getattr(reading, name) for name in reading.given}
    try:
        plain = to_plain(condyle.fit(path, world=world, **given).skeleton)
    except CondyleError as error:
        return error.text
    plain["take"]["sources"] = plain["take"]["windows"] = plain["fit_id"] = None
    return json.loads(json.dumps(plain))


def find_difference(one: Any, other: Any, place: str = "") -> str:
    """Where two answers differ first; empty: nowhere."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return f"{place}: other keys"
        return next((d for key in one if (d := find_difference(one[key], other[key], f"{place}/{key}"))), "")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = zip(one, other, strict=True)
        return next((d for k, (a, b) in enumerate(pairs) if (d := find_difference(a, b, f"{place}/{k}"))), "")
    return "" if one == other else f"{place}: {str(one)[:80]} | {str(other)[:80]}"


class Replayed(NamedTuple):
    """A recording, and how it is fitted."""

    folder: str
    path: str
    reading: ReadOptions
    world: bool


def list_recordings() -> list[Replayed]:
    """Every recording."""
    from tests.make.recordings import all_truth
    from tests.real import files

    columns = {fit.name: fit.columns for fit in files.FITS if fit.columns}
    rows = []
    for file in files.FILES:
        groups = all_truth().get(file.path, {}).get("bodies_from_markers")
        reading = ReadOptions(columns=columns.get(file.path), bodies=groups)
        if file.format is not None or file.path in columns:
            alone = file.bodies == 1 or file.path.startswith("door_pose")
            rows.append(Replayed(file.folder, file.path, reading, alone))
    return rows


def compare(path: Path, reading: ReadOptions, world: bool, folder: Path) -> tuple[str, str]:
    """(how the answers compare, where they differ); world: with the room as a body."""
    if reading.columns is not None:
        (folder / "map.toml").write_text(str(reading.columns))
        reading = ReadOptions(columns=str(folder / "map.toml"))
    log = folder / "session.log"
    log.unlink(missing_ok=True)
    left = record_replay(path, log, reading)
    direct, replayed = find_facts(path, reading, world), find_facts(log, left, world)
    if isinstance(direct, str) and isinstance(replayed, str):
        return ("refused", "") if direct == replayed else ("other", f"{direct} | {replayed}")
    difference = find_difference(direct, replayed)
    return ("other", difference) if difference else ("same", "")


def main() -> None:
    from tests.make.recordings import DATA

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="recordings whose path contains this; nothing is written")
    given = parser.parse_args()
    found: dict[str, tuple[str, str]] = {}
    known = [one for one in list_recordings() if given.only in one.path]
    with TemporaryDirectory() as place:
        for one in known:
            found[one.path] = compare(DATA / one.path, one.reading, one.world, Path(place))
            progress(f"{len(found)} of {len(known)}: {one.path}: {' '.join(found[one.path])}")
    rows = []
    for folder, group in groupby(sorted(known, key=lambda one: one.folder), key=lambda one: one.folder):
        files = list(group)
        counts = [sum(found[one.path][0] == kind for one in files) for kind in ("same", "refused", "other")]
        rows.append([folder, *map(str, (len(files), *counts))])
    rows.append(["all", *(str(sum(int(row[k]) for row in rows)) for k in range(1, len(HEADS)))])
    how = (
        "Recorded takes of people and machines, each file by itself. It is replayed into a session's log, and the log "
        "is fitted as the file is: with its markers' groups where they are known, with a map of columns where no "
        "format knows the table, with the room as a body where there is one sensor only. "
        "Compared is the whole of skeleton.json, but for the source."
    )
    tables = {"Replays": Table(HEADS, rows)}
    others = [[path, text] for path, (kind, text) in found.items() if kind == "other"]
    if others:
        tables["What differs"] = Table(["recording", "where: file, replay"], others)
    publish("replay", "A replay against its file", how, tables, found, given)


if __name__ == "__main__":
    main()
