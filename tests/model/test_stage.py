"""Decisions of stages and changes of a take, as they are handed to the engine."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from condyle import Finding
from condyle.model.stage import Change, Decision, Effect, Proof, apply_changes, describe_change
from condyle.model.take import Take


@dataclass(frozen=True)
class Doubled:
    """Positions from a frame on multiplied by two, then moved by one metre."""

    first: int
    size: float | None = None
    repair: str = "slips"
    effect: Effect = "moves"
    bodies: tuple[str, ...] = ("head",)
    hold: tuple[tuple[str, str], ...] = ()
    at_border: bool = False
    suspicion: str = "head slipped"

    def apply(self, take: Take) -> Take:
        p = take.p_world_body.copy()
        p[self.first :] = 2 * p[self.first :] + self.first
        return replace(take, p_world_body=p)

    def describe(self) -> list[Finding]:
        return [Finding("slip", "info", "moved back")]


@pytest.fixture
def take() -> Take:
    return Take(("head",), np.arange(4.0), np.tile(np.eye(3), (4, 1, 1, 1)), np.ones((4, 1, 3)))


def test_of_two_changes_the_one_that_begins_later_is_made_first(take: Take) -> None:
    early, late = Doubled(1), Doubled(3)
    expected = [1, 3, 3, 2 * (2 * 1 + 3) + 1]
    for changes in ([early, late], [late, early]):
        np.testing.assert_array_equal(apply_changes(take, changes).p_world_body[:, 0, 0], expected)
    assert [change.first for change in changes] == [3, 1]  # the list itself is left as it is


def test_no_change_leaves_the_very_take(take: Take) -> None:
    assert apply_changes(take, []) is take


def test_a_proof_is_kept_unless_something_speaks_against_it() -> None:
    assert Proof(0.01, 0.02).kept
    assert not Proof(0.02, 0.01, "it lies at the border of two recordings").kept


@pytest.mark.parametrize(("size", "unit"), [(0.03, "m"), (None, "")])
def test_a_refusal_says_what_was_tried_and_why_it_was_not_kept(size: float | None, unit: str) -> None:
    change: Change = Doubled(1, size)
    [finding] = describe_change(change, Proof(0.01, 0.02, "no gain"))
    assert (finding.code, finding.severity, finding.bodies) == ("repair-not-kept", "info", ("head",))
    assert finding.text == "head slipped; tried and not kept: no gain; the take was fitted as recorded there"
    assert (finding.value, finding.unit) == (size, unit)


def test_of_a_change_that_is_kept_it_speaks_itself() -> None:
    assert [one.text for one in describe_change(Doubled(1), Proof(0.02, 0.01))] == ["moved back"]


def test_a_decision_that_says_nothing_changes_nothing() -> None:
    nothing = Decision()
    assert (nothing.findings, nothing.take, nothing.changes) == ((), None, ())
