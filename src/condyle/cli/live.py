"""condyle live SOURCE... -o DIR: the figure while sensors stream; recorded first, solved, shown and sent on."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import CondyleError
from ..findings import many
from .arguments import add_reading_arguments, make_reading
from .session import (
    LOG_NAME,
    add_session_arguments,
    check_session,
    open_feed,
    print_end,
    run_session,
    take_guide,
)
from .terminal import DONE, escape_text, print_json, print_line, print_note, print_table, redraw

if TYPE_CHECKING:
    from ..live.feed import Feed, SourceStatus

DEMO_FOLDER = "condyle-live-demo"
STATUS_PERIOD_S = 0.5  # s between two status lines in a terminal
PLAIN_STATUS_PERIOD_S = 10.0  # s between two of them in a pipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="SOURCE",
        help="what to record, such as natnet:HOST, replay:FILE or demo; without one all that is found streaming here; "
        "it is listed only, without -o",
    )
    parser.add_argument("-o", "--out", metavar="DIR", help=f"folder for {LOG_NAME}; made if it is missing")
    parser.add_argument("--record-only", action="store_true", help="record, and fit nothing meanwhile nor at the end")
    add_session_arguments(parser)
    add_reading_arguments(parser)


def run(args: argparse.Namespace) -> int:
    words = take_guide(args, args.sources)
    if not words and not args.out:
        return _list_sources(args)
    if not words:
        words = _find_sources()
    if not args.out and words == ["demo"]:
        args.out = DEMO_FOLDER
    check_session(args)
    if not args.record_only:
        return run_session(args, words)
    feed = open_feed(words, Path(args.out), make_reading(args))
    begin = time.monotonic()
    try:
        feed.start()
        _watch(feed, None if args.seconds is None else begin + args.seconds, quiet=args.json)
    except KeyboardInterrupt:
        pass
    finally:
        status = feed.status()
        feed.close()
    return print_end(args, feed, status, time.monotonic() - begin)


def _find_sources() -> list[str]:
    """The words of all that streams here."""
    from ..live.sources import find_streams

    words = [stream.word for stream in find_streams()]
    if not words:
        text = "nothing was found streaming, and not every protocol can be found by asking; name the source"
        raise CondyleError(text, code="no-answer")
    print_note(f"found {', '.join(words)}")
    return words


def _watch(feed: Feed, end: float | None, *, quiet: bool) -> None:
    """Shows how it goes until all sources ended, or the time is over."""
    live = sys.stdout.isatty() and not quiet
    shown = time.monotonic()
    while True:
        left = STATUS_PERIOD_S if end is None else min(STATUS_PERIOD_S, max(end - time.monotonic(), 0.0))
        over = feed.wait(left) or (end is not None and time.monotonic() >= end)
        if live:
            redraw(escape_text(describe_status(feed)), sys.stdout)
            print(end="\n" if over else "", flush=True)
        elif not quiet and not over and time.monotonic() - shown >= PLAIN_STATUS_PERIOD_S:
            shown = time.monotonic()
            print_line(describe_status(feed))
            sys.stdout.flush()
        if over:
            return


def describe_status(feed: Feed) -> str:
    """One line: every source with its bodies, rate and lag, and what is not recorded."""
    parts = [_describe_source(one) for one in feed.status()]
    if feed.recorder.fault is not None:
        parts.append(f"NOT RECORDED: {many(feed.recorder.lost, 'frame')}, {feed.recorder.fault.text}")
    return f"{many(feed.recorder.frames, 'frame')} | " + " | ".join(parts)


def _describe_source(one: SourceStatus) -> str:
    if one.state == "waiting":
        return f"{one.word}: {one.fault or 'nothing yet'}"
    words = [f"{one.word}: {one.seen} of {one.bodies} bodies"]
    if one.state != "live":
        words.append("ended" if one.ended else one.state)
    else:
        words += [f"{one.rate:.1f} Hz" if one.rate is not None else "", f"lag {1000 * one.delay:z.0f} ms"]
    counts = {"twice": one.again, "late": one.late, "damaged": one.bad_packets, "jumps": one.jumps}
    words += [f"{count} {word}" for word, count in counts.items() if count]
    return ", ".join(filter(None, [*words, one.fault]))


def _list_sources(args: argparse.Namespace) -> int:
    """What streams here, and what can be connected."""
    from ..live.sources import PROTOCOLS, find_streams, name_protocol

    streams = find_streams()
    if args.json:
        print_json({"streaming": streams, "protocols": {name: p.about for name, p in PROTOCOLS.items()}})
        return DONE
    if streams:
        print_line("streaming now:")
        print_table(["source", "what it is"], [[one.word, one.about] for one in streams], left=2)
    else:
        print_line("nothing was found streaming; not every protocol can be found by asking")
    print_line()
    print_line("what can be connected:")
    rows = [[name_protocol(name), one.about, one.needs] for name, one in PROTOCOLS.items()]
    print_table(["source", "what it is", "needs"], rows, left=3)
    print_line()
    print_line("record with: condyle live SOURCE... -o DIR; without a SOURCE, all that is streaming now")
    return DONE
