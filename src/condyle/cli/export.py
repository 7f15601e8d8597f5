"""condyle export DIR: the figure and its motion in files that other programs open."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, get_args

from .arguments import parse_positive
from .terminal import choose_status, print_findings, print_json, print_line, print_written

if TYPE_CHECKING:
    from ..io.exports.figure import Figure
    from ..io.exports.scene import Written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from ..io.exports.registry import FORMATS, Names

    parser.add_argument("skeleton", metavar="DIR", help="folder that condyle fit wrote, or its skeleton.json")
    parser.add_argument(
        "--to", required=True, metavar="LIST", help=f"formats, with commas between: {', '.join(FORMATS)}; or all"
    )
    parser.add_argument("-o", "--out", metavar="OUT", help="folder for the files, made if it is missing; default: DIR")
    parser.add_argument("--name", default="figure", metavar="NAME", help="name of the files; default: figure")
    parser.add_argument(
        "--motion",
        choices=("ik", "play"),
        default="ik",
        help="ik: the motion nearest to all sensors, as the fit left it (default); play: the measured rotations",
    )
    parser.add_argument("--up", metavar="AXIS", help="axis that points up, where the recording does not tell: z, -y")
    parser.add_argument(
        "--body-mass",
        type=parse_positive,
        metavar="KG",
        help="mass of the person, for segments' masses and inertias in mjcf, urdf, osim (de Leva 1996)",
    )
    parser.add_argument(
        "--names",
        choices=get_args(Names),
        default="anatomy",
        help="call bones as human segments where body names tell them (default), as the bodies, or as a rig has it, in "
        "its rest pose: %(choices)s",
        metavar="WHICH",
    )


def run(args: argparse.Namespace) -> int:
    from ..api import load
    from ..findings import merge_findings
    from ..io.exports.export import asks_for_all, parse_formats
    from ..io.exports.registry import FORMATS

    parse_formats(args.to)  # before a folder whose reading may take seconds
    fit = load(args.skeleton)
    written = fit.export(
        args.to,
        args.out,
        name=args.name,
        motion=args.motion,
        names=args.names,
        up=args.up,
        body_mass=args.body_mass,
    )
    figure = fit.scene(args.motion, args.names, args.up).figure
    if args.json:
        print_json(_facts(figure, written))
    else:
        print_findings(merge_findings(written.findings))
        print_line(str(figure))
        print_written(written.files)
        if asks_for_all(args.to) and (left := [name for name in FORMATS if not _is_written(name, args.name, written)]):
            print_line(f"left out, not to be written here or empty: {', '.join(left)}; --to {left[0]} says why")
    return choose_status(written.findings)


def _is_written(name: str, stem: str, written: Written) -> bool:
    from ..io.exports.export import find_format

    suffix = find_format(name).suffix
    several = f"{stem}-*{suffix}"  # of several figures, each in a file of its own
    return any(file.name == f"{stem}{suffix}" or file.match(several) for file in written.files)


def _facts(figure: Figure, written: Written) -> dict[str, object]:
    bones = [
        {"name": name, "body": body, "joint": joint, "kind": kind, "parent": figure.names[up] if up >= 0 else None}
        for name, body, joint, kind, up in zip(
            figure.names, figure.bodies, figure.joints, figure.kind, figure.parent.tolist(), strict=True
        )
    ]
    return {
        "files": [str(file) for file in written.files],
        "up": figure.up,
        "frames": figure.frames,
        "rate": figure.rate,
        "bones": bones,
        "findings": list(written.findings),
    }
