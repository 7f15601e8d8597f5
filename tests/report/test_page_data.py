"""What the page has of a value are the value's own fields."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

import msgspec
import pytest

from condyle.findings import Finding
from condyle.model.skeleton import Joint, Limb, Placement
from condyle.report.page_data import PLACE_TYPES, PageFinding, PageJoint, PageLimb, PagePlacement

PAIRS = [(PageJoint, Joint), (PageLimb, Limb), (PagePlacement, Placement), (PageFinding, Finding)]


@pytest.mark.parametrize(("page", "value"), PAIRS, ids=lambda kind: kind.__name__)
def test_names_are_places_and_other_fields_keep_their_type(page: Any, value: Any) -> None:
    own, theirs = get_type_hints(page), get_type_hints(value)
    shared = {one.name for one in fields(value)} & set(page.__struct_fields__)
    assert shared
    for name in shared - {"unit"}:
        if name in PLACE_TYPES:
            assert own[name] == PLACE_TYPES[name]
        elif theirs[name] in (str, int, float):
            assert own[name] is theirs[name]


def test_an_array_is_three_numbers_and_nothing_may_be_missing_or_more() -> None:
    limb = {"body": 0, "from_joint": 1, "to_joint": 2, "length": 0.4, "low": None, "high": None, "between": "joints"}
    limb |= {"along": None, "along_95": None}
    assert msgspec.convert(limb, PageLimb).length == 0.4
    for wrong in ({**limb, "passing": 0.5}, {**limb, "body": "thigh"}, {key: limb[key] for key in list(limb)[:-1]}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(wrong, PageLimb)
    place = {"body": 0, "joint": 1, "p_body_joint": [0.0, 1.0], "distance": 1.0, "low": None, "high": None}
    with pytest.raises(msgspec.ValidationError, match="p_body_joint"):
        msgspec.convert(place, PagePlacement)
