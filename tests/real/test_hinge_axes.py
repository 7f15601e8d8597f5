"""Hinges of a built linkage, motion by motion: the axis of one is where the others have it, within its interval."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.maths.series import segment_slices
from condyle.model.skeleton import Joint
from condyle.model.take import Take
from tests.make import recordings

MOVED_MIN_RAD = np.radians(5)  # rms turn of a joint that can be known from the motion
HELD_MIN_SHARE = 5 / 6
AGREE_MIN_SHARE = 0.93
CHI2_95_PLANE = 5.99
TOO_WIDE = 0.1  # mean squared distance in standard errors: below it intervals would say nothing

pytestmark = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)


def fit_motions(folder: str) -> list[condyle.Skeleton]:
    """One fit for every motion; bodies have the axes of one template, so that fits can be compared."""
    take = recordings.linkage(folder)
    tree = [tuple(joint[:2]) for joint in recordings.truth(f"diodem/{folder}")["joints"]]
    parts = [
        Take(take.names, take.time[rows], take.R_world_body[rows], take.p_world_body[rows])
        for rows in segment_slices(take.segment)
    ]
    return [condyle.fit(part, tree=tree).skeleton for part in parts]  # type: ignore[misc]


def halves(joint: Joint) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """{body: axis in it, its covariance}."""
    C = joint.axis_covariance
    assert C is not None
    assert joint.axis_child is not None
    assert joint.axis_parent is not None
    return {joint.child: (joint.axis_child, C[:3, :3]), joint.parent: (joint.axis_parent, C[3:, 3:])}


@pytest.mark.costly
def test_the_axis_of_one_motion_is_where_the_others_have_it() -> None:
    held, squares, agree = [], [], []
    for folder in ("arm/exp01", "gait/exp06"):
        fits = fit_motions(folder)
        for a, b, kind in recordings.truth(f"diodem/{folder}")["joints"]:
            joints = [joint for fit in fits for joint in fit.joints if {joint.child, joint.parent} == {a, b}]
            moved = [joint for joint in joints if joint.kind == "hinge" and joint.rotation[0] > MOVED_MIN_RAD]
            if kind != "hinge":
                continue
            assert len(moved) >= 2
            for body in (a, b):
                found = [halves(joint)[body] for joint in moved]
                axes = np.array([axis * np.sign(axis @ found[0][0]) for axis, _ in found])
                for k, joint in enumerate(moved):
                    others = np.delete(axes, k, axis=0).mean(axis=0)
                    others /= np.linalg.norm(others)
                    across = np.linalg.svd(axes[k][None])[2][1:]
                    off = across @ (others - axes[k])
                    own, *theirs = (
                        across @ found[i][1] @ across.T for i in [k, *(i for i in range(len(found)) if i != k)]
                    )
                    squares.append(off @ np.linalg.solve(own, off))
                    both = own + np.sum(theirs, axis=0) / len(theirs) ** 2
                    agree.append(off @ np.linalg.solve(both, off) <= CHI2_95_PLANE)
                    held.append(np.linalg.norm(off) <= (joint.axis_95 or 0.0))
    assert len(held) == 46
    assert np.mean(held) >= HELD_MIN_SHARE
    assert np.mean(agree) >= AGREE_MIN_SHARE  # of two motions the other one may be the less known
    assert np.mean(squares) > TOO_WIDE
