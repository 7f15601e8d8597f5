"""What to move next, one thing at a time, and when more of it brings little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..model.anatomy import JOINT_NAMES, find_segments
from ..model.skeleton import Skeleton
from ..report.facts import count_seconds
from ..report.titles import SIDE_WORDS
from ..result.coverage import TURNED_MIN_RAD, TWIST_MAX_RAD, WANTED_WIDTH_M, Coverage, JointCoverage, find_coverage
from ..result.verdict import verdict_of

PATIENCE_S = 20.0  # s after which another joint is asked for, if this one gained nothing
SKIN_FROM_S = 30.0  # s of motion from which the share of the interval that repeats with the motion is believed
GAIN_MIN_SHARE = 0.05  # of the way that counts as a gain
UNLOCATED_SHARE = 0.5  # of the way that a joint can be while its place is not determined
LIMB_MIN_M = 0.01  # m: a shorter limb does not tell where it points


@dataclass(frozen=True)
class Progress:
    """How far a joint is.

    share      in 0..1 of what is wanted
    done       it is known, or skin limits it and no time would do
    limit      what keeps it from being known (result.coverage.JointCoverage)
    axes       about how many it turned enough; turned: [rad] rms about its own axes, most first
    set_aside  it was asked for and gained nothing, so others are asked for
    """

    joint: str
    name: str
    share: float
    done: bool
    limit: str | None
    axes: int = 0
    turned: tuple[float, float, float] = (0.0, 0.0, 0.0)
    set_aside: bool = False

    @property
    def is_open(self) -> bool:
        """Whether it may be asked for."""
        return not (self.done or self.set_aside)


@dataclass(frozen=True)
class Prompt:
    """One thing to do: the joint it is for (None: nothing more), a sentence, and the direction in the child's frame
    about which the joint is to be turned; None where any will do.
    """

    joint: str | None
    text: str
    about: tuple[float, float, float] | None = None


@dataclass(eq=False)
class Coach:
    """Chooses what to ask for, and stays with it while it helps."""

    width: float = WANTED_WIDTH_M
    _set_aside: set[str] = field(default_factory=set)  # joints that gained nothing while they were asked for
    _turned: set[str] = field(default_factory=set)  # joints that turned enough about an axis at some time
    _joint: str | None = None
    _best: float = 0.0
    _since: float = 0.0

    def advise(self, skeleton: Skeleton, now: float) -> tuple[Prompt, tuple[Progress, ...]]:
        """What to do as of a session time [s], and how far every joint is."""
        coverage = find_coverage(skeleton, self.width)
        progress = tuple(self._progress(one, skeleton) for one in coverage.joints)
        if not progress:
            return Prompt(None, "move every joint, one after the other, as far as it goes"), ()
        current = next((one for one in progress if one.joint == self._joint and one.is_open), None)
        if current is not None and current.share >= self._best + GAIN_MIN_SHARE:
            self._best, self._since = current.share, now
        if current is not None and now - self._since > PATIENCE_S:
            self._set_aside.add(current.joint)
            progress = tuple(replace(one, set_aside=one.set_aside or one is current) for one in progress)
            current = None
        if current is None:
            current = self._choose(progress, now)
        if current is None:
            return Prompt(None, describe_end(skeleton, coverage, progress)), progress
        one = next(one for one in coverage.joints if one.joint == current.joint)
        turned = one.joint in self._turned or one.half is None
        advice = one.advice if turned else "turn it farther, about two axes"
        text = f"{current.name}: {100 * current.share:.0f} %, {advice or 'move it longer and wider'}"
        return Prompt(current.joint, text, find_axis(skeleton, current.joint, one.poor)), progress

    def _progress(self, one: JointCoverage, skeleton: Skeleton) -> Progress:
        if one.half is None:
            share = UNLOCATED_SHARE * min(one.turned[1] / TURNED_MIN_RAD, 1.0)
        else:
            share = min(UNLOCATED_SHARE + (1 - UNLOCATED_SHARE) * self.width / 2 / max(one.half, 1e-9), 1.0)
        if one.axes:
            self._turned.add(one.joint)
        limit = one.limit if one.joint in self._turned else "motion"  # it may turn farther, whatever its skin does
        skin = one.half is not None and limit == "skin" and count_seconds(skeleton) >= SKIN_FROM_S
        done = one.verdict == "enough" or skin
        aside = one.joint in self._set_aside and not done
        return Progress(one.joint, name_joint(one.joint, skeleton), share, done, limit, one.axes, one.turned, aside)

    def _choose(self, progress: tuple[Progress, ...], now: float) -> Progress | None:
        """The joint that is least far of those that are open."""
        chosen = min((one for one in progress if one.is_open), key=lambda one: one.share, default=None)
        self._joint, self._best, self._since = (chosen.joint, chosen.share, now) if chosen else (None, 0.0, now)
        return chosen


def name_joint(child: str, skeleton: Skeleton) -> str:
    """What people call the joint above a body: right hip; the body's name where that is not known."""
    segment = find_segments(skeleton.bodies, skeleton.edges).get(child)
    named = None if segment is None else JOINT_NAMES.get(segment.part)
    return child if segment is None or named is None else f"{SIDE_WORDS[segment.side]}{named}"


def find_axis(
    skeleton: Skeleton, child: str, poor: tuple[float, float, float] | None
) -> tuple[float, float, float] | None:
    """The direction in the child's frame about which a joint is to be turned, given the one about which it turned so
    far: any other tells where its centre lies along that. Along the limb where it was bent, across it where it was
    twisted; None where nothing tells where the limb points.
    """
    joint = next(one for one in skeleton.joints if one.child == child)
    ends = [other.p_parent_joint for other in skeleton.joints if other.parent == child]
    limb = np.mean(ends, axis=0) - joint.p_child_joint if ends else -joint.p_child_joint
    length = float(np.linalg.norm(limb))
    if length < LIMB_MIN_M:
        return None
    about = limb / length
    if poor is not None and abs(float(about @ poor)) > np.cos(TWIST_MAX_RAD):
        about = np.cross(about, np.eye(3)[int(np.abs(about).argmin())])
        about /= np.linalg.norm(about)
    return float(about[0]), float(about[1]), float(about[2])


def is_finished(skeleton: Skeleton, progress: Sequence[Progress]) -> bool:
    """Whether more of this motion brings little: the tree is sure, and every joint is known, or no time would do, or it
    gained nothing when it was asked for.
    """
    sure = bool(skeleton.joints) and not skeleton.loose and not verdict_of(skeleton).in_question
    return sure and not any(one.is_open for one in progress)


def describe_end(skeleton: Skeleton, coverage: Coverage, progress: Sequence[Progress]) -> str:
    """Why nothing more is asked for."""
    if verdict_of(skeleton).in_question:
        return "nothing more is asked for, but it is not sure which bodies are joined: move in other ways"
    left = [one.name for one in progress if one.set_aside]
    skin = sum(one.verdict != "enough" for one in coverage.joints) - len(left)
    if not skin and not left:
        return f"every joint is known to {1000 * coverage.wanted / 2:.0f} mm: that is enough"
    why = [f"skin limits {skin} of {len(progress)} joints, not time"] if skin else []
    why += [f"asked for and not gained: {', '.join(left)}"] if left else []
    return f"more of this motion brings little: {'; '.join(why)}"
