"""The page of a session in a browser: numbers move, an alarm appears, it comes back by itself, and asks nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("websockets", reason="websockets is not installed")

from dataclasses import replace

from condyle.findings import Finding
from condyle.live.messages import encode, encode_poses
from condyle.live.server import LiveServer
from condyle.live.service import describe_solve
from condyle.live.session import Alarm, Session, Solve
from condyle.maths import rotation
from condyle.model.take import Take
from tests.make.sessions import person, records, stream
from tests.report.browser import CHROMIUM, FLAGS, PATIENCE, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium().sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield one
        one.close()


@pytest.fixture
def server() -> Iterator[LiveServer]:
    said: list[str] = []
    one = LiveServer(said.append)
    one.said = said  # type: ignore[attr-defined]
    yield one
    one.close()


@pytest.fixture(scope="module")
def take() -> Take:
    return person(seconds=8)


@pytest.fixture(scope="module")
def solve(take: Take) -> Solve:
    session = Session()
    for record in records(stream(take)):
        session.add(record)
    return session.solve()


def send_frame(server: LiveServer, take: Take, k: int) -> None:
    quaternion = rotation.to_quaternion(take.R_world_body[k])
    server.send_frame(encode_poses(float(take.time[k]), take.p_world_body[k], np.asarray(quaternion)))


def test_a_session_is_shown_from_its_first_pose_to_its_end(
    browser: Any, server: LiveServer, take: Take, solve: Solve
) -> None:
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.set_default_timeout(PATIENCE)
    told: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(server.act)
    page.wait_for_function("() => document.body.innerText.includes('Waiting for the first poses')")
    server.send("bodies", encode("bodies", names=take.names))
    for k in range(5):
        send_frame(server, take, k)
    page.wait_for_selector(".stage canvas")

    server.send("solve", describe_solve(solve))
    page.wait_for_function("() => document.querySelector('.sentence').innerText.includes('Found')")
    assert solve.prompt is not None
    assert page.inner_text(".ask") == solve.prompt.text
    assert len(page.query_selector_all(".progress li")) == len(solve.progress)
    assert page.query_selector(".alarms li") is None

    slip = Finding("slip", "warning", "r_thigh: the sensor moved 20 mm <b>", ("r_thigh",), (4.0, 4.0))
    server.send("solve", describe_solve(replace(solve, alarms=(Alarm(slip, 2, 6.0),))))
    page.wait_for_selector(".alarms li")
    assert "moved 20 mm <b>" in page.inner_text(".alarms li")

    server._call(lambda: [viewer.transport.abort() for viewer in server._viewers])  # the stream is cut
    page.wait_for_function("() => document.querySelector('.banner').innerText.includes('Trying to reach it again')")
    page.wait_for_function("() => document.querySelector('.banner').hidden")
    page.click("text=Stop")
    page.wait_for_function("() => true")
    server.send("end", encode("end", text="The session is over."))
    page.wait_for_function("() => document.querySelector('.banner').innerText.includes('over')")
    assert server.said == ["stop"]  # type: ignore[attr-defined]
    assert not [line for line in told if "WebSocket" not in line and "GPU" not in line]
    assert all(url.startswith(server.act) for url in asked)
    page.context.close()


def test_who_only_looks_has_nothing_to_press(browser: Any, server: LiveServer) -> None:
    page = browser.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(server.look)
    page.wait_for_function("() => document.body.innerText.includes('Waiting for the first poses')")
    assert page.query_selector(".act") is None
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    page.context.close()
