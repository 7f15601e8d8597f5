"""From a take to a figure: plans, the order of work, and the one loop that carries it out.

A stage looks at the take, or once there is a figure at the estimate, and decides: findings, another reading of the
take, or changes, which are kept where they prove themselves (`estimate.proof`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .estimate.checks import check_asked, check_twins, describe_left_out
from .estimate.fitting import DRIFT, PLAIN, ROBUST, Estimate, Estimator, estimate_early, fit_tree
from .estimate.proof import FigureStage, carry_out, keep_proved
from .faults.carried import leave_out_carried
from .faults.connections import MOST_CONNECTED_BODIES
from .faults.detached import leave_out_detached
from .faults.field import correct_field, correct_known_field, look_for_bend
from .faults.part_time import leave_out_part_time
from .faults.slips import repair_slips
from .faults.worlds import check_register, register_worlds
from .findings import Finding
from .io.scale_file import factor_of
from .model.options import FitOptions, Method, check_options
from .model.progress import begin_step
from .model.scale import scale_take
from .model.stage import Change, Decision
from .model.take import Take, keep_files, with_world
from .model.values import dataclass
from .prepare.dropouts import mask_unmeasured
from .prepare.latency import LATENCY_MOST_BODIES, repair_latency
from .prepare.swaps import repair_swaps
from .result.assemble import Calibration, assemble_figure

Stage = Callable[[Take, FitOptions], Decision]  # before there is a figure
Prepared = tuple[Take, list[Change], list[Finding], Estimate | None]


@dataclass(frozen=True)
class Plan:
    """How a take becomes a figure: what is done before the tree is known, how it is found, and what is done after.

    connections  whether joints that hold for a part of the take are looked for beside the tree
    """

    prepare: tuple[Stage, ...]
    estimator: Estimator
    repair: tuple[FigureStage, ...]
    connections: bool = True

    @property
    def most_bodies(self) -> dict[str, int]:
        """{check: bodies beyond which it is not made}."""
        connections = {"connections for a part of the take": MOST_CONNECTED_BODIES} if self.connections else {}
        return connections | ({"latency": LATENCY_MOST_BODIES} if repair_latency in self.prepare else {})


def scale_lengths(take: Take, options: FitOptions) -> Decision:
    return Decision(take=scale_take(take, factor_of(options.scale)))


def check_belonging(take: Take, options: FitOptions) -> Decision:
    """Several files are held against each other; what does that is not imported for one."""
    if len(set(take.of_source)) < 2:
        return Decision()
    from .faults import belonging

    return belonging.check_belonging(take, options)


def add_world(take: Take, options: FitOptions) -> Decision:
    return Decision(take=with_world(take)) if options.world else Decision()


LAST = (correct_known_field, check_belonging, add_world)
PREPARE = (scale_lengths, mask_unmeasured, repair_swaps, repair_latency, *LAST)
OFF = (leave_out_detached, leave_out_carried)
REPAIR = (register_worlds, leave_out_part_time, *OFF, repair_slips, correct_field, look_for_bend)
PLAN_OF: dict[Method, Plan] = {
    "default": Plan(PREPARE, ROBUST, REPAIR),
    "least-squares": Plan(
        (scale_lengths, mask_unmeasured, *LAST), PLAIN, (register_worlds, correct_field), connections=False
    ),
    "drift": Plan(PREPARE, DRIFT, REPAIR),
}


def run(take: Take, options: FitOptions, plan: Plan | None = None) -> Calibration:
    """The figure in a take, by the plan that was asked for by name, or by another one."""
    check_options(options)
    check_register(options.register)
    plan = plan or PLAN_OF[options.method]
    ready, changes, findings, early = prepare_take(take, options, plan)
    findings += describe_left_out(ready, plan.most_bodies)
    begin_step("finding the tree")
    fixed, refused = check_asked(ready, options), list[Change]()
    estimate = early or fit_tree(ready, fixed, options, plan.estimator)
    for repair in plan.repair:
        begin_step(f"checking: {_in_words(repair)}")
        estimate, kept, not_kept, told = carry_out(repair, estimate, options)
        changes, refused, findings = [*changes, *kept], [*refused, *not_kept], [*findings, *told]
    found = assemble_figure(estimate, plan.estimator, options, findings, changes, ready, connections=plan.connections)
    return replace(found, refused=tuple(refused))


def _in_words(stage: Stage | FigureStage) -> str:
    return getattr(stage, "__name__", "a stage of the plan").replace("_", " ")


def prepare_take(take: Take, options: FitOptions, plan: Plan) -> Prepared:
    """The take as the plan has it before there is a figure, the changes that were kept, what is to be said, and its
    estimate, where it was fitted to prove the last change. A stage that leaves out files makes all look anew.
    """
    check_twins(take)
    given, findings, changes, early = take, list[Finding](), list[Change](), None
    for stage in plan.prepare:
        begin_step(f"preparing: {_in_words(stage)}")
        decision = stage(take, options)
        if decision.take is not None and decision.take.of_source != take.of_source:
            # what was repaired before was told by files that are left out now: sensors put on anew look exchanged
            ready, kept, told, early = prepare_take(keep_files(given, decision.take), options, plan)
            return ready, kept, [*decision.findings, *told], early
        findings += decision.findings
        take = take if decision.take is None else decision.take
        if decision.changes:
            early, kept, told = keep_proved(estimate_early(take, options, plan.estimator), decision.changes)
            take, changes, findings = early.take, [*changes, *kept], [*findings, *told]
    plain = options.root is None and not any(one.hold for one in changes)
    return take, changes, findings, early if plain and early is not None and early.take is take else None
