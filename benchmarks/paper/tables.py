"""Tables in the paper's own layout: a length, its measure, and what was calculated in each set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .published import Row
from .store import table

Errors = Mapping[str, Sequence[Sequence[float | None]]]  # way: errors [cm] of every length (row) in every set


def paper_table(rows: Sequence[Row], errors: Errors, sets: Sequence[str]) -> str:
    """The paper's table with a line for each way below the paper's own."""
    heads = ["", "", "Meas.", *sets]
    lines: list[list[str]] = []
    for k, row in enumerate(rows):
        lines.append([f"**{row.name}**", "paper", f"{row.measured:.1f}", *(f"{value:.1f}" for value in row.lengths)])
        for way, found in errors.items():
            lines.append(["", way, "", *("-" if e is None else f"{row.measured + e:.1f}" for e in found[k])])
    return table(heads, lines)


def summary(rows: Sequence[Row], repeats: Mapping[str, Sequence[Sequence[Sequence[float | None]]]]) -> str:
    """For each length the mean absolute error [cm], and over all lengths rms and largest; the paper's first.

    repeats  way: for every repeat of the whole experiment, errors of every length in every set; `largest` is the mean
    over repeats
    """
    heads = ["mean of absolute differences, cm", *(row.name for row in rows), "rms of all", "largest"]
    own = [[abs(value) for value in row.differences] for row in rows]
    flat = [value for values in own for value in values]
    root = float(np.sqrt(np.mean(np.square(flat))))
    lines = [["paper", *(f"{np.mean(values):.2f}" for values in own), f"{root:.2f}", f"{max(flat):.1f}"]]
    for way, all_errors in repeats.items():
        each = [[abs(e) for one in all_errors for e in one[k] if e is not None] for k in range(len(rows))]
        lines.append(
            [
                way,
                *(f"{np.mean(values):.2f}" for values in each),
                f"{rms_of(all_errors):.2f}",
                f"{largest_of(all_errors):.2f}",
            ]
        )
    return table(heads, lines)


def rms_of(repeats: Sequence[Sequence[Sequence[float | None]]]) -> float:
    values = [e for one in repeats for row in one for e in row if e is not None]
    return float(np.sqrt(np.mean(np.square(values))))


def largest_of(repeats: Sequence[Sequence[Sequence[float | None]]]) -> float:
    """Mean over repeats of the largest error."""
    return float(np.mean([max(abs(e) for row in one for e in row if e is not None) for one in repeats]))


def published_rms(rows: Sequence[Row]) -> float:
    return float(np.sqrt(np.mean(np.square([value for row in rows for value in row.differences]))))


def published_largest(rows: Sequence[Row]) -> float:
    return max(abs(value) for row in rows for value in row.differences)
