"""cli/streams.py: output that cannot be written is one sentence and the right status."""

from __future__ import annotations

import subprocess
import sys

import pytest

from condyle.cli.streams import end_output

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="closes streams as a POSIX shell does")
SAID = "condyle: error: the standard output cannot be written: {}\n"


def shell(words: str, buffered: bool) -> tuple[int, str]:
    """Status and standard error of a command line with CONDYLE in it."""
    program = f"PYTHONUNBUFFERED={'' if buffered else 1} '{sys.executable}' -m condyle"
    line = f"set -o pipefail; {words.replace('CONDYLE', program)}"
    done = subprocess.run(["bash", "-c", line], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    return done.returncode, done.stderr


@POSIX
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        ("CONDYLE --help > /dev/full", 1, SAID.format("No space left on device")),
        ("CONDYLE fit --help > /dev/full", 1, SAID.format("No space left on device")),
        ("CONDYLE --version >&-", 1, SAID.format("it is closed")),
        ("CONDYLE --version >&- 2>&-", 1, ""),
        ("CONDYLE --help | true", 141, ""),
        ("CONDYLE --help 2>&- | cat > /dev/null", 0, ""),
        ("CONDYLE info nothing.csv >&-", 1, "condyle: error: nothing.csv: no such file\n"),
    ],
)
def test_output_that_cannot_be_written_is_told_once(words: str, status: int, said: str, buffered: bool) -> None:
    assert shell(words, buffered) == (status, said)


def test_a_file_that_cannot_be_opened_is_not_called_the_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert end_output(PermissionError(13, "Permission denied", "there"), 0, closed=False) == 1
    assert capsys.readouterr().err == "condyle: error: there: Permission denied\n"


@pytest.mark.parametrize("status", [0, 1, 2, 3])
def test_a_status_stays_where_output_is_there(status: int) -> None:
    assert end_output(None, status, closed=False) == status
