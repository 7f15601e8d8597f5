"""The map of the package: a room imports only from rooms above it, nothing imports in a circle, chains are short."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

from tests.make import PROJECT

PACKAGE = PROJECT / "src" / "condyle"
ORDER = [  # of the rooms, from above
    *("_version", "errors", "findings", "maths", "model", "simulate", "io", "pairs", "prepare", "estimate"),
    *("faults", "result", "motion", "pipeline", "report", "api", "live", "study", "cli", "__main__"),
]
ROOT = {"__init__", "__main__", "_version", "errors", "findings", "pipeline", "api"}
PIPELINE_MAX_LINES = 150
LONGEST_CHAIN = 12  # modules that import each other in a row while one is loaded


@cache
def trees() -> dict[str, ast.Module]:
    """{module: its source, parsed}, without the package's own name; "" is the package."""
    out = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        text = path.read_text(encoding="utf-8")
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(text)
    return out


def walk_statements(node: ast.AST) -> Iterator[ast.stmt]:
    """Every statement below a node: expressions, most of a tree, hold none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from walk_statements(child)


def find_imports(node: ast.AST, lazy: bool = False) -> Iterator[tuple[ast.ImportFrom, bool]]:
    """Imports from the package itself, and whether they wait for a call; what only types need does not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom) and child.level:
            yield child, lazy
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        elif isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from find_imports(child, lazy or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))


def imports(name: str, tree: ast.Module, known: set[str], packages: set[str]) -> tuple[set[str], set[str]]:
    """Modules that a module imports at all, and those when it is loaded."""
    every, loaded = set[str](), set[str]()
    home = name.split(".") if name else []
    for node, lazy in find_imports(tree):
        up = node.level - (name in packages)
        base = [*home[: len(home) - up], *(node.module.split(".") if node.module else [])]
        for alias in node.names:
            target = ".".join([*base, alias.name])
            target = target if target in known else ".".join(base)
            every.add(target)
            if not lazy:
                loaded.add(target)
    return every - {name}, loaded - {name}


@cache
def graphs() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """{module: those it imports at all}, and the same of those when it is loaded."""
    packages = {".".join(path.parent.relative_to(PACKAGE).parts) for path in PACKAGE.rglob("__init__.py")}
    found = {name: imports(name, tree, set(trees()), packages) for name, tree in trees().items()}
    return {name: every for name, (every, _) in found.items()}, {name: top for name, (_, top) in found.items()}


def room(name: str) -> int:
    return ORDER.index(name.split(".")[0])


def test_only_the_modules_of_the_design_stand_at_the_root() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} <= ROOT


def test_the_order_of_work_is_read_on_one_page() -> None:
    assert len((PACKAGE / "pipeline.py").read_text(encoding="utf-8").splitlines()) < PIPELINE_MAX_LINES


def test_a_room_imports_only_from_rooms_above_it() -> None:
    wrong = {
        (name, other)
        for name, others in graphs()[0].items()
        for other in others
        if name and other and room(other) > room(name)
    }
    assert not wrong, sorted(wrong)


def test_nothing_imports_in_a_circle_even_when_imports_wait_until_they_are_needed() -> None:
    every, done = graphs()[0], set[str]()
    while ready := {name for name, others in every.items() if name not in done and others <= done}:
        done |= ready
    assert not set(every) - done, sorted(set(every) - done)


def test_no_chain_of_imports_is_long() -> None:
    loaded = graphs()[1]

    @cache
    def chain(name: str) -> tuple[str, ...]:
        return (name, *max((chain(other) for other in loaded[name]), key=len, default=()))

    longest = max((chain(name) for name in loaded), key=len)
    assert len(longest) <= LONGEST_CHAIN, " -> ".join(longest)
