"""A comparison in words, as tables, and as a page that stands alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from html import escape
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ..findings import many
from ..io.atomic import write_atomic
from ..model.profile import describe_ends

if TYPE_CHECKING:
    from ..result.compare import Agreement, ComparedFigures

COMPARED_MOST_CENTRES = 20  # rows of joints' places
WIDTH, HEIGHT, MARGIN = 640, 280, 48  # of the plot, in units of the page
COMPARISON_CSS = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; display: block; overflow-x: auto }
td, th { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap }
td:first-child, th:first-child, td:nth-child(2), th:nth-child(2) { text-align: left; white-space: normal }
@media (max-width: 40rem) { body { font-size: 13px; margin-top: 1rem } td, th { padding: .2rem .35rem } }
figure { margin: 0; overflow-x: auto }
svg { width: 100%; min-width: 32rem; height: auto } text { font: 12px system-ui, sans-serif; fill: currentColor }
"""


def describe_comparison(found: ComparedFigures) -> list[str]:
    """What the figures have in common, in sentences."""
    told = []
    if found.same_tree:
        told.append(f"The same tree in all {len(found.names)}.")
    else:
        edges = ", ".join(" - ".join(edge) for edge in found.edges)
        told.append(f"The trees differ: not all of them have {edges}.")
    rows = [row for row in found.lengths if row.apart is not None]
    agree = sum(row.apart <= 1 for row in rows if row.apart is not None)
    told.append(
        f"{agree} of {many(len(rows), 'length')} agree within their 95 % intervals, over "
        f"{many(len(set(found.mountings)), 'mounting')}."
        if rows
        else "No length is told by two of them."
    )
    kinds = Counter((row.body, row.joints) for row in found.lengths)
    unlike = [body for (body, _), count in kinds.items() if count > 1]
    if unlike:
        told.append(
            f"On {', '.join(dict.fromkeys(unlike))} a length ends at a joint's centre in one and at its axis in "
            "another, where the joint turned about one axis only; these are not compared with each other."
        )
    for a, b in found.shared:
        told.append(
            f"{found.names[a]} and {found.names[b]} may have lengths in common, which agree by themselves. "
            "That proves nothing: compare fits of takes of their own."
        )
    if found.agreement is not None:
        one = found.agreement
        icc = "" if one.icc is None else f"ICC(2,1) {one.icc:.3f}, "
        told.append(
            f"Test-retest over {many(one.lengths, 'length')}: standard error of measurement {1000 * one.sem:.1f} mm, "
            f"{icc}bias {1000 * one.bias:+z.1f} mm, 95 % limits of agreement {1000 * one.limits[0]:+z.1f} to "
            f"{1000 * one.limits[1]:+z.1f} mm."
        )
    return told


def list_lengths(found: ComparedFigures) -> tuple[list[str], list[list[object]]]:
    """Heads and rows of the lengths, those that differ most in units of their intervals first."""
    heads = ["length on", "between", *(f"{name} mm" for name in found.names), "apart / interval"]
    rows: list[list[object]] = []
    for row in found.lengths:
        between = describe_ends((row.body, row.joints, row.axes))
        cells = [
            None if length is None or width is None else f"{1000 * length:.1f} ± {1000 * width:.1f}"
            for length, width in zip(row.length, row.half_width, strict=True)
        ]
        rows.append([row.body, between, *cells, None if row.apart is None else f"{row.apart:.2f}"])
    return heads, rows


def list_centres(found: ComparedFigures) -> tuple[list[str], list[list[object]]]:
    """The same of the joints' places on sensors that did not move."""
    rows: list[list[object]] = [
        [" - ".join(row.joint), row.body, f"{1000 * row.distance:.1f}", f"{row.apart:.2f}"]
        for row in found.centres[:COMPARED_MOST_CENTRES]
    ]
    return ["joint", "on the sensor of", "apart mm", "apart / interval"], rows


def list_agreement(one: Agreement) -> tuple[list[str], list[list[object]]]:
    """Heads and the row of the test-retest numbers."""
    heads = ["lengths", "SEM mm", "ICC(2,1)", "bias mm", "95 % limits of agreement mm"]
    limits = f"{1000 * one.limits[0]:+z.1f} to {1000 * one.limits[1]:+z.1f}"
    icc = None if one.icc is None else f"{one.icc:.4f}"
    return heads, [[one.lengths, f"{1000 * one.sem:.2f}", icc, f"{1000 * one.bias:+z.2f}", limits]]


def write_comparison(path: str | os.PathLike[str], found: ComparedFigures) -> None:
    """Writes the page, whole or not at all; it needs no network and no server."""
    parts = [f"<p>{escape(sentence)}</p>" for sentence in describe_comparison(found)]
    parts += ["<h2>Lengths</h2>", _table(*list_lengths(found))]
    if found.agreement is not None:
        parts += ["<h2>Test-retest</h2>", _table(*list_agreement(found.agreement))]
        parts += ["<h2>Differences against means (Bland and Altman)</h2>", f"<figure>{_plot(found)}</figure>"]
    if found.centres:
        parts += ["<h2>Joints on sensors that did not move</h2>", _table(*list_centres(found))]
    title = escape("Comparison of " + ", ".join(found.names))
    head = '<!doctype html><html lang="en"><meta charset="utf-8">'
    head += '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f"<title>{title}</title><style>{COMPARISON_CSS}</style>"
    write_atomic(path, f"{head}<h1>{title}</h1>{''.join(parts)}</html>\n".encode(errors="replace"))


def _table(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    def line(cells: Sequence[object], kind: str) -> str:
        shown = ["" if cell is None else escape(str(cell)) for cell in cells]
        inside = "".join(f"<{kind}>{cell}</{kind}>" for cell in shown)
        return f"<tr>{inside}</tr>"

    return f"<table>{line(heads, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _plot(found: ComparedFigures) -> str:
    """Differences of every two figures against their means [mm], with the bias and the limits of agreement."""
    one = found.agreement
    assert one is not None
    values = 1000 * np.array([row.length for row in found.lengths if None not in row.length], dtype=np.float64)
    pairs = list(combinations(range(values.shape[1]), 2))
    mean = np.concatenate([(values[:, a] + values[:, b]) / 2 for a, b in pairs])
    apart = np.concatenate([values[:, b] - values[:, a] for a, b in pairs])
    lines = [1000 * one.bias, *(1000 * limit for limit in one.limits)]
    low, high = (float(end([*apart.tolist(), *lines])) for end in (min, max))
    reach, left, right = max(high - low, 1e-6), float(mean.min()), float(max(mean.max(), mean.min() + 1e-6))

    def across(value: float) -> float:
        return MARGIN + (WIDTH - 2 * MARGIN) * (value - left) / (right - left)

    def up(value: float) -> float:
        return HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * (value - low) / reach

    dots = "".join(
        f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="3.5" fill="#3b7dd8"/>'
        for x, y in zip(mean.tolist(), apart.tolist(), strict=True)
    )
    rules = "".join(
        f'<line x1="{MARGIN}" x2="{WIDTH - MARGIN}" y1="{up(value):.1f}" y2="{up(value):.1f}" stroke="currentColor" '
        f'stroke-dasharray="{dash}"/><text x="{WIDTH - MARGIN + 4}" y="{up(value) + 4:.1f}">{value:+z.1f}</text>'
        for value, dash in zip(lines, ("none", "4 4", "4 4"), strict=True)
    )
    words = f'<text x="{MARGIN}" y="{HEIGHT - 12}">mean, {left:.0f} to {right:.0f} mm</text>'
    words += f'<text x="{MARGIN}" y="20">later less earlier, mm, of {escape(" and ".join(found.names))}</text>'
    said = "Differences of lengths against their means, with their bias and the 95 % limits of agreement"
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">{rules}{dots}{words}</svg>'
