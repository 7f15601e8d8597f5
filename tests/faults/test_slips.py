"""Sensors that slip on their limb: found, named, timed, and moved back."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle.estimate.edge_blocks import Blocks
from condyle.estimate.fitting import ROBUST, fit_tree
from condyle.faults import slips as module
from condyle.faults.slips import (
    Slip,
    _above_share,
    _are_known,
    _find_course,
    _find_lasting,
    describe_slips,
    find_suspects,
    group_creeping,
    move_back,
)
from condyle.faults.steps import GapStep
from condyle.model.options import FitOptions
from condyle.model.take import BodyMarker, Take
from condyle.simulate import Disturbances, SensorSlip, World, human, linkage, simulate

TIME = 0.1  # s: error of the moment
SIZE = 0.1  # of the distance
SAME = 2e-3  # m: limb lengths with a slip repaired, and without a slip
EXACT = 1e-6  # m
NOISY = {"position_noise": 0.003, "orientation_noise": np.radians(0.3)}
SOFT = {"soft_tissue": 0.005, "position_noise": 0.0015, "orientation_noise": np.radians(0.15)}
FIELD = {"field_warp": 0.0125, "field_length": 0.9}


def world(*slips: SensorSlip, seed: int = 5, motion: str = "exercise", **disturbances: object) -> World:
    d = Disturbances(slips=slips, **(disturbances or NOISY))  # type: ignore[arg-type]
    return simulate(linkage(), motion, seconds=30, rate=30, seed=seed, disturbances=d)  # type: ignore[arg-type]


def told(calibration: condyle.Fit, code: str = "slip") -> list[condyle.Finding]:
    return [finding for finding in calibration.findings if finding.code == code]


def lengths(calibration: condyle.Fit) -> np.ndarray:
    return np.array([limb.length for limb in calibration.skeleton.limbs])


def moved(by: float, rng: np.random.Generator) -> tuple[float, float, float]:
    way = rng.standard_normal(3)
    return tuple(by * way / np.linalg.norm(way))  # type: ignore[return-value]


def fit(one: World, **options: object) -> condyle.Fit:
    return condyle.fit(one.take, intervals=False, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("disturbances", [NOISY, {**SOFT}, {**SOFT, **FIELD}])
@pytest.mark.parametrize("body", [0, 1, 3])
def test_a_slip_is_told_with_sensor_moment_and_distance_and_costs_nothing(
    body: int, disturbances: dict[str, float], rng: np.random.Generator
) -> None:
    still = world(**disturbances)
    name = still.take.names[body]
    slipped = world(SensorSlip(name, 14.0, moved(0.02, rng)), **disturbances)
    found = fit(slipped)
    [finding] = told(found)
    assert finding.bodies == (name,)
    assert finding.severity == "warning"
    assert finding.time is not None
    assert finding.value is not None
    assert abs(finding.time[0] - 14.0) < TIME
    assert abs(finding.value - 0.02) < SIZE * 0.02
    np.testing.assert_allclose(lengths(found), lengths(fit(still)), atol=SAME)


def test_a_sensor_that_also_turns_is_put_back_where_its_joints_show_it(rng: np.random.Generator) -> None:
    still = world()
    middle = next(name for name in still.take.names if sum(name in edge for edge in still.truth.edges) >= 2)
    slipped = world(SensorSlip(middle, 14.0, moved(0.03, rng), moved(np.radians(15), rng)))
    np.testing.assert_allclose(lengths(fit(slipped)), lengths(fit(still)), atol=SAME)
    left = fit(slipped, no_fix="slips")
    assert np.abs(lengths(left) - lengths(fit(still))).max() > 2 * SAME


def test_a_slip_at_the_moment_its_only_joint_begins_to_move_is_found() -> None:
    slip = SensorSlip("r_foot", 36.05, (0.0, 0.0, 0.01))
    d = Disturbances(slips=(slip,), **NOISY)  # type: ignore[arg-type]
    [finding] = told(fit(simulate(human(), "exercise", seconds=45, rate=30, seed=910007, disturbances=d)))
    assert finding.bodies == ("r_foot",)
    assert finding.value == pytest.approx(0.01, rel=SIZE)


@pytest.mark.costly
def test_several_slips_of_one_take_are_told_each() -> None:
    rng = np.random.default_rng(1)  # a slip along a direction that its joint hardly shows is dated to a second only
    names = world().take.names
    slips = [
        SensorSlip(names[1], 8.0, moved(0.02, rng)),
        SensorSlip(names[4], 15.0, moved(0.03, rng)),
        SensorSlip(names[1], 22.0, moved(0.02, rng)),
    ]
    found = fit(world(*slips))
    assert [finding.bodies[0] for finding in told(found)] == [slip.body for slip in slips]
    np.testing.assert_allclose([f.time[0] for f in told(found) if f.time], [s.time for s in slips], atol=TIME)
    np.testing.assert_allclose(lengths(found), lengths(fit(world())), atol=SAME)


@pytest.mark.costly
def test_three_slips_of_one_sensor_are_no_noise_that_lasts() -> None:
    ways = ((10.0, 1, 1), (22.0, -1, 1), (34.0, 1, -1))
    slips = tuple(SensorSlip("l_forearm", at, (0.006 * a, 0.006 * b, 0.006)) for at, a, b in ways)
    d = Disturbances(position_noise=0.0015, orientation_noise=np.radians(0.15), slips=slips)
    found = condyle.fit(simulate(linkage(), seed=2, disturbances=d).take, intervals=False).skeleton.slips
    assert [one.body for one in found] == ["l_forearm"] * 3
    assert [one.time for one in found] == pytest.approx([10.0, 22.0, 34.0], abs=0.2)


def test_an_exact_take_with_a_slip_is_exact_again(rng: np.random.Generator) -> None:
    none = {"position_noise": 0.0}
    slipped = world(SensorSlip(world().take.names[2], 14.0, moved(0.01, rng)), **none)
    found = fit(slipped)
    assert len(told(found)) == 1
    np.testing.assert_allclose(lengths(found), lengths(fit(world(**none))), atol=EXACT)


@pytest.mark.parametrize("motion", ["exercise", "walk"])
@pytest.mark.parametrize("disturbances", [NOISY, SOFT, {**SOFT, **FIELD}, {**NOISY, "spikes": 0.02, "bursts": 0.05}])
def test_nothing_is_told_where_nothing_slipped(motion: str, disturbances: dict[str, float]) -> None:
    assert not told(fit(world(motion=motion, **disturbances)))


@pytest.mark.costly
def test_skin_and_a_bent_field_on_a_person_are_no_slips() -> None:
    d = Disturbances(**SOFT, **FIELD)  # type: ignore[arg-type]
    for motion in ("exercise", "walk"):
        assert not told(fit(simulate(human(), motion, seconds=30, rate=30, seed=8, disturbances=d)))  # type: ignore[arg-type]


@pytest.mark.costly
def test_noise_that_wanders_for_seconds_is_no_slip() -> None:
    d = Disturbances(correlation_time=5.0, **NOISY)  # type: ignore[arg-type]
    assert not told(fit(simulate(human(), "walk", seconds=45, rate=30, seed=930010, disturbances=d)))


@pytest.mark.parametrize("seed", [777, 779, 781])  # each had slips of 8 to 20 mm that nobody had
def test_noise_that_wanders_for_much_of_a_short_take_is_no_slip(seed: int) -> None:
    d = Disturbances(correlation_time=5.0, position_noise=0.005, orientation_noise=np.radians(0.5))
    found = fit(simulate(human(), "exercise", seconds=16, rate=30, seed=seed, disturbances=d))
    assert not {"slip", "repair-not-kept"} & {finding.code for finding in found.findings}


def test_a_slip_can_be_left_and_is_told_all_the_same(rng: np.random.Generator) -> None:
    slipped = world(SensorSlip(world().take.names[1], 14.0, moved(0.02, rng)))
    left = fit(slipped, no_fix="slips")
    [finding] = told(left)
    assert "as they were recorded" in finding.text
    np.testing.assert_array_equal(left.take.p_world_body, slipped.take.p_world_body)
    assert not told(fit(slipped, plan="least-squares"))


def mirrored(one: World, body: int, start: float, stop: float) -> World:
    """The sensor on the other side of the transmitter for a stretch."""
    p = one.take.p_world_body.copy()
    rows = (one.take.time >= start) & (one.take.time < stop)
    p[rows, body] *= -1
    return replace(one, take=replace(one.take, p_world_body=p))


def test_mirrored_positions_are_no_slips_in_a_take_fitted_as_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked(*_: object) -> None:
        raise AssertionError("a flip would be mended as a slip or an exchange")

    spoilt = mirrored(world(), 1, 12.0, 18.0)
    monkeypatch.setattr("condyle.faults.slips.find_slips", looked)
    monkeypatch.setattr("condyle.prepare.swaps.find_swaps", looked)
    found = fit(spoilt, prepare=False)
    [finding] = told(found, "hemisphere-flip")
    assert finding.bodies == (spoilt.take.names[1],)
    assert "left as recorded" in finding.text
    np.testing.assert_array_equal(found.take.p_world_body[found.take.seen], spoilt.take.p_world_body[found.take.seen])


def test_a_prepared_take_says_of_flips_that_they_were_put_right() -> None:
    [finding] = told(fit(mirrored(world(), 1, 12.0, 18.0)), "hemisphere-flip")
    assert "put right" in finding.text


def test_short_takes_and_takes_without_time_are_not_judged(rng: np.random.Generator) -> None:
    slipped = world(SensorSlip(world().take.names[1], 2.0, moved(0.05, rng))).take.slice(0, 120)
    assert not told(condyle.fit(slipped, intervals=False))
    untimed = condyle.Take.from_poses(slipped.p_world_body, R_world_body=slipped.R_world_body, names=slipped.names)
    assert not told(condyle.fit(untimed, intervals=False))


def test_moving_back_undoes_what_the_simulator_did(rng: np.random.Generator) -> None:
    name = world().take.names[2]
    first, second = (SensorSlip(name, t, moved(0.03, rng), moved(0.3, rng)) for t in (10.0, 20.0))
    exact, slipped = world(position_noise=0.0), world(first, second, position_noise=0.0)
    found = []
    for slip in (first, second):
        frame = int(np.searchsorted(slipped.take.time, slip.time))
        found.append(Slip(name, frame, slip.time, np.array(slip.displacement), np.array(slip.rotation), 1e3))
    back = move_back(slipped.take, found)
    np.testing.assert_allclose(back.p_world_body, exact.take.p_world_body, atol=EXACT)
    np.testing.assert_allclose(back.R_world_body, exact.take.R_world_body, atol=EXACT)


def test_the_sentence_names_sensor_distance_moment_and_what_was_done() -> None:
    slip = Slip("l_thigh", 300, 10.0, np.array([0.0, 0.012, 0.0]), np.zeros(3), 400.0)
    assert describe_slips([slip], repaired=True)[0].text == (
        "l_thigh: the sensor moved 12 mm on its body at 10.0 s; its poses from then on were moved back, so that both "
        "parts are of one figure; fasten it better, and record again if that matters"
    )


def test_the_room_does_not_slip(rng: np.random.Generator) -> None:
    one = world(SensorSlip("chest", 14.0, moved(0.03, rng)))
    part = one.take.select(["chest", "head"])
    found = condyle.fit(part, world=True, tree=[("world", "chest"), ("chest", "head")], intervals=False)
    assert "world" not in {finding.bodies[0] for finding in told(found)}


def test_a_sensor_that_creeps_is_told_once_with_its_whole_way() -> None:
    one = world()
    k, span = one.take.index("l_upper_arm"), 8.0
    way = np.clip((one.take.time - 10.0) / span, 0, 1)[:, None] * np.array([0.03, 0.0, 0.0])
    p = one.take.p_world_body.copy()
    p[:, k] += np.einsum("nij,nj->ni", one.take.R_world_body[:, k], way)
    fitted = condyle.fit(replace(one.take, p_world_body=p), intervals=False)
    [finding] = told(fitted)
    assert "the sensor crept" in finding.text
    assert finding.value == pytest.approx(0.03, abs=0.003)
    assert finding.time is not None
    assert 10.0 < finding.time[0] < finding.time[1] < 10.0 + span
    np.testing.assert_allclose(lengths(fitted), lengths(fit(one)), atol=2 * SAME)


def test_steps_of_other_sensors_other_ways_or_much_later_are_other_slips() -> None:
    def slip(body: str, time: float, *shift: float) -> Slip:
        return Slip(body, round(30 * time), time, np.array(shift), np.zeros(3), 400.0)

    apart = [slip("a", 5, 0.01, 0, 0), slip("b", 6, 0.01, 0, 0), slip("a", 7, -0.01, 0, 0), slip("a", 25, -0.01, 0, 0)]
    assert [[one.time for one in group] for group in group_creeping(apart)] == [[5], [6], [7], [25]]
    assert len(describe_slips(apart, repaired=True)) == 4
    creep = [slip("a", 5, 0.01, 0, 0), slip("a", 7, 0.01, 0.002, 0), slip("a", 12, 0.01, 0, 0)]
    [finding] = describe_slips(creep, repaired=True)
    assert finding.text.startswith("a: the sensor crept 30 mm on its body from 5.0 to 12.0 s; ")


def test_where_gaps_are_white_no_body_is_searched_and_after_a_small_slip_its_own_is(rng: np.random.Generator) -> None:
    for slips in ((), (SensorSlip("chest", 14.0, moved(0.005, rng)),)):
        take = world(*slips).take
        solution = fit_tree(take, [], FitOptions(), ROBUST).solution
        suspects = find_suspects(Blocks(take, replace(solution, weight=np.ones_like(solution.weight))))
        assert [take.names[body] for body in suspects if take.names[body] == "chest"] == [slip.body for slip in slips]
        assert len(suspects) < take.bodies if slips else not suspects


def test_a_step_of_which_nothing_is_left_in_joints_fitted_anew_is_no_slip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A joint that is elsewhere in one half of a take looks like a sensor that slipped, until it is fitted again."""
    one = world(motion="walk", position_noise=0.003)
    feigned = Slip("l_forearm", 400, float(one.take.time[400]), np.array([0.006, 0, 0]), np.zeros(3), 200.0)
    monkeypatch.setattr("condyle.faults.slips.find_slips", lambda *_: [feigned])
    assert not told(fit(one))
    assert not told(fit(one), "repair-not-kept")


def test_steps_within_45_degrees_of_each_other_are_one_creep() -> None:
    for angle, groups in ((40, 1), (60, 2)):
        way = 0.01 * np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle)), 0.0])
        steps = [Slip("a", 150, 5.0, np.array([0.01, 0, 0]), np.zeros(3), 400.0)]
        steps.append(Slip("a", 210, 7.0, way, np.zeros(3), 400.0))
        assert len(group_creeping(steps)) == groups


def slip_at(time: float, *shift: float) -> Slip:
    return Slip("a", round(30 * time), time, np.array(shift), np.zeros(3), 400.0)


def test_steps_that_follow_each_other_within_ten_seconds_are_one_creep() -> None:
    for pause, groups in ((7.0, 1), (15.0, 2)):
        assert len(group_creeping([slip_at(5.0, 0.01, 0, 0), slip_at(5.0 + pause, 0.01, 0, 0)])) == groups


def test_a_slip_is_known_once_a_round_changes_it_by_next_to_nothing() -> None:
    for change, known in ((5e-4, True), (2e-3, False)):
        assert _are_known([slip_at(5.0, 0.01, 0, 0)], [slip_at(5.0, 0.01 * (1 + change), 0, 0)]) == known


def test_a_step_of_a_hundredth_of_the_distance_between_sensors_does_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    take = world().take.select(["chest", "head"])
    monkeypatch.setattr(module._GapRows, "of", lambda *_: SimpleNamespace(blocks=None))
    monkeypatch.setattr(module, "_distance", lambda *_: 0.4)  # m
    small, large = (replace(slip_at(10.0, size, 0, 0), body="chest") for size in (0.002, 0.008))
    assert _above_share(take, None, [small]) == []  # type: ignore[arg-type]
    assert _above_share(take, None, [large]) == [large]  # type: ignore[arg-type]


def worn_by_markers(made: World) -> Take:
    """The take as if each body had been formed from markers."""
    return replace(made.take, markers=tuple(BodyMarker(name, f"{name}1", np.zeros(3)) for name in made.take.names))


def test_a_step_of_markers_on_skin_is_no_slip_below_a_centimetre_or_what_its_joints_come_apart_anyway(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = world().take.select(["chest", "head"])
    worn = replace(take, markers=(BodyMarker("head", "LFHD", np.zeros(3)),))
    monkeypatch.setattr(module, "_distance", lambda *_: 0.4)  # m
    series = np.full((50, 3, 1), 0.02 / np.sqrt(3))
    blocks = SimpleNamespace(pairs=np.array([[0, 1]]), gap=series, weight=np.ones((50, 1)))
    monkeypatch.setattr(module._GapRows, "of", lambda *_: SimpleNamespace(blocks=blocks))
    for name, size, kept in (("head", 0.029, False), ("head", 0.031, True), ("chest", 0.005, True)):
        slip = replace(slip_at(10.0, size, 0, 0), body=name)
        assert bool(_above_share(worn, None, [slip])) == kept  # type: ignore[arg-type]
    series *= 0.1
    for size, kept in ((0.009, False), (0.011, True)):
        slip = replace(slip_at(10.0, size, 0, 0), body="head")
        assert bool(_above_share(worn, None, [slip])) == kept  # type: ignore[arg-type]


@pytest.mark.costly
def test_two_slips_of_a_body_of_markers_are_two_and_a_small_step_of_another_hides_none() -> None:
    shift = 0.03 * np.array([1.0, 0.0, 0.0])
    slips = [SensorSlip("chest", 10.0, tuple(shift)), SensorSlip("chest", 20.0, tuple(shift))]
    found = told(condyle.fit(worn_by_markers(world(*slips))))
    assert [round(one.time[0]) for one in found if one.time] == [10, 20] or "crept 6" in found[0].text
    slips = [SensorSlip("chest", 10.0, (0.009, 0.0, 0.0)), SensorSlip("head", 20.0, (0.02, 0.0, 0.0))]
    assert [one.bodies for one in told(condyle.fit(worn_by_markers(world(*slips))))] == [("head",)]


def test_a_body_is_searched_where_its_gaps_are_alike_beyond_chance() -> None:
    white = np.random.default_rng(4).standard_normal((301, 3, 1))
    given = {"pairs": np.array([[0, 1]]), "weight": np.ones((300, 1)), "run": np.zeros(300), "count": 300}
    for errors, searched in ((2.0, False), (6.0, True)):
        low, high = 0.0, 1.0  # share of a block that the next one has, so that they are alike by so many errors
        for _ in range(40):
            gap = white[1:] + (low + high) / 2 * white[:-1]
            alike = (gap[1:] * gap[:-1]).sum() / np.square(gap).mean() / np.sqrt(3 * 299)
            low, high = (low, (low + high) / 2) if alike > errors else ((low + high) / 2, high)
        blocks = SimpleNamespace(gap=gap, count_blocks=lambda _: 1, **given)
        assert bool(find_suspects(blocks)) == searched  # type: ignore[arg-type]


@pytest.mark.parametrize("at", [300, 333, 345, 360])
def test_what_comes_back_within_a_second_and_a_half_is_left_out_and_a_step_is_not(at: int, rng) -> None:
    take = world().take  # 30 frames a second
    gap = 0.003 * rng.standard_normal((take.frames, 3, 3))
    gap[at : at + 36, 0] += 0.1
    gap[at:, 1] += 0.1
    gap[at : at + 80, 2] += 0.1
    lasting = _find_lasting(take, gap)
    assert not lasting[at : at + 36, 0].any()
    assert lasting[:, 1:].mean() > 0.99
    assert np.delete(lasting[:, 0], np.arange(at, at + 36)).mean() > 0.99


def test_a_gap_that_comes_and_goes_smoothly_is_no_error_of_the_tracker(rng) -> None:
    take = world().take
    gap = 0.003 * rng.standard_normal((take.frames, 2, 3))
    gap[300:330, 0] += 0.1
    gap[285:345, 1] += 0.1 * np.sin(np.linspace(0, np.pi, 60))[:, None]  # a hand that pushes a wheel
    course, usual = (_find_course(take, gap) for gap in (gap, 0.003 * rng.standard_normal(gap.shape)))
    assert not course[300:330, 0].any()
    assert course[300:330, 1].mean() > 0.5
    assert np.delete(course[:, 0], np.arange(300, 330)).mean() > 0.99 < usual.mean()


def test_of_two_steps_of_a_sensor_at_one_moment_the_clearer_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip that is refused is known by its sensor and moment: a second one there took the true one with it."""
    take = world(SensorSlip("chest", 14.0, (0.02, 0.0, 0.0))).take
    body, steps = take.index("chest"), [900.0, 400.0]
    found = iter([GapStep(body, 60, ratio, 420) for ratio in steps])
    monkeypatch.setattr(module, "find_step", lambda *_: next(found, None))
    monkeypatch.setattr(module, "find_abrupt_step", lambda *_: None)
    monkeypatch.setattr(module, "measure_step", lambda *_: np.array([0.02, 0.0, 0.0]))
    [slip] = module.find_slips(take, fit_tree(take, [], FitOptions(), ROBUST).solution)
    assert slip.ratio == 900.0


def test_a_step_whose_moment_is_nearer_to_the_begin_than_where_it_was_sought_is_no_slip(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two bursts within the first 1.3 s: half a second of right poses before them is no mounting."""
    take = world(SensorSlip("chest", 14.0, (0.02, 0.0, 0.0))).take
    solution = fit_tree(take, [], FitOptions(), ROBUST).solution
    for at, told_there in ((1.1, []), (1.5, ["chest"]), (28.4, ["chest"]), (28.9, [])):
        steps = iter([GapStep(take.index("chest"), 60, 400.0, round(at * 30))])
        monkeypatch.setattr(module, "find_step", lambda *_, steps=steps: next(steps, None))
        monkeypatch.setattr(module, "find_abrupt_step", lambda *_: None)
        assert [slip.body for slip in module.find_slips(take, solution)] == told_there


def test_a_tracker_that_errs_for_two_thirds_of_a_second_hides_no_slip_nearby() -> None:
    """Two bursts, one after the other, looked like a slip of 11 cm there and back, and the true one was lost."""
    one = world(SensorSlip("chest", 14.0, (0.01, 0.0, 0.0)))
    first = one.take.index("chest")
    p = one.take.p_world_body.copy()
    p[450:470, first] += np.array([0.07, 0.06, 0.06])
    [finding] = told(condyle.fit(replace(one.take, p_world_body=p), intervals=False))
    assert finding.bodies == ("chest",)
    assert finding.time == pytest.approx((14.0, 14.0), abs=0.5)
    assert finding.value == pytest.approx(0.01, rel=0.2)


def test_what_stands_for_a_second_before_the_end_may_be_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    edges = list[int]()
    take = world(SensorSlip("chest", 14.0, (0.02, 0.0, 0.0))).take
    solution = fit_tree(take, [], FitOptions(), ROBUST).solution
    monkeypatch.setattr(module, "find_step", lambda joints, bodies, edge, threshold: edges.append(edge))
    monkeypatch.setattr(module, "find_abrupt_step", lambda *_: None)
    assert module.find_slips(take, solution) == []
    assert 1.0 < edges[0] * module._GapRows.of(take, solution).blocks.step < 3.0  # s


def test_slips_of_a_take_and_rounds_of_refining_them_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    take = world(SensorSlip("chest", 14.0, (0.02, 0.0, 0.0))).take
    estimate = fit_tree(take, [], FitOptions(), ROBUST)
    body = take.index("chest")
    with monkeypatch.context() as patched:
        frames = iter(range(100, 800, 10))
        patched.setattr(module, "find_step", lambda *_: GapStep(body, 60, 400.0, next(frames)))
        patched.setattr(module, "measure_step", lambda *_: np.array([0.02, 0.0, 0.0]))
        assert 4 <= len(module.find_slips(take, estimate.solution)) <= 16
    rounds = list[int]()
    slip = replace(slip_at(14.0, 0.02, 0, 0), body="chest")
    monkeypatch.setattr(module, "search_once", lambda *_: [slip])
    monkeypatch.setattr(module, "refine_slips", lambda *_: rounds.append(1) or [slip])
    monkeypatch.setattr(module, "_above_share", lambda take, solution, slips: slips)
    monkeypatch.setattr(module, "_are_known", lambda *_: False)
    module.repair_slips(SimpleNamespace(take=take, solution=None, refit=lambda take: estimate), FitOptions())  # type: ignore[arg-type]
    assert 2 <= len(rounds) <= 6
