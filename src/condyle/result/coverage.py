"""Was there enough motion? Per joint the axes that were exercised, per limb what its interval needs.

An interval has two parts. One comes from noise that changes from frame to frame, and averages out as more of the same
motion is recorded. The other comes from errors that repeat with the motion, skin or a bent field, and does not. How
large the two are is estimated, so nothing here promises that an interval gets smaller.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ..errors import UsageError
from ..findings import mm
from ..maths.arrays import Floats
from ..model.limbs import limb_geometry
from ..model.skeleton import ONE_AXIS, Joint, Limb, Skeleton
from ..model.values import dataclass

NEEDED_TURN_DEG = 5.0  # deg: rms rotation from which on an axis counts as exercised
TURNED_MIN_RAD = np.radians(NEEDED_TURN_DEG)
WANTED_WIDTH_M = 0.01  # m: wanted width of a length's interval, where nobody says another
RECORDING_MAX_S = 3600.0  # s: more than that is not recorded for a length
MORE_TRIED_S = (10.0, 20.0, 30.0, 60.0)  # s of further motion, of which the least that helps is advised
RECORDING_MIN_S = 5.0  # s: a joint is not turned about an axis of its own in less
POOR_MIN_RATIO = (
    2.0  # standard deviation along one direction over those across it, from which that direction is the poor one
)
FADING_MIN_SHARE = 0.5  # of the variance that must fade with time, for more of the same motion to be advised
TWIST_MAX_RAD, BEND_MIN_RAD = np.radians(35.0), np.radians(55.0)  # angle to the limb: a twist, a bend
Sufficiency = Literal["enough", "weak", "not determined"]
Limit = Literal["motion", "noise", "skin"]


@dataclass(frozen=True)
class JointCoverage:
    """How a joint was exercised.

    joint    named by its child
    axes     about how many axes it turned by TURNED rms or more
    turned   [rad] rms rotation about its own axes, most first
    half     [m] half-width of the 95 % interval of its centre, in the direction in which it is worst; None: not known
    poor     (3,) [-] that direction in the child's frame where it stands out: the axis about which the joint turned
             while it did not turn enough about any other; None where none stands out
    limit    what keeps the interval as wide as it is: too little motion, noise that fades as more is recorded, or an
             error that repeats with the motion, as of skin; None where nothing tells
    advice   what to do about it; "" where it is enough
    text     a sentence
    """

    joint: str
    axes: int
    turned: tuple[float, float, float]
    half: float | None
    poor: tuple[float, float, float] | None
    verdict: Sufficiency
    limit: Limit | None
    advice: str
    text: str


@dataclass(frozen=True)
class LimbCoverage:
    """What the interval of a length needs.

    width    [m] of the 95 % interval; None: not determined
    seconds  [s] more of the same motion that the wanted width needs, as far as it is noise; 0: none; None: no time does
    wider    [s] the same if the joint `of` turned about its second axis as far as about its first; None where that
             is not what the length needs
    """

    body: str
    from_joint: str
    to_joint: str
    width: float | None
    seconds: float | None
    wider: float | None
    of: str | None
    verdict: Sufficiency
    text: str


@dataclass(frozen=True)
class Coverage:
    """Joints and limbs of a skeleton, judged by a wanted width [m] of a length's interval."""

    wanted: float
    joints: tuple[JointCoverage, ...]
    limbs: tuple[LimbCoverage, ...]

    @property
    def verdict(self) -> Sufficiency:
        """The worst of all."""
        verdicts = [one.verdict for one in self.joints] + [one.verdict for one in self.limbs]
        order: tuple[Sufficiency, ...] = ("not determined", "weak", "enough")
        return next((verdict for verdict in order if verdict in verdicts), "not determined")

    def __str__(self) -> str:
        short = [one for one in self.limbs if one.verdict != "enough"]
        if not self.limbs:
            return "there is no length between two joints to be known"
        if not short:
            return f"enough motion: every length is known within an interval of {mm(self.wanted)} mm"
        return f"{len(short)} of {len(self.limbs)} lengths need more motion for an interval of {mm(self.wanted)} mm"


def find_coverage(skeleton: Skeleton, width: float = WANTED_WIDTH_M) -> Coverage:
    """Which joints were moved enough, and what every length's interval needs to come under `width` [m]."""
    if not (0 < width < np.inf):
        raise UsageError(f"a width of {width:g} m is not above zero", code="bad-call")
    by_child = {joint.child: joint for joint in skeleton.joints}
    seconds = float(skeleton.take.get("seconds") or 0.0)
    return Coverage(
        width,
        tuple(_joint(joint, skeleton.joints, width) for joint in skeleton.joints),
        tuple(_limb(limb, by_child, seconds, width) for limb in skeleton.limbs if limb.to_joint in by_child),
    )


def foresee_half(joint: Joint, seconds: float) -> tuple[float, float] | None:
    """(seconds of further motion, half-width [m] of the centre's interval after it) if the joint is then turned about
    its second axis as far as about its first: the least that brings half of WANTED_WIDTH_M, else half of what it is
    now. None where a minute does not do it, or the error repeats with the motion.

    seconds  [s] recorded so far
    """
    half, passing = joint.half_width, joint.passing
    if half is None or passing is None or seconds <= 0 or _repeats(joint):
        return None
    most, second, least = np.square(joint.rotation)
    gain = float((most + least) / max(second + least, 1e-24))
    then = [half * float(np.sqrt(1 - passing + passing * seconds / (seconds + gain * t))) for t in MORE_TRIED_S]
    tried = list(zip(MORE_TRIED_S, then, strict=True))
    good = [one for one in tried if one[1] <= WANTED_WIDTH_M / 2] or [one for one in tried if one[1] <= half / 2]
    return good[0] if good else None


def _joint(joint: Joint, joints: Sequence[Joint], width: float) -> JointCoverage:
    turned = (float(joint.rotation[0]), float(joint.rotation[1]), float(joint.rotation[2]))
    axes = sum(angle >= TURNED_MIN_RAD for angle in turned)
    angles = f"{joint.child}: turned {', '.join(f'{np.degrees(angle):.0f}' for angle in turned)} deg rms about its axes"
    half, poor, advice = None, _poor(joint), ""
    verdict: Sufficiency = "not determined"
    if joint.kind == "rigid":
        advice = "move it"
        text = f"{joint.child}: does not turn against {joint.parent}; if it should, {advice}"
    elif joint.kind in ONE_AXIS and joint.point == "arbitrary":
        advice = _other_way(joint, joints)
        text = f"{angles}; its axis is known, the point along it is not; if it is no hinge, {advice}"
    elif joint.point == "arbitrary":
        advice = "turn it about two axes"
        text = f"{angles}, too little to locate it; {advice}"
    elif joint.half_width is None:
        text = f"{angles}; nothing tells how well it is known"
    else:
        half = joint.half_width
        verdict = "enough" if half <= width / 2 else "weak"
        text = f"{angles}; its centre is known to {mm(half)} mm"
        if verdict == "weak":
            advice = _advice(joint, joints, axes)
            text += f"; {advice}"
    named = None if poor is None else (float(poor[0]), float(poor[1]), float(poor[2]))
    return JointCoverage(joint.child, axes, turned, half, named, verdict, _limit(joint, axes), advice, text)


def _limit(joint: Joint, axes: int) -> Limit | None:
    if joint.point == "arbitrary" or joint.kind == "rigid":
        return "motion"
    if joint.passing is None:
        return None
    if _repeats(joint):
        return "skin"
    return "motion" if axes < 2 or _poor(joint) is not None else "noise"


def _repeats(joint: Joint) -> bool:
    """Whether more of the same motion brings little."""
    return joint.passing is not None and joint.passing < FADING_MIN_SHARE


def _poor(joint: Joint) -> Floats | None:
    """Unit direction (3,) in the child along which the centre is known much worse than across; None: there is none."""
    if joint.axis_child is not None:
        return joint.axis_child
    if joint.covariance is None or joint.point == "arbitrary":
        return None
    value, vector = np.linalg.eigh(joint.covariance[:3, :3])
    return np.asarray(vector[:, 2]) if value[2] > POOR_MIN_RATIO**2 * max(value[1], 0.0) else None


def _advice(joint: Joint, joints: Sequence[Joint], axes: int) -> str:
    if _repeats(joint):
        return "the error repeats with the motion: move it in other ways, and fix its sensors harder"
    return _other_way(joint, joints) if axes < 2 or _poor(joint) is not None else "move it longer or wider"


def _other_way(joint: Joint, joints: Sequence[Joint]) -> str:
    """The motion that locates a joint along the axis about which it turned most: a turn about any other."""
    poor = _poor(joint)
    own = [other.p_parent_joint for other in joints if other.parent == joint.child]
    if poor is None or not own:  # nothing tells where the limb points
        return "turn it about a second axis as well"
    limb = np.mean(own, axis=0) - joint.p_child_joint
    angle = np.arccos(min(abs(float(poor @ limb)) / max(float(np.linalg.norm(limb)), 1e-12), 1.0))
    if angle < TWIST_MAX_RAD:
        return "it was twisted along its limb: bend it as well"
    if angle > BEND_MIN_RAD:
        return "it was bent about one axis: twist it along its limb, or bend it the other way as well"
    return "turn it about a second axis as well"


def _limb(limb: Limb, joints: dict[str, Joint], seconds: float, wanted: float) -> LimbCoverage:
    ends = [joints[name] for name in (limb.from_joint, limb.to_joint) if name in joints]
    name = f"{limb.body}, {limb.from_joint} to {limb.to_joint}"
    if limb.length is None or limb.low is None or limb.high is None:
        open_ = [joint.child for joint in ends if joint.point == "arbitrary" or joint.kind in ("rigid", "undetermined")]
        why = f"turn {' and '.join(open_)} about two axes" if open_ else "the take is too short to tell"
        text = f"{name}: not determined; {why}"
        return LimbCoverage(limb.body, limb.from_joint, limb.to_joint, None, None, None, None, "not determined", text)
    width = limb.high - limb.low
    verdict: Sufficiency = "enough" if width <= wanted else "weak"
    more = _more(width, limb.passing, seconds, wanted)
    if more is not None and more > RECORDING_MAX_S:
        more = None
    said = f"{name}: {mm(limb.length)} mm in an interval of {mm(width)} mm"
    of, wider = None, None
    if verdict == "enough":
        text = said
    elif more is None:
        least = max(width * float(np.sqrt(max(1 - (limb.passing or 0.0), 0.0))), wanted)
        text = (
            f"{said}; more of the same motion would not bring it below {mm(least)} mm, for the error repeats with the "
            "motion; move in other ways and at other places, and fix the sensors harder"
        )
    else:
        time = f"{max(more, 1.0):.0f} s"
        text = f"{said}; as far as that is noise, {mm(wanted)} mm need about {time} more of the same motion"
        of, share = _weakest(limb, ends)
        if of is not None and share > 0.5:
            most, second, least = np.square(joints[of].rotation)
            gain = float((most + least) / max(second + least, 1e-24))  # turns about the others tell along the first
            wider = max(_wider(width, limb.passing or 0.0, seconds, wanted, share, gain, more), RECORDING_MIN_S)
            if wider < 0.7 * more:
                text += f", or {wider:.0f} s that turn {of} about a second axis as far as about its first"
    return LimbCoverage(limb.body, limb.from_joint, limb.to_joint, width, more, wider, of, verdict, text)


def _weakest(limb: Limb, ends: list[Joint]) -> tuple[str | None, float]:
    """The joint whose one poorly known direction costs the length most, and the share of its variance that it costs."""
    shape = limb_geometry(ends[0], ends[1], limb.body) if len(ends) == 2 else None
    if shape is None:
        return None, 0.0
    most, name, total = 0.0, None, 0.0
    for joint in ends:
        if joint.covariance is None:
            return None, 0.0
        half = slice(0, 3) if joint.child == limb.body else slice(3, 6)
        value, vector = np.linalg.eigh(joint.covariance[half, half])
        parts = value * (vector.T @ shape[1]) ** 2
        total += float(parts.sum())
        if parts[-1] > most:
            most, name = float(parts[-1]), joint.child
    return name, most / total if total > 0 else 0.0


def _wider(
    width: float, passing: float, seconds: float, wanted: float, share: float, gain: float, more: float
) -> float:
    """The same as `_more` where each second counts `gain` times for a `share` of the passing variance."""
    low, high = 0.0, more
    for _ in range(60):
        middle = 0.5 * (low + high)
        fades = (1 - share) * seconds / (seconds + middle) + share * seconds / (seconds + gain * middle)
        if width**2 * (1 - passing + passing * fades) > wanted**2:
            low = middle
        else:
            high = middle
    return high


def _more(width: float, passing: float | None, seconds: float, wanted: float) -> float | None:
    """Seconds to add so that width^2 (1 - passing + passing T / T') is wanted^2; None where no time does it."""
    if width <= wanted:
        return 0.0
    share = 0.0 if passing is None else min(max(passing, 0.0), 1.0)
    left = (wanted / width) ** 2 - (1 - share)
    return seconds * share / left - seconds if left > 0 else None
