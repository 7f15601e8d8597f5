"""condyle info FILE...: what is in a recording."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .arguments import add_reading_arguments, reading_options
from .terminal import print_findings, print_json, print_line, print_table, status_of

if TYPE_CHECKING:
    from ..take import Take


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings")
    add_reading_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from ..readers import Options, identify, read_recording
    from ..recording import to_take

    options = Options.of(**reading_options(args))
    recordings = [read_recording(path, options) for path in args.files]
    takes = [to_take(recording) for recording in recordings]
    facts = [
        {"path": path, "conventions": {"format": identify(path).title, **recording.facts}, **facts_of(take)}
        for path, recording, take in zip(args.files, recordings, takes, strict=True)
    ]
    if args.json:
        print_json({"files": facts})
    else:
        for k, (one, take) in enumerate(zip(facts, takes, strict=True)):
            if k:
                print_line()
            _print(one, take)
    return status_of(finding for take in takes for finding in take.findings)


def facts_of(take: Take) -> dict[str, Any]:
    """Sizes, extent [m], and per body the share of poses missing, the rms rotation [rad] and the extent [m]."""
    import numpy as np

    from .. import rotation

    R_mean = rotation.mean(take.R_world_body)
    turned = rotation.angle(np.swapaxes(R_mean, -1, -2) @ take.R_world_body)
    bodies = []
    for k, name in enumerate(take.names):
        seen = take.seen[:, k]
        rms = float(np.sqrt(np.mean(turned[seen, k] ** 2))) if seen.any() else None
        extent = _extent(take.p_world_body[seen, k])
        bodies.append({"name": name, "missing": 1 - float(seen.mean()), "rotation_rms": rms, "position_extent": extent})
    return {
        "frames": take.frames,
        "seconds": take.seconds,
        "rate": take.rate,
        "timed": take.timed,
        "segments": len(set(take.segment.tolist())),  # np.unique would import numpy.ma, 30 ms
        "extent": _extent(take.p_world_body[take.seen]),
        "bodies": bodies,
        "findings": list(take.findings),
    }


def _extent(p: Any) -> list[float] | None:
    """Size [m] of the box along the world's axes that holds the points (k, 3)."""
    return [float(size) for size in p.max(axis=0) - p.min(axis=0)] if len(p) else None


def _print(facts: dict[str, Any], take: Take) -> None:
    told = dict(facts["conventions"])
    print_line(f"{facts['path']}: {told.pop('format')}, {take}", style="bold")
    print_line("as the file says: " + "; ".join(f"{key} {value}" for key, value in told.items()))
    if facts["segments"] > 1:
        print_line(f"{facts['segments']} segments")
    if facts["extent"]:
        print_line("extent " + " x ".join(f"{size:.3g}" for size in facts["extent"]) + " m")
    rows = [
        (
            body["name"],
            f"{body['missing']:.1%}",
            None if body["rotation_rms"] is None else f"{body['rotation_rms'] * 57.29577951308232:.1f}",
            None if body["position_extent"] is None else " x ".join(f"{size:.3f}" for size in body["position_extent"]),
        )
        for body in facts["bodies"]
    ]
    print_table(["body", "missing", "turns, rms [deg]", "moves within [m]"], rows)
    print_findings(take.findings)
