"""live/alarms.py: an alarm is believed when two looks in a row tell it, and each event is one alarm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from condyle.faults.slips import SlipRepair
from condyle.findings import Finding
from condyle.live.alarms import (
    WAITING_LOOKS,
    Alarm,
    are_same,
    choose_alarming,
    confirm,
    describe_suspicions,
    is_waiting,
    merge_alarms,
)
from condyle.model.skeleton import Slip

SLIP = Finding("slip", "warning", "thigh moved", ("thigh",), (20.0, 20.0))
MOVED = Slip("thigh", 600, 20.3, np.array([0.02, 0.0, 0.0]), np.zeros(3), 40.0)
SUSPECTED = Finding("repair-not-kept", "info", "thigh perhaps moved", ("thigh",), (20.3, 20.3), 0.02, "m")
FROZEN = Finding("frozen-samples", "warning", "hand is frozen", ("hand",), (3.0, 4.0))


def test_only_findings_that_one_can_act_upon_are_alarms() -> None:
    wide = Finding("wide-interval", "warning", "poorly known", ("hand",))
    assert choose_alarming([SLIP, wide, replace(FROZEN, severity="info")]) == [SLIP]


def test_an_alarm_is_raised_by_its_second_look_and_only_then() -> None:
    standing, raised = confirm([], [SLIP], 22.0)
    assert not raised
    standing, raised = confirm(standing, [replace(SLIP, time=(20.4, 20.4))], 24.0)
    assert [one.raised for one in raised] == [24.0]
    standing, raised = confirm(standing, [SLIP], 26.0)
    assert not raised
    standing, raised = confirm(standing, [], 28.0)
    assert [one.finding.code for one in standing] == ["slip"]  # it stands


def test_what_is_not_told_again_was_none() -> None:
    standing, _ = confirm([], [FROZEN], 2.0)
    standing, _ = confirm(standing, [], 4.0)
    assert not standing
    standing, raised = confirm(standing, [FROZEN], 6.0)
    assert not raised


def test_two_slips_of_a_sensor_are_told_apart_by_their_moment() -> None:
    assert are_same(SLIP, replace(SLIP, time=(21.0, 21.0)))
    assert not are_same(SLIP, replace(SLIP, time=(31.0, 31.0)))
    assert not are_same(SLIP, replace(SLIP, bodies=("shank",)))
    assert are_same(FROZEN, replace(FROZEN, time=(90.0, 91.0)))


def test_an_event_that_two_tell_is_one_alarm() -> None:
    one, other = Alarm(SLIP, 2, 21.0), Alarm(replace(SLIP, time=(20.2, 20.2)), 2, 24.0)
    assert merge_alarms([one], [other, Alarm(FROZEN)]) == [one]


def test_a_suspicion_counts_as_a_look_but_raises_nothing_alone() -> None:
    standing, raised = confirm([], [], 22.0, [SUSPECTED])
    standing, raised = confirm(standing, [], 23.0, [SUSPECTED])
    assert not raised
    standing, raised = confirm(standing, [SLIP], 24.0)
    assert [one.finding for one in raised] == [SLIP]


def test_a_slip_that_is_in_doubt_for_a_look_is_raised_as_it_was_told() -> None:
    standing, _ = confirm([], [SLIP], 22.0)
    standing, raised = confirm(standing, [], 23.0, [SUSPECTED])
    assert [one.finding for one in raised] == [SLIP]
    standing, raised = confirm([], [SLIP], 22.0)
    standing, raised = confirm(standing, [], 23.0, [replace(SUSPECTED, bodies=("shank",))])
    assert not raised


def test_a_slip_that_was_not_proved_is_suspected_at_its_moment() -> None:
    (suspected,) = describe_suspicions([SlipRepair((MOVED,))])
    assert suspected.text == "thigh: perhaps moved 20 mm on its body at 20.3 s"
    assert (suspected.code, suspected.bodies, suspected.time) == ("repair-not-kept", ("thigh",), (20.3, 20.3))


def test_a_suspicion_confirms_no_slip_of_another_moment() -> None:
    standing: list[Alarm] = []
    for look in range(5):
        standing, raised = confirm(standing, [], 22.0 + look, [SUSPECTED])
    later = replace(SLIP, time=(500.0, 500.0))
    standing, raised = confirm(standing, [later], 502.0, [SUSPECTED])
    assert not raised
    standing, raised = confirm(standing, [later], 503.0)
    assert [one.finding for one in raised] == [later]


def test_what_is_told_once_is_waited_for_until_it_is_raised_or_gone() -> None:
    assert not is_waiting([])
    standing, _ = confirm([], [SLIP], 22.0)
    assert is_waiting(standing)
    assert not is_waiting(confirm(standing, [SLIP], 23.0)[0])
    assert not is_waiting(confirm(standing, [], 23.0)[0])


def test_a_suspicion_that_never_proves_itself_is_not_waited_for_for_ever() -> None:
    standing: list[Alarm] = []
    waited = []
    for look in range(WAITING_LOOKS + 4):
        standing, _ = confirm(standing, [], 22.0 + look, [SUSPECTED])
        waited.append(is_waiting(standing))
    assert waited == [True] * WAITING_LOOKS + [False] * 4
    standing, raised = confirm(standing, [SLIP], 60.0)  # it still counts as a look
    assert [one.finding for one in raised] == [SLIP]
