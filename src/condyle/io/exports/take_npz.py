"""condyle's NPZ: the poses bit for bit."""

from __future__ import annotations

import os
from contextlib import nullcontext
from typing import IO, Any

import numpy as np

from ...maths.arrays import Floats
from ...model.skeleton import Skeleton
from ...model.take import Take
from ..atomic import open_atomic


def write_take_npz(path: str | os.PathLike[str] | IO[bytes], take: Take, fit_id: str | None = None) -> None:
    """Writes names, time [s], R_world_body, p_world_body [m] and segment; NaN where not seen.

    Time that was made up from a count of frames is not written, nor is a single segment.
    """
    with open_atomic(path) if isinstance(path, str | os.PathLike) else nullcontext(path) as stream:
        np.savez(stream, **_take_arrays(take, fit_id))


def write_motion_npz(
    path: str | os.PathLike[str], take: Take, gap: Floats, weight: Floats, skeleton: Skeleton, played: Take
) -> None:
    """Writes a take as `write_take_npz` does, the poses that were played through the skeleton, and what a calibration
    left over.

    R_world_played  (n, m, 3, 3)   the pose of every body with no gap at any joint; NaN where not known
    p_world_played  (n, m, 3) [m]
    joints  (J,)            the joints, each named by its child
    gap     (n, J, 3) [m]   world vector between the two sides of the joint; NaN where not seen
    weight  (n, J)    [-]   how much each gap counted; seen (n, m): which poses were there
    fit_id  ()              of the fit, as in skeleton.json; left out where the skeleton has none
    """
    arrays = _take_arrays(take, skeleton.fit_id)
    arrays["R_world_played"], arrays["p_world_played"] = played.R_world_body, played.p_world_body
    arrays["joints"] = np.array([joint.child for joint in skeleton.joints], dtype=np.str_)
    arrays["gap"], arrays["weight"], arrays["seen"] = gap, weight, take.seen
    with open_atomic(path) as stream:
        np.savez(stream, **arrays)


def _take_arrays(take: Take, fit_id: str | None) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "names": np.array(take.names, dtype=np.str_),
        "R_world_body": take.R_world_body,
        "p_world_body": take.p_world_body,
    }
    if take.timed:
        arrays["time"] = take.time
    if take.segment.any():
        arrays["segment"] = take.segment
    if fit_id is not None:
        arrays["fit_id"] = np.array(fit_id, dtype=np.str_)
    return arrays
