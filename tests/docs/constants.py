"""Writes docs/constants.md from the code: `uv run python -m tests.docs.constants`, from the project's folder.

A constant's comment says what it is, up to a full stop, a semicolon, or a colon with numbers behind it; the rest, and a
comment above, stay in the code. Where another benchmark than its module's fixed it, that stands at the end of the
comment in brackets, after `by`: `[by trees]` is benchmarks/results/trees.md, `[by recordings]` recordings of people.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.docs.pages import DOCS
from tests.make import PROJECT

SOURCE = PROJECT / "src" / "condyle"
PAGE = DOCS / "constants.md"
ROOMS = ("pairs", "prepare", "estimate", "faults", "result", "motion")  # where a number decides about a recording
ABOUT = """# Constants

Look up every number that decides about a recording, room by room; what was seen with it stands beside it in the code,
from which `uv run python -m tests.docs.constants` writes this page. The last column says where what a number decides is
measured, and by what it was fixed: a table of [benchmarks/results](../benchmarks/README.md), or [recordings of
people](real-recordings.md). Where it is empty nothing was measured: the number is a bound on work, a matter of
rounding, or was judged.
"""
FIXED_BY = {  # what measures the decisions of a module
    "pairs.noise": "bound",
    "pairs.normal": "bound",
    "pairs.outliers": "bound, recordings",
    "pairs.rigid_pair": "rigid_pair",
    "pairs.windows": "connections",
    "prepare.convention": "conventions",
    "prepare.dropouts": "preparing",
    "prepare.flips": "preparing",
    "prepare.held_places": "preparing",
    "prepare.latency": "preparing",
    "prepare.marker_swaps": "marker_swaps",
    "prepare.odd_sensors": "conventions",
    "prepare.recognise_bodies": "marker_sets",
    "prepare.repeats": "preparing",
    "prepare.swaps": "swaps",
    "prepare.tracks": "swaps",
    "estimate.apart": "trees, people",
    "estimate.axes": "hinges",
    "estimate.candidates": "trees, people",
    "estimate.drift": "bound",
    "estimate.edge_blocks": "coverage",
    "estimate.effects": "coverage, recordings",
    "estimate.handicaps": "trees, people",
    "estimate.intervals": "coverage",
    "estimate.kinds": "hinges",
    "estimate.proof": "slips, recordings",
    "estimate.solve": "bound, recordings",
    "estimate.structure": "trees, people",
    "estimate.support": "trees, people",
    "estimate.tree": "trees, people",
    "estimate.lengths": "mountings",
    "estimate.priors": "mountings",
    "faults.belonging": "belong",
    "faults.files": "belong, recordings",
    "faults.connections": "connections",
    "faults.field": "field",
    "faults.field_fit": "field",
    "faults.field_rows": "field",
    "faults.part_time": "connections",
    "faults.planted": "connections",
    "faults.jumps": "slips",
    "faults.slips": "slips",
    "faults.steps": "slips",
    "result.coverage": "promise",
    "motion.bridging": "playback",
    "motion.ik": "kinematics",
    "motion.play": "playback",
    "motion.pose_solver": "kinematics",
    "motion.smoothing": "kinematics",
}
LEAST_WORDS = 8  # letters: less is a unit, and says not what a constant is
BOUNDS_ON_WORK = re.compile(r"MOST|ROUNDS|BYTES|CHUNK|FRAMES$|SWEEPS|STEPS$|ROUNDING")  # nothing is decided by these


@dataclass(frozen=True)
class Number:
    """A constant: its name, value as written, what it is, and what fixed it."""

    name: str
    value: str
    meaning: str
    fixed_by: str


@cache
def find_numbers(path: Path) -> list[Number]:
    """The numeric constants of a module, in their order."""
    text = path.read_text(encoding="utf-8")
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.COMMENT
    }
    lines, found = text.splitlines(), []
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or not _is_number(node.value):
            continue
        words = [comments[k] for k in range(node.lineno, (node.end_lineno or node.lineno) + 1) if k in comments]
        above, reasons = node.lineno - 1, []
        while above in comments and lines[above - 1].lstrip().startswith("#"):
            reasons.insert(0, comments[above])
            above -= 1
        _, fixed_by = _part(" ".join([*reasons, *words]))
        beside = " ".join(words)
        meaning, _ = _part(beside if len(beside) > LEAST_WORDS else " ".join([*reasons, *words]))
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        part = lines[node.value.lineno - 1 : node.value.end_lineno]
        part[-1] = part[-1][: node.value.end_col_offset]
        value = " ".join(" ".join([part[0][node.value.col_offset :], *part[1:]]).split())
        found += [Number(name, value, meaning, fixed_by) for target in targets for name in _names(target)]
    return found


def _is_number(value: ast.expr) -> bool:
    kinds = [type(one.value) for one in ast.walk(value) if isinstance(one, ast.Constant)]
    return bool(kinds) and all(kind in (int, float) for kind in kinds)


def _names(target: ast.expr) -> list[str]:
    names = [one.id for one in ast.walk(target) if isinstance(one, ast.Name)]
    return [name for name in names if name.isupper() and not name.startswith("_")]


def _part(comment: str) -> tuple[str, str]:
    """What a comment says a constant is, and what fixed it."""
    match = re.search(r"\s*\[by ([^\]]+)\]", comment)
    return (comment.replace(match.group(0), ""), match.group(1)) if match else (comment, "")


def shorten(meaning: str) -> str:
    """What a constant is, without what was seen with it: that stays in the code."""
    return re.split(rf"(?<=.{{{LEAST_WORDS}}})(?<!\.)(?:[;.] |: (?=.*\d))", meaning, maxsplit=1)[0].rstrip(".")


def render() -> str:
    """The page."""
    parts = [ABOUT]
    for room in ROOMS:
        parts.append(f"\n## {room}\n\n| constant | value | what it is | measured by |\n|---|---|---|---|\n")
        for path in sorted((SOURCE / room).glob("*.py")):
            for one in find_numbers(path):
                work = bool(BOUNDS_ON_WORK.search(one.name))
                fixed_by = one.fixed_by or ("" if work else FIXED_BY.get(f"{room}.{path.stem}", ""))
                cells = (f"`{path.stem}.{one.name}`", f"`{one.value}`", shorten(one.meaning), fixed_by)
                parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    print(f"wrote {PAGE.name}")
