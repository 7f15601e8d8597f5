"""A serial line as bytes: a tracker on a port, or on a pseudo-terminal."""

from __future__ import annotations

import os
import select
import time

from ...errors import CondyleError, UsageError

SERIAL_CHUNK_BYTES = 512  # read at once: what hostile bytes cost is bounded by it, and lines bring no more in 40 ms
DEFAULT_BAUD = 115_200


class SerialLine:
    """Bytes to and from a device; fault: why it cannot be read any more, or ""."""

    def __init__(self, path: str, baud: int = DEFAULT_BAUD) -> None:
        self.fault = ""
        try:
            import termios
            import tty
        except ImportError:  # another system than POSIX
            raise CondyleError("serial trackers are read on Linux and macOS only", code="missing-extra") from None
        speed = getattr(termios, f"B{baud}", None)
        if speed is None:
            raise UsageError(f"{baud} is no speed of a serial line, such as 115200", code="bad-option")
        try:
            self._handle = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise CondyleError(f"cannot be opened: {error.strerror}", code="no-answer", path=path) from None
        try:
            tty.setraw(self._handle)
            settings = termios.tcgetattr(self._handle)
            settings[4] = settings[5] = speed
            termios.tcsetattr(self._handle, termios.TCSANOW, settings)
        except termios.error as error:
            os.close(self._handle)
            raise CondyleError(f"is no serial line: {error.args[-1]}", code="no-answer", path=path) from None

    def write(self, data: bytes) -> None:
        """Sends a command."""
        try:
            os.write(self._handle, data)
        except OSError as error:
            self.fault = f"cannot be written to: {error.strerror}"

    def read(self, timeout: float) -> bytes:
        """The bytes that have come, or come within `timeout` [s]."""
        if self.fault:
            time.sleep(timeout)
            return b""
        ready, _, _ = select.select([self._handle], [], [], timeout)
        if not ready:
            return b""
        try:
            data = os.read(self._handle, SERIAL_CHUNK_BYTES)
        except BlockingIOError:
            return b""
        except OSError as error:
            self.fault = f"the line is gone: {error.strerror}"
            return b""
        if not data:
            self.fault = "the line is gone"
        return data

    def close(self) -> None:
        os.close(self._handle)


def parse_line(address: str, example: str) -> tuple[str, int]:
    """TTY or TTY@BAUD."""
    path, at, baud = address.rpartition("@")
    if not at:
        return address, DEFAULT_BAUD
    if not path or not baud.isdecimal():
        raise UsageError(f"'{address}' is no serial line such as {example}", code="bad-option")
    return path, int(baud)
