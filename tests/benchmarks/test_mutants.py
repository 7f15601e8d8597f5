"""Mutants: the tests that a changed number meets are those of every function that reads it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.mutants import users_of_names


def test_a_number_is_read_by_functions_that_name_it_also_as_a_default_or_through_another(tmp_path: Path) -> None:
    (tmp_path / "room.py").write_text(
        "FEW = 3\nMANY = 10 * FEW\n"
        "def look(most=MANY):\n    return most\n"
        "def thin(*, least=FEW):\n    return least\n"
        "def count():\n    return MANY\n"
    )
    users = users_of_names(tmp_path)
    assert users["MANY"] == {"room.py:look", "room.py:count"}
    assert users["FEW"] == {"room.py:thin", "room.py:look", "room.py:count"}
