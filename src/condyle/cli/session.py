"""A session in progress, as `condyle live` and `condyle solve --live` run it: recorded, solved, shown, and fitted."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import CondyleError, UsageError, check_path, import_extra, join_command
from ..findings import many
from .arguments import make_reading, parse_port
from .terminal import DONE, DONE_WITH_WARNINGS, print_json, print_line, print_note

if TYPE_CHECKING:
    from ..io.format import ReadOptions
    from ..live.alarms import Alarm
    from ..live.feed import Feed, Listener, SourceStatus
    from ..live.guide import Picture
    from ..live.performer import Performer
    from ..live.server import LiveServer
    from ..live.service import LiveSession

LOG_NAME = "session.log"
SCRIPT_SUFFIX = ".toml"
KEYS = {"q": "stop", "r": "restart", "n": "next"}  # lines on the keyboard; any other is the text of a mark


def add_session_arguments(parser: argparse._ActionsContainer) -> None:
    """How a session is shown and ended."""
    parser.add_argument(
        "--send",
        metavar="WORDS",
        default="",
        help="send the figure on: vmc:HOST:PORT to avatars, lsl:NAME, mcap:FILE; with commas",
    )
    parser.add_argument("--until-enough", action="store_true", help="stop when more of this motion brings little")
    parser.add_argument(
        "--guide",
        nargs="?",
        const="",
        metavar="SCRIPT.toml",
        help="a routine for a visitor in the place of the coach; without a script, one for a person",
    )
    parser.add_argument("--no-page", action="store_true", help="serve no page, as with --json")
    parser.add_argument("--no-open", action="store_true", help="do not open the page in a browser")
    parser.add_argument("--port", type=parse_port, default=0, metavar="N", help="port of the page; default: a free one")
    parser.add_argument(
        "--listen",
        metavar="ADDRESS",
        help="address of this machine that other screens reach, in place of loopback: whoever knows the page's word "
        "can look on, unencrypted",
    )
    parser.add_argument("--seconds", type=float, metavar="S", help="stop after so many seconds; default: at Ctrl-C")


def check_session(args: argparse.Namespace) -> None:
    """Raises where the options of a session cannot be carried out."""
    if not args.out:
        raise UsageError("say where to record with -o DIR", code="bad-call")
    check_path(args.out, "a folder")
    if args.seconds is not None and not args.seconds > 0:
        raise UsageError(f"{args.seconds:g} s is no time to record for", code="bad-option")


def check_not_live(args: argparse.Namespace) -> None:
    """Raises where an option of a session is given and there is none."""
    parser = argparse.ArgumentParser(add_help=False)
    add_session_arguments(parser)
    for name, unset in vars(parser.parse_args([])).items():
        if getattr(args, name) != unset:
            raise UsageError(f"--{name.replace('_', '-')} goes with --live", code="option-not-used")


def take_guide(args: argparse.Namespace, words: Sequence[str]) -> list[str]:
    """The words of the sources: `--guide demo` names a source, since a script ends in .toml."""
    if args.guide and not args.guide.endswith(SCRIPT_SUFFIX):
        word, args.guide = args.guide, ""
        return [word, *words]
    return list(words)


def run_session(args: argparse.Namespace, words: Sequence[str], performer: Performer | None = None) -> int:
    """Records, solves and shows until the end, then fits what was recorded."""
    from ..live.guide import Guide, read_routine
    from ..live.newest import NewestPoses
    from ..live.outlets import open_outlets
    from ..live.performer import Performer
    from ..live.reading import keep_for_fit
    from ..live.service import LiveSession
    from ..live.watch import Watch

    if shown := not args.no_page and not args.json:
        import_extra("websockets", "live")  # before a log is begun, which would stand in the way of the next try
    guide, pictures = None, dict[str, Any]()
    if args.guide is not None:
        routine, pictures = read_routine(args.guide or None)
        guide = Guide(routine)
    newest, watch, outlets = NewestPoses(), Watch(), open_outlets(args.send)

    def listen(packet: Any, stamp: Any) -> None:
        newest.listen(packet, stamp)
        watch.listen(packet, stamp)

    reading = make_reading(args)
    try:
        feed = open_feed(words, Path(args.out), reading, listen)
    except BaseException:
        for outlet in outlets:
            outlet.close()
        raise
    session = LiveSession(
        feed,
        newest,
        watch,
        reading=keep_for_fit(reading, feed.sources),
        outlets=outlets,
        until_enough=args.until_enough,
        performer=performer or Performer(),
        guide=guide,
    )
    begin = time.monotonic()
    if not args.json:
        session.on_alarm(print_alarm)
        session.on_trouble(print_trouble)
    if shown:
        session.server = open_page(args, session.obey, pictures)
    if sys.stdin is not None and sys.stdin.isatty() and not args.json:
        print_line("keys: Enter marks this moment (with a text before it), r begins anew, q stops; each with Enter")
        threading.Thread(target=_obey_keys, args=(session,), daemon=True).start()
    try:
        session.run(args.seconds)
    except KeyboardInterrupt:
        session.ending = "stopped"
    try:
        return finish_session(args, session, time.monotonic() - begin)
    finally:
        if session.server is not None:
            session.server.close()


def _obey_keys(session: LiveSession) -> None:
    for line in sys.stdin:
        session.obey(KEYS.get(line.strip(), f"mark {line.strip()}"))


def print_alarm(alarm: Alarm) -> None:
    """An alarm at once; the rest is on the page."""
    print_line(f"ALARM at {alarm.raised or 0.0:.0f} s: {alarm.finding.text}", style="bold")
    sys.stdout.flush()


def print_trouble(text: str) -> None:
    """What is wrong with the session itself, at once."""
    print_line(f"warning: {text}", style="yellow")
    sys.stdout.flush()


def open_page(args: argparse.Namespace, obey: Callable[[str], None], pictures: dict[str, Picture]) -> LiveServer:
    """The page of a session, its addresses printed and opened."""
    from ..live.server import LOOPBACK, LiveServer

    server = LiveServer(obey, args.listen or LOOPBACK, args.port, pictures)
    if args.listen and args.listen != LOOPBACK:
        print_line(f"on {args.listen} whoever knows an address below can look on, or act, unencrypted", style="yellow")
    print_line(f"page: {server.act}")
    print_line(f"only to look on: {server.look}")
    sys.stdout.flush()
    if not args.no_open:
        import webbrowser

        webbrowser.open(server.act)
    return server


def finish_session(args: argparse.Namespace, session: LiveSession, seconds: float) -> int:
    """Fits all of what was recorded, and says where it is."""
    from ..live.messages import encode
    from ..result.verdict import verdict_of

    def tell(text: str) -> None:
        if session.server is not None:
            session.server.send("end", encode("end", text=text))
        if not args.json:
            print_line(text)

    status = print_end(args, session.feed, session.feed.status(), seconds)
    if session.guide is not None and not args.json:
        print_line(f"routine: {session.guide}")
    if not session.feed.recorder.frames:
        return status
    tell(f"The session is over ({session.ending}). Fitting all of it.")
    try:
        fit = session.fit().save(args.out)
    except CondyleError as error:
        recorder = session.feed.recorder
        kept = f"The recording lacks {many(recorder.lost, 'frame')}" if recorder.lost else "The recording is whole"
        tell(f"It could not be fitted: {error.text}. {kept}: {recorder.path}")
        raise
    if session.outlets and not session.sent:
        words = ", ".join(outlet.word for outlet in session.outlets)
        export = join_command(["condyle", "export", args.out, "--to", "mcap"])
        print_note(f"nothing was sent to {words}: no figure was known before the end; all of it in a file: {export}")
        status = DONE_WITH_WARNINGS
    view = join_command(["condyle", "view", args.out])
    tell(f"{verdict_of(fit.skeleton).text} Written to {args.out}; look at it with: {view}")
    return status


def open_feed(
    words: Sequence[str], folder: Path, reading: ReadOptions | None = None, listener: Listener | None = None
) -> Feed:
    """The sources of these words, recorded to the folder; raises before anything is written where one cannot be had.

    reading  what the user says of their numbers
    """
    from ..live.feed import Feed, check_distinct
    from ..live.reading import share_names
    from ..live.recorder import Recorder
    from ..live.sources import open_source

    sources = []
    try:
        for word in words:
            sources.append(open_source(word, reading, alone=len(words) == 1))
        check_distinct(sources)
        if reading is not None:
            share_names(sources, reading)
        folder.mkdir(parents=True, exist_ok=True)
        return Feed(sources, Recorder(folder / LOG_NAME), listener)
    except OSError as error:
        raise CondyleError(f"cannot be made: {error.strerror or error}", code="unwritable", path=folder) from None
    finally:
        if sys.exc_info()[0] is not None:
            for source in sources:
                source.close()


def print_end(args: argparse.Namespace, feed: Feed, status: list[SourceStatus], seconds: float) -> int:
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
    if recorder.frames and getattr(args, "record_only", False):
        words = ["condyle", "fit", str(log), "-o", str(log.parent), *_repeat_options(args, feed)]
        print_line(f"fit them with: {join_command(words)}")
    return DONE if whole else DONE_WITH_WARNINGS


def _repeat_options(args: argparse.Namespace, feed: Feed) -> list[str]:
    """The options that are not in the log: a fit of it has to be told again."""
    from ..live.reading import keep_for_fit

    words: list[str] = []
    for name in keep_for_fit(make_reading(args), feed.sources).given:
        value = getattr(args, name)
        if name == "doctor":
            words.append("--no-doctor")
        elif name == "rename":
            words += ["--rename", ",".join(f"{old}={new}" for old, new in value.items())]
        else:
            words += [f"--{name}", value if isinstance(value, str) else ",".join(value)]
    return words
