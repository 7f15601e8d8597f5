"""condyle live SOURCE... -o DIR: the figure while sensors stream; recorded first, solved, shown and sent on."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CondyleError, UsageError
from ..findings import many
from .terminal import DONE, DONE_WITH_WARNINGS, escape_text, print_json, print_line, print_table

if TYPE_CHECKING:
    from ..live.feed import Feed, Listener, SourceStatus
    from ..live.server import LiveServer
    from ..live.service import LiveSession
    from ..live.session import Solve

LOG_NAME = "session.log"
DEMO_FOLDER = "condyle-live-demo"
STATUS_PERIOD_S = 0.5  # s between two status lines in a terminal
PLAIN_STATUS_PERIOD_S = 10.0  # s between two of them in a pipe


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources",
        nargs="*",
        metavar="SOURCE",
        help="what to record, such as natnet:HOST, replay:FILE or demo; without one, what is streaming here is listed",
    )
    parser.add_argument("-o", "--out", metavar="DIR", help=f"folder for {LOG_NAME}; made if it is missing")
    parser.add_argument("--record-only", action="store_true", help="record, and fit nothing meanwhile nor at the end")
    parser.add_argument(
        "--send",
        metavar="WORDS",
        default="",
        help="send the figure on: vmc:HOST:PORT to avatars, lsl:NAME; with commas",
    )
    parser.add_argument("--until-enough", action="store_true", help="stop when more of this motion brings little")
    parser.add_argument("--no-page", action="store_true", help="serve no page, as with --json")
    parser.add_argument("--no-open", action="store_true", help="do not open the page in a browser")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="port of the page; default: a free one")
    parser.add_argument(
        "--listen",
        metavar="ADDRESS",
        help="address of this machine that other screens reach, in place of loopback: whoever knows the page's word "
        "can look on, unencrypted",
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="stop after so many seconds; default: at Ctrl-C")


def run(args: argparse.Namespace) -> int:
    if not args.sources:
        return _list_sources(args)
    if not args.out and args.sources == ["demo"]:
        args.out = DEMO_FOLDER
    if not args.out:
        raise UsageError("say where to record with -o DIR", code="bad-call")
    if args.seconds is not None and not args.seconds > 0:
        raise UsageError(f"{args.seconds:g} s is no time to record for", code="bad-option")
    if not args.record_only:
        return _run_session(args)
    feed = open_feed(args.sources, Path(args.out))
    begin = time.monotonic()
    try:
        feed.start()
        _watch(feed, None if args.seconds is None else begin + args.seconds, quiet=args.json)
    except KeyboardInterrupt:
        pass
    finally:
        status = feed.status()
        feed.close()
    return _print_end(args, feed, status, time.monotonic() - begin)


def _run_session(args: argparse.Namespace) -> int:
    """Records, solves and shows until the end, then fits what was recorded."""
    from ..live.newest import NewestPoses
    from ..live.outlets import open_outlets
    from ..live.service import LiveSession

    newest, outlets = NewestPoses(), open_outlets(args.send)
    feed = open_feed(args.sources, Path(args.out), newest.listen)
    session = LiveSession(feed, newest, outlets=outlets, until_enough=args.until_enough)
    begin = time.monotonic()
    session.on_solve(partial(_print_solve, args))
    if not args.no_page and not args.json:
        session.server = _open_page(args, session.obey)
    try:
        session.run(args.seconds)
    except KeyboardInterrupt:
        session.ending = "stopped"
    try:
        return _finish_session(args, session, time.monotonic() - begin)
    finally:
        if session.server is not None:
            session.server.close()


def _finish_session(args: argparse.Namespace, session: LiveSession, seconds: float) -> int:
    """Fits all of what was recorded, and says where it is."""
    from ..live.messages import encode
    from ..result.verdict import verdict_of

    def tell(text: str) -> None:
        if session.server is not None:
            session.server.send("end", encode("end", text=text))
        if not args.json:
            print_line(text)

    status = _print_end(args, session.feed, session.feed.status(), seconds)
    if not session.feed.recorder.frames:
        return status
    tell(f"The session is over ({session.ending}). Fitting all of it.")
    try:
        fit = session.fit().save(args.out)
    except CondyleError as error:
        tell(f"It could not be fitted: {error.text}. The recording is whole: {session.feed.recorder.path}")
        raise
    tell(f"{verdict_of(fit.skeleton).text} Written to {args.out}; look at it with: condyle view {args.out}")
    return status


def _open_page(args: argparse.Namespace, obey: Callable[[str], None]) -> LiveServer:
    from ..live.server import LOOPBACK, LiveServer

    server = LiveServer(obey, args.listen or LOOPBACK, args.port)
    print_line(f"page: {server.act}")
    print_line(f"only to look on: {server.look}")
    if not args.no_open:
        import webbrowser

        webbrowser.open(server.act)
    return server


def _print_solve(args: argparse.Namespace, found: Solve) -> None:
    """Alarms at once; the rest is on the page."""
    if args.json:
        return
    for alarm in found.raised:
        print_line(f"ALARM at {found.until:.0f} s: {alarm.finding.text}", style="bold")


def open_feed(words: list[str], folder: Path, listener: Listener | None = None) -> Feed:
    """The sources of these words, recorded to the folder; raises before anything is written where one cannot be had."""
    from ..live.feed import Feed, check_distinct
    from ..live.recorder import Recorder
    from ..live.sources import open_source

    sources = []
    try:
        for word in words:
            sources.append(open_source(word))
        check_distinct(sources)
        folder.mkdir(parents=True, exist_ok=True)
        return Feed(sources, Recorder(folder / LOG_NAME), listener)
    except OSError as error:
        raise CondyleError(f"cannot be made: {error.strerror or error}", code="unwritable", path=folder) from None
    finally:
        if sys.exc_info()[0] is not None:
            for source in sources:
                source.close()


def _watch(feed: Feed, end: float | None, *, quiet: bool) -> None:
    """Shows how it goes until all sources ended, or the time is over."""
    live = sys.stdout.isatty() and not quiet
    shown = time.monotonic()
    while True:
        left = STATUS_PERIOD_S if end is None else min(STATUS_PERIOD_S, max(end - time.monotonic(), 0.0))
        over = feed.wait(left) or (end is not None and time.monotonic() >= end)
        if live:
            print(f"\r\x1b[K{escape_text(describe_status(feed))}", end="\n" if over else "", flush=True)
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
        words += [f"{one.rate:.1f} Hz" if one.rate is not None else "", f"lag {1000 * one.delay:.0f} ms"]
    counts = {"twice": one.again, "late": one.late, "damaged": one.bad_packets, "jumps": one.jumps}
    words += [f"{count} {word}" for word, count in counts.items() if count]
    return ", ".join(filter(None, [*words, one.fault]))


def _print_end(args: argparse.Namespace, feed: Feed, status: list[SourceStatus], seconds: float) -> int:
    """What was recorded, and how to go on."""
    recorder, log = feed.recorder, feed.recorder.path
    whole = recorder.frames > 0 and recorder.fault is None and not recorder.lost and not any(s.fault for s in status)
    if args.json:
        facts: dict[str, Any] = {
            "log": str(log),
            "frames": recorder.frames,
            "not_recorded": recorder.lost,
            "seconds": seconds,
            "sources": status,
        }
        print_json(facts)
        return DONE if whole else DONE_WITH_WARNINGS
    for one in status:
        if one.fault:
            print_line(f"warning: {one.word}: {one.fault}", style="yellow")
    if recorder.fault is not None or recorder.lost:
        why = "" if recorder.fault is None else f": {recorder.fault.text}"
        print_line(f"warning: {many(recorder.lost, 'frame')} not recorded{why}", style="yellow")
    print_line(f"recorded {many(recorder.frames, 'frame')} in {seconds:.1f} s: {log}")
    if recorder.frames and args.record_only:
        print_line(f"fit them with: condyle fit {log} -o {log.parent}")
    return DONE if whole else DONE_WITH_WARNINGS


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
    print_line("record with: condyle live SOURCE... -o DIR")
    return DONE
