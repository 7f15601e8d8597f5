"""Small sound files of every text format, those of the formats' own tests, and the program run on what became of them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from condyle.io import formats as readers

from .takes import Answer, condyle

BINARY = ("npz", "c3d", "rosbag", "parquet", "matlab", "gltf", "session_log")
TEXT = tuple(name for name in readers._MODULES if name not in BINARY)
WIDE = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Seed:
    """One variant of a text format.

    separator  of its cells, None for blanks
    rows       lines of numbers at its end, in the file's last lines
    time       column of the time, or None where a row has none
    number     column of a number of a pose
    """

    format: str
    variant: str
    separator: str | None = ","
    rows: int = 3
    time: int | None = 0
    number: int = 2

    def __str__(self) -> str:
        return f"{self.format}: {self.variant}"

    @property
    def tests(self) -> ModuleType:
        return import_module(f"tests.io.formats.test_{self.format}")

    @property
    def lines(self) -> list[str]:
        """Without line ends and without blank lines at the end."""
        raw: bytes = self.tests.SMALL[self.variant]
        return raw.decode().rstrip("\n").split("\n")

    def line(self, row: int) -> int:
        """0-based line of a row of numbers."""
        return len(self.lines) - self.rows + row

    def cells(self, row: int) -> list[str]:
        return self.lines[self.line(row)].split(self.separator)

    def but(self, row: int, column: int, cell: str) -> list[str]:
        """The lines with another cell in one place."""
        cells = self.cells(row)
        cells[column] = cell
        lines = self.lines
        lines[self.line(row)] = (self.separator or " ").join(cells)
        return lines


# The table-like ones: a row of numbers per frame.
ROWS = (
    Seed("csv", "whole", number=-2),
    Seed("csv", "no header", number=-2),
    Seed("motive", "rigid bodies", time=1, number=6),
    Seed("motive", "bones", time=1, number=6),
    Seed("qualisys", "bodies", "\t", time=1, number=3),
    Seed("qualisys", "skeleton", "\t", rows=2, time=1, number=4),
    Seed("vicon", "objects", number=5),
    Seed("vicon", "quaternions", number=5),
    Seed("opensim", "BodyKinematics", "\t", number=3),
    Seed("tum", "plain", " ", rows=4),
    Seed("vr", "Unity", rows=6),
    Seed("vr", "OpenVR", rows=6),
    Seed("ascension", "wide"),
    Seed("ascension", "blocks", rows=4, time=7),
    Seed("polhemus", "named", number=10),
    Seed("ndi", "samples", rows=4, time=4, number=6),
    Seed("columns", "header", time=None),
    Seed("bvh", "plain", " ", time=None),
    Seed("qualisys", "markers", "\t", time=None, number=3),
    Seed("trc", "tabs", "\t", time=None, number=3),
    Seed("marker_table", "time", rows=4, time=None),
    Seed("segment_table", "comments", rows=120, time=None),
)


def all_variants() -> list[tuple[str, str]]:
    """Every variant of every text format that is written in bytes of ASCII or UTF-8."""
    found = []
    for name in TEXT:
        small: dict[str, bytes] = import_module(f"tests.io.formats.test_{name}").SMALL
        for variant, raw in small.items():
            if raw[:2] not in WIDE and (name, variant) != ("amc", "skeleton"):
                found.append((name, variant))
    return found


def info(folder: Path, format: str, raw: bytes, name: str = "case.dat", *words: str) -> Answer:
    """`condyle info --json` on these bytes, with the file that such a file needs beside it."""
    tests = import_module(f"tests.io.formats.test_{format}")
    (folder / name).write_bytes(raw)
    more = list(words)
    if format == "columns":
        (folder / "map.toml").write_text(tests.SMALL_MAP)
        more += ["--columns", str(folder / "map.toml")]
    if format == "amc":
        (folder / f"{Path(name).stem}.asf").write_bytes(tests.SMALL["skeleton"])
    return condyle("info", str(folder / name), "--json", *more)


def told(answer: Answer) -> tuple[int, dict[str, object]]:
    """Exit status and facts, but for the file's name."""
    facts = dict(answer.facts["files"][0])
    facts.pop("path")
    return answer.status, facts


@cache
def plain(format: str, variant: str) -> tuple[int, dict[str, object]]:
    """The same of a file as it is."""
    with tempfile.TemporaryDirectory() as folder:
        return told(info(Path(folder), format, import_module(f"tests.io.formats.test_{format}").SMALL[variant]))


def joined(lines: list[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode()
