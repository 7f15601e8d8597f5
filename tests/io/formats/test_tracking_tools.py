"""io/formats/_tracking_tools.py: frame records of Tracking Tools and the first Motive."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.formats._tracking_tools import is_old, read_old

BODY = "{id},1,2,3,0,0,0,1,10,20,30"
HEAD = (
    "comment,by Tracking Tools\nrighthanded\ninfo,version,1.1\ninfo,framecount,2\n"
    "rigidbody,hand,7,1\nrigidbody,foot,9,1\n"
)
FRAMES = f"frame,0,0.0,2,{BODY.format(id=7)},{BODY.format(id=9)},0\nframe,1,0.5,1,{BODY.format(id=9)},0\n"


def test_it_is_known_by_its_records() -> None:
    assert is_old((HEAD + FRAMES).split("\n"))
    assert not is_old(["info,framecount,2"])
    assert not is_old(["righthanded"])


def test_bodies_stand_where_their_records_put_them_and_are_missing_where_they_have_none() -> None:
    recording = read_old((HEAD + FRAMES).encode())
    assert recording.bodies is not None
    assert recording.bodies.names == ("hand", "foot")
    assert recording.bodies.position[0].tolist() == [[1, 2, 3]] * 2
    assert np.isnan(recording.bodies.position[1, 0]).all()
    assert recording.convention.handed == "right"
    assert recording.findings == ()


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ("frame,1,0.5,1,", "frame,1,0.5,2,", "ragged-row", 8),
        ("frame,1,0.5,1,9,1", "frame,1,0.5,1,9,x", "bad-number", 8),
        ("rigidbody,foot,9", "rigidbody,hand,9", "duplicate-name", 6),
        (FRAMES, "", "no-data", None),
        ("rigidbody", "point", "no-data", None),
    ],
)
def test_a_fault_has_its_line(old: str, new: str, code: str, line: int | None) -> None:
    with pytest.raises(CondyleError) as error:
        read_old((HEAD + FRAMES).replace(old, new).encode())
    assert (error.value.code, error.value.line) == (code, line)


def test_a_file_that_ends_early_is_told() -> None:
    (finding,) = read_old((HEAD + FRAMES)[:-4].encode()).findings
    assert finding.code == "truncated-file"
