"""Programs of others, each in an environment of its own, so that nothing of theirs has to agree with ours.

CONDYLE_MUJOCO and CONDYLE_BIOBUDDY name the python of such an environment; BioBuddy's is made with uv without it.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

PATIENCE = 900  # s


def python_of(name: str) -> Path | None:
    """The python of a client; None where there is no environment with it."""
    given = os.environ.get(f"CONDYLE_{name.upper()}")
    if given:
        return Path(given)
    if name == "biobuddy":
        from ..speed import biobuddy_python

        return biobuddy_python()
    return None


def version_of(python: Path, package: str) -> str:
    """The version of a package in another environment."""
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def ask(python: Path, script: str, facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[Any, dict[str, Any]]:
    """Runs a script of this folder in another environment: what it answers as JSON, and the arrays that it wrote.

    The script is called with three files: facts.json, in.npz, and out.npz to write; it prints JSON as its last line.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("facts.json", "in.npz", "out.npz")]
        paths[0].write_text(json.dumps(facts))
        np.savez(paths[1], **arrays)
        command = [str(python), str(Path(__file__).with_name(script)), *map(str, paths)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env=kept, check=False)
        if done.returncode:
            raise RuntimeError(f"{script} failed:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        written = dict(np.load(paths[2])) if paths[2].is_file() else {}
    return answer, written
