"""Tables of benchmarks/results on the pages of docs/: `uv run python -m tests.docs.results` puts them there anew.

A page has `<!-- table NAME HEADING: COLUMN | COLUMN; ROW | ROW -->` before such a table and `<!-- /table -->` behind
it: the columns and rows of NAME.md below that heading (given as far as its colon) whose names begin so, or all of them;
`<!-- results -->` and `<!-- /results -->` hold the list of all tables that there are. In a sentence
`<!-- cell NAME HEADING: ROW | COLUMN -->` and `<!-- /cell -->` hold one number: that of the row and the column whose
names begin so.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.make import PROJECT

from .pages import PAGES

RESULTS = PROJECT / "benchmarks" / "results"
TABLE = re.compile(
    r"(<!-- table (\w+) ([^:>]+?)(?:: ([^>;]*?))?(?:; ([^>]*?))? -->\n\n?).*?(\n?<!-- /table -->)", re.DOTALL
)
CELL = re.compile(r"(<!-- cell (\w+) ([^:>]+?): ([^|>]*?) \| ([^>]*?) -->).*?(<!-- /cell -->)", re.DOTALL)
LIST = re.compile(r"(<!-- results -->\n\n?).*?(\n?<!-- /results -->)", re.DOTALL)


def render(page: Path) -> str:
    """The text of a page with its tables as the results have them, the first of each file with its date."""
    dated: set[str] = set()

    def put(m: re.Match[str]) -> str:
        rows = cut_table(m[2], m[3], m[4], m[5])
        when = f"\n\n*{find_date(m[2])}*" if m[2] not in dated else ""
        dated.add(m[2])
        return f"{m[1].rstrip()}\n\n{rows}{when}\n\n<!-- /table -->"

    text = TABLE.sub(put, read(page))
    text = CELL.sub(lambda m: f"{m[1]}{find_cell(m[2], m[3], m[4], m[5])}{m[6]}", text)
    return LIST.sub(lambda m: f"{m[1].rstrip()}\n\n{list_results()}\n\n<!-- /results -->", text)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def cut_table(name: str, heading: str, columns: str | None, rows: str | None = None) -> str:
    """The table below a heading, with these columns and rows only."""
    head, rule, *body = read_rows(name, heading)
    kept = choose(head, columns)
    chosen = [body[k] for k in choose([row[0] for row in body], rows)]
    return "\n".join(f"| {' | '.join(row[k] for k in kept)} |" for row in (head, rule, *chosen))


def choose(names: list[str], begins: str | None) -> list[int]:
    """Which names begin with one of the words between bars; all where there are none. Every word must fit a name."""
    wanted = [word.strip() for word in (begins or "").split("|") if word.strip()]
    for word in wanted:
        assert any(name.startswith(word) for name in names), f"{word!r} begins none of {names}"
    return [k for k, name in enumerate(names) if not wanted or any(name.startswith(word) for word in wanted)]


def find_date(name: str) -> str:
    """When and how often a results file was measured; the versions stay there."""
    lines = read(RESULTS / f"{name}.md").splitlines()
    found = next(line for line in lines if re.match(r"\d{4}-\d\d-\d\d, condyle", line))
    return re.sub(r"(, [a-z]+ [\w.]+)+", "", found, count=1)


def read_rows(name: str, heading: str) -> list[list[str]]:
    """The cells of a table below a heading, its head and the line under it first."""
    head = rf"^## {re.escape(heading.strip())}(?::.*)?$"
    below = re.split(head, read(RESULTS / f"{name}.md"), maxsplit=1, flags=re.MULTILINE)[1].split("\n## ")[0]
    return [
        [cell.strip() for cell in line.strip("|").split("|")] for line in below.splitlines() if line.startswith("|")
    ]


def find_cell(name: str, heading: str, row: str, column: str) -> str:
    """One number of a table."""
    head, _, *rows = read_rows(name, heading)
    place = next(k for k, title in enumerate(head) if title.startswith(column.strip()))
    return next(cells[place] for cells in rows if cells[0].startswith(row.strip()))


def list_results() -> str:
    """Every table of results: what it measures, and its file."""
    rows = ["| measured | table |", "|---|---|"]
    for path in sorted(RESULTS.glob("*.md")):
        title = read(path).splitlines()[0].lstrip("# ")
        rows.append(f"| {title} | [{path.name}](../benchmarks/results/{path.name}) |")
    return "\n".join(rows)


def pages() -> list[Path]:
    """The pages that hold results."""
    return [
        page for page in (PROJECT / "README.md", *PAGES) if any(one.search(read(page)) for one in (TABLE, CELL, LIST))
    ]


if __name__ == "__main__":
    for one in pages():
        one.write_text(render(one), encoding="utf-8")
        print(f"wrote {one.relative_to(PROJECT)}")
