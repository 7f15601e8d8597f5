"""Scales as files: there and back, refused where wrong, and applied to everything that has a length."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import CondyleError, UsageError
from condyle.io.scale_file import factor_of, read_scale, to_plain, write_scale
from condyle.model.scale import Scale, scale_take
from condyle.model.skeleton import SensorNoise
from condyle.model.take import BodyMarker, OwnSkeleton
from condyle.pairs.rigid_pair import find_oddity, measure_pair, scale_of
from condyle.simulate import Disturbances, linkage, rod, simulate

SAME = 1e-9  # relative
WIDTH = 0.003  # of the interval of a scale, at 3 mm of noise and 20 s
SCALE = Scale(
    0.94,
    ("rod_a", 'rod "b" \\ \x7f\t'),
    0.565,
    0.601,
    0.007,
    0.002,
    (SensorNoise("rod_a", 0.0015, 0.0026), SensorNoise("b", 1e-5, 0.0)),
    1350,
    ("a folder/rod.csv",),
    0.932,
    0.948,
)


@pytest.mark.parametrize("name", ["calibration.toml", "calibration.json", "CALIBRATION.TOML"])
def test_a_scale_comes_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    write_scale(tmp_path / name, SCALE)
    assert read_scale(tmp_path / name) == SCALE
    assert factor_of(tmp_path / name) == factor_of(str(tmp_path / name)) == factor_of(SCALE) == 0.94


def test_a_file_without_an_interval_is_read_all_the_same(tmp_path: Path) -> None:
    old = replace(SCALE, low=None, high=None)
    write_scale(tmp_path / "old.toml", old)
    assert "low" not in (tmp_path / "old.toml").read_text()
    assert read_scale(tmp_path / "old.toml") == old


def test_the_scale_has_an_interval_that_holds_it() -> None:
    take = rod(0.565, seconds=20, seed=2, disturbances=Disturbances(position_noise=0.003, scale=1 / 0.94)).take
    scale = scale_of(measure_pair(take, "rod_a", "rod_b"), 0.565)
    assert scale.low is not None
    assert scale.high is not None
    assert scale.low < 0.94 < scale.high
    assert scale.low < scale.scale < scale.high
    assert scale.high - scale.low < WIDTH


def test_another_ending_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.toml or \.json"):
        write_scale(tmp_path / "scale.txt", SCALE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "change",
    [
        {"format": "condyle.skeleton"},
        {"version": 2},
        {"scale": 0},
        {"scale": -1.0},
        {"scale": "0.94"},
        {"scale": True},
        {"scale": 1e999},
        {"pair": ["a"]},
        {"pair": 3},
        {"frames": "many"},
        {"noise": [{"body": "a"}]},
        {"noise": 1},
    ],
    ids=str,
)
def test_a_file_that_is_wrong_is_refused_with_its_name(tmp_path: Path, change: dict[str, object]) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps({**to_plain(SCALE), **change}))
    with pytest.raises(CondyleError, match="condyle scale -o wrote") as caught:
        read_scale(path)
    assert (caught.value.code, caught.value.path) == ("bad-scale", str(path))


@pytest.mark.parametrize("text", [b"", b"{", b"[1, 2]", b"scale = ", b"\xff\xfe\x00", b"[" * 100_000, b"{" * 10])
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "calibration.toml"
    path.write_bytes(text)
    with pytest.raises(CondyleError) as caught:
        read_scale(path)
    assert caught.value.code == "bad-scale"


def test_a_file_that_is_missing_says_so(tmp_path: Path) -> None:
    with pytest.raises(CondyleError, match="cannot be read"):
        read_scale(tmp_path / "none.toml")


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf"), True])
def test_factors_that_are_none_are_refused(factor: float) -> None:
    with pytest.raises(UsageError, match=r"the scale .*not (a positive number|True)"):
        condyle.fit(simulate(linkage(), seconds=5).take, scale=factor)


def test_a_factor_of_numpy_is_a_factor() -> None:
    assert factor_of(np.float32(1.5)) == 1.5  # type: ignore[arg-type]


def test_everything_with_a_length_is_scaled_and_nothing_else() -> None:
    take = simulate(linkage(), seconds=2).take
    own = OwnSkeleton(("a",), np.array([-1]), np.ones((1, 3)))
    take = replace(take, own=own, markers=(BodyMarker("head", "LFHD", np.ones(3)),))
    found = scale_take(take, 0.5)
    np.testing.assert_array_equal(found.p_world_body, 0.5 * take.p_world_body)
    np.testing.assert_array_equal(found.R_world_body, take.R_world_body)
    np.testing.assert_array_equal(found.time, take.time)
    assert found.own is not None
    np.testing.assert_array_equal(found.own.p_parent_joint, 0.5)
    np.testing.assert_array_equal(found.markers[0].p_body_marker, 0.5)
    assert [finding.code for finding in found.findings] == ["scaled"]
    assert scale_take(take, 1.0) is take


@pytest.mark.parametrize("method", ["default", "least-squares"])
def test_a_scaled_fit_has_all_its_lengths_multiplied(method: str) -> None:
    d = Disturbances(position_noise=0.003, orientation_noise=0.005, scale=1 / 0.94)
    take = simulate(linkage(), seconds=30, seed=2, disturbances=d).take
    plain, found = (condyle.fit(take, plan=method, scale=s).skeleton for s in (1.0, 0.94))  # type: ignore[arg-type]
    assert (plain.scale, found.scale) == (1.0, 0.94)
    assert len(found.limbs) == 5
    for before, after in zip(plain.limbs, found.limbs, strict=True):
        assert after.length == pytest.approx(0.94 * before.length, rel=1e-4)  # type: ignore[operator]
        assert after.low is not None
        assert before.low is not None
        assert after.low == pytest.approx(0.94 * before.low, rel=1e-3)
    told = [finding for finding in found.findings if finding.code == "scaled"]
    assert [finding.value for finding in told] == [0.94]


def test_a_distance_that_is_no_length_and_a_pair_that_bends_give_no_scale() -> None:
    pair = measure_pair(rod(seconds=20).take, "rod_a", "rod_b")
    assert scale_of(pair, 0.565).scale == pytest.approx(1.0, rel=SAME)
    for distance in (0.0, -1.0, float("nan")):
        with pytest.raises(UsageError, match="not above zero"):
            scale_of(pair, distance)
    with pytest.raises(CondyleError, match="not rigid and tell no scale; fix both to one stiff rod") as caught:
        scale_of(replace(pair, turn=0.3), 0.565)
    assert caught.value.code == "not-rigid"


def test_a_distance_in_another_unit_is_doubted() -> None:
    pair = measure_pair(rod(seconds=20).take, "rod_a", "rod_b")
    assert find_oddity(scale_of(pair, 0.6)) == []
    assert [finding.code for finding in find_oddity(scale_of(pair, 56.5))] == ["implausible-size"]
