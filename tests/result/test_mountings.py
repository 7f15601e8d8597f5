"""One person in several mountings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.estimate.lengths import measure_lengths
from condyle.result.mountings import describe_prior, share_figures
from tests.make.performers import fit_chain


def test_figures_share_their_lengths_and_keep_their_mounts() -> None:
    before = [replace(fit_chain(seed), fit_id=str(seed)) for seed in (1, 2, 3)]
    shared = share_figures(before)
    lengths = [measure_lengths(one) for one in shared.skeletons]
    for one in lengths[1:]:
        order = [one.keys.index(key) for key in lengths[0].keys]
        np.testing.assert_allclose(one.value[order], lengths[0].value, atol=3e-4)
    for old, new in zip(before, shared.skeletons, strict=True):
        assert (measure_lengths(new).sd < measure_lengths(old).sd).all()
        moved = [np.linalg.norm(a.p_child_joint - b.p_child_joint) for a, b in zip(old.joints, new.joints, strict=True)]
        assert 0 < max(moved) < 0.01
        assert "lengths-shared" in {finding.code for finding in new.findings}
    assert (shared.profile.mountings, shared.profile.fits) == (3, ("1", "2", "3"))
    assert shared.findings == ()


def test_another_person_among_them_is_told_in_every_figure() -> None:
    shared = share_figures([fit_chain(1), fit_chain(2), replace(fit_chain(3, longer=1.1), fit_id="c")])
    assert "another-person" in {finding.code for finding in shared.findings}
    assert all("another-person" in {finding.code for finding in one.findings} for one in shared.skeletons)


def test_names_that_tell_no_sides_and_no_limbs_are_refused() -> None:
    with pytest.raises(CondyleError, match="no two sides"):
        share_figures([fit_chain(1), fit_chain(2)], sides=True)
    with pytest.raises(CondyleError, match="known proportions"):
        share_figures([fit_chain(1), fit_chain(2)], proportions=True)


def test_a_prior_is_told_with_the_answer_without_it() -> None:
    before = measure_lengths(fit_chain(1))
    after = replace(before, value=before.value + [0.0, 0.012])
    finding = describe_prior("sides were taken as alike", before, after)
    assert finding.value == pytest.approx(0.012)
    assert "without it" in finding.text
    assert finding.bodies == (before.keys[1][0],)
