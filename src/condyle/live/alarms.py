"""Alarms of a session: which findings are, when one is believed, and which two are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..findings import Finding

# Findings that somebody has to act upon while the person still wears the sensors; latency of a set-up is repaired.
ALARM_CODES = (
    "slip",
    "swap",
    "dropout",
    "frozen-samples",
    "hemisphere-flip",
    "bent-field",
    "device-error",
    "sensor-moved",
)
TIMED_CODES = ("slip", "swap")  # the same one again is told by its moment
SUSPICION_CODE = "repair-not-kept"  # a slip, where sensors were to be moved, that did not prove itself yet
# s between which two solves tell the same event: the shortest slip (faults.slips.SLIP_MIN_S). Of 32 simulated slips the
# moments that successive solves told were 0.1 s apart at most, and 0.5 s where the first was a suspicion.
SAME_MOMENT_S = 1.5
# solves, or looks at the newest seconds, in a row that must tell an alarm. Simulated sessions (benchmarks/live.py) tell
# nothing without a cause by a single look either; the second is for what they lack.
CONFIRMING_LOOKS = 2


@dataclass(frozen=True)
class Alarm:
    """Something that went wrong: its finding, told by so many looks in a row; when it was raised, and when it was over,
    [s] of the session's time; None: not yet.
    """

    finding: Finding
    looks: int = 1
    raised: float | None = None
    over: float | None = None


def are_same(one: Finding, other: Finding) -> bool:
    """Whether two findings tell one event."""
    if set(one.bodies) != set(other.bodies):
        return False
    if SUSPICION_CODE in (one.code, other.code):
        return {one.code, other.code} <= {SUSPICION_CODE, "slip"}
    if one.code != other.code:
        return False
    if one.code not in TIMED_CODES or one.time is None or other.time is None:
        return True
    return abs(one.time[0] - other.time[0]) <= SAME_MOMENT_S


def choose_alarming(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that are alarms."""
    return [one for one in findings if one.code in ALARM_CODES and one.severity != "info"]


def choose_suspicions(findings: Sequence[Finding]) -> list[Finding]:
    """Slips that were found, tried, and not proved."""
    return [one for one in findings if one.code == SUSPICION_CODE and one.unit == "m"]


def confirm(
    alarms: Sequence[Alarm], told: Sequence[Finding], moment: float, suspicions: Sequence[Finding] = ()
) -> tuple[list[Alarm], list[Alarm]]:
    """What the findings of another look make of the alarms, and those of them that are raised by it.

    One that was not told again before it was raised was none; one that was raised stands. A suspicion counts as a look,
    but raises nothing: one look of those that confirm an alarm must have proved it.
    """
    fresh = [*told, *suspicions]
    standing, raised = list[Alarm](), list[Alarm]()
    for alarm in alarms:
        again = next((one for one in fresh if are_same(alarm.finding, one)), None)
        if again is not None:
            fresh.remove(again)
            finding = alarm.finding if alarm.raised is not None or again.code == SUSPICION_CODE else again
            alarm = replace(alarm, looks=alarm.looks + 1, finding=finding)
        if again is not None or alarm.raised is not None:
            standing.append(alarm)
    standing += [Alarm(finding) for finding in fresh]
    for k, alarm in enumerate(standing):
        proved = alarm.finding.code != SUSPICION_CODE
        if alarm.raised is None and proved and alarm.looks >= CONFIRMING_LOOKS:
            standing[k] = replace(alarm, raised=moment)
            raised.append(standing[k])
    return standing, raised


def merge_alarms(*lists: Sequence[Alarm]) -> list[Alarm]:
    """The alarms that were raised, each event once."""
    out: list[Alarm] = []
    for alarm in (one for alarms in lists for one in alarms if one.raised is not None):
        if not any(are_same(alarm.finding, other.finding) for other in out):
            out.append(alarm)
    return out
