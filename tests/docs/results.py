"""Tables of benchmarks/results on the pages of docs/: `uv run python -m tests.docs.results` puts them there anew.

A page has `<!-- table NAME HEADING: COLUMN | COLUMN -->` before such a table and `<!-- /table -->` behind it: the
columns of NAME.md below that heading whose names begin so, or all of them; `<!-- results -->` and `<!-- /results -->`
hold the list of all tables that there are.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.make import PROJECT

from .pages import DOCS, PAGES

RESULTS = PROJECT / "benchmarks" / "results"
TABLE = re.compile(r"(<!-- table (\w+) ([^:>]+?)(?:: ([^>]*?))? -->\n\n?).*?(\n?<!-- /table -->)", re.DOTALL)
LIST = re.compile(r"(<!-- results -->\n\n?).*?(\n?<!-- /results -->)", re.DOTALL)


def render(page: Path) -> str:
    """The text of a page with its tables as the results have them."""
    text = TABLE.sub(lambda m: f"{m[1].rstrip()}\n\n{cut_table(m[2], m[3], m[4])}\n\n<!-- /table -->", read(page))
    return LIST.sub(lambda m: f"{m[1].rstrip()}\n\n{list_results()}\n\n<!-- /results -->", text)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def cut_table(name: str, heading: str, columns: str | None) -> str:
    """The rows of a table below a heading, with these columns only, and when it was measured."""
    text = read(RESULTS / f"{name}.md")
    below = re.split(rf"^## {re.escape(heading.strip())}$", text, maxsplit=1, flags=re.MULTILINE)[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in below.splitlines() if line.startswith("|")
    ]
    wanted = [word.strip() for word in (columns or "").split("|") if word.strip()]
    kept = [k for k, head in enumerate(rows[0]) if not wanted or any(head.startswith(word) for word in wanted)]
    kept_lines = [f"| {' | '.join(row[k] for k in kept)} |" for row in rows]
    when = next(line for line in text.splitlines() if re.match(r"\d{4}-\d\d-\d\d, condyle", line))
    return "\n".join([*kept_lines, "", f"*{when}*"])


def list_results() -> str:
    """Every table of results: what it measures, its file, and the command that measures it again."""
    rows = ["| measured | table | again with |", "|---|---|---|"]
    for path in sorted(RESULTS.glob("*.md")):
        title = read(path).splitlines()[0].lstrip("# ")
        script = PROJECT / "benchmarks" / f"{path.stem}.py"
        again = f"`python -m benchmarks.{path.stem}`" if script.is_file() else ""
        rows.append(f"| {title} | [{path.name}](../benchmarks/results/{path.name}) | {again} |".replace("|  |", "| |"))
    return "\n".join(rows)


def pages() -> list[Path]:
    """The pages that hold results."""
    return [page for page in PAGES if TABLE.search(read(page)) or LIST.search(read(page))]


if __name__ == "__main__":
    for one in pages():
        one.write_text(render(one), encoding="utf-8")
        print(f"wrote {one.relative_to(DOCS)}")
