"""Alarms of a session: which findings are, when one is believed, and which two are the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..faults.slips import SlipRepair
from ..findings import Finding
from ..model.stage import Change

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
    "sensors-exchanged",
)
SUSPICION_CODE = "repair-not-kept"  # a slip that was found, tried, and did not prove itself yet
TIMED_CODES = ("slip", "swap", SUSPICION_CODE)  # the same one again is told by its moment
# s between which two solves tell the same event: the shortest slip (faults.slips.SLIP_MIN_S). Of 32 simulated slips the
# moments that successive solves told were 0.1 s apart at most, and 0.5 s where the first was a suspicion.
SAME_MOMENT_S = 1.5
# solves, or looks at the newest seconds, in a row that must tell an alarm. Simulated sessions (benchmarks/live.py) tell
# nothing without a cause by a single look either; the second is for what they lack.
CONFIRMING_LOOKS = 2
# looks for which a suspicion is waited for, so that the next comes sooner (solver.CONFIRM_PERIOD_S): of 12 simulated
# slips of 12 and 20 mm one was suspected before it was told, for two looks; twice that
WAITING_LOOKS = 4


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
    if one.code != other.code and {one.code, other.code} != {SUSPICION_CODE, "slip"}:
        return False
    if one.code not in TIMED_CODES or one.time is None or other.time is None:
        return True
    return abs(one.time[0] - other.time[0]) <= SAME_MOMENT_S


def choose_alarming(findings: Sequence[Finding]) -> list[Finding]:
    """The findings that are alarms."""
    return [one for one in findings if one.code in ALARM_CODES and one.severity != "info"]


def describe_suspicions(refused: Sequence[Change]) -> list[Finding]:
    """Slips among the repairs that were not kept, each with its moment."""
    slips = [(one, (one.slips[0].time, one.slips[-1].time)) for one in refused if isinstance(one, SlipRepair)]
    return [Finding(SUSPICION_CODE, "info", one.suspicion, one.bodies, span, one.size, "m") for one, span in slips]


def is_waiting(alarms: Sequence[Alarm]) -> bool:
    """Whether another look, soon, may raise one of them."""
    return any(one.raised is None and one.looks <= WAITING_LOOKS for one in alarms)


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
