"""Markers that bear each other's labels for a stretch: how many are found, to the frame or nearly, how often one is
told where none was, and what exchanging back is worth.

Every bone carries a cluster of four or five markers of random shape. Nothing but the groups is told to the program. A
recording counts as a false alarm if any exchange is told in it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from unittest.mock import patch

import numpy as np

import condyle
from condyle import Take
from condyle.findings import Finding
from condyle.io.formats import ReadOptions as ReadingOptions
from condyle.io.formats import read_recording
from condyle.model.recording import Convention, Markers, Recording, to_take
from condyle.prepare.clusters import form_bodies, match_marker
from condyle.prepare.shapes import extent
from condyle.simulate import Disturbances, Truth, World, device, flesh, linkage, simulate
from condyle.simulate.seeds import stream

from .harness import (
    Case,
    Table,
    arguments,
    length_errors,
    lengths_held,
    measured,
    percent,
    progress,
    publish,
    rms,
    true_lengths,
)
from .real import table_of_files

CM, MM = 0.01, 0.001
SECONDS, RATE = 30.0, 60.0
LENGTHS = (0.1, 0.5, 2.0, 10.0)  # s
KINDS = ("inside", "neighbours", "twins")
PLATE = np.array([16 * CM, 10 * CM, 5 * CM])  # box that the markers of a body lie in,
APART = 4 * CM  # so far from each other at least,
WIDE = 7 * CM  # and not near one line (root sum of squares across the longest axis)
RUN = 0.3  # s: dropouts
SPIKE = 10 * CM
HIDDEN = 0.3  # s without both markers around each end
NEAR = 0.05  # s
CLEAN = 7  # recordings without an exchange for each one with
REAL = 10  # exchanges in each real recording
FITTED = 10.0  # s: the exchange whose length errors are shown


@dataclass(frozen=True)
class Marked(Case):
    """What optical systems do to markers.

    noise    [m]  white, per axis; skin: rms of every marker's own movement on its bone
    bend     [m]  rms per axis of a smooth displacement by place, over 0.9 m: a calibration that is off
    spikes, missing  [-]  shares of every marker's samples
    ends     "seen", "hidden" (both markers miss HIDDEN around each end), "first" or "last" (the take's own)
    """

    disturbances: Disturbances = field(default_factory=Disturbances, kw_only=True)  # none of a sensor's
    noise: float = 0.5 * MM
    skin: float = 0.0
    bend: float = 0.0
    spikes: float = 0.0
    missing: float = 0.0
    ends: str = "seen"


@dataclass(frozen=True)
class Exchange:
    """Two markers that bear each other's labels in frames first <= k < stop."""

    bodies: tuple[str, str]
    markers: tuple[str, str]
    first: int
    stop: int


WALK = "walk"
CASES = (
    Marked("0.5 mm, exercise"),
    Marked("0.5 mm, walk", motion=WALK),
    Marked("2 mm, exercise", noise=2 * MM),
    Marked("2 mm, walk", noise=2 * MM, motion=WALK),
    Marked("0.5 mm, bent by 12 mm, walk", bend=12.5 * MM, motion=WALK),
    Marked("0.5 mm, 10 % missing, walk", missing=0.1, motion=WALK),
    Marked("0.5 mm, 1 % spikes, exercise", spikes=0.01),
    Marked("0.5 mm, walk, begins exchanged", ends="first", motion=WALK),
    Marked("0.5 mm, exercise, ends exchanged", ends="last"),
    Marked("0.5 mm, walk, ends hidden", ends="hidden", motion=WALK),
    Marked("skin 5 mm, exercise", skin=5 * MM),
    Marked("skin 5 mm, walk", skin=5 * MM, motion=WALK),
    Marked("skin 5 mm, walk, 10 % missing, ends hidden", skin=5 * MM, missing=0.1, ends="hidden", motion=WALK),
    Marked("skin 10 mm, exercise", skin=10 * MM),
    Marked("skin 10 mm, walk", skin=10 * MM, motion=WALK),
    Marked("linkage, 0.5 mm, exercise", figure=linkage()),
    Marked(
        "linkage, 2 mm, bent by 12 mm, 10 % missing, walk",
        noise=2 * MM,
        bend=12.5 * MM,
        missing=0.1,
        motion=WALK,
        figure=linkage(),
    ),
)


@dataclass
class Hits:
    """Over recordings with one exchange: told at all, the right two alone, both ends within NEAR, worse end off [s]."""

    found: list[bool] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    near: list[bool] = field(default_factory=list)
    off: list[float] = field(default_factory=list)


@dataclass
class Result:
    clean: int = 0
    alarms: int = 0
    hits: dict[tuple[str, float], Hits] = field(
        default_factory=lambda: {(kind, length): Hits() for kind in KINDS for length in LENGTHS}
    )
    limbs: int = 0
    held: list[bool] = field(default_factory=list)
    errors: dict[str, list[float]] = field(
        default_factory=lambda: {"none": [], "unnoticed": [], "left out": [], "exchanged back": []}
    )


def measure(case: Marked, seeds: Sequence[int]) -> Result:
    result = Result()
    for seed in seeds:
        for k in range(CLEAN):
            world, recording, groups = marked(case, seed + 1000 * k)
            result.clean += 1
            take, told = formed(recording, groups)
            result.alarms += bool(told)
            if k == 0:
                skeleton = condyle.fit(take).skeleton
                result.limbs += len(true_lengths(world.truth))
                result.held += lengths_held(skeleton, world.truth).values()
                result.errors["none"] += length_errors(skeleton, world.truth).values()
        world, recording, groups = marked(case, seed)
        for (kind, length), hits in result.hits.items():
            if case.ends == "hidden" and length <= HIDDEN:
                continue  # nothing of it is seen
            swap = drawn(case, world.truth, groups, kind, length, seed)
            wrong = exchanged(case, recording, swap)
            _, told = formed(wrong, {body: groups[body] for body in swap.bodies})
            _count(hits, told, swap, case)
            if length == FITTED and kind == KINDS[0]:
                for way, errors in result.errors.items():
                    if way != "none":
                        skeleton = condyle.fit(_treated(wrong, groups, way)).skeleton
                        errors += length_errors(skeleton, world.truth).values()
    return result


def marked(case: Marked, seed: int) -> tuple[World, Recording, dict[str, list[str]]]:
    """A world with a cluster on every bone, what the cameras record of it, and which markers are whose."""
    world = simulate(case.figure, case.motion, seconds=SECONDS, rate=RATE, seed=seed)  # type: ignore[arg-type]
    truth = world.truth
    rng = stream(seed, "clusters")
    R, p = truth.R_world_body, truth.p_world_body
    groups: dict[str, list[str]] = {}
    paths = []
    size = np.full(len(truth.names), case.skin)
    skin = [flesh.slide_skin(truth, size, stream(seed, f"skin {k}"))[0] for k in range(5)] if case.skin else None
    for body, name in enumerate(truth.names):
        places = _cluster(rng)
        groups[name] = [f"{name}_{k}" for k in range(len(places))]
        for k, place in enumerate(places):
            moved = place if skin is None else place + skin[k][:, body]
            paths.append(np.einsum("nij,nj->ni", R[:, body], np.broadcast_to(moved, p[:, body].shape)) + p[:, body])
    points = np.stack(paths, axis=1)
    if case.bend:
        points = device.warp(np.eye(3), points, case.bend, 0.9, stream(seed, "bend"))[1]
    points = points + case.noise * stream(seed, "noise").standard_normal(points.shape)
    shape = points.shape[:2]
    spiked = stream(seed, "spikes").random(shape) < case.spikes
    points = points + SPIKE * stream(seed, "spike errors").standard_normal(points.shape) * spiked[..., None]
    lost = device.draw_runs(stream(seed, "missing"), shape, np.full(shape[1], case.missing), round(RUN * RATE))
    points[lost] = np.nan
    names = tuple(marker for markers in groups.values() for marker in markers)
    recording = Recording(
        "simulated", "made", markers=Markers(names, points), rate=RATE, convention=Convention(unit="m")
    )
    return world, recording, groups


def formed(recording: Recording, groups: dict[str, list[str]], fix_swaps: bool = False) -> tuple[Take, list[Finding]]:
    """The take of the bodies, and the exchanges that were told."""
    made = form_bodies([recording], groups, fix_swaps=fix_swaps)[0]
    return to_take(made), [finding for finding in made.findings if finding.code == "marker-swap"]


def _treated(recording: Recording, groups: dict[str, list[str]], way: str) -> Take:
    """The take where the exchange is not looked for ("unnoticed"), left out or exchanged back."""
    if way == "unnoticed":
        with patch("condyle.prepare.clusters.find_marker_swaps", return_value=[]):
            return formed(recording, groups)[0]
    return formed(recording, groups, fix_swaps=way == "exchanged back")[0]


def drawn(case: Marked, truth: Truth, groups: dict[str, list[str]], kind: str, length: float, seed: int) -> Exchange:
    """Two markers and a stretch, drawn anew for every seed, kind and length."""
    rng = stream(seed, f"exchange {kind} {length:g}")
    names = truth.names
    twins = [(name, "r_" + name[2:]) for name in names if name.startswith("l_")]
    choices = {"inside": [(name, name) for name in names], "neighbours": sorted(truth.edges), "twins": twins}[kind]
    one, other = choices[int(rng.integers(len(choices)))]
    a = int(rng.integers(len(groups[one])))
    b = int(rng.integers(len(groups[other])))
    while one == other and a == b:
        b = int(rng.integers(len(groups[other])))
    frames, n = round(length * RATE), len(truth.time)
    first = {"first": 0, "last": n - frames}.get(case.ends, int(rng.integers(1, n - frames)))
    return Exchange((one, other), (groups[one][a], groups[other][b]), first, first + frames)


def exchanged(case: Marked, recording: Recording, swap: Exchange) -> Recording:
    assert recording.markers is not None
    names, points = recording.markers.names, recording.markers.position.copy()
    both = [names.index(marker) for marker in swap.markers]
    rows = slice(swap.first, swap.stop)
    points[rows, both] = points[rows, both[::-1]]
    if case.ends == "hidden":
        half = round(HIDDEN / 2 * RATE)
        for end in (swap.first, swap.stop):
            points[max(end - half, 0) : end + half, both] = np.nan
    return replace(recording, markers=Markers(names, points))


def _cluster(rng: np.random.Generator) -> np.ndarray:
    """(4 or 5, 3) [m] places of a body's markers."""
    count = int(rng.integers(4, 6))
    while True:
        places = rng.uniform(-PLATE / 2, PLATE / 2, (count, 3))
        between = np.linalg.norm(places[:, None] - places, axis=2) + np.eye(count)
        if between.min() > APART and extent(places)[1] > WIDE:
            return places


def _count(hits: Hits, told: list[Finding], swap: Exchange, case: Marked) -> None:
    own = [finding for finding in told if named(finding) == set(swap.markers)]
    hits.found.append(bool(told))
    hits.right.append(len(own) == len(told) == 1)
    if len(own) != 1 or own[0].time is None:
        return
    start, end = own[0].time
    off = max(abs(start * RATE - swap.first), abs(end * RATE + 1 - swap.stop)) / RATE
    if case.ends == "hidden":
        off = max(off - HIDDEN / 2, 0.0)
    hits.off.append(off)
    hits.near.append(off <= NEAR + 1e-9)


def real_rows(given: argparse.Namespace) -> list[list[str]]:
    """Recordings beside the project: exchanges told as they are, and after two markers were exchanged."""
    files = None if given.only else table_of_files()
    rows = []
    for take in files.FITS if files is not None else ():
        groups = take.truth.get("bodies_from_markers")
        if not groups:
            continue
        paths = sorted(files.recordings.DATA.glob(take.files or take.name))
        recordings = [read_recording(path, ReadingOptions.of()) for path in paths]
        told = [f for one in form_bodies(recordings, groups) for f in one.findings if f.code == "marker-swap"]
        right = [_real_exchange(recordings, groups, given.seed + k) for k in range(REAL)]
        frames = sum(one.frames for one in recordings)
        rows.append([take.name, str(frames), str(len(groups)), str(len(told)), f"{sum(right)} of {REAL}"])
        progress(" | ".join(rows[-1]))
    return rows


def _real_exchange(recordings: list[Recording], groups: dict[str, list[str]], seed: int) -> bool:
    """Whether two markers of one or of two bodies, exchanged in a tenth of the longest recording, are told alone."""
    rng = stream(seed, "real exchange")
    longest = max(range(len(recordings)), key=lambda k: recordings[k].frames)
    recording = recordings[longest]
    assert recording.markers is not None
    bodies = list(groups)
    one = bodies[int(rng.integers(len(bodies)))]
    other = one if seed % 2 else bodies[int(rng.integers(len(bodies)))]
    pairs = [(a, b) for a in groups[one] for b in groups[other] if a != b]
    markers = pairs[int(rng.integers(len(pairs)))]
    frames = recording.frames // 10
    first = int(rng.integers(1, recording.frames - frames))
    columns = [match_marker(marker, recording.markers.names) for marker in markers]
    points = recording.markers.position.copy()
    points[first : first + frames, columns] = points[first : first + frames, columns[::-1]]
    wrong = list(recordings)
    wrong[longest] = replace(recording, markers=Markers(recording.markers.names, points))
    told = [f for made in form_bodies(wrong, groups) for f in made.findings if f.code == "marker-swap"]
    return len(told) == 1 and named(told[0]) == set(markers)


def named(finding: Finding) -> set[str]:
    """The two markers in the words of a finding."""
    words = re.search(r"markers (.+) and (.+) bear", finding.text)
    return set(words.groups()) if words else set()


def row(case: Marked, result: Result) -> list[str]:
    cells = [case.name, f"{result.alarms} of {result.clean}"]
    for length in LENGTHS:
        some = [result.hits[kind, length] for kind in KINDS]
        near = [value for hits in some for value in hits.near]
        told = [value for hits in some for value in hits.found]
        right = [value for hits in some for value in hits.right]
        shares = [percent(np.mean(values)) if values else "-" for values in (told, right, near)]
        cells.append(", ".join(shares) if told else "-")
    inside, between = (
        [v for (kind, _), h in result.hits.items() if (kind == KINDS[0]) is same for v in h.right]
        for same in (True, False)
    )
    cells.append(f"{percent(np.mean(inside))} / {percent(np.mean(between))}")
    off = [value for hits in result.hits.values() for value in hits.off]
    cells.append(f"{np.median(off):.3f}, {max(off):.2f}" if off else "-")
    cells.append(" / ".join(f"{rms(errors) / CM:.3f}" for errors in result.errors.values()))
    cells.append(f"{len(result.errors['none'])} of {result.limbs}, {sum(result.held)}")
    return cells


def main() -> None:
    given = arguments(__doc__ or "", 4)
    rows, data = [], {}
    for case, result in measured(CASES, measure, given):
        rows.append(row(case, result))
        data[case.name] = {
            "clean": result.clean,
            "alarms": result.alarms,
            "errors": result.errors,
            "limbs": result.limbs,
            "held": result.held,
            "swaps": {f"{kind} {length:g}": vars(hits) for (kind, length), hits in result.hits.items()},
        }
        progress(" | ".join(rows[-1]))
    heads = ["world", "false alarms"]
    heads += [f"{length:g} s: told, the right two alone, both ends within {NEAR:g} s" for length in LENGTHS]
    heads += ["the right two alone: inside a body / between two", "worse end off, median and most, s"]
    heads.append(f"length error, cm: none exchanged / {FITTED:g} s inside a body unnoticed / left out / exchanged back")
    heads.append("lengths told without an exchange, and within their 95 % interval")
    how = (
        f"Every bone of a person, or of a linkage, carries four or five markers in a box of 16 x 10 x 5 cm; "
        f"{SECONDS:g} s at {RATE:g} Hz. Two of them bear each other's labels for so long: two of one body, one of each "
        f"of two neighbours, one of each of left and right twins, in equal numbers. False alarms are counted over "
        f"{CLEAN} times as many recordings without an exchange. Skin moves every marker on its own, by so much rms. "
        f"Where the ends are hidden, both markers miss {HIDDEN:g} s around each, and what is missing does not count as "
        f"off."
    )
    tables = {"Detection": Table(heads, rows)}
    if real := real_rows(given):
        heads = [
            "recording",
            "frames",
            "bodies",
            "exchanges told as it is",
            "two markers exchanged: the right two alone",
        ]
        tables["Real recordings"] = Table(heads, real)
        data["real"] = {name: cells for name, *cells in real}
        how += f" In real recordings, {REAL} exchanges of a tenth of the longest file each, half of them inside a body."
    publish("marker_swaps", "Exchanged markers", how, tables, data, given)


if __name__ == "__main__":
    main()
