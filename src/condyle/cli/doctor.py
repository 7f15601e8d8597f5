"""condyle doctor FILE...: which convention do these numbers use."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .arguments import add_reading_arguments, make_reading
from .terminal import DONE, DONE_WITH_WARNINGS, print_json, print_line, print_table

if TYPE_CHECKING:
    from ..model.take import Take
    from ..prepare.convention import Diagnosis

MOST_READINGS = 8  # readings listed, best first


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="recordings of the same bodies, in one convention")
    add_reading_arguments(parser)


def run(args: argparse.Namespace) -> int:
    from ..errors import CondyleError
    from ..prepare.convention import UNSEEN_NOTE, diagnose
    from ..prepare.read import join_takes, recordings_in, take_of

    options = make_reading(args)
    recordings = recordings_in(args.files, options)
    diagnosis = diagnose(recordings, thorough=True)
    if diagnosis is None:
        join_takes([take_of(one) for one in recordings])  # what cannot be converted at all says so itself
        raise CondyleError(
            "nothing to compare: conventions show in how bodies move against each other, "
            "and that takes two bodies and thirty frames",
            code="nothing-to-compare",
            path=args.files[0],
        )
    said, certain = describe_diagnosis(diagnosis)
    mirrored = describe_mirrored(join_takes([take_of(one) for one in recordings]))
    certain &= mirrored is None
    if args.json:
        facts = list_readings(diagnosis) | {"mirrored": mirrored}
        print_json({"files": args.files, "verdict": diagnosis.verdict, "text": said, **facts})
        return DONE if certain else DONE_WITH_WARNINGS
    print_line(said, style="bold")
    best = diagnosis.best.gap
    shown = list(diagnosis.ranking[:MOST_READINGS])
    if diagnosis.used not in shown:
        shown.append(diagnosis.used)
    print_table(
        ["read as", "joints come apart [mm]", "times the best", ""],
        [
            (one, f"{one.gap * 1000:.2f}", f"{one.gap / best:.2f}", "in use" if one is diagnosis.used else "")
            for one in shown
        ],
    )
    for odd in diagnosis.odd:
        print_line(f"{odd.name}: fits {odd.times:.0f} times better with {odd}, unlike the other sensors")
    if mirrored is not None:
        print_line(mirrored)
    print_line(UNSEEN_NOTE, style="dim")
    return DONE if certain else DONE_WITH_WARNINGS


def describe_diagnosis(diagnosis: Diagnosis) -> tuple[str, bool]:
    """The verdict in words, and whether everything is as it was said."""
    from ..findings import mm
    from ..prepare.convention import find_changed_fields, option_of

    used, best = diagnosis.used, diagnosis.best
    if diagnosis.verdict == "confirmed":
        others = [one for one in diagnosis.ranking if one is not used]
        lead = f"; every other reading is {others[0].gap / used.gap:.1f} times worse or more" if others else ""
        return f"{used}: confirmed by the motion{lead}", not diagnosis.odd
    if diagnosis.verdict == "untested":
        return f"{used}: not tested; every reading fits about alike, so the motion cannot tell them apart", False
    if diagnosis.verdict == "unjoined":
        return (
            f"{used}: not tested; read in any way that was tried, the bodies turn about no points that they share (the "
            f"joints of the best come apart by {mm(best.gap)} mm): nothing joins them, or limbs between them wore no "
            "sensor"
        ), False
    fields = find_changed_fields(used.convention, best.convention)
    if diagnosis.verdict == "other":
        times = used.gap / best.gap
        return f"{best}: fits {times:.1f} times better than {used}; say {option_of(best.convention, fields)}", False
    rival = diagnosis.rival if diagnosis.rival is not None and diagnosis.rival is not best else used
    fields = find_changed_fields(rival.convention, best.convention)
    one, other = option_of(best.convention, fields), option_of(rival.convention, fields)
    return f"{best} and {rival} fit about alike and give different figures; say {one} or {other}", False


def describe_mirrored(take: Take) -> str | None:
    """What tells that a person's world is mirrored, which no residual sees; None where nothing does."""
    from ..api import fit
    from ..errors import CondyleError
    from ..model.anatomy import segment_of

    parts = [segment.part for name in take.names if (segment := segment_of(name)) is not None]
    if parts.count("shank") < 2 or parts.count("thigh") < 2:
        return None
    try:
        findings = fit(take, intervals=False).findings
    except CondyleError:  # what cannot be fitted has no knees; the verdict stands without them
        return None
    return next((finding.text for finding in findings if finding.code == "mirrored-person"), None)


def list_readings(diagnosis: Diagnosis) -> dict[str, Any]:
    """The ranking and the odd sensors as plain facts."""
    best = diagnosis.best.gap
    return {
        "ranking": [
            {
                "read_as": str(one),
                "gap": one.gap,
                "times": one.gap / best,
                "in_use": one is diagnosis.used,
                "rotation": one.convention.rotation,
                "degrees": one.convention.degrees,
                "transposed": one.convention.transposed,
                "axes": list(one.convention.axes),
            }
            for one in diagnosis.ranking
        ],
        "sensors": [{"name": odd.name, "times": odd.times, "read_as": str(odd)} for odd in diagnosis.odd],
        "unseen": ["global mirror", "global scale"],
    }
