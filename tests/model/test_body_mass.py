from __future__ import annotations

import pytest

from condyle.model.body_mass import CARRIED_BY, SEGMENT_MASSES, UPPER_BODY

MIDDLE = ("head", "chest", "spine", "pelvis")


def test_the_segments_of_a_body_weigh_as_much_as_the_body() -> None:
    whole = sum(one.mass * (1 if part in MIDDLE else 2) for part, one in SEGMENT_MASSES.items())
    assert whole == pytest.approx(1, abs=5e-4)


def test_centres_lie_in_their_segments_and_long_axes_turn_easiest_in_limbs() -> None:
    for part, one in SEGMENT_MASSES.items():
        assert 0.3 < one.centre < 0.85, part
        if part not in MIDDLE:
            assert one.radii[2] < one.radii[1], part


def test_thorax_and_abdomen_together_have_both_masses_and_a_centre_between() -> None:
    assert UPPER_BODY.mass == pytest.approx(SEGMENT_MASSES["chest"].mass + SEGMENT_MASSES["spine"].mass)
    assert 0.5 < UPPER_BODY.centre < 0.65
    assert UPPER_BODY.radii[0] > UPPER_BODY.radii[2] / 2


def test_every_segment_but_the_pelvis_is_carried_by_another() -> None:
    assert set(CARRIED_BY) == set(SEGMENT_MASSES) - {"pelvis"}
    for part in CARRIED_BY:
        above = part
        while above in CARRIED_BY:
            above = CARRIED_BY[above]
        assert above == "pelvis"
