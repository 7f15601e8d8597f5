"""What `condyle fit` is told about a bent field: its options, and the field that they ask for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import UsageError
from .arguments import reading_options

if TYPE_CHECKING:
    from ..model.field import FieldModel, Rod
    from ..pipeline import Calibration


def add_field_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--field", action="store_true", help="take the bend of the room's field away, as the joints tell it"
    )
    parser.add_argument(
        "--rod",
        metavar="FILE",
        help="with --field: a recording of two sensors on a rod, carried through the same space",
    )
    parser.add_argument(
        "--rod-pair", nargs=2, metavar=("A", "B"), help="the rod's sensors; without --rod, in the recording itself"
    )
    parser.add_argument("--distance", type=float, metavar="M", help="distance of the rod's sensors in metres")
    parser.add_argument(
        "--field-file", metavar="FILE", help="take away the field of an earlier fit: the field.json that it wrote"
    )


def field_of(args: argparse.Namespace) -> bool | FieldModel | Rod:
    """What was asked for; raises where options exclude each other or one is missing."""
    rod = args.rod is not None or args.rod_pair is not None
    if args.field_file is not None:
        if args.field or rod or args.distance is not None:
            raise UsageError("--field-file brings a field along; leave --field and the rod out", code="bad-option")
        from ..io.field_file import read_field

        return read_field(args.field_file)
    if not rod and args.distance is None:
        return bool(args.field)
    if not args.field:
        raise UsageError("a rod is used with --field; add it, or leave the rod out", code="bad-option")
    if not rod:
        raise UsageError("--distance needs a rod: give --rod FILE or --rod-pair A B", code="bad-option")
    if args.distance is None:
        raise UsageError("a rod needs --distance, in metres, between its two sensors", code="bad-option")
    from ..model.field import Rod

    if args.rod is None:
        return Rod((args.rod_pair[0], args.rod_pair[1]), args.distance)
    from ..io.formats import Options
    from ..prepare.read import load

    take = load([args.rod], Options.of(**reading_options(args))).take
    pair = tuple(args.rod_pair or take.names)
    if len(pair) != 2:
        raise UsageError(
            f"has {len(pair)} sensors; name the rod's two with --rod-pair A B", code="bad-option", path=args.rod
        )
    return Rod((take.names[take.index(pair[0])], take.names[take.index(pair[1])]), args.distance, take)


def write_field_of(folder: Path, calibration: Calibration) -> list[Path]:
    """field.json in `folder`, for a calibration that took a field away."""
    if calibration.field is None:
        return []
    from ..io.field_file import write_field

    write_field(folder / "field.json", calibration.field)
    return [folder / "field.json"]
