"""condyle angles DIR: joint angles over time, in a convention that a reviewer accepts."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..findings import list_some
from ..model.take import WORLD
from .terminal import choose_status, print_findings, print_json, print_line, print_table, print_written

if TYPE_CHECKING:
    from ..api import Fit
    from ..model.angles import AngleRange, Angles
    from ..model.take import Take

HEADS = (
    "± level and ± course: standard errors of an angle's offset and of its curve that the frames make; def.: the "
    "offset is a definition; open: the motion leaves it open; ± noise: of a single frame."
)
STRIDES = (
    "in strides: mean of the ranges from strike to strike of the same foot, which left-right compares where both sides "
    "have them."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skeleton", metavar="DIR", help="folder that condyle fit wrote, or its skeleton.json")
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="other recordings of the same sensors, mounted as in the fit"
    )
    parser.add_argument(
        "--convention",
        default="isb",
        metavar="NAME",
        help="isb (default), xzy (shoulders as XZY), opensim, opensim:gait2392, pig, rotvec, hinge, euler:ZXY",
    )
    parser.add_argument(
        "--neutral",
        metavar="WHEN",
        help="auto: a quiet stand where there is one (default); quiet, none, 12.5 or 12:13 [s]",
    )
    parser.add_argument("--neutral-file", metavar="FILE", help="recording of the neutral pose, same sensors")
    parser.add_argument("--zero", action="store_true", help="every joint reads zero in the neutral pose")
    parser.add_argument(
        "--heading",
        default="auto",
        metavar="WAY",
        help="of the room for pelvis and thorax: auto (default), travel, facing, or an axis: --heading=-y",
    )
    parser.add_argument(
        "--landmarks", metavar="FILE", help="landmarks.toml with markers or palpated points of segments"
    )
    parser.add_argument(
        "--keep-locked", action="store_true", help="keep angles near gimbal lock, which noise makes large"
    )
    parser.add_argument("--up", metavar="AXIS", help="axis that points up, where the recording does not tell: z, -y")
    parser.add_argument("--unit", choices=("deg", "rad"), default="deg", help="of CSV and Parquet; default: deg")
    parser.add_argument(
        "--to", default="csv", metavar="LIST", help="formats, with commas between: csv (default), mot, parquet"
    )
    parser.add_argument("-o", "--out", metavar="OUT", help="folder for the files, made if it is missing; default: DIR")
    parser.add_argument("--name", default="angles", metavar="NAME", help="name of the files; default: angles")


def run(args: argparse.Namespace) -> int:
    from ..api import load, solve
    from ..errors import UsageError
    from ..findings import merge_findings
    from ..io.angles_file import parse_angle_formats, to_facts
    from ..model.angle_conventions import find_convention

    parse_angle_formats(args.to)  # before a folder whose reading may take seconds
    find_convention(args.convention)
    if args.neutral is not None and args.neutral_file is not None:
        raise UsageError("give one of --neutral and --neutral-file", code="bad-option")
    fit = load(args.skeleton)
    solved = solve(args.files, fit) if args.files else None
    told = [] if solved is None else [finding for finding in solved.findings if finding.severity != "info"]
    options: dict[str, Any] = {
        "take": fit.take if solved is None else solved.place_turned(),
        "neutral": read_neutral(args.neutral_file, fit) if args.neutral_file else args.neutral or "auto",
        "zero": args.zero,
        "heading": args.heading,
        "landmarks": args.landmarks,
        "keep_locked": args.keep_locked,
        "up": args.up,
    }
    angles, written = fit.write_angles(
        args.to, args.out, name=args.name, unit=args.unit, convention=args.convention, **options
    )
    said = {finding.text for finding in told}
    told = merge_findings([*told, *(finding for finding in written.findings if finding.text not in said)])
    if args.json:
        facts = to_facts(replace(angles, findings=tuple(told)))
        print_json({"files": [str(file) for file in written.files], **facts})
    else:
        print_angles(angles)
        print_findings(told)
        print_written(written.files)
    return choose_status(told)


def read_neutral(path: str, fit: Fit) -> Take:
    """The neutral pose in a file of the fit's sensors; raises where one of them is not in it."""
    from ..api import solve
    from ..errors import CondyleError

    solved = solve(path, fit)
    worn = solved.skeleton.take.get("sensors", solved.skeleton.bodies)
    missing = [name for name in fit.skeleton.bodies if name not in worn and name != WORLD]
    if missing:
        shown = list_some(missing, 6, ", ...")
        text = f"has no sensor {shown}; a neutral pose needs all {len(fit.skeleton.bodies)} sensors of the fit"
        raise CondyleError(text, code="bodies-differ", path=path)
    return solved.take


def print_angles(angles: Angles) -> None:
    """The ranges of motion, and how they were counted."""
    from ..model.angles import CAVEAT

    print_line(str(angles), style="bold")
    print_line()
    heads = [
        "angle, deg",
        "from",
        "to",
        "range",
        "in strides",
        "median",
        "± level",
        "± course",
        "± noise",
        "left-right",
    ]
    shown = [k for k, head in enumerate(heads) if head != "in strides" or angles.strides]
    rows = [_format_range(row) for row in angles.ranges]
    print_table([heads[k] for k in shown], [[row[k] for k in shown] for row in rows])
    print_line()
    print_line(f"neutral pose: {angles.neutral}" + (f"; heading: {angles.heading}" if angles.heading else ""))
    print_line(f"{STRIDES} {HEADS}" if angles.strides else HEADS)
    print_line(CAVEAT)


def _format_range(row: AngleRange) -> list[object]:
    if row.range is None:
        return [row.name, *[None] * 9]
    level = "def." if row.definition else _format(row.offset_sd)
    values = (row.low, row.high, row.range, row.stride_range, row.median)
    numbers = [f"{value:z.1f}" if value is not None else None for value in values]
    apart = None if row.other_side is None else f"{row.other_side:z.1f}"
    noise = None if row.noise_sd is None else f"{row.noise_sd:.1f}"
    return [row.name, *numbers, level, _format(row.curve_sd), noise, apart]


def _format(value: float | None) -> str:
    return "open" if value is None else f"{value:z.1f}"
