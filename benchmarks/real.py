"""Every recording beside the project through `condyle info` and `condyle fit`: what came out against what is known.

The recordings are not part of the project. The table of them and of what is true stands in tests/real/files.py, and
the tests check it; this script writes what was found as numbers.
"""

from __future__ import annotations

import argparse
import time
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .harness import Table, progress, publish

COMMON = {"root-chosen", "one-axis-only", "hinge", "solved-poses", "missing-samples", "rigid-pair"}  # no doubts


def table_of_files() -> Any:
    """The module of the tests; None where the recordings are not beside the project."""
    from tests.make import recordings
    from tests.real import files

    return files if recordings.DATA.is_dir() else None


def looked_at(files: Any) -> list[list[str]]:
    """One row for each folder and format: what `condyle info` says."""
    rows = []

    def kind(file: Any) -> tuple[str, str]:
        return file.folder, file.format or ""

    for (folder, form), group in groupby(sorted(files.FILES, key=kind), key=kind):
        found = list(group)
        answers = [files.info(file.path) for file in found]
        codes = {finding["code"] for answer in answers for finding in answer.facts.get("findings", ())}
        if not form and answers[0].facts.get("columns"):
            says = "a table; its map of columns is proposed"
        elif not form:
            texts = [answer.facts.get("error", {}).get("text") or answer.facts["reasons"][0] for answer in answers]
            says = "not read: " + " / ".join(dict.fromkeys(text.partition(";")[0] for text in texts))
        else:
            errors = [answer.facts["error"]["text"] for answer in answers if "error" in answer.facts]
            says = ", ".join([*sorted(codes), *(f"not read: {text}" for text in errors)]) or "-"
        rows.append(
            [
                folder,
                str(len(found)),
                form or "-",
                spread([answer.facts.get("frames", 0) for answer in answers]),
                spread([len(answer.facts.get("bodies", ())) for answer in answers]),
                spread([len(answer.facts.get("markers", ())) for answer in answers]),
                says,
            ]
        )
    return rows


def spread(counts: list[int]) -> str:
    low, high = min(counts), max(counts)
    return (str(low) if low == high else f"{low} to {high}") if high else "-"


def fitted(files: Any, fit: Any) -> list[str]:
    """One row: what `condyle fit` found, and how it compares with what is known."""
    with TemporaryDirectory() as folder:
        words = fit.words(Path(folder))
        begin = time.process_time()
        answer = files.run(words)
        spent = time.process_time() - begin
    joints = answer.facts["joints"]
    told = sorted({f["code"] for f in answer.facts["findings"] if f["severity"] != "info"} - COMMON)
    return [
        f"`{fit.command}`",
        str(len(answer.facts["bodies"])),
        *compared(files, fit, answer),
        millimetres(max(joint["residual"] for joint in joints)) if joints else "-",
        ", ".join(told) or "-",
        f"{spent:.1f}",
    ]


def compared(files: Any, fit: Any, answer: Any) -> list[str]:
    """Edges, kinds and places against what is known."""
    kinds, places = "-", "-"
    if fit.expect == "not determined":
        edges = "not determined, as is true" if not answer.facts["joints"] else "WRONG: a tree"
    elif fit.expect == "open":
        edges = "nobody knows"
    elif fit.expect == "tree":
        true, found = files.true_edges(fit), files.found_edges(fit, answer)
        edges = f"{len(true & found)} of {len(true)}"
        known = files.true_kinds(fit)
        right = sum(answer.joints.get(edge, {}).get("kind") == kind for edge, kind in known.items())
        kinds = f"{right} of {len(known)}" if known else "-"
    else:
        own = {bone["name"]: bone for bone in files.info(fit.name).facts["own_skeleton"]}
        pairs = [(joint, files.own_child(joint, own)) for joint in answer.facts["joints"]]
        right = [(joint, child) for joint, child in pairs if child]
        edges = f"{len(right)} of {len(own) - 1}"
        doubted = answer.told("rivals", "rigid-pair", "wide-interval")
        others = [{joint["child"], joint["parent"]} for joint, child in pairs if not child]
        sly = sum(not any(bodies <= edge or edge <= bodies for bodies in doubted) for edge in others)
        edges += f", {sly} of {len(others)} others not in doubt" if others else ""
        sure = [(joint, child) for joint, child in right if {child} not in answer.told("wide-interval")]
        places = millimetres(max(files.off(joint, child, own) for joint, child in sure))
    return [edges, kinds, places]


def millimetres(length: float) -> str:
    return f"{1000 * length:.3g}" if length > 1e-9 else "below 1e-6"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="run only the takes whose name contains this; nothing is written")
    given = parser.parse_args()
    files = table_of_files()
    if files is None:
        print("the recordings are not beside the project; nothing measured")
        return
    rows = []
    for fit in files.FITS:
        if given.only in fit.name:
            rows.append(fitted(files, fit))
            progress(" | ".join(rows[-1]))
    heads = [
        "command",
        "bodies",
        "edges right",
        "kinds right",
        "joints off by, mm",
        "worst gap, mm",
        "warnings",
        "CPU, s",
    ]
    tables = {"condyle fit": Table(heads, rows)}
    if not given.only:
        heads = ["folder", "files", "format", "frames", "bodies", "markers", "what is said"]
        tables = {"condyle info": Table(heads, looked_at(files)), **tables}
    how = (
        "Every recording that the tests use, as a user would type it in their folder. `bodies.toml` groups markers "
        "into bodies, `map.toml` names the columns of a table that no format explains. Edges and kinds are compared "
        "with what is known of the recording; of clips (BVH, AMC) and the inertial suit (MVNX) with the skeleton in "
        "the file, where edges among bodies that share a point, or never move against each other, tie and either is "
        "right; of such other edges it is told how many no finding calls doubtful. Joints off by: the worst distance "
        "from that skeleton's joints, those aside that are called vague."
    )
    data = {caption: [list(row) for row in table.rows] for caption, table in tables.items()}
    publish("real", "Real recordings", how, tables, data, given)


if __name__ == "__main__":
    main()
