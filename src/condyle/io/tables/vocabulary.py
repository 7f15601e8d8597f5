"""What column names and header lines say: whose number a column holds, which one it is, its unit, the rate."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ...model.values import dataclass

LONGEST_COLUMN_NAME = 200  # characters of a column's name that is taken apart
NAME_GAP = r"[\s._:/|\-]*"
WORD_START = r"(?:(?<=[a-z0-9])(?=[A-Z])|(?<![A-Za-z0-9])|(?<=[0-9])(?=[A-Za-z]))"  # where a new word begins
_POSITION = r"positions?|pos|location|loc|translations?|trans|coordinates?|coord|xyz"
_QUATERNION = r"quaternions?|quat"
_ROTATION = r"rotations?|rot|orientations?|orient|ori|attitude"
_ANGLES = r"eulerangles|eulers?|angles?|ang"
_WORDS = rf"{_POSITION}|{_QUATERNION}|{_ROTATION}|{_ANGLES}"
# `hand_pos_x`, `Position_Right_x`, `HandRotW`, `b.rotation.quaternion.X`, `loc1_x`
_WORDED = re.compile(
    rf"(?P<before>.*?){WORD_START}(?i:(?P<word>{_WORDS}))(?=[^a-z]|[wxyz]{NAME_GAP}\d*$)(?P<middle>(?:{NAME_GAP}(?!(?i:[wxyz])$).*?)?){NAME_GAP}(?P<part>[wxyzWXYZ])"
    rf"(?P<after>(?:{NAME_GAP}\d+)?)$"
)
# `hand_px`, `qw`, `TX`, `rx1`, `q0`
_SHORT = re.compile(
    rf"(?P<before>.*?){WORD_START}(?P<word>[pPtTqQrR])_?(?P<part>[wxyzWXYZ]|(?<=[qQ])[0-3])(?P<after>(?:{NAME_GAP}\d+)?)$"
)
# `hand_x`, `x1`, `LASI X`, `HandX`
_BARE = re.compile(rf"(?P<before>.*?){WORD_START}(?P<part>[wxyzWXYZ])(?P<after>(?:{NAME_GAP}\d+)?)$")
# `yaw`, `s1_azimuth`
_TURN = re.compile(
    rf"(?P<before>.*?){WORD_START}(?i:(?P<part>roll|pitch|yaw|heading|azimuth|azim|az|elevation|elev|el))(?P<after>(?:{NAME_GAP}\d+)?)$"
)
# `Rot[0]`, `r11`, `R_02`, `m[1][2]`, `rot(2,3)`
_MATRIX = re.compile(
    rf"(?P<before>.*?){WORD_START}(?i:rotation|rotmat|rot|matrix|mat|r|m){NAME_GAP}[\[(]?(?P<row>\d)[\])]?{NAME_GAP}[,\[(]?\s*(?P<column>\d)?[\])]?$"
)
_TIME = re.compile(
    r"(?i)^(?:unix|epoch|utc|gps|host|device|sys(?:tem)?|session|elapsed)?[\s_.\-]*"
    r"(?:time[\s_.\-]*stamps?|time[\s_.\-]*since[\s_.\-]*start|times?|stamp|ts?|zeit|temps|unix|epoch|utc|clock|elapsed"
    r"|secs?|seconds|(?=(?:ms|msec|milliseconds|us|usec|microseconds)$))"
    r"[\s_.\-]*(?:session|unix|unity|utc|since start)?[\s_.\-]*"
    r"(?P<unit>s|sec|secs|seconds|ms|msec|milliseconds|us|usec|microseconds|ns|nsec|nanoseconds)?$"
)
_FRAME = re.compile(r"(?i)^(?:frame|sample|index|row|count)[\s_.\-]*(?:#|no\.?|nr\.?|number|index|id|count)?:?$|^#$")
SENSORS = (
    "serial", "serialnumber", "deviceserial", "trackerserial", "sensor", "sensorid", "sensornumber", "device",
    "deviceid", "devicename", "tracker", "trackerid", "trackername", "objectname", "object", "objectid", "bodyname",
    "body", "bodyid", "bone", "bonename", "segment", "name", "source", "id", "station", "side", "role",
)  # fmt: skip
# words that say that three numbers called x, y, z are no place
_OTHER = re.compile(
    r"(?i)vel(?:ocity)?|acc(?:el\w*)?|gyro?\w*|mag\w*|force|torque|moment|speed|scale|dir(?:ection)?|gaze|forward|dot|rate|std|cov|omega|imu|euler"
)
# what a force plate measures: `FP1.CopX`, `FP1.ForX`, `FP2.MomZ` of D-Flow
_PLATE = re.compile(rf"(?i)(?:.*[\s._:/|\-])?(?:fp|(?:force{NAME_GAP})?plate){NAME_GAP}\d+{NAME_GAP}(?:cop|for|mom)\w*")
_AXIS_OF = {"roll": "X", "pitch": "Y", "yaw": "Z"}
_AXIS_OF |= {"heading": "Z", "azimuth": "Z", "azim": "Z", "az": "Z", "elevation": "Y", "elev": "Y", "el": "Y"}
ENGINE_TURNS = ("rot", "rotation", "rotations")  # a Transform of Unity has a position and a rotation, and of Unreal
UNREAL = ("loc", "location")  # a location; so does an object of Blender, in m and right-handed
TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}  # s
SPELLED_TIME_UNITS = {
    "s": "s", "sec": "s", "secs": "s", "seconds": "s", "ms": "ms", "msec": "ms", "milliseconds": "ms", "us": "us",
    "usec": "us", "microseconds": "us", "ns": "ns", "nsec": "ns", "nanoseconds": "ns",
}  # fmt: skip
_LENGTH = r"inch(?:es)?|in|(?:centi|milli)?met(?:er|re)s?|mm|cm|m"
_STATED_UNIT = re.compile(
    rf"(?i)\b(?:\w*units?|lengths?|positions?)\b\W*(?:\w+\W+){{0,3}}?(?!in\W+(?:{_LENGTH})\b)({_LENGTH})\b(?!\s*/\s*s)"
)
_STATED_RATE = re.compile(
    r"(?i)(?<!analog )(?<!analogue )\b"
    r"(?:(?:(?:sampling|sample|capture|frame|camera|recording|data)[\s_]*)?(?:rate|frequency|freq|fps)\b|fs\s*[=:])"
    r"[^\d\n]{0,20}?(\d+(?:\.\d+)?)"
)
# Logs of trackers: a number in a name says of which sensor the column is, a letter alone which angle it holds.
_WHO = r"(?:sensor|station|bird|receiver|rx|s)"
_BEFORE = re.compile(rf"{_WHO}?_?(?P<station>\d{{1,2}})_(?P<name>\w+)")
_AFTER = re.compile(rf"(?P<name>[a-z_]+?|q[0-3]_|[mr]\d\d_)_?{_WHO}?_?(?P<station>\d{{1,2}})")
_UNIT_BEHIND = re.compile(r"(\w+?)_(mm|cm|in|inch|inches|m|ms|us|s|sec|deg|rad)")
_ROLES = {
    spelling: role
    for role, spellings in {
        "time": "time timestamp time_stamp t clock",
        "frame": "frame frames framecount frame_count frame_number framenumber frame_no fc sample count",
        "station": "station station_id sensor sensor_id sensorid sensor_number sensornumber sensor_no bird receiver",
        "x": "x_pos", "y": "y_pos", "z": "z_pos", "az": "a azi", "el": "e", "roll": "r ro rol",
        "q0": "quat0", "q1": "quat1", "q2": "quat2", "q3": "quat3",
    }.items()
    for spelling in spellings.split()
}  # fmt: skip
_TRACKER_WORDS = ("", "p", "pos", "position", "turns", "q", "quat", "quaternion", "matrix")
_PART_ROLES = {
    **{(kind, axis): axis for kind in ("place", "position") for axis in "xyz"},
    **{("angle", axis): role for axis, role in zip("ZYX", ("az", "el", "roll"), strict=True)},
    **{("rotation", part): f"q{k}" for parts in ("wxyz", "0123") for k, part in enumerate(parts)},
    **{("matrix", row + column): f"m{row}{column}" for row in "123" for column in "123"},
}
_VALID = ("valid", "posevalid", "isvalid", "tracked", "istracked", "positionvalid")
_BRACKET = re.compile(r"\s*[\[(]\s*([^\[\]()\d,]*?)\s*[\])]\s*$")


@dataclass(frozen=True)
class NamePart:
    """One column: `kind` "position", "rotation", "place" (x, y, z or w of a thing not said), "angle" or "matrix"."""

    owner: str
    kind: str
    part: str
    word: str


@dataclass(frozen=True)
class Thing:
    """One body or marker and the columns (0-based) of its numbers.

    position   x, y, z or empty
    rotation   by kind: "wxyz", "xyzw" and "q0123" 4, "angles" 3 about Z, Y and X, "matrix" 9 row by row; "" none
    word       how the file calls its rotation: "q", "rot", "quaternion", ...
    """

    name: str
    position: tuple[int, ...] = ()
    rotation: tuple[int, ...] = ()
    kind: str = ""
    word: str = ""
    place_word: str = ""

    @property
    def is_engines(self) -> bool:
        """Whether it is called as the transforms of Unity and Unreal are."""
        return self.word in ENGINE_TURNS and bool(self.place_word)

    @property
    def is_unitys(self) -> bool:
        return self.is_engines and self.place_word not in UNREAL


@dataclass(frozen=True)
class ColumnMeaning:
    """What the names of a table's columns say. Columns are 0-based, None where there is none.

    rest    columns that mean nothing here
    """

    things: tuple[Thing, ...]
    time: int | None
    time_unit: str | None
    frame: int | None
    sensor: int | None
    valid: int | None
    rest: tuple[int, ...]

    @property
    def bodies(self) -> tuple[Thing, ...]:
        return tuple(thing for thing in self.things if thing.position and thing.rotation)

    @property
    def markers(self) -> tuple[Thing, ...]:
        return tuple(thing for thing in self.things if thing.position and not thing.rotation)


def read_column_names(names: Sequence[str]) -> ColumnMeaning:
    """What these column names say; nothing is guessed from numbers."""
    names = [name if len(name) <= LONGEST_COLUMN_NAME else "" for name in names]
    plain = [_BRACKET.sub("", name).strip() for name in names]
    time, unit = _read_time(names, plain)
    frame = next((k for k, name in enumerate(plain) if _FRAME.match(name)), None)
    squashed = [re.sub(r"[\s_.\-]", "", name).lower() for name in plain]
    sensor = next((squashed.index(word) for word in SENSORS if word in squashed), None)
    valid = next((k for k, name in enumerate(squashed) if name in _VALID), None)
    taken = {time, frame, sensor, valid}
    parts = {k: part for k, name in enumerate(plain) if k not in taken and (part := read_column_name(name)) is not None}
    things, used = _find_things(parts)
    rest = tuple(k for k in range(len(names)) if k not in used and k not in taken)
    return ColumnMeaning(things, time, unit, frame, sensor, valid, rest)


@lru_cache(maxsize=4096)
def read_column_name(name: str) -> NamePart | None:
    """What one column name says, whatever unit stands in brackets behind it, or None."""
    if len(name) > LONGEST_COLUMN_NAME:
        return None
    name = _BRACKET.sub("", name).strip()
    if matrix := _MATRIX.match(name):
        row, column = matrix["row"], matrix["column"]
        return NamePart(_join_owner(matrix["before"], ""), "matrix", row + (column or ""), "matrix")
    for pattern in (_TURN, _WORDED, _SHORT, _BARE):
        found = pattern.match(name)
        if found is None:
            continue
        groups = found.groupdict()
        word, part = (groups.get("word") or "").lower(), groups["part"].lower()
        middle = groups.get("middle") or ""
        if pattern is _WORDED and (inner := re.fullmatch(rf"(?i){NAME_GAP}({_WORDS}){NAME_GAP}", middle)):
            word, middle = inner[1].lower(), ""
        last = re.split(r"[\s._:/|\-]+|(?<=[a-z0-9])(?=[A-Z])", (groups["before"] + middle).strip(" ._:/|-"))[-1]
        if _OTHER.fullmatch(last) or _PLATE.fullmatch(groups["before"] + middle):
            return None
        owner = _join_owner(groups["before"], middle, groups["after"])
        if pattern is _TURN:
            return NamePart(owner, "angle", _AXIS_OF[part], "turns")
        if pattern is _BARE:
            return NamePart(owner, "place", part, "")
        if re.fullmatch(rf"{_POSITION}|p|t", word):
            return None if part == "w" else NamePart(owner, "position", part, word)
        if re.fullmatch(_ANGLES, word):
            return None if part == "w" else NamePart(owner, "angle", part.upper(), word)
        return NamePart(owner, "rotation", part, word)
    return None


def read_named_order(names: Sequence[str | None]) -> str:
    """wxyz, 0123 or ZYX where the names of these columns say so; a question mark for a name that says nothing."""
    parts = [None if name is None else read_column_name(name) for name in names]
    return "".join("?" if part is None else part.part for part in parts)


def read_tracker_name(name: str) -> tuple[str | None, int | None, str | None]:
    """What a column of a tracker's log holds, the number of the sensor in its name, and the unit in it.

    Roles are time, frame, station, x y z, az el roll, q0 to q3 (q0 the scalar), m11 to m33; None: another column.
    """
    if len(name) > LONGEST_COLUMN_NAME:
        return None, None, None
    unit = read_bracketed_unit(name)
    plain = re.sub(r"[\s.\-:#]+", "_", _BRACKET.sub("", name).strip().lower()).strip("_")
    if unit is None and (behind := _UNIT_BEHIND.fullmatch(plain)):
        plain, unit = behind[1], behind[2]
    readings: list[tuple[str, int | None]] = [(plain, None)]
    for pattern in (_BEFORE, _AFTER):
        if found := pattern.fullmatch(plain):
            readings.append((found["name"].rstrip("_"), int(found["station"])))
    for spelled, station in readings:
        role, part = _ROLES.get(spelled), read_column_name(spelled)
        if role is None and part is not None and not part.owner and part.word in _TRACKER_WORDS:
            role = _PART_ROLES.get((part.kind, part.part))
        if role is not None:
            return role, station, unit.lower() if unit else None
    return None, None, None


def read_bracketed_unit(name: str) -> str | None:
    """The unit in brackets behind a column name, as written."""
    found = _BRACKET.search(name) if len(name) <= LONGEST_COLUMN_NAME else None
    return found[1] or None if found else None


def find_stated_unit(lines: Sequence[str]) -> str | None:
    """Unit of length that a line states in words such as `Units: cm`."""
    found = (_STATED_UNIT.search(line[:LONGEST_COLUMN_NAME]) for line in lines)
    return next((match[1].lower() for match in found if match), None)


def find_stated_rate(lines: Sequence[str]) -> float | None:
    """[Hz] from a line such as `sampling frequency: 120`."""
    found = (_STATED_RATE.search(line) for line in lines)
    return next((rate for match in found if match and 0 < (rate := float(match[1])) < 1e6), None)


def _join_owner(before: str, middle: str, after: str = "") -> str:
    pieces = [piece.strip(" ._:/|-\t") for piece in (before, middle, after)]
    return "_".join(piece for piece in pieces if piece)


def _read_time(names: Sequence[str], plain: Sequence[str]) -> tuple[int | None, str | None]:
    for k, name in enumerate(plain):
        found = _TIME.match(name)
        if found:
            bracket = read_bracketed_unit(names[k])
            unit = found["unit"] or (bracket if bracket else name if name.lower() in SPELLED_TIME_UNITS else None)
            return k, SPELLED_TIME_UNITS.get((unit or "").lower())
    return None, None


def _find_things(parts: dict[int, NamePart]) -> tuple[tuple[Thing, ...], set[int]]:
    """Bodies and markers in the order of their first columns, and the columns that they use."""
    owners: dict[str, dict[str, dict[str, int]]] = {}
    words: dict[str, str] = {}
    for column, part in parts.items():
        group = owners.setdefault(part.owner, {}).setdefault(part.kind, {})
        group.setdefault(part.part, column)
        if part.kind != "place":
            words.setdefault(f"{part.owner}\n{part.kind}", part.word)
    things, used = [], set()
    for owner, groups in owners.items():
        thing = _make_thing(owner, groups, words)
        if thing is not None:
            things.append(thing)
            used |= {*thing.position, *thing.rotation}
    quaternions = [thing.rotation for thing in things if thing.kind == "wxyz"]
    if quaternions and all(columns[0] == columns[3] + 1 for columns in quaternions):  # as they stand in the file
        things = [
            replace(thing, kind="xyzw", rotation=thing.rotation[1:] + thing.rotation[:1])
            if thing.kind == "wxyz"
            else thing
            for thing in things
        ]
    return tuple(things), used


def _make_thing(owner: str, groups: dict[str, dict[str, int]], words: dict[str, str]) -> Thing | None:
    place, position = groups.get("place", {}), groups.get("position", {})
    turning = groups.get("rotation", {})
    kind, columns, word = "", tuple[int, ...](), ""
    if set(turning) == set("0123"):
        kind, columns, word = "q0123", _take_columns(turning, "0123"), "q"
    elif set("wxyz") <= set(turning):
        kind, columns, word = "wxyz", _take_columns(turning, "wxyz"), words[f"{owner}\nrotation"]
    elif set("wxyz") <= set(place):
        kind, columns, place = "wxyz", _take_columns(place, "wxyz"), {}
    elif set(groups.get("angle", {})) == set("XYZ"):
        kind, columns, word = "angles", _take_columns(groups["angle"], "ZYX"), words[f"{owner}\nangle"]
    elif set("xyz") <= set(turning):
        kind, columns, word = "angles", _take_columns(turning, "zyx"), words[f"{owner}\nrotation"]
    elif (cells := _find_matrix_cells(groups.get("matrix", {}))) is not None:
        kind, columns = "matrix", cells
    where = _take_columns(position, "xyz") if set("xyz") <= set(position) else ()
    if not where and set("xyz") <= set(place):
        where = _take_columns(place, "xyz")
    if not where and not columns:
        return None
    return Thing(owner, where, columns, kind, word, words.get(f"{owner}\nposition", ""))


def _take_columns(group: dict[str, int], parts: str) -> tuple[int, ...]:
    return tuple(group[part] for part in parts)


def _find_matrix_cells(cells: dict[str, int]) -> tuple[int, ...] | None:
    """Nine columns row by row, from `0`..`8`, `1`..`9`, `00`..`22` or `11`..`33`."""
    rows = [[str(k) for k in range(9)], [str(k) for k in range(1, 10)]]
    rows += [[f"{i}{j}" for i in range(s, s + 3) for j in range(s, s + 3)] for s in (0, 1)]
    for wanted in rows:
        if set(wanted) <= set(cells):
            return tuple(cells[cell] for cell in wanted)
    return None
