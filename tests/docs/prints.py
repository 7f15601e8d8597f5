"""What the blocks of a page print, put there anew: `uv run python -m tests.docs.prints [NAME...]`, or all pages.

A text block that begins with the line `prints` holds what the Python block before it prints.
"""

from __future__ import annotations

import io
import os
import shlex
import sys
import tempfile
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

from .pages import PAGES, blocks

PRINTS = "prints\n"


def render(page: Path) -> str:
    """The text of a page with what its blocks print now; they are run in a folder of their own."""
    from condyle.cli import main

    text, session, printed = page.read_text(encoding="utf-8"), {"__name__": page.stem}, io.StringIO()
    with tempfile.TemporaryDirectory() as scratch, chdir(scratch):
        for block in blocks(page):
            if block.language == "python":
                printed = io.StringIO()
                with redirect_stdout(printed):
                    exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), session)
            elif block.language == "sh":
                with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
                    for command in block.text.splitlines():
                        main(shlex.split(command, comments=True)[1:])
            elif block.text.startswith(PRINTS):
                text = text.replace(block.text, PRINTS + printed.getvalue(), 1)
    return text


def main(names: list[str]) -> None:
    os.environ["COLUMNS"] = "80"
    for page in [page for page in PAGES if (not names or page.stem in names) and PRINTS in page.read_text("utf-8")]:
        text = render(page)
        if text != page.read_text(encoding="utf-8"):
            page.write_text(text, encoding="utf-8")
            print(page)


if __name__ == "__main__":
    main(sys.argv[1:])
