"""Figures have the dimensions, the order and the freedom they claim."""

import numpy as np
import pytest

from condyle.errors import UsageError
from condyle.simulate import FEMALE_LENGTHS, MALE_LENGTHS, SimulatedFigure, chain, human, limb_lengths, linkage

ROUNDING_M = 1e-12


def test_the_human_has_fifteen_bodies_and_48_degrees_of_freedom() -> None:
    figure = human()
    assert len(figure.names) == 15
    assert figure.degrees_of_freedom == 48
    assert set(figure.kind) == {"ball"}


@pytest.mark.parametrize("lengths", [MALE_LENGTHS, FEMALE_LENGTHS])
def test_the_human_has_the_measured_limbs_of_either_subject(lengths) -> None:
    limbs = limb_lengths(human(lengths))
    beyond = {"thigh": "shank", "shank": "foot", "upper_arm": "forearm", "forearm": "hand"}
    for body, length in lengths.items():
        key = (body, body, body[:2] + beyond[body[2:]])
        assert limbs[key] == pytest.approx(length, abs=ROUNDING_M)


def test_the_linkage_has_the_five_measured_lengths() -> None:
    limbs = limb_lengths(linkage())
    assert limbs == pytest.approx(
        {
            ("chest", "head", "l_upper_arm"): 0.390,
            ("chest", "head", "r_upper_arm"): 0.397,
            ("chest", "l_upper_arm", "r_upper_arm"): 0.343,
            ("l_upper_arm", "l_upper_arm", "l_forearm"): 0.314,
            ("r_upper_arm", "r_upper_arm", "r_forearm"): 0.286,
        },
        abs=ROUNDING_M,
    )


def test_a_chain_has_the_kinds_that_were_asked_for() -> None:
    figure = chain(("ball", "hinge", "rigid"), length=0.2)
    assert figure.kind[1:] == ("ball", "hinge", "rigid")
    assert figure.degrees_of_freedom == 6 + 3 + 1
    assert np.isfinite(figure.axis).all(axis=1).tolist() == [False, False, True, False]


def test_an_unknown_limb_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UsageError, match="no length named 'tail'; there are r_shank"):
        human({"tail": 0.3})


def test_a_child_before_its_parent_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="the parent of 'hand' must come before it"):
        SimulatedFigure(("hand", "arm"), np.array([1, -1]), np.zeros((2, 3)), ("ball", "ball"), np.full((2, 3), np.nan))


def test_a_figure_is_frozen() -> None:
    figure = human()
    with pytest.raises(ValueError, match="read-only"):
        figure.p_parent_joint[0, 0] = 1
