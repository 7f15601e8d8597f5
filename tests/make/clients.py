"""Programs that open what condyle writes, each in an environment of its own, found through an environment variable.

CONDYLE_BLENDER, CONDYLE_MUJOCO, CONDYLE_PINOCCHIO, CONDYLE_OPENSIM, CONDYLE_USD, CONDYLE_BIOBUDDY and
CONDYLE_MOTIONCAPTURE name the python of an environment that has bpy, mujoco, pin, opensim, usd-core, biobuddy,
motioncapture; CONDYLE_GLTF names a folder whose node_modules holds gltf-validator, three, three-vrm; CONDYLE_IGTL one
with the servers TrackerServer and TrackingDataServer of OpenIGTLink's examples.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

PATIENCE = 300  # s that a client may take, start included


def client(name: str) -> Path:
    """The python, or the folder, of a client; the test is skipped with the reason where it is not set up."""
    variable = f"CONDYLE_{name.upper()}"
    path = os.environ.get(variable)
    if not path:
        pytest.skip(f"{variable} names no environment with {name}")
    if not Path(path).exists():
        pytest.fail(f"{variable} is {path}, which does not exist")
    return Path(path)


def ask(name: str, script: str, facts: Any) -> Any:
    """What a python script prints as its last line, as JSON, when it is run by a client with `facts` on its input.

    The script sees them as `facts` and calls `answer(...)`; the client may print whatever it likes before.
    """
    program = [str(client(name)), "-c", HEAD + script]
    return _answer(program, facts, None)


def ask_node(name: str, script: str, facts: Any) -> Any:
    """The same for a script of node.js, which is run in the client's folder."""
    folder = client(name)
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    return _answer([node, "-e", NODE_HEAD + script], facts, folder)


HEAD = """
import json, sys
facts = json.loads(sys.stdin.read())
def answer(value):
    print("\\nANSWER " + json.dumps(value), flush=True)
"""
NODE_HEAD = """
const facts = JSON.parse(require("fs").readFileSync(0, "utf8"));
const answer = (value) => console.log("\\nANSWER " + JSON.stringify(value));
"""


def _answer(program: list[str], facts: Any, folder: Path | None) -> Any:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            program,
            input=json.dumps(facts),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            cwd=folder or home,
            env=kept,
        )
    told = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    shown = f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    assert done.returncode == 0, shown
    assert told, shown
    return json.loads(told[-1].removeprefix("ANSWER "))
