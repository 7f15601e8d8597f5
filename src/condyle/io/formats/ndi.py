"""Logs of NDI trackers (Aurora, Polaris, Vega): CSV of NDI's programs and of its sample code; docs/formats/ndi.md.

Positions are millimetres and quaternions begin with the scalar, as the maker documents; neither stands in the files.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...maths.arrays import Floats
from ...model.recording import Bodies, Convention, Recording
from ..format import Format, ReadOptions
from ..tables.rows import parse_rows, truncation
from ..tables.text import decode, head_lines, read_text

HEADER = 60  # lines in which the names of the columns must stand
POSE = ("q0", "qx", "qy", "qz", "tx", "ty", "tz")
GONE = (b"missing", b"disabled")  # states whose numbers, if there are any, are old
NOWHERE = 1e20  # the device writes -3.697314e28 where it has no number
DAY = 86400.0  # s
NO_ROWS = "column names without a single whole row of numbers"
_BODY = re.compile(r"(x|y|z|qo|q0|qx|qy|qz)(\w{0,20})")
_PORT = re.compile(r"port\s{0,9}\w{1,20}\s{0,9}:", re.IGNORECASE)
_SERIAL = re.compile(r"s/n\s{0,9}:", re.IGNORECASE)


@dataclass(frozen=True)
class _Tool:
    """Name of one tool and its columns: of its pose (7), of its state or None, of its time: [s], and perhaps [ns]."""

    name: str
    pose: tuple[int, ...]
    state: int | None = None
    time: tuple[int, ...] = ()


_Places = Callable[[Sequence[bytes]], "list[_Tool] | None"]  # tools in the cells of a row; None: the row is broken


def looks_like(head: bytes) -> bool:
    """A line of column names as one of the three programs writes it."""
    return any(_kind(line) is not None for line in head_lines(head)[:HEADER])


def read(path: Path, options: ReadOptions) -> Recording:
    """The numbers; poses that were not measured (zeros, empty, out of all bounds, `Missing`) are NaN."""
    text = read_text(path)
    start = 0
    for line in range(1, HEADER + 1):
        end = text.find(b"\n", start)
        words = decode(text[start : len(text) if end < 0 else end])
        kind = _kind(words)
        if kind is not None:
            rows = b"" if end < 0 else text[end + 1 :]
            readers = {"samples": _read_samples, "tools": _read_tools, "api": _read_api}
            return readers[kind](path, _cells(words), rows, line + 1)
        if end < 0:
            break
        start = end + 1
    raise CondyleError(
        "no line of column names like `Sample:,Hour,...` or `Tools,Port 1,Frame,...` near its beginning",
        code="bad-header",
    )


def _kind(line: str) -> str | None:
    """Which program's column names a line holds: "samples", "tools", "api" or None."""
    low = line.lower()
    if "q" not in low or "," not in low:
        return None
    cells = _cells(low)
    if cells[0].lstrip("#") in ("tools", "toolcount") and "toolinfo" in cells:
        return "api" if set(POSE) <= set(cells) else None
    if cells[0] == "tools" and len(cells) > 1 and cells[1].startswith("port"):
        return "tools" if set(POSE) <= set(cells) else None
    if cells[0].rstrip(":") == "sample" and {"hour", "minutes", "seconds", "ms"} <= set(cells):
        return "samples" if any(cell.startswith(("qo", "q0")) for cell in cells) else None
    return None


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line.strip("\r\n")], skipinitialspace=True), [])] or [""]
    except csv.Error:
        return [cell.strip() for cell in line.split(",")]


def _read_samples(path: Path, header: list[str], rows: bytes, line: int) -> Recording:
    """`Sample:,Hour,Minutes,Seconds,ms,Xa,Ya,Za,qoa,qxa,qya,qza,Xb,...`: the letter behind a name tells the sensor."""
    names = header[:-1] if not header[-1] else header
    low = [name.lower() for name in names]
    bodies: dict[str, dict[str, int]] = {}
    for column, name in enumerate(names):
        told = _BODY.fullmatch(name.lower())
        if told is None:
            continue
        own = bodies.setdefault(name[len(told[1]) :], {})
        part = told[1].replace("qo", "q0")
        if part in own:
            raise CondyleError(f"a second column '{name}'", code="duplicate-column", line=line - 1, column=column + 1)
        own[part] = column
    order = ("q0", "qx", "qy", "qz", "x", "y", "z")
    for name, own in bodies.items():
        if missing := [part for part in order if part not in own]:
            raise CondyleError(f"no column '{missing[0]}{name}'", code="missing-column", line=line - 1)
    values, cut = parse_rows(rows, names, line=line)
    if not len(values):
        raise CondyleError(NO_ROWS, code="no-data", line=line)
    hour, minute, second, ms = (values[:, low.index(part)] for part in ("hour", "minutes", "seconds", "ms"))
    with np.errstate(over="ignore", invalid="ignore"):
        time = _across_midnight(hour * 3600 + minute * 60 + second + ms / 1000)
    poses = np.stack([values[:, [own[part] for part in order]] for own in bodies.values()], axis=1)
    return _recording(path, [name or "s1" for name in bodies], poses, time, cut)


def _read_tools(path: Path, header: list[str], rows: bytes, line: int) -> Recording:
    """`Tools,Port 1,Frame,Face,State,Q0,...,Error,Port 2,...`, with time and markers in newer versions."""
    low = [cell.lower() for cell in header]
    starts = [k for k, cell in enumerate(low) if cell.startswith("port")]
    tools = []
    for start, stop in zip(starts, [*starts[1:], len(low)], strict=True):
        own = low[start:stop]
        if missing := [part for part in POSE if part not in own]:
            raise CondyleError(
                f"'{header[start][:60]}' has no column {missing[0].capitalize()}", code="missing-column", line=line - 1
            )
        state = start + own.index("state") if "state" in own[: own.index("q0")] else None
        clock = tuple(start + k for k, cell in enumerate(own) if cell.startswith("time"))[:1]
        tools.append(_Tool(header[start], tuple(start + own.index(part) for part in POSE), state, clock))
    last = max(tools[-1].pose)
    values, cut = _tool_numbers(rows, lambda cells: tools if len(cells) > last else None, tools, line)
    return _from_tools(path, _short([tool.name for tool in tools]), values, cut)


def _read_api(path: Path, header: list[str], rows: bytes, line: int) -> Recording:
    """`#Tools,ToolInfo,Frame#,...`: the columns of one tool stand in the header, and a row repeats them for each tool.

    A number of markers behind each tool, four cells each, says where the next one begins.
    """
    low = [cell.lower() for cell in header]
    end = next((k for k, cell in enumerate(low) if cell.lstrip("#") == "markers"), None)
    if end is None or not set(POSE) <= set(low[1:end]):
        raise CondyleError("no column Markers behind the pose", code="missing-column", line=line - 1)
    block = low[1:end]
    pose = tuple(block.index(part) for part in POSE)
    state = next((k for k, cell in enumerate(block) if cell in ("transformstatus", "state", "status")), None)
    clock = tuple(block.index(part) for part in ("timespec_s", "timespec_ns") if part in block)

    known: dict[int, tuple[list[tuple[int, bytes]], list[_Tool]]] = {}  # rows of one length are mostly alike

    def places(cells: Sequence[bytes]) -> list[_Tool] | None:
        if len(cells) in known and all(cells[column] == count for column, count in known[len(cells)][0]):
            return known[len(cells)][1]
        tools, counts, start = [], [], 1
        while start + len(block) < len(cells):
            column = start + len(block)
            markers = cells[column].strip()
            if not markers.isdigit() or len(markers) > 4:
                return None
            moved = [tuple(start + k for k in part) for part in (pose, clock)]
            own_state = None if state is None else start + state
            tools.append(_Tool(decode(cells[start]).strip(), moved[0], own_state, moved[1]))
            counts.append((column, cells[column]))
            start = column + 1 + 4 * int(markers)
        known[len(cells)] = counts, tools
        return tools or None

    first = next((words for words in rows.split(b"\n", 50)[:50] if words.strip()), b"")
    tools = places(first.split(b","))
    if tools is None:
        raise CondyleError(NO_ROWS, code="no-data", line=line)
    values, cut = _tool_numbers(rows, places, tools, line)
    return _from_tools(path, [tool.name for tool in tools], values, cut)


def _tool_numbers(rows: bytes, places: _Places, tools: Sequence[_Tool], line: int) -> tuple[tuple[Floats, Floats], int]:
    """Poses (n, m, 7), clock (n, 0 | 1 | 2), and whether the last row was cut; raises where another row is broken.

    Most cells are words: the numbers are picked out and then read as one plain table.
    """
    whole, newline, tail = rows.rpartition(b"\n")
    lines = (whole + newline).rstrip(b"\n \t").split(b"\n")
    cut = bool(tail.strip())
    out: list[bytes] = []
    for k, words in enumerate(lines):
        if not words.strip():
            out.append(b"")
            continue
        cells = words.split(b",") if b'"' not in words else [cell.encode() for cell in _cells(decode(words))]
        here = places(cells)
        if here is None or len(here) != len(tools):
            if k < len(lines) - 1:
                text = f"{len(cells)} cells do not hold the poses of {len(tools)} tools"
                raise CondyleError(text, code="ragged-row", line=line + k, column=len(cells))
            cut = True
            break
        out.append(_plain(cells, here))
    names = [f"{part} of {tool.name[:40]}" for tool in tools for part in POSE] + ["time"] * len(tools[0].time)
    try:
        values, short = parse_rows(b"".join(words + b"\n" for words in out), names, line=line)
    except CondyleError as error:  # its column counts the picked cells
        wanted = [column for tool in tools for column in tool.pose] + list(tools[0].time)
        column = None if error.column is None else wanted[min(error.column, len(wanted)) - 1] + 1
        raise CondyleError(error.text, code=error.code, line=error.line, column=column) from None
    if not len(values):
        raise CondyleError(NO_ROWS, code="no-data", line=line)
    poses = values[:, : 7 * len(tools)].reshape(len(values), len(tools), 7)
    return (poses, values[:, 7 * len(tools) :]), cut or short


def _plain(cells: Sequence[bytes], tools: Sequence[_Tool]) -> bytes:
    """The numbers of a row: the poses, empty where the tool's state says that there is none, then the first clock."""
    numbers: list[bytes] = []
    for tool in tools:
        gone = tool.state is not None and cells[tool.state].strip().lower() in GONE
        numbers += [b""] * 7 if gone else [cells[column] for column in tool.pose]
    numbers += [cells[column] for column in tools[0].time]
    return b",".join(numbers)


def _from_tools(path: Path, names: Sequence[str], values: tuple[Floats, Floats], cut: int) -> Recording:
    poses, clock = values
    time = None
    if clock.shape[1]:
        time = clock[:, 0] + (1e-9 * clock[:, 1] if clock.shape[1] > 1 else 0.0)
        time = time if np.isfinite(time).all() and (len(time) < 2 or np.ptp(time) > 0) else None
    return _recording(path, names, poses, time, cut)


def _recording(path: Path, names: Sequence[str], poses: Floats, time: Floats | None, cut: int) -> Recording:
    """From q0 qx qy qz x y z (n, m, 7)."""
    for name in names:
        if names.count(name) > 1:
            text = f"two tools are named '{name[:60]}'; names must differ"
            raise CondyleError(text, code="duplicate-name", body=name)
    with np.errstate(invalid="ignore"):
        gone = (poses[..., :4] == 0).all(axis=2) | (np.abs(poses) > NOWHERE).any(axis=2)
    poses = np.where(gone[..., None], np.nan, poses)
    return Recording(
        str(path),
        "ndi",
        bodies=Bodies(tuple(names), poses[..., 4:], poses[..., :4]),
        time=time,
        convention=Convention("wxyz", unit="mm"),
        facts={
            "length": "mm, by custom",
            "rotation": "quaternion wxyz, by custom",
            "clock": "none" if time is None else "s",
        },
        findings=tuple(truncation(len(poses), None, cut)),
    )


def _across_midnight(time: Floats) -> Floats:
    """Time of day [s] that goes on counting past midnight."""
    with np.errstate(invalid="ignore", over="ignore"):
        return time + DAY * np.concatenate([[0], np.cumsum(np.diff(time) < -DAY / 2)])


def _short(cells: Sequence[str]) -> list[str]:
    """Names of tools without port and serial number, where they stay different: `Port 1: Probe  s/n:3E` is Probe."""
    names = []
    for cell in cells:
        port = _PORT.match(cell)
        name = _SERIAL.split(cell[port.end() :], maxsplit=1)[0].strip() if port else ""
        names.append(name or cell)
    return names if len(set(names)) == len(names) else list(cells)


FORMAT = Format("ndi", "NDI tracker log", looks_like, read)
