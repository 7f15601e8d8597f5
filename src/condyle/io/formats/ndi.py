"""Logs of NDI trackers (Aurora, Polaris, Vega): CSV of NDI's programs and of its sample code; docs/formats/ndi.md.

Positions are millimetres and quaternions begin with the scalar, as the maker documents; neither stands in the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from ...errors import CondyleError
from ...maths.arrays import Bools, Floats
from ...maths.spool import hide, over_frames
from ...model.recording import Bodies, Convention, Recording
from ...model.values import dataclass
from ..format import Format, ReadOptions
from ..tables.rows import describe_truncation, parse_picked, read_cells, split_cells, strip_empty, take_columns
from ..tables.sensors import ABSURD_NUMBER
from ..tables.table import Table
from ..tables.text import as_bytes, decode, first_block, read_head_lines, read_text, walk_lines

NDI_HEADER_LINES = 60  # lines in which the names of the columns must stand
NDI_POSE = ("q0", "qx", "qy", "qz", "tx", "ty", "tz")
GONE_STATES = (b"missing", b"disabled")  # states whose numbers, if there are any, are old
DAY_S = 86400.0  # s
NO_NDI_ROWS = "column names without a single whole row of numbers"
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
    return any(_find_kind(line) is not None for line in read_head_lines(head)[:NDI_HEADER_LINES])


def read(path: Path, options: ReadOptions) -> Recording:
    """The numbers; poses that were not measured (zeros, empty, out of all bounds, `Missing`) are NaN."""
    text = read_text(path)
    for line, raw, after in islice(walk_lines(text), NDI_HEADER_LINES):
        kind = _find_kind(decode(raw))
        if kind is not None:
            names = tuple(strip_empty(read_cells(raw, b",")))
            table = Table(names, text[after:], line + 1, names_line=line)
            return {"samples": _read_samples, "tools": _read_tools, "api": _read_api}[kind](table)
    fault = "no line of column names like `Sample:,Hour,...` or `Tools,Port 1,Frame,...` near its beginning"
    raise CondyleError(fault, code="bad-header")


def _find_kind(line: str) -> str | None:
    """Which program's column names a line holds: "samples", "tools", "api" or None."""
    low = line.lower()
    if "q" not in low or "," not in low:
        return None
    cells = read_cells(low, b",")
    if cells[0].lstrip("#") in ("tools", "toolcount") and "toolinfo" in cells:
        return "api" if set(NDI_POSE) <= set(cells) else None
    if cells[0] == "tools" and len(cells) > 1 and cells[1].startswith("port"):
        return "tools" if set(NDI_POSE) <= set(cells) else None
    if cells[0].rstrip(":") == "sample" and {"hour", "minutes", "seconds", "ms"} <= set(cells):
        return "samples" if any(cell.startswith(("qo", "q0")) for cell in cells) else None
    return None


def _read_samples(table: Table) -> Recording:
    """`Sample:,Hour,Minutes,Seconds,ms,Xa,Ya,Za,qoa,qxa,qya,qza,Xb,...`: the letter behind a name tells the sensor."""
    low = [name.lower() for name in table.names]
    bodies: dict[str, dict[str, int]] = {}
    for column, name in enumerate(low):
        if part := _BODY.fullmatch(name):
            own = bodies.setdefault(table.names[column][len(part[1]) :], {})
            if own.setdefault(part[1].replace("qo", "q0"), column) != column:
                text = f"a second column '{table.names[column]}'"
                raise CondyleError(text, code="duplicate-column", line=table.names_line, column=column + 1)
    order = ("q0", "qx", "qy", "qz", "x", "y", "z")
    for name, own in bodies.items():
        if missing := [part for part in order if part not in own]:
            raise CondyleError(f"no column '{missing[0]}{name}'", code="missing-column", line=table.names_line)
    values, cut = table.numbers(empty=NO_NDI_ROWS)
    hour, minute, second, ms = (values[:, low.index(part)] for part in ("hour", "minutes", "seconds", "ms"))
    with np.errstate(over="ignore", invalid="ignore"):
        time = hour * 3600 + minute * 60 + second + ms / 1000
        time += DAY_S * np.concatenate([[0], np.cumsum(np.diff(time) < -DAY_S / 2)])  # on past midnight
    poses = take_columns(values, [[own[part] for part in order] for own in bodies.values()])
    return _make_recording([name or "s1" for name in bodies], poses, time, cut)


def _read_tools(table: Table) -> Recording:
    """`Tools,Port 1,Frame,Face,State,Q0,...,Error,Port 2,...`, with time and markers in newer versions."""
    low = [cell.lower() for cell in table.names]
    starts = [k for k, cell in enumerate(low) if cell.startswith("port")]
    tools = []
    for start, stop in zip(starts, [*starts[1:], len(low)], strict=True):
        own = low[start:stop]
        if missing := [part for part in NDI_POSE if part not in own]:
            text = f"'{table.names[start][:60]}' has no column {missing[0].capitalize()}"
            raise CondyleError(text, code="missing-column", line=table.names_line)
        state = start + own.index("state") if "state" in own[: own.index("q0")] else None
        clock = tuple(start + k for k, cell in enumerate(own) if cell.startswith("time"))[:1]
        tools.append(_Tool(table.names[start], tuple(start + own.index(part) for part in NDI_POSE), state, clock))
    last = max(tools[-1].pose)
    names = _shorten_names([tool.name for tool in tools])
    return _read_picked(names, table, lambda cells: tools if len(cells) > last else None, tools)


def _read_api(table: Table) -> Recording:
    """`#Tools,ToolInfo,Frame#,...`: the columns of one tool stand in the header, and a row repeats them for each tool.

    A number of markers behind each tool, four cells each, says where the next one begins.
    """
    low = [cell.lower() for cell in table.names]
    end = next((k for k, cell in enumerate(low) if cell.lstrip("#") == "markers"), None)
    if end is None or not set(NDI_POSE) <= set(low[1:end]):
        raise CondyleError("no column Markers behind the pose", code="missing-column", line=table.names_line)
    block = low[1:end]
    pose = tuple(block.index(part) for part in NDI_POSE)
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

    first = next((words for words in first_block(table.rows).split(b"\n", 50)[:50] if words.strip()), b"")
    tools = places(first.split(b","))
    if tools is None:
        raise CondyleError(NO_NDI_ROWS, code="no-data", line=table.line)
    return _read_picked([tool.name for tool in tools], table, places, tools)


def _read_picked(names: Sequence[str], table: Table, places: _Places, tools: Sequence[_Tool]) -> Recording:
    """Most cells are words: the numbers are picked out and then read as one plain table."""

    def pick(raw: bytes) -> list[bytes]:
        """The poses, empty where the tool's state says that there is none, then the first clock."""
        cells = split_cells(raw, b",")
        here = places(cells)
        if here is None or len(here) != len(tools):
            text = f"{len(cells)} cells do not hold the poses of {len(tools)} tools"
            raise CondyleError(text, code="ragged-row", column=len(cells))
        numbers: list[bytes] = []
        for tool in here:
            gone = tool.state is not None and cells[tool.state].strip().lower() in GONE_STATES
            numbers += [b""] * 7 if gone else [cells[column] for column in tool.pose]
        return numbers + [cells[column] for column in here[0].time]

    labels = [f"{part} of {tool.name[:40]}" for tool in tools for part in NDI_POSE] + ["time"] * len(tools[0].time)
    columns = [column for tool in tools for column in tool.pose] + list(tools[0].time)
    end = table.rows.rfind(b"\n") + 1
    tail = as_bytes(table.rows[end:])
    values, cut = parse_picked(table.rows[:end], pick, labels, columns, line=table.line)
    if not len(values):
        raise CondyleError(NO_NDI_ROWS, code="no-data", line=table.line)
    poses, clock = values[:, : 7 * len(tools)].reshape(len(values), len(tools), 7), values[:, 7 * len(tools) :]
    time = None
    if clock.shape[1]:
        time = clock[:, 0] + (1e-9 * clock[:, 1] if clock.shape[1] > 1 else 0.0)
        time = time if np.isfinite(time).all() and (len(time) < 2 or np.ptp(time) > 0) else None
    return _make_recording(names, poses, time, cut or bool(tail.strip()))


def _make_recording(names: Sequence[str], poses: Floats, time: Floats | None, cut: int) -> Recording:
    """From q0 qx qy qz x y z (n, m, 7)."""
    for name in names:
        if names.count(name) > 1:
            text = f"two tools are named '{name[:60]}'; names must differ"
            raise CondyleError(text, code="duplicate-name", body=name)
    poses = np.ascontiguousarray(hide(poses, over_frames(_find_missing, poses)))  # frame by frame: sums end alike
    return Recording(
        bodies=Bodies(tuple(names), poses[..., 4:], poses[..., :4]),
        time=time,
        convention=Convention("wxyz", unit="mm"),
        facts={
            "length": "mm, by custom",
            "rotation": "quaternion wxyz, by custom",
            "clock": "none" if time is None else "s",
        },
        findings=tuple(describe_truncation(len(poses), None, cut)),
    )


def _find_missing(poses: Floats) -> Bools:
    """(n, m) poses (n, m, 7) that were not measured: the device writes -3.697314e28 where it has no number."""
    with np.errstate(invalid="ignore"):
        return np.asarray((poses[..., :4] == 0).all(axis=2) | (np.abs(poses) > ABSURD_NUMBER).any(axis=2))


def _shorten_names(cells: Sequence[str]) -> list[str]:
    """Names of tools without port and serial number, where they stay different: `Port 1: Probe  s/n:3E` is Probe."""
    names = []
    for cell in cells:
        port = _PORT.match(cell)
        name = _SERIAL.split(cell[port.end() :], maxsplit=1)[0].strip() if port else ""
        names.append(name or cell)
    return names if len(set(names)) == len(names) else list(cells)


FORMAT = Format("ndi", "NDI tracker log", looks_like, read)
