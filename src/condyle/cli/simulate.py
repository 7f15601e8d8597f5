"""condyle simulate OUT: a recording of a known figure, and the truth about it."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, suggest
from .arguments import (
    parse_length,
    parse_not_negative,
    parse_pair,
    parse_percent,
    parse_positive,
    parse_span,
    parse_whole,
)
from .terminal import print_json, print_line, to_plain

if TYPE_CHECKING:
    from ..simulate import Disturbances, SensorSlip, Truth, World

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


def parse_latency(text: str) -> tuple[str, float]:
    """Body and delay [s] of `BODY:MS`."""
    body, colon, number = text.replace("=", ":").rpartition(":")
    try:
        delay = float(number) / 1000
    except ValueError:
        delay = math.nan
    if not body or not colon or not math.isfinite(delay):
        raise argparse.ArgumentTypeError(f"'{text}' is not like head:12.5")
    return body, delay


def parse_slip(text: str) -> tuple[str, float, float]:
    """Body, size [m] and time [s] of `BODY:MM@S`."""
    what, at, time = text.rpartition("@")
    body, colon, size = what.rpartition(":")
    if not (at and colon and body):
        raise argparse.ArgumentTypeError(f"'{text}' is not BODY:MM@S, as l_thigh:20@15")
    return body, parse_length(size), parse_not_negative(time)


def parse_pair_span(text: str) -> tuple[tuple[str, str], tuple[float, float]]:
    """Two bodies and the time between two moments [s] of `A:B@S1:S2`."""
    pair, at, span = text.rpartition("@")
    if not at:
        raise argparse.ArgumentTypeError(f"'{text}' is not A:B@S1:S2, as l_hand:r_hand@10:20")
    return parse_pair(pair), parse_span(span)


def parse_body_span(text: str) -> tuple[str, tuple[float, float]]:
    """A body and the time between two moments [s] of `BODY@S1:S2`."""
    body, at, span = text.rpartition("@")
    if not (at and body):
        raise argparse.ArgumentTypeError(f"'{text}' is not BODY@S1:S2, as r_hand@10:20")
    return body, parse_span(span)


# option, form shown, type, help
_EVENTS: tuple[tuple[str, str, Any, str], ...] = (
    ("slip", "BODY:MM@S", parse_slip, "a sensor moves on its limb by so much"),
    ("swap", "A:B@S1:S2", parse_pair_span, "two sensors are exchanged"),
    (
        "prop",
        "BODY@S1:S2",
        parse_body_span,
        "this body carries a thing with a sensor of its own, which lies still before and after",
    ),
    ("clasp", "A:B@S1:S2", parse_pair_span, "the hands are held together: l_hand:r_hand"),
)
HAND_BODIES = ("l_hand", "r_hand")  # that a human clasps


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
    group = parser.add_argument_group("disturbances", "what the tracker and the body do to it; default: nothing")
    for name, unit, _, kind, words in _DISTURBANCES:
        group.add_argument(f"--{name}", type=kind, metavar=unit.replace("%", "PERCENT"), help=words)
    group.add_argument(
        "--latency",
        type=parse_latency,
        action="append",
        metavar="BODY:MS",
        help="a sensor that reports late; repeatable",
    )
    events = parser.add_argument_group("events", "what happens at times in seconds; each may be given more than once")
    for name, form, parse, words in _EVENTS:
        events.add_argument(f"--{name}", type=parse, action="append", default=[], metavar=form, help=words)


def run(args: argparse.Namespace) -> int:
    from ..io.atomic import write_atomic
    from ..io.exports import check_suffix, write_take
    from ..model.progress import begin_step
    from ..simulate import Disturbances, human, linkage, simulate

    out = Path(args.out)
    check_suffix(out)
    if args.seconds * args.rate < 1:
        raise UsageError(f"{args.seconds:g} s at {args.rate:g} Hz has no frame", code="bad-call")
    figure = {"human": human, "linkage": linkage}[args.figure]()
    _check_events(args, figure.names)
    disturbances: dict[str, Any] = {"latency": dict(args.latency)} if args.latency else {}
    for option, _, factor, _, _ in _DISTURBANCES:
        name = option.replace("-", "_")
        if getattr(args, name) is not None:
            disturbances[name] = getattr(args, name) * factor
    if args.slip:
        disturbances["slips"] = draw_slips(args.slip, args.seed)
    begin_step(f"simulating {args.seconds:g} s of {args.motion}")
    world = simulate(figure, args.motion, seconds=args.seconds, rate=args.rate, seed=args.seed)
    world = record_events(world, Disturbances(**disturbances), args)
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
            **{name: getattr(args, name) for name in ("swap", "prop", "clasp") if getattr(args, name)},
        },
    }
    begin_step(f"writing {out.name}")
    write_take(out, world.take)
    write_atomic(truth_file, json.dumps(to_plain(facts), indent=2, allow_nan=False).encode())
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


def _check_events(args: argparse.Namespace, names: Sequence[str]) -> None:
    """Raises where an event names a body that is not there, or a time after the end."""
    bodies = [body for body, _, _ in args.slip] + [body for body, _ in args.prop]
    bodies += [body for pair, _ in (*args.swap, *args.clasp) for body in pair]
    for body in bodies:
        if body not in names:
            raise UsageError(f"no body named '{body}'; {suggest(body, names)}", code="unknown-body")
    times = [time for _, _, time in args.slip] + [span[1] for _, span in (*args.swap, *args.prop, *args.clasp)]
    if times and max(times) > args.seconds:
        raise UsageError(f"{max(times):g} s is after the end of the recording at {args.seconds:g} s", code="bad-option")
    if any(set(pair) != set(HAND_BODIES) for pair, _ in args.clasp):
        raise UsageError(f"--clasp brings together {':'.join(HAND_BODIES)}, of a human", code="bad-option")


def draw_slips(slips: Sequence[tuple[str, float, float]], seed: int) -> tuple[SensorSlip, ...]:
    """Slips by (body, size [m], time [s]), each in a direction that the seed decides."""
    from ..simulate import SensorSlip
    from ..simulate.seeds import stream

    rng, found = stream(seed, "slips"), []
    for body, size, time in slips:
        way = rng.normal(size=3)
        found.append(SensorSlip(body, time, tuple((size / math.hypot(*way) * way).tolist())))
    return tuple(found)


def record_events(world: World, disturbances: Disturbances, args: argparse.Namespace) -> World:
    """An exact world with contacts, disturbed, and with sensors exchanged."""
    from ..simulate import disturb, prop, together
    from ..simulate.contacts import clasp_hands, pick_up
    from ..simulate.seeds import stream

    for k, (body, (start, end)) in enumerate(args.prop):
        name = "prop" if not k else f"prop_{k + 1}"
        thing = prop(name, seconds=args.seconds, rate=args.rate, seed=args.seed + k)
        world = together([world, thing], ["", ""])
        world = replace(world, truth=pick_up(world.truth, body, name, start, end))
    for k, (_, (start, end)) in enumerate(args.clasp):
        world = replace(world, truth=clasp_hands(world.truth, start, end, stream(args.seed + k, "clasp")))
    take, truth = disturb(world.truth, disturbances, args.seed)
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    for pair, (start, end) in args.swap:
        rows = (take.time >= start) & (take.time < end)
        a, b = (take.index(name) for name in pair)
        R[rows, a], R[rows, b] = R[rows, b], R[rows, a]
        p[rows, a], p[rows, b] = p[rows, b], p[rows, a]
    return replace(world, take=replace(take, R_world_body=R, p_world_body=p), truth=truth)
