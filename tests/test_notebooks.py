"""Notebooks of examples/ are run cell by cell, and what their last line shows can be shown."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.make import PROJECT

NOTEBOOKS = sorted((PROJECT / "examples" / "notebooks").glob("*.ipynb"))


def run_cell(source: str, session: dict[str, object]) -> object:
    """Runs a cell and returns the value of its last line, as a notebook shows it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), session)
    return None if last is None else eval(compile(ast.Expression(last.value), "cell", "eval"), session)


@pytest.mark.costly
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_something(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (extra `notebook`)")
    pytest.importorskip("xarray", reason="xarray is not installed (extra `notebook`)")
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {}
    shown = 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [], "outputs are not kept in the repository"
        value = run_cell("".join(cell["source"]), session)
        shown += value is not None
        made = [getattr(value, name)() for name in ("_repr_html_", "_repr_png_") if hasattr(value, name)]
        assert any(made) or repr(value)
        if hasattr(value, "savefig"):
            assert made[-1].startswith(b"\x89PNG")
    assert shown >= 3
    assert list(tmp_path.iterdir()) == []


def test_there_are_three_notebooks() -> None:
    assert len(NOTEBOOKS) == 3
