"""condyle batch FOLDER|study.toml -o STUDY: every take, by many processes, with one page over all of them."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from ..errors import join_command
from .arguments import parse_whole
from .streams import FAILED
from .terminal import DONE, DONE_WITH_WARNINGS, escape_text, print_json, print_line, print_written

if TYPE_CHECKING:
    from ..study.batch import Study

MOST_SHOWN = 20  # takes that failed; the table has all of them


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "source", metavar="FOLDER|TOML", help="a folder, in which every recording is a take; or a list of takes"
    )
    parser.add_argument(
        "-o",
        "--out",
        metavar="STUDY",
        required=True,
        help="folder for index.html, the tables, and one folder a take; what is done there is not done again",
    )
    parser.add_argument(
        "--performers", action="store_true", help="subfolders of FOLDER are performers, and theirs are sessions"
    )
    parser.add_argument("--config", metavar="FILE", help="settings of all takes: the options.toml of a fit")
    parser.add_argument("--export", metavar="LIST", help="formats to write for each take, such as bvh,glb")
    parser.add_argument("--no-report", action="store_true", help="write no report.html for the takes")
    parser.add_argument("--parquet", action="store_true", help="write the tables as Parquet as well (extra `parquet`)")
    parser.add_argument(
        "--workers", type=parse_whole, metavar="N", help="processes on this machine; default: all cores"
    )
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="do the takes on a Dask cluster: tcp://HOST:8786, or the word dask for the one of Dask's configuration",
    )
    parser.add_argument("--retry", action="store_true", help="do takes again that failed")


def run(args: argparse.Namespace) -> int:
    from ..study.batch import batch

    settings = _read_settings(args)
    try:
        study = batch(
            args.source,
            args.out,
            performers=args.performers,
            settings=settings,
            workers=args.workers,
            cluster=args.cluster,
            retry=args.retry,
            parquet=args.parquet,
            tell=None if args.json or sys.stderr.isatty() else _print_take,  # a terminal shows the share that is done
        )
    except KeyboardInterrupt as error:
        again = join_command(["condyle", *sys.argv[1:]])
        error.add_note(f"stopped; what is done stays. To go on: `{again}`")
        raise
    if args.json:
        print_json({"study": str(study), **vars(study)})
    else:
        _print(study)
    if study.failed or study.counts["waiting"]:
        return FAILED
    return DONE if study.counts["good"] == study.counts["done"] else DONE_WITH_WARNINGS


def _read_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of all takes."""
    settings: dict[str, Any] = {}
    if args.config:
        from ..io.toml_file import read_toml

        settings, _ = read_toml(args.config, "a list of options", "bad-option")
        _check_paths(settings, args.config)
    if args.no_report:
        settings["report"] = False
    if args.export:
        settings["export"] = args.export
    return settings


def _check_paths(settings: dict[str, Any], config: str) -> None:
    """Makes the paths in the settings, which are relative to their file, absolute."""
    folder = os.path.dirname(os.path.abspath(config))
    for table, name in ((settings, "field_file"), (settings.get("reading"), "columns"), (settings.get("rod"), "file")):
        if isinstance(table, dict) and isinstance(table.get(name), str):
            table[name] = os.path.join(folder, table[name])


def _print_take(record: Any, done: int, of: int) -> None:
    text = record.facts.text if record.facts is not None else record.fault.text
    print(f"{done}/{of} {escape_text(record.take)}: {escape_text(text)}", flush=True)


def _print(study: Study) -> None:
    print_line(str(study), style="bold")
    for name, text in list(study.failed.items())[:MOST_SHOWN]:
        print_line(f"failed {name}: {text}")
    if len(study.failed) > MOST_SHOWN:
        print_line(f"and {len(study.failed) - MOST_SHOWN} more, in takes.csv")
    for note in study.notes:
        print_line(note)
    print_written(study.files)
