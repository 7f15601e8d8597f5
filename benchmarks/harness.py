"""What the measurements share: arguments, known worlds and their known tree, tables, and the files of results."""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import scipy

import condyle
from condyle import Finding, Limb, Skeleton, Take
from condyle.findings import many
from condyle.simulate import Disturbances, SimulatedFigure, Truth, human

RESULTS = Path(__file__).parent / "results"
FIRST_SEED = 60_000  # seeds from here on were not used to choose any constant of the program
DOUBTS = ("rivals", "tree-not-determined", "loose-body", "not-rotary", "large-residual")
Key = tuple[str, frozenset[str]]  # a length by its body and the body's two neighbours, whichever root was chosen


@dataclass
class Table:
    """Rows of text under a row of heads; prints as markdown."""

    heads: Sequence[str]
    rows: list[Sequence[str]]

    def __str__(self) -> str:
        lines = [self.heads, ["---"] * len(self.heads), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


@dataclass(frozen=True)
class Case:
    """A world: a figure, how it moves, and what the sensors do."""

    name: str
    disturbances: Disturbances
    motion: str = "exercise"
    figure: SimulatedFigure = field(default_factory=human)


def arguments(what: str, trials: int) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--trials", type=int, default=trials, help=f"recordings per case ({trials})")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help=f"seed of the first recording ({FIRST_SEED})")
    parser.add_argument("--only", default="", help="run only the cases whose name contains this; nothing is written")
    return parser.parse_args()


def measured(cases: Sequence[Any], measure: Callable[[Any, range], Any], given: argparse.Namespace) -> Iterator[Any]:
    """(case, what `measure` found over the asked seeds) for every case that was asked for."""
    for case in cases:
        if given.only in case.name:
            yield case, measure(case, range(given.seed, given.seed + given.trials))


def true_lengths(truth: Truth) -> dict[Key, float]:
    """[m] of all limbs."""
    up = dict(truth.edges)
    return {
        (body, frozenset(up[joint] if joint == body else joint for joint in joints)): length
        for (body, *joints), length in truth.limbs.items()
    }


def told_limbs(skeleton: Skeleton) -> dict[Key, Limb]:
    """All limbs for which a length is told."""
    up = {joint.child: joint.parent for joint in skeleton.joints}
    return {
        (
            limb.body,
            frozenset(up[joint] if joint == limb.body else joint for joint in (limb.from_joint, limb.to_joint)),
        ): limb
        for limb in skeleton.limbs
        if limb.length is not None
    }


def length_errors(skeleton: Skeleton, truth: Truth) -> dict[Key, float]:
    """Told less true length [m] of every limb that is told and known."""
    true = true_lengths(truth)
    told = {key: limb.length for key, limb in told_limbs(skeleton).items() if key in true}
    return {key: length - true[key] for key, length in told.items() if length is not None}


def lengths_held(skeleton: Skeleton, truth: Truth) -> dict[Key, bool]:
    """Whether the interval of a length holds the true one, where there is an interval."""
    true = true_lengths(truth)
    return {
        key: limb.low <= true[key] <= limb.high
        for key, limb in told_limbs(skeleton).items()
        if key in true and limb.low is not None and limb.high is not None
    }


def fit(take: Take, **options: bool) -> condyle.Fit:
    """The default fit without intervals, which no count of findings needs."""
    return condyle.fit(take, intervals=False, **options)  # type: ignore[arg-type]


def versions() -> dict[str, str]:
    return {
        "condyle": condyle.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def publish(name: str, title: str, how: str, tables: dict[str, Table], data: Any, given: argparse.Namespace) -> None:
    """Print the tables; write them and the numbers behind them to results/ unless only a part was run."""
    about = ", ".join(f"{key} {value}" for key, value in versions().items())
    drawn = f"; {many(given.trials, 'trial')}, first seed {given.seed}" if hasattr(given, "seed") else ""
    head = [f"# {title}", how, f"{date.today()}, {about}{drawn}."]
    body = [f"## {caption}\n\n{table}" for caption, table in tables.items()]
    page = "\n\n".join([*head, *body]) + "\n"
    print(page)
    if given.only:
        return
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(page)
    record = {
        "date": str(date.today()),
        "versions": versions(),
        **{name: value for name, value in vars(given).items() if name in ("trials", "seed")},
        "results": data,
    }
    (RESULTS / f"{name}.json").write_text(_json(_plain(record)))


def _json(record: dict[str, Any]) -> str:
    """One line for each case, so that a change of one shows as one."""
    cases = record.pop("results")
    lines = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in cases.items()]
    head = json.dumps(record, indent=1).removesuffix("\n}")
    return head + ',\n "results": {\n' + ",\n".join(lines) + "\n }\n}\n"


def progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def known_tree(truth: Truth) -> list[tuple[str, str]]:
    """(parent, child) edges."""
    return [(parent, child) for child, parent in truth.edges]


def edges(skeleton: Skeleton) -> set[frozenset[str]]:
    return {frozenset((joint.child, joint.parent)) for joint in skeleton.joints}


def true_edges(truth: Truth) -> set[frozenset[str]]:
    return {frozenset(edge) for edge in truth.edges}


def doubts(calibration: condyle.Fit, loose: Sequence[str] = ()) -> list[Finding]:
    """Findings that put the tree in question; that a body known to be loose is loose does not."""
    return [
        finding
        for finding in calibration.findings
        if finding.code in DOUBTS and not (finding.code in ("loose-body", "not-rotary") and finding.bodies[0] in loose)
    ]


def names_wrong_edge(findings: Sequence[Finding], wrong: set[frozenset[str]]) -> bool:
    """Whether the findings tell of every wrong edge: by its two bodies, by one of them loose, or of the whole tree."""
    told = [set(finding.bodies) for finding in findings]
    whole = any(finding.code == "tree-not-determined" for finding in findings)
    return whole or all(any(bodies and (bodies <= edge or edge <= bodies) for bodies in told) for edge in wrong)


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values)))) if np.size(values) else float("nan")


def _plain(value: Any) -> Any:
    """The value as JSON has it: no numpy, null for NaN."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(entry) for entry in value]
    if isinstance(value, np.bool_ | np.integer):
        return value.item()
    if isinstance(value, float | np.floating):
        return float(f"{float(value):.6g}") if np.isfinite(value) else None
    return value
