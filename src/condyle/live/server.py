"""The page of a session and its stream: one word that looks, one that may act, and no viewer in another's way.

It runs in a thread of its own. A frame is skipped for a viewer whose connection holds too much already, so one that is
stuck costs nothing but its own picture; texts are few and wait for it, within a bound.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import secrets
import socket
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import quote, urlsplit

from ..errors import CondyleError, UsageError
from ..report.page import SAFE_HEADERS, describe_port_fault, fill_template, link_template
from .guide import Picture
from .messages import encode

try:
    from websockets.asyncio.server import ServerConnection, broadcast, serve
    from websockets.datastructures import Headers
    from websockets.exceptions import ConnectionClosed
    from websockets.http11 import Request, Response
except ImportError:
    raise CondyleError('a live page needs websockets: pip install "condyle[live]"', code="missing-extra") from None

LOOPBACK = "127.0.0.1"
SKIP_FROM_BYTES = 64 * 1024  # that a connection may hold before frames are skipped for it
DROP_FROM_BYTES = 1024 * 1024  # that it may hold before it is closed: it can come back
MESSAGE_MAX_BYTES = 4096  # of what a viewer may say
MOST_VIEWERS = 200
LIVE_PAGE = b'{"format":"condyle.live","version":1}'  # in place of a report's data


class LiveServer:
    """Serves the live page until it is closed.

    look, act  addresses of the page: the second is for the operator, whose page may stop, mark and restart
    skipped    frames that were not sent to a viewer that could not take them
    """

    def __init__(
        self,
        obey: Callable[[str], None],
        host: str = LOOPBACK,
        port: int = 0,
        pictures: Mapping[str, Picture] = MappingProxyType({}),
    ) -> None:
        self._obey, self.host = obey, host
        self._pictures = {f"picture/{quote(name)}": picture for name, picture in pictures.items()}
        self._words = {"look": secrets.token_urlsafe(16), "act": secrets.token_urlsafe(16)}
        template, self._policy = link_template()
        self._page = fill_template(template, LIVE_PAGE)
        self._viewers: set[ServerConnection] = set()
        self._readers: set[ServerConnection] = set()  # of lines of motion: other programs
        self._last: dict[str, str] = {}  # newest text of every kind, for a viewer that comes later
        self.skipped = 0
        self._ready = threading.Event()
        self._fault: OSError | OverflowError | None = None
        self._thread = threading.Thread(target=self._serve, args=(port,), name="condyle-page", daemon=True)
        self._thread.start()
        self._ready.wait()
        if self._fault is not None:
            number = self._fault.errno if isinstance(self._fault, OSError) else None
            if number == errno.EADDRNOTAVAIL or isinstance(self._fault, socket.gaierror):
                raise UsageError(
                    f"{host} is no address of this machine; give one of its own with --listen, or leave it out",
                    code="bad-option",
                )
            raise describe_port_fault(port, self._fault)

    @property
    def look(self) -> str:
        return f"http://{self._shown_host}:{self.port}/{self._words['look']}/"

    @property
    def act(self) -> str:
        return f"http://{self._shown_host}:{self.port}/{self._words['act']}/"

    @property
    def _shown_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    def send(self, kind: str, text: str) -> None:
        """A text to every viewer, and to those that come later until another of its kind."""
        self._call(self._send_text, kind, text)

    def send_frame(self, frame: bytes) -> None:
        """A frame to every viewer that can take it."""
        self._call(self._send_frame, frame)

    def send_line(self, line: str) -> None:
        """A line of motion to every program that reads it, and can."""
        if self._readers:
            self._call(self._send_line, line)

    def close(self) -> None:
        """Says goodbye to all viewers and ends."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _call(self, run: Callable[..., None], *given: object) -> None:
        with contextlib.suppress(RuntimeError):  # closed already
            self._loop.call_soon_threadsafe(run, *given)

    def _serve(self, port: int) -> None:
        asyncio.run(self._serve_until_closed(port))

    async def _serve_until_closed(self, port: int) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        try:
            server = await serve(
                self._attend,
                self.host,
                port,
                process_request=self._answer,
                max_size=MESSAGE_MAX_BYTES,
                max_queue=4,
                compression=None,
                server_header=None,
            )
        except (OSError, OverflowError) as error:
            self._fault = error
            self._ready.set()
            return
        self.port = int(next(iter(server.sockets)).getsockname()[1])
        self._ready.set()
        await self._end.wait()
        server.close()
        await server.wait_closed()

    def _answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """The page, the way to the stream (None), or a refusal."""
        if not self._is_own(request):
            return self._respond(HTTPStatus.FORBIDDEN, b"Only the page itself is answered.\n")
        word, _, what = request.path.lstrip("/").partition("/")
        if word not in self._words.values() or what not in ("", "stream", "motion", *self._pictures):
            return self._respond(HTTPStatus.NOT_FOUND, b"There is nothing here.\n")
        if what == "":
            return self._respond(HTTPStatus.OK, self._page, "text/html; charset=utf-8")
        if what in self._pictures:
            return self._respond(HTTPStatus.OK, self._pictures[what].data, self._pictures[what].kind)
        if len(self._viewers) + len(self._readers) >= MOST_VIEWERS:
            return self._respond(HTTPStatus.SERVICE_UNAVAILABLE, b"Too many viewers.\n")
        return None

    def _is_own(self, request: Request) -> bool:
        """Whether the request names this server, and comes from its own page where it says from where."""
        hosts, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if len(hosts) != 1:
            return False
        name = urlsplit(f"//{hosts[0]}")
        known = name.port == self.port and name.hostname in {self.host, "localhost", LOOPBACK}
        return known and all(origin.lower() == f"http://{hosts[0].lower()}" for origin in origins)

    def _respond(self, status: HTTPStatus, body: bytes, kind: str = "text/plain") -> Response:
        headers = {
            "Cache-Control": "no-store",
            **SAFE_HEADERS,
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Content-Security-Policy": self._policy,
            "Connection": "close",
        }
        return Response(status.value, status.phrase, Headers(headers), body)

    async def _attend(self, connection: ServerConnection) -> None:
        """One viewer, until it leaves."""
        path = connection.request.path if connection.request is not None else ""
        acts = path.startswith(f"/{self._words['act']}/")
        attending = self._readers if path.endswith("/motion") else self._viewers
        attending.add(connection)
        try:
            if attending is self._readers:
                await connection.wait_closed()
                return
            await connection.send(encode("hello", acts=acts))
            for text in list(self._last.values()):
                await connection.send(text)
            async for said in connection:
                if acts and isinstance(said, str):
                    self._obey(said)
        except ConnectionClosed:
            pass
        finally:
            attending.discard(connection)

    def _send_text(self, kind: str, text: str) -> None:
        self._last[kind] = text
        self._send_to_all(self._viewers, text)

    def _send_frame(self, frame: bytes) -> None:
        self._send_to_all(self._viewers, frame, skips=True)

    def _send_line(self, line: str) -> None:
        self._send_to_all(self._readers, line, skips=True)

    def _send_to_all(self, those: set[ServerConnection], message: str | bytes, *, skips: bool = False) -> None:
        ready = []
        for viewer in tuple(those):
            held = viewer.transport.get_write_buffer_size()
            if skips and held > SKIP_FROM_BYTES:
                self.skipped += 1
            elif held > DROP_FROM_BYTES:
                viewer.transport.abort()
            else:
                ready.append(viewer)
        broadcast(ready, message)
