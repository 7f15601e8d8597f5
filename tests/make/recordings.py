"""The recordings beside the project, what is known of them, and plain loaders to compare condyle's readers with."""

from __future__ import annotations

import json
from functools import cache

import numpy as np

from condyle import read
from condyle.maths import rotation
from condyle.model.take import Take
from tests.make import PROJECT

DATA = PROJECT.parent / "shared" / "data"
ABSENT = "the shared recordings are not beside the project"
BVH_METRES = 0.056444  # m in one unit of the CMU clips


@cache
def all_truth() -> dict:
    """Entries of every truth.json by path; empty where the recordings are absent, so that tests can be collected."""
    return {
        f"{folder}{name}": entry
        for folder in ("", "hard/", "more/")
        if (DATA / folder / "truth.json").is_file()
        for name, entry in json.loads((DATA / folder / "truth.json").read_text()).items()
    }


def truth(name: str) -> dict:
    return all_truth()[name]


def edges(name: str) -> set[frozenset[str]]:
    return {frozenset(joint[:2]) for joint in truth(name)["joints"]}


def take(name: str) -> Take:
    """A recording as condyle reads it: a file, or a folder of files; bodies from markers as its truth has them."""
    paths = sorted((DATA / name).glob("*/*.csv")) or [DATA / name]
    groups = all_truth().get(name, {}).get("bodies_from_markers")
    return read(paths, bodies=groups)


def marked_events(name: str) -> list[tuple[str, str, float]]:
    """Side, kind and time [s] from the first frame of the events that a laboratory's people marked in a C3D file."""
    import ezc3d

    file = ezc3d.c3d(str(DATA / name))
    event, head = file["parameters"]["EVENT"], file["header"]["points"]
    minutes, seconds = np.array(event["TIMES"]["value"])
    sides = event.get("CONTEXTS", {}).get("value", [""] * len(minutes))
    out = []
    for label, side, time in zip(event["LABELS"]["value"], sides, 60 * minutes + seconds, strict=False):
        word = label if not side else f"{side[0]}{'HS' if 'Strike' in label else 'TO'}"
        out.append(
            (word[0].lower(), "strike" if word[1] == "H" else "off", time - head["first_frame"] / head["frame_rate"])
        )
    return out


def bodies_from_markers(markers: dict[str, np.ndarray], groups: dict[str, list[str]]) -> dict[str, tuple]:
    """Poses of rigid clusters: markers {name: (n, 3)} [m], NaN where unseen; needs three seen in a frame."""
    poses = {}
    for body, names in groups.items():
        cloud = np.stack([markers[name] for name in names if np.isfinite(markers[name]).any()], axis=1)
        poses[body] = _procrustes(cloud)
    return poses


def _procrustes(cloud: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and origin (n, 3, 3), (n, 3) of a cluster (n, k, 3); the template is the mean shape."""
    seen = np.isfinite(cloud).all(axis=2)
    enough = seen.sum(axis=1) >= 3
    first = int(np.argmax(seen.sum(axis=1)))
    template = np.nan_to_num(cloud[first] - np.nanmean(cloud[first], axis=0))
    known = seen[first].copy()
    for _ in range(5):
        use = seen & known
        w = use.astype(float)[..., None]
        total = np.maximum(w.sum(axis=1), 1)
        centre = (np.nan_to_num(cloud) * w).sum(axis=1) / total
        mean = (template * w).sum(axis=1) / total
        a = (template - mean[:, None]) * w
        b = (np.nan_to_num(cloud) - centre[:, None]) * w
        R = rotation.project(np.einsum("nki,nkj->nij", b, a))
        p = centre - np.einsum("nij,nj->ni", R, mean)
        rows = enough & (use.sum(axis=1) >= 3)
        local = np.einsum("nji,nkj->nki", R[rows], cloud[rows] - p[rows, None])
        template = np.nan_to_num(np.nanmedian(local, axis=0))
        known = np.isfinite(np.nanmean(np.where(seen[rows, :, None], local, np.nan), axis=0)).all(axis=1)
        template = template - template[known].mean(axis=0)
    R[~rows], p[~rows] = np.nan, np.nan
    return R, p


def _take(poses: dict[str, tuple], rate: float, source: str) -> Take:
    R = np.stack([pose[0] for pose in poses.values()], axis=1)
    p = np.stack([pose[1] for pose in poses.values()], axis=1)
    return Take.from_poses(p, R_world_body=R, names=list(poses), rate=rate, sources=[source])


def linkage(folder: str) -> Take:
    """All motions of one experiment on the built linkage, joined; bodies from its marker clusters."""
    groups = truth(f"diodem/{folder}")["bodies_from_markers"]
    names = [name for group in groups.values() for name in group]
    tables, rates = [], []
    for path in sorted((DATA / "diodem" / folder).glob("*/*.csv")):
        with path.open() as file:
            rates.append(float(file.readline().split(":")[1]))
            file.readline()
            at = {name: k for k, name in enumerate(file.readline().strip().split(","))}
            table = np.genfromtxt(file, delimiter=",")
        tables.append(table[:, [at[f"{name}_{axis}"] for name in names for axis in "xyz"]])
    # One template for all motions: a body's axes must not change from file to file.
    cloud = np.concatenate(tables).reshape(-1, len(names), 3)
    poses = bodies_from_markers({name: cloud[:, k] for k, name in enumerate(names)}, groups)
    return Take.from_poses(
        np.stack([p for _, p in poses.values()], axis=1),
        R_world_body=np.stack([R for R, _ in poses.values()], axis=1),
        names=list(poses),
        time=np.concatenate([np.arange(len(t)) / rate for t, rate in zip(tables, rates, strict=True)]),
        segment=np.concatenate([np.full(len(t), k) for k, t in enumerate(tables)]),
        sources=[folder],
    )


def c3d(name: str) -> Take:
    """Marker clusters of a C3D file by its truth.json entry."""
    import ezc3d

    file = ezc3d.c3d(str(DATA / name))
    labels = file["parameters"]["POINT"]["LABELS"]["value"]
    points = file["data"]["points"][:3] * 0.001
    points = np.where((points == 0).all(axis=0), np.nan, points)
    short = {label.split(":")[-1].strip(): k for k, label in enumerate(labels)}
    entry = truth(name)
    groups = {
        body: [marker for marker in names if marker in short and marker not in entry.get("never_seen", [])]
        for body, names in entry["bodies_from_markers"].items()
    }
    markers = {m: points[:, short[m]].T for names in groups.values() for m in names}
    rate = float(file["parameters"]["POINT"]["RATE"]["value"][0])
    return _take(bodies_from_markers(markers, groups), rate, name)


def bvh(name: str) -> tuple[list[str], list[int], np.ndarray, np.ndarray, np.ndarray, float]:
    """names, parent, offsets (m, 3) [m], R_world_bone, p_world_bone, rate of a CMU clip, by forward kinematics."""
    names, parent, offset, channels, stack = [], [], [], [], []
    lines = iter((DATA / "cmu_bvh" / name).read_text().splitlines())
    ends = 0
    for line in lines:
        words = line.split()
        if not words:
            continue
        if words[0] in ("ROOT", "JOINT"):
            names.append(words[1])
            parent.append(stack[-1] if stack else -1)
            offset.append([0.0] * 3)
            channels.append([])
            current = len(names) - 1
        elif words[0] == "End":
            current, ends = -1, ends + 1
        elif words[0] == "{":
            stack.append(current)
        elif words[0] == "}":
            stack.pop()
        elif words[0] == "OFFSET" and stack[-1] >= 0:
            offset[stack[-1]] = [float(x) * BVH_METRES for x in words[1:]]
        elif words[0] == "CHANNELS":
            channels[stack[-1]] = words[2:]
        elif words[0] == "MOTION":
            break
    n = int(next(lines).split()[1])
    step = float(next(lines).split()[2])
    data = np.array([line.split() for line in lines if line.strip()], dtype=float)[:n]
    R, p, column = np.empty((n, len(names), 3, 3)), np.empty((n, len(names), 3)), 0
    for k in range(len(names)):
        local_R, local_p = np.tile(np.eye(3), (n, 1, 1)), np.tile(offset[k], (n, 1))
        for channel in channels[k]:
            value = data[:, column]
            column += 1
            if channel.endswith("position"):
                local_p[:, "XYZ".index(channel[0])] += value * BVH_METRES
            else:
                vector = np.zeros((n, 3))
                vector[:, "XYZ".index(channel[0])] = np.radians(value)
                local_R = local_R @ rotation.from_vector(vector)
        if parent[k] < 0:
            R[:, k], p[:, k] = local_R, local_p
        else:
            R[:, k] = R[:, parent[k]] @ local_R
            p[:, k] = p[:, parent[k]] + np.einsum("nij,nj->ni", R[:, parent[k]], local_p)
    return names, parent, np.array(offset), R, p, 1 / step
