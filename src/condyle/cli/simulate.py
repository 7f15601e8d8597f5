"""condyle simulate OUT: a recording of a known figure, and the truth about it."""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .arguments import parse_not_negative, parse_percent, parse_positive, parse_whole
from .terminal import print_json, print_line, to_plain

if TYPE_CHECKING:
    from ..simulate import Truth

# option, unit shown, unit inside, type, help
_DISTURBANCES: tuple[tuple[str, str, float, Any, str], ...] = (
    ("position-noise", "MM", 0.001, parse_not_negative, "white noise of positions, per axis"),
    ("orientation-noise", "DEG", math.pi / 180, parse_not_negative, "white noise of orientations, per axis"),
    ("correlation-time", "S", 1.0, parse_not_negative, "makes both noises slow instead of white"),
    ("field-warp", "MM", 0.001, parse_not_negative, "positions bent by place, as by metal in the room"),
    ("soft-tissue", "MM", 0.001, parse_not_negative, "skin that moves under the sensors"),
    ("pelvis-wobble", "MM", 0.001, parse_not_negative, "pelvis sensor pushed about by the thighs"),
    ("non-rotary", "SIZE", 1.0, parse_not_negative, "joint centres that move; 1 is as much as in a real knee"),
    ("spikes", "%", 0.01, parse_percent, "samples that are far off"),
    ("stale", "%", 0.01, parse_percent, "samples that repeat the one before"),
    ("missing", "%", 0.01, parse_percent, "samples that are not seen"),
    ("scale", "FACTOR", 1.0, parse_positive, "reported length over true length"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", help="recording to write, .npz or .csv; OUT.truth.json stands beside it")
    parser.add_argument("--figure", choices=("human", "linkage"), default="human", help="default: human")
    parser.add_argument("--motion", choices=("exercise", "walk", "still"), default="exercise", help="default: exercise")
    parser.add_argument("--seconds", type=parse_positive, default=45.0, metavar="S", help="default: 45")
    parser.add_argument(
        "--rate", type=parse_positive, default=30.0, metavar="HZ", help="frames per second; default: 30"
    )
    parser.add_argument(
        "--seed", type=parse_whole, default=0, help="the same seed gives the same recording; default: 0"
    )
    group = parser.add_argument_group("what the tracker and the body do to it (default: nothing)")
    for name, unit, _, kind, words in _DISTURBANCES:
        group.add_argument(f"--{name}", type=kind, metavar=unit.replace("%", "PERCENT"), help=words)
    group.add_argument(
        "--latency",
        type=_parse_latency,
        action="append",
        metavar="BODY=MS",
        help="a sensor that reports late; repeatable",
    )


def run(args: argparse.Namespace) -> int:
    from ..io.exports import check_suffix, open_atomic, write_take
    from ..simulate import Disturbances, human, linkage, simulate

    out = Path(args.out)
    check_suffix(out)
    if args.seconds * args.rate < 1:
        raise UsageError(f"{args.seconds:g} s at {args.rate:g} Hz has no frame", code="bad-call")
    disturbances: dict[str, Any] = {"latency": dict(args.latency)} if args.latency else {}
    for option, _, factor, _, _ in _DISTURBANCES:
        name = option.replace("-", "_")
        if getattr(args, name) is not None:
            disturbances[name] = getattr(args, name) * factor
    world = simulate(
        {"human": human, "linkage": linkage}[args.figure](),
        args.motion,
        seconds=args.seconds,
        rate=args.rate,
        seed=args.seed,
        disturbances=Disturbances(**disturbances),
    )
    truth_file = out.with_suffix(".truth.json")
    facts = {
        **describe_truth(world.truth),
        "simulation": {
            "figure": args.figure,
            "motion": args.motion,
            "seconds": args.seconds,
            "rate": args.rate,
            "seed": args.seed,
            "disturbances": disturbances,
        },
    }
    write_take(out, world.take)
    with open_atomic(truth_file) as stream:
        stream.write(json.dumps(to_plain(facts), indent=2, allow_nan=False).encode())
    if args.json:
        print_json({"take": str(out), "truth": str(truth_file), "frames": world.take.frames, **facts})
    else:
        print_line(f"{out}: {world.take}; the truth is in {truth_file}")
    return 0


def describe_truth(truth: Truth) -> dict[str, Any]:
    """Tree, joints in sensor frames [m] and limb lengths [m], named as in skeleton.json."""
    parents = truth.parent.tolist()
    joints = [
        {
            "child": name,
            "parent": truth.names[parents[k]],
            "kind": truth.kind[k],
            "p_child_joint": truth.p_child_joint[k],
            "p_parent_joint": truth.p_parent_joint[k],
            "axis_child": truth.axis_child[k] if truth.kind[k] == "hinge" else None,
            "axis_parent": truth.axis_parent[k] if truth.kind[k] == "hinge" else None,
        }
        for k, name in enumerate(truth.names)
        if parents[k] >= 0
    ]
    return {
        "format": "condyle.truth",
        "version": 1,
        "units": "m",
        "bodies": list(truth.names),
        "roots": [name for k, name in enumerate(truth.names) if parents[k] < 0],
        "joints": joints,
        "limbs": [
            {"body": body, "from": start, "to": end, "length": length}
            for (body, start, end), length in truth.limbs.items()
        ],
        "scale": truth.scale,
    }


def _parse_latency(text: str) -> tuple[str, float]:
    body, equals, number = text.rpartition("=")
    try:
        delay = float(number) / 1000
    except ValueError:
        delay = math.nan
    if not body or not equals or not math.isfinite(delay):
        raise argparse.ArgumentTypeError(f"'{text}' is not like head=12.5")
    return body, delay
