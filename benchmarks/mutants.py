"""Do the tests notice when the code is wrong? A seeded sample of small mistakes, each in the memory of its own process.

A mutant is one place of estimate, faults, prepare or the glue (pipeline, assembly, verdict) written otherwise: a named
threshold three times as large or as small, a comparison, a condition, an operator, a number, an end of a sum or search
turned into its opposite, a call left out. First the tests of these rooms are run as they are, and which of them calls
which function is kept. Each mutant then meets the tests that call its function: those of its mirror, simulated takes of
known answer, and the quickest of the others, each for so many seconds; it dies where one fails or takes too long.
As a control, code without a mistake is sent the same way. A number on docs/constants.md is compared with the code by a
test of that page, which is counted apart: it notices every change, and does not know what a number is for. Guards
against a division by zero (1e-9 and less) that are a little larger, and -2 in the place of -1 for the length that a
reshape works out, are no mistakes: they are in the count of all, and left out of the last row but one.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import inspect
import os
import pickle
import random
import resource
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import pytest
from tests.make.size import SIZE

from .harness import FIRST_SEED, Table, percent, progress, publish

PROJECT = Path(__file__).resolve().parents[1]
ROOMS = ("estimate", "faults", "prepare")
GLUE = ("pipeline.py", "estimate/proof.py", "result/assemble.py", "result/verdict.py")
TESTS = (
    "tests/estimate",
    "tests/faults",
    "tests/prepare",
    "tests/result",
    "tests/test_pipeline.py",
    "tests/api",
)
GOLDENS = "tests/goldens/test_goldens.py"
GLUE_SHARE, THRESHOLD_SHARE = 0.2, 0.3  # of the sample
THRESHOLD_FACTOR = 3.0
MIRROR_S, GOLDENS_S, OTHERS_S = 8.0, 4.0, 2.0  # of CPU time of the tests that a mutant meets
SLACK, SPARE_S = 3.0, 10.0  # CPU time that a mutant may take: so many times what the tests took, and so much more
MEMORY_BYTES = 6 * 2**30
GUARD_MAX = 1e-9  # numbers up to which only guard against a division by zero
CONTROLS = 10  # runs without a mistake

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
OPPOSITES = {
    "min": "max", "max": "min", "any": "all", "all": "any", "argmin": "argmax", "argmax": "argmin",
    "minimum": "maximum", "maximum": "minimum", "nanmin": "nanmax", "nanmax": "nanmin",
}  # fmt: skip
WITHOUT_EFFECT = ("strict", "copy", "check")  # keywords that only guard or save


@dataclass(frozen=True)
class Mutant:
    """One place written otherwise.

    span       of its bytes in the file
    functions  functions (path:name) by whose calls tests are chosen
    """

    path: str
    line: int
    kind: str
    before: str
    after: str
    span: tuple[int, int]
    functions: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    def write_into(self, root: Path) -> str:
        """The text of the module with the mistake."""
        raw, (begin, end) = (root / self.path).read_bytes(), self.span
        return (raw[:begin] + self.after.encode() + raw[end:]).decode()


Outcome = tuple[Mutant, bool, frozenset[str]]  # whether it died, and the tests that it met


@dataclass
class Calls:
    """Which test calls which function, and how long it takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    of_test: dict[str, set[str]] = field(default_factory=dict)

    def tests_of(self, mutant: Mutant, longest: float) -> list[str]:
        """Those of the mirror, takes of known answer, and the quickest of the others for up to `longest` [s]."""
        meant = [test for test, called in self.of_test.items() if called & mutant.functions]
        room, _, name = mutant.path.rpartition("/")
        mirror = f"tests/{room}/test_{name}".replace("//", "/")
        own = [test for test in meant if test.startswith(mirror)]
        goldens = [test for test in meant if test.startswith(GOLDENS)]
        random.Random(0).shuffle(goldens)  # of different worlds
        others = {*meant} - {*own, *goldens}
        chosen = list[str]()
        for tests, left in ((own, MIRROR_S), (goldens, GOLDENS_S), (others, longest)):
            quickest = goldens if tests is goldens else sorted(tests, key=lambda test: (self.seconds[test], test))
            some = list[str]()
            for test in quickest:
                if self.seconds[test] <= left:
                    left -= self.seconds[test]
                    some.append(test)
            chosen += sorted(some, key=lambda test: test.partition("::")[0])  # fixtures of a module are made once
        return chosen


# ---- the mistakes


def find_mutants(path: Path, root: Path, rng: random.Random) -> Iterator[Mutant]:
    """Every mistake that may be made in a file."""
    text = path.read_text()
    tree = ast.parse(text)
    lines = text.encode().splitlines(keepends=True)
    offsets = [sum(map(len, lines[:k])) for k in range(len(lines) + 1)]
    relative = str(path.relative_to(root))
    owners = dict(_owners(tree, relative))
    for node, kind, new in _changes(tree, rng):
        begin, end = offsets[node.lineno - 1] + node.col_offset, offsets[node.end_lineno - 1] + node.end_col_offset
        before = text.encode()[begin:end].decode()
        after = f"({ast.unparse(new)})" if isinstance(new, ast.expr) else ast.unparse(new)
        if kind == "threshold" or node in owners:  # of what stands outside functions, constants alone
            functions = frozenset([owners[node]] if node in owners else [])
            yield Mutant(relative, node.lineno, kind, before, after, (begin, end), functions)


def _owners(tree: ast.Module, path: str) -> Iterator[tuple[ast.AST, str]]:
    """The function or method in which each node stands."""
    for part in [tree, *(one for one in tree.body if isinstance(one, ast.ClassDef))]:
        before = f"{part.name}." if isinstance(part, ast.ClassDef) else ""
        for function in [one for one in part.body if isinstance(one, ast.FunctionDef)]:
            for node in [node for statement in function.body for node in ast.walk(statement)]:
                yield node, f"{path}:{before}{function.name}"


def _changes(tree: ast.Module, rng: random.Random) -> Iterator[tuple[Any, str, ast.AST]]:
    """(node, kind, node to write in its place)."""
    thresholds = {value for name, value in named_numbers(tree)}
    for node in _live_nodes(tree):
        new: Any = copy.deepcopy(node)
        if node in thresholds:
            factor = rng.choice((THRESHOLD_FACTOR, 1 / THRESHOLD_FACTOR))
            new.value = round(node.value * factor) if isinstance(node.value, int) else node.value * factor
            new.value += node.value == new.value
            yield node, "threshold", new
        elif isinstance(node, ast.Compare):
            new.ops = [COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
            yield node, "comparison", new
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            new.op = OPERATORS[type(node.op)]()
            yield node, "operator", new
        elif isinstance(node, ast.BoolOp):
            new.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, "condition", new
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert | ast.USub):
            if not isinstance(node.operand, ast.Constant):
                yield node, "operator", new.operand
        elif isinstance(node, ast.If | ast.IfExp | ast.While) and isinstance(node.test, ast.Name | ast.Call):
            yield node.test, "condition", ast.UnaryOp(ast.Not(), copy.deepcopy(node.test))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
            new.value = not node.value
            yield node, "number", new
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            new.value = node.value + 1 if isinstance(node.value, int) else node.value * 2 if node.value else 1.0
            yield node, "number", new
        elif isinstance(node, ast.Call) and (name := _called(node)) in OPPOSITES:
            setattr(new.func, "id" if isinstance(node.func, ast.Name) else "attr", OPPOSITES[name])
            yield node, "end", new
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node, "call left out", ast.Pass()
        elif isinstance(node, ast.Continue):
            yield node, "call left out", ast.Break()


def named_numbers(tree: ast.Module) -> Iterator[tuple[str, ast.Constant]]:
    """Numbers of the constants of a module, with the constant's name."""
    for statement in tree.body:
        targets = [statement.target] if isinstance(statement, ast.AnnAssign) else getattr(statement, "targets", [])
        names = [node.id for one in targets for node in ast.walk(one) if isinstance(node, ast.Name)]
        if isinstance(statement, ast.Assign | ast.AnnAssign) and names and names[0].isupper() and statement.value:
            for node in ast.walk(statement.value):
                if isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value:
                    yield names[0], node


def _live_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but annotations, decorators, texts, and keywords that only guard."""
    yield tree
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for node in value if isinstance(value, list) else [value]:
            dead = isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg in WITHOUT_EFFECT)
            if isinstance(node, ast.AST) and not dead:
                yield from _live_nodes(node)


def _called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def users_of_names(root: Path) -> dict[str, set[str]]:
    """Functions of the package by the names in capitals that they read; a constant made of others counts as theirs."""
    users, made = defaultdict[str, set[str]](set), list[tuple[str, str]]()
    for path in sorted(root.rglob("*.py")):
        tree, relative = ast.parse(path.read_text()), str(path.relative_to(root))
        defaults = [
            (node, f"{relative}:{one.name}")
            for one in tree.body
            if isinstance(one, ast.FunctionDef)
            for node in (*one.args.defaults, *one.args.kw_defaults)
        ]
        for node, owner in (*_owners(tree, relative), *defaults):
            if isinstance(node, ast.Name | ast.Attribute):
                name = node.id if isinstance(node, ast.Name) else node.attr
                if name.isupper():
                    users[name].add(owner)
        for statement in tree.body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                for node in ast.walk(statement.value):
                    if isinstance(node, ast.Name) and node.id.isupper():
                        made.append((node.id, statement.targets[0].id))
    for part, whole in made * 2:
        users[part] |= users[whole]
    return users


def draw_sample(root: Path, size: int, seed: int) -> list[Mutant]:
    """A third thresholds and a fifth glue, or all there are of them; the rest of the rooms."""
    rng = random.Random(seed)
    files = sorted({path for room in ROOMS for path in (root / room).glob("*.py")} | {root / name for name in GLUE})
    users = users_of_names(root)
    groups = defaultdict[str, list[Mutant]](list)
    for path in files:
        names = {node.lineno: name for name, node in named_numbers(ast.parse(path.read_text()))}
        for mutant in find_mutants(path, root, rng):
            if mutant.kind == "threshold":
                mutant = replace(mutant, functions=frozenset(users[names[mutant.line]]))
            group = "thresholds" if mutant.kind == "threshold" else "glue" if mutant.path in GLUE else "rooms"
            groups[group].append(mutant)
    progress(", ".join(f"{len(some)} {group}" for group, some in groups.items()))
    wanted = {"thresholds": round(THRESHOLD_SHARE * size), "glue": round(GLUE_SHARE * size)}
    wanted = {group: min(count, len(groups[group])) for group, count in wanted.items()}
    wanted["rooms"] = size - sum(wanted.values())
    drawn = [mutant for group, count in wanted.items() for mutant in rng.sample(groups[group], count)]
    rng.shuffle(drawn)
    return drawn


# ---- the tests they meet


class Meetings:
    """A plugin of pytest that, in place of running what it collected, records calls, and lets mutants meet tests.

    Each is a fork: what is imported and collected is there already, and what a mistake ruins goes with it.
    """

    def __init__(self, root: Path, home: Path, drawn: Sequence[Mutant], given: argparse.Namespace) -> None:
        self.root, self.home, self.drawn, self.jobs, self.longest = root, home, drawn, given.jobs, given.longest
        self.calls = Calls()
        self.met = dict[Mutant, tuple[bool, frozenset[str]]]()
        self.results = list[Outcome]()
        self.items = dict[str, pytest.Item]()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        kept = self.home / "calls.pickle"
        known = pickle.loads(kept.read_bytes()) if kept.exists() else Calls()
        if new := [item for item in session.items if item.nodeid not in known.seconds]:
            child = self.fork(lambda: record_calls(session, new, known, self.root, kept))
            assert os.waitpid(child, 0)[1] == 0, "the tests could not be recorded"
            known = pickle.loads(kept.read_bytes())
        of_test = {test: called for test, called in known.of_test.items() if test in self.items}
        self.calls = Calls(known.seconds, of_test)
        progress(f"{len(of_test)} tests, {sum(self.calls.seconds[test] for test in of_test):.0f} s")
        self.meet_all(session)
        return True

    def meet_all(self, session: pytest.Session) -> None:
        """The dead of an earlier run stay so; its survivors meet what tests are new. Ctrl-C ends it early."""
        kept = self.home / "met.pickle"
        self.met = pickle.loads(kept.read_bytes()) if kept.exists() else {}
        waiting = [(k, one) for k, one in enumerate(self.drawn) if not self.met.get(one, (False,))[0]]
        running = dict[int, Mutant]()
        with suppress(KeyboardInterrupt):
            while waiting or running:
                while waiting and len(running) < self.jobs:
                    number, mutant = waiting.pop()
                    running[self.start(session, number, mutant)] = mutant
                child, status = os.wait()
                mutant = running.pop(child)
                tests = frozenset(self.calls.tests_of(mutant, self.longest))
                self.met[mutant] = status != 0, tests | self.met.get(mutant, (False, frozenset()))[1]
                kept.write_bytes(pickle.dumps(self.met))
                words = f"{_line(mutant.before)} -> {_line(mutant.after)}, {len(tests)} tests"
                progress(
                    f"{len(waiting)} left, {'ALIVE' if not status else 'dead'} {mutant.place} {mutant.kind}: {words}"
                )
        self.results = [(one, *self.met[one]) for one in self.drawn if one in self.met]

    def start(self, session: pytest.Session, number: int, mutant: Mutant) -> int:
        _, before = self.met.get(mutant, (False, frozenset()))
        tests = [test for test in self.calls.tests_of(mutant, self.longest) if test not in before]
        seconds = SLACK * sum(self.calls.seconds[test] for test in tests) + SPARE_S
        items = [self.items[test] for test in tests]
        return self.fork(lambda: meet(session, mutant, self.root, items, seconds) if items else 0, number)

    def fork(self, work: Callable[[], int], number: int = -1) -> int:
        """Its process, in which `work()` is done quietly and gives the status."""
        child = os.fork()
        if child:
            return child
        status = 97
        try:
            scratch = self.home / "scratch" / str(number)
            scratch.mkdir(parents=True, exist_ok=True)
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(scratch)
            log = os.open(self.home / f"log{number}.txt", os.O_CREAT | os.O_RDWR | os.O_TRUNC)
            for stream in (1, 2):
                os.dup2(log, stream)
            status = work()
            shutil.rmtree(scratch, ignore_errors=True)
        finally:
            sys.stdout.flush()
            os._exit(status)


def record_calls(session: pytest.Session, items: Sequence[pytest.Item], calls: Calls, root: Path, kept: Path) -> int:
    """Runs tests and keeps which functions of the package they call, and their CPU time; those that fail are left."""
    folder, codes = f"{root}/", set[CodeType]()

    def trace(frame: FrameType, event: str, argument: Any) -> None:
        codes.add(frame.f_code)

    for item, after in zip(items, [*items[1:], None], strict=True):
        codes.clear()
        failed, begin = session.testsfailed, time.process_time()
        sys.settrace(trace)
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        sys.settrace(None)
        calls.seconds[item.nodeid] = time.process_time() - begin
        if session.testsfailed == failed:
            calls.of_test[item.nodeid] = {
                f"{code.co_filename.removeprefix(folder)}:{code.co_qualname}"
                for code in codes
                if code.co_filename.startswith(folder)
            }
        else:
            print("fails as it is:", item.nodeid)
    kept.write_bytes(pickle.dumps(calls))
    return 0


def meet(session: pytest.Session, mutant: Mutant, root: Path, items: Sequence[pytest.Item], seconds: float) -> int:
    """1 where the mutant dies."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    make_mistake(mutant, root)
    for item, after in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if session.testsfailed:
            return 1
    return 0


def make_mistake(mutant: Mutant, root: Path) -> None:
    """Writes the mistake into the loaded module: its functions, and its constants wherever they were fetched."""
    parts = [part for part in Path(mutant.path).with_suffix("").parts if part != "__init__"]
    module = sys.modules[".".join(("condyle", *parts))]
    fresh = ModuleType(module.__name__)
    fresh.__package__, fresh.__file__ = module.__package__, module.__file__
    exec(compile(mutant.write_into(root), str(root / mutant.path), "exec"), fresh.__dict__)
    for name, value in list(vars(module).items()):
        new = getattr(fresh, name, None)
        if isinstance(value, type) and value.__module__ == module.__name__:
            for own, one in vars(value).items():
                _write_function(one, vars(new).get(own))
        elif name.isupper() and repr(value) != repr(new):
            for other in [one for key, one in sys.modules.items() if key.partition(".")[0] in ("condyle", "tests")]:
                if getattr(other, name, None) is value:
                    setattr(other, name, new)
        else:
            _write_function(value, new)


def _write_function(old: Any, new: Any) -> None:
    old, new = (getattr(one, "fget", one) for one in (old, new))
    old, new = (inspect.unwrap(getattr(one, "__func__", getattr(one, "func", one))) for one in (old, new))
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        old.__code__ = new.__code__
        old.__defaults__, old.__kwdefaults__ = new.__defaults__, new.__kwdefaults__


# ---- the table


def tables(results: Sequence[Outcome], controls: Sequence[bool], home: Path) -> dict[str, Table]:
    named = {id(one): names_constant(one, home) for one, _, _ in results}

    def row(name: str, some: list[Outcome]) -> list[str]:
        dead, noticed = sum(died for _, died, _ in some), sum(died or named[id(one)] for one, died, _ in some)
        shares = [percent(count / max(len(some), 1)) for count in (dead, noticed)]
        return [name, str(len(some)), str(dead), shares[0], str(noticed), shares[1]]

    def group(mutant: Mutant) -> str:
        return "glue" if mutant.path in GLUE else mutant.path.split("/")[0]

    kinds, rooms = (sorted({key(one[0]) for one in results}) for key in (lambda one: one.kind, group))
    rows = [row(f"kind: {kind}", [one for one in results if one[0].kind == kind]) for kind in kinds]
    rows += [row(f"room: {room}", [one for one in results if group(one[0]) == room]) for room in rooms]
    rows += [row("all but thresholds", [one for one in results if one[0].kind != "threshold"])]
    real = [one for one in results if not makes_no_difference(one[0], home)]
    rows += [row("all", list(results)), row("all that make a difference", real)]
    rows += [["without a mistake", str(len(controls)), str(sum(controls)), "", "", ""]]
    alive = sorted((one for one in results if not one[1]), key=lambda one: (one[0].path, one[0].line))
    short = [
        [
            one.place,
            one.kind,
            f"`{_line(one.before)}`",
            f"`{_line(one.after)}`",
            str(len(tests)),
            "yes" if named[id(one)] else "",
        ]
        for one, _, tests in alive
    ]
    heads = ["place", "kind", "as it is", "as it was written", "tests met", "on the page of constants"]
    return {
        "Mutants": Table(["", "mutants", "dead", "share", "dead or on the page of constants", "share"], rows),
        "Survivors": Table(heads, [*short]),
    }


def names_constant(mutant: Mutant, home: Path) -> bool:
    """Whether it changes a number on the page of constants, which a test compares with the code."""
    if mutant.kind != "threshold":
        return False
    tree, page = ast.parse((home / "src/condyle" / mutant.path).read_text()), (home / "docs/constants.md").read_text()
    stem = Path(mutant.path).stem
    return any(f"`{stem}.{name}`" in page for name, node in named_numbers(tree) if node.lineno == mutant.line)


def makes_no_difference(mutant: Mutant, home: Path) -> bool:
    """Whether a mistake is none: a guard against zero that is a little larger, another sign for a length not given."""
    if mutant.kind not in ("number", "threshold"):
        return False
    before = (home / "src/condyle" / mutant.path).read_bytes()[: mutant.span[0]].rpartition(b"\n")[2]
    unknown_length = before.endswith(b"-") and b"reshape(" in before and mutant.before == "1"
    return unknown_length or 0 < float(ast.literal_eval(mutant.before)) <= GUARD_MAX


def _line(text: str, most: int = 70) -> str:
    one = " ".join(text.split()).replace("|", "\\|")
    return one if len(one) <= most else f"{one[:most]} ..."


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--trials", type=int, default=320, help="mutants (320)")
    parser.add_argument("--seed", type=int, default=FIRST_SEED, help=f"of the sample ({FIRST_SEED})")
    parser.add_argument("--only", default="", help="only those whose place contains this; nothing is written")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time (2)")
    parser.add_argument(
        "--longest", type=float, default=OTHERS_S, help=f"[s] of tests beside the mirror's ({OTHERS_S:g})"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        help="folder of the copy, and of what is known by an earlier run: its survivors meet the tests that are new",
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = given.keep or Path(scratch)
        for part in ("src", "tests", "docs"):
            if part == "tests" or not (home / part).exists():  # mistakes stay in the code as it was; tests may be new
                shutil.rmtree(home / part, ignore_errors=True)
                shutil.copytree(PROJECT / part, home / part)
        shutil.copy(PROJECT / "pyproject.toml", home)
        measure_in(home.resolve(), given)


def measure_in(home: Path, given: argparse.Namespace) -> None:
    root = home / "src/condyle"
    drawn = [one for one in draw_sample(root, given.trials, given.seed) if given.only in one.place]
    sound = random.Random(given.seed).sample(drawn, min(CONTROLS, len(drawn)))
    controls = [replace(one, after=one.before) for one in sound]
    for name in [name for name in sys.modules if name.partition(".")[0] in ("condyle", "tests")]:
        del sys.modules[name]  # those of the project: the copy's are tested
    sys.path[:0] = [str(home), str(root.parent)]
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", PYTHONPATH=str(root.parent))
    os.chdir(home)
    importlib.import_module("tests.make.size").GOLDEN_STEP = 1  # every simulated take
    meetings = Meetings(root, home, [*drawn, *controls], given)
    options = ["-q", "-s", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    pytest.main([*TESTS, GOLDENS, *options], plugins=[meetings])
    harmed = [one for one in meetings.results if one[0].after != one[0].before]
    unharmed = [dead for one, dead, _ in meetings.results if one.after == one.before]
    how = f"{' '.join((__doc__ or '').split())} Here {MIRROR_S:g}, {GOLDENS_S:g} and {given.longest:g} s; {SIZE} tests."
    data = {
        f"{k} {one.place}": {
            "kind": one.kind,
            "before": one.before,
            "after": one.after,
            "dead": dead,
            "tests": len(tests),
        }
        for k, (one, dead, tests) in enumerate(harmed)
    }
    publish("mutants", "Mutants", how, tables(harmed, unharmed, home), data, given)


if __name__ == "__main__":
    main()
