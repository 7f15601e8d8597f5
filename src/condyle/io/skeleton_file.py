"""skeleton.json: the Skeleton as a file by a strict schema, back and forth without losing a bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from ..errors import CondyleError
from ..findings import Finding, Severity
from ..model.skeleton import Between, Joint, Kind, Limb, Placement, Point, SensorNoise, Skeleton
from ..model.take import BodyMarker
from .atomic import atomic

Vector = tuple[float, float, float]


class _Coverage(msgspec.Struct, forbid_unknown_fields=True):
    rotation: Vector
    passing: float | None = None


class _Joint(msgspec.Struct, forbid_unknown_fields=True):
    child: str
    parent: str
    kind: Kind
    point: Point
    p_child_joint: Vector
    p_parent_joint: Vector
    axis_child: Vector | None
    axis_parent: Vector | None
    play: float | None
    residual: float
    frames: int
    singular_values: tuple[float, float, float, float, float, float]
    covariance: list[list[float]] | None
    margin: float | None
    runner_up: tuple[str, str] | None
    coverage: _Coverage
    time: tuple[float, float] | None = None


class _Limb(msgspec.Struct, rename={"from_joint": "from", "to_joint": "to"}, forbid_unknown_fields=True):
    body: str
    from_joint: str
    to_joint: str
    length: float | None
    low: float | None
    high: float | None
    between: Between = "joints"
    passing: float | None = None


class _Placement(msgspec.Struct, forbid_unknown_fields=True):
    body: str
    joint: str
    p_body_joint: Vector
    distance: float
    low: float | None
    high: float | None


class _Noise(msgspec.Struct, forbid_unknown_fields=True):
    body: str
    position: float
    orientation: float


class _Marker(msgspec.Struct, forbid_unknown_fields=True):
    body: str
    name: str
    p_body_marker: Vector


class _Finding(msgspec.Struct, forbid_unknown_fields=True):
    code: str
    severity: Severity
    bodies: list[str]
    time: tuple[float, float] | None
    value: float | None
    unit: str
    text: str
    frame: int | None = None
    count: int | None = None


class _File(msgspec.Struct, forbid_unknown_fields=True):
    format: Literal["condyle.model.skeleton"]
    version: Literal[1]
    condyle: str
    units: Literal["m"]
    bodies: list[str]
    roots: list[str]
    loose: list[str]
    joints: list[_Joint]
    limbs: list[_Limb]
    loops: list[_Joint]
    sensors: list[_Placement]
    findings: list[_Finding]
    take: dict[str, Any]
    method: str
    options: dict[str, Any]
    conventions: dict[str, Any]
    noise: list[_Noise]
    scale: float
    markers: list[_Marker] = []


def to_json(skeleton: Skeleton, *, indent: int = 1) -> bytes:
    """The file's bytes; NaN and infinity stand nowhere in it."""
    packed = msgspec.json.encode(_file(skeleton))
    return msgspec.json.format(packed, indent=indent) + b"\n" if indent else packed


def to_plain(skeleton: Skeleton) -> dict[str, Any]:
    """The same facts as dicts, lists, numbers and None."""
    plain = msgspec.to_builtins(_file(skeleton))
    assert isinstance(plain, dict)
    return plain


def from_json(data: bytes, *, path: str | Path | None = None) -> Skeleton:
    """A Skeleton from the file's bytes; raises CondyleError with the place in the file that is wrong."""
    try:
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CondyleError(
            f"not a skeleton that this version reads ({error}); write it anew with condyle fit",
            code="bad-skeleton",
            path=path,
        ) from None
    unknown = {name for joint in (*file.joints, *file.loops) for name in (joint.child, joint.parent)} - set(file.bodies)
    if unknown:
        raise CondyleError(
            f"a joint names '{sorted(unknown)[0]}', which is not among the bodies", code="bad-skeleton", path=path
        )
    try:
        return _skeleton(file)
    except (CondyleError, ValueError) as error:
        raise CondyleError(
            f"not a skeleton that this version reads ({error})", code="bad-skeleton", path=path
        ) from None


def _skeleton(file: _File) -> Skeleton:
    return Skeleton(
        bodies=tuple(file.bodies),
        roots=tuple(file.roots),
        loose=tuple(file.loose),
        joints=tuple(_joint(joint) for joint in file.joints),
        limbs=tuple(
            Limb(x.body, x.from_joint, x.to_joint, x.length, x.low, x.high, x.between, x.passing) for x in file.limbs
        ),
        loops=tuple(_joint(joint) for joint in file.loops),
        sensors=tuple(
            Placement(x.body, x.joint, np.array(x.p_body_joint), x.distance, x.low, x.high) for x in file.sensors
        ),
        noise=tuple(SensorNoise(x.body, x.position, x.orientation) for x in file.noise),
        findings=tuple(
            Finding(x.code, x.severity, x.text, tuple(x.bodies), x.time, x.value, x.unit, x.frame, x.count)
            for x in file.findings
        ),
        take=file.take,
        method=file.method,
        options=file.options,
        conventions=file.conventions,
        scale=file.scale,
        condyle=file.condyle,
        markers=tuple(BodyMarker(x.body, x.name, np.array(x.p_body_marker)) for x in file.markers),
    )


def read_skeleton(path: str | Path) -> Skeleton:
    """A skeleton from skeleton.json, or from the folder that holds it."""
    place = Path(path)
    if place.is_dir():
        place = place / "skeleton.json"
    try:
        data = place.read_bytes()
    except OSError as error:
        raise CondyleError(f"cannot be read: {error.strerror}", code="unreadable-file", path=place) from None
    return from_json(data, path=place)


def write_skeleton(path: str | Path, skeleton: Skeleton) -> None:
    """Writes skeleton.json whole or not at all."""
    with atomic(Path(path)) as stream:
        stream.write(to_json(skeleton))


def _vector(values: Any) -> Any:
    return None if values is None else tuple(float(x) for x in values)


def _joint(j: _Joint) -> Joint:
    def array(values: Any) -> Any:
        return None if values is None else np.array(values, dtype=np.float64)

    return Joint(
        j.child,
        j.parent,
        j.kind,
        j.point,
        array(j.p_child_joint),
        array(j.p_parent_joint),
        array(j.axis_child),
        array(j.axis_parent),
        j.play,
        j.residual,
        j.frames,
        array(j.singular_values),
        array(j.covariance),
        j.margin,
        j.runner_up,
        array(j.coverage.rotation),
        j.coverage.passing,
        j.time,
    )


def _file(s: Skeleton) -> _File:
    def joint(j: Joint) -> _Joint:
        covariance = None if j.covariance is None else [[float(x) for x in row] for row in j.covariance]
        return _Joint(
            j.child,
            j.parent,
            j.kind,
            j.point,
            _vector(j.p_child_joint),
            _vector(j.p_parent_joint),
            _vector(j.axis_child),
            _vector(j.axis_parent),
            j.play,
            j.residual,
            j.frames,
            _vector(j.singular_values),
            covariance,
            j.margin,
            j.runner_up,
            _Coverage(_vector(j.rotation), j.passing),
            j.time,
        )

    return _File(
        format="condyle.model.skeleton",
        version=1,
        condyle=s.condyle,
        units="m",
        bodies=list(s.bodies),
        roots=list(s.roots),
        loose=list(s.loose),
        joints=[joint(j) for j in s.joints],
        limbs=[_Limb(x.body, x.from_joint, x.to_joint, x.length, x.low, x.high, x.between, x.passing) for x in s.limbs],
        loops=[joint(j) for j in s.loops],
        sensors=[_Placement(x.body, x.joint, _vector(x.p_body_joint), x.distance, x.low, x.high) for x in s.sensors],
        findings=[
            _Finding(f.code, f.severity, list(f.bodies), f.time, f.value, f.unit, f.text, f.frame, f.count)
            for f in s.findings
        ],
        take=dict(s.take),
        method=s.method,
        options=dict(s.options),
        conventions=dict(s.conventions),
        noise=[_Noise(x.body, x.position, x.orientation) for x in s.noise],
        scale=s.scale,
        markers=[_Marker(x.body, x.name, _vector(x.p_body_marker)) for x in s.markers],
    )
