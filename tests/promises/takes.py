"""Takes written as the files of several programs, with what devices and programs do wrong; and the program run on them.

Orientations are written in every kind: matrices (NPZ, Polhemus, Qualisys), quaternions (CSV, VR log, column map) and
Euler angles (Ascension).
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from condyle import Take
from condyle.cli import main
from condyle.maths import rotation
from condyle.simulate import Disturbances, linkage, simulate
from tests.make.spoilt import euler_zyx

NOISE = Disturbances(position_noise=0.004, orientation_noise=np.radians(0.5))
RATE = 60.0  # Hz
SECONDS = 10.0


@cache
def linkage_take(seed: int = 3, seconds: float = SECONDS, noise: Disturbances = NOISE, rate: float = RATE) -> Take:
    """Six bodies, five joints, with the noise of a good tracker."""
    return simulate(linkage(), seconds=seconds, rate=rate, seed=seed, disturbances=noise).take


@dataclass(frozen=True, eq=False)
class Poses:
    """The numbers that go into a file: of n frames and m bodies, right or wrong.

    p (n, m, 3) [m]; R (n, m, 3, 3) whatever nine numbers; time (n,) [s]
    zeros (n, m) poses written as zeros in every number; scale (m,): of the lengths of quaternions
    """

    names: tuple[str, ...]
    time: np.ndarray
    p: np.ndarray
    R: np.ndarray
    zeros: np.ndarray = field(default=None)  # type: ignore[assignment]
    length: float | np.ndarray = 1.0

    @classmethod
    def of(cls, take: Take) -> Poses:
        return cls(take.names, take.time.copy(), take.p_world_body.copy(), take.R_world_body.copy())

    def but(self, **changes: Any) -> Poses:
        return replace(self, **changes)

    def rows(self, keep: Any) -> Poses:
        """These frames only."""
        zeros = None if self.zeros is None else self.zeros[keep]
        return replace(self, time=self.time[keep], p=self.p[keep], R=self.R[keep], zeros=zeros)

    def without(self, rows: Any, body: int) -> Poses:
        """The same with the poses of one body not seen in these rows."""
        return self.written(rows, body, np.nan)

    def written(self, rows: Any, body: int, number: float) -> Poses:
        """The same with one number in place of every number of these poses."""
        p, R = self.p.copy(), self.R.copy()
        p[rows, body], R[rows, body] = number, number
        return replace(self, p=p, R=R)

    def numbers(self, kind: str) -> np.ndarray:
        """(n, m, 3 + k) position and orientation as matrices row by row, wxyz, xyzw, or azimuth elevation roll."""
        R = np.where(np.isfinite(self.R), self.R, np.nan)
        if kind == "matrix":
            turn = R.reshape(*R.shape[:2], 9)
        elif kind == "ZYX":
            turn = np.degrees(euler_zyx(R))
        else:
            q = rotation.to_quaternion(R) * np.asarray(self.length)[..., None]
            turn = q if kind == "wxyz" else q[..., [1, 2, 3, 0]]
        out = np.concatenate([self.p, turn], axis=2)
        out[np.isinf(self.p).any(axis=2)] = np.inf
        if self.zeros is not None:
            out[self.zeros] = 0.0
        return out


def table(rows: np.ndarray, separator: str = ",") -> str:
    return "".join(separator.join(map(repr, row)) + "\n" for row in rows.tolist())


def flat(numbers: np.ndarray) -> np.ndarray:
    return numbers.reshape(len(numbers), -1)


def write_npz(folder: Path, poses: Poses) -> list[str]:
    p, R = poses.p.copy(), poses.R.copy()
    if poses.zeros is not None:
        p[poses.zeros], R[poses.zeros] = 0.0, 0.0
    np.savez(folder / "take.npz", names=list(poses.names), time=poses.time, R_world_body=R, p_world_body=p)
    return [str(folder / "take.npz")]


def csv_text(poses: Poses, order: str = "wxyz") -> str:
    head = [
        "time",
        *(f"{name}.{part}" for name in poses.names for part in ("px", "py", "pz", *(f"q{x}" for x in order))),
    ]
    stated = f"# condyle take 1\n# frames: {len(poses.time)}\n# length: m\n# quaternion: {order}\n"
    rows = np.column_stack([poses.time, flat(poses.numbers(order))])
    return stated + ",".join(head) + "\n" + table(rows)


def write_csv(folder: Path, poses: Poses) -> list[str]:
    (folder / "take.csv").write_text(csv_text(poses))
    return [str(folder / "take.csv")]


def write_vr(folder: Path, poses: Poses) -> list[str]:
    head = [
        "timestamp",
        *(f"{name}_{part}" for name in poses.names for part in ("x", "y", "z", "qw", "qx", "qy", "qz")),
    ]
    rows = np.column_stack([poses.time, flat(poses.numbers("wxyz"))])
    (folder / "log.csv").write_text(",".join(head) + "\n" + table(rows))
    return [str(folder / "log.csv"), "--unit", "m"]


def write_columns(folder: Path, poses: Poses, kind: str = "xyzw") -> list[str]:
    """A table of numbers without names, with its map; nobody says which number of a quaternion is w."""
    width = poses.numbers(kind).shape[2]
    rows = np.column_stack([poses.time, flat(poses.numbers(kind))])
    (folder / "table.txt").write_text(table(rows, " "))
    lines = ['unit = "m"', "time = 1"]
    for k, name in enumerate(poses.names):
        at = 2 + k * width
        lines += [f'[bodies."{name}"]', f'position = "{at}-{at + 2}"', f'orientation = "{at + 3}-{at + width - 1}"']
    (folder / "map.toml").write_text("\n".join(lines) + "\n")
    return [str(folder / "table.txt"), "--columns", str(folder / "map.toml")]


def write_ascension(folder: Path, poses: Poses) -> list[str]:
    """A table with named columns, millimetres and degrees; sensors are numbered from one."""
    parts = ("x{} [mm]", "y{} [mm]", "z{} [mm]", "az{}", "el{}", "roll{}")
    head = ["time", *(part.format(k + 1) for k in range(len(poses.names)) for part in parts)]
    numbers = poses.numbers("ZYX")
    numbers[..., :3] *= 1000
    (folder / "bird.csv").write_text(",".join(head) + "\n" + table(np.column_stack([poses.time, flat(numbers)])))
    return [str(folder / "bird.csv")]


def write_polhemus(folder: Path, poses: Poses) -> list[str]:
    """A row per station with its matrix, centimetres and a time."""
    numbers = poses.numbers("matrix")
    numbers[..., :3] *= 100
    n, m = numbers.shape[:2]
    station = np.tile(np.arange(1.0, m + 1), n)
    rows = np.column_stack([station, numbers.reshape(n * m, -1), np.repeat(poses.time, m)])
    lines = [f"{row[0]:02.0f}  " + " ".join(map(repr, row[1:])) + "\n" for row in rows.tolist()]
    (folder / "liberty.txt").write_text("Polhemus Liberty\nUnits: cm\n" + "".join(lines))
    return [str(folder / "liberty.txt")]


def write_qualisys(folder: Path, poses: Poses) -> list[str]:
    """6D: millimetres, angles, matrices down their columns; what is not seen is zeros there."""
    n, m = poses.p.shape[:2]
    head = (
        f"NO_OF_FRAMES\t{n}\nNO_OF_CAMERAS\t7\nNO_OF_BODIES\t{m}\nFREQUENCY\t{1 / np.median(np.diff(poses.time)):g}\n"
        "NO_OF_ANALOG\t0\nDESCRIPTION\t--\nDATA_INCLUDED\t6D\nBODY_NAMES\t" + "\t".join(poses.names) + "\n"
    )
    parts = ["Y", "Z", "Roll", "Pitch", "Yaw", "Residual", *(f"Rot[{k}]" for k in range(9))]
    head += "Frame\tTime\t" + "\t".join("\t".join([f"{name} X", *parts]) for name in poses.names) + "\n"
    numbers = np.nan_to_num(poses.numbers("matrix"))
    angles = np.zeros((n, m, 4))
    down = np.swapaxes(numbers[..., 3:].reshape(n, m, 3, 3), 2, 3).reshape(n, m, 9)
    rows = flat(np.concatenate([numbers[..., :3] * 1000, angles, down], axis=2))
    rows = np.column_stack([np.arange(1.0, n + 1), poses.time, rows])
    (folder / "take.tsv").write_text(head + table(rows, "\t"))
    return [str(folder / "take.tsv")]


WRITERS: dict[str, Callable[[Path, Poses], list[str]]] = {
    "npz": write_npz,
    "csv": write_csv,
    "vr": write_vr,
    "columns": write_columns,
    "ascension": write_ascension,
    "polhemus": write_polhemus,
    "qualisys": write_qualisys,
}
KINDS = ("npz", "csv", "ascension", "qualisys")  # matrices, quaternions, angles; each with its own way to lose a pose
NUMBERED = ("ascension", "polhemus")  # formats that name no sensor


def name_in(format: str, poses: Poses, body: int) -> str:
    return f"s{body + 1}" if format in NUMBERED else poses.names[body]


@dataclass(frozen=True)
class Answer:
    """What the program did: exit status, standard output and error."""

    status: int
    out: str
    err: str

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def findings(self) -> list[dict[str, Any]]:
        facts = self.facts
        found = facts["files"][0]["findings"] if "files" in facts else facts["findings"]
        return list(found)

    @property
    def error(self) -> dict[str, Any]:
        facts = self.facts
        found: dict[str, Any] = facts["files"][0]["error"] if "files" in facts else facts["error"]
        return found

    @property
    def codes(self) -> list[str]:
        """Codes of the findings of severity warning or worse."""
        return [one["code"] for one in self.findings if one["severity"] != "info"]

    def told(self, code: str) -> list[str]:
        """The sentences of one code."""
        return [one["text"] for one in self.findings if one["code"] == code]

    def lengths(self) -> dict[tuple[str, ...], float]:
        """Limb lengths [m] by body and ends."""
        return {
            (limb["body"], *sorted((limb["from"], limb["to"]))): limb["length"]
            for limb in self.facts["limbs"]
            if limb["length"] is not None
        }


def condyle(*words: str) -> Answer:
    """Runs the program in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main([*words, "--strict"])
    return Answer(status, out.getvalue(), err.getvalue())


def fit(words: list[str], *more: str) -> Answer:
    """`condyle fit` without intervals, the facts as JSON."""
    return condyle("fit", *words, "--no-intervals", "--json", *more)


def matches(pattern: str, text: str) -> bool:
    """Whether a whole sentence is as said; `<...>` in it is a regular expression, all else is literal."""
    parts = re.split(r"<(.*?)>", pattern)
    built = "".join(re.escape(part) if k % 2 == 0 else f"(?:{part})" for k, part in enumerate(parts))
    return re.fullmatch(built, text) is not None


def arm(take: Take) -> Take:
    """Three bodies, two joints and one limb of the linkage."""
    return take.select(["chest", "l_upper_arm", "l_forearm"])


@cache
def clean(format: str, *, of_arm: bool = False) -> dict[tuple[str, ...], float]:
    """Limb lengths [m] of the sound take, or of its arm, written in a format."""
    take = linkage_take()
    with tempfile.TemporaryDirectory() as folder:
        return fit(WRITERS[format](Path(folder), Poses.of(arm(take) if of_arm else take))).lengths()


def farthest(one: dict[tuple[str, ...], float], other: dict[tuple[str, ...], float]) -> float:
    """Largest difference [m] of two sets of limb lengths, which must be of the same limbs."""
    assert one.keys() == other.keys()
    return max(abs(one[limb] - other[limb]) for limb in one)
