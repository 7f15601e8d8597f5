"""The one error that leaves condyle when input is broken, and what its sentence suggests in the place of a name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, SupportsFloat

TYPO_ALIKE = 0.65  # of 1: how alike a word and the name that it is a slip of must be; ftt and fit are 0.67
SHELL_LETTERS = '"$`!%\\\n'  # that shells read between double quotes: names with one of these have single ones
SENTENCE_MOST_LETTERS = 1000  # of an error: what it quotes from a file may be a line of any length


class CondyleError(Exception):
    """Broken input, told in one sentence: the place, what is wrong there, and the way out.

    code    stable kebab-case name of the fault, for programs
    path    file the fault is in, or None
    line    1-based line in that file; column likewise
    frame   0-based frame; body: the sensor's or body's name
    """

    def __init__(
        self,
        text: str,
        *,
        code: str,
        path: str | Path | None = None,
        line: int | None = None,
        column: int | None = None,
        frame: int | None = None,
        body: str | None = None,
    ) -> None:
        self.text = _shorten(text)
        self.code = code
        self.path = None if path is None else str(path)
        self.line, self.column, self.frame = line, column, frame
        self.body = None if body is None else _shorten(body)
        super().__init__(str(self))

    def __str__(self) -> str:
        place = [] if self.path is None else [self.path]
        for word, value in (("line", self.line), ("column", self.column), ("frame", self.frame), ("sensor", self.body)):
            if value is not None:
                place.append(f"{word} {value}")
        return f"{', '.join(place)}: {self.text}" if place else self.text

    def facts(self) -> dict[str, str | int | None]:
        """The error as plain values, for programs."""
        places = ("code", "text", "path", "line", "column", "frame", "body")
        return {place: getattr(self, place) for place in places}

    def at(self, path: str | Path) -> CondyleError:
        """The same error, naming the file it came from; a path already named stays."""
        if self.path is not None:
            return self
        return type(self)(
            self.text,
            code=self.code,
            path=path,
            line=self.line,
            column=self.column,
            frame=self.frame,
            body=self.body,
        )


def _shorten(text: str) -> str:
    """The text without its middle, where it is longer than anybody reads."""
    half = SENTENCE_MOST_LETTERS // 2
    return text if len(text) <= SENTENCE_MOST_LETTERS else f"{text[:half]} ... {text[-half:]}"


class UsageError(CondyleError):
    """The call is wrong, not the data: an unknown body in `--root`, two options that exclude each other."""


@contextmanager
def name_file(path: str | Path) -> Iterator[None]:
    """Errors of the block name this file, unless they name one themselves."""
    try:
        yield
    except CondyleError as error:
        raise error.at(path) from None


def check_path(value: Any, what: str) -> Path:
    """The path; raises where it is none, or one that the system cannot have or does not let be looked at."""
    name = os.fspath(value) if isinstance(value, str | os.PathLike) else ""
    try:
        if not isinstance(name, str) or not name:
            raise ValueError
        check_letters(name)
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError):  # whoever opens it says so, or makes it
        try:
            os.path.isabs(name) or os.getcwd()
        except OSError:
            text = "the folder that this runs in is no more; change to another"
            raise CondyleError(text, code="unreadable-file", path=name) from None
    except OSError as error:
        raise CondyleError(f"cannot be opened: {error.strerror}", code="unreadable-file", path=name) from None
    except ValueError:  # also of Python, of a zero byte
        raise UsageError(f"{what} is told by its path, not {value!r}", code="bad-call") from None
    return Path(name)


def check_letters(name: str) -> None:
    """Raises for a path of bytes that are no UTF-8: it can be opened, but no text that is written could hold it."""
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            text = "its name is no text in UTF-8; rename it"
            raise CondyleError(text, code="unreadable-file", path=name) from None


def check_paths(value: Any) -> list[Path]:
    """The paths of one or of several recordings; raises where one is none."""
    several = isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike | Mapping)
    return [check_path(one, "a recording") for one in (value if several else [value])]


def check_number(value: Any, what: str) -> float:
    """The number; raises where it is none."""
    if isinstance(value, bool) or not isinstance(value, SupportsFloat) or bool(getattr(value, "shape", False)):
        raise UsageError(f"{what} is a number, not {value!r}", code="bad-call")
    try:
        return float(value)
    except OverflowError:  # a whole number of Python has no bounds
        raise UsageError(f"{what} is a number too large for float64", code="bad-call") from None


def check_flag(value: Any, what: str) -> bool:
    """Whether it is so; raises where it is neither True nor False, of Python or numpy, nor 1 or 0."""
    of_numpy = str(getattr(value, "dtype", "")) == "bool" and value.shape == ()
    if not of_numpy and (not isinstance(value, int) or value not in (0, 1)):
        raise UsageError(f"{what} is True or False, not {value!r}", code="bad-call")
    return bool(value)


def check_several(value: Any, what: str) -> tuple[Any, ...]:
    """What is listed, a text alone as one; raises where it is no list."""
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise UsageError(f"{what} is a list, not {value!r}", code="bad-call")
    return (value,) if isinstance(value, str) else tuple(value)


def check_names(value: Any, what: str) -> tuple[str, ...]:
    """The names that are listed, a text alone as one; raises where one is no text."""
    names = check_several(value, what)
    if not all(isinstance(name, str) for name in names):
        raise UsageError(f"{what} is a list of names, not {value!r}", code="bad-call")
    return names


def suggest(name: str, choices: Sequence[str], alike: float = 0.5) -> str:
    """Words that suggest the choices nearest to a name, at least `alike` [-] of 1, or list the first of them."""
    import difflib

    name = str(name)
    named = [choice for choice in choices if choice]
    lower = {choice.lower(): choice for choice in named}
    near = [lower[hit] for hit in difflib.get_close_matches(name.lower(), lower, 3, alike)]
    if near:
        return "did you mean " + " or ".join(f"'{choice}'" for choice in near) + "?"
    shown = ", ".join(named[:12]) + (f" and {len(named) - 12} more" if len(named) > 12 else "")
    return f"choose from {shown}"


def join_command(words: Iterable[str]) -> str:
    """A command as a line for the shell of this system; plain names have double quotes, which all of them know."""
    if os.name == "nt":
        from subprocess import list2cmdline

        return list2cmdline(words)
    import shlex

    return " ".join(f'"{word}"' if _is_plain(word) else shlex.quote(word) for word in words)


def _is_plain(word: str) -> bool:
    """Whether a word needs quotes and means itself between double ones."""
    return " " in word and not set(word) & set(SHELL_LETTERS)


def import_extra(library: str, extra: str, need: str = "") -> Any:
    """A library that an extra brings along; raises with the way to have it. need: what the sentence begins with."""
    from importlib import import_module

    try:
        return import_module(library)
    except ImportError:
        way = f'pip install "condyle[{extra}]"'
        raise CondyleError(f"{need or f'this needs {library}'}: {way}", code="missing-extra") from None
