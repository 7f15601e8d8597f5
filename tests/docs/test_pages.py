"""Pages hang together: every block runs, every link leads somewhere, every page is in the index."""

from __future__ import annotations

import re
import shlex
from functools import partial
from pathlib import Path

import pytest

from condyle.cli import main
from tests.make.studies import start_loop

from .pages import DOCS, PAGES, anchor, blocks, prose, sections
from .prints import PRINTS

DONE = (0, 3)  # exit status of a command that did its work, without and with warnings
NEAR = 0.15  # share by which a printed number may differ from the page's; tests.docs.prints puts it there anew
SMALL = 0.11  # difference that never matters: one unit of the last digit printed
RUNNABLE = [page for page in PAGES if blocks(page, "python") or blocks(page, "sh")]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: page.stem)
def test_every_block_of_a_page_runs_in_order_and_prints_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if not re.search(r"^from distributed import", page.read_text(encoding="utf-8"), re.MULTILINE):
        run_blocks(page, capsys)
        return
    distributed = pytest.importorskip("distributed", reason="dask's distributed is not installed (extra `cluster`)")
    with start_loop() as loop:
        monkeypatch.setattr(distributed, "LocalCluster", partial(distributed.LocalCluster, loop=loop))
        run_blocks(page, capsys)


def test_what_to_install_is_in_double_quotes_which_every_shell_takes() -> None:
    root = DOCS.parent
    files = [*PAGES, root / "benchmarks" / "paper" / "README.md", *(root / "examples" / "notebooks").glob("*.ipynb")]
    files += [*(root / "src").rglob("*.py"), *(root / "examples").glob("*.py")]
    commands = [hit for file in files for hit in re.findall(r"pip install \S*\[\S*", file.read_text(encoding="utf-8"))]
    assert len(commands) > 15
    assert [command for command in commands if not re.match(r'pip install \\?"', command)] == []


def run_blocks(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    session: dict[str, object] = {"__name__": page.stem}
    printed = ""
    for block in blocks(page):
        if block.language == "python":
            # The empty lines above make a traceback name the line of the page.
            exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), session)
            printed = capsys.readouterr().out
        elif block.language == "sh":
            for command in block.text.splitlines():
                program, *words = shlex.split(command, comments=True)
                assert program == "condyle", command
                assert main(words) in DONE, command
                capsys.readouterr()
        elif block.text.startswith(PRINTS):
            compare(printed, block.text.removeprefix(PRINTS))


def compare(printed: str, told: str) -> None:
    """Fails unless the words are the same and the numbers near."""
    number = r"[-+]?\d+(?:\.\d+)?"
    assert re.sub(number, "0", printed) == re.sub(number, "0", told)
    for found, expected in zip(re.findall(number, printed), re.findall(number, told), strict=True):
        assert float(found) == pytest.approx(float(expected), rel=NEAR, abs=SMALL), printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", prose(page)):
        if target.startswith(("http://", "https://")):
            continue
        file, _, place = target.partition("#")
        there = page if not file else (page.parent / file).resolve()
        assert there.is_file(), f"{page.name} links to {target}"
        if place:
            assert place in {anchor(head) for head in sections(there)}, f"{page.name} links to {target}"


@pytest.mark.parametrize(("index", "folder"), [("index.md", DOCS), ("formats.md", DOCS / "formats")])
def test_an_index_lists_every_page(index: str, folder: Path) -> None:
    inside = "" if folder == DOCS else f"{folder.name}/"
    listed = re.findall(rf"\]\({inside}(\w[\w-]*\.md)\)", (DOCS / index).read_text(encoding="utf-8"))
    assert set(listed) == {page.name for page in folder.glob("*.md") if page.name != index}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_block_says_its_language(page: Path) -> None:
    opened = re.findall(r"^```(\w*)$", page.read_text(encoding="utf-8"), re.MULTILINE)[::2]
    assert set(opened) <= {"python", "sh", "text", "json", "toml"}
