"""A routine for a visitor: one prompt after the other, each until its joints are known or its time is over.

A routine is a TOML file: docs/live.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from ..errors import CondyleError
from ..findings import many
from ..io.atomic import read_small
from ..io.toml_file import read_toml
from .coach import Progress

PERSON = Path(__file__).parent / "routines" / "person.toml"  # the routine where none is given
FINISH_S = 4.0  # s that the last words stand before the session ends
PICTURE_MOST_BYTES = 2**22
PICTURE_KINDS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp",
                 ".gif": "image/gif", ".svg": "image/svg+xml"}  # fmt: skip


class RoutineStep(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One thing to do.

    prompt    what the visitor reads
    joints    by their names (right hip) or sensors; the step is over when all are known
    picture   file beside the script
    at_least  [s] that it stands; a step without joints is over then
    at_most   [s] after which it is over whatever is known
    """

    prompt: str
    joints: tuple[str, ...] = ()
    picture: str = ""
    at_least: float = 3.0
    at_most: float = 20.0


class Routine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Steps, what stands above them, and the last words."""

    step: tuple[RoutineStep, ...]
    title: str = ""
    finish: str = "Thank you, that is all."


@dataclass(frozen=True)
class Picture:
    """The bytes of a picture and its kind, such as image/png."""

    kind: str
    data: bytes


def read_routine(path: str | Path | None = None) -> tuple[Routine, dict[str, Picture]]:
    """The routine in a TOML file with its pictures by name; None: the one for a person. Raises CondyleError where it
    is none.
    """
    path = PERSON if path is None else Path(path)
    try:
        routine = msgspec.convert(read_toml(path, "a routine", "bad-option")[0], Routine)
    except msgspec.ValidationError as error:
        raise CondyleError(f"is no routine: {error}", code="bad-option", path=path) from None
    if not routine.step:
        raise CondyleError("has no step; each begins with [[step]] and has a prompt", code="bad-option", path=path)
    for number, step in enumerate(routine.step, 1):
        if not 0 <= step.at_least <= step.at_most:
            text = f"step {number}: at_least {step.at_least:g} s and at_most {step.at_most:g} s contradict each other"
            raise CondyleError(text, code="bad-option", path=path)
    return routine, {one.picture: _read_picture(path, one.picture) for one in routine.step if one.picture}


def _read_picture(script: Path, name: str) -> Picture:
    path = script.parent / name
    if path.suffix.lower() not in PICTURE_KINDS:
        text = f"the picture {name} is none that browsers show: {', '.join(PICTURE_KINDS)}"
        raise CondyleError(text, code="bad-option", path=script)
    try:
        data = read_small(path, PICTURE_MOST_BYTES)
    except CondyleError as error:
        raise CondyleError(f"the picture {name} {error.text}", code=error.code, path=script) from None
    if len(data) > PICTURE_MOST_BYTES:
        raise CondyleError(f"the picture {name} has more than 4 MB", code="bad-option", path=script)
    return Picture(PICTURE_KINDS[path.suffix.lower()], data)


@dataclass(eq=False)
class Guide:
    """Where a visitor is in a routine.

    number  of the step; that of the last words is one more than there are steps
    over    the last words have stood long enough
    """

    routine: Routine
    number: int = 0
    over: bool = False
    skipped: list[str] = field(default_factory=list)  # joints that were not known when their time was over
    _since: float | None = None
    _known: tuple[str, ...] = ()
    _wants_next: bool = False

    def begin(self) -> None:
        """From the first step."""
        self.number, self.over, self._since, self._known, self._wants_next = 0, False, None, (), False
        self.skipped.clear()

    def skip(self) -> None:
        """The operator has seen enough of this step."""
        self._wants_next = True

    def advance(self, moment: float, progress: Sequence[Progress]) -> None:
        """Goes on where that is due at a moment [s], given how far every joint is; at most one step a call."""
        if self._since is None:
            self._since = moment
        stood = moment - self._since
        if self.number == len(self.routine.step):
            self.over = stood >= FINISH_S
            return
        step = self.routine.step[self.number]
        known = {name.casefold() for one in progress if one.done for name in (one.name, one.joint)}
        there = {name.casefold() for one in progress for name in (one.name, one.joint)}
        # A joint that this figure does not have is not waited for, once any other of the step is there.
        wanted = [name for name in step.joints if name.casefold() in there] or list(step.joints)
        self._known = tuple(name for name in wanted if name.casefold() in known)
        done = len(self._known) == len(wanted)
        if (done and stood >= step.at_least) or stood >= step.at_most or self._wants_next:
            self.skipped += [name for name in wanted if name not in self._known]
            self.number, self._since, self._known, self._wants_next = self.number + 1, moment, (), False

    def describe(self, moment: float) -> dict[str, Any]:
        """What the page shows."""
        steps = self.routine.step
        last = self.number == len(steps)
        step = None if last else steps[self.number]
        return {
            "title": self.routine.title,
            "text": self.routine.finish if step is None else step.prompt,
            "picture": "" if step is None else step.picture,
            "number": self.number + 1,
            "steps": len(steps),
            "known": list(self._known),
            "joints": [] if step is None else list(step.joints),
            "seconds": 0.0 if self._since is None else moment - self._since,
            "last": last,
        }

    def __str__(self) -> str:
        left = f"; not known: {', '.join(self.skipped)}" if self.skipped else ""
        return f"{many(len(self.routine.step), 'step')}{left}"
