from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle.io.fit_id import FIT_ID_DIGITS, hash_input, list_windows, make_fit_id, pack_options
from condyle.io.format import ReadOptions
from condyle.maths import spool
from condyle.model.field import Rod
from condyle.model.options import FitOptions
from condyle.model.take import Take


@pytest.fixture
def take(rng: np.random.Generator) -> Take:
    return Take(("a", "b"), np.arange(9.0), np.tile(np.eye(3), (9, 2, 1, 1)), rng.normal(size=(9, 2, 3)))


def test_the_same_poses_have_the_same_hash_however_they_are_walked(take: Take, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = hash_input(take)
    monkeypatch.setattr(spool, "BLOCK_BYTES", 100)
    assert hash_input(take) == whole == hash_input(replace(take))


@pytest.mark.parametrize(
    "change",
    [
        {"names": ("a", "c")},
        {"time": np.arange(9.0) + 1e-9},
        {"segment": np.repeat([0, 1], [4, 5])},
        {"p_world_body": np.zeros((9, 2, 3))},
        {"up": "-y"},
        {"timed": False},
    ],
)
def test_any_other_input_has_another_hash(take: Take, change: dict[str, object]) -> None:
    assert hash_input(replace(take, **change)) != hash_input(take)  # type: ignore[arg-type]


def test_each_number_of_a_take_counts_to_its_last_bit(rng: np.random.Generator) -> None:
    p = rng.normal(size=(2, 5, 3))
    take = Take(tuple("abcde"), np.arange(2.0), np.tile(np.eye(3), (2, 5, 1, 1)), p)
    found = {hash_input(take)}
    for k in range(p.size):
        other = p.copy().ravel()
        other[k] = np.nextafter(other[k], np.inf)
        found.add(hash_input(replace(take, p_world_body=other.reshape(p.shape))))
    other = p.copy()
    other[0, [0, 1]] = other[0, [1, 0]]
    found.add(hash_input(replace(take, p_world_body=other)))
    assert len(found) == p.size + 2


def test_options_are_packed_with_what_they_stand_for(take: Take, tmp_path: Path) -> None:
    plain = pack_options(FitOptions(), ReadOptions())
    assert pack_options(FitOptions(), ReadOptions()) == plain
    assert pack_options(FitOptions(symmetric=0.01), ReadOptions()) != plain
    assert pack_options(FitOptions(), ReadOptions(rate=60.0)) != plain
    rods = [Rod(("a", "b"), 0.3), Rod(("a", "b"), 0.3, take), Rod(("a", "b"), 0.31, take)]
    assert len({pack_options(FitOptions(field=rod), ReadOptions()) for rod in rods}) == 3
    columns = tmp_path / "map.toml"
    packed = set()
    for text in ("a = 1\n", "a = 2\n"):
        columns.write_text(text)
        packed.add(pack_options(FitOptions(), ReadOptions(columns=columns)))
    assert len(packed) == 2  # by the content of the file, not its name


def test_an_id_tells_the_parts_and_their_borders_apart() -> None:
    assert make_fit_id(b"ab", b"c") != make_fit_id(b"a", b"bc")
    assert make_fit_id(b"ab", b"c") == make_fit_id(b"ab", b"c")
    assert len(make_fit_id(b"ab")) == FIT_ID_DIGITS


def test_the_part_of_a_file_that_is_read_is_known_by_its_content(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"1 2 3")
    (one,), (other,) = (
        list_windows([(tmp_path / name, ("hip", "knee"))], ReadOptions(start=start, rename={"pelvis": "hip"}))
        for name, start in (("a", None), ("b", 2.0))
    )
    assert one["bodies"] == ["pelvis", "knee"]
    assert one["sha256"] == other["sha256"]
    assert [one["start"], one["stop"], other["start"]] == [0.0, None, 2.0]
    assert list_windows([(tmp_path, ())], ReadOptions()) == []  # a folder has no content of its own
