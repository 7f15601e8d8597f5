"""Forward kinematics of the skeletons that motion files bring along: angles and offsets to poses of all frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...errors import CondyleError
from ...findings import Finding, list_some
from ...maths.arrays import Bools, Floats, Ints
from ...maths.spool import POSE_BYTES, blocks_of, empty, over_frames, seal
from ...model.recording import Bodies
from ...model.take import OwnSkeleton
from ...model.values import dataclass

FARTHEST_OFFSET = 1e12  # of any unit: an offset beyond is no offset, and its square would overflow
STILL_ANGLE = 1e-9  # deg or rad, a turn so small that it is the rounding of none
FREE_BONE_POSES = 500_000  # poses that any file may have; beyond, its joints must be paid for by numbers in the file
STATED_BY_ANGLES = frozenset({"rotation", "degrees", "transposed", "axes"})  # settled once the angles have become poses
POSES_PER_NUMBER = 4  # a joint without channels costs nothing to write and 200 bytes a frame to compute


LocalPoses = tuple[Sequence[Floats], Sequence[Floats]]  # of m bones in their parents' frames: (n, 3, 3), (n, 3) each


@dataclass(frozen=True)
class BoneChain:
    """Bones as the file lists them.

    names    m
    parent   index of each bone's parent, -1 at a root
    offsets  (m, 3) of each bone's joint in its parent's frame, in the file's unit
    """

    names: tuple[str, ...]
    parent: tuple[int, ...]
    offsets: Floats

    def check_size(self, frames: int, numbers: int) -> None:
        """Raise where a small file asks for a huge array; `numbers`: how many the file holds per frame."""
        poses = len(self.names) * frames
        if poses > FREE_BONE_POSES and len(self.names) > POSES_PER_NUMBER * max(numbers, 1):
            text = f"{len(self.names)} joints of which most never move, over {frames} frames; take them out"
            raise CondyleError(text, code="suspicious-size")

    def bodies(self, R: Floats, p: Floats, still: Bools) -> tuple[Bodies, OwnSkeleton, list[Finding]]:
        """Bodies and skeleton of world poses (n, m, 3, 3), (n, m, 3), without bones that are another by a second name.

        still  (m,) True where a bone never turns or moves in its parent's frame

        A still bone at its parent's own joint (a hip joint that is there for the sake of a tree) has its parent's pose
        in every frame, and two still bones at one place (the clavicles of a model that does not move them) have each
        other's: they are one body, and what hangs on the second hangs on the first.
        """
        stands_for = list(range(len(self.names)))
        first_at: dict[tuple[int, tuple[float, ...]], int] = {}
        for k in order_parents_first(self.parent):
            if self.parent[k] >= 0 and still[k]:
                up, place = stands_for[self.parent[k]], tuple(self.offsets[k].tolist())
                stands_for[k] = up if not any(place) else first_at.setdefault((up, place), k)
        kept = [k for k, other in enumerate(stands_for) if other == k]
        at = {k: row for row, k in enumerate(kept)}
        parent = np.array([at[stands_for[self.parent[k]]] if self.parent[k] >= 0 else -1 for k in kept])
        names = tuple(self.names[k] for k in kept)
        own = OwnSkeleton(names, parent, np.where(parent[:, None] >= 0, self.offsets[kept], 0.0))
        findings = []
        if gone := [name for k, name in enumerate(self.names) if k not in at]:
            verb, owner = ("has the pose of another bone in every frame and is no body", "its")
            if len(gone) > 1:
                verb, owner = ("have the pose of another bone in every frame and are no bodies", "their")
            text = f"{list_some(gone)} {verb} of {owner} own"
            findings.append(Finding("same-body", "info", text, tuple(gone), count=len(gone)))
            R, p = (over_frames(lambda part: part[:, kept], values) for values in (R, p))
        return Bodies(names, seal(p), seal(R.reshape(len(p), len(kept), 9))), own, findings


def turn(angles: Floats, axes: str) -> Floats:
    """(n, 3, 3) of angles (n, k) [rad] about the axes "ZXY..." in turn, each in the frame that the ones before made."""
    R = np.zeros((3, 3, len(angles)))  # frames last: every step below runs over contiguous memory
    R[[0, 1, 2], [0, 1, 2]] = 1.0
    for k, letter in enumerate(axes):
        i = "XYZ".index(letter)
        j, l = (i + 1) % 3, (i + 2) % 3
        c, s = np.cos(angles[:, k]), np.sin(angles[:, k])
        R[:, j], R[:, l] = c * R[:, j] + s * R[:, l], c * R[:, l] - s * R[:, j]
    return np.moveaxis(R, 2, 0)


def place_bones(parent: Sequence[int], frames: int, local: Callable[[slice], LocalPoses]) -> tuple[Floats, Floats]:
    """Poses in the world (n, m, 3, 3), (n, m, 3) from poses in the parent, which `local` has for a block of frames.

    Parents may stand after their children. NaN in a bone is NaN in all that hangs on it.
    """
    m, order = len(parent), order_parents_first(parent)
    R_world, p_world = empty((frames, m, 3, 3)), empty((frames, m, 3))
    for rows in blocks_of(frames, 2 * POSE_BYTES * m):
        R_parent_bone, p_parent_bone = local(rows)
        n = rows.stop - rows.start
        R, p = np.empty((m, n, 3, 3)), np.empty((m, n, 3))
        with np.errstate(invalid="ignore", over="ignore"):
            for k in order:
                up = parent[k]
                if up < 0:
                    R[k], p[k] = R_parent_bone[k], p_parent_bone[k]
                else:
                    np.matmul(R[up], R_parent_bone[k], out=R[k])
                    p[k] = p[up] + np.matmul(R[up], p_parent_bone[k][:, :, None])[:, :, 0]
        R_world[rows], p_world[rows] = np.moveaxis(R, 0, 1), np.moveaxis(p, 0, 1)
    return R_world, p_world


def order_parents_first(parent: Sequence[int]) -> list[int]:
    """Indices of the bones, every one after its parent; raises where they go in a circle."""
    children: dict[int, list[int]] = {}
    for k, up in enumerate(parent):
        children.setdefault(up, []).append(k)
    order = list(children.get(-1, ()))
    for k in order:
        order.extend(children.get(k, ()))
    if len(order) != len(parent):
        raise CondyleError("the hierarchy goes in a circle: a bone is among its own ancestors", code="bad-header")
    return order


def is_forest(parent: Ints) -> bool:
    """Whether every bone (m,) comes to a root by way of its parents."""
    at = parent
    for _ in range(len(parent).bit_length()):  # twice as many generations up in each round
        at = np.where(at >= 0, at[at], -1)
    return bool((at < 0).all())
