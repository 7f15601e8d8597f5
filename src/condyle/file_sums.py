"""The sums of all frames of a long file, and whether the frames that a fit used speak for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from ._shapes import Floats, Ints
from .findings import Finding
from .skeleton import Skeleton
from .sums import PairSums

DIFFERS = 1.5  # gap of all frames over that of the sample, from which the sample does not speak for the file
ROUNDING = 1e-6  # of the distance between two sensors: gaps below it are rounding in the sums


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a file: sums of its frames, those of its frames in the sample alone, and its time [s] if it has one."""

    all: PairSums
    sample: PairSums
    time: tuple[float, float] | None

    def __add__(self, other: Part) -> Part:
        time = (self.time[0], other.time[1]) if self.time is not None and other.time is not None else None
        return Part(self.all + other.all, self.sample + other.sample, time)


@dataclass(frozen=True, eq=False)
class FileSums:
    """All `frames` of a file in parts, one after the other; `names` of its m bodies."""

    source: str
    names: tuple[str, ...]
    frames: int
    parts: tuple[Part, ...]


def find_differences(skeleton: Skeleton, file: FileSums) -> list[Finding]:
    """Joints that come apart more over all frames of a file than in its sample, and where.

    Compared is the plain root mean square, outliers and all, of the same joints on either side: sums know no weights.
    """
    joints = [joint for joint in skeleton.joints if joint.child in file.names and joint.parent in file.names]
    if not joints:
        return []
    pairs = np.array([(file.names.index(joint.child), file.names.index(joint.parent)) for joint in joints])
    c = np.stack([joint.p_child_joint for joint in joints]) / skeleton.scale  # the sums are of lengths as recorded
    l = np.stack([joint.p_parent_joint for joint in joints]) / skeleton.scale
    whole = reduce(add, file.parts)
    i, j = pairs.T
    with np.errstate(invalid="ignore", divide="ignore"):
        rms = np.sqrt(gap_squares(whole.all, pairs, c, l) / whole.all.frames[i, j])
        usual = np.sqrt(gap_squares(whole.sample, pairs, c, l) / whole.sample.frames[i, j])
        apart = np.sqrt(whole.all.dd[i, j] / whole.all.frames[i, j])
        differs = (rms > DIFFERS * usual) & (rms > ROUNDING * apart)
    excess = np.stack([gap_squares(part.all, pairs, c, l) - part.all.frames[i, j] * usual**2 for part in file.parts])
    return [
        _finding(file, joints[a].child, joints[a].parent, float(rms[a]), float(usual[a]), int(np.argmax(excess[:, a])))
        for a in np.flatnonzero(differs).tolist()
    ]


def _finding(file: FileSums, child: str, parent: str, rms: float, usual: float, worst: int) -> Finding:
    time = file.parts[worst].time
    where = "" if time is None else f", most of it between {time[0]:.6g} s and {time[1]:.6g} s"
    text = (
        f"{child}: over all {file.frames} frames of {file.source} its joint comes apart by {1e3 * rms:.3g} mm, "
        f"in those used by {1e3 * usual:.3g} mm{where}; "
        "look there for spikes or a sensor that was touched, or fit that stretch for itself"
    )
    return Finding("sample-differs", "warning", text, (child, parent), time, rms / max(usual, 1e-300), "1")


def gap_squares(sums: PairSums, pairs: Ints, p_child_joint: Floats, p_parent_joint: Floats) -> Floats:
    """(J,) [m^2] sum over frames of the squared gap of given joints, from sums alone."""
    i, j = np.asarray(pairs).T
    c, l, n = p_child_joint, p_parent_joint, sums.frames[i, j]
    own = n * (np.square(c).sum(axis=1) + np.square(l).sum(axis=1)) + sums.dd[i, j]
    cross = np.einsum("px,pxy,py->p", c, sums.M[i, j], l)
    cross += np.sum(sums.b[i, j] * c, axis=1) + np.sum(sums.b[j, i] * l, axis=1)
    return np.asarray(np.maximum(own - 2 * cross, 0.0))
