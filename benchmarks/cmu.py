"""Natural motion with an exact skeleton, and recordings of real people and linkages.

Virtual sensors sit on 15 bones of motion-capture clips (CMU), so the answers are known: whether every edge is right,
how far thigh and shank lengths are off, and whether the intervals hold. The clips and recordings are not part of the
project; they are looked for beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

import condyle
from condyle import Finding, Joint, Skeleton
from condyle.model.limbs import is_open, limb_geometry
from condyle.model.take import Take
from condyle.simulate import Truth, World, disturb, mount
from condyle.simulate.figures import SimulatedFigure

from .bound import noise
from .harness import Table, arguments, doubts, edges, names_wrong_edge, percent, progress, publish, rms

LEGS = [  # body and its two neighbours
    (side + bone, frozenset((near if near == "Hips" else side + near, side + far)))
    for side in ("Left", "Right")
    for bone, near, far in (("UpLeg", "Hips", "Leg"), ("Leg", "UpLeg", "Foot"))
]


def recordings():
    """The loaders that the tests use; None where the recordings are not beside the project."""
    from tests.make import recordings

    return recordings if recordings.DATA.is_dir() else None


def clip(name: str, seed: int) -> World:
    """Noisy sensors on the bones of a clip, its first frame (a pose for calibration) left out."""
    source = recordings()
    facts = source.truth("cmu_bvh/*")
    bones = facts["bones"]
    whole = source.take(f"cmu_bvh/{name}").select(bones).slice(1)
    up = {child: bones.index(parent) for parent, child in facts["joints"]}
    parent = np.array([up.get(bone, -1) for bone in bones])
    R, p = whole.R_world_body, whole.p_world_body
    # Between Hips, Spine1, Head and arms lie bones without a sensor: the joint is where its child mostly is.
    apart = p - p[:, parent]
    joint = np.einsum("nkji,nkj->nki", R[:, parent], apart).mean(axis=0) * (parent >= 0)[:, None]
    rng = np.random.default_rng([seed, 11])
    truth = mount(bones, parent, R, p, joint, rng, whole.time - whole.time[0])
    figure = SimulatedFigure(tuple(bones), parent, joint, ("ball",) * len(bones), np.full((len(bones), 3), np.nan))
    return World(*disturb(truth, noise(0.3, 0.5), seed), figure)


@dataclass
class Clip:
    """What came of one clip over its seeds."""

    frames: int = 0
    trials: int = 0
    right: int = 0
    paper_right: int = 0
    wrong_told: int = 0
    wrong_named: int = 0
    right_doubted: int = 0
    error: list[float] = field(default_factory=list)  # [m] leg lengths that the default tells
    paper_error: list[float] = field(default_factory=list)  # [m] the same legs by least squares on the right tree
    held: list[bool] = field(default_factory=list)
    half: list[float] = field(default_factory=list)
    wrong: list[tuple[int, list[list[str]]]] = field(default_factory=list)


def measure(name: str, seeds: Sequence[int]) -> Clip:
    found = Clip()
    for seed in seeds:
        world = clip(name, seed)
        truth = {frozenset(edge) for edge in world.truth.edges}
        tree = [(parent, child) for child, parent in world.truth.edges]
        found.frames, found.trials = world.take.frames, found.trials + 1
        paper = condyle.fit(world.take, plan="least-squares", intervals=False).skeleton
        found.paper_right += edges(paper) == truth
        plain = condyle.fit(world.take, plan="least-squares", tree=tree, intervals=False).skeleton
        calibration = condyle.fit(world.take)
        told = doubts(calibration)
        extra = edges(calibration.skeleton) - truth
        if edges(calibration.skeleton) == truth:
            found.right += 1
            found.right_doubted += any(not arms(finding) for finding in told)
        else:
            found.wrong.append((seed, sorted(sorted(edge) for edge in extra)))
            found.wrong_told += bool(told)
            found.wrong_named += names_wrong_edge(told, extra or truth - edges(calibration.skeleton))
        legs(calibration.skeleton, plain, world.truth, found)
    return found


def arms(finding: Finding) -> bool:
    """Whether a doubt is about elbow and wrist, which share a point in these clips: there it is right to doubt."""
    return all(name.endswith(("Arm", "Hand")) for name in finding.bodies)


def legs(skeleton: Skeleton, plain: Skeleton, truth: Truth, found: Clip) -> None:
    """Adds the leg lengths that the skeleton tells, and the same by least squares.

    A knee that turns about one axis has no point along it: there the length ends at a point of the axis near the
    sensors, and the truth and least squares are measured to the same point of theirs.
    """
    parent = skeleton.parent
    for limb in skeleton.limbs:
        ends = frozenset(parent[end] if end == limb.body else end for end in (limb.from_joint, limb.to_joint))
        if (limb.body, ends) not in LEGS:
            continue
        if limb.length is None or limb.low is None or limb.high is None:
            continue
        own = [skeleton.joint(end) for end in (limb.from_joint, limb.to_joint)]
        exact = [true_joint(joint, truth) for joint in own]
        paper = [with_points(joint, plain) for joint in own]
        length = limb_geometry(*exact, limb.body)[0]
        found.error.append(limb.length - length)
        found.half.append((limb.high - limb.low) / 2)
        found.held.append(limb.low <= length <= limb.high)
        found.paper_error.append(limb_geometry(*paper, limb.body)[0] - length)


def true_joint(joint: Joint, truth: Truth) -> Joint:
    """The joint with its true points, and the true axis where it was told to be a hinge."""
    i, j = truth.names.index(joint.child), truth.names.index(joint.parent)
    down = bool(truth.parent[i] == j)  # the root that was chosen may be another than the truth's
    k = i if down else j
    points = (truth.p_child_joint[k], truth.p_parent_joint[k])
    turn = np.einsum("nij,nik->jk", truth.R_world_body[:, i], truth.R_world_body[:, j]) / len(truth.time)
    U, _, Vt = np.linalg.svd(turn)
    axes = {} if joint.axis_child is None else {"axis_child": U[:, 0], "axis_parent": Vt[0]}
    exact = replace(joint, p_child_joint=points[not down], p_parent_joint=points[down], **axes)
    return slide_to(exact, joint)


def slide_to(joint: Joint, given: Joint) -> Joint:
    """A joint that is open along its axis at the point of that axis where the given one is told, else as it is."""
    if not is_open(given) or joint.axis_child is None or joint.axis_parent is None:
        return joint
    along = float(joint.axis_child @ (given.p_child_joint - joint.p_child_joint))
    c, l = joint.p_child_joint + along * joint.axis_child, joint.p_parent_joint + along * joint.axis_parent
    return replace(joint, p_child_joint=c, p_parent_joint=l)


def with_points(joint: Joint, plain: Skeleton) -> Joint:
    """The joint with its points by another estimate of the same edge."""
    other = next(entry for entry in plain.joints if {entry.child, entry.parent} == {joint.child, joint.parent})
    points = (other.p_child_joint, other.p_parent_joint)
    same = other.child == joint.child
    return slide_to(replace(joint, p_child_joint=points[not same], p_parent_joint=points[same]), joint)


def real(source) -> list[list[str]]:
    """Real recordings: tree, kinds, the worst gap, and what is said."""
    rows = []
    names = {
        "linkage as arm": "diodem/arm/exp01",
        "linkage as leg": "diodem/gait/exp06",
        "functional hip, person": "vicon_functional_c3d/left_hip.c3d",
        "functional knee, person": "functional_knee_c3d/right_knee.c3d",
        "1.7 s of walk, person": "qualisys_c3d/walk.c3d",
    }
    for label, name in names.items():
        take: Take = source.take(name)
        truth = source.edges(name)
        paper = condyle.fit(take, plan="least-squares", intervals=False)
        calibration = condyle.fit(take)
        skeleton = calibration.skeleton
        found = edges(skeleton)
        rows.append(
            [
                label,
                f"{len(edges(paper.skeleton) & truth)} of {len(truth)}",
                f"{len(found & truth)} of {len(truth)}" + (f", {len(found - truth)} wrong" if found - truth else ""),
                kinds(skeleton, source.truth(name)["joints"]),
                f"{max((joint.residual for joint in skeleton.joints), default=np.nan) * 1000:.1f} mm",
                ", ".join(sorted({finding.code for finding in doubts(calibration)})) or "-",
            ]
        )
        progress(" | ".join(rows[-1]))
    return rows


def kinds(skeleton: Skeleton, joints: Sequence[Sequence[str]]) -> str:
    """How many of the joints of known kind came out as that kind."""
    known = {frozenset(joint[:2]): "ball" if joint[2] == "two-axis" else joint[2] for joint in joints if len(joint) > 2}
    if not known:
        return "-"
    right = sum(joint.kind == known.get(frozenset((joint.child, joint.parent))) for joint in skeleton.joints)
    return f"{right} of {len(known)}"


def main() -> None:
    given = arguments(__doc__, trials=3)
    source = recordings()
    if source is None:
        print("the recordings are not beside the project; nothing measured")
        return
    total, rows, data = Clip(), [], {}
    for path in sorted((source.DATA / "cmu_bvh").glob("*.bvh")):
        if given.only not in path.stem:
            continue
        found = measure(path.name, range(given.seed, given.seed + given.trials))
        rows.append(row(path.stem, found))
        data[path.stem] = vars(found)
        progress(" | ".join(rows[-1]))
        for name, value in vars(found).items():
            setattr(total, name, getattr(total, name) + value)
    rows.append(row("all", total))
    heads = ["clip", "frames", "spanning tree", "default", "wrong: in question", "every wrong edge named"]
    heads += [
        "right: an edge beyond the elbows in question",
        "legs told",
        "least squares, mm",
        "default, mm",
        "hold",
        "width over need",
    ]
    tables = {"Clips of natural motion": Table(heads, rows)}
    if not given.only:
        heads = ["recording", "edges, spanning tree", "edges, default", "kinds", "worst joint", "in question"]
        tables["Real recordings"] = Table(heads, real(source))
        data["real"] = tables["Real recordings"].rows
    how = (
        "Sensors with 3 mm and 0.5 deg of white noise on 15 bones of CMU clips, 120 Hz, nothing known. The trunk and "
        "the collar bones have joints between the sensors, so not every edge is one rotary joint; elbow and wrist "
        "share a point, so the edges among arm, forearm and hand tie and are rightly called doubtful. Leg lengths "
        "(thigh, shank; to one point of the knee's axis where it turns about one only): rms error where the default "
        "tells a length, and of least squares on the right tree for the same legs."
    )
    publish("cmu", "Natural motion and real recordings", how, tables, data, given)


def row(name: str, found: Clip) -> list[str]:
    wrong = found.trials - found.right
    return [
        name,
        str(found.frames),
        f"{found.paper_right} of {found.trials}",
        f"{found.right} of {found.trials}",
        f"{found.wrong_told} of {wrong}" if wrong else "-",
        f"{found.wrong_named} of {wrong}" if wrong else "-",
        f"{found.right_doubted} of {found.right}" if found.right else "-",
        f"{len(found.error)} of {len(LEGS) * found.trials}",
        f"{rms(found.paper_error) * 1000:.2f}" if found.error else "-",
        f"{rms(found.error) * 1000:.2f}" if found.error else "-",
        percent(float(np.mean(found.held))) if found.held else "-",
        f"{np.mean(found.half) / (1.96 * rms(found.error)):.2f}" if found.error else "-",
    ]


if __name__ == "__main__":
    main()
