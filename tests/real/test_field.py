"""Recordings of cameras, whose space is straight: none may be told a bent field."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.make import recordings

from .files import FITS, Fit, run

pytestmark = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)

OPTICAL = ("diodem", "vicon", "functional_knee", "qualisys", "optitrack_c3d", "theia")
ROWS = [fit for fit in FITS if fit.name.startswith(OPTICAL)]


@pytest.mark.costly
@pytest.mark.parametrize("fit", ROWS, ids=lambda fit: fit.name)
def test_the_space_of_cameras_is_told_straight(fit: Fit, tmp_path: Path) -> None:
    assert "bent-field" not in run([*fit.words(tmp_path), "--no-intervals"]).codes()


@pytest.mark.costly
def test_a_straight_space_is_left_alone_even_when_asked(tmp_path: Path) -> None:
    fit = next(fit for fit in ROWS if fit.name == "diodem/arm/exp01")
    answer = run([*fit.words(tmp_path), "--no-intervals", "--field"])
    [told] = [finding for finding in answer.facts["findings"] if finding["code"] == "field-corrected"]
    assert told["value"] == 0
