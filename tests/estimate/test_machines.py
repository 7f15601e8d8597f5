"""Kinds of machines' joints: found where they are, with noise and without, and never in people."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle.estimate import machines as module
from condyle.estimate.kinds import INDEPENDENT_SAMPLES_HZ, measure_motion, measure_world_motion
from condyle.estimate.machines import (
    Universal,
    _alternate,
    find_sliders,
    find_thread,
    fit_universal,
    is_universal,
    measure_slide,
    take_out_threads,
)
from condyle.maths import rotation
from condyle.model.take import Take
from condyle.pairs.fits import fit_pairs
from condyle.pairs.noise import Noise
from condyle.pairs.sums import sum_pairs
from condyle.simulate import MACHINES, Disturbances, MachineJoint, chain, human, machine, simulate
from tests.make import machines
from tests.make.looked_at import is_about, record_counts, record_thinned

SCREW_LINK_MAX_M = 0.0006  # m of half an interval at 1 mm and 0.2 deg
TREES = ("panda", "ur5", "skewed", "planar", "universal", "screw", "lead-screw")


@pytest.mark.parametrize("noise", [0.0, 1.0, 5.0])
@pytest.mark.parametrize("name", [*TREES, "four-bar"])
def test_a_machine_has_its_tree_and_kinds_without_a_doubt(name: str, noise: float) -> None:
    one = machines.made(name, noise)
    skeleton = condyle.fit(one.take).skeleton
    assert {frozenset((joint.child, joint.parent)) for joint in skeleton.joints} == one.edges
    true = {frozenset((f"link{k}", f"link{k + 1}")): joint.kind for k, joint in enumerate(one.joints)}
    assert {frozenset((joint.child, joint.parent)): joint.kind for joint in skeleton.joints} == true
    assert {frozenset((joint.child, joint.parent)) for joint in skeleton.loops} == {frozenset(p) for p in one.loop}
    assert skeleton.verdict is not None
    assert skeleton.verdict.sure == len(skeleton.joints)
    assert skeleton.verdict.tone == "good"


def test_a_slider_that_closes_a_loop_is_no_rigid_pair_and_costs_no_joint() -> None:
    fit = condyle.fit(machines.made("slider-crank", 0.4, carried=True).take)
    assert {frozenset((one.child, one.parent)) for one in fit.skeleton.joints} == {
        frozenset((f"link{k}", f"link{k + 1}")) for k in range(3)
    }
    assert [(one.kind, {one.child, one.parent}) for one in fit.skeleton.loops] == [("slider", {"link0", "link3"})]


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_a_scara_has_its_slider_with_direction_and_travel(noise: float) -> None:
    one = machines.made("scara", noise)
    fit = condyle.fit(one.take)
    (slider,) = fit.skeleton.loops
    assert slider.kind == "slider"
    assert {slider.child, slider.parent} == {"link3", "link4"}
    axis = slider.axis_parent if slider.parent == "link3" else slider.axis_child
    assert axis is not None
    assert np.linalg.norm(np.cross(axis, one.axis[3])) < 0.002 * noise + 1e-9
    assert slider.travel == pytest.approx(np.ptp(one.q[:, 3]) * 0.12, abs=0.01 * noise + 1e-9)
    assert fit.skeleton.verdict is not None
    assert "1 slider" in fit.skeleton.verdict.text
    assert "loose" not in fit.skeleton.verdict.text
    (chain,) = fit.axes()
    assert [row.kind for row in chain.rows] == ["hinge", "hinge", "hinge", "slider"]
    assert [row.lie for row in chain.rows] == [None, "parallel", "parallel", "same line"]
    assert chain.played_m is not None
    assert chain.played_m < 0.004 * noise + 1e-9
    np.testing.assert_allclose(chain.play_screws(chain.angle), chain.play_modified(chain.angle), atol=1e-12)


def test_a_screw_has_its_pitch_and_is_played_with_it() -> None:
    fit = condyle.fit(machines.made("screw").take)
    (screw,) = (joint for joint in fit.skeleton.joints if joint.kind == "screw")
    assert abs(screw.pitch or 0) == pytest.approx(0.05, abs=0.0006)
    (chain,) = fit.axes()
    assert chain.played_m is not None
    assert chain.played_m < 0.003
    assert [told.code for told in fit.findings].count("screw-joint") == 1


@pytest.mark.parametrize(("pitch", "turns"), [(0.005, 5.0), (0.02, 5.0), (0.05, 1.0)])
def test_a_screw_is_one_however_often_it_turns_and_comes_apart_no_more_than_the_noise(
    pitch: float, turns: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second of them comes apart by half the distance of its sensors, as bodies that are not joined do."""
    joints = (*MACHINES["screw"][:1], MachineJoint("screw", 0.25, 0.8, pitch=pitch, sweep=2 * np.pi * turns))
    monkeypatch.setitem(MACHINES, "own", (*joints, *MACHINES["screw"][2:]))
    fit = condyle.fit(machine("own", seed=3, position_noise=0.0005, orientation_noise=np.radians(0.1)).take)
    (screw,) = (joint for joint in fit.skeleton.joints if joint.kind == "screw")
    assert screw.pitch is not None
    assert abs(screw.pitch) == pytest.approx(pitch, rel=0.02)
    assert screw.explained is not None
    assert screw.residual < 1.1 * screw.explained
    assert not [told for told in fit.findings if told.severity != "info"]
    assert fit.skeleton.verdict is not None
    assert (fit.skeleton.verdict.sure, fit.skeleton.verdict.joints) == (3, 3)


@pytest.mark.parametrize("name", ["screw", "lead-screw"])
def test_a_thread_is_no_error_in_the_intervals_of_a_screw(name: str) -> None:
    """Links beside a screw are known as those beside hinges are: the thread made them 100 times as wide."""
    one = machines.made(name, 1.0)
    (chain,) = condyle.fit(one.take).axes(base="link0")
    for row, joint in zip(chain.rows[1:], one.joints[1:], strict=True):
        assert row.distance is not None
        assert row.distance.half_width is not None
        assert abs(row.distance.value - joint.a) < row.distance.half_width < SCREW_LINK_MAX_M


def test_what_hangs_on_a_screw_is_moved_back_along_its_thread() -> None:
    one = machine("screw", seed=3)
    pairs = np.array([[1, 0], [2, 1], [3, 2]])
    thread = np.zeros((one.take.frames, 3, 3))
    thread[:, 1] = np.linspace(0.0, 0.1, one.take.frames)[:, None] * np.array([0.0, 0.6, 0.8])
    moved = take_out_threads(one.take, pairs, thread)
    assert not moved.seen[0, 2]  # where the thread is not known
    assert moved.seen[:, [0, 1, 3]].all()
    back = (one.take.p_world_body - moved.p_world_body)[1:]
    np.testing.assert_allclose(back, thread[1:, [0, 0, 1, 1]], atol=1e-15)


def test_a_universal_joint_has_both_axes_and_two_rows() -> None:
    one = machines.made("universal")
    fit = condyle.fit(one.take, root="link0")
    for k, joint in enumerate(fit.skeleton.joints):
        assert joint.axis_parent is not None
        assert np.linalg.norm(np.cross(joint.axis_parent, one.axis[k])) < np.radians(0.3)
    (chain,) = fit.axes()
    assert [row.lie for row in chain.rows] == [None, "meet", "skew", "meet", "skew", "meet"]
    assert [row.outer for row in chain.rows][:2] == ["link1 cross", "link1"]
    right = [row.angle.value for row in chain.rows[1::2] if row.angle is not None]
    np.testing.assert_allclose(right, np.pi / 2, atol=np.radians(0.3))
    assert chain.rows[2].distance is not None
    assert chain.rows[2].distance.value == pytest.approx(0.25, abs=0.001)
    assert chain.played_m is not None
    assert chain.played_m < 0.004


def test_axes_are_not_sought_where_no_two_could_leave_so_little_but_what_they_leave_is_told_as_too_much() -> None:
    take = simulate(human(), "exercise", seconds=20, rate=30, seed=3).take
    pairs = np.array([[take.index("r_upper_arm"), take.index("r_forearm")], [0, 1]])
    whole = fit_universal(take, pairs)
    for most in (np.zeros(2), 0.5 * whole.off, 2 * whole.off):
        some = fit_universal(take, pairs, most)
        near = whole.off * np.sqrt(1 - whole.cosine**2) <= most
        assert (some.off[~near] > most[~near]).all()
        np.testing.assert_array_equal(some.off[near], whole.off[near])
        np.testing.assert_array_equal(some.axis_child[near], whole.axis_child[near])


def test_no_two_axes_leave_less_than_what_rules_them_out(rng: np.random.Generator) -> None:
    off = rng.standard_normal((200, 9, 12)) * np.geomspace(0.01, 1.0, 9)[:, None]
    C = (off @ off.swapaxes(1, 2)).reshape(200, 3, 3, 3, 3)
    least = _alternate(C, np.full(200, np.inf))[0]
    np.testing.assert_array_equal(_alternate(C, 1.2 * least)[0], least)
    ruled_out = _alternate(C, 0.5 * least)
    assert 20 < np.count_nonzero(~ruled_out[1].any(axis=1)) < 180
    assert (ruled_out[0] > 0.5 * least).all()


@pytest.mark.costly
def test_every_joint_has_its_main_axis_and_the_share_of_it() -> None:
    hinges = machines.fitted("skewed").skeleton.joints
    assert all(joint.main_share is not None and joint.main_share > 0.99 for joint in hinges)
    assert all(abs(joint.main_child @ joint.axis_child) > 0.999 for joint in hinges)  # type: ignore[operator]
    balls = condyle.fit(simulate(human(), seconds=20, seed=1).take, intervals=False).skeleton.joints
    assert all(0.3 < (joint.main_share or 0) < 0.99 for joint in balls)


@pytest.mark.parametrize("skin", [0.0, 0.005])
def test_people_have_none_of_these_kinds(skin: float) -> None:
    noise = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.2), soft_tissue=skin)
    for seed in range(3):
        for motion in ("exercise", "walk"):
            take = simulate(human(), motion, seconds=15, seed=seed, disturbances=noise).take  # type: ignore[arg-type]
            skeleton = condyle.fit(take, intervals=False).skeleton
            kinds = {joint.kind for joint in (*skeleton.joints, *skeleton.loops)}
            assert not kinds & {"universal", "screw", "slider"}


@pytest.mark.parametrize("way", [(-0.3, 0.1, 0.0), (0.3, -0.1, 0.0), (0.05, -0.3, 0.1)])
def test_a_slide_points_along_the_positive_half_of_the_axis_it_follows_most(way: tuple[float, float, float]) -> None:
    p = np.zeros((50, 2, 3))
    p[:, 1] = np.linspace(0, 1, 50)[:, None] * np.array(way) + [0.0, 0.0, 1.0]
    take = condyle.Take.from_poses(p, R_world_body=np.broadcast_to(np.eye(3), (50, 2, 3, 3)), rate=30)
    slide = measure_slide(take, 1, 0)
    assert slide is not None
    assert slide.travel == pytest.approx(np.linalg.norm(way))
    main = int(np.argmax(np.abs(way)))
    np.testing.assert_allclose(slide.axis_parent, np.array(way) / np.linalg.norm(way) * np.sign(way[main]), atol=1e-9)


def test_a_rail_is_told_from_5_mm_rms_on(rng: np.random.Generator) -> None:
    n, pairs = 400, np.array([[1, 0]])
    turn = np.cumsum(0.03 * rng.standard_normal((n, 3)), axis=0)
    R = np.broadcast_to(rotation.from_vector(turn)[:, None], (n, 2, 3, 3))
    for rms, told in ((0.003, False), (0.008, True)):
        way = rms * np.sqrt(2) * np.sin(np.arange(n) * 0.11)
        p = np.zeros((n, 2, 3))
        p[:, 1] = np.einsum("nij,nj->ni", R[:, 1], np.column_stack([0.3 + way, np.full(n, 0.1), np.zeros(n)]))
        take = condyle.Take.from_poses(p, R_world_body=R, rate=60)
        noise, sums = Noise(np.full(2, 1e-4), np.full(2, 1e-4)), sum_pairs(take)
        fits = fit_pairs(sums, pairs)
        spread = measure_motion(take, sums, fits, noise).spread
        assert bool(find_sliders(take, fits, spread, noise, measure_world_motion(take, noise)[0])) == told


@pytest.mark.parametrize(("noise", "off"), [(2.0, 0.001), (10.0, 0.006)])
def test_a_thread_shows_in_noise_as_large_as_its_travel(noise: float, off: float) -> None:
    joints = condyle.fit(machines.made("screw", noise, seed=60000).take, intervals=False).skeleton.joints
    (screw,) = (joint for joint in joints if joint.kind == "screw")
    assert screw.pitch is not None
    assert abs(screw.pitch) == pytest.approx(0.05, abs=off)


@pytest.mark.parametrize("seed", [60012, 60016, 60018])
def test_axes_that_meet_leave_no_doubt_between_edges_that_are_both_there(seed: int) -> None:
    """The first two axes of this arm meet, so that its base and third body share a point as well."""
    skeleton = condyle.fit(machines.made("ur5", 2.0, seed=seed).take, intervals=False).skeleton
    assert all(joint.support == 1 and not joint.rivals for joint in skeleton.joints)


@pytest.mark.parametrize("seed", [60002, 60003])
def test_axes_of_universal_joints_are_followed_to_their_end(seed: int) -> None:
    take = machine("universal", seed=seed).take
    assert [joint.kind for joint in condyle.fit(take).skeleton.joints] == ["universal"] * 3


@pytest.mark.parametrize("seed", [60003, 60006])
def test_axes_that_are_approached_slowly_in_noise_are_those_of_a_universal_joint(seed: int) -> None:
    take = machine("universal", seed=seed, position_noise=0.001, orientation_noise=np.radians(0.2)).take
    assert [joint.kind for joint in condyle.fit(take).skeleton.joints] == ["universal"] * 3


def test_neither_rounding_nor_the_root_chooses_the_signs_of_the_axes_of_universal_joints() -> None:
    take = machine("universal", seconds=5, seed=1).take
    found = list[dict[tuple[str, ...], np.ndarray]]()
    for seed, root in enumerate(("link0", "link1", "link3", "link0")):
        rng = np.random.default_rng(seed)  # as other processors compute
        R, p = (one * (1 + 2.0**-52 * rng.integers(-1, 2, one.shape)) for one in (take.R_world_body, take.p_world_body))
        fit = condyle.fit(Take(take.names, take.time, R, p), intervals=False, root=root)
        own = dict[tuple[str, ...], np.ndarray]()
        for joint in fit.skeleton.joints:
            assert joint.kind == "universal"
            assert joint.axis_child is not None
            assert joint.axis_parent is not None
            own[joint.child, joint.parent] = joint.axis_child
            own[joint.parent, joint.child] = joint.axis_parent
        found.append(own)
    for own in found[1:]:
        for side, axis in own.items():
            np.testing.assert_allclose(axis, found[0][side], atol=1e-3)


@pytest.mark.costly
def test_skin_along_the_axis_of_a_hinge_is_no_thread() -> None:
    figure = chain(("ball", "hinge", "hinge", "ball", "hinge", "rigid", "ball"))
    d = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.5), soft_tissue=0.003)
    for seed in (60022, 60023):
        world = simulate(figure, "exercise", seed=seed, disturbances=d)
        skeleton = condyle.fit(world.take, tree=dict(world.truth.edges)).skeleton
        assert not [joint.child for joint in skeleton.joints if joint.kind == "screw"]


def test_two_axes_are_told_where_they_explain_a_turn_that_noise_does_not() -> None:
    def found(off: float = 0.0, cosine: float = 0.2, second: float = 10.0, loud: float = 0.0) -> bool:
        """off, second, loud [deg]"""
        turn = (np.radians([value]) for value in (off, second, loud))
        none = np.zeros((1, 3))
        off_rad, second_rad, loud_rad = turn
        made = Universal(none, none, off_rad, np.array([cosine]), np.zeros((1, 6, 6)))
        return bool(is_universal(made, second_rad, loud_rad)[0])

    for case, told in [
        ({"off": 0.2}, True),
        ({"off": 0.5}, False),  # hinges of people leave as much
        ({"cosine": 0.5}, True),
        ({"cosine": 0.9}, False),  # one axis twice
        ({"second": 5.0}, True),
        ({"second": 2.0}, False),
        ({"second": 8.0, "loud": 1.0}, True),
        ({"second": 8.0, "loud": 3.0}, False),
    ]:
        assert found(**case) == told, case


def thread_of(
    travel: float, rest: float, explained: float, *, turn: float = 90.0, seconds: float = 100.0, hidden: str = ""
) -> bool:
    """Whether a hinge that turns by `turn` [deg] to and fro is a screw.

    travel, rest  [mm rms] along its axis, with the angle and besides;  explained: [mm] by noise
    hidden        "seen,not seen": frames in turn
    """
    rng, n = np.random.default_rng(9), 3000
    angle = np.radians(turn) / 2 * np.sin(np.linspace(0, 40, n))
    noise = rng.standard_normal(n)
    noise -= noise.mean() + angle * (angle @ noise) / (angle @ angle)
    gap = np.zeros((n, 3))
    gap[:, 2] = 1e-3 * (travel * angle / np.sqrt(np.mean(angle**2)) + rest * noise / np.sqrt(np.mean(noise**2)))
    R = np.stack([rotation.from_vector(angle[:, None] * [0, 0, 1.0]), np.tile(np.eye(3), (n, 1, 1))], axis=1)
    take = condyle.Take(("child", "parent"), np.linspace(0, seconds, n), R, np.zeros((n, 2, 3)))
    if hidden:
        seen, lost = map(int, hidden.split(","))
        gap[np.arange(n) % (seen + lost) >= seen] = np.nan
    z = np.array([0, 0, 1.0])
    return find_thread(take, (0, 1), (z, z), gap, 1e-3 * explained) is not None


def test_a_screw_turns_far_and_leaves_little_beside_its_thread() -> None:
    for case, screw in [
        ((10, 1, 1, {"turn": 12.0}), False),
        ((10, 1, 1, {"turn": 35.0}), True),
        ((30, 2.5, 1, {}), True),
        ((30, 6, 1, {}), False),  # more than noise
        ((14.1, 3.9, 1, {}), True),
        ((7.7, 3.9, 1, {}), False),  # of the gap beyond noise too much is no thread
        ((3.5, 1.5, 1, {}), True),
        ((2.2, 1.5, 1, {}), False),
    ]:
        *sizes, how = case
        assert thread_of(*sizes, **how) == screw, case  # type: ignore[misc]


def test_a_thread_is_surer_than_chance_and_white_noise_counts_frame_by_frame() -> None:
    samples = INDEPENDENT_SAMPLES_HZ * 100.0
    for errors, told in ((5.5, False), (12.0, True)):  # standard errors of its slope
        assert thread_of(errors / np.sqrt(samples), 1.0, 1.0) == told
    for travel, rest, told in ((0.38, 1.0, False), (0.75, 1.0, True), (1.0, 1.015, True), (1.14, 1.14, False)):
        assert thread_of(travel, rest, 1.0, seconds=10.0 / INDEPENDENT_SAMPLES_HZ) == told, (travel, rest)


def test_a_screw_turns_on_by_less_than_half_a_turn_only_where_few_frames_are_missing() -> None:
    for hidden, told in (("20,6", True), ("20,15", False), ("60,40", True), ("18,40", False)):
        assert thread_of(10.0, 1.0, 1.0, hidden=hidden) == told


def slides(
    across: float = 0.0, turned: float = 0.0, carried: float = 10.0, noise: float = 1e-4, loud: float = 0.01
) -> bool:
    """Whether a body that goes to and fro by 50 mm rms is on a rail.

    across [m] rms beside it;  turned, carried [deg] rms, against the other and in the room;  noise [m], loud [rad]
    """
    n = 400
    p = np.zeros((n, 2, 3))
    p[:, 0, 0] = 0.05 * np.sqrt(2) * np.sin(np.linspace(0, 20 * np.pi, n))
    p[:, 0, 1] = across * np.sqrt(2) * np.sin(np.linspace(0, 34 * np.pi, n))
    take = condyle.Take(("a", "b"), np.arange(n) / 30, np.tile(np.eye(3), (n, 2, 1, 1)), p)
    fits = SimpleNamespace(pairs=np.array([[0, 1]]), residual=np.array([0.05]))
    spread = np.array([[np.radians(turned) ** 2, 0.0, 0.0]])
    both = Noise(np.full(2, noise), np.full(2, loud))
    return bool(find_sliders(take, fits, spread, both, np.radians([carried, carried])))  # type: ignore[arg-type]


def test_what_slides_keeps_its_direction_and_its_line_while_it_is_carried_round() -> None:
    for case, told in [
        ({"turned": 0.3}, True),
        ({"turned": 0.8}, False),
        ({"carried": 5.0}, True),
        ({"carried": 2.0}, False),
        ({"across": 0.006, "noise": 0.01}, True),
        ({"across": 0.02, "noise": 0.01}, False),  # however loud the sensors are
        ({"across": 0.004, "noise": 0.001}, True),
        ({"across": 0.008, "noise": 0.001}, False),
    ]:
        assert slides(**case) == told, case


def test_kinds_of_a_long_take_are_told_by_some_thousand_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, thinned = record_counts(monkeypatch, module), record_thinned(monkeypatch)
    rng = np.random.default_rng(4)
    R = rotation.from_vector(rng.standard_normal((9000, 2, 3)))
    take = condyle.Take(("a", "b"), np.arange(9000) / 60, R, rng.standard_normal((9000, 2, 3)))
    fit_universal(take, np.array([[0, 1]]))
    measure_slide(take, 0, 1)
    assert len(counts) == len(thinned) == 1
    assert all(is_about(count, 2000) for count in counts + thinned)


def test_bodies_that_are_hardly_seen_together_are_on_no_rail() -> None:
    n = 100
    take = condyle.Take(("a", "b"), np.arange(n) / 30, np.tile(np.eye(3), (n, 2, 1, 1)), np.zeros((n, 2, 3)))
    gone = np.zeros((n, 2), dtype=bool)
    gone[2:, 0] = True
    fits = SimpleNamespace(pairs=np.array([[0, 1]]), residual=np.array([np.inf]))
    quiet = Noise(np.full(2, 1e-4), np.full(2, 0.01))
    assert not find_sliders(take.mask(gone), fits, np.zeros((1, 3)), quiet, np.ones(2))  # type: ignore[arg-type]
