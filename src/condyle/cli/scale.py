"""condyle scale FILE...: the unit of length and the noise of a set-up, from two sensors at a known distance."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CondyleError, UsageError
from .arguments import add_reading_arguments, make_reading, parse_pair, parse_rod_length
from .terminal import choose_status, print_findings, print_json, print_line, print_table

if TYPE_CHECKING:
    from ..model.take import Take
    from ..pairs.rigid_pair import RigidPair

ROD_MOST_DISTANCES = 2000  # values of the distance over time in the JSON, at most


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings of two sensors fixed to one stiff rod")
    parser.add_argument(
        "--distance",
        type=parse_rod_length,
        metavar="MM",
        help="their true distance, in mm or with a unit: 565, 0.565m; without it only noise is told",
    )
    parser.add_argument(
        "--pair", type=parse_pair, metavar="A:B", help="the two sensors; by default the one pair that never moves"
    )
    parser.add_argument("-o", "--out", metavar="FILE", help="calibration.toml or .json for condyle fit --scale")
    add_reading_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from ..io.scale_file import check_ending, to_plain, write_scale
    from ..pairs.rigid_pair import describe_pair, find_oddity, measure_pair, scale_of
    from ..prepare.dropouts import prepare
    from ..prepare.read import load

    if args.out:
        if args.distance is None:
            raise UsageError("-o needs the true distance; give it with --distance", code="bad-option")
        check_ending(Path(args.out))
    take = prepare(load(args.files, make_reading(args)).take)
    pair = measure_pair(take, *(args.pair or _choose_pair(take, args.files[0])))
    findings = [*take.findings, *describe_pair(pair)]
    scale = None
    if args.distance is not None:
        scale = scale_of(pair, args.distance, tuple(args.files))
        findings += find_oddity(scale)
        if args.out:
            write_scale(args.out, scale)
    if args.json:
        print_json({**(to_plain(scale) if scale is not None else {}), **tabulate_pair(pair), "findings": findings})
        return choose_status(findings)
    if scale is not None:
        within = f" ({scale.low:.4f} to {scale.high:.4f})" if scale.low is not None and scale.high is not None else ""
        recorded = f"{scale.measured:.4f} m recorded, {scale.distance:g} m true"
        print_line(f"scale {scale.scale:.5f}{within}: {recorded}", style="bold")
    elif pair.loose is not None:
        print_line(f"{pair.loose}: they are not rigid", style="bold")
    _print(pair)
    print_findings(findings)
    if args.out:
        print_line(f"wrote {args.out}; apply it with condyle fit FILE --scale {args.out}")
    return choose_status(findings)


def tabulate_pair(pair: RigidPair) -> dict[str, Any]:
    """The distance and its spread, over time and by place; lengths in metres, as recorded."""
    import numpy as np

    from ..maths.arrays import evenly
    from ..pairs.rigid_pair import PERCENTILES

    rows = np.flatnonzero(np.isfinite(pair.distance))
    rows = rows[evenly(len(rows), ROD_MOST_DISTANCES)]
    return {
        "pair": list(pair.names),
        "rigid": pair.loose is None,
        "measured": pair.mean,
        "sd": pair.sd,
        "error": pair.error,
        "white": pair.white,
        "percentiles": {str(p): float(value) for p, value in zip(PERCENTILES, pair.percentiles, strict=True)},
        "turn": pair.turn,
        "drift": pair.drift,
        "follows_place": pair.follows,
        "carried": pair.carried,
        "frames": pair.frames,
        "noise": [vars(one) for one in pair.noise],
        "places": [vars(one) for one in pair.places],
        "time": pair.time[rows].tolist(),
        "distance_over_time": pair.distance[rows].tolist(),
    }


def _choose_pair(take: Take, path: str) -> tuple[str, str]:
    """The two bodies there are, or the one pair that never moves against each other."""
    from ..pairs.rigid_pair import find_rigid_pairs

    if take.bodies == 2:
        return take.names[0], take.names[1]
    found = find_rigid_pairs(take)
    if len(found) == 1:
        return found[0]
    listed = "; ".join(f"{a}:{b}" for a, b in found[:4])
    what = f"{len(found)} pairs keep their distance ({listed})" if found else "no two sensors keep their distance"
    names = ", ".join(take.names)
    raise CondyleError(f"{what}; name the pair with --pair A:B; there are {names}", code="which-pair", path=path)


def _print(pair: RigidPair) -> None:
    from ..pairs.rigid_pair import PERCENTILES

    a, b = pair.names
    print_line(
        f"{a} to {b}: {1000 * pair.mean:.2f} mm as recorded, standard deviation {1000 * pair.sd:.2f} mm over "
        f"{pair.frames} frames; white noise explains {1000 * pair.white:.2f} mm"
    )
    print_table(
        ["percentile", "mm"], [(p, f"{1000 * v:.2f}") for p, v in zip(PERCENTILES, pair.percentiles, strict=True)]
    )
    print_table(
        ["where", "mean mm", "sd mm", "frames"],
        [
            (
                f"{one.axis} {one.low:z.2f} to {one.high:z.2f} m",
                f"{1000 * one.mean:.2f}",
                f"{1000 * one.sd:.2f}",
                one.frames,
            )
            for one in pair.places
        ],
    )
    print_table(
        ["sensor", "white noise mm", "deg"],
        [(one.body, f"{1000 * one.position:.3f}", f"{math.degrees(one.orientation):.3f}") for one in pair.noise],
    )
