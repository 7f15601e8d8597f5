"""Trees of recordings whose joints are known, by source, by motion and by person: least squares, the default, and the
default without the names of the bodies; and how often an edge of which support is right. Then the same takes varied:
cut, with a rest around them, noisier, at half the rate, without some of their bodies.

The recordings are not part of the project; without them nothing is measured. `--only lasem` takes part of them.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import condyle
from condyle import CondyleError, Take
from condyle.maths.rotation import from_vector
from condyle.model.skeleton import SURE_SUPPORT

from .harness import Table, progress, publish

WAYS = ("least squares", "default", "default, no names")
BINS = (0.0, 0.5, 0.8, 0.9, SURE_SUPPORT, 0.99, 1.01)  # of support
NOISE_M, NOISE_RAD = 0.002, np.radians(0.5)  # that is added to each frame of a noisier take
REST_S, REST_M, REST_RAD = 3.0, 0.0002, np.radians(0.1)  # s of rest before and after a take, and its noise
PARTS = 3  # that a take is cut in
FEWEST_FRAMES = 15  # of a part that is fitted
VARIED = ("hard/", "more/")  # recordings of people that are also varied; the others are long, and linkages mostly
LEFT_OUT = (1, 2, 2, 3, 4, 4)  # bodies of a take that are left out, at random


@dataclass(frozen=True)
class Found:
    """What one way found in one take: joints that are true, and support of edges that are right and wrong."""

    refused: bool
    true: int
    right: tuple[float, ...]
    wrong: tuple[tuple[str, float], ...]
    slips: int = 0

    @property
    def good(self) -> bool:
        return not self.wrong and len(self.right) == self.true


@dataclass(frozen=True)
class Recording:
    """A take with what is known of it; still: there is nothing to be found."""

    name: str
    source: str
    motion: str
    person: str
    still: bool
    found: dict[str, Found]


@dataclass(frozen=True)
class Variation:
    """What was found in a take that was varied; None: it could not be fitted at all."""

    source: str
    kind: str
    still: bool
    named: bool
    found: Found | None


def entries(only: str = "") -> dict[str, dict[str, Any]]:
    """The recordings whose joints are known, by name."""
    from tests.make.recordings import DATA, all_truth

    known = {name: entry for name, entry in all_truth().items() if entry.get("joints") and "tie_group" not in entry}
    return {name: entry for name, entry in known.items() if only in name and (DATA / name).exists()}


def load(name: str, entry: dict[str, Any]) -> Take | None:
    """One recording; None where it cannot be read without being told how."""
    from tests.make.recordings import DATA

    place = DATA / name
    files = [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())
    reading: dict[str, Any] = {"bodies": entry["bodies_from_markers"]} if entry.get("bodies_from_markers") else {}
    try:
        with TemporaryDirectory() as folder:
            if "columns" in entry and "\n" in entry["columns"]:
                reading["columns"] = Path(folder) / "columns.toml"
                reading["columns"].write_text(entry["columns"])
            take = condyle.read(files, **reading)
    except CondyleError:
        return None
    return take if set().union(*true_joints(entry)) <= set(take.names) else None


def true_joints(entry: dict[str, Any]) -> set[frozenset[str]]:
    return {frozenset(joint[:2]) for joint in entry["joints"]}


def source_of(name: str) -> str:
    source, _, rest = name.removeprefix("more/").partition("/")
    return source if source != "hard" else f"hard/{rest.partition('/')[0]}"


def is_still(entry: dict[str, Any]) -> bool:
    return bool(entry.get("expect") == "not determined")


def measure(name: str, entry: dict[str, Any], ways: Sequence[str] = WAYS) -> Recording | None:
    """All ways on one recording, or None."""
    take = load(name, entry)
    if take is None:
        return None
    motion = entry.get("activity") or entry["what"].partition(",")[0]
    person = entry.get("subject", source_of(name))
    found = {way: compare(take, true_joints(entry), set(entry.get("props", ())), way) for way in ways}
    return Recording(name, source_of(name), motion, person, is_still(entry), found)


def vary(take: Take, name: str) -> Iterator[tuple[str, Take]]:
    """What kind of change, and the take so changed: parts of it, a rest, fewer frames, more noise, fewer bodies."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    if len(set(take.segment.tolist())) == 1:
        for k in range(PARTS):
            yield f"cut in {PARTS}", take.slice(take.frames * k // PARTS, take.frames * (k + 1) // PARTS)
        if take.timed and take.seen.all(axis=1).any():
            yield f"{REST_S:g} s of rest around", add_rest(take, np.random.default_rng(zlib.crc32(name.encode())))
    yield "half the rate", take.slice(None, None, 2)
    jitter = from_vector(rng.normal(0, NOISE_RAD, take.p_world_body.shape))
    p = take.p_world_body + rng.normal(0, NOISE_M, take.p_world_body.shape)
    yield "2 mm and 0.5 deg of noise", replace(take, R_world_body=take.R_world_body @ jitter, p_world_body=p)
    for count in LEFT_OUT:
        if take.bodies - count >= 3:
            gone = rng.choice(take.bodies, count, replace=False)
            yield "bodies left out", take.select(body for k, body in enumerate(take.names) if k not in gone)


def add_rest(take: Take, rng: np.random.Generator) -> Take:
    """From the first frame in which all bodies are seen to the last, each of the two held for a while."""
    whole, held = np.flatnonzero(take.seen.all(axis=1)), take.count_frames(REST_S)
    first, last = int(whole[0]), int(whole[-1])
    rows = np.concatenate([np.full(held, first), np.arange(first, last + 1), np.full(held, last)])
    still = ((np.arange(len(rows)) < held) | (np.arange(len(rows)) >= len(rows) - held))[:, None, None]
    shape = (len(rows), take.bodies, 3)
    return replace(
        take,
        time=np.arange(len(rows)) / take.rate,
        segment=np.zeros(len(rows), dtype=np.int64),
        R_world_body=take.R_world_body[rows] @ from_vector(still * rng.normal(0, REST_RAD, shape)),
        p_world_body=take.p_world_body[rows] + still * rng.normal(0, REST_M, shape),
    )


def measure_varied(name: str, entry: dict[str, Any]) -> list[Variation]:
    """The default with and without names on all variations of one recording."""
    take = load(name, entry)
    found = []
    for kind, varied in vary(take, name) if take is not None else ():
        for way in WAYS[1:] if varied.frames >= FEWEST_FRAMES else ():
            true = {edge for edge in true_joints(entry) if edge <= set(varied.names)}
            try:
                one = compare(varied, true, set(entry.get("props", ())), way)
            except CondyleError:  # a part in which nothing is seen
                one = None
            found.append(Variation(source_of(name), kind, is_still(entry), way == WAYS[1], one))
    return found


def measure_all(name: str, entry: dict[str, Any]) -> tuple[Recording | None, list[Variation]]:
    return measure(name, entry), measure_varied(name, entry) if name.startswith(VARIED) else []


def compare(take: Take, true: set[frozenset[str]], props: set[str], way: str) -> Found:
    """What one way finds, against the true edges; edges to `props` count neither way."""
    called = dict(zip(take.names, take.names, strict=True))
    if way == WAYS[2]:
        called = {name: f"s{k}" for k, name in enumerate(take.names)}
        take = replace(take, names=tuple(called.values()), markers=(), own=None)
    back = {new: old for old, new in called.items()}
    plan: Any = "least-squares" if way == WAYS[0] else "default"
    skeleton = condyle.fit(take, plan, intervals=False).skeleton
    joints = skeleton.joints
    found = {frozenset((back[joint.child], back[joint.parent])): joint.support or 0.0 for joint in joints}
    right = tuple(support for edge, support in found.items() if edge in true)
    wrong = [(edge, support) for edge, support in found.items() if edge not in true and not edge & props]
    told = tuple(("-".join(sorted(edge)), support) for edge, support in wrong)
    return Found(not found, len(true), right, told, sum(finding.code == "slip" for finding in skeleton.findings))


def count(recordings: Sequence[Recording]) -> list[str]:
    """Cells of a row: takes, and for each way trees and wrong edges; of the default sure edges; still takes."""
    moving = [one for one in recordings if not one.still]
    still = [one for one in recordings if one.still]
    cells = [str(len(moving))]
    for way in WAYS:
        found = [one.found[way] for one in moving]
        wrong = [support for one in found for _, support in one.wrong]
        sure = sum(support >= SURE_SUPPORT for support in wrong)
        cells += [str(sum(one.good for one in found)), f"{len(wrong)} ({sure})"]
    found = [one.found[WAYS[1]] for one in moving]
    right = [support for one in found for support in one.right]
    cells.append(f"{sum(support >= SURE_SUPPORT for support in right)} of {sum(one.true for one in found)}")
    refused = sum(one.found[WAYS[1]].refused for one in still)
    return [*cells, f"{refused} of {len(still)}" if still else "-"]


def table_by(recordings: Sequence[Recording], head: str, key: Callable[[Recording], str]) -> Table:
    groups: dict[str, list[Recording]] = {}
    for one in recordings:
        groups.setdefault(key(one), []).append(one)
    heads = [head, "moving takes, recorded"]
    heads += [text for way in WAYS for text in (f"{way}: trees right", "wrong edges (sure)")]
    heads += ["right edges sure, default", "still takes refused"]
    rows = [[name, *count(groups[name])] for name in sorted(groups)]
    return Table(heads, [*rows, ["all", *count(recordings)]])


def calibrate(recordings: Iterable[Recording]) -> Table:
    """How many edges of which support are right."""
    heads = ["support", *(f"{way}: right" for way in WAYS)]
    rows: list[Sequence[str]] = []
    moving = [one for one in recordings if not one.still]
    for low, high in pairwise(BINS):
        cells = [f"{low:g} to {min(high, 1.0):g}"]
        for way in WAYS:
            right = [support for one in moving for support in one.found[way].right]
            wrong = [support for one in moving for _, support in one.found[way].wrong]
            inside = [sum(low <= support < high for support in part) for part in (right, wrong)]
            cells.append(f"{inside[0]} of {sum(inside)}" if sum(inside) else "-")
        rows.append(cells)
    return Table(heads, rows)


def table_varied(varied: Sequence[Variation], head: str, key: Callable[[Variation], str]) -> Table:
    """Counts with names / without them."""
    rows = []
    for name in [*dict.fromkeys(key(one) for one in varied), "all"]:
        cells: list[list[str]] = []
        for named in (True, False):
            part = [one for one in varied if one.named == named and name in ("all", key(one)) and one.found is not None]
            moving = [one.found for one in part if not one.still and one.found is not None]
            still = [one.found.refused for one in part if one.still and one.found is not None]
            sure = [support >= SURE_SUPPORT for one in moving for support in one.right]
            wrong = [support for one in moving for _, support in one.wrong]
            cells.append(
                [
                    f"{sum(one.good for one in moving)} of {len(moving)}",
                    f"{sum(sure)} of {sum(one.true for one in moving)}",
                    str(len(wrong)),
                    str(sum(support >= SURE_SUPPORT for support in wrong)),
                    str(sum(one.slips for one in moving)),
                    f"{sum(still)} of {len(still)}" if still else "-",
                ]
            )
        rows.append([name, *(f"{a} / {b}" if a != b else a for a, b in zip(*cells, strict=True))])
    heads = ["trees right", "right edges sure", "wrong edges", "sure ones", "slips told", "still takes refused"]
    return Table([head, *(f"{text}, with / without names" for text in heads)], rows)


def list_wrong(recordings: Iterable[Recording]) -> Table:
    """Takes of which the default is not right, with and without names."""
    rows = []
    for one in recordings:
        for way in WAYS[1:]:
            found = one.found[way]
            if one.still and not found.refused:
                rows.append([one.name, way, "a tree, though nobody moved"])
            elif not one.still and not found.good:
                wrong = [f"{edge} (support {support:.2f})" for edge, support in found.wrong]
                lost = found.true - len(found.right)
                rows.append([one.name, way, ", ".join([*wrong, *([f"{lost} not found"] if lost else [])])])
    return Table(["take", "way", "wrong"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run only the takes whose name contains this; nothing is written")
    given = parser.parse_args()
    recordings: list[Recording] = []
    varied: list[Variation] = []
    known = entries(given.only)
    with ProcessPoolExecutor() as pool:
        for name, (one, changed) in zip(known, pool.map(measure_all, known, known.values()), strict=True):
            progress(
                f"{name}: " + ("not read" if one is None else ", ".join(f"{w} {f.good}" for w, f in one.found.items()))
            )
            recordings += [one] if one is not None else []
            varied += changed
    if not recordings:
        print("the recordings are not beside the project; nothing measured")
        return
    tables = {
        "By source": table_by(recordings, "source", lambda one: one.source),
        "By motion": table_by(recordings, "motion", lambda one: one.motion),
        "By person": table_by(recordings, "person", lambda one: one.person),
        "Support": calibrate(recordings),
        "What is wrong": list_wrong(recordings),
        "The same takes varied, by what was done": table_varied(varied, "what was done", lambda one: one.kind),
        "The same takes varied, by source": table_varied(varied, "source", lambda one: one.source),
    }
    how = (
        "Recordings of people and linkages whose joints are known from their markers, all recorded, none simulated. A "
        "tree is right where it has every true edge and no other. Sure: support of 0.95 or more. Without names the "
        "bodies are called s0, s1, ...: what the motion alone tells. Varied takes are parts of them, the whole "
        f"with {REST_S:g} s of rest before and after it, at half the rate or with noise added, and with one to four "
        "bodies left out at random, so "
        "that between others a segment was not worn; in a part of a take little may move."
    )
    data = {
        one.name: {"still": one.still, **{way: vars(found) for way, found in one.found.items()}} for one in recordings
    }
    publish("people", "Trees of people", how, tables, data, given)


if __name__ == "__main__":
    main()
