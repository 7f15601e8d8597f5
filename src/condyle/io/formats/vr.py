"""Logs of VR trackers and other poses: CSV with a row of names, one row per frame, or one per device and frame."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...findings import Finding
from ...maths.arrays import Ints
from ...maths.spool import hide, over_frames
from ...model.plausible_unit import FEW_BODIES, measure_size, plausible_unit, usual_lever
from ...model.recording import QUATERNIONS, Bodies, Convention, Recording, levers_of
from ..format import Format, ReadOptions
from ..tables.guess import find_time_unit
from ..tables.long_rows import gather_frames, number_sensors
from ..tables.rows import describe_truncation
from ..tables.table import find_table, find_titled
from ..tables.text import read_text
from ..tables.vocabulary import TIME_UNITS, ColumnMeaning, Thing, find_stated_unit, read_column_names
from .csv import looks_like as is_condyle_csv

PATH_MAX_M = 10.0  # m, of one device: rooms for VR are smaller
_DEVICES = re.compile(
    r"(?i)hmd|headset|controller|tracker|vive|lighthouse|lhr|tundra|index_|steamvr|openvr|serial|device|role|basestation"
)
_NOT_OURS = re.compile(r"(?i)^field\.|header[._]stamp|header[._]seq|\.child_frame_id|frame_id$")  # ROS topics as tables
MOST_DEVICES = 256


def looks_like(head: bytes) -> bool:
    """A row of names that has x, y, z and w, x, y, z of a quaternion, called so, for one device or several."""
    table = None if is_condyle_csv(head) else find_titled(head)
    if table is None:
        return False
    return not any(_NOT_OURS.search(name) for name in table.names) and bool(
        _find_devices(read_column_names(table.names))
    )


def read(path: Path, options: ReadOptions) -> Recording:
    """The devices of a log. Rows that a column `valid` marks as not, and poses of zeros, are not seen."""
    table = find_table(read_text(path))
    found = None if table is None or not table.titled else read_column_names(table.names)
    devices = () if found is None else _find_devices(found)
    if table is None or found is None or not devices:
        text = "no columns with the position and the quaternion of a device, such as x, y, z, qw, qx, qy, qz"
        raise CondyleError(text, code="missing-column")
    long = found.sensor is not None and len(devices) == 1
    wanted = [column for device in devices for column in (*device.position, *device.rotation)]
    time = _add_column(wanted, found.time)
    valid = _add_column(wanted, found.valid) if len(devices) == 1 else None
    frame = _add_column(wanted, found.frame) if long else None
    values, words, cut = table.read(wanted, [found.sensor] if long and found.sensor is not None else [])
    poses = values[:, : 7 * len(devices)].reshape(len(values), len(devices), 7)
    gone = over_frames(lambda part: (part == 0).all(axis=2), poses)
    if valid is not None:
        gone |= ~(np.nan_to_num(values[:, valid]) != 0)[:, None]
    poses = hide(poses, gone)
    stamps = table.time(values, found.time, options.rate, time)
    if stamps is not None:
        of_one = np.array(words[0]) == words[0][0] if words else slice(None)  # several devices share few stamps
        stamps = stamps * TIME_UNITS[found.time_unit or find_time_unit(stamps[of_one]) or "s"]
    findings = describe_truncation(len(values), None, cut)
    position, quaternion = poses[..., :3], poses[..., 3:]
    names = _make_labels([device.name or path.stem.strip() or "device" for device in devices])
    rotation = devices[0].kind
    if long:
        names, device = _name_devices(words[0])
        frames = gather_frames(
            device,
            names,
            position[:, 0],
            quaternion[:, 0],
            time=stamps,
            frame=None if frame is None else values[:, frame],
            rotation=rotation,
        )
        stamps, position, quaternion = frames.time, frames.position, frames.orientation
        findings += frames.findings
    unit, rate = find_stated_unit(table.comments), table.rate
    recording = Recording(
        bodies=Bodies(names, position, quaternion),
        time=stamps,
        rate=rate if stamps is None else None,
        convention=Convention(rotation, stated=frozenset({"rotation"})),
    )
    convention, facts, doubt = _describe(found, table.names, long, recording)
    if unit is not None:
        convention, facts["length"] = convention.but(unit=unit, stated=convention.stated | {"unit"}), unit
    elif options.unit is None:
        findings += doubt
    if rate is not None:
        facts["rate"] = f"{rate:g} Hz"
    return replace(recording, convention=convention, facts=facts, findings=tuple(findings))


def _find_devices(found: ColumnMeaning) -> tuple[Thing, ...]:
    """Bodies with a position and a quaternion whose name says that it is one."""
    bodies = tuple(thing for thing in found.bodies if thing.kind in QUATERNIONS and thing.word)
    return bodies if len(bodies) == len(found.bodies) else ()


def _describe(
    found: ColumnMeaning, names: Sequence[str], long: bool, recording: Recording
) -> tuple[Convention, dict[str, str], list[Finding]]:
    """What the words of the header say of the program: metres and y up in Unity, whose world is left-handed, and in
    OpenVR; a table of poses from anywhere says nothing. The names state the quaternion's order. Sizes of cm in the
    words of a game engine are Unreal's, whose world is left-handed too; where others use the words as well, and in
    other words, the sizes tell the unit.
    """
    axes, handed, up, own = "not stated", "", "y", "m"
    devices = _find_devices(found)
    unit, doubt = _measure_unit(recording)
    if all(device.is_engines for device in devices) and unit == "cm":
        axes, handed, up = "Unreal's by the column names and sizes: left-handed, z up", "left", "z"
        own = "m" if any(device.is_unitys for device in devices) else "cm"
    elif all(device.is_unitys for device in devices):
        axes, handed = "Unity's by the column names: left-handed, y up", "left"
    elif any(_DEVICES.search(name) for name in names):
        axes, handed = "OpenVR's: right-handed, y up", "right"
    if handed and unit == own:
        axes += f", {own}"
    rows = "one per device and frame" if long else "one per frame"
    facts = {"rotation": "quaternion, as the columns are named", "axes": axes, "rows": rows}
    if not handed:
        return recording.convention, facts, []
    convention = recording.convention.but(unit=own if unit == own else None, handed=handed, up=up)
    return convention, facts, doubt if unit == own else []


def _measure_unit(recording: Recording) -> tuple[str, list[Finding]]:
    """The unit that sizes tell, and a finding where they do not: of one device that hardly turns."""
    assert recording.bodies is not None
    position = recording.bodies.position
    few = position.shape[1] <= FEW_BODIES
    levers = levers_of(recording) if few else None
    unit = plausible_unit(position, levers)
    if position.shape[1] > 1 or usual_lever(levers) is not None:
        return unit, []
    if measure_size(position) > PATH_MAX_M:
        return unit, []
    text = (
        "the file does not say its unit of length, and one device that hardly turns does not tell it: m is taken, as "
        "VR programs have it; if it is another, give --unit"
    )
    return "m", [Finding("unit-assumed", "info", text, value=1.0, unit="m")]


def _name_devices(words: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """Names of the devices by their first rows, and each row's device."""
    ids, place = number_sensors(words)
    if len(ids) > MOST_DEVICES:
        text = f"{len(ids)} different devices; write a column map and give it with --columns"
        raise CondyleError(text, code="unknown-column")
    names = [name.strip() or "device" for name in ids]
    if len(set(names)) < len(names):
        raise CondyleError("two devices have the same name", code="duplicate-name")
    return _make_labels(names), place


def _make_labels(names: Sequence[str]) -> tuple[str, ...]:
    """The names of devices; a number alone gets a word before it."""
    return tuple(f"device{name}" if name.isdigit() else name for name in names)


def _add_column(wanted: list[int], column: int | None) -> int | None:
    if column is None:
        return None
    wanted.append(column)
    return len(wanted) - 1


FORMAT = Format("vr", "VR or pose log with named columns", looks_like, read, certain=False)
