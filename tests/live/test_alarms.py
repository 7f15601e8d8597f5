"""live/alarms.py: an alarm is believed when two looks in a row tell it, and each event is one alarm."""

from __future__ import annotations

from dataclasses import replace

from condyle.findings import Finding
from condyle.live.alarms import Alarm, are_same, choose_alarming, choose_suspicions, confirm, merge_alarms

SLIP = Finding("slip", "warning", "thigh moved", ("thigh",), (20.0, 20.0))
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
    suspected = Finding("repair-not-kept", "info", "thigh perhaps moved", ("thigh",), value=0.02, unit="m")
    assert choose_suspicions([SLIP, suspected, replace(suspected, value=None, unit="")]) == [suspected]
    standing, raised = confirm([], [], 22.0, [suspected])
    standing, raised = confirm(standing, [], 23.0, [suspected])
    assert not raised
    standing, raised = confirm(standing, [SLIP], 24.0)
    assert [one.finding for one in raised] == [SLIP]


def test_a_slip_that_is_in_doubt_for_a_look_is_raised_as_it_was_told() -> None:
    suspected = Finding("repair-not-kept", "info", "thigh perhaps moved", ("thigh",), value=0.02, unit="m")
    standing, _ = confirm([], [SLIP], 22.0)
    standing, raised = confirm(standing, [], 23.0, [suspected])
    assert [one.finding for one in raised] == [SLIP]
    standing, raised = confirm([], [SLIP], 22.0)
    standing, raised = confirm(standing, [], 23.0, [replace(suspected, bodies=("shank",))])
    assert not raised
