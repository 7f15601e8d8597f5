"""condyle solve FILE...: later takes played on a known figure."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from ..errors import UsageError
from .arguments import add_reading_arguments, add_repair_arguments, collect_reading, split_names
from .fit import add_output_arguments, check_export, print_result
from .session import add_session_arguments, check_not_live, check_session, run_session, take_guide


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="later recordings of a person who was calibrated")
    known = parser.add_mutually_exclusive_group(required=True)
    known.add_argument(
        "--skeleton",
        metavar="DIR",
        help="the calibration, whose sensors have not moved since: folder that condyle fit -o wrote",
    )
    known.add_argument(
        "--profile", metavar="FILE", help="the performer, whose sensors were put on anew: what condyle profile wrote"
    )
    parser.add_argument(
        "--remounted", action="store_true", help="the sensors were put on anew: lengths are held, mounts are fitted"
    )
    add_output_arguments(parser)
    live = parser.add_argument_group("live", "a known performer while the sensors stream")
    live.add_argument(
        "--live",
        action="store_true",
        help="FILE is a source of condyle live; the figure streams out from the first second",
    )
    add_session_arguments(live)
    add_repair_arguments(parser)
    parser.add_argument(
        "--scale", metavar="FILE", help="factor on recorded lengths, as of condyle fit; by default the calibration's"
    )
    parser.add_argument(
        "--no-field", action="store_true", help="leave the bend of the room that the calibration took away"
    )
    parser.add_argument("--as-recorded", action="store_true", help="mask and repair nothing before")
    add_reading_arguments(parser)


def run(args: argparse.Namespace) -> int:
    begin = time.perf_counter()
    from ..api import solve
    from .fit import read_factor

    _check_out(args)
    if args.live:
        return _run_live(args)
    check_not_live(args)
    check_export(args)
    fit = solve(
        args.files,
        args.skeleton,
        profile=args.profile,
        remounted=args.remounted,
        prepare=not args.as_recorded,
        fix=split_names(args.fix or ""),
        no_fix=split_names(args.no_fix or ""),
        scale=read_factor(args.scale) if args.scale else None,
        field=not args.no_field,
        **collect_reading(args),
    )
    return print_result(fit, args, begin)


def _check_out(args: argparse.Namespace) -> None:
    """Raises where the result would take the place of the calibration, which later takes need."""
    from ..io.folder import find_folder

    if args.out and args.skeleton and find_folder(args.skeleton).resolve() == Path(args.out).resolve():
        raise UsageError("would replace the calibration; choose another folder with -o", code="bad-call", path=args.out)


def _run_live(args: argparse.Namespace) -> int:
    """A session of somebody who is known."""
    from ..io.profile_file import read_profile
    from ..io.skeleton_file import read_skeleton
    from ..live.performer import Performer
    from ..result.profile import make_profile

    words = take_guide(args, args.files)
    check_session(args)
    profile = read_profile(args.profile) if args.profile else None
    skeleton = read_skeleton(args.skeleton) if args.skeleton else None
    if skeleton is not None and args.remounted:
        profile, skeleton = make_profile([skeleton])[0], None
    return run_session(args, words, Performer(profile, skeleton))
