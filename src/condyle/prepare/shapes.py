"""Rigid clusters of points: the shape of one from its motion, and its pose in every frame.

Points that are not seen are NaN. Nothing here has a unit: lengths come out as they went in. All points count alike:
weights from how steady each point is made joints on skin come further apart, not less far.
"""

from __future__ import annotations

import numpy as np

from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, distinct, evenly, freeze_array
from ..maths.robust import median, robust_sd
from ..maths.spool import blocks, empty, over_frames
from ..model.values import dataclass

SHAPE_FRAMES = 2000  # frames that a shape is learnt from: its error is then a fortieth of one frame's
RARE_FRAMES = 50  # frames of the sample in which a point must be seen, if it is seen in so many at all
MOST_SWEEPS = 15  # of fitting poses to the shape and the shape to the poses, at most; three are usual
SETTLED_SHARE = 3e-5  # change of the shape, over its size, at which the sweeps end
LINE_MAX_RATIO = 0.02  # width over length of points below which the turn about their line is not observed
VAGUE_MIN_RAD = 0.2  # rad: error of that turn above which it is not observed either


@dataclass(frozen=True, eq=False)
class Shape:
    """A rigid cluster of k points.

    points  (k, 3)  in the cluster's own axes, origin in their mean; NaN for a point that was never placed
    noise           standard deviation of a point per axis, usual over frames
    """

    points: Floats
    noise: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "points", freeze_array(self.points, (None, 3), "points"))

    @property
    def placed(self) -> Bools:
        return np.asarray(np.isfinite(self.points).all(axis=1))

    @property
    def size(self) -> float:
        """Root mean square distance of the points from their mean."""
        known = self.points[self.placed]
        return float(np.sqrt((known**2).sum(axis=1).mean())) if len(known) else 0.0

    def is_observed(self, seen: Bools) -> bool:
        """Whether these points (k,) show every turn: three or more, and not on a line."""
        if seen.sum() < 3:
            return False
        length, width = extent(self.points[seen])
        return width > LINE_MAX_RATIO * length and self.noise < VAGUE_MIN_RAD * width

    def turn(self, R: Floats) -> Shape:
        """The same shape in axes that are the columns of R."""
        return Shape(self.points @ R, self.noise)


def find_seen(cloud: Floats) -> Bools:
    """(n, k) True where a point is seen."""
    return over_frames(lambda part: np.isfinite(part[..., 0] + part[..., 1] + part[..., 2]), cloud)


def fit_shape(cloud: Floats) -> Shape:
    """The shape of points (n, k, 3) that move as one body, from medians over frames: wrong frames do not bend it."""
    seen = find_seen(cloud)
    rows = _sample(seen)
    cloud, seen = cloud[rows], seen[rows]
    if not len(cloud):
        return Shape(np.full(cloud.shape[1:], np.nan))
    shape = Shape(_centre(cloud[_typical(cloud, seen)]))
    for _ in range(MOST_SWEEPS):
        R, p = fit_poses(cloud, shape, seen & shape.placed)
        if np.isnan(p).all():
            break
        before, points = shape, _centre(median((cloud - p[:, None]) @ R, np.nan))
        # Each sweep also turns the shape a little as a whole, without end; that is no change.
        shape = Shape(points @ _find_turn(points, before))
        both = before.placed & shape.placed
        change = np.abs(shape.points - before.points)[both].max(initial=0.0)
        if (before.placed == shape.placed).all() and change < SETTLED_SHARE * shape.size:
            break
    use = seen & shape.placed
    error = fit_error(cloud, shape, *fit_poses(cloud, shape, use), use)
    return Shape(shape.points, float(median(error)))


def fit_poses(cloud: Floats, shape: Shape, use: Bools | None = None) -> tuple[Floats, Floats]:
    """R (n, 3, 3) and p (n, 3) that carry the shape onto points (n, k, 3) by least squares (Kabsch).

    NaN where fewer than three points are seen, or where those seen leave the turn about their line open.
    use  (n, k) points that count, of those that are seen and placed; None: all of them
    """
    R, p = empty((len(cloud), 3, 3)), empty((len(cloud), 3))
    for rows in blocks(cloud):
        seen = find_seen(cloud[rows]) & shape.placed if use is None else use[rows]
        R[rows], p[rows] = _fit_block(cloud[rows], shape, seen)
    return R, p


def _fit_block(cloud: Floats, shape: Shape, seen: Bools) -> tuple[Floats, Floats]:
    """`fit_poses` of some frames, in which points (n, k) count: those in which the same points do at once."""
    if seen.all():
        return _fit_alike(cloud, shape, np.ones(len(shape.points), bool))
    R, p = np.empty((len(cloud), 3, 3)), np.empty((len(cloud), 3))
    kinds, which = _patterns(seen)
    order = np.argsort(which, kind="stable")
    for kind, rows in zip(kinds, np.split(order, np.cumsum(np.bincount(which))[:-1]), strict=True):
        R[rows], p[rows] = _fit_alike(cloud[rows], shape, kind)
    return R, p


def _fit_alike(cloud: Floats, shape: Shape, seen: Bools) -> tuple[Floats, Floats]:
    """`fit_poses` of frames in all of which the points `seen` (k,) count."""
    n = len(cloud)
    if not shape.is_observed(seen):
        return np.full((n, 3, 3), np.nan), np.full((n, 3), np.nan)
    known = shape.points[seen]
    middle = known.mean(axis=0)
    x = cloud if seen.all() else cloud[:, seen]
    centre = np.einsum("nki->ni", x) / len(known)
    # Both sides are centred before the product: a far origin would cost digits. It is one with a large matrix, since
    # numpy would multiply small ones one by one.
    R = rotation.project(((x - centre[:, None]).reshape(n, 3 * len(known)) @ _spread(known - middle)).reshape(n, 3, 3))
    return R, centre - rotation.carry(R, middle)


def _find_turn(points: Floats, shape: Shape) -> Floats:
    """R (3, 3) of the pose that carries the shape onto points (k, 3), as `fit_poses` has it; none where it is open."""
    both = np.isfinite(points).all(axis=1) & shape.placed
    if not shape.is_observed(both):
        return np.eye(3)
    near, far = shape.points[both], points[both]
    U, _, Vt = np.linalg.svd((far - far.mean(axis=0)).T @ (near - near.mean(axis=0)))
    U[:, 2] *= np.sign(np.linalg.det(U @ Vt))
    return np.asarray(U @ Vt)


def _spread(points: Floats) -> Floats:
    """(3 k, 9) that takes k points (3 k,) to the sum of their products (9,) with these points (k, 3)."""
    return np.asarray(np.einsum("ab,kj->kabj", np.eye(3), points).reshape(-1, 9))


def fit_error(cloud: Floats, shape: Shape, R: Floats, p: Floats, use: Bools | None = None) -> Floats:
    """(n,) noise per axis that would leave what the fit leaves over in each frame; NaN where there is no pose.

    Six of a frame's 3k numbers went into its pose, so that frames with few and with many points compare.
    """
    seen = find_seen(cloud) & shape.placed if use is None else use
    total = sum_squares(cloud, shape, R, p, seen)
    return np.where(np.isnan(p[:, 0]), np.nan, np.sqrt(total / count_free(seen)))


def count_free(seen: Bools) -> Ints:
    """(n,) of the numbers of points that count (n, k), those that are left once their pose is fitted."""
    return np.asarray(np.maximum(3 * count_seen(seen) - 6, 1))


def count_seen(seen: Bools) -> Ints:
    """(n,) how many points count (n, k) in each frame; where all do, without adding up short rows one by one."""
    return np.full(len(seen), seen.shape[1]) if seen.all() else np.asarray(seen.sum(axis=1))


def sum_squares(cloud: Floats, shape: Shape, R: Floats, p: Floats, use: Bools) -> Floats:
    """(n,) squared distances of the points that count (n, k) from where the posed shape has them."""

    known = np.where(shape.placed[:, None], shape.points, 0.0)

    def measure(cloud: Floats, R: Floats, p: Floats, use: Bools) -> Floats:
        apart = cloud - p[:, None]
        apart -= (R.reshape(-1, 9) @ _spread(known).T).reshape(apart.shape)
        if use.all():
            return np.asarray(np.einsum("nki,nki->n", apart, apart))
        return np.asarray(np.where(use, np.einsum("nki,nki->nk", apart, apart), 0.0).sum(axis=1))

    return over_frames(measure, cloud, R, p, use)


def extent(points: Floats) -> tuple[float, float]:
    """Length and width of points (k, 3): root sums of squares along their two longest axes."""
    values = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return float(values[0]), float(values[1])


def _measure_lengths(v: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("nki,nki->nk", v, v)))


def _centre(points: Floats) -> Floats:
    placed: Bools = np.asarray(np.isfinite(points).all(axis=1))
    return np.where(placed[:, None], points - points[placed].mean(axis=0), np.nan)


def _patterns(seen: Bools) -> tuple[Bools, Ints]:
    """The different rows of (n, k), and which of them each row is."""
    packed = np.packbits(seen, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, which = np.unique(rows, return_index=True, return_inverse=True)
    return seen[first], which.reshape(-1)


def _sample(seen: Bools) -> Ints:
    """Frames to learn from: evenly spread, and enough of those in which a seldom seen point is seen."""
    if seen.all() and seen.shape[1] >= 3:
        return evenly(len(seen), SHAPE_FRAMES)
    rows = np.flatnonzero(seen.sum(axis=1) >= 3)
    chosen = rows[evenly(len(rows), SHAPE_FRAMES)]
    scarce = np.flatnonzero(seen[chosen].sum(axis=0) < RARE_FRAMES)
    more = [rows[seen[rows, k]] for k in scarce]
    return distinct(np.concatenate([chosen, *(some[evenly(len(some), RARE_FRAMES)] for some in more)]))


def _typical(cloud: Floats, seen: Bools) -> int:
    """The frame to start from: one with as many pairs as can be at their usual distance, and nearest to it."""
    i, j = np.triu_indices(cloud.shape[1], 1)
    d = _measure_lengths(cloud[:, j] - cloud[:, i])
    apart, spread = robust_sd(d, np.nan)
    both = seen[:, i] & seen[:, j]
    off = np.where(both, np.abs(d - apart), 0.0)
    usual = (both & (off <= 3 * spread + 1e-3 * apart)).sum(axis=1)
    most = np.flatnonzero(usual == usual.max())
    return int(most[np.argmin(off[most].sum(axis=1))])
