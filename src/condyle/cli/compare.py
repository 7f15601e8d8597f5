"""condyle compare A B...: fits or performers side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .terminal import DONE, DONE_WITH_WARNINGS, print_json, print_line, print_table

if TYPE_CHECKING:
    from ..result.compare import ComparedFigures


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("figures", nargs="+", metavar="A B", help="folders that condyle fit wrote, or profiles")
    parser.add_argument("-o", "--out", metavar="FILE", help="write a page, FILE.html")


def run(args: argparse.Namespace) -> int:
    from ..api import open_figures
    from ..report.comparison import write_comparison
    from ..result.compare import compare_figures

    found = compare_figures(open_figures(args.figures), [Path(one).name or str(one) for one in args.figures])
    if args.out:
        write_comparison(args.out, found)
    if args.json:
        print_json(found)
    else:
        print_comparison(found)
        if args.out:
            print_line(f"wrote {args.out}")
    apart = any(row.apart is not None and row.apart > 1 for row in found.lengths)
    return DONE if found.same_tree and not apart else DONE_WITH_WARNINGS


def print_comparison(found: ComparedFigures) -> None:
    """The sentences and the tables of a comparison."""
    from ..report.comparison import describe_comparison, list_agreement, list_centres, list_lengths

    for sentence in describe_comparison(found):
        print_line(sentence, style="bold")
    print_line()
    print_table(*list_lengths(found), left=2)
    if found.agreement is not None:
        print_line()
        print_table(*list_agreement(found.agreement), left=0)
    if found.centres:
        print_line()
        print_table(*list_centres(found), left=2)
