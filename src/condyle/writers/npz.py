"""condyle's NPZ: the poses bit for bit."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..take import Take
from .._atomic import atomic


def write_take_npz(path: str | os.PathLike[str], take: Take) -> None:
    """Writes names, time [s], R_world_body, p_world_body [m] and segment; NaN where not seen.

    Time that was made up from a count of frames is not written, nor is a single segment.
    """
    arrays: dict[str, Any] = {
        "names": np.array(take.names, dtype=np.str_),
        "R_world_body": take.R_world_body,
        "p_world_body": take.p_world_body,
    }
    if take.timed:
        arrays["time"] = take.time
    if take.segment.any():
        arrays["segment"] = take.segment
    with atomic(path) as stream:
        np.savez(stream, **arrays)
