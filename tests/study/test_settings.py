"""Settings of takes."""

from __future__ import annotations

from pathlib import Path

import pytest

import condyle
from condyle.study.settings import check_settings, merge_settings, parse_settings


def test_settings_are_those_of_options_toml(tmp_path: Path) -> None:
    options, reading, own_tree = parse_settings({"tree": "file", "reading": {"unit": "mm"}, "report": False}, tmp_path)
    assert own_tree
    assert options.tree == ()
    assert reading.unit == "mm"
    with pytest.raises(condyle.UsageError, match="no option 'intervalls'; did you mean 'intervals'"):
        parse_settings({"intervalls": False}, tmp_path)


def test_a_rod_of_the_settings_is_read(tmp_path: Path) -> None:
    rod = {"pair": ["a", "b"], "distance": 0.5}
    options, _, _ = parse_settings({"rod": rod}, tmp_path)
    assert options.field == condyle.Rod(("a", "b"), 0.5)
    with pytest.raises(condyle.CondyleError, match=r"rod\.npz: no such file"):
        parse_settings({"rod": {**rod, "file": "rod.npz"}}, tmp_path)


def test_the_nearer_settings_win_and_reading_key_by_key() -> None:
    common = {"field": True, "intervals": False, "reading": {"unit": "mm", "rate": 60.0}}
    own = {"rod": {"pair": ["a", "b"]}, "reading": {"unit": "m"}}
    assert merge_settings(common, own) == {
        "intervals": False,
        "rod": {"pair": ["a", "b"]},
        "reading": {"unit": "m", "rate": 60.0},
    }
    assert merge_settings(common, {}) == common


def test_an_export_that_does_not_exist_is_told(tmp_path: Path) -> None:
    check_settings({"export": "bvh,glb"}, tmp_path)
    with pytest.raises(condyle.UsageError, match="no export format 'xyz'"):
        check_settings({"export": "xyz"}, tmp_path)
