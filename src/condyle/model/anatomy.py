"""Names of bodies to segments of a human: which part and side, checked against the tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from ..maths.arrays import Bools, Floats

Side = Literal["", "l", "r"]
Part = Literal[
    "pelvis", "spine", "chest", "neck", "head", "clavicle", "upper_arm", "forearm", "hand", "thigh", "shank", "foot",
    "toe",
]  # fmt: skip


class Segment(NamedTuple):
    """A part of the body and its side, "" for those in the middle."""

    part: Part
    side: Side = ""


# What programs and laboratories call them, without side, separators, digits and case; also German, French, Spanish and
# Italian, but for words that mean something else in another of them (main, pierna).
_WORDS: dict[Part, str] = {
    "pelvis": "pelvis pelv pel hip hips lowback lowerback sacrum sacral waist root rpv pelo becken bassin bacino",
    "spine": "spine abdomen abs ab lumbar l1 l2 l3 l4 l5 belly stomach midback midspine lowerspine midtrunk lowertrunk "
    "midtorso lowertorso",
    "chest": "chest thorax thrx tho sternum torso trunk upperback upback back ribcage ribs breast "
    "t1 t2 t3 t4 t5 t6 t7 t8 t9 t10 t11 t12 upperbody uppertorso uppertrunk upperthorax "
    "upperspine thoracic "
    "trx trxo rta rtx rumpf brustkorb tronc tronco torace",
    "neck": "neck lowerneck upperneck cervical c7",
    "head": "head skull hed hedo helmet hmd headset forehead kopf tete tête cabeza testa",
    "clavicle": "clavicle clav collar shoulder shldr scapula scap collarbone shoulderblade",
    "upper_arm": "upperarm uparm uarm humerus hum arm bicep biceps upperarmbone oberarm bras brazo braccio",
    "forearm": "forearm farm lowerarm lowarm larm radius rad ulna elbow forearmbone "
    "unterarm avantbras antebrazo avambraccio",
    "hand": "hand hnd wrist palm controller mano",
    "thigh": "thigh thi femur fem upperleg upleg uleg upperlegbone oberschenkel cuisse muslo coscia",
    "shank": "shank shk shin tibia tib calf leg lowerleg lowleg lleg crus knee unterschenkel",
    "foot": "foot ankle ft fut hindfoot rearfoot midfoot heel calcaneus calcn talus fuss fuß pied pie piede",
    "toe": "toe toes toebase ball forefoot hallux",
}
# Two letters after the side: RTH, RSK, RFT of Visual3D; LFE, LTI, LFO of Plug-in Gait, whose origins are LFEO, LTIO.
_CODES: dict[str, Part] = {
    "th": "thigh", "fe": "thigh", "sk": "shank", "ti": "shank", "ft": "foot", "fo": "foot", "to": "toe",
    "cl": "clavicle", "ar": "upper_arm", "hu": "upper_arm", "fa": "forearm", "ra": "forearm", "ha": "hand",
    "hn": "hand",
}  # fmt: skip
_PART: dict[str, Part] = {word: part for part, words in _WORDS.items() for word in words.split()}
_MIDDLE = ("pelvis", "spine", "chest", "neck", "head")
_TRUNK = ("spine", "chest")
ABOVE_CHEST: tuple[Part, ...] = ("upper_arm", "clavicle", "neck", "head")
_SIDES: dict[str, Side] = {
    **dict.fromkeys(("l", "left", "lt", "links", "li", "gauche", "izq", "izquierda", "sx", "sinistra"), "l"),
    **dict.fromkeys(("r", "right", "rt", "rgt", "rechts", "re", "droit", "droite", "derecha", "dx", "destra"), "r"),
}
# Names of joints: the sensor may be on either side. A leg is its lower part to some, all of it to others.
_EITHER = {"shoulder", "shldr", "elbow", "wrist", "knee", "ankle", "leg"}
# Of these, the ones that are what _WORDS says where this segment is worn as well.
_UNLESS: dict[str, Part] = {"shoulder": "upper_arm", "shldr": "upper_arm", "leg": "thigh"}
# Words that may mean the pelvis too, where nothing else that is worn does.
_MAYBE_PELVIS = {
    "trunk", "torso", "back", "lumbar", "l4", "l5", "lowertrunk", "lowertorso", "rumpf", "tronc", "tronco",
}  # fmt: skip
_ALSO_THINGS = {"ball"}  # words that mean a thing where they have no side
_PREFIX = re.compile(r"[^\W_]+[\W_]+")
PERSON_MIN_PARTS = 3  # different parts that make what stands before their names that of a person
_NOISE = {
    "sensor", "segment", "seg", "bone", "body", "joint", "jnt", "rigidbody", "cluster", "tracker", "imu", "def",
    "plate", "marker", "markers", "vive", "trackerrole", "role",
}  # fmt: skip

# Which part may hang on which, seen from the pelvis outwards.
_HANGS_ON: dict[Part, tuple[Part, ...]] = {
    "pelvis": (),
    "spine": ("pelvis", "spine", "chest"),
    "chest": ("pelvis", "spine", "chest"),
    "neck": ("spine", "chest", "neck"),
    "head": ("spine", "chest", "neck", "head"),
    "clavicle": ("spine", "chest", "neck"),
    "upper_arm": ("spine", "chest", "neck", "clavicle"),
    "forearm": ("upper_arm", "forearm"),
    "hand": ("forearm", "hand"),
    "thigh": ("pelvis",),
    "shank": ("thigh",),
    "foot": ("shank",),
    "toe": ("foot",),
}
# What stands between two parts that may hang on each other only where nobody wears it.
_BETWEEN: dict[tuple[Part, Part], tuple[Part, ...]] = {
    ("pelvis", "chest"): ("spine",),
    ("spine", "neck"): ("chest",),
    ("spine", "head"): ("chest", "neck"),
    ("spine", "clavicle"): ("chest",),
    ("spine", "upper_arm"): ("chest", "clavicle"),
    ("chest", "head"): ("neck",),
    ("chest", "upper_arm"): ("clavicle",),
    ("neck", "upper_arm"): ("chest", "clavicle"),
}
# Joints that nobody holds stiff through a recording of motion.
_BENDING: tuple[set[Part], ...] = (
    {"pelvis", "thigh"}, {"thigh", "shank"}, {"shank", "foot"}, {"chest", "upper_arm"}, {"clavicle", "upper_arm"},
    {"upper_arm", "forearm"}, {"forearm", "hand"},
)  # fmt: skip
MAIN_CHILD: dict[Part, tuple[Part, ...]] = {
    "pelvis": ("spine", "chest"),
    "spine": ("chest", "spine", "neck", "head"),
    "chest": ("neck", "head", "chest", "spine"),
    "neck": ("head", "neck"),
    "head": (),
    "clavicle": ("upper_arm",),
    "upper_arm": ("forearm",),
    "forearm": ("hand", "forearm"),
    "hand": (),
    "thigh": ("shank",),
    "shank": ("foot",),
    "foot": ("toe",),
    "toe": (),
}  # the child that a bone points at, the first that is there
PAIRS: dict[Part, tuple[Part, ...]] = {
    "pelvis": ("thigh",),
    "spine": ("upper_arm", "clavicle"),
    "chest": ("upper_arm", "clavicle"),
}  # children whose left and right tell where a trunk's left is
BONE_NAMES: dict[Part, str] = {"pelvis": "hips", "clavicle": "shoulder"}  # the others are called as they are
JOINT_NAMES: dict[Part, str] = {
    "spine": "lumbar",
    "chest": "waist",
    "neck": "neck",
    "head": "neck",
    "clavicle": "sternoclavicular",
    "upper_arm": "shoulder",
    "forearm": "elbow",
    "hand": "wrist",
    "thigh": "hip",
    "shank": "knee",
    "foot": "ankle",
    "toe": "toes",
}  # of the joint to the parent
TYPICAL: dict[Part, float] = {
    "head": 0.20, "hand": 0.17, "foot": 0.18, "toe": 0.06, "neck": 0.10, "pelvis": 0.12, "spine": 0.15, "chest": 0.35,
    "clavicle": 0.15, "thigh": 0.42, "shank": 0.41, "upper_arm": 0.29, "forearm": 0.26,
}  # fmt: skip
# [m] of an adult: a bone that ends in no joint is drawn with this length, in proportion to the limbs that were measured


def rest_direction(segment: Segment) -> Literal["up", "down", "forward", "left", "right"]:
    """Where a bone points in the rest pose: legs down, feet forward, arms out to their sides, the rest up."""
    if segment.part in ("thigh", "shank"):
        return "down"
    if segment.part in ("foot", "toe"):
        return "forward"
    if segment.part in _MIDDLE:
        return "up"
    return "left" if segment.side == "l" else "right"


_FINGER = re.compile(r"thumb|index|middle|ring|little|pinky|pinkie", re.IGNORECASE)
_NO_PHALANX = re.compile(r"tip|end|nub", re.IGNORECASE)  # ends of fingers, which no rig moves
_FINGERS = ("thumb", "index", "middle", "ring", "little")


def find_finger(body: str) -> int | None:
    """Which finger a name tells, 0 for the thumb."""
    own = body.rsplit(":", 1)[-1]
    told = [match.lower() for match in _FINGER.findall(own)]
    if not told or _NO_PHALANX.search(own):
        return None
    return 4 if told[0].startswith("pink") else _FINGERS.index(told[0])


def segment_of(name: str) -> Segment | None:
    """The segment that a name means on its own, or None: "LeftUpLeg", "thigh_l", "LTHI", "Skeleton:Hip"."""
    words = list(_words(name))
    sides = [k for k, word in enumerate(words) if word in _SIDES]
    if len(sides) > 1:
        return None
    side: Side = _SIDES[words.pop(sides[0])] if sides else ""
    part = _PART.get("".join(words))
    if part is None and not side:
        word = "".join(words)
        own = _PART.get(word[1:]) or _CODES.get(word[1:]) or (_CODES.get(word[1:3]) if word[3:] == "o" else None)
        if word[:1] in _SIDES and own is not None:  # LTHI, rfemur, LUArm, RTH, LFEO
            side, part = _SIDES[word[0]], own
        elif word[-1:] in _SIDES and _PART.get(word[:-1]) is not None:  # thighl
            side, part = _SIDES[word[-1]], _PART[word[:-1]]
    if part == "pelvis" and side:
        return None  # a hip of one side is a joint, or a thigh: nothing to rely on
    if part is None or (part in _MIDDLE) != (side == ""):
        return None
    return Segment(part, side)


@lru_cache(maxsize=4096)  # every check of names asks for them again
def _words(name: str) -> tuple[str, ...]:
    """Lower-case words: split at separators, at capitals and before digits; counters and words like `sensor` go."""
    bare = name.rsplit(":", 1)[-1].rsplit("|", 1)[-1]
    bare = re.sub(r"^(?:mixamorig\d*|bip\d*|skeleton\d*|subject\d*)[_ .-]+", "", bare, flags=re.IGNORECASE)
    bare = re.sub(r"_4x4$", "", bare, flags=re.IGNORECASE)  # matrices of Theia
    vertebra = re.fullmatch(r"[CTLctl]\d{1,2}", bare)
    if vertebra:
        return (bare.lower(),)
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=\d)|(?<=\d)(?=[A-Za-z])", " ", bare)
    words = [word.lower() for word in re.split(r"[\W_\s]+", spaced) if word]
    return tuple(word for word in words if not word.isdigit() and word not in _NOISE)


def count_between(names: Sequence[str]) -> tuple[Floats, Bools]:
    """(m, m) how many segments of a human lie between two bodies, and whether they are of two persons, by their names.

    0: neighbours, or two sensors on one segment; inf: something between them is not worn; NaN: the names do not say,
    be it that they are not human or that they are those of joints.
    """
    known = _find_named(names)
    count = Counter((person, segment.part) for person, segment in known.values())
    # Thigh1 and Thigh2 without a side may be the two thighs or two sensors on one.
    known = {
        k: (person, segment)
        for k, (person, segment) in known.items()
        if segment.side or segment.part in _MIDDLE or count[person, segment.part] == 1
    }
    parts: dict[str, set[Part]] = {}
    for person, segment in known.values():
        parts.setdefault(person, set()).add(segment.part)
    human = [k for k, (person, _) in known.items() if not person or len(parts[person]) >= PERSON_MIN_PARTS]
    worn = {known[k] for k in human}
    may_be = {k: _readings(names[k], *known[k], worn) for k in human}
    steps = np.full((len(names), len(names)), np.nan)
    strangers = np.zeros(steps.shape, dtype=bool)
    steps[np.ix_(human, human)] = np.inf
    own: dict[str, set[Segment]] = {}
    for person, segment in worn:
        own.setdefault(person, set()).add(segment)
    for a, b in combinations(human, 2):
        person = known[a][0]
        if person != known[b][0]:
            strangers[a, b] = strangers[b, a] = True
        elif any(_are_neighbours(one, other, own[person]) for one in may_be[a] for other in may_be[b]):
            steps[a, b] = steps[b, a] = 1.0
    for k in human:  # the shortest way over what is worn
        steps = np.fmin(steps, steps[:, k, None] + steps[None, k])
    np.fill_diagonal(steps, np.nan)
    return steps - 1, strangers


def _find_named(names: Sequence[str]) -> dict[int, tuple[str, Segment]]:
    """{number: (person, segment)} of the bodies whose names are those of segments, also by what else is worn: a left
    shoulder beside a left upper arm is the clavicle.
    """
    told = {k: found for k, name in enumerate(names) if (found := _person_and_segment(name)) is not None}
    known = {k: (person, segment) for k, (person, segment, joint) in told.items() if not joint}
    worn = set(known.values())
    for k, (person, segment, joint) in told.items():
        beside = _UNLESS.get(joint)
        if beside and (person, segment) not in worn and (person, Segment(beside, segment.side)) in worn:
            known[k] = person, segment
    return known


def is_bending_joint(a: str, b: str) -> bool:
    """Whether two bodies are named after segments of one limb, or of it and the trunk, that meet in a joint which
    bends in whatever a person does: not vertebrae, clavicles and toes, and no two sensors of one segment.
    """
    found = _person_and_segment(a), _person_and_segment(b)
    if found[0] is None or found[1] is None or found[0][0] != found[1][0] or found[0][2] or found[1][2]:
        return False
    one, other = found[0][1], found[1][1]
    bend = {one.part, other.part} in _BENDING
    return bend and (one.side == other.side or "" in (one.side, other.side))


def _readings(name: str, person: str, segment: Segment, worn: set[tuple[str, Segment]]) -> list[Segment]:
    """What a body may be, given what else its person wears: a trunk without a pelvis may be that, a toe a foot."""
    toe = segment.part == "toe" and "forefoot" not in name.lower()
    other = Segment("foot", segment.side) if toe else Segment("pelvis")
    either = toe or "".join(_words(name)) in _MAYBE_PELVIS
    return [segment, other] if either and (person, other) not in worn else [segment]


def _person_and_segment(name: str) -> tuple[str, Segment, str] | None:
    """What stands before a segment's name, the segment, and a joint's word in it; a limb may be without its side."""
    if _one_sided_hip(name) is not None:
        return None
    person, colon, rest = name.rpartition(":")
    first = _PREFIX.match(rest)
    for before, own in ((person + colon, rest), *([(first.group(), rest[first.end() :])] if first else ())):
        plain = "".join(word for word in _words(own) if word not in _SIDES)
        segment = segment_of(own) or (Segment(_PART[plain]) if plain in _PART.keys() - _ALSO_THINGS else None)
        if segment is not None:
            return before, segment, next((word for word in (plain, plain[1:], plain[:-1]) if word in _EITHER), "")
    return None


def _are_neighbours(a: Segment, b: Segment, worn: set[Segment]) -> bool:
    """Whether one hangs on the other where these segments of their person are worn."""
    beside = a.part == b.part or a.part in _HANGS_ON[b.part] or b.part in _HANGS_ON[a.part]
    parts = (*_BETWEEN.get((a.part, b.part), ()), *_BETWEEN.get((b.part, a.part), ()))
    sides = {"", a.side or b.side}  # of what may be between them
    return (
        beside
        and (a.side == b.side or "" in (a.side, b.side))
        and not worn & {Segment(part, side) for part in parts for side in sides}
    )


def mirror_segments(segments: Mapping[str, Segment]) -> dict[str, str | None]:
    """{body: the one on the other side}; what is in the middle is its own twin, None where there is none."""
    named = {segment: body for body, segment in segments.items()}
    other: dict[Side, Side] = {"l": "r", "r": "l", "": ""}
    return {body: named.get(Segment(one.part, other[one.side])) for body, one in segments.items()}


def find_segments(bodies: Sequence[str], edges: Sequence[tuple[str, str]]) -> dict[str, Segment]:
    """{body: segment} of the bodies whose names and place in the forest of `edges` say so; each segment once per tree.

    A body stays unknown where its neighbour towards the trunk is not what it should hang on: a thigh on a thigh.
    Where two bodies of a tree claim one segment, the one nearer to the trunk has it; several that follow each other
    (vertebrae of the spine, two sensors on a forearm) are all kept.
    """
    named = {body: segment for body in bodies if (segment := segment_of(body)) is not None}
    near: dict[str, list[str]] = {body: [] for body in bodies}
    for a, b in edges:
        near[a].append(b)
        near[b].append(a)
    found: dict[str, Segment] = {}
    left = set(bodies)
    for body in bodies:
        if body in left:
            tree = _reach(body, near)
            left -= tree.keys()
            here = {other: named[other] for other in tree if other in named}
            if trunk_of(list(tree), here, near) is None:  # a_pelvis, a_chest, ...: one person of several
                here = _without_prefix(list(tree)) or here
            found.update(_segments_of_tree(list(tree), here, near))
    return found


def _without_prefix(bodies: Sequence[str]) -> dict[str, Segment]:
    """{body: segment} of a tree whose names begin alike, up to a separator, or nothing."""
    alike_letters = []
    for letters in zip(*bodies, strict=False):
        if len(set(letters)) > 1:
            break
        alike_letters.append(letters[0])
    alike = re.match(r"^.*[\W_]", "".join(alike_letters))
    if alike is None or len(bodies) < 3:
        return {}
    return {body: segment for body in bodies if (segment := segment_of(body[alike.end() :])) is not None}


def trunk_of(bodies: Sequence[str], segments: Mapping[str, Segment], near: Mapping[str, Sequence[str]]) -> str | None:
    """What a human tree stands on: its pelvis, else the trunk's body with most neighbours; None without one."""
    for parts in (("pelvis",), _TRUNK):
        there = [body for body in bodies if body in segments and segments[body].part in parts]
        if there:
            return max(there, key=lambda body: len(near[body]))
    return None


def _segments_of_tree(
    bodies: Sequence[str], named: Mapping[str, Segment], near: Mapping[str, Sequence[str]]
) -> dict[str, Segment]:
    named = _settle(bodies, named, near)
    start = trunk_of(bodies, named, near)
    if start is None:
        inside = [body for body in bodies if body in named]
        start = min(inside, key=lambda body: list(_HANGS_ON).index(named[body].part), default=None)
    if start is None:
        return {}
    found: dict[str, Segment] = {}
    taken: set[Segment] = set()
    inboard: dict[str, Segment | None] = {}  # the first named body towards the start: a hip joint of its own has none
    for body, parent in _reach(start, near).items():
        segment = named.get(body)
        before = None if parent is None else named.get(parent) or inboard[parent]
        inboard[body] = before
        if segment is None or (parent is not None and not _may_hang(segment, before)):
            continue
        if segment in taken and segment.part not in _TRUNK and segment != before:
            continue
        taken.add(segment)
        found[body] = segment
    return found


def _settle(
    bodies: Sequence[str], named: Mapping[str, Segment], near: Mapping[str, Sequence[str]]
) -> dict[str, Segment]:
    """The names of one tree where one word may mean two segments.

    Of several pelves the one that carries the legs is it, the others are spine. The hip of a side is the thigh where
    nothing else is. A spine that carries arms, neck or head is the chest where nothing else is, and a toe on a shank
    the foot: a sensor on its front.
    """
    result = {body: named[body] for body in bodies if body in named}
    there = set(result.values())
    for body in [body for body, segment in result.items() if segment.part == "toe"]:
        readings = _readings(body, "", result[body], {("", segment) for segment in there})
        if any(_may_hang(readings[-1], result.get(other)) for other in near[body]):
            result[body] = readings[-1]
    for body in bodies:
        hip = _one_sided_hip(body)
        if hip is not None and hip not in there:
            result[body] = hip

    def count_carried(body: str, parts: Sequence[Part]) -> int:
        return sum(other in result and result[other].part in parts for other in near[body])

    pelves = [body for body, segment in result.items() if segment.part == "pelvis"]
    if len(pelves) > 1:
        best = max(pelves, key=lambda body: (count_carried(body, ("thigh",)), len(near[body])))
        result.update({body: Segment("spine") for body in pelves if body != best})
    if Segment("chest") not in result.values():
        spines = [body for body, segment in result.items() if segment.part == "spine"]
        best_spine = max(spines, key=lambda body: count_carried(body, ABOVE_CHEST), default=None)
        if best_spine is not None and count_carried(best_spine, ABOVE_CHEST):
            result[best_spine] = Segment("chest")
    return result


def _one_sided_hip(name: str) -> Segment | None:
    """LeftHip, l_hip: a joint to some programs, the thigh below it to others."""
    words = _words(name)
    sides = [word for word in words if word in _SIDES]
    rest = [word for word in words if word not in _SIDES]
    if len(sides) == 1 and rest == ["hip"]:
        return Segment("thigh", _SIDES[sides[0]])
    return None


def _may_hang(segment: Segment, inboard: Segment | None) -> bool:
    if inboard is None:
        return False
    return inboard.side in ("", segment.side) and inboard.part in _HANGS_ON[segment.part]


def _reach(start: str, near: Mapping[str, Sequence[str]]) -> dict[str, str | None]:
    """{body: its neighbour towards `start`} of everything connected, nearest first."""
    way: dict[str, str | None] = {start: None}
    front = [start]
    for body in front:  # grows while it is walked
        for other in near[body]:
            if other not in way:
                way[other] = body
                front.append(other)
    return way
