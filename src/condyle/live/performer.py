"""A person who is known from before: the tree and lengths of a profile, or the figure of a calibration as it is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import CondyleError
from ..model.options import FitOptions
from ..model.profile import Profile
from ..model.skeleton import Skeleton
from ..model.take import Take

if TYPE_CHECKING:
    from ..result.assemble import Calibration


@dataclass(frozen=True, eq=False)
class Performer:
    """What is known before the first frame: nothing, a profile (sensors were put on anew), or a skeleton (they sit
    where they sat at its calibration).
    """

    profile: Profile | None = None
    skeleton: Skeleton | None = None


def find_figure(take: Take, options: FitOptions, performer: Performer) -> Calibration:
    """The figure in a take, with what is known of the performer."""
    from ..motion.known import measure_gaps
    from ..pipeline import run
    from ..result.profile import apply_profile

    if performer.skeleton is not None:
        return _play_figure(take, options, performer.skeleton)
    if performer.profile is None:
        return run(take, options)
    found = run(take, replace(options, tree=performer.profile.edges))
    try:
        skeleton = apply_profile(found.skeleton, performer.profile)
    except CondyleError as error:
        if error.code != "no-lengths":
            raise
        return found  # too short for any length: the tree is the performer's, the joints are this motion's
    gap, weight, joints = measure_gaps(skeleton, found.take, found.weight)
    return replace(found, skeleton=replace(skeleton, joints=joints), gap=gap, weight=weight)


def _play_figure(take: Take, options: FitOptions, skeleton: Skeleton) -> Calibration:
    """The known figure with what the newest motion says of its sensors: one that moved since, one that is absent."""
    from ..motion.known import match_sensors, play_known
    from ..pipeline import PLAN_OF, prepare_take
    from ..result.assemble import Calibration

    matched = match_sensors(skeleton, take)
    plain = replace(options, world=False, belong=False)
    ready, changes, findings = prepare_take(matched.take, plain, PLAN_OF["default"])
    played = play_known(skeleton, ready, findings)
    return Calibration(played.skeleton, played.take, played.gap, played.weight, changes=tuple(changes))
