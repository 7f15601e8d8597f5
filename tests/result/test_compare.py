"""Figures side by side, against plain arithmetic."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.result.compare import compare_figures, measure_agreement
from condyle.result.profile import apply_profile, make_profile
from tests.make.performers import fit_chain


def test_fits_of_one_mounting_agree_in_lengths_and_centres() -> None:
    found = compare_figures([fit_chain(1), fit_chain(1, 1)], ["a", "b"])
    assert found.same_tree
    assert found.mountings == (0, 0)
    assert len(found.lengths) == 2
    assert all(row.apart is not None and row.apart < 1.5 for row in found.lengths)
    assert {row.joint for row in found.centres} == {tuple(sorted((j.child, j.parent))) for j in fit_chain(1).joints}
    assert found.agreement is not None
    assert found.agreement.sem < 0.005
    assert abs(found.agreement.bias) < 0.005


def test_another_person_is_apart_and_another_mounting_has_no_centres() -> None:
    profile, _ = make_profile([replace(fit_chain(1), fit_id="a")])
    found = compare_figures([profile, fit_chain(2, longer=1.1)], ["a", "b"])
    assert found.lengths[0].apart is not None
    assert found.lengths[0].apart > 2
    assert not found.centres
    assert found.agreement is not None
    assert found.agreement.bias > 0.02


def test_lengths_of_one_fit_are_no_retest() -> None:
    fit = replace(fit_chain(1), fit_id="a")
    solved = replace(fit_chain(1), fit_id="b", take={**fit.take, "calibration": {"fit_id": "a", "sources": []}})
    other = replace(fit_chain(1, 1), fit_id="c")
    for known in (fit, solved, make_profile([fit, other])[0]):
        found = compare_figures([other, fit, known], ["other", "fit", "known"])
        assert (1, 2) in found.shared
        assert found.agreement is None
    assert compare_figures([fit, other], ["a", "b"]).shared == ()
    drawn = apply_profile(replace(fit_chain(3), fit_id="d"), make_profile([fit])[0])
    again = replace(fit, fit_id="e")  # the same recording, by other options
    for known in (drawn, again):
        assert compare_figures([fit, known], ["fit", "known"]).agreement is None


def test_trees_that_differ_are_told() -> None:
    cut = replace(fit_chain(1), joints=fit_chain(1).joints[:-1], limbs=fit_chain(1).limbs[:1])
    found = compare_figures([fit_chain(1), cut], ["a", "b"])
    assert not found.same_tree
    assert len(found.edges) == 1
    assert [None in row.length for row in found.lengths].count(True) == 1
    with pytest.raises(CondyleError, match="two or more"):
        compare_figures([cut], ["a"])


def test_agreement_is_that_of_the_textbooks() -> None:
    # Shrout and Fleiss 1979, table 2: six targets, four judges; ICC(2,1) is 0.29
    scores = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
    found = measure_agreement(scores)
    assert found is not None
    assert found.icc == pytest.approx(0.29, abs=0.005)
    pair = measure_agreement(np.array([[1.0, 1.2], [2.0, 2.0], [3.0, 3.4]]))
    assert pair is not None
    assert pair.sem == pytest.approx(np.sqrt((0.2**2 + 0.4**2) / 2 / 3))
    assert pair.bias == pytest.approx(0.2)
    assert pair.limits[1] - pair.bias == pytest.approx(1.96 * 0.2, rel=1e-3)
    assert measure_agreement(np.zeros((0, 2))) is None
