"""Figure 4: two sensors on a rod in a space that is as noisy as the paper's."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.paper import published, space

from condyle.pairs.rigid_pair import RigidPair, measure_pair, scale_of

CM, DEGREE = 0.01, np.pi / 180
ROOMS = 8
SEED = 30_000
SPREAD = 0.10  # cm, of the mean over so few rooms
SCALE = 0.005
NOISE = 0.05  # relative
ROUNDING = published.RESOLUTION / np.sqrt(12) * published.SCALE  # cm, in true units


@pytest.fixture(scope="module")
def pairs() -> list[RigidPair]:
    return [measure_pair(space.Room(SEED + k).rod(), "rod_a", "rod_b") for k in range(ROOMS)]


def test_the_distance_varies_as_the_papers_did(pairs) -> None:
    spread = np.mean([pair.sd for pair in pairs]) / CM * published.SCALE
    assert spread == pytest.approx(published.ROD_SD, abs=SPREAD)


def test_the_scale_comes_out(pairs) -> None:
    scale = np.mean([scale_of(pair, published.ROD * CM).scale for pair in pairs])
    assert scale == pytest.approx(published.SCALE, abs=SCALE)


def test_the_noise_of_a_sensor_comes_out_beside_the_bent_field(pairs) -> None:
    position = np.mean([one.position for pair in pairs for one in pair.noise]) / CM * published.SCALE
    orientation = np.mean([one.orientation for pair in pairs for one in pair.noise])
    assert position == pytest.approx(np.hypot(space.WHITE / CM, ROUNDING), rel=NOISE)
    assert orientation == pytest.approx(space.TILT, rel=NOISE)


def test_a_stronger_field_is_found_where_the_rod_varies_more(monkeypatch) -> None:
    monkeypatch.setattr(published, "ROD_SD", 1.0)
    assert space.fit_warp(SEED, rooms=3) > 1.1 * space.WARP
