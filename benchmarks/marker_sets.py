"""Recordings of markers fitted without a list of bodies: what their names are recognised as, and the edges that come
out beside those with the list that is known to be right.

The recordings are not part of the project. Bodies are matched to the known ones by the markers they have. An edge with
a body that the known list lacks counts as a further one: right where anatomy has it, else wrong.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import condyle
from condyle import CondyleError, Skeleton
from condyle.model.anatomy import count_between

from .harness import Table, progress, publish
from .real import table_of_files

SURE = 0.95  # support from which an edge is sure
REFUSED = "tree-not-determined"


@dataclass(frozen=True)
class Edges:
    """Counts of one fit: known edges that were found, wrong ones, sure and wrong ones, further ones that are right."""

    known: int
    right: int
    wrong: int
    sure_wrong: int
    further: int
    refused: bool

    def __str__(self) -> str:
        text = f"{self.right}/{self.known}"
        text += f", {self.wrong} wrong" if self.wrong else ""
        text += f", {self.further} further" if self.further else ""
        return f"not determined ({text})" if self.refused else text


def count_edges(skeleton: Skeleton | None, truth: Mapping[str, Any]) -> Edges:
    known = {frozenset(joint[:2]) for joint in truth["joints"]}
    if skeleton is None:
        return Edges(len(known), 0, 0, 0, 0, True)
    names = match_bodies(skeleton, truth["bodies_from_markers"])
    props = set(truth.get("props", ()))
    ends = [[names.get(body, body) for body in (joint.parent, joint.child)] for joint in skeleton.joints]
    found = {frozenset(pair): joint for pair, joint in zip(ends, skeleton.joints, strict=True)}
    others = {edge: joint for edge, joint in found.items() if edge not in known and not edge & props}
    further = {
        edge
        for edge, joint in others.items()
        if not edge <= set(truth["bodies_from_markers"]) and count_between([joint.parent, joint.child])[0][0, 1] == 0
    }
    wrong = [joint for edge, joint in others.items() if edge not in further]
    return Edges(
        len(known),
        len(known & set(found)),
        len(wrong),
        sum((joint.support or 0.0) >= SURE for joint in wrong),
        len(further),
        not found or any(finding.code == REFUSED for finding in skeleton.findings),
    )


def match_bodies(skeleton: Skeleton, groups: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """{body: the known body that most of its markers are of}."""

    def bare(marker: str) -> str:
        return marker.rpartition(":")[2].strip().casefold()

    matched = {}
    for body in skeleton.bodies:
        own = [marker.name for marker in skeleton.markers if marker.body == body]
        exact = {name: len(set(own) & set(group)) for name, group in groups.items()}
        loose = {name: len({*map(bare, own)} & {*map(bare, group)}) for name, group in groups.items()}
        count = exact if any(exact.values()) else loose
        best = max(count, key=count.__getitem__)
        if 2 * count[best] > len(own):
            matched[body] = best
    return matched


def fit(paths: Sequence[Path], bodies: Mapping[str, Sequence[str]] | None) -> tuple[Skeleton | None, str]:
    """The figure, or None and the first words of the error."""
    try:
        return condyle.fit([str(path) for path in paths], bodies=bodies).skeleton, ""
    except CondyleError as error:
        return None, error.code


def recognised(skeleton: Skeleton | None) -> str:
    if skeleton is None:
        return "-"
    told = next((one.text for one in skeleton.findings if one.code == "markers-by-name"), "")
    return told.partition(" (")[2].partition("): ")[0] or "-"


def summed(pairs: Sequence[tuple[Edges, Edges]], k: int) -> str:
    right, known, wrong, sure = (
        sum(getattr(pair[k], what) for pair in pairs) for what in ("right", "known", "wrong", "sure_wrong")
    )
    return f"{right} of {known} edges, {wrong} wrong, {sure} of them sure"


def main() -> None:
    parser = argparse.ArgumentParser(description="Recordings of markers without a list of bodies.")
    parser.add_argument("--only", default="", help="only files whose path contains this; nothing is written")
    given = parser.parse_args()
    if table_of_files() is None:
        raise SystemExit("the recordings are not beside the project")
    from tests.make import recordings

    rows, pairs = {}, {}
    for name, truth in recordings.all_truth().items():
        groups = truth.get("bodies_from_markers")
        if not groups or "joints" not in truth or given.only not in name:
            continue
        path = recordings.DATA / name
        paths = sorted(path.rglob("*.csv")) if path.is_dir() else [path]
        told, _ = fit(paths, groups)
        named, error = fit(paths, None)
        pairs[name] = count_edges(told, truth), count_edges(named, truth)
        rows[name] = [name, recognised(named), str(pairs[name][0]), error or str(pairs[name][1])]
        progress(" | ".join(rows[name]))
    both = list(pairs.values())
    worse = sum(b.right < a.right or b.sure_wrong > a.sure_wrong or (a.refused and not b.refused) for a, b in both)
    how = (
        f"{len(both)} recorded takes: with the list of bodies {summed(both, 0)}; by names {summed(both, 1)}, and "
        f"{sum(b.further for _, b in both)} further ones right. {worse} takes are worse than with the list."
    )
    table = Table(["recording", "recognised as", "edges with the list", "edges by names"], list(rows.values()))
    data = {name: [asdict(one) for one in pair] for name, pair in pairs.items()}
    publish("marker_sets", "Marker sets", how, {"Recordings": table}, data, given)


if __name__ == "__main__":
    main()
