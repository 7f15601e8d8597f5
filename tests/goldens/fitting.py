"""The one place where these tests meet the program: a take is made, fitted, and comes back as plain numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import condyle

ROUNDING = 2.0**-52  # a double's last digit, relative


@dataclass(frozen=True)
class Case:
    """A take with the options of its fit.

    make   gives the take; it may raise the error that the program has for a file
    files  recordings beside the project that it is read from; none of a simulated world
    """

    name: str
    make: Callable[[], condyle.Take]
    options: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[Path, ...] = ()


def read_take(paths: Sequence[Path], columns: str = "", **options: Any) -> condyle.Take:
    """The take in files; `columns` is the text of a map of columns."""
    with TemporaryDirectory() as folder:
        if columns:
            map_file = Path(folder) / "map.toml"
            map_file.write_text(columns)
            options["columns"] = map_file
        return condyle.read(paths, **options)


def fit_take(case: Case, jitter: int | None = None) -> dict[str, Any]:
    """The fields of skeleton.json, or {"error": code} where the take is refused.

    jitter  seed of a change of the poses in their last digit
    """
    try:
        take = case.make()
        if jitter is not None:
            take = _jittered(take, np.random.default_rng(jitter))
        fitted = condyle.fit(take, **case.options)
    except condyle.CondyleError as error:
        return {"error": error.code}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "skeleton.json"
        condyle.write_skeleton(path, fitted.skeleton)
        facts: dict[str, Any] = json.loads(path.read_text())
    return facts


def _jittered(take: condyle.Take, rng: np.random.Generator) -> condyle.Take:
    """Each coordinate of a body by the same factor in all frames, so that samples that repeat still do."""

    def changed(values: np.ndarray) -> np.ndarray:
        return values * (1 + ROUNDING * rng.choice([-2, -1, 1, 2], values.shape[1:]))

    return replace(take, R_world_body=changed(take.R_world_body), p_world_body=changed(take.p_world_body))
