"""condyle demo: simulate a human with magnetic sensors, fit it with nothing known, compare with the truth."""

from __future__ import annotations

import argparse
import io
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import parse_whole
from .report import has_page
from .simulate import describe_truth
from .summary import find_true_length, print_fit
from .terminal import print_json, print_line, to_plain

if TYPE_CHECKING:
    from ..model.skeleton import Limb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--out", metavar="DIR", default="condyle-demo", help="default: condyle-demo")
    parser.add_argument("--seed", type=parse_whole, default=0, help="another seed is another motion; default: 0")
    parser.add_argument("--no-report", action="store_true", help="write no report.html")


def run(args: argparse.Namespace) -> int:
    from ..api import fit
    from ..io.exports.take_npz import write_take_npz
    from ..io.skeleton_file import to_plain as skeleton_facts
    from ..simulate import Disturbances, human, simulate

    folder = Path(args.out)
    disturbances = Disturbances(position_noise=0.003, orientation_noise=math.radians(0.5), missing=0.005)
    world = simulate(human(), "exercise", seconds=45, rate=60, seed=args.seed, disturbances=disturbances)
    truth = json.dumps(to_plain(describe_truth(world.truth)), indent=2, allow_nan=False).encode()
    recording = io.BytesIO()
    write_take_npz(recording, world.take)
    found = fit(world.take).save(
        folder,
        report=not args.no_report and has_page(),
        beside={"take.npz": recording.getvalue(), "truth.json": truth},
    )
    if args.json:
        print_json({"skeleton": skeleton_facts(found.skeleton), "truth": describe_truth(world.truth)})
        return 0
    print_line(
        "A simulated human: 15 magnetic sensors, 48 degrees of freedom, 45 s at 60 Hz, 3 mm and 0.5 deg of noise."
    )
    print_line("Nothing about the body, the tree or the sensors' places was told to the fit.")
    print_line()
    print_fit(found.skeleton, world.truth.limbs)
    print_line()
    held = sum(_holds_truth(limb, world.truth.limbs) for limb in found.skeleton.limbs)
    print_line(f"{held} of {len(found.skeleton.limbs)} intervals hold the true length (95 % are meant to).")
    print_line(f"wrote {', '.join(str(path) for path in found.files)}")
    look = f"open {folder / 'report.html'} in a browser; " if folder / "report.html" in found.files else ""
    print_line(f"next: {look}condyle fit {folder / 'take.npz'} -o DIR, or condyle info on a file of yours")
    return 0


def _holds_truth(limb: Limb, truth: Mapping[tuple[str, str, str], float]) -> bool:
    known = find_true_length(limb, truth)
    return known is not None and limb.low is not None and limb.high is not None and limb.low <= known <= limb.high
