"""condyle's NPZ: a take bit for bit, and the motion of a fit in the precision that its noise leaves."""

from __future__ import annotations

import os
import zipfile
from contextlib import nullcontext
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...maths import rotation
from ...maths.arrays import Floats
from ...maths.spool import blocks, over_frames
from ...model.skeleton import Skeleton
from ...model.take import WORLD, Take
from ..atomic import open_atomic

# Rounding of single precision over the noise of the quietest sensor, up to which poses are written so: added to the
# noise as squares, a hundredth is 0.005 % of it.
SINGLE_MAX_NOISE_SHARE = 0.01
SINGLE_ROUNDING = 2.0**-24  # of a number


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
    left over. Numbers per frame and body are of single precision where that is nothing against the sensors' noise.

    q_world_played  (n, m, 4)      the pose of every body with no gap at any joint, as unit quaternions wxyz, for with
    p_world_played  (n, m, 3) [m]  matrices the file would be larger than the poses that it came from; NaN: not known
    joints  (J,)            the joints, each named by its child
    gap     (n, J, 3) [m]   world vector between the two sides of the joint; NaN where not seen
    weight  (n, J)    [-]   how much each gap counted; seen (n, m): which poses were there
    fit_id  ()              of the fit, as in skeleton.json; left out where the skeleton has none
    """
    arrays = _take_arrays(take, skeleton.fit_id)
    arrays["q_world_played"] = over_frames(rotation.to_quaternion, played.R_world_body)
    arrays["p_world_played"] = played.p_world_body
    arrays["joints"] = np.array([joint.child for joint in skeleton.joints], dtype=np.str_)
    arrays["gap"], arrays["weight"], arrays["seen"] = gap, weight, take.seen
    single = _is_single_enough(take, skeleton)
    with open_atomic(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            round_off = single and array.ndim > 1 and array.dtype == np.float64
            _write_member(archive, name, array, np.dtype(np.float32) if round_off else array.dtype)


def _is_single_enough(take: Take, skeleton: Skeleton) -> bool:
    """Whether rounding poses to single precision is nothing against the noise of every sensor."""
    noise = [one for one in skeleton.noise if one.body != WORLD]
    farthest = max(
        (float(np.nanmax(np.abs(take.p_world_body[rows]), initial=0.0)) for rows in blocks(take.p_world_body)),
        default=0.0,
    )
    place, turn = (min((getattr(one, name) for one in noise), default=0.0) for name in ("position", "orientation"))
    return bool(
        SINGLE_ROUNDING * farthest <= SINGLE_MAX_NOISE_SHARE * place
        and SINGLE_ROUNDING <= SINGLE_MAX_NOISE_SHARE * turn
    )


def _write_member(archive: zipfile.ZipFile, name: str, array: NDArray[Any], dtype: np.dtype[Any]) -> None:
    """Writes an array as numpy does, in blocks, and with numbers of another type where that is asked for."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        head = {"descr": npy.dtype_to_descr(dtype), "fortran_order": False, "shape": array.shape}
        npy.write_array_header_1_0(member, head)
        for rows in blocks(array) if array.ndim else [...]:
            member.write(np.ascontiguousarray(array[rows], dtype).tobytes())


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
