"""People with sensors strapped on, small enough to fit in a moment."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import condyle
from condyle.model.skeleton import Skeleton
from condyle.simulate import Disturbances, Mounts, SimulatedFigure, World, chain, simulate

NOISE = Disturbances(position_noise=0.003, orientation_noise=0.009)
SECONDS = 12.0


@cache
def mount_chain(seed: int, motion: int = 0, longer: float = 1.0) -> World:
    """A chain of four sensors; the same seed is the same mounting, another motion another take of it.

    longer  times as long as usual: another performer
    """
    figure = chain()
    if longer != 1.0:
        lengths = figure.p_parent_joint * longer
        figure = SimulatedFigure(figure.names, figure.parent, lengths, figure.kind, figure.axis)
    mounts: Mounts = simulate(figure, seconds=1, seed=seed).truth.mounts
    return simulate(figure, seconds=SECONDS, seed=1000 * motion + seed, disturbances=NOISE, mounts=mounts)


@cache
def fit_chain(seed: int, motion: int = 0, longer: float = 1.0) -> Skeleton:
    """The skeleton of such a take."""
    return condyle.fit(mount_chain(seed, motion, longer).take).skeleton


def open_last(skeleton: Skeleton) -> Skeleton:
    """The skeleton as of a take in which its last joint turned about one axis only, across its limb."""
    *others, last = skeleton.joints
    limb = next(one for one in skeleton.limbs if last.child in (one.from_joint, one.to_joint))
    before = next(one for one in skeleton.joints if one.child == limb.body)
    axis = np.cross(last.p_parent_joint - before.p_child_joint, [1.0, 0.0, 0.0])
    axis /= np.linalg.norm(axis)
    held = replace(last, kind="hinge", point="arbitrary", axis_child=axis, axis_parent=axis)
    return replace(skeleton, joints=(*others, held))
