"""condyle export DIR: the figure and its motion in files that other programs open."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .terminal import print_findings, print_json, print_line, status_of

if TYPE_CHECKING:
    from ..io.exports.figure import Names
    from ..io.exports.scene import Scene, Written


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skeleton", metavar="DIR", help="folder that condyle fit wrote, or its skeleton.json")
    parser.add_argument("--to", required=True, metavar="LIST", help=f"formats, with commas between: {_formats()}")
    parser.add_argument("-o", "--out", metavar="OUT", help="folder for the files, made if it is missing; default: DIR")
    parser.add_argument("--name", default="figure", metavar="NAME", help="name of the files; default: figure")
    add_figure_arguments(parser)


def add_figure_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of the figure that is exported."""
    parser.add_argument(
        "--motion",
        choices=("ik", "play"),
        default="ik",
        help="ik: the motion nearest to all sensors, as the fit left it (default); play: the measured rotations",
    )
    parser.add_argument("--up", metavar="AXIS", help="axis that points up, where the recording does not tell: z, -y")
    parser.add_argument(
        "--names",
        choices=("anatomy", "bodies"),
        default="anatomy",
        help="call bones as human segments where body names tell them (default), or as the bodies",
    )


def run(args: argparse.Namespace) -> int:
    from ..io.exports.export import formats_of, write_figure

    formats = formats_of(args.to)
    scene = read_scene(args.skeleton, args.motion, args.names, args.up)
    place = Path(args.skeleton)
    written = write_figure(scene, formats, args.out or (place if place.is_dir() else place.parent), args.name)
    if args.json:
        print_json(_facts(scene, written))
    else:
        from ..findings import merge_findings

        print_findings(merge_findings(written.findings))
        print_line(str(scene.figure))
        for file in written.files:
            print_line(f"wrote {file}")
    return status_of(written.findings)


def read_scene(
    place: str | Path, motion: Literal["ik", "play"] = "ik", names: Names = "anatomy", up: str | None = None
) -> Scene:
    """What a fit left in its folder, given as the folder or as the skeleton.json in it.

    motion  "ik": the motion in the folder, which lies nearest to all sensors; "play": the measured rotations
    """
    from ..io.exports.scene import Scene
    from ..io.motion_file import read_motion
    from ..io.skeleton_file import read_skeleton
    from ..motion.play import play
    from ..prepare.read import read

    skeleton = read_skeleton(place)
    moved = read_motion(place, skeleton)
    folder = Path(place) if Path(place).is_dir() else Path(place).parent
    measured = read(folder / "motion.npz", doctor=False)
    return Scene(skeleton, play(skeleton, measured) if motion == "play" else moved, measured, names, up)


def _facts(scene: Scene, written: Written) -> dict[str, object]:
    figure = scene.figure
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


def _formats() -> str:
    from ..io.exports.registry import FORMATS

    return ", ".join(FORMATS)
