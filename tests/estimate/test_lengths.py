"""Lengths that mountings share, against plain arithmetic and the truth."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.estimate.lengths import SHARED_WIDENING, Lengths, hold_lengths, measure_lengths, share_lengths
from condyle.maths.robust import Z95
from condyle.model.profile import name_length
from tests.make.performers import fit_chain, mount_chain

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
