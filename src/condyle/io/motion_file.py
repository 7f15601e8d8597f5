"""motion.npz back from the folder that a fit wrote."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CondyleError
from ..model.motion import Motion
from ..model.skeleton import Skeleton
from ..model.take import UNTIMED_RATE, Take
from ..motion.play import play
from .skeleton_file import read_skeleton

_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, OSError)
_NEEDED = ("names", "R_world_played", "p_world_played")


def read_motion(path: str | Path, skeleton: Skeleton | None = None) -> Motion:
    """The motion in the folder of a fit, given as the folder or as the skeleton.json in it.

    It belongs to the skeleton there, or to the given one, which must have the same bodies. What the file holds are
    played poses; they have no gaps at the joints, so that `forward` returns them as they are.
    """
    folder = Path(path) if Path(path).is_dir() else Path(path).parent
    skeleton = read_skeleton(path) if skeleton is None else skeleton
    file = folder / "motion.npz"
    if not file.is_file():
        raise CondyleError(
            "there is no motion.npz beside skeleton.json; write both with condyle fit -o", code="no-motion", path=folder
        )
    arrays = _arrays(file)
    n = len(arrays["R_world_played"])
    try:
        played = Take(
            tuple(arrays["names"].astype(str).tolist()),
            arrays.get("time", np.arange(n) / UNTIMED_RATE),
            arrays["R_world_played"],
            arrays["p_world_played"],
            arrays.get("segment", np.zeros(n, np.int64)),
            "time" in arrays,
            tuple(skeleton.take.get("sources", ())),
            up=skeleton.conventions.get("up"),
        )
    except CondyleError as error:
        raise error.at(file) from None
    if set(played.names) != set(skeleton.bodies):
        raise CondyleError(
            f"holds the bodies {', '.join(played.names)}, the skeleton {', '.join(skeleton.bodies)}; fit them anew",
            code="bodies-differ",
            path=file,
        )
    return play(skeleton, played, longest_gap=0.0)


def _arrays(file: Path) -> dict[str, Any]:
    """The arrays that make a motion; nothing in the file is ever unpickled."""
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            there = [name for name in (*_NEEDED, "time", "segment") if name in archive.files]
            arrays = {name: archive[name] for name in there}
    except _DAMAGE as error:
        raise CondyleError(
            f"is cut short or damaged ({error}); write it anew with condyle fit", code="damaged-file", path=file
        ) from None
    missing = [name for name in _NEEDED if name not in arrays]
    if missing:
        raise CondyleError(
            f"no array '{missing[0]}'; write it anew with condyle fit -o", code="missing-array", path=file
        )
    return arrays
