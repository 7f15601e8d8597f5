"""The recorder: every packet is appended to a log before anything else is done with it."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path
from zlib import crc32

import numpy as np

from ..errors import CondyleError
from ..io.atomic import flush_file
from ..io.log_records import (
    END,
    FRAME_RECORD,
    LAYOUT,
    LOG_MAGIC,
    LOST,
    LOST_COUNT,
    MARK,
    RECORD_HEAD,
    RECORD_MARK,
    Layout,
    Mark,
    encode_frame,
    encode_layout,
    encode_mark,
    pack_record,
)
from .source import Packet

FLUSH_PERIOD_S = 1.0  # s from one flush to disk to the next: what a power failure may take
_FRAME_CHECK = crc32(FRAME_RECORD)
_DOUBLES = np.dtype("<f8")
_FULL = (errno.ENOSPC, errno.EDQUOT) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)


class Recorder:
    """A log of packets that grows. A packet that `write` has taken survives the end of this process, whatever ends it.

    frames  packets that were written
    lost    packets that could not be
    fault   why the last packet was not written, or the last flush failed; None while all is well
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.frames = self.lost = 0
        self.fault: CondyleError | None = None
        self._lost_untold = 0
        self._numbers: dict[int, int] = {}  # by the identity of a layout, which is kept
        self._layouts: list[Layout] = []
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._handle = self._create()
        self._end = self._flushed = 0
        self._begin()
        self._flusher = threading.Thread(target=self._flush_often, name="condyle-flush", daemon=True)
        self._flusher.start()

    def _create(self) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            return os.open(self.path, flags, 0o666)
        except FileExistsError:
            text = "is there already, and a recording is never written over; choose another folder"
            raise CondyleError(text, code="unwritable", path=self.path) from None
        except OSError as error:
            text = f"cannot be written: {error.strerror or error}"
            raise CondyleError(text, code="unwritable", path=self.path) from None

    def _begin(self) -> None:
        """Writes what a log begins with; where that cannot be done no log is left, which the next try would find."""
        try:
            self._append(LOG_MAGIC)
        except OSError as error:
            os.close(self._handle)
            self.path.unlink(missing_ok=True)
            text = f"cannot be written: {error.strerror or error}"
            raise CondyleError(text, code="unwritable", path=self.path) from None

    def write(self, packet: Packet) -> None:
        """Appends a packet; raises CondyleError where it could not be written. What was written before stays whole,
        and the next packet is tried again.
        """
        layout, device, arrival, values, segment = packet
        with self._lock:
            number = self._numbers.get(id(layout))
            before = b"" if number is not None and not self._lost_untold else self._pack_before(layout)
            if number is None:
                number = len(self._layouts)
            if values.dtype is not _DOUBLES:
                values = values.astype(_DOUBLES)
            payload = encode_frame(number, segment, device, arrival, values)
            head = RECORD_HEAD.pack(RECORD_MARK, FRAME_RECORD, len(payload), crc32(payload, _FRAME_CHECK))
            try:
                self._append(b"".join((before, head, payload)))
            except OSError as error:
                self.lost += 1
                self._lost_untold += 1
                self.fault = self._describe(error)
                raise self.fault from None
            if before:
                self._keep(layout)
            self.frames += 1
            self.fault = None

    def mark(self, mark: Mark) -> None:
        """Appends a mark; raises CondyleError where it could not be written."""
        with self._lock:
            try:
                self._append(pack_record(MARK, encode_mark(mark)))
            except OSError as error:
                self.fault = self._describe(error)
                raise self.fault from None

    def _pack_before(self, layout: Layout) -> bytes:
        """Records that come before a frame: how many could not be written, and what its numbers mean."""
        out = self._pack_lost()
        if id(layout) not in self._numbers:
            out += pack_record(LAYOUT, encode_layout(len(self._layouts), layout))
        return out

    def _pack_lost(self) -> bytes:
        return pack_record(LOST, LOST_COUNT.pack(self._lost_untold)) if self._lost_untold else b""

    def _keep(self, layout: Layout) -> None:
        self._lost_untold = 0
        if id(layout) not in self._numbers:
            self._numbers[id(layout)] = len(self._layouts)
            self._layouts.append(layout)

    def _append(self, data: bytes) -> None:
        """All of the bytes, or none: what a full disk took of them is taken back."""
        try:
            done = os.write(self._handle, data)
            while done < len(data):
                done += os.write(self._handle, data[done:])
        except OSError:
            os.ftruncate(self._handle, self._end)
            raise
        self._end += len(data)

    def _flush_often(self) -> None:
        while not self._ending.wait(FLUSH_PERIOD_S):
            self._flush()

    def _flush(self) -> None:
        end = self._end
        if end == self._flushed:
            return
        try:
            getattr(os, "fdatasync", flush_file)(self._handle)
            self._flushed = end
        except OSError as error:
            self.fault = self._describe(error)

    def _describe(self, error: OSError) -> CondyleError:
        if error.errno in _FULL:
            text = f"the disk is full: {self.lost} frames are not recorded; make room, and recording goes on by itself"
            return CondyleError(text, code="disk-full", path=self.path)
        return CondyleError(f"cannot be written: {error.strerror or error}", code="unwritable", path=self.path)

    def close(self) -> None:
        """Ends the log and flushes it to disk; a second time does nothing."""
        with self._lock:
            if self._ending.is_set():
                return
            self._ending.set()
        self._flusher.join()
        try:
            self._append(self._pack_lost() + pack_record(END, b""))
        except OSError as error:
            self.fault = self._describe(error)
        self._flush()
        os.close(self._handle)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
