"""A recording and its fit, for the tests of what the library does with them."""

from __future__ import annotations

from pathlib import Path

import pytest

import condyle
from condyle.report import page as pages
from condyle.simulate import Disturbances, linkage, simulate

NOISE = Disturbances(position_noise=0.002, orientation_noise=0.005, missing=0.05)
TEMPLATE = b"<!doctype html><head></head>" + pages.DATA_PLACE


@pytest.fixture(autouse=True)
def _template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)


@pytest.fixture(scope="package")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "take.npz"
    condyle.write_take(path, simulate(linkage(), seconds=8, seed=3, disturbances=NOISE).take)
    return path


@pytest.fixture(scope="package")
def fit(recording: Path) -> condyle.Fit:
    return condyle.fit(recording, intervals=False, up="z")
