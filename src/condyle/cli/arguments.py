"""Arguments that several verbs share, and types of numbers."""

from __future__ import annotations

import argparse
from typing import Any


def positive(text: str) -> float:
    """A number above zero."""
    value = _number(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not above zero")
    return value


def not_negative(text: str) -> float:
    """A number of zero or more."""
    value = _number(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is below zero")
    return value


def whole(text: str) -> int:
    """A whole number of zero or more."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number") from None
    if value < 0:
        raise argparse.ArgumentTypeError(f"'{text}' is below zero")
    return value


def percent(text: str) -> float:
    """A share from 0 to 100."""
    value = not_negative(text)
    if value > 100:
        raise argparse.ArgumentTypeError(f"'{text}' is more than 100 percent")
    return value


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """What the user may say about the numbers in the files."""
    reading = parser.add_argument_group("where a file does not say, or says it wrongly")
    reading.add_argument("--rate", type=positive, metavar="HZ", help="frames per second")
    reading.add_argument("--unit", metavar="UNIT", help="unit of length: m, cm, mm, um, in, ft")


def reading_options(args: argparse.Namespace) -> dict[str, Any]:
    """The same as options of `condyle.readers.read`; only what was given."""
    given = {"rate": args.rate, "unit": args.unit}
    return {name: value for name, value in given.items() if value is not None}


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number") from None
    if value in (float("inf"), float("-inf")):
        raise argparse.ArgumentTypeError(f"'{text}' is not finite")
    return value
