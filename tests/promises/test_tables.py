"""Names come from files and from whoever named the sensors: in no table that is written do they act as formulas."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.cli import main
from condyle.io.formats.csv import RISKY
from tests.make.fitted import take
from tests.make.machines import made

NAMES = ("=1+1", "+cmd|' /C calc'!A0", "-2", "@SUM(A1)")


def is_number(cell: str) -> bool:
    try:
        return bool(float(cell)) or True
    except ValueError:
        return False


def find_formulas(folder: Path) -> list[str]:
    """Cells of all tables in a folder that a spreadsheet would run, with the names of their files."""
    found, named = list[str](), 0
    for file in folder.rglob("*.csv"):
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        cells = [cell for row in csv.reader(lines) for cell in row]
        found += [f"{file.name}: {cell}" for cell in cells if cell[:1] in RISKY[:8] and cell and not is_number(cell)]
        named += sum("1+1" in cell for cell in cells)
    assert named, "no table has such a name"
    return found


def test_the_tables_of_a_fit_hold_no_formula_and_its_poses_come_back(tmp_path: Path) -> None:
    one = replace(take(2.0), names=NAMES)
    condyle.fit(one, intervals=False).save(tmp_path / "out", report=False, export="csv")
    assert find_formulas(tmp_path) == []
    assert condyle.read(tmp_path / "out" / "figure.csv").names == NAMES


def test_the_tables_of_angles_and_axes_hold_no_formula(tmp_path: Path) -> None:
    one = made("planar").take
    names = ("=1+1", "@a,b", *one.names[2:])
    fit = condyle.fit(replace(one, names=names), intervals=False)
    fit.write_axes("csv", tmp_path)
    fit.write_angles("csv", tmp_path, convention="rotvec")
    assert find_formulas(tmp_path) == []
    head, row = [
        next(csv.reader([line]))
        for line in (tmp_path / "angles.csv").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    ][:2]
    assert len(head) == len(row)


def test_the_tables_of_a_study_hold_no_formula(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "takes").mkdir()
    condyle.write_take(tmp_path / "takes" / "=1+1.npz", replace(take(2.0), names=NAMES))
    np.savez(tmp_path / "takes" / "@1+1.npz", names=["a"])
    assert main(["batch", "takes", "-o", "study", "--workers", "1", "--no-report"]) == 1
    assert find_formulas(tmp_path / "study") == []
    with open("study/limbs.csv", encoding="utf-8", newline="") as stream:
        (first, *_) = csv.DictReader(stream)
    assert (first["take"], float(first["length_m"]) > 0) == ("'=1+1", True)
