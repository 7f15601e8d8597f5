"""io/formats/segment_table.py: points and quaternions of segments, paired by the motion."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.errors import CondyleError
from condyle.io.format import ReadOptions
from condyle.io.formats import read_recording, segment_table
from condyle.maths import rotation
from condyle.model.recording import to_take

COMMENTS = "// fs=50  nSamples=120\n// posUnit=m\n"
EXACT = 1e-7  # of numbers with eight decimals


def leg(frames: int = 120, still: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Points HIP, KNE, ANK, TOE (n, 4, 3) and rotations of thigh, shank and foot (n, 3, 3, 3)."""
    time = np.linspace(0, 6, frames)
    turns = np.stack([[0.5 * np.sin(k + time), 0.3 * np.cos(2 * time + k), 0.4 * np.sin(1.3 * time)] for k in range(3)])
    R = rotation.from_vector(np.swapaxes(turns * (0.0 if still else 1.0), 1, 2)).swapaxes(0, 1)
    points = [np.stack([time, 0 * time, 1 + 0 * time], axis=1)]
    for k, bone in enumerate(([0, 0.02, -0.4], [0.01, 0, -0.42], [0.2, 0.05, 0])):
        points.append(points[-1] + R[:, k] @ bone)
    return np.stack(points, axis=1), R


def written(order: str = "wxyz", *, still: bool = False, comments: str = COMMENTS, transposed: bool = False) -> str:
    points, R = leg(still=still)
    q = rotation.to_quaternion(np.swapaxes(R, -1, -2) if transposed else R)
    q = q if order == "wxyz" else q[..., [1, 2, 3, 0]]
    q = q[:, [2, 0, 1]]  # in another order than the points
    names = [f"{name}_{k}" for name in ("HIP", "KNE", "ANK", "TOE") for k in (1, 2, 3)]
    names += [f"q{name}_{k}" for name in ("FT", "TH", "SK") for k in (1, 2, 3, 4)]
    rows = np.concatenate([points.reshape(len(points), -1), q.reshape(len(points), -1)], axis=1)
    return comments + ",".join(names) + "\n" + "".join(",".join(f"{v:.8f}" for v in row) + "\n" for row in rows)


SMALL: dict[str, bytes] = {"comments": written().encode()}


@pytest.mark.parametrize(("order", "transposed"), [("wxyz", False), ("xyzw", False), ("wxyz", True)])
def test_the_motion_pairs_points_and_quaternions_and_tells_their_order(
    tmp_path: Path, order: str, transposed: bool
) -> None:
    path = tmp_path / "walk.csv"
    path.write_text(written(order, transposed=transposed))
    found = read_recording(path)
    assert found.format == "segment-table"
    assert found.bodies is not None
    assert found.bodies.names == ("TOE", "HIP", "ANK")  # of qFT, qTH and qSK; the knee lies on two
    convention = found.convention
    assert (convention.rotation, convention.transposed) == (order, transposed)
    assert (convention.unit, convention.stated, found.rate) == ("m", {"unit"}, 50)
    (finding,) = found.findings
    assert finding.code == "columns-paired"
    assert "HIP with qTH" in finding.text
    points, R = leg()
    take = to_take(found)
    np.testing.assert_allclose(take.p_world_body, points[:, [3, 0, 2]], atol=EXACT)
    np.testing.assert_allclose(take.R_world_body, R[:, [2, 0, 1]], atol=10 * EXACT)


def test_where_nothing_moves_nothing_is_paired(tmp_path: Path) -> None:
    path = tmp_path / "still.csv"
    path.write_text(written(still=True))
    with pytest.raises(CondyleError, match=r"which of the points HIP \.\.\. belongs .*; write a column map") as error:
        read_recording(path)
    assert (error.value.code, error.value.line) == ("missing-column", 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        written().replace("qSK_4", "qSK_5"),
        written().replace("TOE_3", "TOE_z"),
        written().replace("qTH_1", "temperature"),
        written().replace("0.", "3."),
    ],
    ids=["empty", "five", "letter", "other", "no unit"],
)
def test_other_tables_are_not_claimed(text: str) -> None:
    assert not segment_table.looks_like(text.encode())


def test_a_table_without_such_columns_names_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    path.write_text("a,b,c\n1,2,3\n4,5,6\n")
    with pytest.raises(CondyleError, match="write a column map"):
        segment_table.read(path, ReadOptions())


@pytest.mark.costly
def test_only_one_real_file_is_claimed(shared_data: Path) -> None:
    claimed = []
    for path in shared_data.rglob("*.*"):
        with path.open("rb") as stream:
            if path.is_file() and segment_table.looks_like(stream.read(65536)):
                claimed.append(path.name)
    assert claimed == ["segments.csv"]
