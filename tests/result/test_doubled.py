"""Several sensors on one segment, against the truth of a simulated chain."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.estimate.lengths import measure_lengths
from condyle.model.profile import name_edge
from condyle.model.skeleton import Limb, Skeleton
from condyle.model.take import Take
from condyle.result.doubled import share_doubled
from condyle.result.mountings import share_figures
from condyle.result.profile import make_profile
from condyle.simulate import Disturbances, SimulatedFigure, chain, simulate

NOISE = Disturbances(position_noise=0.002, orientation_noise=0.005)
SECOND = "second"


@pytest.fixture(scope="module")
def doubled() -> tuple[Take, str, float]:
    """A chain whose second body bears two sensors; the body, and its length [m]."""
    return _double(chain(), seed=3)


def _double(plain: SimulatedFigure, seed: int) -> tuple[Take, str, float]:
    figure = SimulatedFigure(
        (*plain.names, SECOND),
        np.append(plain.parent, 1),
        np.concatenate([plain.p_parent_joint, [[0.0, 0.0, -0.1]]]),
        (*plain.kind, "rigid"),
        np.concatenate([plain.axis, np.full((1, 3), np.nan)]),
    )
    world = simulate(figure, "exercise", seconds=20, seed=seed, disturbances=NOISE)
    body = plain.names[1]
    true = next(length for (name, *ends), length in world.truth.limbs.items() if name == body and SECOND not in ends)
    return world.take, body, true


def _on_segment(skeleton: Skeleton, body: str) -> list[Limb]:
    return [limb for limb in skeleton.limbs if limb.body in (body, SECOND)]


def test_the_segment_keeps_its_length(doubled: tuple[Take, str, float], tmp_path: Path) -> None:
    take, body, true = doubled
    fit = condyle.fit(take)
    (limb,) = _on_segment(fit.skeleton, body)
    assert limb.low is not None
    assert limb.high is not None
    assert limb.low <= true <= limb.high
    (told,) = [one for one in fit.findings if one.code == "two-sensors"]
    assert set(told.bodies) == {body, SECOND}
    assert told.value == pytest.approx(limb.length)
    assert limb.length in measure_lengths(fit.skeleton).value
    profile, _ = make_profile([fit.skeleton])
    assert limb.length in [one.length for one in profile.lengths if one.body == limb.body]
    saved = fit.save(tmp_path / "fit", export="csv")
    assert _on_segment(condyle.load(saved.folder or "").skeleton, body) == [limb]


def test_a_segment_that_ends_at_a_hinge_has_its_length_across_the_axis_in_the_profile() -> None:
    plain = chain()
    axis = plain.axis.copy()
    axis[2] = 0.0, 1.0, 0.0
    knee = replace(plain, kind=(*plain.kind[:2], "hinge", *plain.kind[3:]), axis=axis)
    skeletons = []
    for seed in (3, 4):
        take, body, true = _double(knee, seed)
        tree = [(plain.names[0], body), (body, SECOND), (SECOND, plain.names[2]), (plain.names[2], plain.names[3])]
        skeletons.append(condyle.fit(take, tree=tree).skeleton)
    profile, _ = make_profile(skeletons)
    (told,) = [one for one in profile.lengths if one.body == body]
    assert told.axes == (name_edge(SECOND, plain.names[2]),)
    assert told.low <= true <= told.high
    shared = share_figures(skeletons)
    for skeleton in shared.skeletons:
        (limb,) = _on_segment(skeleton, body)
        assert limb.between == "joint and axis"
        assert (limb.length, limb.low, limb.high) == pytest.approx((told.length, told.low, told.high), abs=1e-5)


def test_each_edge_may_hang_on_either_sensor(doubled: tuple[Take, str, float]) -> None:
    take, body, true = doubled
    names = chain().names
    for hangs in (body, SECOND):
        tree = [(names[0], body), (body, SECOND), (hangs, names[2]), (names[2], names[3])]
        (limb,) = _on_segment(condyle.fit(take, tree=tree).skeleton, body)
        assert limb.length == pytest.approx(true, abs=0.003)
        assert {limb.from_joint, limb.to_joint} == {body, names[2]}


def test_without_intervals_there_is_a_length_alone(doubled: tuple[Take, str, float]) -> None:
    take, body, _ = doubled
    (limb,) = _on_segment(condyle.fit(take, intervals=False).skeleton, body)
    assert limb.length is not None
    assert (limb.low, limb.high) == (None, None)


def test_a_figure_without_such_a_segment_is_as_it_was(doubled: tuple[Take, str, float]) -> None:
    take, _, _ = doubled
    plain = take.select([name for name in take.names if name != SECOND])
    skeleton = condyle.fit(plain, intervals=False).skeleton
    assert share_doubled(skeleton, plain) is skeleton
    end = replace(skeleton, joints=(replace(skeleton.joints[-1], kind="rigid"), *skeleton.joints[:-1]))
    still = replace(
        plain,
        p_world_body=plain.p_world_body[:1].repeat(plain.frames, 0),
        R_world_body=plain.R_world_body[:1].repeat(plain.frames, 0),
    )
    assert share_doubled(end, still) is end  # nothing is told of lengths


def test_least_squares_leaves_two_sensors_on_one_segment_as_they_are(doubled: tuple[Take, str, float]) -> None:
    fit = condyle.fit(doubled[0], plan="least-squares")
    assert any(joint.kind == "rigid" for joint in fit.skeleton.joints)
    assert "two-sensors" not in {finding.code for finding in fit.findings}
