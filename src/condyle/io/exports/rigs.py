"""Names and rest poses of the rigs that animation programs, games and body models expect. docs/figures.md has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from ...errors import CondyleError, UsageError
from ...findings import Finding, many
from ...maths import rotation
from ...maths.arrays import Floats
from ...model.anatomy import Part, find_finger
from ...model.values import dataclass
from .figure import Figure, find_axis, find_world_turn, legalise

RIG_LETTERS = r"[\w.:-]"  # of names of bones; Mixamo's have a colon
_METACARPAL = re.compile(r"metacarp|in_?hand", re.IGNORECASE)  # of the palm: the rigs have one for the thumb alone
_COUNTED = ("1", "2", "3")
_PHALANGES = ("Proximal", "Intermediate", "Distal")


@dataclass(frozen=True)
class Fingers:
    """Names of fingers: `pattern` with {side}, {finger} and {joint}.

    words   of the five, thumb first
    joints  from the hand outwards; thumb: where the thumb's are called otherwise
    """

    pattern: str
    words: tuple[str, str, str, str, str]
    joints: tuple[str, ...] = _COUNTED
    thumb: tuple[str, ...] = ()

    def name(self, finger: int, joint: int, side: str) -> str | None:
        joints = self.thumb if self.thumb and finger == 0 else self.joints
        if joint >= len(joints):
            return None
        return self.pattern.format(side=side, finger=self.words[finger], joint=joints[joint])


@dataclass(frozen=True)
class Rig:
    """What one program calls the bones of a person, and the pose they rest in.

    sides          what {side} is on the left and on the right
    trunk          from the pelvis, which is none of it, to the chest
    parts          the others, towards the end of the limb where a part has several
    lone_chest     which of the trunk's names a chest takes that has no spine below
    required       that the program does not do without
    arms_down_deg  [deg] by which the arms hang at rest, from straight out
    legs_out_deg   [deg] by which the legs are spread at rest, from straight down
    """

    title: str
    sides: tuple[str, str]
    trunk: tuple[str, ...]
    parts: Mapping[Part, tuple[str, ...]]
    fingers: Fingers | None = None
    required: tuple[str, ...] = ()
    lone_chest: int = 0
    arms_down_deg: float = 0.0
    legs_out_deg: float = 0.0
    needed: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        both = (name.format(side=side) for name in self.required for side in self.sides)
        object.__setattr__(self, "needed", frozenset(both))


_LIMBS: tuple[Part, ...] = ("clavicle", "upper_arm", "forearm", "hand", "thigh", "shank", "foot", "toe")
_MIDDLE: tuple[Part, ...] = ("pelvis", "neck", "head")


def _name_parts(middle: Sequence[str], limbs: str, pattern: str = "{side}%s") -> dict[Part, tuple[str, ...]]:
    """Names by part: pelvis, neck (two with a + between) and head, and the limbs, collar bones first."""
    found: dict[Part, tuple[str, ...]] = {
        part: tuple(name.split("+")) for part, name in zip(_MIDDLE, middle, strict=True)
    }
    return found | {part: (pattern % name,) for part, name in zip(_LIMBS, limbs.split(), strict=False)}


def _require(parts: Mapping[Part, tuple[str, ...]], spine: str) -> tuple[str, ...]:
    """The fifteen bones that HumanIK, VRM 1.0 and Unity ask for."""
    optional = ("neck", "clavicle", "toe")
    return (spine, *(names[0] for part, names in parts.items() if part not in optional))


_HUMAN_IK = "Shoulder Arm ForeArm Hand UpLeg Leg Foot ToeBase"
_UNITY = "Shoulder UpperArm LowerArm Hand UpperLeg LowerLeg Foot Toes"
_CAPS = "SHOULDER UPPER_ARM LOWER_ARM HAND UPPER_LEG LOWER_LEG FOOT"
_SMPL = "Collar Shoulder Elbow Wrist Hip Knee Ankle Foot"
_WORDS = ("Thumb", "Index", "Middle", "Ring", "Little")
_PINKY = (*_WORDS[:4], "Pinky")
_HIK_PARTS = _name_parts(("Hips", "Neck", "Head"), _HUMAN_IK)
_VRM_PARTS = _name_parts(("hips", "neck", "head"), _UNITY)
_UNITY_PARTS = _name_parts(("Hips", "Neck", "Head"), _UNITY)
_SMPL_PARTS = _name_parts(("Pelvis", "Neck", "Head"), _SMPL, "{side}_%s")
_SPINES = ("Spine1", "Spine2", "Spine3")
_MIXAMO_PARTS = {part: tuple(f"mixamorig:{name}" for name in names) for part, names in _HIK_PARTS.items()}
RIGS: dict[str, Rig] = {
    "mixamo": Rig(
        "Mixamo",
        ("Left", "Right"),
        ("mixamorig:Spine", "mixamorig:Spine1", "mixamorig:Spine2"),
        _MIXAMO_PARTS,
        Fingers("mixamorig:{side}Hand{finger}{joint}", _PINKY),
    ),
    "humanik": Rig(
        "HumanIK",
        ("Left", "Right"),
        ("Spine", *(f"Spine{number}" for number in range(1, 10))),
        _HIK_PARTS,
        Fingers("{side}Hand{finger}{joint}", _PINKY),
        _require(_HIK_PARTS, "Spine"),
    ),
    "vrm": Rig(
        "VRM",
        ("left", "right"),
        ("spine", "chest", "upperChest"),
        _VRM_PARTS,
        Fingers("{side}{finger}{joint}", _WORDS, _PHALANGES, ("Metacarpal", "Proximal", "Distal")),
        _require(_VRM_PARTS, "spine"),
    ),
    "unreal": Rig(
        "Unreal",
        ("l", "r"),
        tuple(f"spine_{number:02d}" for number in range(1, 6)),
        _name_parts(
            ("pelvis", "neck_01+neck_02", "head"),
            "clavicle upperarm lowerarm hand thigh calf foot ball",
            "%s_{side}",
        ),
        Fingers("{finger}_{joint}_{side}", ("thumb", "index", "middle", "ring", "pinky"), ("01", "02", "03")),
        arms_down_deg=45.0,
    ),
    "unity": Rig(
        "Unity",
        ("Left", "Right"),
        ("Spine", "Chest", "UpperChest"),
        _UNITY_PARTS,
        Fingers("{side}{finger}{joint}", _WORDS, _PHALANGES),
        _require(_UNITY_PARTS, "Spine"),
    ),
    "smpl": Rig(
        "SMPL",
        ("L", "R"),
        _SPINES,
        _SMPL_PARTS,
        required=(*_SPINES, *(names[0] for names in _SMPL_PARTS.values())),
    ),
    "cmu": Rig(
        "CMU",
        ("l", "r"),
        ("lowerback", "upperback", "thorax"),
        _name_parts(("root", "lowerneck+upperneck", "head"), "clavicle humerus radius wrist femur tibia foot toes"),
        legs_out_deg=20.0,
    ),
    "slimevr": Rig(
        "SlimeVR",
        ("LEFT", "RIGHT"),
        ("WAIST", "CHEST", "UPPER_CHEST"),
        _name_parts(("HIP", "NECK", "HEAD"), _CAPS, "{side}_%s"),
        Fingers(
            "{side}_{finger}_{joint}",
            ("THUMB", "INDEX", "MIDDLE", "RING", "LITTLE"),
            ("PROXIMAL", "INTERMEDIATE", "DISTAL"),
            ("METACARPAL", "PROXIMAL", "DISTAL"),
        ),
        lone_chest=1,  # trackers are called by where they are worn
    ),
}


def name_rig(figure: Figure, rig: Rig) -> Figure:
    """The figure with the rig's names for its people; bones that the rig has not keep theirs. Raises without a person.

    Joints keep their names: they are the anatomy's whatever the bones are called.
    """
    if not figure.people:
        raise UsageError(
            f"{rig.title} names the bones of a person, and no names such as pelvis, chest and thigh tell one here; "
            "rename the bodies, or take --names bodies",
            code="bad-option",
        )
    names, findings = list(figure.names), list(figure.findings)
    given: set[int] = set()
    for number, bones in enumerate(figure.people, 1):
        found = find_rig_names(figure, bones, rig)
        before = f"p{number}_" if number > 1 else ""
        for k, name in found.items():
            names[k] = before + name
        given |= found.keys()
        findings += _compare_with_rig(figure, bones, found, rig)
    order = sorted(range(len(names)), key=lambda k: k not in given)  # another of the same name gets a number, not these
    unique = dict(zip(order, legalise([names[k] for k in order], RIG_LETTERS), strict=True))
    return replace(figure, names=tuple(unique[k] for k in range(len(names))), findings=tuple(findings))


def find_one_person(figure: Figure, what: str, way: str = "", *, code: str) -> list[int]:
    """The bones of the only person; raises where there is none, or several, with what is of one and the way out."""
    if len(figure.people) != 1:
        who = f"{len(figure.people)} people" if figure.people else "none whom names such as pelvis and thigh tell"
        raise CondyleError(f"{what} of one person, and the figure has {who}{way}", code=code)
    return figure.people[0]


def find_rig_names(figure: Figure, bones: Sequence[int], rig: Rig) -> dict[int, str]:
    """{bone: its name in the rig} of one person's bones, each name once."""
    found = _name_trunk(figure, bones, rig)
    for part, names in rig.parts.items():
        for side, word in zip("lr", rig.sides, strict=True) if part in _LIMBS else (("", ""),):
            for name, k in zip(names, _order_bones(figure, bones, (part,), side), strict=False):
                found[k] = name.format(side=word)
    return found | _name_fingers(figure, bones, rig)


def _name_trunk(figure: Figure, bones: Sequence[int], rig: Rig) -> dict[int, str]:
    """Names of the bones between pelvis and neck.

    From the pelvis upwards, so that one bone is what programs look for first. Where there are more bones than names,
    the uppermost has the last one, since arms and neck hang on it.
    """
    trunk = _order_bones(figure, bones, ("spine", "chest"), "")
    first = rig.lone_chest if trunk and figure.parts[trunk[0]] == "chest" else 0
    names = rig.trunk[first:] if len(trunk) <= len(rig.trunk) - first else rig.trunk
    if len(trunk) > len(names):
        trunk = [*trunk[: len(names) - 1], trunk[-1]]
    return dict(zip(trunk, names, strict=False))


def _order_bones(figure: Figure, bones: Sequence[int], parts: Sequence[Part], side: str) -> list[int]:
    """The bones of some parts, part by part and outwards; of those that are equally far out the first."""
    depth = {-1: 0}
    for k in bones:
        depth[k] = depth[int(figure.parent[k])] + 1
    found: dict[tuple[int, int], int] = {}
    for number, part in enumerate(parts):
        for k in bones:
            if figure.parts[k] == part and figure.sides[k] == side:
                found.setdefault((number, depth[k]), k)
    return [found[key] for key in sorted(found)]


def _name_fingers(figure: Figure, bones: Sequence[int], rig: Rig) -> dict[int, str]:
    """Names of bodies beyond a hand whose own names tell a finger, counted from the hand outwards."""
    found: dict[int, str] = {}
    if rig.fingers is None:
        return found
    place: dict[int, tuple[int, int, str]] = {}  # finger, how many of it so far, side
    taken: set[str] = set()
    for k in bones:
        up, finger = int(figure.parent[k]), find_finger(figure.bodies[k])
        if finger is None or figure.parts[k] or up < 0:
            continue
        if figure.parts[up] == "hand":
            count, side = 0, figure.sides[up]
        elif up in place and place[up][0] == finger:
            count, side = place[up][1:]
        else:
            continue
        palm = finger > 0 and _METACARPAL.search(figure.bodies[k]) is not None
        name = None if palm else rig.fingers.name(finger, count, rig.sides["lr".index(side)])
        place[k] = finger, count if palm else count + 1, side
        if name is not None and name not in taken:
            taken.add(name)
            found[k] = name
    return found


def _compare_with_rig(figure: Figure, bones: Sequence[int], found: Mapping[int, str], rig: Rig) -> list[Finding]:
    """What the rig requires and nobody wore, and what was worn and the rig has not."""
    told = []
    missing = sorted(rig.needed - set(found.values()))
    if missing:
        text = (
            f"{rig.title} requires {many(len(missing), 'bone')} that no sensor was worn on: {', '.join(missing)}; the "
            "figure is without"
        )
        told.append(Finding("rig-bones-missing", "warning", text, count=len(missing)))
    own = [k for k in bones if k not in found]
    if own:
        text = (
            f"{rig.title} has no name for {many(len(own), 'bone')}, which kept "
            f"{'its own' if len(own) == 1 else 'their own'}: {', '.join(figure.names[k] for k in own)}"
        )
        told.append(Finding("rig-bones-extra", "info", text, tuple(figure.bodies[k] for k in own), count=len(own)))
    return told


def pose_rig(figure: Figure, rig: Rig) -> Figure:
    """The figure in the rig's rest pose: arms and legs turned in the frontal plane. No bone's motion changes.

    Joints that cannot turn so, hinges and rigid ones, keep the rest pose they have. People stand on the floor as ever.
    """
    turns: dict[str, float] = {"upper_arm": -rig.arms_down_deg, "thigh": rig.legs_out_deg}
    forward = find_world_turn("z", figure.up) @ find_axis("-y")
    R_world, rest = figure.rest[0], figure.R_parent_bone_rest.copy()
    turned = set[int]()
    for k, up in enumerate(figure.parent.tolist()):
        part = figure.parts[k]
        angle = np.radians(turns.get(part, 0.0)) * (1 if figure.sides[k] == "l" else -1)
        if angle and up >= 0 and figure.kind[k] == "ball" and figure.parts[up] != part:
            rest[k] = R_world[up].T @ rotation.from_vector(angle * forward) @ R_world[k]
            turned.add(int(figure.root[k]))
    if not turned:
        return figure
    posed = replace(figure, R_parent_bone_rest=rest)
    offsets = figure.p_parent_bone.copy()
    lift = _find_lowest(figure) - _find_lowest(posed)
    legs = {int(figure.root[k]) for k, part in enumerate(figure.parts) if part == "shank"}
    for k in turned & legs:
        offsets[k] += find_axis(figure.up) * lift[k]
    return replace(posed, p_parent_bone=offsets)


def _find_lowest(figure: Figure) -> Floats:
    """(b,) [m] height of the lowest point at rest of the tree that each bone is of."""
    R, p = figure.rest
    up = find_axis(figure.up)
    low = np.minimum(p @ up, (p + (R @ figure.tip[..., None])[..., 0]) @ up)
    return np.array([low[figure.root == root].min() for root in figure.root.tolist()])
