"""skeleton.json: the Skeleton as a file by a strict schema, back and forth without losing a bit."""

from __future__ import annotations

import codecs
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from ..errors import CondyleError, check_path
from ..maths.least_squares import is_covariance
from ..model.profile import FileWindow
from ..model.skeleton import TURNING, Joint, Skeleton
from ..model.take import FARTHEST
from . import MANIFEST, SKELETON, values
from .atomic import write_atomic
from .folder import check_ids, read_checked, read_manifest

SKELETON_VERSION = 2  # of what is written; version 1 is read as well
SKELETON_FILE_MOST_BYTES = 2**26  # of a skeleton.json: a fit of 64 bodies with 10,000 findings takes 5 MB
AXIS_MAX_OFF = 1e-6  # of the squared length of an axis from 1
TURN_MAX_RAD = 100.0  # rms of a joint's turn and play, which no rotation about a mean exceeds: it has pi at most


@cache
def _schema() -> type[msgspec.Struct]:
    head = [("format", Literal["condyle.skeleton"]), ("version", Literal[1, 2]), ("units", Literal["m"])]
    return msgspec.defstruct("File", head, bases=(values.schema(Skeleton),), forbid_unknown_fields=True, kw_only=True)


def to_plain(skeleton: Skeleton) -> dict[str, Any]:
    """What the file holds as dicts, lists, numbers and None."""
    head = {"format": "condyle.skeleton", "version": SKELETON_VERSION, "condyle": skeleton.condyle, "units": "m"}
    return {**head, **values.to_plain(skeleton)}


def to_json(skeleton: Skeleton, *, indent: int = 1) -> bytes:
    """The file's bytes; NaN and infinity stand nowhere in it."""
    packed = msgspec.json.encode(to_plain(skeleton))
    return msgspec.json.format(packed, indent=indent) + b"\n" if indent else packed


def from_json(data: bytes, *, path: str | Path | None = None) -> Skeleton:
    """A Skeleton from the file's bytes; raises CondyleError with the place in the file that is wrong."""
    try:
        skeleton: Skeleton = values.from_struct(msgspec.json.decode(data, type=_schema()))
    except (msgspec.DecodeError, UnicodeDecodeError, CondyleError, ValueError, RecursionError) as error:
        raise CondyleError(
            f"not a skeleton that this version reads ({error}); write it anew with condyle fit",
            code="bad-skeleton",
            path=path,
        ) from None
    joined = {name for joint in (*skeleton.joints, *skeleton.loops) for name in (joint.child, joint.parent)}
    placed = {one.body for one in skeleton.sensors} | {limb.body for limb in skeleton.limbs}
    for what, names in (("joint", joined), ("sensor or a limb", placed)):
        if unknown := sorted(names - set(skeleton.bodies)):
            text = f"a {what} names '{unknown[0]}', which is not among the bodies"
            raise CondyleError(text, code="bad-skeleton", path=path)
    for joint in (*skeleton.joints, *skeleton.loops):
        _check_joint(joint, path)
    try:
        msgspec.convert(skeleton.take.get("windows", []), list[FileWindow])
        msgspec.convert(skeleton.take.get("sources", []), list[str])
    except msgspec.ValidationError as error:
        text = f"the files that it was made of are damaged ({error}); write it anew with condyle fit"
        raise CondyleError(text, code="bad-skeleton", path=path) from None
    return skeleton


def _check_joint(joint: Joint, path: str | Path | None) -> None:
    """Raises where a joint is so far away that it is none, its axis is missing or no direction, or a length or a turn
    of it or its covariance is none.
    """
    lengths = (joint.residual, joint.explained, joint.line_95, joint.pitch, joint.travel)
    sides = (joint.axis_child, joint.axis_parent)
    axes = [axis for axis in sides if axis is not None]
    if not all((np.abs(p) < FARTHEST).all() for p in (joint.p_child_joint, joint.p_parent_joint)):
        what = "is farther away than any sensor"
    elif any(np.abs(axis).max() > 2 or abs(float(axis @ axis) - 1) > AXIS_MAX_OFF for axis in axes):
        what = "has an axis that is not of unit length"
    elif len(axes) < len(sides) and joint.kind in TURNING:
        what = f"is a {joint.kind} without its axis"
    elif not all(abs(length) < FARTHEST for length in lengths if length is not None):
        what = "has a length that no figure has"
    elif not all(0 <= turn <= TURN_MAX_RAD for turn in (*joint.rotation, joint.play or 0.0)):
        what = "turns as no joint does"
    elif not all(is_covariance(V) for V in (joint.covariance, joint.axis_covariance) if V is not None):
        what = "has a covariance that is none"
    else:
        return
    text = f"the joint of '{joint.child}' and '{joint.parent}' {what}; write it anew with condyle fit"
    raise CondyleError(text, code="bad-skeleton", path=path)


def read_skeleton(path: str | Path) -> Skeleton:
    """A skeleton from skeleton.json, or from the folder that holds it; it must be of the fit that the folder is of."""
    place = check_path(path, "a skeleton")
    if place.is_dir():
        place = place / SKELETON
    data = read_checked(place, SKELETON_FILE_MOST_BYTES).removeprefix(codecs.BOM_UTF8)  # some editors put it there
    if not data.lstrip().startswith(b"{"):
        if place.name == SKELETON:
            raise CondyleError("is no JSON; write it anew with condyle fit -o", code="bad-skeleton", path=place)
        way = f"if it is a recording, fit it first: condyle fit {place} -o DIR, and name that folder"
        if (place.parent / SKELETON).is_file():
            way = f"name the folder that it lies in: {place.parent}"
        raise CondyleError(f"is no skeleton.json, nor the folder of a fit; {way}", code="bad-skeleton", path=place)
    skeleton = from_json(data, path=place)
    manifest = read_manifest(place.parent) if place.name == SKELETON else None
    if manifest is not None:
        check_ids((place, skeleton.fit_id), (place.with_name(MANIFEST), manifest.fit_id))
    return skeleton


def write_skeleton(path: str | Path, skeleton: Skeleton) -> None:
    """Writes skeleton.json whole or not at all."""
    write_atomic(path, to_json(skeleton))
