"""The map of the package: a room imports only from rooms above it, nothing imports in a circle, chains are short."""

from __future__ import annotations

import ast
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


def names() -> dict[str, str]:
    """{module: its source}, without the package's own name; "" is the package."""
    out = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        out[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path.read_text(encoding="utf-8")
    return out


def imports(name: str, source: str, known: set[str], packages: set[str]) -> tuple[set[str], set[str]]:
    """Modules that a module imports at all, and those when it is loaded; what only types need does not count."""
    tree = ast.parse(source)
    typing = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    lazy = {inner for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for inner in ast.walk(node)}
    every, loaded = set[str](), set[str]()
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node in typing or not node.level:
            continue
        home = name.split(".") if name else []
        up = node.level - (name in packages)
        base = [*home[: len(home) - up], *(node.module.split(".") if node.module else [])]
        for alias in node.names:
            target = ".".join([*base, alias.name])
            target = target if target in known else ".".join(base)
            every.add(target)
            if node not in lazy:
                loaded.add(target)
    return every - {name}, loaded - {name}


def graphs() -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    sources = names()
    packages = {".".join(path.parent.relative_to(PACKAGE).parts) for path in PACKAGE.rglob("__init__.py")}
    found = {name: imports(name, source, set(sources), packages) for name, source in sources.items()}
    return {name: every for name, (every, _) in found.items()}, {name: top for name, (_, top) in found.items()}


EVERY, LOADED = graphs()


def room(name: str) -> int:
    return ORDER.index(name.split(".")[0])


def test_only_the_modules_of_the_design_stand_at_the_root() -> None:
    assert {path.stem for path in PACKAGE.glob("*.py")} <= ROOT


def test_the_order_of_work_is_read_on_one_page() -> None:
    assert len((PACKAGE / "pipeline.py").read_text(encoding="utf-8").splitlines()) < PIPELINE_MAX_LINES


def test_a_room_imports_only_from_rooms_above_it() -> None:
    wrong = {
        (name, other)
        for name, others in EVERY.items()
        for other in others
        if name and other and room(other) > room(name)
    }
    assert not wrong, sorted(wrong)


def test_nothing_imports_in_a_circle_even_when_imports_wait_until_they_are_needed() -> None:
    done: set[str] = set()
    while ready := {name for name, others in EVERY.items() if name not in done and others <= done}:
        done |= ready
    assert not set(EVERY) - done, sorted(set(EVERY) - done)


def test_no_chain_of_imports_is_long() -> None:
    @cache
    def chain(name: str) -> tuple[str, ...]:
        return (name, *max((chain(other) for other in LOADED[name]), key=len, default=()))

    longest = max((chain(name) for name in LOADED), key=len)
    assert len(longest) <= LONGEST_CHAIN, " -> ".join(longest)
