"""The page of skeleton.json lists the fields that are really written, in their order, and no other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import condyle
from condyle.cli import main
from condyle.findings import Severity
from condyle.model.options import Method, TreeScore
from condyle.model.skeleton import Between, Kind, Point

from .pages import DOCS, codes, rows, sections

PARTS = sections(DOCS / "skeleton-json.md")


def fields(part: str) -> list[str]:
    """The names in the first column of a section's table."""
    return [name for row in rows(PARTS[part]) for name in codes(row[0])]


def values(part: str, field: str) -> set[str]:
    """The quoted values that the page gives for a field."""
    cells = [row for row in rows(PARTS[part]) if field in codes(row[0])]
    return {value.strip('"') for value in codes(cells[0][2]) if value.startswith('"')}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of two segments, its truth, and the result of fitting it."""
    folder = tmp_path_factory.mktemp("fit")
    words = ["--figure", "linkage", "--seconds", "10", "--position-noise", "2", "--missing", "1"]
    assert main(["simulate", str(folder / "a.npz"), *words]) == 0
    first = condyle.read(folder / "a.npz")
    condyle.write_take(folder / "two.npz", condyle.join([first.slice(0, 150), first.slice(150, None)]))
    assert main(["fit", str(folder / "two.npz"), "-o", str(folder / "out")]) in (0, 3)
    return folder


@pytest.fixture(scope="module")
def written(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "out" / "skeleton.json").read_text()))


def test_the_fields_of_the_file_are_those_of_the_page(written: dict[str, Any]) -> None:
    assert list(written) == fields("The file")
    assert values("The file", "format") == {written["format"]}


@pytest.mark.parametrize("part", ["joints", "limbs", "sensors", "findings", "noise"])
def test_the_fields_of_each_list_are_those_of_the_page(written: dict[str, Any], part: str) -> None:
    assert written[part], f"no {part} to look at"
    for entry in written[part]:
        assert list(entry) == fields(part)


@pytest.mark.parametrize("part", ["take", "options", "conventions"])
def test_the_fields_of_each_object_are_those_of_the_page(written: dict[str, Any], part: str) -> None:
    assert list(written[part]) == fields(part)


def test_the_values_of_the_page_are_those_of_the_program() -> None:
    assert values("joints", "kind") == set(get_args(Kind))
    assert values("joints", "point") == set(get_args(Point))
    assert values("limbs", "between") == set(get_args(Between))
    assert values("findings", "severity") == set(get_args(Severity))
    assert values("The file", "method") == set(get_args(Method))
    assert values("options", "tree_score") == set(get_args(TreeScore))


def test_the_arrays_of_motion_npz_are_those_of_the_page(folder: Path, written: dict[str, Any]) -> None:
    sizes = {"n": written["take"]["frames"], "m": len(written["bodies"]), "J": len(written["joints"])}
    with np.load(folder / "out" / "motion.npz") as arrays:
        assert sorted(arrays) == sorted(fields("motion.npz"))
        for name, shape, _ in rows(PARTS["motion.npz"]):
            told = [length.strip() for length in shape.strip("()").split(",") if length.strip()]
            expected = tuple(sizes.get(length) or int(length) for length in told)
            assert arrays[name.strip("`")].shape == expected, name


def test_the_fields_of_truth_json_are_those_of_the_page(folder: Path) -> None:
    truth = json.loads((folder / "a.truth.json").read_text())
    assert list(truth) == fields("truth.json")
    for row in rows(PARTS["truth.json"]):
        name = codes(row[0])[0]
        if name in ("joints", "limbs"):
            assert list(truth[name][0]) == codes(row[2])
        if name == "simulation":
            assert list(truth[name]) == [field for field in codes(row[2]) if not field.startswith("condyle")]
