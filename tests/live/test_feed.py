"""live/feed.py: packets go to the recorder first, and no fault of one source, packet or disk stops the others."""

from __future__ import annotations

import errno
import signal
import time
from pathlib import Path

import pytest

from condyle.errors import CondyleError, UsageError
from condyle.io.formats._log_frames import read_frames
from condyle.live import recorder as recorder_module
from condyle.live.feed import Feed
from condyle.live.recorder import Recorder
from condyle.live.source import Packet, now
from tests.make.sessions import layout, packets


class Played:
    """A source that gives packets in portions, then ends, or breaks."""

    def __init__(self, word: str, portions: list[list[Packet]], breaks: Exception | None = None) -> None:
        self.word, self.ended, self.bad_packets, self.fault = word, False, 2, ""
        self._portions, self._breaks, self.closed = portions, breaks, False

    def read(self, timeout: float) -> list[Packet]:
        if not self._portions:
            if self._breaks is not None:
                raise self._breaks
            self.ended = True
            return []
        return [packet._replace(arrival_time=now()) for packet in self._portions.pop(0)]

    def close(self) -> None:
        self.closed = True


def test_every_packet_is_recorded_before_anybody_hears_of_it(tmp_path: Path) -> None:
    heard: list[int] = []
    recorder = Recorder(tmp_path / "a.log")
    sent = packets(layout("a"), 50)
    feed = Feed([Played("lsl:room", [sent[:20], sent[20:]])], recorder, lambda *_: heard.append(recorder.frames))
    feed.start()
    assert feed.wait(5)
    feed.close()
    assert heard == list(range(1, 51))
    ((source,), _, findings) = read_frames(tmp_path / "a.log")
    assert len(source.device) == 50
    assert not findings


@pytest.mark.parametrize("fault", [CondyleError("gone", code="bad-packet"), OSError(errno.ENETDOWN, "no network")])
def test_a_source_that_breaks_is_told_and_the_others_go_on(tmp_path: Path, fault: Exception) -> None:
    broken = Played("lsl:broken", [packets(layout("a", source="lsl:broken"), 3)], fault)
    sound = Played("lsl:sound", [packets(layout("b", source="lsl:sound"), 2, first=k) for k in range(0, 40, 2)])
    feed = Feed([broken, sound], Recorder(tmp_path / "a.log"))
    feed.start()
    assert feed.wait(5)
    one, two = feed.status()
    feed.close()
    assert (one.ended, one.packets, two.packets) == (True, 3, 40)
    assert one.fault == str(fault)
    assert two.fault == ""
    assert broken.closed
    assert sound.closed


def test_a_full_disk_does_not_stop_who_looks_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Packet] = []
    recorder = Recorder(tmp_path / "a.log")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(recorder_module.os, "write", full)
    feed = Feed([Played("lsl:room", [packets(layout("a"), 30)])], recorder, lambda packet, _: heard.append(packet))
    feed.start()
    feed.wait(5)
    assert len(heard) == 30
    assert (recorder.frames, recorder.lost) == (0, 30)
    assert recorder.fault is not None
    assert recorder.fault.code == "disk-full"
    monkeypatch.undo()
    feed.close()


def test_the_status_tells_bodies_rate_and_what_came_amiss(tmp_path: Path) -> None:
    sent = packets(layout("a", "b", markers=("m",)), 20)
    hidden = sent[-1].values.copy()
    hidden[0] = float("nan")
    sent = [*sent[:10], sent[9], *sent[11:], sent[10], sent[-1]._replace(device_time=0.2, values=hidden)]
    feed = Feed([Played("lsl:room", [[packet] for packet in sent])], Recorder(tmp_path / "a.log"))
    (before,) = feed.status()
    assert (before.state, before.packets, before.rate) == ("waiting", 0, None)
    feed.start()
    feed.wait(5)
    (after,) = feed.status()
    feed.close()
    assert (after.packets, after.again, after.late, after.bad_packets) == (22, 1, 1, 2)
    assert (after.bodies, after.seen) == (3, 2)
    assert after.rate is not None
    assert after.state in ("live", "stale")


def test_one_source_twice_is_refused(tmp_path: Path) -> None:
    with Recorder(tmp_path / "a.log") as recorder, pytest.raises(UsageError, match="named twice"):
        Feed([Played("lsl:a", []), Played("lsl:a", [])], recorder)


def test_closing_ends_a_source_that_would_go_on(tmp_path: Path) -> None:
    endless = Played("lsl:room", [])
    endless.read = lambda timeout: time.sleep(0.01) or []  # type: ignore[method-assign]
    feed = Feed([endless], Recorder(tmp_path / "a.log"))
    feed.start()
    assert not feed.wait(0.05)
    feed.close()
    assert feed.ended


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no signal can be timed here")
def test_a_signal_while_the_feed_is_waited_for_loses_no_frame(tmp_path: Path) -> None:
    class Slow(Played):
        def read(self, timeout: float) -> list[Packet]:
            time.sleep(0.2)
            return super().read(timeout)

    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    recorder = Recorder(tmp_path / "a.log")
    feed = Feed([Slow("lsl:room", [packets(layout("a"), 1, first=k) for k in range(9)])], recorder)
    before = signal.signal(signal.SIGALRM, interrupt)
    feed.start()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(Interrupted):
            feed.wait(5)
    finally:
        signal.signal(signal.SIGALRM, before)
        feed.close()
    time.sleep(0.3)
    assert recorder.frames == 2
    assert recorder.lost == 0
