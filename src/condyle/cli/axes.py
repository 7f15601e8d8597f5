"""condyle axes DIR: how the axes of a machine lie to each other, and the tables that go into its model."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .terminal import DONE, print_json, print_line, print_table, print_written

if TYPE_CHECKING:
    from ..model.axes import AxisChain, AxisRow, Measured


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skeleton", metavar="DIR", help="folder that condyle fit wrote, or its skeleton.json")
    parser.add_argument("--base", metavar="BODY", help="body to begin with; default: the end that moves least")
    parser.add_argument("--tool", metavar="BODY", help="body to end with; default: every other end")
    parser.add_argument(
        "--zero",
        type=float,
        metavar="S",
        help="time at which all joints are at zero; default: nearest to the mean pose",
    )
    parser.add_argument(
        "--flip",
        default="",
        metavar="LIST",
        help="joints whose axis is to point the other way, with commas between; default: the first turn is positive",
    )
    parser.add_argument("--to", metavar="LIST", help="write files as well, with commas between: json, csv")
    parser.add_argument("-o", "--out", metavar="OUT", help="folder for the files, made if it is missing; default: DIR")
    parser.add_argument("--name", default="axes", metavar="NAME", help="name of the files; default: axes")


def run(args: argparse.Namespace) -> int:
    from ..api import load
    from ..errors import UsageError
    from ..io.axes_file import AXES_FORMATS, to_facts
    from ..io.exports.registry import choose_formats

    if args.to is not None:
        choose_formats(args.to, AXES_FORMATS, "axes")  # before a folder whose reading may take seconds
    elif args.out is not None:
        raise UsageError("-o is for files; say which with --to json,csv", code="option-not-used")
    fit = load(args.skeleton)
    flip = tuple(name.strip() for name in args.flip.split(",") if name.strip())
    options = {"base": args.base, "tool": args.tool, "zero": args.zero, "flip": flip}
    chains = fit.axes(**options)
    files = fit.write_axes(args.to, args.out, name=args.name, **options) if args.to is not None else ()
    if args.json:
        print_json({"files": [str(file) for file in files], **to_facts(chains, fit.skeleton.fit_id)})
    else:
        print_chains(chains)
        print_written(files)
    return DONE


def print_chains(chains: Sequence[AxisChain]) -> None:
    """The tables of every chain, and how to read them."""
    for number, chain in enumerate(chains):
        if number:
            print_line()
        _print_chain(chain)
    print_line()
    print_line(
        "±: 95 %; meet, parallel: as far as the motion tells, with what it says by itself in brackets. theta0: at the "
        "zero. The first and last theta0 and d are 0 by definition; signs of axes: --flip."
    )


def _print_chain(chain: AxisChain) -> None:
    print_line(str(chain), style="bold")
    stands = "it stands still" if chain.T_world_base is not None else "it moves in the room"
    print_line(f"base {chain.base}: {stands}; zero at {chain.zero_time:z.3f} s")
    print_line()
    print_table(
        ["axis", "kind", "from", "to", "lies", "distance mm", "±", "angle deg", "±", "offset mm", "±", "moved"],
        [
            [
                row.joint,
                row.kind if row.kind != "screw" else f"screw {1000 * row.pitch:z.2f} mm",
                row.inner,
                row.outer,
                row.lie,
                *_format(row.distance, 1000.0, 3),
                *_format(row.angle, math.degrees(1), 3),
                *_format(row.offset, 1000.0, 3),
                _format_range(row),
            ]
            for row in chain.rows
        ],
        left=5,
    )
    for title, table, heads in (
        ("modified DH (Craig)", chain.modified, ("alpha deg", "a mm", "d mm", "theta0 deg")),
        ("standard DH", chain.standard, ("theta0 deg", "d mm", "a mm", "alpha deg")),
    ):
        print_line()
        scales = [1000.0 if head.endswith("mm") else math.degrees(1) for head in heads]
        rows = [
            [row.joint, *(f"{scale * value:z.3f}" for scale, value in zip(scales, values.tolist(), strict=True))]
            for row, values in zip(chain.rows, table, strict=True)
        ]
        print_table([title, *heads], rows)
    print_line()
    rows = [
        [row.joint, *(f"{value:z.6f}" for value in screw.tolist())]
        for row, screw in zip(chain.rows, chain.screws, strict=True)
    ]
    print_table(["product of exponentials", "wx", "wy", "wz", "vx m", "vy m", "vz m"], rows)


def _format_range(row: AxisRow) -> str:
    if row.kind == "slider":
        return f"{1000 * row.low:z.1f} to {1000 * row.high:z.1f} mm"
    return f"{math.degrees(row.low):z.1f} to {math.degrees(row.high):z.1f} deg"


def _format(one: Measured | None, scale: float, digits: int) -> list[str | None]:
    if one is None:
        return [None, None]
    free = "" if one.free is None else f" ({scale * one.free:.{digits}f})"
    width = None if one.half_width is None else f"{scale * one.half_width:.{digits}f}"
    return [f"{scale * one.value:z.{digits}f}{free}", width]
