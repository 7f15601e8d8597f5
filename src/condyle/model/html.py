"""Values as a notebook shows them: a small picture, a sentence and tables, with text from files escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..findings import merge_findings

if TYPE_CHECKING:
    from ..maths.arrays import Floats
    from .skeleton import Skeleton
    from .take import Take

MOST_ROWS = 30  # of a table in a notebook
SMALL_PICTURE_PX = 260  # side of the picture beside the tables
TREE_ROW_PX, TREE_INDENT_PX = 18, 16  # of a body, and of a child against its parent
LETTER_PX = 8  # of a name, on the wide side
INK_COLOUR, MARK_COLOUR, FAINT_COLOUR = "#2f5d8a", "#c4572a", "#888888"  # of pictures


def render_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table; of a long one the first rows, and how many more there are."""
    cells = [[escape("" if cell is None else str(cell)) for cell in row] for row in rows]
    lines = ["".join(f"<td>{cell}</td>" for cell in row) for row in cells[:MOST_ROWS]]
    if len(cells) > MOST_ROWS:
        lines.append(f'<td colspan="{len(head)}">and {len(cells) - MOST_ROWS} more</td>')
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    return f"<table><tr>{top}</tr>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>"


def beside(picture: str, tables: str) -> str:
    """A picture and what stands beside it."""
    return f'<div style="display:flex;gap:1em;align-items:flex-start">{picture}<div>{tables}</div></div>'


def draw_points(points: Floats, links: Floats, up: str | None) -> str:
    """SVG of points (n, 3) and lines between pairs of places (L, 2, 3), seen from where they are widest.

    up: world axis that points up, as z or -y
    """
    axis = "xyz".index((up or "z").strip("-"))
    level = [k for k in range(3) if k != axis]
    _, _, wide = np.linalg.svd(points[:, level] - points[:, level].mean(axis=0))
    sign = -1.0 if (up or "z").startswith("-") else 1.0

    def project(p: Floats) -> Floats:
        return np.stack([p[..., level] @ wide[0], -sign * p[..., axis]], axis=-1)

    flat = project(points)
    low, size = flat.min(axis=0), max(float(np.ptp(flat, axis=0).max()), 1e-9)

    def place(p: Floats) -> Floats:
        return np.asarray(15 + (SMALL_PICTURE_PX - 30) * (project(p) - low) / size)

    lines = "".join(f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}"/>' for a, b in place(links))
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in place(points))
    return (
        f'<svg width="{SMALL_PICTURE_PX}" height="{SMALL_PICTURE_PX}" style="flex:none" role="img" '
        f'aria-label="figure"><g stroke="{INK_COLOUR}" stroke-width="3">{lines}</g>'
        f'<g fill="{MARK_COLOUR}">{dots}</g></svg>'
    )


def draw_sensors(take: Take) -> str:
    """SVG of the sensors where most of them are seen, in the frame nearest to the middle; empty where none is."""
    count = take.seen.sum(axis=1)
    if not count.size or not count.max():
        return ""
    fullest = np.flatnonzero(count == count.max())
    frame = int(fullest[np.argmin(np.abs(fullest - take.frames // 2))])
    return draw_points(take.p_world_body[frame, take.seen[frame]], np.zeros((0, 2, 3)), take.up)


def lay_out_tree(skeleton: Skeleton) -> list[tuple[str, int]]:
    """Every body with its depth, a parent before its children, trees first and loose bodies last."""
    children: dict[str, list[str]] = {}
    for joint in skeleton.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    order: list[tuple[str, int]] = []
    waiting = [(root, 0) for root in reversed((*skeleton.roots, *skeleton.loose))]
    while waiting:
        body, depth = waiting.pop()
        order.append((body, depth))
        waiting += [(child, depth + 1) for child in reversed(children.get(body, []))]
    return order


def draw_forest(skeleton: Skeleton) -> str:
    """SVG of the tree, a body under its parent; dashed where a joint is in question, grey where nothing joins."""
    whole = lay_out_tree(skeleton)
    order = whole[:MOST_ROWS]
    at = {body: (12 + TREE_INDENT_PX * depth, 12 + TREE_ROW_PX * row) for row, (body, depth) in enumerate(order)}
    asked = {one.edge[1] for one in skeleton.verdict.in_question} if skeleton.verdict else set()
    lines = []
    for joint in skeleton.joints:
        if joint.child in at:
            (x, y), (_, top) = at[joint.child], at[joint.parent]
            dashed = ' stroke-dasharray="3 3"' if joint.child in asked else ""
            lines.append(f'<path d="M{x - TREE_INDENT_PX} {top}V{y}H{x}"{dashed}/>')
    dots = "".join(
        f'<circle cx="{x}" cy="{y}" r="4" fill="{FAINT_COLOUR if body in skeleton.loose else MARK_COLOUR}"/>'
        f'<text x="{x + 8}" y="{y + 4}">{escape(body)}</text>'
        for body, (x, y) in at.items()
    )
    high = 24 + TREE_ROW_PX * len(order)
    if len(whole) > len(order):
        dots += f'<text x="20" y="{high}">and {len(whole) - len(order)} more</text>'
        high += TREE_ROW_PX
    wide = max(SMALL_PICTURE_PX, *(x + 16 + LETTER_PX * len(body) for body, (x, _) in at.items()), 0)
    return (
        f'<svg width="{wide}" height="{high}" style="flex:none" role="img" aria-label="tree" '
        f'font-size="12" fill="currentColor"><g stroke="{INK_COLOUR}" stroke-width="2" fill="none">{"".join(lines)}</g>'
        f"{dots}</svg>"
    )


def render_take(take: Take) -> str:
    """A take: its sensors, its sentence, and how much of every body was seen."""
    seen = take.seen.mean(axis=0) if take.frames else [0.0] * take.bodies
    rows = [(name, f"{100 * share:.1f} %") for name, share in zip(take.names, seen, strict=True)]
    return beside(draw_sensors(take), f"<p><b>{escape(str(take))}</b></p>{render_table(['body', 'seen'], rows)}")


def render_skeleton(skeleton: Skeleton) -> str:
    """A skeleton, which has no pose: its tree, and what it tells."""
    return beside(draw_forest(skeleton), render_facts(skeleton))


def render_facts(skeleton: Skeleton) -> str:
    """What a skeleton tells: its verdict, what is to be looked at, joints and lengths."""
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
    told = "".join(
        f"<li>{escape(str(one))}</li>" for one in merge_findings(skeleton.findings) if one.severity != "info"
    )
    return (
        f"<p><b>{escape(str(skeleton))}</b></p>"
        + (f"<ul>{told}</ul>" if told else "")
        + render_table(["joint", "parent", "kind", "residual mm", "support"], joints)
        + render_table(["length on", "between", "mm", "95 % interval"], limbs)
    )
