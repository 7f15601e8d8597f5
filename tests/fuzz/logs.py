"""Logs of live sessions and ledgers of studies, damaged, and whatever reads them."""

from __future__ import annotations

import contextlib
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from condyle.io.log_records import (
    END,
    FRAME_RECORD,
    FRAME_RECORD_HEAD,
    LAYOUT,
    LAYOUT_NUMBER,
    LOG_MAGIC,
    LOST,
    LOST_COUNT,
    MARK,
    MARK_HEAD,
    Damage,
    Mark,
    encode_mark,
    pack_record,
    walk_records,
)
from condyle.live.recorder import Recorder
from condyle.live.source import Packet
from tests.make.fitted import take
from tests.make.sessions import layout, stream

from .damage import check_printed, check_written, damage_json, show
from .mutate import FLOATS, WHOLE, Mutator

Rng = np.random.Generator
Records = list[tuple[bytes, bytes]]  # kind, payload
SOUND_LOGS = 5
TIMES_S = (0.0, -1.0, 1e-320, 1e-3, 1e9, 1e18, 1e300, float("nan"), float("inf"), float("-inf"))
MARKERS = (0.1 * np.eye(3)).tolist()  # m, places of those on every body


@cache
def sound_log(number: int) -> Records:
    """A chain of sensors: one source; two with a mark; bodies that come and go; markers alone; ended by a crash."""
    one = take(seconds=2.0, seed=number)
    sent: list[Packet] = []
    if number == 1:
        a, b = (
            stream(one.select(one.names[:2])),
            stream(one.select(one.names[2:]), source="osc:9000", offset=1e9 + 0.02),
        )
        sent = [packet for pair in zip(a, b, strict=True) for packet in pair]
    elif number == 2:
        sent = [*stream(one.select(one.names[:3]).slice(0, 40)), *stream(one.slice(40, one.frames))]
    elif number == 3:
        names = [f"{body}_{k}" for body in one.names for k in range(3)]
        p = one.p_world_body[:, :, None] + np.einsum("nbij,kj->nbki", one.R_world_body, MARKERS)
        room = layout(markers=names, source="natnet:room")
        rows = p.reshape(one.frames, -1)
        sent = [Packet(room, float(t), 1e9 + float(t), row) for t, row in zip(one.time, rows, strict=True)]
    else:
        sent = stream(one)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "session.log"
        with Recorder(path) as recorder:
            for k, packet in enumerate(sent):
                recorder.write(packet)
                if number == 1 and k == len(sent) // 2:
                    recorder.mark(Mark(packet.arrival_time, anew=False, text="turned round"))
        records = [(one.kind, bytes(one.payload)) for one in walk_records(memoryview(path.read_bytes()), Damage())]
    return records[:-1] if number == 4 else records


def join_records(records: Records) -> bytes:
    return LOG_MAGIC + b"".join(pack_record(kind, payload) for kind, payload in records)


def damage_records(records: Records, rng: Rng) -> Records:
    """Records that are whole as such, of which one to four say or do what no recorder writes."""
    records = list(records)
    for _ in range(int(rng.integers(1, 5))):
        if not records:
            break
        kinds = sorted({kind for kind, _ in records})
        hit = kinds[int(rng.integers(len(kinds)))]
        at = int(rng.choice([k for k, (kind, _) in enumerate(records) if kind == hit]))
        kind, payload = records[at]
        how = int(rng.integers(10))
        if how == 0:
            records = records[:at]
        elif how == 1:
            del records[at]
        elif how == 2:
            records.insert(int(rng.integers(len(records) + 1)), records[at])
        elif how == 3:
            to = int(rng.integers(at, len(records))) + 1
            records[at:to] = [records[k] for k in rng.permutation(np.arange(at, to))]
        elif how == 4:
            odd = [(END, b""), (LOST, LOST_COUNT.pack(2**64 - 1)), (LOST, b"x"), (MARK, b""), (b"?", b"later kind")]
            odd += [
                (MARK, encode_mark(Mark(float(rng.choice(TIMES_S)), anew=bool(rng.random() < 0.5), text="\x1b[2J")))
            ]
            records.insert(at, odd[int(rng.integers(len(odd)))])
        elif how == 5:
            records[at] = kind, Mutator([payload], rng).next()
        else:
            stop = at + (1 if kind != FRAME_RECORD or rng.random() < 0.5 else int(rng.integers(1, 60)))
            records[at:stop] = [(kind, damage_payload(kind, one, rng)) for kind, one in records[at:stop]]
    return records


def damage_payload(kind: bytes, payload: bytes, rng: Rng) -> bytes:
    """What a record holds, with other values in its places."""
    if kind == LAYOUT and len(payload) > LAYOUT_NUMBER.size:
        head, told = payload[: LAYOUT_NUMBER.size], payload[LAYOUT_NUMBER.size :]
        if rng.random() < 0.2:
            return LAYOUT_NUMBER.pack(int(rng.choice([0, 1, 2, 7, 2**32 - 1]))) + told
        with contextlib.suppress(ValueError):
            return head + damage_json(told, rng)
    if kind == MARK and len(payload) >= MARK_HEAD.size:
        return MARK_HEAD.pack(float(rng.choice(TIMES_S)), rng.random() < 0.5) + payload[MARK_HEAD.size :]
    if kind == FRAME_RECORD and len(payload) >= FRAME_RECORD_HEAD.size + 8:
        number, segment, device, arrival = FRAME_RECORD_HEAD.unpack_from(payload)
        values = np.frombuffer(payload, "<f8", offset=FRAME_RECORD_HEAD.size, count=-1 if len(payload) % 8 == 0 else 1)
        values = values.copy()
        what = int(rng.integers(5))
        if what == 0:
            number = int(rng.choice([0, 1, 2, 2**32 - 1]))
        elif what == 1:
            segment = int(rng.choice([0, 1, -1, 2**31 - 1, -(2**31)]))
        elif what == 2:
            device = float(rng.choice(TIMES_S))
        elif what == 3:
            arrival = float(rng.choice(TIMES_S))
        else:
            values[rng.random(len(values)) < rng.choice([0.05, 0.5, 1.0])] = rng.choice([*FLOATS, 1e11, 1e300])
        return FRAME_RECORD_HEAD.pack(number, segment, device, arrival) + values.tobytes()
    return WHOLE[int(rng.integers(len(WHOLE)))].to_bytes(8, "little")


def run_log(rng: Rng, folder: Path) -> None:
    """A damaged log is looked at, fitted, solved, replayed into another one, or read as a session reads what grows; a
    study goes on with a ledger whose lines are JSON that it never wrote.
    """
    if rng.integers(5) == 0:
        run_ledger(rng, folder)
        return
    records = sound_log(int(rng.integers(SOUND_LOGS)))
    raw = join_records(damage_records(records, rng))
    path, out = folder / "session.log", folder / "out"
    path.write_bytes(raw if rng.random() < 0.7 else Mutator([raw], rng).next())
    what = int(rng.integers(7))
    if what == 0:
        solve_session(path)
        return
    if what == 1:
        (folder / "other.log").write_bytes(join_records(records))
    words = [
        ["fit", str(path), str(folder / "other.log"), "--no-intervals"],
        ["fit", str(path), "-o", str(out), "--no-report", "--no-intervals"],
        ["fit", str(path), "--no-intervals"],
        ["info", str(path)],
        ["doctor", str(path)],
        ["live", f"replay:{path}@max", "--record-only", "--seconds", "1", "-o", str(out)],
    ]
    show(words[what - 1])
    if (out / "session.log").exists():
        show(["info", str(out / "session.log")])
    check_written(out)


def solve_session(path: Path) -> None:
    """What the solver of a session makes of a log that it finds, as it does when another one died."""
    from condyle.live.excerpt import LogTail
    from condyle.live.messages import encode
    from condyle.live.service import describe_solve
    from condyle.live.session import Session

    session = Session()
    for record in LogTail(path).read():
        session.add(record)
    if not session.excerpt.frames:
        return
    found = session.solve()
    check_printed(found.problem)
    encode("end", text=found.problem)
    describe_solve(found)


def run_ledger(rng: Rng, folder: Path) -> None:
    """A study goes on with lines of its ledger that say something else."""
    from .behind import do_study, sound_study

    for file, data in sound_study().items():
        if file == "study/ledger.jsonl":
            lines = data.splitlines()
            at = int(rng.integers(len(lines)))
            lines[at] = damage_json(lines[at], rng)
            data = b"\n".join(lines) + b"\n"
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(data)
    do_study(folder)
    check_written(folder / "study")
