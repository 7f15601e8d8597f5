"""live/server.py: the page and its stream, for its own pages only; one that is stuck costs the others nothing."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

pytest.importorskip("websockets", reason="websockets is not installed")

from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from condyle.errors import CondyleError
from condyle.live import server as module
from condyle.live.guide import Picture
from condyle.live.server import LiveServer
from condyle.report import page as pages
from tests.report.test_server import TEMPLATE


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, said: list[str]) -> Iterator[LiveServer]:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)
    one = LiveServer(said.append)
    yield one
    one.close()


def stream_of(address: str) -> str:
    return address.replace("http:", "ws:") + "stream"


def wait_for(what: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not what():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def test_the_page_is_served_with_its_policy_and_nothing_else_is(server: LiveServer) -> None:
    def ask(path: str, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", path, headers=headers)
        return connection.getresponse()

    word = server.look.split("/")[3]
    page = ask(f"/{word}/")
    assert page.status == 200
    assert b'"condyle.live"' in page.read()
    assert "connect-src 'self'" in (page.getheader("Content-Security-Policy") or "")
    for path, headers, status in (
        ("/", {}, 404),
        ("/guess/", {}, 404),
        (f"/{word}/other", {}, 404),
        (f"/{word}/", {"Host": "evil.example"}, 403),
        (f"/{word}/", {"Origin": "http://evil.example"}, 403),
    ):
        refused = ask(path, **headers)
        assert refused.status == status
        assert refused.getheader("X-Content-Type-Options") == "nosniff"


def test_whoever_comes_later_is_told_the_newest_of_every_kind(server: LiveServer) -> None:
    for text in ('{"type":"status","n":1}', '{"type":"status","n":2}', '{"type":"bodies"}'):
        server.send(json.loads(text)["type"], text)
    with connect(stream_of(server.look)) as viewer:
        first = [json.loads(viewer.recv(timeout=5)) for _ in range(3)]
        assert first == [{"type": "hello", "acts": False}, {"type": "status", "n": 2}, {"type": "bodies"}]
        server.send_frame(b"12345678")
        assert viewer.recv(timeout=5) == b"12345678"


def test_only_the_operators_word_acts(server: LiveServer, said: list[str]) -> None:
    with connect(stream_of(server.look)) as viewer, connect(stream_of(server.act)) as operator:
        assert json.loads(operator.recv(timeout=5)) == {"type": "hello", "acts": True}
        viewer.send("stop")
        operator.send("restart")
        wait_for(lambda: said == ["restart"])


def test_a_stranger_is_refused(server: LiveServer) -> None:
    with pytest.raises(InvalidStatus):
        connect(stream_of(server.look), origin="http://evil.example").close()  # type: ignore[arg-type]
    with pytest.raises(InvalidStatus):
        connect(stream_of(server.look).replace("/stream", "x/stream")).close()


def test_a_viewer_that_is_stuck_costs_nothing_and_the_others_miss_nothing(server: LiveServer) -> None:
    stuck = socket.create_connection(("127.0.0.1", server.port))
    stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    path = "/" + server.look.split("/")[3] + "/stream"
    stuck.sendall(
        f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    frame = bytes(20_000)
    with connect(stream_of(server.look), max_queue=None) as viewer:
        viewer.recv(timeout=5)
        wait_for(lambda: server.viewers == 2)
        for _ in range(400):
            server.send_frame(frame)
            assert len(viewer.recv(timeout=5)) == len(frame)
        wait_for(lambda: server.skipped > 100)
        held = [one.transport.get_write_buffer_size() for one in server._viewers]
        assert max(held) < module.SKIP_FROM_BYTES + 2 * len(frame)
    stuck.close()


def test_a_port_that_is_taken_is_told(server: LiveServer) -> None:
    with pytest.raises(CondyleError, match="in use by another program"):
        LiveServer(lambda _: None, port=server.port)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"port": 99999}, "port 99999 cannot be used"),
        ({"host": "203.0.113.7"}, "203.0.113.7 is no address of this machine"),
        ({"host": "no-such-host.invalid"}, "is no address of this machine"),
    ],
)
def test_a_port_or_an_address_that_cannot_be_is_told_and_nothing_waits(where: dict[str, Any], words: str) -> None:
    with pytest.raises(CondyleError, match=words):
        LiveServer(lambda _: None, **where)


def test_fifty_viewers_see_every_frame_and_one_that_returns_is_told_the_newest(server: LiveServer) -> None:
    with ExitStack() as stack:
        viewers = [stack.enter_context(connect(stream_of(server.look), max_queue=None)) for _ in range(50)]
        for viewer in viewers:
            viewer.recv(timeout=20)
        wait_for(lambda: server.viewers == 50)
        for k in range(60):
            server.send_frame(bytes([k]) * 500)
        server.send("status", '{"type":"status","n":3}')
        for viewer in viewers:
            assert [viewer.recv(timeout=20)[0] for _ in range(60)] == list(range(60))
            assert viewer.recv(timeout=20) == '{"type":"status","n":3}'
        viewers[0].close()
        wait_for(lambda: server.viewers == 49)
        back = stack.enter_context(connect(stream_of(server.look)))
        assert [json.loads(back.recv(timeout=20))["type"] for _ in range(2)] == ["hello", "status"]
    assert server.skipped == 0


def test_pictures_of_a_routine_are_served_and_no_other_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)
    server = LiveServer(lambda _: None, pictures={"wind mill.png": Picture("image/png", b"picture")})
    word = server.look.split("/")[3]
    for path, status in (
        (f"/{word}/picture/wind%20mill.png", 200),
        (f"/{word}/picture/other.png", 404),
        (f"/{word}/picture/../routine.toml", 404),
        ("/guess/picture/wind%20mill.png", 404),
    ):
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        connection.request("GET", path)
        answer = connection.getresponse()
        assert answer.status == status
        if status == 200:
            assert (answer.getheader("Content-Type"), answer.read()) == ("image/png", b"picture")
        connection.close()
    server.close()


def test_a_program_gets_lines_of_motion_and_nothing_else_and_says_nothing(server: LiveServer, said: list[str]) -> None:
    server.send("status", '{"type":"status"}')
    with connect(server.act.replace("http:", "ws:") + "motion") as program:
        wait_for(lambda: len(server._readers) == 1)
        assert server.viewers == 0
        program.send("stop")
        server.send_frame(b"poses of a page")
        server.send_line('{"time":0.5}\n')
        assert program.recv(10) == '{"time":0.5}\n'
    wait_for(lambda: not server._readers)
    assert said == []
