"""Profile: a performer as a value that cannot be wrong in itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.model.profile import Profile, ProfileJoint, ProfileLength, describe_ends, name_edge, name_length

LENGTH = ProfileLength("b", (("a", "b"), ("b", "c")), 0.3, 0.29, 0.31)
PROFILE = Profile(
    ("a", "b", "c"),
    ("", "", ""),
    (ProfileJoint("b", "a", "ball"), ProfileJoint("c", "b", "hinge")),
    (LENGTH,),
    ((2.5e-5,),),
    2,
    ("f1", "f2"),
)


def test_a_length_has_one_name_whichever_way_the_tree_runs() -> None:
    assert name_edge("b", "a") == name_edge("a", "b") == ("a", "b")
    assert name_length("b", ("c", "b"), ("b", "a")) == name_length("b", ("a", "b"), ("b", "c")) == LENGTH.key


def test_a_profile_says_what_it_holds() -> None:
    assert str(PROFILE) == "3 segments, 1 length from 2 mountings, 2 fits"
    assert repr(PROFILE) == f"<Profile: {PROFILE}>"  # in a notebook: the covariance of all lengths fills a screen
    assert PROFILE.edges == (("a", "b"), ("b", "c"))
    assert describe_ends(LENGTH.key) == "a to c"
    assert describe_ends(replace(LENGTH, axes=LENGTH.joints[1:]).key) == "a to c (axis)"
    np.testing.assert_array_equal(PROFILE.matrix, [[2.5e-5]])


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"bodies": ("a", "b", "d")}, "'c' is not among the bodies"),
        ({"sides": ("",)}, "has no side"),
        ({"covariance": ()}, "not 1 x 1"),
        ({"covariance": ((1.0, 2.0),)}, "not 1 x 1"),
        ({"covariance": ((-1.0,),)}, "negative variance"),
        ({"covariance": ((float("nan"),),)}, "not symmetric"),
        ({"lengths": (LENGTH, LENGTH)}, "not 2 x 2"),
        ({"lengths": (LENGTH, LENGTH), "covariance": ((1.0, 0.0), (0.0, 1.0))}, "stands twice"),
        ({"lengths": (replace(LENGTH, low=0.5),)}, "outside its interval"),
        ({"lengths": (replace(LENGTH, length=float("nan")),)}, "outside its interval"),
        ({"lengths": (replace(LENGTH, body="a"),)}, "joint that its body does not have"),
        ({"lengths": (replace(LENGTH, axes=(("a", "c"),)),)}, "axis at which it does not end"),
        ({"lengths": (replace(LENGTH, joints=((LENGTH.body, LENGTH.body), LENGTH.joints[1])),)}, "with itself"),
        ({"joints": PROFILE.joints[::-1]}, "no tree with parents before children"),
        ({"joints": PROFILE.joints * 2}, "no tree with parents before children"),
        ({"mountings": 0}, "no mounting"),
    ],
)
def test_what_contradicts_itself_is_refused(wrong: dict[str, object], text: str) -> None:
    with pytest.raises(CondyleError, match=text) as caught:
        replace(PROFILE, **wrong)  # type: ignore[arg-type]
    assert caught.value.code == "bad-profile"
