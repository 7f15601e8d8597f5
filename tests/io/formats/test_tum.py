from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.format import ReadOptions
from condyle.io.formats import tum
from condyle.model.recording import Recording, to_take
from tests.make.size import cut_lengths

EXACT = 1e-12


def rows(count: int = 4) -> str:
    """A body that turns about z by 0.1 rad per frame and moves along x."""
    angles = [0.05 * k for k in range(count)]
    return "".join(
        f"{1305031102.1 + k / 30:.4f} {k} 0.5 -2 0 0 {math.sin(a):.9f} {math.cos(a):.9f}\n"
        for k, a in enumerate(angles)
    )


COMMENT = "# ground truth trajectory\n# timestamp tx ty tz qx qy qz qw\n"
SMALL: dict[str, bytes] = {"plain": rows().encode(), "comments": (COMMENT + rows()).encode()}


def read(tmp_path: Path, raw: bytes) -> Recording:
    path = tmp_path / "hand.txt"
    path.write_bytes(raw)
    return tum.read(path, ReadOptions())


def test_a_trajectory_is_one_body_named_after_its_file(tmp_path: Path) -> None:
    recording = read(tmp_path, SMALL["comments"])
    assert recording.bodies is not None
    assert recording.bodies.names == ("hand",)
    assert recording.bodies.position[:, 0].tolist() == [[k, 0.5, -2] for k in range(4)]
    assert recording.time is not None
    assert recording.time[0] == 1305031102.1
    take = to_take(recording)
    np.testing.assert_allclose(take.R_world_body[3, 0, :2, 0], [math.cos(0.3), math.sin(0.3)], atol=1e-8)


def test_the_format_states_metres_and_a_header_states_the_order(tmp_path: Path) -> None:
    assert read(tmp_path, SMALL["comments"]).convention.stated == {"unit", "rotation"}
    plain = read(tmp_path, SMALL["plain"]).convention
    assert (plain.unit, plain.rotation, plain.stated) == ("m", "xyzw", frozenset({"unit"}))


@pytest.mark.parametrize("variant", SMALL)
def test_trajectories_are_recognised(variant: str) -> None:
    assert tum.looks_like(SMALL[variant])
    assert tum.looks_like(b"\xef\xbb\xbf" + SMALL[variant].replace(b"\n", b"\r\n"))
    assert tum.looks_like(SMALL[variant].decode().encode("utf-16"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        COMMENT,
        rows(1),
        "time tx ty tz qx qy qz qw\n" + rows(),  # a header is no comment
        rows().replace(" ", ","),
        "".join(f"{k} 0 0 0 0 0 0.5 0.5\n" for k in range(4)),  # no unit quaternion
        "".join(f"{-k} 0 0 0 0 0 0 1\n" for k in range(4)),  # time runs backwards
        "5 0 0 0 0 0 0 1\n" * 4,  # time stands still
        "".join(f"{k} 0 0 0 0 0 0 1 1\n" for k in range(4)),  # nine numbers
        "".join(f"{k} 0 0 nan 0 0 0 1\n" for k in range(4)),
    ],
)
def test_other_tables_are_not_claimed(text: str) -> None:
    assert not tum.looks_like(text.encode())


def test_no_recording_of_another_format_is_claimed(shared_data: Path) -> None:
    for path in shared_data.rglob("*"):
        if path.is_file():
            with path.open("rb") as stream:
                assert not tum.looks_like(stream.read(65536)), path


def test_comments_and_blank_lines_stand_anywhere_and_lines_stay_counted(tmp_path: Path) -> None:
    lines = rows(6).splitlines(keepends=True)
    text = COMMENT + lines[0] + "\n  # lost\n" + "".join(lines[1:])
    assert read(tmp_path, text.encode()).frames == 6
    with pytest.raises(CondyleError) as error:
        read(tmp_path, text.replace(" 2 0.5", " 2 x.5").encode())
    assert (error.value.code, error.value.line, error.value.column) == ("bad-number", 7, 3)


def test_a_missing_number_is_a_pose_not_seen(tmp_path: Path) -> None:
    recording = read(tmp_path, (rows() + "1305031103 nan nan nan nan nan nan nan\n").encode())
    assert to_take(recording).seen[:, 0].tolist() == [True] * 4 + [False]


@pytest.mark.parametrize("variant", SMALL)
@pytest.mark.sized
def test_a_file_cut_at_any_byte_is_read_or_refused(tmp_path: Path, variant: str) -> None:
    whole = SMALL[variant]
    for size in cut_lengths(whole):
        try:
            recording = read(tmp_path, whole[:size])
        except CondyleError:
            continue
        told = [finding.code for finding in recording.findings]
        assert (told == ["truncated-file"]) == (whole[size - 1 : size] != b"\n")


def test_a_file_of_comments_has_no_data(tmp_path: Path) -> None:
    with pytest.raises(CondyleError) as error:
        read(tmp_path, COMMENT.encode())
    assert error.value.code == "no-data"
