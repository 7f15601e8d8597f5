"""What `condyle fit` is told about a bent field: its options, and the field that they ask for."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import UsageError
from .arguments import parse_pair, parse_rod_length

if TYPE_CHECKING:
    from ..io.format import ReadOptions
    from ..model.field import FieldModel, Rod


def add_field_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--field",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="take the bend of the room's field away, as the joints tell it",
    )
    parser.add_argument(
        "--rod",
        metavar="FILE",
        help="with --field: a recording of two sensors on a rod, carried through the same space",
    )
    parser.add_argument(
        "--rod-pair", type=parse_pair, metavar="A:B", help="the rod's sensors; without --rod, in the recording itself"
    )
    parser.add_argument(
        "--distance", type=parse_rod_length, metavar="MM", help="distance of the rod's sensors: 565, 0.565m"
    )
    parser.add_argument(
        "--field-file", metavar="FILE", help="take away the field of an earlier fit: the field.json that it wrote"
    )


def read_field_options(
    args: argparse.Namespace, config: Mapping[str, Any], reading: ReadOptions
) -> bool | FieldModel | Rod | None:
    """What was asked for, None where nothing was; raises where options exclude each other or one is missing.

    config  what --config says: a `field`, or the pair, distance and file of a `rod`; options that are given win
    """
    from ..prepare.read import read_rod

    rod = args.rod is not None or args.rod_pair is not None
    if args.field_file is not None:
        if args.field or rod or args.distance is not None:
            raise UsageError("--field-file brings a field along; leave --field and the rod out", code="bad-option")
        from ..io.field_file import read_field

        return read_field(args.field_file)
    if not rod and args.distance is None:
        if args.field is None and "rod" in config:
            return read_rod(config["rod"][0], config["rod"][1], config["rod"][2], reading)
        return None if args.field is None else bool(args.field)
    if not args.field:
        raise UsageError("a rod is used with --field; add it, or leave the rod out", code="bad-option")
    if not rod:
        raise UsageError("--distance needs a rod: give --rod FILE or --rod-pair A:B", code="bad-option")
    if args.distance is None:
        raise UsageError("a rod needs --distance, in mm, between its two sensors", code="bad-option")
    return read_rod(args.rod_pair, args.distance, args.rod, reading)
