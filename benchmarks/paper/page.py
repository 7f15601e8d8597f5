"""docs/paper-results.md from what is stored: no number in it is typed by hand."""

from __future__ import annotations

from types import ModuleType

from . import functional, human_dynamics, humans, linkage, peers, rigid_pair, speed
from .store import PAGE, Rival, load, made, table

EXPERIMENTS: dict[str, ModuleType] = {
    "human_dynamics": human_dynamics,
    "rigid_pair": rigid_pair,
    "linkage": linkage,
    "humans": humans,
    "functional": functional,
    "speed": speed,
    "peers": peers,
}

HEAD = """# The paper, done again

<!-- Written by `python -m benchmarks.paper`; changes belong there. -->

Compare condyle with the experiments of O'Brien, Bodenheimer, Brostow and Hodgins, *Automatic Joint Parameter Estimation
from Magnetic Motion Capture Data* (Graphics Interface 2000), number by number, and run them again:

```text
uv run python -m benchmarks.paper
```

*Least squares* is the paper's method (`--method least-squares`: pair by pair, spanning tree), *default* what
`condyle fit` does, *field* is `--field`, *field and rod* is `--field --rod`. Lengths are in the paper's
centimetres. The paper's recordings are not available: its linkage and people are simulated with the paper's
lengths in a space as noisy as the paper's, beside real recordings of others. Seeds from 60000 on were not used to
choose any constant. The numbers behind it are in [benchmarks/paper/results](../benchmarks/paper/README.md); [the
paper and the code](paper.md) has the equations."""


def render() -> str:
    parts = [HEAD]
    rivals: list[Rival] = []
    dated = ""  # the line of the section before, which is not said again
    for name, module in EXPERIMENTS.items():
        record = load(name)
        parts.append(f"## {module.TITLE}")
        if record is None:
            parts.append("Not measured yet.")
            continue
        parts += [line for line in (made(record),) if line != dated]
        parts.append(module.section(record["results"]))
        dated = made(record)
        rivals += module.rivals(record["results"])
    return "\n\n".join([*parts, "## Where condyle is worse", worse(rivals)]) + "\n"


def worse(rivals: list[Rival]) -> str:
    """Every comparison in which condyle's number is the larger, by the reason for it, the worst first."""
    known = [one for one in rivals if one.theirs is not None]
    lost = sorted((one for one in known if times(one) > 1), key=times, reverse=True)
    if not lost:
        return f"Of {len(known)} comparisons on this page, condyle's number is the larger in none."
    parts = [f"Of {len(known)} comparisons on this page, condyle's number is the larger in {len(lost)}."]
    for why in dict.fromkeys(one.why for one in lost):
        rows = [
            [
                one.what,
                "none told" if one.ours is None else f"{one.ours:.2g} {one.unit}",
                f"{one.theirs:.2g} {one.unit}",
                "-" if one.ours is None else f"{times(one):.2f}",
                one.whose,
            ]
            for one in lost
            if one.why == why
        ]
        parts += [f"{why}:", table(["what", "condyle", "other", "times", "whose"], rows)]
    return "\n\n".join(parts)


def times(one: Rival) -> float:
    """condyle's number over the other's; infinite where condyle tells none."""
    if one.ours is None:
        return float("inf")
    return one.ours / one.theirs if one.theirs else 0.0


def write() -> None:
    PAGE.write_text(render(), encoding="utf-8")
