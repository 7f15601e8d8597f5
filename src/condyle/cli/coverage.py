"""condyle coverage DIR: whether every joint was moved enough, and what its lengths need."""

from __future__ import annotations

import argparse

from .terminal import print_json, print_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skeleton", metavar="DIR", help="folder that condyle fit wrote, or its skeleton.json")
    parser.add_argument(
        "--width", type=float, default=10.0, metavar="MM", help="wanted width of a length's 95 %% interval; default: 10"
    )


def run(args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from ..io.skeleton_file import read_skeleton
    from ..result.coverage import find_coverage

    found = find_coverage(read_skeleton(args.skeleton), args.width / 1000)
    if args.json:
        print_json({"verdict": found.verdict, **asdict(found)})
    else:
        print_line(str(found))
        for title, rows in (("Joints", found.joints), ("Lengths", found.limbs)):
            print_line()
            print_line(title, style="bold")
            for row in rows:
                print_line(f"{row.verdict:14} {row.text}")
    return 0 if found.verdict == "enough" else 3
