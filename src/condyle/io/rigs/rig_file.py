"""The bones of a rig's file at rest, and what the file takes as motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

from ...maths.arrays import Floats, Ints, freeze
from ...model.values import dataclass


@dataclass(frozen=True, eq=False)
class RigClip:
    """A stretch of motion on a rig: poses of its b bones in the file's own world and unit of length.

    placed   the bone whose place is written frame by frame; the others keep theirs in their parents
    time     (n,) [s]
    R_world  (n, b, 3, 3)
    p_world  (n, b, 3)
    """

    placed: int
    time: Annotated[Floats, "n"]
    R_world: Annotated[Floats, "n b 3 3"]
    p_world: Annotated[Floats, "n b 3"]

    def __post_init__(self) -> None:
        freeze(self, n=len(self.time))


@dataclass(frozen=True, eq=False)
class RigFile:
    """Bones at rest, in the file's own world and unit of length.

    parent     (b,)       -1 for a root; parents come first
    R_rest     (b, 3, 3), p_rest (b, 3)
    tip        (b, 3)     end of a bone without a child; NaN where the file tells none
    placeable  b          whether the place of a bone can be written frame by frame
    known_as   b          what bones are called by a standard that the file follows, VRM; else as `names`
    render                the contents of files with these clips: one file for each, or one for all
    """

    path: Path
    names: tuple[str, ...]
    parent: Annotated[Ints, "b"]
    R_rest: Annotated[Floats, "b 3 3"]
    p_rest: Annotated[Floats, "b 3"]
    tip: Annotated[Floats, "b 3"]
    placeable: tuple[bool, ...]
    render: Callable[[Sequence[RigClip]], list[bytes]]
    known_as: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze(self, b=len(self.names))
        object.__setattr__(self, "known_as", self.known_as or self.names)
