"""The program `condyle`: parse first, import later. One file per verb, with `add_arguments(parser)` and `run(args)`.

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted (143 by TERM, 129 by HUP); with --strict 3 where a finding
is a warning or worse, or the verdict is not good.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any, NoReturn, Protocol, cast

from .._version import __version__
from ..errors import TYPO_ALIKE, CondyleError, UsageError, suggest
from ..maths.threads import THREAD_VARIABLES
from .interrupts import raise_signals
from .steps import show_steps
from .streams import end_output, replace_closed, spell_out_symbols
from .terminal import DONE, DONE_WITH_WARNINGS, escape_text, print_error, print_json, print_note, wrap_error

VERBS = {
    "fit": "joints, tree and limb lengths from one or more recordings",
    "solve": "later recordings of a known figure: its motion, with the sensors where they were",
    "profile": "a performer as a file: lengths of several fits, kinds, sides",
    "batch": "every take of a folder or a list, by many processes, with one page over all",
    "compare": "fits or performers side by side, in units of their intervals",
    "info": "what is in a recording: bodies, frames, gaps, movement",
    "live": "the figure while sensors stream: recorded, solved, shown and sent on",
    "report": "the page of a fit written anew, and its figures for papers and slides",
    "view": "the page of a large fit, from a server on this machine",
    "coverage": "whether every joint was moved enough, and what every length needs",
    "angles": "joint angles over time, by ISB or another convention, with their ranges",
    "axes": "axes of a machine to each other, with its Denavit-Hartenberg tables",
    "export": "the figure and its motion in files that other programs open",
    "retarget": "the motion on a figure with other limb lengths",
    "scale": "unit of length and noise of a set-up, from two sensors at a known distance",
    "doctor": "which convention the numbers use, tried on the motion itself",
    "simulate": "a recording of a known figure, with the truth beside it",
    "demo": "the whole chain on a simulated recording, in a few seconds",
    "completion": "a script for bash, zsh, fish or tcsh that completes verbs, options and files",
}
INTERRUPTED_TEXT = "interrupted; nothing was left half written"  # where no verb has noted more
INTERRUPTED = 130  # what a shell reports for a program ended by SIGINT
EPILOG = (
    "condyle VERB --help, or condyle help VERB, tells the options of a verb. Exit status: 0 done, 1 failed, 2 wrong "
    "usage, 130 interrupted; with --strict, 3 where something is to be looked at."
)
# argparse makes a formatter for every argument that is added, only to look at its metavar
_PLAIN: Any = partial(argparse.HelpFormatter, width=80)
_AXIS_OPTIONS = ("--up", "--axes", "--heading")
_AXIS = re.compile(r"-[xyz](,-?[xyz])*", re.IGNORECASE)


class _Parser(argparse.ArgumentParser):
    """A parser that says in one line what is wrong, and whose help does not vanish where it cannot be written."""

    def _print_message(self, message: str, file: Any = None) -> None:
        if message:
            (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        wrong = re.match(r"argument (.*?): invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if wrong:
            what, given, choices = wrong.groups()
            near = suggest(given, re.split(r", ", choices.replace("'", "")), TYPO_ALIKE)
            message = f"no verb '{given}'; {near}" if what == "VERB" else f"{what}: no choice '{given}'; {near}"
        self.exit(2, wrap_error(f"{self.prog}: error: {escape_text(message)} ({self.prog} --help)") + "\n")


class Verb(Protocol):
    """What a file in this folder gives the program."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None: ...
    def run(self, args: argparse.Namespace) -> int: ...


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status; a fault in the input is one line on standard error."""
    words = list(sys.argv[1:] if argv is None else argv)
    for name in THREAD_VARIABLES:
        os.environ.setdefault(name, "1")
    closed = replace_closed()
    spell_out_symbols()
    with raise_signals() as signals:
        try:
            return end_output(None, _run(words), closed=closed)
        except OSError as error:
            return end_output(error, 1, closed=closed)
        except BaseException as error:  # C code may have made another error of an interrupt
            if signals.received is None and not isinstance(error, KeyboardInterrupt):
                raise
            print_note("\n".join(getattr(error, "__notes__", [INTERRUPTED_TEXT])))
            return INTERRUPTED if signals.received is None else signals.received.status


def _run(words: list[str]) -> int:
    if words[:1] == ["help"]:
        words = [*words[1:2], "--help"]
    name = next((word for word in words if not word.startswith("-")), None)
    verb = _import_verb(name) if name in VERBS else None
    parser, own = _make_parser(name, verb, alone=words[:1] == [name])
    words = _attach_axes(words)
    try:
        if (
            name is not None
            and verb is not None
            and (wrong := _find_unknown(words[words.index(name) :], own)) is not None
        ):
            own.error(_describe_unknown(wrong, own))  # before what is missing, for it may be why
        args, unknown = parser.parse_known_args(words)
        if unknown:
            own.error(_describe_unknown(unknown[0], own))
        if "-" in (getattr(args, name, None) for name in ("out", "propose")):
            own.error("nothing is written to the standard output; name a file or folder in place of '-'")
        if "" in (getattr(args, name, None) for name in ("out", "propose")):  # as of a variable that is not set
            own.error("what is written has no name; name a file or folder in place of ''")
    except SystemExit as error:
        sys.stdout.flush()
        return error.code if isinstance(error.code, int) else 2
    if verb is None:
        parser.print_help()
        sys.stdout.flush()
        return 2
    try:
        with show_steps():
            status = verb.run(args)
        if status == DONE_WITH_WARNINGS and not args.strict:
            status = DONE
    except CondyleError as error:
        _print_fault(error, as_json=args.json)
        status = 2 if isinstance(error, UsageError) else 1
    except MemoryError:
        _print_fault(CondyleError("not enough memory for this recording", code="out-of-memory"), as_json=args.json)
        status = 1
    sys.stdout.flush()
    return status


def _attach_axes(words: list[str]) -> list[str]:
    """The words with `--up -y` as `--up=-y`: an axis with a minus is no option."""
    out: list[str] = []
    for word in words:
        if out and out[-1] in _AXIS_OPTIONS and _AXIS.fullmatch(word):
            out[-1] += f"={word}"
        else:
            out.append(word)
    return out


def _find_unknown(words: list[str], parser: argparse.ArgumentParser) -> str | None:
    """The first word that stands as an option and is none, nor the beginning of one."""
    known = parser._option_string_actions
    for word in words[: words.index("--") if "--" in words else None]:
        name = word.partition("=")[0]
        if re.fullmatch(r"--[A-Za-z]\S*", name) and not any(one.startswith(name) for one in known):
            return word
    return None


def _describe_unknown(word: str, parser: argparse.ArgumentParser) -> str:
    """What to say of a word that nothing asks for."""
    if not word.startswith("-"):
        return f"nothing is asked for where '{word}' stands"
    name = word.partition("=")[0]
    if name in ("-o", "--out") and any(one.dest == "out" and not one.option_strings for one in parser._actions):
        return f"no option '{name}': OUT stands by itself, as in {parser.prog} OUT"
    known = [option for option in parser._option_string_actions if option.startswith("--")]
    near = suggest(name, known, TYPO_ALIKE)
    return f"no option '{name}'" + (f"; {near}" if near.startswith("did you") else "")


def make_full_parser() -> argparse.ArgumentParser:
    """The parser with the arguments of all verbs."""
    return _make_parser(None, None, every=True)[0]


def _make_parser(
    chosen: str | None, verb: Verb | None, *, every: bool = False, alone: bool = False
) -> tuple[argparse.ArgumentParser, argparse.ArgumentParser]:
    """Every verb with its line of help, and the parser of the chosen one, which alone is imported for its arguments.

    alone  leave the other verbs out: nothing that stands after a verb asks for them
    """
    parser = own = _Parser(
        prog="condyle",
        description="The articulated figure inside a recording of positions and orientations.",
        epilog=EPILOG,
        formatter_class=_PLAIN,
    )
    parser.add_argument("--version", action="version", version=f"condyle {__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", prog="condyle")
    for name, words in VERBS.items():
        if alone and verb is not None and name != chosen:
            continue
        one = verbs.add_parser(name, help=words, description=f"{words[0].upper()}{words[1:]}.", formatter_class=_PLAIN)
        one.add_argument("--json", action="store_true", help="print the facts as JSON")
        one.add_argument(
            "--strict", action="store_true", help="exit with 3, not 0, where something is to be looked at: for scripts"
        )
        if every:
            _import_verb(name).add_arguments(one)
        elif name == chosen and verb is not None:
            own = one
            verb.add_arguments(own)
            own.usage = _make_usage(own)
        one.formatter_class = _make_formatter
    parser.formatter_class = _make_formatter
    return parser, own


def _make_usage(parser: argparse.ArgumentParser) -> str:
    """What a verb is given, without its options: they have their place below."""
    forms: dict[int | str | None, str] = {None: "{}", "+": "{}...", "*": "[{}...]", "?": "[{}]"}
    given = [forms.get(one.nargs, "{}").format(one.metavar) for one in parser._get_positional_actions()]
    return " ".join([parser.prog, "[OPTIONS]", *given])


def _import_verb(name: str | None) -> Verb:
    return cast(Verb, import_module(f".{name}", __name__))


def _make_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=32)


def _print_fault(error: CondyleError, *, as_json: bool) -> None:
    if as_json:
        print_json({"error": error.facts()})
    else:
        print_error(error)
