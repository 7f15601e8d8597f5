"""Rigid clusters found in the motion of the markers themselves: a first draft of a bodies.toml.

Markers whose distances stay are joined first. Two groups become one body as long as that fits hardly worse than they
fit alone: the threshold is the groups' own fit error, so that skin and steel are both judged by their own measure.
Segments that do not move against each other cannot be told apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ..maths.arrays import Bools, Floats, Ints, evenly, freeze_array
from ..model.values import dataclass
from .marker_names import is_mere_number
from .shapes import extent, find_seen, fit_error, fit_poses, fit_shape

PROPOSED_FROM_FRAMES = 2000  # frames looked at, fewer for many markers
MARKER_MOST_DISTANCES = 4 * 10**7  # distances looked at in all
FITTED_FRAMES = 400  # frames that a group is fitted to
SEEN_TOGETHER_MIN_FRAMES = 20  # frames in which two markers must be seen together to be joined
TRIMMED_SHARE = 0.02  # share of frames at each end that may be ghosts or swaps
SAME_BODY_MAX_TIMES = 1.3  # times the fit error of the parts that two bodies may have as one
SAME_MARKER_MAX_TIMES = 2.0  # times the fit error of a body that it may have with one or two markers more
NO_DIFFERENCE_SHARE = 0.02  # of the usual change of distance over all pairs: below it no difference in fit counts
RIGID_MAX_SHARE = 0.08  # fit error over size that a body may have
FLAT_MAX_RATIO = 0.1  # width over length below which a group is no body: its turn about the line is not seen
UNTRIED_MIN_TIMES = 4.0  # times what may be accepted: change of distance at which no fit is tried


@dataclass(frozen=True)
class Proposal:
    """A body that the motion suggests.

    name     common beginning of its markers' names, or body1, body2, ...
    markers  names of its markers
    error    root mean square error of its fit per marker and axis, in the unit of the markers
    size     root mean square distance of its markers from their mean, likewise
    """

    name: str
    markers: tuple[str, ...]
    error: float
    size: float


@dataclass(frozen=True, eq=False)
class _MarkerGroup:
    columns: tuple[int, ...]
    error: float
    size: float

    @property
    def free(self) -> int:
        """Numbers of a frame that its pose does not use up."""
        return 3 * len(self.columns) - 6


def propose_bodies(markers: Floats, names: Sequence[str]) -> list[Proposal]:
    """Bodies of three markers or more that markers (n, k, 3) move as, NaN where not seen; k names.

    In the order of their first markers. A marker that fits no body is in none.
    """
    position = freeze_array(markers, (None, len(names), 3), "markers")
    rows = evenly(
        len(position),
        max(SEEN_TOGETHER_MIN_FRAMES, min(PROPOSED_FROM_FRAMES, MARKER_MOST_DISTANCES // max(len(names), 1) ** 2)),
    )
    cloud = position[rows]
    seen = find_seen(cloud)
    columns = np.flatnonzero(seen.sum(axis=0) >= SEEN_TOGETHER_MIN_FRAMES)
    if len(columns) < 3:
        return []
    cloud = cloud[:, columns]
    groups = sorted(_grow_groups(cloud), key=lambda group: group.columns)
    members = [tuple(str(names[columns[k]]) for k in group.columns) for group in groups]
    titles = _titles(members)
    return [
        Proposal(title, one, group.error, group.size) for title, one, group in zip(titles, members, groups, strict=True)
    ]


def distance_changes(cloud: Floats) -> tuple[Floats, Floats]:
    """(k, k) standard deviation over time of the distance of each pair, inf if hardly ever seen; and mean distances.

    Both without the extremes.
    """
    n, k = cloud.shape[:2]
    change, length = np.full((k, k), np.inf), np.zeros((k, k))
    order = np.arange(n)[:, None]
    for i in range(k - 1):
        with np.errstate(over="ignore", invalid="ignore"):  # of damaged files; what is not finite does not count
            apart = np.linalg.norm(cloud[:, i + 1 :] - cloud[:, i, None], axis=2)
        apart = np.sort(np.where(np.isfinite(apart), apart, np.nan), axis=0)  # NaN goes last
        count = np.isfinite(apart).sum(axis=0)
        cut = (TRIMMED_SHARE * count).astype(int)
        keep = (order >= cut) & (order < count - cut)
        total = np.maximum(keep.sum(axis=0), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.where(keep, apart, 0.0).sum(axis=0) / total
            variance = (np.where(keep, apart - mean, 0.0) ** 2).sum(axis=0) / total
        change[i, i + 1 :] = change[i + 1 :, i] = np.where(count >= SEEN_TOGETHER_MIN_FRAMES, np.sqrt(variance), np.inf)
        length[i, i + 1 :] = length[i + 1 :, i] = mean
    return change, length


def _grow_groups(cloud: Floats) -> list[_MarkerGroup]:
    """Bodies by joining what changes its distance least, as long as it fits."""
    changes, lengths = distance_changes(cloud)
    known = changes[np.isfinite(changes)]
    if not len(known):
        return []
    noise = NO_DIFFERENCE_SHARE * float(np.median(known))
    thin = cloud[evenly(len(cloud), FITTED_FRAMES)]
    bodies: dict[int, list[_MarkerGroup]] = {k: [] for k in range(cloud.shape[1])}
    for node, (first, second, height, columns) in enumerate(_joins(changes), start=cloud.shape[1]):
        parts = bodies.pop(first) + bodies.pop(second)
        size = float(np.sqrt((lengths[np.ix_(columns, columns)] ** 2).mean() / 2))
        whole = _join_group(thin, columns, parts, height, noise, RIGID_MAX_SHARE * size)
        bodies[node] = parts if whole is None else [whole]
    return [group for groups in bodies.values() for group in groups]


def _join_group(
    cloud: Floats, columns: tuple[int, ...], parts: list[_MarkerGroup], height: float, noise: float, limit: float
) -> _MarkerGroup | None:
    """These markers as one body, or None where they fit worse than `limit`, or clearly worse than their parts."""
    if len(columns) < 3 or not limit:  # markers that all lie at one place have no size
        return None
    if parts:
        free = sum(part.free for part in parts)
        pooled = float(np.sqrt(sum(part.error**2 * part.free for part in parts) / free))
        limit = min(limit, (SAME_BODY_MAX_TIMES if len(parts) > 1 else SAME_MARKER_MAX_TIMES) * max(pooled, noise))
    if height > UNTRIED_MIN_TIMES * limit:
        return None
    whole = _fit_group(cloud, columns)
    return whole if whole is not None and whole.error <= limit else None


def _fit_group(cloud: Floats, columns: tuple[int, ...]) -> _MarkerGroup | None:
    """A group with its fit error over all frames but the worst, or None where it has no pose."""
    points = cloud[:, list(columns)]
    shape = fit_shape(points)
    if shape.placed.sum() < len(columns):
        return None
    length, width = extent(shape.points)
    error = np.sort(fit_error(points, shape, *fit_poses(points, shape)))
    error = error[np.isfinite(error)]
    if width < FLAT_MAX_RATIO * length or not len(error):
        return None
    usual = error[: int(np.ceil((1 - TRIMMED_SHARE) * len(error)))]  # ghosts and swaps are at the far end
    return _MarkerGroup(tuple(sorted(columns)), float(np.sqrt((usual**2).mean())), shape.size)


def _joins(changes: Floats) -> list[tuple[int, int, float, tuple[int, ...]]]:
    """Steps (node, node, height, columns) in which groups are joined; the new nodes are numbered on from k.

    The two are joined whose pairs change least, by the root mean square over the pairs between them.
    """
    k = len(changes)
    square = changes**2
    np.fill_diagonal(square, np.inf)
    label: Ints = np.arange(k)
    size = np.ones(k)
    members: dict[int, tuple[int, ...]] = {i: (i,) for i in range(k)}
    alive: Bools = np.ones(k, dtype=bool)
    steps = []
    for node in range(k, 2 * k - 1):
        i, j = divmod(int(np.argmin(square)), k)
        if not np.isfinite(square[i, j]):
            break
        a, b, height = int(label[i]), int(label[j]), float(np.sqrt(square[i, j]))
        members[node] = members.pop(a) + members.pop(b)
        steps.append((a, b, height, members[node]))
        between = (size[i] * square[i] + size[j] * square[j]) / (size[i] + size[j])
        alive[j] = False
        square[i] = square[:, i] = np.where(alive, between, np.inf)
        square[i, i] = np.inf
        square[j] = square[:, j] = np.inf
        size[i] += size[j]
        label[i] = node
    return steps


def _titles(members: Sequence[tuple[str, ...]]) -> list[str]:
    """A different name for each body: what its markers' names begin with, else a number."""
    found = [_find_beginning(one) for one in members]
    return [
        title if title and found.count(title) == 1 else f"body{number}" for number, title in enumerate(found, start=1)
    ]


def _find_beginning(names: Sequence[str]) -> str:
    """The common beginning of names without their subject; nothing where it is a letter or less, which is a side and no
    segment, or where the names only count.
    """
    plain = [name.rpartition(":")[2].strip() for name in names]
    shared = ""
    for letters in zip(*plain, strict=False):
        if len(set(letters)) > 1:
            break
        shared += letters[0]
    shared = re.sub(r"[\W_]+$", "", re.sub(r"(?<=[^\W\d_])\d+$", "", shared))
    return shared if len(re.findall(r"[^\W\d_]", shared)) >= 2 and not all(map(is_mere_number, plain)) else ""
