"""Lengths that mountings share, against plain arithmetic and the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.estimate.lengths import (
    SHARED_WIDENING,
    Lengths,
    hold_lengths,
    measure_across,
    measure_lengths,
    share_lengths,
)
from condyle.maths.robust import Z95
from condyle.model.profile import name_edge, name_length
from condyle.model.skeleton import Skeleton
from condyle.simulate import Disturbances, chain, simulate
from tests.make.performers import fit_chain, mount_chain, open_last

HINGED_NOISE = Disturbances(position_noise=0.002, orientation_noise=0.005)
A, B = (name_length(body, ("x", body), (body, "y")) for body in ("a", "b"))


def _lengths(value: list[float], sd: list[float], keys: tuple[object, ...] = (A, B)) -> Lengths:
    return Lengths(keys, np.array(value), np.diag(np.square(sd)))  # type: ignore[arg-type]


def test_lengths_are_weighted_by_what_is_known_of_them() -> None:
    found = share_lengths([_lengths([0.30, 0.40], [0.01, 0.02]), _lengths([0.31, 0.41], [0.02, 0.01])])
    np.testing.assert_allclose(found.lengths.value, [0.302, 0.408], atol=1e-5)
    np.testing.assert_allclose(found.lengths.sd, [SHARED_WIDENING * 0.01 / np.sqrt(1.25)] * 2, rtol=1e-3)
    assert found.degrees == 2
    assert found.spread < 1


def test_parts_that_disagree_widen_what_they_tell() -> None:
    found = share_lengths([_lengths([0.30], [0.001], (A,)), _lengths([0.34], [0.001], (A,))])
    assert found.spread == pytest.approx(0.04 / np.sqrt(2) / 0.001, rel=0.02)
    assert found.lengths.sd[0] == pytest.approx(SHARED_WIDENING * 0.02, rel=0.02)


def test_parts_of_one_mounting_count_as_one() -> None:
    parts = [_lengths([0.30, 0.40], [0.01, 0.02])] * 3
    once = share_lengths(parts[:1])
    np.testing.assert_allclose(share_lengths(parts, [0, 0, 0]).lengths.sd, once.lengths.sd)
    thrice = share_lengths(parts).lengths.sd
    np.testing.assert_allclose(thrice, SHARED_WIDENING * once.lengths.sd / np.sqrt(3), rtol=1e-3)


def test_a_length_that_only_one_part_has_is_kept() -> None:
    found = share_lengths([_lengths([0.30], [0.01], (A,)), _lengths([0.4], [0.02], (B,))]).lengths
    assert dict(zip(found.keys, found.value.tolist(), strict=True)) == pytest.approx({A: 0.30, B: 0.4})
    with pytest.raises(CondyleError, match="no length has an interval"):
        share_lengths([_lengths([], [], ())])


def test_a_skeleton_gives_its_lengths_with_their_intervals() -> None:
    skeleton = fit_chain(1)
    found = measure_lengths(skeleton)
    assert found.value.tolist() == [limb.length for limb in skeleton.limbs]
    for limb, sd in zip(skeleton.limbs, found.sd, strict=True):
        assert limb.high is not None
        assert limb.length is not None
        assert Z95 * sd == pytest.approx(limb.high - limb.length)
    assert np.linalg.eigvalsh(found.covariance)[0] > 0


def _fit_hinged(seed: int) -> Skeleton:
    figure = chain(("ball", "hinge", "ball"))
    return condyle.fit(simulate(figure, "exercise", seconds=12, seed=seed, disturbances=HINGED_NOISE).take).skeleton


def test_lengths_at_an_axis_are_measured_across_it_whatever_the_mounting() -> None:
    hinge = name_edge("link1", "link2")
    skeletons = [_fit_hinged(seed) for seed in range(4)]
    for skeleton in skeletons:
        found = measure_lengths(skeleton)
        assert {axes for *_, axes in found.keys} == {(hinge,)}
        assert (np.abs(found.value - 0.3) < 3 * found.sd).all()
    points = [limb.length for skeleton in skeletons for limb in skeleton.limbs]  # end where the sensors happen to be
    assert max(abs(float(length or 0) - 0.3) for length in points) > 0.002
    own = measure_lengths(skeletons[0])
    aim = Lengths(own.keys, own.value + [0.004, -0.003], 0.25 * own.covariance)
    np.testing.assert_allclose(measure_lengths(hold_lengths(skeletons[0], aim)).value, aim.value, atol=2e-4)


def test_a_length_between_centres_is_not_that_to_an_axis() -> None:
    edges = ("x", "a"), ("a", "y")
    centres, across = name_length("a", *edges), name_length("a", *edges, [("y", "a")])
    parts = [_lengths([0.30], [0.001], (centres,)), _lengths([0.25], [0.001], (across,))]
    found = share_lengths(parts).lengths
    assert dict(zip(found.keys, found.value.tolist(), strict=True)) == pytest.approx({centres: 0.30, across: 0.25})


def test_joints_move_until_the_limbs_have_the_lengths() -> None:
    skeleton = fit_chain(1)
    own = measure_lengths(skeleton)
    aim = Lengths(own.keys, own.value + [0.004, -0.003], 0.25 * own.covariance)
    held = hold_lengths(skeleton, aim)
    again = measure_lengths(held)
    np.testing.assert_allclose(again.value, aim.value, atol=2e-4)
    np.testing.assert_allclose(again.sd, aim.sd, rtol=1e-6)
    for before, after in zip(skeleton.joints, held.joints, strict=True):
        assert before.covariance is not None
        assert after.covariance is not None
        assert np.linalg.eigvalsh(before.covariance - after.covariance)[0] > -1e-9
    assert [one.distance for one in held.sensors] != [one.distance for one in skeleton.sensors]
    assert hold_lengths(skeleton, _lengths([0.3, 0.4], [0.01, 0.01])) is skeleton


def test_four_mountings_are_nearer_to_the_truth_than_one() -> None:
    world = mount_chain(1).truth
    edge = {name: (name, world.names[up]) for name, up in zip(world.names, world.parent, strict=True) if up >= 0}
    truth = {name_length(body, edge[a], edge[b]): length for (body, a, b), length in world.limbs.items()}
    parts = [measure_lengths(fit_chain(seed)) for seed in (1, 2, 3, 4)]
    shared = share_lengths(parts).lengths

    def miss(found: Lengths) -> float:
        return float(np.mean(np.abs(found.value - [truth[key] for key in found.keys])))

    assert miss(shared) < np.mean([miss(one) for one in parts])


def test_a_joint_whose_axis_is_not_known_ends_no_shared_length() -> None:
    skeleton = open_last(fit_chain(1))
    body = skeleton.joints[-1].parent
    assert body in {key[0] for key in measure_lengths(skeleton).keys}
    vague = replace(skeleton, joints=(*skeleton.joints[:-1], replace(skeleton.joints[-1], kind="undetermined")))
    assert body not in {key[0] for key in measure_lengths(vague).keys}
    told = {limb.body: (limb.length, axes) for limb, axes in measure_across(vague)}
    assert told[body] == (None, (False, False))
    assert all(length is not None for other, (length, _) in told.items() if other != body)


def test_joints_follow_lengths_that_are_far_off_as_exactly() -> None:
    skeleton = fit_chain(1)
    own = measure_lengths(skeleton)
    aim = Lengths(own.keys, own.value + [0.06, -0.05], 0.25 * own.covariance)
    np.testing.assert_allclose(measure_lengths(hold_lengths(skeleton, aim)).value, aim.value, atol=1e-5)
