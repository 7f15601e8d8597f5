"""condyle report DIR: the page of a fit written anew, and its figures for papers and slides."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import CondyleError, UsageError, suggest
from .terminal import print_json, print_note, print_written

KINDS = ("png", "svg", "pdf")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "skeleton", nargs="?", metavar="DIR", help="folder that condyle fit wrote, or its skeleton.json"
    )
    parser.add_argument(
        "-o", "--out", metavar="OUT", help="the page; default: DIR/report.html; of figures their folder: DIR/figures"
    )
    parser.add_argument(
        "--figures",
        nargs="?",
        const="png",
        metavar="KIND",
        help="write figures for papers and slides instead: png (default, 300 dpi), svg or pdf; needs matplotlib",
    )
    parser.add_argument("--open", action="store_true", help="open the page in a browser when it is written")


def run(args: argparse.Namespace) -> int:
    from ..api import load

    place, kind = args.skeleton, args.figures
    if place is None and kind not in (None, *KINDS):  # report --figures DIR
        place, kind = kind, "png"
    if place is None:
        raise UsageError("name the folder of a fit: condyle report DIR", code="bad-call")
    if kind not in (None, *KINDS):
        raise UsageError(f"no figures as '{kind}'; {suggest(kind, KINDS)}; -o names their folder", code="bad-option")
    if args.open and kind is not None:
        raise UsageError("--open shows the page; give it without --figures", code="bad-option")
    written = load(place).report(args.out, figures=kind)
    if args.json:
        print_json({"files": [str(path) for path in written]})
    else:
        print_written(written)
    if args.open:
        show_page(written[0])
    return 0


def show_page(page: Path) -> None:
    """Opens a page in a browser."""
    import webbrowser

    if not webbrowser.open(page.resolve().as_uri()):
        print_note(f"no browser could be started; open {page} in one")


def has_page() -> bool:
    """Whether a page was built into this installation; where it was not, a line on standard error says so."""
    from ..report.page import read_template

    try:
        read_template()
    except CondyleError as error:
        print(f"condyle: no report.html: {error.text}", file=sys.stderr)
        return False
    return True
