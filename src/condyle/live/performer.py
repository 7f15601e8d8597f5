"""A person who is known from before: the tree and lengths of a profile, or the figure of a calibration as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..model.options import FitOptions
from ..model.profile import Profile
from ..model.skeleton import Skeleton
from ..model.stage import Change, Decision
from ..model.take import WORLD, Take

if TYPE_CHECKING:
    from ..estimate.fitting import Estimate
    from ..result.assemble import Calibration


LIVE_REFINE_ROUNDS = 1  # of joints and slips in turn: the second changes a slip by 1e-4 (faults.slips.REFINED_SHARE)


@dataclass(frozen=True, eq=False)
class Performer:
    """What is known before the first frame: nothing, a profile (sensors were put on anew), or a skeleton (they sit
    where they sat at its calibration).
    """

    profile: Profile | None = None
    skeleton: Skeleton | None = None


def find_figure(take: Take, options: FitOptions, performer: Performer) -> Calibration:
    """The figure in a take, with what is known of the performer."""
    from ..faults.slips import repair_slips
    from ..motion.known import measure_gaps
    from ..pipeline import PLAN_OF, run
    from ..result.profile import apply_profile

    if performer.skeleton is not None:
        return _play_figure(take, options, performer.skeleton)
    whole = PLAN_OF[options.method]
    plan = replace(whole, repair=tuple(repair_slips_inside if one is repair_slips else one for one in whole.repair))
    if performer.profile is None:
        return run(take, options, plan)
    found = run(take, replace(options, tree=performer.profile.edges), plan)
    skeleton = apply_profile(found.skeleton, performer.profile)
    gap, weight, joints = measure_gaps(skeleton, found.take, found.weight)
    return replace(found, skeleton=replace(skeleton, joints=joints), gaps=gap, weights=weight)


def repair_slips_inside(estimate: Estimate, options: FitOptions, refused: Sequence[Change] = ()) -> Decision:
    """The stage of slips, but at the borders of stretches, where none is ever kept: trying it takes half of a solve."""
    from ..estimate.proof import lies_at_border
    from ..faults.slips import SlipRepair, repair_slips, search_once

    take = estimate.take
    found = search_once(take, estimate.solution, take.names.index(WORLD) if options.world else None)
    hopeless = [SlipRepair((one,)) for one in found if lies_at_border(take, one.frame)]
    return repair_slips(estimate, options, [*refused, *hopeless], rounds=LIVE_REFINE_ROUNDS)


def _play_figure(take: Take, options: FitOptions, skeleton: Skeleton) -> Calibration:
    """The known figure with what the newest motion says of its sensors: one that moved since, one that is absent."""
    from ..motion.known import match_sensors, play_known
    from ..pipeline import PLAN_OF, prepare_take
    from ..result.assemble import Calibration

    matched = match_sensors(skeleton, take)
    plain = replace(options, world=False, belong=False)
    ready, changes, findings, _ = prepare_take(matched.take, plain, PLAN_OF["default"])
    played = play_known(skeleton, ready, findings)
    return Calibration(played.skeleton, played.take, played.gap, played.weight, changes=tuple(changes))
