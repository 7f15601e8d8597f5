"""prepare/convention.py: the convention is told from the motion; what cannot be told stops."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from condyle import Take
from condyle.errors import CondyleError
from condyle.maths import rotation
from condyle.model.recording import Bodies, Convention, to_take
from condyle.prepare import convention
from condyle.prepare.convention import Candidate, _thin, apply_diagnosis, diagnose, find_changed_fields, option_of
from condyle.simulate import Disturbances, human, linkage, simulate
from tests.make.moving import two_hands
from tests.make.spoilt import FAULTS, make_recording

NOISE = Disturbances(position_noise=0.004, orientation_noise=np.radians(0.5))
HUMAN = Disturbances(position_noise=0.003, orientation_noise=np.radians(0.5), soft_tissue=0.01, field_warp=0.007)
SAME_FIGURE = 1e-9  # m, between limb lengths of a repaired and a right reading
TIMES = 4.0  # a wrong reading comes apart so many times more


@pytest.fixture(scope="module")
def take() -> Take:
    return simulate(linkage(), "walk", seconds=10, seed=7, disturbances=NOISE).take


def lengths(take: Take) -> np.ndarray:
    """Limb lengths by least squares along the true tree of the walk."""
    import condyle

    skeleton = condyle.fit(take, plan="least-squares", intervals=False).skeleton
    return np.array(sorted(limb.length for limb in skeleton.limbs if limb.length is not None))


@pytest.mark.parametrize("kind", ["wxyz", "xyzw", "matrix", "ZYX"])
def test_the_right_convention_is_confirmed(take: Take, kind: str) -> None:
    diagnosis = diagnose([make_recording(take, kind)])
    assert diagnosis is not None
    assert diagnosis.verdict == "confirmed"
    assert diagnosis.best is diagnosis.used
    assert diagnosis.odd == ()


@pytest.mark.parametrize("fault", list(FAULTS))
def test_a_wrong_convention_is_many_times_worse_and_put_right(take: Take, fault: str) -> None:
    spoilt = FAULTS[fault](take)
    diagnosis = diagnose([spoilt])
    assert diagnosis is not None
    assert diagnosis.verdict == "other"
    assert diagnosis.used.gap >= TIMES * diagnosis.best.gap
    (repaired,), (finding,) = apply_diagnosis([spoilt], diagnosis)
    assert (finding.code, finding.severity) == ("convention-repaired", "warning")
    np.testing.assert_allclose(lengths(to_take(repaired)), lengths(take), atol=SAME_FIGURE)


@pytest.mark.costly
def test_soft_tissue_and_a_warped_field_do_not_hide_it() -> None:
    take = simulate(human(), "exercise", seconds=20, seed=8, disturbances=HUMAN).take
    diagnosis = diagnose([FAULTS["xyzw read as wxyz"](take)])
    assert diagnosis is not None
    assert diagnosis.verdict == "other"
    assert diagnosis.best.convention.rotation == "xyzw"


def test_nothing_is_told_from_a_take_that_does_not_move() -> None:
    still = simulate(linkage(), "still", seconds=10, seed=1, disturbances=NOISE).take
    diagnosis = diagnose([make_recording(still)])
    assert diagnosis is not None
    assert diagnosis.verdict == "untested"
    recordings, findings = apply_diagnosis([make_recording(still)], diagnosis)
    assert findings == []
    assert recordings[0].convention == Convention("wxyz", unit="m")


@pytest.mark.parametrize(("turn_deg", "tried"), [(0.1, False), (10.0, True)])
def test_bodies_that_rest_tell_no_convention(turn_deg: float, tried: bool, rng: np.random.Generator) -> None:
    # In a hundredth of a millimetre of drift any reading may fit best.
    turn = np.radians(turn_deg) * np.sin(np.linspace(0, 9, 200))[:, None] * [1.0, 0.3, 0.2]
    R = np.stack([np.tile(np.eye(3), (200, 1, 1)), rotation.from_vector(turn)], axis=1)
    p = np.stack([np.zeros((200, 3)), R[:, 1] @ [0.1, 0.0, 0.05]], axis=1) + rng.normal(0, 1e-5, (200, 2, 3))
    rests = Take(("base", "arm"), np.arange(200) / 100.0, R, p)
    assert (diagnose([make_recording(rests)]) is not None) == tried


def test_what_the_user_gave_is_doubted_but_never_changed(take: Take) -> None:
    spoilt = FAULTS["xyzw read as wxyz"](take)
    given = spoilt.under(spoilt.convention.but(given=True, rotation="wxyz"))
    recordings, (finding,) = apply_diagnosis([given], diagnose([given]))
    assert finding.code == "convention-doubt"
    assert "--quaternion xyzw" in finding.text
    assert recordings[0].convention == given.convention


@pytest.fixture(scope="module")
def hardly_moving() -> Take:
    loud = Disturbances(position_noise=0.01, orientation_noise=np.radians(1.0))
    return simulate(linkage(), "walk", seconds=10, seed=3, range=0.15, disturbances=loud).take


def test_two_conventions_that_fit_alike_stop_where_nobody_says_which(hardly_moving: Take) -> None:
    one = make_recording(hardly_moving, "ZYX", guessed=frozenset({"rotation"}))
    diagnosis = diagnose([one])
    assert diagnosis is not None
    assert diagnosis.verdict == "ambiguous"
    with pytest.raises(CondyleError, match="say which it is: --euler ZYX or --euler ZYZ") as error:
        apply_diagnosis([one], diagnosis)
    assert error.value.code == "ambiguous-convention"


def test_the_usual_convention_is_kept_with_a_warning_where_another_fits_nearly_as_well(hardly_moving: Take) -> None:
    one = make_recording(hardly_moving, "ZYX")
    recordings, (finding,) = apply_diagnosis([one], diagnose([one]))
    assert (finding.code, finding.severity) == ("convention-unclear", "warning")
    assert recordings[0].convention == one.convention


def test_what_nothing_joins_fits_in_no_reading_and_is_read_as_it_stands(rng: np.random.Generator) -> None:
    for _ in range(5):
        one = make_recording(two_hands(rng), "xyzw")
        diagnosis = diagnose([one])
        assert diagnosis is not None
        assert diagnosis.verdict in ("unjoined", "untested")
        (same,), findings = apply_diagnosis([one], diagnosis)
        assert same.convention == one.convention
        assert findings == []


def test_a_file_that_states_its_convention_is_believed_where_two_fit_alike(hardly_moving: Take) -> None:
    one = make_recording(hardly_moving, "ZYX", stated=frozenset({"rotation"}))
    recordings, findings = apply_diagnosis([one], diagnose([one]))
    assert findings == []
    assert recordings[0].convention == one.convention


def test_one_body_or_few_frames_are_not_tried(take: Take) -> None:
    assert diagnose([make_recording(take.select(["chest"]))]) is None
    assert diagnose([make_recording(take.slice(0, 10))]) is None


def test_several_files_are_judged_together(take: Take) -> None:
    parts = [FAULTS["transposed"](take.slice(0, 150)), FAULTS["transposed"](take.slice(150, None))]
    diagnosis = diagnose(parts)
    assert diagnosis is not None
    assert diagnosis.best.convention.transposed


def test_a_thorough_look_ranks_every_reading_best_first(take: Take) -> None:
    diagnosis = diagnose([make_recording(take)], thorough=True)
    assert diagnosis is not None
    gaps = [one.gap for one in diagnosis.ranking]
    assert gaps == sorted(gaps)
    assert len(gaps) > 20


def test_a_loose_thing_does_not_hide_what_the_rest_says(take: Take, rng: np.random.Generator) -> None:
    path = np.cumsum(rng.standard_normal((take.frames, 1, 3)), axis=0) * 0.02
    spin = rotation.from_vector(np.cumsum(rng.standard_normal((take.frames, 1, 3)), axis=0) * 0.05)
    both = Take(
        (*take.names, "prop"),
        take.time,
        np.concatenate([take.R_world_body, spin], axis=1),
        np.concatenate([take.p_world_body, path], axis=1),
    )
    diagnosis = diagnose([FAULTS["xyzw read as wxyz"](both)])
    assert diagnosis is not None
    assert diagnosis.verdict == "other"


def test_numbers_that_are_no_rotations_are_left_for_the_conversion_to_refuse(take: Take) -> None:
    one = make_recording(take)
    assert one.bodies is not None
    broken = replace(one, bodies=Bodies(take.names, take.p_world_body, one.bodies.orientation * 7))
    assert diagnose([broken]) is None


def test_options_are_spelled_as_the_command_line_takes_them() -> None:
    convention = Convention("ZYX-extrinsic", degrees=False, transposed=True, axes=("x", "-z", "y"))
    fields = find_changed_fields(Convention("XYZ"), convention)
    assert fields == {"rotation", "degrees", "transposed", "axes"}
    assert option_of(convention, fields) == "--euler ZYX-extrinsic --radians --transposed --axes=x,-z,y"


def hinge(rng: np.random.Generator) -> Take:
    """Two sensors on a hinge about z, the first at rest, both on one side of a transmitter at the origin."""
    time = np.arange(600) / 60
    turn = np.zeros((600, 3))
    turn[:, 2] = 0.8 * np.sin(time)
    R = np.stack([np.broadcast_to(np.eye(3), (600, 3, 3)), rotation.from_vector(turn)], axis=1)
    p = np.array([0.3, 0.1, 0.2]) + np.stack([np.zeros((600, 3)), R[:, 1] @ [0.05, 0.02, 0.03]], axis=1)
    return Take(("a", "b"), time, R, p + 0.0005 * rng.standard_normal(p.shape))


def test_one_hinge_tells_no_axes_against_an_order_that_is_said(rng: np.random.Generator) -> None:
    take = hinge(rng)
    open_order, said = (make_recording(take, stated=frozenset(stated)) for stated in ((), ("rotation",)))
    for one, axes in ((open_order, True), (said, False)):
        diagnosis = diagnose([one], thorough=True)
        assert diagnosis is not None
        assert any(reading.convention.axes != ("x", "y", "z") for reading in diagnosis.ranking) is axes
    assert diagnosis.verdict == "confirmed"


def test_flips_with_samples_in_between_are_put_right_before_conventions_are_tried(rng: np.random.Generator) -> None:
    take = hinge(rng)
    p = take.p_world_body.copy()
    p[200:350, 1] *= -1
    for border, way in ((200, (0.6, 0.1, -0.5)), (350, (-0.5, -0.1, 0.6))):
        p[border : border + 3, 1] = np.array(way)[:, None] * take.p_world_body[border : border + 3, 1]
    recording = make_recording(replace(take, p_world_body=p), stated=frozenset({"rotation"}))
    diagnosis = diagnose([recording])
    assert diagnosis is not None
    assert diagnosis.verdict == "confirmed"


def test_distances_are_in_metres_where_the_unit_is_assumed(take: Take) -> None:
    one = make_recording(take)
    assert one.bodies is not None
    in_mm = replace(one, bodies=replace(one.bodies, position=1000 * one.bodies.position))
    known, assumed = diagnose([one]), diagnose([in_mm.under(replace(one.convention, unit=None))])
    assert known is not None
    assert assumed is not None
    assert assumed.best.gap == pytest.approx(known.best.gap, rel=1e-6)
    assert assumed.best.convention.unit is None


def test_readings_are_tried_on_2400_poses_but_100_frames_at_least_and_300_at_most() -> None:
    rotations, places = np.tile(np.eye(3), (900, 60, 1, 1)), np.random.default_rng(1).normal(0, 1, (900, 60, 3))
    many = Take.from_poses(places, R_world_body=rotations, rate=30)
    for bodies, frames in ((60, 100), (12, 200), (2, 300)):
        [thin] = _thin([make_recording(many.select(many.names[:bodies]))])
        assert thin.frames == frames


def verdict_of(monkeypatch: pytest.MonkeyPatch, gaps: list[float], used: int) -> tuple[str, int | None]:
    """The verdict of readings that come apart by so much, of which one is in use, and the number of the rival."""
    orders = ("wxyz", "xyzw")
    made = [Candidate(Convention(orders[k % 2], unit="m", transposed=k > 1), gap) for k, gap in enumerate(gaps)]
    ranking = sorted(made, key=lambda one: one.gap)
    monkeypatch.setattr(convention, "_differ", lambda takes, one, other: one is not other)
    verdict, rival = convention._verdict(ranking, made[used], {}, 20.0)
    return verdict, None if rival is None else made.index(rival)


def test_a_reading_is_overruled_where_another_is_clearly_better_and_no_third_does_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for gaps, used, verdict in [
        ([1.0, 5.0, 6.0, 7.0], 0, ("confirmed", None)),
        ([1.0, 1.6, 6.0, 7.0], 0, ("confirmed", None)),
        ([1.0, 1.2, 6.0, 7.0], 0, ("ambiguous", 1)),
        ([1.5, 1.0, 6.0, 7.0], 0, ("ambiguous", 0)),  # better, but not clearly
        ([3.0, 1.0, 6.0, 7.0], 0, ("other", None)),
        ([3.0, 1.0, 1.2, 7.0], 0, ("ambiguous", 2)),
        ([1.0, 1.1, 1.2, 1.2], 0, ("untested", None)),  # all alike
        ([1.0, 1.6, 1.6, 1.6], 0, ("confirmed", None)),
        ([np.inf, np.inf, np.inf, 1.0], 3, ("untested", None)),
        ([4.1, 5.0, 6.0, 7.0], 1, ("unjoined", None)),  # each by a fifth of the scene and more
    ]:
        assert verdict_of(monkeypatch, gaps, used) == verdict, gaps


def test_the_search_widens_unless_the_reading_in_use_is_ahead(monkeypatch: pytest.MonkeyPatch, take: Take) -> None:
    recording, orders = make_recording(take, "ZYX"), convention._rotations
    for gap, axes_tried, at_first in ((1.2, True, False), (1.7, False, False), (3.0, False, True)):
        tried, asked = list[Convention](), list[float]()
        count = iter(range(1000))

        def measure(*_: object, hopeless: float = np.inf, gap=gap, count=count, asked=asked, **__: object):
            asked.append(hopeless)
            first = next(count) == 0
            return SimpleNamespace(gap=1.0 if first else gap, plain=1.0)

        widths = list[bool]()

        def rotate(base, thin, *, all_orders, widths=widths):
            widths.append(all_orders)
            return orders(base, thin, all_orders=all_orders)

        monkeypatch.setattr(convention, "measure_forest", measure)
        monkeypatch.setattr(convention, "_rotations", rotate)
        monkeypatch.setattr(convention, "_axes", lambda base, tried=tried: tried.append(base) or iter(()))
        diagnose([recording])
        assert bool(tried) == axes_tried, gap
        assert (True in widths) != at_first, gap
        assert all(5 < one < 20 for one in asked[1:])  # times worse, beyond which nothing is looked at twice


def test_turns_about_one_axis_tell_no_axes(rng: np.random.Generator) -> None:
    for other, alone in ((0.05, True), (0.2, False)):
        assert convention._is_about_one_axis(rng.standard_normal((4000, 3)) * [1.0, other, 0.0]) == alone


def test_readings_are_the_same_figure_where_joints_differ_by_a_hundredth_of_the_scene(take: Take) -> None:
    one, other = (Candidate(Convention(rotation=name), 0.0) for name in ("xyzw", "wxyz"))
    size = convention.scene_size(take)
    for share, differ in ((0.01, False), (0.04, True)):
        p = take.p_world_body + share * size * take.R_world_body[..., 0]  # every sensor along its own axis
        takes: convention.Takes = {
            convention._key(one.convention): take,
            convention._key(other.convention): replace(take, p_world_body=p),
        }
        assert convention._differ(takes, one, other) == differ, share
