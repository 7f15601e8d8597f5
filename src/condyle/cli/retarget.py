"""condyle retarget DIR: the motion of a fit on a figure with other limb lengths, or on a rig that is given."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from .arguments import parse_positive
from .terminal import choose_status, print_findings, print_json, print_table, print_written

if TYPE_CHECKING:
    from ..model.skeleton import Skeleton


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="folder that condyle fit -o wrote, or the skeleton.json in it")
    parser.add_argument(
        "-o",
        "--out",
        metavar="OUT",
        required=True,
        help="folder for the new skeleton.json and motion.npz, or for the rig with the motion",
    )
    parser.add_argument(
        "--lengths",
        metavar="WHICH",
        help="body=factor,body=factor,... or a skeleton.json (or its folder) with bodies of the same names, whose limb "
        "lengths are taken",
    )
    parser.add_argument("--scale", type=parse_positive, metavar="FACTOR", help="all lengths times this")
    parser.add_argument("--rig", metavar="FILE", help="a character or its bones, BVH or GLB, that takes the motion")
    parser.add_argument(
        "--map",
        metavar="FILE",
        help='map.toml: [bones] and lines like "bone of the rig" = "body", where names do not tell it',
    )
    parser.add_argument("--name", metavar="NAME", help="name of the rig's new file; default: that of the rig")


def run(args: argparse.Namespace) -> int:
    resized = args.lengths is not None or args.scale is not None
    if args.rig is not None:
        if resized:
            raise UsageError("a rig has its own lengths; leave --lengths and --scale out", code="bad-call")
        return run_on_rig(args)
    for option, value in (("--map", args.map), ("--name", args.name)):
        if value is not None:
            raise UsageError(f"{option} is for --rig", code="option-not-used")
    if not resized:
        raise UsageError("say the new size with --lengths or --scale, or give a --rig", code="bad-call")
    from ..api import load

    fit = grown = load(args.folder)
    if fit.folder is not None and Path(args.out).resolve() == fit.folder.resolve():
        raise UsageError("is the folder to read from; give another one to -o", code="bad-call", path=args.out)
    if args.lengths is not None:
        grown = grown.retarget(read_factors(args.lengths))
    if args.scale is not None:
        grown = grown.retarget(args.scale)
    grown = grown.save(args.out, report=False)
    if args.json:
        from ..io.skeleton_file import to_plain

        print_json(to_plain(grown.skeleton))
    else:
        rows = [
            (limb.body, f"{limb.from_joint} - {limb.to_joint}", *_millimetres(limb.length, new.length))
            for limb, new in zip(fit.skeleton.limbs, grown.skeleton.limbs, strict=True)
        ]
        print_table(("body", "between", "was mm", "is mm"), rows, left=2)
        print_findings(grown.motion.findings)
        print_written(grown.files)
    return choose_status(grown.motion.findings)


def run_on_rig(args: argparse.Namespace) -> int:
    from ..api import load

    moved = load(args.folder).retarget_to_rig(args.rig, args.map)
    files = moved.write(args.out, args.name)
    if args.json:
        names = ("bones", "scale", "slide_before", "slide_after", "findings")
        print_json({"files": [str(file) for file in files], **{name: getattr(moved, name) for name in names}})
    else:
        print_table(("bone of the rig", "moves as"), list(moved.bones.items()), left=2)
        print_findings(moved.findings)
        print_written(files)
    return choose_status(moved.findings)


def read_factors(text: str) -> dict[str, float] | Skeleton:
    """{body: factor} from `body=factor,...`, or the skeleton whose lengths are meant."""
    if text.endswith(".json") or os.path.isdir(text):
        from ..io.skeleton_file import read_skeleton

        return read_skeleton(text)
    factors: dict[str, float] = {}
    for part in filter(str.strip, text.split(",")):
        name, sign, number = (word.strip() for word in part.rpartition("="))
        try:
            value = float(number)
        except ValueError:
            value = 0.0
        if not (name and sign and 0 < value < float("inf")):
            raise UsageError(f"'{part.strip()}' is neither body=factor nor a skeleton.json", code="bad-call")
        if name in factors:
            raise UsageError(f"'{name}' has two factors", code="bad-call")
        factors[name] = value
    if not factors:
        raise UsageError(f"'{text}' names no body", code="bad-call")
    return factors


def _millimetres(*lengths: float | None) -> tuple[str | None, ...]:
    return tuple(None if length is None else f"{1000 * length:.1f}" for length in lengths)
