"""What docs/faults.md promises of spoilt takes, names and options is what a user reads, word by word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import CondyleError
from condyle.cli import main
from condyle.io.folder import check_name
from condyle.model.clock import describe_clock_unit, in_order
from condyle.model.options import FitOptions
from condyle.model.take import Take
from condyle.pipeline import PLAN_OF, run
from condyle.prepare.dropouts import prepare
from tests.make import PROJECT
from tests.make.fitted import fitted, take

PAGE = (PROJECT / "docs" / "faults.md").read_text(encoding="utf-8")
STEADY = np.arange(60) / 30.0


def select(columns: list[int]) -> Take:
    one = take(1.0).slice(0, 60)
    names = ("a", "b", "c", "d")[: len(columns)]
    return Take(names, one.time, one.R_world_body[:, columns], one.p_world_body[:, columns])


def lose_poses() -> Take:
    one = take(2.0, names=("a", "b", "c", "l_hand"))
    p = one.p_world_body.copy()
    p[:41, 3] = 1e11
    return replace(one, p_world_body=p)


def fit_apart() -> list[condyle.Finding]:
    one = take(2.0)
    return list(run(replace(one, segment=np.arange(one.frames)), FitOptions(intervals=False)).findings)


FOUND: dict[str, tuple[str, Callable[[], list[condyle.Finding]]]] = {
    "B39": ("time-backwards", lambda: in_order(STEADY[::-1], None, 60)[3]),
    "B41": ("clock-origin", lambda: in_order(STEADY + 1686000000.25, None, 60)[3]),
    "B42": ("checks-left-out", fit_apart),
    "B43": ("clock-unit", lambda: describe_clock_unit(np.arange(60) * 5e-324, None)),
    "B55": ("dropout", lambda: list(prepare(lose_poses()).findings)),
    "B57": ("clock-unit", lambda: describe_clock_unit(STEADY / 3600, None)),
}
REFUSED: dict[str, Callable[[], object]] = {
    "B45": lambda: run(select([0, 0, 1]), FitOptions(), plan=PLAN_OF["default"]),
    "B58": lambda: check_name("CON"),
    "B62": lambda: condyle.fit(take(2.0, names=("a", "b", "c", "l_thigh")), intervals=False).retarget(
        {"l_thigh": 1e300}
    ),
}


def row_of(number: str) -> str:
    return next(line for line in PAGE.splitlines() if line.startswith(f"| {number} "))


@pytest.mark.parametrize("number", FOUND)
def test_a_finding_is_as_promised(number: str) -> None:
    code, find = FOUND[number]
    texts = [finding.text for finding in find() if finding.code == code]
    assert f'"{texts[0]}"' in row_of(number)
    assert f"`{code}`" in row_of(number)


@pytest.mark.parametrize("number", REFUSED)
def test_a_refusal_is_as_promised(number: str) -> None:
    with pytest.raises(CondyleError) as error:
        REFUSED[number]()
    assert f'"{error.value.text}"' in row_of(number)


def test_files_of_a_fit_are_safe_as_promised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(fitted(tmp_path / "out", take(2.0), intervals=False))
    before = (tmp_path / "out" / "skeleton.json").read_bytes()
    for number, words in {
        "B58": ["angles", out, "--name", "skeleton"],
        "B59": ["report", out, "-o", f"{out}/skeleton.json"],
    }.items():
        assert main(words) in (1, 2)
        said = capsys.readouterr().err.strip().rpartition(": ")[2]
        assert said in row_of(number)
    assert (tmp_path / "out" / "skeleton.json").read_bytes() == before
