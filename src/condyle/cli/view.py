"""condyle view DIR: the page of a large fit, from a server on this machine that streams the motion in pieces."""

from __future__ import annotations

import argparse
import sys

from .arguments import parse_port
from .terminal import print_json, print_line

INTERRUPT_LOOK_S = 0.5  # s: on Windows Ctrl-C ends no wait, it is seen after one


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("skeleton", metavar="DIR", help="folder that condyle fit wrote, or its skeleton.json")
    parser.add_argument("--port", type=parse_port, default=0, metavar="PORT", help="default: any that is free")
    parser.add_argument("--no-open", action="store_true", help="print the address and open no browser")


def run(args: argparse.Namespace) -> int:
    import threading
    import webbrowser

    from ..report.server import serve_page

    try:
        with serve_page(args.skeleton, args.port) as server:
            if args.json:
                print_json({"url": server.url, "port": server.server_port})
            else:
                print_line(server.url)
                print_line("Ctrl-C ends it.", style="dim")
            sys.stdout.flush()
            if not args.no_open:  # not awaited: a browser in the terminal returns only when it is left
                threading.Thread(target=webbrowser.open, args=(server.url,), daemon=True).start()
            over = threading.Event()
            while not over.wait(INTERRUPT_LOOK_S):
                pass
    except KeyboardInterrupt:
        return 0
    return 0
