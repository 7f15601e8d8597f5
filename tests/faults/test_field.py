"""Bent fields: told where gaps follow the place, taken away with and without a rod, left alone where there is none."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle import Take, UsageError
from condyle.estimate.fitting import ROBUST, fit_tree
from condyle.estimate.solve import Solution, solution_of
from condyle.faults.field import (
    BEND_MIN_LOG_RATIO,
    BentField,
    GapMap,
    describe_bend,
    describe_correction,
    find_bend,
    look_for_bend,
    map_gaps,
)
from condyle.faults.field_fit import Bend, fit_field, measure_bend
from condyle.maths import rotation
from condyle.model.field import Rod
from condyle.model.options import FitOptions
from condyle.pairs.fits import fit_pairs
from condyle.pairs.noise import Noise, estimate_noise
from condyle.pairs.sums import sum_pairs
from condyle.simulate import Disturbances, World, human, linkage, rod, simulate, together
from tests.make.fields import some_field

DISTANCE = 0.565  # m
SECONDS = 20.0
BY_MOTION = 0.5  # of the largest length error that may be left without a rod
BY_ROD = 0.0015  # m of it with the rod
HARMLESS = 5e-4  # m by which clean lengths may become worse
HARMLESS_ROD = 2e-4  # m with the rod
EXACT = 1e-9  # m
SCALE = 2e-3  # of the scale that the rod tells
NOISY = {"position_noise": 0.0015, "orientation_noise": np.radians(0.1)}
FIELD = {"field_warp": 0.0125, "field_length": 0.9}
SOFT = {"soft_tissue": 0.005}


@cache
def world(
    seed: int = 4, motion: str = "exercise", person: bool = False, seconds: float = SECONDS, **disturbances: float
) -> World:
    d = Disturbances(**{**NOISY, **disturbances})  # type: ignore[arg-type]
    return simulate(human() if person else linkage(), motion, seconds=seconds, seed=seed, disturbances=d)  # type: ignore[arg-type]


@cache
def carried(seed: int = 4, **disturbances: float) -> Rod:
    d = Disturbances(**{**NOISY, **disturbances})  # type: ignore[arg-type]
    return Rod(("rod_a", "rod_b"), DISTANCE, rod(DISTANCE, seconds=SECONDS, seed=seed, disturbances=d).take)


@cache
def fit(one: World, **options: object) -> condyle.Fit:
    return condyle.fit(one.take, intervals=False, **options)  # type: ignore[arg-type]


def told(calibration: condyle.Fit, code: str = "bent-field") -> list[condyle.Finding]:
    return [finding for finding in calibration.findings if finding.code == code]


def errors(calibration: condyle.Fit, one: World) -> np.ndarray:
    true = {(body, frozenset(ends)): length for (body, *ends), length in one.truth.limbs.items()}
    limbs = calibration.skeleton.limbs
    return np.array([limb.length - true[limb.body, frozenset((limb.from_joint, limb.to_joint))] for limb in limbs])


def plain(take: Take, pairs: list[tuple[int, int]]) -> Solution:
    return solution_of(take, fit_pairs(sum_pairs(take), np.array(pairs)))


def true_joints(one: World) -> Solution:
    return plain(one.take, [(k, int(up)) for k, up in enumerate(one.truth.parent) if up >= 0])


# Told, or not


@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_a_bent_field_is_told_with_the_way_out(motion: str) -> None:
    [finding] = told(fit(world(motion=motion, **FIELD)))
    assert finding.severity == "warning"
    assert finding.value is not None
    assert 0.003 < finding.value < 0.05
    assert "--field" in finding.text
    assert "--rod" in finding.text


@pytest.mark.costly
def test_a_bent_field_is_told_under_skin_as_well() -> None:
    assert told(fit(world(person=True, **FIELD, **SOFT)))


@pytest.mark.parametrize("motion", ["exercise", "walk"])
@pytest.mark.parametrize(
    "disturbances", [{}, SOFT, {"soft_tissue": 0.01}, {"spikes": 0.02, "bursts": 0.05}, {"correlation_time": 0.5}]
)
def test_a_straight_field_is_not_told_bent(motion: str, disturbances: dict[str, float]) -> None:
    assert not told(fit(world(motion=motion, **disturbances)))


@pytest.mark.parametrize("motion", ["exercise", "walk"])
def test_skin_on_a_person_is_no_bent_field(motion: str) -> None:
    assert not told(fit(world(person=True, motion=motion, non_rotary=1.0, **SOFT)))


def test_least_squares_and_takes_without_time_are_not_judged() -> None:
    bent = world(**FIELD)
    assert not told(fit(bent, plan="least-squares"))
    take = bent.take
    untimed = Take.from_poses(take.p_world_body, R_world_body=take.R_world_body, names=take.names)
    assert not told(condyle.fit(untimed, intervals=False))


def test_one_joint_alone_tells_no_field() -> None:
    take = world(seed=5, motion="walk", seconds=40.0, **FIELD).take.select(["l_upper_arm", "l_forearm"])
    assert measure_bend(take, plain(take, [(1, 0)])).gain > BEND_MIN_LOG_RATIO, "its gap does follow the place"
    assert not told(condyle.fit(take, intervals=False))
    assert "no bend" in told(condyle.fit(take, intervals=False, field=True), "field-corrected")[0].text


def test_what_one_sensor_does_by_place_is_no_bend_of_the_room() -> None:
    straight, bent = world(motion="walk").take, world(motion="walk", **FIELD).take
    alone = np.arange(straight.bodies) == straight.index("l_upper_arm")
    odd = Take(
        straight.names,
        straight.time,
        np.where(alone[:, None, None], bent.R_world_body, straight.R_world_body),
        np.where(alone[:, None], bent.p_world_body, straight.p_world_body),
    )
    assert not told(condyle.fit(odd, intervals=False))


# Taken away


def test_lengths_come_right_without_a_rod_and_more_so_with_one() -> None:
    bent = world(**FIELD)
    before = np.abs(errors(fit(bent), bent)).max()
    by_motion, by_rod = fit(bent, field=True), fit(bent, field=carried(**FIELD))
    assert np.abs(errors(by_motion, bent)).max() < BY_MOTION * before
    assert np.abs(errors(by_rod, bent)).max() < BY_ROD
    assert before > 4 * BY_ROD
    assert not told(by_motion)


def test_the_correction_says_how_much_it_changed() -> None:
    bent = world(**FIELD)
    [finding] = told(fit(bent, field=True), "field-corrected")
    assert finding.severity == "info"
    assert finding.value is not None
    assert 0.005 < finding.value < 0.05
    for word in ("rms", "at most", "limbs changed", "instead of", "without a rod"):
        assert word in finding.text
    [finding] = told(fit(bent, field=carried(**FIELD)), "field-corrected")
    assert "as the rod tells" in finding.text
    assert "without a rod" not in finding.text


@pytest.mark.parametrize("disturbances", [{}, SOFT])
def test_clean_data_stay_as_they_are(disturbances: dict[str, float]) -> None:
    straight = world(**disturbances)
    before = fit(straight)
    asked = fit(straight, field=True)
    assert np.abs(errors(asked, straight)).max() <= np.abs(errors(before, straight)).max() + HARMLESS
    np.testing.assert_array_equal(asked.take.p_world_body, before.take.p_world_body)
    assert "no bend" in told(asked, "field-corrected")[0].text
    ridden = fit(straight, field=carried())
    assert np.abs(errors(ridden, straight)).max() <= np.abs(errors(before, straight)).max() + HARMLESS_ROD


def test_exact_data_stay_exact() -> None:
    exact = world(position_noise=0.0, orientation_noise=0.0)
    assert np.abs(errors(fit(exact, field=True), exact)).max() < EXACT


@pytest.mark.costly
def test_spikes_and_gaps_do_not_lead_the_field_astray() -> None:
    spoilt = {"spikes": 0.02, "bursts": 0.03, "missing": 0.05}
    bent = world(**FIELD, **spoilt)
    found = fit(bent, field=carried(**FIELD, **spoilt))
    assert np.abs(errors(found, bent)).max() < BY_ROD


@pytest.mark.costly
def test_the_rod_tells_the_scale_of_the_device() -> None:
    wrong = {**FIELD, "scale": 0.94}
    bent = world(**wrong)
    found = fit(bent, field=carried(**wrong))
    assert np.abs(errors(found, bent)).max() < BY_ROD
    assert found.field is not None
    assert found.skeleton.scale == found.field.scale
    straight = fit(world(scale=0.94), field=carried(scale=0.94))
    assert straight.field is not None
    assert straight.field.scale == pytest.approx(1 / 0.94, rel=SCALE)


@pytest.mark.costly
def test_a_scale_that_was_given_counts_for_the_rod_as_well() -> None:
    wrong = {**FIELD, "scale": 0.94}
    bent = world(**wrong)
    found = fit(bent, field=carried(**wrong), scale=1 / 0.94)
    assert np.abs(errors(found, bent)).max() < BY_ROD


def test_the_rod_may_be_in_the_take_itself() -> None:
    bent = world(**FIELD)
    own = rod(DISTANCE, seconds=SECONDS, seed=4, disturbances=Disturbances(**NOISY, **FIELD))  # type: ignore[arg-type]
    both = together([bent, own], ["", ""])
    found = condyle.fit(both.take, intervals=False, field=Rod(("rod_a", "rod_b"), DISTANCE))
    true = {(body, frozenset(ends)): length for (body, *ends), length in bent.truth.limbs.items()}
    limbs = [(limb, (limb.body, frozenset((limb.from_joint, limb.to_joint)))) for limb in found.skeleton.limbs]
    off = [limb.length - true[key] for limb, key in limbs if key in true and limb.length is not None]
    assert len(off) == len(true)
    assert np.abs(off).max() < BY_ROD


@pytest.mark.parametrize("by_rod", [False, True])
def test_intervals_hold_after_the_correction_and_know_that_the_field_is_not_known(by_rod: bool) -> None:
    bent = world(**FIELD)
    limbs = condyle.fit(bent.take, field=carried(**FIELD) if by_rod else True).skeleton.limbs
    straight = condyle.fit(world().take).skeleton.limbs
    true = {(body, frozenset(ends)): length for (body, *ends), length in bent.truth.limbs.items()}
    for limb in limbs:
        assert limb.low is not None
        assert limb.high is not None
        assert limb.low < true[limb.body, frozenset((limb.from_joint, limb.to_joint))] < limb.high
    widths = [np.mean([limb.high - limb.low for limb in one if limb.high and limb.low]) for one in (limbs, straight)]
    assert widths[0] > (1.2 if by_rod else 5) * widths[1]


def test_a_field_found_once_corrects_the_next_take_of_the_room() -> None:
    known = fit(world(**FIELD), field=carried(**FIELD)).field
    walked = world(motion="walk", **FIELD)
    after = fit(walked, field=known)
    assert np.abs(errors(after, walked)).max() < 0.5 * np.abs(errors(fit(walked), walked)).max()
    assert after.field is known
    assert after.skeleton.options["field"] == "given"


@pytest.mark.costly
def test_the_room_itself_stays_where_it_is() -> None:
    found = condyle.fit(world(**FIELD).take, intervals=False, field=True, world=True)
    k = found.take.index("world")
    np.testing.assert_array_equal(found.take.p_world_body[:, k], 0.0)
    assert found.field is not None
    assert len(found.field.centres)


@pytest.mark.costly
def test_the_world_may_be_moved_and_given_in_another_unit(rng: np.random.Generator) -> None:
    take = world(**FIELD).take
    R, t, unit = rotation.random(rng), np.array([5.0, -3.0, 2.0]), 7.0
    elsewhere = Take(
        take.names, take.time, R @ take.R_world_body, unit * (take.p_world_body @ R.T + t), sources=take.sources
    )
    one, other = (condyle.fit(each, intervals=False, field=True) for each in (take, elsewhere))
    lengths = [np.array([limb.length for limb in each.skeleton.limbs]) for each in (one, other)]
    np.testing.assert_allclose(lengths[1] / unit, lengths[0], atol=1e-4)


def test_a_rod_needs_a_length_two_names_and_sensors_that_are_seen() -> None:
    with pytest.raises(UsageError, match="distance"):
        Rod(("a", "b"), 0.0)
    with pytest.raises(UsageError, match="two sensors"):
        Rod(("a", "a"), 0.5)
    bent = world(**FIELD)
    with pytest.raises(UsageError, match="no body named 'rod_c'"):
        fit(bent, field=Rod(("rod_a", "rod_c"), DISTANCE, carried(**FIELD).take))


def test_nothing_is_found_in_nothing() -> None:
    take = world().take
    nothing = take.mask(np.ones((take.frames, take.bodies), dtype=bool))
    solution = true_joints(world())
    hidden = Solution(**{**vars(solution), "weight": np.zeros_like(solution.weight)})
    assert not len(fit_field(nothing, hidden).model.centres)
    assert not len(map_gaps(nothing, hidden, Noise.none(take.bodies)).size)
    assert find_bend(nothing, hidden, estimate_noise(take)) is None


def test_a_bend_is_told_where_rows_have_several_frames() -> None:
    noise = Disturbances(position_noise=0.002, orientation_noise=np.radians(0.4))
    take = simulate(human(), "exercise", seconds=40, rate=60, seed=1, disturbances=noise).take
    bent = Take(take.names, take.time, take.R_world_body, take.p_world_body * [1.0, 1.05, 0.97])
    (finding,) = [one for one in condyle.fit(bent, intervals=False).findings if one.code == "bent-field"]
    assert 0.002 < finding.value < 0.05


def test_the_map_of_gaps_shows_where_the_lump_of_metal_is(rng: np.random.Generator) -> None:
    take = world().take
    middle = np.nanmean(take.p_world_body, axis=(0, 1)) + [0.3, 0.3, 0.0]
    near = np.linalg.norm(take.p_world_body - middle, axis=2) < 0.25
    push = np.array([0.0, 0.0, 0.03])
    bent = Take(take.names, take.time, take.R_world_body, take.p_world_body + near[..., None] * push)
    solution = true_joints(world())
    cells = map_gaps(bent, solution, estimate_noise(take))
    assert cells.worst is not None
    assert np.linalg.norm(cells.place[cells.worst] - middle) < 0.25 + 2 * cells.edge
    assert cells.size[cells.worst] > 0.01
    assert map_gaps(take, solution, estimate_noise(take)).size.max() < 0.003
    assert cells.count.sum() <= len(solution.pairs) * (take.frames // 5 + 1)


def test_the_sentence_tells_place_size_and_what_to_do() -> None:
    found = BentField(Bend(500.0, 0.8, 0.01), (1.24, -0.3, 0.96), 0.0124)
    assert describe_bend(found)[0].text == (
        "joints come apart by where they are in the room, most around (1.2, -0.3, 1.0) m by 12 mm: the field is bent; "
        "move metal away, or fit with --field, best with a --rod carried through the same space"
    )
    assert describe_bend(None) == []


def test_a_given_field_says_how_far_it_moved_positions(rng: np.random.Generator) -> None:
    [finding] = describe_correction(world().take, some_field(rng))
    assert finding.text.startswith("a bent field was taken away: positions moved by ")
    assert "joints" not in finding.text


def test_a_bend_is_told_only_where_nobody_asked_for_its_correction() -> None:
    one = fit_tree(world(**FIELD).take, [], FitOptions(), ROBUST)
    assert [finding.code for finding in look_for_bend(one, FitOptions()).findings] == ["bent-field"]
    assert not look_for_bend(one, FitOptions(field=True)).findings


def test_a_map_of_gaps_is_checked_once_and_frozen() -> None:
    own = GapMap([[0, 1, 2]], [0.1], [3], 0.5)
    assert own.place.dtype == float
    assert not any(values.flags.writeable for values in (own.place, own.size, own.count))
    with pytest.raises(condyle.CondyleError, match="place has shape"):
        GapMap(np.zeros((2, 3)), np.zeros(1), np.zeros(1, dtype=np.int64), 0.5)


def test_a_bend_is_looked_for_above_the_noise_and_told_where_all_joints_share_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    take = world().take
    noise = SimpleNamespace(gap_variance=lambda *_: np.array([1.0, 1.0]))
    monkeypatch.setattr(
        "condyle.faults.field.map_gaps", lambda *_: GapMap(np.zeros((1, 3)), np.ones(1), np.ones(1), 0.1)
    )
    for gap, gain, shared, told in [
        (1.5, 300.0, 0.5, False),  # variance of gaps over that of the noise
        (1.9, 300.0, 0.5, True),
        (4.0, 50.0, 0.5, False),
        (4.0, 200.0, 0.5, True),
        (4.0, 300.0, 0.1, False),
        (4.0, 300.0, 0.4, True),
    ]:
        solution = SimpleNamespace(pairs=np.array([[0, 1], [1, 2]]), joints=(), residual_cov=gap * np.eye(2))
        bend = Bend(gain, shared, 0.01)
        monkeypatch.setattr("condyle.faults.field_fit.measure_bend", lambda *_, bend=bend: bend)
        assert (find_bend(take, solution, noise) is not None) == told, (gap, gain, shared)  # type: ignore[arg-type]
