"""condyle demo: simulate a human with magnetic sensors, calibrate it with nothing known, compare with the truth."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from .arguments import whole
from .fit import write_calibration
from .report import write_report
from .simulate import truth_facts
from .summary import print_calibration, true_length
from .terminal import print_json, print_line, to_plain

if TYPE_CHECKING:
    from ..model.skeleton import Limb


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--out", metavar="DIR", default="condyle-demo", help="default: condyle-demo")
    parser.add_argument("--seed", type=whole, default=0, help="another seed is another subject's motion; default: 0")
    parser.add_argument("--no-report", action="store_true", help="write no report.html")


def run(args: argparse.Namespace) -> int:
    from ..io.exports import atomic, write_take
    from ..io.skeleton_file import to_plain as skeleton_facts
    from ..pipeline import calibrate
    from ..simulate import Disturbances, human, simulate

    folder = Path(args.out)
    disturbances = Disturbances(position_noise=0.003, orientation_noise=math.radians(0.5), missing=0.005)
    world = simulate(human(), "exercise", seconds=45, rate=60, seed=args.seed, disturbances=disturbances)
    calibration = calibrate(world.take)
    calibration, written = write_calibration(folder, calibration)
    write_take(folder / "take.npz", world.take)
    with atomic(folder / "truth.json") as stream:
        stream.write(json.dumps(to_plain(truth_facts(world.truth)), indent=2, allow_nan=False).encode())
    if not args.no_report:
        written += write_report(folder)
    if args.json:
        print_json({"skeleton": skeleton_facts(calibration.skeleton), "truth": truth_facts(world.truth)})
        return 0
    print_line(
        "A simulated human: 15 magnetic sensors, 48 degrees of freedom, 45 s at 60 Hz, 3 mm and 0.5 deg of noise."
    )
    print_line("Nothing about the body, the tree or the sensors' places was told to the fit.")
    print_line()
    print_calibration(calibration.skeleton, world.truth.limbs)
    print_line()
    held = sum(_holds(limb, world.truth.limbs) for limb in calibration.skeleton.limbs)
    print_line(f"{held} of {len(calibration.skeleton.limbs)} intervals hold the true length (95 % are meant to).")
    print_line(f"wrote {', '.join(str(path) for path in [folder / 'take.npz', folder / 'truth.json', *written])}")
    look = f"open {folder / 'report.html'} in a browser; " if folder / "report.html" in written else ""
    print_line(f"next: {look}condyle fit {folder / 'take.npz'} -o DIR, or condyle info on a file of yours")
    return 0


def _holds(limb: Limb, truth: Mapping[tuple[str, str, str], float]) -> bool:
    known = true_length(limb, truth)
    return known is not None and limb.low is not None and limb.high is not None and limb.low <= known <= limb.high
