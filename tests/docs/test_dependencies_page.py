"""The page of dependencies lists what the library really imports, and where."""

from __future__ import annotations

import ast
import sys

from tests.test_map import walk_statements

from .pages import DOCS, PROJECT, codes, rows, sections

SOURCE = PROJECT / "src" / "condyle"


def imported() -> dict[str, set[str]]:
    """{library: modules of condyle that import it}, the standard library left out."""
    found: dict[str, set[str]] = {}
    for module in SOURCE.rglob("*.py"):
        for node in walk_statements(ast.parse(module.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            for name in names:
                top = name.partition(".")[0]
                if top not in sys.stdlib_module_names:
                    found.setdefault(top.replace("_", "-"), set()).add(module.relative_to(SOURCE).as_posix())
    return found


def test_the_page_lists_what_the_library_imports_and_where() -> None:
    table = {codes(row[0])[0]: row for row in rows(sections(DOCS / "dependencies.md")["Dependencies"])}
    used = imported()
    assert set(table) == set(used)
    for library, row in table.items():
        if places := codes(row[3]):
            assert set(places) == used[library]
