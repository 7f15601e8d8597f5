"""USD with UsdSkel: a skeleton per tree, its motion, and the shapes that show it, in metres. Needs usd-core.

docs/exports/usd.md describes what is written.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from ...errors import CondyleError
from .scene import FigureFormat, Scene, Written, number_file

USD_FIRST_LETTER, USD_LETTERS = r"[A-Za-z_]", r"[A-Za-z0-9_]"  # of an identifier, which the names of USD are
USD_UPS = ("y", "z")  # that a stage may have


def check_usd(scene: Scene) -> None:
    """Raises where usd-core is not installed."""
    if find_spec("pxr") is None:
        raise CondyleError('USD is written with usd-core: pip install "condyle[usd]"', code="missing-extra")


def write_usd(scene: Scene, path: Path) -> Written:
    """`path` for the first segment, its stem with a number for others; every tree is in each."""
    check_usd(scene)
    from ._usd_stage import write_stage

    figure = scene.figure.rename(USD_LETTERS, USD_FIRST_LETTER, form="USD")
    figure = (figure if figure.up in USD_UPS else figure.turn_up("z")).fill_gaps()
    files = []
    for number, clip in enumerate(figure.clips(), start=1):
        file = number_file(path, number)
        write_stage(clip, file)
        files.append(file)
    return Written(tuple(files), figure.findings)


FORMAT = FigureFormat("usd", "USD with UsdSkel, metres", ".usd", write_usd, check_usd)
