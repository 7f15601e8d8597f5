from __future__ import annotations

import dataclasses

import pytest

from condyle.model.gait_events import GaitEvent


def test_an_event_is_a_value() -> None:
    event = GaitEvent(1.5, 0, "l", "strike", "l_foot")
    assert event == GaitEvent(1.5, 0, "l", "strike", "l_foot")
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.time = 2.0  # type: ignore[misc]
