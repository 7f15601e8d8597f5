"""CSV: the played poses, and tables in mm of joints, limbs and markers. docs/exports/tables.md describes them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ...maths.arrays import Floats
from ...maths.robust import Z95
from ...model.motion import forward
from ...model.skeleton import Joint, Skeleton
from ...model.values import dataclass
from .scene import FigureFormat, Scene, Written
from .take_csv import escape_name, write_take_csv

MM_PER_M = 1000.0  # in a metre
TABLE_DECIMALS = 6  # behind the point
COLLINEAR_MAX_SHARE = (
    0.02  # of the markers' distances: a third marker nearer than this to the line of two tells no plane
)

Cell = str | int | float | None
TableRow = dict[str, Cell]


def write_tables(scene: Scene, path: Path) -> Written:
    """`path` with the played poses; beside it the tables, those of markers where bodies were formed from markers."""
    poses = forward(scene.skeleton, scene.motion)
    write_take_csv(path, poses, scene.skeleton.fit_id)
    files = [path]
    for name, rows in build_tables(scene.skeleton, name_joints(scene)).items():
        file = path.with_name(f"{path.stem}-{name}{path.suffix}")
        file.write_bytes(to_csv(rows, TABLE_COLUMNS[name]))
        files.append(file)
    return Written(tuple(files), poses.findings)


def name_joints(scene: Scene) -> dict[tuple[str, str], str]:
    """{(child, parent) as the skeleton has them: name of the joint}; a figure may see a joint from its other side."""
    figure, skeleton = scene.figure, scene.skeleton
    inside = [k for k in range(len(figure.names)) if figure.parent[k] >= 0]
    known = {frozenset((figure.bodies[k], figure.bodies[figure.parent[k]])): figure.joints[k] for k in inside}
    names = {(j.child, j.parent): known.get(frozenset((j.child, j.parent)), j.child) for j in skeleton.joints}
    return names | {(j.child, j.parent): f"{j.child}-{j.parent}" for j in skeleton.loops}


def build_tables(skeleton: Skeleton, names: Mapping[tuple[str, str], str]) -> dict[str, list[TableRow]]:
    """Rows of every table that this skeleton has, by the table's name."""
    found = {"joints": [_joint_row(side, names) for side in _sides(skeleton)], "limbs": _limb_rows(skeleton, names)}
    frames = find_marker_frames(skeleton)
    if frames:
        marked = [side for side in _sides(skeleton) if side.body in frames]
        found["markers"] = _marker_rows(skeleton, frames)
        found["joints-by-markers"] = [_marker_frame_row(side, frames[side.body], names) for side in marked]
        found["distances"] = [row for side in marked for row in _distance_rows(side, skeleton, names)]
    return found


@dataclass(frozen=True, eq=False)
class _JointSide:
    """A joint as one of its two bodies has it.

    p           (3,) [m]     in the body's frame
    axis        (3,)         of a hinge, or None
    covariance  (3, 3) [m^2] of p; None where nothing is told of it
    """

    joint: Joint
    structure: str
    body: str
    other: str
    p: Floats
    axis: Floats | None
    covariance: Floats | None

    @property
    def determined(self) -> Floats | None:
        """The covariance of a point that is known in all directions: others have none in what was held."""
        return self.covariance if self.joint.point == "determined" else None


def _sides(skeleton: Skeleton) -> Iterator[_JointSide]:
    for structure, joints in (("tree", skeleton.joints), ("loop", skeleton.loops)):
        for j in joints:
            C = j.covariance
            yield _JointSide(
                j, structure, j.child, j.parent, j.p_child_joint, j.axis_child, None if C is None else C[:3, :3]
            )
            yield _JointSide(
                j, structure, j.parent, j.child, j.p_parent_joint, j.axis_parent, None if C is None else C[3:, 3:]
            )


@dataclass(frozen=True, eq=False)
class MarkerFrame:
    """A frame told by three markers of a body: origin in the first, x towards the second, z normal to the three.

    R_body_frame (3, 3), p_body_frame (3,) [m]  in the body's frame
    """

    markers: tuple[str, str, str]
    R_body_frame: Floats
    p_body_frame: Floats


def find_marker_frames(skeleton: Skeleton) -> dict[str, MarkerFrame]:
    """{body: its marker frame}. The third marker is the first that is off the line of the first two."""
    frames = {}
    for body in skeleton.bodies:
        mine = [marker for marker in skeleton.markers if marker.body == body]
        if len(mine) < 3:
            continue
        first, second = mine[0].p_body_marker, mine[1].p_body_marker
        for third in mine[2:]:
            found = find_axes(first, second, third.p_body_marker)
            if found is not None:
                frames[body] = MarkerFrame((mine[0].name, mine[1].name, third.name), found, first)
                break
    return frames


def find_axes(first: Floats, second: Floats, third: Floats) -> Floats | None:
    """(3, 3) axes as columns: x from the first point (3,) to the second, z normal to all three; None if on a line."""
    a, b = second - first, third - first
    normal = np.cross(a, b)
    far, size = float(np.linalg.norm(a)), float(np.linalg.norm(normal))
    if not size > COLLINEAR_MAX_SHARE * far * max(far, float(np.linalg.norm(b))):
        return None
    x, z = a / far, normal / size
    return np.stack([x, np.cross(z, x), z], axis=1)


def _joint_row(side: _JointSide, names: Mapping[tuple[str, str], str]) -> TableRow:
    j = side.joint
    return {
        "joint": names[j.child, j.parent],
        "structure": side.structure,
        "body": side.body,
        "other_body": side.other,
        "side": "child" if side.body == j.child else "parent",
        "kind": j.kind,
        "point": j.point,
        **_vector("{}_mm", MM_PER_M * side.p),
        **_vector("se_{}_mm", _errors(side.determined)),
        **_vector("half_95_{}_mm", Z95 * _errors(side.determined)),
        "half_95_across_axis_mm": Z95 * _across(side),
        **_vector("axis_{}", side.axis),
        "play_deg": None if j.play is None else float(np.degrees(j.play)),
        "residual_mm": MM_PER_M * j.residual,
        "frames": j.frames,
    }


def _limb_rows(skeleton: Skeleton, names: Mapping[tuple[str, str], str]) -> list[TableRow]:
    by_child = {j.child: names[j.child, j.parent] for j in skeleton.joints}

    def mm(length: float | None) -> float | None:
        return None if length is None else MM_PER_M * length

    return [
        {
            "body": limb.body,
            "from_joint": by_child.get(limb.from_joint, limb.from_joint),
            "to_joint": by_child.get(limb.to_joint, limb.to_joint),
            "between": limb.between,
            "length_mm": mm(limb.length),
            "low_95_mm": mm(limb.low),
            "high_95_mm": mm(limb.high),
        }
        for limb in skeleton.limbs
    ]


def _marker_rows(skeleton: Skeleton, frames: Mapping[str, MarkerFrame]) -> list[TableRow]:
    rows = []
    for marker in skeleton.markers:
        frame, inside = frames.get(marker.body), None
        if frame is not None:
            inside = MM_PER_M * ((marker.p_body_marker - frame.p_body_frame) @ frame.R_body_frame)
        what = "centre" if marker.carried else "marker"
        row: TableRow = {"body": marker.body, "marker": marker.name, "what": what}
        rows.append(row | _vector("{}_mm", MM_PER_M * marker.p_body_marker) | _vector("frame_{}_mm", inside))
    return rows


def _marker_frame_row(side: _JointSide, frame: MarkerFrame, names: Mapping[tuple[str, str], str]) -> TableRow:
    """The joint in the frame of the body's markers. The markers' places are taken as exact."""
    R = frame.R_body_frame
    C = None if side.determined is None else R.T @ side.determined @ R
    return {
        "joint": names[side.joint.child, side.joint.parent],
        "body": side.body,
        "kind": side.joint.kind,
        "point": side.joint.point,
        "origin_marker": frame.markers[0],
        "x_marker": frame.markers[1],
        "plane_marker": frame.markers[2],
        **_vector("{}_mm", MM_PER_M * ((side.p - frame.p_body_frame) @ R)),
        **_vector("half_95_{}_mm", Z95 * _errors(C)),
        **_vector("axis_{}", None if side.axis is None else side.axis @ R),
    }


def _distance_rows(side: _JointSide, skeleton: Skeleton, names: Mapping[tuple[str, str], str]) -> Iterator[TableRow]:
    for marker in skeleton.markers:
        if marker.body != side.body:
            continue
        apart = side.p - marker.p_body_marker
        length = float(np.linalg.norm(apart))
        C, half = side.determined, None
        if C is not None and length > 0:
            half = MM_PER_M * Z95 * float(np.sqrt(max(float(apart @ C @ apart), 0.0))) / length
        yield {
            "joint": names[side.joint.child, side.joint.parent],
            "body": side.body,
            "marker": marker.name,
            "point": side.joint.point,
            "distance_mm": MM_PER_M * length,
            "half_95_mm": half,
        }


def _errors(C: Floats | None) -> Floats:
    """(3,) [mm] standard error per axis; NaN where it is not told."""
    return np.full(3, np.nan) if C is None else MM_PER_M * np.sqrt(np.maximum(np.diagonal(C), 0.0))


def _across(side: _JointSide) -> float:
    """[mm] largest standard error across a hinge's axis, which is told even where the point along it is not."""
    if side.axis is None or side.covariance is None:
        return float("nan")
    P = np.eye(3) - np.outer(side.axis, side.axis)
    return MM_PER_M * float(np.sqrt(max(float(np.linalg.eigvalsh(P @ side.covariance @ P)[-1]), 0.0)))


def _vector(pattern: str, values: Floats | None) -> dict[str, Cell]:
    numbers: Sequence[float | None] = (None, None, None) if values is None else values.tolist()
    return {pattern.format(axis): number for axis, number in zip("xyz", numbers, strict=True)}


def _find_named(pattern: str) -> list[str]:
    return [pattern.format(axis) for axis in "xyz"]


TABLE_COLUMNS: dict[str, list[str]] = {
    "joints": [
        "joint", "structure", "body", "other_body", "side", "kind", "point",
        *_find_named("{}_mm"), *_find_named("se_{}_mm"), *_find_named("half_95_{}_mm"), "half_95_across_axis_mm",
        *_find_named("axis_{}"), "play_deg", "residual_mm", "frames",
    ],
    "limbs": ["body", "from_joint", "to_joint", "between", "length_mm", "low_95_mm", "high_95_mm"],
    "markers": ["body", "marker", "what", *_find_named("{}_mm"), *_find_named("frame_{}_mm")],
    "joints-by-markers": [
        "joint", "body", "kind", "point", "origin_marker", "x_marker", "plane_marker",
        *_find_named("{}_mm"), *_find_named("half_95_{}_mm"), *_find_named("axis_{}"),
    ],
    "distances": ["joint", "body", "marker", "point", "distance_mm", "half_95_mm"],
}  # fmt: skip


def to_csv(rows: Sequence[TableRow], columns: Sequence[str]) -> bytes:
    """The table's bytes, commas between; a cell without a value is empty, and no text stands as a formula."""
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(columns)
    out.writerows([_cell(row[column]) for column in columns] for row in rows)
    return text.getvalue().encode("utf-8", "backslashreplace")


def _cell(value: Cell) -> str:
    if isinstance(value, str):
        return escape_name(value)
    if value is None or not np.isfinite(value):
        return ""
    return (
        str(value) if isinstance(value, int) else f"{round(value, TABLE_DECIMALS) + 0.0:.{TABLE_DECIMALS}f}"
    )  # no -0.0


FORMAT = FigureFormat("csv", "CSV, played poses, and tables of joints and limbs in mm", ".csv", write_tables)
