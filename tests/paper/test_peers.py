"""BioBuddy's SCoRE and SARA beside condyle on one recording of each kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from benchmarks.paper import peers

from condyle.simulate import chain, linkage, simulate
from tests.make.clients import client

SEED = 30_000
SECONDS = 12.0
EXACT = 1e-9  # m: without noise everybody agrees
AXIS = 1e-6  # rad
OUTLIERS = 3.0  # times nearer than SCoRE with spikes and bursts


def told(case: peers.Case, seconds: float = SECONDS):
    """Errors of every way on one recording."""
    world = simulate(case.figure, case.motion, seconds=seconds, seed=SEED, disturbances=case.disturbances)  # type: ignore[arg-type]
    theirs = peers.of_peers(client("biobuddy"), [(world.take, peers._true_pairs(world.truth))])[0]
    found = {}
    for way, joints in (theirs | peers.ours(world.take, world.truth)).items():
        tally = peers._Tally()
        tally.add(joints, world.truth, case.hinges)
        found[way] = tally
    return found


def test_without_noise_everybody_finds_ball_joints() -> None:
    found = told(replace(peers.CASES[0], figure=linkage(), disturbances=peers.noise(0, 0)), 6.0)
    assert max(max(tally.points) for way, tally in found.items() if way != "SARA") < EXACT


def test_without_noise_everybody_finds_the_axes_of_hinges() -> None:
    found = told(replace(peers.CASES[0], figure=chain(peers.HINGES), disturbances=peers.noise(0, 0)), 6.0)
    for way in ("SARA", "condyle, pair alone", "condyle, all together"):
        assert len(found[way].axes) == 2 * len(peers.HINGES)
        assert max(found[way].axes) < AXIS
    assert max(found["condyle, all together"].points) < EXACT


def test_spikes_and_bursts_move_scores_centres_further_than_condyles() -> None:
    found = told(next(case for case in peers.CASES if case.name == "ball joints, 2 % spikes and 5 % bursts"))
    score, ours = (np.sqrt(np.mean(np.square(found[way].points))) for way in ("SCoRE", "condyle, all together"))
    assert OUTLIERS * ours < score
