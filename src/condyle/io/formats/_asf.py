"""ASF: the skeleton that belongs to AMC motion files."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ...errors import CondyleError, name_file
from ...maths.arrays import Floats
from ...model.values import dataclass
from ..tables.header import check_different
from ..tables.rows import read_number
from ..tables.text import decode, read_short_text
from ._kinematics import FARTHEST_OFFSET, turn

ASF_ROOT = "root"
INCH_M = 0.0254  # m
MOST_ASF_BONES = 4096


@dataclass(frozen=True, eq=False)
class AsfBone:
    """One bone, or the root.

    name      as in the file
    end       (3,) from the bone's joint to its end, where its children hang, in the rest axes; zeros for the root
    C         (3, 3) the axes that its angles turn about, in the rest axes
    channels  in the order of the AMC's numbers: "TX", "RX", ...; empty where the bone does not move
    """

    name: str
    end: Floats
    C: Floats
    channels: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class AsfSkeleton:
    """bones: the root first. parent: index of each one's parent. position (3,): added to the root's place.

    unit     metres in one unit of length as a number in text, or None where the file says nothing usable
    degrees  angles of the skeleton, and of the motion where that does not say
    """

    bones: tuple[AsfBone, ...]
    parent: tuple[int, ...]
    position: Floats
    unit: str | None
    degrees: bool


def find_skeleton(motion: Path) -> Path:
    """The ASF beside an AMC: the longest that has its name up to an underscore, or else the only one in the folder."""
    files = sorted(file for file in motion.parent.iterdir() if file.suffix.lower() == ".asf" and file.is_file())
    beside = {file.stem.lower(): file for file in files}
    stem = motion.stem.lower()
    parts = stem.split("_")
    for count in range(len(parts), 0, -1):
        found = beside.get("_".join(parts[:count]))
        if found is not None:
            return found
    if len(beside) == 1:
        return next(iter(beside.values()))
    subject = motion.stem.split("_")[0]
    there = f"there are {len(beside)} others" if beside else "there is none"
    text = f"an AMC file needs its skeleton beside it: {subject}.asf, or a single .asf in the folder; {there}"
    raise CondyleError(text, code="missing-skeleton")


def read_skeleton(path: Path) -> AsfSkeleton:
    """The skeleton in an ASF file; raises CondyleError that names it."""
    with name_file(path):
        return _parse(read_short_text(path))


def _parse(text: bytes) -> AsfSkeleton:
    sections = _split_sections(text)
    for name in ("root", "bonedata", "hierarchy"):
        if name not in sections:
            raise CondyleError(f"a skeleton (ASF) without the section :{name}", code="bad-header")
    units = {words[0].lower(): (words[1:], line) for words, line in sections.get("units", []) if words}
    angle = (units.get("angle", (["deg"], 0))[0] or ["deg"])[0].lower()
    degrees = not angle.startswith("rad")
    root, position = _read_root(sections["root"], degrees)
    bones = [root, *_read_bones(sections["bonedata"], degrees)]
    check_different([bone.name for bone in bones], "bone")
    index = {bone.name: k for k, bone in enumerate(bones)}
    return AsfSkeleton(tuple(bones), _find_parents(sections["hierarchy"], index), position, _read_unit(units), degrees)


def _split_sections(text: bytes) -> dict[str, list[tuple[list[str], int]]]:
    """{section without its colon: [(words, 1-based line)]}; the words behind a section's name come first."""
    found: dict[str, list[tuple[list[str], int]]] = {}
    current: list[tuple[list[str], int]] = []
    for line, raw in enumerate(text.split(b"\n"), start=1):
        words = decode(raw).partition("#")[0].split()
        if words and words[0].startswith(":"):
            current = found.setdefault(words[0][1:].lower(), [])
            words = words[1:]
        if words:
            current.append((words, line))
    return found


def _read_unit(units: dict[str, tuple[list[str], int]]) -> str | None:
    """The length is a scale on inches (CMU: 0.45); 1 is what programs write that have no scale, and then it is open."""
    words, line = units.get("length", (["1"], 0))
    length = _read_numbers(words[:1], 1, "length", line)[0]
    metres = INCH_M / length if length > 1e-9 else 0.0
    return None if length == 1 or not 1e-6 < metres < 1e3 else f"{metres:.17g}"


def _read_root(lines: list[tuple[list[str], int]], degrees: bool) -> tuple[AsfBone, Floats]:
    order: tuple[str, ...] = ("TX", "TY", "TZ", "RX", "RY", "RZ")
    axis, position, orientation = "XYZ", np.zeros(3), np.zeros(3)
    for (word, *rest), line in lines:
        if word.lower() == "order":
            order = _read_channels(rest, line, name=ASF_ROOT)
        elif word.lower() == "axis":
            axis = _read_axis(rest[0] if rest else "", line)
        elif word.lower() == "position":
            position = _read_numbers(rest, 3, "position", line)
        elif word.lower() == "orientation":
            orientation = _read_numbers(rest, 3, "orientation", line)
    return AsfBone(ASF_ROOT, np.zeros(3), _frame(orientation, axis, degrees), order), position


def _read_bones(lines: list[tuple[list[str], int]], degrees: bool) -> list[AsfBone]:
    bones: list[AsfBone] = []
    fields: dict[str, tuple[list[str], int]] | None = None
    for words, line in lines:
        word = words[0].lower()
        if word == "begin":
            fields = {}
        elif word == "end" and fields is not None:
            if len(bones) >= MOST_ASF_BONES:
                raise CondyleError(f"more than {MOST_ASF_BONES} bones", code="file-too-large", line=line)
            bones.append(_read_bone(fields, line, degrees))
            fields = None
        elif fields is not None:
            fields.setdefault(word, (words[1:], line))
    if fields is not None:
        raise CondyleError("ends inside a bone; copy the file again", code="bad-header", line=lines[-1][1])
    return bones


def _read_bone(fields: dict[str, tuple[list[str], int]], line: int, degrees: bool) -> AsfBone:
    for word in ("name", "direction", "length"):
        if word not in fields:
            raise CondyleError(f"a bone without '{word}'", code="bad-header", line=line)
    name = " ".join(fields["name"][0])
    if not name:
        raise CondyleError("a bone has no name", code="bad-name", line=fields["name"][1])
    direction = _read_numbers(fields["direction"][0], 3, "direction", fields["direction"][1])
    size = float(np.linalg.norm(direction))
    if size > 0 and np.isfinite(size):
        direction = direction / size  # written with few digits
    length = _read_numbers(fields["length"][0], 1, "length", fields["length"][1])[0]
    words, at = fields.get("axis", (["0", "0", "0", "XYZ"], line))
    C = _frame(_read_numbers(words[:3], 3, "axis", at), _read_axis(words[3] if len(words) > 3 else "XYZ", at), degrees)
    dof, at = fields.get("dof", ([], line))
    channels = _read_channels(dof, at, name=name)
    for channel in channels:
        if channel[0] != "R":
            text = f"the bone '{name[:40]}' has the channel '{channel}'; only the root may move from its place"
            raise CondyleError(text, code="bad-header", line=at)
    return AsfBone(name, direction * length, C, channels)


def _read_channels(words: list[str], line: int, *, name: str) -> tuple[str, ...]:
    channels = tuple(word.upper() for word in words)
    for channel in channels:
        if not re.fullmatch("[TR][XYZ]", channel) or channels.count(channel) > 1:
            text = f"'{name[:40]}' has the channel '{channel[:20]}'; read are TX TY TZ RX RY RZ, each once"
            raise CondyleError(text, code="bad-header", line=line)
    return channels


def _read_axis(word: str, line: int) -> str:
    axis = word.upper()
    if sorted(axis) != ["X", "Y", "Z"]:
        raise CondyleError(f"axis '{word[:20]}' is no order of X, Y and Z", code="bad-header", line=line)
    return axis


def _frame(angles: Floats, axis: str, degrees: bool) -> Floats:
    """(3, 3) of angles x, y, z; turned about fixed axes in the order of `axis`: the first that is named first."""
    angles = np.radians(angles) if degrees else angles
    backwards = axis[::-1]
    columns = ["XYZ".index(letter) for letter in backwards]
    return np.asarray(turn(angles[None, columns], backwards)[0])


def _read_numbers(words: list[str], count: int, what: str, line: int) -> Floats:
    values = [number for word in words if (number := read_number(word)) is not None and abs(number) < FARTHEST_OFFSET]
    if not len(values) == len(words) == count:
        many = "a number" if count == 1 else f"{count} numbers"
        raise CondyleError(f"{what} '{' '.join(words)[:40]}' is not {many}", code="bad-number", line=line)
    return np.array(values)


def _find_parents(lines: list[tuple[list[str], int]], index: dict[str, int]) -> tuple[int, ...]:
    """Index of every bone's parent; a line names a parent and then its children."""
    parent = [-1] * len(index)
    for words, line in lines:
        if words[0].lower() in ("begin", "end"):
            continue
        for word in words:
            if word not in index:
                raise CondyleError(f"the hierarchy names '{word[:40]}', which is no bone", code="bad-header", line=line)
        for word in words[1:]:
            child = index[word]
            if child == 0 or parent[child] >= 0:
                raise CondyleError(f"'{word[:40]}' has two parents", code="bad-header", line=line)
            parent[child] = index[words[0]]
    for name, k in index.items():
        if k and parent[k] < 0:
            raise CondyleError(f"the bone '{name[:40]}' hangs on nothing", code="bad-header", body=name)
    return tuple(parent)
