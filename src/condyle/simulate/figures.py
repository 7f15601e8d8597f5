"""Articulated figures of known dimensions: a human, the paper's wooden linkage, a plain chain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Annotated, Literal

import numpy as np

from ..errors import UsageError
from ..maths.arrays import Floats, Ints, freeze
from ..model.values import dataclass

SimulatedKind = Literal["ball", "hinge", "rigid"]
LimbKey = tuple[str, str, str]

# Hand measurements of the two subjects of O'Brien et al. 2000 [m], from a bone's own joint to the next.
_MEASURED = ("r_shank", "l_shank", "r_thigh", "l_thigh", "r_forearm", "l_forearm", "r_upper_arm", "l_upper_arm")
MALE_LENGTHS: Mapping[str, float] = MappingProxyType(
    dict(zip(_MEASURED, (0.400, 0.403, 0.416, 0.432, 0.270, 0.267, 0.295, 0.295), strict=True))
)
FEMALE_LENGTHS: Mapping[str, float] = MappingProxyType(
    dict(zip(_MEASURED, (0.368, 0.365, 0.422, 0.419, 0.248, 0.248, 0.276, 0.276), strict=True))
)


@dataclass(frozen=True, eq=False)
class SimulatedFigure:
    """Bones and joints that never change. A bone's frame has its origin at the joint to its parent (a root: at its
    own centre) and, in the rest pose, the axes of the world: x forward, y left, z up.

    names           m strings
    parent          (m,)         index of the parent, -1 at roots; parents come first
    p_parent_joint  (m, 3)  [m]  joint of each bone in its parent's frame; zero at roots
    kind            m of "ball", "hinge", "rigid"; what stands at a root means nothing
    axis            (m, 3)  [-]  unit axis of a hinge, the same in both frames at rest; NaN elsewhere
    """

    names: tuple[str, ...]
    parent: Annotated[Ints, "m"]
    p_parent_joint: Annotated[Floats, "m 3"]
    kind: tuple[SimulatedKind, ...]
    axis: Annotated[Floats, "m 3"]

    def __post_init__(self) -> None:
        for name in ("names", "kind"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        m = len(self.names)
        freeze(self, m=m)
        late = (self.parent >= np.arange(m)) | (self.parent < -1)
        if late.any():
            name = self.names[int(np.argmax(late))]
            raise UsageError(f"the parent of '{name}' must come before it", code="bad-call", body=name)
        if len(self.kind) != m:
            raise UsageError(f"{len(self.kind)} kinds of joint for {m} bones", code="bad-call")
        axis = np.where([[kind == "hinge"] for kind in self.kind], self.axis, np.nan)
        object.__setattr__(self, "axis", axis / np.linalg.norm(axis, axis=-1, keepdims=True))
        freeze(self, m=m)

    @property
    def degrees_of_freedom(self) -> int:
        """Six per root, three per ball, one per hinge."""
        free = {"ball": 3, "hinge": 1, "rigid": 0}
        return sum(6 if up < 0 else free[kind] for up, kind in zip(self.parent, self.kind, strict=True))


def lengths_between_joints(
    names: Sequence[str], parent: Ints, p_child_joint: Floats, p_parent_joint: Floats
) -> dict[LimbKey, float]:
    """Distance [m] between every two joints of one body, keyed (body, from, to); a joint is named by its child.

    p_child_joint and p_parent_joint (m, 3) [m] are in the frames of child and parent; rows of roots are not read.
    """
    limbs: dict[LimbKey, float] = {}
    for body, name in enumerate(names):
        joints = [] if parent[body] < 0 else [(name, p_child_joint[body])]
        joints += [(names[k], p_parent_joint[k]) for k in np.flatnonzero(parent == body).tolist()]
        for (start, p), (end, q) in combinations(joints, 2):
            limbs[name, start, end] = float(np.linalg.norm(q - p))
    return limbs


def limb_lengths(figure: SimulatedFigure) -> dict[LimbKey, float]:
    """Distances [m] between the joints of each bone, keyed (body, from_child, to_child)."""
    return lengths_between_joints(
        figure.names, figure.parent, np.zeros_like(figure.p_parent_joint), figure.p_parent_joint
    )


def human(lengths: Mapping[str, float] | None = None) -> SimulatedFigure:
    """An adult of 15 bodies and 14 ball joints, 48 degrees of freedom, arms hanging at rest.

    `lengths` [m] replaces any of MALE_LENGTHS, by body: thigh, shank, upper_arm, forearm with l_ or r_ before it.
    """
    given = dict(lengths or {})
    unknown = [name for name in given if name not in MALE_LENGTHS]
    if unknown:
        raise UsageError(f"no length named '{unknown[0]}'; there are {', '.join(MALE_LENGTHS)}", code="bad-call")
    length = {**MALE_LENGTHS, **given}
    joints: list[tuple[str, str, tuple[float, float, float]]] = [
        ("pelvis", "", (0, 0, 0)),
        ("chest", "pelvis", (0, 0, 0.10)),
        ("head", "chest", (0, 0, 0.44)),
    ]
    for side, y in (("l_", 0.19), ("r_", -0.19)):
        joints += [
            (side + "upper_arm", "chest", (0, y, 0.34)),
            (side + "forearm", side + "upper_arm", (0, 0, -length[side + "upper_arm"])),
            (side + "hand", side + "forearm", (0, 0, -length[side + "forearm"])),
        ]
    for side, y in (("l_", 0.09), ("r_", -0.09)):
        joints += [
            (side + "thigh", "pelvis", (0, y, -0.05)),
            (side + "shank", side + "thigh", (0, 0, -length[side + "thigh"])),
            (side + "foot", side + "shank", (0, 0, -length[side + "shank"])),
        ]
    return _of_balls(joints)


def linkage() -> SimulatedFigure:
    """The wooden linkage of O'Brien et al. 2000: six bodies, five ball joints, its measured dimensions."""
    between, left, right = 0.343, 0.390, 0.397  # shoulder to shoulder, neck to left and to right shoulder [m]
    y = (right**2 - left**2) / (2 * between)
    z = float(np.sqrt(left**2 - (between / 2 - y) ** 2))
    return _of_balls(
        [
            ("chest", "", (0, 0, 0)),
            ("head", "chest", (0, y, z - 0.15)),
            ("l_upper_arm", "chest", (0, between / 2, -0.15)),
            ("l_forearm", "l_upper_arm", (0, 0, -0.314)),
            ("r_upper_arm", "chest", (0, -between / 2, -0.15)),
            ("r_forearm", "r_upper_arm", (0, 0, -0.286)),
        ]
    )


def chain(kinds: Sequence[SimulatedKind] = ("ball", "ball", "ball"), length: float = 0.3) -> SimulatedFigure:
    """A straight chain link0, link1, ... with one joint of each kind in turn, `length` [m] apart.

    Hinges turn about y and x by turns.
    """
    m = len(kinds) + 1
    axes = np.eye(3)[[(1, 0)[k % 2] for k in range(m)]]
    p_parent_joint = np.tile([0, 0, -length], (m, 1))
    p_parent_joint[0] = 0
    names = tuple(f"link{k}" for k in range(m))
    return SimulatedFigure(names, np.arange(m) - 1, p_parent_joint, ("ball", *kinds), axes)


def _of_balls(joints: Sequence[tuple[str, str, tuple[float, float, float]]]) -> SimulatedFigure:
    """A figure from (name, parent's name or "", joint in the parent's frame), ball joints throughout."""
    names = tuple(name for name, _, _ in joints)
    parent = np.array([names.index(up) if up else -1 for _, up, _ in joints])
    kinds: list[SimulatedKind] = ["ball"]
    return SimulatedFigure(
        names, parent, np.array([p for _, _, p in joints]), tuple(kinds * len(names)), np.full((len(names), 3), np.nan)
    )
