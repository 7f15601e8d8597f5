"""Time for 16 sensors and 45 s of motion, the hierarchy given and not, beside the paper's and beside peers."""

from __future__ import annotations

import argparse
from typing import Any

import condyle

from .. import speed as timing
from ..harness import known_tree, progress
from . import clients, published
from .store import Rival, table

TITLE = "6. Speed"
SENSORS, SECONDS = 16, 45.0
RATES = (30.0, 120.0)  # Hz
CALLS = {
    "least squares, spanning tree": {"method": "least-squares", "tree_score": "residual", "intervals": False},
    "default, with intervals": {},
}


def measure(given: argparse.Namespace) -> dict[str, Any]:
    times = 1 if given.quick else 5
    out = {}
    for rate in RATES[:1] if given.quick else RATES:
        world = timing.recording(SENSORS, SECONDS, rate, given.seed)
        take, tree = world.take, known_tree(world.truth)
        rows: dict[str, list[float | None]] = {}
        for name, options in CALLS.items():
            rows[f"condyle: {name}"] = [
                timing.least_time(lambda: condyle.fit(take, tree=tree, **options), times),  # noqa: B023
                timing.least_time(lambda: condyle.fit(take, **options), times),  # noqa: B023
            ]
        rows["condyle: the sums, joints and spanning tree alone"] = [
            None,
            timing.least_time(lambda: timing.least_squares(take), times),  # noqa: B023
        ]
        rows["one numpy lstsq per pair, scipy's spanning tree"] = [
            timing.lstsq_edges(take, tree),
            timing.rival_time(take, times)[0],
        ]
        score = None if given.quick or clients.python_of("biobuddy") is None else timing.score_time(take)
        pairs = SENSORS * (SENSORS - 1) / 2
        given_tree = None if score is None else score * (SENSORS - 1) / pairs
        rows[f"BioBuddy {timing.BIOBUDDY} SCoRE on every pair"] = [given_tree, score]
        out[f"{rate:g}"] = rows
        progress(f"speed at {rate:g} Hz: {rows}")
    return out


def section(found: dict[str, Any]) -> str:
    rates = list(found)
    paper = ["paper: 195 MHz R10000, rate not told"]
    paper += [f"< {published.SECONDS_GIVEN:g}", f"< {published.SECONDS_NOT:g}"] * len(rates)
    rows = [paper]
    for name in found[rates[0]]:
        cells = [value for rate in rates for value in found[rate][name]]
        rows.append([name, *("-" if value is None else f"{value:.3g}" for value in cells)])
    heads = ["CPU seconds, one thread"]
    heads += [f"{rate} Hz, hierarchy {what}" for rate in rates for what in ("given", "not given")]
    pair = found[rates[0]]["one numpy lstsq per pair, scipy's spanning tree"]
    factor = published.SECONDS_NOT / pair[1]
    return "\n\n".join(
        [
            f"{SENSORS} sensors, {SECONDS:.0f} s, least of five runs in one process on one thread. Ratios change by "
            "some ten percent from run to run.",
            table(heads, rows),
            "Compare with lstsq, not with the paper's 195 MHz: the same work, one stacked least squares for each pair, "
            f"takes {pair[1]:.2g} s here at {rates[0]} Hz, {factor:.0f} times less than its 14 s. SCoRE is timed on a "
            "few pairs and scaled to all.",
        ]
    )


def rivals(found: dict[str, Any]) -> list[Rival]:
    out = []
    why = (
        "The default does more than least squares: latency, outliers, slips, swaps, fields, kinds, all joints "
        "together, the log-determinant tree and intervals"
    )
    for rate, rows in found.items():
        lstsq = rows["one numpy lstsq per pair, scipy's spanning tree"]
        for name, (known, unknown) in rows.items():
            if not name.startswith("condyle: ") or known is None:
                continue
            label = f"CPU of {name.removeprefix('condyle: ')} at {rate} Hz"
            reason = (
                why
                if "default" in name
                else ("A known tree needs 15 pairs only, and `fit` still looks at all of them, at kinds and margins")
            )
            for what, ours, theirs in (("given", known, lstsq[0]), ("not given", unknown, lstsq[1])):
                out.append(Rival(f"{label}, hierarchy {what}", ours, theirs, "s", "one lstsq per pair", reason))
    return out
