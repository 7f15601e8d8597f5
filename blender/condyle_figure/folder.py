"""The folder of a fit as numpy arrays: skeleton.json and motion.npz, without condyle itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Z95 = 1.959964  # half a 95 % interval over a standard deviation
TURNS = {  # world axis that points up: the rotation that makes it z, which is up in Blender
    "x": [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
    "-x": [[0, 1, 0], [0, 0, -1], [-1, 0, 0]],
    "y": [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
    "-y": [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
    "z": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "-z": [[1, 0, 0], [0, -1, 0], [0, 0, -1]],
}


class FolderError(Exception):
    """What is wrong with a folder, in one sentence."""


@dataclass(frozen=True)
class Joint:
    """A joint, named by its child: p_child, p_parent (3,) [m] in its two bodies; half [m] of its 95 % interval where it
    is widest, None where it is not determined.
    """

    child: str
    parent: str
    kind: str
    p_child: np.ndarray
    p_parent: np.ndarray
    half: float | None


@dataclass(frozen=True)
class Mark:
    """A finding at a moment [s] of the take."""

    time: float
    code: str
    text: str


@dataclass(frozen=True)
class FitFolder:
    """A figure in motion, z up, in metres and seconds.

    measured, played  (n, m, 4, 4) poses of the bodies in the world; NaN where not known
    time              (n,) from the first frame on; rate [Hz]
    """

    name: str
    bodies: tuple[str, ...]
    joints: tuple[Joint, ...]
    marks: tuple[Mark, ...]
    measured: np.ndarray
    played: np.ndarray
    time: np.ndarray
    rate: float


def read_folder(path: str | Path) -> FitFolder:
    """The fit in a folder, or in the folder of its skeleton.json."""
    place = Path(path)
    folder = place if place.is_dir() else place.parent
    skeleton = _read_skeleton(folder / "skeleton.json")
    names = tuple(skeleton["bodies"])
    arrays = _read_motion(folder / "motion.npz", skeleton)
    order = [list(arrays["names"]).index(name) for name in names]
    turn = np.array(TURNS.get(skeleton["conventions"].get("up") or "z", TURNS["z"]), float)
    time = np.asarray(arrays["time"], float)
    steps = np.diff(time)
    rate = 1 / float(np.median(steps[steps > 0])) if (steps > 0).any() else 100.0
    return FitFolder(
        folder.resolve().name,
        names,
        tuple(_joint(one) for one in skeleton["joints"]),
        tuple(_marks(skeleton["findings"], float(time[0]))),
        _poses(arrays["R_world_body"][:, order], arrays["p_world_body"][:, order], turn),
        _poses(_played_turns(arrays)[:, order], arrays["p_world_played"][:, order], turn),
        time - time[0],
        rate,
    )


def _read_skeleton(path: Path) -> dict:
    try:
        skeleton = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FolderError(f"{path} cannot be read ({error}); choose the folder that condyle fit -o wrote") from None
    if not isinstance(skeleton, dict) or skeleton.get("format") != "condyle.skeleton":
        raise FolderError(f"{path} is no skeleton.json of condyle; choose the folder that condyle fit -o wrote")
    return skeleton


def _read_motion(path: Path, skeleton: dict) -> dict:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        for name in ("names", "R_world_body", "p_world_body", "p_world_played"):
            arrays[name]
        _played_turns(arrays)
    except (OSError, ValueError, KeyError) as error:
        raise FolderError(f"{path} cannot be read ({error}); write it anew with condyle fit -o") from None
    if "fit_id" in arrays and skeleton.get("fit_id") not in (None, str(arrays["fit_id"])):
        raise FolderError(f"{path} is of another fit than the skeleton.json beside it; write both with one fit")
    frames = len(arrays["p_world_body"])
    if frames == 0:
        raise FolderError(f"{path} has no frame")
    return {"time": np.arange(frames) / 100.0, **arrays}


def _played_turns(arrays: dict) -> np.ndarray:
    """Matrices (n, m, 3, 3) of the figure, which files have as quaternions wxyz, and older ones as they are."""
    if "q_world_played" not in arrays:
        return arrays["R_world_played"]
    w, x, y, z = np.moveaxis(np.asarray(arrays["q_world_played"], float), -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _joint(one: dict) -> Joint:
    covariance = one.get("covariance")
    half = None
    if covariance is not None:
        parts = np.array(covariance, float)
        largest = max(float(np.linalg.eigvalsh(part)[-1]) for part in (parts[:3, :3], parts[3:, 3:]))
        half = Z95 * float(np.sqrt(max(largest, 0.0)))
    ends = np.array(one["p_child_joint"], float), np.array(one["p_parent_joint"], float)
    return Joint(one["child"], one["parent"], one["kind"], *ends, half)


def _marks(findings: list[dict], begin: float) -> list[Mark]:
    """What is to be looked at and has a moment, and what an operator marked."""
    timed = [one for one in findings if one.get("time") and (one["severity"] != "info" or one["code"] == "mark")]
    return [Mark(float(one["time"][0]) - begin, one["code"], one["text"]) for one in timed]


def _poses(R: np.ndarray, p: np.ndarray, turn: np.ndarray) -> np.ndarray:
    poses = np.zeros((*p.shape[:2], 4, 4))
    poses[..., :3, :3] = turn @ R
    poses[..., :3, 3] = p @ turn.T
    poses[..., 3, 3] = 1.0
    return poses
