"""A walk beside the static trial of the same person, which lasts longer: rest tells nothing, and takes nothing away."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from tests.make import recordings

pytestmark = pytest.mark.skipif(not (recordings.DATA / "more").is_dir(), reason=recordings.ABSENT)

STANDING = [  # motion, and the static trial of the same person
    ("jam/overground_17.trc", "jam/static1.trc"),
    ("lasem/FAILT01_SLDJ01.c3d", "lasem/FAILT01_static02.c3d"),
    ("ric/RBDS001runT35.c3d", "ric/RBDS001static.c3d"),
    ("zoo/HC002D06.c3d", "zoo/HC002D02.c3d"),
    ("zoo/HC039A17.c3d", "zoo/HC039A01.c3d"),
]


def fit_with_rest(moving: str, static: str, share: float = 0.75) -> tuple[condyle.Fit, int]:
    """A motion followed by rest that takes so much of the whole, and the frames of the motion."""
    worn, there = (recordings.truth(f"more/{name}")["bodies_from_markers"] for name in (moving, static))
    groups = {body: [one for one in names if one in there.get(body, names)] for body, names in worn.items()}
    both = condyle.read([recordings.DATA / "more" / name for name in (moving, static)], bodies=groups)
    n = int((both.segment == 0).sum())
    count = round(share / (1 - share) * n)
    again = np.concatenate([np.arange(n), n + np.arange(count) % (both.frames - n)])
    p = both.p_world_body[again].copy()
    p[n:] += np.random.default_rng(0).normal(0, 5e-5, p[n:].shape)  # m: rows that repeat whole are dropped
    time = np.concatenate([both.time[:n], both.time[0] + np.arange(count) / both.rate])
    take = condyle.Take(both.names, time, both.R_world_body[again], p, segment=np.arange(n + count) >= n)
    return condyle.fit(take), n


@pytest.mark.parametrize(("moving", "static"), STANDING, ids=[moving for moving, _ in STANDING])
def test_motion_counts_however_long_somebody_stood(moving: str, static: str) -> None:
    fit, n = fit_with_rest(moving, static)
    assert {frozenset((one.child, one.parent)) for one in fit.skeleton.joints} == recordings.edges(f"more/{moving}")
    for joint, weight in zip(fit.skeleton.joints, fit.weight[:n].T, strict=True):
        both = fit.take.seen[:n, [fit.take.index(joint.child), fit.take.index(joint.parent)]].all(axis=1)
        assert weight[both].mean() > 0.9, joint.child
    assert not {finding.code for finding in fit.findings} & {"slip", "swap", "hemisphere-flip"}


@pytest.mark.costly
def test_a_walk_and_its_static_trial_are_one_figure_though_markers_were_taken_off() -> None:
    """Toes, elbows and knees have markers in the static trial that the walk has not."""
    folder = recordings.DATA / "more" / "jam"
    fit = condyle.fit([folder / "overground_17.trc", folder / "static1.trc"])
    alone = condyle.fit(folder / "overground_17.trc")
    edges = [{frozenset((one.child, one.parent)) for one in each.skeleton.joints} for each in (fit, alone)]
    assert len(edges[1]) == 11
    assert len(edges[0] & edges[1]) >= 10
    assert not edges[0] - edges[1]
    assert "hemisphere-flip" not in {finding.code for finding in fit.findings}
