"""Virtual sensors on the bones of any moving skeleton, and the truth they should lead back to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ..errors import UsageError
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, freeze
from ..model.values import dataclass
from .figures import LimbKey, SimulatedKind, lengths_between_joints

_CLEAR_MIN_M = 0.04  # m, least distance of a random sensor to any joint
_LEAF_HALF_M = 0.08  # m, half the length given to a bone that carries no further joint


@dataclass(frozen=True, eq=False)
class Mounts:
    """Where sensors sit: R_bone_body (m, 3, 3) and p_bone_body (m, 3) [m], sensor as seen from its bone."""

    R_bone_body: Annotated[Floats, "m 3 3"]
    p_bone_body: Annotated[Floats, "m 3"]

    def __post_init__(self) -> None:
        freeze(self, m=len(self.p_bone_body))


@dataclass(frozen=True)
class SensorSlip:
    """From `time` [s] on the sensor of `body` sits elsewhere on its bone.

    displacement [m] and rotation (vector, [rad]) are in the sensor's own frame.
    """

    body: str
    time: float
    displacement: tuple[float, float, float]
    rotation: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Truth:
    """What is exactly so in a simulated world, and what was done to its recording. Body = sensor = its bone.

    time            (n,)          [s]
    parent          (m,)               -1 at roots
    p_child_joint   (m, 3)        [m]  joint to the parent in the body's own sensor frame; NaN at roots
    p_parent_joint  (m, 3)        [m]  the same joint in the parent's sensor frame; NaN at roots
    kind            m of "ball", "hinge", "rigid"
    axis_child      (m, 3)        [-]  hinge axis in the two sensor frames; NaN unless hinge
    axis_parent     (m, 3)
    R_world_body    (n, m, 3, 3)       poses of sensors that stay fixed to their bones and are read without error
    p_world_body    (n, m, 3)     [m]
    mounts                             the sensors on their bones
    slips, latency (m,) [s], scale, and masks (n, m) of spiked, burst, stale and missing samples: what was done
    """

    names: tuple[str, ...]
    parent: Annotated[Ints, "m"]
    time: Annotated[Floats, "n"]
    p_child_joint: Annotated[Floats, "m 3"]
    p_parent_joint: Annotated[Floats, "m 3"]
    kind: tuple[SimulatedKind, ...]
    axis_child: Annotated[Floats, "m 3"]
    axis_parent: Annotated[Floats, "m 3"]
    R_world_body: Annotated[Floats, "n m 3 3"]
    p_world_body: Annotated[Floats, "n m 3"]
    mounts: Mounts
    slips: tuple[SensorSlip, ...] = ()
    latency: Annotated[Floats, "m"] = None  # type: ignore[assignment]
    scale: float = 1.0
    spiked: Annotated[Bools, "n m"] = None  # type: ignore[assignment]
    burst: Annotated[Bools, "n m"] = None  # type: ignore[assignment]
    stale: Annotated[Bools, "n m"] = None  # type: ignore[assignment]
    missing: Annotated[Bools, "n m"] = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        freeze(self, n=len(self.time), m=len(self.names))

    @property
    def limbs(self) -> dict[LimbKey, float]:
        """Distances [m] between the joints of each body, keyed (body, from_child, to_child)."""
        return lengths_between_joints(self.names, self.parent, self.p_child_joint, self.p_parent_joint)

    @property
    def edges(self) -> frozenset[tuple[str, str]]:
        """The tree as (child, parent) names."""
        return frozenset(
            (name, self.names[up]) for name, up in zip(self.names, self.parent.tolist(), strict=True) if up >= 0
        )


def random_mounts(
    parent: ArrayLike, p_parent_joint: ArrayLike, rng: np.random.Generator, *, p_child_joint: ArrayLike | None = None
) -> Mounts:
    """Sensors turned at random, 5 to 11 cm from the middle of their bones and clear of the joints."""
    up, p_up = np.asarray(parent), np.asarray(p_parent_joint, dtype=np.float64)
    m = len(up)
    p_own = np.zeros((m, 3)) if p_child_joint is None else np.asarray(p_child_joint, dtype=np.float64)
    p = np.empty((m, 3))
    for k in range(m):
        joints = p_up[up == k] if up[k] < 0 else np.concatenate([p_own[[k]], p_up[up == k]])
        middle = joints.mean(axis=0) if len(joints) else np.zeros(3)
        if len(joints) == 1:
            reach = np.linalg.norm(p_up[k]) if up[k] >= 0 else 0.0
            middle = joints[0] + (_LEAF_HALF_M * p_up[k] / reach if reach > 0 else 0.0)
        tries = rng.standard_normal((32, 3))
        tries *= rng.uniform(0.05, 0.11, (32, 1)) / np.linalg.norm(tries, axis=-1, keepdims=True)
        gap = np.linalg.norm(middle + tries[:, None] - joints, axis=-1).min(axis=1, initial=np.inf)
        p[k] = middle + tries[int(np.argmax(gap > _CLEAR_MIN_M))]
    return Mounts(rotation.random(rng, (m,)), p)


def mount(
    names: Sequence[str],
    parent: ArrayLike,
    R_world_bone: ArrayLike,
    p_world_bone: ArrayLike,
    p_parent_joint: ArrayLike,
    rng: np.random.Generator | None,
    time: ArrayLike,
    *,
    p_child_joint: ArrayLike | None = None,
    kind: Sequence[SimulatedKind] | None = None,
    axis: ArrayLike | None = None,
    mounts: Mounts | None = None,
) -> Truth:
    """A sensor on each of m moving bones, at random from `rng` or as `mounts` says.

    R_world_bone (n, m, 3, 3), p_world_bone (n, m, 3) [m], time (n,) [s]; p_parent_joint (m, 3) [m] is each bone's
    joint in its parent's bone frame, p_child_joint (m, 3) in its own (zero by default: bones begin at their joint).
    `kind` is "ball" by default; `axis` (m, 3) of hinges is the same in both bone frames. Parents come first; rows of
    roots are not read.
    """
    up = np.asarray(parent, dtype=np.int64)
    m = len(up)
    if (up >= np.arange(m)).any():
        late = names[int(np.argmax(up >= np.arange(m)))]
        raise UsageError(f"the parent of '{late}' must come before it", code="bad-call", body=late)
    root = (up < 0)[:, None]
    R, p = np.asarray(R_world_bone, dtype=np.float64), np.asarray(p_world_bone, dtype=np.float64)
    p_up = np.where(root, 0.0, np.asarray(p_parent_joint, dtype=np.float64))
    p_own = np.zeros((m, 3)) if p_child_joint is None else np.where(root, 0.0, np.asarray(p_child_joint))
    if mounts is None:
        if rng is None:
            raise UsageError("give a generator or mounts", code="bad-call")
        mounts = random_mounts(up, p_up, rng, p_child_joint=p_own)
    elif len(mounts.p_bone_body) != m:
        raise UsageError(f"{len(mounts.p_bone_body)} mounts for {m} bones", code="bad-call")
    R_bone, p_bone = mounts.R_bone_body, mounts.p_bone_body
    R_body_bone = np.swapaxes(R_bone, -1, -2)
    balls: list[SimulatedKind] = ["ball"]
    kinds = tuple(balls * m if kind is None else kind)
    hinge = np.array([[k == "hinge"] for k in kinds]) & ~root
    axes = np.where(hinge, np.full((m, 3), np.nan) if axis is None else np.asarray(axis), np.nan)
    return Truth(
        names=tuple(names),
        parent=up,
        time=np.asarray(time, dtype=np.float64),
        p_child_joint=np.where(root, np.nan, _rotate(R_body_bone, p_own - p_bone)),
        p_parent_joint=np.where(root, np.nan, _rotate(R_body_bone[up], p_up - p_bone[up])),
        kind=kinds,
        axis_child=_rotate(R_body_bone, axes),
        axis_parent=_rotate(R_body_bone[up], axes),
        R_world_body=R @ R_bone,
        p_world_body=p + _rotate(R, p_bone),
        mounts=mounts,
    )


def _rotate(R: Floats, v: Floats) -> Floats:
    return np.asarray(np.einsum("...ij,...j->...i", R, v))
