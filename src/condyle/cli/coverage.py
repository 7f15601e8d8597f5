"""condyle coverage DIR: whether every joint was moved enough, and what its lengths need."""

from __future__ import annotations

import argparse

from .arguments import parse_length
from .terminal import DONE, DONE_WITH_WARNINGS, print_json, print_line


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
        print_line(str(found))
        for title, rows in (("Joints", found.joints), ("Lengths", found.limbs)):
            if not rows:
                continue
            print_line()
            print_line(title, style="bold")
            for row in rows:
                print_line(f"{row.verdict}: {row.text}")
    return DONE if found.verdict == "enough" and not fit.in_question else DONE_WITH_WARNINGS
