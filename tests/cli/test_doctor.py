from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from condyle import Take, write_take
from condyle.cli import main
from condyle.simulate import Disturbances, human, linkage, simulate
from tests.make.moving import two_hands


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


def test_where_nothing_is_joined_no_reading_is_advised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rng: np.random.Generator
) -> None:
    for _ in range(5):
        write_take(tmp_path / "hands.npz", two_hands(rng))
        assert main(["doctor", str(tmp_path / "hands.npz"), "--json", "--strict"]) == 3
        facts = json.loads(capsys.readouterr().out)
        assert facts["verdict"] in ("unjoined", "untested")
        assert "say --" not in facts["text"]
        if facts["verdict"] == "unjoined":
            assert "turn about no points that they share" in facts["text"]


def test_one_body_cannot_be_compared(take: Take, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_take(tmp_path / "one.npz", take.select(["head"]))
    assert main(["doctor", str(tmp_path / "one.npz")]) == 1
    assert "nothing to compare" in capsys.readouterr().err


@pytest.mark.costly
def test_a_person_whose_sides_are_exchanged_is_told_mirrored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    person = simulate(human(), "walk", seconds=6, seed=2).take
    other = {"l_": "r_", "r_": "l_"}
    write_take(tmp_path / "right.npz", person)
    names = tuple(other.get(name[:2], name[:2]) + name[2:] for name in person.names)
    write_take(tmp_path / "wrong.npz", replace(person, names=names))
    assert main(["doctor", str(tmp_path / "right.npz"), "--strict"]) == 0
    assert "knees bend forwards" not in capsys.readouterr().out
    assert main(["doctor", str(tmp_path / "wrong.npz"), "--strict"]) == 3
    assert "knees bend forwards" in capsys.readouterr().out


def test_a_person_who_cannot_be_fitted_is_diagnosed_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    take = simulate(human(), seconds=10, seed=3, disturbances=Disturbances(0.001, 0.003)).take
    R, p = take.R_world_body.copy(), take.p_world_body.copy()
    left, right = take.index("l_hand"), take.index("r_hand")
    R[:, right], p[:, right] = R[:, left], p[:, left]
    write_take(tmp_path / "twins.csv", replace(take, R_world_body=R, p_world_body=p))
    assert main(["doctor", str(tmp_path / "twins.csv")]) == 0
    assert "confirmed by the motion" in capsys.readouterr().out
