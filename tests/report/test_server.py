"""The server answers its own page, on loopback, and nobody else."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from condyle import CondyleError, read_skeleton
from condyle.io.motion_file import open_motion
from condyle.report import page as pages
from condyle.report.pack import unpack
from condyle.report.page import DATA_PLACE
from condyle.report.server import PageServer, serve_page
from condyle.report.shown import choose_packing
from tests.make.fitted import fitted, take

TEMPLATE = (
    b"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; connect-src 'none'\">" + DATA_PLACE
)
SAFE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fitted(tmp_path_factory.mktemp("view"), take(20))


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[PageServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "read_template", lambda: TEMPLATE)
        with serve_page(folder) as one:
            yield one


def ask(
    server: PageServer, path: str, headers: dict[str, str] | None = None, method: str = "GET"
) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers of an answer; a Host that is given replaces the usual one."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    try:
        given = headers or {}
        connection.putrequest(method, path, skip_host="Host" in given)
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.headers)
    finally:
        connection.close()


def test_the_page_comes_with_addresses_in_place_of_its_motion(server: PageServer) -> None:
    status, body, headers = ask(server, f"/{server.word}/")
    assert status == 200
    assert {name: headers[name] for name in SAFE} == SAFE
    assert (headers["Content-Type"], headers["Cache-Control"]) == ("text/html; charset=utf-8", "no-store")
    found = re.search(rb'id="condyle-data">(.*)</script>', body)
    assert found is not None
    motion = json.loads(found[1])["motion"]
    assert [piece["url"] for piece in motion["pieces"]] == ["pieces/0.bin", "pieces/1.bin"]
    assert {piece["data"] for piece in motion["pieces"]} == {""}


def test_pieces_unpack_to_the_measured_motion(server: PageServer, folder: Path) -> None:
    shown = choose_packing(open_motion(folder, read_skeleton(folder)))
    status, body, headers = ask(server, f"/{server.word}/pieces/1.bin")
    assert (status, headers["Content-Type"]) == (200, "application/octet-stream")
    assert "immutable" in headers["Cache-Control"]
    wanted = shown.frames(1)
    np.testing.assert_allclose(unpack(body, len(wanted.time), shown.packing).p, wanted.p, atol=shown.packing.position)


@pytest.mark.parametrize(
    "path",
    ["/", "/wrong/", "/{w}", "/{w}/pieces/2.bin", "/{w}/pieces/-1.bin", "/{w}/pieces/01.bin", "/{w}/pieces/0",
     "/{w}/../skeleton.json", "/{w}/skeleton.json", "/{w}/pieces/%30.bin", "/{w}/?x", "/favicon.ico"],
)  # fmt: skip
def test_nothing_else_is_there(server: PageServer, path: str) -> None:
    status, body, headers = ask(server, path.replace("{w}", server.word))
    assert (status, body) == (404, b"There is nothing here.\n")
    assert {name: headers[name] for name in SAFE} == SAFE


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{p}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{p}"])
def test_another_host_is_refused(server: PageServer, host: str) -> None:
    status, body, _ = ask(server, f"/{server.word}/", {"Host": host.replace("{p}", str(server.server_port))})
    assert (status, body) == (403, b"Only the page itself is answered.\n")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:{p}", "http://127.0.0.1:1"])
def test_another_origin_is_refused(server: PageServer, origin: str) -> None:
    given = {"Origin": origin.replace("{p}", str(server.server_port))}
    assert ask(server, f"/{server.word}/pieces/0.bin", given)[0] == 403


def test_its_own_names_are_answered(server: PageServer) -> None:
    for host in server.hosts:
        given = {"Host": host, "Origin": f"http://{host}"}
        assert ask(server, f"/{server.word}/pieces/0.bin", given)[0] == 200


def test_a_request_without_a_host_or_with_two_is_refused(server: PageServer) -> None:
    own = f"Host: {server.hosts[0]}\r\n"
    for hosts in ("", own + own):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as stream:
            stream.sendall(f"GET /{server.word}/ HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
            assert stream.recv(100).startswith(b"HTTP/1.1 403 ")


def test_a_head_has_no_body_and_other_methods_are_not_known(server: PageServer) -> None:
    status, body, headers = ask(server, f"/{server.word}/", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 1000
    assert ask(server, f"/{server.word}/", method="POST")[0] == 501


def test_it_listens_on_loopback_and_its_word_is_new_every_time(server: PageServer, folder: Path) -> None:
    assert server.server_address[0] == "127.0.0.1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "read_template", lambda: TEMPLATE)
        with serve_page(folder) as another:
            assert another.word != server.word
            assert len(another.word) > 20


def test_a_port_that_is_taken_is_told(server: PageServer, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)
    for port, words in ((server.server_port, "is in use by another program"), (99_999, "cannot be used")):
        with pytest.raises(CondyleError, match=words) as caught, serve_page(folder, port):
            pass
        assert caught.value.code == "port-in-use"


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
def test_the_command_prints_its_address_and_ends_well_with_ctrl_c(folder: Path) -> None:
    code = (
        "import sys; from condyle.report import page; from condyle.cli import main; "
        f"page.read_template = lambda: {TEMPLATE!r}; "
        f"sys.exit(main(['view', {str(folder)!r}, '--no-open']))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        try:
            assert child.stdout is not None
            address = child.stdout.readline().decode().strip()
            assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]+/", address)
            child.send_signal(signal.SIGINT)
            _, told = child.communicate(timeout=30)
        finally:
            child.kill()
    assert (child.returncode, told) == (0, b"")


def test_every_refusal_of_the_library_has_the_headers_of_an_answer(server: PageServer) -> None:
    for request in (
        b"POST / HTTP/1.1\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
            connection.sendall(request)
            answer = b""
            while part := connection.recv(65536):
                answer += part
        assert answer.split(b" ", 2)[1][:1] in (b"4", b"5")
        for name, value in SAFE.items():
            assert f"{name}: {value}\r\n".encode() in answer, name


def test_a_motion_that_is_cut_while_it_is_shown_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = fitted(tmp_path, take(2))
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)
    monkeypatch.setattr("condyle.report.shown.HELD_MAX_POSES", 0)  # few frames are held, and are shown all the same
    with serve_page(place) as server:
        with (place / "motion.npz").open("r+b") as stream:
            stream.truncate(4096)
        status, body, headers = ask(server, f"/{server.word}/pieces/0.bin")
        assert status == 500
        assert body == b"motion.npz was cut while it was read; write it anew with condyle fit -o\n"
        assert SAFE.items() <= headers.items()
        assert ask(server, f"/{server.word}/")[0] == 200


def test_more_connections_than_a_browser_opens_are_closed_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)
    monkeypatch.setattr("condyle.report.server.MOST_CONNECTIONS", 3)
    with serve_page(folder) as server:
        address = ("127.0.0.1", server.server_port)
        silent = [socket.create_connection(address, timeout=20) for _ in range(3)]
        with socket.create_connection(address, timeout=20) as one:
            assert one.recv(1) == b""
        for connection in silent:
            connection.close()
        for _ in range(200):  # until the threads have seen that
            try:
                assert ask(server, f"/{server.word}/")[0] == 200
                break
            except (OSError, http.client.HTTPException):
                time.sleep(0.02)
        else:
            pytest.fail("no connection became free")


def test_a_request_that_comes_byte_by_byte_is_cut_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "read_template", lambda: TEMPLATE)
    monkeypatch.setattr("condyle.report.server.REQUEST_MAX_S", 0.3)
    with (
        serve_page(folder) as server,
        socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection,
    ):
        begin = time.monotonic()
        with pytest.raises(OSError, match=r".*"):  # noqa: PT012
            for _ in range(400):
                connection.sendall(b"G")
                time.sleep(0.02)
        assert time.monotonic() - begin < 5
