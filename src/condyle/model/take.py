"""Take: poses of rigid bodies over time. It knows no file format."""

from __future__ import annotations

import builtins
import copy
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from pathlib import PurePath
from typing import Annotated, Any, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..errors import CondyleError, UsageError, check_number, import_extra, suggest
from ..findings import Finding, Severity, many
from ..maths import rotation
from ..maths.arrays import Bools, Floats, Ints, Vector, evenly_seen, freeze, freeze_array, to_numbers
from ..maths.series import count_frames, usual_step
from ..maths.spool import empty, hide, join_arrays, over_frames, seal, take_rows
from .values import dataclass

FARTHEST = 1e12  # m: a position beyond is no position, and its square would drown all others
WORLD = "world"  # name of the room where it is a body
CENTRE = "_centre"  # ends the name of a joint's centre that completes the markers of a body
COUNTED_RATES_HZ = (1e-3, 1e6)  # Hz between which frames may be counted; chosen: wider than any sensor by far
UNTIMED_RATE = 100.0  # Hz, where a recording has neither time nor rate
ROUNDED = 1e-9  # departure from orthonormal that is rounding and is left alone
UP_AXES = ("x", "y", "z", "-x", "-y", "-z")  # of a world, one of which points up
REPAIRABLE = 0.05  # departure up to which few-decimal matrices are replaced by the nearest rotation
ZERO_LENGTH = 1e-9  # of a quaternion: below it is none, as devices send for a sensor that is not seen
# How far the length of a quaternion may be from 1: rounded to four decimals or more, to two, and a rotation at all.
UNIT_MAX_OFF, ROUNDED_MAX_OFF, ROTATION_MAX_OFF = 1e-4, 0.05, 0.5


def check_rate(rate: float | None) -> None:
    """Raises where frames cannot be counted at a rate [Hz]."""
    if rate is not None and not COUNTED_RATES_HZ[0] <= check_number(rate, "rate") <= COUNTED_RATES_HZ[1]:
        low, high = COUNTED_RATES_HZ
        raise UsageError(f"a rate of {rate:g} Hz is not between {low:g} and {high:g}; give another", code="bad-option")


@dataclass(frozen=True, eq=False)
class OwnSkeleton:
    """The skeleton that a file brings along: what another program solved, or the exact truth of a synthetic clip.

    names           m bones
    parent          (m,) index of the parent bone, -1 at a root
    p_parent_joint  (m, 3) [m] where each bone's joint is in its parent's frame; a root has zeros
    """

    names: tuple[str, ...]
    parent: Ints
    p_parent_joint: Floats

    def __post_init__(self) -> None:
        m = len(self.names)
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        object.__setattr__(self, "parent", freeze_array(self.parent, (m,), "parent", np.int64))
        object.__setattr__(self, "p_parent_joint", freeze_array(self.p_parent_joint, (m, 3), "p_parent_joint"))

    def edges(self, bodies: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """(parent, child) of the bones that are among the bodies; other bones between two of them are skipped."""
        found = []
        for bone, name in enumerate(self.names):
            up = int(self.parent[bone])
            while up >= 0 and self.names[up] not in bodies:
                up = int(self.parent[up])
            if name in bodies and up >= 0:
                found.append((self.names[up], name))
        return tuple(found)

    def with_joints(self, p_parent_joint: Floats) -> OwnSkeleton:
        """The same bones with their joints elsewhere: in another unit, or mirrored."""
        return OwnSkeleton(self.names, self.parent, p_parent_joint)


@dataclass(frozen=True, eq=False)
class CarriedCentre:
    """A joint's centre as a point of the body above it, which stands for a marker of the segment below.

    p_body_centre  (3,) [m]      its place in the frame of `body`, the one above
    covariance     (3, 3) [m^2]  of that
    """

    body: str
    p_body_centre: Vector
    covariance: Annotated[Floats, "3 3"]

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, eq=False)
class BodyMarker:
    """A marker of a body that was formed from markers: p_body_marker (3,) [m], its place in the body's own frame.

    carried  where it is no marker but the centre of the joint above
    """

    body: str
    name: str
    p_body_marker: Vector
    carried: CarriedCentre | None = None

    def __post_init__(self) -> None:
        freeze(self)


@dataclass(frozen=True, eq=False)
class Take:
    """Poses of m rigid bodies over n frames, in one right-handed world.

    names         m strings
    time          (n,)          [s]  increasing within a segment
    R_world_body  (n, m, 3, 3)  [-]  body axes in the world; NaN where not seen
    p_world_body  (n, m, 3)     [m]  body origin in the world; NaN where not seen
    segment       (n,)               number of the recording a frame belongs to; nothing differentiates across segments
    timed         False when time was made up from a count of frames
    up            axis of the world that points up, "z" or "-y"; None: not known
    own           skeleton that the file brought along, or None; nothing is estimated from it
    read_as       how the numbers of the file were understood, in words; empty where there was no file
    markers       places of the markers that bodies were formed from, in the order they were named
    of_source     number of the source that each segment is of; empty where all are of one
    """

    names: tuple[str, ...]
    time: Floats
    R_world_body: Floats
    p_world_body: Floats
    segment: Ints = field(default=None)  # type: ignore[arg-type]
    timed: bool = True
    sources: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    up: str | None = None
    own: OwnSkeleton | None = None
    read_as: str = ""
    markers: tuple[BodyMarker, ...] = ()
    of_source: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        names = tuple(str(name) for name in self.names)
        n, m = len(self.time), len(names)
        R = freeze_array(self.R_world_body, (n, m, 3, 3), "R_world_body")
        p = freeze_array(self.p_world_body, (n, m, 3), "p_world_body")
        time = freeze_array(self.time, (n,), "time")
        segment = np.zeros(n, np.int64) if self.segment is None else self.segment
        segment = freeze_array(segment, (n,), "segment", np.int64)
        _check_names(names)
        if not np.isfinite(time).all():
            frame = int(np.argmin(np.isfinite(time)))
            raise CondyleError("time is not a number", code="bad-time", frame=frame)
        _check_order(time, segment)
        with np.errstate(invalid="ignore"):
            # Over everything at once: much faster than pose by pose, and as a rule all are seen.
            if p.size and -FARTHEST < p.min() and p.max() < FARTHEST and np.isfinite(R.sum()):
                seen = empty((n, m), np.bool_)
                seen[...] = True
            else:
                seen = over_frames(_find_whole, p, R)
        if not seen.all():  # a pose is seen whole or not at all
            p, R = hide(p, ~seen), hide(R, ~seen)
        seal(seen)
        values = {"names": names, "time": time, "segment": segment, "R_world_body": R, "p_world_body": p, "seen": seen}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    seen: Bools = field(init=False, repr=False)  # (n, m) True where a body's pose is known

    @classmethod
    def from_matrices(
        cls,
        T_world_body: ArrayLike,
        *,
        names: Sequence[str] | None = None,
        time: ArrayLike | None = None,
        rate: float | None = None,
    ) -> Take:
        """A take from homogeneous matrices (n, m, 4, 4) [m]; NaN where not seen. See `from_poses`."""
        T = to_numbers(T_world_body, "T_world_body")
        if T.ndim != 4 or T.shape[2:] != (4, 4):
            raise CondyleError(f"T_world_body has shape {T.shape}, expected (frames, bodies, 4, 4)", code="bad-shape")
        return cls.from_poses(T[..., :3, 3], R_world_body=T[..., :3, :3], names=names, time=time, rate=rate)

    @classmethod
    def from_poses(
        cls,
        p_world_body: ArrayLike,
        q_world_body_wxyz: ArrayLike | None = None,
        *,
        R_world_body: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        time: ArrayLike | None = None,
        rate: float | None = None,
        segment: ArrayLike | None = None,
        sources: Sequence[str] = (),
    ) -> Take:
        """A take from positions (n, m, 3) [m] with quaternions wxyz (n, m, 4) or matrices (n, m, 3, 3).

        Rotations are checked: what is nearly a rotation is repaired, what is none is masked, and both are findings.
        Without `time` [s] the frames are counted at `rate` [Hz]; without either, at 100 Hz with a finding.
        """
        p = to_numbers(p_world_body, "p_world_body")
        if p.ndim != 3 or p.shape[2] != 3:
            raise CondyleError(f"p_world_body has shape {p.shape}, expected (frames, bodies, 3)", code="bad-shape")
        n, m = p.shape[:2]
        labels = tuple(f"body{k + 1}" for k in range(m)) if names is None else tuple(str(name) for name in names)
        if len(labels) != m:
            raise CondyleError(f"{len(labels)} names for {m} bodies", code="bad-shape")
        if (q_world_body_wxyz is None) == (R_world_body is None):
            raise UsageError("give either quaternions or matrices", code="bad-call")
        if q_world_body_wxyz is not None:
            R, findings = check_quaternions(freeze_array(q_world_body_wxyz, (n, m, 4), "q_world_body_wxyz"), labels)
        else:
            R, findings = _check_matrices(freeze_array(R_world_body, (n, m, 3, 3), "R_world_body"), labels)  # type: ignore[arg-type]
        return cls.from_checked(p, R, findings, labels, time=time, rate=rate, segment=segment, sources=sources)

    @classmethod
    def from_checked(
        cls,
        p_world_body: Floats,
        R_world_body: Floats,
        findings: Sequence[Finding],
        names: tuple[str, ...],
        *,
        time: ArrayLike | None = None,
        rate: float | None = None,
        segment: ArrayLike | None = None,
        sources: Sequence[str] = (),
    ) -> Take:
        """The same from rotations that are known to be such, with what was found of them."""
        n = len(p_world_body)
        findings = list(findings)
        timed = time is not None or rate is not None
        if time is not None:
            clock = freeze_array(time, (n,), "time")
        else:
            check_rate(rate)
            clock = np.arange(n) / (rate or UNTIMED_RATE)
        if not timed:
            text = "no time and no rate: frames are counted at 100 Hz, without noise or intervals; give the rate"
            findings.append(Finding("no-time", "warning", text))
        segments = np.zeros(n, np.int64) if segment is None else freeze_array(segment, (n,), "segment", np.int64)
        return cls(names, clock, R_world_body, p_world_body, segments, timed, tuple(sources), tuple(findings))

    @property
    def frames(self) -> int:
        return len(self.time)

    @property
    def bodies(self) -> int:
        return len(self.names)

    @cached_property
    def seconds(self) -> float:
        """Recorded time [s], summed over segments."""
        inside = np.diff(self.segment) == 0
        return float(np.diff(self.time)[inside].sum())

    @cached_property
    def rate(self) -> float:
        """Frames per second, by the usual step of time; NaN where no two frames follow each other."""
        return 1 / usual_step(np.diff(self.time)[np.diff(self.segment) == 0])

    def count_frames(self, seconds: float, every: int = 1) -> int:
        """Frames in so many seconds where every so-manieth is looked at, at most those there are; 0 for a take without
        time.
        """
        return count_frames(seconds * self.rate / every, self.frames) if self.timed else 0

    def index(self, name: str) -> int:
        """Position of a body by name; raises with the names there are."""
        if name not in self.names:
            raise UsageError(f"no body named '{name}'; {suggest(name, self.names)}", code="unknown-body")
        return self.names.index(name)

    def select(self, names: Iterable[str]) -> Take:
        """The same take with these bodies, in this order."""
        columns = [self.index(name) for name in names]
        kept = tuple(self.names[k] for k in columns)
        return replace(
            self,
            names=kept,
            R_world_body=seal(over_frames(lambda R: R[:, columns], self.R_world_body)),
            p_world_body=seal(over_frames(lambda p: p[:, columns], self.p_world_body)),
            markers=tuple(marker for marker in self.markers if marker.body in kept),
        )

    def slice(self, start: int | None = None, stop: int | None = None, step: int | None = None) -> Take:
        """Frames start:stop:step."""
        for number in (start, stop, step):
            if number is not None and not isinstance(number, SupportsIndex):
                raise UsageError(f"frames are counted by whole numbers, not {number!r}", code="bad-call")
        return self.at(slice(start, stop, step))

    def at(self, rows: Ints | builtins.slice) -> Take:
        """These frames, in increasing order."""
        R, p = take_rows(self.R_world_body, rows), take_rows(self.p_world_body, rows)
        time, segment = self.time[rows], self.segment[rows]
        _check_order(time, segment)
        return self._twin(time=time, segment=segment, R_world_body=R, p_world_body=p, seen=self.seen[rows])

    def in_source(self, number: int) -> Bools:
        """(n,) the frames of one of the sources."""
        own = [k for k, source in enumerate(self.of_source) if source == number]
        return np.isin(self.segment, own) if self.of_source else np.full(self.frames, number == 0)

    def find_own_edges(self, pairs: Ints) -> Bools:
        """(P,) pairs of bodies (P, 2) that the skeleton joins which the file brought along."""
        joined = np.zeros((self.bodies, self.bodies), dtype=bool)
        for parent, child in () if self.own is None else self.own.edges(self.names):
            i, j = self.names.index(parent), self.names.index(child)
            joined[i, j] = joined[j, i] = True
        return joined[pairs[:, 0], pairs[:, 1]]

    def mask(self, hidden: ArrayLike) -> Take:
        """The same take with the poses in `hidden` (n, m) taken as not seen."""
        gone = freeze_array(hidden, (self.frames, self.bodies), "hidden", np.bool_)
        R, p = hide(self.R_world_body, gone), hide(self.p_world_body, gone)
        seen = over_frames(lambda seen, gone: seen & ~gone, self.seen, gone)
        return self._twin(R_world_body=R, p_world_body=p, seen=seen)

    def with_poses(self, time: Floats, segment: Ints, R_world_body: Floats, p_world_body: Floats, seen: Bools) -> Take:
        """The same bodies in other frames, by arrays that were made from its own: neither checked nor copied."""
        return self._twin(time=time, segment=segment, R_world_body=R_world_body, p_world_body=p_world_body, seen=seen)

    def _twin(self, **arrays: Floats | Ints | Bools) -> Take:
        """The same take with other arrays, which are sealed and not checked again: they were made from its own."""
        twin = object.__new__(type(self))
        own = {name: getattr(self, name) for name in self.__dataclass_fields__}
        twin.__dict__.update(own | {name: seal(array) for name, array in arrays.items()})
        return twin

    def with_findings(self, findings: Iterable[Finding], **words: Any) -> Take:
        """The same poses with these findings, and other words: up, own, read_as, markers. Nothing is checked again."""
        twin = copy.copy(self)
        for name, value in {"findings": tuple(findings), **words}.items():
            object.__setattr__(twin, name, value)
        return twin

    def thin(self, most: int) -> tuple[Take, Ints]:
        """At most `most` frames, evenly spread over the take, and which ones they are."""
        rows = evenly_seen(self.seen, most)
        return (self if len(rows) == self.frames else self.at(rows)), rows

    def to_dataframe(self) -> Any:
        """A pandas DataFrame, a row for every frame and body: time [s], segment, body, x, y, z [m], qw, qx, qy, qz."""
        pandas = import_extra("pandas", "notebook")
        n, m = self.seen.shape
        q = rotation.to_quaternion(self.R_world_body).reshape(-1, 4)
        p = self.p_world_body.reshape(-1, 3)
        columns = {"time": np.repeat(self.time, m), "segment": np.repeat(self.segment, m), "body": list(self.names) * n}
        columns |= {name: p[:, k] for k, name in enumerate(("x", "y", "z"))}
        return pandas.DataFrame(columns | {name: q[:, k] for k, name in enumerate(("qw", "qx", "qy", "qz"))})

    def to_xarray(self) -> Any:
        """An xarray Dataset as `movement` has poses: position [m] by time, space, keypoints and individuals.

        Keypoints are the bodies, of one individual; `rotation` has their axes, R_world_body.
        """
        xarray = import_extra("xarray", "notebook")
        places = ("time", "space", "keypoints", "individuals")
        position = np.moveaxis(self.p_world_body, 1, 2)[..., None]
        return xarray.Dataset(
            {
                "position": (places, position),
                "confidence": (("time", "keypoints", "individuals"), self.seen[..., None].astype(np.float64)),
                "rotation": (("time", "keypoints", "space", "axis"), np.asarray(self.R_world_body)),
            },
            {
                "time": self.time,
                "space": list("xyz"),
                "axis": list("xyz"),
                "keypoints": list(self.names),
                "individuals": ["individual_0"],
            },
            {"ds_type": "poses", "source_software": "condyle", "fps": self.rate, "time_unit": "seconds"},
        )

    def _repr_html_(self) -> str:
        from .html import render_take

        return render_take(self)

    def __str__(self) -> str:
        unseen = 1 - float(self.seen.mean()) if self.seen.size else 0.0
        rate = f" at {self.rate:.4g} Hz" if np.isfinite(self.rate) else ""
        gaps = f", {unseen:.1%} of the poses missing" if unseen else ""
        bodies = "1 body" if self.bodies == 1 else f"{self.bodies} bodies"
        return f"{bodies}, {many(self.frames, 'frame')}, {self.seconds:.1f} s{rate}{gaps}"


def _find_whole(p: Floats, R: Floats) -> Bools:
    """(n, m) where a pose is known."""
    return np.asarray((np.abs(p) < FARTHEST).all(axis=-1) & np.isfinite(R).all(axis=(-2, -1)))


def join(takes: Sequence[Take]) -> Take:
    """Several takes of the same bodies as segments of one; bodies are matched by name."""
    if not takes:
        raise UsageError("no take to join", code="bad-call")
    first = takes[0]
    rest = [_match(take, first) for take in takes[1:]]
    parts = [first, *rest]
    starts = np.cumsum([0] + [take.frames for take in parts[:-1]]).tolist()
    segments, of_source, offset, before = [], list[int](), 0, 0
    for take in parts:
        within = np.concatenate([[0], np.cumsum(np.diff(take.segment) != 0)])[: take.frames]
        segments.append(within + offset)
        count = int(within.max(initial=-1)) + 1
        offset += count
        of_source += [before + k for k in take.of_source] or [before] * count
        before += max(len(take.sources), 1)
    return Take(
        first.names,
        np.concatenate([take.time for take in parts]),
        seal(join_arrays([take.R_world_body for take in parts])),
        seal(join_arrays([take.p_world_body for take in parts])),
        np.concatenate(segments),
        all(take.timed for take in parts),
        tuple(source for take in parts for source in take.sources),
        tuple(_later(finding, start) for take, start in zip(parts, starts, strict=True) for finding in take.findings),
        first.up,
        first.own,
        "; ".join(dict.fromkeys(take.read_as for take in parts if take.read_as)),
        first.markers if all(_same_markers(first, take) for take in rest) else (),
        tuple(of_source),
    )


def keep_files(given: Take, kept: Take) -> Take:
    """The take as it was given, of the files that were kept."""
    rows = np.flatnonzero(np.isin(given.segment, kept.segment))
    return replace(given.at(rows), sources=kept.sources, of_source=kept.of_source)


def _same_markers(a: Take, b: Take) -> bool:
    """Whether the bodies of two takes were formed from markers in the same places, and so have the same frames."""
    names = [[(marker.body, marker.name) for marker in take.markers] for take in (a, b)]
    if names[0] != names[1]:
        return False
    places = [np.array([marker.p_body_marker for marker in take.markers]) for take in (a, b)]
    return bool(np.allclose(places[0], places[1], rtol=1e-9, atol=1e-9))


def _later(finding: Finding, frames: int) -> Finding:
    """A finding whose frames are counted from so many frames earlier."""
    return finding if finding.frame is None else replace(finding, frame=finding.frame + frames)


def _match(take: Take, first: Take) -> Take:
    missing = [name for name in first.names if name not in take.names]
    extra = [name for name in take.names if name not in first.names]
    if missing or extra:
        import difflib

        name = (missing or extra)[0]
        near = difflib.get_close_matches(name, extra, 1, 0.4) if missing else []
        hint = f"; is '{near[0]}' the same sensor? rename it, or" if near else ";"
        strangers = not set(first.names) & set(take.names)  # a file for each sensor, as TUM trajectories are
        also = ", or as recorded at one time: --together a=FILE b=FILE ({'a': file, 'b': file})" if strangers else ""
        has, lacks = (first, take) if missing else (take, first)
        owner = ", ".join(has.sources) or ("the first take" if has is first else "a later take")
        raise CondyleError(
            f"sensor '{name}' of {owner} is missing here{hint} fit the takes one by one{also}",
            code="bodies-differ",
            path=", ".join(lacks.sources) or None,
            body=name,
        )
    return take if take.names == first.names else take.select(first.names)


def _check_order(time: Floats, segment: Ints) -> None:
    backwards = (np.diff(time) <= 0) & (np.diff(segment) == 0)
    if backwards.any():
        frame = int(np.argmax(backwards)) + 1
        raise CondyleError(
            f"time does not increase ({time[frame - 1]:g} s, then {time[frame]:g} s)", code="bad-time", frame=frame
        )


def _check_names(names: tuple[str, ...]) -> None:
    known: set[str] = set()
    for name in names:
        if not name.strip():
            raise CondyleError("a body has no name", code="bad-name")
        if not name.isascii() and any("\ud800" <= letter <= "\udfff" for letter in name):
            raise CondyleError(f"the name {name!r} has half a letter, which no file can hold", code="bad-name")
        if name in known:
            raise CondyleError(f"two bodies are named '{name}'; names must differ", code="duplicate-name", body=name)
        known.add(name)


def check_quaternions(q: Floats, names: tuple[str, ...], last: bool = False) -> tuple[Floats, list[Finding]]:
    """Matrices of quaternions wxyz (`last`: xyzw), zero length masked; raises when most are far from unit length."""
    length = over_frames(_measure_quaternions, q)
    findings: list[Finding] = []
    if length.size and max(abs(length.min() - 1), abs(length.max() - 1)) <= UNIT_MAX_OFF:  # as nearly always
        return seal(over_frames(partial(rotation.from_quaternion, last=last), q)), findings
    lost = np.zeros(length.shape, dtype=bool)
    for k, name in enumerate(names):
        lost[:, k], told = _check_lengths(name, length[:, k])
        findings += told
    return seal(over_frames(partial(rotation.from_quaternion, last=last), hide(q, lost))), findings


def _check_lengths(name: str, length: Floats) -> tuple[Bools, list[Finding]]:
    """(n,) quaternions of a body that are no rotations, and what to say of these and of those that are scaled."""
    with np.errstate(invalid="ignore"):
        off = np.abs(length - 1)
        zero = length < ZERO_LENGTH
        bad = ~zero & (off > ROTATION_MAX_OFF)
        far = ~zero & ~bad & (off > ROUNDED_MAX_OFF)
        near = ~zero & (off > UNIT_MAX_OFF) & (off <= ROUNDED_MAX_OFF)
    count, known = int(bad.sum()), int((~zero & ~np.isnan(length)).sum())
    if count > known / 2:
        text = f"{count} of {known} quaternions are far from unit length; check which columns hold them"
        raise CondyleError(text, code="not-rotations", frame=int(np.argmax(bad)), body=name)

    def tell(code: str, severity: Severity, text: str, rows: Bools, worst: float | None = None) -> Finding:
        first, unit = int(np.argmax(rows)), "" if worst is None else "1"
        text = f"{name}: {text}"
        return Finding(code, severity, text, (name,), value=worst, unit=unit, frame=first, count=int(rows.sum()))

    lost, findings = zero | bad, []
    if lost.any():
        findings.append(tell("rotation-rejected", "warning", _describe_rejected(zero, bad), lost))
    if far.any():
        worst = float(off[far].max())
        text = f"{far.sum()} quaternions are off unit length by up to {worst:.2f} and were scaled; check the columns"
        findings.append(tell("quaternion-normalised", "warning", text, far, worst))
    elif near.any():
        text = f"{near.sum()} quaternions were scaled to unit length"
        findings.append(tell("quaternion-normalised", "info", text, near, float(off[near].max())))
    return lost, findings


def _measure_quaternions(q: Floats) -> Floats:
    """(n, m) lengths of quaternions (n, m, 4); NaN where one is no number."""
    with np.errstate(invalid="ignore", over="ignore"):
        length = np.sqrt(np.einsum("...i,...i->...", q, q))
    if not np.isfinite(length).all():
        length[~np.isfinite(q).all(axis=-1)] = np.nan
    return np.asarray(length)


def _describe_rejected(zero: Bools, bad: Bools) -> str:
    """What is wrong with quaternions of which some (n,) are zero and some far from unit length."""
    words = []
    if zero.any():
        words.append(f"{many(zero.sum(), 'quaternion')} of zeros, as devices write where they lose a sample")
    if bad.any():
        words.append(f"{many(bad.sum(), 'quaternion')} far from unit length, first in frame {np.argmax(bad)}")
    left = "those poses are left out" + ("; check the columns" if bad.any() else "")
    return f"{' and '.join(words)}; {left}"


def _check_matrices(R: Floats, names: tuple[str, ...]) -> tuple[Floats, list[Finding]]:
    """Rotations from matrices: rounding repaired, non-rotations masked; raises when most are none."""
    off = over_frames(_measure_defects, R)
    with np.errstate(invalid="ignore"):
        bad, rounded = off > REPAIRABLE, (off > ROUNDED) & (off <= REPAIRABLE)
    findings: list[Finding] = []
    for k, name in enumerate(names):
        count = int(bad[:, k].sum())
        if count == 0:
            continue
        frame = int(np.argmax(bad[:, k]))
        empty = over_frames(lambda one: (one == 0).all(axis=(-2, -1)), R[:, k])  # a dropout, not a wrong convention
        wrong, known = bad[:, k] & ~empty, int((~np.isnan(off[:, k]) & ~empty).sum())
        what = "sheared or scaled"
        if not wrong.any():
            what = "zeros, as devices write where they lose a sample"
        elif np.isinf(off[wrong, k]).mean() > 0.5:
            what = "mirrored (determinant -1, axes left-handed or swapped)"
        if wrong.sum() > known / 2:
            raise CondyleError(
                f"{wrong.sum()} of {known} matrices are no rotations but {what}; convert them first",
                code="not-rotations",
                frame=frame,
                body=name,
            )
        kind = "matrix is no rotation" if count == 1 else "matrices are no rotations"
        text = f"{name}: {count} {kind} but {what}, first in frame {frame}; those poses are left out"
        findings.append(Finding("rotation-rejected", "warning", text, (name,), frame=frame, count=count))
    if rounded.any():
        worst = float(off[rounded].max())
        severity = "info" if worst < 5e-3 else "warning"
        text = f"{rounded.sum()} matrices were off by up to {worst:.1g} and replaced by the nearest rotation"
        frame, count = int(np.argmax(rounded.any(axis=1))), int(rounded.sum())
        findings.append(
            Finding("rotation-repaired", severity, text, value=worst, unit="1", frame=frame, count=count)  # type: ignore[arg-type]
        )
    return seal(over_frames(_repair_matrices, R, off)) if rounded.any() or bad.any() else R, findings


def _measure_defects(R: Floats) -> Floats:
    """(n, m) how far matrices (n, m, 3, 3) are from rotations; NaN where one is no number."""
    whole: Bools = np.asarray(np.isfinite(R).all(axis=(-2, -1)))
    with np.errstate(invalid="ignore", over="ignore"):
        off = rotation.defect(R if whole.all() else np.where(whole[..., None, None], R, np.nan))
    return np.where(np.isnan(off) & whole, np.inf, off)  # entries so large that their products overflow


def _repair_matrices(R: Floats, off: Floats) -> Floats:
    """The rotations nearest to matrices (n, m, 3, 3) that are off (n, m) by rounding; NaN where they are none."""
    with np.errstate(invalid="ignore"):
        bad, rounded = off > REPAIRABLE, (off > ROUNDED) & (off <= REPAIRABLE)
    near = np.where(bad[..., None, None], np.nan, R)
    near[rounded] = rotation.polish(R[rounded])
    return near


def name_source(take: Take, number: int) -> str:
    """The name of a file of a take, without its folders."""
    return PurePath(take.sources[number]).name if number < len(take.sources) else f"file {number + 1}"


def with_world(take: Take) -> Take:
    """The take with a fixed body `world` at the origin of the room."""
    if WORLD in take.names:
        raise UsageError("this take already has a body named 'world'; rename it", code="duplicate-name", body=WORLD)

    def add_body(values: Floats, one: Floats) -> Floats:
        """The numbers (n, m, ...) with those of one more body that never change."""
        room = np.broadcast_to(one, (take.frames, 1, *one.shape))
        return seal(over_frames(lambda *parts: np.concatenate(parts, axis=1), values, room))

    p, R = add_body(take.p_world_body, np.zeros(3)), add_body(take.R_world_body, np.eye(3))
    return replace(take, names=(*take.names, WORLD), R_world_body=R, p_world_body=p)
