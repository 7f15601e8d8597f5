"""condyle coverage DIR: whether every joint was moved enough, and what its lengths need."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

from .arguments import parse_length
from .terminal import DONE, DONE_WITH_WARNINGS, print_json, print_line, print_table

if TYPE_CHECKING:
    from ..model.skeleton import Skeleton


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skeleton", metavar="DIR", help="folder that condyle fit wrote, or its skeleton.json")
    parser.add_argument(
        "--width",
        type=parse_length,
        default="10",
        metavar="MM",
        help="wanted width of a length's 95 %% interval; default: 10",
    )


def run(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from ..io.skeleton_file import read_skeleton
    from ..result.coverage import find_coverage
    from ..result.verdict import verdict_of

    skeleton = read_skeleton(args.skeleton)
    found, fit = find_coverage(skeleton, args.width), verdict_of(skeleton)
    if args.json:
        print_json({"verdict": found.verdict, "fit": asdict(fit), **asdict(found)})
    else:
        print_line(fit.text, style="bold")
        if skeleton.joints:
            print_line(str(found))
        else:
            _print_turns(args.skeleton, skeleton)
        for title, rows in (("Joints", found.joints), ("Lengths", found.limbs)):
            if not rows:
                continue
            print_line()
            print_line(title, style="bold")
            for row in rows:
                print_line(f"{row.verdict}: {row.text}")
    return DONE if found.verdict == "enough" and not fit.in_question else DONE_WITH_WARNINGS


def _print_turns(place: str, skeleton: Skeleton) -> None:
    """How far each body turned against another, beside what is needed, where no joint was found."""
    from math import degrees

    from ..errors import CondyleError
    from ..report.page import open_page
    from ..report.turns import measure_turns
    from ..result.coverage import NEEDED_TURN_DEG

    print_line(f"a joint is located where two bodies turn by {NEEDED_TURN_DEG:g} deg rms or more, about two axes")
    with suppress(CondyleError):  # a skeleton.json without its motion
        names = skeleton.bodies
        turns = measure_turns(*open_page(place, skeleton))
        rows = [(names[one.body], names[one.other], f"{degrees(one.turned):.1f}") for one in turns]
        if rows:
            print_line()
            print_table(("body", "turned most against", "by deg"), rows, left=2)
