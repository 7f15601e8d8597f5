"""Results as rows of a table: what is kept of a fit, how near the same fit has to come, and the table's files.

A fit is kept as rows in sections; a row has a key (bodies, mostly) and fields. Every field has a measure, which says
how it is compared. Tolerances are the floors below unless the row has its own: 100 times what the field moved by when
the table was written, over kernels of other processors and over changes of the poses in their last digit.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FOLDER = Path(__file__).parent
FILES = ("simulated", "recorded")
TIMES = 100  # what a result may move by, over what it moved by when the table was written
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w]|\.\d)")

Key = tuple[Any, ...]
Rows = dict[Key, dict[str, Any]]  # by section and key


class Measure(NamedTuple):
    """How a field is compared.

    floor     that is allowed at least; None: it has to be the same
    relative  the floor is a share of the field's largest number; the digits that are kept are significant ones
    digits    that are kept, after the point unless relative
    """

    floor: float | None = None
    relative: bool = False
    digits: int = 0


SAME = Measure()
WORDS = Measure(1.0)  # numbers as they are printed: in units of the last place, or of a thousandth
METRES = Measure(1e-12, digits=13)
SECONDS = Measure(1e-8, digits=9)
UNIT = Measure(1e-9, digits=11)  # entries of unit vectors
SHARE = Measure(1e-6, digits=7)
RATIO = Measure(1e-7, relative=True, digits=8)
VARIANCE = Measure(1e-4, relative=True, digits=5)
JOINT = {
    "child": SAME,
    "kind": SAME,
    "point": SAME,
    "p_first": METRES,
    "p_second": METRES,
    "residual": METRES,
    "frames": SAME,
    "axis_first": UNIT,
    "axis_second": UNIT,
    "play": RATIO,
    "covariance": VARIANCE,
    "margin": RATIO,
    "runner_up": SAME,
    "turned": RATIO,
    "passing": SHARE,
    "time": SECONDS,
}
SECTIONS: dict[str, dict[str, Measure]] = {
    "take": {"roots": SAME, "loose": SAME, "frames": SAME, "seconds": SECONDS, "error": SAME},
    "joints": JOINT,
    "loops": JOINT,
    "limbs": {"length": METRES, "low": METRES, "high": METRES, "between": SAME, "passing": SHARE},
    "sensors": {"masked": SAME, "position": RATIO, "orientation": RATIO},
    "findings": {
        "severity": SAME,
        "value": RATIO,
        "unit": SAME,
        "time": SECONDS,
        "frame": SAME,
        "count": SAME,
        "numbers": WORDS,
    },
}


@dataclass(frozen=True)
class Golden:
    """What a take has to give.

    allowed  {row: {field: tolerance}} beyond the floors; None: it is not compared; {}: the row may be there or not
    """

    rows: Rows
    allowed: dict[Key, dict[str, float | None]]


@dataclass(frozen=True)
class Difference:
    """One field that is not as it was; `off` and `allowed` are in the field's own measure."""

    take: str
    what: str
    golden: Any
    now: Any
    off: float
    allowed: float

    def __str__(self) -> str:
        by = f"\n    differs by {self.off:.3g}, allowed {self.allowed:.3g}" if np.isfinite(self.off) else ""
        return f"{self.take}: {self.what}\n    golden {self.golden}\n    now    {self.now}{by}"


def rows_of(facts: Mapping[str, Any]) -> Rows:
    """The rows of a fit, as `fit_take` gives it."""
    rows: Rows = {}
    if "error" in facts:
        rows["take",] = {"roots": None, "loose": None, "frames": None, "seconds": None, "error": facts["error"]}
        return rows
    take = facts["take"]
    rows["take",] = {
        "roots": facts["roots"],
        "loose": facts["loose"],
        "frames": take["frames"],
        "seconds": take["seconds"],
        "error": None,
    }
    for section in ("joints", "loops"):
        for joint in facts[section]:
            _add(rows, (section, *sorted((joint["child"], joint["parent"]))), _joint(joint))
    for limb in facts["limbs"]:
        fields = {name: limb[name] for name in SECTIONS["limbs"]}
        _add(rows, ("limbs", limb["body"], *sorted((limb["from"], limb["to"]))), fields)
    noise = {one["body"]: one for one in facts["noise"]}
    for body in facts["bodies"]:
        one = noise.get(body, {"position": None, "orientation": None})
        masked = take["masked"].get(body, 0)
        rows["sensors", body] = {"masked": masked, "position": one["position"], "orientation": one["orientation"]}
    findings = sorted(facts["findings"], key=lambda one: (one["time"] or [], one["frame"] or 0, one["value"] or 0.0))
    for finding in findings:
        fields = {name: finding[name] for name in SECTIONS["findings"] if name != "numbers"}
        fields["numbers"] = NUMBER.findall(finding["text"])
        _add(rows, ("findings", finding["code"], *finding["bodies"]), fields)
    return {key: _rounded(key, fields) for key, fields in rows.items()}


def _add(rows: Rows, key: Key, fields: dict[str, Any]) -> None:
    """A second row with the same key gets a 2 behind it, and so on."""
    count = 1
    while (key if count == 1 else (*key, count)) in rows:
        count += 1
    rows[key if count == 1 else (*key, count)] = fields


def _joint(joint: Mapping[str, Any]) -> dict[str, Any]:
    """By the names of the two bodies in order, so that another root is no other place."""
    first, second = ("child", "parent") if joint["child"] <= joint["parent"] else ("parent", "child")
    covariance = joint["covariance"]
    if covariance is not None:  # the upper triangles of the two places, and how much there is between them
        child, parent = np.array(covariance)[:3, :3], np.array(covariance)[3:, 3:]
        places = (child, parent) if first == "child" else (parent, child)
        between = np.linalg.norm(np.array(covariance)[:3, 3:])
        covariance = [*(float(one) for place in places for one in place[np.triu_indices(3)]), float(between)]
    return {
        "child": joint["child"],
        "kind": joint["kind"],
        "point": joint["point"],
        "p_first": joint[f"p_{first}_joint"],
        "p_second": joint[f"p_{second}_joint"],
        "residual": joint["residual"],
        "frames": joint["frames"],
        "axis_first": joint[f"axis_{first}"],
        "axis_second": joint[f"axis_{second}"],
        "play": joint["play"],
        "covariance": covariance,
        "margin": joint["margin"],
        "runner_up": joint["runner_up"] and sorted(joint["runner_up"]),
        "turned": joint["coverage"]["rotation"],
        "passing": joint["coverage"]["passing"],
        "time": joint["time"],
    }


def _rounded(key: Key, fields: dict[str, Any]) -> dict[str, Any]:
    def short(value: Any, measure: Measure) -> Any:
        if isinstance(value, list):
            return [short(one, measure) for one in value]
        if not isinstance(value, float):
            return value
        return float(f"{value:.{measure.digits}g}") if measure.relative else round(value, measure.digits)

    return {name: short(value, SECTIONS[key[0]][name]) for name, value in fields.items()}


def compare(name: str, golden: Golden, now: Rows) -> list[Difference]:
    """What is not as it was, worst first."""
    found = []
    skipped = {key for key, fields in golden.allowed.items() if not fields}
    for key in (golden.rows.keys() ^ now.keys()) - skipped:
        there = "is there" if key in golden.rows else "is not there", "is there" if key in now else "is not there"
        found.append(Difference(name, _named(key), *there, np.inf, 0.0))
    for key in (golden.rows.keys() & now.keys()) - skipped:
        allowed = golden.allowed.get(key, {})
        for field, measure in SECTIONS[key[0]].items():
            most = allowed.get(field, measure.floor or 0.0)
            old, new = golden.rows[key][field], now[key][field]
            if most is not None and (off := distance(measure, old, new)) > most:
                found.append(Difference(name, f"{_named(key)}, {field}", old, new, off, most))
    return sorted(found, key=lambda one: (-one.off / max(one.allowed, 1e-300), one.what))


def _named(key: Key) -> str:
    return " ".join(map(str, key))


def distance(measure: Measure, old: Any, new: Any) -> float:
    """How far two values of a field are apart, in its measure; infinite where they cannot be compared."""
    if measure is SAME or old is None or new is None:
        return 0.0 if old == new else np.inf
    if measure is WORDS:
        if len(old) != len(new):
            return np.inf
        return max((_printed_distance(a, b) for a, b in zip(old, new, strict=True)), default=0.0)
    a, b = np.atleast_1d(np.array(old, float)), np.atleast_1d(np.array(new, float))
    if a.shape != b.shape:
        return np.inf
    off = float(np.abs(a - b).max(initial=0.0))
    largest = float(np.abs(a).max(initial=0.0))
    return off / largest if measure.relative and largest else off


def _printed_distance(old: str, new: str) -> float:
    def place(text: str) -> float:
        digits, _, power = text.partition("e")
        return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))

    unit = max(place(old), place(new), 1e-3 * abs(float(old)))
    return abs(float(old) - float(new)) / unit * (1 - 1e-9)  # a step of one place is one


def settle(runs: Iterable[Rows]) -> Golden:
    """The first of several runs of one take as golden, with the tolerances that the others need."""
    first, *others = runs
    allowed: dict[Key, dict[str, float | None]] = {}
    for rows in others:
        for key in first.keys() ^ rows.keys():
            allowed[key] = {}
    first = {key: fields for key, fields in first.items() if key not in allowed}
    for key, fields in first.items():
        for field, measure in SECTIONS[key[0]].items():
            moved = max((distance(measure, fields[field], rows[key][field]) for rows in others), default=0.0)
            if not np.isfinite(moved) or (measure.relative and TIMES * moved > 1):
                allowed.setdefault(key, {})[field] = None
            elif TIMES * moved > (measure.floor or 0.0):
                allowed.setdefault(key, {})[field] = float(f"{TIMES * moved:.2g}")
    return Golden(first, allowed)


def write_table(file: str, goldens: Mapping[str, Golden], about: Mapping[str, Any]) -> None:
    """One line for every row: its key, its fields in the order of `columns`, and its own tolerances.

    Of a row that is not compared there is the key alone.
    """
    columns = {section: ["key", *fields] for section, fields in SECTIONS.items()}
    head = [*about.items(), ("columns", columns)]
    takes = [f"{_text(name)}: {{\n{_sections(golden)}\n}}" for name, golden in sorted(goldens.items())]
    lines = [*(f"{_text(key)}: {_text(value)}," for key, value in head), '"takes": {', ",\n".join(takes), "}"]
    (FOLDER / f"{file}.json").write_text("\n".join(["{", *lines, "}"]) + "\n", encoding="utf-8")


def _sections(golden: Golden) -> str:
    lines: dict[str, list[str]] = {}
    for key in sorted(golden.rows.keys() | golden.allowed.keys(), key=str):
        row: list[Any] = [key[1:]]
        if golden.allowed.get(key) != {}:
            row += [*golden.rows[key].values(), *([golden.allowed[key]] if key in golden.allowed else [])]
        lines.setdefault(key[0], []).append(_text(row))
    return ",\n".join(
        f'"{section}": [\n' + ",\n".join(lines[section]) + "\n]" for section in SECTIONS if section in lines
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def read_table(file: str) -> dict[str, Golden]:
    path = FOLDER / f"{file}.json"
    if not path.is_file():
        return {}
    goldens = {}
    for name, sections in json.loads(path.read_text(encoding="utf-8"))["takes"].items():
        golden = Golden({}, {})
        for section, lines in sections.items():
            for rest, *values in lines:
                key, fields = (section, *rest), SECTIONS[section]
                if len(values) != len(fields):
                    golden.allowed[key] = values.pop() if values else {}
                if values:
                    golden.rows[key] = dict(zip(fields, values, strict=True))
        goldens[name] = golden
    return goldens


def count_tolerances(goldens: Iterable[Golden]) -> dict[str, Counter[str]]:
    """{field: how many rows have which tolerance}, by powers of ten; "open": not compared."""
    counts: dict[str, Counter[str]] = {}
    for golden in goldens:
        for key, fields in golden.rows.items():
            own = golden.allowed.get(key)
            for field in fields:
                if fields[field] in (None, []):
                    continue
                most = (own or {}).get(field, 0.0)
                name = "open" if most is None else "floor" if not most else f"1e{int(np.ceil(np.log10(most)))}"
                counts.setdefault(f"{key[0]}.{field}", Counter())[name] += 1
    return counts
