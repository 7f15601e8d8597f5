"""condyle report DIR: the page of a fit written anew, and its figures for papers and slides."""

from __future__ import annotations

import argparse
import sys

from ..errors import CondyleError
from .terminal import print_json, print_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skeleton", metavar="DIR", help="folder that condyle fit wrote, or its skeleton.json")
    parser.add_argument("-o", "--out", metavar="FILE", help="the page; default: DIR/report.html")
    pictures = parser.add_mutually_exclusive_group()
    pictures.add_argument(
        "--figures",
        choices=("png", "svg"),
        nargs="?",
        const="png",
        metavar="KIND",
        help="write the paper's figures to DIR/figures instead, as png (default) or svg; needs matplotlib",
    )
    pictures.add_argument("--png", dest="figures", action="store_const", const="png", help="the same as --figures png")


def run(args: argparse.Namespace) -> int:
    from ..api import load

    written = load(args.skeleton).report(args.out, figures=args.figures)
    if args.json:
        print_json({"files": [str(path) for path in written]})
    else:
        for path in written:
            print_line(f"wrote {path}")
    return 0


def has_page() -> bool:
    """Whether a page was built into this installation; where it was not, a line on standard error says so."""
    from ..report.page import read_template

    try:
        read_template()
    except CondyleError as error:
        print(f"condyle: no report.html: {error.text}", file=sys.stderr)
        return False
    return True
