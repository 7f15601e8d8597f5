"""condyle fit FILE...: the articulated figure inside one or more recordings."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, join_command
from .arguments import add_reading_arguments, add_repair_arguments, collect_reading, parse_length, split_names
from .field import add_field_arguments, read_field_options
from .report import has_page, show_page
from .summary import print_fit
from .terminal import DONE, DONE_WITH_WARNINGS, print_json, print_line, print_note, print_written

if TYPE_CHECKING:
    from ..api import Fit, Remounted
    from ..io.format import ReadOptions
    from ..model.options import FitOptions
    from ..model.skeleton import Skeleton


MOST_TREE_BYTES = 10**6  # of a list of edges: more is another kind of file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    yes_or_no = argparse.BooleanOptionalAction
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings of the same bodies, with unmoved sensors")
    parser.add_argument(
        "--together",
        action="store_true",
        help="the files are a=FILE b=FILE ..., of one room at one time: one scene of bodies a:name, b:name",
    )
    add_output_arguments(parser)
    parser.add_argument(
        "--config", metavar="FILE", help="take options from the options.toml of a fit; those given here win"
    )
    parser.add_argument(
        "--method",
        choices=("default", "least-squares", "drift"),
        help="default: all joints together, robust; least-squares: the paper's; "
        "drift: from differences over a second, for sensors that drift",
    )
    parser.add_argument(
        "--tree",
        metavar="EDGES",
        help="known edges, all or some: parent:child,parent:child,... or a file with one 'parent child' a line, "
        "or a skeleton.json; the word file: the hierarchy that the recording brings along",
    )
    parser.add_argument(
        "--tree-score",
        choices=("likelihood", "residual"),
        help="how unknown edges are chosen; residual is the paper's spanning tree, and what least-squares uses",
    )
    parser.add_argument("--root", metavar="BODY", help="the root; by default the centre of the tree, calmest first")
    parser.add_argument("--loop", metavar="A:B", action="append", help="a pair known to close a loop; repeatable")
    parser.add_argument("--world", action=yes_or_no, default=None, help="add the room as a fixed body named world")
    parser.add_argument(
        "--symmetric",
        type=parse_length,
        metavar="MM",
        help="take lengths of the left and right side as equal within so much, one standard deviation",
    )
    add_repair_arguments(parser)
    parser.add_argument(
        "--scale", metavar="FILE", help="factor on recorded lengths: the file that condyle scale wrote, or a number"
    )
    parser.add_argument(
        "--belong",
        action=yes_or_no,
        default=None,
        help="ask whether several files are of one person with unmoved sensors; default: yes",
    )
    _add_performer_arguments(parser)
    add_field_arguments(parser)
    parser.add_argument(
        "--register",
        metavar="auto|A:B",
        help="bring a second tracking system into the world of the first: auto, or the sensors of both: opt_*:mag_*",
    )
    parser.add_argument("--as-recorded", action=yes_or_no, default=None, help="mask and repair nothing before the fit")
    parser.add_argument("--intervals", action=yes_or_no, default=None, help="intervals, the slowest step; default: yes")
    add_reading_arguments(parser)


def _add_performer_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--remounted",
        action="store_true",
        help="every file is a mounting of its own, of one person: limb lengths are shared. DIR has a folder for each, "
        "and profile.json",
    )
    parser.add_argument("--profile", metavar="FILE", help="lengths of the performer as a prior: see condyle profile")
    parser.add_argument(
        "--alike", action="store_true", help="with --remounted: left and right lengths as alike as they themselves tell"
    )
    parser.add_argument(
        "--proportions",
        action="store_true",
        help="with --remounted: human proportions, as far as the lengths keep to them",
    )


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Where a figure and its motion go."""
    parser.add_argument(
        "-o", "--out", metavar="DIR", help="folder for skeleton.json, motion.npz, report.html; made if it is missing"
    )
    parser.add_argument(
        "--export", metavar="LIST", help="formats to write to DIR as well, such as bvh,glb: see condyle export --help"
    )
    parser.add_argument("--no-report", action="store_true", help="write no report.html")
    parser.add_argument("--open", action="store_true", help="open report.html in a browser when it is done")


def run(args: argparse.Namespace) -> int:
    begin = time.perf_counter()  # before the imports: who waits, waits for them too
    from ..api import fit_with
    from ..model.options import OWN_TREE

    check_export(args)
    options, reading = read_arguments(args)  # before files whose reading may take minutes
    if args.remounted:
        if args.together:
            raise UsageError("--together is one scene, and --remounted several mountings", code="bad-option")
        from ..api import fit_remounted

        several = fit_remounted(
            args.files, sides=args.alike, proportions=args.proportions, options=options, reading=reading
        )
        return print_several(several, args, begin)
    if args.alike or args.proportions:
        raise UsageError("--alike and --proportions go with --remounted", code="bad-option")
    files = split_labels(args.files) if args.together else args.files
    fit = fit_with(files, options, reading, own_tree=args.tree == OWN_TREE, tell=print_note)
    if args.profile:
        fit = fit.use_profile(args.profile)
    return print_result(fit, args, begin)


def split_labels(files: list[str]) -> dict[str, str]:
    """{label: file} of `label=file`, each label once."""
    found: dict[str, str] = {}
    for text in files:
        label, sign, file = text.partition("=")
        if not (label and sign and file):
            raise UsageError(f"'{text}' is not a=FILE; with --together every file has a label", code="bad-option")
        if label in found:
            raise UsageError(f"'{label}' is the label of two files", code="bad-option")
        found[label] = file
    return found


def print_result(fit: Fit, args: argparse.Namespace, begin: float) -> int:
    """Saves a fit where that was asked, prints it, and returns the exit status; work began at `begin` [s]."""
    if args.out:
        fit = fit.save(args.out, report=not args.no_report and has_page(), export=args.export or "")
    if args.open:
        for page in (path for path in fit.files if path.suffix == ".html"):
            show_page(page)
    if args.json:
        from ..io.skeleton_file import to_plain

        print_json(to_plain(fit.skeleton))
    else:
        print_fit(fit.skeleton)
        print_line()
        print_written(fit.files)
        print_line(f"took {time.perf_counter() - begin:.2f} s", style="dim")
        print_line(describe_next(fit))
    return DONE if fit.skeleton.verdict and fit.skeleton.verdict.tone == "good" else DONE_WITH_WARNINGS


def describe_next(fit: Fit) -> str:
    """The command that most people want now."""
    if fit.folder is None:
        return "nothing was written; add -o DIR to keep it, and --open to look at it at once"
    folder, verdict = join_command([str(fit.folder)]), fit.skeleton.verdict
    if verdict is not None and not verdict.joints:
        return f"next: condyle coverage {folder} tells what to move"
    look = f"condyle view {folder} shows it"
    if verdict is not None and verdict.tone != "good":
        if "calibration" in fit.skeleton.take:  # a later take: what it moves makes its figure no surer
            return f"next: {look}"
        return f"next: {look}; condyle coverage {folder} tells what to move more"
    if _is_machine(fit.skeleton):
        return f"next: {look}; condyle axes {folder} has its axes and DH tables"
    return f"next: {look}; condyle export {folder} --to bvh,glb writes it for other programs"


def _is_machine(skeleton: Skeleton) -> bool:
    """Whether all joints are of a machine's kinds, and none of the bodies has a name of a person's."""
    from ..model.anatomy import find_segments

    kinds = {joint.kind for joint in skeleton.joints}
    return kinds <= {"hinge", "screw", "slider", "universal"} and not find_segments(skeleton.bodies, skeleton.edges)


def print_several(several: Remounted, args: argparse.Namespace, begin: float) -> int:
    """Saves fits of several mountings where that was asked, prints them, and returns the exit status."""
    from ..io.profile_file import to_plain
    from .profile import print_profile

    if args.out:
        several = several.save(args.out, report=not args.no_report and has_page(), export=args.export or "")
    verdicts = [one.skeleton.verdict for one in several.fits]
    status = DONE if all(one is not None and one.tone == "good" for one in verdicts) else DONE_WITH_WARNINGS
    if args.json:
        without = {} if several.without is None else {"without": to_plain(several.without)["lengths"]}
        print_json({**to_plain(several.profile), **without, "findings": several.findings})
        return status
    for file, one in zip(args.files, several.fits, strict=True):
        print_line(f"{file}: {one.skeleton}")
    print_line()
    print_profile(several.profile, several.findings, several.without)
    print_written(path for one in several.fits for path in one.files)
    print_line(f"took {time.perf_counter() - begin:.2f} s", style="dim")
    if args.out:
        print_line(f"next: condyle view {join_command([str(several.fits[0].folder)])} shows the first of them")
    else:
        print_line("nothing was written; -o DIR keeps it")
    return status


def check_export(args: argparse.Namespace) -> None:
    """Raises where a format does not exist, or there is no folder for what was asked."""
    if args.open and (not args.out or args.no_report):
        raise UsageError("--open shows report.html; give its folder with -o, without --no-report", code="bad-option")
    if args.export is None:
        return
    if not args.out:
        raise UsageError("--export needs a folder; give it with -o", code="bad-option")
    from ..io.exports.export import parse_formats

    parse_formats(args.export)


def read_arguments(args: argparse.Namespace) -> tuple[FitOptions, ReadOptions]:
    """The options that were asked for: those given, then those of --config, then the defaults."""
    from ..io.format import ReadOptions
    from ..io.options_file import read_options
    from ..model.options import OWN_TREE, FitOptions

    fit, reading = read_options(args.config) if args.config else ({}, {})
    reading |= collect_reading(args)
    given: dict[str, Any] = {
        "method": args.method,
        "tree_score": args.tree_score,
        "tree": read_edges(args.tree) if args.tree and args.tree != OWN_TREE else None,
        "root": args.root,
        "loops": [_parse_pair(text) for text in args.loop] if args.loop else None,
        "world": args.world,
        "intervals": args.intervals,
        "prepare": None if args.as_recorded is None else not args.as_recorded,
        "fix": None if args.fix is None else split_names(args.fix),
        "no_fix": None if args.no_fix is None else split_names(args.no_fix),
        "symmetric": args.symmetric,
        "scale": read_factor(args.scale) if args.scale else None,
        "belong": args.belong,
        "field": read_field_options(args, fit, ReadOptions(**reading)),
        "register": args.register,
    }
    fit.pop("rod", None)
    options = FitOptions(**{**fit, **{name: value for name, value in given.items() if value is not None}})
    return options, ReadOptions(**reading)


def read_factor(text: str) -> float:
    """The factor on lengths from a number or from a file that `condyle scale` wrote."""
    from ..io.scale_file import factor_of

    try:
        return factor_of(float(text))
    except ValueError:
        return factor_of(text)


def read_edges(text: str) -> list[tuple[str, str]]:
    """(parent, child) edges from `a:b,c:d`, a file of pairs, or a skeleton.json."""
    path = Path(text)
    if path.suffix == ".json" or os.path.isdir(text):
        from ..io.skeleton_file import read_skeleton

        return _require_edges(list(read_skeleton(path).edges), text)
    if os.path.isfile(text):  # os.path answers no where a list of edges is too long for a name
        edges = []
        for number, line in enumerate(_read_lines(path), 1):
            words = line.split("#")[0].replace(":", " ").replace(",", " ").split()
            if words and len(words) != 2:
                raise UsageError(f"'{line.strip()}' is not 'parent child'", code="bad-tree", path=path, line=number)
            if words:
                edges.append((words[0], words[1]))
        return _require_edges(edges, text)
    return _require_edges([_parse_pair(part) for part in text.split(",") if part.strip()], text)


def _read_lines(path: Path) -> list[str]:
    from ..io.atomic import read_small

    raw = read_small(path, MOST_TREE_BYTES)
    try:
        if len(raw) > MOST_TREE_BYTES:
            raise ValueError(f"it is larger than {MOST_TREE_BYTES // 10**6} MB")
        return raw.decode("utf-8-sig").splitlines()
    except ValueError as error:  # UnicodeDecodeError is one
        raise UsageError(f"is no list of 'parent child' lines: {error}", code="bad-tree", path=path) from None


def _require_edges(edges: list[tuple[str, str]], text: str) -> list[tuple[str, str]]:
    if not edges:
        raise UsageError(f"'{text}' names no edge", code="bad-tree")
    return edges


def _parse_pair(text: str) -> tuple[str, str]:
    parent, colon, child = text.strip().partition(":")
    if not (parent and colon and child):
        raise UsageError(f"'{text}' is neither a file nor parent:child", code="bad-tree")
    return parent.strip(), child.strip()
