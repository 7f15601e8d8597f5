"""What the estimator reads of a take: rows of mean poses in the place of frames, with their noise and their sums."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..maths.arrays import Bools, Floats, Ints
from ..maths.spool import blocks_of, empty, over_frames
from ..model.values import dataclass
from .digest import Digest, digest_take, is_all_trusted
from .fits import PairFits, fit_pairs
from .noise import Noise
from .sums import PairSums, keep_stack, sum_pairs, sum_row_pairs

if TYPE_CHECKING:
    from ..model.take import Take


@dataclass(frozen=True, eq=False)
class RowTake:
    """Rows of a take, or its frames where a row is one.

    source   the take itself
    good     (n, m) poses of it that are trusted
    take     N rows in the place of its frames; what is not seen or not trusted is NaN
    noise    white noise of the sensors in a frame
    digest   that they came from; None: rows are frames
    """

    source: Take
    good: Bools
    take: Take
    noise: Noise
    digest: Digest | None

    @property
    def every(self) -> int:
        """Frames in a row."""
        return 1 if self.digest is None else self.digest.every

    @cached_property
    def sums(self) -> PairSums:
        """Of all pairs of bodies."""
        return sum_pairs(self.take) if self.digest is None else self.digest.sums

    @cached_property
    def fits(self) -> PairFits:
        """Closed-form joints of all pairs of bodies."""
        return fit_pairs(self.sums) if self.digest is None else self.digest.fits

    def sum_masked(self, good: Bools, pairs: Ints) -> PairSums:
        """Of pairs (P, 2), side by side, over rows (N, m) to trust."""
        if self.digest is None:
            return sum_pairs(self.take.mask(~good))[pairs[:, 0], pairs[:, 1]]
        return sum_row_pairs(self.digest.pose, self.digest.seen & good, pairs)

    def steps(
        self, joint: tuple[Ints, Floats, Floats], white: float, scale: float, before: Ints, after: Ints
    ) -> Floats:
        """(k,) [m] largest change from one frame to the next of a joint's gap, from the begin of rows `before` (k,) to
        the end of rows `after`; as large as it would be if frames had no more noise than rows.

        joint   (2,) its pair, and (3,) its centre in either;  white [m^2] per axis noise of its gap in a frame
        scale   [m] per axis size of its gap in rows
        """
        assert self.digest is not None
        first, stop = self.digest.first[before], self.digest.first[after] + self.digest.count[after]
        step = np.arange(int((stop - first).max(initial=0)))
        frames = np.minimum(first[:, None] + step, stop[:, None] - 1)
        (i, j), c, l = joint
        R, p = self.source.R_world_body, self.source.p_world_body
        gap = R[frames, i] @ c + p[frames, i] - R[frames, j] @ l - p[frames, j]
        change = np.sqrt(np.square(np.diff(gap, axis=1)).sum(axis=2))
        largest = np.where(np.isfinite(change), change, 0.0).max(axis=1, initial=0.0)
        return np.asarray(largest / np.sqrt(1 + (1 - 1 / self.every) * white / max(scale**2, 1e-300)))

    def to_frames(self, weight: Floats, pairs: Ints) -> Floats | FrameWeights:
        """(n, J) weights of rows (N, J) for each of their frames; 0 where one of the pair (J, 2) is not trusted."""
        return weight if self.digest is None else FrameWeights(weight, self.digest.first, self.good, pairs)


class FrameWeights:
    """(n, J) how much the gaps of joints count in each frame: as in its row (N, J), 0 where one of two bodies is not to
    be trusted (n, m). They are made for the frames that are asked for; as an array, for all.
    """

    def __init__(self, weight: Floats, first: Ints, good: Bools, pairs: Ints) -> None:
        """first  (N,) frame of each row."""
        self._weight, self._first, self._good, self._ends = weight, first, good, pairs.T
        self.shape, self.itemsize = (len(good), len(pairs)), weight.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, frames: slice) -> Floats:
        number = np.arange(*frames.indices(len(self)))
        row = np.searchsorted(self._first, number, "right") - 1
        good, (i, j) = self._good[frames], self._ends
        return np.where(good[:, i] & good[:, j], self._weight[row], 0.0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Floats:
        out = empty(self.shape)
        for frames in blocks_of(len(self), 2 * self.itemsize * self.shape[1]):
            out[frames] = self[frames]
        return out


def read_rows(take: Take, good: Bools | None = None, frames: bool = False) -> RowTake:
    """The rows of a take; good (n, m): poses to trust, all that are seen by default; frames: those themselves."""
    whole = good is None or is_all_trusted(take, good)
    sound = take.seen if good is None or whole else over_frames(np.logical_and, good, take.seen)
    digest = digest_take(take, None if whole else good)
    if frames or digest.every == 1:
        return RowTake(take, sound, take if whole else take.mask(~sound), digest.noise, None)
    rows = digest.as_take(take)
    keep_stack(rows, digest.stack, digest.gram)
    return RowTake(take, sound, rows, digest.noise, digest)
