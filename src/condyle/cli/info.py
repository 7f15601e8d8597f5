"""condyle info FILE...: what is in a recording, how it was understood, and what is missing to fit it."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from ..errors import CondyleError, UsageError, join_command
from ..findings import many
from .arguments import add_reading_arguments, make_reading
from .terminal import choose_status, print_error, print_findings, print_json, print_line, print_table

if TYPE_CHECKING:
    from ..io.format import ReadOptions
    from ..model.recording import Convention, Markers, Recording
    from ..model.take import Take
    from ..prepare.propose_bodies import Proposal as BodyProposal
    from ..prepare.recognise_bodies import Recognition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings")
    parser.add_argument(
        "--propose",
        metavar="FILE",
        help="write what is missing, to be edited: a bodies.toml for markers, a column map for an unknown table",
    )
    add_reading_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from ..io.formats import list_files

    options = make_reading(args)
    if args.propose and len(args.files) > 1:
        raise UsageError("--propose takes one file at a time", code="bad-call")
    facts, worst = [], 0
    files = [str(file) for path in args.files for file in list_files(path)]
    for k, path in enumerate(files):
        if k and not args.json:
            print_line()
        try:
            one, status = _inspect_file(path, options, args)
        except UsageError:
            raise
        except CondyleError as error:  # the other files are still looked at
            one, status = {"path": path, "error": error.facts()}, 1
            if not args.json:
                print_error(error)
        facts.append(one)
        worst = 1 if 1 in (worst, status) else max(worst, status)
    if args.json:
        print_json({"files": facts})
    return worst


def _inspect_file(path: str, options: ReadOptions, args: argparse.Namespace) -> tuple[dict[str, Any], int]:
    from ..io.formats import identify
    from ..prepare.read import recordings_in, take_of

    try:
        (recording,) = recordings_in([path], options)
    except CondyleError as error:
        if error.code != "unknown-format" or (told := _propose_columns(path, args)) is None:
            raise
        return told, 0
    title = identify(path, "columns" if options.columns else options.format).title
    facts: dict[str, Any] = {"path": path, "conventions": {"format": title, **recording.facts}}
    facts["understood"] = describe_convention(recording.convention)
    if recording.bodies is None:  # points have no rotation
        facts["understood"].pop("rotation")
    take = None
    if recording.bodies is not None:
        take = take_of(recording)
        facts |= describe_take(take)
    else:
        facts |= {"frames": recording.frames, "findings": list(recording.findings)}
    proposals: list[BodyProposal] = []
    found: Recognition | None = None
    if recording.markers is not None:
        facts["markers"] = _describe_markers(recording.markers)
        if options.bodies is None and (recording.bodies is None or recording.placed or args.propose):
            found = _recognise(recording)
            facts["recognised"] = _describe_recognised(found)
        if (recording.bodies is None or args.propose) and (found is None or not found.bodies):
            proposals = _propose_bodies(recording)
            facts["proposed_bodies"] = [
                {"name": one.name, "markers": list(one.markers), "fit_error": one.error} for one in proposals
            ]
    elif args.propose:
        fit = join_command(["condyle", "fit", path, "-o", "DIR"])
        raise CondyleError(f"has bodies and no markers: nothing is to be proposed; {fit}", code="no-data", path=path)
    if not args.json:
        _print(facts, recording, take, proposals, asked=bool(args.propose))
    if args.propose and found is not None and found.bodies:
        _write_recognised(args.propose, found)
    elif args.propose:
        _write_bodies(args.propose, path, proposals)
    if args.propose and not args.json:
        print_line(f"wrote {args.propose}; check it, then: {_give(path, 'bodies', args.propose)}")
    return facts, choose_status(facts["findings"])


def describe_take(take: Take) -> dict[str, Any]:
    """Sizes, extent [m], and per body the share of poses missing, the rms rotation [rad] and the extent [m]."""
    import numpy as np

    from ..maths import rotation

    bodies, corners = [], []
    for k, name in enumerate(take.names):
        seen, R = take.seen[:, k], take.R_world_body[:, k]
        turned = rotation.angle(rotation.mean(R).T @ R)
        rms = float(np.sqrt(np.mean(turned[seen] ** 2))) if seen.any() else None
        p = take.p_world_body[seen, k]
        extent = _measure_extent(p)
        corners += [p.min(axis=0), p.max(axis=0)] if len(p) else []
        bodies.append({"name": name, "missing": 1 - float(seen.mean()), "rotation_rms": rms, "position_extent": extent})
    facts: dict[str, Any] = {
        "frames": take.frames,
        "seconds": take.seconds,
        "rate": take.rate,
        "timed": take.timed,
        "segments": len(set(take.segment.tolist())),  # np.unique would import numpy.ma, 30 ms
        "extent": _measure_extent(np.array(corners).reshape(-1, 3)),
        "bodies": bodies,
        "findings": list(take.findings),
    }
    if take.own is not None:
        facts["own_skeleton"] = [
            {"name": name, "parent": take.own.names[up] if up >= 0 else None, "p_parent_joint": p.tolist()}
            for name, up, p in zip(take.own.names, take.own.parent, take.own.p_parent_joint, strict=True)
        ]
    return facts


def describe_convention(convention: Convention) -> dict[str, str]:
    """Every part of a convention with who says so: the user, the file, or custom."""
    words = {
        "rotation": convention.rotation if convention.rotation != "matrix" else "matrices",
        "unit": convention.unit or "not known",
        "handed": convention.handed,
        "up": convention.up or "not known",
    }
    if convention.transposed:
        words["transposed"] = "yes"
    if convention.axes != ("x", "y", "z"):
        words["axes"] = ",".join(convention.axes)
    if convention.rotation[:1].isupper():
        words["degrees"] = "yes" if convention.degrees else "no"
    out = {}
    for name, word in words.items():
        who = "given" if name in convention.given else "stated" if name in convention.stated else "assumed"
        out[name] = word if word == "not known" else f"{word} ({who})"
    return out


def _ask(path: str, target: str) -> str:
    """The command that writes a proposal."""
    return join_command(["condyle", "info", path, "--propose", target])


def _give(path: str, option: str, target: str) -> str:
    """The command that uses it."""
    return join_command(["condyle", "fit", path, f"--{option}", target])


def _propose_columns(path: str, args: argparse.Namespace) -> dict[str, Any] | None:
    """What to tell of a table that no format knows; None where it is no table."""
    from ..io.atomic import write_atomic
    from ..io.formats.propose import propose

    proposal = propose(path)
    if proposal is None:
        return None
    facts = {"path": path, "columns": proposal.toml, "reasons": list(proposal.reasons), "findings": []}
    if not args.json:
        print_line(f"{path}: a table whose columns no format explains", style="bold")
        for reason in proposal.reasons:
            print_line(f"- {reason}")
    if proposal.toml is None:
        if args.propose:
            raise CondyleError("nothing in it can be proposed as a body", code="no-data", path=path)
        return facts
    if args.propose:
        write_atomic(args.propose, proposal.toml.encode())
        if not args.json:
            print_line(f"wrote {args.propose}; check it, then: {_give(path, 'columns', args.propose)}")
    elif not args.json:
        print_line()
        for line in proposal.toml.rstrip().split("\n"):
            print_line(f"  {line}")
        print_line()
        print_line(f"if that is right: {_ask(path, 'map.toml')}, then {_give(path, 'columns', 'map.toml')}")
    return facts


def _describe_markers(markers: Markers) -> list[dict[str, Any]]:
    import numpy as np

    missing = 1 - np.isfinite(markers.position).all(axis=2).mean(axis=0)
    return [{"name": name, "missing": float(share)} for name, share in zip(markers.names, missing, strict=True)]


def _propose_bodies(recording: Recording) -> list[BodyProposal]:
    from ..model.recording import length_of
    from ..prepare.propose_bodies import propose_bodies

    assert recording.markers is not None
    metres, _ = length_of(recording)
    return propose_bodies(recording.markers.position * metres, recording.markers.names)


def _recognise(recording: Recording) -> Recognition:
    from ..prepare.recognise_bodies import recognise_bodies

    return recognise_bodies([recording])


def _describe_recognised(found: Recognition) -> dict[str, Any]:
    """The marker set, and per body its markers, fit error and size [m]; segments that have too few."""
    return {
        "marker_set": found.title or None,
        "by_motion": found.by_motion,
        "named_by_set": found.explained,
        "worn": found.worn,
        "computed": list(found.computed),
        "bodies": [
            {"name": name, "markers": list(body.markers), "fit_error": body.error, "size": body.size}
            for name, body in found.bodies.items()
        ],
        "centres": [
            {"name": one.name, "body": one.body, "carried_by": one.parent, "made": one.made, "sd": one.sd}
            for one in found.centres
        ],
        "few_markers": {name: list(markers) for name, markers in found.few.items()},
    }


def _write_recognised(target: str, found: Recognition) -> None:
    from ..io.bodies_file import write_bodies

    comments = {name: f"fit error {body.error * 1000:.1f} mm" for name, body in found.bodies.items()}
    for name, markers in found.lent.items():
        shared = ", ".join(marker for marker in markers if marker not in found.few[name])
        comments[name] = f"{shared} of a neighbour would draw the joint between them to itself"
    comments |= {one.body: f"{one.name} is no marker but a point of {one.parent}" for one in found.centres}
    heading = [f"recognised as {found.title}" if found.title else "recognised by the names of landmarks"]
    write_bodies(target, found.groups, comments, heading, found.lent)


def _write_bodies(target: str, source: str, proposals: list[BodyProposal]) -> None:
    from ..io.bodies_file import write_bodies

    if not proposals:
        raise CondyleError("no markers keep their distances, so no body can be proposed", code="no-data", path=source)
    write_bodies(
        target,
        {one.name: one.markers for one in proposals},
        {one.name: f"fit error {one.error * 1000:.1f} mm" for one in proposals},
        heading=["markers that keep their distances; rename, merge and correct as you know better"],
    )


def _measure_extent(p: Any) -> list[float] | None:
    """Size [m] of the box along the world's axes that holds the points (k, 3)."""
    return [float(size) for size in p.max(axis=0) - p.min(axis=0)] if len(p) else None


def _print(
    facts: dict[str, Any], recording: Recording, take: Take | None, proposals: list[BodyProposal], *, asked: bool
) -> None:
    told = dict(facts["conventions"])
    title = told.pop("format")
    what = str(take) if take is not None else f"markers only, {many(recording.frames, 'frame')}"
    print_line(f"{facts['path']}: {title}, {what}", style="bold")
    told = {key: value for key, value in told.items() if not key.startswith("cluster ")}
    if told:
        print_line("the file says: " + "; ".join(f"{key} {value}" for key, value in told.items()))
    print_line("understood as: " + "; ".join(f"{key} {value}" for key, value in facts["understood"].items()))
    if take is not None:
        _print_bodies(facts)
    if "markers" in facts:
        seen = sum(marker["missing"] < 1 for marker in facts["markers"])
        print_line(f"{many(len(facts['markers']), 'marker')}, {seen} of them seen")
    if facts.get("recognised", {}).get("bodies"):
        _print_recognised(facts["recognised"])
    if proposals:
        print_line("markers that keep their distances, so that each group may be a body:")
        rows = [(one.name, ", ".join(one.markers), f"{one.error * 1000:.1f}") for one in proposals]
        print_table(["body", "markers", "fit error [mm]"], rows, left=2)
        path = facts["path"]
        if not asked:
            print_line(
                f"to use them: {_ask(path, 'bodies.toml')}, edit it, then {_give(path, 'bodies', 'bodies.toml')}"
            )
    print_findings(facts["findings"])


def _print_recognised(known: dict[str, Any]) -> None:
    title = known["marker_set"]
    told = f"{title}, {known['named_by_set']} of {known['worn']} markers" if title else "names of landmarks"
    print_line("recognised by the motion alone:" if known["by_motion"] else f"recognised by name ({told}):")
    rows = [
        (body["name"], ", ".join(body["markers"]), f"{1000 * body['fit_error']:.1f}", f"{1000 * body['size']:.0f}")
        for body in known["bodies"]
    ]
    print_table(["body", "markers", "rigid to [mm]", "size [mm]"], rows, left=2)
    for one in known["centres"]:
        print_line(f"{one['name']} of {one['carried_by']}: {one['made']}, ± {1000 * one['sd']:.0f} mm")
    if known["computed"]:
        print_line(f"{len(known['computed'])} points are computed by a program and are no markers")


def _print_bodies(facts: dict[str, Any]) -> None:
    if facts["segments"] > 1:
        print_line(f"{facts['segments']} segments")
    if facts["extent"]:
        print_line("extent " + " x ".join(f"{size:.3g}" for size in facts["extent"]) + " m")
    rows = [
        (
            body["name"],
            f"{body['missing']:.1%}",
            None if body["rotation_rms"] is None else f"{math.degrees(body['rotation_rms']):.1f}",
            None if body["position_extent"] is None else " x ".join(f"{size:.3f}" for size in body["position_extent"]),
        )
        for body in facts["bodies"]
    ]
    print_table(["body", "missing", "turns, rms [deg]", "moves within [m]"], rows)
