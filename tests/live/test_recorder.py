"""live/recorder.py: nothing that was taken is lost, whatever happens to the process or the disk."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks.recorder_kills import count_lost, start_writer

from condyle.errors import CondyleError
from condyle.io.formats import read_recording
from condyle.io.formats._log_frames import read_frames
from condyle.live import recorder as module
from condyle.live.recorder import Recorder
from tests.make.sessions import layout, packets
from tests.make.size import pick


@pytest.mark.sized
def test_no_frame_that_was_taken_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    for k in range(pick(4, 20, 100)):
        log = tmp_path / f"{k}.log"
        taken, lost, _ = count_lost(log, start_writer(log), random.Random(k).uniform(0.02, 0.4))
        assert taken > 0
        assert lost == 0


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("precious")
    with pytest.raises(CondyleError, match="never written over"):
        Recorder(tmp_path / "a.log")
    with pytest.raises(CondyleError, match="cannot be written: No such file"):
        Recorder(tmp_path / "none" / "a.log")


def full_after(monkeypatch: pytest.MonkeyPatch, room: list[int]) -> None:
    """A disk with so much room; a write that does not fit takes what it can first, as disks do."""
    write = os.write

    def limited(handle: int, data: bytes) -> int:
        if room[0] <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = write(handle, data[: room[0]])
        room[0] -= done
        return done

    monkeypatch.setattr(module.os, "write", limited)


@pytest.mark.parametrize("room", range(700, 860, 20))
def test_on_a_full_disk_what_is_written_stays_whole_and_recording_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    left, sent, taken, raised = [10**6], packets(layout("a", "b"), 30), [], []
    full_after(monkeypatch, left)
    with Recorder(tmp_path / "a.log") as recorder:
        for k, packet in enumerate(sent):
            if k == 10:
                left[0] = room % 170
            if k == 20:
                left[0] = 10**6
            try:
                recorder.write(packet)
                taken.append(packet.device_time)
                assert recorder.fault is None
            except CondyleError as error:
                raised.append(error)
                raised.append(recorder.fault)
        assert (recorder.frames, recorder.lost) == (len(taken), 30 - len(taken))
    assert {error.code for error in raised} == {"disk-full"}
    assert all("make room, and recording goes on by itself" in str(error) for error in raised)
    found = read_recording(tmp_path / "a.log")
    assert found.time is not None
    assert found.time.tolist() == taken
    assert 15 <= len(taken) < 30
    assert [(one.code, one.count) for one in found.findings] == [("log-damaged", 30 - len(taken))]


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="a small disk is mounted, by root on Linux")
def test_on_a_disk_that_is_really_full_what_is_written_stays_readable(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        taken = 0
        with Recorder(disk / "a.log") as recorder:
            for packet in packets(layout("a", "b"), 1000):
                try:
                    recorder.write(packet)
                    taken += 1
                except CondyleError as error:
                    told = error.code
        assert told == "disk-full"
        assert 300 < taken < 1000
        shutil.copy(disk / "a.log", tmp_path / "a.log")
    finally:
        subprocess.run(["umount", disk], check=True)
    assert read_recording(tmp_path / "a.log").frames == taken


def test_a_thread_flushes_each_second_and_a_failed_flush_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed, told = [], threading.Event()

    def sync(handle: int) -> None:
        flushed.append((threading.current_thread().name, os.fstat(handle).st_size))
        told.set()
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(module, "FLUSH_PERIOD_S", 0.01)
    monkeypatch.setattr(module.os, "fdatasync", sync)
    with Recorder(tmp_path / "a.log") as recorder:
        recorder.write(packets(layout("a"), 1)[0])
        assert told.wait(5)
        for _ in range(500):
            if recorder.fault is not None:
                break
            time.sleep(0.01)
        assert recorder.fault is not None
        assert "Input/output error" in str(recorder.fault)
    assert flushed[0][0] == "condyle-flush"


def test_threads_write_side_by_side(tmp_path: Path) -> None:
    sent = {k: packets(layout("a", source=f"lsl:{k}"), 300) for k in range(4)}
    with Recorder(tmp_path / "a.log") as recorder:
        threads = [threading.Thread(target=lambda k=k: [recorder.write(p) for p in sent[k]]) for k in sent]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        recorder.close()
    sources, _, findings = read_frames(tmp_path / "a.log")
    assert not findings
    assert {one.layout.source: one.device.tolist() for one in sources} == {
        f"lsl:{k}": [p.device_time for p in sent[k]] for k in sent
    }


def test_numbers_of_another_kind_are_written_as_float64(tmp_path: Path) -> None:
    packet = packets(layout("a"), 1)[0]
    with Recorder(tmp_path / "a.log") as recorder:
        recorder.write(packet._replace(values=packet.values.astype(np.float32)))
    assert read_recording(tmp_path / "a.log").frames == 1


def test_a_writer_that_is_killed_leaves_a_log_that_says_so(tmp_path: Path) -> None:
    with start_writer(tmp_path / "a.log") as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        writer.send_signal(signal.SIGKILL)
    assert "truncated-file" in {finding.code for finding in read_recording(tmp_path / "a.log").findings}
