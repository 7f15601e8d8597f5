"""condyle fit FILE...: the articulated figure inside one or more recordings."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from .arguments import add_reading_arguments, reading_options
from .field import add_field_arguments, field_of, write_field_of
from .report import write_report
from .summary import print_calibration
from .terminal import print_json, print_line, status_of

if TYPE_CHECKING:
    from ..io.exports.scene import FigureFormat, Written
    from ..pipeline import Calibration


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings of the same bodies, with unmoved sensors")
    parser.add_argument(
        "-o", "--out", metavar="DIR", help="folder for skeleton.json, motion.npz, report.html; made if it is missing"
    )
    parser.add_argument(
        "--export", metavar="LIST", help="formats to write to DIR as well, such as bvh,glb: see condyle export --help"
    )
    parser.add_argument(
        "--method",
        choices=("default", "least-squares", "accurate", "drift"),
        default="default",
        help="default: all joints together, robust; least-squares: the paper's; accurate: maximum likelihood, slower; "
        "drift: from differences over a second, for sensors that drift",
    )
    parser.add_argument(
        "--tree",
        metavar="EDGES",
        help="known edges, all or some: parent:child,parent:child,... or a file with one 'parent child' a line, "
        "or a skeleton.json",
    )
    parser.add_argument(
        "--tree-score",
        choices=("likelihood", "residual"),
        help="how unknown edges are chosen; residual is the paper's spanning tree, and what least-squares uses",
    )
    parser.add_argument("--root", metavar="BODY", help="the root; by default the centre of the tree, calmest first")
    parser.add_argument(
        "--loop", metavar="A:B", action="append", default=[], help="a pair known to close a loop; repeatable"
    )
    parser.add_argument("--world", action="store_true", help="add the room as a fixed body named world")
    parser.add_argument(
        "--symmetric",
        type=float,
        metavar="MM",
        help="take lengths of the left and right side as equal within so much, one standard deviation",
    )
    parser.add_argument("--no-fix-latency", action="store_true", help="leave sensors that report late as they are")
    parser.add_argument("--no-fix-slips", action="store_true", help="leave sensors that slipped as they are")
    parser.add_argument(
        "--fix-swaps", action="store_true", help="exchange sensors, and markers, back where they were exchanged"
    )
    parser.add_argument(
        "--scale", metavar="FILE", help="factor on recorded lengths: the file that condyle scale wrote, or a number"
    )
    add_field_arguments(parser)
    parser.add_argument("--as-recorded", action="store_true", help="mask and repair nothing before the fit")
    parser.add_argument("--no-intervals", action="store_true", help="skip the intervals, the slowest step")
    parser.add_argument("--no-report", action="store_true", help="write no report.html")
    add_reading_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from ..io.formats import Options
    from ..pipeline import calibrate
    from ..prepare.read import load
    from .progress import ProgressBar

    begin = time.perf_counter()
    twice = [file for k, file in enumerate(args.files) if Path(file).resolve() in map(_resolved, args.files[:k])]
    if twice:
        raise UsageError("is named twice; its frames would count double", code="same-file-twice", path=twice[0])
    formats = exports_of(args)
    tree = read_edges(args.tree) if args.tree else ()  # before files whose reading may take minutes
    scale = read_factor(args.scale) if args.scale else 1.0
    field = field_of(args)
    reading = Options.of(**reading_options(args), fix_swaps=args.fix_swaps or None)
    with ProgressBar() as bar, ExitStack() as spools:
        loaded = load(args.files, reading, bar, spool=True)
        spools.callback(loaded.close)
        take, long = loaded.take, loaded.long
        del loaded  # of a long recording, the numbers as they were written take as much room as their poses
        calibration = calibrate(
            take,
            method=args.method,
            tree=tree,
            root=args.root,
            loops=[_pair(text) for text in args.loop],
            world=args.world,
            tree_score=args.tree_score,
            intervals=not args.no_intervals,
            prepare=not args.as_recorded,
            fix_latency=not args.no_fix_latency,
            fix_slips=not args.no_fix_slips,
            symmetric=None if args.symmetric is None else args.symmetric / 1000,
            fix_swaps=args.fix_swaps,
            scale=scale,
            field=field,
            long=long,
            progress=bar,
        )
    spent = time.perf_counter() - begin
    written: list[Path] = []
    if args.out:
        calibration, written = write_calibration(Path(args.out), calibration)
        written += write_field_of(Path(args.out), calibration)
    if formats:
        exported = write_exports(Path(args.out), formats)
        calibration = calibration.telling(exported.findings)
        written += exported.files
    if args.out and not args.no_report:
        written += write_report(Path(args.out))
    if args.json:
        from ..io.skeleton_file import to_plain

        print_json(to_plain(calibration.skeleton))
    else:
        print_calibration(calibration.skeleton)
        for path in written:
            print_line(f"wrote {path}")
        print_line(f"{spent:.2f} s", style="dim")
    return status_of(calibration.findings)


def exports_of(args: argparse.Namespace) -> tuple[FigureFormat, ...]:
    """The formats that were asked for; raises with the choices, and where there is no folder to write them to."""
    if args.export is None:
        return ()
    if not args.out:
        raise UsageError("--export needs a folder; give it with -o", code="bad-option")
    from ..io.exports.export import formats_of

    return formats_of(args.export)


def write_exports(folder: Path, formats: tuple[FigureFormat, ...]) -> Written:
    """The figure in motion beside what `write_calibration` wrote, as `condyle export` does; skeleton.json tells too."""
    from dataclasses import replace

    from ..findings import sort_findings
    from ..io.exports.export import write_figure
    from ..io.skeleton_file import write_skeleton
    from .export import read_scene

    scene = read_scene(folder)
    exported = write_figure(scene, formats, folder)
    told = sort_findings([*scene.skeleton.findings, *exported.findings])
    write_skeleton(folder / "skeleton.json", replace(scene.skeleton, findings=told))
    return exported


def write_calibration(folder: Path, calibration: Calibration) -> tuple[Calibration, list[Path]]:
    """skeleton.json and motion.npz in `folder`, each whole or not at all; and the calibration with what is to be said
    of the motion.
    """
    from ..io.atomic import made_folder
    from ..io.exports import write_motion_npz
    from ..io.skeleton_file import write_skeleton
    from ..model.motion import forward
    from ..motion.ik import fit_motion

    made_folder(folder)
    motion = fit_motion(calibration.skeleton, calibration.take).motion
    calibration = calibration.telling([finding for finding in motion.findings if finding.code.startswith("gap-")])
    played = forward(calibration.skeleton, motion)
    paths = [folder / "motion.npz", folder / "skeleton.json"]
    write_motion_npz(paths[0], calibration.take, calibration.gap, calibration.weight, calibration.skeleton, played)
    write_skeleton(paths[1], calibration.skeleton)
    return calibration, paths


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

        return _some([(joint.parent, joint.child) for joint in read_skeleton(path).joints], text)
    if os.path.isfile(text):  # os.path answers no where a list of edges is too long for a name
        edges = []
        try:
            lines = path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"is no list of 'parent child' lines: {error}", code="bad-tree", path=path) from None
        for number, line in enumerate(lines, 1):
            words = line.split("#")[0].replace(":", " ").replace(",", " ").split()
            if words and len(words) != 2:
                raise UsageError(f"'{line.strip()}' is not 'parent child'", code="bad-tree", path=path, line=number)
            if words:
                edges.append((words[0], words[1]))
        return _some(edges, text)
    return _some([_pair(part) for part in text.split(",") if part.strip()], text)


def _some(edges: list[tuple[str, str]], text: str) -> list[tuple[str, str]]:
    if not edges:
        raise UsageError(f"'{text}' names no edge", code="bad-tree")
    return edges


def _resolved(file: str) -> Path:
    return Path(file).resolve()


def _pair(text: str) -> tuple[str, str]:
    parent, colon, child = text.strip().partition(":")
    if not (parent and colon and child):
        raise UsageError(f"'{text}' is neither a file nor parent:child", code="bad-tree")
    return parent.strip(), child.strip()
