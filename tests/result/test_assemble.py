"""Skeletons put together from an estimate: limbs, placements, intervals, and what the file says of its origin."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle import Finding, Joint
from condyle.estimate.fitting import ROBUST, Estimate, fit_tree
from condyle.estimate.intervals import Uncertainty
from condyle.faults.part_time import PartTime, PartTimeRepair
from condyle.maths import rotation
from condyle.maths.robust import Z95
from condyle.model.options import FitOptions
from condyle.model.take import BodyMarker, CarriedCentre, Take
from condyle.result import assemble
from condyle.result.assemble import (
    SCREW_PLAIN_SHARE,
    _carry_centres,
    assemble_figure,
    assemble_limbs,
    assemble_placements,
    show_poses,
)
from condyle.simulate import Disturbances, human, linkage, simulate
from tests.make import jointed, machines
from tests.make.looked_at import is_about, record_counts

NOISE = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.3))
OPTIONS = FitOptions(method="default", root="chest", scale=1.25)
ZERO = np.zeros(3)
X, Y = np.eye(3)[:2]


def joint(child: str, parent: str, p_child: np.ndarray, p_parent: np.ndarray, **change: object) -> Joint:
    made = jointed.joint(np.random.default_rng(0), child, parent, "ball")
    return replace(made, p_child_joint=p_child, p_parent_joint=p_parent, covariance=np.eye(6), **change)


def knee_and_ankle(**change: object) -> list[Joint]:
    """The shank's own joint 3 cm along x and its foot 4 cm along y; 5 cm between them."""
    return [
        joint("foot", "shank", ZERO, 0.04 * Y),
        joint("shank", "thigh", 0.03 * X, 0.4 * X, **change),
    ]


def uncertainty(joints: int, sd: float, **places: float) -> Uncertainty:
    """Unknowns known to `sd` [m] each, a quarter of the variance passing; `places` ("u7") are known to another."""
    sds = np.full(6 * joints, sd)
    for name, value in places.items():
        sds[int(name[1:])] = value
    return Uncertainty(np.diag(sds**2), np.diag(sds**2) / 4, np.ones(joints, dtype=bool), np.zeros((joints, 2)))


def test_a_limb_is_the_distance_of_two_joints_of_a_body_its_own_first() -> None:
    [limb] = assemble_limbs(knee_and_ankle(), None)
    assert (limb.body, limb.from_joint, limb.to_joint, limb.between) == ("shank", "shank", "foot", "joints")
    assert limb.length == pytest.approx(0.05)
    assert (limb.low, limb.high, limb.passing) == (None, None, None)


def test_every_two_joints_of_a_body_have_a_limb() -> None:
    arms = [joint(f"arm{k}", "chest", ZERO, k * X) for k in range(4)]
    lengths = {(limb.from_joint, limb.to_joint): limb.length for limb in assemble_limbs(arms, None)}
    assert lengths == {(f"arm{a}", f"arm{b}"): pytest.approx(b - a) for a in range(4) for b in range(a + 1, 4)}


def test_the_interval_of_a_limb_is_of_both_joints_along_it() -> None:
    [limb] = assemble_limbs(knee_and_ankle(), uncertainty(2, 0.001))
    width = Z95 * 0.001 * np.sqrt(2)
    assert (limb.low, limb.high) == (pytest.approx(0.05 - width), pytest.approx(0.05 + width))
    assert limb.passing == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("place", "share"),
    [
        *(("u6", 0.6), ("u7", 0.8), ("u3", 0.6), ("u4", 0.8)),  # the knee in the shank, the ankle in the shank
        *(("u0", 0.0), ("u9", 0.0), ("u8", 0.0)),  # the ankle in the foot, the knee in the thigh, across the limb
    ],
)
def test_only_the_halves_on_the_body_itself_widen_its_interval(place: str, share: float) -> None:
    [limb] = assemble_limbs(knee_and_ankle(), uncertainty(2, 0.0, **{place: 0.001}))
    assert limb.high - limb.length == pytest.approx(Z95 * 0.001 * share)  # type: ignore[operator]
    assert limb.passing == (pytest.approx(0.25) if share else None)


def test_an_interval_never_reaches_below_nothing() -> None:
    [limb] = assemble_limbs(knee_and_ankle(), uncertainty(2, 0.5))
    assert limb.low == 0
    assert limb.high > 1


@pytest.mark.parametrize("kind", ["undetermined", "rigid"])
def test_a_limb_to_a_joint_that_is_not_located_has_no_length(kind: str) -> None:
    [limb] = assemble_limbs(knee_and_ankle(kind=kind), uncertainty(2, 0.001))
    assert (limb.body, limb.length, limb.low, limb.high) == ("shank", None, None, None)


def test_a_joint_is_placed_from_both_its_sensors_with_the_interval_of_its_own_half() -> None:
    places = assemble_placements(knee_and_ankle(), uncertainty(2, 0.0, u6=0.001, u9=0.002, u10=0.5))
    assert [(one.body, one.joint, one.distance) for one in places] == [
        ("foot", "foot", 0.0),
        ("shank", "foot", pytest.approx(0.04)),
        ("shank", "shank", pytest.approx(0.03)),
        ("thigh", "shank", pytest.approx(0.4)),
    ]
    assert (places[0].low, places[0].high) == (None, None)  # a sensor on its joint has no direction to it
    widths = [one.high - one.distance for one in places[1:]]  # type: ignore[operator]
    assert widths == pytest.approx([0.0, Z95 * 0.001, Z95 * 0.002])
    assert places[2].low == pytest.approx(0.03 - Z95 * 0.001)


@pytest.mark.parametrize("change", [{"covariance": None}, {"point": "arbitrary"}])
def test_a_place_that_is_not_determined_has_no_interval(change: dict) -> None:
    knee = replace(knee_and_ankle()[1], **change)
    assert all(one.low is None and one.high is None for one in assemble_placements([knee], uncertainty(1, 0.001)))
    assert all(one.low is None for one in assemble_placements([knee_and_ankle()[1]], None))


def test_poses_of_another_take_are_shown_where_they_are_asked_for(rng: np.random.Generator) -> None:
    one, other = (simulate(linkage(), seconds=1, rate=10, seed=seed).take for seed in (1, 2))
    where = rng.random((one.frames, one.bodies)) < 0.5
    shown = show_poses(one, other, where)
    for name in ("R_world_body", "p_world_body"):
        values, own, theirs = (getattr(take, name) for take in (shown, one, other))
        np.testing.assert_array_equal(values[where], theirs[where])
        np.testing.assert_array_equal(values[~where], own[~where])


@pytest.fixture(scope="module")
def estimate() -> Estimate:
    """A linkage, and a sensor beside it that is joined to nothing."""
    take = simulate(linkage(), seconds=20, rate=30, seed=11, disturbances=NOISE).take
    lonely = simulate(linkage(), seconds=20, rate=30, seed=12, disturbances=NOISE).take.select(["head"])
    both = Take(
        (*take.names, "lonely"),
        take.time,
        np.concatenate([take.R_world_body, lonely.R_world_body], axis=1),
        np.concatenate([take.p_world_body, lonely.p_world_body], axis=1),
        sources=("a.csv", "b.csv"),
    )
    return fit_tree(both, [], OPTIONS, ROBUST)


def figure_of(estimate: Estimate, options: FitOptions = OPTIONS, *findings: Finding) -> assemble.Assembled:
    return assemble_figure(estimate, ROBUST, options, findings, [], estimate.take, connections=False)


def test_a_figure_has_the_estimates_joints_roots_and_loose_bodies(estimate: Estimate) -> None:
    made = figure_of(estimate)
    skeleton = made.skeleton
    names = np.array(estimate.take.names)
    assert [(one.child, one.parent) for one in skeleton.joints] == [tuple(pair) for pair in names[estimate.pairs]]
    assert (skeleton.roots, skeleton.loose) == (("chest",), ("lonely",))
    for k, one in enumerate(skeleton.joints):
        np.testing.assert_array_equal(one.p_child_joint, estimate.solution.p_child_joint[k])
    np.testing.assert_array_equal(made.gap, estimate.gap)
    assert made.weight.shape == made.gap.shape[:2]
    assert len(skeleton.limbs) == 5
    assert all(limb.low < limb.length < limb.high for limb in skeleton.limbs)


def test_a_figure_says_what_it_was_made_from_and_asked_for(estimate: Estimate) -> None:
    skeleton = figure_of(estimate).skeleton
    assert skeleton.take["frames"] == 600
    assert skeleton.take["sources"] == ["a.csv", "b.csv"]
    masked = (~estimate.structure.good).sum(axis=0).tolist()
    assert skeleton.take["masked"] == dict(zip(estimate.take.names, masked, strict=True))
    assert (skeleton.method, skeleton.scale) == ("default", 1.25)
    assert skeleton.options["root"] == "chest"
    assert not {"method", "scale"} & set(skeleton.options)
    noise = estimate.structure.noise
    assert [(one.position, one.orientation) for one in skeleton.noise] == list(
        zip(noise.position.tolist(), noise.orientation.tolist(), strict=True)
    )
    assert skeleton.conventions["length"] == "m"


def test_findings_of_the_way_there_are_told_with_those_of_the_figure_worst_first(estimate: Estimate) -> None:
    on_the_way = Finding("slip", "info", "x"), Finding("swap", "error", "y")
    codes = [finding.code for finding in figure_of(estimate, OPTIONS, *on_the_way).skeleton.findings]
    assert codes == ["swap", "loose-body", "slip"]


def test_intervals_are_left_out_on_request(estimate: Estimate) -> None:
    skeleton = figure_of(estimate, replace(OPTIONS, intervals=False)).skeleton
    assert all(limb.length is not None and limb.low is None for limb in skeleton.limbs)
    assert all(one.covariance is None for one in skeleton.joints)


def test_joints_for_a_part_of_the_take_are_looked_for_only_where_the_plan_says_so(
    estimate: Estimate, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop, told = joint("head", "lonely", X, Y), Finding("connection", "info", "x")
    monkeypatch.setattr(assemble, "find_touching_joints", lambda *arguments: ([loop], [told]))
    without = figure_of(estimate).skeleton
    made = assemble_figure(estimate, ROBUST, OPTIONS, [], [], estimate.take, connections=True).skeleton
    assert without.loops == ()
    assert (made.loops, told in made.findings, told in without.findings) == ((loop,), True, False)


def test_a_figure_without_joints_has_gaps_of_no_joints() -> None:
    world = simulate(linkage(), "still", seconds=5, seed=2, disturbances=NOISE)
    made = assemble_figure(
        fit_tree(world.take, [], OPTIONS, ROBUST), ROBUST, OPTIONS, [], [], world.take, connections=False
    )
    assert not made.skeleton.joints
    assert made.gap.shape == (world.take.frames, 0, 3)


def test_a_four_bar_has_the_lengths_of_the_links_that_end_at_its_loop() -> None:
    skeleton = machines.fitted("four-bar", 0.0).skeleton
    (loop,) = skeleton.loops
    closing = [limb for limb in skeleton.limbs if limb.to_joint == f"{loop.child}-{loop.parent}"]
    assert {limb.body for limb in closing} == {loop.child, loop.parent}
    assert all(limb.length for limb in closing)


def test_a_wrong_unit_is_told_once_and_not_limb_by_limb_as_well() -> None:
    take = simulate(human(), "exercise", seconds=8, seed=1).take
    found = condyle.fit(take, intervals=False, scale=20).findings
    (finding,) = [one for one in found if one.code == "implausible-size"]
    assert "unit" in finding.text
    found = condyle.fit(take, intervals=False, scale=2.5).findings
    assert len(found) > 1
    (finding,) = [one for one in found if one.code == "implausible-size"]
    assert "an adult's" in finding.text


def carried_by(parent_first: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the centre that completes a shank adds to its joints with thigh and foot, its covariance in the thigh, and
    the turn from thigh to shank.
    """
    Q = rotation.from_vector([0.3, -0.2, 0.5])
    C = np.diag([1.0, 4.0, 9.0]) * 1e-4
    R = np.stack([np.eye(3), Q, np.eye(3)])[None].repeat(20, axis=0)
    centre = BodyMarker("shank", "knee_centre", np.zeros(3), CarriedCentre("thigh", np.zeros(3), C))
    take = replace(
        condyle.Take(("thigh", "shank", "foot"), np.arange(20) / 10, R, np.zeros((20, 3, 3))), markers=(centre,)
    )
    pairs = np.array([[1, 0], [2, 1]] if parent_first else [[0, 1], [2, 1]])
    return _carry_centres(take, pairs), C, Q.T


def test_the_centre_that_completes_a_segment_is_as_unsure_in_both_of_its_bodies() -> None:
    for parent_first in (True, False):
        added, C, turn = carried_by(parent_first)
        thigh, shank = (slice(3, 6), slice(0, 3)) if parent_first else (slice(0, 3), slice(3, 6))
        np.testing.assert_allclose(added[thigh, thigh], C, atol=1e-15)
        np.testing.assert_allclose(added[shank, shank], turn @ C @ turn.T, atol=1e-15)
        np.testing.assert_allclose(added[shank, thigh], turn @ C, atol=1e-15)
        assert not added[:6, 6:].any()


def test_a_joint_below_a_segment_of_two_markers_is_off_by_centimetres() -> None:
    added, _, _ = carried_by(True)
    sd = np.sqrt(np.diagonal(added)[6:])
    np.testing.assert_allclose(sd, sd[0])
    assert 0.015 < sd[0] < 0.06  # m


def test_how_a_completed_segment_is_turned_is_told_by_frames_spread_over_the_take(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    counts = record_counts(monkeypatch, assemble)
    carried_by(True)
    assert counts
    assert all(is_about(count, 500) for count in counts)


def test_a_pair_that_no_centre_completes_is_as_sure_as_its_motion_says() -> None:
    centre = BodyMarker("shank", "knee_centre", np.zeros(3), CarriedCentre("thigh", np.zeros(3), 1e-4 * np.eye(3)))
    R = np.broadcast_to(np.eye(3), (20, 4, 3, 3))
    take = condyle.Take(("thigh", "shank", "chest", "head"), np.arange(20) / 10, R, np.zeros((20, 4, 3)))
    added = _carry_centres(replace(take, markers=(centre,)), np.array([[1, 0], [3, 2]]))
    assert added[:6, :6].any()
    assert not added[6:, 6:].any()


def test_what_takes_long_is_announced(estimate: Estimate, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = list[str]()
    monkeypatch.setattr(assemble, "begin_step", steps.append)
    monkeypatch.setattr(assemble, "find_touching_joints", lambda *arguments: ([], []))
    for intervals, connections in ((True, True), (False, False)):
        steps.clear()
        options = replace(OPTIONS, intervals=intervals)
        assemble_figure(estimate, ROBUST, options, [], [], estimate.take, connections=connections)
        assert ("estimating the intervals" in steps) == intervals
        assert ("looking for connections" in steps) == connections


def test_a_joint_that_holds_for_a_part_says_when_and_poses_left_out_are_shown(estimate: Estimate) -> None:
    take = estimate.take
    child, parent = (take.names[k] for k in estimate.pairs[0])
    holds = np.arange(take.frames) < 400
    part = PartTime(child, parent, holds, ((0.0, 2.0), (3.0, 13.3)), 0.1, 0.001, child)
    ready = replace(take, p_world_body=take.p_world_body + 1.0)
    options = replace(OPTIONS, intervals=False)
    made = assemble_figure(estimate, ROBUST, options, [], [PartTimeRepair(part)], ready, connections=False)
    assert [one.time for one in made.skeleton.joints] == [(3.0, 13.3)] + [None] * (len(estimate.pairs) - 1)
    size = np.linalg.norm(made.gap[:, 0], axis=1)
    assert size[holds].max() < 0.1 < size[~holds].min()  # m


def test_a_link_to_a_loop_begins_at_a_joint_of_its_own_body() -> None:
    skeleton = machines.fitted("four-bar", 0.0).skeleton
    (loop,) = skeleton.loops
    joints = {one.child: one for one in skeleton.joints}
    closing = [limb for limb in skeleton.limbs if limb.to_joint == f"{loop.child}-{loop.parent}"]
    assert closing
    for limb in closing:
        first = joints[limb.from_joint]
        assert limb.body in (first.child, first.parent)


def test_a_thread_is_believed_where_the_gap_is_no_more_than_noise_in_three_directions_leaves(
    estimate: Estimate,
) -> None:
    quiet = replace(estimate.structure.noise, position=np.full(estimate.take.bodies, 0.001))
    quiet = replace(quiet, orientation=np.zeros(estimate.take.bodies))
    noisy = replace(estimate, structure=replace(estimate.structure, noise=quiet))
    usual = np.sqrt(3 * 2) * 0.001  # m: of both sensors
    for share, believed in ((0.95, True), (1.1, False)):
        one = joint("a", "b", X, Y, kind="screw", residual=share * np.sqrt(SCREW_PLAIN_SHARE) * usual)
        located = SimpleNamespace(joints=[one] * len(estimate.pairs), solution=estimate.solution)
        assert assemble._find_threads(noisy, located).all() == believed, share  # type: ignore[arg-type]
