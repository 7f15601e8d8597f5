"""A part of a recording: the seconds and the bodies that are wanted, under the names that are wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from ..errors import UsageError, suggest
from ..maths.arrays import Ints
from ..maths.spool import over_frames, seal
from ..model.recording import Bodies, PlacedMarker, Recording
from ..model.take import UNTIMED_RATE, BodyMarker, CarriedCentre, OwnSkeleton


def cut_time(recording: Recording, start: float | None, stop: float | None) -> Recording:
    """The frames from `start` to `stop` [s], counted from the recording's first frame; None: its end."""
    if start is None and stop is None:
        return recording
    time = recording.time
    if time is None:
        time = np.arange(recording.frames) / (recording.rate or UNTIMED_RATE)
    elapsed = time - time[0] if len(time) else time
    rounding = 1e-9 + 2 * float(np.spacing(np.abs(time).max(initial=0.0)))  # counted from a date they have few digits
    inside = (elapsed >= (start or 0.0) - rounding) & (elapsed <= (np.inf if stop is None else stop) + rounding)
    rows: Ints = np.flatnonzero(inside)
    if not len(rows):
        lasts = float(elapsed.max(initial=0.0))
        wanted = f"from {start or 0:g} s" + ("" if stop is None else f" to {stop:g} s")
        text = f"has no frame {wanted}: it lasts {lasts:.4g} s"
        raise UsageError(text, code="bad-option", path=recording.source)
    whole = rows[-1] - rows[0] + 1 == len(rows)
    return recording.at(slice(int(rows[0]), int(rows[-1]) + 1) if whole else rows)


def choose_bodies(
    recording: Recording,
    only: Sequence[str] = (),
    drop: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
) -> Recording:
    """The recording with some of its bodies, under other names.

    only, drop  names in the file, or patterns such as l_*
    rename      {name in the file: name from now on}
    """
    if not (only or drop or rename):
        return recording
    bodies = recording.bodies
    if bodies is None:
        text = "the options only, drop and rename are for bodies, but this file has markers; form them with --bodies"
        raise UsageError(text, code="option-not-used", path=recording.source)
    kept = _match(only, bodies.names, recording.source) if only else list(bodies.names)
    gone = _match(drop, bodies.names, recording.source)
    kept = [name for name in kept if name not in gone]
    if not kept:
        raise UsageError("has no body left", code="bad-option", path=recording.source)
    names = dict(rename or {})
    for old in names:
        if old not in bodies.names:
            raise _miss(old, bodies.names, recording.source)
    columns = [bodies.names.index(name) for name in kept]
    chosen = Bodies(
        tuple(names.get(name, name) for name in kept),
        seal(over_frames(lambda part: part[:, columns], bodies.position)),
        seal(over_frames(lambda part: part[:, columns], bodies.orientation)),
    )
    twice = [name for k, name in enumerate(chosen.names) if name in chosen.names[:k]]
    if twice:
        raise UsageError(f"two bodies would be named '{twice[0]}'", code="duplicate-name", path=recording.source)
    own = recording.own
    if own is not None:
        own = OwnSkeleton(tuple(names.get(name, name) for name in own.names), own.parent, own.p_parent_joint)
    placed = tuple(_rename_marker(one, names) for one in recording.placed if one.body in kept)
    return replace(recording, bodies=chosen, own=own, placed=placed)


def _rename_marker(one: PlacedMarker, names: Mapping[str, str]) -> PlacedMarker:
    return one._replace(body=names.get(one.body, one.body), carried=_rename_carrier(one.carried, names))


def rename_marker(one: BodyMarker, names: Mapping[str, str]) -> BodyMarker:
    """A marker of a known figure with other names of bodies."""
    return replace(one, body=names.get(one.body, one.body), carried=_rename_carrier(one.carried, names))


def _rename_carrier(carried: CarriedCentre | None, names: Mapping[str, str]) -> CarriedCentre | None:
    return None if carried is None else replace(carried, body=names.get(carried.body, carried.body))


def _match(patterns: Iterable[str], names: Sequence[str], source: str) -> list[str]:
    """The names that any of the patterns is; raises where one is none."""
    found = set[str]()
    for pattern in patterns:
        same = find_named(pattern, names)
        if not same:
            raise _miss(pattern, names, source)
        found.update(same)
    return [name for name in names if name in found]


def find_named(pattern: str, names: Sequence[str]) -> list[str]:
    """The name that is the word itself, whatever signs it has; else those that fit it as a pattern such as l_*."""
    return [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]


def _miss(name: str, names: Sequence[str], source: str) -> UsageError:
    text = f"no body named '{name}'; {suggest(name, names)}"
    return UsageError(text, code="unknown-body", path=source)
