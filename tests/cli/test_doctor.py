from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from condyle import Take, write_take
from condyle.cli import main
from condyle.simulate import Disturbances, linkage, simulate


@pytest.fixture(scope="module")
def take() -> Take:
    noise = Disturbances(position_noise=0.001, orientation_noise=0.003)
    return simulate(linkage(), seconds=10, seed=2, disturbances=noise).take


def test_a_right_reading_is_confirmed(take: Take, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_take(tmp_path / "take.csv", take)
    assert main(["doctor", str(tmp_path / "take.csv")]) == 0
    text = capsys.readouterr().out
    assert ": confirmed by the motion" in text.splitlines()[0]
    assert "in use" in text


def test_a_wrong_one_is_told_with_the_option_that_puts_it_right(
    take: Take, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    turned = Take(take.names, take.time, np.swapaxes(take.R_world_body, -1, -2), take.p_world_body)
    write_take(tmp_path / "take.csv", turned)
    assert main(["doctor", str(tmp_path / "take.csv"), "--json", "--strict"]) == 3
    facts = json.loads(capsys.readouterr().out)
    assert facts["verdict"] == "other"
    assert facts["text"].endswith("say --transposed")
    assert facts["ranking"][0]["transposed"]
    assert facts["ranking"][0]["times"] == 1


def test_one_body_cannot_be_compared(take: Take, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_take(tmp_path / "one.npz", take.select(["head"]))
    assert main(["doctor", str(tmp_path / "one.npz")]) == 1
    assert "nothing to compare" in capsys.readouterr().err
