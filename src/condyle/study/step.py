"""One take done in some process: fitted or solved, its folder written, and what a study keeps of it."""

from __future__ import annotations

import os
import platform
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CondyleError
from ..estimate.lengths import measure_across
from ..findings import merge_findings
from ..model.skeleton import Joint, Limb, Skeleton
from ..report.page_data import to_triple
from ..result.coverage import find_coverage
from ..result.verdict import verdict_of
from .ledger import Facts, Fault, JointFacts, LedgerRecord, LimbFacts, Worst
from .plan import TakeStep
from .settings import parse_settings

if TYPE_CHECKING:
    from ..api import Fit

MOST_ADVICE = 3  # sentences
STEP_LONGEST_WAIT_S = 60.0  # for which a step waits until another process has written the same folder
STEP_RETRY_S = 0.2


def run_step(step: TakeStep) -> LedgerRecord:
    """Does a take, and tells what came of it. Raises nothing: a take that fails does so alone, with its sentence."""
    wall, cpu = time.perf_counter(), time.thread_time()
    facts, fault = None, None
    try:
        facts = describe_skeleton(_do(step).skeleton)
    except CondyleError as error:
        fault = Fault(error.code, str(error).replace(step.root + os.sep, ""))  # files are named from the study's root
    except MemoryError:
        text = f"{_files(step)}: not enough memory for this recording; try it with fewer workers"
        fault = Fault(text=text, code="out-of-memory")
    except Exception as error:
        told = f"{type(error).__name__}: {error}".splitlines()[0]
        text = f"{_files(step)}: a fault of condyle itself, {told}; please report it with the traceback in the ledger"
        fault = Fault(text=text, trace=traceback.format_exc(), code="internal-error")
    return LedgerRecord(
        step.name,
        step.key,
        "done" if fault is None else "failed",
        facts,
        fault,
        datetime.now(UTC).isoformat(timespec="milliseconds"),
        round(time.perf_counter() - wall, 4),
        round(time.thread_time() - cpu, 4),
        f"{platform.node()}:{os.getpid()}",
    )


def _do(step: TakeStep) -> Fit:
    from ..api import fit_with, solve

    entry, root = step.entry, Path(step.root)
    options, reading, own_tree = parse_settings(entry.settings, root)
    files = [root / file for file in entry.files]
    if step.skeleton is None:
        fit = fit_with(files, options, reading, own_tree=own_tree)
    else:  # what a calibration alone is asked for does not matter here
        fit = solve(
            files,
            step.skeleton,
            prepare=options.prepare,
            fix=options.fix,
            no_fix=options.no_fix,
            scale=options.scale if "scale" in entry.settings else None,
            field=entry.settings.get("field") is not False,
            **{name: getattr(reading, name) for name in reading.given},
        )
    known = {**fit.skeleton.take, "sources": list(entry.files)}  # the same wherever the study's root is
    fit = replace(fit, skeleton=replace(fit.skeleton, take=known))
    report, export = bool(entry.settings.get("report", True)), str(entry.settings.get("export", ""))
    until = time.monotonic() + STEP_LONGEST_WAIT_S
    while True:
        try:
            return fit.save(step.folder, report=report, export=export)
        except CondyleError as error:  # a run that was killed may have left a cluster's worker at the same take
            if error.code != "folder-busy" or time.monotonic() > until:
                raise
            time.sleep(STEP_RETRY_S)


def _files(step: TakeStep) -> str:
    return ", ".join(step.entry.files)


def describe_skeleton(skeleton: Skeleton) -> Facts:
    """What a study keeps of a fit."""
    verdict = verdict_of(skeleton)
    looks = [one for one in merge_findings(skeleton.findings) if one.severity != "info"]
    worst = Worst(looks[0].severity, looks[0].code, looks[0].text) if looks else None
    parent = {joint.child: joint.parent for joint in skeleton.joints}
    return Facts(
        fit_id=skeleton.fit_id or "",
        bodies=len(skeleton.bodies),
        frames=int(skeleton.take.get("frames") or 0),
        seconds=float(skeleton.take.get("seconds") or 0.0),
        tone=verdict.tone,
        text=verdict.text,
        sure=verdict.sure,
        count=verdict.joints,
        length_95=verdict.length_95,
        looks=len(looks),
        worst=worst,
        advice=() if verdict.tone == "good" else _advise(skeleton),
        joints=tuple(_describe_joint(joint) for joint in skeleton.joints),
        limbs=tuple(_describe_limb(limb, axes, parent) for limb, axes in measure_across(skeleton)),
    )


def _advise(skeleton: Skeleton) -> tuple[str, ...]:
    """What to move more, the worst first; nothing of a later take, which makes its figure no surer."""
    if "calibration" in skeleton.take:
        return ()
    found = find_coverage(skeleton)
    told = [(one.verdict, one.text) for one in found.joints] + [(one.verdict, one.text) for one in found.limbs]
    short = [one for one in told if one[0] != "enough"]
    return tuple(text for _, text in sorted(short, key=lambda one: one[0] == "weak")[:MOST_ADVICE])


def _describe_joint(joint: Joint) -> JointFacts:
    turned, child, parent = map(to_triple, (joint.rotation, joint.p_child_joint, joint.p_parent_joint))
    facts: dict[str, Any] = {"turned": turned, "p_child_joint": child, "p_parent_joint": parent}
    facts |= {name: getattr(joint, name) for name in JointFacts.__struct_fields__ if name not in facts}
    return JointFacts(**facts)


def _describe_limb(limb: Limb, axes: Sequence[bool], parent: Mapping[str, str]) -> LimbFacts:
    ends = [parent[limb.body] if joint == limb.body else joint for joint in (limb.from_joint, limb.to_joint)]
    first, last = sorted(ends)
    across = tuple(sorted(end for end, is_axis in zip(ends, axes, strict=True) if is_axis))
    return LimbFacts(limb.body, first, last, limb.length, limb.low, limb.high, limb.between, across)
