"""live/excerpt.py: the log as it grows, and the bounded part of it that is remembered."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from condyle.io.log_records import FRAME_RECORD
from condyle.live.excerpt import NEWEST_S, OLDER_S, STRETCH_S, Excerpt, LogTail, _thin
from condyle.live.recorder import Recorder
from condyle.model.recording import Bodies, Convention, Recording, to_take
from tests.make.sessions import layout, packets, person, records, stream


def test_a_tail_gives_every_record_once_whatever_is_half_written(tmp_path: Path) -> None:
    sent = packets(layout("a", "b"), 60)
    with Recorder(tmp_path / "whole.log") as recorder:
        for packet in sent:
            recorder.write(packet)
    whole = (tmp_path / "whole.log").read_bytes()
    growing = tmp_path / "growing.log"
    tail = LogTail(growing)
    found = []
    for end in [*range(22, len(whole), 97), len(whole)]:
        growing.write_bytes(whole[:end])
        found += [bytes(record.payload) for record in tail.read() if record.kind == FRAME_RECORD]
    growing.write_bytes(whole)
    assert list(tail.read()) == []
    assert len(found) == 60
    assert len(set(found)) == 60


def test_everything_is_kept_while_it_is_short() -> None:
    take = person(seconds=10)
    excerpt = Excerpt()
    for record in records(stream(take)):
        excerpt.add(record)
    kept = to_take(excerpt.make_recording())
    assert kept.names == take.names
    assert np.array_equal(kept.time, take.time)
    assert np.allclose(kept.p_world_body, take.p_world_body, atol=1e-15)


def test_an_hour_is_kept_in_bounded_stretches_from_all_over_it() -> None:
    excerpt, one = Excerpt(), layout("a")
    rate = 2.0
    for record in records(packets(one, 7200, rate=rate, offset=0.0)):
        excerpt.add(record)
    assert excerpt.frames <= (NEWEST_S + OLDER_S + 2 * STRETCH_S) * rate
    kept = excerpt.make_recording()
    assert kept.time is not None
    assert kept.segment is not None
    assert kept.time[-1] == 7199 / rate
    older = kept.time[kept.time < 3600 - NEWEST_S - STRETCH_S]
    assert older.min() < 900  # early and late count alike
    assert older.max() > 2700
    inside = np.diff(kept.segment) == 0
    assert np.allclose(np.diff(kept.time)[inside], 1 / rate)  # nothing is carried across what was dropped
    assert (np.diff(kept.time)[~inside] > STRETCH_S / 2).all()


@pytest.mark.parametrize(("rate", "every"), [(60.0, 1), (90.0, 1), (100.0, 2), (119.88, 2), (240.0, 3)])
def test_a_fast_stream_is_solved_at_a_part_of_its_frames_evenly_within_each_stretch(rate: float, every: int) -> None:
    excerpt = Excerpt(newest_s=2.0, older_s=2.0)
    for record in records(packets(layout("a"), int(12 * rate), rate=rate, offset=0.0)):
        excerpt.add(record)
    kept = excerpt.make_recording()
    assert kept.time is not None
    assert kept.segment is not None
    inside = np.diff(kept.segment) == 0
    assert (~inside).any()
    assert np.allclose(np.diff(kept.time)[inside], every / rate)


def test_frames_that_arrive_in_packets_are_no_fast_stream() -> None:
    time = np.repeat(np.arange(200) / 25, 4) + np.tile(np.arange(4) * 1e-4, 200)  # 100 Hz
    bodies = Bodies(("a",), np.zeros((800, 1, 3)), np.tile([1.0, 0.0, 0.0, 0.0], (800, 1, 1)))
    recording = Recording("live", "log", bodies, time=time, convention=Convention("wxyz", unit="m"))
    assert _thin(recording).frames == 400


def test_a_restart_forgets_frames_and_knows_what_numbers_mean() -> None:
    excerpt = Excerpt()
    sent = records(packets(layout("a"), 20, rate=50.0))
    for record in sent[:11]:
        excerpt.add(record)
    excerpt.restart()
    for record in sent[11:]:
        excerpt.add(record)
    assert excerpt.frames == 10
    assert excerpt.make_recording().frames == 10
