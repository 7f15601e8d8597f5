"""What a stage hands to the engine: a decision, and changes of the take that have to prove themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from ..findings import Finding
from .take import Take
from .values import dataclass

Effect = Literal["reading", "moves", "leaves out"]


@dataclass(frozen=True)
class Proof:
    """What a change did to the joints of the bodies it touched.

    before, after  [m]  rms gap of those joints where both fits count
    against             what speaks against the change, for people; "" where it is kept
    """

    before: float
    after: float
    against: str = ""

    @property
    def kept(self) -> bool:
        return not self.against


class Change(Protocol):
    """A repair of a take. It detects nothing; the engine decides whether it is kept.

    repair  name by which it is switched off
    effect  whether poses are moved or left out, which has to prove itself, or read otherwise as was asked
    bodies  names of those it touches;  first: the first frame it touches
    size    [m] by which poses move, where they do
    hold    (parent, child) that stay joined in the fit after it
    at_border  whether it may begin at the border of two recordings: sensors come off and are put on between them; a
               step of poses there is another mounting
    suspicion  what it would put right, for people, where it is tried and not kept
    """

    @property
    def repair(self) -> str: ...
    @property
    def effect(self) -> Effect: ...
    @property
    def bodies(self) -> tuple[str, ...]: ...
    @property
    def first(self) -> int: ...
    @property
    def size(self) -> float | None: ...
    @property
    def hold(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def at_border(self) -> bool: ...
    @property
    def suspicion(self) -> str: ...
    def apply(self, take: Take) -> Take: ...
    def describe(self) -> list[Finding]:
        """What to say of it where it was made."""
        ...


def describe_change(change: Change, proof: Proof) -> list[Finding]:
    """What to say of a change that was tried."""
    if proof.kept:
        return change.describe()
    text = f"{change.suspicion}; tried and not kept: {proof.against}; the take was fitted as recorded there"
    return [Finding("repair-not-kept", "info", text, change.bodies, value=change.size, unit="m" if change.size else "")]


@dataclass(frozen=True, eq=False)
class Decision:
    """What a stage found: findings, and the take as it is to be read from now on (None: as before), asked for or
    certain by itself; or changes, which are kept one by one where they prove themselves.
    """

    findings: Sequence[Finding] = ()
    take: Take | None = None
    changes: Sequence[Change] = ()


def apply_changes(take: Take, changes: Sequence[Change]) -> Take:
    """The take with all of them made; of two on one body the later comes first, since it is on top of the earlier."""
    for change in sorted(changes, key=lambda one: one.first, reverse=True):
        take = change.apply(take)
    return take
