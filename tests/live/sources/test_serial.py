"""live/sources/_serial.py: bytes over a pseudo-terminal, and what is no serial line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from condyle.errors import CondyleError, UsageError
from condyle.live.sources._serial import SerialLine, parse_line

pty = pytest.importorskip("pty", reason="no pseudo-terminals on this system")


def test_every_byte_goes_through_as_it_is() -> None:
    own, other = pty.openpty()
    line = SerialLine(os.ttyname(other))
    assert line.read(0.01) == b""
    every = bytes(range(256))
    os.write(own, every)
    got = b""
    while len(got) < 256:
        got += line.read(1.0)
    assert got == every
    line.write(b"C\r")
    assert os.read(own, 10) == b"C\r"
    line.close()
    os.close(own)
    os.close(other)


def test_a_line_that_goes_away_is_told() -> None:
    own, other = pty.openpty()
    line = SerialLine(os.ttyname(other))
    os.close(other)
    os.close(own)
    line.read(0.1)
    assert "the line is gone" in line.fault
    line.close()


def test_what_is_no_serial_line_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CondyleError, match="is no serial line"):
        SerialLine(str(tmp_path / "file"))
    with pytest.raises(CondyleError, match="cannot be opened"):
        SerialLine(str(tmp_path / "none"))
    with pytest.raises(UsageError, match="is no speed"):
        SerialLine(str(tmp_path / "file"), 7)
    assert parse_line("/dev/ttyS0", "x") == ("/dev/ttyS0", 115_200)
    assert parse_line("/dev/ttyS0@9600", "x") == ("/dev/ttyS0", 9600)
    with pytest.raises(UsageError, match="is no serial line such as x"):
        parse_line("/dev/ttyS0@fast", "x")
