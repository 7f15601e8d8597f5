"""Every numbered example runs from a fresh folder; what needs another program is left out where that is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.make import PROJECT

EXAMPLES = sorted((PROJECT / "examples").glob("[0-9][0-9]_*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_says_what_it_wrote(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example), str(tmp_path / "out")], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    assert done.stdout.strip()
    assert list((tmp_path / "out").rglob("skeleton.json"))
    assert [file.name for file in tmp_path.iterdir()] == ["out"], "nothing is left anywhere else"
