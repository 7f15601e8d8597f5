"""Fixtures for every test: seeded random numbers, and the folder of recorded data."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import zlib
from collections.abc import Generator
from pathlib import Path

if sys.dont_write_bytecode:  # hundreds of tests start a Python: what they import is compiled once, in pytest's cache
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"] = str(Path(__file__).parents[1] / ".pytest_cache/bytecode")
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # small matrices: threads only wait for each other
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background hands it on to what tests start
if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # so does nohup

import numpy as np  # noqa: E402
import pytest  # noqa: E402

from tests.make import PROJECT  # noqa: E402
from tests.make.size import CASE_STEP, SAMPLED, SIZE  # noqa: E402


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In the light size, of the cases of a test of many alike, only one in so many, and no costly test."""
    seen: dict[str, int] = {}
    kept, left = list[pytest.Item](), list[pytest.Item]()
    for item in items:
        name, _, case = item.nodeid.partition("[")
        sampled = bool(case) and name.startswith(tuple(f"tests/{place}" for place in SAMPLED))
        if sampled:
            item.add_marker("sized")
            seen[name] = seen.get(name, -1) + 1
        costly = SIZE == "light" and item.get_closest_marker("costly") is not None
        (left if costly or (sampled and seen[name] % CASE_STEP) else kept).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing is garbage while tests are collected; what is there then stays, and no later search walks it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers seeded from the test's own name: the same in every run and folder, different in every test."""
    return np.random.default_rng(zlib.crc32(request.node.name.encode()))


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a fit: a chain of four sensors, 20 s at 60 Hz, some poses missing."""
    from tests.make.fitted import fitted, take

    return fitted(tmp_path_factory.mktemp("noisy"), take(missing=0.02))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real recordings beside the project; tests that need it are skipped where it is absent."""
    folder = PROJECT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no recorded data at {folder}")
    return folder
