"""How joint angles are counted: sequences, signs and names, as tables. docs/angles.md explains them.

Every segment has the axes of the ISB, on the left side too: X forward, Y up (towards the proximal joint), Z to the
subject's right; all angles are zero in the anatomical position. Left joints are mirrored, R' = M R M with
M = diag(1, 1, -1), and counted as right ones, so that a sign means the same on both sides.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from ..errors import UsageError
from .anatomy import Part
from .values import dataclass

Signs = tuple[int, int, int]
Words = tuple[str | None, str | None, str | None]
Rest = Literal["vector", "order", "hinge"]


class JointRow(NamedTuple):
    """One joint of a person: the distal segment in the proximal one, None: in the room (X heading, Y up, Z right).

    order   axes of the turns, each about where the ones before have left them: "ZXY"
    signs   of the three angles as they are counted
    names   of the three columns, before the side; None: not part of the convention
    source  where it is defined
    total   name of the sum of the first and the third angle, which stays known near gimbal lock
    both    counted once for each side although it lies in the middle
    """

    joint: str
    distal: Part
    proximal: Part | None
    order: str
    signs: Signs
    names: Words
    source: str
    total: str | None = None
    both: bool = False


@dataclass(frozen=True)
class AngleConvention:
    """A table of joints, and what becomes of a joint that is not in it.

    rest   "vector": three components of the rotation vector since the mean pose, or the one angle of a hinge; "order":
           three angles in `order`; "hinge": the one angle about the joint's own axis
    """

    name: str
    title: str
    joints: tuple[JointRow, ...] = ()
    rest: Rest = "vector"
    order: str = "ZXY"


WU_2002 = "Wu et al. 2002, J Biomech 35:543"
WU_2005 = "Wu et al. 2005, J Biomech 38:981"
GROOD_SUNTAY = "Grood and Suntay 1983, J Biomech Eng 105:136"
BAKER = "Baker 2001, Hum Mov Sci 20:787"
PHADKE = "Phadke et al. 2011, J Biomech 44:1093"
RAJAGOPAL = "Rajagopal et al. 2016, IEEE TBME 63:2068"
GAIT2392 = "OpenSim's gait2392"
CGM = "Plug-in Gait, as pyCGM2 has it"


def _name(joint: str, *words: str) -> Words:
    first, second, third = (f"{joint}_{word}" for word in words)
    return first, second, third


_LEG = (
    JointRow("hip", "thigh", "pelvis", "ZXY", (1, 1, 1), _name("hip", "flexion", "adduction", "rotation"), WU_2002),
    JointRow(
        "knee", "shank", "thigh", "ZXY", (-1, 1, 1), _name("knee", "flexion", "adduction", "rotation"), GROOD_SUNTAY
    ),
    JointRow(
        "ankle", "foot", "shank", "ZXY", (1, 1, 1), _name("ankle", "dorsiflexion", "inversion", "rotation"), WU_2002
    ),
)
_TRUNK_WORDS = ("flexion", "bending", "rotation")
_TRUNK = (
    JointRow("trunk", "chest", "pelvis", "ZXY", (-1, 1, 1), _name("trunk", *_TRUNK_WORDS), WU_2005),
    JointRow("neck", "head", "chest", "ZXY", (-1, 1, 1), _name("neck", *_TRUNK_WORDS), WU_2002),
    JointRow("thorax", "chest", None, "ZXY", (-1, 1, 1), _name("thorax", *_TRUNK_WORDS), WU_2005),
)
_SHOULDER = JointRow(
    "shoulder",
    "upper_arm",
    "chest",
    "YXY",
    (1, -1, 1),
    _name("shoulder", "plane", "elevation", "rotation"),
    WU_2005,
    total="shoulder_rotation_total",
)
_SHOULDER_XZY = JointRow(
    "shoulder", "upper_arm", "chest", "XZY", (-1, 1, 1), _name("shoulder", "abduction", "flexion", "rotation"), PHADKE
)
_ARM = (
    JointRow(
        "elbow", "forearm", "upper_arm", "ZXY", (1, 1, 1), _name("elbow", "flexion", "carrying", "pronation"), WU_2005
    ),
    JointRow("wrist", "hand", "forearm", "ZXY", (1, 1, 1), _name("wrist", "flexion", "deviation", "rotation"), WU_2005),
)
_PELVIS = JointRow("pelvis", "pelvis", None, "YXZ", (1, 1, -1), _name("pelvis", "rotation", "obliquity", "tilt"), BAKER)


def _opensim(knee: int, *, arms: bool, source: str) -> tuple[JointRow, ...]:
    """The names and signs of OpenSim's models; `knee` 1 counts extension, -1 flexion."""
    legs = (
        JointRow("pelvis", "pelvis", None, "ZXY", (1, 1, 1), _name("pelvis", "tilt", "list", "rotation"), source),
        JointRow("hip", "thigh", "pelvis", "ZXY", (1, 1, 1), _LEG[0].names, source),
        JointRow("knee", "shank", "thigh", "ZXY", (knee, 1, 1), ("knee_angle", None, None), source),
        JointRow("ankle", "foot", "shank", "ZXY", (1, 1, 1), ("ankle_angle", "subtalar_angle", None), source),
        JointRow(
            "lumbar",
            "chest",
            "pelvis",
            "ZXY",
            (1, 1, 1),
            _name("lumbar", "extension", "bending", "rotation"),
            source,
        ),
    )
    arm = (
        JointRow("shoulder", "upper_arm", "chest", "ZXY", (1, 1, 1), _name("arm", "flex", "add", "rot"), source),
        JointRow("elbow", "forearm", "upper_arm", "ZXY", (1, 1, 1), ("elbow_flex", None, "pro_sup"), source),
        JointRow("wrist", "hand", "forearm", "ZXY", (1, 1, 1), ("wrist_flex", "wrist_dev", None), source),
    )
    return (*legs, *(arm if arms else ()))


_PIG_PELVIS = JointRow(
    "pelvis",
    "pelvis",
    None,
    "ZXY",
    (-1, -1, 1),
    _name("pelvis", "tilt", "obliquity", "rotation"),
    CGM,
    both=True,
)

CONVENTIONS: dict[str, AngleConvention] = {
    one.name: one
    for one in (
        AngleConvention("isb", "ISB, knee by Grood and Suntay", (_PELVIS, *_LEG, *_TRUNK, _SHOULDER, *_ARM)),
        AngleConvention("xzy", "ISB with shoulders as XZY", (_PELVIS, *_LEG, *_TRUNK, _SHOULDER_XZY, *_ARM)),
        AngleConvention("opensim", "OpenSim, Rajagopal's model", _opensim(-1, arms=True, source=RAJAGOPAL)),
        AngleConvention("opensim:gait2392", "OpenSim, gait2392", _opensim(1, arms=False, source=GAIT2392)),
        AngleConvention(
            "pig", "Plug-in Gait, legs and pelvis", (_PIG_PELVIS, *(row._replace(source=CGM) for row in _LEG))
        ),
        AngleConvention("rotvec", "rotation vectors"),
        AngleConvention("hinge", "one angle a joint, about its own axis", rest="hinge"),
    )
}
ORDERS = tuple(a + b + c for a in "XYZ" for b in "XYZ" for c in "XYZ" if a != b and b != c)


def find_convention(name: str) -> AngleConvention:
    """The convention of a name; "euler:ZXY" counts every joint in that order. Raises with the choices."""
    kind, _, order = str(name).partition(":")
    if kind == "euler" and order.upper() in ORDERS:
        return AngleConvention(
            f"euler:{order.upper()}", f"every joint in the order {order.upper()}", (), "order", order.upper()
        )
    if name not in CONVENTIONS:
        choices = ", ".join((*CONVENTIONS, "euler:ZXY (any order)"))
        raise UsageError(f"no convention '{name}' for angles; choose from {choices}", code="bad-option")
    return CONVENTIONS[name]
