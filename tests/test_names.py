"""Names of the package: functions are verbs, and a name stands for one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

import pytest

from .test_map import trees, walk_statements

ROLES = {"FORMAT", "CONVENTION"}  # what every format, and every live source, has under one name
VERBS = {"bring", "embed", "feed", "need", "seed"}
IRREGULAR = {"drawn", "frozen", "given", "grown", "held", "hidden", "kept", "known", "left", "made", "seen", "told"}
QUAINT = {"contest", "judge", "judged", "mending", "misfit", "misfits", "telling", "told"}
NOUNS = {"correlated_square_sum", "recording_of", "speed", "spanning_tree", "spanning_margins", "_swing"}


def functions() -> Iterator[tuple[str, str]]:
    """(module, name) of every function and method that is called; properties are values."""
    for module, tree in trees().items():
        for node in walk_statements(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if not any("property" in ast.unparse(one) for one in node.decorator_list):
                yield module, node.name


def is_participle(word: str) -> bool:
    return word in IRREGULAR or (word.endswith(("ed", "ing")) and word not in VERBS)


def test_no_function_is_called_by_a_participle() -> None:
    odd = {
        (module, name)
        for module, name in functions()
        if name not in NOUNS and (is_participle(name.strip("_").split("_")[0]) or QUAINT & set(name.split("_")))
    }
    assert not odd, sorted(odd)


@pytest.mark.parametrize(("word", "odd"), [("sealed", True), ("resting", True), ("read", False), ("told", True)])
def test_participles_are_known(word: str, odd: bool) -> None:
    assert is_participle(word) == odd


def test_no_class_name_stands_for_two_things() -> None:
    homes = defaultdict[str, list[str]](list)
    for module, tree in trees().items():
        for node in walk_statements(tree):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module)
    assert not {name: where for name, where in homes.items() if len(where) > 1}


def constants(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(name, value) of every public constant."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            value = node.value if isinstance(node, ast.Assign) else target
            values = (
                value.elts if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) else [value] * len(parts)
            )
            for part, one in zip(parts, values, strict=True):
                if isinstance(part, ast.Name) and part.id.isupper() and part.id[0] != "_":
                    yield part.id, ast.unparse(one)


def test_no_constant_name_stands_for_two_values() -> None:
    found = defaultdict[str, dict[str, str]](dict)
    for module, tree in trees().items():
        for name, value in constants(tree):
            found[name][module] = value
    assert not {name: where for name, where in found.items() if len(set(where.values())) > 1 and name not in ROLES}
