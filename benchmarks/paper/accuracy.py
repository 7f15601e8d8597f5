"""The README's table of accuracy, rendered from the stored results between two marks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from condyle.model.skeleton import SURE_SUPPORT

from ..harness import RESULTS as MEASURED
from . import published, tables
from .store import load, table

README = Path(__file__).resolve().parents[2] / "README.md"
BEGIN, END = "<!-- accuracy -->", "<!-- /accuracy -->"
LINKAGE_SETS = 6  # recordings of the linkage in each room


def render() -> str:
    """The table from all results that are stored; rows without results are left out."""
    return table(["measured", "takes", "paper", "its method, here", "condyle"], [*paper_rows(), *own_rows()])


def paper_rows() -> list[list[str]]:
    rows = []
    if human := _results("human_dynamics"):
        ways = human["ways"]
        rows.append(
            [
                "lengths of a person, rigid-body dynamics, no noise: largest error",
                f"simulated, {human['trials']}",
                f"< {published.SIMULATED_LENGTH:.0e} m",
                f"{ways['least-squares']['largest_m']:.0e} m",
                f"{ways['default']['largest_m']:.0e} m",
            ]
        )
    if linkage := _results("linkage"):
        errors = linkage["errors_cm"]
        cells = [f"{tables.rms_of(errors[way]):.2f}" for way in ("least squares", "default", "field", "field and rod")]
        most = [f"{tables.largest_of(errors[way]):.1f}" for way in ("least squares", "default", "field")]
        most.append(f"{tables.largest_of(errors['field and rod']):.2f}")
        takes = f"simulated, {LINKAGE_SETS * linkage['rooms']}, in fields of the corrector's own kind"
        rows += [
            [
                "lengths of the linkage, six sets in a bent field: rms error, cm",
                takes,
                f"{tables.published_rms(published.LINKAGE):.2f}",
                cells[0],
                f"{cells[1]}; field corrected {cells[2]}, with a rod {cells[3]}",
            ],
            [
                "the same: largest error, cm",
                takes,
                f"{tables.published_largest(published.LINKAGE):.1f}",
                most[0],
                f"{most[1]}; field corrected {most[2]}, with a rod {most[3]}",
            ],
        ]
    if people := _results("humans"):
        errors = people["tables"]
        own = [row for rows_of in (published.MALE_EXERCISE, published.MALE_WALK, published.FEMALE) for row in rows_of]
        cells = [f"{_all_rms(errors, way):.1f}" for way in ("least squares", "default", "field and rod")]
        trees = people["hierarchy"]
        count, walk = trees["recordings"], trees["walk"]["4.5"]
        rows += [
            [
                "limb lengths of people, skin and joints that are not rotary: rms difference, cm",
                f"simulated, {people['repeats']} of each",
                f"{tables.published_rms(own):.1f} (to hand measurements)",
                cells[0],
                f"{cells[1]}; field corrected with a rod {cells[2]}",
            ],
            [
                "right trees, walks with a pelvis sensor that moves with the thighs",
                f"simulated, {count}",
                f"{published.WALKS - published.WALKS_WRONG} of {published.WALKS}",
                f"{walk['spanning tree']} of {count}",
                f"{walk['default']} of {count}",
            ],
        ]
    return rows


def own_rows() -> list[list[str]]:
    """What the paper has nothing to compare with: from benchmarks/results and from the peers."""
    return [
        *_bound_rows(),
        *_peer_rows(),
        *_tree_rows(),
        *_natural_rows(),
        *_real_rows(),
        *_people_rows(),
        *_interval_rows(),
    ]


def _bound_rows() -> list[list[str]]:
    bound = _measured("bound")
    if bound is None:
        return []
    rows, takes = [], f"simulated, {_trials('bound')}"
    for label, name in (
        ("joint centres over the Cramer-Rao bound, 3 mm and 0.5 deg of white noise", "A3 0.3 cm, 0.5 deg"),
        ("the same at 1 deg", "A4 0.3 cm, 1 deg"),
    ):
        least = np.mean(bound[name]["joint_bound"])
        plain, ours = (np.sqrt(np.mean(bound[name]["joint"][way]) / least) for way in WAYS)
        rows.append([label, takes, "-", f"{plain:.2f}", f"{ours:.2f}"])
    spikes = bound["2 % spikes + 5 % bursts"]["joint"]
    plain, ours = (100 * np.sqrt(np.mean(spikes[way])) for way in WAYS[:2])
    label = "joint centres with 2 % spikes and 5 % bursts: rms error, cm"
    return [*rows, [label, takes, "-", f"{plain:.2f}", f"{ours:.2f}"]]


def _peer_rows() -> list[list[str]]:
    peers = _results("peers")
    if peers is None:
        return []
    rows = []
    for label in ("ball joints, 3 mm and 1 deg", "hinges, 2 % spikes and 5 % bursts"):
        ways = peers["simulated"][label]
        ours, plain, score = (ways[way]["point_mm"] for way in ("condyle, all together", "least squares", "SCoRE"))
        plain_cell = f"{plain:.1f} (BioBuddy's SCoRE {score:.1f})"
        rows.append([f"{label}: rms error, mm", f"simulated, {peers['trials']}", "-", plain_cell, f"{ours:.1f}"])
    return rows


def _tree_rows() -> list[list[str]]:
    trees = _measured("trees")
    if trees is None:
        return []
    rows = []
    for label, names in (
        ("right trees: half-range gait, pelvis sensor moves 4 cm", ["half-range gait, pelvis pack 4 cm"]),
        (
            "right trees: both feet planted, two people, person with a loose prop",
            ["both feet planted throughout", "two people", "person and loose prop"],
        ),
    ):
        plain, ours, every = (sum(trees[name][key] for name in names) for key in ("paper_right", "right", "trials"))
        rows.append([label, f"simulated, {every}", "-", f"{plain} of {every}", f"{ours} of {every}"])
    return rows


def _natural_rows() -> list[list[str]]:
    clips = {name: one for name, one in (_measured("cmu") or {}).items() if name != "real"}
    if not clips:
        return []
    trials, ours, plain = (sum(one[key] for one in clips.values()) for key in ("trials", "right", "paper_right"))
    errors = [[error for one in clips.values() for error in one[key]] for key in ("paper_error", "error")]
    least, default = (1000 * float(np.sqrt(np.mean(np.square(one)))) for one in errors)
    label = f"natural motion, {len(clips)} clips: right trees; rms error of leg lengths, mm"
    takes = f"recorded motion, simulated sensors, {trials}"
    return [[label, takes, "-", f"{plain} of {trials}; {least:.1f}", f"{ours} of {trials}; {default:.1f}"]]


def _real_rows() -> list[list[str]]:
    """Two built linkages and three people, from the table of real recordings: edges and kinds."""
    real = (_measured("cmu") or {}).get("real")
    if not real:
        return []
    columns = ([row[column].partition(",")[0] for row in real] for column in (1, 2, 3))
    cells = [[cell.split(" of ") for cell in column if " of " in cell] for column in columns]
    plain, ours, kinds = (f"{sum(int(a) for a, _ in part)} of {sum(int(b) for _, b in part)}" for part in cells)
    label = "linkages and people: right edges; kinds"
    return [[label, f"recorded, {len(real)}", "-", plain, f"{ours}; {kinds}"]]


def _people_rows() -> list[list[str]]:
    """Recordings whose joints are known: right trees, wrong edges, and wrong ones among the sure."""
    people = _measured("people")
    if people is None:
        return []
    moving = [one for one in people.values() if not one["still"]]
    cells = []
    for way in ("least squares", "default"):
        found = [one[way] for one in moving]
        right = sum(not one["wrong"] and len(one["right"]) == one["true"] for one in found)
        wrong = [support for one in found for _, support in one["wrong"]]
        sure = sum(support >= SURE_SUPPORT for support in wrong)
        cells.append(f"{right} of {len(found)}; {len(wrong)}; {sure}")
    label = "people and linkages: right trees; wrong edges; sure ones among them"
    return [[label, f"recorded, {len(moving)}", "-", *cells]]


def _interval_rows() -> list[list[str]]:
    coverage = _measured("coverage")
    if coverage is None:
        return []
    fields = [one["coverage"] for name, one in coverage.items() if "field" in name and "tissue" not in name]
    white, skin = (
        [one["coverage"] for name, one in coverage.items() if word in name] for word in ("white", "soft tissue")
    )
    ends = [(f"{100 * min(share):.0f}", f"{100 * max(share):.0f}") for share in (white, fields, skin)]
    told = " / ".join("-".join(dict.fromkeys(pair)) for pair in ends)
    label = "95 % intervals of lengths that hold: white noise / bent field / skin"
    return [[label, f"simulated, {_trials('coverage')} a world", "-", "-", f"{told} %"]]


WAYS = ("least-squares", "default")


def between(text: str) -> str:
    """What stands between the marks of a text; raises where they are missing."""
    if BEGIN not in text or END not in text:
        raise ValueError(f"README.md has no {BEGIN} ... {END}")
    return text.split(BEGIN, 1)[1].split(END, 1)[0].strip()


def update(readme: Path = README) -> bool:
    """Puts the table between the marks; False where there are none."""
    text = readme.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        return False
    head, rest = text.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    readme.write_text(f"{head}{BEGIN}\n{render()}\n{END}{tail}", encoding="utf-8")
    return True


def _all_rms(errors: dict[str, Any], way: str) -> float:
    values = [e for runs in errors.values() for one in runs[way] for row in one for e in row if e is not None]
    return float(np.sqrt(np.mean(np.square(values))))


def _results(name: str) -> Any:
    record = load(name)
    return None if record is None else record["results"]


def _measured(name: str) -> Any:
    file = MEASURED / f"{name}.json"
    return json.loads(file.read_text())["results"] if file.is_file() else None


def _trials(name: str) -> int:
    """Takes of each world of a stored measurement."""
    return int(json.loads((MEASURED / f"{name}.json").read_text())["trials"])
