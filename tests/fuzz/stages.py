"""The stages of every plan one by one: a sound take goes through those before, is spoilt, and meets one alone."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from condyle.estimate.checks import check_asked
from condyle.estimate.fitting import Estimate, estimate_early, fit_tree
from condyle.estimate.proof import FigureStage, carry_out, keep_proved
from condyle.model.options import FitOptions, Method, check_options
from condyle.model.stage import Change
from condyle.model.take import Take, join
from condyle.pipeline import PLAN_OF, Plan, Stage, run
from condyle.result.assemble import Calibration, assemble_figure

from .adversity import FRAMES, KINDS, MOST_KINDS, Poses, choose_options, sound
from .damage import check_printed

Rng = np.random.Generator
OF_OTHER_BODIES = ("odd_names", "one_body")  # kinds of adversity after which options name bodies that are not there
BASES = 8  # sound takes; one in FILES is of two files
FILES = 4
REGISTERED = 4  # one fit in so many is asked to bring two tracking systems together
UNSURE = 4  # one fit in so many has intervals: they are most of the work, and no stage of a plan
STAGES: list[tuple[Method, int]] = [  # those of preparing, the tree, those of repairing, and the figure put together
    (method, number) for method, plan in PLAN_OF.items() for number in range(len(plan.prepare) + len(plan.repair) + 2)
]


def run_stage(rng: Rng, folder: Path) -> None:
    """Any stage of any plan on what it should not meet, and all that comes after it."""
    from condyle.cli.summary import print_fit
    from condyle.io.skeleton_file import from_json, to_json

    method, number = STAGES[int(rng.integers(len(STAGES)))]
    base = int(rng.integers(BASES))
    options = replace(choose_options(rng, sound_take(base).names), method=method)
    options = replace(options, intervals=options.intervals and not rng.integers(UNSURE))
    if rng.integers(REGISTERED) == 0:
        a, *_, b = sound_take(base).names
        options = replace(options, register="auto" if rng.random() < 0.5 else f"{a}:{b}")
    check_options(options)
    take = go_through(base, method, number, options.world)
    frames = int(rng.integers(FRAMES[0], take.frames + 1))
    start = int(rng.integers(take.frames - frames + 1))
    found = finish(spoil_take(take.slice(start, start + frames), rng), options, number)
    from_json(to_json(found.skeleton))
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_fit(found.skeleton)
    check_printed(out.getvalue())


@cache
def sound_take(base: int) -> Take:
    take = sound(np.random.default_rng(base)).take()
    if base % FILES:
        return take
    half = take.frames // 2
    return join([take.slice(0, half), take.slice(half, take.frames)])


@cache
def go_through(base: int, method: Method, number: int, world: bool) -> Take:
    """A sound take as stage `number` of a plan meets it."""
    plan, options = PLAN_OF[method], FitOptions(method=method, world=world)
    if number == 0:
        return sound_take(base)
    take, last = go_through(base, method, number - 1, world), number - 1
    if last < len(plan.prepare):
        return meet(plan.prepare[last], take, options, plan)
    if last == len(plan.prepare):
        return take  # the tree changes nothing
    return repair(find_tree(take, options, plan), options, [plan.repair[last - len(plan.prepare) - 1]])[0].take


def spoil_take(take: Take, rng: Rng) -> Take:
    """The take, or one of its files, with one to MOST_KINDS kinds of adversity."""
    of_source = np.asarray(take.of_source, dtype=int)
    files = [np.flatnonzero(np.isin(take.segment, np.flatnonzero(of_source == k))) for k in set(take.of_source)]
    parts = [replace(take.at(rows), of_source=(), segment=None) for rows in files if len(rows)]
    if len(parts) < 2:
        return _spoil(take, rng)
    hit = int(rng.integers(len(parts)))
    return join([_spoil(part, rng) if k == hit else part for k, part in enumerate(parts)])


def _spoil(take: Take, rng: Rng) -> Take:
    poses = Poses(list(take.names), take.p_world_body.copy(), take.R_world_body.copy(), take.time.copy())
    kinds = [name for name in KINDS if name not in OF_OTHER_BODIES]
    with np.errstate(all="ignore"):
        for name in rng.choice(kinds, int(rng.integers(1, MOST_KINDS + 1)), replace=False):
            KINDS[str(name)](poses, rng)
    return poses.take()


def finish(take: Take, options: FitOptions, number: int) -> Calibration:
    """The figure of a take that goes on from stage `number`, which gets it as it is."""
    plan = PLAN_OF[options.method]
    if number < len(plan.prepare):
        take = meet(plan.prepare[number], take, options, plan)
        return run(take, options, replace(plan, prepare=plan.prepare[number + 1 :]))
    estimate = find_tree(take, options, plan)
    estimate, changes = repair(estimate, options, plan.repair[max(number - len(plan.prepare) - 1, 0) :])
    return assemble_figure(estimate, plan.estimator, options, [], changes, take, connections=plan.connections)


def meet(stage: Stage, take: Take, options: FitOptions, plan: Plan) -> Take:
    """The take after one stage of preparing, with none of the checks before it."""
    decision = stage(take, options)
    take = take if decision.take is None else decision.take
    if not decision.changes:
        return take
    return keep_proved(estimate_early(take, options, plan.estimator), decision.changes)[0].take


def find_tree(take: Take, options: FitOptions, plan: Plan) -> Estimate:
    return fit_tree(take, check_asked(take, options), options, plan.estimator)


def repair(estimate: Estimate, options: FitOptions, stages: Sequence[FigureStage]) -> tuple[Estimate, list[Change]]:
    changes: list[Change] = []
    for stage in stages:
        estimate, kept, _, _ = carry_out(stage, estimate, options)
        changes += kept
    return estimate, changes
