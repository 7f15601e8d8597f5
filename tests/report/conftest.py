"""A fit that several tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.make.fitted import fitted, take


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a chain of four sensors, 20 s at 60 Hz, some poses missing."""
    return fitted(tmp_path_factory.mktemp("noisy"), take(missing=0.02))
