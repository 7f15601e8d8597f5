"""condyle profile DIR...: a performer as a file."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .terminal import choose_status, print_findings, print_json, print_line, print_table

if TYPE_CHECKING:
    from ..findings import Finding
    from ..model.profile import Profile, ProfileLength


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "fits",
        nargs="+",
        metavar="DIR",
        help="folders that condyle fit wrote of one person, and profiles to add them to",
    )
    parser.add_argument("-o", "--out", metavar="FILE", required=True, help="the profile to write: performer.json")


def run(args: argparse.Namespace) -> int:
    from ..api import open_figures
    from ..io.profile_file import to_plain, write_profile
    from ..result.profile import make_profile

    profile, findings = make_profile(open_figures(args.fits))
    write_profile(args.out, profile)
    if args.json:
        print_json({**to_plain(profile), "findings": findings})
        return choose_status(findings)
    print_profile(profile, findings)
    print_line(f"wrote {args.out}")
    return choose_status(findings)


def print_profile(profile: Profile, findings: Sequence[Finding], without: Profile | None = None) -> None:
    """A performer in the terminal; beside the lengths those without priors on them, where there are such."""
    from ..model.profile import describe_ends

    print_line(str(profile), style="bold")
    heads = ["length on", "between", "mm", "95 % interval"]
    rows = [[one.body, describe_ends(one.key), f"{1000 * one.length:.1f}", _interval(one)] for one in profile.lengths]
    if without is not None:
        heads += ["without it", "95 % interval"]
        rows = [
            [*row, f"{1000 * one.length:.1f}", _interval(one)] for row, one in zip(rows, without.lengths, strict=True)
        ]
    print_table(heads, rows, left=2)
    print_findings(findings)


def _interval(one: ProfileLength) -> str:
    return f"{1000 * one.low:.1f} to {1000 * one.high:.1f}"
