"""A part of a recording: the seconds and the bodies that are wanted, under the names that are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

import numpy as np

from ..errors import UsageError, suggest
from ..io.format import ReadOptions
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


def choose_bodies(recording: Recording, reading: ReadOptions) -> Recording:
    """The recording with some of its bodies, under other names, as the options only, drop and rename say."""
    if not (reading.only or reading.drop or reading.rename):
        return recording
    bodies = recording.bodies
    if bodies is None:
        text = "the options only, drop and rename are for bodies, but this file has markers; form them with --bodies"
        raise UsageError(text, code="option-not-used", path=recording.source)
    missing = find_missing(reading, bodies.names)
    if missing:
        text = f"no body named '{missing[0]}'; {suggest(missing[0], bodies.names)}"
        raise UsageError(text, code="unknown-body", path=recording.source)
    try:
        columns, chosen = pick_bodies(reading, bodies.names)
    except UsageError as error:
        raise error.at(recording.source) from None
    if not columns:
        raise UsageError("has no body left", code="bad-option", path=recording.source)
    parts = (seal(over_frames(lambda part: part[:, columns], one)) for one in (bodies.position, bodies.orientation))
    kept, names = {bodies.names[k] for k in columns}, reading.rename or {}
    own = recording.own
    if own is not None:
        own = OwnSkeleton(tuple(names.get(name, name) for name in own.names), own.parent, own.p_parent_joint)
    placed = tuple(_rename_marker(one, names) for one in recording.placed if one.body in kept)
    return replace(recording, bodies=Bodies(chosen, *parts), own=own, placed=placed)


def _rename_marker(one: PlacedMarker, names: Mapping[str, str]) -> PlacedMarker:
    return one._replace(body=names.get(one.body, one.body), carried=_rename_carrier(one.carried, names))


def rename_marker(one: BodyMarker, names: Mapping[str, str]) -> BodyMarker:
    """A marker of a known figure with other names of bodies."""
    return replace(one, body=names.get(one.body, one.body), carried=_rename_carrier(one.carried, names))


def _rename_carrier(carried: CarriedCentre | None, names: Mapping[str, str]) -> CarriedCentre | None:
    return None if carried is None else replace(carried, body=names.get(carried.body, carried.body))


def pick_bodies(reading: ReadOptions, names: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
    """Which of the bodies the options only and drop leave, and their names from now on; words that are none of theirs
    say nothing.
    """
    only, drop = ({name for one in words for name in find_named(one, names)} for words in (reading.only, reading.drop))
    columns = [k for k, name in enumerate(names) if (name in only or not reading.only) and name not in drop]
    new = reading.rename or {}
    chosen = tuple(new.get(names[k], names[k]) for k in columns)
    twice = [name for k, name in enumerate(chosen) if name in chosen[:k]]
    if twice:
        raise UsageError(f"two bodies would be named '{twice[0]}'", code="duplicate-name")
    return columns, chosen


def find_missing(reading: ReadOptions, names: Sequence[str]) -> list[str]:
    """What only, drop and rename name and no body is called."""
    missing = [one for one in (*reading.only, *reading.drop) if not find_named(one, names)]
    return [*missing, *(one for one in reading.rename or {} if one not in names)]


def find_named(pattern: str, names: Sequence[str]) -> list[str]:
    """The name that is the word itself, whatever signs it has; else those that fit it as a pattern such as l_*."""
    return [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
