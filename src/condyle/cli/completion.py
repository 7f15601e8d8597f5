"""condyle completion SHELL: the script that lets a shell complete verbs, options and files."""

from __future__ import annotations

import argparse
from typing import Any

from .terminal import DONE, print_json

SHELLS = ("bash", "zsh", "fish", "tcsh")
FILES = ("FILE", "OUT", "FOLDER|TOML", "A B")  # what arguments call a file, or a file or a folder
FOLDERS = ("DIR", "STUDY")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of {', '.join(SHELLS)}")


def run(args: argparse.Namespace) -> int:
    script = make_script(args.shell)
    if args.json:
        print_json({"shell": args.shell, "script": script})
    else:
        print(script)  # as it is: it is for a shell, not for a person
    return DONE


def make_script(shell: str) -> str:
    """The script for a shell."""
    import shtab

    from . import make_full_parser

    parser = make_full_parser()
    for action in _list_actions(parser):
        names: Any = action.metavar
        if names in FILES:
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif names in FOLDERS:
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell=shell))


def _list_actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    found = list(parser._actions)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += [one for verb in action.choices.values() for one in _list_actions(verb)]
    return found
