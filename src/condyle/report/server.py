"""A server for one page, its pieces and its exports. It listens on loopback only and answers nobody but its own page.

The address holds a random word, so that neither another user of the machine nor a page of another site can guess it.
Host and Origin are checked as well: a name that somebody made point at 127.0.0.1 is refused.
"""

from __future__ import annotations

import io
import os
import re
import secrets
import socket
import socketserver
import sys
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from .._version import __version__
from ..errors import CondyleError
from ..io.exports.export import ALL, check_scene, find_format, write_figure
from ..io.exports.scene import Scene
from .page import SAFE_HEADERS, assemble_page, describe_port_fault, link_template, open_page, to_html
from .shown import MotionPieces

HOST = "127.0.0.1"
EXPORTED_MAX_POSES = 300_000  # poses of a take that the server exports, the slowest format (MCAP) within half a minute
KEPT_PIECES = 16  # pieces that stay packed, for a reader that comes back to them
MOST_CONNECTIONS = 32  # at a time; a browser opens six
REQUEST_MAX_S = 60.0  # s from the first byte of a request to the last of its answer
SILENCE_MAX_S = 30.0  # s for which a silent connection is kept


class Answer(NamedTuple):
    """What is sent: its bytes, their type, how long they may be kept, and the name of a file that is to be saved."""

    body: bytes
    kind: str
    keep: str = "no-store"
    file: str = ""


class PageServer(ThreadingHTTPServer):
    """Serves the page of one folder until it is shut down. `url` is where."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"  # elsewhere it would let two servers share a port

    def __init__(self, place: str | Path, port: int = 0) -> None:
        template, self.policy = link_template()
        skeleton, shown = open_page(place)
        self.shown = shown
        exports = tuple((name, find_format(name).title) for name in list_exports(shown))
        self.exports = dict(exports)
        page = msgspec.structs.replace(assemble_page(skeleton, shown, linked=True), exports=exports)
        self.page = to_html(page, template)
        self.count = shown.count
        self.word = secrets.token_urlsafe(16)
        lock = threading.Lock()

        @lru_cache(maxsize=KEPT_PIECES)
        def piece(number: int) -> bytes:
            with lock:  # one at a time: memory stays flat whatever is asked for
                return shown.pack(number)

        self.piece, self.exporting = piece, threading.Lock()
        self.free = threading.BoundedSemaphore(MOST_CONNECTIONS)
        try:
            super().__init__((HOST, port), _PageHandler)
        except (OSError, OverflowError) as error:
            raise describe_port_fault(port, error) from None

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # without asking for the machine's name, which may take seconds
        self.server_name, self.server_port = HOST, int(self.server_address[1])

    def process_request(self, request: Any, client_address: Any) -> None:
        """In a thread of its own, unless there are too many."""
        if self.free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that went away in the middle of an answer is nobody's fault; all else is told."""
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/{self.word}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """What a browser that was told `url`, or localhost in its place, calls this server."""
        return f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"

    def answer(self, path: str) -> Answer | None:
        """What is at a path; None for everything but the page, its pieces and its exports."""
        if path == f"/{self.word}/":
            return Answer(self.page, "text/html; charset=utf-8")
        name = path.removeprefix(f"/{self.word}/exports/")
        if name in self.exports and name != path:
            with self.exporting:
                return pack_export(self.shown, name)
        found = re.fullmatch(rf"/{re.escape(self.word)}/pieces/(0|[1-9][0-9]{{0,8}})\.bin", path)
        if found is None or int(found[1]) >= self.count:
            return None
        kept = "private, max-age=86400, immutable"
        return Answer(self.piece(int(found[1])), "application/octet-stream", kept)


def list_exports(shown: MotionPieces) -> list[str]:
    """Names of the formats that can hold this figure in this installation; none of a take without joints, nor of one
    that is not to be in memory as a whole.
    """
    skeleton, poses = shown.source.skeleton, shown.source.frames * len(shown.source.bodies)
    if not skeleton.joints or not 0 < poses <= EXPORTED_MAX_POSES:
        return []
    try:
        scene = Scene(skeleton, shown.source.motion(), shown.source.take())
        return [form.name for form in check_scene(scene, ALL, "figure")]
    except CondyleError:  # the page is shown without them
        return []


def pack_export(shown: MotionPieces, name: str) -> Answer:
    """The files of a format: one as it is, several as a zip."""
    scene = Scene(shown.source.skeleton, shown.source.motion(), shown.source.take())
    with tempfile.TemporaryDirectory() as folder:
        files = [path for path in write_figure(scene, name, folder).files if path.is_file()]
        if len(files) == 1:
            return Answer(files[0].read_bytes(), "application/octet-stream", file=files[0].name)
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in files:
                packed.write(path, path.name)
    return Answer(buffer.getvalue(), "application/zip", file=f"{name}.zip")


class _PageHandler(BaseHTTPRequestHandler):
    server: PageServer
    protocol_version = "HTTP/1.1"
    server_version, sys_version = f"condyle/{__version__}", ""
    timeout = SILENCE_MAX_S

    def handle_one_request(self) -> None:
        """One request within its time, however slowly it comes."""
        late = threading.Timer(REQUEST_MAX_S, self._cut_off)
        late.daemon = True
        late.start()
        try:
            super().handle_one_request()
        finally:
            late.cancel()

    def _cut_off(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the library refuses, with the same headers as every answer."""
        self.close_connection = True
        self.request_version = self.protocol_version  # one that it does not know would get no headers
        status = HTTPStatus(code)
        self._say(status, Answer(f"{status.phrase}.\n".encode("ascii"), "text/plain"), self.command != "HEAD")

    def do_GET(self) -> None:
        self._answer(whole=True)

    def do_HEAD(self) -> None:
        self._answer(whole=False)

    def _answer(self, *, whole: bool) -> None:
        if not self._is_asked_by_its_page():
            self._say(HTTPStatus.FORBIDDEN, Answer(b"Only the page itself is answered.\n", "text/plain"), whole)
            return
        try:
            found = self.server.answer(self.path)
        except CondyleError as error:  # the file was cut, or is gone
            told = Answer(f"{error}\n".encode(errors="replace"), "text/plain; charset=utf-8")
            self._say(HTTPStatus.INTERNAL_SERVER_ERROR, told, whole)
            return
        if found is None:
            self._say(HTTPStatus.NOT_FOUND, Answer(b"There is nothing here.\n", "text/plain"), whole)
        else:
            self._say(HTTPStatus.OK, found, whole)

    def _is_asked_by_its_page(self) -> bool:
        hosts, origins = self.headers.get_all("Host", []), self.headers.get_all("Origin", [])
        own = {f"http://{host}" for host in self.server.hosts}
        return len(hosts) == 1 and hosts[0].lower() in self.server.hosts and all(o.lower() in own for o in origins)

    def _say(self, status: HTTPStatus, answer: Answer, whole: bool) -> None:
        self.send_response(status)
        for name, value in {
            "Content-Type": answer.kind,
            "Content-Length": str(len(answer.body)),
            "Cache-Control": answer.keep,
            **({"Content-Disposition": f'attachment; filename="{answer.file}"'} if answer.file else {}),
            "Content-Security-Policy": self.server.policy,
            **SAFE_HEADERS,
            **({"Connection": "close"} if self.close_connection else {}),
        }.items():
            self.send_header(name, value)
        self.end_headers()
        if whole:
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the terminal belongs to the person who started it."""


@contextmanager
def serve_page(place: str | Path, port: int = 0) -> Iterator[PageServer]:
    """A server that answers from a thread of its own while the block runs."""
    with PageServer(place, port) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
