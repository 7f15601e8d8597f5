"""What is written comes back: io/exports/take_npz.py and io/exports/take_csv.py through readers/."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from condyle.errors import UsageError
from condyle.io.exports import write_take, write_take_csv
from condyle.maths import rotation
from condyle.model.take import Take
from condyle.prepare.read import read

ROTATION = 2e-15  # entries of matrices after the way through a quaternion
QUIET = settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

# NumPy drops NULs at the end of text, and a lone surrogate is no character.
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NAMES = st.text(LETTERS, min_size=1, max_size=8).filter(lambda name: name.strip())


@dataclass(frozen=True)
class Case:
    names: list[str]
    seed: int
    frames: int
    gaps: float
    timed: bool
    segments: bool
    scale: int

    def take(self) -> Take:
        rng = np.random.default_rng(self.seed)
        shape = (self.frames, len(self.names))
        p = rng.standard_normal((*shape, 3)) * 10.0**self.scale
        R = rotation.random(rng, shape)
        p[rng.random(shape) < self.gaps] = np.nan
        segment = np.sort(rng.integers(0, 3, self.frames)) if self.segments else None
        time = np.cumsum(rng.uniform(1.0, 10.0, self.frames)) if self.timed else None
        return Take.from_poses(p, R_world_body=R, names=self.names, time=time, segment=segment)


CASES = st.builds(
    Case,
    names=st.lists(NAMES, min_size=1, max_size=4, unique=True),
    seed=st.integers(0, 2**32 - 1),
    frames=st.integers(1, 12),
    gaps=st.sampled_from([0.0, 0.3, 1.0]),
    timed=st.booleans(),
    segments=st.booleans(),
    scale=st.integers(-12, 12),
)


def assert_same(take: Take, again: Take, rotation_tolerance: float) -> None:
    assert again.names == take.names
    assert again.timed == take.timed
    np.testing.assert_array_equal(again.time, take.time)
    np.testing.assert_array_equal(again.segment, take.segment)
    np.testing.assert_array_equal(again.p_world_body, take.p_world_body)
    np.testing.assert_allclose(again.R_world_body, take.R_world_body, rtol=0, atol=rotation_tolerance)


@pytest.mark.costly
@QUIET
@given(case=CASES)
def test_a_take_comes_back_from_npz_bit_for_bit(tmp_path_factory: pytest.TempPathFactory, case: Case) -> None:
    path = tmp_path_factory.getbasetemp() / "case.npz"
    write_take(path, case.take())
    assert_same(case.take(), read(path), 0.0)


@QUIET
@given(case=CASES)
def test_a_take_comes_back_from_csv_with_every_digit_of_its_positions(
    tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    path = tmp_path_factory.getbasetemp() / "case.csv"
    write_take(path, case.take())
    assert_same(case.take(), read(path), ROTATION)


@QUIET
@given(p=hnp.arrays(np.float64, (3, 1, 3), elements=st.floats(-1e11, 1e11)))
def test_any_position_that_can_be_one_comes_back_from_csv(
    tmp_path_factory: pytest.TempPathFactory, p: np.ndarray
) -> None:
    path = tmp_path_factory.getbasetemp() / "position.csv"
    write_take(path, Take.from_poses(p, np.tile([1.0, 0, 0, 0], (3, 1, 1)), rate=10))
    np.testing.assert_array_equal(read(path).p_world_body, p)


@pytest.mark.parametrize(
    "name",
    [
        "=1+1",
        "+x",
        "-x",
        "@SUM(A1)",
        "'x",
        "''=x",
        "#x",
        "\tx",
        "\rx",
        "\nx",
        "a,b",
        'a"b',
        " a ",
        "a.px",
        "time",
        "Fuß",
    ]
    + ["hand\x1b[31m", "a\nb", "a\r\nb", "'", "'a", "nan", "x\u2028y"],
)
@pytest.mark.parametrize("timed", [True, False])
def test_awkward_names_come_back_from_csv_and_none_stands_as_a_formula(tmp_path: Path, name: str, timed: bool) -> None:
    path = tmp_path / "a.csv"
    take = Take.from_poses(
        np.zeros((2, 2, 3)), np.ones((2, 2, 4)) / 2, names=[name, "other"], rate=10 if timed else None
    )
    write_take_csv(path, take)
    assert read(path).names == (name, "other")
    cells = path.read_bytes().decode().replace('"', "").replace("\n", ",").split(",")
    if not any(letter in name for letter in ",\n"):
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "-", "\t", "\r"))]


def test_nan_stands_nowhere_in_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_take_csv(path, Take.from_poses(np.full((2, 1, 3), np.nan), np.ones((2, 1, 4)) / 2, names=["hip"], rate=10))
    assert path.read_text().splitlines()[-1] == "0.1,,,,,,,"
    assert "nan" not in path.read_text()


def test_the_format_is_chosen_by_the_suffix_and_another_is_refused_with_the_choices(tmp_path: Path) -> None:
    take = Take.from_poses(np.zeros((2, 1, 3)), np.ones((2, 1, 4)) / 2, rate=10)
    write_take(tmp_path / "a.NPZ", take)
    assert (tmp_path / "a.NPZ").read_bytes().startswith(b"PK")
    for name in ("a.c3d", "a"):
        with pytest.raises(UsageError, match=r"\.npz or \.csv"):
            write_take(tmp_path / name, take)
