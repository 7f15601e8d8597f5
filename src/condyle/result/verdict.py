"""The verdict on a fit: which joints are sure, which are in question, how well lengths are known. Only this file judges
a fit as a whole; terminal, page, JSON, coverage and exit status read what it says.
"""

from __future__ import annotations

from dataclasses import replace

from ..findings import count_causes, list_some, many, worst_severity
from ..model.skeleton import SURE_SUPPORT, Limb, Question, Skeleton, Tone, Verdict
from ..model.take import WORLD

WIDE_LENGTH_SHARE = 0.2  # of itself: half-width of a length's interval from which on a fit is not good
SHORT_LENGTH_SHARE = 0.1  # of the usual length, as which shorter ones count
LEAST_TOLD_SHARE = 1e-4  # of a length: half-width below which it is not told, of recordings without noise
MOST_QUESTIONS = 3  # joints in question that the sentence names


def add_verdict(skeleton: Skeleton) -> Skeleton:
    """The skeleton with its verdict."""
    joints = skeleton.joints
    asked = tuple(
        Question((joint.parent, joint.child), joint.rivals)
        for joint in joints
        if joint.support is not None and joint.support < SURE_SUPPORT
    )
    sure = sum(joint.support is not None for joint in joints) - len(asked)
    wide = max((share for _, share in _half_shares(skeleton)), default=None)
    found = Verdict(sure, len(joints), asked, wide, _tone(skeleton, sure, wide), "")
    return replace(skeleton, verdict=replace(found, text=_describe(skeleton, found)))


def verdict_of(skeleton: Skeleton) -> Verdict:
    """Its verdict; files of older versions have none yet."""
    verdict = skeleton.verdict or add_verdict(skeleton).verdict
    assert verdict is not None
    return verdict


def _half_shares(skeleton: Skeleton) -> list[tuple[Limb, float]]:
    """Each length that has an interval with the half-width of that as a share of it. Two joints at one point have no
    length to speak of, so it counts as a tenth of the usual one at least.
    """
    lengths = sorted(limb.length for limb in skeleton.limbs if limb.length is not None)
    found = []
    for limb in skeleton.limbs:
        if limb.length is not None and limb.low is not None and limb.high is not None:
            size = max(limb.length, SHORT_LENGTH_SHARE * lengths[len(lengths) // 2])
            found.append((limb, (limb.high - limb.low) / 2 / size if size > 0 else 0.0))
    return found


def _open_lengths(skeleton: Skeleton) -> int:
    """How many lengths are not determined; to a joint that does not turn there is none."""
    stiff = {joint.child for joint in skeleton.joints if joint.kind == "rigid"}
    return sum(limb.length is None and not stiff & {limb.from_joint, limb.to_joint} for limb in skeleton.limbs)


def _tone(skeleton: Skeleton, sure: int, wide: float | None) -> Tone:
    worst = worst_severity(skeleton.findings)
    if not skeleton.joints or worst == "error":
        return "bad"
    if "calibration" in skeleton.take:  # the figure was judged at its calibration
        return "look" if worst == "warning" else "good"
    narrow = (wide is None or wide <= WIDE_LENGTH_SHARE) and not _open_lengths(skeleton)
    return "good" if worst != "warning" and sure == len(skeleton.joints) and narrow else "look"


def _describe(skeleton: Skeleton, found: Verdict) -> str:
    """Short sentences: what was found and how sure, how well lengths are known, whether there is more to look at."""
    causes = count_causes(skeleton.findings)
    look = f"{many(causes, 'thing')} to look at." if causes else "Nothing to look at."
    played = "calibration" in skeleton.take
    if not found.joints:
        what = "The calibration told no joint to play this take on; record it again, moving every joint."
        return what if played else f"No joint can be told from this motion. {look}"
    if played:
        worn, bodies = len(skeleton.take.get("sensors", ())), len(skeleton.bodies)
        return (
            f"Played on a known figure of {many(found.joints, 'joint')} with {worn} of {many(bodies, 'sensor')}. {look}"
        )
    sliding = {name for joint in skeleton.loops if joint.kind == "slider" for name in (joint.child, joint.parent)}
    figures = len(skeleton.roots)
    loose = sum(name != WORLD and name not in sliding for name in skeleton.loose)
    known = any(joint.support is not None for joint in skeleton.joints)
    text = (
        f"Found: {found.sure} of {many(found.joints, 'joint')} sure"
        if known
        else f"Found: {many(found.joints, 'joint')}"
    )
    text += f" in {figures} figures" if figures > 1 else ""
    text += f", {loose} loose" if loose else ""
    sliders = sum(joint.kind == "slider" for joint in skeleton.loops)
    text += f", {many(sliders, 'slider')}" if sliders else ""
    if found.in_question:
        named = [_describe_question(one) for one in found.in_question]
        text += f"; in question: {list_some(named, MOST_QUESTIONS)}"
    return " ".join([f"{text}.", *_describe_lengths(skeleton, found), look])


def _describe_question(question: Question) -> str:
    others = [" - ".join(pair) for pair in question.rivals] or ["not joined"]
    return " or ".join([" - ".join(question.edge), *others[:1]])


def describe_share(share: float) -> str:
    """A share of a length in percent, "2.5 %"."""
    return f"{100 * max(share, LEAST_TOLD_SHARE):.2g} %"


def _describe_lengths(skeleton: Skeleton, found: Verdict) -> list[str]:
    if not skeleton.limbs:
        return []
    told = []
    if found.length_95 is not None:
        worst = max(_half_shares(skeleton), key=lambda one: one[1])[0]
        within = f"within {describe_share(found.length_95)}" if found.length_95 < 1 else "not at all"
        wide = found.length_95 > WIDE_LENGTH_SHARE
        told.append(f"lengths known poorly, that of {worst.body} {within}" if wide else f"lengths known {within}")
    elif any(limb.length is not None for limb in skeleton.limbs):
        told.append("lengths without intervals")
    if open_lengths := _open_lengths(skeleton):
        told.append(f"{open_lengths} of {many(len(skeleton.limbs), 'length')} not determined")
    sentence = ", ".join(told)
    return [f"{sentence[0].upper()}{sentence[1:]}."] if told else []
