"""The page of dependencies lists what the library really imports."""

from __future__ import annotations

import ast
import re
import sys

from tests.test_map import walk_statements

from .pages import DOCS, PROJECT, codes, rows, sections

SOURCE = PROJECT / "src" / "condyle"


def imported() -> set[str]:
    """Libraries that a module of condyle imports, the standard library left out."""
    found: set[str] = set()
    for module in SOURCE.rglob("*.py"):
        text = module.read_text(encoding="utf-8")
        found |= set(re.findall(r'import_extra\("(\w+)', text)) - {"backports"}  # named below the table
        for node in walk_statements(ast.parse(text)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names = [node.module]
            found |= {name.partition(".")[0] for name in names} - sys.stdlib_module_names
    return {name.replace("_", "-") for name in found}


def test_the_page_lists_what_the_library_imports() -> None:
    listed = {codes(row[0])[0] for row in rows(sections(DOCS / "dependencies.md")["Dependencies"])}
    assert listed == imported()
