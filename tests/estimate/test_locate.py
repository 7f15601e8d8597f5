"""Joints as values: what the arrays say, with the directions held that one error model leaves open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.estimate import locate
from condyle.estimate.fitting import ROBUST, Solved, fit_tree, uncertainty_of
from condyle.estimate.kinds import OPEN_ERROR_SHARE
from condyle.estimate.locate import _main_share, centre_errors, gap_residual, hold_directions, locate_joints
from condyle.estimate.solve import solve_together
from condyle.estimate.structure import Structure
from condyle.model.options import FitOptions
from condyle.model.take import Take
from condyle.simulate import Disturbances, chain, simulate

NOISE = Disturbances(position_noise=0.002, orientation_noise=0.003)
EXACT = 1e-9  # m


def test_the_residual_is_the_weighted_root_mean_square(rng) -> None:
    gap, weight = rng.standard_normal((50, 2, 3)), rng.random((50, 2))
    gap[7, 0], weight[7, 0] = np.nan, 0.0
    square = np.nan_to_num(np.square(gap).sum(axis=2))
    np.testing.assert_allclose(gap_residual(gap, weight), np.sqrt((square * weight).sum(axis=0) / weight.sum(axis=0)))
    assert gap_residual(gap, np.zeros((50, 2))).tolist() == [0, 0]


def test_the_residual_of_a_sensor_that_some_of_the_frames_never_have_is_told_by_all() -> None:
    take = simulate(chain(("ball",)), "exercise", seconds=40, rate=240.0, seed=2, disturbances=NOISE).take
    lost = np.zeros(take.seen.shape, dtype=bool)
    lost[:, 1] = np.arange(take.frames) % 2 == 0
    whole, part = (condyle.fit(one).skeleton.joints[0].residual for one in (take, take.mask(lost)))
    assert part == pytest.approx(whole, rel=0.05)


def test_the_residual_of_a_long_take_is_told_by_some_of_its_frames() -> None:
    take = simulate(chain(("ball",)), "exercise", seconds=40, rate=240.0, seed=2, disturbances=NOISE).take
    fit = condyle.fit(take)
    every = np.sqrt(np.square(fit.gap).sum(axis=2).mean(axis=0))
    residual = np.array([joint.residual for joint in fit.skeleton.joints])
    assert residual == pytest.approx(every, rel=0.02)
    assert (residual != every).all()
    assert take.frames > 2 * locate.RESIDUAL_LEAST_FRAMES


def test_joints_carry_their_evidence() -> None:
    world = simulate(chain(("ball", "hinge", "rigid")), "exercise", seconds=15, seed=2, disturbances=NOISE)
    joints = {one.kind: one for one in condyle.fit(world.take).skeleton.joints}
    assert set(joints) == {"ball", "hinge", "rigid"}
    hinge, ball, rigid = joints["hinge"], joints["ball"], joints["rigid"]
    assert hinge.axis_child is not None
    assert np.linalg.norm(hinge.axis_child) == pytest.approx(1)
    assert ball.axis_child is ball.play is rigid.covariance is rigid.passing is None
    assert ball.covariance is not None
    np.testing.assert_array_equal(ball.covariance, ball.covariance.T)
    assert 0 < ball.passing <= 1
    assert ball.margin is not None
    assert ball.margin > 1
    assert set(ball.runner_up) <= set(world.take.names)
    assert (np.diff(ball.rotation) <= 0).all()
    assert (np.diff(ball.singular_values) <= 0).all()


def solved(kinds: tuple[str, ...], **disturbances: float) -> tuple[Take, Structure, Solved]:
    noise = replace(NOISE, **disturbances)
    take = simulate(chain(kinds), "exercise", seconds=15, seed=2, disturbances=noise).take
    one = fit_tree(take, [], FitOptions(), ROBUST)
    return take, one.structure, Solved(one.solution, one.fits, one.sums)


def test_a_direction_that_is_held_is_nearest_to_the_sensors_and_has_no_variance() -> None:
    take, structure, (solution, fits, _) = solved(("ball", "ball"))
    sure = uncertainty_of(take, solution, fits, structure, 0.0)
    assert sure is not None
    held = np.zeros((2, 3), dtype=bool)
    held[1, 0] = True
    after, less = hold_directions(solution, sure, fits, held)
    assert less is not None
    along = np.concatenate([fits.axis_child[1, :, 0], fits.axis_parent[1, :, 0]])
    assert abs(along @ after.unknowns[6:]) < EXACT
    assert abs(along @ solution.unknowns[6:]) > 100 * EXACT
    assert along @ less.covariance[6:, 6:] @ along < EXACT**2
    assert centre_errors(less.covariance, after, fits)[1].tolist()[0] == np.inf
    # What is left is as good as a solution that had been held from the start.
    again = solve_together(take, fits, structure.noise, held)
    np.testing.assert_allclose(after.p_child_joint, again.p_child_joint, atol=1e-3)
    assert hold_directions(after, less, fits, held)[0] is after


@pytest.mark.parametrize("soft", [0.0, 0.01], ids=["noise", "skin"])
def test_labels_never_contradict_the_interval(soft: float) -> None:
    take, structure, made = solved(("ball", "hinge", "ball"), soft_tissue=soft)
    sure = uncertainty_of(take, made.solution, made.fits, structure, 0.0)
    located = locate_joints(take, structure, made, sure)
    error = centre_errors(sure.covariance, made.solution, made.fits)  # type: ignore[union-attr]
    open_ = (error > OPEN_ERROR_SHARE * located.motion.size[:, None]).any(axis=1)
    for joint, wide in zip(located.joints, open_, strict=True):
        assert (joint.point == "arbitrary") == (joint.kind != "ball")
        assert not (joint.kind == "ball" and wide)


def test_a_hinge_has_a_line_and_not_a_point_with_intervals_of_both() -> None:
    take, structure, made = solved(("ball", "hinge"))
    sure = uncertainty_of(take, made.solution, made.fits, structure, 0.0)
    [hinge] = [joint for joint in locate_joints(take, structure, made, sure).joints if joint.kind == "hinge"]
    assert hinge.point == "arbitrary"
    assert hinge.axis_covariance is not None
    assert hinge.line_95 is not None
    assert hinge.p_child_joint @ hinge.axis_child == pytest.approx(-(hinge.p_parent_joint @ hinge.axis_parent))
    assert hinge.line_95 < 0.005
    assert np.degrees(hinge.axis_95) < 1  # type: ignore[arg-type]


def test_without_intervals_the_noise_alone_tells_what_is_open() -> None:
    take, structure, made = solved(("ball", "hinge"))
    located = locate_joints(take, structure, made, None)
    assert {joint.kind: joint.point for joint in located.joints} == {"ball": "determined", "hinge": "arbitrary"}
    assert all(joint.covariance is None and joint.axis_covariance is None for joint in located.joints)


def test_the_main_axis_has_the_share_of_the_square_turn_about_it() -> None:
    assert _main_share(np.array([3.0, 0.0, 4.0])) == pytest.approx(16 / 25)
    assert _main_share(np.zeros(3)) is None


def test_a_thread_is_looked_for_at_hinges_without_play_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    take, structure, made = solved(("ball", "hinge", "hinge"))
    located = locate_joints(take, structure, made, None)
    joints = [replace(one, play=0.0) for one in located.joints]
    hinges = [k for k, one in enumerate(joints) if one.kind == "hinge"]
    joints[hinges[1]] = replace(joints[hinges[1]], play=joints[hinges[1]].rotation[0])
    asked = list[tuple[int, int]]()
    monkeypatch.setattr(locate, "find_thread", lambda take, pair, *_: asked.append(pair))
    locate._name_machine_joints(take, structure, joints, located.solution)
    assert asked == [tuple(located.solution.pairs[hinges[0]].tolist())]
