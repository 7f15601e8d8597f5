"""Damage that leaves a file sound as such, and what every command owes to whoever gives it."""

from __future__ import annotations

import contextlib
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

TEXTS = (".bvh", ".osim", ".mot", ".sto", ".trc", ".xml", ".urdf", ".csv", ".json")


def damage_arrays(raw: bytes, rng: np.random.Generator) -> bytes:
    """A motion.npz that is sound as a file, with numbers that no fit writes in one or two of its arrays."""
    with np.load(io.BytesIO(raw)) as archive:
        arrays: dict[str, Any] = dict(archive)
    for name in rng.choice(list(arrays), int(rng.integers(1, 3)), replace=False):
        values = np.array(arrays[name])
        how = int(rng.integers(7))
        if how == 0:
            arrays.pop(name, None)
        elif how == 1:
            arrays[name] = values[..., : values.shape[-1] // 2] if values.ndim else values
        elif how == 2:
            arrays[name] = (
                values.astype(rng.choice(["f4", "i8", "U3", "c16", "?"])) if values.dtype.kind in "fi" else values
            )
        elif how == 3 and values.ndim:
            arrays[name] = values[::-1]
        elif values.dtype.kind == "f" and values.size:
            some = rng.random(values.shape) < rng.choice([0.01, 0.3, 1.0])
            values[some] = rng.choice([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e-320, 1e11, 1e30, 1e300])
            arrays[name] = values
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def damage_json(raw: bytes, rng: np.random.Generator) -> bytes:
    """JSON that is sound as such, with values that no fit writes in one to three of its places."""
    content = json.loads(raw)
    places = list_places(content)
    for k in rng.integers(len(places), size=int(rng.integers(1, 4))):
        outer, key = places[k]
        value = outer[key]
        odd: list[Any] = [None, -1, 1e300, 10**30, "", [], {}, True, [value, value]]
        if isinstance(value, int | float) and rng.random() < 0.8:  # another number
            odd = [0, -value, value * 1e3, value * 1e-3, value + 1, value * 1.01, 1e-320, 1e11]
        elif isinstance(value, str) and rng.random() < 0.8:  # another word of the same file
            odd = [there[at] for there, at in places if isinstance(there[at], str)]
        outer[key] = odd[rng.integers(len(odd))]
    return json.dumps(content).encode()


def list_places(content: Any) -> list[tuple[Any, Any]]:
    """Every (list or table, index or key) in JSON."""
    if not isinstance(content, dict | list):
        return []
    keys = list(content) if isinstance(content, dict) else range(len(content))
    return [(content, key) for key in keys] + [place for key in keys for place in list_places(content[key])]


def show(words: list[str]) -> None:
    """A command as a user gives it: it ends as it should, and a fault is one sentence."""
    from condyle import CondyleError
    from condyle.cli import main

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    failed = [line for line in out.getvalue().splitlines() if " failed" in line]  # takes of a study
    said = err.getvalue() or "\n".join(failed)
    if status not in (0, 1, 2, 3) or "Traceback" in said or (status in (1, 2) and not said.strip()):
        raise AssertionError(f"condyle {words[0]} ended with {status}: {said[-2000:]}")
    check_printed(out.getvalue())
    if status in (1, 2):
        raise CondyleError(said.strip(), code="refused")


def check_printed(text: str) -> None:
    """No number that is none is printed; a damaged name in quotes, or what a file says of itself, may have the word."""
    ours = re.sub(r"(?m)^the file says: .*$", "", text)
    unquoted = re.sub(r"(?<!\w)'[^'\n]*'(?!\w)", "", ours)  # an apostrophe of a plural opens no quote
    if re.search(r"(?<![\w+-])[+-]?(nan|inf)\b", unquoted):
        raise AssertionError(f"nan is printed: {text}")


def check_written(folder: Path) -> None:
    """No text that was written holds a number that is none; damaged names, and sentences in JSON, may have the word."""
    for file in folder.rglob("*"):
        data = file.read_bytes() if file.suffix in TEXTS else b""
        numbers = re.sub(rb'"(?:[^"\\]|\\.)*"', b"", data) if file.suffix == ".json" else data
        if re.search(rb"(?i)(?<![a-z_.])(?<!\w-)-?(nan|inf|infinity)(?![a-z_])", numbers):
            raise AssertionError(f"{file.name} holds nan or inf")
