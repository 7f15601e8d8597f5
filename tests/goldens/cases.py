"""Every case of the table: simulated worlds, and every recording beside the project by both methods."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from tests.make import recordings
from tests.real.files import FILES, FITS, Fit

from .fitting import Case, read_take
from .worlds import simulated

METHODS = ("default", "least-squares")
SEGMENTS = 'rotation = "wxyz"\nunit = "m"\nrate = 100\n' + "".join(
    f"\n[bodies.{body}]\nposition = [{p}, {p + 1}, {p + 2}]\norientation = [{q}, {q + 1}, {q + 2}, {q + 3}]\n"
    for body, p, q in (
        ("PELV", 1, 28),
        ("LFEO", 7, 36),
        ("LTIO", 10, 44),
        ("LTOE", 13, 52),
        ("RFEO", 19, 32),
        ("RTIO", 22, 40),
        ("RTOE", 25, 48),
    )
)  # the columns as truth.json names them, in the file's order
CLIPS = ("cmu_bvh", "cmu_amc")  # exact poses, of which no interval is one
READ_AS = {
    "hard/convention/segments.csv": {"columns": SEGMENTS},
    "hard/hemisphere/hinge_flipped.csv": {"quaternion": "wxyz", "unit": "cm", "doctor": False},
}


@cache
def cases() -> dict[str, Case]:
    """By name; where the recordings are absent, those of simulated worlds."""
    found = [*simulated(), *(recorded() if recordings.DATA.is_dir() else ())]
    by_name = {case.name: case for case in found}
    assert len(by_name) == len(found)
    return by_name


def recorded() -> Iterator[Case]:
    for fit in FITS:
        yield from fitted(fit)
    for name, truth in recordings.all_truth().items():
        if name.startswith(("hard/", "more/")):
            folder = recordings.DATA / name
            files = sorted(folder.iterdir()) if folder.is_dir() else [folder]
            known = {"bodies": truth.get("bodies_from_markers"), "columns": truth.get("columns", "")}
            yield from by_methods(name, files, **known)
            if name in READ_AS:
                yield from by_methods(f"{name}, understood", files, **READ_AS[name])
    used = {path for fit in FITS for path in recordings.DATA.glob(fit.files or fit.name)}
    for file in FILES:
        path = recordings.DATA / file.path
        if path not in used and not file.path.startswith(("hard/", "more/")):
            yield Case(file.path, partial(read_take, [path]), {}, (path,))  # refused


def fitted(fit: Fit) -> Iterator[Case]:
    paths = sorted(recordings.DATA.glob(fit.files or fit.name))
    world = "--world" in fit.options
    assert len(fit.options) == world, f"{fit.name}: {fit.options}"
    given = {"bodies": fit.truth.get("bodies_from_markers"), "columns": fit.columns}
    return by_methods(fit.name, paths, world=world, **given)


def by_methods(name: str, paths: list[Path], world: bool = False, **reading: object) -> Iterator[Case]:
    make = partial(read_take, paths, **reading)  # type: ignore[arg-type]
    for method in METHODS:
        if name.startswith(CLIPS):
            if method == "least-squares":
                yield Case(f"{name}, {method}", make, {"plan": method, "intervals": False}, tuple(paths))
        else:
            yield Case(f"{name}, {method}", make, {"plan": method, "world": world}, tuple(paths))
