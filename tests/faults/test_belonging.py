"""Do files belong together, on small figures whose truth is known."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import condyle
from condyle.estimate.lengths import Lengths, measure_between
from condyle.faults import belonging
from condyle.faults.belonging import (
    Comparison,
    check_belonging,
    compare_files,
    describe_later_take,
    is_other_person,
    mirror_names,
)
from condyle.faults.files import MovedSensor, locate_places
from condyle.model.options import FitOptions
from condyle.model.profile import name_length
from condyle.model.skeleton import Joint
from condyle.model.take import Take, join
from condyle.pairs.digest import digest_take
from condyle.simulate import Mounts, chain, simulate
from tests.make.performers import NOISE, SECONDS, mount_chain

EDGES = list(zip(chain().names, chain().names[1:], strict=False))


def _file(name: str, take: Take) -> Take:
    return replace(take, sources=(f"/day/{name}.npz",))


def _joints(take: Take) -> list[Joint]:
    return locate_places(take, EDGES)


def _one_moved(body: int) -> Take:
    """A later take of the first mounting with one sensor put on anew."""
    before, anew = mount_chain(1).truth.mounts, mount_chain(2).truth.mounts
    R, p = before.R_bone_body.copy(), before.p_bone_body.copy()
    R[body], p[body] = anew.R_bone_body[body], anew.p_bone_body[body]
    return simulate(chain(), seconds=SECONDS, seed=9, disturbances=NOISE, mounts=Mounts(R, p)).take


FIRST, AGAIN, ANEW = mount_chain(1).take, mount_chain(1, 1).take, mount_chain(2, 1).take
TALLER = mount_chain(3, 1, 1.1).take


@pytest.mark.parametrize(
    ("later", "relation"), [(AGAIN, "same"), (ANEW, "remounted"), (TALLER, "other person"), (_one_moved(1), "moved")]
)
def test_a_file_is_told_for_what_it_is(later: Take, relation: str) -> None:
    assert compare_files(_joints(FIRST), _joints(later)).relation == relation


@pytest.mark.parametrize(
    ("later", "codes"),
    [(AGAIN, []), (ANEW, ["remounted"]), (TALLER, ["another-person"]), (_one_moved(1), ["sensor-moved"])],
)
def test_a_later_take_that_does_not_belong_to_its_calibration_is_told(later: Take, codes: list[str]) -> None:
    told = describe_later_take(compare_files(_joints(FIRST), _joints(later)))
    assert [one.code for one in told] == codes
    assert {one.severity for one in told} <= ({"warning"} if codes == ["sensor-moved"] else {"error"})
    solved = condyle.solve(later, condyle.fit(FIRST, tree=EDGES)).findings
    assert [one.code for one in solved if one.code in ("remounted", "another-person", "sensor-moved")] == codes


def test_names_that_are_exchanged_against_the_calibration_are_told() -> None:
    (told,) = describe_later_take(Comparison("mirrored", (MovedSensor("l_foot", ("l_foot", "l_shank"), 0.3, 99.0),)))
    assert (told.code, told.severity, told.bodies) == ("mirrored-names", "error", ("l_foot",))


def test_files_are_compared_by_their_rows_and_no_frame_is_read_again() -> None:
    fast = [
        simulate(chain(), seconds=SECONDS, rate=120, seed=seed, disturbances=NOISE, mounts=mount_chain(1).truth.mounts)
        for seed in (5, 6)
    ]
    anew = simulate(chain(), seconds=SECONDS, rate=120, seed=7, disturbances=NOISE, mounts=mount_chain(2).truth.mounts)
    for odd, codes in ((fast[1], []), (anew, ["remounted"])):
        take = join([_file("a", fast[0].take), _file("b", odd.take)])
        assert digest_take(take).every == 4
        if not codes:  # what is left out is copied without it
            for name in ("R_world_body", "p_world_body"):
                object.__setattr__(take, name, None)
        assert [one.code for one in check_belonging(take, FitOptions()).findings] == codes


def test_what_hardly_moves_is_not_told() -> None:
    assert compare_files(_joints(FIRST), []).relation == "unknown"


def test_a_figure_of_another_size_is_another_person() -> None:
    small, large = measure_between(_joints(FIRST)), measure_between(_joints(TALLER))
    assert is_other_person(small, large)
    assert not is_other_person(small, measure_between(_joints(ANEW)))
    assert not is_other_person(small, small.part(()))


@pytest.mark.parametrize(("factor", "told", "option"), [(1000, "1000 times", "mm"), (1 / 0.0254, "39.37 times", "in")])
def test_a_take_in_another_unit_is_told_with_the_unit(factor: float, told: str, option: str) -> None:
    later = replace(ANEW, p_world_body=factor * ANEW.p_world_body)
    (finding,) = describe_later_take(compare_files(_joints(FIRST), _joints(later)))
    assert (finding.code, finding.severity) == ("other-unit", "error")
    assert f"all lengths are {told} those at the calibration" in finding.text
    assert finding.text.endswith(f"--unit {option}")
    (left,) = check_belonging(join([_file("a", FIRST), _file("b", later)]), FitOptions()).findings
    assert left.code == "other-unit"
    alone = [
        _joints(take.select(EDGES[0])) for take in (FIRST, replace(AGAIN, p_world_body=factor * AGAIN.p_world_body))
    ]
    assert compare_files(*alone).relation == "other unit"  # one joint has no length
    small = replace(ANEW, p_world_body=ANEW.p_world_body / 1000)
    assert "1/1000 of those" in describe_later_take(compare_files(_joints(FIRST), _joints(small)))[0].text


def test_files_of_one_mounting_are_left_alone() -> None:
    found = check_belonging(join([_file("a", FIRST), _file("b", AGAIN)]), FitOptions())
    assert (list(found.findings), found.take) == ([], None)


@pytest.mark.parametrize(("later", "code"), [(ANEW, "remounted"), (TALLER, "another-person")])
def test_a_file_that_does_not_belong_is_left_out_and_named(later: Take, code: str) -> None:
    take = join([_file("a", FIRST), _file("b", later), _file("c", AGAIN)])
    found = check_belonging(take, FitOptions())
    (told,) = found.findings
    assert (told.code, told.severity) == (code, "error")
    assert told.text.startswith("b.npz:")
    assert found.take is not None
    assert found.take.sources == ("/day/a.npz", "/day/c.npz")
    assert found.take.frames == FIRST.frames + AGAIN.frames
    assert found.take.in_source(1).sum() == AGAIN.frames
    np.testing.assert_array_equal(found.take.p_world_body[found.take.in_source(1)], AGAIN.p_world_body)


def test_a_sensor_that_moved_is_left_out_in_its_file_only() -> None:
    found = check_belonging(join([_file("a", FIRST), _file("b", _one_moved(2))]), FitOptions())
    (told,) = found.findings
    assert (told.code, told.bodies) == ("sensor-moved-between-files", (FIRST.names[2],))
    assert "b.npz" in told.text
    assert "--remounted" in told.text
    assert found.take is not None
    gone = ~found.take.seen
    assert gone[found.take.in_source(1), 2].all()
    assert gone.sum() == gone[:, 2].sum() == FIRST.frames


def test_one_file_and_files_that_are_taken_as_one_are_not_asked() -> None:
    take = join([_file("a", FIRST), _file("b", ANEW)])
    assert check_belonging(take, FitOptions(belong=False)).take is None
    assert check_belonging(FIRST, FitOptions()).take is None


def test_a_file_that_tells_nothing_is_said() -> None:
    still = simulate(chain(), "still", seconds=4, seed=1, disturbances=NOISE, mounts=mount_chain(1).truth.mounts).take
    (told,) = check_belonging(join([_file("a", FIRST), _file("b", still)]), FitOptions()).findings
    assert (told.code, told.severity) == ("files-not-compared", "info")


def test_left_and_right_are_exchanged_by_the_names() -> None:
    joints = _joints(FIRST)
    legs = [replace(joints[0], parent="pelvis", child=name) for name in ("l_thigh", "r_thigh")]
    assert mirror_names(joints) is None  # no sides
    assert mirror_names(legs[:1]) is None  # a thigh without its twin
    turned = mirror_names(legs)
    assert turned is not None
    assert [(one.parent, one.child) for one in turned] == [("pelvis", "r_thigh"), ("pelvis", "l_thigh")]


def test_names_are_mirrored_where_nearly_all_sensors_agree_once_sides_are_exchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    joint = _joints(FIRST)[0]
    legs = [replace(joint, parent="pelvis", child=name) for name in ("l_thigh", "r_thigh")]
    some = MovedSensor("pelvis", ("pelvis", "l_thigh"), 0.1, 20.0)
    for still_moved, mirrored in ((0, True), (1, False)):  # of three sensors
        answers = iter([[some] * 3, [some] * still_moved])
        monkeypatch.setattr(belonging, "find_moved", lambda a, b, answers=answers: next(answers))
        assert (compare_files(legs, legs).relation == "mirrored") == mirrored


def test_lengths_differ_as_two_people_do_or_by_their_errors() -> None:
    keys = tuple(name_length(body, (body, "a"), (body, "b")) for body in "pqrs")
    value, loud = np.array([0.43, 0.40, 0.43, 0.40]), 0.05**2 * np.eye(4)
    for longer, other in ((0.105, False), (0.124, True)):  # of lengths that are known to 50 mm
        assert is_other_person(Lengths(keys, value, loud), Lengths(keys, (1 + longer) * value, loud)) == other
    sure = 0.003**2 * np.eye(4)
    for longer, other in ((0.015, False), (0.03, True)):
        assert is_other_person(Lengths(keys, value, sure), Lengths(keys, (1 + longer) * value, sure)) == other
    assert not is_other_person(Lengths(keys[:2], value[:2], sure[:2, :2]), Lengths(keys[2:], value[2:], sure[:2, :2]))


def test_lengths_are_in_another_unit_where_no_two_people_are_so_unlike(monkeypatch: pytest.MonkeyPatch) -> None:
    for ratio, unit in [(1.0, None), (1.9, None), (2.5, 2.54), (1150.0, 1000.0), (1600.0, None), (0.00095, 0.001)]:
        sizes = {"a": SimpleNamespace(keys=["x", "y"], value=np.array([0.4, 0.5]))}
        sizes["b"] = SimpleNamespace(keys=["x", "y"], value=ratio * np.array([0.4, 0.5]))
        monkeypatch.setattr(belonging, "measure_between", lambda joints, sizes=sizes: sizes[joints])
        found = belonging.find_unit_ratio("a", "b")  # type: ignore[arg-type]
        assert found == (None if unit is None else pytest.approx(unit)), ratio
