"""Trees and kinds of real recordings against what is known of them."""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import recordings
from condyle.joints import fit_pairs
from condyle.kinds import classify, describe_motion, play
from condyle.simulate import Truth
from condyle.structure import Structure, infer_structure
from condyle.take import Take
from real import mounted

pytestmark = pytest.mark.skipif(not recordings.DATA.is_dir(), reason=recordings.ABSENT)

BUILT_PLAY_DEG = 5.0  # play of hinges that were built
TURN_DEG = (60, 120)  # the magnetic hinge is turned about 90 degrees


@cache
def recorded(name: str) -> Take:
    if name.startswith("diodem/"):
        return recordings.linkage(name.removeprefix("diodem/"))
    return recordings.c3d(name)


@cache
def inferred(name: str) -> Structure:
    return infer_structure(recorded(name))


def edges_of(take: Take, found: Structure) -> set[frozenset[str]]:
    return {frozenset((take.names[i], take.names[j])) for i, j in found.fits.pairs[found.tree.edges]}


def kinds_of(take: Take, found: Structure) -> dict[frozenset[str], str]:
    fits = fit_pairs(found.sums, found.fits.pairs[found.tree.edges])
    motion = describe_motion(take, found.sums, fits, found.noise)
    kinds, _, _ = classify(fits, motion, found.noise, found.turn)
    return {frozenset((take.names[i], take.names[j])): kind for (i, j), kind in zip(fits.pairs, kinds, strict=True)}


@pytest.mark.parametrize("name", ["diodem/arm/exp01", "diodem/gait/exp06"])
def test_a_built_linkage_has_its_tree_and_its_kinds(name) -> None:
    take, found = recorded(name), inferred(name)
    assert found.determined
    assert edges_of(take, found) == recordings.edges(name)
    assert len(found.loops) == len(found.tied) == 0
    want = {frozenset(pair): "ball" if kind == "two-axis" else kind for *pair, kind in recordings.truth(name)["joints"]}
    assert kinds_of(take, found) == want


def test_built_hinges_have_little_play() -> None:
    take, found = recorded("diodem/arm/exp01"), inferred("diodem/arm/exp01")
    kinds = kinds_of(take, found)
    for k in found.tree.edges:
        if kinds[frozenset(take.names[b] for b in found.fits.pairs[k])] == "hinge":
            assert np.degrees(play(found.motion)[k]) < BUILT_PLAY_DEG


@pytest.mark.parametrize(
    "name",
    ["vicon_functional_c3d/left_hip.c3d", "functional_knee_c3d/right_knee.c3d", "qualisys_c3d/walk.c3d"],
)
def test_a_person_has_the_right_tree(name) -> None:
    take, found = recorded(name), inferred(name)
    assert found.determined
    assert edges_of(take, found) == recordings.edges(name)


def test_a_linkage_at_rest_determines_no_tree() -> None:
    found = inferred("diodem/arm/exp05")
    assert recordings.truth("diodem/arm/exp05")["expect"] == "not determined"
    assert not found.determined
    assert len(found.tree.edges) == len(found.loops) == 0


def electromagnetic() -> Take:
    """Four sensors; a missing sample is written as zeros, lengths are millimetres."""
    lines = (recordings.DATA / "ndi_aurora/rest.csv").read_text().splitlines()
    rows = [line.split(",")[:33] for line in lines if line[:1].isdigit() and line.count(",") > 30]
    table = np.array(rows, dtype=float)
    time = table[:, 1:5] @ [3600, 60, 1, 0.001]
    poses = table[:, 5:].reshape(-1, 4, 7)
    p = np.where((poses[..., 3:] == 0).all(axis=2, keepdims=True), np.nan, poses[..., :3]) * 0.001
    return Take.from_poses(p, poses[..., 3:], names="abcd", time=time - time[0])


def test_electromagnetic_sensors_at_rest_determine_no_tree() -> None:
    take = electromagnetic()
    assert 0.9 < take.seen.mean() < 1
    found = infer_structure(take)
    assert not found.determined
    assert len(found.tree.edges) == 0


def magnetic(repeats: bool) -> Take:
    """Two sensors, one turned about one axis; centimetres fit."""
    table = np.genfromtxt(recordings.DATA / "polhemus_liberty/hinge_x.csv", delimiter=",", skip_header=1)
    if not repeats:
        table = table[np.append(True, (np.diff(table[:, 1:], axis=0) != 0).any(axis=1))]
    q, p = table[:, 1:9].reshape(-1, 2, 4), table[:, 9:].reshape(-1, 2, 3) * 0.01
    return Take.from_poses(p, q, names=("s1", "s2"), time=table[:, 0] - table[0, 0])


@pytest.mark.parametrize(
    "repeats",
    [
        pytest.param(True, id="as recorded"),
        pytest.param(
            False,
            id="repeated rows dropped",
        ),
    ],
)
def test_a_magnetic_hinge_is_a_hinge(repeats) -> None:
    take = magnetic(repeats)
    found = infer_structure(take)
    assert edges_of(take, found) == recordings.edges("polhemus_liberty/hinge_x.csv")
    assert kinds_of(take, found) == {frozenset(("s1", "s2")): "hinge"}
    R = np.swapaxes(take.R_world_body[:, 0], 1, 2) @ take.R_world_body[:, 1]
    along = found.fits.axis_parent[0, :, 0]
    side = np.cross(along, [1.0, 0, 0])
    swept = np.einsum("nij,j->ni", R, R[0].T @ side)
    angle = np.degrees(np.arctan2(np.cross(side, swept) @ along, swept @ side))
    assert TURN_DEG[0] < np.ptp(angle) < TURN_DEG[1]


@cache
def clip(name: str) -> tuple[Take, Truth]:
    return mounted.clip(name, seed=1)


@pytest.mark.parametrize("name", ["02_01.bvh", "08_01.bvh", "09_01.bvh", "35_01.bvh"])
def test_sensors_on_natural_motion_have_the_persons_tree(name) -> None:
    take, _ = clip(name)
    found = infer_structure(take)
    assert found.determined
    assert edges_of(take, found) == recordings.edges("cmu_bvh/*")


def test_two_people_recorded_together_are_two_figures() -> None:
    first, second = (mounted.clip(name)[0] for name in ("18_03.bvh", "19_03.bvh"))
    take = Take(
        [f"{who}_{name}" for who, part in (("a", first), ("b", second)) for name in part.names],
        first.time,
        np.concatenate([first.R_world_body, second.R_world_body], axis=1),
        np.concatenate([first.p_world_body, second.p_world_body], axis=1),
    )
    want = {frozenset(f"{who}_{b}" for b in edge) for who in "ab" for edge in recordings.edges("cmu_bvh/*")}
    assert edges_of(take, infer_structure(take)) == want


def test_the_truth_names_every_recording_used_here() -> None:
    known = json.loads((recordings.DATA / "truth.json").read_text())
    for name in ("diodem/arm/exp01", "diodem/gait/exp06", "diodem/arm/exp05", "cmu_bvh/*", "ndi_aurora/rest.csv"):
        assert name in known
