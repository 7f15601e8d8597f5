"""Arguments that several verbs share, and types of numbers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..io.format import ReadOptions

ROD_MIN_M = 0.02  # m: sensors on a rod are farther apart than they are large
MOST_PORT = 65_535  # the last port of a machine
_METRES = {"mm": 0.001, "cm": 0.01, "in": 0.0254, "m": 1.0}


def parse_positive(text: str) -> float:
    """A number above zero."""
    value = _number(text)
    if not value > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not above zero")
    return value


def parse_not_negative(text: str) -> float:
    """A number of zero or more."""
    value = _number(text)
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is below zero")
    return value


def parse_whole(text: str) -> int:
    """A whole number of zero or more."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number") from None
    if value < 0:
        raise argparse.ArgumentTypeError(f"'{text}' is below zero")
    return value


def parse_port(text: str) -> int:
    """A port of this machine; 0 is any that is free."""
    value = parse_whole(text)
    if value > MOST_PORT:
        raise argparse.ArgumentTypeError(f"ports end at {MOST_PORT}, so '{text}' is none")
    return value


def parse_percent(text: str) -> float:
    """A share from 0 to 100."""
    value = parse_not_negative(text)
    if value > 100:
        raise argparse.ArgumentTypeError(f"'{text}' is more than 100 percent")
    return value


def parse_length(text: str) -> float:
    """A length [m] above zero: a number of millimetres, or one with its unit: 565, 565mm, 56.5cm, 0.565m."""
    given = text.strip().lower()
    unit = next((one for one in _METRES if given.endswith(one)), None)
    value = parse_positive(given.removesuffix(unit or "").strip())
    return value * _METRES[unit or "mm"]


def parse_rod_length(text: str) -> float:
    """The same for a rod of some size: a bare number so small was meant in metres, and must say so."""
    value = parse_length(text)
    if value < ROD_MIN_M:
        raise argparse.ArgumentTypeError(f"'{text}' is {1000 * value:g} mm; say 565 for millimetres, 0.565m for metres")
    return value


def parse_pair(text: str) -> tuple[str, str]:
    """The two names in `A:B`."""
    a, colon, b = (part.strip() for part in text.partition(":"))
    if not (a and colon and b) or ":" in b:
        raise argparse.ArgumentTypeError(f"'{text}' is not A:B, two bodies with a colon between")
    return a, b


def parse_span(text: str) -> tuple[float, float]:
    """The two times [s] in `S1:S2`, the first before the second."""
    start, colon, end = text.partition(":")
    span = parse_not_negative(start), parse_positive(end) if colon else 0.0
    if span[0] >= span[1]:
        raise argparse.ArgumentTypeError(f"'{text}' is not S1:S2, seconds from and to")
    return span


def split_names(text: str) -> tuple[str, ...]:
    """The names in `a,b,c`."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def parse_bodies(text: str) -> tuple[str, ...]:
    """The same of bodies, one at least: of a variable that is not set nothing would be left out."""
    names = split_names(text)
    if not names:
        raise argparse.ArgumentTypeError("no body is named")
    return names


def parse_renames(text: str) -> dict[str, str]:
    """{old: new} of `old=new,old=new`."""
    found: dict[str, str] = {}
    for part in split_names(text):
        old, sign, new = (word.strip() for word in part.partition("="))
        if not (old and sign and new) or old in found:
            raise argparse.ArgumentTypeError(f"'{part}' is not old=new, each old name once")
        found[old] = new
    return found


def add_reading_arguments(parser: argparse.ArgumentParser) -> None:
    """What the user may say about the numbers in the files."""
    reading = parser.add_argument_group("if a file is silent, or wrong")
    reading.add_argument("--rate", type=parse_positive, metavar="HZ", help="frames per second")
    reading.add_argument("--unit", metavar="UNIT", help="unit of length: m, cm, mm, um, in, ft, or a number of metres")
    reading.add_argument("--up", metavar="AXIS", help="axis that points up: x, y, z, -x, -y, -z")
    reading.add_argument("--handed", choices=("right", "left"), help="handedness of the file's world")
    reading.add_argument("--quaternion", choices=("wxyz", "xyzw"), help="order of the quaternions' numbers")
    reading.add_argument("--euler", metavar="ORDER", help="axes of the angles: ZYX; ZYX-extrinsic (fixed axes); vector")
    angles = reading.add_mutually_exclusive_group()
    angles.add_argument("--degrees", action="store_const", const=True, default=None, help="angles are in degrees")
    angles.add_argument("--radians", dest="degrees", action="store_const", const=False, help="angles are in radians")
    turned = reading.add_mutually_exclusive_group()
    turned.add_argument(
        "--transposed", action="store_const", const=True, default=None, help="rotations turn the world into the body"
    )
    turned.add_argument(
        "--not-transposed",
        dest="transposed",
        action="store_const",
        const=False,
        help="they turn the body into the world",
    )
    reading.add_argument(
        "--axes", metavar="AXES", help="which axes of the file the positions' x, y, z are: --axes=x,-z,y"
    )
    reading.add_argument("--bodies", metavar="FILE", help="bodies.toml that names the markers of each body")
    reading.add_argument("--columns", metavar="FILE", help="column map (TOML) for a table that no format knows")
    reading.add_argument("--format", metavar="NAME", help="name of the format, where the content leaves it open")
    reading.add_argument(
        "--no-doctor",
        dest="doctor",
        action="store_const",
        const=False,
        help="try no other convention than the one said",
    )

    part = parser.add_argument_group("which part of the files")
    part.add_argument("--from", dest="start", type=parse_not_negative, metavar="S", help="from so many seconds on")
    part.add_argument(
        "--to", dest="stop", type=parse_positive, metavar="S", help="up to so many seconds from its start"
    )
    part.add_argument(
        "--only", type=parse_bodies, metavar="BODIES", help="only these: pelvis,l_thigh, or patterns: l_*"
    )
    part.add_argument("--drop", type=parse_bodies, metavar="BODIES", help="all but these")
    part.add_argument("--rename", type=parse_renames, metavar="OLD=NEW", help="other names: s1=pelvis,s2=chest")


def add_repair_arguments(parser: argparse.ArgumentParser) -> None:
    """Which repairs are done."""
    from ..model.repairs import REPAIRS

    done = [name for name, on in REPAIRS.items() if on]
    parser.add_argument("--no-fix", metavar="LIST", help=f"repairs not to be done: {','.join(done)}")
    parser.add_argument(
        "--fix",
        metavar="LIST",
        help="repairs to be done as well: swaps exchanges sensors, and markers, back where they were exchanged",
    )


def collect_reading(args: argparse.Namespace) -> dict[str, Any]:
    """The same as options of `condyle.read`; only what was given."""
    from ..io.format import Reading

    return {name: getattr(args, name) for name in Reading.__annotations__ if getattr(args, name) is not None}


def make_reading(args: argparse.Namespace) -> ReadOptions:
    """The same as a value, checked."""
    from ..io.format import ReadOptions

    return ReadOptions.of(**collect_reading(args))


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number") from None
    if value in (float("inf"), float("-inf")):
        raise argparse.ArgumentTypeError(f"'{text}' is not finite")
    return value
