"""Recordings of one room at one time as one scene."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import UsageError
from condyle.findings import Finding
from condyle.model.take import OwnSkeleton, Take
from condyle.prepare.together import place_together
from condyle.simulate import Disturbances, chain, simulate

SAME_M = 1e-3  # m, by which a cubic through every other sample may miss, and a line at the ends


def _take(seed: int = 0, seconds: float = 4.0, rate: float = 30.0) -> Take:
    noise = Disturbances(position_noise=0.002, orientation_noise=0.005)
    return simulate(chain(), "exercise", seconds=seconds, rate=rate, seed=seed, disturbances=noise).take


def test_takes_of_one_clock_stand_side_by_side_as_they_are() -> None:
    a, b = _take(1), _take(2)
    scene = place_together({"a": a, "b": b})
    assert scene.names == tuple(f"{label}:{name}" for label in "ab" for name in a.names)
    np.testing.assert_array_equal(scene.p_world_body[:, a.bodies :], b.p_world_body)
    np.testing.assert_array_equal(scene.R_world_body[:, : a.bodies], a.R_world_body)
    assert scene.findings == ()


def test_clocks_of_other_rates_are_brought_onto_one() -> None:
    world = simulate(chain(), "exercise", seconds=4, rate=60, seed=1).take
    slow = replace(world.slice(None, None, 2), findings=(Finding("no-time", "info", "x", (world.names[0],)),))
    scene = place_together({"a": world, "b": slow})
    m = world.bodies
    both = scene.seen.all(axis=1)
    assert both.mean() > 0.9
    apart = np.linalg.norm(scene.p_world_body[both, :m] - scene.p_world_body[both, m:], axis=-1)
    assert apart.max() < SAME_M
    assert {one.code for one in scene.findings} == {"no-time", "common-clock"}
    assert scene.findings[0].bodies == (f"b:{world.names[0]}",)


def test_clocks_without_a_common_moment_begin_together() -> None:
    a, b = _take(1), _take(2)
    scene = place_together({"a": a, "b": replace(b, time=b.time + 1000.0)})
    assert scene.seen.all()
    assert [one.code for one in scene.findings] == ["begun-together"]


def test_skeletons_that_files_bring_along_are_a_forest() -> None:
    own = OwnSkeleton(("x", "y"), np.array([-1, 0]), np.zeros((2, 3)))
    a, b = (replace(_take(k), own=own) for k in (1, 2))
    scene = place_together({"a": a, "b": b})
    assert scene.own is not None
    assert scene.own.names == ("a:x", "a:y", "b:x", "b:y")
    assert scene.own.parent.tolist() == [-1, 0, -1, 2]
    assert place_together({"a": a, "b": replace(b, own=None)}).own is None


def test_what_makes_no_scene_is_refused() -> None:
    a, b = _take(1), _take(2)
    with pytest.raises(UsageError, match="two of them at least"):
        place_together({"a": a})
    with pytest.raises(UsageError, match="no name for a recording"):
        place_together({"a:b": a, "c": b})
    with pytest.raises(UsageError, match=r"point up: y, z; say it with --up"):
        place_together({"a": replace(a, up="y"), "b": replace(b, up="z")})
    broken = replace(b, segment=np.arange(b.frames) // 60)
    with pytest.raises(UsageError, match="breaks in its time"):
        place_together({"a": a, "b": broken})


def test_two_people_of_equal_names_are_two_figures_of_one_fit(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        condyle.write_take(tmp_path / f"{name}.npz", _take(seed, seconds=8))
    files = {"a": tmp_path / "a.npz", "b": tmp_path / "b.npz"}
    skeleton = condyle.fit(files, intervals=False).skeleton
    assert len(skeleton.roots) == 2
    assert all(joint.child[:2] == joint.parent[:2] for joint in skeleton.joints)
    assert [Path(one).name for one in skeleton.take["sources"]] == ["a.npz", "b.npz"]
    with pytest.raises(UsageError, match="named twice"):
        condyle.fit({"a": files["a"], "b": files["a"]})
