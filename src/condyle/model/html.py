"""Values as a notebook shows them: a sentence and small tables, with text from files escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .skeleton import Skeleton
    from .take import Take

MOST_ROWS = 30  # of a table in a notebook


def render_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; of a long one the first rows, and how many more there are."""
    cells = [[escape("" if cell is None else str(cell)) for cell in row] for row in rows]
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in cells[:MOST_ROWS]]
    if len(cells) > MOST_ROWS:
        lines.append(f'<td colspan="{len(head)}">and {len(cells) - MOST_ROWS} more</td>')
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def render_take(take: Take) -> str:
    """A take: its sentence, and how much of every body was seen."""
    seen = take.seen.mean(axis=0) if take.frames else [0.0] * take.bodies
    rows = [(name, f"{100 * share:.1f} %") for name, share in zip(take.names, seen, strict=True)]
    return f"<p><b>{escape(str(take))}</b></p>{render_table(['body', 'seen'], rows)}"


def render_skeleton(skeleton: Skeleton) -> str:
    """A skeleton: its verdict, joints, lengths, and what is to be looked at."""
    joints = [
        (
            joint.child,
            joint.parent,
            joint.kind,
            f"{1000 * joint.residual:.1f}" if joint.frames else None,
            None if joint.support is None else f"{int(1000 * joint.support) / 1000:.3f}",
        )
        for joint in skeleton.joints
    ]
    limbs = [
        (
            limb.body,
            f"{limb.from_joint} to {limb.to_joint}",
            "not determined" if limb.length is None else f"{1000 * limb.length:.1f}",
            None if limb.low is None or limb.high is None else f"{1000 * limb.low:.1f} to {1000 * limb.high:.1f}",
        )
        for limb in skeleton.limbs
    ]
    told = "".join(f"<li>{escape(str(one))}</li>" for one in skeleton.findings if one.severity != "info")
    return (
        f"<p><b>{escape(str(skeleton))}</b></p>"
        + (f"<ul>{told}</ul>" if told else "")
        + render_table(["joint", "parent", "kind", "residual mm", "support"], joints)
        + render_table(["length on", "between", "mm", "95 % interval"], limbs)
    )
