"""A performer from fits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.errors import CondyleError
from condyle.estimate.lengths import Lengths, measure_lengths, profile_lengths
from condyle.model.profile import FileWindow, name_edge
from condyle.model.skeleton import Skeleton
from condyle.result.profile import (
    apply_profile,
    build_profile,
    compare_lengths,
    cut_profile,
    describe_bare,
    find_known_kinds,
    find_mountings,
    kinds_of,
    make_profile,
)
from condyle.simulate import chain, simulate
from tests.make.performers import fit_chain, open_last


def _named(name: str, skeleton: Skeleton) -> Skeleton:
    return replace(skeleton, fit_id=name)


def test_a_profile_of_two_mountings_is_surer_than_of_one() -> None:
    one, _ = make_profile([_named("a", fit_chain(1))])
    two, findings = make_profile([_named("a", fit_chain(1)), _named("b", fit_chain(2))])
    assert (one.mountings, two.mountings, two.fits) == (1, 2, ("a", "b"))
    assert (np.diagonal(two.matrix) < np.diagonal(one.matrix)).all()
    assert not findings
    assert {joint.kind for joint in two.joints} == {"ball"}


def test_takes_of_one_mounting_share_its_errors() -> None:
    skeletons = [_named("a", fit_chain(1)), _named("b", fit_chain(1, 1)), _named("c", fit_chain(2))]
    assert find_mountings(skeletons) == [0, 0, 1]
    assert make_profile(skeletons)[0].mountings == 2


def test_fits_add_to_a_profile_and_none_counts_twice() -> None:
    first, _ = make_profile([_named("a", fit_chain(1))])
    more, _ = make_profile([first, _named("b", fit_chain(2))])
    both, _ = make_profile([_named("a", fit_chain(1)), _named("b", fit_chain(2))])
    assert more.mountings == both.mountings
    np.testing.assert_allclose(profile_lengths(more).value, profile_lengths(both).value, atol=1e-5)
    with pytest.raises(CondyleError, match="fit a is in it twice"):
        make_profile([more, _named("a", fit_chain(1))])


def test_a_take_solved_on_a_fit_adds_nothing_to_a_profile_of_it() -> None:
    fit = replace(fit_chain(1), fit_id="a")
    solved = replace(fit, fit_id="b", take={**fit.take, "calibration": {"fit_id": "a", "sources": []}})
    with pytest.raises(CondyleError, match="solved on it"):
        make_profile([make_profile([fit])[0], solved])


def test_another_person_is_told() -> None:
    _, findings = make_profile([_named("a", fit_chain(1)), _named("b", fit_chain(2, longer=1.1))])
    assert {finding.code for finding in findings} == {"another-person"}


def test_other_bodies_and_other_trees_are_refused() -> None:
    skeleton = fit_chain(1)
    with pytest.raises(CondyleError, match="other bodies"):
        make_profile([skeleton, replace(skeleton, bodies=(*skeleton.bodies[:-1], "nose"))])
    with pytest.raises(CondyleError, match="other trees"):
        make_profile([skeleton, replace(skeleton, joints=skeleton.joints[:-1])])
    with pytest.raises(CondyleError, match="no fit"):
        make_profile([])


def test_kinds_are_what_most_say() -> None:
    skeleton = fit_chain(1)
    hinges = replace(skeleton, joints=tuple(replace(one, kind="hinge") for one in skeleton.joints))
    open_ = replace(skeleton, joints=tuple(replace(one, kind="undetermined") for one in skeleton.joints))
    assert set(kinds_of([skeleton, hinges, hinges, open_, open_, open_]).values()) == {"hinge"}
    assert set(kinds_of([open_]).values()) == {"undetermined"}


def test_a_profile_is_a_prior_that_says_how_much_it_mattered() -> None:
    profile, _ = make_profile([_named("b", fit_chain(2)), _named("c", fit_chain(3))])
    before = fit_chain(1)
    after = apply_profile(before, profile)
    (told,) = [finding for finding in after.findings if finding.code == "profile-used"]
    assert told.value is not None
    assert 0 < told.value < 0.01
    assert (measure_lengths(after).sd < measure_lengths(before).sd).all()
    other, _ = make_profile([_named("d", fit_chain(2, longer=1.1))])
    assert "another-person" in {finding.code for finding in apply_profile(before, other).findings}


def test_a_take_without_a_length_of_the_profile_is_fitted_all_the_same_and_that_is_told() -> None:
    profile, _ = make_profile([_named("b", fit_chain(2))])
    last = profile.lengths[-1]
    other = replace(profile, lengths=(last,), covariance=((profile.covariance[-1][-1],),))
    for skeleton, known, why in (
        (replace(fit_chain(1), limbs=()), profile, "tells none with an interval"),
        (open_last(fit_chain(1)), other, "at a joint's centre where the profile's end at its axis"),
        (_without_limb(fit_chain(1), last.body), other, "are others than the profile's"),
    ):
        after = apply_profile(skeleton, known)
        (told,) = [one for one in after.findings if one.code == "profile-not-used"]
        assert why in told.text
        assert after.joints == skeleton.joints
        assert "profile-used" not in {one.code for one in after.findings}


def _without_limb(skeleton: Skeleton, body: str) -> Skeleton:
    return replace(skeleton, limbs=tuple(limb for limb in skeleton.limbs if limb.body != body))


def test_a_length_to_an_axis_is_not_held_to_one_between_centres() -> None:
    profile, _ = make_profile([_named("b", fit_chain(2, longer=1.1))])
    before = open_last(fit_chain(1))
    after = apply_profile(before, profile)
    (told,) = [finding for finding in after.findings if finding.code == "profile-used"]
    body = before.joints[-1].parent
    assert told.text.endswith(
        f"On {body} a length ends at a joint's centre in one and at its axis in the other: it stays as it is"
    )
    both, findings = make_profile([_named("a", fit_chain(1)), _named("c", open_last(fit_chain(2, longer=1.1)))])
    assert [one.axes for one in both.lengths if one.body == body] == [(), (name_edge(body, before.joints[-1].child),)]
    assert body not in {name for finding in findings for name in finding.bodies}


def test_a_recording_that_a_profile_was_made_of_counts_once() -> None:
    fit = _named("a", fit_chain(1))
    again = _named("b", fit_chain(1))  # with other options
    profile, _ = make_profile([fit, _named("c", fit_chain(2))])
    assert profile.recordings[0] == fit.take["sha256"]
    assert len(profile.recordings) == 2
    after = apply_profile(again, profile)
    known = profile_lengths(profile)
    np.testing.assert_allclose(measure_lengths(after).part(list(known.keys)).sd, known.sd, rtol=1e-6)
    (told,) = [finding for finding in after.findings if finding.code == "profile-used"]
    assert "is among those it was made of" in told.text
    with pytest.raises(CondyleError, match="is in it twice, by two fits"):
        make_profile([profile, again])


@pytest.mark.costly
def test_overlapping_parts_of_one_file_count_once(tmp_path: Path) -> None:
    file, copy = tmp_path / "a.npz", tmp_path / "b.npz"
    condyle.write_take(file, simulate(chain(), seconds=20, seed=1).take)
    copy.write_bytes(file.read_bytes())
    condyle.write_take(tmp_path / "other.npz", simulate(chain(), seconds=20, seed=2).take)
    whole, first = condyle.fit(file).skeleton, condyle.fit(copy, stop=12.0).skeleton
    middle, last = (condyle.fit(file, start=start).skeleton for start in (8.0, 12.0))
    assert whole.take["windows"][0]["stop"] is None
    for pair in ([whole, first], [first, middle]):
        with pytest.raises(CondyleError, match="a part of it, is in it twice"):
            make_profile(pair)
    profile, _ = make_profile([first, last])  # parts that only touch
    assert [one.start for one in profile.windows] == [0.0, 12.0]
    with pytest.raises(CondyleError, match="a part of it, is in it twice"):
        make_profile([profile, middle])
    (told,) = [one for one in apply_profile(middle, profile).findings if one.code == "profile-used"]
    assert "is among those it was made of" in told.text
    scene = condyle.fit({"a": file, "b": tmp_path / "other.npz"}, stop=5.0).skeleton.take["windows"]
    assert [one["bodies"] for one in scene] == [list(whole.bodies)] * 2
    solved = condyle.solve(file, condyle.fit(copy, stop=12.0), start=8.0).skeleton
    assert "windows" not in solved.take


def test_other_sensors_of_one_file_are_another_recording() -> None:
    whole = FileWindow("x", 0.0, None, ("a", "b", "c"))
    assert whole.overlaps(replace(whole, start=5.0, bodies=("b", "c", "d")))
    assert not whole.overlaps(replace(whole, bodies=("c", "d", "e")))  # one sensor tells no joint
    assert not whole.overlaps(replace(whole, sha256="y"))
    assert not replace(whole, stop=5.0).overlaps(replace(whole, start=5.0))


def test_differences_are_in_standard_errors_the_largest_first() -> None:
    a, b = measure_lengths(fit_chain(1)), measure_lengths(fit_chain(2, longer=1.1))
    found = compare_lengths(a, b)
    assert len(found) == len(a.keys)
    assert all(apart > 0 for _, apart, _ in found)
    assert abs(found[0][2]) >= abs(found[-1][2]) > 3


def test_fits_that_share_lengths_already_are_not_counted_again() -> None:
    profile, _ = make_profile([_named("a", fit_chain(1))])
    with pytest.raises(CondyleError, match="other fits told as well"):
        make_profile([profile, _named("b", apply_profile(fit_chain(2), profile))])


def test_of_a_performer_with_fewer_sensors_the_rest_is_known() -> None:
    profile, _ = make_profile([replace(fit_chain(1), fit_id="a")])
    names = profile.bodies
    part = cut_profile(profile, names[:-1])
    assert part.bodies == names[:-1]
    assert len(part.joints) == len(profile.joints) - 1
    assert [one.key for one in part.lengths] == [one.key for one in profile.lengths if names[-1] not in str(one.key)]
    np.testing.assert_array_equal(np.diagonal(part.matrix), np.diagonal(profile.matrix)[: len(part.lengths)])
    (told,) = describe_bare(profile, part.bodies)
    assert (told.code, told.bodies) == ("sensor-absent", (names[-1],))
    with pytest.raises(CondyleError, match="no two sensors of the performer"):
        cut_profile(profile, names[:1])


def test_kinds_that_are_not_known_are_not_kept() -> None:
    kinds = {("a", "b"): "ball", ("b", "c"): "undetermined", ("c", "d"): "hinge", ("d", "e"): "rigid"}
    assert find_known_kinds(kinds) == (("a", "b", "ball"), ("c", "d", "hinge"))  # type: ignore[arg-type]


def test_axes_that_meet_have_a_length_of_zero_and_not_below() -> None:
    fit = fit_chain(1)
    own = measure_lengths(fit)
    met = Lengths(own.keys, np.array([-1e-5, 0.3]), own.covariance)  # the mean of some that are 0 within errors
    assert [one.length for one in build_profile([fit], kinds_of([fit]), met, 1, []).lengths] == [0.0, 0.3]
